"""Plans for other sizes of work that was planned before.

The first plan of a symbolic key is made for its sizes alone. When other sizes come, a plan is made for traced ones
(`plan.sizes`), which takes two to three times as long: by the same planner and the same emitter, so it is the same
plan. It is kept with its guard trace. For other sizes the guard trace is played; if every answer is the same, so are
the kernels, and the numbers in the plan are those that the guard trace gives. Else a plan is made for these sizes, and
traced as another specialisation of the symbolic key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from numloom.base.config import config
from numloom.base.later import Later
from numloom.engine import kept_plans
from numloom.engine.direct import clear_direct
from numloom.engine.link import Pattern, launch_of, plan_tape, resized, sources_of, tape_of
from numloom.engine.state import counters
from numloom.engine.symbolic_key import play, symbolic_key
from numloom.engine.tape import Launch, Tape
from numloom.engine.walk import Walk
from numloom.engine.words import rows_of
from numloom.graph.build import forget_operations
from numloom.graph.node import SCALAR, UPDATE, VIEW, Node
from numloom.plan.nearby import nearby_views
from numloom.plan.program import Box, Geometry, Instr, KernelSource, Operand, Program, Reduce, Store, Word
from numloom.plan.sizes import GuardTrace, Size, is_size
from numloom.plan.step import Binding, Plan, Step

if TYPE_CHECKING:
    from numloom.emit import emit
    from numloom.plan import plan as planner
else:  # What makes plans and texts is imported for the first that is not on disk.
    emit, planner = Later("numloom.emit.emit"), Later("numloom.plan.plan")

_SPECIALISATIONS = 32
_KEYS_KEPT = 2048
_STEPS_KEPT = 1 << 15
"""Steps of all specialisations that are kept, with their texts."""
_steps = 0
_specialisations: dict[Any, Specialisations] = {}

Change = Callable[[Plan], "Plan | None"]


class TracedNode:
    """What the planner sees of a value, with traced sizes."""

    __slots__ = (
        "args", "attr", "buffer", "code", "kind", "number", "op_def", "readers", "seen", "shape", "size", "storages",
        "strides",
    )  # fmt: skip

    def __init__(self, node: Node, args: tuple[Any, ...], shape: Any, strides: Any, attr: Any) -> None:
        self.kind = node.kind
        self.op_def = node.op_def
        self.args = args
        self.code = node.code
        self.shape = shape
        self.strides = strides
        self.attr = attr
        self.buffer = node.buffer
        self.readers = node.readers
        self.storages = node.storages
        self.number = node.number
        self.seen = node.seen
        size: Any = 1
        for extent in shape:
            size *= extent
        self.size = size


def traced_nodes(nodes: Sequence[Node], trace: GuardTrace) -> list[Node]:
    """The nodes of a walk with the trace's sizes, which come in the order of `symbolic_key`."""
    shapes: dict[Any, Any] = {}
    orders: dict[Any, Any] = {}
    place = 0

    def sizes(count: int) -> tuple[Any, ...]:
        nonlocal place
        place += count
        return tuple(trace.size(k) for k in range(place - count, place))

    def traced(numbers: tuple[int, ...], met: dict[Any, Any]) -> Any:
        if numbers not in met:
            met[numbers] = sizes(len(numbers))
        return met[numbers]

    updates = any(node.kind == UPDATE for node in nodes)
    result: list[Any] = []
    for node in nodes:
        args = tuple(result[arg.number] for arg in node.args)
        attr = node.attr
        if node.kind == SCALAR:
            result.append(TracedNode(node, args, node.shape, node.strides, attr))
            continue
        shape, strides = traced(node.shape, shapes), traced(node.strides, orders)
        if node.kind == VIEW:
            base = node.args[0]
            if base.buffer is None or updates:
                attr = sizes(1)[0]
            else:
                # Where it begins is bound when the plan runs. Known are only its last bits.
                attr &= 15
        elif node.kind == UPDATE:
            offset = sizes(1)[0]
            attr = (offset, traced(attr[1], shapes), traced(attr[2], orders), attr[3])
        result.append(TracedNode(node, args, shape, strides, attr))
    return cast("list[Node]", result)


