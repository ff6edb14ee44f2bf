// Floating-point types of 16 bits: kept as bits, computed as float and rounded once, as the GPU does.
#pragma once

namespace numloom {

struct HalfFormat {
    static constexpr unsigned short INFINITE = 0x7c00;
    static float widen(unsigned short h) {
#if defined(__FLT16_MANT_DIG__)
        return float(bits<_Float16>(h));
#else
        const unsigned sign = unsigned(h & 0x8000) << 16, rest = h & 0x7fff;
        if (rest >= 0x7c00) return bits<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
        if (rest >= 0x400) return bits<float>(sign | ((rest << 13) + (112u << 23)));
        const float tiny = float(rest) * 5.9604644775390625e-8f;
        return sign ? -tiny : tiny;
#endif
    }
    // From double, so that results of more than 24 bits are rounded once only.
    static unsigned short narrow(double x) {
        const unsigned short sign = __builtin_signbit(x) ? 0x8000 : 0;
        if (x != x) return 0x7fff;
        const double a = fabs(x);
        if (a >= 65520.0) return sign | 0x7c00;
        if (a == 0) return sign;
        int exponent = ilogb(a);
        if (exponent < -14) exponent = -14;
        const int units = int(rint(ldexp(a, 10 - exponent)));  // 1024 to 2048, fewer below the normal numbers
        return sign | (unsigned short)(units + ((exponent + 14) << 10));
    }
};

struct BrainFormat {
    static constexpr unsigned short INFINITE = 0x7f80;
    static float widen(unsigned short h) { return bits<float>(unsigned(h) << 16); }
    static unsigned short narrow(double x) {
        if (x != x) return 0x7fff;
        // To float by rounding to odd: the second rounding then sees all it must.
        float f = float(x);
        unsigned word = bits<unsigned>(f);
        if (double(f) != x && __builtin_isfinite(f)) {
            if (fabs(double(f)) > fabs(x)) word -= 1;
            word |= 1;
        }
        if (!__builtin_isfinite(f) && __builtin_isfinite(x)) return (word >> 16 & 0x8000) | 0x7f80;
        return (unsigned short)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
};

template <class F> struct Sixteen {
    unsigned short bits_;
    Sixteen() = default;
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    Sixteen(T x) : bits_(F::narrow(double(x))) {}
    static Sixteen raw(unsigned short bits) {
        Sixteen h;
        h.bits_ = bits;
        return h;
    }
    operator float() const { return F::widen(bits_); }
    Sixteen& operator+=(Sixteen b) { return *this = *this + b; }
    Sixteen& operator-=(Sixteen b) { return *this = *this - b; }
    Sixteen& operator*=(Sixteen b) { return *this = *this * b; }
    Sixteen& operator/=(Sixteen b) { return *this = *this / b; }
    Sixteen& operator++() { return *this = *this + Sixteen(1); }
    Sixteen& operator--() { return *this = *this - Sixteen(1); }
    Sixteen operator-() const { return raw(bits_ ^ 0x8000); }
    Sixteen operator+() const { return *this; }
    friend Sixteen operator+(Sixteen a, Sixteen b) { return Sixteen(float(a) + float(b)); }
    friend Sixteen operator-(Sixteen a, Sixteen b) { return Sixteen(float(a) - float(b)); }
    friend Sixteen operator*(Sixteen a, Sixteen b) { return Sixteen(float(a) * float(b)); }
    friend Sixteen operator/(Sixteen a, Sixteen b) { return Sixteen(float(a) / float(b)); }
    friend bool operator==(Sixteen a, Sixteen b) { return float(a) == float(b); }
    friend bool operator!=(Sixteen a, Sixteen b) { return float(a) != float(b); }
    friend bool operator<(Sixteen a, Sixteen b) { return float(a) < float(b); }
    friend bool operator<=(Sixteen a, Sixteen b) { return float(a) <= float(b); }
    friend bool operator>(Sixteen a, Sixteen b) { return float(a) > float(b); }
    friend bool operator>=(Sixteen a, Sixteen b) { return float(a) >= float(b); }
};

template <class F> struct alignas(4) Two {
    typedef Sixteen<F> H;
    H x, y;
    Two() = default;
    Two(H x_, H y_) : x(x_), y(y_) {}
    Two& operator+=(Two b) { return *this = *this + b; }
    Two& operator-=(Two b) { return *this = *this - b; }
    Two& operator*=(Two b) { return *this = *this * b; }
    Two& operator/=(Two b) { return *this = *this / b; }
    Two operator-() const { return Two(-x, -y); }
    friend Two operator+(Two a, Two b) { return Two(a.x + b.x, a.y + b.y); }
    friend Two operator-(Two a, Two b) { return Two(a.x - b.x, a.y - b.y); }
    friend Two operator*(Two a, Two b) { return Two(a.x * b.x, a.y * b.y); }
    friend Two operator/(Two a, Two b) { return Two(a.x / b.x, a.y / b.y); }
    friend bool operator==(Two a, Two b) { return a.x == b.x && a.y == b.y; }
    friend bool operator!=(Two a, Two b) { return !(a == b); }
};

template <class F> inline Sixteen<F> fused(Sixteen<F> a, Sixteen<F> b, Sixteen<F> c) {
    return Sixteen<F>(double(float(a)) * double(float(b)) + double(float(c)));
}

}  // namespace numloom

#define NUMLOOM_H numloom::Sixteen<F>
#define NUMLOOM_H2 numloom::Two<F>
#define NUMLOOM_BINARY(name, expression)                                                                       \
    template <class F> inline NUMLOOM_H name(NUMLOOM_H a, numloom::same<NUMLOOM_H> b) { return expression; }    \
    template <class F> inline NUMLOOM_H2 name##2(NUMLOOM_H2 a, numloom::same<NUMLOOM_H2> b) {                   \
        return NUMLOOM_H2(name(a.x, b.x), name(a.y, b.y));                                                     \
    }
