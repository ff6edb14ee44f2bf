// Reductions of small work by ready-made loops: see ready.hpp. Lines of elements are reduced side by side, by vectors.
#pragma once

#include "ready.hpp"

namespace numloom {

// Reduces `count` elements that lie one after the other: by 128 lanes (`fast`), or by one.
typedef void (*Reduce)(const char* from, Size count, bool fast, char* to);
// Reduces each of `width` neighbouring columns, by one lane: line by line, `step` bytes from one to the next.
typedef void (*Columns)(const char* from, Size step, Size lines, Size width, char* to);

// Reduces `width` rows of `count` elements, at most RUN, by lanes: elements of one place are a line of LANES, which is lost.
typedef void (*Abreast)(char* lines, Size count, Size width, char* to);

struct Reduction {
    Reduce row;
    Columns columns;  // null where there are none
    bool in_order;    // positions count in the order of the axes
    Abreast abreast = nullptr;
};

constexpr int LANES = 128;
constexpr int RUN = 16;
constexpr Size CHUNK = 16384;
constexpr Size MOST_REDUCED = 1 << 22;  // Elements of a row whose chunks are so long.
constexpr int LEVELS = 20;              // Of merged runs of a row.
constexpr int VECTOR = 32;              // Bytes.
constexpr int MOST_ITEMSIZE = 16;

// What an element's numbers are, and vectors of elements: of a complex one the parts lie side by side.
template <class E>
struct NumberOf { using type = E; };
template <class T>
struct NumberOf<Complex<T>> { using type = T; };
template <class E>
struct VectorOf {
    using T = typename NumberOf<E>::type;
    typedef T V __attribute__((vector_size(VECTOR)));
    typedef T Loose __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
    static constexpr Size count = VECTOR / sizeof(E);
};

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

// Of vectors of complex numbers: in both places of a number what is in that of its real or imaginary part, or the other's.
template <class V>
NL_INLINE V real_twice(const V& v) {
    if constexpr (sizeof(v[0]) == 8) return __builtin_shufflevector(v, v, 0, 0, 2, 2);
    else return __builtin_shufflevector(v, v, 0, 0, 2, 2, 4, 4, 6, 6);
}
template <class V>
NL_INLINE V imaginary_twice(const V& v) {
    if constexpr (sizeof(v[0]) == 8) return __builtin_shufflevector(v, v, 1, 1, 3, 3);
    else return __builtin_shufflevector(v, v, 1, 1, 3, 3, 5, 5, 7, 7);
}
template <class V>
NL_INLINE V turned(const V& v) {
    if constexpr (sizeof(v[0]) == 8) return __builtin_shufflevector(v, v, 1, 0, 3, 2);
    else return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
}

// Complex numbers: operations and order are those of emit/include/complex.hpp.
template <class T>
struct SumOf<Complex<T>> {
    static Complex<T> identity() { return {T(-0.0), T(-0.0)}; }
    static NL_INLINE Complex<T> combine(const Complex<T>& a, const Complex<T>& b) { return {a.re + b.re, a.im + b.im}; }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) { return a + b; }
    static constexpr bool empty_is_zero = true;
};
template <class T>
struct ProductOf<Complex<T>> {
    static Complex<T> identity() { return {T(1), T(0)}; }
    static NL_INLINE Complex<T> combine(const Complex<T>& a, const Complex<T>& b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) {
        const V straight = real_twice(a) * b, crossed = imaginary_twice(a) * turned(b);
        const V less = straight - crossed, more = straight + crossed;
        if constexpr (sizeof(T) == 8) return __builtin_shufflevector(less, more, 0, 5, 2, 7);
        else return __builtin_shufflevector(less, more, 0, 9, 2, 11, 4, 13, 6, 15);
    }
    static constexpr bool empty_is_zero = false;
};
// Of two equal numbers the first stays.
template <class T, bool MOST_OF>
struct ExtremeOf {
    static Complex<T> identity() {
        const T end = MOST_OF ? -INFINITY : INFINITY;
        return {end, end};
    }
    static NL_INLINE Complex<T> combine(const Complex<T>& a, const Complex<T>& b) {
        const bool far = MOST_OF ? b.re < a.re : a.re < b.re, near = MOST_OF ? b.im <= a.im : a.im <= b.im;
        const bool stays = (a.re != a.re) | (a.im != a.im) | (far & (a.im == a.im) & (b.im == b.im)) | ((a.re == b.re) & near);
        return stays ? a : b;
    }
    template <class V>
    static NL_INLINE V combine(const V& a, const V& b) {
        const auto none = a != a, numbers = (a == a) & (b == b);
        const auto far = MOST_OF ? b < a : a < b, near = MOST_OF ? b <= a : a <= b;
        const auto stays = none | turned(none) | (real_twice(far) & imaginary_twice(numbers)) |
                           (real_twice(a == b) & imaginary_twice(near));
        return stays ? a : b;
    }
    static constexpr bool empty_is_zero = false;
};
template <class T>
struct MaximumOf<Complex<T>> : ExtremeOf<T, true> {};
template <class T>
struct MinimumOf<Complex<T>> : ExtremeOf<T, false> {};

