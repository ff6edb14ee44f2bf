// Inverses of the incomplete gamma and beta functions, and of the distributions that they are: Newton's method for the
// logarithm of the smaller tail, which is nearly straight over the logarithm of x (or over x, far above).
namespace nl {
// x with lower part p and upper part q = 1 - p.
NL_CALL f64 gamma_inverse(f64 a, f64 p, f64 q, f64 enough) {
    if (a != a || p != p || !(a >= 0) || !(p >= 0) || !(q >= 0)) return NL_NAN;
    if (p == 0) return 0;
    if (q == 0) return NL_INFINITY;
    if (a == 0 || a == NL_INFINITY) return NL_NAN;
    bool low = p <= 0.5;
    // Far below 1 the lower function is x^a / gamma(a + 1).
    f64 x = exp(((low ? log(p) : log1p(-q)) + log_gamma1p(a)) / a), z = low ? ndtri(p) : -ndtri(q);
    if (a < 1.0 && x < 1e-17) return x;
    f64 cube = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * sqrt(a));  // Wilson and Hilferty
    if (a > 1.0 && cube > 0.3) x = a * cube * cube * cube;
    else if (low || q > 0.25) x = exp((log(p) + lgamma(a + 1.0)) / a);
    else x = -log(q) - lgamma(a) > 1.0 ? -log(q) - lgamma(a) : 1.0;
    if (!(x > 1e-300)) return x;
    for (int n = 0; n < 60; ++n) {
        f64 density = a * gamma_density(a, x), step;  // over log(x)
        f64 part = gamma_part(a, x, low ? -1.0 : 1.0);
        if (!(part > 0 && density > 0)) {  // too far out
            x *= low ? 2.0 : 0.5;
            continue;
        }
        if (low) {
            step = -log(part / p) * part / density;
            step = step > 2.0 ? 2.0 : step < -20.0 ? -20.0 : step;
            x *= exp(step);
        } else {
            step = log(part / q) * part / density;
            step = !(step < 10.0) ? 10.0 : step < -0.75 ? -0.75 : step;
            x += x * step;
        }
        if (!(fabs(step) > enough)) break;
    }
    return x;
}
NL_DEV f64 gammaincinv(f64 a, f64 p, f64 enough = 1e-8) { return gamma_inverse(a, p, 1.0 - p, enough); }
NL_DEV f64 gammainccinv(f64 a, f64 q, f64 enough = 1e-8) { return gamma_inverse(a, 1.0 - q, q, enough); }
NL_DEV f64 chdtri(f64 v, f64 q, f64 enough = 1e-8) { return 2.0 * gammainccinv(0.5 * v, q, enough); }
NL_DEV f64 pdtri(f64 k, f64 y, f64 enough = 1e-8) {
    return k > -1.0 && y < 1.0 ? gammainccinv(trunc(k) + 1.0, y, enough) : NL_NAN;
}
NL_DEV f64 gdtrix(f64 a, f64 b, f64 p, f64 enough = 1e-8) { return gammaincinv(b, p, enough) / a; }
// x at most about 1/2 with I_x(a, b) = p = 1 - q.
NL_DEV f64 beta_inverse_below(f64 a, f64 b, f64 p, f64 q, f64 enough) {
    f64 x = 0, lowest = 0, highest = 0.75;
    bool low = p <= q;
    if (a > 1.0 && b > 1.0) {  // Abramowitz and Stegun 26.5.22
        f64 z = low ? -ndtri(p) : ndtri(q), l = (z * z - 3.0) / 6.0, s = 1.0 / (2.0 * a - 1.0), t = 1.0 / (2.0 * b - 1.0);
        f64 h = 2.0 / (s + t), root = h + l > 0 ? sqrt(h + l) : 0.0;
        x = a / (a + b * exp(2.0 * (z * root / h - (t - s) * (l + 5.0 / 6.0 - 2.0 / (3.0 * h)))));
    }
    if (!(x > 0 && x < 0.5)) {
        f64 scale = a < 0.2 ? log_gamma1p(a) - log_gamma_step(b, a) : log(a) + betaln(a, b);
        x = exp(((low ? log(p) : log1p(-q)) + scale) / a);  // the first term of the series
        if (a < 0.2 && x * (1.0 + b) < 1e-17) return x;
    }
    if (!(x < 0.5)) x = 0.25;
    if (!(x > 1e-300)) return x;
    for (int n = 0; n < 100; ++n) {
        f64 density = beta_density(a, b, x, 1.0 - x), next, step;
        if (low) {
            f64 part = beta_part(a, b, x, 1.0 - x);
            (part > p ? highest : lowest) = x;
            step = -log(part / p) * part * (1.0 - x) / density;
            next = x * exp(step);
        } else {
            f64 part = beta_part(b, a, 1.0 - x, x);
            (part < q ? highest : lowest) = x;
            step = -log(part / q) * part * x / density;
            next = -expm1(log1p(-x) + step);
            step = (next - x) / x;
        }
        if (!(next > lowest && next <= highest)) {
            if (fabs(step) <= enough) break;
            next = lowest > 0 && highest < 4.0 * lowest ? 0.5 * (lowest + highest)
                                                        : sqrt((lowest > 0 ? lowest : 1e-4 * highest) * highest);
            step = 1.0;
        }
        x = next;
        if (!(fabs(step) > enough)) break;
    }
    return x;
}
// x with I_x(a, b) = p, and 1 - x without cancellation.
NL_CALL f64 beta_inverse(f64 a, f64 b, f64 p, f64 q, f64 enough, f64& rest) {
    rest = NL_NAN;
    if (!(a > 0 && b > 0 && p >= 0 && q >= 0)) return NL_NAN;
    if (p == 0 || q == 0) {
        rest = p == 0 ? 1.0 : 0.0;
        return 1.0 - rest;
    }
    // By the smaller of both: next to 1 the other one is rounded.
    if (p <= q ? p <= beta_part(a, b, 0.5, 0.5) : q >= beta_part(b, a, 0.5, 0.5)) {
        f64 x = beta_inverse_below(a, b, p, q, enough);
        rest = 1.0 - x;
        return x;
    }
    rest = beta_inverse_below(b, a, q, p, enough);
    return 1.0 - rest;
}
NL_DEV f64 betaincinv(f64 a, f64 b, f64 p, f64 enough = 1e-8) { f64 y; return beta_inverse(a, b, p, 1.0 - p, enough, y); }
NL_DEV f64 betainccinv(f64 a, f64 b, f64 q, f64 enough = 1e-8) { f64 y; return beta_inverse(a, b, 1.0 - q, q, enough, y); }
NL_DEV f64 bdtri(f64 k, f64 n, f64 p, f64 enough = 1e-8) {
    k = floor(k);
    f64 y = NL_NAN;
    if (k >= 0 && n > k) beta_inverse(n - k, k + 1.0, p, 1.0 - p, enough, y);
    return y;
}
NL_DEV f64 nbdtri(f64 k, f64 n, f64 p, f64 enough = 1e-8) { return k >= 0 ? betaincinv(n, floor(k) + 1.0, p, enough) : NL_NAN; }
NL_DEV f64 fdtri(f64 a, f64 b, f64 p, f64 enough = 1e-8) {
    f64 y, x = beta_inverse(0.5 * a, 0.5 * b, p, 1.0 - p, enough, y);
    return b * x / (a * y);
}
NL_DEV f64 stdtrit(f64 df, f64 p, f64 enough = 1e-8) {
    if (!(p >= 0 && p <= 1.0)) return NL_NAN;
    if (df == NL_INFINITY) return ndtri(p);
    f64 tail = p < 0.5 ? 2.0 * p : 2.0 * (1.0 - p), y, x = beta_inverse(0.5 * df, 0.5, tail, 1.0 - tail, enough, y);
    f64 t = sqrt(df * y / x);
    return p < 0.5 ? -t : t;
}
NL_ROUGH2(gammaincinv, 1e-4)
NL_ROUGH2(gammainccinv, 1e-4)
NL_ROUGH2(chdtri, 1e-4)
NL_ROUGH2(pdtri, 1e-4)
NL_ROUGH2(stdtrit, 1e-4)
NL_ROUGH3(gdtrix, 1e-4)
NL_ROUGH3(betaincinv, 1e-4)
NL_ROUGH3(betainccinv, 1e-4)
NL_ROUGH3(bdtri, 1e-4)
NL_ROUGH3(nbdtri, 1e-4)
NL_ROUGH3(fdtri, 1e-4)
}
