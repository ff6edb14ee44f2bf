"""The order in which an array lies in memory, which says what of it is a view: what trees of it are recorded for."""

from __future__ import annotations

import functools
from typing import Any

from numloom.graph.build import copied, full
from numloom.graph.layout import k_strides
from numloom.graph.node import FILL, LEAF, SCALAR, VIEW, Node


def repeated(array: Any) -> Any:
    """What a broadcast array repeats, with extent 1 along its axes of stride 0; another array as it is."""
    if 0 not in array.strides:
        return array
    return array[tuple([slice(0, 1) if step == 0 and extent > 1 else slice(None)
                        for step, extent in zip(array.strides, array.shape, strict=True)])]  # fmt: skip


@functools.lru_cache(1024)
def order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The order in which axes lie in memory, as strides of a dense array."""
    return k_strides(shape, [strides], itemsize)


def laid_out(node: Node, as_is: Node) -> Node:
    """A value of the right shape and dtype as a program takes it: dense in the order of the symbol."""
    if node.kind == LEAF and (node.strides is as_is.strides or node.strides == as_is.strides):
        return node
    if node.kind in (SCALAR, FILL):
        return full(node.attr, node.code, node.shape, as_is.strides)
    if node.kind != VIEW and node.strides == as_is.strides:
        return node
    return copied(node, as_is.strides, node.code)


__all__ = ["laid_out", "order", "repeated"]
