// Moments of complex numbers: the squared deviation is |x - mean|^2.
namespace nl {
struct complex_moments { f64 n, re, im, m2; };
NL_DEV complex_moments make_moments(f64 n, f64 re, f64 im, f64 m2) {
    complex_moments r; r.n = n; r.re = re; r.im = im; r.m2 = m2; return r;
}
template <class T> NL_DEV complex_moments moments_run(const complex<T>* x, int count) {
    T re[16], im[16];
    NL_OF_RUN(i, count) { re[i] = x[i].re; im[i] = x[i].im; }
    moments a = moments_run(re, count), b = moments_run(im, count);
    return make_moments(a.n, a.mean, b.mean, a.m2 + b.m2);
}
template <class T> NL_DEV complex_moments moments_part(const complex<T>* x, int most, bool whole) {
    return moments_run(x, whole ? most : most - 1);
}
NL_DEV complex_moments merge_by(complex_moments a, complex_moments b, f64 n, f64 w) {
    f64 dr = b.re - a.re, di = b.im - a.im;
    return make_moments(n, a.re + dr * w, a.im + di * w, a.m2 + b.m2 + (dr * dr + di * di) * (a.n * w));
}
NL_DEV complex_moments merge(complex_moments a, complex_moments b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    return merge_by(a, b, a.n + b.n, b.n / (a.n + b.n));
}
template <class T> NL_DEV complex_moments moments_one(complex<T> x) {
    moments a = moments_one(x.re), b = moments_one(x.im);
    return make_moments(1, a.mean, b.mean, a.m2 + b.m2);
}
}
