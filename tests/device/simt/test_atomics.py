"""Atomic operations, and blocks that wait for each other."""

import numpy as np
import pytest
from sources import kernel

rng = np.random.default_rng(11)


INTEGERS = {"int": "i4", "unsigned": "u4", "unsigned long long": "u8", "long long": "i8"}


@pytest.mark.parametrize("ctype", INTEGERS)
@pytest.mark.parametrize("where", ["global", "shared"])
def test_atomics_on_integers(run, ctype, where):
    names = ["Add", "Sub", "Min", "Max", "And", "Or", "Xor", "Exch"]
    pointer = "y" if where == "global" else "part"
    operations = "\n".join(f"    atomic{name}(&{pointer}[{at}], x[i]);" for at, name in enumerate(names))
    scopes = f"    atomicAdd_block(&{pointer}[8], ({ctype})1); atomicAdd_system(&{pointer}[8], ({ctype})2);"
    begin = "__shared__ T part[9]; if (t < 9) part[t] = y[t]; __syncthreads();" if where == "shared" else ""
    end = "__syncthreads(); if (t < 9) y[t] = part[t];" if where == "shared" else ""
    body = f"typedef {ctype} T; const int i = blockIdx.x * blockDim.x + t; {begin}\n{operations}\n{scopes}\n{end}"
    dtype = np.dtype(INTEGERS[ctype])
    count = 256 if where == "shared" else 1024
    x = rng.integers(1, 1000, count).astype(dtype)
    start = np.array([5, 5, 500, 500, -1 if dtype.kind == "i" else 2**32 - 1, 0, 3, 0, 0]).astype(dtype)
    _, y = run(kernel(f"const {ctype}* x, {ctype}* y", body), x, start, grid=count // 256, block=256)
    expected = [
        5 + x.sum(dtype=dtype), (np.array([5], dtype) - x.sum(dtype=dtype))[0], min(500, x.min()), max(500, x.max()),
        np.bitwise_and.reduce(x) & start[4], np.bitwise_or.reduce(x), 3 ^ np.bitwise_xor.reduce(x),
    ]  # fmt: skip
    np.testing.assert_array_equal(y[:7], np.array(expected).astype(dtype))
    assert y[7] in x and y[8] == 3 * count


def test_atomics_that_wrap_and_compare(run):
    code = kernel(
        "unsigned* y, unsigned short* s, float* f, double* d, int* ticket",
        """
    atomicInc(&y[0], 6u);
    atomicDec(&y[1], 6u);
    const unsigned short h = atomicCAS(&s[0], (unsigned short)t, (unsigned short)(t + 1)); (void)h;
    unsigned long long* bits = (unsigned long long*)d;
    unsigned long long old = *bits, seen;
    do { seen = old; old = atomicCAS(bits, seen, __double_as_longlong(__longlong_as_double(seen) + t)); }
    while (old != seen);
    atomicAdd(&f[0], 0.5f); atomicAdd(&d[1], 0.25); atomicMax(&f[1], (float)t); atomicMin(&d[2], -(double)t);
    f[2 + atomicAdd(ticket, 1)] = 1;
    atomicAdd((float2*)(f + 100), make_float2(1, 2));""",
    )
    y, s, f, d, ticket = run(
        code, np.zeros(2, "u4"), np.zeros(1, "u2"), np.zeros(104, "f4"), np.zeros(3), np.zeros(1, "i4"), block=96
    )
    assert y.tolist() == [96 % 7, (-96) % 7] and s[0] == 96
    assert f[0] == 48 and f[1] == 95 and f[2:98].all() and f[100:102].tolist() == [96, 192]
    assert d.tolist() == [sum(range(96)), 24, -95] and ticket[0] == 96


def test_a_lock_and_a_flag(run):
    code = kernel(
        "int* x",
        """
    for (bool done = false; !done;) {
        if (atomicCAS(&x[0], 0, 1) == 0) { x[1] = x[1] + 1; __threadfence(); atomicExch(&x[0], 0); done = true; }
    }
    if (blockIdx.x == 0) {
        if (t == 0) while (atomicAdd(&x[2], 0) == 0) { }
        if (t == 31) atomicExch(&x[2], 7);
        if (t == 1) while (*(volatile int*)&x[3] == 0) __nanosleep(20);
        if (t == 30) *(volatile int*)&x[3] = 9;
    }""",
    )
    assert run(code, np.zeros(4, np.int32), grid=50)[1:].tolist() == [1600, 7, 9]


def test_blocks_may_wait_for_earlier_blocks(run):
    """The scheme of single-pass scans: each block adds to what the one before it has published."""
    code = kernel(
        "const int* x, int* sums, int* flags",
        """
    __shared__ int total;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[blockIdx.x * 32 + t]);
    __syncthreads();
    if (t == 0) {
        int before = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) { }
            before = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = before + total;
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
    }""",
    )
    x = rng.integers(0, 100, 32 * 200).astype(np.int32)
    _, sums, _ = run(code, x, np.zeros(200, "i4"), np.zeros(200, "i4"), grid=200)
    np.testing.assert_array_equal(sums, x.reshape(200, 32).sum(1).cumsum())
