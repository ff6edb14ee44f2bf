// Count, mean and sum of squared deviations: two local passes over runs, Chan's merge in double.
namespace nl {
struct moments { f64 n, mean, m2; };
NL_DEV moments make_moments(f64 n, f64 mean, f64 m2) { moments r; r.n = n; r.mean = mean; r.m2 = m2; return r; }
// The sum of x[i] - mean, or of its square, in four interleaved parts, which need not wait for each other.
template <class T> NL_DEV T run_sum(const T* x, int count, T mean, bool square) {
    T a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < count; i += 4) {
        T u = x[i] - mean;
        a += square ? u * u : u;
        if (i + 1 < count) { u = x[i + 1] - mean; b += square ? u * u : u; }
        if (i + 2 < count) { u = x[i + 2] - mean; c += square ? u * u : u; }
        if (i + 3 < count) { u = x[i + 3] - mean; d += square ? u * u : u; }
    }
    return (a + b) + (c + d);
}
template <class T> NL_DEV moments moments_run(const T* x, int count) {
    T mean = count ? run_sum(x, count, (T)0, false) / (T)count : (T)0;
    T rest = run_sum(x, count, mean, false), square = run_sum(x, count, mean, true);
    f64 n = count, shift = count ? (f64)rest / n : 0.0;
    return make_moments(n, (f64)mean + shift, (f64)square - (f64)rest * shift);
}
NL_DEV moments merge(moments a, moments b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    f64 n = a.n + b.n, d = b.mean - a.mean, w = b.n / n;
    return make_moments(n, a.mean + d * w, a.m2 + b.m2 + d * d * (a.n * w));
}
template <class T> NL_DEV moments moments_one(T x) { return make_moments(1, (f64)x, x - x == 0 ? 0.0 : (f64)(x - x)); }
}
