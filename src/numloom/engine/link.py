# cython: boundscheck=False, wraparound=False
"""Steps of a plan made ready for one device: texts, kernels, and parameter blocks with all that does not change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.base.later import Later
from numloom.engine.interpret import can_interpret
from numloom.engine.state import counters
from numloom.engine.tape import Launch, Linked, Parameter, Tape
from numloom.engine.words import new_words, rows_of, words_of

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

Where = Callable[[int, int], tuple[int, int]]
"""Where memory of a node (and a view of it, or -1) is for another tape: its place, and bytes from there on."""


def tape_of(plan: Plan, device: Any, second: int, sources: Any = None) -> Tape:
    """Make the tape of a plan; `second` is the second half of its key."""
    if sources is None:
        sources = sources_of(plan.steps, device)
    if len(sources) > 1:
        device.expect([source.text for source in sources if source is not None])
    steps = [launch_of(step, device, source) for step, source in zip(plan.steps, sources, strict=True)]
    return plan_tape(device, second, plan.drop, steps)


def plan_tape(device: Any, second: int, drop: tuple[int, ...], steps: list[Any]) -> Tape:
    """Make the tape of a plan of launches that are ready already."""
    tape = Tape(device, steps, max([places_of(step) for step in steps], default=0))
    tape.second = second
    tape.drop = drop
    tape.complains = any([bool(step.located) for step in steps])
    return tape


def places_of(launch: Launch) -> int:
    """Return how many places a launch needs, to its last one."""
    known = [place for place, _ in launch.allocate] + [place for place, _ in launch.adopt] + list(launch.computed)
    if launch.patches is not None:
        known += [place for _, place, _ in rows_of(launch.patches)]
    return 1 + max([launch.source, launch.target] + known)


def launch_of(step: Step, device: Any, source: KernelSource | None = None) -> Launch:
    """Make a step of a plan ready, whose places are the plan's nodes, and from the number of the last one on those that
    are views of others' memory.
    """
    launch = Launch(None)
    launch.allocate = step.allocate
    launch.adopt = step.adopt
    launch.computed = step.computed
    launch.done = step.release
    if step.copy is not None:
        launch.target, launch.source, launch.copied = step.copy
    launch.reads = new_words(0)
    source = source or source_of(step.program, device)
    if source is None:
        return launch
    linked = launch.linked = link(step, source, device)
    views = 1 + max(step.numbers(), default=0)
    places: dict[tuple[int, int], int] = {}
    rows = []
    for index, word in enumerate(source.words):
        if word.kind == "pointer":
            binding = step.bindings[word.index]
            memory = binding.number, binding.view
            place = places.get(memory)
            if place is None:
                place = places[memory] = binding.number if binding.view < 0 else views + len(places)
            rows.append((index, place, binding.offset))
        elif word.kind == "param":
            linked.parameters.append(Parameter(index, word.index, step.params[word.index][1]))
            launch.numbers += (step.params[word.index][0],)
        elif word.kind == "location":
            launch.located += ((index, step.gathers[word.index]),)
    launch.patches = words_of([number for row in rows for number in row])
    reads = [(place, *memory) for memory, place in places.items() if memory[1] >= 0 or memory[0] not in step.computed]
    launch.reads = words_of([number for row in reads for number in row])
    return launch


def link(step: Step, source: KernelSource, device: Any) -> Linked:
    """Fetch a step's kernel, and fill in every word that does not change."""
    profiler = counters.profiler
    span = None if profiler is None else profiler.begin("compilation", source.entry, source.entry)
    assert step.program is not None
    kernel = kernel_of(step.program, source, device)
    # One text for all steps with this kernel; those that Python interns stay for good in 3.12.
    source.text = getattr(kernel, "text", source.text)
    if span is not None:
        profiler.end(span)
    words = new_words(len(source.words))
    linked = Linked(kernel, words, source.geometry)
    linked.step, linked.source = step, source
    for index, word in enumerate(source.words):
        kind = word.kind
        if kind == "iota_offset":
            words.put(index, step.iota_offsets[word.index])
        elif kind == "error":
            words.put(index, device.error_address())
        elif kind == "workspace":
            if source.geometry.finish_items or not device.finishes:  # On the host only two launches share memory.
                linked.workspace = index
        elif kind not in ("pointer", "param", "location", "unused"):
            words.put(index, word.value)
    return linked


