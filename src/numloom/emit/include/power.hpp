// Powers and roots.
NL_CUDA_FLOAT2(hypot)
NL_CUDA_FLOAT1(cbrt)
namespace nl {
// k + log2(1 + f) = high + low: log(1 + f) = 2 atanh(s), s = f / (2 + f), with every step that counts in two parts. What is
// left out of s shows in one fma, since 2 s is near f; so does what is left out of products.
template <class T> NL_DEV T atanh_ratio(T f, T& s) {
    T inverse = 1 / (2 + f);
    s = f * inverse;
    return fma(-s, f, fma((T)-2, s, f)) * inverse;
}
template <class T> NL_DEV void add_parts(T k, T p, T rest, T& high, T& low) {
    high = k + p;
    low = ((k - high) + p) + rest;
}
// Doubles: atanh(s) by s (3 + z + ...) / 3, z = s^2
NL_DEV void log2_parts(f64 k, f64 f, f64& high, f64& low) {
    f64 s, sl = atanh_ratio(f, s), z = s * s;
    f64 r = horner(z, 0.59999999999999998, 0.42857142857144048, 0.33333333332484349, 0.27272727502971605,
                   0.23076892456343187, 0.20002206357338018, 0.17559372811383578, 0.17584576542146629);
    f64 tail = fma(z * z, r, fma(s + s, sl, fma(s, s, -z)));
    f64 th = 3 + (z + tail), tl = (z - (th - 3)) + tail;
    f64 p = s * th, pl = fma(sl, th, fma(s, tl, fma(s, th, -p)));
    f64 scaled = 0.96179669392597556 * p;
    f64 rest = fma(5.0577616648125907e-17, p, fma(0.96179669392597556, pl, fma(0.96179669392597556, p, -scaled)));
    add_parts(k, scaled, rest, high, low);
}
// Floats: by s (2 / log(2) + z 2 / (3 log(2)) + ...), of which two terms are in two parts. What s lost counts by the
// derivative.
NL_DEV void log2_parts(f32 k, f32 f, f32& high, f32& low) {
    f32 s, sl = atanh_ratio(f, s), z = s * s, th = fma(z, 0.961796701f, 2.88539004f);
    f32 less = fma(0.961796701f, fma(s, s, -z), 3.85192598e-08f);
    f32 tail = fma(z * z, horner(z, 0.577078212f, 0.412065988f, 0.332514554f), less);
    f32 tl = fma(z, 0.961796701f, 2.88539004f - th) + tail;
    f32 p = s * th, pl = fma(sl, fma(z, 2.88539004f, 2.88539004f), fma(s, tl, fma(s, th, -p)));
    add_parts(k, p, pl, high, low);
}
template <class... F> NL_DEV f32 exp2_parts(f32 high, f32 low, F&... slow) {
    i32 n;
    f32 r = high - nearest(high, 1.0f, n), h = r + low;
    f32 q = horner(h, 0.240226507f, 0.0555041097f, 0.00961808302f, 0.00133335218f, 0.000154531634f, 1.52909488e-05f);
    f32 rest = fma(h * h, q, 0.693147182f * (low - (h - r)));
    return scale_exp2(1.0f + fma(h, 0.693147182f, rest), n, slow...);
}
template <class... F> NL_DEV f64 exp2_parts(f64 high, f64 low, F&... slow) {
    i64 n;
    f64 r = high - nearest(high, 1.0, n), h = r + low;
    return scale_exp2(1.0 + exp2_series(h, low - (h - r)), n, slow...);
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
template <class T> NL_DEV T power_parts(T y, T high, T low, T& rest) {
    T product = y * high;
    rest = fma(y, low, fma(y, high, -product));
    return product;
}
template <class T> NL_DEV T pow(T x, T y) {
    T a = fabs(x), k, high, low, rest, f = split(a, k), bound = sizeof(T) == 4 ? 160 : 1500;
    log2_parts(k, f, high, low);
    high = a == 0 ? -(T)NL_INFINITY : a == (T)NL_INFINITY ? a : high;
    T product = power_parts(y, high, low, rest), inside = clamp(product, -bound, bound);
    return power_limits(x, y, exp2_parts(inside, inside == product ? rest : (T)0));
}
template <class T> NL_DEV T pow(T x, T y, SlowFlags& slow) {
    T k, high, low, rest, f = split(x, k, slow), product;
    log2_parts(k, f, high, low);
    product = power_parts(y, high, low, rest);
    want_small(product, slow);
    return exp2_parts(product, rest, slow);
}
// Exponents that are few halves take products and a root, in which nothing rounds visibly (float32: in two parts, or in
// double), or at most twice more than libm's powers do. `n` is twice the exponent: known to the compiler, or to the launch.
NL_DEV f64 halves_in_double(f64 x, i32 n) {
    n = n < 0 ? -n : n;
    f64 r = 1.0, square = x * x;
    // Of negative zero and infinity there is a root, the positive one.
    if (n & 1) r = x == -NL_INFINITY ? NL_INFINITY : sqrt(x + 0.0);
    if (n & 2) r *= n & 1 ? fabs(x) : x;
    if (n & 4) r *= square;
    if (n & 8) r *= square * square;
    return r;
}
NL_DEV bool fits_halves(f64 r, i32 n) {  // Products of even exponents leave the range where powers do.
    const f64 size = fabs(r);
    return (n > 0 && n % 2 == 0) || (size > 1e-290 && size < 1e290);
}
NL_CALL f64 power_apart(f64 x, f64 y) { return pow(x, y); }
NL_DEV f64 power_of_halves(f64 x, i32 n) {
    const f64 r = halves_in_double(x, n);
    return !fits_halves(r, n) ? power_apart(x, 0.5 * n) : n < 0 ? 1.0 / r : r;
}
NL_DEV f64 power_of_halves(f64 x, i32 n, SlowFlags& slow) {
    const f64 r = halves_in_double(x, n);
    slow.wide |= !fits_halves(r, n);
    return n < 0 ? 1.0 / r : r;
}
// sqrt(x^2 + y^2); an infinity wins over NaN. Both are scaled by a power of two, so that no square leaves the range, and the
// root is corrected by what its square leaves. That takes few digits of its inverse, so nothing is divided.
template <class T, class U> NL_DEV T hypot_of(T x, T y, U infinity, U step) {  // bits of infinity, step of exponents
    const U rest_of = infinity + step - 1, p = bits(x) & rest_of, q = bits(y) & rest_of, most = larger(p, q);
    const U least = smaller(p, q), power = smaller(most & infinity, infinity - 3 * step);
    T scale = from_bits(infinity - 2 * step - power), a = from_bits(most) * scale, b = from_bits(least) * scale;
    T aa = a * a, bb = b * b, sum = aa + bb, h = sqrt(sum);
    T rest = fma(-h, h, sum) + ((bb - (sum - aa)) + (fma(a, a, -aa) + fma(b, b, -bb)));
    h = fma(rest, half_inverse(h), h) * from_bits(power + step);
    h = most == infinity ? from_bits(most) : h;
    return least == infinity ? from_bits(least) : h;
}
#ifndef __CUDACC__
NL_DEV f32 hypot(f32 x, f32 y) { return hypot_of(x, y, 0x7f800000u, 0x800000u); }
#endif
NL_DEV f64 hypot(f64 x, f64 y) { return hypot_of(x, y, (u64)0x7ff0000000000000ull, (u64)0x10000000000000ull); }
// The root of t^3 (1 + u) by the series of cbrt(1 + u), u = m / t^3 - 1, whose numerator is exact but for its last rounding.
// Floats: a third of the number's bits is the root to 3.2 %; the first digits of that have an exact square.
#ifndef __CUDACC__
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
#endif
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
#ifdef __CUDACC__
namespace nl {
// CUDA's powers may be a digit off where there is nothing to round, as of 3^1: products without a rest have the result.
NL_DEV f32 exact_power(f32 x, f32 y, f32 power) {
    if (!(y > 0 && y <= 64 && ::truncf(y) == y)) return power;
    f32 result = 1;
    bool exact = true;
    i32 n = (i32)y;
    for (f32 square = x;; square *= square) {
        if (n & 1) {
            const f32 p = result * square;
            exact &= fma(result, square, -p) == 0;
            result = p;
        }
        n >>= 1;
        if (n == 0) return exact && fabs(result) > 1e-30f ? result : power;
        exact &= fma(square, square, -(square * square)) == 0;
    }
}
NL_DEV f32 pow(f32 x, f32 y) { return exact_power(x, y, ::powf(x, y)); }
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
NL_DEV f32 power_of_halves(f32 x, i32 n) {
    const bool small = n >= -4 && n <= 4;
    const f32 size = n & 1 ? x : ::fabsf(x);
    const bool inside = size > (small ? 1e-15f : 1e-4f) && size < (small ? 1e15f : 1e4f);
    return inside ? halves_in_parts(x, n) : halves_apart(x, n);
}
template <class T> NL_DEV T power_by_halves(T x, T y) { return power_of_halves(x, (i32)(y + y)); }
}
#else
namespace nl {
template <class... F> NL_DEV f32 power_of_halves(f32 x, i32 n, F&... slow) { return pow(x, 0.5f * n, slow...); }
template <class T, class... F> NL_DEV T power_by_halves(T x, T y, F&... slow) {
    return power_of_halves(x, (i32)(y + y), slow...);
}
}
#endif
