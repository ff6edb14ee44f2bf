"""Small arrays read and written at index arrays, lists and masks at once: what NumPy gives, and the full way."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.graph.node import LEAF
from numloom.graph.replay import end, start

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="indices are followed at once on the host alone, and by the compiled core",
)

DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
LAYOUTS: list[Any] = [
    lambda x: x,
    lambda x: x[::-1],
    lambda x: x[1:],
    lambda x: x[::2],
    lambda x: x.T,
    lambda x: x[..., ::-1],
    lambda x: x[..., 1:],
]


def made(random: Random, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape))
    return np.array([random.randrange(2 if dtype == "?" else 100) for _ in range(count)]).astype(dtype).reshape(shape)


def indices(random: Random, shape: tuple[int, ...]) -> Any:
    """Something between brackets for an array of this shape, of NumPy's arrays."""
    kind = random.randrange(6)
    if kind == 0 and 0 not in shape:
        return np.array([random.randrange(-shape[0], shape[0]) for _ in range(random.randrange(1, 9))])
    if kind == 1:
        lead = random.randrange(1, len(shape) + 1)
        return made(random, shape[:lead], "?")
    if kind == 2:
        return [random.randrange(-shape[0], shape[0]) for _ in range(random.randrange(1, 6))]
    if kind == 3 and len(shape) > 1:
        count = random.randrange(1, 6)
        return tuple(np.array([random.randrange(-e, e) for _ in range(count)], "i4") for e in shape[:2])
    if kind == 4 and len(shape) > 1:
        count = random.randrange(1, 6)
        return random.randrange(-shape[0], shape[0]), np.array([random.randrange(shape[1]) for _ in range(count)], "u1")
    found = np.array([random.randrange(shape[0]) for _ in range(6)], random.choice(["u8", "i2", "i8"]))
    return found[:: random.choice([1, 2, -1])]


def ours(index: Any, wrapped: bool) -> Any:
    """The same with arrays of ours, of which some are still to be computed."""
    if isinstance(index, tuple):
        return tuple(ours(item, wrapped) for item in index)
    if not isinstance(index, np.ndarray):
        return index
    array = nl.asarray(index)
    if wrapped:
        return ~~array if index.dtype == np.bool_ else array + nl.zeros((), index.dtype)
    return array


def same(found: nl.ndarray, wanted: np.ndarray[Any, Any]) -> None:
    host = found.get()
    assert host.dtype == wanted.dtype and host.shape == wanted.shape
    assert host.tobytes() == wanted.tobytes()


def full(call: Any) -> Any:
    with nl.config(unplanned=0):
        return call()


@pytest.mark.parametrize("seed", range(300))
def test_reading(seed: int) -> None:
    random = Random(seed)
    host = made(random, random.choice([(7,), (5, 4), (4, 3, 2)]), random.choice(DTYPES))
    layout = random.choice(LAYOUTS)
    theirs, mine = layout(host), layout(nl.asarray(host))
    index = indices(random, theirs.shape)
    found = mine[ours(index, random.random() < 0.3)]
    again = full(lambda: mine[ours(index, False)])
    same(found, theirs[index])
    assert found.size == 0 or found.strides == again.strides
    assert found.is_scalar == again.is_scalar and found.base is again.base is None
    found[...] = 0  # It has memory of its own.
    same(mine, theirs)


@pytest.mark.parametrize("seed", range(400))
def test_writing(seed: int) -> None:
    random = Random(seed)
    host = made(random, random.choice([(7,), (5, 4), (4, 3, 2)]), random.choice(DTYPES))
    layout = random.choice(LAYOUTS)
    whole = nl.asarray(host)
    if random.random() < 0.3:
        whole = whole + nl.zeros((), host.dtype)
    kept = whole.copy() if random.random() < 0.3 else None
    before = host.copy()
    theirs, mine = layout(host), layout(whole)
    index = indices(random, theirs.shape)
    chosen = theirs[index]
    kind = random.randrange(4)
    dtype = host.dtype if random.random() < 0.7 else np.dtype(random.choice(DTYPES))
    value: Any = random.choice([0, 1, 1.5 if host.dtype.kind in "fc" else 1, True])
    if kind == 1:
        value = made(random, chosen.shape, dtype.char)
    elif kind == 2 and chosen.ndim:
        value = made(random, chosen.shape[1:], dtype.char)
    elif kind == 3:
        value = made(random, (1,), host.dtype.char)[0]
    given = nl.asarray(value) if isinstance(value, np.ndarray) else value
    if kind == 3:
        given = nl.asarray(value)[()]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np_error = raised(lambda: theirs.__setitem__(index, value))
        error = raised(lambda: mine.__setitem__(ours(index, random.random() < 0.3), given))
    assert error == np_error
    same(whole, host)
    if kept is not None:
        same(kept, before)


