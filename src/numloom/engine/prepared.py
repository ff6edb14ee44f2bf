# cython: boundscheck=False, wraparound=False
"""Calls that were observed once, run again: from the operands' memory to the launches, and nothing between.

A compiled function, or the body of a loop, records the same nodes in each call, so the same plans and routines run in
the same order, as long as its operands are computed memory that lies as it did and nothing else is pending. What ran
was taken down (`numloom.engine.observed`); here it runs for other memory: neither nodes nor walks nor plans are needed.
It is a shorter way to the same launches, never to others.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.dtypes import ITEMSIZES, U8
from numloom.device.memory import Buffer, Pool
from numloom.device.registry import is_mixed, several
from numloom.engine.doubts import Within, number_of
from numloom.engine.evaluate import evaluate, plans_by_settings, plans_in_use
from numloom.engine.execute import BROKEN, ReadyPlan, ReadyStep, StepParameter, pack
from numloom.engine.guard import Guard, guard
from numloom.engine.look import settle_near
from numloom.engine.placement import bring
from numloom.engine.routines import Call
from numloom.engine.state import counters
from numloom.graph.node import LEAF, VIEW, Node, NodeSignature, computed, new_node, signature_by, viewed

_guard: Guard = guard
_counters = counters
FIRST = 4
"""Calls of a function before one is observed; after each failure it is observed half as often."""
MOST = 4096
A_NUMBER = -2


class PreparedStep:
    """A step of a plan whose words are found by places.

    Attributes
    ----------
    ready : ReadyStep
        The step.
    sizes : list of int
        Bytes of what it computes, whose places follow each other from `first` on.
    copied, source : int
        Bytes that the first of them begins as, and the place of the memory that has them; 0 where there are none.
    sources, words, offsets : list of int
        Of each word that is an address: the place of the memory, the word, and the bytes from there on.
    parameters, values : list
        Words that are numbers, and the numbers.
    given : list of (StepParameter, int)
        Words that are numbers which a call is given, and the places of these.
    located : list of (int, Complaint or None)
        Words that say which line of the user's complains, and of what; None where nothing can be wrong.
    done : list of int
        Places that nobody reads after it.
    """

    __slots__ = (
        "copied", "done", "first", "given", "located", "offsets", "parameters", "ready", "sizes", "source", "sources",
        "values", "words",
    )  # fmt: skip

    ready: ReadyStep
    first: int
    copied: int
    source: int
    sizes: list[Any]
    sources: list[Any]
    words: list[Any]
    offsets: list[Any]
    parameters: list[Any]
    values: list[Any]
    given: list[Any]
    located: list[Any]
    done: list[Any]

    def __init__(self, ready: ReadyStep, first: int) -> None:
        self.ready = ready
        self.first = first
        self.copied = self.source = 0
        self.sizes = [nbytes for _, nbytes in ready.allocate]
        self.sources = []
        self.words = []
        self.offsets = []
        self.parameters = []
        self.values = []
        self.given = []
        self.located = []
        self.done = []


class Operand:
    """What a routine takes: memory at a place, or a view of it, or a number.

    Attributes
    ----------
    place, offset : int
        Where the memory is, and the bytes from there on; -1 of a number.
    base, seen : NodeSignature or None
        Signatures of the computed value, and of a view of it.
    number : Node or None
        A node like the number.
    given : int
        The place of a number that a call is given; -1 of one that is always the same.
    """

    __slots__ = ("base", "given", "number", "offset", "place", "seen")

    place: int
    given: int
    offset: int
    base: Any
    seen: Any
    number: Any

    def __init__(self, place: int, offset: int, base: Any, seen: Any, number: Any, given: int = -1) -> None:
        self.given = given
        self.place = place
        self.offset = offset
        self.base = base
        self.seen = seen
        self.number = number


class PreparedCall:
    """A routine whose operands are found by places.

    Attributes
    ----------
    call : callable
        ``call(*nodes)`` gives a computed value, or a tuple of them.
    direct : bool
        Whether it is a `Call`, which may be bound to addresses.
    keeps : bool
        Whether its first operand is needed as it is, though it might be written to.
    operands : list of Operand
        What it takes.
    targets : list of int
        Places of its results; -1 of one that nobody reads.
    done : list of int
        Places that nobody reads after it.
    """

    __slots__ = ("call", "direct", "done", "keeps", "operands", "targets")

    call: Any
    direct: bool
    keeps: bool
    operands: list[Any]
    targets: list[Any]
    done: list[Any]

    def __init__(self, call: Any, operands: list[Any], targets: list[Any]) -> None:
        self.call = call
        self.direct = type(call) is Call
        self.keeps = False
        self.operands = operands
        self.targets = targets
        self.done = []


class Prepared:
    """What one call ran, for other operands.

    Attributes
    ----------
    device, pool : Device, Pool
        Where it runs.
    plan : ReadyPlan or None
        The plan, if the steps are those of one.
    plans : dict
        The table of the device's plans under the settings that held.
    steps : list of PreparedStep and PreparedCall
        What runs.
    places : int
        How many there are: of the operands, of constants, of what is computed.
    past : list of int
        The last bits of the addresses of operands and constants; -1 of one that nobody reads, `A_NUMBER` less its kind
        of one that is a number and no memory.
    constants : list of Node
        Computed values that are the same in each call.
    results, signatures, seen : list
        Places of the results, and the signatures of their memory, None of one that is an operand; of a result that is
        an earlier one, -1 less its number. Of a result that is a view: its signature and offset, else None.
    adopted : frozenset of int
        Places of operands that are written to.
    complains : bool
        Whether a kernel of it may name a source location.
    """

    __slots__ = (
        "adopted", "complains", "constants", "device", "past", "places", "plan", "plans", "pool", "results", "seen",
        "signatures", "steps",
    )  # fmt: skip

    device: Any
    pool: Any
    plan: Any
    plans: Any
    steps: list[Any]
    places: int
    past: list[Any]
    constants: list[Any]
    results: list[Any]
    signatures: list[Any]
    seen: list[Any]
    adopted: Any
    complains: bool

    def __init__(self, device: Any, plans: Any) -> None:
        self.device = device
        self.pool = device.pool
        self.plan = None
        self.plans = plans
        self.steps = []
        self.places = 0
        self.past = []
        self.constants = []
        self.results = []
        self.signatures = []
        self.seen = []
        self.adopted = frozenset()
        self.complains = False


def may_complain(step: Any) -> bool:
    """Whether a step that was taken down may name a source location, for all that is known."""
    if type(step) is PreparedStep:
        return any([complaint is not None for _, complaint in step.located])
    return bool(getattr(step.call, "complaints", True))


class CallState:
    """What is known of a function's calls.

    Attributes
    ----------
    prepared : Prepared or None
        What one of them ran, once one was observed.
    calls, next : int
        Calls the long way, and which of them is observed.
    loops : list or None
        Loops among what it records, once that is known.
    """

    __slots__ = ("calls", "loops", "next", "prepared")

    prepared: Any
    loops: Any
    calls: int
    next: int

    def __init__(self) -> None:
        self.prepared = None
        self.loops = None
        self.calls = 0
        self.next = FIRST


def past(buffer: Buffer) -> int:
    """The bits of an address that plans depend on."""
    return buffer.ptr & 15


class Stacked:
    """A result that goes to memory of its own in each step.

    Attributes
    ----------
    place : int
        Its place in a step.
    begin, stride, nbytes : int
        Where the first step's begins, the bytes from one to the next, and those of one.
    there : bool
        Whether a step may compute it where it goes to; else it is copied.
    """

    __slots__ = ("begin", "nbytes", "place", "stride", "there")

    place: int
    begin: int
    stride: int
    nbytes: int
    there: bool

    def __init__(self, place: int, begin: int, stride: int, nbytes: int, there: bool) -> None:
        self.place = place
        self.begin = begin
        self.stride = stride
        self.nbytes = nbytes
        self.there = there


def run_stepped(
    prepared: Prepared, memory: list[Any], begins: list[int], strides: list[int], states: list[int], first: int,
    steps: int, stacked: list[Any], last: list[Any], packed: Any, pause: Any, capture: Any,
) -> None:  # fmt: skip
    """Run what one step ran for the steps from `first` on.

    Parameters
    ----------
    prepared : Prepared
        A step: of its operands those from 1 on are the state.
    memory, begins, strides : list
        Of operands and constants: memory, the bytes from where on it is taken in the first of these steps, and how many
        bytes later in each next one. The state's memory that is written to belongs to nobody else.
    states : list of int
        Places of the next state.
    stacked, last : list of Stacked
        Results of each step, and the state of the last one.
    packed : Buffer
        Where both go.
    pause : callable
        Called now and then, so that signals are heard.
    capture : Capture or None
        What takes all of it down, which then does not run (`is_capturable`).
    """
    device = prepared.device if capture is None else capture
    fixed = len(memory)
    for step in range(first, steps):
        values = list(memory)
        at = list(begins)
        for _ in range(prepared.places - fixed):
            values.append(None)
            at.append(0)
        for one in stacked:
            if one.there:
                values[one.place] = packed
                at[one.place] = one.begin + step * one.stride
        if step == steps - 1:
            for one in last:
                if one.there and values[one.place] is None:
                    values[one.place] = packed
                    at[one.place] = one.begin
        run_steps(prepared, values, at, capture)
        for one in stacked:
            begin = one.begin + step * one.stride
            if one.nbytes and not (values[one.place] is packed and at[one.place] == begin):
                device.copy(packed, begin, values[one.place], at[one.place], one.nbytes)
        if step == steps - 1:
            for one in last:
                if one.nbytes and not (values[one.place] is packed and at[one.place] == one.begin):
                    device.copy(packed, one.begin, values[one.place], at[one.place], one.nbytes)
        for place in range(len(states)):
            where = states[place]
            memory[1 + place] = values[where]
            begins[1 + place] = at[where]
        for place in range(fixed):
            if strides[place]:
                begins[place] += strides[place]
        if not step & 255:
            pause()


def memory_of(prepared: Prepared, operands: list[Any], checking: bool) -> Any:
    """The memory of operands and constants, by places, and the numbers among them, None of what is computed.

    None where the long way must be gone.

    `checking`: beside that way, whose results are there.
    """
    if (plans_by_settings() if checking else plans_in_use()) is not prepared.plans:
        return None
    values: list[Any] = []
    expected_of = prepared.past
    count = len(operands)
    for place in range(len(expected_of)):
        expected = expected_of[place]
        if expected == -1:
            values.append(None)
            continue
        node = cython.cast(Node, operands[place] if place < count else prepared.constants[place - count])
        if expected < -1:  # A number of this kind: `A_NUMBER` less it.
            if node.kind != -2 - expected:
                return None
            values.append(node.attr)
            continue
        if node.kind != LEAF:
            return None
        buffer = cython.cast(Buffer, node.buffer)
        if buffer.pool is not prepared.pool and not checking and is_mixed() and not several():
            buffer = bring(node, prepared.device)  # As the long way would have it.
        if buffer.pool is not prepared.pool or past(buffer) != expected:
            return None
        values.append(buffer)
    for _ in range(prepared.places - len(values)):
        values.append(None)
    return values


def run_prepared(prepared: Prepared, operands: list[Any], checking: bool) -> Any:
    """The computed results for operands, or None where the long way must be gone.

    They have the dtypes, shapes and orders that one call had. `checking`: beside that way, whose results are there.
    """
    values = memory_of(prepared, operands, checking)
    if values is None:
        return None
    owned = _guard
    owned.take()
    try:
        if owned.running:  # In between it is recorded, as all else.
            return None
        if prepared.pool.error_at == 0 and (prepared.complains or _counters.doubts > 0):
            with Within(prepared.device, [*operands, *prepared.constants]) as within:
                run_prepared_steps(prepared, values)
                places = [place for place in range(len(prepared.results)) if prepared.signatures[place] is not None]
                within.cover([values[prepared.results[place]] for place in places if prepared.results[place] >= 0])
        else:
            run_prepared_steps(prepared, values)
    finally:
        owned.give()
    _counters.flushes += 1
    return results_of(prepared, operands, values)


def run_prepared_steps(prepared: Prepared, values: list[Any]) -> None:
    """Run all that was taken down, with one launch where that can be."""
    if prepared.plan is None or cython.cast(ReadyPlan, prepared.plan).replay is None:
        run_steps(prepared, values, None, None)
    else:
        run_prepared_graph(prepared, values)


def results_of(prepared: Prepared, operands: list[Any], values: list[Any]) -> Any:
    """Results as nodes."""
    bases: list[Any] = []
    results: list[Any] = []
    for place in range(len(prepared.results)):
        where = prepared.results[place]
        if where < 0:  # Two values over one memory would not know of each other.
            bases.append(bases[-1 - where])
        elif prepared.signatures[place] is None:
            bases.append(operands[where] if where < len(operands) else prepared.constants[where - len(operands)])
        else:
            bases.append(computed(prepared.signatures[place], values[where]))
        seen = prepared.seen[place]
        results.append(bases[place] if seen is None else viewed(seen[0], bases[place], seen[1]))
    return results


def run_steps(prepared: Prepared, values: list[Any], begins: Any, capture: Any) -> None:
    """Run all that was taken down.

    Parameters
    ----------
    prepared : Prepared
        What that is.
    values : list of Buffer or number
        Memory by places; where there is none yet it is allocated. Of numbers that a call is given themselves.
    begins : list of int or None
        The bytes from where on each place is in its memory.
    capture : Capture or None
        What takes it down instead.
    """
    for step in prepared.steps:
        if capture is not None:
            if type(step) is PreparedStep:
                run_prepared_step(step, values, begins, capture, capture.pool, None, capture)
            else:
                run_bound(cython.cast(PreparedCall, step).call, step, values, begins, prepared, capture)
                for place in cython.cast(PreparedCall, step).done:
                    values[place] = None
        elif type(step) is PreparedStep:
            _guard.running = True  # Its words are those of others' runs.
            try:
                run_prepared_step(step, values, begins, prepared.device, prepared.pool, prepared.plan, None)
            finally:
                _guard.running = False
        else:
            run_prepared_call(step, values, begins, prepared)


def is_capturable(prepared: Prepared) -> bool:
    """Whether all that was taken down are launches that stay the same, and nothing looks at what it is given."""
    for step in prepared.steps:
        if type(step) is PreparedStep:
            if (step.ready.kernel is not None and step.ready.run is None) or step.given or step.located:
                return False
            continue
        call = step.call
        if not step.direct or call.bound is None or call.device is not prepared.device or call.complaints:
            return False
        if any([operand.place < 0 for operand in step.operands]):
            return False
    return True


def run_prepared_graph(prepared: Prepared, values: list[Any]) -> None:
    """All steps with one launch at the end, or earlier where the pool asks for memory (as `execute.run_captured`)."""
    plan = cython.cast(ReadyPlan, prepared.plan)
    pool = plan.pool
    plan.device.enter()
    before = pool.held
    plan.held = 0
    pool.held = plan.launch_held
    try:
        run_steps(prepared, values, None, None)
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


def run_prepared_step(
    step: PreparedStep, values: list[Any], begins: Any, device: Any, pool: Any, plan: Any, capture: Any
) -> None:
    """Run one step, whose memory joins the places, or have it taken down."""
    ready = step.ready
    place = step.first
    for nbytes in step.sizes:
        if values[place] is None:
            values[place] = pool.allocate(nbytes)
        place += 1
    if step.copied:
        begin = 0 if begins is None else begins[step.first]
        other = 0 if begins is None else begins[step.source]
        device.copy(values[step.first], begin, values[step.source], other, step.copied)
        _counters.copies += 1
    if ready.run is not None:
        words = ready.words
        for place in range(len(step.words)):
            source = step.sources[place]
            buffer = cython.cast(Buffer, values[source])
            address = buffer.ptr + step.offsets[place]
            if begins is not None:
                address += begins[source]
            words.put(step.words[place], address)
        for place in range(len(step.parameters)):
            parameter = cython.cast(StepParameter, step.parameters[place])
            value = step.values[place]
            if value is not parameter.last:
                pack(words, parameter.word, value, parameter.code)
                parameter.last = value
        for one in step.given:
            parameter = cython.cast(StepParameter, one[0])
            value = values[one[1]]
            pack(words, parameter.word, value, parameter.code)
            parameter.last = value
        for one in step.located:
            words.put(one[0], 0 if one[1] is None else number_of(one[1]))
        scratch = None  # Held until the launch.
        if ready.workspace >= 0 and ready.scratch is None:
            geometry = ready.geometry
            scratch = device.workspace(geometry.workspace, geometry.counters)
            words.put(ready.workspace, scratch.ptr)
        _counters.kernels += 1
        if capture is not None:
            capture.launch(ready.run, step.words, [values[source] for source in step.sources])
        elif plan is not None and cython.cast(ReadyPlan, plan).held >= 0:
            cython.cast(ReadyPlan, plan).held += 1
        else:
            ready.run()
        settle_near(device, pool)
    for place in step.done:
        values[place] = None


def run_prepared_call(step: PreparedCall, values: list[Any], begins: Any, prepared: Prepared) -> None:
    """Run one routine, by addresses where it is bound to them."""
    done = False
    if step.direct:
        call = cython.cast(Call, step.call)
        if call.bound is not None and call.device is prepared.device:
            done = run_bound(call, step, values, begins, prepared, None)
    if not done:
        run_in_full(step, values, begins, prepared)
    for place in step.done:
        values[place] = None


def run_bound(call: Call, step: PreparedCall, values: list[Any], begins: Any, prepared: Prepared, capture: Any) -> bool:
    """Run a routine by addresses, or have it taken down; False, with nothing done, where it must look at operands."""
    at: list[int] = []
    for operand in step.operands:
        if operand.place < 0:
            return False
        buffer = cython.cast(Buffer, values[operand.place])
        address = buffer.ptr + operand.offset
        if begins is not None:
            address += begins[operand.place]
        at.append(address)
    target = step.targets[0]
    memory = values[target]
    if memory is None:
        memory = cython.cast(Pool, prepared.pool if capture is None else capture.pool).allocate(call.nbytes)
    buffer = cython.cast(Buffer, memory)
    address = buffer.ptr
    if begins is not None:
        address += begins[target]
    at.append(address)
    if capture is not None:
        capture.call(call.bound, [*[values[operand.place] for operand in step.operands], memory], at)
        values[target] = memory
        _counters.library_calls += 1
        return True
    if call.complaints:
        for complaint in call.complaints.values():
            at.append(number_of(complaint))
    found = call.bound(at[0], at[1], at[2]) if len(at) == 3 else call.bound(*at)
    if found is False:
        return False
    values[target] = memory
    _counters.library_calls += 1
    return True


def run_in_full(step: PreparedCall, values: list[Any], begins: Any, prepared: Prepared) -> None:
    """Run a routine on nodes."""
    nodes = [node_at(operand, values, begins) for operand in step.operands]
    if step.keeps:
        cython.cast(Node, nodes[0]).readers += 1
    found = step.call(*nodes)
    results = found if type(found) is tuple else (found,)
    for number in range(len(step.targets)):
        place = step.targets[number]
        if place < 0:
            continue
        node = cython.cast(Node, results[number])
        if node.kind != LEAF:
            evaluate([node])
        memory = values[place]
        if memory is None:
            values[place] = node.buffer
        elif memory is not node.buffer:
            begin = 0 if begins is None else begins[place]
            prepared.device.copy(memory, begin, node.buffer, 0, node.size * ITEMSIZES[node.code])


def node_at(operand: Operand, values: list[Any], begins: Any) -> Node:
    """What a routine takes, as a node."""
    if operand.place < 0:
        number = cython.cast(Node, operand.number)
        value = number.attr if operand.given < 0 else values[operand.given]
        return new_node(number.kind, None, (), number.code, number.shape, number.strides, number.size, value)
    signature = cython.cast(NodeSignature, operand.base)
    begin = 0 if begins is None else begins[operand.place]
    base: Node
    if not begin:
        base = computed(signature, values[operand.place])
        return base if operand.seen is None else viewed(operand.seen, base, operand.offset)
    buffer = cython.cast(Buffer, values[operand.place])
    base = computed(signature_by(LEAF, None, U8, (buffer.nbytes,), (1,), buffer.nbytes, None), buffer)
    seen = cython.cast(NodeSignature, signature if operand.seen is None else operand.seen)
    alike = signature_by(VIEW, None, seen.code, seen.shape, seen.strides, seen.size, None)
    return viewed(alike, base, begin + operand.offset)


__all__ = [
    "A_NUMBER",
    "CallState",
    "Prepared",
    "Stacked",
    "is_capturable",
    "may_complain",
    "run_prepared",
    "run_stepped",
]
