# cython: boundscheck=False, wraparound=False
"""Calls that were recorded once, run again: from the operands' memory to the launches, and nothing between.

A compiled function, or the body of a loop, records the same nodes in each call, so the same plans and routines run in
the same order, as long as its operands are computed memory that lies as it did and nothing else is pending. What ran
was taken down as a tape (`numloom.engine.observed`); here it runs for other memory: neither nodes nor walks nor plans
are needed. It is a shorter way to the same launches, never to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES, U8
from numloom.device.memory import Buffer, Pool
from numloom.device.registry import is_mixed, several, take_turn
from numloom.engine.doubts import Within, number_of
from numloom.engine.evaluate import evaluate, plans_by_settings, plans_in_use
from numloom.engine.guard import Guard, guard
from numloom.engine.placement import bring
from numloom.engine.routines import Call
from numloom.engine.state import counters
from numloom.engine.tape import (
    WARM_UP_RUNS,
    Frame,
    Launch,
    Step,
    Tape,
    begin_of,
    give_frame,
    is_bound,
    is_compiled,
    pack,
    put,
    run,
    take_frame,
    words_for,
)
from numloom.engine.words import new_words
from numloom.graph.node import LEAF, VIEW, Node, NodeSignature, computed, new_node, signature_by, viewed

_guard: Guard = guard
_counters = counters
_warm_up_runs = WARM_UP_RUNS
A_NUMBER = -2
NUMBER_WORDS = 2
"""The most that a number takes, a complex one."""


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


class RoutineCall(Step):
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
    """

    __slots__ = ("call", "direct", "keeps", "operands", "targets")

    call: Any
    direct: bool
    keeps: bool
    operands: list[Any]
    targets: list[Any]

    def __init__(self, call: Any, operands: list[Any], targets: list[Any]) -> None:
        self.call = call
        self.direct = type(call) is Call
        self.keeps = False
        self.operands = operands
        self.targets = targets
        self.done = ()

    def run(self, frame: Frame, tape: Tape) -> None:
        """Run it, by addresses where it is bound to them."""
        if self.direct:
            call = cython.cast(Call, self.call)
            if call.bound is not None and call.device is tape.device and self.run_bound(call, frame):
                return
        self.run_in_full(frame, tape)

    def run_bound(self, call: Call, frame: Frame) -> bool:
        """Run it by addresses, or have it taken down; False, with nothing done, where it must look at operands."""
        at: list[int] = []
        addresses = frame.addresses
        for operand in self.operands:
            place = cython.cast(Operand, operand).place
            if place < 0:
                return False
            at.append(addresses.get(place) + cython.cast(Operand, operand).offset)
        target = self.targets[0]
        memory = frame.values[target]
        if memory is None:
            memory = cython.cast(Pool, frame.pool).allocate(call.nbytes)
            at.append(cython.cast(Buffer, memory).ptr)
        else:
            at.append(addresses.get(target))
        if frame.capture is not None:
            buffers = [*[frame.values[operand.place] for operand in self.operands], memory]
            frame.capture.call(call.bound, buffers, at)
        else:
            if call.complaints:
                for complaint in call.complaints.values():
                    at.append(number_of(complaint))
            profiler = _counters.profiler
            span = None
            if profiler is not None:
                span = profiler.begin_routine(call.op_def.name, [node_at(operand, frame) for operand in self.operands])
            done = call.bound(at[0], at[1], at[2]) if len(at) == 3 else call.bound(*at)
            if span is not None:
                profiler.end(span, done is not False)
            if done is False:
                return False
        if frame.values[target] is None:
            put(frame, target, memory, 0)
        _counters.library_calls += 1
        return True

    def run_in_full(self, frame: Frame, tape: Tape) -> None:
        """Run it on nodes."""
        values = frame.values
        nodes = [node_at(operand, frame) for operand in self.operands]
        if self.keeps:
            cython.cast(Node, nodes[0]).readers += 1
        found = self.call(*nodes)
        results = found if type(found) is tuple else (found,)
        for number in range(len(self.targets)):
            place = self.targets[number]
            if place < 0:
                continue
            node = cython.cast(Node, results[number])
            if node.kind != LEAF:
                evaluate([node])
            memory = values[place]
            buffer = cython.cast(Buffer, node.buffer)
            if buffer.pool is not frame.pool and is_mixed():  # A loop may have run on the other side this time.
                buffer = bring(node, tape.device)
                if buffer.pool is not frame.pool:
                    raise AssertionError("the result of a routine stays on another device")
            if memory is None:
                put(frame, place, buffer, 0)
            elif memory is not buffer:
                begin = begin_of(frame, place)
                frame.device.copy(memory, begin, buffer, 0, node.size * ITEMSIZES[node.code])


