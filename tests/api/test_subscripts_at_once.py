"""Small arrays read and written at index arrays, lists and masks at once: what NumPy gives, and the full way."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import subscripts
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.graph.again import end, start
from numloom.graph.node import LEAF

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


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_of_any_memory(dtype: str) -> None:
    """Elements and their places: none, all and some of them true, in turned, strided and longer memory."""
    rng = np.random.default_rng(3)
    turned: list[Any] = [*LAYOUTS, np.asfortranarray, lambda x: np.asfortranarray(x)[::-1, 1:], lambda x: x[::-2].T]
    for shape in ((1,), (7, 1), (64, 65), (3, 17, 8), (2, 3, 1, 5), (300, 401), (0, 4)):
        host = (rng.random(shape) * 100).astype(dtype)
        for share in (0.0, 0.03, 0.5, 0.98, 1.0):
            whole = rng.random(shape) < share
            for layout in turned[: 7 if len(shape) == 1 else None]:
                if len(shape) == 1 and layout(host).ndim != 1:
                    continue
                a, mask = layout(host), layout(whole)
                own = np.ascontiguousarray(mask)
                for chosen in (mask, own, np.asfortranarray(own)):
                    found = nl.asarray(a)[nl.asarray(chosen)]
                    assert found.dtype == a.dtype
                    np.testing.assert_array_equal(nl.asnumpy(found), a[chosen])
                    places = nl.nonzero(nl.asarray(chosen))
                    for ours, theirs in zip(places, np.nonzero(chosen), strict=True):
                        np.testing.assert_array_equal(nl.asnumpy(ours), theirs)


def test_masks_that_are_pending_and_bytes_that_are_no_truth_values() -> None:
    host = np.random.default_rng(4).random((120, 90))
    for given in (host, np.asfortranarray(host), host[::-1, ::2]):
        array = nl.asarray(given)
        for limit in (-1, 0.1, 0.7, 2):
            np.testing.assert_array_equal(nl.asnumpy(array[array > limit]), given[given > limit])
            np.testing.assert_array_equal(nl.asnumpy((array * 2)[array > limit]), (given * 2)[given > limit])
            np.testing.assert_array_equal(nl.asnumpy(nl.nonzero(array > limit)[1]), np.nonzero(given > limit)[1])
    large = np.asfortranarray(np.random.default_rng(5).random((700, 800)) < 0.4)
    for ours, theirs in zip(nl.nonzero(nl.asarray(large)), np.nonzero(large), strict=True):
        np.testing.assert_array_equal(nl.asnumpy(ours), theirs)
    odd = np.array([0, 2, 255, 0, 1, 4, 0, 0, 3, 7, 1, 0], "u1")
    found = nl.asarray(np.arange(12))[nl.asarray(odd).view("?")]
    np.testing.assert_array_equal(nl.asnumpy(found), np.nonzero(odd)[0])


SIZES = [1, 7, 8, 9, 16, 17, 63, 4079, 4096, 4100, 20_000, 70_001, 300_000]
"""Of masks: beside a word of eight, the lanes that are counted together, and what is done at once."""


def truths(random: Random, size: int, kind: str) -> np.ndarray[Any, Any]:
    draw = np.random.default_rng(random.randrange(1 << 30))
    if kind == "half":
        return draw.random(size) < 0.5
    if kind == "runs":
        return np.repeat(draw.random(size // 37 + 1) < 0.5, 37)[:size]
    if kind == "few":
        return draw.random(size) < 3 / size
    return np.full(size, kind == "all")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["half", "runs", "few", "all", "none"])
@pytest.mark.parametrize("pending", [False, True])
def test_masks_of_any_length(size: int, kind: str, pending: bool) -> None:
    random = Random(size)
    for dtype in DTYPES if size < 5000 else ["?", "u2", "f4", "i8", "c16"]:
        mask = truths(random, size, kind)
        host = (np.arange(size) % 251).astype(dtype)
        x, m = nl.asarray(host), nl.asarray(mask)
        if pending:
            x, m = x + nl.zeros((), dtype), m & True
        assert x[m].dtype == host.dtype
        same(x[m], host[mask])
        same(x[::-1][m], host[::-1][mask])
        same(x[m[::-1]], host[mask[::-1]])
        chosen, values = host[::-1].copy()[mask], x[::-1].copy()[m]
        host[mask] = chosen
        x[m] = values
        same(x, host)
        host[::-1][mask] = chosen[::-1]
        x[::-1][m] = values[::-1]
        same(x, host)
        host[mask] = 1
        x[m] = 1
        same(x, host)
        if kind == "half" and size > 8:
            with pytest.raises(ValueError, match="input values"):
                x[m] = x[:-1][m[:-1]][:-1] if mask[-1] else x[m][:-1]


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", ["?", "i1", "f4", "c16"])
def test_rows_at_masks_of_any_length(width: int, dtype: str) -> None:
    random = Random(width)
    for size in (5, 8, 40, 1000):
        for kind in ("half", "runs", "all", "few"):
            mask = truths(random, size, kind)
            host = (np.arange(size * width) % 2).astype(dtype).reshape(size, width)
            x, m = nl.asarray(host), nl.asarray(mask)
            same(x[m], host[mask])
            same(x[:, ::-1].T[:, m], host[:, ::-1].T[:, mask])
            host[mask] = host[::-1].copy()[mask]
            x[m] = x[::-1].copy()[m]
            same(x, host)
            host[mask] = host[0].copy()
            x[m] = x[0].copy()
            same(x, host)
            host[mask] = 0
            x[m] = 0
            same(x, host)


def test_truth_values_that_are_other_bytes_than_one() -> None:
    """NumPy lets such be made, by views; they are true."""
    found = nl.asarray(np.arange(40, dtype="u1") % 5).view(bool)
    x = nl.asarray(np.arange(40.0))
    assert x[found].tolist() == [k for k in range(40) if k % 5]
    x[found] = x[found] + 100
    assert x.tolist() == [k + 100 if k % 5 else k for k in range(40)]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("item", DTYPES)
def test_index_arrays_of_every_dtype(dtype: str, item: str) -> None:
    host = (np.arange(100) % 90).astype(item)
    x = nl.asarray(host)
    for count in (1, 3, 50, 5000):
        index = (np.arange(count) * 37 % 100).astype(dtype)
        if dtype[0] == "i":
            index[::3] -= 100
        k = nl.asarray(index)
        for step in (1, 2, -1):
            same(x[k[::step]], host[index[::step]])
            same(x[::-1][k[::step]], host[::-1][index[::step]])
            same(x.reshape(25, 4)[k[::step] % 25], host.reshape(25, 4)[index[::step] % 25])
        same(x.reshape(10, 10)[k % 10, k % 7], host.reshape(10, 10)[index % 10, index % 7])
        same(x.reshape(10, 10)[k % 10, 3], host.reshape(10, 10)[index % 10, 3])
        host[index[: count // 2]] = host[index[count - count // 2 :]]
        x[k[: count // 2]] = x[k[count - count // 2 :]]
        same(x, host)
    for wrong in (100, 127, *([-101] if dtype[0] == "i" else [])):
        with pytest.raises(IndexError):
            x[nl.asarray(np.array([0, wrong], dtype))].get()


def test_a_mask_that_nobody_else_has_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """It chooses by the kernel that computes it where it is long; one with a name is computed for whoever asks next."""
    calls: list[Any] = []
    compress = subscripts.compress_values
    monkeypatch.setattr(subscripts, "compress_values", lambda *given: calls.append(given) or compress(*given))
    host = np.arange(40_000.0)
    x = nl.asarray(host)
    x.get()
    mask = x > 7
    same(x[mask], host[host > 7])
    assert node_of(mask).kind == LEAF and not calls
    same(x[x > 7], host[host > 7])
    assert len(calls) == 1


def test_other_pending_work_may_wait() -> None:
    """An index is computed, and what it reads that others have becomes a value; the rest is recorded as before."""
    host = np.arange(500)
    x = nl.asarray(host)
    x.get()
    other = x * 3
    index = x - 1
    twice = index * 2 % 500
    found = x[twice]
    assert node_of(index).kind == LEAF and node_of(twice).kind == LEAF and node_of(other).kind != LEAF
    same(found, host[(host - 1) * 2 % 500])
    x[twice] = 5  # What waits reads the memory that this changes.
    host[(host - 1) * 2 % 500] = 5
    same(x, host)
    same(other, np.arange(500) * 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 300])
def test_filled_arrays_and_counters(dtype: str, size: int) -> None:
    host, x = np.full(size, 1, dtype), nl.full(size, 1, dtype)
    other = nl.arange(9) + 1
    k = nl.arange(size)
    same(x[k], host)
    same(nl.ones(size, bool)[k], np.ones(size, bool))
    same(x[nl.ones(size, bool)], host)
    same(nl.arange(size)[k[::-1]], np.arange(size)[::-1])
    x[k] = 0
    same(x, np.zeros(size, dtype))
    same(other, np.arange(9) + 1)
