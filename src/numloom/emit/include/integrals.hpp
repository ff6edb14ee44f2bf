// Integrals that are no elementary functions: elliptic ones by Carlson's symmetric forms, E_n, the dilogarithm.
namespace nl {
// Carlson, "Computing elliptic integrals by duplication" (1979): R_F(x, y, z) and R_D(x, y, z). The series at the end
// are exact to the sixth power of the differences that are left.
NL_CALL f64 carlson_rf(f64 x, f64 y, f64 z) {
    f64 mean = 0, a = 0, b = 0, c = 0;
    for (int n = 0; n < 60; ++n) {
        f64 lambda = sqrt(x) * (sqrt(y) + sqrt(z)) + sqrt(y) * sqrt(z);
        x = 0.25 * (x + lambda); y = 0.25 * (y + lambda); z = 0.25 * (z + lambda);
        mean = (x + y + z) / 3.0;
        a = 1.0 - x / mean; b = 1.0 - y / mean; c = -(a + b);
        if (fabs(a) < 1e-3 && fabs(b) < 1e-3 && fabs(c) < 1e-3) break;
    }
    f64 e = a * b - c * c, f = a * b * c;
    return (1.0 + (e / 24.0 - 0.1 - 3.0 * f / 44.0) * e + f / 14.0) / sqrt(mean);
}
NL_CALL f64 carlson_rd(f64 x, f64 y, f64 z) {
    f64 mean = 0, a = 0, b = 0, c = 0, sum = 0, power = 1.0;
    for (int n = 0; n < 60; ++n) {
        f64 root = sqrt(z), lambda = sqrt(x) * (sqrt(y) + root) + sqrt(y) * root;
        sum += power / (root * (z + lambda));
        power *= 0.25;
        x = 0.25 * (x + lambda); y = 0.25 * (y + lambda); z = 0.25 * (z + lambda);
        mean = 0.2 * (x + y + 3.0 * z);
        a = 1.0 - x / mean; b = 1.0 - y / mean; c = -(a + b) / 3.0;
        if (fabs(a) < 1e-3 && fabs(b) < 1e-3 && fabs(c) < 1e-3) break;
    }
    f64 ab = a * b, cc = c * c, e2 = ab - 6.0 * cc, e3 = (3.0 * ab - 8.0 * cc) * c, e4 = 3.0 * (ab - cc) * cc;
    f64 e5 = ab * cc * c;
    f64 series = 1.0 - 3.0 * e2 / 14.0 + e3 / 6.0 + 9.0 * e2 * e2 / 88.0 - 3.0 * e4 / 22.0 - 9.0 * e2 * e3 / 52.0
               + 3.0 * e5 / 26.0;
    return 3.0 * sum + power * series / (mean * sqrt(mean));
}
NL_DEV f64 ellipe(f64 m) {
    if (!(m < 1.0)) return m == 1.0 ? 1.0 : NL_NAN;
    return m == -NL_INFINITY ? NL_INFINITY : carlson_rf(0.0, 1.0 - m, 1.0) - m / 3.0 * carlson_rd(0.0, 1.0 - m, 1.0);
}
// An amplitude is some half turns and a rest of at most a right angle.
NL_DEV f64 half_turns(f64 phi, f64& rest) {
    f64 n = rint(phi / 3.14159265358979323846);
    rest = (phi - n * 3.14159265358979311600) - n * 1.22464679914735317720e-16;
    return n;
}
NL_CALL f64 ellipkinc(f64 phi, f64 m) {
    if (phi != phi || m != m || m > 1.0) return NL_NAN;
    if (fabs(phi) == NL_INFINITY || m == -NL_INFINITY) {
        return fabs(phi) == NL_INFINITY ? (m == -NL_INFINITY ? NL_NAN : phi) : 0.0;
    }
    f64 r, n = half_turns(phi, r), s = sin(r), c = cos(r);
    if (m == 1.0 && (n != 0 || fabs(phi) >= 1.57079632679489655800)) return copysign(NL_INFINITY, phi);
    f64 part = s * carlson_rf(c * c, c * c + (1.0 - m) * s * s, 1.0);
    return n == 0 ? part : 2.0 * n * ellipk(m) + part;
}
NL_CALL f64 ellipeinc(f64 phi, f64 m) {
    if (phi != phi || m != m || m > 1.0) return NL_NAN;
    if (fabs(phi) == NL_INFINITY) return phi;
    if (m == -NL_INFINITY) return phi == 0 ? NL_NAN : copysign(NL_INFINITY, phi);
    f64 r, n = half_turns(phi, r), s = sin(r), c = cos(r), y = c * c + (1.0 - m) * s * s;
    f64 part = s == 0 ? s : s * (carlson_rf(c * c, y, 1.0) - m * s * s / 3.0 * carlson_rd(c * c, y, 1.0));
    return n == 0 ? part : 2.0 * n * ellipe(m) + part;
}
NL_NARROW1(ellipe)
NL_NARROW2(ellipkinc)
NL_NARROW2(ellipeinc)
// E_n(x): up to 1 the series (DLMF 8.19.8), beyond the fraction.
NL_CALL f64 expn(f64 order, f64 x) {
    f64 n = trunc(order);
    if (order != order || x != x || n < 0 || x < 0) return NL_NAN;
    if (x == 0) return n < 2.0 ? NL_INFINITY : 1.0 / (n - 1.0);
    if (x > 745.0) return 0;
    if (n == 0) return exp(-x) / x;
    if (x <= 1.0) {
        f64 power = 1.0, sum = 0;
        for (int k = 0; k < 25; ++k) {
            if (k != n - 1.0) sum -= power / (k - n + 1.0);
            power *= -x / (k + 1.0);
        }
        f64 l = log(x), last = exp((n - 1.0) * l - lgamma(n)) * (psi(n) - l);
        return floor(n / 2.0) * 2.0 == n ? sum - last : sum + last;
    }
    return expn_fraction(n, x) * exp(-x);
}
NL_NARROW2(expn)
// Li2(1 - x) for x in [1/2, 2]: the series in u = -log(x), whose coefficients are B_n / (n + 1)!.
NL_TABLE table_dilogarithm[] = {
    1.0, 0.027777777777777777778, -2.7777777777777777778e-4, 4.7241118669690098262e-6, -9.1857730746619635508e-8,
    1.8978869988970999072e-9, -4.0647616451442255268e-11, 8.9216910204564525552e-13, -1.9939295860721075687e-14,
    4.5189800296199181917e-16,
};
NL_DEV f64 dilogarithm_near(f64 x) {
    f64 u = -log(x);
    return u * polynomial(table_dilogarithm, u * u) - 0.25 * u * u;
}
NL_CALL f64 spence(f64 x) {
    if (!(x >= 0 && x < NL_INFINITY)) return NL_NAN;
    if (x == 0) return 1.64493406684822643647;
    if (x >= 0.5 && x <= 2.0) return dilogarithm_near(x);
    // Of x and 1 / x the sum is -log(x)^2 / 2; of x and 1 - x it is pi^2 / 6 - log(x) log(1 - x).
    f64 y = x < 0.5 ? x : 1.0 / x, l = log(y);
    f64 found = (1.64493406684822643647 - l * log1p(-y)) - dilogarithm_near(1.0 - y);
    return x < 0.5 ? found : -0.5 * l * l - found;
}
NL_NARROW1(spence)
}
