// log, log2, log10, log1p. On the host x = 2^k m with m in [sqrt(1/2), sqrt(2)),
// f = m - 1, s = f / (2 + f), log(m) = f - (f^2/2 - s (f^2/2 + R(s^2))).
#ifdef __CUDACC__
NL_LIBM1(log)
NL_LIBM1(log2)
NL_LIBM1(log10)
NL_LIBM1(log1p)
#else
namespace nl {
NL_DEV f32 split_log(f32 x, i32& k) {  // x positive and normal
    u32 u = bits(x) + (0x3f800000u - 0x3f3504f3u);
    k = (i32)(u >> 23) - 127;
    return from_bits((u & 0x7fffffu) + 0x3f3504f3u);
}
NL_DEV f32 log_series(f32 f, f32 h) {
    f32 s = f / (2.0f + f), z = s * s;
    f32 p = 0.2334194339f;
    p = p * z + 0.2855039696f;
    p = p * z + 0.4000012559f;
    p = p * z + 0.6666666655f;
    return s * (h + z * p);
}
NL_DEV f32 log(f32 x) {
    i32 k;
    bool small = x < 1.17549435e-38f;
    f32 f = split_log(small ? x * 33554432.0f : x, k) - 1.0f, h = 0.5f * f * f;
    f32 e = (f32)(small ? k - 25 : k);
    f32 y = e * 0.693145751953125f - ((h - (log_series(f, h) + e * 1.42860677e-06f)) - f);
    return log_special(x, y);
}
NL_DEV f64 log(f64 x) { return portable_log(x); }
// log(m) as the sum of a head and the rest, so that products with heads of constants are exact.
NL_DEV void log_parts(f32 x, f32& k, f32& hi, f32& lo) {
    i32 e;
    bool small = x < 1.17549435e-38f;
    f32 f = split_log(small ? x * 33554432.0f : x, e) - 1.0f, h = 0.5f * f * f;
    k = (f32)(small ? e - 25 : e);
    hi = head(f - h);
    lo = ((f - hi) - h) + log_series(f, h);
}
NL_DEV void log_parts(f64 x, f64& k, f64& hi, f64& lo) {
    bool small = x < 2.2250738585072014e-308;
    f64 f = split_log(small ? x * 18014398509481984.0 : x, k) - 1.0, h = 0.5 * f * f;
    k = small ? k - 54.0 : k;
    hi = head(f - h);
    lo = ((f - hi) - h) + log_series(f, h);
}
// c log(m) + k d by the heads and the rests of c and d.
template <class T> NL_DEV T scaled_log(T x, T c, T c_rest, T d, T d_rest) {
    T k, hi, lo;
    log_parts(x, k, hi, lo);
    T head = hi * c, big = k * d, w = big + head;
    T tail = (k * d_rest + (lo + hi) * c_rest) + lo * c;
    return log_special(x, (tail + ((big - w) + head)) + w);
}
NL_DEV f64 log2(f64 x) {
    return scaled_log(x, 1.44269504072144627571e+00, 1.67517131648865118353e-10, 1.0, 0.0);
}
NL_DEV f32 log2(f32 x) { return scaled_log(x, 1.44238281f, 0.000312228389f, 1.0f, 0.0f); }
NL_DEV f64 log10(f64 x) {
    return scaled_log(x, 4.34294481878168880939e-01, 2.50829467116452752298e-11, 3.01029995663611771306e-01,
                      3.69423907715893078616e-13);
}
NL_DEV f32 log10(f32 x) {
    return scaled_log(x, 0.434204102f, 9.03803408e-05f, 0.301025391f, 4.60503898e-06f);
}
NL_DEV f32 log1p(f32 x) {
    i32 k;
    f32 u = 1.0f + x, f = split_log(u, k) - 1.0f;
    bool near = x > -0.2928932f && x < 0.41421354f;
    f32 c = (x >= 1.0f ? 1.0f - (u - x) : x - (u - 1.0f)) / u;
    f = near ? x : f;
    c = near ? 0.0f : c;
    f32 e = near ? 0.0f : (f32)k, h = 0.5f * f * f;
    f32 y = e * 0.693145751953125f - ((h - (log_series(f, h) + (e * 1.42860677e-06f + c))) - f);
    return (bits(x) & 0x7fffffffu) < 0x33000000u ? x : log_special(u, y);
}
NL_DEV f64 log1p(f64 x) {
    f64 k;
    f64 u = 1.0 + x, f = split_log(u, k) - 1.0;
    bool near = x > -0.29289321881345 && x < 0.414213562373;
    f64 c = (x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0)) / u;
    f = near ? x : f;
    c = near ? 0.0 : c;
    f64 e = near ? 0.0 : k, h = 0.5 * f * f;
    f64 y = e * 6.93147180369123816490e-01 - ((h - (log_series(f, h) + (e * 1.90821492927058770002e-10 + c))) - f);
    return (bits(x) & 0x7fffffffffffffffull) < 0x3c90000000000000ull ? x : log_special(u, y);
}
}
#endif
