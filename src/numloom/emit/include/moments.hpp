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
// x / n of a whole number n up to 16 with the inverse r, rounded right by one correction (Markstein 1990): what is computed
// in float32 is far from the ends of float64's range. A float32 quotient may be rounded twice: it has less than half the digits.
#ifdef __CUDACC__
NL_DEV f64 over(f64 x, f64 n, f64 r) {
    const f64 q = __dmul_rn(x, r), right = __fma_rn(__fma_rn(-q, n, x), r, q);
    return x - x == 0 ? right : x;
}
NL_DEV f64 mean_of(f64 sum, f64 n, f64) { return sum / n; }
NL_DEV f32 mean_of(f32 sum, f64 n, f64 r) { return (f32)over((f64)sum, n, r); }
NL_DEV f64 shift_of(f64 rest, f64 n, f64) { return rest / n; }
NL_DEV f64 shift_of(f32 rest, f64 n, f64 r) { return over((f64)rest, n, r); }
#endif
// In the order of ops/reduction_tree.py, which must give the same bits.
template <class T> NL_DEV moments moments_run(const T* x, int count) {
    T sum = 0, square = 0, rest = 0;
    NL_OF_RUN(i, count) sum += x[i];
    T mean = count ? sum / (T)count : (T)0;
    NL_OF_RUN(i, count) { T d = x[i] - mean; square += d * d; rest += d; }
    f64 n = count, shift = count ? (f64)rest / n : 0.0;
    return make_moments(n, (f64)mean + shift, (f64)square - (f64)rest * shift);
}
// A run of `most` elements, or of one less if it is not `whole`, by the same operations; `most` is known to compilers.
template <class T> NL_DEV moments moments_part(const T* x, int most, bool whole) {
#ifdef __CUDACC__
    if (most > 1) {
        const f64 n = whole ? most : most - 1, r = whole ? 1.0 / most : 1.0 / (most - 1);
        T sum = 0, square = 0, rest = 0;
        NL_OF_RUN(i, most - 1) sum += x[i];
        sum = whole ? sum + x[most - 1] : sum;
        const T mean = mean_of(sum, n, r);
        NL_OF_RUN(i, most - 1) { T d = x[i] - mean; square += d * d; rest += d; }
        const T d = x[most - 1] - mean;
        square = whole ? square + d * d : square;
        rest = whole ? rest + d : rest;
        const f64 shift = shift_of(rest, n, r);
        return make_moments(n, (f64)mean + shift, (f64)square - (f64)rest * shift);
    }
    const moments one = moments_run(x, 1);
    return make_moments(whole ? 1.0 : 0.0, one.mean, one.m2);
#else
    return moments_run(x, whole ? most : most - 1);
#endif
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
