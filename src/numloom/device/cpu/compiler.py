"""The host C++ compiler: found once, its flags probed once, run without a shell."""

from __future__ import annotations

import ctypes
import errno
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from numloom.base.errors import CompileError, MissingDependencyError

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

CURE = "install g++ or clang, name one in the environment variable CXX, or run `pip install numloom[zig]`"


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
    running: list[subprocess.Popen[str]] = field(default_factory=list, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "zig cc" if "ziglang" in self.command else Path(self.command[0]).name

    def compile(self, *texts: str) -> bytes:
        """One shared object made of these texts, each a translation unit.

        Raises
        ------
        CompileError
            If the compiler refuses a text.
        """
        # No TemporaryDirectory: a child process forked meanwhile would delete it at its exit.
        folder = tempfile.mkdtemp(prefix="numloom-")
        try:
            sources = [os.path.join(folder, f"kernel{number}.cpp") for number in range(len(texts))]
            for source, text in zip(sources, texts, strict=True):
                Path(source).write_text(text, encoding="utf-8")
            target = os.path.join(folder, "kernel.so")
            tail = ["-lgcc"] if "-nostdlib" in self.flags and self.libgcc else []
            self._run([*self.command, *self.flags, *sources, "-o", target, *tail], texts[0], folder)
            return Path(target).read_bytes()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, command: list[str], text: str, folder: str) -> None:
        process = _start(command, folder)
        self.running.append(process)
        try:
            log, _ = process.communicate()
        finally:
            self.running.remove(process)
        if process.returncode:
            raise CompileError(self.name, text, log or f"exit status {process.returncode}")

    @property
    def libgcc(self) -> bool:
        """Whether the compiler's own support library can be named (zig carries its own)."""
        return "ziglang" not in self.command

    def stop(self) -> None:
        """End the compilers that run; their callers get a CompileError."""
        for process in list(self.running):
            process.kill()


_PASSING = frozenset((errno.EAGAIN, errno.EFAULT, errno.EINTR, errno.ENOMEM, errno.ETXTBSY))
"""Errors of starting a program that a busy system gives once and not again."""


def _start(command: list[str], folder: str) -> subprocess.Popen[str]:
    """The compiler's process; errors that pass are waited out."""
    for pause in (0.01, 0.05, 0.2, None):
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", cwd=folder,
            )  # fmt: skip
        except OSError as error:
            if pause is None or error.errno not in _PASSING:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")


def load(content: bytes) -> ctypes.CDLL:
    """Load the bytes of a shared object; the file is gone afterwards.

    Raises
    ------
    OSError
        If the system's loader refuses them.
    """
    handle, path = tempfile.mkstemp(prefix="numloom-", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return ctypes.CDLL(path)
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
        # The folder may forbid execution. The loader knows libraries by path, so this descriptor stays open.
        handle = os.memfd_create("numloom-kernel", 0)
        os.write(handle, content)
        return ctypes.CDLL(f"/proc/self/fd/{handle}")
    finally:
        os.unlink(path)


def candidates() -> list[tuple[str, ...]]:
    """Commands to try, the first choice first."""
    found: list[tuple[str, ...]] = []
    named = os.environ.get("CXX", "")
    for words in (shlex.split(named), ["c++"], ["g++"], ["clang++"]):
        program = shutil.which(words[0]) if words else None
        if program:
            found.append((program, *words[1:]))
    if importlib.util.find_spec("ziglang") is not None:
        # `zig c++` would first build a C++ library, for minutes; kernels use none.
        found.append((sys.executable, "-m", "ziglang", "cc"))
    return found


def identify(command: Sequence[str]) -> str:
    """What tells one compiler on one processor from another, without running it."""
    parts = [*command, platform.machine(), _processor()]
    real = os.path.realpath(command[0])
    stat = os.stat(real)
    parts += [real, str(stat.st_size), str(stat.st_mtime_ns)]
    if "ziglang" in command:
        spec = importlib.util.find_spec("ziglang")
        parts.append(str(spec.origin if spec else None))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _processor() -> str:
    """The processor's model and features, which -march=native follows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(16384).split("\n\n", 1)[0]
    except OSError:
        return platform.processor()
    kept = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    return "\n".join(sorted(line for line in first.splitlines() if line.startswith(kept)))


def probe(command: tuple[str, ...], identity: str) -> tuple[str, ...]:
    """Flags that this compiler takes; empty where it cannot make a shared object at all."""

    def works(flags: Sequence[str]) -> bool:
        try:
            load(Compiler(command, tuple(flags), identity).compile(PROBE))
        except (CompileError, OSError):
            return False
        return True

    flags = [*BASIC, *EXACT, *WANTED]
    if works(flags):
        return tuple(flags)
    flags = [*BASIC, *EXACT]
    if not works(flags):
        return ()
    for flag in WANTED:
        if works([*flags, flag]):
            flags.append(flag)
    return tuple(flags)


def find(remembered: Callable[[str, Callable[[], str]], str] | None = None) -> Compiler | None:
    """The compiler to use, or None.

    Parameters
    ----------
    remembered : callable, optional
        ``remembered(key, make)`` gives the text of `key`, made by `make` the first time (the disk
        cache, so that flags are probed once for all processes).
    """
    for command in candidates():
        try:
            identity = identify(command)
        except OSError:
            continue
        question = hashlib.sha256("\0".join((identity, PROBE, *BASIC, *EXACT, *WANTED)).encode()).hexdigest()
        make = functools.partial(_probed, command, identity)
        flags = tuple((remembered(question, make) if remembered else make()).split())
        if flags:
            digest = hashlib.sha256("\0".join((identity, *flags)).encode()).hexdigest()[:32]
            return Compiler(command, flags, digest)
    return None


def _probed(command: tuple[str, ...], identity: str) -> str:
    return " ".join(probe(command, identity))


def require(compiler: Compiler | None) -> Compiler:
    """The compiler, or an error with the cure."""
    if compiler is None:
        raise MissingDependencyError("this needs a C++ compiler and none was found", CURE)
    return compiler
