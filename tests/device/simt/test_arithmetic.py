"""Intrinsics and functions against NumPy or what CUDA's documents say; narrow and complex numbers."""

import math

import numpy as np
import pytest
from sources import kernel

rng = np.random.default_rng(11)


# ---------------------------------------------------------------- arithmetic


def evaluated(run, ctype, dtype, expressions):
    """The values of C expressions, all in one kernel."""
    body = "\n".join(f"    out[{at}] = ({ctype})({expression});" for at, expression in enumerate(expressions))
    return run(kernel(f"{ctype}* out, const float* f, const double* d", body), np.zeros(len(expressions), dtype),
               np.array([0.1, 0.7, 3.5, -2.5], "f4"), np.array([0.1, 0.7, 3.5, -2.5]), block=1)[0]  # fmt: skip


def test_integer_intrinsics(run):
    cases = {
        "__popc(0xf0f0u)": 8, "__popcll(0xffffffffffull)": 40, "__clz(1)": 31, "__clz(0)": 32, "__clzll(1ll)": 63,
        "__clzll(0)": 64, "__ffs(0)": 0, "__ffs(24)": 4, "__ffsll(1ll << 40)": 41, "__brev(1u)": 0x80000000,
        "__brev(0x12345678u)": 0x1E6A2C48, "__brevll(1ull)": -(1 << 63), "__byte_perm(0x03020100, 0x07060504, 0x7531)":
        0x07050301, "__byte_perm(0x80, 0, 0x0008)": 0x808080FF, "__mul24(0x1000003, 5)": 15, "__mul24(-3, 7)": -21,
        "__umul24(0x1000003u, 5u)": 15, "__mulhi(1 << 30, 1 << 4)": 4, "__mulhi(-1, 1)": -1,
        "__umulhi(0xffffffffu, 2u)": 1, "__umul64hi(~0ull, 4ull)": 3, "__mul64hi(-1ll, 5ll)": -1,
        "__sad(3, -4, 10u)": 17,
        "__usad(3u, 9u, 1u)": 7, "__hadd(-3, 6)": 1, "__rhadd(-3, 6)": 2, "__uhadd(0xffffffffu, 1u)": 1 << 31,
        "__urhadd(1u, 2u)": 2, "__dp4a(0x01020304, 0x01010101, 5)": 15, "__dp4a(-1, 0x01010101, 0)": -4,
        "__dp4a(0xffffffffu, 0x01010101u, 0u)": 1020, "__funnelshift_l(0x80000000u, 1u, 1u)": 3,
        "__funnelshift_r(2u, 1u, 1u)": 0x80000001, "__funnelshift_lc(1u, 2u, 40u)": 1,
        "__funnelshift_rc(1u, 2u, 40u)": 2,
        "__fns(0x16u, 0, 2)": 2, "__fns(0x16u, 4, -2)": 2, "__fns(1u, 1, 1)": 0xFFFFFFFF,
        "min(3, -4)": -4, "max(3u, 4u)": 4, "min(3ll, 2)": 2, "max(-1, 2u)": 0xFFFFFFFF, "abs(-5)": 5, "llabs(-5ll)": 5,
        "__vadd2(0x0001ffffu, 0x00010001u)": 0x00020000, "__vadd4(0x01020304u, 0x01ff0101u)": 0x02010405,
        "__vsub4(0u, 0x01010101u)": 0xFFFFFFFF, "__vabsdiffu4(0x05000a00u, 0x00050003u)": 0x05050A03,
        "__vmaxs2(0xffff0001u, 0x00000000u)": 0x00000001, "__vcmpeq4(0x01020304u, 0x01000300u)": 0xFF00FF00,
        "__vavgu4(0x01010101u, 0x02020202u)": 0x02020202,
    }  # fmt: skip
    found = evaluated(run, "long long", np.int64, list(cases))
    assert dict(zip(cases, found.tolist(), strict=True)) == cases


