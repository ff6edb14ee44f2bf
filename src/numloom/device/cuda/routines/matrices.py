"""Our kernels around factorisations: matrices copied, turned and cut to triangles, their checks, determinants.

Libraries count by columns: what they take as a matrix is a dense stack of its transposes here, in C order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.kernels import (
    PRELUDE,
    THREADS,
    Grid,
    address,
    collapse,
    ctype_of,
    dense_strides,
    empty,
    run,
)
from numloom.device.interface import Strided

# ---------------------------------------------------------------- copies

FORMS = ("whole", "lower", "upper", "conjugate", "identity")
"""What is written of matrices: all, a triangle (else 0), their conjugates, or ones on the diagonal."""


def arranged_text(ctype: str, rank: int) -> str:
    """Text that writes a dense stack of matrices, an element a thread."""
    return f"""{PRELUDE}
typedef {ctype} T;
#define RANK {rank}
struct P {{
    const T* a; T* out; const i32* info; i64 form, count, rows, columns, down, across;
    i64 extent[RANK], stride[RANK];
}};
template <class R> DEV R conjugate(R x) {{ return x; }}
template <class R> DEV complex<R> conjugate(complex<R> x) {{ return {{x.re, -x.im}}; }}
template <class R> DEV R one(R, bool set) {{ return set; }}
template <class R> DEV complex<R> one(complex<R>, bool set) {{ return {{(R)set, 0}}; }}
template <class R> DEV R missing(R) {{ return (R)__longlong_as_double(0x7ff8000000000000ll); }}
template <class R> DEV complex<R> missing(complex<R> x) {{ return {{missing(x.re), missing(x.im)}}; }}
extern "C" __global__ void __launch_bounds__({THREADS}) arrange(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.count) return;
    const i64 line = i / p.columns, column = i - line * p.columns;
    const i64 matrix = line / p.rows, row = line - matrix * p.rows;
    T x = T{{}};
    if (p.form == 4) x = one(x, column == row);
    else if (p.form == 1 ? column <= row : p.form == 2 ? column >= row : true)
        x = p.a[offset_of<RANK>(matrix, p.extent, p.stride) + row * p.down + column * p.across];
    if (p.form == 3) x = conjugate(x);
    if (p.info && p.info[matrix] > 0) x = missing(x);
    p.out[i] = x;
}}
"""


def arranged(
    device: Any, a: Strided, form: str = "whole", *, turned: bool = False, lead: Any = None, info: Any = None
) -> Strided:
    """A fresh stack of matrices in C order.

    Parameters
    ----------
    device : CudaDevice
        Where it is made.
    a : Strided
        Matrices in the last two axes.
    form : str
        One of `FORMS`; "identity" gives matrices of the shape of `a`, whatever it holds.
    turned : bool
        Read each matrix transposed.
    lead : tuple of int, optional
        Leading axes to broadcast to; those of `a`.
    info : Strided, optional
        Numbers (int32) of the matrices: where one is positive the matrix becomes NaN.
    """
    rows, columns = a.shape[-2:]
    down, across = a.strides[-2:]
    if turned:
        rows, columns, down, across = columns, rows, across, down
    if lead is None:
        lead = a.shape[:-2]
    own = [0 if e == 1 else s for e, s in zip(a.shape[:-2], a.strides[:-2], strict=True)]
    extents, (steps,) = collapse(lead, [0] * (len(lead) - len(own)) + own)
    if len(extents) == 1:  # One text for both.
        extents, steps = [1, *extents], [0, *steps]
    out = empty(device, (*lead, rows, columns), a.dtype)
    count = prod(out.shape)
    if count:
        reports = 0 if info is None else address(info)
        words = [address(a), address(out), reports, FORMS.index(form), count, rows, columns, down, across]
        text = arranged_text(ctype_of(a.dtype), len(extents))
        run(device, text, "arrange", Grid(-(-count // THREADS)), [*words, *extents, *steps])
    return out


def part(stack: Strided, rows: int, columns: int) -> Strided:
    """The first rows and columns of every matrix, the same memory."""
    return Strided(stack.buffer, stack.offset, (*stack.shape[:-2], rows, columns), stack.strides, stack.dtype)


def in_turn(stack: Strided) -> Strided:
    """The matrices transposed, the same memory."""
    shape, strides = stack.shape, stack.strides
    return Strided(
        stack.buffer,
        stack.offset,
        (*shape[:-2], shape[-1], shape[-2]),
        (*strides[:-2], strides[-1], strides[-2]),
        stack.dtype,
    )


def shaped(stack: Strided, lead: tuple[int, ...]) -> Strided:
    """A dense stack with its matrices counted by other leading axes."""
    shape = (*lead, *stack.shape[-2:])
    return Strided(stack.buffer, stack.offset, shape, dense_strides(shape), stack.dtype)


ADDRESSES = f"""{PRELUDE}
struct P {{ i64* out; i64 count, first, step; }};
extern "C" __global__ void __launch_bounds__({THREADS}) addresses(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i < p.count) p.out[i] = p.first + i * p.step;
}}
"""
"""Text that counts up addresses: an upload would wait for earlier work."""


def addresses(device: Any, stack: Strided) -> Strided:
    """Addresses (int64) of the matrices of a dense stack."""
    count = stack.shape[0]
    out = empty(device, (count,), np.int64)
    words = [address(out), count, address(stack), stack.strides[0] * stack.dtype.itemsize]
    run(device, ADDRESSES, "addresses", Grid(-(-count // THREADS)), words)
    return out


# ---------------------------------------------------------------- what libraries report


def check_text(ctype: str) -> str:
    """Text that looks for reports that are not 0, and for NaN."""
    return f"""{PRELUDE}
