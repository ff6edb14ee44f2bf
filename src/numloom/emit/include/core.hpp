// Types, targets and bit casts. One text for NVRTC and for host compilers; nothing is included.
#ifdef __CUDACC__
#define NL_DEV __device__ __forceinline__
#define NL_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define NL_NAN __longlong_as_double(0x7ff8000000000000ll)
#else
#define NL_INFINITY __builtin_huge_val()
#define NL_NAN __builtin_nan("")
#ifndef __clang__
// Partial redundancy elimination turns selects into branches, and then loops no longer vectorise; jump threading makes
// three masked selects of two that follow each other.
#pragma GCC optimize("no-tree-pre", "no-thread-jumps")
#endif
#define NL_DEV static inline __attribute__((always_inline))
#endif
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
// A truth value in memory. GCC leaves loops scalar that load or select by bool, but not those that load bytes.
#ifdef __CUDACC__
typedef bool bool8;
#else
typedef u8 bool8;
#endif
namespace nl {
template <class T> struct complex { T re, im; };
#ifdef __CUDACC__
NL_DEV u32 bits(f32 x) { return __float_as_uint(x); }
NL_DEV u64 bits(f64 x) { return (u64)__double_as_longlong(x); }
NL_DEV f32 from_bits(u32 x) { return __uint_as_float(x); }
NL_DEV f64 from_bits(u64 x) { return __longlong_as_double((i64)x); }
#else
NL_DEV u32 bits(f32 x) { return __builtin_bit_cast(u32, x); }
NL_DEV u64 bits(f64 x) { return __builtin_bit_cast(u64, x); }
NL_DEV f32 from_bits(u32 x) { return __builtin_bit_cast(f32, x); }
NL_DEV f64 from_bits(u64 x) { return __builtin_bit_cast(f64, x); }
#endif
NL_DEV u64 high_product(u64 a, u64 b) {
#ifdef __CUDACC__
    return __umul64hi(a, b);
#else
    return (u64)((unsigned __int128)a * b >> 64);
#endif
}
// Short numbers as words, to be compared: ptxas gets max.s16 and its like wrong (HALVES in device/cuda/compile.py), and
// the compiler makes none of a comparison that it cannot look into.
template <class T> NL_DEV T wide(T x) { return x; }
#ifdef __CUDACC__
NL_DEV i32 wide(i16 x) { i32 r; asm("cvt.s32.s16 %0, %1;" : "=r"(r) : "h"(x)); return r; }
NL_DEV i32 wide(u16 x) { i32 r; asm("cvt.u32.u16 %0, %1;" : "=r"(r) : "h"(x)); return r; }
NL_DEV i32 wide(i8 x) { return wide((i16)x); }
NL_DEV i32 wide(u8 x) { return wide((u16)x); }
NL_DEV i32 wide(bool x) { return wide((u16)x); }
#endif
// A truth value of a row or a column that is reduced, as a number: there GCC makes branches of selects, but vectors of these.
#ifdef __CUDACC__
template <class T> NL_DEV T of_truth(bool x) { return x ? (T)1 : (T)0; }
#else
template <class T> NL_DEV T of_truth(bool x) { return (T)(i32)x; }
#endif
}
typedef nl::complex<f32> c64;
typedef nl::complex<f64> c128;
