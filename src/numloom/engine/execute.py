# cython: boundscheck=False, wraparound=False
"""Running a plan: buffers, parameter blocks, launches; values become leaves as they are computed.

A step is prepared once for each device (text, kernel, parameter block with everything that does
not change); running it again patches addresses and numbers and launches. A value becomes a leaf
only after its step was launched, so a failure leaves the rest pending.
"""

from __future__ import annotations

import warnings
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from numloom.base.config import config
from numloom.base.dtypes import DTYPES, F32, F64, I64, ITEMSIZES, KINDS
from numloom.base.errors import DeviceError
from numloom.base.later import Later
from numloom.engine.doubts import launched, spread
from numloom.engine.interpret import can_interpret, interpret
from numloom.engine.look import settle_near
from numloom.engine.state import count_kernel, counters
from numloom.engine.words import new_words
from numloom.graph.node import become_leaf, lose_value

if TYPE_CHECKING:
    from numloom.emit import cost, emit, loops
    from numloom.plan import program as programs
    from numloom.plan.program import KernelSource, Program
    from numloom.plan.step import Plan, Step
else:  # What makes plans and kernels is imported when the first is made.
    cost, emit, loops = Later("numloom.emit.cost"), Later("numloom.emit.emit"), Later("numloom.emit.loops")
    programs = Later("numloom.plan.program")

SOON = 150_000_000
"""Operations on elements for which the interpreter takes half a second: of more work the kernel is waited for."""
FAST_TIER_MOST = 2_000_000_000
"""Most instructions of a launch whose code is compiled by the fast tier; that takes a millisecond for some 10^8 of
them."""

LEAST_CAPTURED = 2
"""Launches that a plan must have to be launched together (a graph costs what one launch does, and 0.4 µs a kernel)."""
WARM_UP_RUNS = 3
"""Runs of a plan before its launches are captured, which takes the time of some four more."""
SCRATCH = 1 << 20
"""Most bytes of scratch memory that a plan may keep to itself for that."""
BROKEN = -2
"""What `ReadyPlan.held` is when a launch failed that values wait for."""
MOST_CAPTURED = 512
"""Plans that may have a graph and scratch memory; later ones launch step by step."""

_captured = 0
_counters = counters
_long_word = Struct("<q")
_NOTHING = object()


class Pointer:
    """A word that is an address.

    Attributes
    ----------
    word : int
        Which word.
    slot : int
        Which of the step's computed values it is the buffer of, or -1.
    number : int
        Else the node whose buffer it is.
    offset : int
        Bytes from there on.
    view : int
        The node whose offset is added, or -1.
    """

    __slots__ = ("number", "offset", "slot", "view", "word")

    word: int
    slot: int
    number: int
    offset: int
    view: int

    def __init__(self, word: int, slot: int, number: int, offset: int, view: int) -> None:
        self.word = word
        self.slot = slot
        self.number = number
        self.offset = offset
        self.view = view


class StepParameter:
    """A word that is a host value: of the node `number`, as dtype `code`; `last` is the value it holds now."""

    __slots__ = ("code", "last", "number", "word")

    word: int
    number: int
    code: int
    last: Any

    def __init__(self, word: int, number: int, code: int) -> None:
        self.word = word
        self.number = number
        self.code = code
        self.last = _NOTHING


