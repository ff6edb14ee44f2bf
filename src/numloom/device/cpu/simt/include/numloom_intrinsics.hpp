// Arithmetic that CUDA has beside the C library.
#pragma once

#include <fenv.h>

// ---------------------------------------------------------------- least, greatest

#define NUMLOOM_MINMAX(T)                                        \
    inline constexpr T min(T a, T b) { return b < a ? b : a; }   \
    inline constexpr T max(T a, T b) { return a < b ? b : a; }
NUMLOOM_MINMAX(int)
NUMLOOM_MINMAX(unsigned)
NUMLOOM_MINMAX(long)
NUMLOOM_MINMAX(unsigned long)
NUMLOOM_MINMAX(long long)
NUMLOOM_MINMAX(unsigned long long)
#undef NUMLOOM_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

namespace numloom {
template <class A, class B> struct Mixed {
    static constexpr bool fits =
        std::is_arithmetic<A>::value && std::is_arithmetic<B>::value && !std::is_same<A, B>::value;
    typedef typename std::conditional<fits, std::common_type<A, B>, Same<void>>::type::type type;
};
}  // namespace numloom
template <class A, class B>
inline typename std::enable_if<numloom::Mixed<A, B>::fits, typename numloom::Mixed<A, B>::type>::type min(A a, B b) {
    typedef typename numloom::Mixed<A, B>::type T;
    return min(T(a), T(b));
}
template <class A, class B>
inline typename std::enable_if<numloom::Mixed<A, B>::fits, typename numloom::Mixed<A, B>::type>::type max(A a, B b) {
    typedef typename numloom::Mixed<A, B>::type T;
    return max(T(a), T(b));
}
inline int umin(unsigned a, unsigned b) { return int(min(a, b)); }
inline int umax(unsigned a, unsigned b) { return int(max(a, b)); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }

// ---------------------------------------------------------------- mathematics

inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return float(1.0 / cbrt(double(x))); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline void sincos(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
#if !defined(_GNU_SOURCE)
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline double exp10(double x) { return pow(10.0, x); }
inline float exp10f(float x) { return float(pow(10.0, double(x))); }
#endif

namespace numloom {
constexpr double PI = 3.14159265358979323846;
// sin and cos of pi x, exact where x is a multiple of a half.
inline void sin_cos_pi(double x, double* s, double* c) {
    if (!(fabs(x) <= 1.7e308)) {
        *s = *c = x - x;
        return;
    }
    const double r = remainder(x, 2.0), quarter = rint(r * 2), rest = (r - quarter / 2) * PI;
    const double sine = sin(rest), cosine = cos(rest);
    switch (int(quarter) & 3) {
        case 0: *s = sine, *c = cosine; break;
        case 1: *s = cosine, *c = -sine; break;
        case 2: *s = -sine, *c = -cosine; break;
        default: *s = -cosine, *c = sine;
    }
}
// The inverse of the error function: a first guess, then Newton's steps on whichever of erf and erfc is precise.
inline double inverse_erfc(double y) {
    if (!(y > 0 && y < 2)) return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : NAN;
    const bool lower = y < 1;
    const double p = lower ? y : 2 - y, t = sqrt(-2 * log(p / 2));
    double x = 0.70710678 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int step = 0; step < 4; ++step) {
        const double error = erfc(x) - p;
        const double slope = 1.12837916709551257 * exp(-x * x);
        if (slope == 0) break;
        x += error / (slope - x * error);
    }
    return lower ? x : -x;
}
inline double inverse_erf(double y) {
    if (fabs(y) > 0.5) return y > 0 ? inverse_erfc(1 - y) : -inverse_erfc(1 + y);
    double x = y * 0.886226925452758;
    for (int step = 0; step < 5; ++step) {
        const double error = erf(x) - y;
        x -= error / (1.12837916709551257 * exp(-x * x) + x * error);
    }
    return x;
}
inline double scaled_erfc(double x) {
    if (x < 25) return exp(x * x) * erfc(x);
    const double r = 1 / (x * x);
    return 0.564189583547756287 / x * (1 - r / 2 * (1 - r * 1.5 * (1 - r * 2.5)));
}
}  // namespace numloom