def test_conversions(run):
    cases = {
        "__float_as_int(1.0f)": 0x3F800000, "__float_as_uint(-1.0f)": 0xBF800000,
        "__double_as_longlong(1.0)": 0x3FF << 52,
        "__double2hiint(1.0)": 0x3FF00000, "__double2loint(1.0)": 0, "__float2int_rn(f[2])": 4,
        "__float2int_rn(f[3])": -2,
        "__float2int_rz(f[3])": -2, "__float2int_ru(f[2])": 4, "__float2int_rd(f[3])": -3,
        "__float2int_rz(1e20f)": 2**31 - 1,
        "__float2int_rz(-1e20f)": -(2**31), "__float2int_rn(NAN)": 0, "__float2uint_rn(-5.0f)": 0,
        "__float2uint_rz(5e9f)": 2**32 - 1, "__double2ll_rn(2.5)": 2, "__double2ull_rz(1e3)": 1000,
        "__double2int_rd(-0.5)": -1,
        "__float2ll_rz(1e30f)": 2**63 - 1, "__int_as_float(0x3f800000)": 1, "__longlong_as_double(0x3ffll << 52)": 1,
        "__hiloint2double(0x40080000, 0)": 3, "__ll2float_rz(16777217ll)": 16777216,
        "__ll2float_ru(16777217ll)": 16777218,
        "__int2float_rn(7)": 7, "__uint2double_rn(4000000000u)": 4000000000,
    }  # fmt: skip
    found = evaluated(run, "long long", np.int64, list(cases))
    assert dict(zip(cases, found.tolist(), strict=True)) == cases


def test_directed_rounding(run):
    third = np.float32(1) / np.float32(3)
    down, up = np.nextafter(third, np.float32(0)), third
    cases = {
        "__fdiv_rz(1, 3)": down, "__fdiv_rd(1, 3)": down, "__fdiv_ru(1, 3)": up, "__fdiv_rn(1, 3)": up,
        "__frcp_rd(3)": down,
        "__fadd_ru(1, 1e-20f)": np.nextafter(np.float32(1), np.float32(2)), "__fadd_rn(1, 1e-20f)": 1,
        "__fsub_rz(1, 1e-20f)": np.nextafter(np.float32(1), np.float32(0)),
        "__fmul_rn(f[0], f[1])": np.float32(0.1) * np.float32(0.7), "__fsqrt_rn(2)": np.sqrt(np.float32(2)),
        "__double2float_ru(0.1)": np.float32(0.1), "__double2float_rd(0.1)": np.nextafter(np.float32(0.1),
        np.float32(0)),
        "__fmaf_rn(f[0], f[1], f[2])": np.float32(np.float64(np.float32(0.1)) * np.float64(np.float32(0.7)) + 3.5),
    }  # fmt: skip
    found = evaluated(run, "float", np.float32, list(cases))
    np.testing.assert_array_equal(found, np.array(list(cases.values()), np.float32))
    found = evaluated(run, "double", np.float64, ["__ddiv_rd(1, 3)", "__dadd_rn(d[0], d[1])", "__dmul_ru(d[0], d[0])"])
    assert found[0] <= 1 / 3 and found[1] == 0.1 + 0.7 and found[2] in (0.1 * 0.1, np.nextafter(0.1 * 0.1, 1))


