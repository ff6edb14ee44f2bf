// float8: M bits of fraction, exponents with a bias, and a style. IEEE: infinities and NaNs as in IEEE 754. FINITE: no
// infinity, all ones are NaN. UNSIGNED_ZERO: no infinity, and NaN is in the place of -0.
namespace nl {
enum { IEEE, FINITE, UNSIGNED_ZERO };
template <int M, int BIAS, int STYLE> struct Float8 {
    static constexpr u32 INF = (0x7fu >> M) << M;
    static constexpr u32 NOTHING = STYLE == IEEE ? INF | 1u << (M - 1) : STYLE == FINITE ? 0x7fu : 0x80u;
    static constexpr u32 OVER = STYLE == IEEE ? INF : NOTHING;
};
template <int M, int BIAS, int STYLE> NL_DEV f32 value_of_f8(u32 h) {
    const u32 m = h & 0x7fu;
    const f32 small = (f32)(i32)m * from_bits((u32)(128 - BIAS - M) << 23);
    u32 r = m < 1u << M ? bits(small) : (m << (23 - M)) + ((u32)(127 - BIAS) << 23);
    if (STYLE == IEEE) r = m >= Float8<M, BIAS, STYLE>::INF ? 0x7f800000u | m << (23 - M) : r;
    if (STYLE == FINITE) r = m == 0x7fu ? 0x7fc00000u : r;
    if (STYLE == UNSIGNED_ZERO) r = h == 0x80u ? 0x7fc00000u : r;
    return from_bits(r | (h & 0x80u) << 24);
}
template <int M, int BIAS, int STYLE> NL_DEV u32 bits_of_f8(f32 x, u32 nothing) {
    const u32 u = bits(x) & 0x7fffffffu, sign = bits(x) >> 31 << 7;
    const u32 ahead = (u32)(151 - BIAS - M) << 23;  // numbers there are as far apart as the small ones of float8
    const u32 small = bits(from_bits(u) + from_bits(ahead)) - ahead;
    const u32 big = ((u + ((1u << (22 - M)) - 1u) + ((u >> (23 - M)) & 1u)) >> (23 - M)) - ((u32)(127 - BIAS) << M);
    u32 r = u < (u32)(128 - BIAS) << 23 ? small : big;
    r = r >= Float8<M, BIAS, STYLE>::OVER ? Float8<M, BIAS, STYLE>::OVER : r;
    r = u > 0x7f800000u ? nothing : r;
    return STYLE == UNSIGNED_ZERO && r == 0 ? 0u : r | sign;
}
template <int M, int BIAS, int STYLE> NL_DEV u32 rounded_f8(f32 x) {
    return bits_of_f8<M, BIAS, STYLE>(x, Float8<M, BIAS, STYLE>::NOTHING);
}
template <int M, int BIAS, int STYLE> NL_DEV u32 exact_f8(f32 x) {
    return bits_of_f8<M, BIAS, STYLE>(x, STYLE == IEEE ? (bits(x) >> (23 - M)) & 0x7fu : Float8<M, BIAS, STYLE>::NOTHING);
}
// NaN as casts to wider floats give it.
NL_DEV f32 plain_nan(f32 x) { return x != x ? from_bits((bits(x) & 0x80000000u) | 0x7fc00000u) : x; }
}
#define NL_FLOAT8(NAME, M, BIAS, STYLE) NL_LOW(NAME, u8, (nl::rounded_f8<M, BIAS, STYLE>), \
    (nl::exact_f8<M, BIAS, STYLE>), (nl::value_of_f8<M, BIAS, STYLE>), (STYLE == nl::UNSIGNED_ZERO))
NL_FLOAT8(f8_e4m3fn, 3, 7, nl::FINITE)
NL_FLOAT8(f8_e5m2, 2, 15, nl::IEEE)
NL_FLOAT8(f8_e4m3, 3, 7, nl::IEEE)
NL_FLOAT8(f8_e3m4, 4, 3, nl::IEEE)
NL_FLOAT8(f8_e4m3b11fnuz, 3, 11, nl::UNSIGNED_ZERO)
NL_FLOAT8(f8_e4m3fnuz, 3, 8, nl::UNSIGNED_ZERO)
NL_FLOAT8(f8_e5m2fnuz, 2, 16, nl::UNSIGNED_ZERO)
