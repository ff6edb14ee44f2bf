// Moments of a chunk on the host, lanes side by side: those below `more` hold one element more than `less`. So all lanes
// merge by one of two weights, and none divides. An empty lane is a copy of the one that it merges with: that changes nothing.
namespace nl {
// Lanes take others: those below `cut`, of n elements, by a weight, the rest by another.
template <int W> NL_DEV void take_lanes(f64* to_mean, f64* to_m2, const f64* mean, const f64* m2, i64 cut, f64 n, f64 weight,
                                        f64 rest_n, f64 rest_weight) {
    const f64 scale = n * weight, rest_scale = rest_n * rest_weight;
    NL_IVDEP
    for (i64 l = 0; l < W; ++l) {
        const f64 d = mean[l] - to_mean[l];
        to_mean[l] += d * (l < cut ? weight : rest_weight);
        to_m2[l] = to_m2[l] + m2[l] + d * d * (l < cut ? scale : rest_scale);
    }
}
// Where a level went either way the text goes on as one, else it would double at each. But the last three are written out.
template <int W> NL_DEV moments merge_lanes(f64* mean, f64* m2, i64 count, i64 more, i64 less) {
    if constexpr (W > 1) {
        constexpr int HALF = W / 2;
        const f64 n = (f64)less, weight = n / (n + (n + 1));
        if (more > HALF) {
            more -= HALF;
            less = 2 * less + 1;
            take_lanes<HALF>(mean, m2, mean + HALF, m2 + HALF, more, n + 1, 0.5, n + 1, weight);
            if constexpr (W <= 8) return merge_lanes<HALF>(mean, m2, count, more, less);
        } else {
            if (less) take_lanes<HALF>(mean, m2, mean + HALF, m2 + HALF, more, n + 1, weight, n, 0.5);
            less = 2 * less;
        }
        return merge_lanes<HALF>(mean, m2, count, more, less);
    }
    return make_moments((f64)count, mean[0], m2[0]);
}
// Of no more elements than lanes: upper levels without any are passed over.
template <int W> NL_DEV moments merge_few(f64* mean, f64* m2, i64 count) {
    if constexpr (W > 1) {
        constexpr int HALF = W / 2;
        if (count <= HALF) return merge_few<HALF>(mean, m2, count);
        take_lanes<HALF>(mean, m2, mean + HALF, m2 + HALF, count - HALF, 1, 0.5, 1, 0);
        return merge_lanes<HALF>(mean, m2, count, count - HALF, 1);
    }
    return make_moments((f64)count, mean[0], m2[0]);
}
// One run of each lane, as `moments_run`.
template <int W, class T> NL_DEV void run_lanes(const T (*x)[W], i64 lines, i64 more, f64* mean, f64* m2) {
    constexpr int RUN = 16;
    T sum[W], middle[W], square[W], rest[W];
    for (i64 l = 0; l < W; ++l) sum[l] = square[l] = rest[l] = 0;
    if (lines == RUN && !more) {
        for (int e = 0; e < RUN; ++e) for (i64 l = 0; l < W; ++l) sum[l] += x[e][l];
        for (i64 l = 0; l < W; ++l) middle[l] = sum[l] * (T)(1.0 / RUN);
        for (int e = 0; e < RUN; ++e) for (i64 l = 0; l < W; ++l) {
            const T d = x[e][l] - middle[l];
            square[l] += d * d;
            rest[l] += d;
        }
        for (i64 l = 0; l < W; ++l) {
            const f64 shift = (f64)rest[l] * (1.0 / RUN);
            mean[l] = (f64)middle[l] + shift;
            m2[l] = (f64)square[l] - (f64)rest[l] * shift;
        }
        return;
    }
    for (i64 e = 0; e < lines; ++e) for (i64 l = 0; l < W; ++l) sum[l] += x[e][l];
    for (i64 l = 0; l < more; ++l) sum[l] += x[lines][l];
    for (i64 l = 0; l < W; ++l) middle[l] = sum[l] / (T)(l < more ? lines + 1 : lines);
    for (i64 e = 0; e < lines; ++e) for (i64 l = 0; l < W; ++l) {
        const T d = x[e][l] - middle[l];
        square[l] += d * d;
        rest[l] += d;
    }
    for (i64 l = 0; l < more; ++l) {
        const T d = x[lines][l] - middle[l];
        square[l] += d * d;
        rest[l] += d;
    }
    for (i64 l = 0; l < W; ++l) {
        const f64 shift = (f64)rest[l] / (f64)(l < more ? lines + 1 : lines);
        mean[l] = (f64)middle[l] + shift;
        m2[l] = (f64)square[l] - (f64)rest[l] * shift;
    }
}
// Elements of a chunk into an array: one by one where they are known by their positions, else as a function says.
template <class T, class Value> NL_DEV auto put_elements(T* to, Value value, i64 begin, i64 count) -> decltype(value(begin), void()) {
    NL_IVDEP
    for (i64 l = 0; l < count; ++l) to[l] = value(begin + l);
}
template <class T, class Fill> NL_DEV auto put_elements(T* to, Fill fill, i64 begin, i64 count) -> decltype(fill(to, begin, count), void()) {
    fill(to, begin, count);
}
// Moments of elements begin ... begin + count - 1, of which there are at most 65,536; W is 128, or enough for all elements.
template <int W, class T, class Value> NL_DEV moments moments_chunk(Value value, i64 begin, i64 count) {
    constexpr i64 RUN = 16, LEVELS = 6;  // of at most 65536 / RUN / 128 runs, of which the last is not kept
    f64 mean[W], m2[W];
    T x[RUN][W];
    if (count <= W) {
        put_elements(x[0], value, begin, count);
        NL_IVDEP
        for (i64 l = 0; l < count; ++l) {
            mean[l] = (f64)x[0][l];
            m2[l] = (f64)(x[0][l] - x[0][l]);  // NaN of infinities
        }
        if (!count) return make_moments(0, 0, 0);
        i64 width = W;
        while (width > 1 && width / 2 >= count) width /= 2;
        for (i64 l = count; l < width; ++l) { mean[l] = mean[l - width / 2]; m2[l] = 0; }
        return merge_few<W>(mean, m2, count);
    }
    f64 level_mean[LEVELS][W], level_m2[LEVELS][W];
    u32 runs = 0;
    i64 more = 0, less = 0;
    for (i64 first = 0; first < count; first += RUN * W) {
        const i64 left = count - first < RUN * W ? count - first : RUN * W;
        less = left / W, more = left % W;
        put_elements(x[0], value, begin + first, left);
        run_lanes<W>(x, less, more, mean, m2);
        // A binary counter, of which the last run takes all.
        const bool last = first + RUN * W >= count;
        int k = 0;
        for (; last ? runs >> k : (runs >> k) & 1; ++k) {
            if (!((runs >> k) & 1)) continue;
            const f64 n = (f64)(RUN << k), part = (f64)less;
            if (!less) for (i64 l = more; l < W; ++l) mean[l] = level_mean[k][l], m2[l] = 0;
            take_lanes<W>(level_mean[k], level_m2[k], mean, m2, more, n, (part + 1) / (n + (part + 1)), n, part / (n + part));
            __builtin_memcpy(mean, level_mean[k], sizeof(mean));
            __builtin_memcpy(m2, level_m2[k], sizeof(m2));
            less += RUN << k;
        }
        if (last) break;
        __builtin_memcpy(level_mean[k], mean, sizeof(mean));
        __builtin_memcpy(level_m2[k], m2, sizeof(m2));
        ++runs;
    }
    return merge_lanes<W>(mean, m2, count, more, less);
}
}
