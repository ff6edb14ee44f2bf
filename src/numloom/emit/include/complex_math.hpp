// Elementary functions of complex128, with the special values of C's annex G; complex64 goes through them.
namespace nl {
NL_DEV complex<f64> cplx(f64 re, f64 im) { return make_complex<f64>(re, im); }
NL_DEV complex<f64> times_i(complex<f64> z) { return cplx(-z.im, z.re); }
NL_DEV complex<f64> over_i(complex<f64> z) { return cplx(z.im, -z.re); }
NL_DEV complex<f64> sqrt(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (is_inf(y)) return cplx(NL_INFINITY, y);
    if (is_inf(x)) {
        if (x < 0) return cplx(y != y ? y : 0.0, copysign(NL_INFINITY, y));
        return cplx(x, y != y ? y : copysign(0.0, y));
    }
    if (x == 0 && y == 0) return cplx(0.0, y);
    f64 a = fabs(x), b = fabs(y), back = 1.0;
    if (a > 4e307 || b > 4e307) { a *= 0.0625; b *= 0.0625; back = 4.0; }
    if (a < 1e-290 && b < 1e-290) {  // by 2^54 and back by 2^-27
        a *= 1.8014398509481984e16;
        b *= 1.8014398509481984e16;
        back = 7.450580596923828125e-09;
    }
    f64 t = sqrt(0.5 * (a + hypot(a, b)));
    f64 u = b / (2.0 * t) * back;
    t *= back;
    return x >= 0 ? cplx(t, copysign(u, y)) : cplx(u, copysign(t, y));
}
NL_DEV complex<f64> exp(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (y == 0) return cplx(exp(x), y);
    if (!is_finite(y)) {
        if (x == -NL_INFINITY) return cplx(0.0, is_inf(y) ? copysign(0.0, y) : 0.0);
        return x == NL_INFINITY ? cplx(x, y - y) : cplx(y - y, y - y);
    }
    if (x == 0) return cplx(cos(y), sin(y));
    if (x > 700 && x < 1500) {
        f64 e = exp(x - 700), big = 1.014232054735005e304;
        return cplx(e * cos(y) * big, e * sin(y) * big);
    }
    f64 e = exp(x);
    return cplx(e * cos(y), e * sin(y));
}
// The low part of a product.
NL_DEV f64 product_rest(f64 a, f64 b, f64 p) {
    f64 s = 134217729.0 * a, t = 134217729.0 * b, ah = s - (s - a), bh = t - (t - b), al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}
NL_DEV f64 log_abs(f64 x, f64 y) {
    f64 a = fabs(x), b = fabs(y);
    if (is_inf(a) || is_inf(b)) return NL_INFINITY;
    if (x != x || y != y) return x + y;
    if (a < b) { f64 t = a; a = b; b = t; }
    if (a > 1e300) return log(hypot(a * 0.25, b * 0.25)) + 1.3862943611198906;
    if (a == 0) return -NL_INFINITY;
    if (a < 1e-290) return log(hypot(a * 1.8014398509481984e16, b * 1.8014398509481984e16)) - 37.429947750237047;
    f64 h = a * a + b * b;
    if (h > 0.5 && h < 2.0) {
        f64 p = a * a, q = b * b, r = product_rest(a, a, p) + product_rest(b, b, q), m = p - 1.0, s = m + q, t = s - m;
        return 0.5 * log1p(s + (((m - (s - t)) + (q - t)) + r));
    }
    return log(hypot(a, b));
}
NL_DEV complex<f64> log(complex<f64> z) { return cplx(log_abs(z.re, z.im), atan2(z.im, z.re)); }
NL_DEV complex<f64> log2(complex<f64> z) { return scale(log(z), 1.4426950408889634074); }
NL_DEV complex<f64> log10(complex<f64> z) { return scale(log(z), 0.43429448190325182765); }
NL_DEV complex<f64> log1p(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (fabs(x) < 0.5 && fabs(y) < 0.5) {
        // |1 + z|^2 - 1 = x (2 + x) + y^2, where the terms may cancel.
        f64 p = x * x, q = y * y, u = 2.0 * x, s = u + q, t = s - u, v = s + p, w = v - s;
        f64 rest = ((u - (s - t)) + (q - t)) + ((s - (v - w)) + (p - w));
        rest += product_rest(x, x, p) + product_rest(y, y, q);
        return cplx(0.5 * log1p(v + rest), atan2(y, 1.0 + x));
    }
    return cplx(log_abs(x + 1.0, y), atan2(y, x + 1.0));
}
NL_DEV complex<f64> exp2(complex<f64> z) { return exp(scale(z, 0.69314718055994530942)); }
NL_DEV complex<f64> expm1(complex<f64> z) {
    if (z.im == 0) return cplx(expm1(z.re), z.im);
    f64 s = sin(0.5 * z.im);
    complex<f64> e = exp(z);
    if (!is_finite(z.re) || !is_finite(z.im) || fabs(z.re) > 30) return cplx(e.re - 1.0, e.im);
    return cplx(expm1(z.re) * cos(z.im) - 2.0 * s * s, e.im);
}
NL_DEV complex<f64> sinh(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (y == 0) return cplx(sinh(x), y);
    if (!is_finite(y)) return x == 0 || is_inf(x) ? cplx(x == 0 ? x : NL_INFINITY, y - y) : cplx(y - y, y - y);
    if (x == 0) return cplx(x * cos(y), sin(y));
    if (fabs(x) > 700 && fabs(x) < 1500) {
        f64 e = 0.5 * exp(fabs(x) - 700), big = 1.014232054735005e304;
        return cplx(copysign(e, x) * cos(y) * big, e * sin(y) * big);
    }
    return cplx(sinh(x) * cos(y), cosh(x) * sin(y));
}
NL_DEV complex<f64> cosh(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (y == 0) return cplx(cosh(x), x == x ? copysign(0.0, x) * copysign(1.0, y) : y);
    if (!is_finite(y)) {
        if (x == 0) return cplx(y - y, 0.0);
        return is_inf(x) ? cplx(NL_INFINITY, y - y) : cplx(y - y, y - y);
    }
    if (x == 0) return cplx(cos(y), x * sin(y));
    if (fabs(x) > 700 && fabs(x) < 1500) {
        f64 e = 0.5 * exp(fabs(x) - 700), big = 1.014232054735005e304;
        return cplx(e * cos(y) * big, copysign(e, x) * sin(y) * big);
    }
    return cplx(cosh(x) * cos(y), sinh(x) * sin(y));
}
NL_DEV complex<f64> tanh(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (y == 0) return cplx(tanh(x), y);
    if (is_inf(x)) return cplx(copysign(1.0, x), copysign(0.0, is_finite(y) ? sin(2.0 * y) : y));
    if (!is_finite(y)) return cplx(x == 0 ? x : y - y, y - y);
    if (fabs(x) > 22) return cplx(copysign(1.0, x), 4.0 * sin(y) * cos(y) * exp(-2.0 * fabs(x)));
    f64 t = tan(y), beta = 1.0 + t * t, s = sinh(x), rho = sqrt(1.0 + s * s);
    if (is_inf(t)) return cplx(rho / s, 1.0 / t);
    f64 d = 1.0 + beta * s * s;
    return cplx(beta * rho * s / d, t / d);
}
NL_DEV complex<f64> sin(complex<f64> z) {
    if (is_inf(z.im) && !is_finite(z.re)) return cplx(z.re - z.re, NL_INFINITY);
    return over_i(sinh(times_i(z)));
}
NL_DEV complex<f64> cos(complex<f64> z) { return cosh(times_i(z)); }
NL_DEV complex<f64> tan(complex<f64> z) { return over_i(tanh(times_i(z))); }
NL_DEV bool huge(complex<f64> z) { return fabs(z.re) > 1e150 || fabs(z.im) > 1e150; }
NL_DEV complex<f64> asin(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (x != x || y != y) {
        if (x == 0) return cplx(x, y);
        if (is_inf(x)) return cplx(y, NL_INFINITY);
        return cplx(x + y, is_inf(y) ? y : x + y);
    }
    if (huge(z)) return cplx(atan2(x, fabs(y)), copysign(log_abs(x, y) + 0.69314718055994530942, y));
    complex<f64> s = sqrt(cplx(1.0 - x, -y)), t = sqrt(cplx(1.0 + x, y));
    return cplx(atan2(x, product(s.re, t.re) - product(s.im, t.im)),
                copysign(asinh(product(s.re, t.im) - product(s.im, t.re)), y));
}
NL_DEV complex<f64> acos(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (x != x || y != y) {
        if (x == 0) return cplx(1.57079632679489661923, y);
        if (is_inf(x)) return cplx(y, -NL_INFINITY);
        return cplx(x + y, is_inf(y) ? -y : x + y);
    }
    if (huge(z)) return cplx(atan2(fabs(y), x), copysign(log_abs(x, y) + 0.69314718055994530942, -y));
    complex<f64> s = sqrt(cplx(1.0 - x, -y)), t = sqrt(cplx(1.0 + x, y));
    return cplx(2.0 * atan2(s.re, t.re), copysign(asinh(product(t.re, s.im) - product(t.im, s.re)), -y));
}
NL_DEV complex<f64> acosh(complex<f64> z) {
    f64 x = z.re, y = z.im;
    if (x != x || y != y) {
        if (is_inf(x) || is_inf(y)) return cplx(NL_INFINITY, y != y ? y : x);
        return cplx(x + y, x == 0 ? 1.57079632679489661923 : x + y);
    }
    if (huge(z)) return cplx(log_abs(x, y) + 0.69314718055994530942, atan2(y, x));
    complex<f64> s = sqrt(cplx(x - 1.0, y)), t = sqrt(cplx(x + 1.0, y));
    return cplx(asinh(product(s.re, t.re) + product(s.im, t.im)), 2.0 * atan2(s.im, t.re));
}
NL_DEV complex<f64> asinh(complex<f64> z) { return over_i(asin(times_i(z))); }
NL_DEV complex<f64> atanh(complex<f64> z) {
    f64 x = fabs(z.re), y = copysign(1.0, z.re) * z.im, b = fabs(y);
    complex<f64> r;
    if (is_inf(x) || is_inf(y)) r = cplx(0.0, y != y ? y : copysign(1.57079632679489661923, y));
    else if (x != x || y != y) r = cplx(x == 0 ? x : x + y, x + y);
    else if (huge(z)) {
        f64 h = hypot(0.5 * x, 0.5 * y);
        r = cplx(0.25 * x / h / h, copysign(1.57079632679489661923, y));
    } else if (x == 1 && b < 1e-154) {
        r = cplx(-log(sqrt(b) / sqrt(hypot(b, 2.0))), copysign(0.5 * atan2(2.0, -b), y));
        r = b == 0 ? cplx(NL_INFINITY, y) : r;
    } else {
        f64 d = (1.0 - x) * (1.0 - x) + b * b;
        r = cplx(0.25 * log1p(4.0 * x / d), 0.5 * atan2(2.0 * y, (1.0 - x) * (1.0 + x) - b * b));
    }
    return cplx(copysign(r.re, z.re), r.im != r.im ? r.im : copysign(r.im, z.im));
}
NL_DEV complex<f64> atan(complex<f64> z) { return over_i(atanh(times_i(z))); }
// Selects, not branches: so host loops are vectors.
template <class T> NL_DEV complex<T> sign(complex<T> z) {
    T a = abs(z), re = a == 0 ? (T)0 : z.re / a, im = a == 0 ? (T)0 : z.im / a;
    bool p = is_inf(z.re), q = is_inf(z.im);
    T u = q ? (T)NL_NAN : copysign((T)1, z.re), v = p ? (T)NL_NAN : copysign((T)1, z.im);
    re = q ? (T)0 : re;
    im = p ? (T)0 : im;
    return make_complex<T>(p ? u : re, q ? v : im);
}
#define NL_COMPLEX64(name) \
NL_DEV complex<f32> name(complex<f32> z) { \
    complex<f64> r = name(cplx(z.re, z.im)); \
    return make_complex<f32>((f32)r.re, (f32)r.im); \
}
NL_COMPLEX64(sqrt)
NL_COMPLEX64(exp)
NL_COMPLEX64(exp2)
NL_COMPLEX64(expm1)
NL_COMPLEX64(log)
NL_COMPLEX64(log2)
NL_COMPLEX64(log10)
NL_COMPLEX64(log1p)
NL_COMPLEX64(sin)
NL_COMPLEX64(cos)
NL_COMPLEX64(tan)
NL_COMPLEX64(asin)
NL_COMPLEX64(acos)
NL_COMPLEX64(atan)
NL_COMPLEX64(sinh)
NL_COMPLEX64(cosh)
NL_COMPLEX64(tanh)
NL_COMPLEX64(asinh)
NL_COMPLEX64(acosh)
NL_COMPLEX64(atanh)
}
