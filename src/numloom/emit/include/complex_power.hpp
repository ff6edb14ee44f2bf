// Complex powers; whole exponents below 100 by repeated products, as NumPy does.
namespace nl {
template <class T> NL_DEV complex<T> pow_whole(complex<T> z, i32 n) {
    complex<T> r = make_complex<T>(1, 0);
    for (u32 k = (u32)(n < 0 ? -n : n); k; k >>= 1, z = z * z) r = k & 1 ? r * z : r;
    return n < 0 ? make_complex<T>(1, 0) / r : r;
}
template <class T> NL_DEV complex<T> pow(complex<T> z, complex<T> w) {
    if (w.re == 0 && w.im == 0) return make_complex<T>(1, 0);
    if (z.re == 0 && z.im == 0) {
        T nan = (T)NL_NAN;
        return w.re > 0 ? make_complex<T>(0, 0) : make_complex<T>(nan, nan);
    }
    if (w.im == 0 && w.re > -100 && w.re < 100 && trunc(w.re) == w.re) {
        i32 n = (i32)w.re;
        return n == 1 ? z : n == 2 ? z * z : n == 3 ? z * (z * z) : pow_whole(z, n);
    }
    complex<f64> l = log(cplx(z.re, z.im)), r = exp(cplx(w.re, w.im) * l);
    return make_complex<T>((T)r.re, (T)r.im);
}
}
