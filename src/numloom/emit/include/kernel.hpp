// What every kernel needs beside its values: bit casts, checked indices, division, vector accesses.
#ifdef __CUDACC__
#define NL_COPY memcpy
#define NL_UNROLL _Pragma("unroll")
#else
#define NL_COPY __builtin_memcpy
#define NL_UNROLL _Pragma("GCC unroll 16")
#endif
namespace nl {
template <class B, class A> NL_DEV B bit_cast(A a) { B b; NL_COPY(&b, &a, sizeof(B)); return b; }
NL_DEV i64 from_end(i64 index, i64 extent) { return index < 0 ? index + extent : index; }
// Writes a complaint to the table of `numloom.device.complaints`: who finds the slot empty says which index it was.
NL_DEV void complain(i64* error, i64 location, i64 index, i64 extent) {
#ifdef __CUDACC__
    i64* const slot = error + 8 + 4 * (location & 1023);
    if (atomicCAS((unsigned long long*)slot, 0ull, (unsigned long long)location) == 0) {
        slot[1] = index;
        slot[2] = extent;
        slot[3] = 1;
    }
#endif
    *error = location;
}
NL_DEV i64 checked(i64 index, i64 extent, i64* error, i64 location) {
    const i64 at = from_end(index, extent);
    if (at < 0 || at >= extent) { complain(error, location, index, extent); return 0; }
    return at;
}
#ifdef __CUDACC__
// n / d for 0 <= n < 2^31 (or 2^62) by a rounded-up reciprocal (Granlund and Montgomery, 1994).
NL_DEV i32 divide(i32 n, i64 magic, i64 shift) { return (i32)(((u64)(u32)n * (u32)magic) >> (int)shift); }
NL_DEV i64 divide(i64 n, i64 magic, i64 shift) { return (i64)(__umul64hi((u64)n * 2, (u64)magic) >> (int)shift); }
template <int BYTES> struct word { };
template <> struct word<16> { typedef uint4 type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<4> { typedef unsigned int type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<1> { typedef unsigned char type; };
template <int V, class T> struct pack { alignas(V * sizeof(T) < 16 ? V * sizeof(T) : 16) T x[V]; };
template <int V, class T> NL_DEV void load(pack<V, T>& to, const T* from) {
    constexpr int B = V * sizeof(T) < 16 ? V * sizeof(T) : 16, N = V * sizeof(T) / B;
    typedef typename word<B>::type W;
#pragma unroll
    for (int k = 0; k < N; ++k) reinterpret_cast<W*>(to.x)[k] = reinterpret_cast<const W*>(from)[k];
}
template <int V, class T> NL_DEV void store(T* to, const pack<V, T>& from) {
    constexpr int B = V * sizeof(T) < 16 ? V * sizeof(T) : 16, N = V * sizeof(T) / B;
    typedef typename word<B>::type W;
#pragma unroll
    for (int k = 0; k < N; ++k) reinterpret_cast<W*>(to)[k] = reinterpret_cast<const W*>(from.x)[k];
}
// Element `i` of two packs that follow each other.
template <int V, class T> NL_DEV T pick(const pack<V, T>& a, const pack<V, T>& b, int i) {
    return i < V ? a.x[i < V ? i : 0] : b.x[i < V ? 0 : i - V];
}
// A value that another block wrote, past this block's own cache.
template <class T> NL_DEV T fetch(const T* from) {
    T r;
    char* to = (char*)&r;
    if (sizeof(T) % 8 == 0) for (int k = 0; k < (int)(sizeof(T) / 8); ++k) ((u64*)to)[k] = ((const volatile u64*)from)[k];
    else if (sizeof(T) % 4 == 0) for (int k = 0; k < (int)(sizeof(T) / 4); ++k) ((u32*)to)[k] = ((const volatile u32*)from)[k];
    else for (int k = 0; k < (int)sizeof(T); ++k) to[k] = ((const volatile char*)from)[k];
    return r;
}
// A value is there from here on: compilers move loads down to their uses, behind branches, where each waits alone.
template <class T> NL_DEV void settle(T&) {}
NL_DEV void settle(f32& x) { asm volatile("" : "+f"(x)); }
NL_DEV void settle(f64& x) { asm volatile("" : "+d"(x)); }
// Another lane's value of any type.
template <class T> NL_DEV T from_lane(T value, int mask) {
    constexpr int N = (sizeof(T) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    NL_COPY(w, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_xor_sync(0xffffffffu, w[k], mask);
    T r;
    NL_COPY(&r, w, sizeof(T));
    return r;
}
// What the first of `width` neighbours has.
template <class T> NL_DEV T of_first(T value, int width) {
    constexpr int N = (sizeof(T) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    NL_COPY(w, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_sync(0xffffffffu, w[k], 0, width);
    T r;
    NL_COPY(&r, w, sizeof(T));
    return r;
}
// One of two, word by word: of a choice between structs, compilers make addresses, and put both into local memory.
template <class T> NL_DEV T choose(bool first, T a, T b) {
    constexpr int N = (sizeof(T) + 3) / 4;
    u32 v[N], w[N];
    v[N - 1] = w[N - 1] = 0;
    NL_COPY(v, &a, sizeof(T));
    NL_COPY(w, &b, sizeof(T));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = first ? v[k] : w[k];
    T r;
    NL_COPY(&r, w, sizeof(T));
    return r;
}
// Division by a number that many are divided by, rounded correctly: with the rounded inverse r of d the quotient is that
// of one correction (Markstein 1990; Brisebarre, Muller and Raina, IEEE Transactions on Computers 53, 2004), as long as
// nothing leaves the range of normal numbers. Else `slow` is set: of divisors that are far from that range the inverse is 0.
template <class T> static __device__ __noinline__ T divided(T a, T d) { return a / d; }
#if __CUDA_PREC_DIV
NL_DEV f32 inverse(f32 d) { return fabsf(d) >= 0x1p-60f && fabsf(d) <= 0x1p60f ? 1.0f / d : 0.0f; }
NL_DEV f64 inverse(f64 d) { return fabs(d) >= 0x1p-400 && fabs(d) <= 0x1p400 ? 1.0 / d : 0.0; }
NL_DEV f32 divide_by(f32 a, f32 d, f32 r, bool& slow) {
    const f32 q = __fmul_rn(a, r);
    slow |= bits(q) * 2u - (87u << 24) > 80u << 24;  // not from 2^-40 to 2^40, by its exponent
    return __fmaf_rn(__fmaf_rn(-q, d, a), r, q);
}
NL_DEV f64 divide_by(f64 a, f64 d, f64 r, bool& slow) {
    const f64 q = __dmul_rn(a, r);
    slow |= (u32)(bits(q) >> 32) * 2u - (623u << 21) > 800u << 21;  // 2^-400 to 2^400
    return __fma_rn(__fma_rn(-q, d, a), r, q);
}
#else
template <class T> NL_DEV T inverse(T) { return 0; }
template <class T> NL_DEV T divide_by(T a, T d, T, bool&) { return a / d; }
#endif
#else
template <class T> NL_DEV void settle(T&) {}
template <class T> NL_DEV T inverse(T) { return 0; }
#endif
}
#ifndef __CUDACC__
#ifdef __clang__
#define NL_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define NL_ROLLED
#else
#define NL_IVDEP _Pragma("GCC ivdep")
// GCC writes loops of 16 steps out before it looks for vectors.
#define NL_ROLLED _Pragma("GCC unroll 1")
#endif
// GCC forgets the upper halves of vectors where it calls a loop of the same text: what runs afterwards would wait for them.
#if defined(__AVX__) && !defined(__clang__)
#define NL_LEAVE __builtin_ia32_vzeroupper();
#else
#define NL_LEAVE
#endif
// A long expression waits for its own results: so many vectors unrolled, each in registers of its own, in mixed order.
#if defined(__clang__) || (defined(__x86_64__) && !defined(__FMA__))
#define NL_UNROLL_BY(n)
#define NL_SCHEDULED
#else
#define NL_PRAGMA(text) _Pragma(#text)
#define NL_UNROLL_BY(n) NL_PRAGMA(GCC unroll n)
#ifdef __AVX512F__
#define NL_SCHEDULED __attribute__((optimize("web", "schedule-insns", "rename-registers")))
#else
// Half as many registers
#define NL_SCHEDULED __attribute__((optimize("web", "schedule-insns", "rename-registers", "sched-pressure")))
#endif
#endif
#endif
