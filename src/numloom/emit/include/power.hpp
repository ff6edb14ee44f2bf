// Powers and roots.
NL_LIBM2(hypot)
#ifdef __CUDACC__
NL_LIBM1(cbrt)
NL_LIBM2(pow)
#else
namespace nl {
// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); x positive
NL_DEV f32 split_power(f32 x, f32& k) {
    i32 e;
    bool small = x < 1.17549435e-38f;
    f32 m = split_log(small ? x * 33554432.0f : x, e);
    k = (f32)(small ? e - 25 : e);
    return m - 1.0f;
}
NL_DEV f64 split_power(f64 x, f64& k) {
    bool small = x < 2.2250738585072014e-308;
    f64 m = split_log(small ? x * 18014398509481984.0 : x, k);
    k = small ? k - 54.0 : k;
    return m - 1.0;
}
// (3 atanh(s) / s - 3 - z) / z^2 by z = s^2
NL_DEV f32 atanh_rest(f32 z) { return horner(z, 0.600000203f, 0.428433567f, 0.345722288f); }
NL_DEV f64 atanh_rest(f64 z) {
    return horner(z, 0.59999999999999998, 0.42857142857144048, 0.33333333332484349, 0.27272727502971605,
                  0.23076892456343187, 0.20002206357338018, 0.17559372811383578, 0.17584576542146629);
}
// 2 / (3 log(2)) as a head and the rest
NL_DEV void log2_scale(f32& high, f32& low) { high = 0.961669922f; low = 0.000126772051f; }
NL_DEV void log2_scale(f64& high, f64& low) { high = 0.96179628372192383; low = 4.1020405177678161e-07; }
// log2(x) = high + low, high a head: log(1 + f) = 2 atanh(s), s = f / (2 + f), with every step that counts in two
// parts.
template <class T> NL_DEV void log2_parts(T x, T& high, T& low) {
    T k, c, c_rest, f = split_power(x, k);
    log2_scale(c, c_rest);
    T d = 2 + f, inverse = 1 / d, s = f * inverse, z = s * s;
    T sh = head(s), dh = head(d), sl = ((f - sh * dh) - sh * (f - (dh - 2))) * inverse;
    T squared = sh * sh, tail = z * z * atanh_rest(z) + sl * (sh + s);
    T th = head(3 + (squared + tail)), tl = tail - ((th - 3) - squared);
    T product = sh * th, product_rest = sl * th + tl * s;
    T ph = head(product + product_rest), pl = product_rest - (ph - product);
    T scaled = c * ph, scaled_rest = c_rest * ph + pl * (c + c_rest);
    high = head((scaled + scaled_rest) + k);
    low = scaled_rest - ((high - k) - scaled);
}
NL_DEV f32 exp2_parts(f32 high, f32 low) {
    i32 n;
    f32 whole = nearest(high + low, n), r = high - whole, h = head(r + low);
    return scale_exp2(1.0f + exp2_series(h, low - (h - r)), n);
}
NL_DEV f64 exp2_parts(f64 high, f64 low) {
    i64 n;
    f64 whole = nearest(high + low, n), r = high - whole, h = head(r + low);
    return scale_exp2(1.0 + exp2_series(h, low - (h - r)), n);
}
// |x|^y, the exponent of the result within `reach`; no y beyond `far` matters unless |x| is 1
template <class T> NL_DEV T power_of(T x, T y, T reach, T far) {
    T a = fabs(x), high, low;
    log2_parts(a, high, low);
    T e = clamp(y, -far, far), eh = head(e), product = eh * high, rest = (e - eh) * high + e * low;
    T inside = clamp(product, -reach, reach);
    T r = exp2_parts(inside, inside == product ? rest : (T)0);
    T half = (T)0.5 * y, infinity = (T)NL_INFINITY;
    bool whole = trunc(y) == y, odd = whole & (trunc(half) != half);  // no &&: loops stay without branches
    r = (a == 0) | (a == infinity) ? ((a == 0) == (y < 0) ? infinity : (T)0) : r;
    r = a == 1 ? (T)1 : r;  // (-1) ** inf is 1
    r = (x < 0) & (a < infinity) & !whole ? (T)NL_NAN : r;
    r = copysign(r, odd ? x : (T)1);
    r = (x != x) | (y != y) ? x + y : r;
    return (y == 0) | (x == 1) ? (T)1 : r;
}
NL_DEV f32 pow(f32 x, f32 y) { return power_of(x, y, 200.0f, 1099511627776.0f); }
NL_DEV f64 pow(f64 x, f64 y) { return power_of(x, y, 1500.0, 1180591620717411303424.0); }
// x = 8^q m, m in [1, 8): an approximation of the root with half of the digits, then one step of Halley's method,
// whose square is exact.
NL_DEV f32 cbrt(f32 x) {
    f32 a = fabs(x);
    bool small = a < 1.17549435e-38f;
    u32 u = bits(small ? a * 16777216.0f : a), e = (u >> 23) + 2, third = (e * 0x5556u) >> 16, s = e - 3 * third;
    f32 m = from_bits((u & 0x7fffffu) | 0x3f800000u);
    f32 t = horner(m, 0.555790961f, 0.580826402f, -0.158662453f, 0.0221486986f);
    t = head(t * (s == 0 ? 1.0f : s == 1 ? 1.25992105f : 1.58740105f));
    m = m * (s == 0 ? 1.0f : s == 1 ? 2.0f : 4.0f);
    f32 r = m / (t * t), y = t + t * ((r - t) / (t + t + r));
    y = y * from_bits((third + (small ? 76u : 84u)) << 23);
    return (x == 0) | !is_finite(x) ? x : copysign(y, x);
}
NL_DEV f64 cbrt(f64 x) {
    f64 a = fabs(x);
    bool small = a < 2.2250738585072014e-308;
    u64 u = bits(small ? a * 18014398509481984.0 : a);
    u32 e = (u32)(u >> 52), third = (e * 0x5556u) >> 16, s = e - 3 * third;
    f64 m = from_bits((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    f64 t = horner(m, 0.44864263080415745, 0.9437338117552575, -0.65506856172218797, 0.37514753014203561,
                   -0.13924853171031618, 0.029496704251914946, -0.002703333870412061);
    t = t * (s == 0 ? 1.0 : s == 1 ? 1.2599210498948731648 : 1.5874010519681994748);
    t = from_bits((bits(t) + 0x4000000ull) & 0xfffffffff8000000ull);
    m = m * (s == 0 ? 1.0 : s == 1 ? 2.0 : 4.0);
    f64 r = m / (t * t), y = t + t * ((r - t) / (t + t + r));
    y = y * from_bits((u64)(third + (small ? 664u : 682u)) << 52);
    return (x == 0) | !is_finite(x) ? x : copysign(y, x);
}
}
#endif
