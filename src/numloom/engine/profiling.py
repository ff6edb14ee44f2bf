"""What a profile takes down while code runs: spans of host and device time, by what they were spent on.

`counters.profiler` is a `ProfileRecorder` while one is active, and None else. What runs is what runs without it, but of
many steps in one launch each is launched alone, to have a time of its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from math import prod
from typing import Any

from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.emit.cost import work_of
from numloom.engine.explain import moved
from numloom.graph.node import CAST, GATHER, OP, REDUCE, UPDATE, name_of
from numloom.plan.program import Program

try:
    import nvtx  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    nvtx = None

MOST_SPANS = 200_000
"""Spans that are kept for a trace; later ones are counted in the tables alone."""
PENDING = 512
"""Pairs of events that wait to be read."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_SHOWN = 5

KINDS = (
    "kernel",
    "small work",
    "routine",
    "copy",
    "to device",
    "to host",
    "wait",
    "planning",
    "compilation",
    "run",
    "call",
)
"""What time is spent on. `run` is finding plans and launching, `call` a compiled function beside all that."""
OF_DEVICE = frozenset(("kernel", "small work", "routine", "copy", "to device", "to host"))
"""Kinds whose work is on the device: of these it has a time of its own."""


class Work:
    """What one kind of span did: the same kernel, routine or copy at one line.

    Attributes
    ----------
    kind, name, detail, line : str
        What it is; what it does, over which shape, and the user's line that ran it.
    calls : int
        How many times it ran.
    host, device : float
        Seconds of the host, without what ran within; seconds of the device.
    bytes_read, bytes_written, operations : int
        Of one run.
    parts : tuple of (str, int)
        Operations and what each of them costs, about.
    """

    __slots__ = (
        "bytes_read", "bytes_written", "calls", "detail", "device", "host", "kind", "line", "name", "operations",
        "parts",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, detail: str, line: str) -> None:
        self.kind = kind
        self.name = name
        self.detail = detail
        self.line = line
        self.calls = 0
        self.host = self.device = 0.0
        self.bytes_read = self.bytes_written = self.operations = 0
        self.parts: tuple[tuple[str, int], ...] = ()


class TimedSpan:
    """Some time spent on one thing.

    Attributes
    ----------
    work : Work
        On what.
    begin, end : float
        Seconds since the profile began, by the host's clock.
    inner : float
        Seconds of them in spans within.
    first, last : object
        Events of the device around its work, if it has any.
    """

    __slots__ = ("begin", "end", "first", "inner", "last", "range", "work")

    def __init__(self, work: Work, begin: float) -> None:
        self.work = work
        self.begin = self.end = begin
        self.inner = 0.0
        self.first: Any = None
        self.last: Any = None
        self.range: Any = None


