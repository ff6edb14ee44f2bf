// Count, mean and sum of squared deviations: two local passes over runs, Chan's merge in double.
namespace nl {
struct moments { f64 n, mean, m2; };
NL_DEV moments make_moments(f64 n, f64 mean, f64 m2) { moments r; r.n = n; r.mean = mean; r.m2 = m2; return r; }
// On the GPU runs are unrolled, so that their elements stay in registers.
#ifdef __CUDACC__
#define NL_OF_RUN(i, count) _Pragma("unroll") for (int i = 0; i < 16; ++i) if (i < count)
#else
#define NL_OF_RUN(i, count) for (int i = 0; i < count; ++i)
#endif
// In the order of ops/tree.py, which must give the same bits.
template <class T> NL_DEV moments moments_run(const T* x, int count) {
    T sum = 0, square = 0, rest = 0;
    NL_OF_RUN(i, count) sum += x[i];
    T mean = count ? sum / (T)count : (T)0;
    NL_OF_RUN(i, count) { T d = x[i] - mean; square += d * d; rest += d; }
    f64 n = count, shift = count ? (f64)rest / n : 0.0;
    return make_moments(n, (f64)mean + shift, (f64)square - (f64)rest * shift);
}
NL_DEV moments merge_by(moments a, moments b, f64 n, f64 w) {
    f64 d = b.mean - a.mean;
    return make_moments(n, a.mean + d * w, a.m2 + b.m2 + d * d * (a.n * w));
}
#ifdef __CUDACC__
// Most merges are of equals: without a division, and without a look at what is empty. The others are called.
static __device__ __noinline__ moments merge_unequal(moments a, moments b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    return merge_by(a, b, a.n + b.n, b.n / (a.n + b.n));
}
NL_DEV moments merge(moments a, moments b) {
    return a.n == b.n ? merge_by(a, b, a.n + b.n, 0.5) : merge_unequal(a, b);
}
#else
NL_DEV moments merge(moments a, moments b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    f64 n = a.n + b.n;
    return merge_by(a, b, n, a.n == b.n ? 0.5 : b.n / n);
}
#endif
template <class T> NL_DEV moments moments_one(T x) { return make_moments(1, (f64)x, x - x == 0 ? 0.0 : (f64)(x - x)); }
}
