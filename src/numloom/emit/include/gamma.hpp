// Gamma and beta functions and their logarithms and derivatives.
NL_LIBM1(tgamma)
NL_LIBM1(lgamma)
namespace nl {
NL_DEV bool is_pole(f64 x) { return x <= 0 && floor(x) == x; }
template <class T> NL_DEV T gamma_function(T x) { return x == -(T)NL_INFINITY ? -x * 0 : tgamma(x); }
template <class T> NL_DEV T gammaln(T x) { return x == -(T)NL_INFINITY ? x : lgamma(x); }
template <class T> NL_DEV T loggamma(T x) { return x < 0 ? (T)NL_NAN : lgamma(x); }
template <class T> NL_DEV T gammasgn(T x) {
    if (x != x) return x;
    if (x == 0) return copysign((T)1, x);
    if (x > 0) return 1;
    T below = floor(x);
    return below == x ? (T)NL_NAN : floor(below / 2) * 2 == below ? (T)1 : (T)-1;
}
NL_CALL f64 rgamma(f64 x) {
    if (is_pole(x)) return x == 0 ? x : 0.0;
    return 1.0 / tgamma(x);
}
NL_NARROW1(rgamma)
// The series of log(gamma) beyond Stirling's formula, for x >= 10.
NL_TABLE table_stirling[] = {
    0.083333333333333333333, -2.7777777777777777778e-3, 7.9365079365079365079e-4, -5.952380952380952381e-4,
    8.4175084175084175084e-4, -1.9175269175269175269e-3, 6.4102564102564102564e-3,
};
NL_DEV f64 stirling(f64 x) { return polynomial(table_stirling, 1.0 / (x * x)) / x; }
// log(gamma(p + q) / gamma(p)) for positive p and q up to 1, also of a tiny q with all its digits: by Stirling's formula, whose
// terms at p + q and at p differ by a multiple of q.
NL_CALL f64 log_gamma_step(f64 p, f64 q) {
    f64 steps = 0;
    while (p < 10.0) {
        steps += log1p(q / p);
        p += 1.0;
    }
    f64 u = 1.0 / p, v = 1.0 / (p + q), series = 0;
    for (int k = 6; k >= 0; --k) {
        f64 mixed = 0, power = 1.0;  // (u^n - v^n) / (u - v), n = 2 k + 1
        for (int i = 0; i <= 2 * k; ++i) {
            mixed = mixed * u + power;
            power *= v;
        }
        series += table_stirling[k] * mixed;
    }
    return q * log(p) + ((p + q - 0.5) * log1p(q / p) - q) - q * u * v * series - steps;
}
NL_CALL f64 betaln(f64 a, f64 b) {
    f64 p = a < b ? a : b, q = a < b ? b : a;
    if (p != p || q != q) return p + q;
    if (is_pole(p)) {
        // A pole of the denominator may cancel it: B(-n, m) with m <= n.
        if (floor(q) != q || !(q > 0 && q <= -p)) return NL_INFINITY;
        p = 1.0 - p - q;
    }
    if (q == NL_INFINITY) return p > 0 && p < q ? -q : NL_NAN;
    if (q < 10.0 || p + q < 10.0 || p < -0.5 * q) return lgamma(p) + lgamma(q) - lgamma(p + q);
    if (p > q) { f64 larger = p; p = q; q = larger; }
    f64 rest = stirling(q) - stirling(p + q);
    if (p < 10.0) return lgamma(p) + ((p - (q - 0.5) * log1p(p / q) - p * log(p + q)) + rest);
    return ((0.91893853320467274178 - 0.5 * log(q)) + (stirling(p) + rest)) + ((p - 0.5) * log(p / (p + q)) - q * log1p(p / q));
}
NL_NARROW2(betaln)
NL_CALL f64 beta(f64 a, f64 b) {
    if (a != a || b != b) return a + b;
    if (is_pole(a) || is_pole(b)) {
        f64 m = is_pole(a) ? b : a;
        bool positive = floor(m / 2) * 2 == m || (betaln(a, b) == NL_INFINITY && !(is_pole(m) && a + b > -NL_INFINITY));
        return (positive ? 1.0 : -1.0) * exp(betaln(a, b));
    }
    if (is_pole(a + b)) return 0;
    f64 s = a + b;
    if (fabs(a) < 60.0 && fabs(b) < 60.0 && fabs(s) < 120.0) {
        f64 ga = tgamma(a), gb = tgamma(b), gs = tgamma(s);
        return fabs(ga) > fabs(gb) ? ga / gs * gb : gb / gs * ga;
    }
    return gammasgn(a) * gammasgn(b) * gammasgn(s) * exp(betaln(a, b));
}
NL_NARROW2(beta)
// Binomial coefficients of real numbers: few factors one by one, which rounds least; else by beta.
NL_CALL f64 binom(f64 n, f64 k) {
    if (n != n || !(fabs(k) < NL_INFINITY) || (n < 0 && floor(n) == n)) return NL_NAN;
    if (floor(k) == k) {
        if (k < 0 || (floor(n) == n && k > n && n >= 0)) return 0;
        f64 taken = floor(n) == n && n > 0 && k > 0.5 * n ? n - k : k;
        if (taken >= 0 && taken < 20.0) {
            f64 above = 1.0, below = 1.0;
            for (f64 i = 1.0; i <= taken; i += 1.0) {
                above *= n - (taken - i);
                below *= i;
                if (fabs(above) > 1e50) {
                    above /= below;
                    below = 1.0;
                }
            }
            return above / below;
        }
    }
    if (k > 0 && n >= 1e10 * k) return exp(-betaln(1.0 + n - k, 1.0 + k) - log(n + 1.0));
    if (k >= 20.0 && k > 1e8 * fabs(n)) {  // by the reflection of gamma(1 + n - k)
        f64 part = k - 2.0 * floor(0.5 * k);
        // Beside a whole number a small n is lost.
        f64 wave = part == 0 ? -sin(n * 3.14159265358979323846)
                 : part == 1 ? sin(n * 3.14159265358979323846)
                             : sin((part - n) * 3.14159265358979323846);
        return tgamma(1.0 + n) * pow(k, -n - 1.0) * (1.0 + 0.5 * n / k) * wave / 3.14159265358979323846;
    }
    return 1.0 / ((n + 1.0) * beta(1.0 + n - k, 1.0 + k));
}
NL_NARROW2(binom)
// gamma(a + m) / gamma(a): whole steps of m one by one, the rest by logarithms, or far up by a series.
NL_CALL f64 poch(f64 a, f64 m) {
    f64 r = 1.0;
    while (m >= 1.0 && a + m != 1.0) {
        m -= 1.0;
        r *= a + m;
        if (!(fabs(r) < NL_INFINITY) || r == 0) break;
    }
    while (m <= -1.0 && a + m != 0) {
        r /= a + m;
        m += 1.0;
        if (!(fabs(r) < NL_INFINITY) || r == 0) break;
    }
    if (m == 0 || m != m || a != a) return m == 0 ? r : m + a;
    if (a > 1e4 && fabs(m) <= 1.0) {
        return r * pow(a, m) * (1.0 + m * (m - 1.0) / (2.0 * a) * (1.0 + (m - 2.0) * (3.0 * m - 1.0) / (12.0 * a)
             * (1.0 + m * (m - 1.0) * (m - 3.0) / (2.0 * (3.0 * m - 1.0) * a))));
    }
    if (is_pole(a + m) && !is_pole(a) && a + m != m) return NL_INFINITY;
    if (!is_pole(a + m) && is_pole(a)) return 0;
    if (a > 0 && a + m > 0 && fabs(m) <= 1.0) return r * exp(m > 0 ? log_gamma_step(a, m) : -log_gamma_step(a + m, -m));
    return r * exp(lgamma(a + m) - lgamma(a)) * gammasgn(a + m) * gammasgn(a);
}
NL_NARROW2(poch)
// digamma(x) / (x - x0) on [1, 2], x0 being its root there.
NL_TABLE table_digamma[] = {
    0.98357026044156698801, -0.22706408633464439669, 0.033368899023930108972, -5.3200772715965474438e-3,
    8.7886569378205053326e-4, -1.4773492650606043282e-4, 2.506054346835914444e-5, -4.272103402999332207e-6,
    7.3027692724659230493e-7, -1.2502886813559595515e-7, 2.1425009322359473734e-8, -3.6732959185651790393e-9,
    6.2997172361089309069e-10, -1.0805930288832660114e-10, 1.8537351920536378898e-11, -3.1802353658255300096e-12,
    5.4561475703227941847e-13, -9.3609931310364381561e-14, 1.6060646362950750099e-14, -2.7555431377438813107e-15,
    4.7277361786019113911e-16, -8.1114842034650900328e-17, 1.3917077694741540651e-17,
};
NL_TABLE table_bernoulli[] = {
    0.083333333333333333333, -1.3888888888888888889e-3, 3.3068783068783068783e-5, -8.2671957671957671958e-7,
    2.0876756987868098979e-8, -5.2841901386874931848e-10, 1.3382536530684678833e-11, -3.3896802963225828668e-13,
    8.5860620562778445641e-15, -2.174868698558061873e-16, 5.5090028283602295152e-18, -1.3954464685812523341e-19,
};
NL_CALL f64 psi(f64 x) {
    f64 sum = 0;
    if (x <= 0) {
        if (x == 0) return copysign(NL_INFINITY, -x);
        f64 part = x - rint(x);
        if (!(fabs(part) > 0)) return NL_NAN;
        sum = -3.14159265358979323846 / tan(3.14159265358979323846 * part);  // reflection
        x = 1.0 - x;
    }
    if (x == NL_INFINITY) return x;
    if (x < 1.0) {
        sum -= 1.0 / x;
        x += 1.0;
    }
    if (x < 10.0) {
        while (x > 2.0) {
            x -= 1.0;
            sum += 1.0 / x;
        }
        return sum + ((x - 1.4616321449683622) - 9.5499954299656977e-17) * chebyshev(table_digamma, 2.0 * x - 3.0);
    }
    f64 z = 1.0 / (x * x);
    f64 series = 8.3333333333333333e-2 + z * (-8.3333333333333333e-3 + z * (3.9682539682539683e-3 + z * (-4.1666666666666667e-3
        + z * (7.5757575757575758e-3 + z * (-2.1092796092796093e-2 + z * 8.3333333333333333e-2)))));
    return sum + ((log(x) - 0.5 / x) - z * series);
}
NL_NARROW1(psi)
// Sum of (q + n)^-x over n >= 0 by Euler's and Maclaurin's formula; also for x < 1, where the sum has no limit.
NL_CALL f64 hurwitz(f64 x, f64 less_one, f64 q) {  // less_one is x - 1
    if (q > 1e8) return (1.0 / less_one + 0.5 / q) * pow(q, -less_one);
    f64 term = pow(q, -x), sum = term;
    for (int n = 0; n < 10 || q <= 10.0; ++n) {
        q += 1.0;
        term = pow(q, -x);
        sum += term;
        if (q > 1.0 && fabs(term) <= 1e-17 * fabs(sum)) return sum;
    }
    sum += term * (q / less_one - 0.5);
    f64 factor = x;
    for (int k = 0; k < 12; ++k) {
        term /= q;
        f64 more = table_bernoulli[k] * factor * term;
        sum += more;
        if (fabs(more) < 1e-17 * fabs(sum)) break;
        term /= q;
        factor *= (x + (2 * k + 1)) * (x + (2 * k + 2));
    }
    return sum;
}
NL_CALL f64 zeta(f64 x, f64 q) {
    if (x != x || q != q) return x + q;
    if (x == 1.0) return NL_INFINITY;
    if (x < 1.0) return NL_NAN;
    if (q <= 0) {
        if (floor(q) == q) return NL_INFINITY;
        if (floor(x) != x) return NL_NAN;
        // pow of a negative number and a whole exponent.
    }
    return hurwitz(x, x - 1.0, q);
}
NL_NARROW2(zeta)
NL_CALL f64 riemann_zeta(f64 x) {
    if (x >= 0) return x == 1.0 ? NL_INFINITY : x == NL_INFINITY ? 1.0 : hurwitz(x, x - 1.0, 1.0);
    if (x == -NL_INFINITY) return NL_NAN;
    if (floor(x / 2) * 2 == x) return x > -1e300 ? 0.0 : NL_NAN;
    // Reflection: 2 (2 pi)^(x-1) sin(pi x / 2) gamma(1 - x) zeta(1 - x).
    f64 turn = x / 4 - rint(x / 4), s = 1.0 - x;
    f64 scale = s < 100.0 ? tgamma(s) * pow(6.28318530717958647693, -s) : exp(lgamma(s) - s * 1.83787706640934548356);
    return 2.0 * scale * sin(6.28318530717958647693 * turn) * hurwitz(s, -x, 1.0);
}
NL_NARROW1(riemann_zeta)
NL_CALL f64 zetac(f64 x) {
    return x > 1.5 ? x == NL_INFINITY ? 0.0 : hurwitz(x, x - 1.0, 2.0) : riemann_zeta(x) - 1.0;
}
NL_NARROW1(zetac)
}