_PLAIN = (Step, Program, KernelSource, Instr, Operand, Store, Reduce, Box, Binding, Word, Geometry)


def with_numbers(thing: Any, values: Sequence[Any]) -> Any:
    """A plan's data with the numbers that a guard trace gave in the place of sizes."""
    if type(thing) is Size:
        return values[thing.slot]
    if type(thing) in (tuple, list):
        return type(thing)([with_numbers(each, values) for each in thing])
    if isinstance(thing, _PLAIN):
        return type(thing)(**{field.name: with_numbers(getattr(thing, field.name), values) for field in fields(thing)})
    return thing


class Specialisation:
    """A plan for all sizes that give its trace's answers.

    Attributes
    ----------
    steps : list of (Step, KernelSource or None)
        The plan and its texts, with sizes in the place of numbers.
    wanted : bool
        Whether there is such a plan; if not, that is what the answers say.
    entries, rest : list
        What `play` takes: entries, and what stands behind the given sizes before.
    whole : (list, list)
        The same for every number in the steps, not only for those that running them needs.
    """

    def __init__(
        self, nodes: Sequence[Node], roots: Sequence[int], sizes: Sequence[int], device: Any, change: Change
    ) -> None:
        self.device = device
        trace = GuardTrace(sizes)
        traced = traced_nodes(nodes, trace)
        plan = change(
            planner.make_plan(
                traced, roots, short_rows=device.short_rows, nearby=nearby_views(nodes), cluster=device.cluster
            )
        )
        self.wanted = plan is not None
        if plan is None:
            plan = Plan((), ())
        fast_math = config.fast_math and device.fast_math
        sources = [None if step.program is None else emit.emit(step.program, fast_math) for step in plan.steps]
        self.drop = plan.drop
        self.steps = list(zip(plan.steps, sources, strict=True))
        self.patterns: list[Pattern] = []
        for step, source in self.steps:
            launch = launch_of(with_numbers(step, trace.values), device, with_numbers(source, trace.values))
            self.patterns.append(self._pattern(step, source, launch, trace.slot))
        wanted = [place for pattern in self.patterns for place in pattern.wanted()]
        self.entries, self.rest = trace.program(wanted)
        self.whole = trace.program()
        trace.close()

    def data(self, number: int, sizes: Sequence[int]) -> tuple[Step, KernelSource]:
        """A step and its text as they are for other sizes (which running them seldom asks for)."""
        entries, rest = self.whole
        values = [*sizes, *rest]
        play(entries, values)
        found: tuple[Step, KernelSource] = with_numbers(self.steps[number], values)
        return found

    def _pattern(self, step: Step, source: KernelSource | None, launch: Launch, at: Callable[[Any], int]) -> Pattern:
        pattern = Pattern(launch, len(self.patterns), self)
        pattern.allocate = [(number, at(nbytes)) for number, nbytes in step.allocate]
        if step.copy is not None:
            pattern.copied = at(step.copy[2])
        if source is not None:
            numbers = enumerate(source.words)
            pattern.words = [(index, at(word.value)) for index, word in numbers if is_size(word.value)]
            for index, word in enumerate(source.words):
                if word.kind == "iota_offset" and is_size(step.iota_offsets[word.index]):
                    pattern.words.append((index, at(step.iota_offsets[word.index])))
            pattern.geometry = [at(getattr(source.geometry, field.name)) for field in fields(Geometry)]
            if any(is_size(binding.offset) for binding in step.bindings):
                offsets = [step.bindings[source.words[word].index].offset for word, _, _ in rows_of(launch.patches)]
                pattern.offsets = [at(offset) for offset in offsets]
        return pattern

    def values(self, sizes: list[int]) -> list[Any] | None:
        """What the guard trace gives for other sizes; None where an answer is another one."""
        values = [*sizes, *self.rest]
        return values if play(self.entries, values) else None

    def plan(self, values: list[Any], sizes: list[int], second: int) -> Tape | None:
        """The plan for other sizes, from what the guard trace gave for them."""
        if not self.wanted:
            return None
        steps = [resized(pattern, values, sizes) for pattern in self.patterns]
        return plan_tape(self.device, second, self.drop, steps)


