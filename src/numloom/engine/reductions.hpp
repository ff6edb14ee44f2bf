// Reductions of small work by ready-made loops: see ready.hpp. Lines of elements are reduced side by side, by vectors.
#pragma once

#include "ready.hpp"

namespace numloom {

// Reduces `count` elements that lie one after the other: by 128 lanes (`fast`), or by one.
typedef void (*Reduce)(const char* from, Size count, bool fast, char* to);
// Reduces each of `width` neighbouring columns, by one lane: line by line, `step` bytes from one to the next.
typedef void (*Columns)(const char* from, Size step, Size lines, Size width, char* to);

struct Reduction {
    Reduce row;
    Columns columns;  // null where there are none
    bool in_order;    // positions count in the order of the axes
};

constexpr int LANES = 128;
constexpr int RUN = 16;
constexpr Size CHUNK = 16384;
constexpr Size MOST_REDUCED = 1 << 22;  // Elements of a row whose chunks are so long.
constexpr int LEVELS = 20;              // Of merged runs of a row.
constexpr int VECTOR = 32;              // Bytes.

// `combine` is of elements and of vectors of them.
template <class T>
struct SumOf {
    static T identity() { return std::is_floating_point_v<T> ? T(-0.0) : T(0); }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) { return V(a + b); }
    static constexpr bool empty_is_zero = true;
};
template <class T>
struct ProductOf {
    static T identity() { return T(1); }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) { return V(a * b); }
    static constexpr bool empty_is_zero = false;
};
template <class T>
struct MaximumOf {
    static T identity() {
        if constexpr (std::is_floating_point_v<T>) return -INFINITY;
        else return std::is_signed_v<T> ? T(uint64_t(1) << (8 * sizeof(T) - 1)) : T(0);
    }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) { return (a > b) | (a != a) ? a : b; }
    static constexpr bool empty_is_zero = false;
};
template <class T>
struct MinimumOf {
    static T identity() {
        if constexpr (std::is_floating_point_v<T>) return INFINITY;
        else return std::is_signed_v<T> ? T((uint64_t(1) << (8 * sizeof(T) - 1)) - 1) : T(~T(0));
    }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) { return (a < b) | (a != a) ? a : b; }
    static constexpr bool empty_is_zero = false;
};

// One run: up to 16 lines of `width` elements, combined from the first to the last.
template <class T, class Op>
NL_CLONES void run_of(T* to, const char* from, Size step, Size lines, Size width) {
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    constexpr int count = VECTOR / sizeof(T);
    Size l = 0;
    for (; l + 4 * count <= width; l += 4 * count) {
        const char* at = from + l * sizeof(T);
        V acc[4];
        for (int k = 0; k < 4; ++k) acc[k] = reinterpret_cast<const Loose*>(at)[k];
        for (Size i = 1; i < lines; ++i) {
            at += step;
            for (int k = 0; k < 4; ++k) acc[k] = Op::combine(acc[k], V(reinterpret_cast<const Loose*>(at)[k]));
        }
        for (int k = 0; k < 4; ++k) reinterpret_cast<Loose*>(to + l)[k] = acc[k];
    }
    for (; l + count <= width; l += count) {
        const char* at = from + l * sizeof(T);
        V acc = *reinterpret_cast<const Loose*>(at);
        for (Size i = 1; i < lines; ++i) acc = Op::combine(acc, V(*reinterpret_cast<const Loose*>(at += step)));
        *reinterpret_cast<Loose*>(to + l) = acc;
    }
    for (; l < width; ++l) {
        const char* at = from + l * sizeof(T);
        T acc = *reinterpret_cast<const T*>(at);
        for (Size i = 1; i < lines; ++i) acc = Op::combine(acc, *reinterpret_cast<const T*>(at += step));
        to[l] = acc;
    }
}

// What is combined with what comes after it.
template <class T, class Op>
NL_CLONES void merge(T* later, const T* earlier, Size width) {
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    constexpr int count = VECTOR / sizeof(T);
    Size l = 0;
    for (; l + count <= width; l += count) {
        Loose* at = reinterpret_cast<Loose*>(later + l);
        *at = Op::combine(V(*reinterpret_cast<const Loose*>(earlier + l)), V(*at));
    }
    for (; l < width; ++l) later[l] = Op::combine(earlier[l], later[l]);
}

