// Hyperbolic functions and their inverses.
NL_CUDA_FLOAT1(sinh)
NL_CUDA_FLOAT1(cosh)
NL_CUDA_FLOAT1(tanh)
NL_CUDA_FLOAT1(asinh)
NL_CUDA_FLOAT1(acosh)
NL_CUDA_FLOAT1(atanh)
namespace nl {
NL_DEV f32 tanh_rest(f32 z) {
    return horner(z, -0.3333333033f, 0.1333291537f, -0.05387394885f, 0.02111095905f, -0.00626911972f);
}
NL_DEV f64 tanh_rest(f64 z) {
    return horner(z, -0.33333333333333330589, 0.13333333333329433857, -0.053968253959152076793, 0.021869487725710520229,
                  -0.0088632000249942392409, 0.0035912807603255065094, -0.0014445662421400336247,
                  0.00051084434913505085981);
}
// 1 - 2 / (exp(2 |x|) + 1); near 0 a series, since there the difference would lose digits
#ifndef __CUDACC__
NL_DEV f32 tanh(f32 x) {
    u32 u = bits(x) & 0x7fffffffu;
    f32 a = from_bits(u), z = a * a, b = from_bits(u < 0x41200000u ? u : 0x41200000u);  // at most 10, also of NaN
    f32 t = fma(b, 2.88539008f, 12583039.0f);  // n + 127 in its last bits
    f32 r = fma(t - 12583039.0f, -0.346573591f, b);  // |x| less n log(2) / 2
    f32 y = horner(r, 1.0f, 2.0f, 1.99999976f, 1.33332169f, 0.666692495f, 0.267798096f, 0.0884447396f);
    f32 d = fma(from_bits(bits(t) << 23), y, 1.0f);
    return copysign(a >= 0.6f ? 1.0f - 2.0f / d : fma(a, z * tanh_rest(z), a), x);
}
#endif
NL_DEV f64 scaled_exp(f64 x, f64& y) {  // exp(x) = s (1 + y), s a power of two, within the range of normal numbers
    i64 n;
    f64 r, t;
    reduce_exp(x, n, r, t);
    y = r + t;
    return exp2_integer(n);
}
NL_DEV f64 tanh(f64 x) {
    f64 a = fabs(x), z = a * a, y, s = scaled_exp(2 * (a > 22.0 ? 22.0 : a), y), e = fma(s, y, s - 1.0);
    return copysign(is_below(a, 0.3) ? fma(a, z * tanh_rest(z), a) : e / (e + 2.0), x);
}
// exp(a) / 4, infinite where half of exp(a) is
NL_DEV f32 quarter_exp(f32 a) {
    i32 n;
    f32 r, t;
    reduce_exp(a > 90.0f ? 90.0f : a, n, r, t);
    return exp2_integer(n - 2) * (1.0f + (r + t));
}
NL_DEV f64 quarter_exp(f64 a) {
    i64 n;
    f64 r, t;
    reduce_exp(a > 711.0 ? 711.0 : a, n, r, t);
    return exp2_integer(n - 2) * (1.0 + (r + t));
}
NL_DEV f32 sinh_rest(f32 z) { return horner(z, 0.166666672f, 0.00833333936f, 0.000198381022f, 2.80628024e-06f); }
NL_DEV f64 sinh_rest(f64 z) {
    return horner(z, 0.16666666666666666, 0.0083333333333332985, 0.00019841269841324198, 2.7557319191381816e-06,
                  2.5052117695907823e-08, 1.6057679623801638e-10, 7.7461785930188273e-13);
}
template <class T> NL_DEV T sinh(T x) {
    T a = fabs(x), q = quarter_exp(a), z = x * x;
    return copysign(a < (T)1 ? fma(a, z * sinh_rest(z), a) : fma((T)2, q, (T)-0.125 / q), x);
}
template <class T> NL_DEV T cosh(T x) {
    T q = quarter_exp(fabs(x));
    return fma((T)2, q, (T)0.125 / q);
}
// log(a + h), h = sqrt(1 + a^2); what the two roundings leave out is found while the quotient of the logarithm waits for h.
NL_DEV f64 asinh(f64 x) {
    f64 a = fabs(x), square = fma(a, a, 1.0), h = sqrt(square), sum = a + h, twice = h + h;
    f64 rest = fma(-h, h, square) + fma(a, a, 1.0 - square), y = half_inverse(h), e = fma(-twice, y, 1.0);
    rest = fma(rest, fma(y, fma(e, e, e), y), a - (sum - h));
    bool large = a > 1e9;
    f64 w = large ? a : sum, k, m = split_sum(w, k), c = (large ? 0.0 : rest) * inverse_power(w), f = m + c;
    f64 r = join_log(large ? k + 1.0 : k, f, c - (f - m)), near = fma(a * a * a, -0.16666666666666666, a);
    r = a < 6.103515625e-05 ? near : r;
    return copysign(a < NL_INFINITY ? r : a, x);
}
NL_DEV f64 acosh(f64 x) {
    bool large = x > 1e9;
    f64 t = x - 1, y = log1p(large ? t : t + sqrt(2 * t + t * t)) + (large ? 0.69314718055994530942 : 0.0);
    return x < 1 ? NL_NAN : y;
}
// asinh(v) by z = v^2: a series up to 1, beyond the logarithm of v + sqrt(1 + z), of which half is given
NL_DEV f32 asinh_by(f32 v, f32 z, f32 half) {
    f32 k, f = split_bits(bits(half), k, 126.0f);
    f32 p = horner(z, -0.166666657f, 0.0749994442f, -0.0446324497f, 0.0302858111f, -0.0218553822f, 0.0155828986f,
                   -0.00987133477f, 0.00484830793f, -0.00155139796f, 0.000234346735f);
    return v < 1.0f ? fma(v * z, p, v) : join_log(k, f, 0.0f);
}
#ifndef __CUDACC__
NL_DEV f32 asinh(f32 x) {
    f32 a = fabs(x), z = a * a, half = a > 1e9f ? a : fma(0.5f, sqrt(fma(a, a, 1.0f)), 0.5f * a);
    return copysign(a < (f32)NL_INFINITY ? asinh_by(a, z, half) : a, x);
}
#endif
#ifndef __CUDACC__
NL_DEV f32 acosh(f32 x) {
    f32 t = x - 1.0f, z = fma(t, t, t + t), v = sqrt(z), half = x > 1e9f ? x : fma(0.5f, v, 0.5f * x);
    f32 y = x < (f32)NL_INFINITY ? asinh_by(v, z, half) : x;
    return x < 1.0f ? (f32)NL_NAN : y;
}
#endif
// (1 + a) / (1 - a) = 2^k (1 + v) / (1 - v), so atanh(a) = k log(2) / 2 + atanh(v): 2^k by the difference of the bits, which
// is the binary logarithm to 0.09, so that |v| < 0.201. Sums that are not exact are not used where that would be seen.
NL_DEV f32 atanh_join(f32 k, f32 v) {
    f32 z = v * v, p = horner(z, 0.333333313f, 0.200004667f, 0.142517582f, 0.12075796f);
    return fma(k, 0.346572876f, v + fma(v * z, p, k * 7.14303e-07f));
}
NL_DEV f64 atanh_join(f64 k, f64 v) {
    f64 z = v * v, p = horner(z, 0.33333333333333298, 0.20000000000028537, 0.14285714277843065, 0.11111112157763527,
                              0.090908323108990996, 0.076955776881507953, 0.065864197508447977, 0.06924166144408464);
    return fma(k, 3.46573590184561908245e-01, v + fma(v * z, p, k * 9.5410746463529385e-11));
}
NL_DEV f32 power_between(f32 g, f32 h, f32& k) {
    u32 n = (bits(h) - bits(g) + 0x400000u) >> 23;
    k = (f32)(i32)n;
    return from_bits((n << 23) + 0x3f800000u);
}
NL_DEV f64 power_between(f64 g, f64 h, f64& k) {
    u64 n = (bits(h) - bits(g) + 0x8000000000000ull) >> 52;
    k = from_bits(n | 0x4330000000000000ull) - 4503599627370496.0;
    return from_bits((n << 52) + 0x3ff0000000000000ull);
}
template <class T> NL_DEV T atanh(T x) {
    T a = fabs(x), g = 1 - a, h = 1 + a, k, s = power_between(g, h, k), more = 1 + s, less = 1 - s;
    bool near = a < (T)0.5;
    T numerator = near ? fma(a, more, less) : fma(-s, g, h), denominator = near ? fma(a, less, more) : fma(s, g, h);
    T y = atanh_join(k, numerator / denominator), limit = a == 1 ? (T)NL_INFINITY : (T)NL_NAN;
    return copysign(a < 1 ? y : limit, x);
}
}