inline void sincospi(double x, double* s, double* c) { numloom::sin_cos_pi(x, s, c); }
inline void sincospif(float x, float* s, float* c) {
    double sine, cosine;
    numloom::sin_cos_pi(x, &sine, &cosine);
    *s = float(sine), *c = float(cosine);
}
inline void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }
inline double sinpi(double x) { double s, c; numloom::sin_cos_pi(x, &s, &c); return s; }
inline double cospi(double x) { double s, c; numloom::sin_cos_pi(x, &s, &c); return c; }
inline float sinpif(float x) { return float(sinpi(double(x))); }
inline float cospif(float x) { return float(cospi(double(x))); }
inline double erfinv(double x) { return numloom::inverse_erf(x); }
inline double erfcinv(double x) { return numloom::inverse_erfc(x); }
inline double erfcx(double x) { return numloom::scaled_erfc(x); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.707106781186547524); }
inline double normcdfinv(double x) { return -1.41421356237309505 * numloom::inverse_erfc(2 * x); }
inline float erfinvf(float x) { return float(erfinv(double(x))); }
inline float erfcinvf(float x) { return float(erfcinv(double(x))); }
inline float erfcxf(float x) { return float(erfcx(double(x))); }
inline float normcdff(float x) { return float(normcdf(double(x))); }
inline float normcdfinvf(float x) { return float(normcdfinv(double(x))); }
inline double norm3d(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }
inline float norm3df(float x, float y, float z) { return float(norm3d(x, y, z)); }
inline double norm4d(double x, double y, double z, double w) { return sqrt(x * x + y * y + z * z + w * w); }
inline float norm4df(float x, float y, float z, float w) { return float(norm4d(x, y, z, w)); }
inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return float(rnorm3d(x, y, z)); }
inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
inline float rhypotf(float x, float y) { return float(rhypot(x, y)); }
inline float fdividef(float x, float y) { return x / y; }
inline float fdivide(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
// Overloads that the C library lacks.
inline float rcbrt(float x) { return rcbrtf(x); }
inline float sinpi(float x) { return sinpif(x); }
inline float cospi(float x) { return cospif(x); }
inline float erfinv(float x) { return erfinvf(x); }
inline float erfcinv(float x) { return erfcinvf(x); }
inline float exp10(float x) { return exp10f(x); }

// Fast ones, of which the GPU's are less precise.
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

// ---------------------------------------------------------------- arithmetic with a direction of rounding

namespace numloom {
struct Rounding {
    int before;
    explicit Rounding(int mode) : before(fegetround()) { fesetround(mode); }
    ~Rounding() { fesetround(before); }
};
// The compiler must neither compute ahead nor move anything across the change of mode.
template <class T> inline T opaque(T x) {
    volatile T kept = x;
    return kept;
}
}  // namespace numloom

#define NUMLOOM_ROUNDED(suffix, mode)                                                                              \
    inline float __fadd_##suffix(float a, float b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) + numloom::opaque(b)); } \
    inline float __fsub_##suffix(float a, float b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) - numloom::opaque(b)); } \
    inline float __fmul_##suffix(float a, float b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) * numloom::opaque(b)); } \
    inline float __fdiv_##suffix(float a, float b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) / numloom::opaque(b)); } \
    inline float __frcp_##suffix(float a) { numloom::Rounding r(mode); return numloom::opaque(1 / numloom::opaque(a)); }                           \
    inline float __fsqrt_##suffix(float a) { numloom::Rounding r(mode); return numloom::opaque(sqrtf(numloom::opaque(a))); }                       \
    inline float __fmaf_##suffix(float a, float b, float c) { numloom::Rounding r(mode); return numloom::opaque(fmaf(numloom::opaque(a), numloom::opaque(b), numloom::opaque(c))); } \
    inline double __dadd_##suffix(double a, double b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) + numloom::opaque(b)); } \
    inline double __dsub_##suffix(double a, double b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) - numloom::opaque(b)); } \
    inline double __dmul_##suffix(double a, double b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) * numloom::opaque(b)); } \
    inline double __ddiv_##suffix(double a, double b) { numloom::Rounding r(mode); return numloom::opaque(numloom::opaque(a) / numloom::opaque(b)); } \
    inline double __drcp_##suffix(double a) { numloom::Rounding r(mode); return numloom::opaque(1 / numloom::opaque(a)); }                           \
    inline double __dsqrt_##suffix(double a) { numloom::Rounding r(mode); return numloom::opaque(sqrt(numloom::opaque(a))); }                        \
    inline double __fma_##suffix(double a, double b, double c) { numloom::Rounding r(mode); return numloom::opaque(fma(numloom::opaque(a), numloom::opaque(b), numloom::opaque(c))); } \
    inline float __double2float_##suffix(double a) { numloom::Rounding r(mode); return numloom::opaque(float(numloom::opaque(a))); }                 \
    inline float __int2float_##suffix(int a) { numloom::Rounding r(mode); return numloom::opaque(float(numloom::opaque(a))); }                       \
    inline float __uint2float_##suffix(unsigned a) { numloom::Rounding r(mode); return numloom::opaque(float(numloom::opaque(a))); }                 \
    inline float __ll2float_##suffix(long long a) { numloom::Rounding r(mode); return numloom::opaque(float(numloom::opaque(a))); }                  \
    inline float __ull2float_##suffix(unsigned long long a) { numloom::Rounding r(mode); return numloom::opaque(float(numloom::opaque(a))); }        \
    inline double __ll2double_##suffix(long long a) { numloom::Rounding r(mode); return numloom::opaque(double(numloom::opaque(a))); }               \
    inline double __ull2double_##suffix(unsigned long long a) { numloom::Rounding r(mode); return numloom::opaque(double(numloom::opaque(a))); }
NUMLOOM_ROUNDED(rz, FE_TOWARDZERO)
NUMLOOM_ROUNDED(ru, FE_UPWARD)
NUMLOOM_ROUNDED(rd, FE_DOWNWARD)
#undef NUMLOOM_ROUNDED
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// ---------------------------------------------------------------- conversions

namespace numloom {
// As the GPU converts: what is out of range becomes the nearest that is in it, NaN becomes 0.
template <class To, class From> inline To saturated(From x) {
    if (x != x) return 0;
    const To most = To(~To(0)) > To(0) ? To(~To(0)) : To(~(To(1) << (sizeof(To) * 8 - 1)));
    const To least = To(~most);
    const From above = From(most / 2 + 1) * 2;  // a power of two, exact
    if (x >= above) return most;
    if (x < From(least)) return least;
    return To(x);
}
}  // namespace numloom

#define NUMLOOM_CONVERSIONS(prefix, From, name, To)                                                \
    inline To prefix##2##name##_rn(From x) { return numloom::saturated<To>(rint(x)); }             \
    inline To prefix##2##name##_rz(From x) { return numloom::saturated<To>(trunc(x)); }            \
    inline To prefix##2##name##_ru(From x) { return numloom::saturated<To>(ceil(x)); }             \
    inline To prefix##2##name##_rd(From x) { return numloom::saturated<To>(floor(x)); }
NUMLOOM_CONVERSIONS(__float, float, int, int)
NUMLOOM_CONVERSIONS(__float, float, uint, unsigned)
NUMLOOM_CONVERSIONS(__float, float, ll, long long)
NUMLOOM_CONVERSIONS(__float, float, ull, unsigned long long)
NUMLOOM_CONVERSIONS(__double, double, int, int)
NUMLOOM_CONVERSIONS(__double, double, uint, unsigned)
NUMLOOM_CONVERSIONS(__double, double, ll, long long)
NUMLOOM_CONVERSIONS(__double, double, ull, unsigned long long)
#undef NUMLOOM_CONVERSIONS
inline float __double2float_rn(double x) { return float(x); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }

inline int __float_as_int(float x) { return numloom::bits<int>(x); }
inline unsigned __float_as_uint(float x) { return numloom::bits<unsigned>(x); }
inline float __int_as_float(int x) { return numloom::bits<float>(x); }
inline float __uint_as_float(unsigned x) { return numloom::bits<float>(x); }
inline long long __double_as_longlong(double x) { return numloom::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return numloom::bits<double>(x); }
inline int __double2hiint(double x) { return int(numloom::bits<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return int(numloom::bits<unsigned long long>(x)); }
inline double __hiloint2double(int high, int low) {
    return numloom::bits<double>((unsigned long long)unsigned(high) << 32 | unsigned(low));
}

// ---------------------------------------------------------------- integers

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
    x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
    x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
    return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int k = 0; k < 4; ++k) {
        const unsigned which = selector >> (4 * k) & 15;
        unsigned byte = unsigned(both >> (8 * (which & 7))) & 255;
        if (which & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * k);
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int mul24(int a, int b) { return __mul24(a, b); }
inline unsigned umul24(unsigned a, unsigned b) { return __umul24(a, b); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __sad(int a, int b, unsigned c) { return c + (a < b ? unsigned(b) - unsigned(a) : unsigned(a) - unsigned(b)); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b + 1) >> 1); }
inline int __dp4a(int a, int b, int c) {
    for (int k = 0; k < 32; k += 8) c += int((signed char)(a >> k)) * int((signed char)(b >> k));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int k = 0; k < 32; k += 8) c += (a >> k & 255) * (b >> k & 255);
    return c;
}
// The place of the n-th set bit from `base` on (or down, for negative n); the bit itself counts for n = 0.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
    const int step = offset > 0 ? 1 : -1;
    int left = offset * step;
    for (int at = int(base); at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0) return unsigned(at);
    return 0xffffffffu;
}