class TapedCall:
    """What one call ran, for other operands.

    Attributes
    ----------
    tape : Tape
        What runs; its first places are the operands', then the constants'.
    plans : dict
        The table of the device's plans under the settings that held.
    past : list of int
        The last bits of the addresses of operands and constants; -1 of one that nobody reads, `A_NUMBER` less its kind
        of one that is a number and no memory.
    constants : list of Node
        Computed values that are the same in each call.
    located : list of (place, Complaint or None)
        Places of what says which line of the user's complains, and of what; None where nothing can be wrong.
    results, signatures, seen : list
        Places of the results, and the signatures of their memory, None of one that is an operand; of a result that is
        an earlier one, -1 less its number. Of a result that is a view: its signature and offset, else None.
    adopted : frozenset of int
        Places of operands that are written to.
    runs : int
        How many times it ran, up to `WARM_UP_RUNS`.
    capture : callable or None
        Asked after these with the call and operands of it for what runs all of it at once, if its tape has no graph.
    captured : Captured or None
        That.
    """

    __slots__ = (
        "adopted", "capture", "captured", "constants", "located", "past", "plans", "results", "runs", "seen",
        "signatures", "tape",
    )  # fmt: skip

    tape: Tape
    plans: Any
    past: list[Any]
    constants: list[Any]
    located: list[Any]
    results: list[Any]
    signatures: list[Any]
    seen: list[Any]
    adopted: Any
    runs: int
    capture: Any
    captured: Any

    def __init__(self, tape: Tape, plans: Any) -> None:
        self.tape = tape
        self.plans = plans
        self.past = []
        self.constants = []
        self.located = []
        self.results = []
        self.signatures = []
        self.seen = []
        self.adopted = frozenset()
        self.runs = 0
        self.capture = self.captured = None


