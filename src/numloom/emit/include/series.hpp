// Series of the special functions. Tables are made by tools/special_coefficients.py.
// The float version of a function that is computed in double.
#define NL_NARROW1(name) NL_DEV f32 name(f32 x) { return (f32)name((f64)x); }
#define NL_NARROW2(name) NL_DEV f32 name(f32 x, f32 y) { return (f32)name((f64)x, (f64)y); }
#define NL_NARROW3(name) NL_DEV f32 name(f32 x, f32 y, f32 z) { return (f32)name((f64)x, (f64)y, (f64)z); }
// The same where less than double's precision is enough, as a last argument says.
#define NL_ROUGH2(name, enough) NL_DEV f32 name(f32 x, f32 y) { return (f32)name((f64)x, (f64)y, enough); }
#define NL_ROUGH3(name, enough) \
    NL_DEV f32 name(f32 x, f32 y, f32 z) { return (f32)name((f64)x, (f64)y, (f64)z, enough); }
namespace nl {
// Clenshaw's sum of a Chebyshev series, of its first terms if so many are enough.
template <int N> NL_DEV f64 chebyshev(const f64 (&c)[N], f64 t, int terms = N) {
    f64 a = 0, b = 0;
    for (int n = terms - 1; n > 0; --n) {
        f64 next = 2.0 * t * a - b + c[n];
        b = a;
        a = next;
    }
    return t * a - b + c[0];
}
template <int N> NL_DEV f64 polynomial(const f64 (&c)[N], f64 x) {
    f64 sum = c[N - 1];
    for (int n = N - 2; n >= 0; --n) sum = sum * x + c[n];
    return sum;
}
// u - log(1 + u), without cancellation for small u; `ratio` is 1 + u.
NL_DEV f64 less_log(f64 u, f64 ratio) {
    if (fabs(u) > 0.4) return u - log(ratio);
    f64 s = u / (2.0 + u), z = s * s;
    f64 sum = horner(z, 0.33333333333333333333, 0.2, 0.14285714285714285714, 0.11111111111111111111,
                     0.090909090909090909091, 0.076923076923076923077, 0.066666666666666666667, 0.058823529411764705882,
                     0.052631578947368421053, 0.047619047619047619048, 0.043478260869565217391, 0.04);
    return s * u - 2.0 * (z * s * sum);
}
// exp(sign x^2), the square exact: what rounding it loses would be seen.
NL_DEV f64 exp_square(f64 x, f64 sign) {
    f64 high = from_bits(bits(x) & 0xfffffffff8000000ull);
    return exp(sign * (high * high)) * exp(sign * ((x - high) * (x + high)));
}
}
