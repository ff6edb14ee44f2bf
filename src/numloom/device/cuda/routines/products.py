"""Matrix products: cuBLAS for floating and complex dtypes, a tiled kernel of our own for the others.

Where cuBLAS or its bindings are not installed, the tiled kernel does all of them, several times slower.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numloom.base.config import config
from numloom.base.memo import Memo
from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, assign, collapse, ctype_of, dense, empty, run
from numloom.device.cuda.routines.libraries import library
from numloom.device.interface import Strided

try:
    from numloom.device.cuda._blas import Gemm  # type: ignore[import-not-found]
except ImportError:
    Gemm = None

TILE = 64
_DEPTH = 16
_ALGORITHM = -1  # the library's choice

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
    const T* a = p.a + offset_of<{rank}>(which, p.extent, p.a_stride);
    const T* b = p.b + offset_of<{rank}>(which, p.extent, p.b_stride);
    T* out = p.out + offset_of<{rank}>(which, p.extent, p.out_stride);
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


class GemmLayout(NamedTuple):
    """What cuBLAS is told of a stack of products, but for addresses; its matrices are ours transposed.

    Attributes
    ----------
    b_turned, a_turned : int
        Whether our second and first operand are transposed in memory.
    m, n, k : int
        Columns and rows of the result, and how many products are summed.
    kind, out_kind : int
        CUDA's numbers of the dtypes of the operands and of the result.
    b_lead, a_lead, out_lead, b_step, a_step, out_step : int
        Elements from row to row, and from matrix to matrix.
    batch : int
        How many there are.
    b_begin, a_begin, out_begin : int
        Bytes from the operand's first element to the stack's.
    one, zero : int
        Addresses of these numbers.
    compute, fast : int
        Arithmetic, and with `config.tf32`.
    """

    b_turned: int
    a_turned: int
    m: int
    n: int
    k: int
    kind: int
    out_kind: int
    b_lead: int
    a_lead: int
    out_lead: int
    b_step: int
    a_step: int
    out_step: int
    batch: int
    b_begin: int
    a_begin: int
    out_begin: int
    one: int
    zero: int
    compute: int
    fast: int


class Blas:
    """cuBLAS with a handle on the device's stream."""

    def __init__(self, device: Any, cublas: Any) -> None:
        self.cublas = cublas
        self.handle = cublas.create()
        cublas.set_stream(self.handle, device.stream)
        # CUDA's names of the element types, and cuBLAS's of the arithmetic.
        compute = cublas.ComputeType
        plain, double, fast = (
            int(x) for x in (compute.COMPUTE_32F, compute.COMPUTE_64F, compute.COMPUTE_32F_FAST_TF32)
        )
        self.kinds: dict[str, tuple[int, int, int, np.dtype[Any]]] = {
            "e": (2, plain, plain, np.dtype("f")),
            "E": (14, plain, plain, np.dtype("f")),
            "f": (0, plain, fast, np.dtype("f")),
            "d": (1, double, double, np.dtype("d")),
            "F": (4, plain, fast, np.dtype("F")),
            "D": (5, double, double, np.dtype("D")),
        }
        self._memory = [np.array([1, 0], dtype) for _, _, _, dtype in self.kinds.values()]
        self.scalars = {pair.dtype: pair.__array_interface__["data"][0] for pair in self._memory}
        """Where a one stands, and behind it a zero, for each dtype of the arithmetic."""
        self.addresses = _addresses(cublas, self.handle) if Gemm is not None else None
        self.known = Memo()

    def products(self, a: Strided, b: Strided, out: Strided) -> list[Callable[[int, int, int], None]]:
        """Calls for such matrices, which cuBLAS can read, and a result whose rows are dense: each takes addresses."""
        key = (a.dtype.char, a.shape, a.strides, b.shape, b.strides, out.shape, out.strides)
        found = self.known.entries.get(key)
        if found is None:
            found = self.known.keep(key, [self._bound(product) for product in self._described(a, b, out)])
        return found  # type: ignore[no-any-return]

    def _described(self, a: Strided, b: Strided, out: Strided) -> Iterator[GemmLayout]:
        """Calls of cuBLAS for stacks of matrices."""
        kind, compute, fast, scale = self.kinds[a.dtype.char]
        out_kind, one = self.kinds[out.dtype.char][0], self.scalars[scale]
        sizes = (b.dtype.itemsize, a.dtype.itemsize, out.dtype.itemsize)
        lead, (n, k), m = out.shape[:-2], a.shape[-2:], b.shape[-1]
        extents, steps = collapse(lead, *(_lead_strides(x.shape, x.strides, lead) for x in (b, a, out)))
        (b_turned, b_lead), (a_turned, a_lead) = _leading(b.shape, b.strides), _leading(a.shape, a.strides)
        for index in itertools.product(*map(range, extents[:-1])):
            (b_begin, a_begin, out_begin), (b_step, a_step, out_step) = (
                [
                    size * sum(i * step for i, step in zip(index, own[:-1], strict=True))
                    for size, own in zip(sizes, steps, strict=True)
                ],
                [own[-1] for own in steps],
            )
            yield GemmLayout(
                b_turned, a_turned, m, n, k, kind, out_kind, b_lead, a_lead, max(out.strides[-2], m, 1), b_step, a_step,
                out_step, extents[-1], b_begin, a_begin, out_begin, one, one + scale.itemsize, compute, fast,
            )  # fmt: skip

    def _bound(self, product: GemmLayout) -> Callable[[int, int, int], None]:
        by_binding = partial(self.call, product)
        if self.addresses is None:
            return by_binding
        return Gemm(self.addresses, self.handle, product, config, by_binding)  # type: ignore[no-any-return]

    def call(self, p: GemmLayout, a: int, b: int, out: int) -> None:
        """Queue products through the binding, which raises what the library says."""
        compute = p.fast if config.tf32 else p.compute
        a, b, out = a + p.a_begin, b + p.b_begin, out + p.out_begin
        # cuBLAS counts by columns: the transposed product is the same memory with the operands exchanged.
        if p.batch == 1:
            # One product may be split along its sums among more blocks than one of a batch is.
            self.cublas.gemm_ex_64(
                self.handle, p.b_turned, p.a_turned, p.m, p.n, p.k, p.one, b, p.kind, p.b_lead, a, p.kind, p.a_lead,
                p.zero, out, p.out_kind, p.out_lead, compute, _ALGORITHM,
            )  # fmt: skip
        else:
            self.cublas.gemm_strided_batched_ex_64(
                self.handle, p.b_turned, p.a_turned, p.m, p.n, p.k, p.one, b, p.kind, p.b_lead, p.b_step, a, p.kind,
                p.a_lead, p.a_step, p.zero, out, p.out_kind, p.out_lead, p.out_step, p.batch, compute, _ALGORITHM,
            )  # fmt: skip