// Lines of up to 2 * LANES elements: runs of 16 lines, then neighbours level by level, as a binary counter carries.
// `run(to, line, lines)` gives a run of up to 16 lines from `line` on.
template <class T, class Op, class Run>
void by_lines(Run run, Size lines, Size width, T* to) {
    if (lines <= RUN) {
        if (lines) run(to, 0, lines);
        else for (Size l = 0; l < width; ++l) to[l] = Op::identity();
        return;
    }
    alignas(VECTOR) T level[LEVELS][2 * LANES];
    Size runs = 0;
    for (Size line = 0; line < lines; line += RUN, ++runs) {
        int k = 0;
        while (runs >> k & 1) ++k;
        run(level[k], line, lines - line < RUN ? lines - line : RUN);
        for (int j = 0; j < k; ++j) merge<T, Op>(level[k], level[j], width);
    }
    int k = 0;
    while (!(runs >> k & 1)) ++k;
    for (int j = k + 1; runs >> j; ++j)
        if (runs >> j & 1) merge<T, Op>(level[k], level[j], width);
    std::memcpy(to, level[k], width * sizeof(T));
}

template <class T, class Op>
void columns(const char* from, Size step, Size lines, Size width, T* to) {
    by_lines<T, Op>(
        [=](T* run, Size line, Size some) { run_of<T, Op>(run, from + line * step, step, some, width); }, lines, width, to);
}

// Neighbours level by level.
template <class T, class Op>
T pairs(T* part, Size parts) {
    for (; parts > 1; parts = (parts + 1) / 2) {
        for (Size k = 0; k < parts / 2; ++k) part[k] = Op::combine(part[2 * k], part[2 * k + 1]);
        if (parts & 1) part[parts / 2] = part[parts - 1];
    }
    return part[0];
}

// The lanes of a row of `count` numbers, at most one to a lane, by halving.
template <class T, class Op, int N>
NL_CLONES void halves(const T* x, Size count, Size width, T* to) {
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    constexpr Size size = VECTOR / sizeof(T);
    T lanes[N * LANES / 2];
    const T* from = x;
    Size both = count - width / 2;  // Lanes of which the other half has one: what else there is, is combined with nothing.
    while (width > N) {
        const Size half = width / 2;
        Size l = 0;
        for (; l + size <= both; l += size)
            *reinterpret_cast<Loose*>(lanes + l) = Op::combine(
                V(*reinterpret_cast<const Loose*>(from + l)), V(*reinterpret_cast<const Loose*>(from + l + half)));
        for (; l < both; ++l) lanes[l] = Op::combine(from[l], from[l + half]);
        if (from == x) for (; l < half; ++l) lanes[l] = from[l];
        from = lanes;
        width = half;
        both = width / 2;
    }
    for (int n = 0; n < N; ++n) to[n] = from[n];
}

// `count` elements of `N` numbers each (two of a complex one), each number by itself.
template <class T, class Op, int N>
void tree(const char* from, Size count, bool fast, T* to) {
    constexpr Size size = N * sizeof(T);
    if (!fast) return columns<T, Op>(from, size, count, N, to);
    if (count > CHUNK) {
        T part[N][MOST_REDUCED / CHUNK];
        Size parts = 0;
        for (Size at = 0; at < count; at += CHUNK, ++parts) {
            T one[N];
            tree<T, Op, N>(from + at * size, count - at < CHUNK ? count - at : CHUNK, true, one);
            for (int n = 0; n < N; ++n) part[n][parts] = one[n];
        }
        for (int n = 0; n < N; ++n) to[n] = pairs<T, Op>(part[n], parts);
        return;
    }
    int width = 1;
    while (width < LANES && width < count) width *= 2;
    if (count <= LANES && count) {
        halves<T, Op, N>(reinterpret_cast<const T*>(from), N * count, N * width, to);
        return;
    }
    alignas(VECTOR) T lanes[N * LANES];
    const Size lines = count / width, more = N * (count - lines * width);
    if (more) columns<T, Op>(from, width * size, lines + 1, more, lanes);
    columns<T, Op>(from + more * sizeof(T), width * size, lines, N * width - more, lanes + more);
    for (; width > 1; width /= 2)
        for (int l = 0; l < N * width / 2; ++l) lanes[l] = Op::combine(lanes[l], lanes[l + N * width / 2]);
    std::memcpy(to, lanes, size);
}