class ProfileRecorder:
    """Takes down spans, and adds them up.

    Attributes
    ----------
    works : dict
        `Work` by what makes it the same.
    spans : list of (Work, begin, seconds, device begin, device seconds)
        In the order in which they ended, in seconds since the profile began; -1 where the device has no time.
    dropped : int
        Spans that are in no list, since there are too many.
    """

    def __init__(self, device: Any) -> None:
        self.device = device
        self.works: dict[Any, Work] = {}
        self.spans: list[tuple[Work, float, float, float, float]] = []
        self.dropped = 0
        self.open: list[TimedSpan] = []
        self.paused = 0.0
        self._pending: list[tuple[Work, float, float, Any, Any]] = []
        self._kept: list[Any] = []
        self.discrete = device.discrete
        # A stand-in for a GPU has no clock of its own.
        self.timed = device.discrete and hasattr(device, "event")
        if self.timed:
            device.synchronize()
            self.first_event = device.event()
        self.began = time.perf_counter()

    # ------------------------------------------------------------ spans

    def begin(self, kind: str, key: Any, name: Any, detail: Any = "", line: str | None = None) -> TimedSpan:
        """Begin a span; `name` and `detail` are texts, or are called where this is met for the first time."""
        if line is None:
            line = user_line()
        found = self.works.get((kind, key, line))
        if found is None:
            found = Work(kind, name() if callable(name) else name, detail() if callable(detail) else detail, line)
            self.works[kind, key, line] = found
            self._kept.append(key)  # Keys may be identities.
        span = TimedSpan(found, 0.0)
        if nvtx is not None:
            span.range = nvtx.start_range(f"{kind}: {found.name}")
        if self.timed and kind in OF_DEVICE:
            span.first = self.device.event()
        self.open.append(span)
        span.begin = time.perf_counter() - self.began
        return span

    def end(self, span: TimedSpan, ran: bool = True) -> None:
        """End a span, and what is still open within; it is as if it never began if it did not run."""
        now = time.perf_counter() - self.began
        if ran and span.first is not None:
            span.last = self.device.event()
        if span.range is not None:
            nvtx.end_range(span.range)
        while self.open and self.open.pop() is not span:
            pass
        if not ran:
            return
        span.end = now
        seconds = now - span.begin
        work = span.work
        work.calls += 1
        work.host += seconds - span.inner
        if self.open:
            self.open[-1].inner += seconds
        if span.first is not None:
            self._pending.append((work, span.begin, seconds, span.first, span.last))
            if len(self._pending) >= PENDING:
                self.settle()
        else:
            if work.kind in OF_DEVICE:
                work.device += seconds - span.inner
            self._note(work, span.begin, seconds, -1.0, -1.0)

    def settle(self) -> None:
        """Read the events that wait."""
        pending, self._pending = self._pending, []
        for work, begin, seconds, first, last in pending:
            took = self.device.elapsed(first, last) * 1e-3
            work.device += took
            self._note(work, begin, seconds, self.device.elapsed(self.first_event, first) * 1e-3, took)

    def _note(self, work: Work, begin: float, seconds: float, at: float, took: float) -> None:
        if len(self.spans) < MOST_SPANS:
            self.spans.append((work, begin, seconds, at, took))
        else:
            self.dropped += 1

    # ------------------------------------------------------------ what runs

    def begin_run(self) -> TimedSpan:
        """Recorded work is about to run."""
        return self.begin("run", "", "finding plans and launching")

    def begin_step(self, launch: Any) -> TimedSpan:
        """A step of a plan is about to run."""
        line = self.open[-1].work.line if self.open else None
        linked = launch.linked
        if linked is None:
            kind, name = ("copy", "copy") if launch.copied else ("run", "memory")
            return self.begin(kind, id(launch), name, "", line)
        # Beside the compiler the host computes by loops of single operations.
        by_loops = linked.run is None and self.device.interprets and not linked.kernel.ready
        span = self.begin(
            "kernel", (id(linked), by_loops), lambda: named(program_of(linked)) + " (not compiled yet)" * by_loops,
            lambda: space_of(linked), line,
        )  # fmt: skip
        if not span.work.calls:
            self._kept.append(linked)
            describe(span.work, linked)
            span.work.bytes_read += launch.copied
            span.work.bytes_written += launch.copied
        return span

    def begin_small(self, nodes: Sequence[Any], count: int) -> TimedSpan:
        """Small work is about to run without a plan."""
        computed = [node for node in nodes[:count] if node.kind in (OP, CAST, REDUCE, GATHER, UPDATE)]
        names = tuple([name_of(node) for node in computed])
        shape = computed[-1].shape if computed else ()
        read = sum([node.size * ITEMSIZES[node.code] for node in nodes[:count] if node.buffer is not None])
        written = sum([node.size * ITEMSIZES[node.code] for node in computed if node.storages])
        line = self.open[-1].work.line if self.open else None
        span = self.begin("small work", (names, shape), lambda: listed(names) or "views", lambda: shown(shape), line)
        if not span.work.calls:
            span.work.parts = tuple([(name, 1) for name in names])
            span.work.operations = sum([node.size for node in computed])
        span.work.bytes_read, span.work.bytes_written = read, written
        return span

    def begin_transfer(self, to_device: bool, shape: Sequence[int], code: int) -> TimedSpan:
        """Values are about to be copied from the host or to it."""
        nbytes = prod(shape) * ITEMSIZES[code]
        kind = "to device" if to_device else "to host"
        span = self.begin(kind, (tuple(shape), code), DTYPES[code].name, shown(shape))
        work = span.work
        work.parts = ((kind, 1),)
        # On the host's own memory it is read and written there; else each memory does one of the two.
        work.bytes_read, work.bytes_written = nbytes, 0 if self.discrete else nbytes
        return span

    def wait(self) -> None:
        """Wait for what was launched."""
        if self.discrete:
            span = self.begin("wait", "", "waiting for the device")
            self.device.synchronize()
            self.end(span)

    def begin_routine(self, name: str, operands: Sequence[Any]) -> TimedSpan:
        """A routine is about to run on computed operands."""
        shapes = tuple([(node.shape, node.code) for node in operands])
        read = sum([node.size * ITEMSIZES[node.code] for node in operands])
        span = self.begin(
            "routine", (name, shapes), name,
            lambda: ", ".join([f"{DTYPES[code].name}{list(shape)}" for shape, code in shapes]),
        )  # fmt: skip
        if not span.work.calls:
            span.work.parts = ((name, 1),)
            span.work.bytes_read = read
        return span


