// The error function and the normal distribution.
NL_LIBM1(erf)
NL_LIBM1(erfc)
#ifdef __CUDACC__
NL_LIBM1(erfcx)
NL_LIBM1(erfinv)
NL_LIBM1(erfcinv)
#else
namespace nl {
// (1 + 2x) exp(x^2) erfc(x) in (x - 4) / (x + 4).
NL_TABLE table_erfcx[] = {
    1.1774832005374486986, -7.2607966203019004784e-3, -0.081265123236184997858, 0.060092128041222249997,
    -0.028753935580276660271, 0.010595663363472860014, -3.1369272945542642383e-3, 7.4564943725361840431e-4,
    -1.3696965030100540681e-4, 1.7183861600300937113e-5, -7.1583646234503468633e-7, -2.4261399442449532014e-7,
    5.5765709395703564039e-8, -2.1057869513809494813e-9, -1.1717889351884956849e-9, 1.909835517245668792e-10,
    1.4088717642088129665e-11, -6.9011083204808149553e-12, 9.1679583641112932862e-14, 2.1454508286554552991e-13,
    -1.4716575027010624224e-14, -6.6686751187704079242e-15, 7.5045985098800830254e-16, 2.2200930066663200355e-16,
    -3.1704898956330888357e-17,
};
NL_DEV f64 erfcx_positive(f64 x) {
    return x > 1e10 ? 0.56418958354775628695 / x : chebyshev(table_erfcx, (x - 4.0) / (x + 4.0)) / (1.0 + 2.0 * x);
}
NL_CALL f64 erfcx(f64 x) {
    if (x >= 0) return erfcx_positive(x);
    return x < -26.7 ? NL_INFINITY : 2.0 * exp_square(x, 1.0) - erfcx_positive(-x);
}
NL_NARROW1(erfcx)
// Where erf is x, |x| <= 1/2: the beginning of the series, then Halley's iteration.
NL_DEV f64 erfinv_middle(f64 x) {
    f64 z = x * x;
    f64 w = x * (0.88622692545275801365 + z * (0.23201366653465449048 + z * (0.12755617530559795825
        + z * (0.086552129241547337296 + z * 0.064959617745385413382))));
    for (int step = 0; step < 2; ++step) {
        f64 u = (erf(w) - x) * exp(w * w) * 0.88622692545275801365;
        w -= u / (1.0 + w * u);
    }
    return w;
}
// Where erfc is y < 1/2: a start good to 1 part in 400, then Newton's iteration for the logarithm.
NL_DEV f64 erfcinv_tail(f64 y) {
    f64 target = log(y), l = target + log1p(1.0 - y) , h = 4.3307467508 + 0.5 * l;
    f64 w = sqrt(sqrt(h * h - l * 6.8027210884) - h);
    for (int step = 0; step < 3; ++step) {
        f64 e = erfcx_positive(w);
        w += ((log(e) - target) - w * w) * e * 0.88622692545275801365;
    }
    return w;
}
NL_CALL f64 erfinv(f64 x) {
    f64 a = fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? x * NL_INFINITY : NL_NAN;
    return a <= 0.5 ? erfinv_middle(x) : copysign(erfcinv_tail(1.0 - a), x);
}
NL_CALL f64 erfcinv(f64 y) {
    if (!(y > 0 && y < 2.0)) return y == 0 ? NL_INFINITY : y == 2.0 ? -NL_INFINITY : NL_NAN;
    return y < 0.5 ? erfcinv_tail(y) : y > 1.5 ? -erfcinv_tail(2.0 - y) : erfinv_middle(1.0 - y);
}
NL_NARROW1(erfinv)
NL_NARROW1(erfcinv)
}
#endif
namespace nl {
NL_CALL f64 ndtr(f64 x) {
    // erfc of x / sqrt(2), and a first-order step for what rounding that quotient loses.
    f64 z = -x * 0.70710678118654752440, zh = from_bits(bits(z) & 0xfffffffff8000000ull);
    f64 xh = from_bits(bits(x) & 0xfffffffff8000000ull);
    f64 lost = (zh * zh - 0.5 * xh * xh) + ((z - zh) * (z + zh) - 0.5 * ((x - xh) * (x + xh)));
    f64 y = 0.5 * erfc(z);
    return fabs(x) < 1.0 || !(fabs(x) < 40.0) ? y : x < 0 ? y * (1.0 + lost) : y;
}
NL_NARROW1(ndtr)
NL_CALL f64 ndtri(f64 p) {
    return p < 0.5 ? -1.41421356237309504880 * erfcinv(2.0 * p) : 1.41421356237309504880 * erfcinv(2.0 - 2.0 * p);
}
NL_NARROW1(ndtri)
NL_CALL f64 log_ndtr(f64 x) {
    f64 z = x * 0.70710678118654752440;
    return x < -1.0 ? log(0.5 * erfcx(-z)) - 0.5 * x * x : log1p(-ndtr(-x));
}
NL_NARROW1(log_ndtr)
}