template <class T, class Op, int N = 1>
void reduce_row(const char* from, Size count, bool fast, char* to) {
    T result[N] = {};
    if (count || !Op::empty_is_zero) tree<T, Op, N>(from, count, fast, result);
    std::memcpy(to, result, sizeof result);
}

template <class T, class Op, int N = 1>
void reduce_columns(const char* from, Size step, Size lines, Size width, char* to) {
    columns<T, Op>(from, step, lines, N * width, reinterpret_cast<T*>(to));
}

template <class T>
T mean_of(T sum, Size count) { return T(double(sum) / double(count)); }

template <class T>
void mean_row(const char* from, Size count, bool fast, char* to) {
    T result;
    tree<T, SumOf<T>, 1>(from, count, fast, &result);
    result = mean_of(result, count);
    std::memcpy(to, &result, sizeof(T));
}

template <class T>
void mean_columns(const char* from, Size step, Size lines, Size width, char* to) {
    T* result = reinterpret_cast<T*>(to);
    columns<T, SumOf<T>>(from, step, lines, width, result);
    for (Size l = 0; l < width; ++l) result[l] = mean_of(result[l], lines);
}

// Moments of columns: mean and squared deviations of each, of equally many elements.
struct Moments {
    double n;
    double mean[LANES], m2[LANES];
};

// Of one run, in two passes: emit/include/moments.hpp has the same operations in the same order.
template <class T>
NL_CLONES void moments_of_run(Moments& to, const char* from, Size step, Size lines, Size width) {
    T mean[LANES], square[LANES], rest[LANES];
    for (Size l = 0; l < width; ++l) mean[l] = square[l] = rest[l] = 0;
    for (Size i = 0; i < lines; ++i) {
        const T* x = reinterpret_cast<const T*>(from + i * step);
        for (Size l = 0; l < width; ++l) mean[l] += x[l];
    }
    const T count = T(lines);
    for (Size l = 0; l < width; ++l) mean[l] /= count;
    for (Size i = 0; i < lines; ++i) {
        const T* x = reinterpret_cast<const T*>(from + i * step);
        for (Size l = 0; l < width; ++l) {
            const T d = x[l] - mean[l];
            square[l] += d * d;
            rest[l] += d;
        }
    }
    to.n = double(lines);
    for (Size l = 0; l < width; ++l) {
        const double shift = double(rest[l]) / to.n;
        to.mean[l] = double(mean[l]) + shift;
        to.m2[l] = double(square[l]) - double(rest[l]) * shift;
    }
}

// Chan's merge with what comes before.
NL_CLONES inline void merge_moments(Moments& later, const Moments& earlier, Size width) {
    const double n = earlier.n + later.n, w = later.n / n, both = earlier.n * w;
    for (Size l = 0; l < width; ++l) {
        const double d = later.mean[l] - earlier.mean[l];
        later.m2[l] = earlier.m2[l] + later.m2[l] + d * d * both;
        later.mean[l] = earlier.mean[l] + d * w;
    }
    later.n = n;
}

