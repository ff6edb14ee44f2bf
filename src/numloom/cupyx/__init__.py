"""Layer 13: the names of CuPy's ``cupyx``, as far as they are a few lines over what numloom has."""

from numloom.cupy.synchronizing import DeviceSynchronized, allow_synchronize
from numloom.cupyx import distributed, jit, lapack, linalg, profiler, scipy, signal, time
from numloom.cupyx.names import (
    empty_like_pinned,
    empty_pinned,
    errstate,
    geterr,
    rsqrt,
    scatter_add,
    scatter_max,
    scatter_min,
    seterr,
    zeros_like_pinned,
    zeros_pinned,
)

__all__ = [
    "DeviceSynchronized",
    "allow_synchronize",
    "distributed",
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "geterr",
    "jit",
    "lapack",
    "linalg",
    "profiler",
    "rsqrt",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scipy",
    "seterr",
    "signal",
    "time",
    "zeros_like_pinned",
    "zeros_pinned",
]
