"""Calls of compiled functions, the short way: operands that are laid out as the symbols are, to computed arrays."""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.storage import Storage, set_value
from numloom.engine.evaluate import evaluate
from numloom.graph.node import LEAF, Node
from numloom.graph.replay import RecordedTrace, replay


def run_fast(
    recorded: RecordedTrace,
    results: tuple[int, ...],
    likes: list[Node],
    storages: list[Storage],
    updated: list[Storage],
    args: Any,
) -> Any:
    """Arrays of what a trace records for `args`, all of them computed; None where more must be looked at.

    Parameters
    ----------
    recorded : RecordedTrace
        What is recorded.
    results : tuple of int
        Numbers of the results among operands and instructions; the last ones are new values of `updated`.
    likes : list of Node
        The symbols that `args` stand for.
    storages : list of Storage
        Shared variables, which are the operands after them.
    updated : list of Storage
        Shared variables that get the last results, once all are computed.
    args : sequence
        What a call gives.
    """
    count = len(likes)
    if len(args) != count:
        return None
    operands: list[Any] = []
    for place in range(count):
        given = args[place]
        if type(given) is not ndarray:
            return None
        array = cython.cast(ndarray, given)
        like = likes[place]
        if array.code != like.code or (array._shape is not like.shape and array._shape != like.shape):
            return None
        node = node_of(array)
        if node.kind != LEAF or (node.strides is not like.strides and node.strides != like.strides):
            return None
        operands.append(node)
    for cell in storages:
        operands.append(cell.value)
    replay(recorded, operands)
    arrays: list[Any] = []
    wanted: list[Node] = []
    for number in results:
        node = operands[number]
        arrays.append(wrap(node))
        if node.buffer is None:
            wanted.append(node)
    operands.clear()
    evaluate(wanted)
    first = len(results) - len(updated)
    for place in range(len(updated)):
        node = cython.cast(ndarray, arrays[first + place]).held.value
        if node.kind != LEAF:
            raise AssertionError("the new value of a shared variable was not computed")
        set_value(updated[place], node)
    return arrays


__all__ = ["run_fast"]