template <class T>
void moments_of_columns(const char* from, Size step, Size lines, Size width, Moments& to) {
    if (!lines) {
        to.n = 0;
        return;
    }
    if (lines <= RUN) return moments_of_run<T>(to, from, step, lines, width);
    Moments level[LEVELS];
    Size runs = 0;
    for (; lines > 0; lines -= RUN, from += RUN * step, ++runs) {
        int k = 0;
        while (runs >> k & 1) ++k;
        moments_of_run<T>(level[k], from, step, lines < RUN ? lines : RUN, width);
        for (int j = 0; j < k; ++j) merge_moments(level[k], level[j], width);
    }
    int k = 0;
    while (!(runs >> k & 1)) ++k;
    for (int j = k + 1; runs >> j; ++j)
        if (runs >> j & 1) merge_moments(level[k], level[j], width);
    to.n = level[k].n;
    std::memcpy(to.mean, level[k].mean, width * sizeof(double));
    std::memcpy(to.m2, level[k].m2, width * sizeof(double));
}

struct Moment {
    double n, mean, m2;
};

inline Moment merged(const Moment& a, const Moment& b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    const double n = a.n + b.n, w = b.n / n, d = b.mean - a.mean;
    return {n, a.mean + d * w, a.m2 + b.m2 + d * d * (a.n * w)};
}

template <class T>
Moment moment_of(const char* from, Size count, bool fast) {
    Moments first, rest;
    if (!fast) {
        moments_of_columns<T>(from, sizeof(T), count, 1, first);
        return {first.n, first.mean[0], first.m2[0]};
    }
    if (count > CHUNK) {
        Moment part[MOST_REDUCED / CHUNK];
        Size parts = 0;
        for (Size at = 0; at < count; at += CHUNK)
            part[parts++] = moment_of<T>(from + at * sizeof(T), count - at < CHUNK ? count - at : CHUNK, true);
        for (; parts > 1; parts = (parts + 1) / 2) {
            for (Size k = 0; k < parts / 2; ++k) part[k] = merged(part[2 * k], part[2 * k + 1]);
            if (parts & 1) part[parts / 2] = part[parts - 1];
        }
        return part[0];
    }
    int width = 1;
    while (width < LANES && width < count) width *= 2;
    const Size lines = count / width, more = count - lines * width, step = width * sizeof(T);
    moments_of_columns<T>(from, step, lines + 1, more, first);
    moments_of_columns<T>(from + more * sizeof(T), step, lines, width - more, rest);
    Moment lanes[LANES];
    for (Size l = 0; l < more; ++l) lanes[l] = {first.n, first.mean[l], first.m2[l]};
    for (Size l = more; l < width; ++l) {
        if (lines) lanes[l] = {rest.n, rest.mean[l - more], rest.m2[l - more]};
        else lanes[l] = {0, 0, 0};
    }
    for (; width > 1; width /= 2)
        for (int l = 0; l < width / 2; ++l) lanes[l] = merged(lanes[l], lanes[l + width / 2]);
    return lanes[0];
}

template <class T>
void variance_row(const char* from, Size count, bool fast, char* to) {
    const T result = T(moment_of<T>(from, count, fast).m2 / double(count));
    std::memcpy(to, &result, sizeof(T));
}

template <class T>
void variance_columns(const char* from, Size step, Size lines, Size width, char* to) {
    Moments found;
    moments_of_columns<T>(from, step, lines, width, found);
    T* result = reinterpret_cast<T*>(to);
    for (Size l = 0; l < width; ++l) result[l] = T(found.m2[l] / double(lines));
}

inline void deviations_row(const char* from, Size count, bool fast, char* to) {
    const double result = moment_of<double>(from, count, fast).m2;
    std::memcpy(to, &result, sizeof result);
}

inline void deviations_columns(const char* from, Size step, Size lines, Size width, char* to) {
    Moments found;
    moments_of_columns<double>(from, step, lines, width, found);
    std::memcpy(to, found.m2, width * sizeof(double));
}

// The first of `count` elements that is equal to a number, or if that is NaN, is NaN; one of them is.
template <class T>
NL_CLONES Size first_of(const T* x, Size count, T value) {
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    constexpr Size size = VECTOR / sizeof(T), block = 4 * size;
    const V all = value - V{};
    const bool is_nan = value != value;
    Size at = 0;
    for (; at + block <= count; at += block) {
        const Loose* part = reinterpret_cast<const Loose*>(x + at);
        auto found = V(part[0]) == all;
        if (is_nan) {
            found = V(part[0]) != V(part[0]);
            for (int k = 1; k < 4; ++k) found |= V(part[k]) != V(part[k]);
        } else {
            for (int k = 1; k < 4; ++k) found |= V(part[k]) == all;
        }
        uint64_t words[4], any = 0;
        std::memcpy(words, &found, VECTOR);
        for (uint64_t word : words) any |= word;
        if (any) break;
    }
    while (!(x[at] == value || (is_nan && x[at] != x[at]))) ++at;
    return at;
}

