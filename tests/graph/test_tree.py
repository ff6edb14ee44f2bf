"""Trees that are recorded again: what may stand for a value lies as it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import F64, I64
from numloom.graph import build
from numloom.graph.node import VIEW, Node
from numloom.graph.tree import CutError, rebuilt


def seen(base: Node, *, code: int = F64, offset: int = 8, shape: tuple[int, ...] = (3,), strides: Any = (8,)) -> Node:
    return build.view(base, code, offset, shape, strides)


@pytest.mark.parametrize(
    ("other", "fits"),
    [
        ({"shape": (2,)}, False),
        ({"offset": 16}, True),
        ({}, True),
        ({"strides": (16,)}, True),
        ({"shape": (4,), "offset": 0}, False),
        ({"shape": (1, 3), "strides": (24, 8)}, False),
        ({"code": I64}, False),
    ],
    ids=str,
)
def test_what_stands_for_a_view(other: dict[str, Any], fits: bool) -> None:
    """A view by a rule may be of another place, but has the dtype and the shape of what it stands for."""
    x = nl.symbol("x", (8,))
    base = node_of(x)
    tree = node_of(wrap(seen(base)) * 2)

    def rule(node: Node) -> Node | None:
        return seen(node.args[0], **other) if node.kind == VIEW else None

    if not fits:
        with pytest.raises((TypeError, ValueError), match="must have that"):
            rebuilt([tree], {}, rule, anew=True)
        return
    (found,) = rebuilt([tree], {}, rule, anew=True)
    data = np.arange(8.0)
    begin, step = other.get("offset", 8) // 8, other.get("strides", (8,))[0] // 8
    expected = data[begin::step][:3] * 2
    np.testing.assert_array_equal(nl.function([x], wrap(found))(nl.asarray(data)).get(), expected)


LOOKS: dict[str, tuple[Any, bool]] = {
    "a total": (lambda x, c: float(x.sum()), True),
    "an element": (lambda x, c: x[1].item(), True),
    "a complex number": (lambda x, c: complex((x * 1j).sum()), True),
    "a list": (lambda x, c: (x * 2).tolist(), True),
    "beside others": (lambda x, c: float(c.sum() + nl.exp(x)[0]), True),
    "a comparison": (lambda x, c: bool(x.sum() > 0), False),
    "how many": (lambda x, c: int((x > 0).sum()), False),
    "a place": (lambda x, c: int(x.argmax()), False),
    "a whole number": (lambda x, c: int(x.astype(int)[0]), False),
    "a step": (lambda x, c: float(nl.floor(x)[0]), False),
    "of another": (lambda x, c: float(c.sum()), False),
    "zeros": (lambda x, c: float(nl.zeros_like(x)[0]), False),
}


@pytest.mark.parametrize("name", LOOKS)
def test_which_numbers_may_leave_what_is_differentiated(name: str) -> None:
    """A float that depends on it would be a constant from then on; what carries no gradient anyway may be looked at."""
    look, cut = LOOKS[name]
    data = np.array([1.0, -2.0, 3.5])
    other = nl.asarray(data * 2)

    def cost(x: Any) -> Any:
        look(x, other)
        return (x * x).sum()

    if cut:
        with pytest.raises(CutError):
            nl.grad(cost)(nl.asarray(data))
    else:
        np.testing.assert_array_equal(nl.grad(cost)(nl.asarray(data)).get(), 2 * data)
