# cython: boundscheck=False, wraparound=False
"""Running a tape: a straight list of launches and routine calls over numbered places.

A plan is a tape whose places are the nodes of a walk; a compiled call, or a step of a loop, is one over its operands,
constants and whatever it computes. A launch is made ready once (kernel, parameter block with everything that does not
change); running it allocates, patches addresses and numbers, and launches. Of a plan a value becomes a leaf only after
its step was launched, so a failure leaves the rest pending.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.dtypes import DTYPES, F32, F64, I64, ITEMSIZES, KINDS
from numloom.base.low import cast_host
from numloom.device.memory import Buffer, Pool
from numloom.engine.doubts import launched, spread
from numloom.engine.guard import Guard, guard
from numloom.engine.interpret import interpret
from numloom.engine.look import settle_near
from numloom.engine.state import counters
from numloom.engine.words import new_words, rows_of
from numloom.graph.node import Node, become_leaf, lose_value

if cython.compiled:
    from numloom.engine._looped import looped  # type: ignore[import-not-found]
else:
    Looped = looped = None

LEAST_CAPTURED = 2
"""Launches that a tape must have to be launched together (a graph costs what one launch does, and 0.4 µs a kernel)."""
WARM_UP_RUNS = 3
"""Runs of a tape before its launches are captured, which takes the time of some four more."""
SCRATCH = 1 << 20
"""Most bytes of scratch memory that a tape may keep to itself for that."""
BROKEN = -2
"""What `Tape.held` is when a launch failed that values wait for."""
MOST_CAPTURED = 768
CAPTURED_MEMORY = 512 << 20
"""Tapes and loops captured at a time, and the most bytes of memory of their own: later ones run step by step."""

_captured: weakref.WeakSet[Any] = weakref.WeakSet()
"""What is captured, as long as a tape, a call or a loop has it."""
_warm_up_runs = WARM_UP_RUNS
_counters = counters
_guard: Guard = guard
_long_word = Struct("<q")
_NOTHING = object()


class Parameter:
    """A word that is a host value: number `index` of the program's, as dtype `code`; `last` is the value it holds."""

    __slots__ = ("code", "index", "last", "word")

    word: int
    index: int
    code: int
    last: Any

    def __init__(self, word: int, index: int, code: int) -> None:
        self.word = word
        self.index = index
        self.code = code
        self.last = _NOTHING


class Linked:
    """A kernel of one device with its parameter block, in which all is filled in that does not change.

    Attributes
    ----------
    loops : Looped or None
        What ready-made loops do until then; False where they do not.
    step, source : Step, KernelSource
        What it computes and its text; of what came from a plan for other sizes they are None until they are asked for.
    pattern, sizes : Pattern or None, list of int or None
        What it was made from by `resized`.
    kernel : object
        The device's kernel; until it is `ready` the interpreter does the work, or code that is slower.
    run : callable or None
        Launches the kernel with the block, once the kernel is ready.
    entry, items : int
        Where small work of the host is called directly, and how many items it is of; 0 of other work.
    words : Words
        The parameter block.
    parameters : list of Parameter
        Words that are host values.
    workspace : int
        Word that is the address of scratch memory, or -1.
    scratch : Buffer or None
        Scratch memory of its own, whose address the word has for good.
    """

    __slots__ = (
        "entry", "geometry", "items", "kernel", "loops", "parameters", "pattern", "run", "scratch", "sizes", "source",
        "step", "words", "workspace",
    )  # fmt: skip

    step: Any
    source: Any
    pattern: Any
    sizes: Any
    kernel: Any
    run: Any
    loops: Any
    entry: int
    items: int
    words: Any
    geometry: Any
    parameters: list[Any]
    workspace: int
    scratch: Any

    def __init__(self, kernel: Any, words: Any, geometry: Any) -> None:
        self.kernel = kernel
        self.words = words
        self.geometry = geometry
        self.step = self.source = self.pattern = self.sizes = None
        self.run = self.scratch = self.loops = None
        self.entry = self.items = 0
        self.parameters = []
        self.workspace = -1


class Step:
    """Something that a tape runs."""

    __slots__ = ("done",)

    done: Any

    def run(self, frame: Frame, tape: Tape) -> None:
        """Run it over the places of a frame."""
        raise NotImplementedError


