// float16: loads give float, stores take float; every conversion rounds once, to nearest even.
namespace nl {
#ifdef __CUDACC__
NL_DEV f32 f16_to_f32(f16 h) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h.bits)); return r; }
NL_DEV f16 f32_to_f16(f32 x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
NL_DEV f16 f64_to_f16(f64 x) { f16 r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(x)); return r; }
NL_DEV f32 round_f16(f32 x) { return f16_to_f32(f32_to_f16(x)); }
NL_DEV f32 round_f16(f64 x) { return f16_to_f32(f64_to_f16(x)); }
#else
NL_DEV f32 f16_to_f32(f16 h) {
    u32 magnitude = (u32)(h.bits & 0x7fff) << 13;
    u32 finite = bits(from_bits(magnitude) * 5.192296858534828e33f);  // 2^112 moves the exponent's bias
    u32 value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite;
    return from_bits(value | (u32)(h.bits & 0x8000) << 16);
}
NL_DEV f32 round_f16(f32 x) {
    u32 sign = bits(x) & 0x80000000u, u = bits(x) ^ sign;
    f32 small = (from_bits(u) + 0.5f) - 0.5f;  // floats near 0.5 are 2^-24 apart, as subnormal halves are
    u32 r = (u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u;
    r = r >= 0x47800000u ? 0x7f800000u : r;
    r = u < 0x38800000u ? bits(small) : r;
    r = u > 0x7f800000u ? 0x7fc00000u | (u & 0xffffe000u) : r;
    return from_bits(r | sign);
}
NL_DEV f32 round_f16(f64 x) {
    u64 sign = bits(x) & 0x8000000000000000ull, u = bits(x) ^ sign;
    f64 small = (from_bits(u) + 268435456.0) - 268435456.0;
    u64 r = (u + 0x1ffffffffffull + ((u >> 42) & 1ull)) & 0xfffffc0000000000ull;
    r = r >= 0x40f0000000000000ull ? 0x7ff0000000000000ull : r;
    r = u < 0x3f10000000000000ull ? bits(small) : r;
    r = u > 0x7ff0000000000000ull ? 0x7ff8000000000000ull | u : r;
    return (f32)from_bits(r | sign);
}
NL_DEV f16 f32_to_f16(f32 x) {
    u32 u = bits(round_f16(x)), sign = u & 0x80000000u;
    u ^= sign;
    u32 small = (u32)(i32)((u < 0x38800000u ? from_bits(u) : 0.0f) * 16777216.0f);
    u32 r = u >= 0x7f800000u ? 0x7c00u | ((u >> 13) & 0x3ffu) : (u >> 13) - 0x1c000u;
    f16 h;
    h.bits = (u16)((u < 0x38800000u ? small : r) | sign >> 16);
    return h;
}
#endif
NL_DEV u32 bits_f16(f32 x) { return f32_to_f16(x).bits; }
NL_DEV f32 from_bits_f16(u32 x) { f16 h; h.bits = (u16)x; return f16_to_f32(h); }
NL_DEV f32 next_after_f16(f32 x, f32 y) {
    if (x != x || y != y) return x + y;
    if (x == y) return x;
    u32 u = bits_f16(x), sign = bits_f16(y) & 0x8000u;
    return from_bits_f16(x == 0 ? sign | 1u : (x < y) == (x > 0) ? u + 1 : u - 1);
}
// The distance to the neighbour above; NumPy gives a positive one for negative numbers here.
NL_DEV f32 spacing_f16(f32 x) {
    u32 u = bits_f16(x), m = u & 0x7fffu;
    if (m >= 0x7c00u) return x - x;
    m = (u & 0x8000u) && m && !(m & 0x3ffu) ? m - 1 : u == 0x7bffu ? m : m & 0x7c00u;
    return from_bits_f16(m + 1) - from_bits_f16(m);
}
}