def kernel_of(program: Program, source: KernelSource, device: Any) -> Any:
    """Return a program's kernel; not `ready` yet where other code does the work meanwhile."""
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
    """Return the text of the single-operation loops."""
    return loops.loops_text()


def gains_by_fast_tier(program: Program, source: KernelSource) -> bool:
    """Return whether a first launch had better take code of the fast tier; for maps code in full is as soon."""
    together = bool(program.reductions) or program.by_rows or "__shared__" in source.text
    return together and cost.work_of(program)[1] <= FAST_TIER_MOST


def source_of(program: Program | None, device: Any) -> KernelSource | None:
    """Return the text of a step's program, if it has one."""
    return None if program is None else emit.emit(program, config.fast_math and device.fast_math)


def sources_of(steps: tuple[Step, ...], device: Any) -> list[KernelSource | None]:
    """Return the texts of a plan's steps; steps with equal programs have one, which is made once."""
    known: dict[Any, Any] = {}
    found = []
    for step in steps:
        program = step.program
        if program not in known:
            known[program] = source_of(program, device)
        found.append(known[program])
    return found


def relocated(launch: Launch, where: Where) -> Launch:
    """Return a launch of the same kernel, whose memory lies at the places of another tape.

    Its numbers, locations and what is done after it are the caller's to say.
    """
    found = Launch(launch.linked)
    found.allocate = tuple([(where(place, -1)[0], nbytes) for place, nbytes in launch.allocate])
    if launch.copied:
        found.copied = launch.copied
        found.target, found.source = where(launch.target, -1)[0], where(launch.source, -1)[0]
    if launch.patches is not None:
        reads = {place: (number, view) for place, number, view in rows_of(launch.reads)}
        rows = []
        for word, place, offset in rows_of(launch.patches):
            there, begin = where(*reads.get(place, (place, -1)))
            rows += [word, there, offset + begin]
        found.patches = words_of(rows)
    return found


# ---------------------------------------------------------------- other sizes


class Pattern:
    """A launch for several sizes: one that is ready, and which of its numbers lie at which slots of a guard trace's
    values.

    Attributes
    ----------
    launch : Launch
        The launch for the sizes that were traced.
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
        Slots of the offsets of addresses, in the order of the launch's rows; empty where none depends on sizes.
    """

    __slots__ = ("allocate", "copied", "geometry", "launch", "number", "offsets", "specialisation", "words")

    def __init__(self, launch: Launch, number: int, specialisation: Any) -> None:
        self.launch = launch
        self.number = number
        self.specialisation = specialisation
        self.allocate: list[tuple[int, int]] = []
        self.copied = -1
        self.words: list[tuple[int, int]] = []
        self.geometry: list[int] = []
        self.offsets: list[int] = []

    def wanted(self) -> list[int]:
        """Return every slot that `resized` looks at."""
        slots = [slot for _, slot in self.allocate + self.words] + self.geometry + self.offsets
        return slots if self.copied < 0 else [*slots, self.copied]


def resized(pattern: Pattern, values: list[Any], sizes: list[int]) -> Launch:
    """Return a launch for other sizes, from what a guard trace gave for them."""
    known = pattern.launch
    launch = Launch(None)
    launch.adopt = known.adopt
    launch.computed = known.computed
    launch.done = known.done
    launch.allocate = tuple([(number, values[slot]) for number, slot in pattern.allocate])
    launch.target, launch.source, launch.copied = known.target, known.source, known.copied
    if pattern.copied >= 0:
        launch.copied = values[pattern.copied]
    launch.reads = known.reads
    if known.linked is None:
        return launch
    launch.numbers = known.numbers
    launch.located = known.located
    launch.patches = known.patches
    if pattern.offsets:
        launch.patches = known.patches.copy()
        for at in range(len(pattern.offsets)):
            launch.patches.put(3 * at + 2, values[pattern.offsets[at]])
    words = known.linked.words.copy()
    for word, slot in pattern.words:
        words.put(word, values[slot])
    geometry = programs.Geometry(*[values[slot] for slot in pattern.geometry])
    linked = launch.linked = Linked(known.linked.kernel, words, geometry)
    linked.pattern = pattern
    linked.sizes = sizes
    linked.parameters = [Parameter(each.word, each.index, each.code) for each in known.linked.parameters]
    linked.workspace = known.linked.workspace
    return launch


__all__ = ["Pattern", "launch_of", "places_of", "plan_tape", "relocated", "resized", "sources_of", "tape_of"]
