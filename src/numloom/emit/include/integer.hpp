// Integer operations without undefined behaviour: what C++ leaves open has NumPy's answer.
namespace nl {
template <class T> NL_DEV bool is_signed() { return (T)-1 < (T)0; }
// What division is asked for: neither zero nor -1, over which the lowest number overflows.
template <class T> NL_DEV T divisor(T b) {
    T d = b == 0 ? (T)1 : b;
    return is_signed<T>() && d == (T)-1 ? (T)1 : d;
}
template <class T> NL_DEV T less_product(T a, T q, T d) { return (T)((u64)a - (u64)q * (u64)d); }
// a / d, truncated. On the host by floating point, which makes vectors: the quotient of numbers of half its digits is not
// rounded up to a whole one. Of 64 bits a second step divides what the first left, to within one. Numbers that round up to
// 2^63 or 2^64 are out of range of the cast: whichever quotient it gives, the second step leaves the right one.
#if !defined(__CUDACC__) && defined(__AVX512DQ__)
__attribute__((no_sanitize("float-cast-overflow"))) NL_DEV i64 wide_quotient(i64 a, i64 d) {
    i64 q = (i64)((f64)a / (f64)d), r = less_product(a, q, d), more = (i64)((f64)r / (f64)d);
    q = (i64)((u64)q + (u64)more);
    r = less_product(r, more, d);
    i64 one = d < 0 ? -1 : 1;
    q = (a > 0) & (r < 0) ? q - one : q;
    return (a < 0) & (r > 0) ? q + one : q;
}
__attribute__((no_sanitize("float-cast-overflow"))) NL_DEV u64 wide_quotient(u64 a, u64 d) {
    u64 q = (u64)((f64)a / (f64)d);
    i64 r = (i64)(a - q * d), more = (i64)((f64)r / (f64)d);
    q = q + (u64)more;
    r = (i64)((u64)r - (u64)more * d);
    q = r < 0 ? q - 1 : q;
    return d >> 63 ? (u64)(a >= d) : q;
}
#else
NL_DEV i64 wide_quotient(i64 a, i64 d) { return a / d; }
NL_DEV u64 wide_quotient(u64 a, u64 d) { return a / d; }
#endif
template <class T> NL_DEV T quotient(T a, T d) {
#ifdef __CUDACC__
    return (T)(a / d);
#else
    if (sizeof(T) == 1) {  // By an inverse, which is computed once where all elements are divided by the same number.
        u32 x = (u32)(a < 0 ? -(i32)a : (i32)a), y = (u32)(d < 0 ? -(i32)d : (i32)d);
        u32 q = x * ((u32)(i32)(65535.0f / (f32)(i32)y) + 1) >> 16;
        return (T)((a < 0) != (d < 0) ? 0 - q : q);
    }
    if (sizeof(T) < 4) return (T)(i32)((f32)a / (f32)d);
    if (sizeof(T) == 4) return (T)((f64)a / (f64)d);
    return is_signed<T>() ? (T)wide_quotient((i64)a, (i64)d) : (T)wide_quotient((u64)a, (u64)d);
#endif
}
template <class T> NL_DEV T truncated_remainder(T a, T b) {
    T d = divisor(b);
    return less_product(a, quotient(a, d), d);
}
template <class T> NL_DEV T integer_floor_divide(T a, T b) {
    T d = divisor(b), q = quotient(a, d);
    if (is_signed<T>()) {
        T r = less_product(a, q, d);
        q = (T)(q - (T)((r != 0) & ((a < 0) != (b < 0))));
        q = b == (T)-1 ? (T)(0 - (u64)a) : q;
    }
    return b == 0 ? (T)0 : q;
}
template <class T> NL_DEV T integer_remainder(T a, T b) {
    T r = truncated_remainder(a, b);
    return is_signed<T>() ? (T)((r != 0) & ((r < 0) != (b < 0)) ? r + b : r) : r;
}
// Negative exponents are refused above; here they give the truncated reciprocal.
template <class T> NL_DEV T integer_power(T a, T b) {
    if (is_signed<T>() && b < 0) return a == (T)1 || (a == (T)-1 && !(b & 1)) ? (T)1 : a == (T)-1 ? (T)-1 : (T)0;
    u64 r = 1, x = (u64)a, n = (u64)b;
#ifndef __CUDACC__
    // Without a branch that would be guessed wrong for small exponents.
    for (int k = 0; k < 3; ++k, n >>= 1, x *= x) r *= n & 1 ? x : 1;
#endif
    for (; n; n >>= 1, x *= x) r = n & 1 ? r * x : r;
    return (T)r;
}
template <class T> NL_DEV T integer_absolute(T a) { return is_signed<T>() && a < 0 ? (T)(0 - (u64)a) : a; }
template <class T> NL_DEV T integer_reciprocal(T a) {
    T zero = sizeof(T) < 4 || !is_signed<T>() ? (T)0 : (T)((u64)1 << (8 * sizeof(T) - 1));
    return a == (T)1 ? (T)1 : is_signed<T>() && a == (T)-1 ? (T)-1 : a == 0 ? zero : (T)0;
}
template <class T> NL_DEV T integer_sign(T a) { return (T)((a > 0) - (is_signed<T>() && a < 0)); }
// U has the width that T is computed in: numbers of 32 bits shift twice as many to a vector.
template <class U, class T> NL_DEV T left_shift_in(T a, T b) {
    U n = (U)b, most = 8 * sizeof(U) - 1;
    return n < 8 * sizeof(T) ? (T)((U)a << (n & most)) : (T)0;
}
template <class U, class T> NL_DEV T right_shift_in(T a, T b) {
    U n = (U)b, width = 8 * sizeof(T);
    T r = (T)(a >> (int)(n < width ? n : width - 1));
    return n < width || is_signed<T>() ? r : (T)0;
}
template <class T> NL_DEV T left_shift(T a, T b) {
    return sizeof(T) > 4 ? left_shift_in<u64>(a, b) : left_shift_in<u32>(a, b);
}
template <class T> NL_DEV T right_shift(T a, T b) {
    return sizeof(T) > 4 ? right_shift_in<u64>(a, b) : right_shift_in<u32>(a, b);
}
template <class T> NL_DEV u8 bit_count(T a) {
    u64 x = (u64)integer_absolute(a) & (~0ull >> (64 - 8 * sizeof(T)));
    x -= (x >> 1) & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (u8)((x * 0x0101010101010101ull) >> 56);
}
template <class T> NL_DEV u64 magnitude(T a) { return (u64)integer_absolute(a) & (~0ull >> (64 - 8 * sizeof(T))); }
#ifdef __CUDACC__
// Division of 32 bits takes a GPU a fifth of what 64 bits take.
NL_DEV u32 euclid(u32 a, u32 b) {
    while (a) { u32 r = b % a; b = a; a = r; }
    return b;
}
NL_DEV u64 euclid(u64 a, u64 b) {
    while ((a | b) >> 32) {
        if (!a) return b;
        u64 r = b % a; b = a; a = r;
    }
    return euclid((u32)a, (u32)b);
}
#else
// By subtraction and shifts (Stein, 1967): no division, and no branch but the loop's.
template <class U> NL_DEV U euclid(U a, U b) {
    if (a == 0 || b == 0) return a | b;
    const int twos = __builtin_ctzll(a | b);
    a = a >> __builtin_ctzll(a);
    do {
        b = b >> __builtin_ctzll(b);
        const U less = a < b ? a : b;
        b = a < b ? b - a : a - b;
        a = less;
    } while (b);
    return a << twos;
}
#endif
template <class T> NL_DEV T gcd(T a, T b) {
    if (sizeof(T) <= 4) return (T)euclid((u32)magnitude(a), (u32)magnitude(b));
    return (T)euclid(magnitude(a), magnitude(b));
}
template <class T> NL_DEV T lcm(T a, T b) {
    if (sizeof(T) <= 4) {
        u32 x = (u32)magnitude(a), y = (u32)magnitude(b), g = euclid(x, y);
        return g == 0 ? (T)0 : (T)(x / g * y);
    }
    u64 x = magnitude(a), y = magnitude(b), g = euclid(x, y);
    return g == 0 ? (T)0 : (T)((x | g) >> 32 ? x / g * y : (u32)x / (u32)g * y);
}
NL_DEV bool integers_equal(i64 a, u64 b) { return a >= 0 && (u64)a == b; }
NL_DEV bool integers_equal(u64 a, i64 b) { return b >= 0 && (u64)b == a; }
NL_DEV bool integers_less(i64 a, u64 b) { return a < 0 || (u64)a < b; }
NL_DEV bool integers_less(u64 a, i64 b) { return b >= 0 && a < (u64)b; }
}
