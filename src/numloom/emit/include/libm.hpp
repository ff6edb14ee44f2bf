// Names of the mathematical library for both targets: nl::f(f32) and nl::f(f64) call ff and f.
#ifdef __CUDACC__
#define NL_EXTERN1(name)
#define NL_EXTERN2(name)
#else
#define NL_EXTERN1(name) extern "C" f64 name(f64) noexcept; extern "C" f32 name##f(f32) noexcept;
#define NL_EXTERN2(name) extern "C" f64 name(f64, f64) noexcept; extern "C" f32 name##f(f32, f32) noexcept;
#endif
#define NL_LIBM1(name) NL_EXTERN1(name) \
namespace nl { NL_DEV f32 name(f32 x) { return ::name##f(x); } NL_DEV f64 name(f64 x) { return ::name(x); } }
#define NL_LIBM2(name) NL_EXTERN2(name) \
namespace nl { NL_DEV f32 name(f32 x, f32 y) { return ::name##f(x, y); } \
NL_DEV f64 name(f64 x, f64 y) { return ::name(x, y); } }
NL_LIBM1(fabs)
NL_LIBM1(sqrt)
NL_LIBM1(floor)
NL_LIBM1(ceil)
NL_LIBM1(trunc)
NL_LIBM1(rint)
NL_LIBM2(copysign)
NL_LIBM2(fmod)
// The mathematical functions of float64, and of the host's float32: without branches or tables, so that loops vectorise.
// Multiply-adds are asked for by name, each rounded once, which processors without the instruction do in software: all give
// the same bits, a GPU too. Its float32 functions are CUDA's. Polynomials are near-minimax fits, coefficients of low powers
// first.
#ifdef __CUDACC__
#define NL_TABLE __constant__ const f64
#define NL_WORDS __constant__ const u64
#define NL_CALL static __device__ __noinline__
#define NL_BRANCHING NL_DEV
#define NL_CUDA_FLOAT1(name) namespace nl { NL_DEV f32 name(f32 x) { return ::name##f(x); } }
#define NL_CUDA_FLOAT2(name) namespace nl { NL_DEV f32 name(f32 x, f32 y) { return ::name##f(x, y); } }
namespace nl {
NL_DEV f32 fma(f32 x, f32 y, f32 z) { return ::fmaf(x, y, z); }
NL_DEV f64 fma(f64 x, f64 y, f64 z) { return ::fma(x, y, z); }
}
#else
#define NL_TABLE static constexpr f64
#define NL_WORDS static constexpr u64
#define NL_CALL static __attribute__((noinline))
#define NL_BRANCHING static
#define NL_CUDA_FLOAT1(name)
#define NL_CUDA_FLOAT2(name)
namespace nl {
NL_DEV f32 fma(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
NL_DEV f64 fma(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
}
#endif
namespace nl {
template <class T> NL_DEV T horner(T, T c) { return c; }
template <class T, class... C> NL_DEV T horner(T z, T c, C... rest) { return fma(z, horner(z, rest...), c); }
template <class U> NL_DEV U larger(U a, U b) { return a > b ? a : b; }
template <class U> NL_DEV U smaller(U a, U b) { return a < b ? a : b; }
// 1 / (2 x) to 1.5 % for ordinary x, finite for 0: by the difference of the bits, and a step of Newton's.
NL_DEV f32 half_inverse(f32 x) {
    f32 y = from_bits(0x7e7311c3u - bits(x));
    return (y + y) * fma(-x, y, 1.0f);
}
NL_DEV f64 half_inverse(f64 x) {
    f64 y = from_bits(0x7fce623822fc16c9ull - bits(x));
    return (y + y) * fma(-x, y, 1.0);
}
// a < c for numbers that are not negative, where NaN is not below. A GPU has few units that compare doubles.
#ifdef __CUDACC__
NL_DEV bool is_below(f64 a, f64 c) { return bits(a) < bits(c); }
#else
NL_DEV bool is_below(f64 a, f64 c) { return a < c; }
#endif
template <class T> NL_DEV T clamp(T x, T low, T high) { x = x < low ? low : x; return x > high ? high : x; }
// f(x, slow) is f(x) in fewer instructions, where `slow` does not say that an argument was out of the ordinary: not a positive
// normal number, or so large that its exponential is not. It has the largest of what small numbers are where all is well.
struct SlowFlags { u32 normal, size; u64 wide; };
NL_DEV void want_normal(f32 x, SlowFlags& slow) { slow.normal = larger(slow.normal, bits(x) - 0x800000u); }
NL_DEV void want_normal(f64 x, SlowFlags& slow) { slow.wide |= bits(x) - 0x10000000000000ull >= 0x7fe0000000000000ull; }
NL_DEV void want_small(f32 x, SlowFlags& slow) { slow.size = larger(slow.size, bits(x) & 0x7fffffffu); }
NL_DEV void want_small(f64 x, SlowFlags& slow) { slow.wide |= !(fabs(x) < 708.0); }
NL_DEV bool is_slow(SlowFlags slow) { return (slow.normal >= 0x7f000000u) | (slow.size >= 0x42ae0000u) | (slow.wide != 0); }
// How many elements a loop takes before it asks: whole vectors.
NL_DEV i64 fast_count(i64 left, i64 lanes) { return (left < 512 ? left : 512) & -lanes; }
}