NUMLOOM_BINARY(__hadd, a + b)
NUMLOOM_BINARY(__hadd_rn, a + b)
NUMLOOM_BINARY(__hsub, a - b)
NUMLOOM_BINARY(__hsub_rn, a - b)
NUMLOOM_BINARY(__hmul, a* b)
NUMLOOM_BINARY(__hmul_rn, a* b)
NUMLOOM_BINARY(__hadd_sat, NUMLOOM_H(__saturatef(float(a) + float(b))))
NUMLOOM_BINARY(__hsub_sat, NUMLOOM_H(__saturatef(float(a) - float(b))))
NUMLOOM_BINARY(__hmul_sat, NUMLOOM_H(__saturatef(float(a) * float(b))))
NUMLOOM_BINARY(__hmin, NUMLOOM_H(fminf(a, b)))
NUMLOOM_BINARY(__hmax, NUMLOOM_H(fmaxf(a, b)))
#undef NUMLOOM_BINARY
template <class F> inline NUMLOOM_H __hdiv(NUMLOOM_H a, numloom::same<NUMLOOM_H> b) { return a / b; }
template <class F> inline NUMLOOM_H2 __h2div(NUMLOOM_H2 a, numloom::same<NUMLOOM_H2> b) { return a / b; }
template <class F> inline NUMLOOM_H __hfma(NUMLOOM_H a, numloom::same<NUMLOOM_H> b, numloom::same<NUMLOOM_H> c) {
    return numloom::fused(a, b, c);
}
template <class F> inline NUMLOOM_H2 __hfma2(NUMLOOM_H2 a, numloom::same<NUMLOOM_H2> b, numloom::same<NUMLOOM_H2> c) {
    return NUMLOOM_H2(numloom::fused(a.x, b.x, c.x), numloom::fused(a.y, b.y, c.y));
}
template <class F> inline NUMLOOM_H __hneg(NUMLOOM_H a) { return -a; }
template <class F> inline NUMLOOM_H2 __hneg2(NUMLOOM_H2 a) { return -a; }
template <class F> inline NUMLOOM_H __habs(NUMLOOM_H a) { return NUMLOOM_H::raw(a.bits_ & 0x7fff); }
template <class F> inline NUMLOOM_H2 __habs2(NUMLOOM_H2 a) { return NUMLOOM_H2(__habs(a.x), __habs(a.y)); }
template <class F> inline bool __hisnan(NUMLOOM_H a) { return (a.bits_ & 0x7fff) > F::INFINITE; }
template <class F> inline int __hisinf(NUMLOOM_H a) {
    return (a.bits_ & 0x7fff) != F::INFINITE ? 0 : a.bits_ & 0x8000 ? -1 : 1;
}

#define NUMLOOM_COMPARISON(name, relation)                                                                       \
    template <class F> inline bool __h##name(NUMLOOM_H a, numloom::same<NUMLOOM_H> b) { return float(a) relation float(b); } \
    template <class F> inline bool __hb##name##2(NUMLOOM_H2 a, numloom::same<NUMLOOM_H2> b) {                     \
        return float(a.x) relation float(b.x) && float(a.y) relation float(b.y);                                 \
    }                                                                                                            \
    template <class F> inline NUMLOOM_H2 __h##name##2(NUMLOOM_H2 a, numloom::same<NUMLOOM_H2> b) {                \
        return NUMLOOM_H2(NUMLOOM_H(int(float(a.x) relation float(b.x))), NUMLOOM_H(int(float(a.y) relation float(b.y)))); \
    }
NUMLOOM_COMPARISON(eq, ==)
NUMLOOM_COMPARISON(ne, !=)
NUMLOOM_COMPARISON(lt, <)
NUMLOOM_COMPARISON(le, <=)
NUMLOOM_COMPARISON(gt, >)
NUMLOOM_COMPARISON(ge, >=)
#undef NUMLOOM_COMPARISON