class ReadyStep:
    """A step made ready for one device: what is left to do is to patch words and launch.

    Attributes
    ----------
    step : Step
        The step.
    allocate, adopt, copy, computed, release
        The step's, at hand.
    kernel : object or None
        The device's kernel; until it is `ready` the interpreter does the work, or code that is slower.
    words : Words
        The parameter block.
    buffers : list or None
        Room for what the step computes; a list that runs empty gives its memory back at every turn.
    run : callable or None
        Launches the kernel with the block, once the kernel is `ready`.
    pointers : list of Pointer
        Words that are addresses.
    params : list of StepParameter
        Words that are host values.
    locations : list of (word, number)
        Words that say where a gather was recorded.
    workspace : int
        Word that is the address of scratch memory, or -1.
    scratch : Buffer or None
        Scratch memory of this plan alone, whose address the word has for good.
    pattern, sizes : Pattern or None, list of int or None
        What it was made from by `resized`; its step and source are then made when they are asked for.
    """

    __slots__ = (
        "adopt", "allocate", "buffers", "computed", "copy", "geometry", "kernel", "locations", "params", "pattern",
        "pointers", "ready", "release", "run", "scratch", "sizes", "source", "step", "words", "workspace",
    )  # fmt: skip

    step: Any
    copy: Any
    kernel: Any
    words: Any
    ready: bool
    run: Any
    pointers: list[Pointer]
    params: list[StepParameter]
    locations: list[tuple[int, int]]
    geometry: Any
    source: Any
    pattern: Any
    sizes: Any
    buffers: Any
    scratch: Any

    def __init__(self, step: Step, device: Any, source: KernelSource | None = None) -> None:
        self.step = step
        self.allocate = step.allocate
        self.adopt = step.adopt
        self.copy = step.copy
        self.computed = step.computed
        self.buffers = [None] * len(step.computed)
        self.release = step.release
        self.kernel = None
        self.ready = False
        self.run = None
        self.pointers = []
        self.params = []
        self.locations = []
        self.workspace = -1
        self.scratch = None
        self.words = None
        self.geometry = None
        self.source = source
        self.pattern = None
        self.sizes = None
        if step.program is not None:
            self.prepare(step.program, device)

    def prepare(self, program: Program, device: Any) -> None:
        """Emit (unless the source is given) and fetch the kernel, and fill in every word that does not change."""
        step = self.step
        source = self.source
        if source is None:
            source = source_of(program, device)
            self.source = source
        self.geometry = source.geometry
        profiler = counters.profiler
        span = None if profiler is None else profiler.begin("compilation", source.entry, source.entry)
        self.kernel = kernel_of(program, source, device)
        if span is not None:
            profiler.end(span)
        words = new_words(len(source.words))
        for index, word in enumerate(source.words):
            kind = word.kind
            if kind == "pointer":
                binding = step.bindings[word.index]
                number = binding.number
                slot = self.computed.index(number) if number in self.computed else -1
                self.pointers.append(Pointer(index, slot, number, binding.offset, binding.view))
            elif kind == "param":
                number, code = step.params[word.index]
                self.params.append(StepParameter(index, number, code))
            elif kind == "iota_offset":
                words.put(index, step.iota_offsets[word.index])
            elif kind == "location":
                self.locations.append((index, step.gathers[word.index]))
            elif kind == "error":
                words.put(index, device.error_address())
            elif kind == "workspace":
                if source.geometry.finish_items or not device.finishes:  # On the host only two launches share memory.
                    self.workspace = index
            elif kind != "unused":
                words.put(index, word.value)
        self.words = words


def kernel_of(program: Program, source: KernelSource, device: Any) -> Any:
    """A program's kernel; not `ready` yet where other code does the work meanwhile."""
    if not device.interprets:
        return device.kernel(source.text, source.entry, wait=not gains_by_fast_tier(program, source))
    wait = config.cpu_compile == "wait" and device.compiles
    if not wait:
        device.load_loops(_loops_text, wait=False)
        wait = not can_interpret(program, device.loops) or cost.work_of(program)[0] > SOON
        # Without a compiler NumPy stands for loops that are not there; its last bits may be others.
        wait = wait and (device.compiles or not can_interpret(program, device.loops, exactly=False))
    try:
        return device.kernel(source.text, source.entry, wait=wait)
    except DeviceError as error:  # The system does not let it be compiled now.
        device.load_loops(_loops_text, wait=False)
        if not can_interpret(program, device.loops):
            raise
        warnings.warn(f"slower loops do the work of a kernel: {error}", RuntimeWarning, stacklevel=2)
    return device.kernel(source.text, source.entry, wait=False)


