// x 2^n
namespace nl {
NL_DEV f32 power_of_two(f32, i32 n) { return from_bits((u32)(n + 127) << 23); }
NL_DEV f64 power_of_two(f64, i32 n) { return from_bits((u64)(n + 1023) << 52); }
// x 2^n by three factors. The last one rounds: before it x grows, or shrinks exactly, or to what becomes zero.
template <class T> NL_DEV T ldexp_by(T x, i32 n, i32 least) {
    i32 last = n < least ? least : n > 1 - least ? 1 - least : n, rest = n - last, half = rest >> 1;
    return x * power_of_two(x, half) * power_of_two(x, rest - half) * power_of_two(x, last);
}
template <class I> NL_DEV f64 ldexp(f64 x, I n) { return ldexp_by(x, n > 2100 ? 2100 : n < -2100 ? -2100 : (i32)n, -1022); }
template <class I> NL_DEV f32 ldexp(f32 x, I n) { return ldexp_by(x, n > 300 ? 300 : n < -300 ? -300 : (i32)n, -126); }
#ifndef __CUDACC__
NL_DEV void want_exponent(i32 n, i32 most, SlowFlags& slow) {
    slow.normal = larger(slow.normal, (n < 0 ? -(u32)n : (u32)n) + (0x7effffffu - most));
}
NL_DEV void want_exponent(i64 n, i32 most, SlowFlags& slow) { slow.wide |= (u64)(n + most) > 2 * (u64)most; }
template <class T, class I> NL_DEV T ldexp(T x, I n, SlowFlags& slow) {
    want_exponent(n, sizeof(T) == 4 ? 126 : 1022, slow);
    return x * power_of_two(x, (i32)n);
}
#endif
}
