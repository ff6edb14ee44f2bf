// log, log2, log10, log1p. x = 2^k m with m in [sqrt(1/2), sqrt(2)),
// f = m - 1, s = f / (2 + f), log(m) = f - (f^2/2 - s (f^2/2 + R(s^2))).
NL_CUDA_FLOAT1(log)
NL_CUDA_FLOAT1(log2)
NL_CUDA_FLOAT1(log10)
NL_CUDA_FLOAT1(log1p)
namespace nl {
NL_DEV f32 split_bits(u32 u, f32& k, f32 bias) {
    u += 0x3f800000u - 0x3f3504f3u;
    k = (f32)(i32)(u >> 23) - bias;
    return from_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
}
// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); x positive
NL_DEV f32 split(f32 x, f32& k) {
    bool small = x < 1.17549435e-38f;
    return split_bits(bits(small ? x * 33554432.0f : x), k, small ? 152.0f : 127.0f);
}
NL_DEV f64 split(f64 x, f64& k) {
#ifdef __CUDACC__
    bool small = (i64)bits(x) < 0x10000000000000ll;
#else
    bool small = x < 2.2250738585072014e-308;
#endif
    f64 m = split_log(small ? x * 18014398509481984.0 : x, k);
    k = small ? k - 54.0 : k;
    return m - 1.0;
}
// The same of ordinary numbers
NL_DEV f32 split(f32 x, f32& k, SlowFlags& slow) {
    want_normal(x, slow);
    i32 u = (i32)(bits(x) - 0x3f3504f3u);
    k = (f32)(u >> 23);
    return from_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
}
NL_DEV f64 split(f64 x, f64& k, SlowFlags& slow) {
    want_normal(x, slow);
    return split_log(x, k) - 1.0;
}
// (log(1 + f) - f) / f^2: for floats multiplications cost less than the quotient of the series for doubles.
NL_DEV f32 log_tail(f32 f) {
    return horner(f, -0.499999881f, 0.333333254f, -0.250016123f, 0.200020298f, -0.166083321f, 0.141800046f, -0.132478356f,
                  0.129197806f, -0.0762915984f);
}
NL_DEV f64 log_series(f64 f, f64 h) {
    f64 s = f / (2.0 + f), z = s * s;
    return s * fma(z, horner(z, 0.6666666666666669907, 0.39999999999893221763, 0.28571428628810995598,
                             0.22222210674238515246, 0.18182922513515941633, 0.15330617306743304885,
                             0.14630031364122860468), h);
}
// Results outside of the positive finite numbers
template <class T> NL_DEV T log_limits(T, T y, SlowFlags&) { return y; }
template <class T> NL_DEV T log_limits(T x, T y) {
    T infinity = (T)NL_INFINITY;
    y = x == infinity ? x : y;
    T limit = x == 0 ? -infinity : (T)NL_NAN;
    return x > 0 ? y : limit;
}
#ifdef __CUDACC__
// The same, of doubles first of all asked for by their bits
NL_DEV f64 log_limits(f64 x, f64 y) {
    return bits(x) - 1 < 0x7fefffffffffffffull ? y : x == NL_INFINITY ? x : x == 0 ? -NL_INFINITY : NL_NAN;
}
#endif
// k log(2) + log(1 + f) + rest, log(2) in two parts of which k times the first is exact
NL_DEV f32 join_log(f32 k, f32 f, f32 rest) {
    return fma(k, 0.693145751953125f, f + fma(f * f, log_tail(f), fma(k, 1.42860677e-06f, rest)));
}
NL_DEV f64 join_log(f64 k, f64 f, f64 rest) {
    f64 h = 0.5 * f * f;
    f64 low = fma(k, 1.90821492927058770002e-10, log_series(f, h) + rest);
    return fma(k, 6.93147180369123816490e-01, f - (h - low));
}
template <class T, class... F> NL_DEV T log(T x, F&... slow) {
    T k, f = split(x, k, slow...);
    return log_limits(x, join_log(k, f, (T)0), slow...);
}
// c log(1 + f) + k d, c and d in two parts: only c f counts in both.
template <class... F> NL_DEV f64 scaled_log(f64 x, f64 c, f64 c_rest, f64 d, f64 d_rest, F&... slow) {
    f64 k, f = split(x, k, slow...), h = 0.5 * f * f, a = c * f;
    f64 rest = fma(c, f, -a) + fma(c_rest, f, k * d_rest);
    return log_limits(x, fma(k, d, a + fma(log_series(f, h) - h, c, rest)), slow...);
}
template <class... F> NL_DEV f64 log2(f64 x, F&... slow) {
    return scaled_log(x, 1.4426950408889634, 2.0355273740931033e-17, 1.0, 0.0, slow...);
}
#ifndef __CUDACC__
// Half of f, and three, are exact, so what is near 0 is rounded once.
template <class... F> NL_DEV f32 log2(f32 x, F&... slow) {
    f32 k, f = split(x, k, slow...);
    f32 p = horner(f, -0.0573049597f, -0.721347332f, 0.48089847f, -0.360698521f, 0.288554013f, -0.239561528f,
                   0.20483467f, -0.191768885f, 0.184922919f, -0.106652424f);
    return log_limits(x, fma(f, p, fma(f, 1.5f, k)), slow...);
}
#endif
template <class... F> NL_DEV f64 log10(f64 x, F&... slow) {
    return scaled_log(x, 0.43429448190325182, 1.0983196502167651e-17, 3.01029995663611771306e-01,
                      3.69423907715893078616e-13, slow...);
}
#ifndef __CUDACC__
template <class... F> NL_DEV f32 log10(f32 x, F&... slow) {
    f32 k, f = split(x, k, slow...);
    f32 p = horner(f, -0.0657055155f, -0.217147246f, 0.144764543f, -0.108576633f, 0.0868723691f, -0.0722109005f,
                   0.0615872368f, -0.0569650754f, 0.0557583198f, -0.03388099f);
    return log_limits(x, fma(k, 0.301025391f, fma(f, 0.5f, fma(f, p, k * 4.60503898e-06f))), slow...);
}
#endif
// The same of 1 + x, which is never below the normal range
NL_DEV f32 split_sum(f32 u, f32& k) { return split_bits(bits(u), k, 127.0f); }
NL_DEV f64 split_sum(f64 u, f64& k) { return split_log(u, k) - 1.0; }
template <class T> NL_DEV T split_sum(T u, T& k, SlowFlags& slow) { return split(u, k, slow); }
// 2^-k of a number that was split
NL_DEV f32 inverse_power(f32 u) {
    return from_bits(0x7f800000u - ((bits(u) + (0x3f800000u - 0x3f3504f3u)) & 0x7f800000u)) * 0.5f;
}
NL_DEV f64 inverse_power(f64 u) {
    u64 e = (bits(u) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull)) & 0x7ff0000000000000ull;
    return from_bits(0x7ff0000000000000ull - e) * 0.5;
}
// 1 + x = u + c, and u + c = 2^k (1 + f): f takes up c, exactly where k is 0.
template <class T, class... F> NL_DEV T log1p(T x, F&... slow) {
    T u = 1 + x, c = x >= 1 ? 1 - (u - x) : x - (u - 1), k, m = split_sum(u, k, slow...);
    c = c * inverse_power(u);
    T f = m + c, y = join_log(k, f, c - (f - m));
    return x == 0 ? x : log_limits(u, y, slow...);
}
}
