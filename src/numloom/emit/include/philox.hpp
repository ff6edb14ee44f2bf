// Philox 4x32-10: 128 random bits of a counter and a key of 64 bits each.
namespace nl {
struct block { u32 x, y, z, w; };
NL_DEV block philox(u64 counter, u64 key) {
    block c;
    c.x = (u32)counter; c.y = (u32)(counter >> 32); c.z = 0; c.w = 0;
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
NL_DEV u64 random_bits64(u64 counter, u64 key) {
    block c = philox(counter, key);
    return (u64)c.y << 32 | c.x;
}
NL_DEV f32 random_uniform32(u64 counter, u64 key) {
    return (f32)(i32)(philox(counter, key).x >> 8) * 5.9604644775390625e-08f;
}
NL_DEV f64 random_uniform64(u64 counter, u64 key) {
    return (f64)(i64)(random_bits64(counter, key) >> 11) * 1.1102230246251565e-16;
}
}