def user_line() -> str:
    """The innermost line outside of this package that is being executed."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def program_of(linked: Any) -> Program:
    """Return the program of a kernel with its block."""
    if linked.step is None:
        linked.step, linked.source = linked.pattern.specialisation.data(linked.pattern.number, linked.sizes)
    program: Program = linked.step.program
    return program


def _parts(program: Program) -> tuple[tuple[str, int], ...]:
    """Operations of a program and what they cost, for all its elements."""
    found: dict[str, int] = {}

    def add(name: str, cost: int) -> None:
        found[name] = found.get(name, 0) + cost

    elements, kept = prod(program.shape), prod(program.shape[: program.kept])
    inside = [(inner.body, elements * prod(inner.shape)) for inner in program.nested]
    for instrs, count in [(program.body, elements), (program.post, kept), *inside]:
        for instr in instrs:
            if instr.kind == "op":
                add(instr.op_def.name, count * instr.op_def.cost)
            elif instr.kind in ("cast", "gather"):
                add(instr.kind, count * (1 if instr.kind == "cast" else 4))
    for each in (program, *program.nested):
        for reduction in each.reductions:
            add(reduction.op_def.name, elements * (1 if each is program else prod(each.shape)))
    return tuple(found.items()) or (("copy", 1),)


def named(program: Program) -> str:
    """What a program computes, in few words."""
    return listed([name for name, _ in _parts(program)])


def listed(names: Sequence[str]) -> str:
    """Different names in their order; of many the last."""
    each = list(dict.fromkeys(names))
    if len(each) > _SHOWN:
        return f"{len(each) - _SHOWN + 1} more, " + ", ".join(each[1 - _SHOWN :])
    return ", ".join(each)


def shown(shape: Sequence[int]) -> str:
    """A shape as a text."""
    return " × ".join(map(str, shape)) or "1"


def space_of(linked: Any) -> str:
    """Return what a kernel runs over."""
    program = program_of(linked)
    reduced = len(program.shape) - program.kept
    again = f", {program.repeat.steps} steps" if program.repeat is not None else ""
    return shown(program.shape) + (f", last {reduced} reduced" if program.reductions else "") + again


def describe(work: Work, linked: Any) -> None:
    """Fill in what a kernel moves and computes."""
    program = program_of(linked)
    read, written = moved(linked.step)
    work.bytes_read, work.bytes_written = sum(read.values()), written
    work.operations = work_of(program)[0]
    work.parts = _parts(program)
