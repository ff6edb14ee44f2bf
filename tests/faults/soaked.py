"""Array work that meets faults, for ``make soak`` (tools/soak.py): ``python soaked.py KIND SEED SECONDS COUNT``.

A line a fault: ``held``, ``lost`` and what is wrong, or ``missed`` where there was none to meet. ``go S`` asks for a
fault from outside within about S seconds, and ``end`` says that all is done. The modules of tests/, tests/faults and
tests/properties are found by PYTHONPATH.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import growing
import numpy
import small_stacks
from fault_programs import PROGRAMS, Program
from injection import Faults, forget_plans, installed
from test_injection import WAYS, Run, look
from test_programs import SOUND, author_of, rehearse, run
from worlds import LoomWorld

import numloom as np
from levels import take_light
from numloom.base.errors import CompileError, DeviceError
from numloom.device import cache as caches
from numloom.device import registry
from numloom.device.cache import shared
from numloom.emit.loops import loops_text

HELD, MISSED = "held", "missed"
Turns = Iterator[int]
Verdicts = Iterator[str]

SETTINGS: tuple[dict[str, Any], ...] = (
    {}, {"eager": True}, {"max_pending": 2}, {"unplanned": 0, "cpu_compile": "never"},
    {"unplanned": 0, "cpu_compile": "wait"}, {"unplanned": 0, "cpu_compile": "background"},
)  # fmt: skip
"""How programs are run."""
WRITTEN = ("users' kernels", "raw kernels")
"""Programs whose kernels nothing else can do."""


def turns(seconds: float, count: int) -> Turns:
    """Numbers from 0 on, for so many seconds, or so many of them if that is not 0."""
    until = time.monotonic() + seconds
    turn = 0
    while turn < count if count else time.monotonic() < until:
        yield turn
        turn += 1


def verdict(work: Callable[[], Any], where: str = "") -> str:
    """The line for work that raises where something is lost, and may give another line."""
    try:
        said = work()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        at = ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        return f"lost {where + ': ' if where else ''}{text[:600]} ({at})"
    return said if isinstance(said, str) else HELD


def prepared(rng: random.Random) -> Callable[[], Any]:
    """A random program that NumPy has run; a call runs it here, and compares what was read."""
    while True:
        author = author_of(rng.randbytes(rng.randrange(20, 120)), SOUND)
        turn = rng.randrange(7)
        rehearsal = rehearse(author.statements, turn)
        if rehearsal.reads:
            return lambda: run(author, rehearsal, LoomWorld(turn), "soak", {})


# ---------------------------------------------------------------- Ctrl-C

COMPILED = Program(
    (
        "k = nl.arange(300.0)",
        "f = nl.compile(lambda a, b: (nl.sqrt(a) * b + k).sum())",
        "x = nl.arange(300.0)",
        "y = f(x, x + 1)",
        "f = nl.compile(lambda a: nl.cumsum(a * k))",
        "g = nl.grad(lambda a: nl.sum(nl.exp(-a) * k))",
        "z = f(x) + g(x)",
        "f = None",
        "x[3:] = z[:-3]",
        "g = None",
        "k += 1",
    ),
    plain=False,
)
"""Compiled functions that read an array from outside, come and go."""
INTERRUPTED = {**{name: each for name, each in PROGRAMS.items() if name != "files"}, "compiled functions": COMPILED}
"""Python's own zip files close in ``__del__``, which swallows what lands there."""


class Heard:
    """A handler of SIGINT that counts, and raises where the program listens."""

    def __init__(self) -> None:
        self.listening = self.raised = self.came = False
        signal.signal(signal.SIGINT, self)

    def __call__(self, *_: Any) -> None:
        self.came = True
        if self.listening:
            self.listening = False
            self.raised = True
            raise KeyboardInterrupt


def interrupts(rng: random.Random, turns: Turns) -> Verdicts:
    """Programs that are interrupted: names stand for what they stood for before a line or after it, now and later."""
    heard, faults, device = Heard(), Faults(), registry.get("cpu")
    runs: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in turns:
            name = rng.choice(list(INTERRUPTED))
            settings = rng.choice(SETTINGS) | ({"cpu_compile": "wait"} if name in WRITTEN else {})
            heard.raised = heard.came = False
            with np.config(**settings):
                if name not in runs:
                    runs[name] = Run(INTERRUPTED[name], device, faults, folder)
                if rng.random() < 0.5:
                    forget_plans(device)
                print(f"go {10 ** rng.uniform(-3.5, -1.2):.6f}", flush=True)
                yield verdict(lambda: interrupted(runs[name], heard), f"{name}, {settings}")


