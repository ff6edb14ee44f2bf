// Hyperbolic functions; tanh on the host is a polynomial near 0 and made of expm1 elsewhere.
NL_LIBM1(sinh)
NL_LIBM1(cosh)
NL_LIBM1(asinh)
NL_LIBM1(acosh)
NL_LIBM1(atanh)
#ifdef __CUDACC__
NL_LIBM1(tanh)
#else
namespace nl {
NL_DEV f32 tanh(f32 x) {
    f32 a = fabs(x), t = expm1(2.0f * (a > 10.0f ? 10.0f : a)), z = x * x;
    f32 p = -0.00626911972f;
    p = p * z + 0.02111095905f;
    p = p * z - 0.05387394885f;
    p = p * z + 0.1333291537f;
    p = p * z - 0.3333333033f;
    return copysign(a < 0.6f ? a + a * (z * p) : t / (t + 2.0f), x);
}
NL_DEV f64 tanh(f64 x) {
    f64 a = fabs(x), t = expm1(2.0 * (a > 22.0 ? 22.0 : a)), z = x * x;
    f64 p = 0.00051084434913505085981;
    p = p * z - 0.0014445662421400336247;
    p = p * z + 0.0035912807603255065094;
    p = p * z - 0.0088632000249942392409;
    p = p * z + 0.021869487725710520229;
    p = p * z - 0.053968253959152076793;
    p = p * z + 0.13333333333329433857;
    p = p * z - 0.33333333333333330589;
    return copysign(a < 0.3 ? a + a * (z * p) : t / (t + 2.0), x);
}
}
#endif
