"""Matrix products: cuBLAS for floating and complex dtypes, a tiled kernel of our own for the others.

Where cuBLAS or its bindings are not installed, the tiled kernel does all of them, several times slower.
"""

from __future__ import annotations

import itertools
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, assign, collapse, ctype_of, dense, empty, run
from numloom.device.cuda.routines.libraries import library
from numloom.device.interface import Strided

TILE = 64
_DEPTH = 16

# The type in which products are summed: unsigned, since they wrap, and at least a word.
SUMS = {name: name for name in ("u64", "f32", "f64", "c64", "c128")} | {"i64": "u64", "f16": "f32"}


FUSED = """\
DEV f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
DEV f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }
DEV u32 fused(u32 a, u32 b, u32 c) { return a * b + c; }
DEV u64 fused(u64 a, u64 b, u64 c) { return a * b + c; }
template <class R> DEV complex<R> fused(complex<R> a, complex<R> b, complex<R> c) {
    return {fused(a.re, b.re, fused(-a.im, b.im, c.re)), fused(a.re, b.im, fused(a.im, b.re, c.im))};
}
"""


@cache
def product_text(ctype: str, rank: int) -> str:
    """Text of the tiled kernel: a block computes a tile of the result, a thread 4 × 4 of it."""
    return f"""{PRELUDE}
typedef {ctype} T;
typedef {SUMS.get(ctype, "u32")} S;
struct P {{
    const T* a; const T* b; T* out;
    i64 n, m, k, tiles, a0, a1, b0, b1, o0, o1;
    i64 extent[{rank}], a_stride[{rank}], b_stride[{rank}], out_stride[{rank}];
}};
{FUSED}extern "C" __global__ void __launch_bounds__(256) product(const __grid_constant__ P p) {{
    __shared__ S x[{_DEPTH}][{TILE} + 1], y[{_DEPTH}][{TILE} + 1];
    const i64 which = blockIdx.x / p.tiles, tile = blockIdx.x - which * p.tiles;
    const i64 across = (p.m + {TILE} - 1) / {TILE};
    const i64 row = tile / across * {TILE}, column = tile % across * {TILE};
    const T* a = p.a + place<{rank}>(which, p.extent, p.a_stride);
    const T* b = p.b + place<{rank}>(which, p.extent, p.b_stride);
    T* out = p.out + place<{rank}>(which, p.extent, p.out_stride);
    const int r = threadIdx.x / 16, c = threadIdx.x % 16;
    S sum[4][4] = {{}};
    for (i64 start = 0; start < p.k; start += {_DEPTH}) {{
#pragma unroll
        for (int e = 0; e < {TILE * _DEPTH // 256}; ++e) {{
            const int at = e * 256 + threadIdx.x;
            // Neighbouring threads read along the axis that is contiguous.
            const int ai = p.a1 == 1 ? at / {_DEPTH} : at % {TILE}, ak = p.a1 == 1 ? at % {_DEPTH} : at / {TILE};
            const int bj = p.b1 == 1 ? at % {TILE} : at / {_DEPTH}, bk = p.b1 == 1 ? at / {TILE} : at % {_DEPTH};
            const bool in_a = row + ai < p.n && start + ak < p.k, in_b = column + bj < p.m && start + bk < p.k;
            x[ak][ai] = in_a ? (S)widen(a[(row + ai) * p.a0 + (start + ak) * p.a1]) : S{{}};
            y[bk][bj] = in_b ? (S)widen(b[(start + bk) * p.b0 + (column + bj) * p.b1]) : S{{}};
        }}
        __syncthreads();
#pragma unroll
        for (int k = 0; k < {_DEPTH}; ++k)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] = fused(x[k][r + 16 * i], y[k][c + 16 * j], sum[i][j]);
        __syncthreads();
    }}
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {{
            const i64 at = row + r + 16 * i, to = column + c + 16 * j;
            if (at < p.n && to < p.m) put(out + at * p.o0 + to * p.o1, {result_text(ctype, "sum[i][j]")});
        }}
}}
"""


def result_text(ctype: str, total: str) -> str:
    """What is stored of a sum."""
    return {"bool": f"{total} != 0", "f16": total}.get(ctype, f"(T){total}")


