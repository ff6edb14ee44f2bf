// Complex arithmetic and order as NumPy has them: plain products, Smith's division, lexicographic order.
namespace nl {
// A product that is rounded before it is added: GCC from 12 on makes one instruction of a pair of a difference and a sum
// of products, without a rounding between, whatever -ffp-contract says.
#if !defined(__CUDACC__) && defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define NL_ROUNDED(x) __builtin_assoc_barrier(x)
#endif
#endif
#ifndef NL_ROUNDED
#define NL_ROUNDED(x) (x)
#endif
template <class T> NL_DEV T product(T a, T b) { return NL_ROUNDED(a * b); }
template <class T> NL_DEV complex<T> make_complex(T re, T im) { complex<T> r; r.re = re; r.im = im; return r; }
template <class T> NL_DEV complex<T> operator+(complex<T> a, complex<T> b) {
    return make_complex<T>(a.re + b.re, a.im + b.im);
}
template <class T> NL_DEV complex<T> operator-(complex<T> a, complex<T> b) {
    return make_complex<T>(a.re - b.re, a.im - b.im);
}
template <class T> NL_DEV complex<T> operator-(complex<T> a) { return make_complex<T>(-a.re, -a.im); }
template <class T> NL_DEV complex<T> operator*(complex<T> a, complex<T> b) {
    return make_complex<T>(product(a.re, b.re) - product(a.im, b.im), product(a.re, b.im) + product(a.im, b.re));
}
template <class T> NL_DEV complex<T> scale(complex<T> a, T s) { return make_complex<T>(a.re * s, a.im * s); }
// By the larger part of the divisor, chosen by selects: branches would guess, and keep loops from being vectors. What is
// divided by zero is multiplied by infinity.
template <class T> NL_DEV complex<T> operator/(complex<T> a, complex<T> b) {
    T re = b.re < 0 ? -b.re : b.re + 0, im = b.im < 0 ? -b.im : b.im + 0, infinity = (T)NL_INFINITY;
    bool first = re >= im;
    T large = first ? b.re : b.im, small = first ? b.im : b.re, ratio = small / large;
    T s = (T)1 / (large + product(small, ratio));
    T u = first ? a.re : a.im, v = first ? a.im : a.re, w = product(u, ratio);
    T x = (u + product(v, ratio)) * s, y = ((first ? v : w) - (first ? w : v)) * s;
    bool zero = re + im == 0;
    return make_complex<T>(zero ? a.re * infinity : x, zero ? a.im * infinity : y);
}
template <class T> NL_DEV bool is_nan(complex<T> a) { return (a.re != a.re) | (a.im != a.im); }
template <class T> NL_DEV bool nonzero(complex<T> a) { return (a.re != 0) | (a.im != 0); }
template <class T> NL_DEV bool operator==(complex<T> a, complex<T> b) { return (a.re == b.re) & (a.im == b.im); }
template <class T> NL_DEV bool operator!=(complex<T> a, complex<T> b) { return (a.re != b.re) | (a.im != b.im); }
// NumPy's order: lexicographic; a NaN anywhere but behind equal real parts makes it false. No &&: without branches.
template <class T> NL_DEV bool operator<(complex<T> a, complex<T> b) {
    return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im < b.im));
}
template <class T> NL_DEV bool operator<=(complex<T> a, complex<T> b) {
    return ((a.re < b.re) & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & (a.im <= b.im));
}
template <class T> NL_DEV bool operator>(complex<T> a, complex<T> b) { return b < a; }
template <class T> NL_DEV bool operator>=(complex<T> a, complex<T> b) { return b <= a; }
template <class T> NL_DEV complex<T> choose(bool first, complex<T> a, complex<T> b) {
    return make_complex<T>(first ? a.re : b.re, first ? a.im : b.im);
}
template <class T> NL_DEV complex<T> maximum(complex<T> a, complex<T> b) { return choose(is_nan(a) | (a >= b), a, b); }
template <class T> NL_DEV complex<T> minimum(complex<T> a, complex<T> b) { return choose(is_nan(a) | (a <= b), a, b); }
template <class T> NL_DEV complex<T> fmax(complex<T> a, complex<T> b) { return choose(is_nan(b) | (a >= b), a, b); }
template <class T> NL_DEV complex<T> fmin(complex<T> a, complex<T> b) { return choose(is_nan(b) | (a <= b), a, b); }
}
namespace nl {
// Unlike comparisons, clip looks at imaginary parts only where real parts are equal; bounds win ties.
template <class T> NL_DEV bool above(complex<T> a, complex<T> b) {
    return (a.re > b.re) | ((a.re == b.re) & (a.im > b.im));
}
template <class T> NL_DEV complex<T> clip(complex<T> a, complex<T> low, complex<T> high) {
    complex<T> b = choose(is_nan(a) | above(a, low), a, low);
    return choose(is_nan(b) | above(high, b), b, high);
}
template <class T> NL_DEV complex<T> conj(complex<T> a) { return make_complex<T>(a.re, -a.im); }
template <class T> NL_DEV complex<T> reciprocal(complex<T> a) {
    T re = a.re < 0 ? -a.re : a.re, im = a.im < 0 ? -a.im : a.im;
    bool first = im <= re;
    T large = first ? a.re : a.im, small = first ? a.im : a.re, ratio = small / large;
    T d = large + product(small, ratio), u = first ? (T)1 : ratio, v = first ? -ratio : (T)-1;
    return make_complex<T>(u / d, v / d);
}
}