// One run: up to 16 lines of `width` elements, combined from the first to the last.
template <class E, class Op>
NL_CLONES void run_of(E* to, const char* from, Size step, Size lines, Size width) {
    typedef typename VectorOf<E>::V V;
    typedef typename VectorOf<E>::Loose Loose;
    constexpr Size count = VectorOf<E>::count;
    Size l = 0;
    for (; l + 4 * count <= width; l += 4 * count) {
        const char* at = from + l * sizeof(E);
        V acc[4];
        for (int k = 0; k < 4; ++k) acc[k] = reinterpret_cast<const Loose*>(at)[k];
        for (Size i = 1; i < lines; ++i) {
            at += step;
            for (int k = 0; k < 4; ++k) acc[k] = Op::combine(acc[k], V(reinterpret_cast<const Loose*>(at)[k]));
        }
        for (int k = 0; k < 4; ++k) reinterpret_cast<Loose*>(to + l)[k] = acc[k];
    }
    for (; l + count <= width; l += count) {
        const char* at = from + l * sizeof(E);
        V acc = *reinterpret_cast<const Loose*>(at);
        for (Size i = 1; i < lines; ++i) acc = Op::combine(acc, V(*reinterpret_cast<const Loose*>(at += step)));
        *reinterpret_cast<Loose*>(to + l) = acc;
    }
    for (; l < width; ++l) {
        const char* at = from + l * sizeof(E);
        E acc = *reinterpret_cast<const E*>(at);
        for (Size i = 1; i < lines; ++i) acc = Op::combine(acc, *reinterpret_cast<const E*>(at += step));
        to[l] = acc;
    }
}

// What is combined with what comes after it.
template <class E, class Op>
NL_CLONES void merge(E* later, const E* earlier, Size width) {
    typedef typename VectorOf<E>::V V;
    typedef typename VectorOf<E>::Loose Loose;
    constexpr Size count = VectorOf<E>::count;
    Size l = 0;
    for (; l + count <= width; l += count) {
        Loose* at = reinterpret_cast<Loose*>(later + l);
        *at = Op::combine(V(*reinterpret_cast<const Loose*>(earlier + l)), V(*at));
    }
    for (; l < width; ++l) later[l] = Op::combine(earlier[l], later[l]);
}

// Lines of up to LANES elements: runs of 16 lines, then neighbours level by level, as a binary counter carries.
// `run(to, line, lines)` gives a run of up to 16 lines from `line` on.
template <class E, class Op, class Run>
void by_lines(Run run, Size lines, Size width, E* to) {
    if (lines <= RUN) {
        if (lines) run(to, 0, lines);
        else for (Size l = 0; l < width; ++l) to[l] = Op::identity();
        return;
    }
    alignas(VECTOR) E level[LEVELS][LANES];
    Size runs = 0;
    for (Size line = 0; line < lines; line += RUN, ++runs) {
        int k = 0;
        while (runs >> k & 1) ++k;
        run(level[k], line, lines - line < RUN ? lines - line : RUN);
        for (int j = 0; j < k; ++j) merge<E, Op>(level[k], level[j], width);
    }
    int k = 0;
    while (!(runs >> k & 1)) ++k;
    for (int j = k + 1; runs >> j; ++j)
        if (runs >> j & 1) merge<E, Op>(level[k], level[j], width);
    std::memcpy(to, level[k], width * sizeof(E));
}

template <class E, class Op>
void columns(const char* from, Size step, Size lines, Size width, E* to) {
    by_lines<E, Op>(
        [=](E* run, Size line, Size some) { run_of<E, Op>(run, from + line * step, step, some, width); }, lines, width, to);
}

// Neighbours level by level.
template <class E, class Op>
E pairs(E* part, Size parts) {
    for (; parts > 1; parts = (parts + 1) / 2) {
        for (Size k = 0; k < parts / 2; ++k) part[k] = Op::combine(part[2 * k], part[2 * k + 1]);
        if (parts & 1) part[parts / 2] = part[parts - 1];
    }
    return part[0];
}

