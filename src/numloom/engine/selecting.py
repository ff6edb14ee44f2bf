"""Boolean indices: a mask that is still to be computed is computed by the kernel that selects by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from numloom.base.config import config
from numloom.base.dtypes import BOOL, ITEMSIZES
from numloom.base.later import Later
from numloom.base.memo import Memo
from numloom.device.registry import beside, current, is_mixed
from numloom.engine import look
from numloom.engine.doubts import add, is_due, joined, launched, spread
from numloom.engine.guard import guard
from numloom.engine.look import is_near
from numloom.engine.owners import elsewhere
from numloom.engine.placement import begins_on_host, bring_all
from numloom.engine.routines import call, from_strided, strided
from numloom.engine.state import count_flush
from numloom.engine.tape import give_frame, run_step, take_frame
from numloom.engine.walk import Walk, pending_roots, walk
from numloom.graph.again import lose
from numloom.graph.build import gather
from numloom.graph.layout import c_strides
from numloom.graph.node import CAST, LEAF, OP, VIEW, Node, register
from numloom.graph.tree import waits

if TYPE_CHECKING:
    from numloom.emit import compaction
    from numloom.engine import resized
    from numloom.engine.resized import Change
    from numloom.plan import program as programs
    from numloom.plan import step as steps
    from numloom.plan.program import Select
    from numloom.plan.step import Plan
else:
    compaction, resized = Later("numloom.emit.compaction"), Later("numloom.engine.resized")
    programs, steps = Later("numloom.plan.program"), Later("numloom.plan.step")

_selections = Memo()
"""By device, what is selected and the first half of a mask's plan key: the second half, the plan if there is one, and
what its launch needs."""


def compress(array: Node, mask: Node) -> Node:
    """The elements (in C order) of `array` where `mask`, of its leading axes, is true."""
    if register.trees and mask.shape and waits((array, mask)):
        return gather(array, nonzero(mask), tuple(range(len(mask.shape))), 0, inside=True)
    if mask.kind != OP and mask.kind != CAST:
        return call("compress", array, mask)  # type: ignore[no-any-return]
    place = elsewhere((array, mask))
    if place is not None:
        with place:
            return compress(array, mask)
    base = array.args[0] if array.kind == VIEW else array
    if base.kind == LEAF and array.size and not any([at % ITEMSIZES[array.code] for at in _bytes(array)]):
        lead, itemsize = len(mask.shape), ITEMSIZES[array.code]
        if array.shape == mask.shape and array.strides == c_strides(array.shape, itemsize):
            found = _fused(
                mask, programs.Select(itemsize), array, lambda chosen, queue: chosen.elements(described(array), queue)
            )
        else:
            places = programs.Select(2, axes=1)
            found = _fused(mask, places, None, lambda chosen, queue: chosen.parts(described(array), lead, queue))
        if found is not None:
            result = from_strided(found)
            add(current(), result.buffer, [array])
            return result
    return call("compress", array, mask)  # type: ignore[no-any-return]


def described(array: Node) -> Any:
    """What lies in memory, as routines of the current device take it."""
    return strided(array, current())


def _bytes(array: Node) -> tuple[int, ...]:
    """Offset and strides of what lies in memory."""
    return (array.attr, *array.strides) if array.kind == VIEW else array.strides


def chosen_by_kernel(mask: Node) -> bool:
    """Whether a mask is an operation that the kernel may compute which chooses by it, without storing it."""
    return (mask.kind == OP or mask.kind == CAST) and hasattr(current(), "select")


def nonzero(mask: Node) -> tuple[Node, ...]:
    """Indices of the true elements of a value, in C order, along each axis."""
    place = elsewhere((mask,))
    if place is not None:
        with place:
            return nonzero(mask)
    shape = mask.shape
    if shape and (mask.kind == OP or mask.kind == CAST):
        found = _fused(
            mask, programs.Select(2, axes=len(shape)), None, lambda chosen, queue: chosen.indices(shape, queue)
        )
        if found is not None:
            return tuple(map(from_strided, found))
    return tuple(call("nonzero", mask))


def _fused(mask: Node, select: Select, array: Node | None, take: Callable[[Any, Any], Any]) -> Any:
    """What `take` makes of a selection whose mask is computed, but not stored, by the same kernel.

    None where the mask, an operation, is not a simple one. It stays as it was: a temporary one is never stored.
    """
    if mask.tree:
        return None
    lose()
    device = current()
    if (
        mask.code != BOOL
        or not mask.size
        or mask.strides != c_strides(mask.shape, ITEMSIZES[mask.code])
        or not hasattr(device, "select")
        or config.executor == "reference"
    ):
        return None
    guard.take()
    try:
        if guard.running:
            return None
        # What else is pending may write to memory that the mask reads, or share its kernel: then all of it runs.
        return _selected(mask, select, array, take, device) if pending_roots([mask]) == [mask] else None
    finally:
        guard.give()


def _selected(mask: Node, select: Select, array: Node | None, take: Callable[[Any, Any], Any], device: Any) -> Any:
    found = walk([mask])
    if is_mixed():
        leaves = [node for node in found.nodes if node.kind == LEAF]
        if beside(device) is not None and all([begins_on_host(leaf.size) and is_near(leaf.buffer) for leaf in leaves]):
            return None  # The mask is computed on the host, and it selects there.
        bring_all(found.nodes, found.count, device)
        found = walk([mask])
    number = -1 if array is None else _among(found, array)
    key = (device, config.fast_math, select, number, found.first)
    second, plan, chosen = _selections.entries.get(key, (None, None, None))
    if second != found.second:
        plan = resized.plan_of(found, [mask], device, _selecting(select, number))
        chosen = None if plan is None else device.select(plan.steps[0].linked.geometry.blocks)
        _selections.keep(key, (found.second, plan, chosen))
    if plan is None:
        return None
    count_flush()
    launch = plan.steps[0]
    doubts = spread(device, found.nodes) if is_due(device, plan.complains) else None

    def queue(words: tuple[int, ...]) -> None:
        block = launch.linked.words
        for place, word in enumerate(words, block.count() - len(words)):
            block.put(place, word)
        frame = take_frame(plan)
        run_step(launch, frame, found.nodes, plan)
        give_frame(plan, frame)

    if doubts is None:
        return take(chosen, queue)
    try:
        result = take(chosen, queue)
    finally:
        launched(doubts)
    doubt = joined(device, [one for one in doubts if one is not None])
    for one in result if isinstance(result, tuple) else (result,):
        one.buffer.doubt = doubt
        look.settle(device, one.buffer)  # Its size tells something of what is in doubt.
    return result


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
def _selecting(select: Select, number: int) -> Change:
    """What makes of a mask's plan one whose kernel selects: elements of node `number`, if the mask reads it.

    It gives None where a kernel cannot.
    """

    def change(made: Plan) -> Plan | None:
        if len(made.steps) != 1 or made.steps[0].program is None or not compaction.selectable(made.steps[0].program):
            return None
        step = made.steps[0]
        step.allocate = step.computed = ()
        program = made.steps[0].program
        loads = {instr.operand for instr in program.body if instr.kind == "load"} if number >= 0 else ()
        same = -1
        for place in loads:
            binding, operand = step.bindings[place], program.operands[place]
            known = binding.number if binding.view < 0 else binding.view
            moved = known != number or ITEMSIZES[operand.code] != select.itemsize
            if not moved and operand.strides[0] == 1 and binding.offset == 0:
                same = place
        step.program = replace(program, select=select._replace(same=same))
        return steps.Plan((step,), made.drop)

    return change
