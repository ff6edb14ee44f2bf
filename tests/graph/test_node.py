"""Signatures: equal values have one, whatever recorded them, and different ones have others."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.graph.node import LEAF, SCALAR, forget_signatures, signature_by, signature_of

WORK: dict[str, Any] = {
    "sum": lambda x: x + x,
    "sum with a number": lambda x: x + 1,
    "product": lambda x: x * x,
    "conversion": lambda x: x.astype("c16"),
    "reduction": lambda x: x.sum(0),
    "reduction with its axis": lambda x: x.sum(0, keepdims=True),
    "reduction of all": lambda x: x.sum(),
    "part": lambda x: x[1:],
    "reversed": lambda x: x[::-1],
    "turned": lambda x: x.T,
    "write": lambda x: write(x, 1),
    "write elsewhere": lambda x: write(x, 0),
    "filled": lambda x: nl.full((2, 3), 3, x.dtype),
}


def write(x: Any, begin: int) -> Any:
    """A copy whose last rows from `begin` on are zero."""
    x = x + 0
    x[begin : begin + 1] = x[begin : begin + 1] * 0
    return x


def signatures_of_works() -> dict[Any, Any]:
    """The signatures of equal values, and what these are."""
    known: dict[Any, Any] = {}
    with nl.config(max_pending=1 << 20, unplanned=0):
        for dtype, order, (name, work) in [*itertools.product("fdiq", "CF", WORK.items())] * 2:
            x = nl.asarray(np.arange(12).astype(dtype).reshape(3, 4, order=order))
            nl.evaluate(x)
            node = node_of(work(x))
            assert node.kind != SCALAR
            signature = signature_of(node)
            assert signature is signature_of(node_of(work(x)))
            attr = None if name in ("part", "reversed", "turned", "filled") else node.attr
            said = node.kind, node.code, node.shape, node.strides, node.op_def, attr
            assert known.setdefault(signature, said) == said
    return known


def test_equal_values_have_one_form() -> None:
    known = signatures_of_works()
    assert len(known) == len(set(map(repr, known.values())))


def test_computed_values_have_the_form_of_leaves() -> None:
    x = nl.asarray(np.arange(12.0).reshape(3, 4))
    y = x * 2
    signature_of(y.storage.value)
    nl.evaluate(y)
    assert y.storage.value.kind == LEAF == signature_of(y.storage.value).kind
    assert signature_of(y.storage.value) is signature_of(x.storage.value)


def test_a_full_table_forgets_forms_that_nobody_has() -> None:
    def numbers(begin: int, count: int) -> list[int]:
        return [signature_by(LEAF, None, 8, (k,), (8,), k, None).number for k in range(begin, begin + count)]

    for _ in range(12):  # What earlier tests left would fill the table in the middle.
        forget_signatures()
    held = [signature_by(LEAF, None, 8, (k,), (4,), k, None) for k in range(90_000, 90_300)]
    free = numbers(90_000, 1000)
    assert free == numbers(90_000, 1000)
    forget_signatures()
    assert [signature_by(LEAF, None, 8, (k,), (4,), k, None) for k in range(90_000, 90_300)] == held
    same = sum(one == other for one, other in zip(free, numbers(90_000, 1000), strict=True))
    assert 300 < same < 700
