"""The host C++ compiler: found once, its flags probed once, run without a shell."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from numloom.base.errors import CompileError, MissingDependencyError
from numloom.base.later import Later
from numloom.device import temporary
from numloom.device.cpu.libraries import load
from numloom.device.cpu.process import Process
from numloom.device.cpu.simt.elf import is_whole

hashlib, shlex, shutil, signal = Later("hashlib"), Later("shlex"), Later("shutil"), Later("signal")

# What results must not depend on: contraction, signed overflow, errno, traps, type punning.
EXACT = (
    "-std=c++17",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
)
# What is only better with them; each is left out where the compiler refuses it.
WANTED = (
    "-march=native",
    "-mprefer-vector-width=512",
    "-nostdlib",
    "-fopenmp-simd",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fno-isolate-erroneous-paths-dereference",
    "-fno-stack-protector",
    "-fstack-clash-protection",
    "-fno-gnu-unique",  # A library with such a variable is never closed.
    "-Wl,-z,noseparate-code",  # Two memory maps a library instead of four or five.
    "-Wl,-z,norelro",
    "-w",
    "-pipe",
)
BASIC = ("-O3", "-shared", "-fPIC")

# Calls libm, which must come from the process itself: another library's exp would give other bits.
PROBE = """
extern "C" double exp(double) noexcept;
extern "C" void nl_probe(double* to, const double* from, long n) {
    for (long i = 0; i < n; ++i) to[i] = exp(from[i]);
}
"""

TRIES = 2
"""How often a compiler is run that the system keeps from its work."""
# What g++, clang and the linker say then; a complaint about a text has a line and a column, and may quote any of this.
_SHORT_OF = re.compile(
    "No space left on device|Disk quota exceeded|File too large|Cannot allocate memory|out of memory|bad_alloc"
    "|virtual memory exhausted|Too many open files|Resource temporarily unavailable|Input/output error"
    "|(?:Killed|Terminated|Bus error|File size limit exceeded|CPU time limit exceeded) signal terminated program"
)
_ABOUT_TEXT = re.compile(r":\d+:\d+: (?:fatal )?error:")

CURE = "install g++ or clang, name one in the environment variable CXX, or run `pip install numloom[zig]`"


class CompilerTrouble(OSError):
    """The system kept a compiler from its work, which says nothing of the text."""


def trouble_of(status: int, log: str) -> str:
    """What kept a compiler from its work, by its exit status and what it said; empty where it refused the text.

    Examples
    --------
    >>> trouble_of(-9, "")
    'it was ended by signal 9 (Killed), as the system does where memory is short'
    >>> trouble_of(1, "as: kernel.so: No space left on device")
    'as: kernel.so: No space left on device'
    >>> trouble_of(1, "kernel0.cpp:1:2: error: out of memory was not declared")
    ''
    """
    if status < 0:
        return (
            f"it was ended by signal {-status} ({signal.strsignal(-status)}), as the system does where memory is short"
        )
    if _ABOUT_TEXT.search(log):
        return ""
    return next((line.strip() for line in log.splitlines() if _SHORT_OF.search(line)), "")


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and the flags it takes.

    Attributes
    ----------
    command : tuple of str
        Program and its first arguments.
    flags : tuple of str
        Flags of every kernel.
    identity : str
        Changes when the compiler, its flags or the processor change: part of cache keys.
    """

    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str
    running: list[Process] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "zig cc" if "ziglang" in self.command else os.path.basename(self.command[0])

    def compile(self, *texts: str) -> bytes:
        """One shared object made of these texts, each a translation unit.

        Raises
        ------
        CompileError
            If the compiler refuses a text.
        OSError
            If the system keeps it from its work, twice.
        """
        with temporary.folder() as folder:
            sources = [os.path.join(folder, f"kernel{number}.cpp") for number in range(len(texts))]
            for source, text in zip(sources, texts, strict=True):
                with open(source, "w", encoding="utf-8") as file:
                    file.write(text)
            target = os.path.join(folder, "kernel.so")
            tail = ["-lgcc"] if "-nostdlib" in self.flags and self.libgcc else []
            for _ in range(TRIES):
                self._run([*self.command, *self.flags, *sources, "-o", target, *tail], texts[0], folder)
                with open(target, "rb") as built:
                    content = built.read()
                if is_whole(content):
                    return content
        raise CompilerTrouble(f"{self.name} made a library that is cut short, {TRIES} times")

    def _run(self, command: list[str], text: str, folder: str) -> None:
        """Run the compiler, once more where the system kept it from its work."""
        cause = ""
        for _ in range(TRIES):
            process = Process(command, folder)
            self.running.append(process)
            try:
                status, log = process.wait()
            finally:
                stopped = process not in self.running
                if not stopped:
                    self.running.remove(process)
            if not status:
                return
            cause = "" if stopped else trouble_of(status, log)
            if not cause:
                raise CompileError(self.name, text, log or f"exit status {status}")
        raise CompilerTrouble(f"{self.name} did not get through, {TRIES} times: {cause}")

    @property
    def libgcc(self) -> bool:
        """Whether the compiler's own support library can be named (zig carries its own)."""
        return "ziglang" not in self.command

    def stop(self) -> None:
        """End the compilers that run; their callers get a CompileError."""
        running = list(self.running)
        self.running.clear()
        for process in running:
            process.kill()

    def let_go(self) -> None:
        """In a forked child: the compilers that run are the parent's."""
        self.running.clear()