typedef {ctype} T;
struct P {{ const i32* info; i64 count; const T* values; i64 size; i64* found; }};
extern "C" __global__ void __launch_bounds__({THREADS}) check(const __grid_constant__ P p) {{
    const i64 step = (i64)gridDim.x * {THREADS};
    for (i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x; i < p.count; i += step)
        if (p.info[i]) p.found[p.info[i] < 0] = 1;
    for (i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x; i < p.size; i += step)
        if (p.values[i] != p.values[i]) p.found[0] = 1;
}}
"""


def failed(device: Any, info: Strided, values: Strided | None = None) -> bool:
    """Whether a library's report of any matrix is not 0, or one of `values` (real, dense) is NaN; waits.

    Raises
    ------
    RuntimeError
        If the library refused an argument, which is our fault.
    """
    found = device.allocate(16)
    device.clear(found, 16)
    ctype = ctype_of(np.dtype("d") if values is None else values.dtype)
    count, size = prod(info.shape), 0 if values is None else prod(values.shape)
    blocks = min(-(-max(count, size, 1) // THREADS), 1024)
    words = [address(info), count, 0 if values is None else address(values), size, found.ptr]
    run(device, check_text(ctype), "check", Grid(blocks), words)
    positive, negative = np.frombuffer(device.download(found, 0, 16).tobytes(), np.int64)
    if negative:
        raise RuntimeError("cuSOLVER or cuBLAS refused an argument of a factorisation")
    return bool(positive)


# ---------------------------------------------------------------- determinants


def determinant_text(ctype: str, pivot: str) -> str:
    """Text that multiplies up the diagonals of factors of LU: a block a matrix, logarithms summed in float64."""
    real = {"c64": "f32", "c128": "f64"}.get(ctype, ctype)
    compound = ctype != real
    return f"""{PRELUDE}