def raised(call: Any) -> Any:
    try:
        call()
    except (TypeError, ValueError, IndexError) as error:
        return type(error)
    return None


def test_what_reads_its_own_memory() -> None:
    for write in (
        lambda x, k: x.__setitem__(k, x[::-1]),
        lambda x, k: x.__setitem__(x, x[::-1].copy()),
        lambda x, k: x.__setitem__(x, 3),
        lambda x, k: x.__setitem__(x[::-1], 3),
        lambda x, k: x.__setitem__(x > 2, x[x > 2][::-1]),
        lambda x, k: x[1:].__setitem__(k[:3], x[:3] + 0),
        lambda x, k: x.__setitem__([0, 1], x[[1, 0]]),
    ):
        host, order = np.array([3, 1, 4, 0, 2]), np.array([4, 0, 3, 1, 2]) % 4
        x, k = nl.asarray(host), nl.asarray(order)
        x.get()
        write(x, k)
        write(host, order)
        assert x.tolist() == host.tolist()


def test_an_index_out_of_bounds_changes_nothing() -> None:
    x = nl.asarray(np.arange(6.0))
    for wrong in ([0, 6], [-7, 1], [2**70, 0]):
        with pytest.raises((IndexError, OverflowError)):
            x[nl.asarray(wrong) if max(wrong) < 2**63 else wrong] = 5.0
            x.get()
        assert x.tolist() == list(range(6))
        with pytest.raises((IndexError, OverflowError)):
            x[nl.asarray(wrong) if max(wrong) < 2**63 else wrong].get()
    matrix = nl.asarray(np.arange(6.0).reshape(2, 3))
    k = nl.asarray([0, 1])
    for wrong in ((2, k), (k, 3), (k, k, k)):
        with pytest.raises(IndexError):
            matrix[wrong].get()
        with pytest.raises(IndexError):
            matrix[wrong] = 1.0
            matrix.get()


def test_at_once_or_recorded() -> None:
    x, k, m = nl.asarray(np.arange(9.0)), nl.asarray([2, 4]), nl.asarray(np.arange(9) > 4)
    assert node_of(x[k]).kind == LEAF and node_of(x[m]).kind == LEAF
    before = node_of(x)
    del before
    memory = node_of(x).buffer.ptr
    x[k] = 7.0
    x[m] = x[m] * 2
    assert node_of(x).kind == LEAF and node_of(x).buffer.ptr == memory
    trace = start(None, [node_of(x), node_of(k)], False)
    try:
        assert node_of(x[k]).kind != LEAF and not trace.lost
    finally:
        end(trace)
    assert node_of(full(lambda: x[k])).kind != LEAF


def test_memory_that_others_see() -> None:
    x, k = nl.asarray(np.arange(5.0)), nl.asarray([1, 3])
    seen = np.asarray(x)
    x[k] = 9.0
    if np.shares_memory(seen, np.asarray(x)):
        assert seen.tolist() == [0, 9, 2, 9, 4]
    assert x[k].tolist() == [9, 9] and x.tolist() == [0, 9, 2, 9, 4]


def test_positions() -> None:
    for host in (np.array([True, False, True]), np.eye(3) > 0, np.zeros((2, 0), bool), np.ones((2, 2, 2), bool)):
        for mine in (nl.asarray(host), nl.asarray(host.T.copy()).T, ~nl.asarray(~host)):
            found = nl.nonzero(mine)
            for one, wanted in zip(found, np.nonzero(host), strict=True):
                same(one, wanted)
