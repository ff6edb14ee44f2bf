# cython: boundscheck=False, wraparound=False
"""Calls of compiled functions whose plan is known: from the operands' memory to the launches, and nothing between.

A function records the same nodes in each call, so the walk over them finds the same plan, as long as its operands are
computed memory that lies as it did and nothing else is pending. Then neither nodes nor a walk are needed: addresses go
into the plan's parameter blocks, and what it computes becomes new values. It is a shorter way to the same plan, never
another one. Functions with routines, loops of kernels, gathers that may fail or writes in place go the long way.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.device.memory import Buffer
from numloom.engine.evaluate import plans_by_settings, plans_in_use
from numloom.engine.execute import BROKEN, WARM_UP_RUNS, ReadyPlan, ReadyStep, StepParameter, pack
from numloom.engine.guard import Guard, guard
from numloom.engine.look import settle_near
from numloom.engine.state import counters
from numloom.engine.walk import end_walk, walk_pending
from numloom.graph.node import LEAF, SCALAR, VIEW, Node, computed, signature_by

_guard: Guard = guard
_counters = counters
FIRST = 4
"""Calls of a function before its plan is looked for; after each failure it is looked for half as often."""
MOST = 4096


class PreparedStep:
    """A step of a plan whose words are found by places.

    Attributes
    ----------
    ready : ReadyStep
        The step.
    sizes : list of int
        Bytes of what it computes, whose places follow each other from `first` on.
    sources, words, offsets : list of int
        Of each word that is an address: the place of the memory, the word, and the bytes from there on.
    parameters, values : list
        Words that are numbers, and the numbers.
    done : list of int
        Places that nobody reads after it.
    """

    __slots__ = ("done", "first", "offsets", "parameters", "ready", "sizes", "sources", "values", "words")

    ready: ReadyStep
    first: int
    sizes: list[Any]
    sources: list[Any]
    words: list[Any]
    offsets: list[Any]
    parameters: list[Any]
    values: list[Any]
    done: list[Any]

    def __init__(self, ready: ReadyStep, first: int) -> None:
        self.ready = ready
        self.first = first
        self.sizes = [nbytes for _, nbytes in ready.allocate]
        self.sources = []
        self.words = []
        self.offsets = []
        self.parameters = []
        self.values = []
        self.done = []


class Prepared:
    """A plan for the operands of one function.

    Attributes
    ----------
    plan, plans : ReadyPlan, dict
        The plan, and the table of its device and settings.
    steps : list of PreparedStep
        Its steps.
    past : list of int
        The last bits of the operands' addresses; -1 of one that nobody reads.
    results, signatures : list
        Places of the results, and their signatures, None of one that is an operand; of a result that is an earlier one,
        -1 less its number.
    """

    __slots__ = ("past", "plan", "plans", "results", "signatures", "steps")

    plan: ReadyPlan
    plans: dict[Any, Any]
    steps: list[Any]
    past: list[Any]
    results: list[Any]
    signatures: list[Any]

    def __init__(self, plan: ReadyPlan, plans: dict[Any, Any]) -> None:
        self.plan = plan
        self.plans = plans
        self.steps = []
        self.past = []
        self.results = []
        self.signatures = []


class CallState:
    """What is known of a function's calls.

    Attributes
    ----------
    prepared : Prepared or None
        Its plan, once there is one.
    calls, next : int
        Calls the long way, and at which of them a plan is looked for.
    """

    __slots__ = ("calls", "next", "prepared")

    prepared: Any
    calls: int
    next: int

    def __init__(self) -> None:
        self.prepared = None
        self.calls = 0
        self.next = FIRST


def run_prepared(prepared: Prepared, operands: list[Any], checking: bool) -> Any:
    """The computed results for operands, or None where the long way must be gone.

    They have the dtypes, shapes and orders that the plan was prepared for. `checking`: beside that way, whose results
    are there.
    """
    plan = prepared.plan
    if (plans_by_settings() if checking else plans_in_use()) is not prepared.plans:
        return None
    values: list[Any] = []
    past = prepared.past
    for place in range(len(operands)):
        node = cython.cast(Node, operands[place])
        expected = past[place]
        if expected < 0:
            values.append(None)
            continue
        if node.kind != LEAF:
            return None
        buffer = cython.cast(Buffer, node.buffer)
        if buffer.pool is not plan.pool or (buffer.ptr & 15) != expected:
            return None
        values.append(buffer)
    owned = _guard
    owned.take()
    try:
        if plan.replay is None:
            for step in prepared.steps:
                run_prepared_step(step, values, plan)
        else:
            run_prepared_graph(prepared, values)
    finally:
        owned.give()
    _counters.flushes += 1
    results: list[Any] = []
    for place in range(len(prepared.results)):
        where = prepared.results[place]
        if where < 0:  # Two values over one memory would not know of each other.
            results.append(results[-1 - where])
        elif prepared.signatures[place] is None:
            results.append(operands[where])
        else:
            results.append(computed(prepared.signatures[place], values[where]))
    return results


def run_prepared_graph(prepared: Prepared, values: list[Any]) -> None:
    """All steps with one launch at the end, or earlier where the pool asks for memory (as `execute.run_captured`)."""
    plan = prepared.plan
    pool = plan.pool
    plan.device.enter()
    before = pool.held
    plan.held = 0
    pool.held = plan.launch_held
    try:
        for step in prepared.steps:
            run_prepared_step(step, values, plan)
        if plan.held >= 0:
            try:
                plan.replay()
            except Exception:  # Nothing of it was launched.
                plan.launch_held()
            plan.held = -1
    except Exception:
        pool.held = before
        try:
            plan.launch_held()
        finally:
            if plan.held == BROKEN:
                plan.held = -1
        raise
    finally:
        pool.held = before
        plan.launch_held()


def run_prepared_step(step: PreparedStep, values: list[Any], plan: ReadyPlan) -> None:
    """Run one step, whose memory joins the places."""
    ready = step.ready
    pool = plan.pool
    for nbytes in step.sizes:
        values.append(pool.allocate(nbytes))
    words = ready.words
    for place in range(len(step.words)):
        buffer = cython.cast(Buffer, values[step.sources[place]])
        words.put(step.words[place], buffer.ptr + step.offsets[place])
    for place in range(len(step.parameters)):
        parameter = cython.cast(StepParameter, step.parameters[place])
        value = step.values[place]
        if value is not parameter.last:
            pack(words, parameter.word, value, parameter.code)
            parameter.last = value
    scratch = None  # Held until the launch.
    if ready.workspace >= 0 and ready.scratch is None:
        geometry = ready.geometry
        scratch = plan.device.workspace(geometry.workspace, geometry.counters)
        words.put(ready.workspace, scratch.ptr)
    _counters.kernels += 1
    if plan.held >= 0:
        plan.held += 1
    else:
        ready.run()
    settle_near(plan.device, pool)
    for place in step.done:
        values[place] = None


def prepare(operands: list[Any], count: int, results: tuple[int, ...]) -> Prepared | None:
    """The plan of what was just recorded: `count` operands, then instructions; None where there is no ready one.

    Nothing runs.
    """
    wanted = [operands[number] for number in results]
    pending = [node for node in wanted if node.buffer is None]
    given = {id(node) for node in operands[:count]}
    if len(given) < count or not pending:
        return None
    # A constant that was given as an operand, too, is none in other calls.
    if any([node.kind == LEAF and id(node) in given for node in operands[count:]]):
        return None
    found = walk_pending(pending)
    try:
        return _prepared(found, operands, count, wanted)
    finally:
        end_walk(found)


def _prepared(found: Any, operands: list[Any], count: int, wanted: list[Any]) -> Prepared | None:
    nodes = found.nodes[: found.count]
    bases = [node for node in operands[:count] if node.buffer is not None]
    plans = plans_by_settings()
    if plans is None:
        return None
    plan = plans.get(found.first)
    if plan is None or plan.second != found.second or any([node.buffer.pool is not plan.pool for node in bases]):
        return None
    if plan.waits or (len(plan.steps) > 1 and plan.warm_up_runs < WARM_UP_RUNS):
        return None
    for ready in plan.steps:
        if ready.run is None or ready.adopt or ready.copy is not None or ready.locations:
            return None
    places = {id(node): place for place, node in enumerate(operands[:count])}
    place_of: dict[int, int] = {}
    for node in nodes:
        if node.kind == LEAF:
            if id(node) not in places:
                return None  # A constant, or what other work reads.
            place_of[node.number] = places[id(node)]
    prepared = Prepared(plan, plans)
    prepared.past = [-1] * count
    last: dict[int, tuple[int, int]] = {}
    free = count
    for number, ready in enumerate(plan.steps):
        step = PreparedStep(ready, free)
        for computed_number in ready.computed:
            place_of[computed_number] = free
            free += 1
        for pointer in ready.pointers:
            offset = pointer.offset
            if pointer.view >= 0:
                if nodes[pointer.view].kind != VIEW:
                    return None
                offset += nodes[pointer.view].attr
            place = step.first + pointer.slot if pointer.slot >= 0 else place_of[pointer.number]
            if place < count:
                prepared.past[place] = operands[place].buffer.ptr & 15
            step.sources.append(place)
            step.words.append(pointer.word)
            step.offsets.append(offset)
            last[place] = (number, place)
        for parameter in ready.params:
            if nodes[parameter.number].kind < SCALAR:
                return None
            step.parameters.append(parameter)
            step.values.append(nodes[parameter.number].attr)
        prepared.steps.append(step)
    for node in wanted:
        given = node.buffer is not None
        place = places.get(id(node), -1) if given else place_of.get(node.number, -1)
        if place < 0 or given != (place < count):
            return None
        earlier = prepared.results.index(place) if place in prepared.results else -1
        prepared.results.append(-1 - earlier if earlier >= 0 else place)
        alike = signature_by(LEAF, None, node.code, node.shape, node.strides, node.size, None)
        prepared.signatures.append(None if given else alike)
    for number, place in last.values():
        if place >= count and place not in prepared.results:
            prepared.steps[number].done.append(place)
    return prepared


__all__ = ["CallState", "Prepared", "prepare", "run_prepared"]