def interrupted(each: Run, heard: Heard) -> str:
    """Run a program until it is interrupted; what it left is right, and so is another run."""
    until = time.monotonic() + 30
    names, line, caught = {}, 0, False
    try:
        try:
            heard.listening = True
            while not heard.came and time.monotonic() < until:
                names, line = each.program.names(np, each.folder), 0
                for number, code in enumerate(each.code):
                    line = number
                    exec(code, names)
                look(names)
        finally:
            heard.listening = False
    except KeyboardInterrupt:
        caught = True
    heard.listening = False
    assert heard.came, "the signal did not arrive"
    where = f"interrupted in {each.program.lines[line]!r}"
    assert caught == heard.raised, f"swallowed, {where}"
    each.check(look(names), each.states[line - 1] if line else {}, each.states[line], where)
    each.clean()
    return HELD if caught else MISSED


# ---------------------------------------------------------------- memory

BIG: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda xp, x: xp.sqrt(x) * x + 3,
    "standardised": lambda xp, x: (x - x.mean()) / x.std(),
    "sorted": lambda xp, x: xp.sort(x * 2),
    "running": lambda xp, x: xp.cumsum(x) / (1 + x),
    "joined": lambda xp, x: xp.concatenate([x, x * 2, x - 1]),
    "product": lambda xp, x: x.reshape(100, -1) @ x.reshape(-1, 100),
    "masked": lambda xp, x: x[x > 0.5] + 1,
    "transformed": lambda xp, x: abs(xp.fft.rfft(x)),
    "taken": lambda xp, x: x[xp.argsort(x)],
    "listed": lambda xp, x: xp.asarray(x[:20_000].tolist()) * 2,
    "outer": lambda xp, x: (x[:500, None] * x[None, :500]).sum(0),
    "many": lambda xp, x: xp.stack([x[k : k + 1000] * k for k in range(40)]).std(axis=1),
}


@contextlib.contextmanager
def limited(more: int) -> Iterator[None]:
    """Let the process have so many bytes of addresses more than it has."""
    import resource

    has = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def memory(rng: random.Random, turns: Turns) -> Verdicts:
    """Programs whose addresses run out: a MemoryError or the right values, and the right values afterwards."""
    for _ in turns:
        name, size = rng.choice(list(BIG)), rng.choice((100_000, 300_000, 1_000_000))
        settings = rng.choice(SETTINGS)
        with np.config(**settings):
            yield verdict(lambda: on_own_stack(lambda: short(rng, name, size)), f"{name} of {size}, {settings}")


def on_own_stack(work: Callable[[], Any]) -> Any:
    """What work gives in a thread: the main one's stack grows, and where it cannot the system ends the process."""
    found: list[Any] = []
    before = threading.stack_size(8 << 20)
    at_once([lambda: found.append(work())])
    threading.stack_size(before)
    return found[0]


def short(rng: random.Random, name: str, size: int) -> str:
    """One of them; a target of its results holds the old values or the new ones."""
    host = numpy.random.default_rng(rng.randrange(1 << 30)).random(size)
    expected = BIG[name](numpy, host)
    x, target = np.asarray(host), np.zeros(expected.shape, expected.dtype)
    np.evaluate(x, target)
    np.get_default_memory_pool().free_all_blocks()
    room, missed = int(size * 12 * rng.random() ** 2), True
    try:
        with limited(room):
            target[...] = BIG[name](np, x)
            found = target.get()
    except MemoryError:
        missed = False
        found = target.get()
    assert close(found, expected) or (not missed and not found.any()), f"{room} bytes more: a wrong value"
    assert close(BIG[name](np, x).get(), expected), "wrong afterwards"
    return MISSED if missed else HELD


def close(found: Any, expected: Any) -> bool:
    """Whether these are the same but for rounding."""
    return found.dtype == expected.dtype and bool(numpy.allclose(found, expected, rtol=1e-9, atol=1e-9))


