"""What is recorded for operands met before is what is recorded for new ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.graph.node import CAST, LEAF, SCALAR, VIEW

WORK: dict[str, Any] = {
    "add": lambda xp, x, y: x + y,
    "less": lambda xp, x, y: xp.less(x, y),
    "true divide": lambda xp, x, y: x / y,
    "number": lambda xp, x, y: x * 2.5,
    "integer": lambda xp, x, y: x * 2,
    "number first": lambda xp, x, y: 3 - x,
    "complex": lambda xp, x, y: x + 1j,
    "sqrt": lambda xp, x, y: xp.sqrt(x),
    "square": lambda xp, x, y: xp.square(x),
    "cast": lambda xp, x, y: x.astype("f4"),
    "cast to bool": lambda xp, x, y: x.astype("?"),
    "choice": lambda xp, x, y: xp.where(x, x, y),
    "sum of columns": lambda xp, x, y: x.sum(0),
}

LAYOUTS: dict[str, Any] = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 0, 2),
    "part": lambda x: x[:, 1:2],
    "backwards": lambda x: x[::-1, :, ::-1],
    "converted": lambda x: x.transpose(2, 0, 1).astype("f4"),
    "one row": lambda x: x[0],
    "0-d": lambda x: x[1, 1, 1],
}


def tree(node: Any) -> Any:
    """What a value is recorded as."""
    attr = None if node.kind in (LEAF, VIEW) else node.attr
    parts = [tree(arg) for arg in node.args] if node.kind > SCALAR else []
    return node.kind, node.op_def, node.code, node.shape, node.strides, node.size, attr, parts


@pytest.mark.parametrize("work", [lambda x: nl.log(x), lambda x: x + 1.5, lambda x: 1.5 - x, lambda x: x.astype("f4")])
def test_converted_numbers_leave_no_form(work: Any) -> None:
    """What is recorded for a number that is known on the host says nothing of one that is not."""
    values = nl.asarray(np.arange(1, 9))
    for _ in range(12):
        expected = np.asarray(work(nl.asarray(2)).get())
        for number in (nl.asarray(2), values.max() - 6, values[1:2].sum()):
            assert work(number).get() == expected
            result = node_of(work(number))
            assert all(arg.code == result.code for arg in result.args) or result.kind == CAST


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_recorded_again() -> None:
    rng = random.Random(3)
    hosts = [np.arange(27).reshape(3, 3, 3).astype(dtype) for dtype in ("f8", "f4", "i8", "i1", "?", "D")]
    shown = [(host, nl.asarray(host)) for host in hosts]
    known: dict[Any, Any] = {}
    met = 0
    places = range(len(hosts))
    cases = [
        (
            rng.choice(list(WORK)),
            *((rng.choice(places), rng.choice(list(LAYOUTS))) for _ in range(2)),
            rng.random() < 0.3,
        )
        for _ in range(400)
    ]
    with np.errstate(all="ignore"), nl.config(max_pending=1 << 20, unplanned=0):
        for key in rng.choices(cases, k=1600):
            name, *chosen, pending = key
            host_x, host_y = (LAYOUTS[layout](shown[at][0]) for at, layout in chosen)
            x, y = (LAYOUTS[layout](shown[at][1]) for at, layout in chosen)
            if pending:
                host_x, x = np.maximum(host_x, host_x), nl.maximum(x, x)
            try:
                wanted = np.asarray(WORK[name](np, host_x, host_y))
            except TypeError:
                continue
            found = WORK[name](nl, x, y)
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), key
            if wanted.size > 1 and 1 not in wanted.shape:
                assert found.strides == wanted.strides, key
            node = tree(node_of(found))
            met += key in known
            assert known.setdefault(key, node) == node, key
    assert met > 600, met


def test_what_is_recalled_is_counted_and_read() -> None:
    x, y = nl.asarray([1, 2, 3]), nl.asarray([0.5, 1.5, 2.5])
    nl.evaluate()
    for turn in range(3):
        before = node_of(x).readers
        with nl.config(unplanned=0):
            z = x + y  # casts x
        assert node_of(x).readers == before + 1
        w = z * (turn + 0.5)
        assert w.tolist() == [(a + b) * (turn + 0.5) for a, b in ((1, 0.5), (2, 1.5), (3, 2.5))]
        del z, w
        assert node_of(x).readers == before
    for number in (200, 100):
        small = nl.asarray(np.arange(3, dtype="i1"))
        if number == 200:
            with pytest.raises(OverflowError):
                small + number
        else:
            assert (small + number).tolist() == [100, 101, 102]
