"""Matrix products by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.device.cpu import blas_threads
from numloom.device.cpu.hostview import as_array
from numloom.device.interface import Strided

SMALL = 1 << 15  # multiplications that any loop does at once
EXACT = 2.0**53  # integers to here are exact in float64


def matmul(device: Any, a: Strided, b: Strided, *, out: Strided) -> None:
    """``out = a @ b`` over broadcast leading axes; all of one dtype, at least 2-d."""
    x, y, z = as_array(a), as_array(b), as_array(out)
    kind = z.dtype.kind
    work = z.size * x.shape[-1]
    if z.dtype == np.float16:
        # NumPy multiplies float16 matrices by a slow loop that rounds each sum.
        z[...] = np.matmul(x.astype(np.float32), y.astype(np.float32))
    elif kind in "fc":
        blas_threads.matmul(x, y, z)
    elif work <= SMALL:
        np.matmul(x, y, out=z)
    elif kind == "b":
        z[...] = np.matmul(x.astype(np.float32), y.astype(np.float32)) > 0
    elif _largest(x) * _largest(y) * x.shape[-1] <= EXACT:
        # NumPy has no fast integer product; sums that float64 holds exactly are the same by BLAS.
        z[...] = np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.int64)
    else:
        np.matmul(x, y, out=z)


def _largest(x: np.ndarray[Any, Any]) -> float:
    """The largest magnitude of an integer array."""
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