typedef {ctype} T;
typedef {real} R;
struct P {{ const T* lu; const {pivot}* pivots; const i32* info; i64 n; T* sign; R* logarithm; T* whole; }};
struct Unit {{ f64 re, im; }};
DEV Unit times(Unit a, Unit b) {{ return {{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}}; }}
extern "C" __global__ void __launch_bounds__(128) determinant(const __grid_constant__ P p) {{
    __shared__ f64 logarithms[128];
    __shared__ Unit units[128];
    const i64 matrix = blockIdx.x;
    const int t = threadIdx.x;
    f64 sum = 0;
    Unit unit = {{1, 0}};
    for (i64 i = t; i < p.n; i += 128) {{
        const T x = p.lu[(matrix * p.n + i) * p.n + i];
        const f64 re = {"x.re" if compound else "x"}, im = {"x.im" if compound else "0"};
        const f64 size = {"hypot(re, im)" if compound else "fabs(re)"};
        const f64 flip = p.pivots[matrix * p.n + i] == i + 1 ? 1 : -1;
        {
        "const Unit turn = {re / size * flip, im / size * flip};"
        if compound
        else "const Unit turn = {(re < 0 ? -1 : 1) * flip, 0};"
    }
        unit = times(unit, turn);
        sum += log(size);
    }}
    logarithms[t] = sum;
    units[t] = unit;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {{
        if (t < half) {{
            logarithms[t] += logarithms[t + half];
            units[t] = times(units[t], units[t + half]);
        }}
        __syncthreads();
    }}
    if (t == 0) {{
        // A zero on the diagonal is what the library reports as a singular matrix.
        const bool singular = p.info[matrix] > 0;
        const f64 size = singular ? 0 : exp(logarithms[0]);
        const Unit u = singular ? Unit{{0, 0}} : units[0];
        if (p.whole) p.whole[matrix] = {"{(R)(u.re * size), (R)(u.im * size)}" if compound else "(R)(u.re * size)"};
        if (p.sign) p.sign[matrix] = {"{(R)u.re, (R)u.im}" if compound else "(R)u.re"};
        const f64 infinity = __longlong_as_double(0x7ff0000000000000ll);
        if (p.logarithm) p.logarithm[matrix] = (R)(singular ? -infinity : logarithms[0]);
    }}
}}
"""


def determinants(device: Any, lu: Strided, pivots: Strided, info: Strided, outs: dict[str, Strided]) -> None:
    """Fill "sign", "logarithm" and "whole" of `outs`, as far as they are there, from factored matrices."""
    text = determinant_text(ctype_of(lu.dtype), "i32" if pivots.dtype.itemsize == 4 else "i64")
    n = lu.shape[-1]
    where = [address(outs[name]) if name in outs else 0 for name in ("sign", "logarithm", "whole")]
    words = [address(lu), address(pivots), address(info), n, *where]
    run(device, text, "determinant", Grid(prod(lu.shape[:-2]), 128), words, wait=True)


# ---------------------------------------------------------------- eigenvectors


def paired_text(real: str) -> str:
    """Text that makes complex eigenvectors of LAPACK's pairs of real columns."""
    return f"""{PRELUDE}
typedef {real} R;
struct P {{ const complex<R>* values; const R* vectors; complex<R>* out; i64 count, n; }};
extern "C" __global__ void __launch_bounds__({THREADS}) paired(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.count) return;
    const i64 line = i / p.n, column = i - line * p.n, matrix = line / p.n, row = line - matrix * p.n;
    const R im = p.values[matrix * p.n + column].im;
    // Column k of a matrix is line k of its memory; a pair's first column is the real part of both.
    const R* at = p.vectors + (matrix * p.n + column - (im < 0)) * p.n + row;
    p.out[i] = {{at[0], im > 0 ? at[p.n] : im < 0 ? -at[p.n] : R(0)}};
}}
"""


def paired(device: Any, values: Strided, vectors: Strided) -> Strided:
    """Complex eigenvectors in C order from real columns (the lines of `vectors`) and complex eigenvalues."""
    out = empty(device, vectors.shape, values.dtype)
    count, n = prod(out.shape), out.shape[-1]
    words = [address(values), address(vectors), address(out), count, n]
    run(device, paired_text(ctype_of(vectors.dtype)), "paired", Grid(-(-count // THREADS)), words)
    return out


__all__ = ["addresses", "arranged", "determinants", "failed", "in_turn", "paired", "part", "shaped"]