def candidates() -> Iterator[tuple[str, ...]]:
    """Commands to try, the first choice first."""
    named = os.environ.get("CXX", "")
    for words in (_named(named) if named else [], ["c++"], ["g++"], ["clang++"]):
        program = _which(words[0]) if words else None
        if program:
            yield program, *words[1:]
    if importlib.util.find_spec("ziglang") is not None:
        # `zig c++` would first build a C++ library, for minutes; kernels use none.
        yield sys.executable, "-m", "ziglang", "cc"


def _which(name: str) -> str | None:
    """As `shutil.which`, whose import takes longer than the search, for names as they are without a folder."""
    folders = os.environ.get("PATH")
    if not folders or os.name != "posix" or os.sep in name:
        return str(found) if (found := shutil.which(name)) else None
    for folder in folders.split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


@functools.cache
def _named(command: str) -> list[str]:
    """The words of a command; a text that is none is told once."""
    try:
        return list(shlex.split(command))
    except ValueError as error:
        warnings.warn(
            f"the environment variable CXX names no compiler, {command!r} is no command ({error}): the system's C++ "
            "compiler is used; mend or unset the variable",
            RuntimeWarning,
            stacklevel=2,
        )
        return []


def identify(command: Sequence[str]) -> str:
    """What tells one compiler on one processor from another, without running it."""
    parts = [*command, platform.machine(), _processor()]
    real = os.path.realpath(command[0])
    stat = os.stat(real)
    parts += [real, str(stat.st_size), str(stat.st_mtime_ns)]
    if "ziglang" in command:
        spec = importlib.util.find_spec("ziglang")
        parts.append(str(spec.origin if spec else None))
    return str(hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32])


def _processor() -> str:
    """The processor's model and features, which -march=native follows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(16384).split("\n\n", 1)[0]
    except OSError:
        return platform.processor()
    kept = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    return "\n".join(sorted(line for line in first.splitlines() if line.startswith(kept)))


def accepted(compiler: Compiler, wanted: Sequence[str], text: str) -> tuple[str, ...]:
    """Those of the `wanted` flags that a compiler takes besides its own.

    Raises
    ------
    CompileError, OSError
        If it cannot do without them either: what it refused then says nothing of the flags.
    """

    def attempt(*flags: str) -> None:
        load(Compiler(compiler.command, (*compiler.flags, *flags), compiler.identity).compile(text))

    def works(*flags: str) -> bool:
        try:
            attempt(*flags)
        except (CompileError, OSError):
            return False
        return True

    if works(*wanted):
        return tuple(wanted)
    attempt()
    flags: list[str] = []
    for flag in wanted:
        # Twice: what is refused is refused again, a compiler that was killed is not.
        if works(*flags, flag) or works(*flags, flag):
            flags.append(flag)
    attempt(*flags)
    return tuple(flags)


def probe(command: tuple[str, ...], identity: str) -> tuple[str, ...]:
    """Flags that this compiler takes; raises CompileError or OSError where it cannot make a shared object at all."""
    flags = (*BASIC, *EXACT)
    return (*flags, *accepted(Compiler(command, flags, identity), WANTED, PROBE))


def complete(flags: str) -> bool:
    """Whether these flags are what `probe` gives, for all that one sees of them."""
    least = {*BASIC, *EXACT}
    return least <= set(flags.split()) <= {*least, *WANTED}


def find(remembered: Callable[[str, Callable[[], str], Callable[[str], bool]], str] | None = None) -> Compiler | None:
    """The compiler to use, or None.

    Parameters
    ----------
    remembered : callable, optional
        ``remembered(key, make, sound)`` gives the text of `key`, made by `make` the first time and where it is not
        `sound` (the disk cache, so that flags are probed once for all processes). A probe that fails is not kept: what
        it failed of may be gone in the next process. It is told, where no other compiler does or where CXX names this
        one.
    """
    global _trouble
    troubles = []
    for command in candidates():
        try:
            identity = identify(command)
        except OSError:
            continue
        question = hashlib.sha256("\0".join(("probe", identity, PROBE, *BASIC, *EXACT, *WANTED)).encode()).hexdigest()
        make = functools.partial(_probed, command, identity)
        try:
            flags = tuple((remembered(question, make, complete) if remembered else make()).split())
        except (CompileError, OSError) as error:
            troubles.append(f"{' '.join(command)} does not compile ({_cause(error)})")
            continue
        if troubles and os.environ.get("CXX"):
            _tell(f"{troubles[0]}, {' '.join(command)} does the work")
        digest = hashlib.sha256("\0".join((identity, *flags)).encode()).hexdigest()[:32]
        return Compiler(command, flags, digest)
    if troubles:
        _trouble = "; ".join(troubles)
        _tell(f"{_trouble}, so kernels for the CPU are not compiled in this process and slower loops do their work")
    return None


_trouble = ""
"""Why the compilers that are there were of no use, as far as was tried."""
MEND = "make room in the temporary folder or name another one in TMPDIR, or name a compiler that works in CXX"


def _tell(what: str) -> None:
    warnings.warn(f"the C++ compiler {what}: {MEND}", RuntimeWarning, stacklevel=4)


def _cause(error: Exception) -> str:
    """What went wrong, in a line."""
    text = error.log if isinstance(error, CompileError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[-1] if lines else type(error).__name__)[:300]


def _probed(command: tuple[str, ...], identity: str) -> str:
    return " ".join(probe(command, identity))


def require(compiler: Compiler | None) -> Compiler:
    """The compiler, or an error with the cure."""
    if compiler is None:
        if _trouble:
            raise MissingDependencyError(f"this needs a C++ compiler, and {_trouble}", f"{MEND}, or {CURE}")
        raise MissingDependencyError("this needs a C++ compiler and none was found", CURE)
    return compiler