class Specialisations:
    """Plans of one symbolic key: its specialisations, the one used last first, and how many were not traced since the
    last.
    """

    __slots__ = ("plans", "specialisations")

    def __init__(self) -> None:
        self.plans = 0
        self.specialisations: list[Specialisation] = []


def as_made(plan: Plan) -> Plan:
    """The plan as the planner made it."""
    return plan


def plan_of(found: Walk, roots: list[Node], device: Any, change: Change = as_made) -> Tape | None:
    """A plan for a walk whose key is not known yet.

    `change` makes of the planner's plan what is wanted, or None where that is not possible; then so is the result.
    """
    global _steps
    digest, things, sizes = symbolic_key(found.nodes, roots)
    key = (device, config.fast_math, change, digest, things)
    known = _specialisations.get(key)
    if known is None:
        if len(_specialisations) >= _KEYS_KEPT:
            _drop_half()
        known = _specialisations[key] = Specialisations()
    for place, specialisation in enumerate(known.specialisations):
        values = specialisation.values(sizes)
        if values is not None:
            if place:
                known.specialisations.insert(0, known.specialisations.pop(place))
            counters.resized += 1
            return specialisation.plan(values, sizes, found.second)
    numbers = [root.number for root in roots]
    counters.plans += 1
    if known.plans <= len(known.specialisations) // 4:
        # Of what has many specialisations, not every size is worth a trace.
        known.plans += 1
        if change is as_made:
            plan, sources = _exact_plan(found.nodes, numbers, device, digest, things, sizes)
            return tape_of(plan, device, found.second, sources)
        changed = change(planner.make_plan(found.nodes, numbers, device.short_rows, cluster=device.cluster))
        return None if changed is None else tape_of(changed, device, found.second)
    known.plans = 0
    made = Specialisation(found.nodes, numbers, sizes, device, change)
    _steps += len(made.steps)
    if _steps > _STEPS_KEPT:
        _drop_half()
    del known.specialisations[_SPECIALISATIONS - 1 :]
    known.specialisations.insert(0, made)
    values = made.values(sizes)
    assert values is not None
    return made.plan(values, sizes, found.second)


def _exact_plan(
    nodes: Sequence[Node], roots: Sequence[int], device: Any, digest: bytes, things: Sequence[Any], sizes: Sequence[int]
) -> tuple[Plan, kept_plans.Sources]:
    """A plan for these sizes alone, with its texts: an earlier process's, or made, and kept for later ones."""
    key = kept_plans.key(digest, things, sizes, device, config.fast_math and device.fast_math)
    found = None if key is None else kept_plans.find(key)
    if found is not None and not config.verify:
        return found
    plan = planner.make_plan(nodes, roots, device.short_rows, cluster=device.cluster)
    made = plan, sources_of(plan.steps, device)
    if found is not None:
        if found != made:
            raise SystemError(f"a plan on disk ({key}) is not the one that is made: this is a fault of numloom")
    elif key is not None:
        kept_plans.keep(key, *made)
    return made


def crowded(device: Any) -> bool:
    """Whether more kernels are loaded than should be, so that plans had better go; what is like them goes here."""
    if not device.crowded():
        return False
    _drop_half()
    clear_direct()
    forget_operations()
    return True


def _drop_half() -> None:
    """Make room for specialisations, where there are too many keys or steps, or kernels."""
    global _steps
    for key in list(_specialisations)[::2]:
        del _specialisations[key]
    kept = [made for known in _specialisations.values() for made in known.specialisations]
    _steps = sum([len(made.steps) for made in kept])


__all__ = ["crowded", "plan_of"]