def _addresses(cublas: Any, handle: int) -> tuple[int, int] | None:
    """Addresses of the two functions in the library that the binding has loaded; None where they cannot be had."""
    try:
        name = f"libcublas.so.{cublas.get_version(handle) // 10000}"
        library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
        one, many = library.cublasGemmEx_64, library.cublasGemmStridedBatchedEx_64
    except (AttributeError, OSError):
        return None
    return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in (one, many))  # type: ignore[return-value]


@lru_cache(4096)
def _fewer(
    a_shape: tuple[int, ...], a_strides: tuple[int, ...], b_shape: tuple[int, ...], b_strides: tuple[int, ...],
    out_shape: tuple[int, ...], out_strides: tuple[int, ...],
) -> tuple[int, int, int, int]:  # fmt: skip
    """How many of the last leading axes are rows like others, and then how many rows there are, of which strides.

    That is where matrices whose rows lie at one distance all meet the same matrix.
    """
    lead = out_shape[:-2]
    own, other = _lead_strides(a_shape, a_strides, lead), _lead_strides(b_shape, b_strides, lead)
    rows, down, out_down = a_shape[-2], a_strides[-2], out_strides[-2]
    count = 0
    for extent, step, fixed, out_step in zip(lead[::-1], own[::-1], other[::-1], out_strides[-3::-1], strict=True):
        if extent != 1:
            if rows == 1:
                down, out_down = step, out_step
            if fixed or not step or step != rows * down or out_step != rows * out_down:
                break
            rows *= extent
        count += 1
    return count, rows, down, out_down


