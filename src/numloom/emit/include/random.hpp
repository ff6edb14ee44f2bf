// Distributions over Philox blocks: one counter gives one number.
namespace nl {
// Box and Muller, one of the two: sqrt(-2 log(u)) cos(2 pi v), u in (0, 1].
NL_DEV f64 random_normal64(u64 counter, u64 key) {
    block c = philox(counter, key);
    f64 u = (f64)(i64)(((u64)c.y << 32 | c.x) >> 11) * 1.1102230246251565e-16;
    f64 v = (f64)(i64)(((u64)c.w << 32 | c.z) >> 11) * 1.1102230246251565e-16;
    return sqrt(-2.0 * log(1.0 - u)) * near_cos(6.283185307179586477 * v);
}
NL_DEV f32 random_normal32(u64 counter, u64 key) {
    block c = philox(counter, key);
    // 31 bits, fine near 0: the tail reaches 6.6 deviations.
    f32 u = ((f32)(i32)(c.x >> 1) + 0.5f) * 4.656612873077393e-10f;
    f32 v = (f32)(i32)(c.y >> 8) * 5.9604644775390625e-08f;
    return sqrt(-2.0f * log(u > 1.0f ? 1.0f : u)) * near_cos(6.2831853071795865f * v);
}
NL_DEV f64 random_exponential64(u64 counter, u64 key) { return -log1p(-random_uniform64(counter, key)); }
NL_DEV f32 random_exponential32(u64 counter, u64 key) {
    f32 u = ((f32)(i32)(philox(counter, key).x >> 1) + 0.5f) * 4.656612873077393e-10f;
    return -log(u > 1.0f ? 1.0f : u);
}
}
