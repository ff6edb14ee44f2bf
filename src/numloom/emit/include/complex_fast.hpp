// Short forms of complex functions, for loops on the host: no branch, so that they are vectors.
#ifndef __CUDACC__
namespace nl {
NL_DEV void want(bool ordinary, SlowFlags& slow) { slow.wide |= !ordinary; }
NL_DEV complex<f64> exp(complex<f64> z, SlowFlags& slow) {
    want((z.re < 700.0) & is_ordinary(z.im), slow);
    f64 e = exp(z.re, slow);
    return cplx(e * fast_cos(z.im), e * fast_sin(z.im));
}
NL_DEV complex<f64> exp2(complex<f64> z, SlowFlags& slow) { return exp(scale(z, 0.69314718055994530942), slow); }
NL_DEV complex<f64> expm1(complex<f64> z, SlowFlags& slow) {
    want(fabs(z.re) <= 30.0, slow);
    complex<f64> e = exp(z, slow);
    f64 s = fast_sin(0.5 * z.im);
    return cplx(expm1(z.re) * fast_cos(z.im) - 2.0 * s * s, e.im);
}
NL_DEV complex<f64> sinh(complex<f64> z, SlowFlags& slow) {
    want((fabs(z.re) <= 700.0) & is_ordinary(z.im), slow);
    return cplx(sinh(z.re) * fast_cos(z.im), cosh(z.re) * fast_sin(z.im));
}
NL_DEV complex<f64> cosh(complex<f64> z, SlowFlags& slow) {
    want((fabs(z.re) <= 700.0) & is_ordinary(z.im), slow);
    return cplx(cosh(z.re) * fast_cos(z.im), sinh(z.re) * fast_sin(z.im));
}
NL_DEV complex<f64> sin(complex<f64> z, SlowFlags& slow) { return over_i(sinh(times_i(z), slow)); }
NL_DEV complex<f64> cos(complex<f64> z, SlowFlags& slow) { return cosh(times_i(z), slow); }
// log |z|; `known` says that |z|^2 - 1 is `excess`, which else is asked for near the unit circle.
NL_DEV f64 log_abs(f64 x, f64 y, bool known, f64 excess, SlowFlags& slow) {
    f64 u = fabs(x), v = fabs(y), a = u < v ? v : u, b = u < v ? u : v;
    want((a >= 1e-290) & (a <= 1e300), slow);
    f64 h = a * a + b * b, p = a * a, q = b * b, r = product_rest(a, a, p) + product_rest(b, b, q);
    f64 m = p - 1.0, s = m + q, t = s - m, other = s + (((m - (s - t)) + (q - t)) + r);
    f64 near = h > 0.5 ? other : 0.0;
    near = h < 2.0 ? near : 0.0;
    near = 0.5 * log1p(known ? excess : near, slow);
    f64 away = log(hypot(a, b), slow);
    away = h > 0.5 ? h < 2.0 ? near : away : away;
    return known ? near : away;
}
NL_DEV complex<f64> log(complex<f64> z, SlowFlags& slow) {
    return cplx(log_abs(z.re, z.im, false, 0.0, slow), atan2(z.im, z.re));
}
NL_DEV complex<f64> log2(complex<f64> z, SlowFlags& slow) { return scale(log(z, slow), 1.4426950408889634074); }
NL_DEV complex<f64> log10(complex<f64> z, SlowFlags& slow) { return scale(log(z, slow), 0.43429448190325182765); }
NL_DEV complex<f64> log1p(complex<f64> z, SlowFlags& slow) {
    f64 x = z.re, y = z.im, p = x * x, q = y * y, u = 2.0 * x, s = u + q, t = s - u, v = s + p, w = v - s;
    f64 rest = ((u - (s - t)) + (q - t)) + ((s - (v - w)) + (p - w));
    rest += product_rest(x, x, p) + product_rest(y, y, q);
    bool small = (fabs(x) < 0.5) & (fabs(y) < 0.5);
    return cplx(log_abs(x + 1.0, y, small, v + rest, slow), atan2(y, x + 1.0));
}
NL_DEV complex<f64> sqrt(complex<f64> z, SlowFlags& slow) {
    f64 x = z.re, y = z.im, a = fabs(x), b = fabs(y);
    want((a <= 4e307) & (b <= 4e307) & ((a >= 1e-290) | (b >= 1e-290)), slow);
    f64 t = sqrt(0.5 * (a + hypot(a, b))), u = b / (2.0 * t);
    return cplx(x >= 0 ? t : u, copysign(x >= 0 ? u : t, y));
}
NL_DEV void want_moderate(complex<f64> z, SlowFlags& slow) { want((fabs(z.re) <= 1e150) & (fabs(z.im) <= 1e150), slow); }
NL_DEV complex<f64> asin(complex<f64> z, SlowFlags& slow) {
    f64 x = z.re, y = z.im;
    want_moderate(z, slow);
    complex<f64> s = sqrt(cplx(1.0 - x, -y), slow), t = sqrt(cplx(1.0 + x, y), slow);
    return cplx(atan2(x, product(s.re, t.re) - product(s.im, t.im)),
                copysign(asinh(product(s.re, t.im) - product(s.im, t.re)), y));
}
NL_DEV complex<f64> acos(complex<f64> z, SlowFlags& slow) {
    f64 x = z.re, y = z.im;
    want_moderate(z, slow);
    complex<f64> s = sqrt(cplx(1.0 - x, -y), slow), t = sqrt(cplx(1.0 + x, y), slow);
    return cplx(2.0 * atan2(s.re, t.re), copysign(asinh(product(t.re, s.im) - product(t.im, s.re)), -y));
}
NL_DEV complex<f64> acosh(complex<f64> z, SlowFlags& slow) {
    f64 x = z.re, y = z.im;
    want_moderate(z, slow);
    complex<f64> s = sqrt(cplx(x - 1.0, y), slow), t = sqrt(cplx(x + 1.0, y), slow);
    return cplx(asinh(product(s.re, t.re) + product(s.im, t.im)), 2.0 * atan2(s.im, t.re));
}
NL_DEV complex<f64> asinh(complex<f64> z, SlowFlags& slow) { return over_i(asin(times_i(z), slow)); }
#define NL_NEAR64(name) \
NL_DEV complex<f32> name(complex<f32> z, SlowFlags& slow) { \
    complex<f64> r = name(cplx(z.re, z.im), slow); \
    return make_complex<f32>((f32)r.re, (f32)r.im); \
}
NL_NEAR64(exp)
NL_NEAR64(exp2)
NL_NEAR64(expm1)
NL_NEAR64(log)
NL_NEAR64(log2)
NL_NEAR64(log10)
NL_NEAR64(log1p)
NL_NEAR64(sin)
NL_NEAR64(cos)
NL_NEAR64(sinh)
NL_NEAR64(cosh)
NL_NEAR64(sqrt)
NL_NEAR64(asin)
NL_NEAR64(acos)
NL_NEAR64(acosh)
NL_NEAR64(asinh)
}
#endif
