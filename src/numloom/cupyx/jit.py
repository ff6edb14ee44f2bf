"""``cupyx.jit``: kernels in Python, translated to CUDA C++ for each combination of argument types.

The part of Python that is translated: numbers and arrays, arithmetic, comparisons, ``if``, ``while``, ``for`` over
`range`, functions of mathematics, and what is below (`threadIdx`, `grid`, `syncthreads`, `shared_memory`, atomics).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.cupy.kernels import RawKernel
from numloom.cupyx.algorithms import FORMS, MAKERS, POLICIES
from numloom.cupyx.translating import Translation
from numloom.cupyx.values import Untranslatable


class _Marker:
    """A name that means something in kernels alone."""

    def __init__(self, name: str) -> None:
        self.jit_name = name

    def __repr__(self) -> str:
        return f"<jit {self.jit_name}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.jit_name} is for kernels: use it in a function that jit.rawkernel decorates")

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise RuntimeError(f"{self.jit_name} is for kernels: use it in a function that jit.rawkernel decorates")


threadIdx, blockIdx, blockDim, gridDim = map(_Marker, ("threadIdx", "blockIdx", "blockDim", "gridDim"))
grid, gridsize, range = map(_Marker, ("grid", "gridsize", "range"))
syncthreads, syncwarp, shared_memory = map(_Marker, ("syncthreads", "syncwarp", "shared_memory"))
atomic_add, atomic_sub, atomic_max = map(_Marker, ("atomic_add", "atomic_sub", "atomic_max"))
atomic_min, atomic_exch, atomic_cas = map(_Marker, ("atomic_min", "atomic_exch", "atomic_cas"))
atomic_and, atomic_or, atomic_xor = map(_Marker, ("atomic_and", "atomic_or", "atomic_xor"))
atomic_inc, atomic_dec = map(_Marker, ("atomic_inc", "atomic_dec"))
shfl_sync, shfl_up_sync = map(_Marker, ("shfl_sync", "shfl_up_sync"))
shfl_down_sync, shfl_xor_sync = map(_Marker, ("shfl_down_sync", "shfl_xor_sync"))
laneid, warpsize = map(_Marker, ("laneid", "warpsize"))
thrust = types.SimpleNamespace(**{name: _Marker(f"thrust.{name}") for name in (*FORMS, *MAKERS, *POLICIES)})
"""Algorithms on a range of an array that one thread does: sorting, searching, sums, sets."""
cub = types.SimpleNamespace(**{f: _Marker(f"cub.{f}") for f in ("WarpReduce", "BlockReduce", "Sum", "Max", "Min")})
"""Reductions over the threads of a warp or block."""


class JitKernel:
    """A kernel in Python; made by `rawkernel`. ``f(grid, block, args)`` or ``f[grid, block](*args)`` launches it."""

    def __init__(self, function: Callable[..., Any], device: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.device = device
        self._kernels: dict[Any, RawKernel] = {}
        self._sources: dict[Any, str] = {}

    def __call__(self, grid: Any, block: Any, args: Any = (), shared_mem: int = 0, stream: Any = None) -> None:
        """Launch it."""
        if self.device:
            raise TypeError(f"{self.function.__name__} is a device function: kernels call it")
        kinds = tuple([_kind(arg) for arg in args])
        kernel = self._kernels.get(kinds)
        if kernel is None:
            text = Translation(self.function, kinds).kernel()
            self._sources[kinds] = text
            kernel = self._kernels[kinds] = RawKernel(text, self.function.__name__)
        given: list[Any] = []
        for arg in args:
            given.append(arg)
            if type(arg) is ndarray:
                given += [*arg.shape, *(stride // arg.itemsize for stride in arg.strides)]
        kernel(grid, block, tuple(given), shared_mem=shared_mem, stream=stream)

    def __getitem__(self, size: Any) -> Callable[..., None]:
        if not isinstance(size, tuple) or not 2 <= len(size) <= 4:
            raise TypeError(f"a kernel is launched as f[grid, block](...), got f[{size!r}]")

        def launch(*args: Any) -> None:
            self(size[0], size[1], args, *size[2:])

        return launch

    @property
    def cached_code(self) -> str | None:
        """The CUDA C++ of the last combination of types; None before the first launch."""
        return list(self._sources.values())[-1] if self._sources else None

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The CUDA C++ by types of the arguments."""
        return dict(self._sources)


def _kind(arg: Any) -> tuple[str, int]:
    """Dtype and number of axes (-1 of a number)."""
    if type(arg) is ndarray:
        if any(stride % arg.itemsize for stride in arg.strides):
            raise TypeError("an array whose strides are no whole elements cannot be a kernel's: pass a copy")
        return arg.dtype.str, arg.ndim
    if isinstance(arg, (bool, int, float, complex, np.generic)):
        return np.asarray(arg).dtype.str, -1
    raise TypeError(f"a kernel in Python takes arrays of numloom and numbers, not {type(arg).__name__}")


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Callable[..., Any]], JitKernel]:
    """A decorator: the function, of what one thread does, becomes a kernel.

    Parameters
    ----------
    mode : {"cuda", "numpy"}
        Taken for CuPy's sake: constants take the type of what they meet, in both.
    device : bool
        Whether kernels call it, instead of the host.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom.cupyx import jit
    >>> @jit.rawkernel()
    ... def axpy(x, y, a, n):
    ...     for i in range(jit.grid(1), n, jit.gridsize(1)):
    ...         y[i] = a * x[i] + y[i]
    >>> x, y = np.arange(4, dtype="f4"), np.ones(4, "f4")
    >>> axpy[1, 32](x, y, np.float32(2), 4)
    >>> y
    array([1., 3., 5., 7.], dtype=float32)
    """
    if mode not in ("cuda", "numpy"):
        raise ValueError(f"mode is 'cuda' or 'numpy', got {mode!r}")

    def decorate(function: Callable[..., Any]) -> JitKernel:
        return JitKernel(function, device)

    return decorate


__all__ = [
    "JitKernel", "Untranslatable", "atomic_add", "atomic_and", "atomic_cas", "atomic_dec", "atomic_exch", "atomic_inc",
    "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "blockDim", "blockIdx", "cub", "grid",
    "gridDim", "gridsize", "laneid", "range", "rawkernel", "shared_memory", "shfl_down_sync", "shfl_sync",
    "shfl_up_sync", "shfl_xor_sync", "syncthreads", "syncwarp", "threadIdx", "thrust", "warpsize",
]  # fmt: skip
