"""Boolean indices: a mask that is still to be computed is computed by the kernel that selects by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.device.registry import current
from numloom.emit.selecting import SELECT_WORDS, selectable
from numloom.engine.evaluate import guard
from numloom.engine.execute import ReadyPlan, launch
from numloom.engine.resized import plan_of
from numloom.engine.routines import call, from_strided, strided
from numloom.engine.state import count_flush
from numloom.engine.walk import pending_roots, walk
from numloom.graph.layout import c_strides
from numloom.graph.node import CAST, LEAF, OP, VIEW, Node
from numloom.plan.step import Plan

_selections: dict[Any, tuple[int, ReadyPlan | None]] = {}
"""By device and the first half of a mask's plan key: the second half, and the plan if there is one."""
_KEPT = 4096


def compress(array: Node, mask: Node) -> Node:
    """The elements (in C order) of `array` where `mask`, of its leading axes, is true."""
    device = current()
    if (
        mask.kind in (OP, CAST)
        and _simple(array, mask)
        and hasattr(device, "select")
        and config.executor != "reference"
    ):
        guard.take()
        try:
            # What else is pending may write to memory that the mask reads, or share its kernel: then all of it runs.
            if pending_roots([mask]) == [mask]:
                result = _fused(array, mask, device)
                if result is not None:
                    return result
        finally:
            guard.give()
    return call("compress", array, mask)  # type: ignore[no-any-return]


def _simple(array: Node, mask: Node) -> bool:
    """Whether both are of one shape and in C order, and the array is in memory."""
    shape, itemsize = mask.shape, ITEMSIZES[array.code]
    base = array.args[0] if array.kind == VIEW else array
    return (
        array.shape == shape
        and array.size > 0
        and base.kind == LEAF
        and not (array.kind == VIEW and array.attr % itemsize)
        and array.strides == c_strides(shape, itemsize)
        and mask.strides == c_strides(shape, ITEMSIZES[mask.code])
    )


def _fused(array: Node, mask: Node, device: Any) -> Node | None:
    """Select by a mask that is computed, but not stored, by the same kernel; None where it is not a simple one.

    The mask stays as it was: a temporary one is never stored.
    """
    found = walk([mask])
    key = (device, config.fast_math, found.first)
    second, plan = _selections.get(key, (found.second, None))
    if key not in _selections or second != found.second:
        plan = plan_of(found, [mask], device, _selecting)
        if len(_selections) >= _KEPT:
            _selections.clear()
        _selections[key] = (found.second, plan)
    if plan is None:
        return None
    count_flush()
    ready = plan.steps[0]
    chosen = device.select(ready.geometry.blocks, strided(array))
    for place, word in enumerate(chosen.words, len(ready.words.block) - len(SELECT_WORDS)):
        ready.words.put(place, word)
    launch(ready, found.nodes, [], plan)
    return from_strided(chosen.result())


def _selecting(made: Plan) -> Plan | None:
    """A plan whose one kernel selects by the mask that it computed; None where it cannot."""
    if len(made.steps) != 1 or made.steps[0].program is None or not selectable(made.steps[0].program):
        return None
    step = made.steps[0]
    step.allocate = step.computed = ()
    step.program = replace(made.steps[0].program, select=True)
    return Plan((step,), made.drop)
