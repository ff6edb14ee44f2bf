// erfc without its exponential, and the logarithm of the normal distribution.
#ifdef __CUDACC__
NL_LIBM1(erfcx)
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
}
#endif
namespace nl {
NL_CALL f64 log_ndtr(f64 x) {
    f64 z = x * 0.70710678118654752440;
    return x < -1.0 ? log(0.5 * erfcx(-z)) - 0.5 * x * x : log1p(-ndtr(-x));
}
NL_NARROW1(log_ndtr)
}