class Launch(Step):
    """One kernel over memory at places, or a copy, and the memory that it makes first.

    Attributes
    ----------
    linked : Linked or None
        The kernel.
    allocate : tuple of (place, bytes)
        Places that get memory, if they have none.
    adopt : tuple of (place, place)
        Places that take over another one's memory.
    copied, target, source : int
        Bytes of memory at a place that begins as that of another one; 0 of none.
    patches : Words
        Rows of the block's word, the place of the memory whose address it is, and bytes from there on.
    reads : Words
        Rows of the place of an address, of the node whose memory it is in, and of the view whose offset is added (-1 of
        none): what a plan reads of the nodes of a walk.
    numbers : tuple of int
        Places of the numbers that the kernel's parameters are.
    located : tuple of (word, place)
        Words that say where a gather was recorded.
    computed : tuple of int
        Values of a plan that are leaves after this step.
    done : tuple of int
        Places that nobody needs after it.
    """

    __slots__ = (
        "adopt", "allocate", "computed", "copied", "linked", "located", "numbers", "patches", "reads", "source",
        "target",
    )  # fmt: skip

    linked: Any
    allocate: Any
    adopt: Any
    copied: int
    target: int
    source: int
    patches: Any
    reads: Any
    numbers: Any
    located: Any
    computed: Any

    def __init__(self, linked: Any) -> None:
        self.linked = linked
        self.allocate = self.adopt = self.numbers = self.located = self.computed = self.done = ()
        self.copied = self.target = self.source = 0
        self.patches = self.reads = None


class Frame:
    """What lies at the places of a tape while it runs.

    Attributes
    ----------
    addresses : Words
        Where the memory of each place begins.
    values : list
        The memory itself, or a number that the host knows; None of what is not there (yet).
    device, pool : Device, Pool
        Where new memory comes from, and who copies.
    capture : Capture or None
        Who takes down what runs, which then does not run.
    numbers : dict or None
        Then, by place and dtype code, what stands for the words of numbers that each run is given.
    """

    __slots__ = ("addresses", "capture", "device", "numbers", "pool", "values")

    addresses: Any
    values: list[Any]
    device: Any
    pool: Any
    capture: Any
    numbers: Any

    def __init__(self, tape: Tape, capture: Any = None, numbers: Any = None) -> None:
        self.addresses = new_words(tape.places)
        self.values = [None] * tape.places
        self.capture = capture
        self.numbers = numbers
        self.device = tape.device if capture is None else capture
        self.pool = tape.pool if capture is None else capture.pool
        for place, value in tape.constants:
            self.values[place] = value


class Tape:
    """Launches and routine calls made ready for one device.

    Attributes
    ----------
    device, pool : Device, Pool
        Where it runs.
    steps : list of Step
        What runs.
    places, memory : int
        How many places there are, and how many of them, the first ones, change from run to run.
    constants : list of (place, value)
        Numbers that are the same in each run.
    spare : Frame or None
        That of the last run, empty.
    first, second : int
        The key of a plan.
    drop : tuple of int
        Nodes of a plan that nothing reads.
    runs : int
        How many times it ran, up to `WARM_UP_RUNS`.
    replay : callable or None
        Launches all steps at once (`numloom.device.interface.Captured`).
    held : int
        How many steps wait for that now; -1 while each is launched at once, `BROKEN` if one that waited failed.
    complains : bool
        Whether a kernel of it may name a source location.
    waits : bool
        Whether small work runs without it, until its kernels are known to be compiled.
    """

    __slots__ = (
        "complains", "constants", "device", "drop", "first", "held", "memory", "places", "pool", "replay", "runs",
        "second", "spare", "steps", "waits",
    )  # fmt: skip

    device: Any
    pool: Any
    steps: list[Any]
    places: int
    memory: int
    constants: list[Any]
    spare: Any
    first: int
    second: int
    drop: Any
    runs: int
    replay: Any
    held: int
    complains: bool
    waits: bool

    def __init__(self, device: Any, steps: list[Any], places: int) -> None:
        self.device = device
        self.pool = device.pool
        self.steps = steps
        self.places = self.memory = places
        self.constants = []
        self.spare = self.replay = None
        self.first = self.second = 0
        self.drop = ()
        self.runs = 0
        self.held = -1
        self.waits = False
        self.complains = False

    def launch_held(self) -> None:
        """Launch what waits for `replay`, and from now on each step at once."""
        count = self.held
        self.held = BROKEN if count > 0 else self.held
        for position in range(count):
            cython.cast(Launch, self.steps[position]).linked.run()
        if count >= 0:
            self.held = -1