// Several small numbers in one word.
#define NUMLOOM_LANES(name, Lane, Wide, bits_, expression)                                     \
    inline unsigned name(unsigned a_, unsigned b_) {                                           \
        unsigned result = 0;                                                                   \
        for (int k = 0; k < 32; k += bits_) {                                                  \
            const Wide a = (Lane)(a_ >> k), b = (Lane)(b_ >> k);                               \
            result |= unsigned((unsigned long long)(expression) & ((1ull << bits_) - 1)) << k; \
        }                                                                                      \
        return result;                                                                         \
    }
#define NUMLOOM_BOTH(name, expression)                                          \
    NUMLOOM_LANES(__v##name##2, unsigned short, int, 16, expression)            \
    NUMLOOM_LANES(__v##name##4, unsigned char, int, 8, expression)
#define NUMLOOM_SIGNED(name, expression)                                        \
    NUMLOOM_LANES(__v##name##2, short, int, 16, expression)                     \
    NUMLOOM_LANES(__v##name##4, signed char, int, 8, expression)
NUMLOOM_BOTH(add, a + b)
NUMLOOM_BOTH(sub, a - b)
NUMLOOM_BOTH(absdiffu, a < b ? b - a : a - b)
NUMLOOM_BOTH(avgu, (a + b + 1) >> 1)
NUMLOOM_BOTH(hadd, (a + b) >> 1)
NUMLOOM_BOTH(minu, a < b ? a : b)
NUMLOOM_BOTH(maxu, a < b ? b : a)
NUMLOOM_BOTH(cmpeq, a == b ? -1 : 0)
NUMLOOM_BOTH(cmpne, a != b ? -1 : 0)
NUMLOOM_BOTH(cmpltu, a < b ? -1 : 0)
NUMLOOM_BOTH(cmpgtu, a > b ? -1 : 0)
NUMLOOM_SIGNED(mins, a < b ? a : b)
NUMLOOM_SIGNED(maxs, a < b ? b : a)
NUMLOOM_SIGNED(cmplts, a < b ? -1 : 0)
NUMLOOM_SIGNED(cmpgts, a > b ? -1 : 0)
#undef NUMLOOM_BOTH
#undef NUMLOOM_SIGNED
#undef NUMLOOM_LANES

// ---------------------------------------------------------------- memory

#define NUMLOOM_LOAD(name) \
    template <class T> inline T name(const T* at) { return *at; }
NUMLOOM_LOAD(__ldg)
NUMLOOM_LOAD(__ldca)
NUMLOOM_LOAD(__ldcg)
NUMLOOM_LOAD(__ldcs)
NUMLOOM_LOAD(__ldcv)
NUMLOOM_LOAD(__ldlu)
#undef NUMLOOM_LOAD
#define NUMLOOM_STORE(name) \
    template <class T> inline void name(T* at, numloom::same<T> value) { *at = value; }
NUMLOOM_STORE(__stwb)
NUMLOOM_STORE(__stcg)
NUMLOOM_STORE(__stcs)
NUMLOOM_STORE(__stwt)
#undef NUMLOOM_STORE