// The lanes of a row of `count` elements, at most one to a lane, by halving.
template <class E, class Op>
NL_CLONES void halves(const E* x, Size count, Size width, E* to) {
    typedef typename VectorOf<E>::V V;
    typedef typename VectorOf<E>::Loose Loose;
    constexpr Size size = VectorOf<E>::count;
    E lanes[LANES / 2];
    const E* from = x;
    Size both = count - width / 2;  // Lanes of which the other half has one: what else there is, is combined with nothing.
    while (width > 1) {
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
    *to = *from;
}

// `count` elements.
template <class E, class Op>
void tree(const char* from, Size count, bool fast, E* to) {
    constexpr Size size = sizeof(E);
    if (!fast) return columns<E, Op>(from, size, count, 1, to);
    if (count > CHUNK) {
        E part[MOST_REDUCED / CHUNK];
        Size parts = 0;
        for (Size at = 0; at < count; at += CHUNK)
            tree<E, Op>(from + at * size, count - at < CHUNK ? count - at : CHUNK, true, &part[parts++]);
        *to = pairs<E, Op>(part, parts);
        return;
    }
    int width = 1;
    while (width < LANES && width < count) width *= 2;
    if (count <= LANES && count) return halves<E, Op>(reinterpret_cast<const E*>(from), count, width, to);
    alignas(VECTOR) E lanes[LANES];
    const Size lines = count / width, more = count - lines * width;
    if (more) columns<E, Op>(from, width * size, lines + 1, more, lanes);
    columns<E, Op>(from + more * size, width * size, lines, width - more, lanes + more);
    for (; width > 1; width /= 2)
        for (int l = 0; l < width / 2; ++l) lanes[l] = Op::combine(lanes[l], lanes[l + width / 2]);
    *to = lanes[0];
}

template <class E, class Op>
void reduce_row(const char* from, Size count, bool fast, char* to) {
    E result = {};
    if (count || !Op::empty_is_zero) tree<E, Op>(from, count, fast, &result);
    std::memcpy(to, &result, sizeof result);
}

template <class E, class Op>
void reduce_columns(const char* from, Size step, Size lines, Size width, char* to) {
    columns<E, Op>(from, step, lines, width, reinterpret_cast<E*>(to));
}

template <class E, class Op>
void reduce_abreast(char* given, Size count, Size width, char* to) {
    constexpr Size line = LANES * sizeof(E);
    Size half = 1;
    while (2 * half < count) half *= 2;
    for (; count > 1; count = half, half /= 2)
        for (Size l = 0; l < count - half; ++l) {
            char* at = given + l * line;
            run_of<E, Op>(reinterpret_cast<E*>(at), at, half * line, 2, width);
        }
    std::memcpy(to, given, width * sizeof(E));
}

template <class T>
T mean_of(T sum, Size count) { return T(double(sum) / double(count)); }
template <class T>
Complex<T> mean_of(Complex<T> sum, Size count) { return {mean_of(sum.re, count), mean_of(sum.im, count)}; }

template <class T>
void mean_row(const char* from, Size count, bool fast, char* to) {
    T result;
    tree<T, SumOf<T>>(from, count, fast, &result);
    result = mean_of(result, count);
    std::memcpy(to, &result, sizeof(T));
}

template <class T>
void mean_columns(const char* from, Size step, Size lines, Size width, char* to) {
    T* result = reinterpret_cast<T*>(to);
    columns<T, SumOf<T>>(from, step, lines, width, result);
    for (Size l = 0; l < width; ++l) result[l] = mean_of(result[l], lines);
}

template <class T>
void mean_abreast(char* lines, Size count, Size width, char* to) {
    reduce_abreast<T, SumOf<T>>(lines, count, width, to);
    T* result = reinterpret_cast<T*>(to);
    for (Size l = 0; l < width; ++l) result[l] = mean_of(result[l], count);
}

// Moments of columns of equally many elements of N numbers each: the mean, and squared deviations (distances) from it.
template <int N>
struct Moments {
    double n;
    double mean[N * LANES], m2[LANES];
};

// Of one run, in two passes: emit/include/moments.hpp has the same operations in the same order.
template <class T, int N>
NL_CLONES void moments_of_run(Moments<N>& to, const char* from, Size step, Size lines, Size width) {
    T mean[N * LANES], square[N * LANES], rest[N * LANES];
    const Size numbers = N * width;
    for (Size l = 0; l < numbers; ++l) mean[l] = square[l] = rest[l] = 0;
    for (Size i = 0; i < lines; ++i) {
        const T* x = reinterpret_cast<const T*>(from + i * step);
        for (Size l = 0; l < numbers; ++l) mean[l] += x[l];
    }
    const T count = T(lines);
    for (Size l = 0; l < numbers; ++l) mean[l] /= count;
    for (Size i = 0; i < lines; ++i) {
        const T* x = reinterpret_cast<const T*>(from + i * step);
        for (Size l = 0; l < numbers; ++l) {
            const T d = x[l] - mean[l];
            square[l] += d * d;
            rest[l] += d;
        }
    }
    to.n = double(lines);
    double m2[N * LANES];
    for (Size l = 0; l < numbers; ++l) {
        const double shift = double(rest[l]) / to.n;
        to.mean[l] = double(mean[l]) + shift;
        m2[l] = double(square[l]) - double(rest[l]) * shift;
    }
    for (Size l = 0; l < width; ++l) {
        if constexpr (N == 1) to.m2[l] = m2[l];
        else to.m2[l] = m2[2 * l] + m2[2 * l + 1];
    }
}

// The squared distance of two means, which is left in `d`.
template <int N>
NL_INLINE double distance(const double* a, const double* b, double* d) {
    d[0] = b[0] - a[0];
    if constexpr (N == 1) return d[0] * d[0];
    d[N - 1] = b[N - 1] - a[N - 1];
    return d[0] * d[0] + d[N - 1] * d[N - 1];
}

// Chan's merge with what comes before.
template <int N>
NL_CLONES void merge_moments(Moments<N>& later, const Moments<N>& earlier, Size width) {
    const double n = earlier.n + later.n, w = later.n / n, both = earlier.n * w;
    for (Size l = 0; l < width; ++l) {
        double d[N];
        const double square = distance<N>(earlier.mean + N * l, later.mean + N * l, d);
        later.m2[l] = earlier.m2[l] + later.m2[l] + square * both;
        for (int k = 0; k < N; ++k) later.mean[N * l + k] = earlier.mean[N * l + k] + d[k] * w;
    }
    later.n = n;
}

template <class T, int N>
void moments_of_columns(const char* from, Size step, Size lines, Size width, Moments<N>& to) {
    if (!lines) {
        to.n = 0;
        return;
    }
    if (lines <= RUN) return moments_of_run<T, N>(to, from, step, lines, width);
    Moments<N> level[LEVELS];
    Size runs = 0;
    for (; lines > 0; lines -= RUN, from += RUN * step, ++runs) {
        int k = 0;
        while (runs >> k & 1) ++k;
        moments_of_run<T, N>(level[k], from, step, lines < RUN ? lines : RUN, width);
        for (int j = 0; j < k; ++j) merge_moments(level[k], level[j], width);
    }
    int k = 0;
    while (!(runs >> k & 1)) ++k;
    for (int j = k + 1; runs >> j; ++j)
        if (runs >> j & 1) merge_moments(level[k], level[j], width);
    to.n = level[k].n;
    std::memcpy(to.mean, level[k].mean, N * width * sizeof(double));
    std::memcpy(to.m2, level[k].m2, width * sizeof(double));
}

template <int N>
struct Moment {
    double n, mean[N], m2;
};

// Moments of lanes, each of as many elements as it has.
template <int N>
struct Lanes {
    double n[LANES], mean[N][LANES], m2[LANES];
};

template <int N>
void take_lanes(Lanes<N>& to, Size begin, Size end, const Moments<N>& from) {
    for (Size l = begin; l < end; ++l) {
        to.n[l] = from.n;
        to.m2[l] = from.n == 0 ? 0 : from.m2[l - begin];
        for (int k = 0; k < N; ++k) to.mean[k][l] = from.n == 0 ? 0 : from.mean[N * (l - begin) + k];
    }
}

// Merge the upper half of lanes with the lower one.
template <int N>
NL_CLONES void merge_halves(Lanes<N>& x, Size half) {
    for (Size l = 0; l < half; ++l) {
        const double a = x.n[l], b = x.n[l + half], n = a + b, w = b / n, both = a * w;
        double d[N], mean[N];
        for (int k = 0; k < N; ++k) d[k] = x.mean[k][l + half] - x.mean[k][l];
        const double square = N == 1 ? d[0] * d[0] : d[0] * d[0] + d[N - 1] * d[N - 1];
        const double other = x.m2[l + half], own = x.m2[l], m2 = own + other + square * both;
        for (int k = 0; k < N; ++k) mean[k] = x.mean[k][l] + d[k] * w;
        const bool no_a = a == 0, no_b = b == 0;
        x.n[l] = n;
        x.m2[l] = no_a ? other : no_b ? own : m2;
        for (int k = 0; k < N; ++k) x.mean[k][l] = no_a ? x.mean[k][l + half] : no_b ? x.mean[k][l] : mean[k];
    }
}

template <int N>
Moment<N> merged(const Moment<N>& a, const Moment<N>& b) {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    double d[N];
    const double n = a.n + b.n, w = b.n / n, square = distance<N>(a.mean, b.mean, d);
    Moment<N> both = {n, {}, a.m2 + b.m2 + square * (a.n * w)};
    for (int k = 0; k < N; ++k) both.mean[k] = a.mean[k] + d[k] * w;
    return both;
}

template <class T, int N>
Moment<N> moment_of(const char* from, Size count, bool fast) {
    constexpr Size size = N * sizeof(T);
    Moments<N> first, rest;
    if (!fast) {
        moments_of_columns<T, N>(from, size, count, 1, first);
        Moment<N> one = {first.n, {}, first.m2[0]};
        for (int k = 0; k < N; ++k) one.mean[k] = first.mean[k];
        return one;
    }
    if (count > CHUNK) {
        Moment<N> part[MOST_REDUCED / CHUNK];
        Size parts = 0;
        for (Size at = 0; at < count; at += CHUNK)
            part[parts++] = moment_of<T, N>(from + at * size, count - at < CHUNK ? count - at : CHUNK, true);
        for (; parts > 1; parts = (parts + 1) / 2) {
            for (Size k = 0; k < parts / 2; ++k) part[k] = merged(part[2 * k], part[2 * k + 1]);
            if (parts & 1) part[parts / 2] = part[parts - 1];
        }
        return part[0];
    }
    int width = 1;
    while (width < LANES && width < count) width *= 2;
    const Size lines = count / width, more = count - lines * width, step = width * size;
    moments_of_columns<T, N>(from, step, lines + 1, more, first);
    moments_of_columns<T, N>(from + more * size, step, lines, width - more, rest);
    Lanes<N> lanes;
    take_lanes(lanes, 0, more, first);
    take_lanes(lanes, more, width, rest);
    for (; width > 1; width /= 2) merge_halves(lanes, width / 2);
    Moment<N> whole = {lanes.n[0], {}, lanes.m2[0]};
    for (int k = 0; k < N; ++k) whole.mean[k] = lanes.mean[k][0];
    return whole;
}

template <class T, int N>
void variance_row(const char* from, Size count, bool fast, char* to) {
    const T result = T(moment_of<T, N>(from, count, fast).m2 / double(count));
    std::memcpy(to, &result, sizeof(T));
}

template <class T, int N>
void variance_columns(const char* from, Size step, Size lines, Size width, char* to) {
    Moments<N> found;
    moments_of_columns<T, N>(from, step, lines, width, found);
    T* result = reinterpret_cast<T*>(to);
    for (Size l = 0; l < width; ++l) result[l] = T(found.m2[l] / double(lines));
}

template <class T, int N>
void deviations_row(const char* from, Size count, bool fast, char* to) {
    const double result = moment_of<T, N>(from, count, fast).m2;
    std::memcpy(to, &result, sizeof result);
}

template <class T, int N>
void deviations_columns(const char* from, Size step, Size lines, Size width, char* to) {
    Moments<N> found;
    moments_of_columns<T, N>(from, step, lines, width, found);
    std::memcpy(to, found.m2, width * sizeof(double));
}

template <class T>
NL_INLINE bool equal(T a, T b) { return a == b; }
template <class T>
NL_INLINE bool equal(Complex<T> a, Complex<T> b) { return (a.re == b.re) & (a.im == b.im); }

// The first of `count` elements that is equal to a number, or if that is NaN, is NaN; one of them is.
template <class E>
NL_CLONES Size first_of(const E* x, Size count, E value) {
    typedef typename VectorOf<E>::V V;
    typedef typename VectorOf<E>::Loose Loose;
    constexpr Size size = VectorOf<E>::count, block = 4 * size;
    E repeated[size];
    for (E& one : repeated) one = value;
    const V all = *reinterpret_cast<const Loose*>(repeated);
    const bool is_nan = !equal(value, value);
    Size at = 0;
    for (; at + block <= count; at += block) {
        const Loose* part = reinterpret_cast<const Loose*>(x + at);
        auto found = V(part[0]) != V(part[0]);
        if (is_nan) {
            for (int k = 1; k < 4; ++k) found |= V(part[k]) != V(part[k]);
        } else {
            found = all != all;
            for (int k = 0; k < 4; ++k) {
                auto same = V(part[k]) == all;
                if constexpr (sizeof(E) > sizeof(typename NumberOf<E>::type)) same &= turned(same);
                found |= same;
            }
        }
        uint64_t words[4], any = 0;
        std::memcpy(words, &found, VECTOR);
        for (uint64_t word : words) any |= word;
        if (any) break;
    }
    while (!(equal(x[at], value) || (is_nan && !equal(x[at], x[at])))) ++at;
    return at;
}

// The first extreme, or the first NaN.
template <class T, class Op>
void position_row(const char* from, Size count, bool, char* to) {
    const T* x = reinterpret_cast<const T*>(from);
    T best = x[0];
    tree<T, Op>(from, count, count > RUN, &best);
    const int64_t at = first_of(x, count, best);
    std::memcpy(to, &at, sizeof at);
}

template <class E>
NL_CLONES void places_of(const char* from, Size step, Size lines, Size width, const E* best, int64_t* at) {
    for (Size l = 0; l < width; ++l) at[l] = 0;
    for (Size i = lines - 1; i >= 0; --i) {
        const E* x = reinterpret_cast<const E*>(from + i * step);
        for (Size l = 0; l < width; ++l) {
            const bool found = equal(x[l], best[l]) | (!equal(x[l], x[l]) & !equal(best[l], best[l]));
            at[l] = found ? i : at[l];
        }
    }
}

template <class E, class Op>
void position_columns(const char* from, Size step, Size lines, Size width, char* to) {
    alignas(VECTOR) E best[LANES];
    columns<E, Op>(from, step, lines, width, best);
    places_of<E>(from, step, lines, width, best, reinterpret_cast<int64_t*>(to));
}

// The first of a line of bools that is true, or false: `count` if none is.
template <bool TRUE>
Size first_bool(const char* from, Size count) {
    if (!TRUE) {
        const void* found = count ? std::memchr(from, 0, count) : nullptr;
        return found ? static_cast<const char*>(found) - from : count;
    }
    Size at = 0;
    for (; at + 64 <= count; at += 64) {
        uint64_t words[8], any = 0;
        std::memcpy(words, from + at, 64);
        for (uint64_t word : words) any |= word;
        if (any) break;
    }
    for (; at + 8 <= count; at += 8) {
        uint64_t word;
        std::memcpy(&word, from + at, 8);
        if (word) break;
    }
    while (at < count && !from[at]) ++at;
    return at;
}

template <bool ALL>
void truth_row(const char* from, Size count, bool, char* to) { *to = (first_bool<!ALL>(from, count) < count) != ALL; }

template <bool TRUE>
void first_bool_row(const char* from, Size count, bool, char* to) {
    const Size found = first_bool<TRUE>(from, count);
    const int64_t at = found < count ? found : 0;
    std::memcpy(to, &at, sizeof at);
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

template <class E, class Op>
const Reduction* by_tree() {
    static constexpr Reduction made = {reduce_row<E, Op>, reduce_columns<E, Op>, false, reduce_abreast<E, Op>};
    return &made;
}
template <class T, class Op>
const Reduction* by_position() {
    static constexpr Reduction made = {position_row<T, Op>, position_columns<T, Op>, true};
    return &made;
}
template <class T>
const Reduction* by_mean() {
    static constexpr Reduction made = {mean_row<T>, mean_columns<T>, false, mean_abreast<T>};
    return &made;
}
template <bool ALL, class Op>
const Reduction* by_truth() {
    static constexpr Reduction made = {truth_row<ALL>, truth_columns<Op>, false};
    return &made;
}

template <bool TRUE>
const Reduction* by_first_bool() {
    static constexpr Reduction made = {first_bool_row<TRUE>, nullptr, true};
    return &made;
}

template <class E>
constexpr int parts_of = sizeof(E) / sizeof(typename NumberOf<E>::type);
template <class E>
const Reduction* by_variance() {
    using T = typename NumberOf<E>::type;
    static constexpr Reduction made = {variance_row<T, parts_of<E>>, variance_columns<T, parts_of<E>>, false};
    return &made;
}
template <class E>
const Reduction* by_deviations() {
    using T = typename NumberOf<E>::type;
    static constexpr Reduction made = {deviations_row<T, parts_of<E>>, deviations_columns<T, parts_of<E>>, false};
    return &made;
}
inline const Reduction* by_count() {
    static constexpr Reduction made = {count_row, nullptr, false};
    return &made;
}

template <class E>
const Reduction* reduction_of(int which) {
    switch (which) {
        case SUM: return by_tree<E, SumOf<E>>();
        case PRODUCT: return by_tree<E, ProductOf<E>>();
        case MOST: return by_tree<E, MaximumOf<E>>();
        case LEAST: return by_tree<E, MinimumOf<E>>();
        case FIRST_MOST: return by_position<E, MaximumOf<E>>();
        case FIRST_LEAST: return by_position<E, MinimumOf<E>>();
    }
    if constexpr (!std::is_integral_v<E>) {
        switch (which) {
            case MEAN: return by_mean<E>();
            case VARIANCE: return by_variance<E>();
            case DEVIATIONS: return by_deviations<E>();
        }
    }
    return nullptr;
}

// By code of the dtype that is reduced; null where there is none.
inline const Reduction* reduction(int which, int code) {
    if (code == 0) {
        switch (which) {
            case ANY: case MOST: return by_truth<false, MaximumOf<uint8_t>>();
            case ALL: case LEAST: return by_truth<true, MinimumOf<uint8_t>>();
            case FIRST_MOST: return by_first_bool<true>();
            case FIRST_LEAST: return by_first_bool<false>();
            case COUNT: return by_count();
        }
        return nullptr;
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
        case 12: return reduction_of<Complex<float>>(which);
        case 13: return reduction_of<Complex<double>>(which);
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
    if (!there && count) simplify(row);
    char* args[2] = {start[0], start[1]};
    Size at[MOST_AXES] = {0};
    const int last = kept - 1;
    if (fast && by->abreast && count > 1 && count <= RUN && kept && s.shape[last] >= RUN && s.strides[1][last] == outsize &&
        (there || row.rank == 1)) {
        alignas(VECTOR) char lines[RUN * LANES * MOST_ITEMSIZE];
        StridedSpace turn;
        turn.args = turn.rank = 2;
        turn.shape[0] = count;
        turn.strides[0][0] = there ? itemsize : row.strides[0][0];
        turn.strides[0][1] = s.strides[0][last];
        turn.strides[1][0] = LANES * itemsize;
        turn.strides[1][1] = itemsize;
        do {
            for (Size l = 0; l < s.shape[last]; l += LANES) {
                char* ends[2] = {args[0] + l * s.strides[0][last], lines};
                turn.shape[1] = s.shape[last] - l < LANES ? s.shape[last] - l : LANES;
                copy_all(itemsize, ends, turn);
                by->abreast(lines, count, turn.shape[1], args[1] + l * outsize);
            }
        } while (next_position(s, last, at, args));
        return;
    }
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
            copy_all(itemsize, ends, row);
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
template <class T, bool A_VARIES, bool B_VARIES, int MANY>
NL_INLINE void vectors_of_products(T* to, const char* a, Size a_step, const char* b, Size b_step, Size lines, Size l) {
    typedef typename VectorOf<T>::V V;
    typedef typename VectorOf<T>::Loose Loose;
    V acc[MANY];
    for (Size i = 0; i < lines; ++i) {
        const char *x = a + i * a_step, *y = b + i * b_step;
        for (int k = 0; k < MANY; ++k) {
            const Size at = l * sizeof(T) + k * VECTOR;
            const V one = A_VARIES ? V(*reinterpret_cast<const Loose*>(x + at)) : *reinterpret_cast<const T*>(x) - V{};
            const V other = B_VARIES ? V(*reinterpret_cast<const Loose*>(y + at)) : *reinterpret_cast<const T*>(y) - V{};
            acc[k] = i ? acc[k] + one * other : one * other;
        }
    }
    for (int k = 0; k < MANY; ++k) reinterpret_cast<Loose*>(to + l)[k] = acc[k];
}

template <class T, bool A_VARIES, bool B_VARIES>
NL_CLONES void run_of_products(T* to, const char* a, Size a_step, const char* b, Size b_step, Size lines, Size width) {
    constexpr Size size = VectorOf<T>::count;
    Size l = 0;
    for (; l + 4 * size <= width; l += 4 * size)
        vectors_of_products<T, A_VARIES, B_VARIES, 4>(to, a, a_step, b, b_step, lines, l);
    for (; l + size <= width; l += size)
        vectors_of_products<T, A_VARIES, B_VARIES, 1>(to, a, a_step, b, b_step, lines, l);
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

// The lanes of a row of products, more than half of WIDTH: in registers from the first to the last.
template <class T, int WIDTH>
NL_INLINE T halves_of_products(const T* x, const T* y, Size count) {
    typedef typename VectorOf<T>::V V;
    typedef typename VectorOf<T>::Loose Loose;
    constexpr int size = VectorOf<T>::count, half = WIDTH / 2, many = half / size;
    const Loose *xs = reinterpret_cast<const Loose*>(x), *ys = reinterpret_cast<const Loose*>(y);
    const Size both = count - half, whole = both / size;
    V lanes[many];
    for (int k = 0; k < many; ++k) {
        lanes[k] = V(xs[k]) * V(ys[k]);
        if (k < whole) lanes[k] = lanes[k] + V(xs[many + k]) * V(ys[many + k]);
    }
    if (both % size) {  // Lanes of which some have another one: -0 is what nothing adds.
        const Size k = whole;
        V more;
        for (int l = 0; l < size; ++l) more[l] = T(-0.0);
        for (Size l = 0; l < both % size; ++l) more[l] = x[half + k * size + l] * y[half + k * size + l];
        for (int j = 0; j < many; ++j) if (j == k) lanes[j] = lanes[j] + more;
    }
    for (int left = many / 2; left; left /= 2)
        for (int k = 0; k < left; ++k) lanes[k] = lanes[k] + lanes[k + left];
    T last[size];
    for (int l = 0; l < size; ++l) last[l] = lanes[0][l];
    for (int left = size / 2; left; left /= 2)
        for (int l = 0; l < left; ++l) last[l] = last[l] + last[l + left];
    return last[0];
}

// Rows of products of `count` elements each, one after another, `a_step` and `b_step` bytes apart.
template <class T, int WIDTH>
NL_CLONES void rows_of_products(const char* a, Size a_step, const char* b, Size b_step, Size count, Size rows, char* to,
                                Size to_step) {
    for (Size row = 0; row < rows; ++row)
        *reinterpret_cast<T*>(to + row * to_step) = halves_of_products<T, WIDTH>(
            reinterpret_cast<const T*>(a + row * a_step), reinterpret_cast<const T*>(b + row * b_step), count);
}

template <class T>
using RowsOfProducts = void (*)(const char*, Size, const char*, Size, Size, Size, char*, Size);

// By the number of lanes; null where rows are too short for vectors, or take several lines of lanes.
template <class T>
RowsOfProducts<T> rows_by_lanes(Size count) {
    return count > LANES || count < 17 ? nullptr
           : count > 64  ? rows_of_products<T, 128>
           : count > 32  ? rows_of_products<T, 64>
                         : rows_of_products<T, 32>;
}

// The sum of a row of products that takes several lines of lanes.
template <class T>
T long_row_of_products(const char* a, const char* b, Size count) {
    constexpr Size step = LANES * sizeof(T);
    const Size lines = count / LANES, more = count - lines * LANES;
    alignas(VECTOR) T lanes[LANES];
    const auto part = [=](Size first, Size many, Size width, T* to) {
        by_lines<T, SumOf<T>>(
            [=](T* run, Size line, Size some) {
                const Size from = first * sizeof(T) + line * step;
                run_of_products<T, true, true>(run, a + from, step, b + from, step, some, width);
            },
            many, width, to);
    };
    if (more) part(0, lines + 1, more, lanes);
    part(more, lines, LANES - more, lanes + more);
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; ++l) lanes[l] = lanes[l] + lanes[l + width];
    return lanes[0];
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
    const bool dense = fast && a_step == size && b_step == size;
    const auto rows = dense && last >= 0 ? rows_by_lanes<T>(lines) : nullptr;
    Size at[MOST_AXES] = {0};
    T scratch[MOST_DOTTED_ROW];
    if (rows) {
        do rows(args[0], a_along, args[1], b_along, lines, s.shape[last], args[2], s.strides[2][last]);
        while (next_position(s, last, at, args));
        return;
    }
    do {
        if (dense && lines > LANES) {
            *reinterpret_cast<T*>(args[2]) = long_row_of_products<T>(args[0], args[1], lines);
        } else if (wide) {
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
            tree<T, SumOf<T>>(reinterpret_cast<const char*>(scratch), lines, fast, reinterpret_cast<T*>(args[2]));
        }
    } while (next_position(s, outer, at, args));
}

}  // namespace numloom