class Captured:
    """All that a call, or all steps of a loop, run as one launch.

    Attributes
    ----------
    launch : callable
        What was captured (`numloom.device.interface.Captured`).
    given : list of int
        Places of operands that a run is given.
    results : list of (place, bytes)
        Those of results, which come after them.
    numbers : list of (place, dtype code)
        Those of numbers, which come last, in as many words as an element takes.
    fixed : list of (place, Buffer)
        Those of constants, and the memory that was theirs.
    counts : tuple of int
        Kernels, routines and copies.
    tf32 : bool
        The setting, which routines ask for when they are launched.
    words : Words
        Room for a number.
    """

    __slots__ = ("counts", "fixed", "given", "launch", "numbers", "results", "tf32", "words")

    launch: Any
    given: list[int]
    results: list[Any]
    numbers: list[Any]
    fixed: list[Any]
    counts: tuple[int, int, int]
    tf32: bool
    words: Any

    def __init__(
        self, launch: Any, given: list[int], counts: tuple[int, int, int], results: Sequence[Any] = (),
        numbers: Sequence[Any] = (), fixed: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.launch = launch
        self.given = given
        self.results = list(results)
        self.numbers = list(numbers)
        self.fixed = list(fixed)
        self.counts = counts
        self.tf32 = config.tf32
        self.words = new_words(NUMBER_WORDS)

    def run(self, given: list[Any]) -> bool:
        """Launch it with what it is given; False, with nothing done that lasts, where it must run step by step."""
        if self.tf32 != config.tf32 or not self.launch(given):
            return False
        kernels, calls, copies = self.counts
        _counters.kernels += kernels
        _counters.library_calls += calls
        _counters.copies += copies
        return True


def past(buffer: Buffer) -> int:
    """Return the bits of an address that plans depend on."""
    return buffer.ptr & 15


def fill(taped: TapedCall, frame: Frame, operands: list[Any], checking: bool) -> bool:
    """Put operands and constants in their places; False where the long way must be gone.

    `checking`: beside that way, whose results are there.
    """
    if (plans_by_settings() if checking else plans_in_use()) is not taped.plans:
        return False
    expected_of = taped.past
    pool = taped.tape.pool
    count = len(operands)
    for place in range(len(expected_of)):
        expected = expected_of[place]
        if expected == -1:
            continue
        node = cython.cast(Node, operands[place] if place < count else taped.constants[place - count])
        if expected < -1:  # A number of this kind: `A_NUMBER` less it.
            if node.kind != -2 - expected:
                return False
            frame.values[place] = node.attr
            continue
        if node.kind != LEAF:
            return False
        buffer = cython.cast(Buffer, node.buffer)
        if buffer.pool is not pool and not checking and is_mixed() and not several():
            buffer = bring(node, taped.tape.device)  # As the long way would have it.
        if buffer.pool is not pool or past(buffer) != expected:
            return False
        put(frame, place, buffer, 0)
    return True


def run_taped(taped: TapedCall, operands: list[Any], checking: bool) -> Any:
    """Return the computed results for operands, or None where the long way must be gone.

    They have the dtypes, shapes and orders that one call had. `checking`: beside that way, whose results are there.
    """
    tape = taped.tape
    owned = _guard
    owned.take()
    try:
        if owned.running:  # In between it is recorded, as all else.
            return None
        frame = take_frame(tape)
        if not fill(taped, frame, operands, checking):
            give_frame(tape, frame)
            return None
        if several():
            take_turn(tape.device)
        if tape.pool.error_at == 0 and (tape.complains or _counters.doubts > 0):
            with Within(tape.device, [*operands, *taped.constants]) as within:
                run_all(taped, frame)
                places = [place for place in range(len(taped.results)) if taped.signatures[place] is not None]
                made = [taped.results[place] for place in places]
                within.cover([frame.values[place] for place in made if place >= 0])
        else:
            run_all(taped, frame)
        found = results_of(taped, operands, frame)
        give_frame(tape, frame)
        if taped.runs < _warm_up_runs and is_bound(tape):
            taped.runs += 1
            if taped.runs == _warm_up_runs and taped.capture is not None and tape.replay is None:
                taped.captured = taped.capture(taped, operands)
    finally:
        owned.give()
    _counters.flushes += 1
    return found


def run_all(taped: TapedCall, frame: Frame) -> None:
    """Run what a call runs, by one launch where that can be."""
    captured = taped.captured
    if captured is None or _counters.profiler is not None or not run_captured(captured, frame):
        locate(taped, frame)
        run(taped.tape, frame, None, None)


def run_captured(captured: Captured, frame: Frame) -> bool:
    """Run what was captured; False where it must run step by step, to the memory that is there for its results."""
    for place, buffer in captured.fixed:
        if frame.values[place] is not buffer:  # It moved.
            return False
    addresses: list[int] = []
    for place in captured.given:
        addresses.append(frame.addresses.get(place))
    for place, nbytes in captured.results:
        put(frame, place, cython.cast(Pool, frame.pool).allocate(nbytes), 0)
        addresses.append(frame.addresses.get(place))
    words = captured.words
    for place, code in captured.numbers:
        pack(words, 0, frame.values[place], code)
        for word in range(words_for(code)):
            addresses.append(words.get(word))
    return captured.run(addresses)


def locate(taped: TapedCall, frame: Frame) -> None:
    """Put the numbers of source locations in their places, for kernels that are about to be launched."""
    for place, complaint in taped.located:
        frame.values[place] = 0 if complaint is None else number_of(complaint)


def results_of(taped: TapedCall, operands: list[Any], frame: Frame) -> Any:
    """Return results as nodes."""
    bases: list[Any] = []
    results: list[Any] = []
    for place in range(len(taped.results)):
        where = taped.results[place]
        if where < 0:  # Two values over one memory would not know of each other.
            bases.append(bases[-1 - where])
        elif taped.signatures[place] is None:
            bases.append(operands[where] if where < len(operands) else taped.constants[where - len(operands)])
        else:
            bases.append(computed(taped.signatures[place], frame.values[where]))
        seen = taped.seen[place]
        results.append(bases[place] if seen is None else viewed(seen[0], bases[place], seen[1]))
    return results


def is_capturable(taped: TapedCall) -> bool:
    """Return whether all that was taken down are launches, and nothing looks at what it is given."""
    if taped.located or not is_compiled(taped.tape):
        return False
    for step in taped.tape.steps:
        if type(step) is Launch:
            continue
        call = step.call
        if not step.direct or call.bound is None or call.device is not taped.tape.device or call.complaints:
            return False
        if any([operand.place < 0 for operand in step.operands]):
            return False
    return True


def node_at(operand: Operand, frame: Frame) -> Node:
    """Return what a routine takes, as a node."""
    if operand.place < 0:
        number = cython.cast(Node, operand.number)
        value = number.attr if operand.given < 0 else frame.values[operand.given]
        return new_node(number.kind, None, (), number.code, number.shape, number.strides, number.size, value)
    signature = cython.cast(NodeSignature, operand.base)
    begin = begin_of(frame, operand.place)
    buffer = cython.cast(Buffer, frame.values[operand.place])
    base: Node
    if not begin:
        base = computed(signature, buffer)
        return base if operand.seen is None else viewed(operand.seen, base, operand.offset)
    base = computed(signature_by(LEAF, None, U8, (buffer.nbytes,), (1,), buffer.nbytes, None), buffer)
    seen = cython.cast(NodeSignature, signature if operand.seen is None else operand.seen)
    alike = signature_by(VIEW, None, seen.code, seen.shape, seen.strides, seen.size, None)
    return viewed(alike, base, begin + operand.offset)


# ---------------------------------------------------------------- steps of a loop


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
    taped: TapedCall, memory: list[Any], begins: list[int], strides: list[int], states: list[int], first: int,
    steps: int, stacked: list[Any], last: list[Any], packed: Any, pause: Any, capture: Any,
) -> None:  # fmt: skip
    """Run what one step ran for the steps from `first` on.

    Parameters
    ----------
    taped : TapedCall
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
    tape = taped.tape
    frame = Frame(tape, capture)
    values = frame.values
    fixed = len(memory)
    for step in range(first, steps):
        for place in range(fixed, tape.memory):
            values[place] = None
        for place in range(fixed):
            if memory[place] is not None:
                put(frame, place, memory[place], begins[place])
        for one in stacked:
            if one.there:
                put(frame, one.place, packed, one.begin + step * one.stride)
        if step == steps - 1:
            for one in last:
                if one.there and values[one.place] is None:
                    put(frame, one.place, packed, one.begin)
        locate(taped, frame)
        run(tape, frame, None, None)
        for one in stacked:
            begin = one.begin + step * one.stride
            if one.nbytes and not (values[one.place] is packed and begin_of(frame, one.place) == begin):
                frame.device.copy(packed, begin, values[one.place], begin_of(frame, one.place), one.nbytes)
        if step == steps - 1:
            for one in last:
                begin = one.begin
                if one.nbytes and not (values[one.place] is packed and begin_of(frame, one.place) == begin):
                    frame.device.copy(packed, begin, values[one.place], begin_of(frame, one.place), one.nbytes)
        for place in range(len(states)):
            where = states[place]
            memory[1 + place] = values[where]
            begins[1 + place] = begin_of(frame, where)
        for place in range(fixed):
            if strides[place]:
                begins[place] += strides[place]
        if not step & 255:
            pause()


__all__ = [
    "A_NUMBER", "Captured", "Operand", "RoutineCall", "Stacked", "TapedCall", "is_capturable", "run_stepped",
    "run_taped",
]  # fmt: skip