# ---------------------------------------------------------------- frames


def take_frame(tape: Tape) -> Frame:
    """Return an empty frame for a run, the last run's where that is over."""
    frame = tape.spare
    if frame is None:
        return Frame(tape)
    tape.spare = None
    return frame  # type: ignore[no-any-return]


def give_frame(tape: Tape, frame: Frame) -> None:
    """Empty the frame of a run that is over, and keep it for the next one."""
    values = frame.values
    for place in range(tape.memory):
        values[place] = None
    tape.spare = frame


def put(frame: Frame, place: int, buffer: Buffer, begin: int) -> None:
    """Have a place be in some memory, from `begin` bytes on."""
    frame.values[place] = buffer
    frame.addresses.put(place, buffer.ptr + begin)


def begin_of(frame: Frame, place: int) -> int:
    """Return how many bytes behind the beginning of its memory a place begins."""
    return frame.addresses.get(place) - cython.cast(Buffer, frame.values[place]).ptr  # type: ignore[no-any-return]


# ---------------------------------------------------------------- running


def run_plan(tape: Tape, nodes: list[Any]) -> None:
    """Run a plan over the nodes of a walk with the plan's key."""
    if tape.pool.error_at == 0 and (tape.complains or _counters.doubts > 0):
        doubts = spread(tape.device, nodes)
        if doubts is not None:
            try:
                run_nodes(tape, nodes, doubts)
            finally:
                launched(doubts)
            return
    run_nodes(tape, nodes, None)


def run_nodes(tape: Tape, nodes: list[Any], doubts: Any) -> None:
    """`run_plan`, where values are in doubt (`numloom.engine.doubts.spread`)."""
    frame = take_frame(tape)
    if len(tape.steps) == 1:  # Everything is let go when it has run.
        run_node_step(tape.steps[0], frame, nodes, tape, doubts)
    else:
        for number in tape.drop:
            nodes[number] = None
        run(tape, frame, nodes, doubts)
    give_frame(tape, frame)


def run(tape: Tape, frame: Frame, nodes: Any, doubts: Any) -> None:
    """Run a tape's steps, with one launch for all of them where that can be.

    Parameters
    ----------
    tape : Tape
        What runs.
    frame : Frame
        What its places are.
    nodes : list of Node or None
        The nodes of a walk, if it is a plan: their memory is read, and what is computed becomes theirs.
    doubts : list or None
        What is in doubt of them.
    """
    alone = frame.capture is None and not _counters.watched
    if alone and tape.replay is not None:
        run_held(tape, frame, nodes, doubts)
        return
    run_steps(tape, frame, nodes, doubts)
    if alone and tape.runs < _warm_up_runs and is_bound(tape):
        tape.runs += 1
        if tape.runs == _warm_up_runs:
            capture_graph(tape)


def run_steps(tape: Tape, frame: Frame, nodes: Any, doubts: Any) -> None:
    """Run a tape's steps one by one."""
    values = frame.values
    profiler: Any = None if frame.capture is not None else _counters.profiler
    for step in tape.steps:
        if nodes is not None:
            run_node_step(step, frame, nodes, tape, doubts)
            for number in cython.cast(Launch, step).done:
                nodes[number] = None
            continue
        if type(step) is Launch:
            span = None if profiler is None else profiler.begin_step(step)
            _guard.running = True  # Its words are those of others' runs.
            try:
                run_step(step, frame, None, tape)
            finally:
                _guard.running = False
                if span is not None:
                    profiler.end(span)
        else:
            cython.cast(Step, step).run(frame, tape)
        for number in cython.cast(Step, step).done:
            values[number] = None


def run_node_step(launch: Launch, frame: Frame, nodes: list[Any], tape: Tape, doubts: Any) -> None:
    """Run a step of a plan, whose values become leaves; who records and who profiles is told."""
    if not _counters.watched:
        run_step(launch, frame, nodes, tape)
        settle(launch, frame, nodes, doubts)
        return
    recorder, profiler = _counters.recorder, _counters.profiler
    span = None if profiler is None else profiler.begin_step(launch)
    try:
        run_step(launch, frame, nodes, tape)
        settle(launch, frame, nodes, doubts)
    finally:
        if span is not None:
            profiler.end(span)
    if recorder is not None:
        recorder.ran_step(tape, launch, nodes)