def _tiled(device: Any, a: Strided, b: Strided, out: Strided) -> None:
    """The product by the tiled kernel; operands may have any strides."""
    lead = out.shape[:-2]
    extents, strides = collapse(lead, *(_lead_strides(x.shape, x.strides, lead) for x in (a, b, out)))
    n, k = a.shape[-2:]
    m = b.shape[-1]
    tiles = -(-n // TILE) * -(-m // TILE)
    words = [address(a), address(b), address(out), n, m, k, tiles]
    words += [*a.strides[-2:], *b.strides[-2:], *out.strides[-2:], *extents, *itertools.chain(*strides)]
    text = product_text(ctype_of(out.dtype), len(extents))
    run(device, text, "product", Grid(prod(lead) * tiles, 256), words, wait=True)


def _lead_strides(shape: tuple[int, ...], strides: tuple[int, ...], lead: tuple[int, ...]) -> list[int]:
    """Strides of the leading axes after broadcasting to `lead`."""
    own = [0 if extent == 1 else stride for extent, stride in zip(shape[:-2], strides[:-2], strict=True)]
    return [0] * (len(lead) - len(own)) + own


# ---------------------------------------------------------------- cuBLAS


class _Blas:
    """cuBLAS with a handle on the device's stream."""

    def __init__(self, device: Any, cublas: Any) -> None:
        self.cublas = cublas
        self.handle = cublas.create()
        cublas.set_stream(self.handle, device.stream)
        # CUDA's names of the element types, and cuBLAS's of the arithmetic.
        compute = cublas.ComputeType
        self.kinds: dict[str, tuple[int, Any, np.dtype[Any]]] = {
            "e": (2, compute.COMPUTE_32F, np.dtype("f")),
            "f": (0, compute.COMPUTE_32F, np.dtype("f")),
            "d": (1, compute.COMPUTE_64F, np.dtype("d")),
            "F": (4, compute.COMPUTE_32F, np.dtype("F")),
            "D": (5, compute.COMPUTE_64F, np.dtype("D")),
        }
        self.fast = compute.COMPUTE_32F_FAST_TF32
        self._memory = [np.array([1, 0], dtype) for _, _, dtype in self.kinds.values()]
        self.scalars = {pair.dtype: pair.__array_interface__["data"][0] for pair in self._memory}
        """Where a one stands, and behind it a zero, for each dtype of the arithmetic."""

    def multiply(self, a: Strided, b: Strided, out: Strided) -> None:
        """Products of matrices that cuBLAS can read, into a result whose rows are dense."""
        kind, compute, scale = self.kinds[out.dtype.char]
        if out.dtype.char in "fF" and config.tf32:
            compute = self.fast
        one = self.scalars[scale]
        zero = one + scale.itemsize
        itemsize = out.dtype.itemsize
        n, k = a.shape[-2:]
        m = b.shape[-1]
        pa, pb, po = address(a), address(b), address(out)
        for batch, (oa, ob, oo), (sa, sb, so), (ta, la), (tb, lb), lo in _calls(
            a.shape, a.strides, b.shape, b.strides, out.shape, out.strides
        ):
            xa, xb, xo = pa + itemsize * oa, pb + itemsize * ob, po + itemsize * oo
            # cuBLAS counts by columns: the transposed product is the same memory with the operands exchanged.
            if batch == 1:
                # One product may be split along its sums among more blocks than one of a batch is.
                self.cublas.gemm_ex_64(
                    self.handle, tb, ta, m, n, k, one, xb, kind, lb, xa, kind, la, zero, xo, kind, lo, compute, -1
                )
            else:
                self.cublas.gemm_strided_batched_ex_64(
                    self.handle, tb, ta, m, n, k, one, xb, kind, lb, sb, xa, kind, la, sa, zero, xo, kind, lo, so,
                    batch, compute, -1,
                )  # fmt: skip


@lru_cache(4096)
def _calls(
    a_shape: tuple[int, ...], a_strides: tuple[int, ...], b_shape: tuple[int, ...], b_strides: tuple[int, ...],
    out_shape: tuple[int, ...], out_strides: tuple[int, ...],
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Calls of cuBLAS for stacks of matrices: batch, offsets, steps of a batch, and how the matrices lie."""
    lead, m = out_shape[:-2], b_shape[-1]
    each = ((a_shape, a_strides), (b_shape, b_strides), (out_shape, out_strides))
    extents, steps = collapse(lead, *(_lead_strides(shape, strides, lead) for shape, strides in each))
    forms = _leading(a_shape, a_strides), _leading(b_shape, b_strides)
    return [
        (
            extents[-1],
            [sum(i * step for i, step in zip(index, own[:-1], strict=True)) for own in steps],
            [own[-1] for own in steps],
            *forms,
            max(out_strides[-2], m, 1),
        )
        for index in itertools.product(*map(range, extents[:-1]))
    ]


def _leading(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Whether a matrix is transposed in memory, and its leading dimension."""
    (rows, columns), (down, across) = shape[-2:], strides[-2:]
    if _row_major(rows, columns, down, across):
        return 0, max(down if rows > 1 else columns, columns, 1)
    return 1, max(across if columns > 1 else rows, rows, 1)


def _row_major(rows: int, columns: int, down: int, across: int) -> bool:
    return (across == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1)


def _readable(device: Any, operand: Strided) -> Strided:
    """The operand, or a dense copy where cuBLAS cannot describe its matrices."""
    (rows, columns), (down, across) = operand.shape[-2:], operand.strides[-2:]
    if _row_major(rows, columns, down, across) or _row_major(columns, rows, across, down):
        return operand
    return dense(device, operand)


def blas_of(device: Any) -> _Blas | None:
    """The device's cuBLAS, None where it is not installed."""
    found: _Blas | None = library(device, "blas", "cublas", lambda cublas: _Blas(device, cublas))
    return found


def matmul(device: Any, a: Strided, b: Strided, *, out: Strided) -> None:
    """``out = a @ b`` over broadcast leading axes; all of one dtype, at least 2-d.

    float16 is summed in float32; float32 stays float32 unless ``config.tf32`` allows TF32; integers wrap.
    """
    if not prod(out.shape):
        return
    blas = blas_of(device) if out.dtype.kind in "fc" else None
    if blas is None or not a.shape[-1]:
        _tiled(device, a, b, out)
        return
    a, b = _readable(device, a), _readable(device, b)
    (rows, columns), (down, across) = out.shape[-2:], out.strides[-2:]
    if _row_major(rows, columns, down, across):
        blas.multiply(a, b, out)
    else:
        result = empty(device, out.shape, out.dtype)
        blas.multiply(a, b, result)
        assign(device, out, result)
