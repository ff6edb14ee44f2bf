// exp, exp2, expm1: x = n log(2) + r, exp(r) = 1 + (r + (r^2 Q(r) + c)), c being what r lost.
NL_CUDA_FLOAT1(exp)
NL_CUDA_FLOAT1(exp2)
NL_CUDA_FLOAT1(expm1)
namespace nl {
// The nearest integer (ties to even) of x c as a float and as an integer; NaN gives some integer.
NL_DEV f32 nearest(f32 x, f32 c, i32& n) {
    f32 t = fma(x, c, 12582912.0f);
    n = (i32)(bits(t) - 0x4b400000u);
    return t - 12582912.0f;
}
NL_DEV f64 nearest(f64 x, f64 c, i64& n) {
    f64 t = fma(x, c, 6755399441055744.0);
    n = (i64)(bits(t) - 0x4338000000000000ull);
    return t - 6755399441055744.0;
}
NL_DEV f32 exp2_integer(i32 n) { return from_bits((u32)(n + 127) << 23); }
// 2^n in two factors, so that results below the normal range round once.
NL_DEV f32 scale_exp2(f32 y, i32 n) { return y * exp2_integer(n >> 1) * exp2_integer(n - (n >> 1)); }
// exp(x) = 2^n (1 + (r + t)). The first fma is exact, since log(2) has no more digits below those of x than r can hold.
NL_DEV void reduce_exp(f32 x, i32& n, f32& r, f32& t) {
    f32 k = nearest(x, 1.44269504f, n), hi = fma(k, -0.693147182f, x);
    r = fma(k, 1.90465421e-09f, hi);
    f32 c = fma(k, 1.90465421e-09f, hi - r);
    t = fma(r * r, horner(r, 0.5f, 0.1666666668f, 0.04166646031f, 0.008333310413f, 0.001393415982f, 0.0001989155698f), c);
}
NL_DEV void reduce_exp(f64 x, i64& n, f64& r, f64& t) {
    f64 k = nearest(x, 1.4426950408889634, n), hi = fma(k, -0.69314718055994529, x);
    r = fma(k, -2.3190468138462996e-17, hi);
    f64 c = fma(k, -2.3190468138462996e-17, hi - r);
    f64 q = horner(r, 0.5, 0.16666666666666671242, 0.041666666666666669934, 0.0083333333333258019164,
                   0.0013888888888883510356, 0.00019841269875978949911, 0.000024801587326374912011,
                   2.7557253939287671843e-6, 2.7557272599857137691e-7, 2.5105821598328188174e-8, 2.0915118711997294226e-9);
    t = fma(r * r, q, c);
}
// Arguments of `exp` and `exp2`, and 2^n y: ordinary ones have results in the normal range.
template <class T> NL_DEV T bounded(T x, T low, T high) { return clamp(x, low, high); }
template <class T> NL_DEV T bounded(T x, T, T, SlowFlags& slow) {
    want_small(x, slow);
    return x;
}
NL_DEV f32 scale_exp2(f32 y, i32 n, SlowFlags&) { return from_bits(bits(y) + ((u32)n << 23)); }
NL_DEV f64 scale_exp2(f64 y, i64 n, SlowFlags&) { return from_bits(bits(y) + ((u64)n << 52)); }
#ifndef __CUDACC__
template <class... F> NL_DEV f32 exp(f32 x, F&... slow) {
    i32 n;
    f32 r, t;
    reduce_exp(bounded(x, -104.0f, 89.0f, slow...), n, r, t);
    return scale_exp2(1.0f + (r + t), n, slow...);
}
#endif
template <class... F> NL_DEV f64 exp(f64 x, F&... slow) {
    i64 n;
    f64 r, t;
    reduce_exp(bounded(x, -746.0, 710.0, slow...), n, r, t);
    return scale_exp2(1.0 + (r + t), n, slow...);
}
// 2^(h + l), h within 1/2 of 0 and l below its digits, as 1 + the result
NL_DEV f32 exp2_series(f32 h, f32 l) {
    f32 a = 0.693147182f * h, rest = fma(0.693147182f, h, -a) + fma(-1.90465421e-09f, h, 0.693147182f * l);
    f32 q = horner(h, 0.240226507f, 0.0555041097f, 0.00961808302f, 0.00133335218f, 0.000154531634f, 1.52909488e-05f);
    return a + fma(h * h, q, rest);
}
NL_DEV f64 exp2_series(f64 h, f64 l) {
    f64 a = 0.69314718055994529 * h, rest = fma(0.69314718055994529, h, -a);
    rest += fma(2.3190468138462996e-17, h, 0.69314718055994529 * l);
    f64 q = horner(h, 0.24022650695910071233, 0.055504108664821626712, 0.0096181291076284794928,
                   0.0013333558146406470697, 0.00015403530393370733411, 0.000015252733841556772589,
                   1.321548680870556279e-6, 1.0178057087733941105e-7, 7.0548973041554992774e-9,
                   4.455817908336064493e-10, 2.5729324177362304214e-11);
    return a + fma(h * h, q, rest);
}
template <class... F> NL_DEV f64 exp2(f64 x, F&... slow) {
    i64 n;
    f64 y = bounded(x, -1076.0, 1025.0, slow...), r = y - nearest(y, 1.0, n);
    f64 q = horner(r, 0.24022650695910071233, 0.055504108664821626712, 0.0096181291076284794928,
                   0.0013333558146406470697, 0.00015403530393370733411, 0.000015252733841556772589,
                   1.321548680870556279e-6, 1.0178057087733941105e-7, 7.0548973041554992774e-9,
                   4.455817908336064493e-10, 2.5729324177362304214e-11);
    return scale_exp2(1.0 + fma(r, 0.69314718055994529, fma(r * r, q, 2.3190468138462996e-17 * r)), n, slow...);
}
#ifndef __CUDACC__
template <class... F> NL_DEV f32 exp2(f32 x, F&... slow) {
    i32 n;
    f32 y = bounded(x, -151.0f, 129.0f, slow...), r = y - nearest(y, 1.0f, n);
    f32 q = horner(r, 0.240226507f, 0.0555041097f, 0.00961808302f, 0.00133335218f, 0.000154531634f, 1.52909488e-05f);
    return scale_exp2(1.0f + fma(r, 0.693147182f, fma(r * r, q, -1.90465421e-09f * r)), n, slow...);
}
#endif
// exp(x) - 1 = 2 ((s - 1/2) + s r + s t), s = 2^(n-1)
template <class T> NL_DEV T expm1_of(T s, T r, T t) {
    T a = s - (T)0.5, sum = fma(s, r, a);
    return 2 * (sum + fma(s, t, fma(s, r, a - sum)));
}
#ifndef __CUDACC__
NL_DEV f32 expm1(f32 x) {
    // x = n log(2) + high + low, high exact; n + 126 stands in the last bits of t
    f32 y = clamp(x, -30.0f, 89.0f), t = fma(y, 1.44269504f, 12583038.0f), k = t - 12583038.0f;
    f32 high = fma(k, -0.693147182f, y), low = k * 1.90465421e-09f, r = high + low;
    low = fma(r * r, horner(r, 0.5f, 0.166666672f, 0.0416664891f, 0.0083332080f, 0.00139326707f, 0.0001994427f), low);
    return copysign(expm1_of(from_bits(bits(t) << 23), high, low), x);
}
#endif
NL_DEV f64 expm1(f64 x) {
    i64 n;
    f64 r, t;
    reduce_exp(clamp(x, -60.0, 710.0), n, r, t);
    f64 y = expm1_of(exp2_integer(n - 1), r, t);
    return (bits(x) & 0x7fffffffffffffffull) < 0x3c90000000000000ull ? x : y;
}
}
