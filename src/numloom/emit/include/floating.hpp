// Exact floating-point operations: signs, neighbours, scaling.
namespace nl {
template <class T> NL_DEV bool is_inf(T x) { return (x == (T)NL_INFINITY) | (x == -(T)NL_INFINITY); }
template <class T> NL_DEV bool is_finite(T x) { return x - x == 0; }
NL_DEV bool sign_bit(f32 x) { return bits(x) >> 31; }
NL_DEV bool sign_bit(f64 x) { return bits(x) >> 63; }
template <class T> NL_DEV T sign(T x) {
    T r = copysign((T)1, x);
    r = x == 0 ? (T)0 : r;
    return x != x ? x : r;
}
template <class T> NL_DEV T heaviside(T x, T h) { return x != x ? x : x == 0 ? h : x < 0 ? (T)0 : (T)1; }
NL_DEV f32 next_after(f32 x, f32 y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) return copysign(from_bits(1u), y);
    return from_bits((x < y) == (x > 0) ? bits(x) + 1 : bits(x) - 1);
}
NL_DEV f64 next_after(f64 x, f64 y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) return copysign(from_bits((u64)1), y);
    return from_bits((x < y) == (x > 0) ? bits(x) + 1 : bits(x) - 1);
}
template <class T> NL_DEV T spacing(T x) {
    if (is_inf(x)) return x - x;
    T away = x == 0 ? (T)1 : copysign((T)NL_INFINITY, x);
    return next_after(x, away) - x;
}
template <class T> NL_DEV T modf_fraction(T x) { return is_inf(x) ? copysign((T)0, x) : copysign(x - trunc(x), x); }
// x = m 2^e with |m| in [1/2, 1); for numbers that are neither 0 nor infinite nor NaN.
NL_DEV f64 split_float(f64 x, i32& e) {
    bool small = fabs(x) < 2.2250738585072014e-308;
    u64 u = bits(small ? x * 18014398509481984.0 : x);
    e = (i32)(u >> 52 & 2047) - (small ? 1076 : 1022);
    return from_bits((u & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
NL_DEV f32 split_float(f32 x, i32& e) {
    bool small = fabs(x) < 1.17549435e-38f;
    u32 u = bits(small ? x * 33554432.0f : x);
    e = (i32)(u >> 23 & 255) - (small ? 151 : 126);
    return from_bits((u & 0x807fffffu) | 0x3f000000u);
}
template <class T> NL_DEV i32 frexp_exponent(T x) {
    i32 e;
    split_float(x, e);
    return (x == 0) | !is_finite(x) ? 0 : e;
}
template <class T> NL_DEV T frexp_mantissa(T x) {
    i32 e;
    T m = split_float(x, e);
    return (x == 0) | !is_finite(x) ? x : m;
}
}