def failures(rng: random.Random, turns: Turns) -> Verdicts:
    """An operation of the device fails, by injection: see `test_injection`."""
    faults = Faults()
    runs: dict[Any, tuple[Run, list[str]]] = {}
    with installed("cpu", faults) as device, tempfile.TemporaryDirectory() as folder:
        device.load_loops(loops_text, wait=True)
        for _ in turns:
            name, way = rng.choice(list(PROGRAMS)), rng.choice([each for each in WAYS if "compiled" not in each])
            forget = way.endswith("anew")
            compiles = "wait" if name in WRITTEN else "never"

            def fail() -> str:
                with np.config(**{"cpu_compile": compiles, **WAYS[way]}):
                    if (name, way) not in runs:
                        each = Run(PROGRAMS[name], device, faults, folder)
                        for _ in range(4):
                            each.clean()
                        runs[name, way] = each, each.count(forget)
                        gc.collect()
                        gc.freeze()
                    each, kinds = runs[name, way]
                    at = rng.randrange(1, len(kinds) + 1)
                    how = rng.choice(("once", "on", "passing") if kinds[at - 1] == "allocation" else ("once", "on"))
                    return HELD if each.fail(at, how, forget) else MISSED

            yield verdict(fail, f"{name}, {way}")


# ---------------------------------------------------------------- compilers and the cache

TROUBLES: dict[str, tuple[str, str]] = {
    "killed": ("kill -KILL $$", "signal 9"),
    "disk full": ('echo "as: kernel.so: No space left on device"; exit 1', "No space left"),
    "short of memory": ('echo "cc1plus: out of memory allocating 65536 bytes"; exit 1', "out of memory"),
    "cut": (
        '"$REAL" "$@"; while [ "$1" != -o ]; do shift; done; head -c 1000 "$2" > "$2.cut"; mv "$2.cut" "$2"; exit 0',
        "cut short",
    ),
    "slow": ('sleep 0.3; exec "$REAL" "$@"', ""),
}
"""What a compiler does, by name, and what the error says of it (nothing where there is none)."""


def compiler_script(real: str, armed: str) -> str:
    """A shell's text: a compiler that is in the trouble, or once in it, that a file names."""
    cases = "\n".join(f"'{name}') {does} ;;\n'{name}, once') rm -f '{armed}'; {does} ;;" for name, (does, _) in
                      TROUBLES.items())  # fmt: skip
    return f"#!/bin/sh\nREAL='{real}'\ncase $(cat '{armed}' 2> /dev/null) in\n{cases}\nesac\nexec \"$REAL\" \"$@\"\n"


def compilers(rng: random.Random, turns: Turns) -> Verdicts:
    """The compiler fails: arithmetic goes on, a user's kernel says why, and is there when the compiler is."""
    armed = Path(os.environ["SOAK_ARMED"])
    kernel = np.ElementwiseKernel("T x", "T y", "y = x", "before")
    assert kernel(np.ones(3)).get().tolist() == [1, 1, 1]
    for _ in turns:
        name = rng.choice(list(TROUBLES))
        once, number = rng.random() < 0.4, rng.randrange(8, 1 << 20)
        mode = rng.choice(("wait", "background"))

        def fail() -> None:
            cause = "" if once else TROUBLES[name][1]
            armed.write_text(f"{name}, once" if once else name)
            try:
                with np.config(cpu_compile=mode, unplanned=0), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    assert growing.program(number), "wrong values meanwhile"
                try:
                    assert growing.kernel(number) and not cause, "the compiler was not in trouble"
                except DeviceError as error:
                    assert cause and cause in str(error) and not isinstance(error, CompileError), repr(error)
            finally:
                armed.unlink(missing_ok=True)
            assert growing.kernel(number) and growing.program(number), "wrong afterwards"

        yield verdict(fail, f"{name}{', once' if once else ''}, {mode}")


def kernels(rng: random.Random, turns: Turns) -> Verdicts:
    """Kernels and programs that are compiled, or were by whoever was here before."""
    np.config.cpu_compile, np.config.unplanned = "wait", 0
    for _ in turns:
        number = rng.randrange(8, 1 << 20)
        yield verdict(lambda: expect(growing.kernel(number)), f"kernel {number}")
        yield verdict(lambda: expect(growing.program(number)), f"program {number}")


def expect(right: bool) -> None:
    """Raise where a value is wrong."""
    assert right, "a wrong value"


def damaged(content: bytes, rng: random.Random, signed: bool = False) -> bytes:
    """Bytes that are an entry no more; those that are `signed` by a right checksum are no library that could be run."""
    at = rng.randrange(len(content) or 1)
    ways: list[Callable[[], bytes]] = [
        lambda: content[:at],
        lambda: b"",
        lambda: rng.randbytes(len(content)),
        lambda: zlib.compress(rng.randbytes(100)),
        lambda: caches.MAGIC + b"[" * 200_000 + b"\n",
    ]
    if not signed:
        ways += [
            lambda: content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :],
            lambda: content[:at] + rng.randbytes(16) + content[at:],
            lambda: content + content,
        ]
    return rng.choice(ways)() if content else b"x"