def test_mathematics(run):
    special = pytest.importorskip("scipy.special")
    cases = {
        "rsqrt(d[2])": 1 / math.sqrt(3.5), "rcbrt(8.0)": 0.5, "sinpi(0.5)": 1, "cospi(d[1])": math.cos(0.7 * math.pi),
        "sinpi(1e15)": 0, "sinpi(-2.5)": -1, "exp10(2.0)": 100, "erfinv(d[1])": special.erfinv(0.7), "erfinv(0.1)":
        special.erfinv(0.1), "erfinv(-0.999999)": special.erfinv(-0.999999), "erfcinv(1e-100)": special.erfcinv(1e-100),
        "erfcinv(1.5)": special.erfcinv(1.5), "erfcx(3.0)": special.erfcx(3.0), "erfcx(100.0)": special.erfcx(100.0),
        "normcdf(d[1])": special.ndtr(0.7), "normcdfinv(0.025)": special.ndtri(0.025), "norm3d(1.0, 2.0, 2.0)": 3,
        "norm4d(1.0, 1.0, 1.0, 1.0)": 2, "rhypot(3.0, 4.0)": 0.2, "fdivide(1.0, 4.0)": 0.25, "hypot(3.0, 4.0)": 5,
        "fma(2.0, 3.0, 4.0)": 10, "lgamma(4.5)": math.lgamma(4.5), "j0(1.0)": special.j0(1.0),
        "copysign(1.0, -2.0)": -1,
    }  # fmt: skip
    found = evaluated(run, "double", np.float64, list(cases))
    np.testing.assert_allclose(found, list(cases.values()), rtol=4e-15, atol=1e-300)
    floats = {
        "rsqrtf(4)": 0.5, "__expf(f[1])": math.exp(0.7), "__logf(f[2])": math.log(3.5), "__sinf(f[0])": math.sin(0.1),
        "__cosf(f[0])": math.cos(0.1), "__tanf(f[1])": math.tan(0.7), "__powf(2, f[2])": 2**3.5, "__log2f(8)": 3,
        "__log10f(1000)": 3,
        "__exp10f(2)": 100, "__fdividef(1, 4)": 0.25, "__saturatef(7)": 1, "__saturatef(-7)": 0, "__frsqrt_rn(4)": 0.5,
        "min(f[0], f[1])": 0.1, "fmaxf(1, 2)": 2, "max(1.0f, 3)": 3, "min(NAN, 2.0f)": 2, "sqrtf(4)": 2,
        "sin(0.5f)": math.sin(0.5),
        "powf(2, 3)": 8, "rsqrt(16.0f)": 0.25, "sinpif(0.25f)": math.sqrt(0.5), "cospi(1.0f)": -1, "__ldg(&f[2])": 3.5,
        "fabsf(-1)": 1, "floorf(-0.5f)": -1, "fmodf(7, 4)": 3, "exp10f(1)": 10, "cbrtf(27)": 3, "isnan(NAN)": 1,
        "isinf(1.0f)": 0,
    }  # fmt: skip
    found = evaluated(run, "float", np.float32, list(floats))
    np.testing.assert_allclose(found, list(floats.values()), rtol=1e-6, atol=1e-7)
    code = kernel(
        "float* y",
        "    sincosf(0.5f, y, y + 1); sincospif(0.5f, y + 2, y + 3); __stcg(y + 4, 6.0f); __sincosf(1, y + 5, y + 6);",
    )
    expected = [math.sin(0.5), math.cos(0.5), 1, 0, 6, math.sin(1), math.cos(1)]
    np.testing.assert_allclose(run(code, np.zeros(7, "f4"), block=1), expected, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------- headers


def test_float16_against_numpy(run):
    code = """
    #include <cuda_fp16.h>
    extern "C" __global__ void k(const __half* x, const half* y, const float* f, __half* out, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        out[i] = x[i] + y[i]; out[n + i] = x[i] * y[i]; out[2 * n + i] = __hsub(x[i], y[i]);
        out[3 * n + i] = x[i] / y[i]; out[4 * n + i] = __float2half(f[i]); out[5 * n + i] = hsqrt(__habs(x[i]));
        out[6 * n + i] = __hmax(x[i], y[i]); out[7 * n + i] = x[i] < y[i] ? __half(1) : __half(0);
        half2 both = __halves2half2(x[i], y[i]);
        both = __hadd2(both, __float2half2_rn(1.0f));
        out[8 * n + i] = __low2half(both); out[9 * n + i] = both.y;
        out[10 * n + i] = __float2half(__half2float(x[i]));
    }"""
    bits = np.concatenate([np.arange(0, 65536, 37), [0, 0x8000, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0xFC00]])
    x = bits.astype(np.uint16).view(np.float16)
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        f = x[8:].astype(np.float32) * np.float32(1.0004)
    f = np.concatenate([f, [65519, 65520, 2**-25, 3e-8, 1e-8, 6e-5, -7e4, 1]])
    f = f.astype(np.float32)
    n = x.size
    found = run(code, x, y, f, np.zeros(11 * n, np.float16), np.int32(n), grid=-(-n // 256), block=256)[3].reshape(
        11, n
    )
    with np.errstate(all="ignore"):
        expected = [x + y, x * y, x - y, x / y, f.astype(np.float16), np.sqrt(abs(x)), np.fmax(x, y), x < y,
        x + np.float16(1),
                    y + np.float16(1), x]  # fmt: skip
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted.astype(np.float16))


def test_bfloat16_against_ml_dtypes(run):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    code = """
    #include <cuda_bf16.h>
    extern "C" __global__ void k(const __nv_bfloat16* x, const __nv_bfloat16* y, const float* f, __nv_bfloat16* out,
                                 int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        out[i] = x[i] + y[i]; out[n + i] = __hmul(x[i], y[i]); out[2 * n + i] = __float2bfloat16(f[i]);
        __nv_bfloat162 both = __floats2bfloat162_rn(f[i], 2.0f);
        out[3 * n + i] = __low2bfloat16(both * both); out[4 * n + i] = __float2bfloat16(__bfloat162float(x[i]));
    }"""
    x = np.arange(0, 65536, 41).astype(np.uint16).view(bfloat16)
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        f = (x.astype(np.float32) * np.float32(1.003)).astype(np.float32)
    n = x.size
    found = run(code, x, y, f, np.zeros(5 * n, bfloat16), np.int32(n), grid=-(-n // 256), block=256)[3].reshape(5, n)
    with np.errstate(all="ignore"):
        g = f.astype(bfloat16)
        expected = [x + y, x * y, g, g * g, x]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))


def test_complex_numbers_constants_and_half_atomics(run):
    code = """
    #include <cuComplex.h>
    #include <cuda_fp16.h>
    #include "math_constants.h"
    extern "C" __global__ void k(cuDoubleComplex* z, float* f, __half* h) {
        z[2] = cuCmul(z[0], z[1]); z[3] = cuCdiv(z[0], z[1]); z[4] = cuCadd(z[0], cuConj(z[1])); z[5].x = cuCabs(z[0]);
        f[0] = CUDART_PI_F; f[1] = CUDART_INF_F;
        atomicAdd(h, __float2half(1.5f));
        atomicAdd((__half2*)(h + 2), __floats2half2_rn(1, 2));
    }"""
    z = np.array([1 + 2j, 3 - 4j, 0, 0, 0, 0])
    z, f, h = run(code, z, np.zeros(2, "f4"), np.zeros(4, "f2"), block=1)
    np.testing.assert_allclose(z[2:], [z[0] * z[1], z[0] / z[1], z[0] + z[1].conj(), abs(z[0])])
    assert f.tolist() == [np.float32(np.pi), np.inf] and h.tolist() == [1.5, 0, 1, 2]


def test_cooperative_groups(run):
    code = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(int* out) {
        cg::thread_block block = cg::this_thread_block();
        const int t = block.thread_rank();
        auto tile = cg::tiled_partition<8>(block);
        cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
        int* mine = out + 12 * t;
        mine[0] = cg::reduce(tile, t, cg::plus<int>());
        mine[1] = tile.shfl_down(t, 3);
        mine[2] = tile.shfl(t, 2);
        mine[3] = tile.ballot(t % 2);
        mine[4] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.size();
        mine[5] = cg::inclusive_scan(warp, 1);
        block.sync();
        if (t % 4 == 1) {
            cg::coalesced_group some = cg::coalesced_threads();
            mine[6] = some.size() + 100 * some.thread_rank() + 10000 * some.shfl(t, 1);
            mine[7] = cg::reduce(some, t, cg::greater<int>());
        }
        mine[8] = block.size() + block.group_index().x + block.dim_threads().y;
        mine[9] = cg::exclusive_scan(tile, t);
        mine[10] = tile.any(t == 9) + 10 * tile.all(t < 8) + 100 * tile.match_any(t / 4);
        cg::sync(block);
    }"""
    found = run(code, np.zeros(12 * 64, np.int32), block=(32, 2)).reshape(64, 12)
    t = np.arange(64)
    first = t // 8 * 8
    assert (found[:, 0] == 8 * first + 28).all()
    assert (found[:, 1] == np.where(t % 8 < 5, t + 3, t)).all()
    assert (found[:, 2] == first + 2).all() and (found[:, 3] == 0xAA).all()
    assert (found[:, 4] == t % 8 + 100 * (t // 8) + 80000).all() and (found[:, 5] == t % 32 + 1).all()
    some = t[t % 4 == 1]
    assert (found[some, 6] == 8 + 100 * (some % 32 // 4) + 10000 * (some // 32 * 32 + 5)).all()
    assert (found[some, 7] == some // 32 * 32 + 29).all() and (found[:, 8] == 66).all()
    assert (found[:, 9] == [sum(range(f, i)) for f, i in zip(first, t, strict=True)]).all()
    match = np.where(t % 8 < 4, 0x0F, 0xF0)
    assert (found[:, 10] == ((t // 8 == 1) + 10 * (t < 8) + 100 * match)).all()
