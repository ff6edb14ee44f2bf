"""NVRTC: kernel text to a CUBIN for one architecture; needs no driver and no GPU."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from numloom.base.errors import CompileError, MissingDependencyError
from numloom.base.forking import anew, importing
from numloom.base.progress import COMPILING, Line, look
from numloom.base.threads import begin
from numloom.device.cache import key_of, shared

SAME_STACK = "--modify-stack-limit=false"
"""NVRTC otherwise takes away the limit of the main thread's stack while it compiles, for the whole process, and for
good where two threads compile at a time: what calls itself for ever then takes all memory of the machine."""

OPTIONS = (
    "-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "-w", "--minimal", SAME_STACK,
)  # fmt: skip
"""Exact arithmetic: no contraction, denormals kept, IEEE division and square root; no textures, 3 ms less."""

FAST_TIER = ("--Ofast-compile=mid",)
"""For code that is there in about half the time and computes the same bits, two to forty times as slowly."""

HALVES = re.compile(r"\b(min|max)\.(relu\.)?[su]16")
"""In PTX: what ptxas makes instructions for two halves of a word of, some of which lose what was computed just before.

With CUDA 13.0 the largest of ``-x`` for eight int16 was one of ``x`` on a GPU of compute capability 9.0; which versions
do so nobody says. Our texts avoid them (`nl::wide`); a text that has one, of a user's kernel, is compiled by the fast
tier alone, which makes other instructions of it.
"""

FIRST_LINE = "// nvrtc: "
"""A text that begins so goes on with options of its own."""


WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
"""The first thing that a kernel does on a GPU of compute capability 9.0 or more: so its launch need not wait."""

_START = re.compile(r'extern "C" __global__ [^;{]*\)\s*\{')

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Texts that are compiled in full at a time."""
HURRIES = THREADS >= 4
"""Whether compiling quickly beside compiling in full does not make both slow."""

_turns = threading.Semaphore(THREADS)


def _renew_turns() -> None:
    global _turns
    _turns = threading.Semaphore(THREADS)


anew(_renew_turns)


@functools.cache
def bindings() -> Any:
    """The module `cuda.bindings.nvrtc`.

    Raises
    ------
    MissingDependencyError
        If it, or the NVRTC library, is not installed.
    """
    try:
        with importing:
            from cuda.bindings import nvrtc

            nvrtc.nvrtcVersion()
    except Exception as error:  # ImportError, or the bindings' own error where the library is missing.
        raise MissingDependencyError(
            f"NVRTC, the CUDA run-time compiler, cannot be loaded ({error})", "pip install 'numloom[cuda13-core]'"
        ) from error
    return nvrtc


@functools.cache
def origin(architecture: str) -> str:
    """What a compiled kernel depends on besides its text: compiler version, options, architecture."""
    _, major, minor = bindings().nvrtcVersion()
    early = " early" if launches_early(architecture) else ""
    return f"nvrtc {major}.{minor} {architecture} {' '.join(OPTIONS)}{early} without {HALVES.pattern}"


def launches_early(architecture: str) -> bool:
    """Whether kernels for this architecture can be launched before those before them are done, and wait themselves."""
    return int(re.sub(r"\D", "", architecture)) >= 90


def waits(text: str) -> bool:
    """Whether all kernels of this text begin by waiting (`waiting`): they are recognised by how ours are declared."""
    return text.count("__global__") == len(_START.findall(text))


def waiting(text: str) -> str:
    """The text of kernels that wait until all work before them is done and can be seen.

    The driver starts such a kernel while the last blocks before it still write their results, which spares more than
    a microsecond between two kernels (CUDA's programming guide: programmatic dependent launch).
    """
    return _START.sub(lambda found: f"{found[0]} {WAIT}", text)


def compile_cubin(text: str, architecture: str = "sm_90", more: Sequence[str] = ()) -> bytes:
    """Machine code of a kernel text for `architecture`, with `more` options; CompileError with the offending line."""
    cubin, ptx = compile_text(text, architecture, more)
    if HALVES.search(ptx) and FAST_TIER[0] not in more:
        return compile_text(text, architecture, (*more, *FAST_TIER))[0]
    return cubin


