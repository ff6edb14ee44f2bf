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
#ifndef __CUDACC__
// `moments_run` of lanes side by side: element e of all lanes is x[e]; lanes from `tail` on lack the last one.
template <int LANES, class T> NL_DEV void moments_run_lines(const T (*x)[LANES], i64 width, i64 tail, i64 lines, moments* to) {
    T sum[LANES], mean[LANES], square[LANES], rest[LANES];
    for (i64 l = 0; l < width; ++l) { sum[l] = 0; square[l] = 0; rest[l] = 0; }
    for (i64 e = 0; e < lines; ++e) {
        const i64 line = e + 1 < lines ? width : tail;
        for (i64 l = 0; l < line; ++l) sum[l] += x[e][l];
    }
    const T all = (T)lines, less = (T)(lines - 1);
    for (i64 l = 0; l < tail; ++l) mean[l] = sum[l] / all;
    for (i64 l = tail; l < width; ++l) mean[l] = lines > 1 ? sum[l] / less : (T)0;
    for (i64 e = 0; e < lines; ++e) {
        const i64 line = e + 1 < lines ? width : tail;
        for (i64 l = 0; l < line; ++l) { T d = x[e][l] - mean[l]; square[l] += d * d; rest[l] += d; }
    }
    for (i64 l = 0; l < width; ++l) {
        f64 n = (f64)(l < tail ? lines : lines - 1), shift = n > 0 ? (f64)rest[l] / n : 0.0;
        to[l] = make_moments(n, (f64)mean[l] + shift, (f64)square[l] - (f64)rest[l] * shift);
    }
}
#endif
}
