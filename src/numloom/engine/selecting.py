"""Boolean indices: a mask that is still to be computed is computed by the kernel that selects by it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.device.registry import current
from numloom.emit.selecting import SELECT_WORDS, selectable
from numloom.engine.evaluate import guard
from numloom.engine.execute import ReadyPlan, launch
from numloom.engine.resized import Change, plan_of
from numloom.engine.routines import call, from_strided, strided
from numloom.engine.state import count_flush
from numloom.engine.walk import Walk, pending_roots, walk
from numloom.graph.layout import c_strides
from numloom.graph.node import CAST, LEAF, OP, VIEW, Node
from numloom.plan.program import Select
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
    itemsize, same = ITEMSIZES[array.code], _among(found, array)
    key = (device, config.fast_math, itemsize, same, found.first)
    second, plan = _selections.get(key, (found.second, None))
    if key not in _selections or second != found.second:
        plan = plan_of(found, [mask], device, _selecting(itemsize, same))
        if len(_selections) >= _KEPT:
            _selections.clear()
        _selections[key] = (found.second, plan)
    if plan is None:
        return None
    count_flush()
    ready = plan.steps[0]
    first = len(ready.words.block) - len(SELECT_WORDS)

    def queue(words: tuple[int, ...]) -> None:
        for place, word in enumerate(words, first):
            ready.words.put(place, word)
        launch(ready, found.nodes, [], plan)

    return from_strided(device.select(ready.geometry.blocks, strided(array)).result(queue))


def _among(found: Walk, array: Node) -> int:
    """Number of the node of a walk that is the array, or the same view as it; -1 if there is none."""
    for number in range(found.count):
        node = found.nodes[number]
        if node is array or (
            node.kind == array.kind == VIEW
            and node.args[0] is array.args[0]
            and (node.attr, node.code, node.shape, node.strides) == (array.attr, array.code, array.shape, array.strides)
        ):
            return number
    return -1


@cache
def _selecting(itemsize: int, number: int) -> Change:
    """What makes of a mask's plan one whose kernel selects elements of so many bytes, those of node `number` or others.

    It gives None where a kernel cannot.
    """

    def change(made: Plan) -> Plan | None:
        if len(made.steps) != 1 or made.steps[0].program is None or not selectable(made.steps[0].program):
            return None
        step = made.steps[0]
        step.allocate = step.computed = ()
        program = made.steps[0].program
        loads = {instr.operand for instr in program.body if instr.kind == "load"} if number >= 0 else ()
        same = -1
        for place in loads:
            binding, operand = step.bindings[place], program.operands[place]
            known = binding.number if binding.view < 0 else binding.view
            moved = known != number or ITEMSIZES[operand.code] != itemsize
            if not moved and operand.strides[0] == 1 and binding.offset == 0:
                same = place
        step.program = replace(program, select=Select(itemsize, same))
        return Plan((step,), made.drop)

    return change