def _loops_text() -> str:
    """The text of the single-operation loops."""
    return loops.loops_text()


def gains_by_fast_tier(program: Program, source: KernelSource) -> bool:
    """Whether a first launch had better take code that is compiled by the fast tier; for maps in full is as soon."""
    together = bool(program.reductions) or program.by_rows or "__shared__" in source.text
    return together and cost.work_of(program)[1] <= FAST_TIER_MOST


def source_of(program: Program | None, device: Any) -> KernelSource | None:
    """The text of a step's program, if it has one."""
    return None if program is None else emit.emit(program, config.fast_math and device.fast_math)


def sources_of(steps: tuple[Step, ...], device: Any) -> list[KernelSource | None]:
    """The texts of a plan's steps; steps with equal programs have one, which is made once."""
    known: dict[Any, Any] = {}
    found = []
    for step in steps:
        program = step.program
        if program not in known:
            known[program] = source_of(program, device)
        found.append(known[program])
    return found


class Pattern:
    """A step for several sizes: one that is ready, and which of its numbers lie at which slots of a guard trace's
    values.

    Attributes
    ----------
    ready : ReadyStep
        The step for the sizes that were traced.
    number, specialisation : int, Specialisation
        Which step it is of which plan.
    allocate : list of (number, slot)
        Values that get a fresh buffer, and the slots of their bytes.
    copied : int
        Slot of the bytes that are copied first, or -1.
    words : list of (word, slot)
        Words of the parameter block that depend on sizes.
    geometry : list of int
        Slots of the launch's numbers.
    offsets : list of int
        Slots of the offsets of `ReadyStep.pointers`; empty where no offset depends on sizes.
    """

    __slots__ = ("allocate", "copied", "geometry", "number", "offsets", "ready", "specialisation", "words")

    def __init__(self, ready: ReadyStep, number: int, specialisation: Any) -> None:
        self.ready = ready
        self.number = number
        self.specialisation = specialisation
        self.allocate: list[tuple[int, int]] = []
        self.copied = -1
        self.words: list[tuple[int, int]] = []
        self.geometry: list[int] = []
        self.offsets: list[int] = []

    def wanted(self) -> list[int]:
        """Every slot that `resized` looks at."""
        slots = [slot for _, slot in self.allocate + self.words] + self.geometry + self.offsets
        return slots if self.copied < 0 else [*slots, self.copied]


def resized(pattern: Pattern, values: list[Any], sizes: list[int]) -> ReadyStep:
    """A step for other sizes, from what a guard trace gave for them."""
    known = pattern.ready
    ready = ReadyStep.__new__(ReadyStep)
    ready.step = None
    ready.source = None
    ready.pattern = pattern
    ready.sizes = sizes
    ready.adopt = known.adopt
    ready.computed = known.computed
    ready.release = known.release
    ready.kernel = known.kernel
    ready.ready = known.ready
    ready.run = None
    ready.buffers = None
    ready.params = [StepParameter(parameter.word, parameter.number, parameter.code) for parameter in known.params]
    ready.locations = known.locations
    ready.workspace = known.workspace
    ready.scratch = None
    ready.pointers = known.pointers
    ready.allocate = tuple([(number, values[slot]) for number, slot in pattern.allocate])
    ready.copy = known.copy
    if pattern.copied >= 0:
        ready.copy = (known.copy[0], known.copy[1], values[pattern.copied])
    ready.geometry = None
    ready.words = None
    if known.kernel is not None:
        if pattern.offsets:
            ready.pointers = [
                Pointer(pointer.word, pointer.slot, pointer.number, values[slot], pointer.view)
                for pointer, slot in zip(known.pointers, pattern.offsets, strict=True)
            ]
        ready.geometry = programs.Geometry(*[values[slot] for slot in pattern.geometry])
        words = known.words.copy()
        for word, slot in pattern.words:
            words.put(word, values[slot])
        ready.words = words
    return ready


