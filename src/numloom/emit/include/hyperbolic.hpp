// Hyperbolic functions and their inverses.
#ifdef __CUDACC__
NL_LIBM1(sinh)
NL_LIBM1(cosh)
NL_LIBM1(tanh)
NL_LIBM1(asinh)
NL_LIBM1(acosh)
NL_LIBM1(atanh)
#else
namespace nl {
NL_DEV f32 tanh_rest(f32 z) {
    return horner(z, -0.3333333033f, 0.1333291537f, -0.05387394885f, 0.02111095905f, -0.00626911972f);
}
NL_DEV f64 tanh_rest(f64 z) {
    return horner(z, -0.33333333333333330589, 0.13333333333329433857, -0.053968253959152076793, 0.021869487725710520229,
                  -0.0088632000249942392409, 0.0035912807603255065094, -0.0014445662421400336247,
                  0.00051084434913505085981);
}
// exp(x) = s (1 + y), s a power of two, within the range of normal numbers
NL_DEV f32 scaled_exp(f32 x, f32& y) {
    i32 n;
    f32 r, t;
    reduce_exp(x, n, r, t);
    y = r + t;
    return exp2_integer(n);
}
NL_DEV f64 scaled_exp(f64 x, f64& y) {
    i64 n;
    f64 r, t;
    reduce_exp(x, n, r, t);
    y = r + t;
    return exp2_integer(n);
}
// (1 - e) / (1 + e), or 1 - 2 e / (1 + e) for small e = exp(-2 |x|); near 0 a series
template <class T> NL_DEV T tanh_by(T x, T end, T near) {
    T a = fabs(x), y, s = scaled_exp((T)-2 * (a > end ? end : a), y), z = x * x;
    T one = fma(-s, y, 1 - s), two = 2 * fma(s, y, s), q = (s < (T)0.25 ? two : one) / fma(s, y, 1 + s);
    q = s < (T)0.25 ? 1 - q : q;
    return copysign(a < near ? fma(a, z * tanh_rest(z), a) : q, x);
}
NL_DEV f32 tanh(f32 x) { return tanh_by(x, 10.0f, 0.6f); }
NL_DEV f64 tanh(f64 x) { return tanh_by(x, 22.0, 0.3); }
// exp(a) / 2 without overflow before the result does
NL_DEV f32 half_exp(f32 a) {
    i32 n;
    f32 r, t;
    reduce_exp(a > 90.0f ? 90.0f : a, n, r, t);
    return scale_exp2(1.0f + (r + t), n - 1);
}
NL_DEV f64 half_exp(f64 a) {
    i64 n;
    f64 r, t;
    reduce_exp(a > 711.0 ? 711.0 : a, n, r, t);
    return scale_exp2(1.0 + (r + t), n - 1);
}
NL_DEV f32 sinh_rest(f32 z) { return horner(z, 0.166666672f, 0.00833333936f, 0.000198381022f, 2.80628024e-06f); }
NL_DEV f64 sinh_rest(f64 z) {
    return horner(z, 0.16666666666666666, 0.0083333333333332985, 0.00019841269841324198, 2.7557319191381816e-06,
                  2.5052117695907823e-08, 1.6057679623801638e-10, 7.7461785930188273e-13);
}
template <class T> NL_DEV T sinh(T x) {
    T a = fabs(x), h = half_exp(a), z = x * x;
    return copysign(a < (T)1 ? fma(a, z * sinh_rest(z), a) : h - (T)0.25 / h, x);
}
template <class T> NL_DEV T cosh(T x) {
    T h = half_exp(fabs(x));
    return h + (T)0.25 / h;
}
template <class T> NL_DEV T asinh(T x) {
    T a = fabs(x), z = a * a;
    bool large = a > (T)1e9;
    T y = log1p(large ? a - 1 : a + z / (1 + sqrt(z + 1))) + (large ? (T)0.69314718055994530942 : (T)0);
    return copysign(y, x);
}
template <class T> NL_DEV T acosh(T x) {
    bool large = x > (T)1e9;
    T t = x - 1, y = log1p(large ? t : t + sqrt(2 * t + t * t)) + (large ? (T)0.69314718055994530942 : (T)0);
    return x < 1 ? (T)NL_NAN : y;
}
template <class T> NL_DEV T atanh(T x) {
    T a = fabs(x), t = 2 * a;
    return copysign(a > 1 ? (T)NL_NAN : (T)0.5 * log1p(t + t * a / (1 - a)), x);
}
}
#endif
