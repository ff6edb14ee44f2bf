// asin, acos, atan, atan2.
NL_CUDA_FLOAT1(asin)
NL_CUDA_FLOAT1(acos)
NL_CUDA_FLOAT1(atan)
NL_CUDA_FLOAT2(atan2)
namespace nl {
// atan(u) - u for |u| <= 1/2
NL_DEV f32 atan_rest(f32 u) {
    f32 z = u * u;
    return u * (z * horner(z, -0.333333343f, 0.199998751f, -0.142798007f, 0.110068806f, -0.0823550597f, 0.0422568582f));
}
NL_DEV f64 atan_rest(f64 u) {
    f64 z = u * u;
    return u * (z * horner(z, -0.33333333333333331, 0.19999999999999488, -0.14285714285599188, 0.11111111100917376,
                           -0.090909086203225228, 0.076922947125402846, -0.066664356772359476, 0.058795784295824251,
                           -0.052400995079947131, 0.046280248685701533, -0.038066536720573661, 0.025006503566489507,
                           -0.0092157920470898585));
}
// asin(s) - s by z = s^2 <= 1/4
NL_DEV f32 asin_rest(f32 s, f32 z) {
    return s * (z * horner(z, 0.166666657f, 0.0750009418f, 0.0445994027f, 0.0311006624f, 0.0171492379f, 0.0336908475f));
}
NL_DEV f64 asin_rest(f64 s, f64 z) {
    return s * (z * horner(z, 0.16666666666666669, 0.074999999999984329, 0.044642857146355429, 0.030381944138531247,
                           0.022372172942149889, 0.017352392720869973, 0.013971212973552933, 0.011479177415184906,
                           0.010322814350185779, 0.0054575067186403581, 0.017400879442694021, -0.014851887071247204,
                           0.028757851367421566));
}
// pi/4 in two parts; small multiples of the first are exact.
NL_DEV void quarter_pi(f32& high, f32& low) { high = 0.78539753f; low = 6.33795398e-07f; }
NL_DEV void quarter_pi(f64& high, f64& low) { high = 0.78539816339744739; low = 9.1879458967880902e-16; }
// k pi/4 + sign atan(numerator / denominator), for a quotient of at most 1/2 in size
template <class T> NL_DEV T turned_atan(T k, T sign, T numerator, T denominator) {
    T high, low, u = sign * (numerator / denominator);
    quarter_pi(high, low);
    return fma(k, high, u + fma(k, low, atan_rest(u)));
}
NL_DEV f64 atan(f64 x) {
    f64 a = fabs(x);
    bool middle = !is_below(a, 0.5), large = !is_below(a, 2.0000000000000004);
    f64 k = large ? 2.0 : middle ? 1.0 : 0.0;
    f64 numerator = large ? -1.0 : middle ? a - 1 : a, denominator = large ? a : middle ? a + 1 : 1.0;
    return copysign(turned_atan(k, 1.0, numerator, denominator), x);
}
NL_DEV f64 atan2(f64 y, f64 x) {
    f64 ax = fabs(x), ay = fabs(y);
    bool steep = ay > ax, left = sign_bit(x), same = (ax == ay) & (is_inf(ax) | (ax == 0));
    f64 large = steep ? ay : ax, small = steep ? ax : ay;
    // Infinities of both are one direction, zeros of both the axis of x; halves keep the sum finite.
    f64 scale = large > 1e38 ? 0.5 : 1.0, zero = large == 0 ? 0.0 : 1.0;
    large = same ? 1.0 : large * scale;
    small = same ? zero : small * scale;
    bool middle = small + small >= large;
    f64 k = middle ? 1.0 : 0.0;
    f64 numerator = middle ? small - large : small, denominator = middle ? small + large : large;
    k = steep ? 2 - k : k;
    k = left ? 4 - k : k;
    f64 r = turned_atan(k, steep != left ? -1.0 : 1.0, numerator, denominator);
    return (x != x) | (y != y) ? x + y : copysign(r, y);
}
// Floats: no step by pi/4, since some more terms for a quotient of at most 1 cost less.
NL_DEV f32 turned_atan(f32 k, f32 u) {
    f32 z = u * u;
    f32 p = horner(z, -0.333333284f, 0.199997157f, -0.142803431f, 0.110612333f, -0.0882146209f, 0.0676364899f,
                   -0.0449832566f, 0.022777617f, -0.00742536318f, 0.00113452214f);
    return fma(k, 0.78539753f, u + fma(u * z, p, k * 6.33795398e-07f));
}
#ifndef __CUDACC__
NL_DEV f32 atan(f32 x) {
    f32 a = fabs(x);
    bool large = a > 1.0f;
    return copysign(turned_atan(large ? 2.0f : 0.0f, (large ? -1.0f : a) / (large ? a : 1.0f)), x);
}
NL_DEV f32 atan2(f32 y, f32 x) {
    f32 ax = fabs(x), ay = fabs(y);
    bool steep = ay > ax, left = sign_bit(x);
    f32 large = steep ? ay : ax, small = steep ? ax : ay, k = steep ? 2.0f : 0.0f;
    // Zeros of both are the axis of x, infinities of both one direction.
    f32 u = small / (large < 1.4e-45f ? 1.4e-45f : large);
    u = small == (f32)NL_INFINITY ? 1.0f : u;
    u = x != x ? x : u;
    u = steep ? -u : u;
    u = left ? -u : u;
    return copysign(turned_atan(left ? 4.0f - k : k, u), y);
}
#endif
template <class T> NL_DEV T asin(T x) {
    T a = fabs(x), high, low;
    bool large = a > (T)0.5;
    T z = large ? (1 - a) * (T)0.5 : a * a, s = large ? sqrt(z) : a, rest = asin_rest(s, z);
    quarter_pi(high, low);
    // What the rounded root leaves out; pi/4 less the root is exact where that matters.
    T missing = fma(-s, s, z) * half_inverse(s), turned = high - s;
    return copysign(large ? 2 * (turned - (((turned - high) + s) + (rest + (missing - low)))) : s + rest, x);
}
template <class T> NL_DEV T acos(T x) {
    T a = fabs(x), high, low;
    bool large = a > (T)0.5;
    T z = large ? (1 - a) * (T)0.5 : a * a, s = large ? sqrt(z) : a;
    s = copysign(s, x);
    T rest = asin_rest(s, z);
    quarter_pi(high, low);
    T k = large ? sign_bit(x) ? (T)4 : (T)0 : (T)2, turn = large ? (T)2 : (T)-1;
    return fma(k, high, fma(turn, s, fma(turn, rest, k * low)));
}
}