def _merged(a: Strided, b: Strided, out: Strided) -> tuple[Strided, Strided, Strided]:
    """The same product as one of larger matrices, where a stack of matrices meets one matrix."""
    count, rows, down, out_down = _fewer(a.shape, a.strides, b.shape, b.strides, out.shape, out.strides)
    if not count:
        return a, b, out
    left = len(out.shape) - 2 - count

    def cut(x: Strided) -> tuple[tuple[int, ...], tuple[int, ...]]:
        kept = max(len(x.shape) - 2 - count, 0)
        return x.shape[:kept], x.strides[:kept]

    (a_lead, a_steps), (b_lead, b_steps) = cut(a), cut(b)
    return (
        Strided(a.buffer, a.offset, (*a_lead, rows, a.shape[-1]), (*a_steps, down, a.strides[-1]), a.dtype),
        Strided(b.buffer, b.offset, (*b_lead, *b.shape[-2:]), (*b_steps, *b.strides[-2:]), b.dtype),
        Strided(
            out.buffer, out.offset, (*out.shape[:left], rows, out.shape[-1]),
            (*out.strides[:left], out_down, out.strides[-1]), out.dtype,
        ),
    )  # fmt: skip


def _leading(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Whether a matrix is transposed in memory, and its leading dimension."""
    (rows, columns), (down, across) = shape[-2:], strides[-2:]
    if _row_major(rows, columns, down, across):
        return 0, max(down if rows > 1 else columns, columns, 1)
    return 1, max(across if columns > 1 else rows, rows, 1)


def _row_major(rows: int, columns: int, down: int, across: int) -> bool:
    return (across == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1)


def _readable(operand: Strided) -> bool:
    """Whether cuBLAS can describe an operand's matrices."""
    (rows, columns), (down, across) = operand.shape[-2:], operand.strides[-2:]
    return _row_major(rows, columns, down, across) or _row_major(columns, rows, across, down)


def _writable(out: Strided) -> bool:
    """Whether cuBLAS can write a result: its rows are dense."""
    return _row_major(*out.shape[-2:], *out.strides[-2:])


def blas_of(device: Any) -> Blas | None:
    """The device's cuBLAS, None where it is not installed."""
    found: Blas | None = library(device, "blas", "cublas", lambda cublas: Blas(device, cublas))
    return found


def only_launches(call: Any) -> bool:
    """Whether a `bound_matmul` launches on the library's stream and does nothing else."""
    return Gemm is not None and type(call) is Gemm


def matmul(device: Any, a: Strided, b: Strided, *, out: Strided) -> None:
    """``out = a @ b`` over broadcast leading axes; all of one dtype, at least 2-d, or bfloat16 and a float32 result.

    float16 is summed in float32; float32 stays float32 unless ``config.tf32`` allows TF32; integers wrap.
    """
    if not prod(out.shape):
        return
    a, b, out = _merged(a, b, out)
    blas = blas_of(device) if out.dtype.kind in "fc" else None
    if blas is None or not a.shape[-1]:
        _tiled(device, a, b, out)
        return
    a, b = (x if _readable(x) else dense(device, x) for x in (a, b))
    result = out if _writable(out) else empty(device, out.shape, out.dtype)
    for product in blas.products(a, b, result):
        product(address(a), address(b), address(result))
    if result is not out:
        assign(device, out, result)


def bound_matmul(device: Any, a: Strided, b: Strided, *, out: Strided) -> Callable[[int, int, int], None] | None:
    """`matmul` of matrices that lie like these, by their addresses; None where it is not one call of cuBLAS."""
    blas = blas_of(device) if out.dtype.kind in "fc" else None
    if blas is None or not prod(out.shape) or not a.shape[-1]:
        return None
    a, b, out = _merged(a, b, out)
    if not (_readable(a) and _readable(b) and _writable(out)):
        return None
    products = blas.products(a, b, out)
    return products[0] if len(products) == 1 else None
