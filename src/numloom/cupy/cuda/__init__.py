"""``cupy.cuda``: `numloom.cuda`, and the modules and names that CuPy's programs ask for beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numloom import cuda as ours
from numloom.base.wording import no_name
from numloom.cuda import *  # noqa: F403
from numloom.cuda import memory as pinned_memory
from numloom.cuda import profiler
from numloom.cuda.runtime import runtimeGetVersion
from numloom.cupy.cuda import compiler, driver, function, memory_hook, nvrtc
from numloom.cupy.cuda.function import Function, Module
from numloom.cupy.cuda.places import get_cuda_path, get_hipcc_path, get_nvcc_path, get_rocm_path
from numloom.kernels import texture

_HANDLES = "numloom calls this library itself: use numloom.linalg, fft, random and sparse"
_MISSING = {
    **dict.fromkeys(("cublas", "cufft", "curand", "cusolver", "cusparse", "get_cublas_handle"), _HANDLES),
    "CFunctionAllocator": "use PythonFunctionAllocator, or an allocator in Python for set_allocator",
    "Graph": "plans of several launches become CUDA graphs by themselves",
    "compile_with_cache": "CuPy removed it: use RawModule",
    "graph": "plans of several launches become CUDA graphs by themselves",
    "jitify": "RawModule finds headers by its options",
}


class Absent:
    """A library that numloom does without; a program may ask whether it is there.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> cp.cuda.cub.available
    False
    """

    available = False

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{__name__}.{self._name}.{name} is not there: {self._why}")


cub = Absent("cub", "reductions here need no library")
cutensor = Absent("cutensor", "products of tensors are einsum's and tensordot's")
thrust = Absent("thrust", "sorts here need no library")


@contextmanager
def profile() -> Iterator[None]:
    """Have a profiler (Nsight) record a ``with`` block; nothing without a GPU. The older `cupyx.profiler.profile`."""
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()


def get_local_runtime_version() -> int:
    """The version of CUDA that kernels are compiled for; 0 without a GPU."""
    return runtimeGetVersion()


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        raise AttributeError(no_name(__name__, name, _MISSING, __all__))
    return getattr(ours, name)


def __dir__() -> list[str]:
    return sorted({*dir(ours), *__all__})


__all__ = [
    "Function", "Module", "compiler", "cub", "cutensor", "driver", "function", "get_cuda_path", "get_hipcc_path",
    "get_local_runtime_version", "get_nvcc_path", "get_rocm_path", "memory_hook", "nvrtc", "pinned_memory", "profile",
    "texture", "thrust",
]  # fmt: skip
__all__ += ours.__all__
