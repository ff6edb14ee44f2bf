// Philox 4x32-10: 128 random bits of a counter of 128 bits (its low and high half) and a key of 64 bits.
// What is used in several places of a kernel is called: inlined, it would take the compiler twice as long.
#ifdef __CUDACC__
#define NL_CALLED __device__ __noinline__
#else
#define NL_CALLED static __attribute__((noinline))
#endif
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
// Element i of a draw has a word of block start + i / 4, or a half of block start + i / 2. Neighbours share a block, which
// a compiler sees where it knows i modulo 4.
NL_DEV u32 random_bits32(u64 i, u64 start, u64 key, u64 high = 0) {
    block c = philox(start + (i >> 2), key, high);
    u32 a = i & 2 ? c.z : c.x, b = i & 2 ? c.w : c.y;
    return i & 1 ? b : a;
}
NL_DEV u64 random_bits64(u64 i, u64 start, u64 key, u64 high = 0) {
    block c = philox(start + (i >> 1), key, high);
    u32 a = i & 1 ? c.z : c.x, b = i & 1 ? c.w : c.y;
    return (u64)b << 32 | a;
}
NL_DEV f32 random_uniform32(u64 i, u64 start, u64 key) {
    return (f32)(i32)(random_bits32(i, start, key) >> 8) * 5.9604644775390625e-08f;
}
NL_DEV f64 random_uniform64(u64 i, u64 start, u64 key) {
    return (f64)(i64)(random_bits64(i, start, key) >> 11) * 1.1102230246251565e-16;
}
// A whole number in [0, count), or of 64 (32) bits where count is 0. Products that would make some numbers more likely
// are drawn again (Lemire 2019), from blocks further on in the upper half of the counter: a function of its own, since
// compilers do not share what neighbours have in common inside of a loop.
NL_DEV bool uneven(u64 b, u64 count) { return b * count < count && b * count < (0 - count) % count; }
NL_DEV bool uneven(u32 b, u32 count) { return b * count < count && b * count < (0 - count) % count; }
NL_CALLED u64 again64(u64 i, u64 start, u64 key, u64 count) {
    u64 b, high = 0;
    do b = random_bits64(i, start, key, ++high); while (uneven(b, count));
    return b;
}
NL_CALLED u32 again32(u64 i, u64 start, u64 key, u32 count) {
    u32 b;
    u64 high = 0;
    do b = random_bits32(i, start, key, ++high); while (uneven(b, count));
    return b;
}
NL_DEV u64 random_below64(u64 i, u64 start, u64 key, u64 count) {
    u64 b = random_bits64(i, start, key);
    if (count == 0) return b;
    if (uneven(b, count)) b = again64(i, start, key, count);
    return high_product(b, count);
}
NL_DEV u32 random_below32(u64 i, u64 start, u64 key, u32 count) {
    u32 b = random_bits32(i, start, key);
    if (count == 0) return b;
    if (uneven(b, count)) b = again32(i, start, key, count);
    return (u32)((u64)b * count >> 32);
}
}