// The first extreme, or the first NaN.
template <class T, class Op>
void position_row(const char* from, Size count, bool, char* to) {
    const T* x = reinterpret_cast<const T*>(from);
    T best = x[0];
    tree<T, Op, 1>(from, count, count > RUN, &best);
    const int64_t at = first_of(x, count, best);
    std::memcpy(to, &at, sizeof at);
}

template <bool ALL>
void truth_row(const char* from, Size count, bool, char* to) {
    bool found = false;  // a zero, or what is none
    if (ALL) {
        found = count && std::memchr(from, 0, count);
    } else {
        Size at = 0;
        for (; at + 64 <= count && !found; at += 64) {
            uint64_t words[8], any = 0;
            std::memcpy(words, from + at, 64);
            for (uint64_t word : words) any |= word;
            found = any;
        }
        for (; at < count && !found; ++at) found = from[at];
    }
    *to = found != ALL;
}

// How many of a line of bools are true.
NL_CLONES inline int64_t count_true(const uint8_t* x, Size count) {
    typedef uint8_t V __attribute__((vector_size(VECTOR)));
    typedef uint8_t Loose __attribute__((vector_size(VECTOR), aligned(1), may_alias));
    int64_t total = 0;
    while (count >= VECTOR) {
        const Size lines = count / VECTOR < 255 ? count / VECTOR : 255;
        V sums = {};
        for (Size i = 0; i < lines; ++i) sums += *reinterpret_cast<const Loose*>(x + i * VECTOR);
        for (int k = 0; k < VECTOR; ++k) total += sums[k];
        x += lines * VECTOR;
        count -= lines * VECTOR;
    }
    for (Size i = 0; i < count; ++i) total += x[i];
    return total;
}

inline void count_row(const char* from, Size count, bool, char* to) {
    const int64_t total = count_true(reinterpret_cast<const uint8_t*>(from), count);
    std::memcpy(to, &total, sizeof total);
}

template <class Op>
void truth_columns(const char* from, Size step, Size lines, Size width, char* to) {
    columns<uint8_t, Op>(from, step, lines, width, reinterpret_cast<uint8_t*>(to));
    for (Size l = 0; l < width; ++l) to[l] = to[l] != 0;
}

enum Reducer { NO_REDUCER, SUM, MEAN, PRODUCT, MOST, LEAST, FIRST_MOST, FIRST_LEAST, ANY, ALL, COUNT, VARIANCE, DEVIATIONS };

template <class T, class Op, int N = 1>
const Reduction* by_tree() {
    static constexpr Reduction made = {reduce_row<T, Op, N>, reduce_columns<T, Op, N>, false};
    return &made;
}
template <class T, class Op>
const Reduction* by_position() {
    static constexpr Reduction made = {position_row<T, Op>, nullptr, true};
    return &made;
}
template <class T>
const Reduction* by_mean() {
    static constexpr Reduction made = {mean_row<T>, mean_columns<T>, false};
    return &made;
}
template <bool ALL, class Op>
const Reduction* by_truth() {
    static constexpr Reduction made = {truth_row<ALL>, truth_columns<Op>, false};
    return &made;
}

template <class T>
const Reduction* by_variance() {
    static constexpr Reduction made = {variance_row<T>, variance_columns<T>, false};
    return &made;
}
inline const Reduction* by_deviations() {
    static constexpr Reduction made = {deviations_row, deviations_columns, false};
    return &made;
}
inline const Reduction* by_count() {
    static constexpr Reduction made = {count_row, nullptr, false};
    return &made;
}