def settle(launch: Launch, frame: Frame, nodes: list[Any], doubts: Any) -> None:
    """Have what a step of a plan has computed be leaves."""
    values = frame.values
    for number in launch.computed:
        buffer = cython.cast(Buffer, values[number])
        values[number] = None
        if doubts is not None:
            buffer.doubt = doubts[number]
        become_leaf(nodes[number], buffer)
    if launch.copied:
        values[launch.source] = None


def run_step(launch: Launch, frame: Frame, nodes: Any, tape: Tape) -> None:
    """Allocate, copy and launch."""
    values = frame.values
    for place, nbytes in launch.allocate:
        if values[place] is None:
            put(frame, place, cython.cast(Pool, frame.pool).allocate(nbytes), 0)
    if nodes is not None:
        bind(launch, frame, nodes)
    if launch.copied:
        begin = begin_of(frame, launch.target)
        frame.device.copy(
            values[launch.target], begin, values[launch.source], begin_of(frame, launch.source), launch.copied
        )
        _counters.copies += 1
    if launch.linked is not None:
        launch_kernel(launch, frame, nodes, tape)


def bind(launch: Launch, frame: Frame, nodes: list[Any]) -> None:
    """Find the addresses that a step of a plan reads."""
    values, addresses = frame.values, frame.addresses
    for place, base in launch.adopt:
        put(frame, place, cython.cast(Node, nodes[base]).buffer, 0)
    if launch.copied:
        put(frame, launch.source, cython.cast(Node, nodes[launch.source]).buffer, 0)
    rows = launch.reads
    for at in range(0, rows.count(), 3):
        number = rows.get(at + 1)
        memory = values[number]
        if memory is None:
            memory = cython.cast(Node, nodes[number]).buffer
        buffer = cython.cast(Buffer, memory)
        address = buffer.ptr
        number = rows.get(at + 2)
        if number >= 0:
            offset = cython.cast(Node, nodes[number]).attr
            address += offset
        addresses.put(rows.get(at), address)


def launch_kernel(launch: Launch, frame: Frame, nodes: Any, tape: Tape) -> None:
    """Bind a kernel to addresses and numbers, and launch it (or interpret it meanwhile)."""
    linked = cython.cast(Linked, launch.linked)
    words = linked.words
    words.patch(launch.patches, frame.addresses)
    _counters.kernels += 1
    for index in range(len(launch.numbers)):
        number = launch.numbers[index]
        value = frame.values[number] if nodes is None else cython.cast(Node, nodes[number]).attr
        parameter = cython.cast(Parameter, linked.parameters[index])
        if value is not parameter.last:
            pack(words, parameter.word, value, parameter.code)
            parameter.last = value
    for word, number in launch.located:
        words.put(word, frame.values[number] if nodes is None else nodes[number].op_def.id)
    device, pool = frame.device, frame.pool
    compiled = linked.run is not None or is_ready(linked, tape.device)
    if not compiled and device.interprets:
        try:
            run_uncompiled(linked, device)
        finally:  # NumPy may refuse what a gather has complained of already.
            settle_near(device, pool)
        return
    scratch = None  # Held until the launch.
    if linked.workspace >= 0 and linked.scratch is None:
        scratch = device.workspace(linked.geometry.workspace, linked.geometry.counters)
        words.put(linked.workspace, scratch.ptr)
    if tape.held >= 0:
        tape.held += 1
    elif frame.capture is not None:
        take_down(launch, frame, tape)
    elif linked.entry and cython.compiled:
        words.call(linked.entry, linked.items)
    elif compiled:
        linked.run()
    else:
        device.launch(linked.kernel, words.block, linked.geometry)
    settle_near(device, pool)  # What it was to compute stays pending.


def take_down(launch: Launch, frame: Frame, tape: Tape) -> None:
    """Have a capture take a launch down, whose addresses and numbers each run is given."""
    linked, rows = launch.linked, rows_of(launch.patches)
    words = [word for word, _, _ in rows]
    given = [frame.values[place] for _, place, _ in rows]
    for parameter, place in zip(linked.parameters, launch.numbers, strict=True):
        if place < tape.memory:
            known = (place, parameter.code)
            if known not in frame.numbers:
                frame.numbers[known] = [frame.capture.number() for _ in range(words_for(parameter.code))]
            for word, one in enumerate(frame.numbers[known], parameter.word):
                words.append(word)
                given.append(one)
                linked.words.put(word, 0)
            parameter.last = _NOTHING
    frame.capture.launch(linked.run, words, given)


