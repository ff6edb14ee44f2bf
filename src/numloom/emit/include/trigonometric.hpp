// sin, cos, tan. On the host those of float are computed in double: the multiple of pi/2 is taken off by integer
// arithmetic with 96 bits of 2/pi, chosen by the exponent.
#ifdef __CUDACC__
NL_LIBM1(sin)
NL_LIBM1(cos)
NL_LIBM1(tan)
#else
extern "C" f64 sin(f64) noexcept;
extern "C" f64 cos(f64) noexcept;
extern "C" f64 tan(f64) noexcept;
namespace nl {
NL_DEV f64 sin(f64 x) { return ::sin(x); }
NL_DEV f64 cos(f64 x) { return ::cos(x); }
NL_DEV f64 tan(f64 x) { return ::tan(x); }
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
    f64 p = 2.7246868722877944544e-6;
    p = p * z - 0.00019840063040804116852;
    p = p * z + 0.0083333318306294283635;
    p = p * z - 0.1666666666374136766;
    return r + r * (z * p);
}
NL_DEV f64 cos_series(f64 z) {
    f64 p = -2.7298407652795174721e-7;
    p = p * z + 0.000024800580601354642352;
    p = p * z - 0.0013888887635227974877;
    p = p * z + 0.041666666664226133516;
    return 1.0 + z * (z * p - 0.5);
}
NL_DEV f32 sin(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q), z = r * r, y = q & 1 ? cos_series(z) : sin_series(r, z);
    u64 flip = (q & 2) << 62 ^ (u64)(bits(x) & 0x80000000u) << 32;
    f32 v = (f32)from_bits(bits(y) ^ flip);
    return (bits(x) & 0x7fffffffu) >= 0x7f800000u ? x - x : v;
}
NL_DEV f32 cos(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q), z = r * r, y = q & 1 ? sin_series(r, z) : cos_series(z);
    u64 flip = ((q + 1) & 2) << 62;
    f32 v = (f32)from_bits(bits(y) ^ flip);
    return (bits(x) & 0x7fffffffu) >= 0x7f800000u ? x - x : v;
}
NL_DEV f32 tan(f32 x) {
    u64 q;
    f64 r = reduce_pi(x, q), z = r * r, s = sin_series(r, z), c = cos_series(z);
    f64 y = (q & 1 ? -c : s) / (q & 1 ? s : c);
    f32 v = from_bits(bits((f32)y) ^ (bits(x) & 0x80000000u));
    return (bits(x) & 0x7fffffffu) >= 0x7f800000u ? x - x : v;
}
}
#endif
