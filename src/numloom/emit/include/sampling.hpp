// Distributions that take a number of random bits of their own: element by element, from the blocks (counter, 0),
// (counter, 1), ... of a key. Arithmetic alone decides what is accepted, so every processor gives the same numbers.
#ifdef __CUDACC__
#define NL_STORED __constant__ const f64
#else
#define NL_STORED static constexpr f64
#endif
namespace nl {
namespace sampling {
struct stream { u64 counter, key, high; };
// No sampler that accepts anything comes near this: what nobody foresaw must not hang a GPU.
constexpr u64 most_blocks = 1 << 20;
NL_DEV f64 unit(u32 high, u32 low) { return (f64)(i64)(((u64)high << 32 | low) >> 11) * 1.1102230246251565e-16; }
NL_DEV void draw(stream& s, f64& u, f64& v) {
    block c = philox(s.counter, s.key, s.high++);
    u = unit(c.y, c.x);
    v = unit(c.w, c.z);
}
// Kahan's ways: the error of 1 + x, or of exp(x), is divided out.
NL_DEV f64 portable_log1p(f64 x) {
    f64 y = 1.0 + x;
    return y == 1.0 ? x : portable_log(y) * (x / (y - 1.0));
}
NL_DEV f64 portable_expm1(f64 x) {
    f64 y = portable_exp(x);
    return y == 1.0 ? x : y - 1.0 == -1.0 ? -1.0 : (y - 1.0) * (x / portable_log(y));
}
// log(k!) - k log(k) + k
NL_STORED first_stirling[10] = {
    0.0, 1.0, 1.3068528194400546, 1.4959226032237258, 1.6328763858683832, 1.7403021806115442, 1.828694396641771,
    1.9037903176782212, 1.9690705693065629, 2.0268062840554952,
};
NL_CALLED f64 stirling(f64 k) {
    if (k < 10.0) return first_stirling[(i32)k];
    f64 z = 1.0 / (k * k);
    f64 tail = (0.08333333333333333 - (0.002777777777777778 - (0.0007936507936507937 - 0.0005952380952380953 * z) * z) * z);
    return 0.5 * portable_log(6.283185307179586 * k) + tail / k;
}
// m - k + k log(k / m), Loader's: what a count k of mean m loses
NL_CALLED f64 deviance(f64 k, f64 m) {
    f64 x = (k - m) / m;
    return k == 0.0 ? m : m * ((1.0 + x) * portable_log1p(x) - x);
}
NL_DEV f64 draw_normal(stream& s) {
    block c = philox(s.counter, s.key, s.high++);
    return sqrt(2.0 * minus_log_of((u64)c.y << 32 | c.x)) * turned((u64)c.w << 32 | c.z, (u64)0);
}
// Marsaglia and Tsang 2000: a gamma number is the result times exp(tail). One block has a normal number, of an angle of
// 32 bits, and a uniform one. What lies below 1 - 0.1986 c^2 x^4 is accepted for any shape (theirs, where it is 1).
NL_DEV f64 split_gamma(stream& s, f64 a, f64& tail) {
    tail = 0.0;
    if (!(a > 0.0)) return a == 0.0 ? 0.0 : NL_NAN;
    if (a > 1.7976931348623157e308) return a;
    f64 d = (a < 1.0 ? a + 1.0 : a) - 0.3333333333333333, c = 1.0 / sqrt(9.0 * d), surely = 0.1986 * c * c;
    while (s.high < most_blocks) {
        block b = philox(s.counter, s.key, s.high++);
        f64 x = sqrt(2.0 * minus_log_of((u64)b.y << 32 | b.x)) * turned((u64)b.z << 32, (u64)0);
        f64 u = ((f64)b.w + 0.5) * 2.3283064365386963e-10, t = 1.0 + c * x, z = x * x;
        if (!(t > 0.0)) continue;
        t = t * t * t;
        if (u < 1.0 - surely * (z * z) || portable_log(u) < 0.5 * z + d * (1.0 - t + portable_log(t))) {
            if (a < 1.0) {
                f64 v;
                draw(s, u, v);
                tail = portable_log(1.0 - v) / a;
            }
            return d * t;
        }
    }
    return NL_NAN;
}
NL_DEV f64 draw_gamma(stream& s, f64 a) {
    f64 tail, g = split_gamma(s, a, tail);
    return a < 1.0 ? g * portable_exp(tail) : g;
}
// Below 10 by inversion, else Hoermann's PTRS (1993)
NL_DEV i64 draw_poisson(stream& s, f64 lam) {
    if (!(lam > 0.0)) return 0;
    if (lam > 9.223372006484771e18) return 9223372036854775807ll;
    f64 u, v;
    if (lam < 10.0) {
        // What is left of u, in units of the probability of k divided by that of 0.
        f64 none = portable_exp(-lam), inverse = 1.0 / lam;
        while (s.high < most_blocks) {
            draw(s, u, v);
            f64 k = 0.0;
            while (u >= none && k < 64.0) {
                k += 1.0;
                u = (u - none) * (k * inverse);
            }
            if (k < 64.0) return (i64)k;
        }
    }
    f64 b = 0.931 + 2.53 * sqrt(lam), a = 0.02483 * b - 0.059, inverse = 1.1239 + 1.1328 / (b - 3.4);
    f64 most = 0.9277 - 3.6224 / (b - 2.0);
    while (s.high < most_blocks) {
        draw(s, u, v);
        u = u - 0.5;
        f64 w = 0.5 - fabs(u), k = floor((2.0 * a / w + b) * u + lam + 0.43);
        if (w >= 0.07 && v <= most) return (i64)k;
        if (!(k >= 0.0) || k > 9.2233720368547748e18 || (w < 0.013 && v > w)) continue;
        if (portable_log(v * inverse / (a / (w * w) + b)) <= -deviance(k, lam) - stirling(k)) return (i64)k;
    }
    return 0;
}
NL_DEV f64 log_binomial(f64 k, f64 n, f64 p, f64 q) {
    return -stirling(k) - stirling(n - k) - deviance(k, n * p) - deviance(n - k, n * q);
}
// n p below 10 by inversion, else Hoermann's BTRS (1993); p is at most 1/2
NL_DEV f64 lower_binomial(stream& s, f64 n, f64 p) {
    f64 q = 1.0 - p, mean = n * p, u, v;
    if (mean < 10.0) {
        f64 none = portable_exp(n * portable_log1p(-p)), bound = mean + 10.0 * sqrt(mean * q + 1.0);
        bound = bound < n ? bound : n;
        while (s.high < most_blocks) {
            draw(s, u, v);
            f64 k = 0.0, here = none;
            while (u > here && k <= bound) {
                k += 1.0;
                u -= here;
                here = (n - k + 1.0) * p * here / (k * q);
            }
            if (k <= bound) return k;
        }
    }
    f64 deviation = sqrt(mean * q), b = 1.15 + 2.53 * deviation, a = 0.0248 * b - 0.0873 + 0.01 * p;
    f64 alpha = (2.83 + 5.1 / b) * deviation, most = 0.92 - 4.2 / b;
    f64 top = log_binomial(floor((n + 1.0) * p), n, p, q);
    while (s.high < most_blocks) {
        draw(s, u, v);
        u = u - 0.5;
        f64 w = 0.5 - fabs(u), k = floor((2.0 * a / w + b) * u + mean + 0.5);
        if (w >= 0.07 && v <= most) return k;
        if (!(k >= 0.0) || k > n) continue;
        if (portable_log(v * alpha / (a / (w * w) + b)) <= log_binomial(k, n, p, q) - top) return k;
    }
    return NL_NAN;
}
// Up to a constant, the logarithm of the probability of k good ones
NL_DEV f64 log_hypergeometric(f64 k, f64 good, f64 bad, f64 sample, f64 p) {
    return log_binomial(k, good, p, 1.0 - p) + log_binomial(sample - k, bad, p, 1.0 - p);
}
// Few are drawn one by one; else Stadlober's HRUA (1990). At most half are drawn, and good is at most bad.
NL_DEV f64 lower_hypergeometric(stream& s, f64 good, f64 bad, f64 sample) {
    f64 all = good + bad, u, v;
    if (sample < 40.0) {
        f64 left = good;
        for (f64 i = 0.0; i < sample; i += 2.0) {
            draw(s, u, v);
            if (u * (all - i) < left) left -= 1.0;
            if (i + 1.0 < sample && v * (all - i - 1.0) < left) left -= 1.0;
        }
        return good - left;
    }
    f64 p = good / all, part = sample / all, centre = sample * p + 0.5;
    f64 width = sqrt((all - sample) * (sample * p * (1.0 - p) / (all - 1.0)) + 0.5);
    f64 h = 1.7155277699214135 * width + 0.8989161620588988;
    f64 end = (sample < good ? sample : good) + 1.0, far = floor(centre + 16.0 * width);
    end = far < end ? far : end;
    f64 top = log_hypergeometric(floor((sample + 1.0) * ((good + 1.0) / (all + 2.0))), good, bad, sample, part);
    while (s.high < most_blocks) {
        draw(s, u, v);
        f64 x = centre + h * (v - 0.5) / u;
        if (!(x >= 0.0) || x >= end) continue;
        f64 k = floor(x), t = log_hypergeometric(k, good, bad, sample, part) - top;
        if (u * (4.0 - u) - 3.0 <= t) return k;
        if (u * (u - t) >= 1.0) continue;
        if (2.0 * portable_log(u) <= t) return k;
    }
    return NL_NAN;
}
NL_DEV f64 random_gamma(u64 counter, u64 key, f64 a) {
    stream s = {counter, key, 0};
    return draw_gamma(s, a);
}
NL_DEV f64 random_log_gamma(u64 counter, u64 key, f64 a) {
    stream s = {counter, key, 0};
    f64 tail, g = split_gamma(s, a, tail);
    return portable_log(g) + tail;
}
NL_DEV f64 random_beta(u64 counter, u64 key, f64 a, f64 b) {
    stream s = {counter, key, 0};
    f64 first, second, x = split_gamma(s, a, first), y = split_gamma(s, b, second), odds = y / x;
    return 1.0 / (1.0 + (a < 1.0 || b < 1.0 ? odds * portable_exp(second - first) : odds));
}
NL_DEV f64 random_noncentral_chisquare(u64 counter, u64 key, f64 df, f64 nonc) {
    stream s = {counter, key, 0};
    if (!(df > 0.0) || !(nonc >= 0.0)) return NL_NAN;
    f64 shape = 0.5 * df, square = 0.0;
    if (df > 1.0) {
        f64 z = draw_normal(s) + sqrt(nonc);
        shape = 0.5 * (df - 1.0);
        square = z * z;
    } else {
        shape += (f64)draw_poisson(s, 0.5 * nonc);
    }
    return 2.0 * draw_gamma(s, shape) + square;
}
// Michael, Schucany and Haas 1976
NL_DEV f64 random_wald(u64 counter, u64 key, f64 mean, f64 scale) {
    stream s = {counter, key, 0};
    f64 z = draw_normal(s), w = z * z * mean / (2.0 * scale), x = mean / (1.0 + w + sqrt(w * (w + 2.0))), u, v;
    draw(s, u, v);
    return u <= mean / (mean + x) ? x : mean * (mean / x);
}
// The tangent of half of the angle: Best and Fisher 1979, whose cosine is that of a point in the disc, doubled
NL_DEV f64 random_vonmises(u64 counter, u64 key, f64 kappa) {
    stream s = {counter, key, 0};
    if (!(kappa >= 0.0)) return NL_NAN;
    if (kappa > 1e12) return 0.5 * draw_normal(s) / sqrt(kappa);
    f64 r = 1.0 + sqrt(1.0 + 4.0 * kappa * kappa);
    f64 rho = kappa < 1e-5 ? 0.5 * kappa : (r - sqrt(2.0 * r)) / (2.0 * kappa);
    f64 c = (1.0 + rho * rho) / (2.0 * rho), e = (1.0 - rho * rho) / (2.0 * rho);
    while (s.high < most_blocks) {
        f64 u, v;
        draw(s, u, v);
        f64 x = 2.0 * u - 1.0, y = 2.0 * v - 1.0, z = x * x + y * y;
        if (!(z < 1.0) || z == 0.0) continue;
        if (kappa < 1e-8) return y / x;
        f64 loss = kappa * (e * e / (c + (x - y) * (x + y) / z));
        draw(s, u, v);
        if (loss * (2.0 - loss) >= u || portable_log(loss / u) + 1.0 >= loss) return (1.0 - rho) / (1.0 + rho) * (y / x);
    }
    return NL_NAN;
}
NL_DEV i64 random_poisson(u64 counter, u64 key, f64 lam) {
    stream s = {counter, key, 0};
    return draw_poisson(s, lam);
}
NL_DEV i64 random_binomial(u64 counter, u64 key, i64 n, f64 p) {
    stream s = {counter, key, 0};
    if (n <= 0 || !(p > 0.0)) return 0;
    if (p >= 1.0) return n;
    i64 k = (i64)lower_binomial(s, (f64)n, p > 0.5 ? 1.0 - p : p);
    return p > 0.5 ? n - k : k;
}
NL_DEV i64 random_hypergeometric(u64 counter, u64 key, i64 good, i64 bad, i64 sample) {
    stream s = {counter, key, 0};
    i64 all = good + bad, less = good < bad ? good : bad, drawn = sample < all - sample ? sample : all - sample;
    if (less < 0 || all < 0 || drawn < 0) return 0;
    i64 k = (i64)lower_hypergeometric(s, (f64)less, (f64)(all - less), (f64)drawn);
    k = good > bad ? drawn - k : k;
    return drawn < sample ? good - k : k;
}
NL_DEV i64 random_geometric(u64 counter, u64 key, f64 p) {
    stream s = {counter, key, 0};
    f64 u, v;
    draw(s, u, v);
    if (!(p > 0.0) || p >= 1.0) return 1;
    f64 k = ceil(portable_log(1.0 - u) / portable_log1p(-p));
    return k >= 9.2233720368547748e18 ? 9223372036854775807ll : k < 1.0 ? 1 : (i64)k;
}
// Kemp 1981, the algorithm LK
NL_DEV i64 random_logseries(u64 counter, u64 key, f64 p) {
    stream s = {counter, key, 0};
    if (!(p > 0.0) || p >= 1.0) return 1;
    f64 r = portable_log1p(-p);
    while (s.high < most_blocks) {
        f64 u, v;
        draw(s, v, u);
        if (v >= p) return 1;
        f64 q = -portable_expm1(r * u);
        if (v > q * q) return v >= q ? 1 : 2;
        f64 k = floor(1.0 + portable_log(v) / portable_log(q));
        if (k >= 1.0 && v > 0.0) return k >= 9.2233720368547748e18 ? 9223372036854775807ll : (i64)k;
    }
    return 0;
}
// Devroye 1986, X.6.1, with uniform numbers that keep the result below 2^63
NL_DEV i64 random_zipf(u64 counter, u64 key, f64 a) {
    stream s = {counter, key, 0};
    if (!(a > 1.0) || a >= 1025.0) return 1;
    f64 e = a - 1.0, least = portable_exp(-43.668272375276556 * e), b = portable_expm1(0.6931471805599453 * e);
    while (s.high < most_blocks) {
        f64 u, v;
        draw(s, u, v);
        f64 k = floor(portable_exp(-portable_log(u * least + (1.0 - u)) / e));
        if (!(k >= 1.0) || k > 9.2233720368547748e18) continue;
        f64 t = portable_expm1(e * portable_log1p(1.0 / k));
        if (v * k * t / b <= (1.0 + t) / (1.0 + b)) return (i64)k;
    }
    return 0;
}
// Where position i of [0, count) goes in a random order: a Feistel network of Philox over the next power of two,
// walked until it falls below count (Mitchell, Stokes, Frank and Holmes 2022).
NL_DEV i64 random_position(u64 i, u64 key, u64 count) {
    if (i >= count) return 0;
    int width = 2;
    while (width < 63 && (1ull << width) < count) ++width;
    int small = width / 2;
    do {
        int low = width - small, high = small;
        for (int round = 0; round < 8; ++round) {
            u64 right = i & ((1ull << low) - 1), left = i >> low;
            block c = philox(right, key, (u64)(round + 1) << 32);
            left = (left ^ ((u64)c.y << 32 | c.x)) & ((1ull << high) - 1);
            i = right << high | left;
            int swap = low;
            low = high;
            high = swap;
        }
    } while (i >= count);
    return (i64)i;
}
}
}