def is_ready(linked: Linked, device: Any) -> bool:
    """Return whether a kernel is compiled by now; asked until it is."""
    if linked.kernel.ready:
        linked.run = device.bound(linked.kernel, linked.words.block, linked.geometry)
        # Small work of the host is called where it lies.
        linked.entry = getattr(linked.run, "small", 0)
        linked.items = getattr(linked.run, "items", 0)
        linked.loops = None
        return True
    return False


def is_compiled(tape: Tape) -> bool:
    """Return whether all kernels of a tape are there."""
    for step in tape.steps:
        if type(step) is Launch:
            linked = cython.cast(Linked, cython.cast(Launch, step).linked)
            if linked is not None and linked.run is None and not is_ready(linked, tape.device):
                return False
    return True


def is_bound(tape: Tape) -> bool:
    """Return whether the last run of a tape found all of its kernels there."""
    for step in tape.steps:
        linked = step.linked if type(step) is Launch else None
        if linked is not None and linked.run is None:
            return False
    return True


def runs_by_loops(tape: Tape) -> bool:
    """Return whether each launch of a tape has its kernel, or ready-made loops for it."""
    for step in tape.steps:
        linked = step.linked if type(step) is Launch else None
        if linked is None or linked.run is not None or is_ready(linked, tape.device):
            continue
        if not has_loops(linked, tape.device):
            return False
    return True