class ReadyPlan:
    """A plan made ready for one device; `first` (where it is kept in a table) and `second` are its key.

    Attributes
    ----------
    device, pool : Device, Pool
        Where it runs.
    steps : list of ReadyStep
        The steps.
    drop : tuple of int
        Nodes that nothing reads.
    warm_up_runs : int
        How many times it ran, up to `WARM_UP_RUNS`.
    replay : callable or None
        Launches all steps together.
    held : int
        How many steps wait for that now; -1 while each is launched at once, `BROKEN` if one that waited failed.
    complains : bool
        Whether a kernel of it may name a source location.
    waits : int
        Runs of small work without it, until it is asked again whether its kernels are compiled; 0: they are.
    """

    __slots__ = (
        "complains", "device", "drop", "first", "held", "pool", "replay", "second", "steps", "waits", "warm_up_runs",
    )  # fmt: skip

    device: Any
    pool: Any
    drop: tuple[int, ...]
    steps: list[ReadyStep]
    replay: Any
    held: int
    warm_up_runs: int
    waits: int
    complains: bool

    def __init__(self, plan: Plan, device: Any, second: int, sources: Any = None) -> None:
        if sources is None:
            sources = sources_of(plan.steps, device)
        if len(sources) > 1:
            device.expect([source.text for source in sources if source is not None])
        self.set(device, second, plan.drop, list(map(ReadyStep, plan.steps, [device] * len(sources), sources)))

    def set(self, device: Any, second: int, drop: tuple[int, ...], steps: list[ReadyStep]) -> None:
        """Fill in what the plan has."""
        self.device = device
        self.pool = device.pool
        self.first = 0
        self.second = second
        self.drop = drop
        self.steps = steps
        self.warm_up_runs = 0
        self.replay = None
        self.held = -1
        self.waits = 0
        self.complains = any([bool(ready.locations) for ready in steps])

    def launch_held(self) -> None:
        """Launch what waits for `replay`, and from now on each step at once."""
        count = self.held
        self.held = BROKEN if count > 0 else self.held
        for position in range(count):
            self.steps[position].run()
        if count >= 0:
            self.held = -1


def ready_plan(device: Any, second: int, drop: tuple[int, ...], steps: list[ReadyStep]) -> ReadyPlan:
    """A plan of steps that are ready already."""
    plan = ReadyPlan.__new__(ReadyPlan)
    plan.set(device, second, drop, steps)
    return plan


def run_plan(plan: ReadyPlan, nodes: list[Any]) -> None:
    """Run every step of a plan over the nodes of a walk with the plan's key."""
    if plan.pool.error_at == 0 and (plan.complains or _counters.doubts > 0):
        doubts = spread(plan.device, nodes)
        if doubts is not None:
            try:
                run_in_doubt(plan, nodes, doubts)
            finally:
                launched(doubts)
            return
    run_in_doubt(plan, nodes, None)


def run_in_doubt(plan: ReadyPlan, nodes: list[Any], doubts: Any) -> None:
    """`run_plan`, where values are in doubt (`numloom.engine.doubts.spread`)."""
    steps = plan.steps
    if _counters.profiler is not None:
        run_profiled(plan, nodes, doubts)
        return
    if len(steps) == 1:  # Everything is let go when it has run.
        ready = steps[0]
        run_step(ready, nodes, plan, doubts)
        return
    for number in plan.drop:
        nodes[number] = None
    if plan.replay is not None:
        run_captured(plan, nodes, doubts)
        return
    for ready in steps:
        run_step(ready, nodes, plan, doubts)
        for number in ready.release:
            nodes[number] = None
    if plan.warm_up_runs < WARM_UP_RUNS:
        plan.warm_up_runs += 1
        if plan.warm_up_runs == WARM_UP_RUNS:
            capture_graph(plan)


