"""What is recorded again is what was recorded the first time, node by node."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import products, reductions
from numloom.api.calling import KEPT, Replayed
from numloom.array.ndarray import node_of
from numloom.device.registry import current
from numloom.graph.again import find
from numloom.graph.node import LEAF, OP, VIEW
from numloom.testing import for_all_dtypes

FUNCTIONS = {
    name: (getattr(reductions, f"_{plain}"), getattr(nl, name), getattr(np, name))
    for name, plain in {
        "sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN", "any": "ANY", "all": "ALL", "mean": "MEAN",
        "var": "VAR", "std": "STD", "argmax": "ARGMAX", "argmin": "ARGMIN", "count_nonzero": "COUNT",
    }.items()
}  # fmt: skip

FORMS: dict[str, Any] = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "copied F": lambda x: x.copy("F"),
    "part": lambda x: x[1:, ::2],
    "backwards": lambda x: x[::-1],
    "one axis": lambda x: x[1],
    "0-d": lambda x: x[1, 2],
    "repeated": lambda x: nl.broadcast_to(x[0], (2, 4)),
    "pending": lambda x: x == x,
    "filled": lambda x: nl.full((2, 3), 3, x.dtype),
    "counted": lambda x: nl.arange(4),
    "empty": lambda x: x[:0],
}


KNOWN = ("C", "F", "part", "one axis", "repeated")
"""Forms whose reductions over axes are known from the second time on."""


def forget_tries(plain: Replayed) -> None:
    """What earlier tests called and could not be learned is tried again."""
    plain.traces.met.forget()


def chain(array: Any) -> list[Any]:
    """What an array's value is recorded as, down to what has another argument or none."""
    node = array.storage.value
    found = []
    while True:
        attr = None if node.kind == LEAF else repr(node.attr)  # NaN is NaN
        found.append((node.kind, node.op_def, node.code, node.shape, node.strides, node.size, attr))
        if node.kind <= VIEW or len(node.args) != 1:
            return found
        node = node.args[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_nodes(name: str) -> None:
    plain, function, _ = FUNCTIONS[name]
    assert type(plain) is Replayed
    forget_tries(plain)
    with nl.config(max_pending=1 << 20, unplanned=0):
        for dtype, (form, made) in itertools.product("?bHqefdFD", FORMS.items()):
            base = nl.asarray(np.arange(12).astype(dtype).reshape(3, 4))
            x = made(base)
            for axis, keepdims in itertools.product((None, 0, -1, (0,), (1, 0), ()), (False, True)):
                try:
                    given = (KEPT, axis) if keepdims else axis
                    expected = plain.general(given, x)
                except (ValueError, TypeError) as error:
                    for _ in range(2):
                        with pytest.raises(type(error)):
                            function(x, axis, keepdims=keepdims)
                    continue
                for turn in range(3):
                    got = function(x, axis, keepdims=keepdims)
                    assert chain(got) == chain(expected), (dtype, form, axis, keepdims)
                    assert got.is_scalar == expected.is_scalar
                    if turn == 1 and form in KNOWN and len(chain(expected)) > 1 and chain(expected)[0][0] != OP:
                        assert find(plain.traces, given, [node_of(x)]) is not None, (form, axis)


PAIRS: dict[str, Any] = {
    "matrix and vector": lambda x, y: (x, y[0]),
    "vector and matrix": lambda x, y: (x[0], y),
    "turned": lambda x, y: (x.T, y[:, 1]),
    "turned and backwards": lambda x, y: (x.T[::-1], y[::-1, 1]),
    "vectors": lambda x, y: (x[1], y[2]),
    "small matrices": lambda x, y: (x, y),
    "of one memory": lambda x, y: (x.T, x),
    "the same": lambda x, y: (x, x),
    "pending": lambda x, y: (x + y, y),
    "converted": lambda x, y: (x.T.astype("f4"), y.T),
    "of two dtypes": lambda x, y: (x, y > 3),
    "stacks": lambda x, y: (nl.broadcast_to(x, (2, 4, 4)), y[:, None, :]),
    "a number": lambda x, y: (x[1, 1], y),
    "filled": lambda x, y: (nl.full((4, 4), 3, x.dtype), y),
    "empty": lambda x, y: (x[:, :0], y[:0]),
}


@pytest.mark.parametrize("name", ["matmul", "dot"])
def test_the_same_nodes_of_products(name: str) -> None:
    plain = {"matmul": products._MATMUL, "dot": products._DOT}[name]
    forget_tries(plain)
    again = 0
    with nl.config(max_pending=1 << 20, unplanned=0):
        for dtype, made in itertools.product("?bHqefdFD", PAIRS.values()):
            host = np.arange(16).astype(dtype).reshape(4, 4)
            for turn in range(3):
                x, y = made(nl.asarray(host), nl.asarray(host.T.copy()))
                try:
                    expected = plain.general(None, x, y)
                except ValueError as error:
                    with pytest.raises(ValueError, match=re.escape(str(error))):
                        getattr(nl, name)(x, y)
                    continue
                again += find(plain.traces, None, [node_of(x), node_of(y)]) is not None
                got = getattr(nl, name)(x, y)
                assert nodes_of(got) == nodes_of(expected)
                assert (got.shape, got.strides, got.is_scalar) == (
                    expected.shape, expected.strides, expected.is_scalar
                )  # fmt: skip
                if turn:
                    np.testing.assert_array_equal(got.get(), expected.get())
    assert again > 50


def nodes_of(array: Any) -> Any:
    """What an array's value is recorded as; leaves by their place in the order of their first use."""
    met: dict[int, int] = {}

    def tree(node: Any) -> Any:
        if node.kind == LEAF:
            return LEAF, node.code, node.shape, met.setdefault(id(node), len(met))
        return node.kind, node.op_def, node.code, node.shape, node.strides, repr(node.attr), [*map(tree, node.args)]

    return tree(array.storage.value)


def test_operands_of_one_memory_are_told_apart() -> None:
    x, y = nl.asarray([[1.0, 2], [3, 4]]), nl.asarray([[5.0, 6], [7, 8]])
    for _ in range(3):
        assert (x.T @ x[0]).tolist() == [7, 10]
        assert (x.T @ y[0]).tolist() == [23, 34]
        assert (y.T @ x[0]).tolist() == [19, 22]
        assert (x @ x).tolist() == [[7, 10], [15, 22]]
        assert (x @ y).tolist() == [[19, 22], [43, 50]]


@for_all_dtypes()
def test_values(dtype: np.dtype[Any]) -> None:
    host = (np.arange(6) % 4).astype(dtype).reshape(2, 3)
    x = nl.asarray(host)
    nl.evaluate(x)
    for _, ours, numpys in FUNCTIONS.values():
        for _ in range(2):
            got, expected = ours(x, axis=1), numpys(host, axis=1)
            np.testing.assert_allclose(got.get(), expected, rtol=1e-3)
            assert got.dtype == expected.dtype


def test_axes_that_are_not_plain() -> None:
    x = nl.asarray(np.arange(6.0).reshape(2, 3))
    for _ in range(2):
        assert x.sum(1).tolist() == x.sum(np.int64(1)).tolist() == [3, 12]
        for axis in (True, 1.0, (1.0,), (True,), [1], "1", 2, (0, 0)):
            with pytest.raises(Exception) as ours:
                x.sum(axis)
            with pytest.raises(Exception) as numpys:
                np.zeros((2, 3)).sum(axis)
            assert ours.type is numpys.type or axis is True or axis == (True,), axis
        assert x.sum(keepdims=np.True_).shape == (1, 1) == x.sum(keepdims=1).shape
        assert x.sum(keepdims=np._NoValue).shape == ()  # type: ignore[attr-defined]


def test_memory_that_others_write_is_read_at_once() -> None:
    if current().discrete:
        pytest.skip("NumPy cannot have the memory of a GPU")
    x = nl.asarray(np.arange(4.0))
    x.sum(), x.sum()
    memory = np.asarray(x)
    before = x.sum()
    if memory.flags.writeable and np.shares_memory(memory, np.asarray(x)):
        memory[0] = 100
        assert (float(before), float(x.sum())) == (6.0, 106.0)


def test_calls_of_thousands_of_lengths_are_known() -> None:
    """Each length is a call of its own, and no turn learns all of them anew."""
    host = np.arange(3000.0)
    x = nl.asarray(host)
    plain = FUNCTIONS["sum"][0]
    for _ in range(3):
        sums = [x[:k].sum() for k in range(1, 3000)]
        assert [float(found) for found in sums] == [float(host[:k].sum()) for k in range(1, 3000)]
    assert len(plain.traces.known.entries) >= 2900