#define NUMLOOM_FUNCTION(name, function)                                                              \
    template <class F> inline NUMLOOM_H h##name(NUMLOOM_H a) { return NUMLOOM_H(function(float(a))); } \
    template <class F> inline NUMLOOM_H2 h2##name(NUMLOOM_H2 a) { return NUMLOOM_H2(h##name(a.x), h##name(a.y)); }
NUMLOOM_FUNCTION(sqrt, sqrt)
NUMLOOM_FUNCTION(rsqrt, rsqrtf)
NUMLOOM_FUNCTION(rcp, __frcp_rn)
NUMLOOM_FUNCTION(exp, expf)
NUMLOOM_FUNCTION(exp2, exp2f)
NUMLOOM_FUNCTION(exp10, exp10f)
NUMLOOM_FUNCTION(log, logf)
NUMLOOM_FUNCTION(log2, log2f)
NUMLOOM_FUNCTION(log10, log10f)
NUMLOOM_FUNCTION(sin, sinf)
NUMLOOM_FUNCTION(cos, cosf)
NUMLOOM_FUNCTION(tanh, tanhf)
NUMLOOM_FUNCTION(floor, floorf)
NUMLOOM_FUNCTION(ceil, ceilf)
NUMLOOM_FUNCTION(rint, rintf)
NUMLOOM_FUNCTION(trunc, truncf)
#undef NUMLOOM_FUNCTION

// Names that contain the type's: `half` and `half2`, `bfloat16` and `bfloat162`.
#define NUMLOOM_SIXTEEN(H, H2, half, half2)                                                               \
    inline H __float2##half(float x) { return H(x); }                                                     \
    inline H __float2##half##_rn(float x) { return H(x); }                                                \
    inline H __float2##half##_rz(float x) { return numloom::toward_zero<H>(x); }                          \
    inline H __double2##half(double x) { return H(x); }                                                   \
    inline float __##half##2float(H x) { return float(x); }                                               \
    inline H __int2##half##_rn(int x) { return H(x); }                                                    \
    inline H __uint2##half##_rn(unsigned x) { return H(x); }                                              \
    inline H __short2##half##_rn(short x) { return H(x); }                                                \
    inline H __ushort2##half##_rn(unsigned short x) { return H(x); }                                      \
    inline H __ll2##half##_rn(long long x) { return H(x); }                                               \
    inline int __##half##2int_rn(H x) { return __float2int_rn(x); }                                       \
    inline int __##half##2int_rz(H x) { return __float2int_rz(x); }                                       \
    inline int __##half##2int_ru(H x) { return __float2int_ru(x); }                                       \
    inline int __##half##2int_rd(H x) { return __float2int_rd(x); }                                       \
    inline unsigned __##half##2uint_rn(H x) { return __float2uint_rn(x); }                                \
    inline unsigned __##half##2uint_rz(H x) { return __float2uint_rz(x); }                                \
    inline long long __##half##2ll_rn(H x) { return __float2ll_rn(x); }                                   \
    inline unsigned short __##half##_as_ushort(H x) { return x.bits_; }                                   \
    inline short __##half##_as_short(H x) { return short(x.bits_); }                                      \
    inline H __ushort_as_##half(unsigned short x) { return H::raw(x); }                                   \
    inline H __short_as_##half(short x) { return H::raw((unsigned short)x); }                             \
    inline H2 __##half##2##half2(H x) { return H2(x, x); }                                                \
    inline H2 __halves2##half2(H x, H y) { return H2(x, y); }                                             \
    inline H2 make_##half2(H x, H y) { return H2(x, y); }                                                 \
    inline H2 __float2##half2##_rn(float x) { return H2(H(x), H(x)); }                                    \
    inline H2 __floats2##half2##_rn(float x, float y) { return H2(H(x), H(y)); }                          \
    inline H2 __float22##half2##_rn(float2 v) { return H2(H(v.x), H(v.y)); }                              \
    inline float2 __##half2##2float2(H2 v) { return float2{float(v.x), float(v.y)}; }                     \
    inline H __low2##half(H2 v) { return v.x; }                                                           \
    inline H __high2##half(H2 v) { return v.y; }                                                          \
    inline H2 __low2##half2(H2 v) { return H2(v.x, v.x); }                                                \
    inline H2 __high2##half2(H2 v) { return H2(v.y, v.y); }                                               \
    inline float __low2float(H2 v) { return float(v.x); }                                                 \
    inline float __high2float(H2 v) { return float(v.y); }                                                \
    inline H2 __lowhigh2highlow(H2 v) { return H2(v.y, v.x); }                                            \
    inline H2 __lows2##half2(H2 a, H2 b) { return H2(a.x, b.x); }                                         \
    inline H2 __highs2##half2(H2 a, H2 b) { return H2(a.y, b.y); }

namespace numloom {
template <class H> inline H toward_zero(float x) {
    H h(x);
    if (fabsf(float(h)) > fabsf(x)) h = H::raw(h.bits_ - 1);
    return h;
}
}  // namespace numloom
