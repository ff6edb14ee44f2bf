// Normal and exponential numbers of Philox's bits, by exact arithmetic: the same everywhere. Two neighbours share the
// radius and the angle of a point in the plane (Box and Muller 1958).
namespace nl {
// -log(x) for x in (0, 1], of 31 bits that are fine near 0: the tail of a normal number reaches 6.6 deviations.
NL_DEV f32 minus_log_of(u32 b) {
    f32 x = ((f32)(i32)(b >> 1) + 0.5f) * 4.656612873077393e-10f;
    u32 u = bits(x) + (0x3f800000u - 0x3f3504f3u);
    f32 k = (f32)((i32)(u >> 23) - 127), f = from_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f, h = f * f;
    f32 p = -0.07634493f;
    p = p * f + 0.12761575f;
    p = p * f - 0.13160183f;
    p = p * f + 0.14201759f;
    p = p * f - 0.16623357f;
    p = p * f + 0.20001227f;
    p = p * f - 0.2500082f;
    p = p * f + 0.33333331f;
    p = p * (f * h) + k * 1.42860677e-06f;
    return ((0.5f * h - p) - f) - k * 0.693145752f;
}
// The same of 52 bits: 8.5 deviations.
NL_DEV f64 minus_log_of(u64 b) {
    f64 k, f = split_log(2.0 - from_bits(b >> 12 | 0x3ff0000000000000ull), k) - 1.0, h = 0.5 * f * f;
    return ((h - (portable_log_series(f, h) + k * 1.90821492927058770002e-10)) - f) - k * 6.93147180369123816490e-01;
}
// Cosine, or sine, of an angle of b / 2^32 turns: the upper two bits are the nearest quarter turn, the others the rest.
NL_DEV f32 turned(u32 b, u32 sine) {
    f32 x = (f32)((i32)(b << 2) >> 2) * 1.4629180792671596e-09f, z = x * x;
    f32 s = ((-0.00019517f * z + 0.00833218f) * z - 0.16666655f) * z * x + x;
    f32 c = ((2.44384514e-05f * z - 0.00138873675f) * z + 0.0416666469f) * (z * z) + (1.0f - 0.5f * z);
    u32 turn = ((b + 0x20000000u) >> 30) + 3 * sine;
    return from_bits(bits(turn & 1 ? s : c) ^ ((turn + 1) & 2) << 30);
}
NL_DEV f64 turned(u64 b, u64 sine) {
    f64 x = (from_bits((b << 2) >> 12 | 0x3ff0000000000000ull) - 1.5) * 1.5707963267948966, z = x * x;
    f64 p = 1.5896813444839284e-10;
    p = p * z - 2.505075841320564e-08;
    p = p * z + 2.7557313693747933e-06;
    p = p * z - 0.00019841269829812768;
    p = p * z + 0.0083333333333224183;
    p = p * z - 0.16666666666666632;
    f64 r = -1.1359649419769453e-11;
    r = r * z + 2.0875723291505545e-09;
    r = r * z - 2.7557314352388706e-07;
    r = r * z + 2.4801587289482194e-05;
    r = r * z - 0.0013888888888874125;
    r = r * z + 0.041666666666666602;
    f64 s = p * z * x + x, c = r * (z * z) + (1.0 - 0.5 * z);
    u64 turn = (b >> 62) + 3 * sine;
    return from_bits(bits(turn & 1 ? s : c) ^ ((turn + 1) & 2) << 62);
}
NL_DEV f32 random_normal32(u64 i, u64 start, u64 key) {
    block c = philox(start + (i >> 2), key);
    return sqrt(2.0f * minus_log_of(i & 2 ? c.z : c.x)) * turned(i & 2 ? c.w : c.y, (u32)i & 1);
}
NL_DEV f64 random_normal64(u64 i, u64 start, u64 key) {
    block c = philox(start + (i >> 1), key);
    return sqrt(2.0 * minus_log_of((u64)c.y << 32 | c.x)) * turned((u64)c.w << 32 | c.z, i & 1);
}
NL_DEV f64 random_exponential64(u64 i, u64 start, u64 key) { return minus_log_of(random_bits64(i, start, key)); }
NL_DEV f32 random_exponential32(u64 i, u64 start, u64 key) { return minus_log_of(random_bits32(i, start, key)); }
}
