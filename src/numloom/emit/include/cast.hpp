// Floating point to integer as x86-64 does it: out of range is the lowest number, no saturation.
namespace nl {
template <class F> NL_DEV i32 to_i32(F x) {
    return x > (F)-2147483649.0 && x < (F)2147483648.0 ? (i32)x : (i32)0x80000000;
}
NL_DEV i32 to_i32(f32 x) { return x >= -2147483648.0f && x < 2147483648.0f ? (i32)x : (i32)0x80000000; }
template <class F> NL_DEV i64 to_i64(F x) {
    return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0 ? (i64)x : (i64)0x8000000000000000ull;
}
template <class F> NL_DEV u32 to_u32(F x) {
    return x < (F)2147483648.0 || x != x ? (u32)to_i32(x) : (u32)to_i32(x - (F)2147483648.0) ^ 0x80000000u;
}
template <class F> NL_DEV u64 to_u64(F x) {
    F top = (F)9223372036854775808.0;
    return x < top || x != x ? (u64)to_i64(x) : (u64)to_i64(x - top) ^ 0x8000000000000000ull;
}
}
