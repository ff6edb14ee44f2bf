// Philox 4x32-10: 128 random bits of a counter of 128 bits (its low and high half) and a key of 64 bits.
namespace nl {
struct block { u32 x, y, z, w; };
NL_DEV block philox(u64 counter, u64 key, u64 high = 0) {
    block c;
    c.x = (u32)counter; c.y = (u32)(counter >> 32); c.z = (u32)high; c.w = (u32)(high >> 32);
    u32 k = (u32)key, l = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        u64 a = (u64)c.x * 0xd2511f53u, b = (u64)c.z * 0xcd9e8d57u;
        block d;
        d.x = (u32)(b >> 32) ^ c.y ^ k; d.y = (u32)b; d.z = (u32)(a >> 32) ^ c.w ^ l; d.w = (u32)a;
        c = d;
        k += 0x9e3779b9u; l += 0xbb67ae85u;
    }
    return c;
}
NL_DEV u32 random_bits32(u64 counter, u64 key) { return philox(counter, key).x; }
NL_DEV u64 random_bits64(u64 counter, u64 key, u64 high = 0) {
    block c = philox(counter, key, high);
    return (u64)c.y << 32 | c.x;
}
NL_DEV f32 random_uniform32(u64 counter, u64 key) {
    return (f32)(i32)(philox(counter, key).x >> 8) * 5.9604644775390625e-08f;
}
NL_DEV f64 random_uniform64(u64 counter, u64 key) {
    return (f64)(i64)(random_bits64(counter, key) >> 11) * 1.1102230246251565e-16;
}
NL_DEV u64 high_product(u64 a, u64 b) {
#ifdef __CUDACC__
    return __umul64hi(a, b);
#else
    return (u64)((unsigned __int128)a * b >> 64);
#endif
}
// A whole number in [0, count), or of 64 bits where count is 0. Products that would make some numbers more likely are
// drawn again (Lemire 2019).
NL_DEV u64 random_below(u64 counter, u64 key, u64 count) {
    for (u64 high = 0;; ++high) {
        u64 b = random_bits64(counter, key, high), low = b * count;
        if (count == 0) return b;
        if (low >= count || low >= (0 - count) % count) return high_product(b, count);
    }
}
}
