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
from numloom.graph.tree import rebuilt


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
