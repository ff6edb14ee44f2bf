// sin, cos, tan. Up to `is_ordinary` the multiple of pi/2 is taken off by its parts, which makes vectors; beyond, by integers;
// loops over the ordinary ones become vectors: see loop.hpp.
NL_CUDA_FLOAT1(sin)
NL_CUDA_FLOAT1(cos)
NL_CUDA_FLOAT1(tan)
namespace nl {
NL_DEV u64 choose(u64 k, u64 a, u64 b, u64 c, u64 d, u64 e) {
    return k == 0 ? a : k == 1 ? b : k == 2 ? c : k == 3 ? d : e;
}
// |x| = q pi/2 + r with |r| <= pi/4, q modulo 4; for finite x.
NL_DEV f64 reduce_pi(f32 x, u64& q) {
    u64 u = bits(x) & 0x7fffffffu, m = (u & 0x7fffffu) | 0x800000u, e = u >> 23;
    // Bits that add multiples of 4 are left out: the window starts at bit e - 120 of 2/pi behind 32 zeros.
    u64 p = e < 120 ? 0 : e - 120, k = p >> 5, s = p & 31;
    u64 a = choose(k, 0xa2f9836eull, 0xa2f9836e4e441529ull, 0x4e441529fc2757d1ull, 0xfc2757d1f534ddc0ull,
                   0xf534ddc0db629599ull);
    u64 b = choose(k, 0x4e441529fc2757d1ull, 0xfc2757d1f534ddc0ull, 0xf534ddc0db629599ull, 0xdb6295993c439041ull,
                   0x3c439041fe5163abull);
    u64 high = a << s | (b >> 1) >> (63 - s), low = (b << s) >> 32;
    u64 turns = m * high + ((m * low) >> 32);  // in units of 2^-62 quarter turns
    u64 quarter = (turns + 0x2000000000000000ull) >> 62;
    f64 r = (f64)(i64)(turns - (quarter << 62)) * 3.4061215800865545893e-19;
    q = e < 120 ? 0 : quarter;
    return e < 120 ? (f64)fabs(x) : r;
}
NL_DEV f64 sin_series(f64 r, f64 z) {
    f64 p = horner(z, -0.1666666666374136766, 0.0083333318306294283635, -0.00019840063040804116852, 2.7246868722877944544e-6);
    return fma(r, z * p, r);
}
NL_DEV f64 cos_series(f64 z) {
    f64 p = horner(z, 0.041666666664226133516, -0.0013888887635227974877, 0.000024800580601354642352,
                   -2.7298407652795174721e-7);
    return fma(z, fma(z, p, -0.5), 1.0);
}
// A number modulo pi/2, q that multiple: sine and cosine of the rest, each in two parts.
struct turned { f64 sine, sine_rest, cosine, cosine_rest; u64 q; };
NL_DEV f64 turn_parts(f64 x, f64& rest, u64& q) {
    f64 t = fma(x, 0.63661977236758138, 6755399441055744.0), k = t - 6755399441055744.0;
    // The first step is exact: the rest has no digits below those of pi/2.
    f64 a = fma(k, -1.5707963267948966, x), b = k * -6.123233995736766e-17, r = a + b;
    f64 back = r - a, c = (a - (r - back)) + (b - back);
    rest = c + (fma(k, -6.123233995736766e-17, -b) + k * 1.4973849048591833e-33);
    q = bits(t);
    return r;
}
NL_DEV turned turned_by(f64 r, f64 c, u64 q) {
    turned found;
    found.q = q;
    f64 z = r * r, half = 0.5 * z, w = 1.0 - half, less = fma(0.5 * r, r, -half);
    f64 s = horner(z, -0.16666666666666632, 0.0083333333333224183, -0.00019841269829812768, 2.7557313693747933e-06,
                   -2.505075841320564e-08, 1.5896813444839284e-10);
    f64 v = horner(z, 0.041666666666666602, -0.0013888888888874125, 2.4801587289482194e-05, -2.7557314352388706e-07,
                   2.0875723291505545e-09, -1.1359649419769453e-11);
    s = fma(z * r, s, fma(-half, c, c));
    v = ((1.0 - w) - half) + (fma(z * z, v, -(r * c)) - less);
    found.sine = r + s;
    found.sine_rest = (r - found.sine) + s;
    found.cosine = w + v;
    found.cosine_rest = (w - found.cosine) + v;
    return found;
}
// The sine of r + c and q right angles
#ifdef __CUDACC__
NL_DEV f64 wave(f64 r, f64 c, u64 q) {  // by one series with the coefficients of the one or the other
    const bool odd = q & 1;
    f64 z = r * r, half = 0.5 * z, w = 1.0 - half, less = fma(0.5 * r, r, -half);
    f64 p = horner(z, odd ? 0.041666666666666602 : -0.16666666666666632,
                   odd ? -0.0013888888888874125 : 0.0083333333333224183,
                   odd ? 2.4801587289482194e-05 : -0.00019841269829812768,
                   odd ? -2.7557314352388706e-07 : 2.7557313693747933e-06,
                   odd ? 2.0875723291505545e-09 : -2.505075841320564e-08,
                   odd ? -1.1359649419769453e-11 : 1.5896813444839284e-10);
    f64 y = odd ? w + (((1.0 - w) - half) + (fma(z * z, p, -(r * c)) - less)) : r + fma(z * r, p, fma(-half, c, c));
    return from_bits(bits(y) ^ (q & 2) << 62);
}
#else
NL_DEV f64 wave(f64 r, f64 c, u64 q) {
    turned f = turned_by(r, c, q);
    return from_bits(bits(q & 1 ? f.cosine : f.sine) ^ (q & 2) << 62);
}
#endif
NL_DEV f64 fast_sin(f64 x) {
    u64 q;
    f64 c, r = turn_parts(x, c, q), y = wave(r, c, q);
    return is_below(fabs(x), 7.4505805969238281e-09) ? x : y;
}
NL_DEV f64 fast_cos(f64 x) {
    u64 q;
    f64 c, r = turn_parts(x, c, q);
    return wave(r, c, q + 1);
}
// A quotient of r (1 + z p) and 1 + z q, z = r^2, both in two parts. What r and z leave out counts as if both were linear.
NL_DEV f64 tan_of(f64 r, f64 rest, u64 turns) {
    f64 z = r * r, cube = r * z;
    f64 p = horner(z, -0.13337882004016718, 0.003424319818724788, -1.7852183017892282e-05);
    f64 q = horner(z, -0.4667121533735005, 0.025661704276558357, -0.00031172046032494177, 4.977370799242013e-07);
    f64 above = fma(cube, p, r), below = fma(z, q, 1.0), below_rest = fma(z, q, 1.0 - below);
    f64 above_rest = fma(cube, p, r - above) + fma(rest, fma(z, 0.66, 1.0), 0.38 * r * fma(r, r, -z));
    bool odd = turns & 1;
    f64 n = odd ? below : above, n_rest = odd ? below_rest : above_rest;
    f64 d = odd ? above : below, d_rest = odd ? above_rest : below_rest, inverse = 1.0 / d, y = n * inverse;
    y = fma(fma(-y, d, n) + fma(-y, d_rest, n_rest), inverse, y);
    return from_bits(bits(y) ^ turns << 63);
}
NL_DEV f64 fast_tan(f64 x) {
    u64 q;
    f64 rest, r = turn_parts(x, rest, q), y = tan_of(r, rest, q);
    return x == 0 ? x : y;
}
// 2 / pi behind 64 zeros, for the method of M. Payne and R. Hanek, "Radian reduction for trigonometric functions" (1983).
NL_WORDS two_over_pi[] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
    0xf0cfbc209af4361dull, 0xa9e391615ee61b08ull,
};
NL_DEV u64 word_at(u64 bit) {
    u64 k = bit >> 6, s = bit & 63;
    return two_over_pi[k] << s | (two_over_pi[k + 1] >> 1) >> (63 - s);
}
// a + b, and what that loses
NL_DEV f64 two_sum(f64 a, f64 b, f64& lost) {
    f64 sum = a + b, part = sum - a;
    lost = (a - (sum - part)) + (b - part);
    return sum;
}
// |x| = q pi/2 + r + rest, |r| <= pi/4, q modulo 4; for finite |x| >= 1e5. Bits of 2/pi that add multiples of 4 are left out;
// of the product with the next 192 bits those of whole quarters are left out, too.
NL_CALL f64 reduce_far(f64 x, f64& rest, u64& q) {
    u64 u = bits(x) & 0x7fffffffffffffffull, m = (u & 0xfffffffffffffull) | 0x10000000000000ull, from = (u >> 52) - 1013;
    u64 w0 = word_at(from), w1 = word_at(from + 64), w2 = word_at(from + 128);
    u64 f2 = m * w2, f1 = m * w1, f0 = m * w0 + high_product(m, w1), carry = high_product(m, w2);
    f1 += carry;
    f0 += f1 < carry;
    q = (f0 + 0x2000000000000000ull) >> 62;
    i64 f = (i64)(f0 - (q << 62));
    // Its parts of 32 bits are floats, in units of 2^-64 of a turn.
    f64 lost, more, high = two_sum((f64)(f >> 32) * 4294967296.0, (f64)(u32)f, lost);
    high = two_sum(high, (f64)(f1 >> 32) * 2.3283064365386963e-10, more);
    lost += more;
    high = two_sum(high, (f64)(u32)f1 * 5.421010862427522e-20, more);
    lost += more;
    high = two_sum(high, (f64)(f2 >> 32) * 1.262177448353619e-29, more);
    lost += more;
    high = two_sum(high, lost, lost);
    const f64 unit = 3.4061215800865545e-19, unit_rest = 1.3277647201629795e-35;  // 2 pi / 2^64
    f64 r = high * unit;
    rest = fma(high, unit, -r) + fma(high, unit_rest, lost * unit);
    return r;
}
NL_DEV f32 sin_turned(f64 r, u64 q) {
    f64 z = r * r, y = q & 1 ? cos_series(z) : sin_series(r, z);
    return (f32)from_bits(bits(y) ^ (q & 2) << 62);
}
NL_DEV f32 tan_turned(f64 r, u64 q) {
    f64 z = r * r, s = sin_series(r, z), c = cos_series(z);
    return (f32)((q & 1 ? -c : s) / (q & 1 ? s : c));
}
// Floats less k times the first of three parts of pi/2, which is exact
NL_DEV f32 turn(f32 x, f32& k, u32& q) {
    f32 t = fma(x, 0.636619772f, 12582912.0f);
    k = t - 12582912.0f;
    q = bits(t);
    return fma(k, -1.57079625f, x);
}
// and less all of them, in two parts again
NL_DEV f32 turn_parts(f32 x, f32& rest, u32& q) {
    f32 k, a = turn(x, k, q), p = k * 7.54978942e-08f, r = a - p;
    rest = fma(k, -5.39030295e-15f, ((a - r) - p) - fma(k, 7.54978942e-08f, -p));
    return r;
}
NL_DEV f32 fast_wave(f32 r, f32 rest, u32 q) {
    f32 z = r * r, s = r + fma(r * z, horner(z, -0.166666552f, 0.00833218824f, -0.000195180983f), rest);
    f32 c = fma(z, fma(z, horner(z, 0.0416666456f, -0.00138873106f, 2.44325511e-05f), -0.5f), 1.0f);
    return from_bits(bits(q & 1 ? c : s) ^ (q & 2) << 30);
}
NL_DEV f32 fast_sin(f32 x) {
    u32 q;
    f32 rest, r = turn_parts(x, rest, q), y = fast_wave(r, rest, q);
    return x == 0 ? x : y;
}
NL_DEV f32 fast_cos(f32 x) {
    u32 q;
    f32 rest, r = turn_parts(x, rest, q);
    return fast_wave(r, rest, q + 1);
}
NL_DEV f32 fast_tan(f32 x) {
    u32 q;
    f32 k, a = turn(x, k, q), r = fma(k, -5.39030295e-15f, fma(k, -7.54978942e-08f, a)), z = r * r;
    f32 y = fma(r * z, horner(z, 0.333333492f, 0.133326739f, 0.0540591665f, 0.0212846417f, 0.0108319558f,
                              9.20996827e-05f, 0.00437589735f), r);
    y = (q & 1 ? -1.0f : y) / (q & 1 ? y : 1.0f);
    return x == 0 ? x : y;
}
NL_DEV bool is_ordinary(f32 x) { return fabs(x) < 1e6f; }
NL_DEV bool is_ordinary(f64 x) { return is_below(fabs(x), 1e5); }
NL_DEV f32 signed_as(f32 y, f32 x) { return from_bits(bits(y) ^ (bits(x) & 0x80000000u)); }
NL_DEV f32 slow_sin(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q);
    return x - x == 0 ? signed_as(sin_turned(r, q), x) : x - x;
}
NL_DEV f32 slow_cos(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q);
    return x - x == 0 ? sin_turned(r, q + 1) : x - x;
}
NL_DEV f32 slow_tan(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q);
    return x - x == 0 ? signed_as(tan_turned(r, q), x) : x - x;
}
NL_CALL f64 slow_wave(f64 x, u64 quarters) {
    u64 q;
    f64 rest, r = reduce_far(x, rest, q);
    return wave(r, rest, q + quarters);
}
NL_DEV f64 signed_as(f64 y, f64 x) { return from_bits(bits(y) ^ (bits(x) & 0x8000000000000000ull)); }
NL_DEV f64 slow_sin(f64 x) { return x - x == 0 ? signed_as(slow_wave(x, 0), x) : x - x; }
NL_DEV f64 slow_cos(f64 x) { return x - x == 0 ? slow_wave(x, 1) : x - x; }
NL_CALL f64 slow_tan(f64 x) {
    if (!(x - x == 0)) return x - x;
    u64 q;
    f64 rest, r = reduce_far(x, rest, q);
    return signed_as(tan_of(r, rest, q), x);
}
NL_DEV void want_ordinary(f32 x, SlowFlags& slow) {  // 1e6 is as far as `is_slow` has it
    slow.normal = larger(slow.normal, (bits(x) & 0x7fffffffu) + (0x7f000000u - 0x49742400u));
}
NL_DEV void want_ordinary(f64 x, SlowFlags& slow) { slow.wide |= !is_ordinary(x); }
template <class T> NL_DEV T loop_sin(T x, SlowFlags& slow) {
    want_ordinary(x, slow);
    return fast_sin(x);
}
template <class T> NL_DEV T loop_cos(T x, SlowFlags& slow) {
    want_ordinary(x, slow);
    return fast_cos(x);
}
template <class T> NL_DEV T loop_tan(T x, SlowFlags& slow) {
    want_ordinary(x, slow);
    return fast_tan(x);
}
template <class T> NL_BRANCHING T sin(T x) { return is_ordinary(x) ? fast_sin(x) : slow_sin(x); }
template <class T> NL_BRANCHING T cos(T x) { return is_ordinary(x) ? fast_cos(x) : slow_cos(x); }
template <class T> NL_BRANCHING T tan(T x) { return is_ordinary(x) ? fast_tan(x) : slow_tan(x); }
}