def run_profiled(plan: ReadyPlan, nodes: list[Any], doubts: Any) -> None:
    """`run_plan` step by step, each of which a profile takes down."""
    profiler = counters.profiler
    several = len(plan.steps) > 1
    for number in plan.drop if several else ():
        nodes[number] = None
    for ready in plan.steps:
        span = profiler.begin_step(ready)
        try:
            run_step(ready, nodes, plan, doubts)
        finally:
            profiler.end(span)
        profiler.ran_step(plan, ready, nodes)
        for number in ready.release if several else ():
            nodes[number] = None


def capture_graph(plan: ReadyPlan) -> None:
    """Have the plan's steps launched together from now on, if they are launches and nothing else."""
    global _captured
    steps = plan.steps
    if len(steps) < LEAST_CAPTURED or _captured >= MOST_CAPTURED:
        return
    scratch: dict[int, int] = {}
    for ready in steps:
        if ready.run is None or ready.copy is not None:
            return
        if ready.workspace >= 0:
            geometry = ready.geometry
            scratch[geometry.counters] = max(scratch.get(geometry.counters, 0), geometry.workspace)
    if sum(scratch.values()) > SCRATCH:
        return
    replay = plan.device.together([ready.run for ready in steps])
    if replay is None:
        return
    # Kernels leave their counters at zero and what is behind them as they like, so those with as many share memory.
    try:
        buffers = {count: plan.pool.allocate(nbytes) for count, nbytes in scratch.items()}
    except MemoryError:  # The plan has run: it launches step by step as before.
        return
    for count, buffer in buffers.items():
        plan.device.clear(buffer, count)
    for ready in steps:
        if ready.workspace >= 0:
            ready.scratch = buffers[ready.geometry.counters]
            ready.words.put(ready.workspace, ready.scratch.ptr)
    plan.replay = replay
    _captured += 1


def forget_captured(left: int) -> None:
    """Plans are given up; so many of those that have a graph are left."""
    global _captured
    _captured = left


def run_captured(plan: ReadyPlan, nodes: list[Any], doubts: Any) -> None:
    """`run_plan` with one launch at the end, or earlier where the pool asks for memory."""
    pool = plan.pool
    plan.device.enter()  # Between what is held back and its launch no other thread may have its turn.
    before = pool.held
    foreign = []  # Memory of others, which they may free as soon as nobody here has it.
    computed: set[int] = set()
    kept: list[Any] = []  # Computed values that the plan is done with, and others are not.
    plan.held = 0
    pool.held = plan.launch_held
    try:
        for ready in plan.steps:
            run_step(ready, nodes, plan, doubts)
            computed.update(ready.computed)
            for number in ready.release:
                node = nodes[number]
                if number in computed and (node.storages or node.readers):
                    kept.append(node)
                buffer = node.buffer
                if buffer is not None and buffer.owner is not None:
                    foreign.append(buffer)
                node = None
                buffer = None
                nodes[number] = None
        if plan.held >= 0:
            try:
                plan.replay()
            except Exception:  # Nothing of it was launched.
                plan.launch_held()
            plan.held = -1
    except Exception as error:
        pool.held = before
        try:
            plan.launch_held()
        finally:
            if plan.held == BROKEN:
                plan.held = -1
                for node in [*kept, *[nodes[number] for number in computed if nodes[number] is not None]]:
                    lose_value(node, error)
        raise
    finally:
        pool.held = before
        plan.launch_held()


def run_step(ready: ReadyStep, nodes: list[Any], plan: ReadyPlan, doubts: Any) -> None:
    """Run one step; `doubts` are those about the values, where there are any (`numloom.engine.doubts.spread`)."""
    buffers = ready.buffers
    ready.buffers = None
    if buffers is None:  # It is under way already, as one that allocates may run others.
        buffers = [None] * len(ready.computed)
    pool = plan.pool
    count = 0
    for _, nbytes in ready.allocate:
        buffers[count] = pool.allocate(nbytes)
        count += 1
    for _, base in ready.adopt:
        node = nodes[base]
        buffers[count] = node.buffer
        count += 1
    if ready.copy is not None:
        _, source, size = ready.copy
        # A copied base is the step's only allocation.
        node = nodes[source]
        plan.device.copy(buffers[0], 0, node.buffer, 0, size)
        counters.copies += 1
    if ready.kernel is not None:
        launch(ready, nodes, buffers, plan)
    # Computed values are the allocated and adopted ones, in that order.
    for position, number in enumerate(ready.computed):
        if doubts is not None:
            buffer = buffers[position]
            buffer.doubt = doubts[number]
        become_leaf(nodes[number], buffers[position])
        buffers[position] = None
    ready.buffers = buffers