def compile_text(text: str, architecture: str, more: Sequence[str] = ()) -> tuple[bytes, str]:
    """Machine code of a kernel text, and the PTX it was assembled from."""
    nvrtc = bindings()
    own = text.partition("\n")[0].removeprefix(FIRST_LINE).split() if text.startswith(FIRST_LINE) else ()
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *OPTIONS, *own, *more)]
    given = waiting(text) if launches_early(architecture) else text
    _, program = nvrtc.nvrtcCreateProgram(given.encode(), b"kernel.cu", 0, None, None)
    try:
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileError("NVRTC", text, log.decode(errors="replace").rstrip("\0 \n"))
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = b" " * size
        nvrtc.nvrtcGetCUBIN(program, cubin)
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = b" " * size
        nvrtc.nvrtcGetPTX(program, ptx)
        return cubin, ptx.decode().rstrip("\0")
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def known_cubin(text: str, architecture: str) -> bytes | None:
    """Machine code of a text that the disk cache has."""
    where = origin(architecture)
    return shared().get(key_of(text, where), where)


def cached_cubin(text: str, architecture: str) -> bytes:
    """`compile_cubin` through the disk cache."""
    cubin = known_cubin(text, architecture)
    if cubin is not None:
        return cubin
    with Line(COMPILING, gather=True):
        return new_cubin(text, architecture)


def new_cubin(text: str, architecture: str) -> bytes:
    """`compile_cubin`, kept in the disk cache."""
    cubin = compile_cubin(text, architecture)
    where = origin(architecture)
    # Until a file is on the disk takes milliseconds, for which nobody waits.
    _in_thread(functools.partial(shared().put, key_of(text, where), cubin, where))
    return cubin


def _in_thread(work: Callable[[], None]) -> None:
    """Do this in a thread of its own, or here where there are no more threads."""
    try:
        begin(threading.Thread(target=work, name="numloom-nvrtc"))
    except RuntimeError:
        work()


def _await(event: threading.Event) -> None:
    """Wait for a compiler, and say so if it takes long."""
    if not event.is_set():
        with Line(COMPILING, gather=True):
            while not event.wait(0.1):
                look()


class Ahead:
    """A text that is compiled while the caller does something else, in full and, with `fast_tier`, by the fast tier as
    well.

    Compilers of several texts do not wait for each other, nor for Python.
    """

    def __init__(self, text: str, architecture: str, fast_tier: bool = False) -> None:
        self._text = text
        self._architecture = architecture
        self._cubin = known_cubin(text, architecture)
        self._fast_tier: bytes | None = None
        self._some = threading.Event()  # one of both is there, or the full one has failed
        self._done = threading.Event()
        if self._cubin is not None:
            self._some.set()
            self._done.set()
            return
        _in_thread(self._compile)
        if fast_tier:
            _in_thread(self._hurry)

    def _compile(self) -> None:
        try:
            with _turns:
                self._cubin = new_cubin(self._text, self._architecture)
        except CompileError:
            pass  # Whoever needs the text compiles it again, and is told.
        finally:
            self._done.set()
            self._some.set()

    def _hurry(self) -> None:
        try:
            self._fast_tier = compile_cubin(self._text, self._architecture, FAST_TIER)
        except CompileError:
            return  # as the full one will
        self._some.set()

    @property
    def done(self) -> bool:
        """Whether `cubin` waits for nobody."""
        return self._done.is_set()

    def cubin(self) -> bytes:
        """The machine code, in full; raises CompileError."""
        _await(self._done)
        return cached_cubin(self._text, self._architecture) if self._cubin is None else self._cubin

    def first(self) -> tuple[bytes, bool]:
        """The machine code that is there first, and whether it is the full one."""
        _await(self._some)
        fast_tier = self._fast_tier
        return (self.cubin(), True) if fast_tier is None or self.done else (fast_tier, False)
