// Powers. On the host pow of float is computed in double without branches.
NL_LIBM1(cbrt)
NL_LIBM2(hypot)
#ifdef __CUDACC__
NL_LIBM2(pow)
#else
extern "C" f64 pow(f64, f64) noexcept;
namespace nl {
NL_DEV f64 pow(f64 x, f64 y) { return ::pow(x, y); }
NL_DEV f32 pow(f32 x, f32 y) {
    f32 a = fabs(x), half = 0.5f * y;
    bool whole = trunc(y) == y, odd = whole & (trunc(half) != half);  // no &&: loops stay without branches
    f64 r = exp2((f64)y * log2((f64)a));
    f32 v = (f32)r;
    v = (a == 1.0f) & (y == y) ? 1.0f : v;  // (-1) ** inf is 1
    v = (x < 0) & (bits(a) < 0x7f800000u) & !whole ? from_bits(0x7fc00000u) : v;
    v = from_bits(bits(v) | (odd ? bits(x) & 0x80000000u : 0u));
    return (y == 0) | (x == 1.0f) ? 1.0f : v;
}
}
#endif
