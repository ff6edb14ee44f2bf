"""NVRTC: kernel text to a CUBIN for one architecture; needs no driver and no GPU."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from numloom.base.errors import CompileError, MissingDependencyError
from numloom.device.cache import key_of, shared

OPTIONS = ("-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "-w", "--minimal")
"""Exact arithmetic: no contraction, denormals kept, IEEE division and square root; no textures, 3 ms less."""

FIRST_LINE = "// nvrtc: "
"""A text that begins so goes on with options of its own."""


THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Texts that are compiled at a time."""

_turns = threading.Semaphore(THREADS)


@functools.cache
def bindings() -> Any:
    """The module `cuda.bindings.nvrtc`.

    Raises
    ------
    MissingDependencyError
        If it, or the NVRTC library, is not installed.
    """
    try:
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
    return f"nvrtc {major}.{minor} {architecture} {' '.join(OPTIONS)}"


def compile_cubin(text: str, architecture: str = "sm_90") -> bytes:
    """Machine code of a kernel text for `architecture`; CompileError with the offending line."""
    return compile_text(text, architecture)[0]


def compile_text(text: str, architecture: str) -> tuple[bytes, str]:
    """Machine code of a kernel text, and the PTX it was assembled from."""
    nvrtc = bindings()
    own = text.partition("\n")[0].removeprefix(FIRST_LINE).split() if text.startswith(FIRST_LINE) else ()
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *OPTIONS, *own)]
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, None, None)
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


def cached_cubin(text: str, architecture: str) -> bytes:
    """`compile_cubin` through the disk cache."""
    where = origin(architecture)
    key = key_of(text, where)
    cache = shared()
    cubin = cache.get(key, where)
    if cubin is None:
        cubin = compile_cubin(text, architecture)
        # Until a file is on the disk takes milliseconds, for which nobody waits.
        _in_thread(functools.partial(cache.put, key, cubin, where))
    return cubin


def _in_thread(work: Callable[[], None]) -> None:
    """Do this in a thread of its own, or here where there are no more threads."""
    try:
        threading.Thread(target=work, name="numloom-nvrtc").start()
    except RuntimeError:
        work()


class Ahead:
    """A text that is compiled while the caller does something else; `cubin` waits for it, and raises CompileError.

    Compilers of several texts do not wait for each other, nor for Python.
    """

    def __init__(self, text: str, architecture: str) -> None:
        self._text = text
        self._architecture = architecture
        self._cubin: bytes | None = None
        self._done = threading.Event()
        _in_thread(self._compile)

    def _compile(self) -> None:
        try:
            with _turns:
                self._cubin = cached_cubin(self._text, self._architecture)
        except CompileError:
            pass  # Whoever needs the text compiles it again, and is told.
        finally:
            self._done.set()

    def cubin(self) -> bytes:
        """The machine code."""
        self._done.wait()
        return cached_cubin(self._text, self._architecture) if self._cubin is None else self._cubin
