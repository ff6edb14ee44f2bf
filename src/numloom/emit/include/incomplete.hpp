// Incomplete gamma and beta functions and the distributions that they are. Sums and fractions run to convergence.
namespace nl {
NL_TABLE table_log_gamma1p[] = {
    0.82246703342411321824, -0.40068563438653142847, 0.27058080842778454788, -0.20738555102867398527,
    0.16955717699740818995, -0.14404989676884611812, 0.12550966952474304242, -0.11133426586956469049,
    0.10009945751278180853, -0.090954017145829042233, 0.083353840546109004025, -0.076932516411352191473,
    0.071432946295361336059, -0.066668705882420468033, 0.062500955141213040742, -0.058823978658684582339,
    0.055555767627403611102, -0.052631679379616660734, 0.05000004769810169364, -0.047619070330142227991,
    0.045454556293204669442, -0.043478266053040259361, 0.041666669150341210469, -0.040000001192140140586,
};
NL_TABLE table_temme[] = {
    -0.33333333333333333333, 0.083333333333333333333, -0.014814814814814814815, 1.1574074074074074074e-3,
    3.5273368606701940035e-4, -1.787551440329218107e-4, 3.9192631785224377817e-5, -2.1854485106799921615e-6,
    -1.8540622107151599607e-6, 8.296711340953086005e-7, -1.7665952736826079304e-7, 6.7078535434014985804e-9,
    1.0261809784240308043e-8, -4.3820360184533531866e-9, 9.1476995822367902342e-10, -2.5514193994946249767e-11,
    -1.8518518518518518519e-3, -3.4722222222222222222e-3, 2.6455026455026455026e-3, -9.9022633744855967078e-4,
    2.0576131687242798354e-4, -4.0187757201646090535e-7, -1.8098550334489977837e-5, 7.6491609160811100846e-6,
    -1.6120900894563446004e-6, 4.6471278028074343423e-9, 1.3786334469157209593e-7, -5.752545603517704964e-8,
    1.1951628599778147324e-8, -1.7543241719747647624e-11, -1.0091543710600412627e-9, 4.1627929918425826362e-10,
    4.1335978835978835979e-3, -2.6813271604938271605e-3, 7.7160493827160493827e-4, 2.0093878600823045267e-6,
    -1.0736653226365160522e-4, 5.2923448829120125416e-5, -1.2760635188618727713e-5, 3.4235787340961380742e-8,
    1.3721957309062933206e-6, -6.2989921383800550229e-7, 1.4280614206064241792e-7, -2.0477098421990866015e-10,
    -1.4092529910867521053e-8, 6.2289740849220220336e-9, -1.3670488396617113499e-9, 9.4283561590146781955e-13,
    6.4943415637860082305e-4, 2.2947209362139917695e-4, -4.6918949439525571213e-4, 2.6772063206283885296e-4,
    -7.5618016718839764107e-5, -2.3965051138672966519e-7, 1.1082654115347302361e-5, -5.6749528269915965675e-6,
    1.4230900732435883915e-6, -2.7861080291528142241e-11, -1.695840409193027729e-7, 8.0994649053880823634e-8,
    -1.9111168485973654061e-8, 2.3928620439808117969e-12, 2.0620131815488798437e-9, -9.4604966618551321738e-10,
    -8.618882909167116986e-4, 7.8403922172006662747e-4, -2.9907248030319017973e-4, -1.4638452578843418178e-6,
    6.6414982154651221867e-5, -3.9683650471794346644e-5, 1.1375726970678419098e-5, 2.5074972262375328017e-10,
    -1.6954149536558306015e-6, 8.9075075322053096888e-7, -2.2929348340008048706e-7, 2.956794137544049047e-11,
    2.886582974270878363e-8, -1.4189739437803219389e-8, 3.4463580499464897066e-9, -2.3024517174528067132e-13,
    -3.3679855336635815031e-4, -6.9728137583658577743e-5, 2.7727532449593920787e-4, -1.99325705161888477e-4,
    6.7977804779372078388e-5, 1.4190629206439670148e-7, -1.3594048189768693278e-5, 8.0184702563342015397e-6,
    -2.2914811765080951704e-6, -3.2524735512984539517e-10, 3.4652846491085264956e-7, -1.8447187191171343277e-7,
    4.8240967037894180756e-8, -1.7989466721743515303e-14, -6.3061945000135234352e-9, 3.1624176287745679377e-9,
    5.3130793646399222317e-4, -5.9216643735369388286e-4, 2.7087820967180448277e-4, 7.9023532326603278721e-7,
    -8.1539693675619687509e-5, 5.61168275310624965e-5, -1.8329116582843375567e-5, -3.0796134506033047826e-9,
    3.4651553688036090867e-6, -2.0291327396058603727e-6, 5.7887928631490037089e-7, 2.3386306738266569893e-13,
    -8.8286007463304835251e-8, 4.7435958880408127803e-8, -1.2545415020710382446e-8, 8.6496488580102924713e-14,
    3.4436760689237767125e-4, 5.1717909082605921934e-5, -3.3493161081142236312e-4, 2.8126951547632370227e-4,
    -1.0976582244684731024e-4, -1.2741009095484485379e-7, 2.7744451511563644157e-5, -1.8263488805711332661e-5,
    5.7876949497350523989e-6, 4.9387589339362703998e-10, -1.0595367014026042734e-6, 6.1667143761104074786e-7,
    -1.7562973359060461938e-7, -1.2974473287015438707e-12, 2.6954236062889659837e-8, -1.4578352908731270977e-8,
};
NL_CALL f64 log_gamma1p(f64 a) {
    return fabs(a) > 0.2 ? lgamma(1.0 + a) : a * (a * polynomial(table_log_gamma1p, a) - 0.57721566490153286061);
}
// x^a exp(-x) / gamma(a + 1)
NL_CALL f64 gamma_density(f64 a, f64 x) {
    if (a >= 10.0) return exp(-a * less_log((x - a) / a, x / a)) / sqrt(6.28318530717958647693 * a) * exp(-stirling(a));
    if (x > 600.0 || x < 1e-280) return exp(a * log(x) - x - log_gamma1p(a));
    return pow(x, a) * exp(-x) / tgamma(a + 1.0);
}
NL_DEV f64 gamma_series(f64 a, f64 x, f64 enough) {
    f64 term = 1.0, sum = 1.0;
    for (int n = 1; n < 5000 && term > 0.1 * enough * sum; ++n) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * gamma_density(a, x);
}
// The upper function where a is small and x at most about 1.
NL_CALL f64 gamma_upper_series(f64 a, f64 x) {
    f64 power = 1.0, sum = 0;
    for (int n = 1; n < 200; ++n) {
        power *= -x / n;
        f64 term = power / (a + n);
        sum += term;
        if (fabs(term) <= 1e-17 * fabs(sum)) break;
    }
    f64 l = a * log(x) - log_gamma1p(a);
    return -expm1(l) - exp(l) * a * sum;
}
// Legendre's continued fraction by Lentz's method.
NL_CALL f64 gamma_fraction(f64 a, f64 x, f64 enough) {
    f64 b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
    for (int n = 1; n < 5000; ++n) {
        f64 an = n * (a - n);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        f64 step = c * d;
        h *= step;
        if (fabs(step - 1.0) < enough) break;
    }
    return h * a * gamma_density(a, x);
}
// Temme's uniform expansion: the lower (sign -1) or upper (1) function for large a and x near it.
NL_DEV f64 gamma_uniform(f64 a, f64 x, f64 sign) {
    f64 phi = less_log((x - a) / a, x / a), eta = copysign(sqrt(2.0 * phi), x - a), sum = 0;
    for (int k = 7; k >= 0; --k) {
        f64 row = 0;
        for (int n = 15; n >= 0; --n) row = row * eta + table_temme[k * 16 + n];
        sum = sum / a + row;
    }
    f64 rest = sum * exp(-a * phi) / sqrt(6.28318530717958647693 * a);
    return 0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * rest;
}
NL_DEV bool gamma_edge(f64 a, f64 x, f64& lower) {
    if (a != a || x != x || a < 0 || x < 0) { lower = NL_NAN; return true; }
    if (a == 0) { lower = x > 0 ? 1.0 : NL_NAN; return true; }
    if (x == 0) { lower = 0; return true; }
    if (a == NL_INFINITY) { lower = x == NL_INFINITY ? NL_NAN : 0.0; return true; }
    if (x == NL_INFINITY) { lower = 1.0; return true; }
    return false;
}
NL_DEV bool upper_first(f64 a, f64 x) {  // whether the upper function is the small one, and by which way it is had
    return x > 1.1 ? x >= a : x <= 0.5 ? -0.4 / log(x) >= a : x * 1.1 >= a;
}
// Sums and fractions go on until a step changes less than `enough`.
NL_CALL f64 gamma_part(f64 a, f64 x, f64 sign, f64 enough = 1e-16) {
    f64 edge;
    if (gamma_edge(a, x, edge)) return sign < 0 ? edge : 1.0 - edge;
    if (a > 50.0 && fabs(x - a) < 0.3 * a) return gamma_uniform(a, x, sign);
    if (upper_first(a, x)) {
        // The fraction takes long for small x, while the series stays short for moderate ones.
        if (sign < 0 && x <= 8.0) return gamma_series(a, x, enough);
        f64 upper = x > 1.1 ? gamma_fraction(a, x, enough) : gamma_upper_series(a, x);
        return sign < 0 ? 1.0 - upper : upper;
    }
    f64 lower = gamma_series(a, x, enough);
    return sign < 0 ? lower : 1.0 - lower;
}
NL_DEV f64 gammainc(f64 a, f64 x, f64 enough = 1e-16) { return gamma_part(a, x, -1.0, enough); }
NL_DEV f64 gammaincc(f64 a, f64 x, f64 enough = 1e-16) { return gamma_part(a, x, 1.0, enough); }
// x^a y^b / beta(a, b), with x + y = 1
NL_CALL f64 beta_density(f64 a, f64 b, f64 x, f64 y) {
    f64 low = a < b ? a : b;
    if (low < 0.2) {
        f64 e = a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x));
        return low * exp(e + (log_gamma_step(a < b ? b : a, low) - log_gamma1p(low)));
    }
    if (low >= 10.0) {
        f64 s = a + b, off = b * x - a * y;  // s times the distance of x from a / s
        f64 e = -a * less_log(off / a, x * s / a) - b * less_log(-off / b, y * s / b);
        return sqrt(a / s * b / 6.28318530717958647693) * exp(e + (stirling(s) - stirling(a) - stirling(b)));
    }
    if (a + b < 60.0 && x > 1e-5 && y > 1e-5) return pow(x, a) * pow(y, b) / beta(a, b);
    return exp((a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x))) - betaln(a, b));
}
// Each step is two of the usual fraction's: what a * y and b * x differ by enters whole, so that nothing cancels for
// large a and x near 1.
NL_CALL f64 beta_fraction(f64 a, f64 b, f64 x, f64 y, f64 enough) {
    f64 s = a + b, off = a * y - b * x + 1.0, h = a * (off / (a + 1.0)), c = h, d = 0;
    for (int m = 1; m < 20000; ++m) {
        f64 n = a + 2.0 * m, e = (a + (m - 1)) / (n - 1.0) * x * ((s + (m - 1)) / (n - 1.0) * x) * (m * (b - m));
        f64 f = m + m * (b - m) / (n - 1.0) * x + (a + m) / (n + 1.0) * (off + m * (1.0 + y));
        d = f + e * d;
        c = f + e / (fabs(c) < 1e-300 ? 1e-300 : c);
        d = 1.0 / (fabs(d) < 1e-300 ? 1e-300 : d);
        f64 step = c * d;
        h *= step;
        if (fabs(step - 1.0) < 2.0 * enough) break;
    }
    return beta_density(a, b, x, y) / h;
}
// I_x(a, b) for a far below 1 and x at most about (1 + a) / b, or 1 - it, which is some times a.
NL_CALL f64 beta_series(f64 a, f64 b, f64 x, f64 log_x, bool upper) {
    f64 term = 1.0, sum = 0;
    for (int n = 1; n < 2000; ++n) {
        term *= (n - b) / n * x;
        f64 more = term / (a + n);
        sum += more;
        if (fabs(more) <= 1e-17 * fabs(sum)) break;
    }
    f64 l = a * log_x + (log_gamma_step(b, a) - log_gamma1p(a));
    return upper ? -expm1(l) - exp(l) * a * sum : exp(l) * (1.0 + a * sum);
}
NL_CALL f64 beta_part(f64 a, f64 b, f64 x, f64 y, f64 enough = 1e-16) {
    if (a != a || b != b || x != x || a < 0 || b < 0 || x < 0 || y < 0) return NL_NAN;
    if (a == 0 || b == 0 || a == NL_INFINITY || b == NL_INFINITY) {
        bool first = a == 0 || b == NL_INFINITY, second = b == 0 || a == NL_INFINITY;
        if (first == second) return NL_NAN;
        return first ? x > 0 ? 1.0 : 0.0 : y > 0 ? 0.0 : 1.0;
    }
    if (x == 0 || y == 0) return x == 0 ? 0.0 : 1.0;
    if (x > (a + 1.0) / (a + b + 2.0)) {
        f64 rest = b < 0.2 ? beta_series(b, a, y, log(y), true) : 1.0 - beta_fraction(b, a, y, x, enough);
        return rest < 0 ? 0.0 : rest;
    }
    return a < 0.2 ? beta_series(a, b, x, log(x), false) : beta_fraction(a, b, x, y, enough);
}
// I_x(a, b), or 1 - it, for x that is below all numbers: a power of x that is near 1 where a is tiny.
NL_DEV f64 beta_far(f64 a, f64 b, f64 log_x, bool upper) {
    return a < 0.2 ? beta_series(a, b, 0.0, log_x, upper) : upper ? 1.0 : 0.0;
}
NL_DEV f64 betainc(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return beta_part(a, b, x, 1.0 - x, enough); }
NL_DEV f64 betaincc(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return beta_part(b, a, 1.0 - x, x, enough); }
NL_DEV f64 chdtr(f64 v, f64 x, f64 enough = 1e-16) { return gammainc(0.5 * v, 0.5 * x, enough); }
NL_DEV f64 chdtrc(f64 v, f64 x, f64 enough = 1e-16) { return gammaincc(0.5 * v, 0.5 * x, enough); }
NL_DEV f64 gdtr(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return x < 0 ? NL_NAN : gammainc(b, a * x, enough); }
NL_DEV f64 gdtrc(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return x < 0 ? NL_NAN : gammaincc(b, a * x, enough); }
NL_DEV f64 pdtr(f64 k, f64 m, f64 enough = 1e-16) { return k < 0 || m < 0 ? NL_NAN : m == 0 ? 1.0 : gammaincc(floor(k) + 1.0, m, enough); }
NL_DEV f64 pdtrc(f64 k, f64 m, f64 enough = 1e-16) { return k < 0 || m < 0 ? NL_NAN : m == 0 ? 0.0 : gammainc(floor(k) + 1.0, m, enough); }
NL_DEV f64 bdtr(f64 k, f64 n, f64 p, f64 enough = 1e-16) {
    k = floor(k);
    if (!(p >= 0 && p <= 1.0) || !(k >= 0) || !(n >= k)) return NL_NAN;
    return k == n ? 1.0 : k == 0 ? exp((n - k) * log1p(-p)) : beta_part(n - k, k + 1.0, 1.0 - p, p, enough);
}
NL_DEV f64 bdtrc(f64 k, f64 n, f64 p, f64 enough = 1e-16) {
    k = floor(k);
    if (!(p >= 0 && p <= 1.0) || !(n >= k)) return NL_NAN;
    return k < 0 ? 1.0 : k == n ? 0.0 : k == 0 ? -expm1((n - k) * log1p(-p)) : beta_part(k + 1.0, n - k, p, 1.0 - p, enough);
}
NL_DEV f64 nbdtr(f64 k, f64 n, f64 p, f64 enough = 1e-16) {
    return !(p >= 0 && p <= 1.0) || !(k >= 0 && n > 0) ? NL_NAN : beta_part(n, floor(k) + 1.0, p, 1.0 - p, enough);
}
NL_DEV f64 nbdtrc(f64 k, f64 n, f64 p, f64 enough = 1e-16) {
    return !(p >= 0 && p <= 1.0) || !(k >= 0 && n > 0) ? NL_NAN : beta_part(floor(k) + 1.0, n, 1.0 - p, p, enough);
}
NL_CALL f64 f_part(f64 a, f64 b, f64 x, bool upper, f64 enough) {
    if (!(a > 0 && b > 0) || !(x >= 0)) return NL_NAN;
    if (x == NL_INFINITY) return upper ? 0.0 : 1.0;
    if (a == NL_INFINITY || b == NL_INFINITY) return NL_NAN;
    if (x == 0) return upper ? 1.0 : 0.0;
    f64 s = a * x, t = b + s, p = s / t, q = b / t, ratio = log(a) + log(x) - log(b);
    if (s == NL_INFINITY || q < 2.3e-308) return beta_far(0.5 * b, 0.5 * a, -ratio, !upper);
    if (s < 2.3e-308 || p < 2.3e-308) return beta_far(0.5 * a, 0.5 * b, ratio, upper);
    return upper ? beta_part(0.5 * b, 0.5 * a, q, p, enough) : beta_part(0.5 * a, 0.5 * b, p, q, enough);
}
NL_DEV f64 fdtr(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return f_part(a, b, x, false, enough); }
NL_DEV f64 fdtrc(f64 a, f64 b, f64 x, f64 enough = 1e-16) { return f_part(a, b, x, true, enough); }
NL_DEV f64 stdtr(f64 df, f64 t, f64 enough = 1e-16) {
    if (!(df > 0)) return NL_NAN;
    if (df > 1e17) return ndtr(t);
    f64 z = t * t, s = df + z;
    f64 tail = df / s < 2.3e-308 ? beta_far(0.5 * df, 0.5, log(df) - 2.0 * log(fabs(t)), false)
             : beta_part(0.5 * df, 0.5, df / s, z / s, enough);
    tail *= 0.5;
    return t < 0 ? tail : 1.0 - tail;
}
NL_ROUGH2(gammainc, 1e-9)
NL_ROUGH2(gammaincc, 1e-9)
NL_ROUGH2(chdtr, 1e-9)
NL_ROUGH2(chdtrc, 1e-9)
NL_ROUGH2(pdtr, 1e-9)
NL_ROUGH2(pdtrc, 1e-9)
NL_ROUGH2(stdtr, 1e-9)
NL_ROUGH3(betainc, 1e-9)
NL_ROUGH3(betaincc, 1e-9)
NL_ROUGH3(gdtr, 1e-9)
NL_ROUGH3(gdtrc, 1e-9)
NL_ROUGH3(bdtr, 1e-9)
NL_ROUGH3(bdtrc, 1e-9)
NL_ROUGH3(nbdtr, 1e-9)
NL_ROUGH3(nbdtrc, 1e-9)
NL_ROUGH3(fdtr, 1e-9)
NL_ROUGH3(fdtrc, 1e-9)
}
