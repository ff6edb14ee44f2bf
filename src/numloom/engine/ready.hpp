// Ready-made loops over memory with strides, for small work that runs without a plan: see unplanned.py.
// Whatever is computed here has the bits of the kernels: sums follow their tree (ops/reduction_tree.py says what that is).
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

// The wider vectors of newer processors, chosen when the module is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define NL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define NL_CLONES
#endif
#define NL_INLINE inline __attribute__((always_inline))

namespace numloom {

using Size = std::ptrdiff_t;
// As NumPy's ufuncs have them: addresses of each argument's and the result's first element, a count, bytes to the next.
typedef void (*Loop)(char** args, const Size* count, const Size* steps, void* data);

constexpr int MOST_AXES = 64;
constexpr int MOST_ARGS = 6;

// What a loop goes over: a shape, and strides in bytes for each argument (the result is the last one).
struct StridedSpace {
    int rank = 0;
    int args = 0;
    Size shape[MOST_AXES];
    Size strides[MOST_ARGS][MOST_AXES];
};

inline void take_axis(StridedSpace& to, int at, const StridedSpace& from, int axis) {
    to.shape[at] = from.shape[axis];
    for (int k = 0; k < from.args; ++k) to.strides[k][at] = from.strides[k][axis];
}

// No axes of one element, those of the result in the order of its memory, and one axis where two are as good as one.
inline void simplify(StridedSpace& s) {
    int rank = 0;
    const int last = s.args - 1;
    for (int axis = 0; axis < s.rank; ++axis) {
        if (s.shape[axis] == 1) continue;
        if (rank != axis) take_axis(s, rank, s, axis);
        ++rank;
    }
    for (int axis = 1; axis < rank; ++axis)
        for (int at = axis; at && std::llabs(s.strides[last][at - 1]) < std::llabs(s.strides[last][at]); --at) {
            std::swap(s.shape[at], s.shape[at - 1]);
            for (int k = 0; k < s.args; ++k) std::swap(s.strides[k][at], s.strides[k][at - 1]);
        }
    int kept = 0;
    for (int axis = 1; axis < rank; ++axis) {
        bool one = true;
        for (int k = 0; k < s.args; ++k) one &= s.strides[k][kept] == s.strides[k][axis] * s.shape[axis];
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

// The next position along a space's first `axes` axes but `left_out`, to which the addresses of all arguments run_loop; false
// behind the last one.
inline bool next_position(const StridedSpace& s, int axes, Size* at, char** args, int left_out = -1) {
    for (int axis = axes - 1; axis >= 0; --axis) {
        if (axis == left_out) continue;
        if (++at[axis] < s.shape[axis]) {
            for (int k = 0; k < s.args; ++k) args[k] += s.strides[k][axis];
            return true;
        }
        at[axis] = 0;
        for (int k = 0; k < s.args; ++k) args[k] -= s.strides[k][axis] * (s.shape[axis] - 1);
    }
    return false;
}

constexpr Size SHORT = 8;  // elements of a line that a call takes longer than

// The axis along which a loop goes: the last one, or the longest one where lines of the last have but a few elements.
inline int line_axis(const StridedSpace& s) {
    const int last = s.rank - 1;
    if (s.shape[last] >= SHORT) return last;
    int longest = last;
    for (int axis = 0; axis < last; ++axis)
        if (s.shape[axis] > s.shape[longest]) longest = axis;
    return s.shape[longest] < 4 * s.shape[last] ? last : longest;
}

// Run a function over the lines of a space whose shape has no zero: the addresses of a line's first elements, its length, and
// bytes to the next ones.
template <class Line>
inline void for_lines(char* const* start, const StridedSpace& s, Line line) {
    char* args[MOST_ARGS];
    Size steps[MOST_ARGS], at[MOST_AXES];
    for (int k = 0; k < s.args; ++k) args[k] = start[k], steps[k] = 0;
    if (s.rank == 0) return line(args, Size(1), steps);
    const int inner = line_axis(s);
    for (int k = 0; k < s.args; ++k) steps[k] = s.strides[k][inner];
    for (int axis = 0; axis < s.rank; ++axis) at[axis] = 0;
    do {
        char* own[MOST_ARGS];
        for (int k = 0; k < s.args; ++k) own[k] = args[k];
        line(own, s.shape[inner], steps);
    } while (next_position(s, s.rank, at, args, inner));
}

// Run a loop of our own, which takes any steps, over a space whose shape has no zero.
inline void run_loop(Loop loop, void* data, char* const* start, const StridedSpace& s) {
    for_lines(start, s, [&](char** args, Size count, const Size* steps) { loop(args, &count, steps, data); });
}

// ---------------------------------------------------------------- copies and choices

// Elements as whole numbers, wherever they lie.
template <int N>
struct Word;
template <>
struct Word<1> { typedef uint8_t type __attribute__((may_alias)); };
template <>
struct Word<2> { typedef uint16_t type __attribute__((may_alias, aligned(1))); };
template <>
struct Word<4> { typedef uint32_t type __attribute__((may_alias, aligned(1))); };
template <>
struct Word<8> { typedef uint64_t type __attribute__((may_alias, aligned(1))); };
template <>
struct Word<16> { typedef unsigned __int128 type __attribute__((may_alias, aligned(1))); };

// `step` counts elements; 0: what is in every element, -1: backwards, which compilers make vectors of.
template <int N, int STEP>
NL_CLONES void copy_line(const char* from, char* to, Size count) {
    typedef typename Word<N>::type T;
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    const T first = *x;
    for (Size i = 0; i < count; ++i) y[i] = STEP ? x[STEP * i] : first;
}

template <int N>
void copy_loop(char** args, const Size* count, const Size* steps, void*) {
    // What is written could be a step, for all that the compiler knows.
    const char* __restrict__ from = args[0];
    char* __restrict__ to = args[1];
    const Size many = *count, from_step = steps[0], to_step = steps[1];
    if (!many) return;
    if (to_step == N) {
        if (from_step == N) {
            std::memcpy(to, from, many * N);
            return;
        }
        if (from_step == 0) return copy_line<N, 0>(from, to, many);
        if (from_step == -N) return copy_line<N, -1>(from, to, many);
    }
    typedef typename Word<N>::type T;
    Size i = 0;
    for (; i + 4 <= many; i += 4, from += 4 * from_step, to += 4 * to_step) {
        const T a = *reinterpret_cast<const T*>(from), b = *reinterpret_cast<const T*>(from + from_step);
        const T c = *reinterpret_cast<const T*>(from + 2 * from_step), d = *reinterpret_cast<const T*>(from + 3 * from_step);
        *reinterpret_cast<T*>(to) = a;
        *reinterpret_cast<T*>(to + to_step) = b;
        *reinterpret_cast<T*>(to + 2 * to_step) = c;
        *reinterpret_cast<T*>(to + 3 * to_step) = d;
    }
    for (; i < many; ++i, from += from_step, to += to_step) *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
}

// Blocks of 16 bytes square are turned in registers: as often as it takes, elements of the first half of the lines are put
// between those of the second half.
template <int N>
struct Block {
    typedef typename Word<N>::type T;
    typedef std::remove_cv_t<T> V __attribute__((vector_size(16)));
    static constexpr int count = 16 / N;
    static NL_INLINE V low(const V& a, const V& b) {
        if constexpr (N == 1) return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        else if constexpr (N == 2) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        else if constexpr (N == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
        else return __builtin_shufflevector(a, b, 0, 2);
    }
    static NL_INLINE V high(const V& a, const V& b) {
        if constexpr (N == 1) return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        else if constexpr (N == 2) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        else if constexpr (N == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
        else return __builtin_shufflevector(a, b, 1, 3);
    }
    static NL_INLINE void turn(const char* from, Size from_step, char* to, Size to_step) {
        V a[count], b[count];
        for (int i = 0; i < count; ++i) std::memcpy(&a[i], from + i * from_step, 16);
        for (int turns = 1; turns < count; turns *= 2) {
            for (int i = 0; i < count / 2; ++i) b[2 * i] = low(a[i], a[i + count / 2]), b[2 * i + 1] = high(a[i], a[i + count / 2]);
            for (int i = 0; i < count; ++i) a[i] = b[i];
        }
        for (int i = 0; i < count; ++i) std::memcpy(to + i * to_step, &a[i], 16);
    }
};
template <>
struct Block<16> {
    static constexpr int count = 1;
    static NL_INLINE void turn(const char* from, Size, char* to, Size) { std::memcpy(to, from, 16); }
};

// Line i of `to` (of `lines` elements) is column i of `from` (of `width` columns).
template <int N>
void turn_lines(const char* from, Size from_step, char* to, Size to_step, Size lines, Size width) {
    constexpr Size count = Block<N>::count;
    const Size whole_lines = lines - lines % count, whole_width = width - width % count;
    for (Size i = 0; i < whole_width; i += count)
        for (Size j = 0; j < whole_lines; j += count)
            Block<N>::turn(from + j * from_step + i * N, from_step, to + i * to_step + j * N, to_step);
    for (Size i = 0; i < width; ++i)
        for (Size j = i < whole_width ? whole_lines : 0; j < lines; ++j)
            std::memcpy(to + i * to_step + j * N, from + j * from_step + i * N, N);
}

// Choices of elements side by side; what repeats is one element.
template <int N, bool A_REPEATS, bool B_REPEATS>
NL_CLONES void choice_line(const uint8_t* choice, const char* from_a, const char* from_b, char* into, Size count) {
    typedef typename Word<N>::type T;  // As an argument of a template it would be taken for aligned.
    const T *a = reinterpret_cast<const T*>(from_a), *b = reinterpret_cast<const T*>(from_b);
    T* to = reinterpret_cast<T*>(into);
    for (Size i = 0; i < count; ++i) {
        const T one = a[A_REPEATS ? 0 : i], other = b[B_REPEATS ? 0 : i];
        to[i] = choice[i] ? one : other;
    }
}

template <int N>
bool choose_line(char** args, Size count, const Size* steps) {
    const Size size = N;
    const bool a_repeats = !steps[1], b_repeats = !steps[2];
    if (steps[0] != 1 || steps[3] != size || (steps[1] != size && !a_repeats) || (steps[2] != size && !b_repeats)) return false;
    const auto line = a_repeats ? b_repeats ? choice_line<N, true, true> : choice_line<N, true, false>
                                : b_repeats ? choice_line<N, false, true> : choice_line<N, false, false>;
    line(reinterpret_cast<const uint8_t*>(args[0]), args[1], args[2], args[3], count);
    return true;
}

template <int N>
void choice_loop(char** args, const Size* count, const Size* steps, void*) {
    typedef typename Word<N>::type T;
    if (choose_line<N>(args, *count, steps)) return;
    const Size many = *count, choice_step = steps[0], a_step = steps[1], b_step = steps[2], to_step = steps[3];
    const char *choice = args[0], *a = args[1], *b = args[2];
    char* to = args[3];
    for (Size i = 0; i < many; ++i, choice += choice_step, a += a_step, b += b_step, to += to_step)
        *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(*choice ? a : b);
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

constexpr Size RESULTS = 4096;  // bytes of results that are computed side by side before they are put apart

// Run the loop of an operation, one of NumPy's perhaps, over a space whose shape has no zero. It writes results of `itemsize`
// bytes side by side: of results apart NumPy's loops leave some unwritten (isnan, isinf, isfinite and signbit of 16 and more)
// or take wrong operands (negative, before 2.5), and ufuncs themselves run them so only where `out` lies so.
inline void run_operation(Loop loop, void* data, char* const* start, const StridedSpace& s, int itemsize) {
    const int last = s.args - 1;
    const Loop copy = copy_of(itemsize);
    for_lines(start, s, [&](char** args, Size count, const Size* steps) {
        if (count == 1 || steps[last] == itemsize) return loop(args, &count, steps, data);
        alignas(64) char results[RESULTS];
        Size dense[MOST_ARGS], apart[2] = {itemsize, steps[last]};
        for (int k = 0; k < last; ++k) dense[k] = steps[k];
        dense[last] = itemsize;
        while (count) {
            Size part = count < RESULTS / itemsize ? count : RESULTS / itemsize;
            char *own[MOST_ARGS], *ends[2] = {results, args[last]};
            for (int k = 0; k < last; ++k) own[k] = args[k];
            own[last] = results;
            loop(own, &part, dense, data);
            copy(ends, &part, apart, nullptr);
            for (int k = 0; k < s.args; ++k) args[k] += part * steps[k];
            count -= part;
        }
    });
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

// Copy over a space of two arguments, of which `simplify` has seen the axes: by turned blocks where neighbours of the one
// are no neighbours of the other.
template <int N>
void copy_turned(char* const* start, const StridedSpace& s, int across) {
    const int last = s.rank - 1;
    StridedSpace others;
    others.args = 2;
    for (int axis = 0; axis < last; ++axis)
        if (axis != across) take_axis(others, others.rank++, s, axis);
    char* args[MOST_ARGS] = {start[0], start[1]};
    Size at[MOST_AXES] = {0}, to_step = s.strides[1][across];
    const Size width = s.shape[across];
    if (s.strides[0][across] < 0) {
        args[0] -= (width - 1) * N;
        args[1] += (width - 1) * to_step;
        to_step = -to_step;
    }
    do turn_lines<N>(args[0], s.strides[0][last], args[1], to_step, s.shape[last], width);
    while (next_position(others, others.rank, at, args));
}

inline void copy_all(int itemsize, char* const* start, const StridedSpace& s) {
    const int last = s.rank - 1;
    int across = -1;
    if (last > 0 && s.strides[1][last] == itemsize && std::llabs(s.strides[0][last]) != itemsize && s.strides[0][last])
        for (int axis = 0; axis < last; ++axis)
            if (std::llabs(s.strides[0][axis]) == itemsize) across = axis;
    if (across >= 0) {
        switch (itemsize) {
            case 1: return copy_turned<1>(start, s, across);
            case 2: return copy_turned<2>(start, s, across);
            case 4: return copy_turned<4>(start, s, across);
            case 8: return copy_turned<8>(start, s, across);
            case 16: return copy_turned<16>(start, s, across);
        }
    }
    run_loop(copy_of(itemsize), nullptr, start, s);
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
NL_CLONES void cast_line(const char* from, char* to, Size count) {
    for (Size i = 0; i < count; ++i) {
        From x;
        std::memcpy(&x, from + i * sizeof(From), sizeof(From));
        const To y = cast_one<To, From>(x);
        std::memcpy(to + i * sizeof(To), &y, sizeof(To));
    }
}

template <class To, class From>
void cast_loop(char** args, const Size* count, const Size* steps, void*) {
    const Size many = *count, from_step = steps[0], to_step = steps[1];
    if (from_step == sizeof(From) && to_step == sizeof(To)) return cast_line<To, From>(args[0], args[1], many);
    const char* from = args[0];
    char* to = args[1];
    for (Size i = 0; i < many; ++i, from += from_step, to += to_step) {
        From x;
        std::memcpy(&x, from, sizeof(From));
        const To y = cast_one<To, From>(x);
        std::memcpy(to, &y, sizeof(To));
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

// Read single elements at a line of indices; false where one is out of bounds.
template <int N>
bool read_line(const char* from, const char* index, int code, Size step, Size extent, Size stride, char* to, Size to_step,
               Size count) {
    for (Size i = 0; i < count; ++i, index += step, to += to_step) {
        int64_t place = code == 7 ? *reinterpret_cast<const int64_t*>(index) : index_at(index, code);
        if (place < 0) place += extent;
        if (place < 0 || place >= extent) return false;
        std::memcpy(to, from + place * stride, N);
    }
    return true;
}

typedef bool (*ReadLine)(const char*, const char*, int, Size, Size, Size, char*, Size, Size);

inline ReadLine read_line_of(int itemsize) {
    switch (itemsize) {
        case 1: return read_line<1>;
        case 2: return read_line<2>;
        case 4: return read_line<4>;
        case 8: return read_line<8>;
    }
    return read_line<16>;
}

// The place of an index in memory; false if it is out of bounds.
inline bool add_place(int64_t index, Size extent, Size stride, Size& offset) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return false;
    offset += index * stride;
    return true;
}

// Read parts of memory at indices: `indexed` counts over the index arrays (its last argument is the result), `part`
// over one part. False where an index is out of bounds.
inline bool read_at(const char* from, const StridedSpace& indexed, char* const* start, const int* codes, const Size* shape,
                    const Size* strides, const StridedSpace& part, int itemsize) {
    const int indices = indexed.args - 1, last = indexed.rank - 1;
    char* args[MOST_ARGS];
    for (int k = 0; k <= indices; ++k) args[k] = start[k];
    Size at[MOST_AXES] = {0};
    int varying = -1, others = 0;  // An index that changes along a line, and how many others do.
    for (int k = 0; k < indices && last >= 0; ++k)
        if (indexed.strides[k][last]) others += varying >= 0, varying = k;
    if (part.rank == 0 && varying >= 0 && !others) {
        const ReadLine read = read_line_of(itemsize);
        do {
            Size offset = 0;
            for (int k = 0; k < indices; ++k)
                if (k != varying && !add_place(index_at(args[k], codes[k]), shape[k], strides[k], offset)) return false;
            if (!read(from + offset, args[varying], codes[varying], indexed.strides[varying][last], shape[varying],
                      strides[varying], args[indices], indexed.strides[indices][last], indexed.shape[last]))
                return false;
        } while (next_position(indexed, last, at, args));
        return true;
    }
    do {
        Size offset = 0;
        for (int k = 0; k < indices; ++k)
            if (!add_place(index_at(args[k], codes[k]), shape[k], strides[k], offset)) return false;
        char* ends[2] = {const_cast<char*>(from) + offset, args[indices]};
        copy_all(itemsize, ends, part);
    } while (next_position(indexed, indexed.rank, at, args));
    return true;
}

}  // namespace numloom
