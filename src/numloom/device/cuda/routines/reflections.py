"""QR of stacks of small matrices: Householder's reflections, a block of threads a matrix.

Vendors factor such stacks one matrix after the other. Reflectors and scales are LAPACK's (`geqr2`, `larfg`, `org2r`:
LAPACK Users' Guide, section 5.4), so factors have its signs.
"""

from __future__ import annotations

from typing import Any

from numloom.device.cuda.routines.kernels import PRELUDE, Grid, address, ctype_of, run
from numloom.device.interface import Strided

SMALL = 128
"""Largest extent of matrices that a block of threads factors."""


def reflections_text(ctype: str) -> str:
    """Text of both halves: "reflect" makes reflectors in place of matrices, "columns" the columns of Q of them.

    Matrices lie by columns. A warp takes one column at a time, its lanes the rows.
    """
    real = {"c64": "f32", "c128": "f64"}.get(ctype, ctype)
    return f"""{PRELUDE}
typedef {ctype} T;
typedef {real} R;
struct P {{ T* a; T* scales; i64 m, n, k, step; }};
DEV R conjugate(R x) {{ return x; }}
DEV complex<R> conjugate(complex<R> x) {{ return {{x.re, -x.im}}; }}
DEV R times(R a, R b) {{ return a * b; }}
DEV complex<R> times(complex<R> a, complex<R> b) {{ return {{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}}; }}
DEV R minus(R a, R b) {{ return a - b; }}
DEV complex<R> minus(complex<R> a, complex<R> b) {{ return {{a.re - b.re, a.im - b.im}}; }}
DEV R plus(R a, R b) {{ return a + b; }}
DEV complex<R> plus(complex<R> a, complex<R> b) {{ return {{a.re + b.re, a.im + b.im}}; }}
DEV R re(R x) {{ return x; }}
DEV R re(complex<R> x) {{ return x.re; }}
DEV R im(R) {{ return 0; }}
DEV R im(complex<R> x) {{ return x.im; }}
DEV void set(R* to, f64 re, f64) {{ *to = (R)re; }}
DEV void set(complex<R>* to, f64 re, f64 im) {{ *to = {{(R)re, (R)im}}; }}
DEV R other(R x, int mask) {{ return __shfl_xor_sync(0xffffffffu, x, mask); }}
DEV complex<R> other(complex<R> x, int mask) {{ return {{other(x.re, mask), other(x.im, mask)}}; }}
DEV f64 greater(f64 a, f64 b) {{ return b > a || b != b ? b : a; }}
// column -= v * scale * (v^H column), over rows j and below; v has an implied 1 in row j.
DEV void apply(const T* v, T* column, T scale, i64 j, i64 m) {{
    const int lane = threadIdx.x & 31;
    T dot = lane ? T{{}} : column[j];
    for (i64 i = j + 1 + lane; i < m; i += 32) dot = plus(dot, times(conjugate(v[i]), column[i]));
    for (int mask = 16; mask > 0; mask /= 2) dot = plus(dot, other(dot, mask));
    dot = times(scale, dot);
    if (!lane) column[j] = minus(column[j], dot);
    for (i64 i = j + 1 + lane; i < m; i += 32) column[i] = minus(column[i], times(v[i], dot));
}}
extern "C" __global__ void __launch_bounds__(128) reflect(const __grid_constant__ P p) {{
    __shared__ f64 part[128];
    __shared__ T scale, factor;
    const int t = threadIdx.x, warp = t / 32;
    T* a = p.a + blockIdx.x * p.step;
    for (i64 j = 0; j < p.k; ++j) {{
        T* x = a + j * p.m;
        // The length of the column below row j, without overflow.
        f64 big = 0, sum = 0;
        for (i64 i = j + 1 + t; i < p.m; i += 128)
            big = greater(greater(big, fabs((f64)re(x[i]))), fabs((f64)im(x[i])));
        part[t] = big;
        __syncthreads();
        for (int half = 64; half > 0; half /= 2) {{
            if (t < half) part[t] = greater(part[t], part[t + half]);
            __syncthreads();
        }}
        big = part[0];
        __syncthreads();
        if (big != 0) for (i64 i = j + 1 + t; i < p.m; i += 128) {{
            const f64 u = re(x[i]) / big, v = im(x[i]) / big;
            sum += u * u + v * v;
        }}
        part[t] = sum;
        __syncthreads();
        for (int half = 64; half > 0; half /= 2) {{
            if (t < half) part[t] += part[t + half];
            __syncthreads();
        }}
        if (t == 0) {{
            const f64 tail = big == 0 ? 0 : big * sqrt(part[0]), u = re(x[j]), v = im(x[j]);
            set(&scale, 0, 0);
            set(&factor, 0, 0);
            if (tail != 0 || v != 0) {{
                const f64 beta = -copysign(hypot(hypot(u, v), tail), u);
                set(&scale, (beta - u) / beta, -v / beta);
                // 1 / (x[j] - beta), whose real part is the larger one.
                const f64 ratio = v / (u - beta), size = u - beta + v * ratio;
                set(&factor, 1 / size, -ratio / size);
                set(&x[j], beta, 0);
            }}
            p.scales[blockIdx.x * p.k + j] = scale;
        }}
        __syncthreads();
        if (re(scale) != 0 || im(scale) != 0) {{
            for (i64 i = j + 1 + t; i < p.m; i += 128) x[i] = times(x[i], factor);
            __syncthreads();
            for (i64 c = j + 1 + warp; c < p.n; c += 4) apply(x, a + c * p.m, conjugate(scale), j, p.m);
        }}
        __syncthreads();
    }}
}}
extern "C" __global__ void __launch_bounds__(128) columns(const __grid_constant__ P p) {{
    const int t = threadIdx.x, warp = t / 32;
    T* a = p.a + blockIdx.x * p.step;
    for (i64 i = p.k * p.m + t; i < p.n * p.m; i += 128) set(&a[i], i % p.m == i / p.m, 0);
    __syncthreads();
    for (i64 j = p.k - 1; j >= 0; --j) {{
        T* x = a + j * p.m;
        const T scale = p.scales[blockIdx.x * p.k + j];
        for (i64 c = j + 1 + warp; c < p.n; c += 4) apply(x, a + c * p.m, scale, j, p.m);
        __syncthreads();
        for (i64 i = t; i < p.m; i += 128) {{
            if (i < j) x[i] = T{{}};
            else if (i > j) x[i] = minus(T{{}}, times(x[i], scale));
            else set(&x[i], 1 - (f64)re(scale), -(f64)im(scale));
        }}
        __syncthreads();
    }}
}}
"""


def reflect(device: Any, stack: Strided, scales: Strided) -> None:
    """Put reflectors and R in place of matrices (the lines of `stack` are their columns), and fill `scales`."""
    count, n, m = stack.shape
    words = [address(stack), address(scales), m, n, scales.shape[-1], stack.strides[0]]
    run(device, reflections_text(ctype_of(stack.dtype)), "reflect", Grid(count, 128), words, wait=True)


def columns_of(device: Any, stack: Strided, scales: Strided, wide: int) -> None:
    """Put the first `wide` columns of Q in place of reflectors, and of what lines are behind them."""
    count, _, m = stack.shape
    words = [address(stack), address(scales), m, wide, scales.shape[-1], stack.strides[0]]
    run(device, reflections_text(ctype_of(stack.dtype)), "columns", Grid(count, 128), words, wait=True)


__all__ = ["SMALL", "columns_of", "reflect"]
