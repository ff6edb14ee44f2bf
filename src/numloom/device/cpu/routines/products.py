"""Matrix products by NumPy's BLAS."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from numloom.device.cpu import blas_threads
from numloom.device.cpu.hostview import as_array
from numloom.device.cpu.routines import shared
from numloom.device.interface import Strided

Host = np.ndarray[Any, Any]
MANY = 16
"""Matrices of a stack that are always shared out; of fewer each must be small, since BLAS shares out large ones."""
LARGE = 1 << 23
"""Multiplications of a matrix that is not small."""
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
        multiply(device, x, y, z)
    elif work <= SMALL:
        np.matmul(x, y, out=z)
    elif kind == "b":
        z[...] = np.matmul(x.astype(np.float32), y.astype(np.float32)) > 0
    elif _largest(x) * _largest(y) * x.shape[-1] <= EXACT:
        # NumPy has no fast integer product; sums that float64 holds exactly are the same by BLAS.
        z[...] = np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.int64)
    else:
        np.matmul(x, y, out=z)


def multiply(device: Any, x: Host, y: Host, out: Host) -> None:
    """``np.matmul(x, y, out=out)`` of real or complex numbers; matrices of a stack are shared out among threads."""
    matrices = out.size // (out.shape[-1] * out.shape[-2] or 1)
    work = out.size * x.shape[-1]
    if matrices > 1 and work > blas_threads.LITTLE and (matrices >= MANY or work < LARGE * matrices):
        # By one thread each from the first call on, since its bits may be others by several.
        blas_threads.by_one_thread(lambda: _stack(device, x, y, out, matrices, work) or np.matmul(x, y, out=out))
    else:
        blas_threads.matmul(x, y, out)


def _stack(device: Any, x: Host, y: Host, out: Host, matrices: int, work: int) -> bool:
    """Share a stack's products out among threads; False where nothing was done, and NumPy must do it."""
    product = blas_threads.product_of(out.dtype.char)
    left, right, result = _order(x), _order(y), _order(out)
    same = x.ctypes.data == y.ctypes.data  # NumPy may know such products to be symmetric.
    if product is None or left is None or right is None or result is None or result[0] == TRANSPOSED or same:
        return False
    (rows, inner), columns = x.shape[-2:], y.shape[-1]
    if min(rows, inner, columns) < 2:  # Those of vectors have functions of their own.
        return False
    address, wide = product
    leading = out.shape[:-2]
    fields = [address, wide, left[0], right[0], rows, columns, inner, left[1], right[1], result[1]]
    axes = [np.broadcast_to(one, (*leading, *one.shape[-2:])).strides[:-2] for one in (x, y)]
    steps = [step for one in (leading, *axes, out.strides[:-2]) for step in one]
    params = array("q", [*fields, x.ctypes.data, y.ctypes.data, out.ctypes.data, len(leading), *steps])
    grain = max(1, blas_threads.LITTLE * matrices // (4 * work))
    return shared.run(device, f"stack_{out.dtype.char}", params, matrices, grain)


def fields_of(x: Host, y: Host, out: Host) -> tuple[Any, ...] | None:
    """What `numloom.device.cpu.hostview.Product` is told of a product; None of one that it leaves to NumPy."""
    if out.ndim != 2 or out.dtype.char not in "fd" or not x.dtype == y.dtype == out.dtype:
        return None
    product = blas_threads.product_of(out.dtype.char)
    orders = [_order(one) for one in (x, y, out)]
    (rows, inner), columns = x.shape, y.shape[1]
    if product is None or not product[1] or min(rows, inner, columns) < 2:
        return None
    if orders[0] is None or orders[1] is None or orders[2] is None or orders[2][0] == TRANSPOSED:
        return None
    (left, lda), (right, ldb), (_, ldc) = orders  # type: ignore[misc]
    work = rows * inner * columns
    threads = blas_threads.addresses() if blas_threads.is_little(work) else (0, 0)
    return (
        product[0], out.dtype.char == "d", left, right, rows, columns, inner, lda, ldb, ldc,
        *[_extent(one) for one in (x, y, out)], *threads,
    )  # fmt: skip


def _extent(x: Host) -> int:
    """Bytes from the first element to the end of the last."""
    return x.itemsize + sum([(size - 1) * step for size, step in zip(x.shape, x.strides, strict=True)])


PLAIN, TRANSPOSED = 111, 112
"""BLAS's words for how a matrix lies."""


def _order(x: Host) -> tuple[int, int] | None:
    """How matrices lie, and how many elements their rows (or columns) are apart; None where BLAS takes none such."""
    size, (rows, columns), (down, along) = x.itemsize, x.shape[-2:], x.strides[-2:]
    if not x.flags.aligned or x.dtype.byteorder == ">" or max(down, along) >= size << 31:
        return None
    if along == size and down % size == 0 and down >= size * columns:
        return PLAIN, down // size
    if down == size and along % size == 0 and along >= size * rows:
        return TRANSPOSED, along // size
    return None


def _largest(x: np.ndarray[Any, Any]) -> float:
    """The largest magnitude of an integer array."""
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
