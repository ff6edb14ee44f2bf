// Exact floating-point operations: NumPy's division with remainder, signs, neighbours, scaling.
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
template <class T> NL_DEV T floor_divide(T a, T b) {
    if (b == 0) return a / b;
    T mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= (T)1;
    if (div == 0) return copysign((T)0, a / b);
    T whole = floor(div);
    return div - whole > (T)0.5 ? whole + (T)1 : whole;
}
template <class T> NL_DEV T remainder(T a, T b) {
    T mod = fmod(a, b);
    if (b == 0) return mod;
    if (mod == 0) return copysign((T)0, b);
    return (b < 0) != (mod < 0) ? mod + b : mod;
}
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
NL_DEV f64 power_of_two(i32 n) { return from_bits((u64)(n + 1023) << 52); }
NL_DEV f64 ldexp(f64 x, i64 n) {
    i32 k = n > 4200 ? 4200 : n < -4200 ? -4200 : (i32)n;
    // Whole steps while one is too large, kept so that a subnormal result rounds once.
    for (int step = 0; step < 4 && k > 1023; ++step, k -= 1023) x *= power_of_two(1023);
    for (int step = 0; step < 4 && k < -969; ++step, k += 969) x *= power_of_two(-969);
    return x * power_of_two(k);
}
NL_DEV f32 ldexp(f32 x, i64 n) {
    i32 k = n > 600 ? 600 : n < -600 ? -600 : (i32)n;
    return (f32)((f64)x * power_of_two(k));
}
template <class T> NL_DEV T modf_fraction(T x) { return is_inf(x) ? copysign((T)0, x) : copysign(x - trunc(x), x); }
NL_DEV i32 frexp_exponent(f64 x) {
    u64 u = bits(x) & 0x7fffffffffffffffull;
    u64 v = bits(fabs(x) * 18014398509481984.0);
    return u == 0 || u >= 0x7ff0000000000000ull ? 0 : u >> 52 ? (i32)(u >> 52) - 1022 : (i32)(v >> 52) - 1076;
}
NL_DEV i32 frexp_exponent(f32 x) { return frexp_exponent((f64)x); }
template <class T> NL_DEV T frexp_mantissa(T x) {
    return x == 0 || !is_finite(x) ? x : ldexp(x, (i64)-frexp_exponent(x));
}
}
