// log and exp of float64 by arithmetic alone, so that every processor gives the same bits, a GPU too. Without branches or
// tables. log: x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f),
// log(m) = f - (f^2/2 - s (f^2/2 + R(s^2))). exp: x = n log(2) + r, exp(r) = 1 + (r + (r^2 Q(r) + c)), c being what r lost.
namespace nl {
NL_DEV f64 split_log(f64 x, f64& k) {
    u64 u = bits(x) + (0x3ff0000000000000ull - 0x3fe6a09e00000000ull);
    // The exponent becomes a float by its bits: not every processor converts 64-bit integers in vectors.
    k = from_bits((u >> 52) | (u64)0x4330000000000000ull) - 4503599627371519.0;
    return from_bits((u & 0xfffffffffffffull) + 0x3fe6a09e00000000ull);
}
NL_DEV f64 portable_log_series(f64 f, f64 h) {
    f64 s = f / (2.0 + f), z = s * s;
    f64 p = 0.14630031364122860468;
    p = p * z + 0.15330617306743304885;
    p = p * z + 0.18182922513515941633;
    p = p * z + 0.22222210674238515246;
    p = p * z + 0.28571428628810995598;
    p = p * z + 0.39999999999893221763;
    p = p * z + 0.6666666666666669907;
    return s * (h + z * p);
}
// Results outside of the positive finite numbers.
template <class T> NL_DEV T log_special(T x, T y) {
    T infinity = (T)NL_INFINITY;
    y = x == infinity ? x : y;
    y = x == 0 ? -infinity : y;
    y = x < 0 ? infinity - infinity : y;
    return x != x ? x : y;
}
NL_DEV f64 portable_log(f64 x) {
    f64 k;
    bool small = x < 2.2250738585072014e-308;
    f64 f = split_log(small ? x * 18014398509481984.0 : x, k) - 1.0, h = 0.5 * f * f;
    k = small ? k - 54.0 : k;
    f64 y = k * 6.93147180369123816490e-01 - ((h - (portable_log_series(f, h) + k * 1.90821492927058770002e-10)) - f);
    return log_special(x, y);
}
NL_DEV f64 nearest(f64 x, i64& n) {
    f64 t = x + 6755399441055744.0;
    n = (i64)(bits(t) - 0x4338000000000000ull);
    return t - 6755399441055744.0;
}
NL_DEV f64 exp2_integer(i64 n) { return from_bits((u64)(n + 1023) << 52); }
// 2^n in two factors, so that results below the normal range round once.
NL_DEV f64 scale_exp2(f64 y, i64 n) {
    i64 h = (i64)((u64)(n + 4096) >> 1) - 2048;
    return y * exp2_integer(h) * exp2_integer(n - h);
}
// exp(x) = 2^n (1 + (r + t))
NL_DEV void portable_reduce_exp(f64 x, i64& n, f64& r, f64& t) {
    f64 k = nearest(x * 1.4426950408889634, n);
    f64 hi = x - k * 6.93147180369123816490e-01, lo = k * 1.90821492927058770002e-10;
    r = hi - lo;
    f64 c = (hi - r) - lo;
    f64 q = 2.0915118711997294226e-9;
    q = q * r + 2.5105821598328188174e-8;
    q = q * r + 2.7557272599857137691e-7;
    q = q * r + 2.7557253939287671843e-6;
    q = q * r + 0.000024801587326374912011;
    q = q * r + 0.00019841269875978949911;
    q = q * r + 0.0013888888888883510356;
    q = q * r + 0.0083333333333258019164;
    q = q * r + 0.041666666666666669934;
    q = q * r + 0.16666666666666671242;
    q = q * r + 0.5;
    t = r * r * q + c;
}
NL_DEV f64 portable_exp(f64 x) {
    i64 n;
    f64 r, t;
    x = x < -746.0 ? -746.0 : x;
    portable_reduce_exp(x > 710.0 ? 710.0 : x, n, r, t);
    return scale_exp2(1.0 + (r + t), n);
}
}
