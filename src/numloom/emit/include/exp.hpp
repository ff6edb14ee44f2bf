// exp, exp2, expm1. On the host x = n log(2) + r, exp(r) = 1 + (r + (r^2 Q(r) + c)), c being what r lost.
#ifdef __CUDACC__
NL_LIBM1(exp)
NL_LIBM1(exp2)
NL_LIBM1(expm1)
#else
namespace nl {
// The nearest integer (ties to even) as a float and as an integer; NaN gives some integer.
NL_DEV f32 nearest(f32 x, i32& n) {
    f32 t = x + 12582912.0f;
    n = (i32)(bits(t) - 0x4b400000u);
    return t - 12582912.0f;
}
NL_DEV f32 exp2_integer(i32 n) { return from_bits((u32)(n + 127) << 23); }
// 2^n in two factors, so that results below the normal range round once.
NL_DEV f32 scale_exp2(f32 y, i32 n) { return y * exp2_integer(n >> 1) * exp2_integer(n - (n >> 1)); }
// exp(x) = 2^n (1 + (r + t))
NL_DEV void reduce_exp(f32 x, i32& n, f32& r, f32& t) {
    f32 k = nearest(x * 1.44269504f, n), hi = x - k * 0.693145751953125f, lo = k * 1.42860677e-06f;
    r = hi - lo;
    f32 c = (hi - r) - lo;
    f32 q = 0.0001989155698f;
    q = q * r + 0.001393415982f;
    q = q * r + 0.008333310413f;
    q = q * r + 0.04166646031f;
    q = q * r + 0.1666666668f;
    q = q * r + 0.5f;
    t = r * r * q + c;
}
NL_DEV f32 exp(f32 x) {
    i32 n;
    f32 r, t;
    reduce_exp(clamp(x, -104.0f, 89.0f), n, r, t);
    return scale_exp2(1.0f + (r + t), n);
}
NL_DEV f64 exp(f64 x) { return portable_exp(x); }
// 2^(h + l), h + l within 1/2 of 0, as 1 + the result; log(2) in two parts, of which the first is a head.
NL_DEV f32 exp2_series(f32 h, f32 l) {
    f32 r = h + l, q = horner(r, 0.240226507f, 0.0555041097f, 0.00961808302f, 0.00133335218f, 0.000154531634f,
                              1.52909488e-05f);
    return 6.93115234e-01f * h + (3.19461849e-05f * h + 6.93147182e-01f * l + r * r * q);
}
NL_DEV f64 exp2_series(f64 h, f64 l) {
    f64 r = h + l;
    f64 q = horner(r, 0.24022650695910071233, 0.055504108664821626712, 0.0096181291076284794928,
                   0.0013333558146406470697, 0.00015403530393370733411, 0.000015252733841556772589,
                   1.321548680870556279e-6, 1.0178057087733941105e-7, 7.0548973041554992774e-9,
                   4.455817908336064493e-10, 2.5729324177362304214e-11);
    return 6.93147180369123816490e-01 * h + (1.90821492927058770002e-10 * h + 0.69314718055994530942 * l + r * r * q);
}
NL_DEV f64 exp2(f64 x) {
    i64 n;
    f64 y = clamp(x, -1076.0, 1025.0), r = y - nearest(y, n), h = head(r);
    return scale_exp2(1.0 + exp2_series(h, r - h), n);
}
NL_DEV f32 exp2(f32 x) {
    i32 n;
    f32 y = clamp(x, -151.0f, 129.0f), r = y - nearest(y, n), h = head(r);
    return scale_exp2(1.0f + exp2_series(h, r - h), n);
}
// exp(x) - 1 = 2 ((s - 1/2) + s r + s t), s = 2^(n-1)
NL_DEV f32 expm1(f32 x) {
    i32 n;
    f32 r, t;
    reduce_exp(clamp(x, -30.0f, 89.0f), n, r, t);
    f32 s = exp2_integer(n - 1), a = s - 0.5f, b = s * r, sum = a + b;
    f32 y = 2.0f * (sum + (((a - sum) + b) + s * t));
    return (bits(x) & 0x7fffffffu) < 0x33000000u ? x : y;
}
NL_DEV f64 expm1(f64 x) {
    i64 n;
    f64 r, t;
    reduce_exp(clamp(x, -60.0, 710.0), n, r, t);
    f64 s = exp2_integer(n - 1), a = s - 0.5, b = s * r, sum = a + b;
    f64 y = 2.0 * (sum + (((a - sum) + b) + s * t));
    return (bits(x) & 0x7fffffffffffffffull) < 0x3c90000000000000ull ? x : y;
}
}
#endif