def words_for(code: int) -> int:
    """Return how many words of a parameter block an element takes."""
    return -(-ITEMSIZES[code] // 8)


def pack(words: Any, word: int, value: Any, code: int) -> None:
    """Put a host value into a parameter block as an element of dtype `code`."""
    if value is None:
        value = 0
    if code == F32:
        words.put_f32(word, value)
    elif code == F64:
        words.put_f64(word, value)
    elif code == I64:
        words.put(word, value)
    elif type(value) is int and KINDS[code] in "iu":
        bits = value & ((1 << 8 * ITEMSIZES[code]) - 1)
        words.put(word, bits - (1 << 64) if bits >> 63 else bits)
    else:
        with np.errstate(all="ignore"):
            raw = cast_host(np.array(value), DTYPES[code]).tobytes()
        raw += bytes(-len(raw) % 8)
        for index in range(0, len(raw), 8):
            words.put(word + index // 8, _long_word.unpack_from(raw, index)[0])


def run_uncompiled(linked: Linked, device: Any) -> None:
    """Run a launch that is bound, whose kernel is not there yet: by ready-made loops, else by the interpreter."""
    if run_by_loops(linked, device):
        return
    later: list[Any] = []
    try:
        run_interpreted(linked, device, later)
    except MemoryError:  # Then a block at a time.
        later.clear()
        run_interpreted(linked, device, None)
    # Compiled code hears no signal from here on until it is known that these values are there.
    for memory, stored in later:
        memory[...] = stored


def has_loops(linked: Linked, device: Any) -> bool:
    """Return whether ready-made loops do what a kernel does, which is found out once they are loaded."""
    if linked.loops is None and device.loops is not None and looped is not None:
        step, source = source_of(linked)
        linked.loops = looped(step.program, source, device.loops) or False
    return bool(linked.loops)


def run_by_loops(linked: Linked, device: Any) -> bool:
    """Run a launch that is bound by loops; False, with nothing done, where these cannot do it."""
    return has_loops(linked, device) and cython.cast(Looped, linked.loops).run(linked.words)  # type: ignore[no-any-return]


def source_of(linked: Linked) -> tuple[Any, Any]:
    """Return what a kernel computes, and its text."""
    if linked.step is None:
        linked.step, linked.source = linked.pattern.specialisation.data(linked.pattern.number, linked.sizes)
    return linked.step, linked.source


def run_interpreted(linked: Linked, device: Any, later: list[Any] | None) -> None:
    """Run a launch that is bound by NumPy and precompiled single-operation loops: tier 0 of the CPU executor.

    What is to be stored in place comes to `later`, if that is given.
    """
    step, source = source_of(linked)
    block = linked.words.block
    pointers, locations = [0] * len(step.bindings), [0] * len(step.gathers)
    for index, word in enumerate(source.words):
        if word.kind == "pointer":
            pointers[word.index] = block[index]
        elif word.kind == "location":
            locations[word.index] = block[index]
    params: list[Any] = [None] * len(step.params)
    with np.errstate(all="ignore"):
        for parameter in linked.parameters:  # None is any number; -0.0 is false and not 0.
            value = 0 if parameter.last is None else parameter.last
            params[parameter.index] = cast_host(np.array(value), DTYPES[parameter.code])[()]
    interpret(step.program, pointers, params, step.iota_offsets, device, locations, later)


# ---------------------------------------------------------------- one launch for all


def capture(device: Any, calls: Callable[[Any], None]) -> Any:
    """Return what a device captures of ``calls(capture)``; None where it cannot, or where there is no room for more."""
    if len(_captured) >= MOST_CAPTURED or sum([one.nbytes for one in _captured]) >= CAPTURED_MEMORY:
        return None
    found = device.captured(calls)
    if found is not None:
        _captured.add(found)
    return found


def capture_graph(tape: Tape) -> None:
    """Have the steps of a tape launched together from now on, if they are launches and nothing else."""
    steps = tape.steps
    if len(steps) < LEAST_CAPTURED:
        return
    scratch: dict[int, int] = {}
    for launch in steps:
        if type(launch) is not Launch or launch.copied or launch.linked is None or launch.linked.run is None:
            return
        linked = launch.linked
        if linked.workspace >= 0 and linked.scratch is None:
            geometry = linked.geometry
            scratch[geometry.counters] = max(scratch.get(geometry.counters, 0), geometry.workspace)
    if len({id(launch.linked) for launch in steps}) < len(steps):
        return  # One block would have the words of the last launch alone.
    if sum(scratch.values()) > SCRATCH:
        return
    buffers: dict[int, Any] = {}

    def take_all_down(taking: Any) -> None:
        nonlocal buffers
        for launch in steps:
            taking.live(launch.linked.run)
        # Kernels leave their counters at zero and what is behind them as they like, so those with as many share memory.
        buffers = {count: taking.workspace(nbytes, count) for count, nbytes in scratch.items()}

    tape.replay = capture(tape.device, take_all_down)
    if tape.replay is None:  # The tape has run: it launches step by step as before.
        return
    for launch in steps:
        linked = launch.linked
        if linked.workspace >= 0 and linked.scratch is None:
            linked.scratch = buffers[linked.geometry.counters]
            linked.words.put(linked.workspace, linked.scratch.ptr)


def run_held(tape: Tape, frame: Frame, nodes: Any, doubts: Any) -> None:
    """Run a tape with one launch at the end, or earlier where the pool asks for memory."""
    pool = tape.pool
    tape.device.enter()  # Between what is held back and its launch no other thread may have its turn.
    before = pool.held
    foreign: list[Any] = []  # Memory of others, which they may free as soon as nobody here has it.
    computed: set[int] = set()
    kept: list[Any] = []  # Computed values that the plan is done with, and others are not.
    tape.held = 0
    pool.held = tape.launch_held
    try:
        if nodes is None:
            run_steps(tape, frame, None, None)
        for launch in tape.steps if nodes is not None else ():
            run_node_step(launch, frame, nodes, tape, doubts)
            computed.update(launch.computed)
            for number in launch.done:
                let_go(nodes, number, number in computed, kept, foreign)
        if tape.held >= 0 and tape.replay(()):
            tape.held = -1
        tape.launch_held()  # What the device refuses to launch at once.
    except Exception as error:
        pool.held = before
        try:
            tape.launch_held()
        finally:
            if tape.held == BROKEN:
                tape.held = -1
                lost = [nodes[number] for number in computed if nodes[number] is not None]
                for node in [*kept, *lost]:
                    lose_value(node, error)
        raise
    finally:
        pool.held = before
        tape.launch_held()


def let_go(nodes: list[Any], number: int, computed: bool, kept: list[Any], foreign: list[Any]) -> None:
    """Forget a node whose launch may still be held back."""
    node = cython.cast(Node, nodes[number])
    if computed and (node.storages or node.readers):
        kept.append(node)
    buffer = node.buffer
    if buffer is not None and buffer.owner is not None:
        foreign.append(buffer)
    nodes[number] = None


__all__ = [
    "Frame", "Launch", "Linked", "Parameter", "Step", "Tape", "begin_of", "capture", "capture_graph",
    "give_frame", "is_bound", "is_compiled", "is_ready", "pack", "put", "run", "run_plan", "run_step", "runs_by_loops",
    "take_frame", "words_for",
]  # fmt: skip
