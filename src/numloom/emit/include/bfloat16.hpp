// bfloat16: the upper half of a float32.
namespace nl {
NL_DEV f32 value_of_bf16(u32 h) { return from_bits(h << 16); }
NL_DEV u32 exact_bf16(f32 x) { return bits(x) >> 16; }
NL_DEV u32 rounded_bf16(f32 x) {
    const u32 u = bits(x), r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (u & 0x7fffffffu) > 0x7f800000u ? (u >> 31) << 15 | 0x7fc0u : r;
}
}
NL_LOW(bf16, u16, nl::rounded_bf16, nl::exact_bf16, nl::value_of_bf16, false)
