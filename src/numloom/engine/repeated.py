"""Loops whose body is one map over the same elements: planned once, and run by one launch.

The body is planned as all other work; where its plan is one map that reads its state where it stores the next one, the
same map is gone over again and again by one kernel (`emit.repeating`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numloom.base.dtypes import I64, ITEMSIZES, U8
from numloom.engine.evaluate import plans_by_settings, plans_of
from numloom.engine.guard import guard
from numloom.engine.link import relocated, tape_of
from numloom.engine.tape import Tape
from numloom.engine.taped import TapedCall, past
from numloom.engine.walk import walk
from numloom.graph.build import one_tuple
from numloom.graph.node import LEAF, SCALAR, VIEW, Node, computed, signature_by
from numloom.plan.plan import make_plan
from numloom.plan.program import Instr, Program, Repeat
from numloom.plan.step import Binding, Plan, Step


@dataclass(frozen=True, slots=True)
class Extent:
    """How often a body is gone over, and where its results go.

    Attributes
    ----------
    steps, first : int
        How many steps, and the number of the first.
    states : int
        How many of the results are the next state.
    layout : tuple of (offset, strides)
        Where the results lie in memory of `nbytes` bytes: the last state, then all steps' values of the others, of
        which the first stride is from step to step.
    """

    steps: int
    first: int
    states: int
    layout: tuple[tuple[int, tuple[int, ...]], ...]
    nbytes: int


def prepare_repeated(
    record: Callable[[list[Node]], list[Node]], operands: Sequence[Node], extent: Extent, device: Any
) -> tuple[TapedCall, list[Node]] | None:
    """A loop as one launch, and the constants that it takes behind its operands; None where it is no such loop.

    Parameters
    ----------
    record : callable
        Records the body's results for the step's number, the state and what is read beside it.
    operands : sequence of Node
        Computed values in the place of these.
    extent : Extent
        What is made of it.
    """
    # Values of their own, so that none is taken for another one; and nothing is known of the number.
    values = [computed(_as_memory(node), node.buffer) for node in operands]
    guard.take()  # A walk leaves marks, which another thread's must not find.
    try:
        return None if guard.running else _planned(record, values, extent, device)
    finally:
        guard.give()


def _planned(
    record: Callable[[list[Node]], list[Node]], values: list[Node], extent: Extent, device: Any
) -> tuple[TapedCall, list[Node]] | None:
    roots = record(list(values))
    found = walk(roots)
    nodes = found.nodes[: found.count]
    numbers = [root.number for root in roots]
    if any([root.kind == LEAF for root in roots]):
        return None
    plan = make_plan(nodes, list(dict.fromkeys(numbers)), short_rows=device.short_rows, cluster=device.cluster)
    if len(plan.steps) != 1:
        return None
    step = plan.steps[0]
    position = {id(node): place for place, node in enumerate(values)}
    constants = [node for node in nodes if node.kind == LEAF and id(node) not in position]
    position.update({id(node): len(values) + place for place, node in enumerate(constants)})
    place_of = {number: position[id(node)] for number, node in enumerate(nodes) if id(node) in position}
    found_loop = repeated(step, numbers, place_of, extent)
    if found_loop is None:
        return None
    program, stored = found_loop
    plans_of(device)
    plans = plans_by_settings()
    if plans is None:
        return None
    tape = tape_of(Plan((_packed(step, program, stored, len(nodes), extent),), ()), device, 0)
    taped = _taped(tape, nodes, place_of, [*values, *constants], extent, plans)
    return None if taped is None else (taped, constants)


def _as_memory(node: Node) -> Any:
    return signature_by(LEAF, None, node.code, node.shape, node.strides, node.size, None)


def repeated(
    step: Step, numbers: Sequence[int], place_of: dict[int, int], extent: Extent
) -> tuple[Program, list[int]] | None:
    """A body's map as a loop, and the operand that each result is stored to.

    None where it is no map, or reads its state elsewhere than where the next one is.

    Parameters
    ----------
    step : Step
        The only step of the body's plan.
    numbers : sequence of int
        Which nodes are results.
    place_of : dict of int to int
        Which operand a node is: 0 is the step's number, then comes the state.
    """
    program = step.program
    if program is None or step.copy is not None or step.adopt:
        return None
    if program.reductions or program.nested or program.select or program.box is not None or not all(program.shape):
        return None
    operands, bindings, stores = list(program.operands), step.bindings, list(program.stores)
    stores_of = {bindings[store.operand].number: store for store in stores}
    if set(stores_of) != set(numbers) or any([bindings[store.operand].offset for store in stores]):
        return None
    stored: list[int] = []
    for place, number in enumerate(numbers):
        store = stores_of[number]
        if number in numbers[:place]:  # Of two results that are one value each is stored.
            operands.append(operands[store.operand])
            stores.append(replace(store, operand=len(operands) - 1))
            store = stores[-1]
        stored.append(store.operand)
    reads: dict[int, list[int]] = {}
    for instr in program.body:
        if instr.kind in ("load", "gather"):
            place = place_of[bindings[instr.operand].number]
            if instr.kind == "gather" and (place <= extent.states or not instr.inside):
                return None
            if instr.operand not in reads.setdefault(place, []):
                reads[place].append(instr.operand)
    pairs = []
    for state, target in enumerate(stored[: extent.states]):
        found = reads.get(1 + state, [])
        for read in found:
            binding, alike = bindings[read], operands[read].strides == operands[target].strides
            if not alike or operands[read].code != operands[target].code or binding.offset or binding.view >= 0:
                return None
        if len(found) > 1:
            return None
        pairs.append((found[0] if found else -1, target))
    stacked = []
    for target, (_, strides) in zip(stored[extent.states :], extent.layout[extent.states :], strict=True):
        stacked.append((target, strides[0] // ITEMSIZES[operands[target].code]))
    counted = reads.get(0, [])
    index = len(step.iota_offsets)
    number_of_step = Instr("iota", I64, index=index, strides=(0,) * len(program.shape))
    here = [instr.kind == "load" and instr.operand in counted for instr in program.body]
    if sum(here) > 1:
        return None
    body = tuple([number_of_step if is_it else instr for instr, is_it in zip(program.body, here, strict=True)])
    again = Repeat(extent.steps, extent.first, index, tuple(pairs), tuple(stacked))
    return replace(program, body=body, operands=tuple(operands), stores=tuple(stores), repeat=again), stored


def _packed(step: Step, program: Program, stored: Sequence[int], packed: int, extent: Extent) -> Step:
    """The step that stores all results into one block of memory, the value `packed`."""
    offsets = dict(zip(stored, [offset for offset, _ in extent.layout], strict=True))
    bindings = [
        Binding(packed, offsets[number]) if number in offsets else step.bindings[number]
        for number in range(len(program.operands))
    ]
    return replace(
        step,
        allocate=((packed, extent.nbytes),),
        program=program,
        bindings=tuple(bindings),
        computed=(packed,),
        release=(),
        prepared={},
    )


def _taped(
    plan: Tape, nodes: Sequence[Node], place_of: dict[int, int], values: Sequence[Node], extent: Extent,
    plans: dict[Any, Any],
) -> TapedCall | None:  # fmt: skip
    """Return the plan for other operands."""
    launch = plan.steps[0]
    numbers = [nodes[number] for number in launch.numbers]
    if launch.located or launch.linked.workspace >= 0 or any([node.kind < SCALAR for node in numbers]):
        return None
    count = len(values)
    tape = Tape(plan.device, [], count + 1)
    taped = TapedCall(tape, plans)
    taped.past = [-1] * count
    faults = []

    def where(number: int, view: int) -> tuple[int, int]:
        """Return the place of a value's memory, and where a view of it begins there."""
        place = place_of.get(number, count)
        if place < count:
            taped.past[place] = past(values[place].buffer)
        if view >= 0 and nodes[view].kind != VIEW:
            faults.append(view)
        return place, nodes[view].attr if view >= 0 else 0

    made = relocated(launch, where)
    if faults:
        return None
    tape.constants = [(count + 1 + place, node.attr) for place, node in enumerate(numbers)]
    tape.places += len(numbers)
    made.numbers = tuple([place for place, _ in tape.constants])
    tape.steps.append(made)
    taped.results.append(count)
    shape = one_tuple((extent.nbytes,))
    taped.signatures.append(signature_by(LEAF, None, U8, shape, one_tuple((1,)), extent.nbytes, None))
    taped.seen.append(None)
    return taped


__all__ = ["Extent", "prepare_repeated"]