template <class T>
const Reduction* reduction_of(int which) {
    switch (which) {
        case SUM: return by_tree<T, SumOf<T>>();
        case PRODUCT: return by_tree<T, ProductOf<T>>();
        case MOST: return by_tree<T, MaximumOf<T>>();
        case LEAST: return by_tree<T, MinimumOf<T>>();
        case FIRST_MOST: return by_position<T, MaximumOf<T>>();
        case FIRST_LEAST: return by_position<T, MinimumOf<T>>();
        case MEAN:
            if constexpr (std::is_floating_point_v<T>) return by_mean<T>();
            break;
        case VARIANCE:
            if constexpr (std::is_floating_point_v<T>) return by_variance<T>();
            break;
        case DEVIATIONS:
            if constexpr (std::is_same_v<T, double>) return by_deviations();
    }
    return nullptr;
}

// By code of the dtype that is reduced; null where there is none.
inline const Reduction* reduction(int which, int code) {
    if (code == 0) {
        switch (which) {
            case ANY: return by_truth<false, MaximumOf<uint8_t>>();
            case ALL: return by_truth<true, MinimumOf<uint8_t>>();
            case COUNT: return by_count();
            case SUM: case PRODUCT: return nullptr;
        }
        return reduction_of<uint8_t>(which);
    }
    switch (code) {
        case 1: return reduction_of<int8_t>(which);
        case 2: return reduction_of<uint8_t>(which);
        case 3: return reduction_of<int16_t>(which);
        case 4: return reduction_of<uint16_t>(which);
        case 5: return reduction_of<int32_t>(which);
        case 6: return reduction_of<uint32_t>(which);
        case 7: return reduction_of<int64_t>(which);
        case 8: return reduction_of<uint64_t>(which);
        case 10: return reduction_of<float>(which);
        case 11: return reduction_of<double>(which);
        case 12: return which == SUM ? by_tree<float, SumOf<float>, 2>() : nullptr;
        case 13: return which == SUM ? by_tree<double, SumOf<double>, 2>() : nullptr;
    }
    return nullptr;
}

// Reduce the axes behind the first `kept` ones of a space: argument 0 is reduced, the last one is the result.
// `scratch` holds one row, which is put there where it does not lie in one piece (or not `aligned`).
inline void reduce_rows(const Reduction* by, bool fast, bool aligned, char* const* start, const StridedSpace& s, int kept,
                        int itemsize, int outsize, Size count, char* scratch) {
    StridedSpace row;
    row.args = 2;
    row.rank = s.rank - kept;
    Size step = itemsize;
    bool there = aligned;
    for (int axis = row.rank - 1; axis >= 0; --axis) {
        row.shape[axis] = s.shape[kept + axis];
        row.strides[0][axis] = s.strides[0][kept + axis];
        row.strides[1][axis] = step;
        there &= row.shape[axis] == 1 || row.strides[0][axis] == step;
        step *= row.shape[axis];
    }
    const Loop copy = copy_of(itemsize);
    if (!there && count) simplify(row);
    char* args[2] = {start[0], start[1]};
    Size at[MOST_AXES] = {0};
    const int last = kept - 1;
    if (!there && !fast && aligned && by->columns && row.rank == 1 && kept && s.strides[0][last] == itemsize &&
        s.strides[1][last] == outsize) {
        do {
            for (Size l = 0; l < s.shape[last]; l += LANES) {
                const Size width = s.shape[last] - l < LANES ? s.shape[last] - l : LANES;
                by->columns(args[0] + l * itemsize, row.strides[0][0], count, width, args[1] + l * outsize);
            }
        } while (next_position(s, last, at, args));
        return;
    }
    do {
        if (there || !count) {
            by->row(args[0], count, fast, args[1]);
        } else {
            char* ends[2] = {args[0], scratch};
            run_loop(copy, nullptr, ends, row);
            by->row(scratch, count, fast, args[1]);
        }
    } while (next_position(s, kept, at, args));
}

// ---------------------------------------------------------------- sums of products

