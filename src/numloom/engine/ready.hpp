// Ready-made loops over memory with strides, for small work that runs without a plan: see unplanned.py.
// Whatever is computed here has the bits of the kernels: sums follow their tree (ops/tree.py says what that is).
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

namespace numloom {

using Size = std::ptrdiff_t;
// As NumPy's ufuncs have them: addresses of each argument's and the result's first element, a count, bytes to the next.
typedef void (*Loop)(char** args, const Size* count, const Size* steps, void* data);

constexpr int MOST_AXES = 64;
constexpr int MOST_ARGS = 6;

// What a loop goes over: extents, and for each argument (the result is the last one) bytes from one to the next.
struct Space {
    int rank = 0;
    int args = 0;
    Size shape[MOST_AXES];
    Size steps[MOST_ARGS][MOST_AXES];
};

inline void take_axis(Space& to, int at, const Space& from, int axis) {
    to.shape[at] = from.shape[axis];
    for (int k = 0; k < from.args; ++k) to.steps[k][at] = from.steps[k][axis];
}

// No axes of one element, those of the result in the order of its memory, and one axis where two are as good as one.
inline void simplify(Space& s) {
    int rank = 0;
    const int last = s.args - 1;
    for (int axis = 0; axis < s.rank; ++axis) {
        if (s.shape[axis] == 1) continue;
        if (rank != axis) take_axis(s, rank, s, axis);
        ++rank;
    }
    for (int axis = 1; axis < rank; ++axis)
        for (int at = axis; at && std::llabs(s.steps[last][at - 1]) < std::llabs(s.steps[last][at]); --at) {
            std::swap(s.shape[at], s.shape[at - 1]);
            for (int k = 0; k < s.args; ++k) std::swap(s.steps[k][at], s.steps[k][at - 1]);
        }
    int kept = 0;
    for (int axis = 1; axis < rank; ++axis) {
        bool one = true;
        for (int k = 0; k < s.args; ++k) one &= s.steps[k][kept] == s.steps[k][axis] * s.shape[axis];
        if (one) {
            const Size outer = s.shape[kept];
            take_axis(s, kept, s, axis);
            s.shape[kept] *= outer;
        } else if (++kept != axis) {
            take_axis(s, kept, s, axis);
        }
    }
    s.rank = rank ? kept + 1 : 0;
}

// Run a loop over a space whose shape has no zero.
inline void go(Loop loop, void* data, char* const* start, const Space& s) {
    char* args[MOST_ARGS];
    Size steps[MOST_ARGS], at[MOST_AXES];
    for (int k = 0; k < s.args; ++k) args[k] = start[k], steps[k] = 0;
    Size one = 1;
    if (s.rank == 0) return loop(args, &one, steps, data);
    const int inner = s.rank - 1;
    for (int k = 0; k < s.args; ++k) steps[k] = s.steps[k][inner];
    for (int axis = 0; axis < inner; ++axis) at[axis] = 0;
    for (;;) {
        char* own[MOST_ARGS];
        for (int k = 0; k < s.args; ++k) own[k] = args[k];
        loop(own, &s.shape[inner], steps, data);
        int axis = inner - 1;
        for (; axis >= 0; --axis) {
            if (++at[axis] < s.shape[axis]) {
                for (int k = 0; k < s.args; ++k) args[k] += s.steps[k][axis];
                break;
            }
            at[axis] = 0;
            for (int k = 0; k < s.args; ++k) args[k] -= s.steps[k][axis] * (s.shape[axis] - 1);
        }
        if (axis < 0) return;
    }
}

// ---------------------------------------------------------------- copies and choices

template <int N>
void copy_loop(char** args, const Size* count, const Size* steps, void*) {
    const char* from = args[0];
    char* to = args[1];
    if (steps[0] == N && steps[1] == N) {
        std::memcpy(to, from, *count * N);
        return;
    }
    for (Size i = 0; i < *count; ++i, from += steps[0], to += steps[1]) std::memcpy(to, from, N);
}

template <int N>
void choice_loop(char** args, const Size* count, const Size* steps, void*) {
    for (Size i = 0; i < *count; ++i)
        std::memcpy(args[3] + i * steps[3],
                    *(args[0] + i * steps[0]) ? args[1] + i * steps[1] : args[2] + i * steps[2], N);
}

inline Loop copy_of(int itemsize) {
    switch (itemsize) {
        case 1: return copy_loop<1>;
        case 2: return copy_loop<2>;
        case 4: return copy_loop<4>;
        case 8: return copy_loop<8>;
        case 16: return copy_loop<16>;
    }
    return nullptr;
}

inline Loop choice_of(int itemsize) {
    switch (itemsize) {
        case 1: return choice_loop<1>;
        case 2: return choice_loop<2>;
        case 4: return choice_loop<4>;
        case 8: return choice_loop<8>;
        case 16: return choice_loop<16>;
    }
    return nullptr;
}

// ---------------------------------------------------------------- casts

struct Bool {
    uint8_t v;
};
template <class T>
struct Complex {
    T re, im;
};
template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<Complex<T>> : std::true_type {};

template <class To, class From>
inline To cast_one(From x) {
    if constexpr (std::is_same_v<To, Bool>) {
        if constexpr (std::is_same_v<From, Bool>) return x;
        else if constexpr (IsComplex<From>::value) return Bool{uint8_t(x.re != 0 || x.im != 0)};
        else return Bool{uint8_t(x != 0)};
    } else if constexpr (std::is_same_v<From, Bool>) {
        return cast_one<To, uint8_t>(x.v);
    } else if constexpr (IsComplex<To>::value) {
        using T = decltype(To::re);
        if constexpr (IsComplex<From>::value) return To{T(x.re), T(x.im)};
        else return To{T(x), T(0)};
    } else if constexpr (IsComplex<From>::value) {
        return To(x.re);
    } else {
        return To(x);
    }
}

template <class To, class From>
void cast_loop(char** args, const Size* count, const Size* steps, void*) {
    for (Size i = 0; i < *count; ++i) {
        From x;
        std::memcpy(&x, args[0] + i * steps[0], sizeof(From));
        const To y = cast_one<To, From>(x);
        std::memcpy(args[1] + i * steps[1], &y, sizeof(To));
    }
}

template <class From>
Loop cast_from(int to) {
    constexpr bool whole = std::is_integral_v<From> || std::is_same_v<From, Bool>;
    switch (to) {
        case 0: return cast_loop<Bool, From>;
        case 10: return cast_loop<float, From>;
        case 11: return cast_loop<double, From>;
        case 12: return cast_loop<Complex<float>, From>;
        case 13: return cast_loop<Complex<double>, From>;
    }
    if constexpr (whole) {  // Of floats the package has loops, which say what is out of range.
        switch (to) {
            case 1: return cast_loop<int8_t, From>;
            case 2: return cast_loop<uint8_t, From>;
            case 3: return cast_loop<int16_t, From>;
            case 4: return cast_loop<uint16_t, From>;
            case 5: return cast_loop<int32_t, From>;
            case 6: return cast_loop<uint32_t, From>;
            case 7: return cast_loop<int64_t, From>;
            case 8: return cast_loop<uint64_t, From>;
        }
    }
    return nullptr;
}

// By codes of dtypes (base/dtypes.py); null where there is none.
inline Loop cast_between(int from, int to) {
    switch (from) {
        case 0: return cast_from<Bool>(to);
        case 1: return cast_from<int8_t>(to);
        case 2: return cast_from<uint8_t>(to);
        case 3: return cast_from<int16_t>(to);
        case 4: return cast_from<uint16_t>(to);
        case 5: return cast_from<int32_t>(to);
        case 6: return cast_from<uint32_t>(to);
        case 7: return cast_from<int64_t>(to);
        case 8: return cast_from<uint64_t>(to);
        case 10: return cast_from<float>(to);
        case 11: return cast_from<double>(to);
        case 12: return cast_from<Complex<float>>(to);
        case 13: return cast_from<Complex<double>>(to);
    }
    return nullptr;
}

// ---------------------------------------------------------------- reductions

// Reduces `count` elements that lie one after the other: by 128 lanes (`fast`), or by one.
typedef void (*Reduce)(const char* from, Size count, bool fast, char* to);

constexpr int LANES = 128;
constexpr int RUN = 16;
constexpr Size CHUNK = 16384;
constexpr Size MOST_REDUCED = 1 << 22;  // Elements of a row whose chunks are so long.

template <class T>
struct Sum {
    static T identity() { return std::is_floating_point_v<T> ? T(-0.0) : T(0); }
    static T combine(T a, T b) { return T(a + b); }
    static constexpr bool empty_is_zero = true;
};
template <class T>
struct Sum<Complex<T>> {
    static Complex<T> identity() { return {T(-0.0), T(-0.0)}; }
    static Complex<T> combine(Complex<T> a, Complex<T> b) { return {a.re + b.re, a.im + b.im}; }
    static constexpr bool empty_is_zero = true;
};
template <class T>
struct Product {
    static T identity() { return T(1); }
    static T combine(T a, T b) { return T(a * b); }
    static constexpr bool empty_is_zero = false;
};
template <class T>
struct Most {
    static T identity() {
        if constexpr (std::is_floating_point_v<T>) return -INFINITY;
        else return std::is_signed_v<T> ? T(uint64_t(1) << (8 * sizeof(T) - 1)) : T(0);
    }
    static T combine(T a, T b) { return (a > b) | (a != a) ? a : b; }
    static constexpr bool empty_is_zero = false;
};
template <class T>
struct Least {
    static T identity() {
        if constexpr (std::is_floating_point_v<T>) return INFINITY;
        else return std::is_signed_v<T> ? T((uint64_t(1) << (8 * sizeof(T) - 1)) - 1) : T(~T(0));
    }
    static T combine(T a, T b) { return (a < b) | (a != a) ? a : b; }
    static constexpr bool empty_is_zero = false;
};

// Neighbours level by level.
template <class T, class Op>
T pairs(T* part, Size parts) {
    for (; parts > 1; parts = (parts + 1) / 2) {
        for (Size k = 0; k < parts / 2; ++k) part[k] = Op::combine(part[2 * k], part[2 * k + 1]);
        if (parts & 1) part[parts / 2] = part[parts - 1];
    }
    return part[0];
}

// Every `step`-th of `count` elements: runs of 16, then neighbours level by level.
template <class T, class Op>
T runs(const T* x, Size step, Size count) {
    if (count == 0) return Op::identity();
    T few[64];
    std::vector<T> many;
    Size parts = (count + RUN - 1) / RUN;
    T* part = few;
    if (parts > 64) {
        many.resize(parts);
        part = many.data();
    }
    for (Size p = 0; p < parts; ++p) {
        const Size end = count < (p + 1) * RUN ? count : (p + 1) * RUN;
        T acc = x[p * RUN * step];
        for (Size i = p * RUN + 1; i < end; ++i) acc = Op::combine(acc, x[i * step]);
        part[p] = acc;
    }
    return pairs<T, Op>(part, parts);
}

template <class T, class Op>
T tree(const T* x, Size count, bool fast) {
    if (!fast) return runs<T, Op>(x, 1, count);
    if (count > CHUNK) {
        T part[MOST_REDUCED / CHUNK];
        Size parts = 0;
        for (Size at = 0; at < count; at += CHUNK)
            part[parts++] = tree<T, Op>(x + at, count - at < CHUNK ? count - at : CHUNK, true);
        return pairs<T, Op>(part, parts);
    }
    int width = 1;
    while (width < LANES && width < count) width *= 2;
    T lanes[LANES];
    const Size lines = count / width;
    const int more = int(count - lines * width);
    if (lines && lines + (more > 0) <= RUN) {
        for (int l = 0; l < width; ++l) lanes[l] = x[l];
        for (Size i = 1; i < lines; ++i)
            for (int l = 0; l < width; ++l) lanes[l] = Op::combine(lanes[l], x[i * width + l]);
        for (int l = 0; l < more; ++l) lanes[l] = Op::combine(lanes[l], x[lines * width + l]);
    } else {
        for (int l = 0; l < width; ++l) lanes[l] = runs<T, Op>(x + l, width, lines + (l < more));
    }
    for (; width > 1; width /= 2)
        for (int l = 0; l < width / 2; ++l) lanes[l] = Op::combine(lanes[l], lanes[l + width / 2]);
    return lanes[0];
}

template <class T, class Op>
void reduce_by(const char* from, Size count, bool fast, char* to) {
    T result = tree<T, Op>(reinterpret_cast<const T*>(from), count, fast);
    if (Op::empty_is_zero && !count) result = T{};
    std::memcpy(to, &result, sizeof(T));
}

template <class T>
void mean_by(const char* from, Size count, bool fast, char* to) {
    const T result = T(double(tree<T, Sum<T>>(reinterpret_cast<const T*>(from), count, fast)) / double(count));
    std::memcpy(to, &result, sizeof(T));
}

// The first extreme, or the first NaN.
template <class T, bool MOST>
void position_by(const char* from, Size count, bool, char* to) {
    const T* x = reinterpret_cast<const T*>(from);
    int64_t best = 0;
    for (Size i = 0; i < count; ++i) {
        if (x[i] != x[i]) {
            best = i;
            break;
        }
        if (MOST ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    std::memcpy(to, &best, sizeof best);
}

template <bool ALL>
void truth_by(const char* from, Size count, bool, char* to) {
    bool found = ALL;
    for (Size i = 0; i < count; ++i)
        if (ALL ? !from[i] : from[i]) {
            found = !ALL;
            break;
        }
    *to = found;
}

enum Reducer { NO_REDUCER, SUM, MEAN, PRODUCT, MOST, LEAST, FIRST_MOST, FIRST_LEAST, ANY, ALL };

template <class T>
Reduce reducer_of(int which) {
    switch (which) {
        case SUM: return reduce_by<T, Sum<T>>;
        case PRODUCT: return reduce_by<T, Product<T>>;
        case MOST: return reduce_by<T, Most<T>>;
        case LEAST: return reduce_by<T, Least<T>>;
        case FIRST_MOST: return position_by<T, true>;
        case FIRST_LEAST: return position_by<T, false>;
        case MEAN:
            if constexpr (std::is_floating_point_v<T>) return mean_by<T>;
    }
    return nullptr;
}

// By code of the dtype that is reduced; null where there is none.
inline Reduce reducer(int which, int code) {
    if (code == 0) {
        switch (which) {
            case ANY: return truth_by<false>;
            case ALL: return truth_by<true>;
            case MOST: return reduce_by<uint8_t, Most<uint8_t>>;
            case LEAST: return reduce_by<uint8_t, Least<uint8_t>>;
            case FIRST_MOST: return position_by<uint8_t, true>;
            case FIRST_LEAST: return position_by<uint8_t, false>;
        }
        return nullptr;
    }
    switch (code) {
        case 1: return reducer_of<int8_t>(which);
        case 2: return reducer_of<uint8_t>(which);
        case 3: return reducer_of<int16_t>(which);
        case 4: return reducer_of<uint16_t>(which);
        case 5: return reducer_of<int32_t>(which);
        case 6: return reducer_of<uint32_t>(which);
        case 7: return reducer_of<int64_t>(which);
        case 8: return reducer_of<uint64_t>(which);
        case 10: return reducer_of<float>(which);
        case 11: return reducer_of<double>(which);
        case 12: return which == SUM ? reduce_by<Complex<float>, Sum<Complex<float>>> : nullptr;
        case 13: return which == SUM ? reduce_by<Complex<double>, Sum<Complex<double>>> : nullptr;
    }
    return nullptr;
}

// Reduce the axes behind the first `kept` ones of a space: argument 0 is reduced, the last one is the result.
// `room` holds one row, which is put there where it does not lie in one piece (or not `aligned`).
inline void reduce_rows(Reduce reduce, bool fast, bool aligned, char* const* start, const Space& s, int kept, int itemsize,
                        Size count, char* room) {
    Space row;
    row.args = 2;
    row.rank = s.rank - kept;
    Size step = itemsize;
    bool there = aligned;
    for (int axis = row.rank - 1; axis >= 0; --axis) {
        row.shape[axis] = s.shape[kept + axis];
        row.steps[0][axis] = s.steps[0][kept + axis];
        row.steps[1][axis] = step;
        there &= row.shape[axis] == 1 || row.steps[0][axis] == step;
        step *= row.shape[axis];
    }
    const Loop copy = copy_of(itemsize);
    if (!there && count) simplify(row);
    char *from = start[0], *to = start[1];
    Size at[MOST_AXES] = {0};
    for (;;) {
        if (there || !count) {
            reduce(from, count, fast, to);
        } else {
            char* ends[2] = {from, room};
            go(copy, nullptr, ends, row);
            reduce(room, count, fast, to);
        }
        int axis = kept - 1;
        for (; axis >= 0; --axis) {
            if (++at[axis] < s.shape[axis]) {
                from += s.steps[0][axis];
                to += s.steps[1][axis];
                break;
            }
            at[axis] = 0;
            from -= s.steps[0][axis] * (s.shape[axis] - 1);
            to -= s.steps[1][axis] * (s.shape[axis] - 1);
        }
        if (axis < 0) return;
    }
}

// ---------------------------------------------------------------- reads at indices

inline int64_t index_at(const char* at, int code) {
    switch (code) {
        case 1: return *reinterpret_cast<const int8_t*>(at);
        case 2: return *reinterpret_cast<const uint8_t*>(at);
        case 3: return *reinterpret_cast<const int16_t*>(at);
        case 4: return *reinterpret_cast<const uint16_t*>(at);
        case 5: return *reinterpret_cast<const int32_t*>(at);
        case 6: return *reinterpret_cast<const uint32_t*>(at);
        case 7: return *reinterpret_cast<const int64_t*>(at);
    }
    const uint64_t large = *reinterpret_cast<const uint64_t*>(at);
    return large > INT64_MAX ? INT64_MAX : int64_t(large);
}

// Read parts of memory at indices: `indexed` counts over the index arrays (its last argument is the result), `part`
// over one part. False where an index is out of bounds.
inline bool read_at(const char* from, const Space& indexed, char* const* start, const int* codes, const Size* extents,
                    const Size* steps, const Space& part, int itemsize) {
    const int indices = indexed.args - 1;
    const Loop copy = copy_of(itemsize);
    char* args[MOST_ARGS];
    for (int k = 0; k <= indices; ++k) args[k] = start[k];
    Size at[MOST_AXES] = {0};
    for (;;) {
        Size offset = 0;
        for (int k = 0; k < indices; ++k) {
            int64_t index = index_at(args[k], codes[k]);
            if (index < 0) index += extents[k];
            if (index < 0 || index >= extents[k]) return false;
            offset += index * steps[k];
        }
        char* ends[2] = {const_cast<char*>(from) + offset, args[indices]};
        go(copy, nullptr, ends, part);
        int axis = indexed.rank - 1;
        for (; axis >= 0; --axis) {
            if (++at[axis] < indexed.shape[axis]) {
                for (int k = 0; k <= indices; ++k) args[k] += indexed.steps[k][axis];
                break;
            }
            at[axis] = 0;
            for (int k = 0; k <= indices; ++k) args[k] -= indexed.steps[k][axis] * (indexed.shape[axis] - 1);
        }
        if (axis < 0) return true;
    }
}

}  // namespace numloom