def launch(ready: ReadyStep, nodes: list[Any], buffers: list[Any], plan: ReadyPlan) -> None:
    """Bind a step's kernel to addresses and numbers, and launch it (or interpret it meanwhile)."""
    words = ready.words
    count_kernel()
    for pointer in ready.pointers:
        if pointer.slot >= 0:
            buffer = buffers[pointer.slot]
        else:
            node = nodes[pointer.number]
            buffer = node.buffer
        address = buffer.ptr + pointer.offset
        if pointer.view >= 0:
            node = nodes[pointer.view]
            address += node.attr
        words.put(pointer.word, address)
    for parameter in ready.params:
        node = nodes[parameter.number]
        value = node.attr
        if value is not parameter.last:
            pack(words, parameter.word, value, parameter.code)
            parameter.last = value
    for word, number in ready.locations:
        node = nodes[number]
        words.put(word, node.op_def.id)
    compiled = ready.run is not None or is_ready(ready, plan)
    if not compiled and plan.device.interprets:
        try:
            run_interpreted(ready, nodes, plan.device)
        finally:  # NumPy may refuse what a gather has complained of already.
            settle_near(plan.device, plan.pool)
        return
    scratch = None  # Held until the launch.
    if ready.workspace >= 0 and ready.scratch is None:
        geometry = ready.geometry
        scratch = plan.device.workspace(geometry.workspace, geometry.counters)
        words.put(ready.workspace, scratch.ptr)
    if plan.held >= 0:
        plan.held += 1
    elif compiled:
        ready.run()
    else:
        plan.device.launch(ready.kernel, words.block, ready.geometry)
    settle_near(plan.device, plan.pool)  # What it was to compute stays pending.


def is_ready(ready: ReadyStep, plan: ReadyPlan) -> bool:
    """Whether the step's kernel is compiled by now; asked until it is."""
    ready.ready = ready.kernel.ready
    if ready.ready:
        ready.run = plan.device.bound(ready.kernel, ready.words.block, ready.geometry)
    return ready.ready


def is_compiled(plan: ReadyPlan) -> bool:
    """Whether all kernels of a plan are there."""
    for ready in plan.steps:
        if ready.kernel is not None and ready.run is None and not is_ready(ready, plan):
            return False
    return True


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
            raw = np.array(value).astype(DTYPES[code]).tobytes()
        raw += bytes(-len(raw) % 8)
        for index in range(0, len(raw), 8):
            words.put(word + index // 8, _long_word.unpack_from(raw, index)[0])


def run_interpreted(ready: ReadyStep, nodes: list[Any], device: Any) -> None:
    """Tier 0 of the CPU executor: the same program by NumPy and precompiled single-operation loops."""
    if ready.pattern is not None and ready.step is None:
        ready.step, ready.source = ready.pattern.specialisation.data(ready.pattern.number, ready.sizes)
    step = ready.step
    assert step.program is not None
    pointers = [0] * len(step.bindings)
    for index, word in enumerate(ready.source.words):
        if word.kind == "pointer":
            pointers[word.index] = ready.words.block[index]
    with np.errstate(all="ignore"):
        # None is any number; -0.0 is false and not 0.
        given = [(nodes[number].attr, code) for number, code in step.params]
        params = [np.array(0 if value is None else value).astype(DTYPES[code])[()] for value, code in given]
    locations = [nodes[number].op_def.id for number in step.gathers]
    interpret(step.program, pointers, params, step.iota_offsets, device, locations)


__all__ = ["ReadyPlan", "run_plan"]
