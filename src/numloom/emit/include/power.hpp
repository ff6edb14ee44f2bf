// Powers and roots.
#ifdef __CUDACC__
NL_LIBM2(hypot)
NL_LIBM1(cbrt)
NL_LIBM2(pow)
namespace nl {
// Exponents that are few halves take products and a root, in which nothing rounds visibly (float32: in two parts, or in
// double), or at most twice more than libm's powers do. `n` is twice the exponent: known to the compiler, or to the launch.
NL_DEV f64 halves_in_double(f64 x, i32 n) {
    n = n < 0 ? -n : n;
    f64 r = 1.0, square = x * x;
    // Of negative zero and infinity there is a root, the positive one.
    if (n & 1) r = x == -NL_INFINITY ? NL_INFINITY : ::sqrt(x + 0.0);
    if (n & 2) r *= n & 1 ? ::fabs(x) : x;
    if (n & 4) r *= square;
    if (n & 8) r *= square * square;
    return r;
}
// high + low times a + b; nothing is added to the first factor's low part where that is `none`.
NL_DEV void multiply_parts(f32& high, f32& low, f32 a, f32 b, bool none = false) {
    const f32 p = high * a, e = ::fmaf(high, b, none ? ::fmaf(high, a, -p) : ::fmaf(low, a, ::fmaf(high, a, -p)));
    high = p + e;
    low = (p - high) + e;
}
// Where no part leaves the range.
NL_DEV f32 halves_in_parts(f32 x, i32 n) {
    const i32 m = n < 0 ? -n : n;
    const f32 square = x * x, rest = ::fmaf(x, x, -square);
    f32 high = 1, low = 0;
    if (m & 1) {
        const f32 inverse = ::rsqrtf(x);
        high = x * inverse;
        low = ::fmaf(-high, high, x) * (0.5f * inverse);
    }
    if (m & 2) {
        if (m & 1) multiply_parts(high, low, x, 0);
        else high = x;
    }
    if (m & 4) {
        if (m & 3) multiply_parts(high, low, square, rest, !(m & 1));
        else { high = square; low = rest; }
    }
    if (m & 8) {
        const f32 fourth = square * square, more = ::fmaf(square, square, -fourth) + 2 * square * rest;
        if (m & 7) multiply_parts(high, low, fourth, more, (m & 7) == 2);
        else { high = fourth; low = more; }
    }
    if (n >= 0) return high + low;
    const f32 y = ::__fdividef(1.0f, high);
    return ::fmaf(y, ::fmaf(-y, high, 1.0f) - y * low, y);
}
// Called: loops of reductions repeat what stands in them.
static __device__ __noinline__ f32 halves_apart(f32 x, i32 n) {
    const f64 r = halves_in_double(x, n);
    return (f32)(n < 0 ? 1.0 / r : r);
}
static __device__ __noinline__ f64 power_apart(f64 x, f64 y) { return ::pow(x, y); }
NL_DEV f32 power_of_halves(f32 x, i32 n) {
    const bool small = n >= -4 && n <= 4;
    const f32 size = n & 1 ? x : ::fabsf(x);
    const bool inside = size > (small ? 1e-15f : 1e-4f) && size < (small ? 1e15f : 1e4f);
    return inside ? halves_in_parts(x, n) : halves_apart(x, n);
}
NL_DEV f64 power_of_halves(f64 x, i32 n) {
    const f64 r = halves_in_double(x, n), size = ::fabs(r);
    if (n > 0 && n % 2 == 0) return r;  // Products leave the range where powers do.
    if (size > 1e-290 && size < 1e290) return n < 0 ? 1.0 / r : r;
    return power_apart(x, 0.5 * n);
}
template <class T> NL_DEV T power_by_halves(T x, T y) { return power_of_halves(x, (i32)(y + y)); }
}
#else
namespace nl {
// (3 atanh(s) / s - 3 - z) / z^2 by z = s^2
NL_DEV f32 atanh_rest(f32 z) { return horner(z, 0.600000203f, 0.428433567f, 0.345722288f); }
NL_DEV f64 atanh_rest(f64 z) {
    return horner(z, 0.59999999999999998, 0.42857142857144048, 0.33333333332484349, 0.27272727502971605,
                  0.23076892456343187, 0.20002206357338018, 0.17559372811383578, 0.17584576542146629);
}
// 2 / (3 log(2)) in two parts
NL_DEV void log2_scale(f32& high, f32& low) { high = 0.961796701f; low = -7.028462e-09f; }
NL_DEV void log2_scale(f64& high, f64& low) { high = 0.96179669392597556; low = 5.0577616648125907e-17; }
// log2(x) = high + low: log(1 + f) = 2 atanh(s), s = f / (2 + f), with every step that counts in two parts.
template <class T> NL_DEV void log2_parts(T x, T& high, T& low) {
    T k, c, c_rest, f = split(x, k);
    log2_scale(c, c_rest);
    T d = 2 + f, inverse = 1 / d, s = f * inverse, sl = fma(-s, f - (d - 2), fma(-s, d, f)) * inverse;
    T z = s * s, zl = fma(s, s, -z), tail = fma(z * z, atanh_rest(z), fma(2 * s, sl, zl));
    T t = z + tail, th = 3 + t, tl = (t - (th - 3)) + ((z - t) + tail);
    T p = s * th, pl = fma(s, th, -p) + fma(sl, th, tl * s);
    T scaled = c * p, rest = fma(c, p, -scaled) + fma(c_rest, p, c * pl);
    high = k + scaled;
    low = ((k - high) + scaled) + rest;
}
NL_DEV f32 exp2_parts(f32 high, f32 low) {
    i32 n;
    f32 r = high - nearest(high, 1.0f, n), h = r + low;
    return scale_exp2(1.0f + exp2_series(h, low - (h - r)), n);
}
NL_DEV f64 exp2_parts(f64 high, f64 low) {
    i64 n;
    f64 r = high - nearest(high, 1.0, n), h = r + low;
    return scale_exp2(1.0 + exp2_series(h, low - (h - r)), n);
}
// |x|^y with the sign and the special results of x^y; r is |x|^y but for x of zero, infinity or NaN.
template <class T> NL_DEV T power_limits(T x, T y, T r) {
    // One test a select: conditions that are joined leave the registers of vector masks.
    T a = fabs(x), half = (T)0.5 * y, whole = trunc(y), sign = trunc(half) != half ? x : (T)1;
    r = a == 1 ? (T)1 : r;  // (-1) ** inf is 1
    T invalid = a < (T)NL_INFINITY ? (T)NL_NAN : r;
    invalid = x < 0 ? invalid : r;
    r = copysign(whole == y ? r : invalid, whole == y ? sign : (T)1);
    r = x != x ? x : r;
    r = y == 0 ? (T)1 : r;
    return x == 1 ? (T)1 : r;
}
NL_DEV f64 pow(f64 x, f64 y) {
    f64 a = fabs(x), high, low;
    log2_parts(a, high, low);
    high = a == 0 ? -NL_INFINITY : a == NL_INFINITY ? a : high;
    f64 product = y * high, rest = fma(y, high, -product) + y * low;
    f64 inside = clamp(product, -1500.0, 1500.0);
    return power_limits(x, y, exp2_parts(inside, inside == product ? rest : 0.0));
}
// In double, where no step needs two parts.
NL_DEV f32 pow(f32 x, f32 y) {
    f32 a = fabs(x), k, g = split(a, k);
    // The quotient by its float and one step, which is a vector of twice as many as a quotient of doubles.
    f32 inverse = 1.0f / (2.0f + g);
    f64 f = g, s = f * inverse;
    s = fma(fma(-s, 2.0 + f, f), (f64)inverse, s);
    f64 z = s * s;
    f64 p = horner(z, 0.3333333282181785, 0.20000167819656894, 0.14268638983690676, 0.11791384024396297);
    f64 e = fma(2.8853900817779268 * s, fma(z, p, 1.0), (f64)k);
    e = a == 0 ? -NL_INFINITY : a == (f32)NL_INFINITY ? NL_INFINITY : e;
    i64 n;
    f64 product = clamp((f64)y * e, -400.0, 400.0), r = product - nearest(product, 1.0, n);
    f64 q = horner(r, 0.69314720628837589, 0.24022651332461792, 0.055503277425140753, 0.0096180054079038745,
                   0.0013400283146562074, 0.00015475898758907894);
    return power_limits(x, y, (f32)(fma(r, q, 1.0) * exp2_integer(n)));
}
template <class T> NL_DEV T power_by_halves(T x, T y) { return pow(x, y); }
template <class T> NL_DEV T power_of_halves(T x, i32 n) { return pow(x, (T)0.5 * n); }
// sqrt(x^2 + y^2); an infinity wins over NaN.
NL_DEV f32 hypot(f32 x, f32 y) {
    f32 a = fabs(x), b = fabs(y), h = (f32)sqrt((f64)a * a + (f64)b * b), infinity = (f32)NL_INFINITY;
    h = a == infinity ? a : h;
    return b == infinity ? b : h;
}
// Both are scaled by a power of two, so that no square leaves the range. The root is corrected by what h^2 - a^2 - b^2 is
// but for its last rounding, since a^2 <= h^2 <= 2 a^2.
NL_DEV f64 hypot(f64 x, f64 y) {
    f64 p = fabs(x), q = fabs(y), a = p > q ? p : q, b = p > q ? q : p, scale = 1.0, back = 1.0;
    scale = a > 1e150 ? 2.4099198651028841e-181 : scale;
    back = a > 1e150 ? 4.149515568880993e+180 : back;
    scale = a < 1e-140 ? 4.149515568880993e+180 : scale;
    back = a < 1e-140 ? 2.4099198651028841e-181 : back;
    a = a * scale;
    b = b * scale;
    f64 h = sqrt(fma(a, a, b * b)), aa = a * a, bb = b * b, hh = h * h;
    f64 rest = ((aa - hh) + bb) + ((fma(a, a, -aa) + fma(b, b, -bb)) - fma(h, h, -hh));
    h = h + rest / (h == 0 ? 1.0 : h + h);
    h = h * back;
    h = p == NL_INFINITY ? p : h;
    return q == NL_INFINITY ? q : h;
}
// The root of t^3 (1 + u) by the series of cbrt(1 + u), u = m / t^3 - 1, whose numerator is exact but for its last rounding.
// Floats: a third of the number's bits is the root to 3.2 %; the first digits of that have an exact square.
NL_DEV f32 cbrt(f32 x) {
    f32 a = fabs(x);
    bool small = a < 1e-36f;
    f32 m = a * (small ? 16777216.0f : 0.125f);  // cubes stay in the range
    u32 third = (u32)(i32)((f32)(i32)bits(m) * 0.333333343f) + 0x2a512cdfu;
    f32 t = from_bits(third & 0xfffff000u), square = t * t, u = fma(-square, t, m) / (square * t);
    f32 p = horner(u, 0.333333343f, -0.111111112f, 0.0617236197f, -0.0411508195f, 0.0307482779f, -0.0237789992f);
    f32 y = fma(t * u, p, t) * (small ? 0.00390625f : 2.0f);
    return bits(a) - 1u < 0x7f7fffffu ? copysign(y, x) : x;
}
// Doubles: the inverse of the root, by a third of the high word to 3.6 % and by the series of (1 - r)^(-1/3) to 32 digits,
// so that nothing is divided; the root of these digits is corrected by what its cube leaves.
NL_DEV f64 cbrt(f64 x) {
    f64 a = fabs(x);
    bool small = a < 2.2250738585072014e-308;
    f64 m = small ? a * 18014398509481984.0 : a;
    // The high word is a double's low word; so is the difference, where 2^52 is added.
    f64 third = fma(from_bits(bits(m) >> 32 | 0x4330000000000000ull), -0.33333333333333331, 6004800933344597.0);
    f64 y = from_bits(bits(third) << 32), r = fma(-(m * y), y * y, 1.0);
    f64 p = horner(r, 0.33333334831766964, 0.22222226306530965, 0.17282853598149375, 0.14401528466760716,
                   0.12680427545687539, 0.11324821119433738);
    y = fma(y * r, p, y);
    f64 t = m * y * y, square = t * t, rest = fma(-square, t, m) - fma(t, t, -square) * t;
    t = fma(0.33333333333333331 * (rest * y), y * y * t, t);
    return bits(a) - 1ull < 0x7fefffffffffffffull ? copysign(t * (small ? 3.814697265625e-06 : 1.0), x) : x;
}
}
#endif
