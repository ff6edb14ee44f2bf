// NumPy's division with remainder of floats, exact.
namespace nl {
// What is left of a by b, and as big as its quotient is, for quotients below 2^23 and 2^52. The rounded quotient is the right
// whole number or, where it was rounded up, the next one. So a - q b is as short as b and a are, and an fma gives all of it.
#ifdef __CUDACC__
NL_DEV f32 rounded_quotient(f32 a, f32 b) { return __fdiv_rn(a, b); }
NL_DEV f64 rounded_quotient(f64 a, f64 b) { return __ddiv_rn(a, b); }
#else
template <class T> NL_DEV T rounded_quotient(T a, T b) { return a / b; }
#endif
template <class T> NL_DEV T short_remainder(T a, T b, T q) {
    T n = trunc(q), r = fma(-n, b, a);
    r = (r != 0) & ((r < 0) != (a < 0)) ? r + copysign(b, a) : r;
    return fabs(a) < fabs(b) ? a : copysign(r, a);
}
NL_DEV bool is_short(f32 q) { return fabs(q) < 8388608.0f; }
NL_DEV bool is_short(f64 q) { return fabs(q) < 4503599627370496.0; }
template <class T> NL_DEV T exact_fmod(T a, T b) {
    T q = rounded_quotient(a, b);
    return is_short(q) ? short_remainder(a, b, q) : fmod(a, b);
}
#ifndef __CUDACC__
template <class T> NL_DEV T exact_fmod(T a, T b, SlowFlags& slow) {
    T q = rounded_quotient(a, b);
    slow.wide |= !is_short(q);
    return short_remainder(a, b, q);
}
#endif
template <class T, class... F> NL_DEV T floor_divide(T a, T b, F&... slow) {
    T mod = exact_fmod(a, b, slow...), div = (a - mod) / b;
    div = (mod != 0) & ((b < 0) != (mod < 0)) ? div - (T)1 : div;
    T whole = floor(div);
    whole = div - whole > (T)0.5 ? whole + (T)1 : whole;
    whole = div == 0 ? copysign((T)0, a / b) : whole;
    return b == 0 ? a / b : whole;
}
template <class T, class... F> NL_DEV T remainder(T a, T b, F&... slow) {
    T mod = exact_fmod(a, b, slow...), turned = (b < 0) != (mod < 0) ? mod + b : mod;
    turned = mod == 0 ? copysign((T)0, b) : turned;
    return b == 0 ? mod : turned;
}
}