def entries(rng: random.Random, turns: Turns) -> Verdicts:
    """Entries of the cache are damaged, some under a right checksum, and built again when kernels are asked for."""
    cache, found = shared(), 0
    for entry in cache.entries():
        path = Path(cache.folder, entry.key)
        if rng.random() < 0.4:
            found += 1
            if rng.random() < 0.5:
                path.write_bytes(damaged(path.read_bytes(), rng))
            else:
                cache.put(entry.key, damaged(cache.get(entry.key, entry.origin) or b"", rng, True), entry.origin)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = [*kernels(random.Random(1), turns)]
    lost = [line for line in said if line != HELD]
    yield from lost
    yield from [HELD] * max(found - len(lost), 0) or [MISSED]


# ---------------------------------------------------------------- threads and children


def stacks(rng: random.Random, turns: Turns) -> Verdicts:
    """Programs in threads of 64 KB; NumPy's own products of matrices crash there."""
    np.config.unplanned, np.config.cpu_compile = 0, "wait"
    for _ in turns:
        name, shape = rng.choice(list(small_stacks.PROGRAMS)), rng.choice(small_stacks.SHAPES)
        threading.stack_size((256 if name == "products" else 64) << 10)
        host = numpy.random.default_rng(rng.randrange(1 << 30)).random(shape)
        yield verdict(lambda: expect(small_stacks.same_in_a_thread(name, host)), f"{name} of {shape}")


def at_once(works: Iterable[Callable[[], Any]], beside: Callable[[], Any] = lambda: None) -> None:
    """Do works in threads that start together, and something beside them; the first error is raised."""
    works = list(works)
    errors: list[Exception] = []
    start = threading.Barrier(len(works) + 1)

    def do(work: Callable[[], Any]) -> None:
        start.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=do, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    start.wait()
    try:
        beside()
    finally:
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def threads(rng: random.Random, turns: Turns) -> Verdicts:
    """Random programs in many threads, which change places all the time."""
    sys.setswitchinterval(1e-5)
    for _ in turns:
        works = [prepared(rng) for _ in range(rng.choice((2, 4, 8, 24)))]
        settings = rng.choice(SETTINGS)
        with np.config(**settings), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield verdict(lambda: at_once(works), f"{len(works)} threads, {settings}")


def forks(rng: random.Random, turns: Turns) -> Verdicts:
    """Children are forked while threads evaluate; both go on with what was recorded."""
    sys.setswitchinterval(1e-5)
    x = np.arange(200_000.0)
    for _ in turns:
        works, childs = [prepared(rng) for _ in range(3)], prepared(rng)
        settings = rng.choice(SETTINGS)
        factor = rng.randrange(9)
        pending = np.sqrt(x) * factor

        def look() -> None:
            childs()
            expect(float(pending.max()) == float(numpy.sqrt(199_999.0)) * factor)

        def fork() -> None:
            time.sleep(rng.random() * 0.02)
            status = in_child(look)
            assert status == 0, f"the child ended with {status}"

        with np.config(**settings), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield verdict(lambda: (at_once(works, fork), look()), str(settings))


def in_child(work: Callable[[], Any], seconds: int = 60) -> int:
    """The exit status of a forked child that does work: 1 where it raises, that of SIGALRM where it has no end."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        signal.alarm(seconds)
        work()
        status = 0
    except Exception as error:
        print(f"lost in a child: {error!r}"[:600], flush=True)
    finally:
        os._exit(status)


def wrong_calls(rng: random.Random, turns: Turns) -> Verdicts:
    """Public functions with arguments that make no sense, where there is a module of them."""
    calls: Any = importlib.import_module("wrong_calls")
    for _ in turns:
        for row in calls.run(100, rng.randrange(1 << 30)):
            lost = row.label in (calls.DIFFER, calls.HANGS, calls.ENDS)
            yield f"lost {' '.join(map(str, row))}"[:600] if lost else HELD


KINDS: dict[str, Callable[[random.Random, Turns], Verdicts]] = {
    each.__name__: each
    for each in (
        interrupts, memory, failures, compilers, kernels, entries, stacks, threads, forks, wrong_calls,
    )
}  # fmt: skip


def main(kind: str, seed: str, seconds: float, count: int) -> None:
    """Meet faults of a kind for so long, or so many."""
    take_light()
    np.config.device = "cpu"
    print("ready", flush=True)
    for said in KINDS[kind](random.Random(seed), turns(seconds, count)):
        print(said, flush=True)
    np.config.cpu_compile = "wait"  # Nothing is left to be compiled after the end.
    print("end", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
