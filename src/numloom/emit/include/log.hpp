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
// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); x positive
NL_DEV f32 split(f32 x, f32& k) {
    i32 e;
    bool small = x < 1.17549435e-38f;
    f32 m = split_log(small ? x * 33554432.0f : x, e);
    k = (f32)(small ? e - 25 : e);
    return m - 1.0f;
}
NL_DEV f64 split(f64 x, f64& k) {
    bool small = x < 2.2250738585072014e-308;
    f64 m = split_log(small ? x * 18014398509481984.0 : x, k);
    k = small ? k - 54.0 : k;
    return m - 1.0;
}
NL_DEV f32 log_series(f32 f, f32 h) {
    f32 s = f / (2.0f + f), z = s * s;
    return s * fma(z, horner(z, 0.6666666655f, 0.4000012559f, 0.2855039696f, 0.2334194339f), h);
}
NL_DEV f64 log_series(f64 f, f64 h) {
    f64 s = f / (2.0 + f), z = s * s;
    return s * fma(z, horner(z, 0.6666666666666669907, 0.39999999999893221763, 0.28571428628810995598,
                             0.22222210674238515246, 0.18182922513515941633, 0.15330617306743304885,
                             0.14630031364122860468), h);
}
// Results outside of the positive finite numbers
template <class T> NL_DEV T log_limits(T x, T y) {
    T infinity = (T)NL_INFINITY;
    y = x == infinity ? x : y;
    T limit = x == 0 ? -infinity : (T)NL_NAN;
    return x > 0 ? y : limit;
}
// k log(2) + log(1 + f) + rest, log(2) in two parts of which k times the first is exact
NL_DEV f32 join_log(f32 k, f32 f, f32 rest) {
    f32 h = 0.5f * f * f;
    return fma(k, 0.693145751953125f, f - (h - fma(k, 1.42860677e-06f, log_series(f, h) + rest)));
}
NL_DEV f64 join_log(f64 k, f64 f, f64 rest) {
    f64 h = 0.5 * f * f;
    f64 low = fma(k, 1.90821492927058770002e-10, log_series(f, h) + rest);
    return fma(k, 6.93147180369123816490e-01, f - (h - low));
}
template <class T> NL_DEV T log_of(T x) {
    T k, f = split(x, k);
    return log_limits(x, join_log(k, f, (T)0));
}
NL_DEV f32 log(f32 x) { return log_of(x); }
NL_DEV f64 log(f64 x) { return log_of(x); }
// c log(1 + f) + k d, c and d in two parts: only c f counts in both.
template <class T> NL_DEV T scaled_log(T x, T c, T c_rest, T d, T d_rest) {
    T k, f = split(x, k), h = (T)0.5 * f * f, a = c * f;
    T rest = fma(c, f, -a) + fma(c_rest, f, k * d_rest);
    return log_limits(x, fma(k, d, a + fma(log_series(f, h) - h, c, rest)));
}
NL_DEV f64 log2(f64 x) { return scaled_log(x, 1.4426950408889634, 2.0355273740931033e-17, 1.0, 0.0); }
NL_DEV f32 log2(f32 x) { return scaled_log(x, 1.44269502f, 1.92596303e-08f, 1.0f, 0.0f); }
NL_DEV f64 log10(f64 x) {
    return scaled_log(x, 0.43429448190325182, 1.0983196502167651e-17, 3.01029995663611771306e-01,
                      3.69423907715893078616e-13);
}
NL_DEV f32 log10(f32 x) { return scaled_log(x, 0.434294492f, -1.0103050e-08f, 0.301025391f, 4.60503898e-06f); }
// 1 + x = u + c, and u + c = 2^k (1 + f): f takes up c, exactly where k is 0.
NL_DEV f32 log1p(f32 x) {
    f32 u = 1.0f + x, c = x >= 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    i32 k;
    f32 m = split_log(u, k) - 1.0f;
    c = x > 1e15f ? 0.0f : c * from_bits((u32)(127 - k) << 23);
    f32 f = m + c, y = join_log((f32)k, f, c - (f - m));
    return (bits(x) & 0x7fffffffu) < 0x33000000u ? x : log_limits(u, y);
}
NL_DEV f64 log1p(f64 x) {
    f64 u = 1.0 + x, c = x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0), k;
    f64 m = split_log(u, k) - 1.0;
    u64 e = (bits(u) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull)) & 0x7ff0000000000000ull;
    c = x > 1e30 ? 0.0 : c * from_bits(0x7fe0000000000000ull - e);
    f64 f = m + c, y = join_log(k, f, c - (f - m));
    return (bits(x) & 0x7fffffffffffffffull) < 0x3c90000000000000ull ? x : log_limits(u, y);
}
}
#endif
