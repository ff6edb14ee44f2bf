// Functions made of exponentials, logarithms and angles, for statistics and losses.
namespace nl {
template <class T> NL_DEV T expit(T x) {
    const T e = exp(-fabs(x));  // which does not overflow
    return (x < 0 ? e : (T)1) / ((T)1 + e);
}
template <class T> NL_DEV T log_expit(T x) { return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)); }
template <class T> NL_DEV T logit(T x) {
    if (x < (T)0.3 || x > (T)0.65) return log(x / ((T)1 - x));
    T s = 2 * (x - (T)0.5);
    return log1p(s) - log1p(-s);
}
template <class T> NL_DEV T xlogy(T x, T y) { return x == 0 && y == y ? (T)0 : x * log(y); }
template <class T> NL_DEV T xlog1py(T x, T y) { return x == 0 && y == y ? (T)0 : x * log1p(y); }
template <class T> NL_DEV T entr(T x) { return x > 0 ? -x * log(x) : x == 0 ? (T)0 : x != x ? x : -(T)NL_INFINITY; }
// log(x / y), near 1 by what the numbers differ
template <class T> NL_DEV T log_ratio(T x, T y) {
    T ratio = x / y;
    if (ratio > (T)0.5 && ratio < 2) return log1p((x - y) / y);
    // A subnormal quotient has lost digits.
    return ratio >= (T)(sizeof(T) == 8 ? 2.2250738585072014e-308 : 1.17549435e-38) && ratio < (T)NL_INFINITY
        ? log(ratio) : log(x) - log(y);
}
template <class T> NL_DEV T rel_entr(T x, T y) {
    if (x != x || y != y) return x + y;
    return x > 0 && y > 0 ? x * log_ratio(x, y) : x == 0 && y >= 0 ? (T)0 : (T)NL_INFINITY;
}
NL_DEV f64 kl_div(f64 x, f64 y) {
    if (x != x || y != y) return x + y;
    if (!(x > 0 && y > 0)) return x == 0 && y >= 0 ? y : NL_INFINITY;
    f64 u = (x - y) / y;
    if (fabs(u) < 0.4) return y * (u * u - (1.0 + u) * less_log(u, 1.0 + u));
    return (x * log_ratio(x, y) - x) + y;
}
NL_NARROW2(kl_div)
template <class T> NL_DEV T huber(T delta, T r) {
    T a = fabs(r);
    return delta < 0 ? (T)NL_INFINITY : a <= delta ? (T)0.5 * r * r : delta * (a - (T)0.5 * delta);
}
template <class T> NL_DEV T pseudo_huber(T delta, T r) {
    if (delta < 0) return (T)NL_INFINITY;
    if (delta == 0 || r == 0) return 0;
    T v = fabs(r / delta), w = fabs(delta / r);
    return fabs(r) * (v < 1 ? v / (1 + hypot((T)1, v)) : 1 / (w + hypot((T)1, w))) * delta;
}
NL_DEV f64 exp10(f64 x) {
    if (!(x > -330.0 && x < 310.0)) return x != x ? x : x > 0 ? NL_INFINITY : 0.0;
    f64 k = rint(x * 3.32192809488736234787), r = (x - k * 0.301025390625) - k * 4.60503898119521373889e-6;
    return ldexp(exp(r * 2.30258509299404568402), (i64)k);
}
NL_DEV f32 exp10(f32 x) { return (f32)exp10((f64)x); }
template <class T> NL_DEV T exprel(T x) {
    if (x == 0) return (T)1;
    if (x == (T)NL_INFINITY) return x;
    if (x == -(T)NL_INFINITY) return (T)0;
    const T e = expm1(x), half = exp(x / 2);
    return e < (T)NL_INFINITY ? e / x : half * (half / x);
}
// Where the exponent is next to nothing the power is a logarithm.
template <class T> NL_DEV T power_of_log(T l, T p) {
    return fabs(p) < (T)1e-19 || p * l == 0 ? l : expm1(p * l) / p;
}
template <class T> NL_DEV T boxcox(T x, T p) { return power_of_log(log(x), p); }
template <class T> NL_DEV T boxcox1p(T x, T p) { return power_of_log(log1p(x), p); }
template <class T> NL_DEV T log_of_power(T x, T p) {
    T z = p * x;
    if (fabs(z) < (T)1e-18 && is_finite(x)) return x;
    return (z == (T)NL_INFINITY ? log(fabs(x)) + log(fabs(p)) : log1p(z)) / p;
}
template <class T> NL_DEV T inv_boxcox(T x, T p) { return p == 0 ? exp(x) : exp(log_of_power(x, p)); }
template <class T> NL_DEV T inv_boxcox1p(T x, T p) { return p == 0 ? expm1(x) : expm1(log_of_power(x, p)); }
template <class T> NL_DEV T cosm1(T x) {
    T s = sin((T)0.5 * x);
    return -2 * s * s;
}
// Sine of an angle in degrees plus some right angles.
template <class T> NL_DEV T sine_degrees(T x, i32 quarters) {
    T y = fmod(x, (T)360), n = rint(y / 90), r = (y - n * 90) * (T)0.017453292519943295769;
    i32 q = ((i32)n + quarters) & 3;
    T v = q & 1 ? cos(r) : sin(r);
    return q & 2 ? (T)0 - v : v;
}
template <class T> NL_DEV T sindg(T x) { return is_finite(x) ? sine_degrees(x, 0) : (T)NL_NAN; }
template <class T> NL_DEV T cosdg(T x) { return is_finite(x) ? sine_degrees(x, 1) : (T)NL_NAN; }
// Poles are positive, whichever side the zero of the divisor is from.
template <class T> NL_DEV T over_zero(T x, T y) { return y == 0 ? (T)NL_INFINITY : x / y; }
template <class T> NL_DEV T tandg(T x) { return over_zero(sindg(x), cosdg(x)); }
template <class T> NL_DEV T cotdg(T x) { return over_zero(cosdg(x), sindg(x)); }
template <class T> NL_DEV T radian(T d, T m, T s) { return ((s / 60 + m) / 60 + d) * (T)0.017453292519943295769; }
// Complete elliptic integral of the first kind by the arithmetic-geometric mean; the parameter is 1 - p.
NL_DEV f64 ellipkm1(f64 p) {
    if (!(p > 0 && p < NL_INFINITY)) return p == 0 ? NL_INFINITY : p == NL_INFINITY ? 0.0 : NL_NAN;
    f64 a = 1.0, g = sqrt(p);
    for (int n = 0; n < 20 && fabs(a - g) > 1e-9 * a; ++n) {
        f64 mean = 0.5 * (a + g);
        g = sqrt(a * g);
        a = mean;
    }
    return 3.14159265358979323846 / (a + g);
}
NL_DEV f64 ellipk(f64 m) { return ellipkm1(1.0 - m); }
NL_DEV f32 ellipkm1(f32 p) { return (f32)ellipkm1((f64)p); }
NL_DEV f32 ellipk(f32 m) { return (f32)ellipk((f64)m); }
// E_n(x) exp(x) for x > 1: Legendre's continued fraction by Lentz's method.
NL_CALL f64 expn_fraction(f64 n, f64 x) {
    f64 b = x + n, c = 1e300, d = 1.0 / b, h = d;
    for (int k = 1; k < 500; ++k) {
        f64 a = -(f64)k * (n - 1.0 + k);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        f64 step = c * d;
        h *= step;
        if (fabs(step - 1.0) < 1e-16) break;
    }
    return h;
}
// The exponential integral: its series up to 1, beyond the fraction.
NL_CALL f64 exp1(f64 x) {
    if (!(x > 0)) return x == 0 ? NL_INFINITY : NL_NAN;
    if (x <= 1.0) {
        f64 term = 1.0, sum = 0;
        for (int k = 1; k < 25; ++k) {
            term *= -x / k;
            sum -= term / k;
        }
        return sum - 0.57721566490153286061 - log(x);
    }
    if (x > 745.0) return 0;
    return expn_fraction(1.0, x) * exp(-x);
}
// Its principal value for positive arguments: the series up to 40, beyond the asymptotic one.
NL_CALL f64 expi(f64 x) {
    if (!(x > 0)) return x == 0 ? -NL_INFINITY : -exp1(-x);
    if (x == NL_INFINITY) return x;
    f64 term = 1.0, sum = 0;
    if (x < 40.0) {
        for (int k = 1; k < 200 && term > 1e-17 * sum; ++k) {
            term *= x / k;
            sum += term / k;
        }
        return sum + (0.57721566490153286061 + log(x));
    }
    for (int k = 1; k < 60 && term > 1e-17; ++k) {
        sum += term;
        term *= k / x;
    }
    f64 half = exp(0.5 * x);
    return half * (sum / x) * half;
}
NL_NARROW1(exp1)
NL_NARROW1(expi)
}
