namespace nl {
// The float32 that, rounded to fewer digits, gives what a number gives: an inexact one has an odd last bit.
NL_DEV f32 odd_f32(f64 x) {
    const f32 near = (f32)x;
    const f64 back = (f64)near;
    const u32 inexact = back < x || back > x ? 1u : 0u, away = (x < 0 ? back < x : back > x) ? 1u : 0u;
    return from_bits((bits(near) - away) | inexact);
}
NL_DEV f32 odd_f32(u64 x) { return odd_f32((f64)(x >> 53 ? (x & ~2047ull) | (x & 2047ull ? 2048ull : 0ull) : x)); }
NL_DEV f32 odd_f32(i64 x) { return x < 0 ? -odd_f32(0ull - (u64)x) : odd_f32((u64)x); }
NL_DEV f32 odd_f32(i32 x) { return odd_f32((f64)x); }
NL_DEV f32 odd_f32(u32 x) { return odd_f32((f64)x); }
}
// What all floats have that are computed in float32: NAME as it lies in memory, a number of 8 * sizeof(WORD) bits.
// ROUNDED gives the bits of the nearest number, EXACT those of a number that is one (of NaN its payload), VALUE the
// number of bits. Where ONE_ZERO, there is no negative zero.
#define NL_LOW(NAME, WORD, ROUNDED, EXACT, VALUE, ONE_ZERO) \
struct NAME { WORD bits; }; \
namespace nl { \
NL_DEV f32 NAME##_to_f32(NAME h) { return VALUE(h.bits); } \
NL_DEV NAME f32_to_##NAME(f32 x) { NAME h; h.bits = (WORD)EXACT(x); return h; } \
NL_DEV f32 round_##NAME(f32 x) { return VALUE(ROUNDED(x)); } \
NL_DEV f32 round_##NAME(f64 x) { return round_##NAME((f32)x); } \
NL_DEV f32 from_bits_##NAME(u32 x) { return VALUE((WORD)x); } \
NL_DEV f32 next_after_##NAME(f32 x, f32 y) { \
    if (x != x || y != y) return round_##NAME(x + y); \
    if (x == y) return y; \
    const u32 top = 1u << (8 * sizeof(WORD) - 1), u = EXACT(x); \
    const u32 next = x == 0 ? (y < 0 ? top : 0u) | 1u : (x < y) == (x > 0) ? u + 1 : u - 1; \
    if (ONE_ZERO && x < 0) return VALUE((WORD)(next == top ? 0u : next == 2 * top ? top : next)); \
    return VALUE((WORD)next); \
} \
NL_DEV f32 spacing_##NAME(f32 x) { \
    if (x - x != 0) return round_##NAME(x - x); \
    const f32 away = next_after_##NAME(x, x < 0 || bits(x) >> 31 ? -(f32)NL_INFINITY : (f32)NL_INFINITY); \
    return round_##NAME(away - x); \
} \
}
