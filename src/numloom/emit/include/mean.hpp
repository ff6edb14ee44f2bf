// A sum over a count, divided in double and rounded once.
namespace nl {
NL_DEV f32 divide_count(f32 sum, i64 n) { return (f32)((f64)sum / (f64)n); }
NL_DEV f64 divide_count(f64 sum, i64 n) { return sum / (f64)n; }
template <class T> NL_DEV complex<T> divide_count(complex<T> sum, i64 n) {
    complex<T> r; r.re = divide_count(sum.re, n); r.im = divide_count(sum.im, n); return r;
}
}