template <class T>
NL_CLONES void products_of(T* to, const char* a, Size a_step, const char* b, Size b_step, Size count) {
    if (a_step == sizeof(T) && b_step == sizeof(T)) {
        const T *x = reinterpret_cast<const T*>(a), *y = reinterpret_cast<const T*>(b);
        for (Size i = 0; i < count; ++i) to[i] = x[i] * y[i];
    } else {
        for (Size i = 0; i < count; ++i)
            to[i] = *reinterpret_cast<const T*>(a + i * a_step) * *reinterpret_cast<const T*>(b + i * b_step);
    }
}

// `run_of` lines of products; of what does not vary along a line there is one element.
template <class T, bool A_VARIES, bool B_VARIES>
NL_CLONES void run_of_products(T* to, const char* a, Size a_step, const char* b, Size b_step, Size lines, Size width) {
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    constexpr Size size = VECTOR / sizeof(T);
    Size l = 0;
    for (; l + 2 * size <= width; l += 2 * size) {
        V acc[2];
        for (Size i = 0; i < lines; ++i) {
            const char *x = a + i * a_step, *y = b + i * b_step;
            for (int k = 0; k < 2; ++k) {
                const Size at = (l + k * size) * sizeof(T);
                const V one = A_VARIES ? V(*reinterpret_cast<const Loose*>(x + at)) : *reinterpret_cast<const T*>(x) - V{};
                const V other = B_VARIES ? V(*reinterpret_cast<const Loose*>(y + at)) : *reinterpret_cast<const T*>(y) - V{};
                acc[k] = i ? acc[k] + one * other : one * other;
            }
        }
        for (int k = 0; k < 2; ++k) *reinterpret_cast<Loose*>(to + l + k * size) = acc[k];
    }
    for (; l < width; ++l) {
        T acc = 0;
        for (Size i = 0; i < lines; ++i) {
            const T one = *reinterpret_cast<const T*>(a + i * a_step + (A_VARIES ? l * sizeof(T) : 0));
            const T other = *reinterpret_cast<const T*>(b + i * b_step + (B_VARIES ? l * sizeof(T) : 0));
            acc = i ? acc + one * other : one * other;
        }
        to[l] = acc;
    }
}

constexpr Size MOST_DOTTED_ROW = 4096;

// Sums over the last axis of a space of the products of arguments 0 and 1, argument 2 is the result.
template <class T>
void dots_of(bool fast, char* const* start, const StridedSpace& s) {
    const int inner = s.rank - 1, last = inner - 1;
    const Size lines = s.shape[inner], a_step = s.strides[0][inner], b_step = s.strides[1][inner];
    const Size size = sizeof(T);
    char* args[3] = {start[0], start[1], start[2]};
    const Size a_along = last >= 0 ? s.strides[0][last] : -1, b_along = last >= 0 ? s.strides[1][last] : -1;
    const bool wide = !fast && last >= 0 && s.strides[2][last] == size && (a_along == size || b_along == size) &&
                      (a_along == size || a_along == 0) && (b_along == size || b_along == 0);
    const int outer = wide ? last : inner;
    const auto run = a_along == 0 ? run_of_products<T, false, true>
                                  : b_along == 0 ? run_of_products<T, true, false> : run_of_products<T, true, true>;
    Size at[MOST_AXES] = {0};
    T scratch[MOST_DOTTED_ROW];
    do {
        if (wide) {
            for (Size l = 0; l < s.shape[last]; l += LANES) {
                const Size width = s.shape[last] - l < LANES ? s.shape[last] - l : LANES;
                const char *a = args[0] + l * a_along, *b = args[1] + l * b_along;
                by_lines<T, SumOf<T>>(
                    [=](T* to, Size line, Size some) {
                        run(to, a + line * a_step, a_step, b + line * b_step, b_step, some, width);
                    },
                    lines, width, reinterpret_cast<T*>(args[2] + l * size));
            }
        } else {
            products_of<T>(scratch, args[0], a_step, args[1], b_step, lines);
            tree<T, SumOf<T>, 1>(reinterpret_cast<const char*>(scratch), lines, fast, reinterpret_cast<T*>(args[2]));
        }
    } while (next_position(s, outer, at, args));
}

}  // namespace numloom
