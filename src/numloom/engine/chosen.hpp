// Elements where a mask is true, and where those are, in C order: loops that do not branch for an element.
#pragma once

#include "ready.hpp"

namespace numloom {

// Axes that are one as well, for all arguments; the order of what is left is the same.
inline void join_axes(StridedSpace& s) {
    int rank = 0;
    for (int axis = 0; axis < s.rank; ++axis) {
        if (s.shape[axis] == 1) continue;
        bool one = rank > 0;
        for (int k = 0; k < s.args; ++k) one = one && s.strides[k][rank - 1] == s.strides[k][axis] * s.shape[axis];
        if (one) {
            const Size outer = s.shape[rank - 1];
            take_axis(s, rank - 1, s, axis);
            s.shape[rank - 1] *= outer;
        } else {
            take_axis(s, rank++, s, axis);
        }
    }
    if (!rank) {
        s.shape[0] = 1;
        for (int k = 0; k < s.args; ++k) s.strides[k][0] = 0;
        rank = 1;
    }
    s.rank = rank;
}

NL_CLONES inline Size count_bytes(const char* mask, Size count) {
    Size found = 0;
    for (Size i = 0; i < count; ++i) found += mask[i] != 0;
    return found;
}

// How many elements of the first argument are true, counted in the order of memory.
inline Size count_chosen(char* const* start, StridedSpace s) {
    for (int axis = 0; axis < s.rank; ++axis)
        if (s.strides[0][axis] < 0) {  // from its other end
            char* const other = start[0] + s.strides[0][axis] * (s.shape[axis] - 1);
            s.strides[0][axis] = -s.strides[0][axis];
            return count_chosen(&other, s);
        }
    s.args = 1;
    simplify(s);
    if (!s.rank) return *start[0] != 0;
    const int last = s.rank - 1;
    const Size step = s.strides[0][last], count = s.shape[last];
    char* args[MOST_ARGS] = {start[0]};
    Size at[MOST_AXES] = {0}, found = 0;
    do {
        if (step == 1) {
            found += count_bytes(args[0], count);
        } else {
            for (Size i = 0; i < count; ++i) found += args[0][i * step] != 0;
        }
    } while (next_position(s, last, at, args));
    return found;
}

// An argument in C order, if lines of it go across its memory: copied, turned by blocks, to memory that is freed later.
struct InOrder {
    void* memory = nullptr;
    InOrder(StridedSpace& s, int k, int itemsize, char*& start) {
        const int last = s.rank - 1;
        if (last < 1 || s.strides[k][last] == itemsize) return;
        StridedSpace one;
        one.rank = s.rank;
        one.args = 2;
        Size step = itemsize;
        for (int axis = last; axis >= 0; --axis) {
            one.shape[axis] = s.shape[axis];
            one.strides[0][axis] = s.strides[k][axis];
            one.strides[1][axis] = step;
            step *= s.shape[axis];
        }
        memory = std::malloc(step);
        if (!memory) return;
        for (int axis = 0; axis <= last; ++axis) s.strides[k][axis] = one.strides[1][axis];
        char* ends[2] = {start, static_cast<char*>(memory)};
        start = ends[1];
        simplify(one);
        copy_all(itemsize, ends, one);
    }
    InOrder(const InOrder&) = delete;
    ~InOrder() { std::free(memory); }
};

// What `value` says of positions of a line where it is true; eight at a time where none or all of them are. Behind what is
// written there is room for one more.
template <class T, class Value>
NL_INLINE T* choose_line(const char* mask, Size step, Size count, T* to, Value value) {
    constexpr uint64_t ALL = 0x0101010101010101;
    Size i = 0;
    if (step == 1)
        for (; i + 8 <= count; i += 8) {
            uint64_t eight;
            std::memcpy(&eight, mask + i, 8);
            if (!eight) continue;
            if (eight == ALL) {
                for (Size j = 0; j < 8; ++j) to[j] = value(i + j);
                to += 8;
            } else {
                for (Size j = 0; j < 8; ++j) {
                    *to = value(i + j);
                    to += mask[i + j] != 0;
                }
            }
        }
    for (; i < count; ++i) {
        *to = value(i);
        to += mask[i * step] != 0;
    }
    return to;
}

template <int N>
void read_lines(char* const* start, const StridedSpace& s, char* out) {
    using T = typename Word<N>::type;
    const int last = s.rank - 1;
    const Size step = s.strides[0][last], apart = s.strides[1][last], count = s.shape[last];
    char* args[MOST_ARGS] = {start[0], start[1]};
    Size at[MOST_AXES] = {0};
    T* to = reinterpret_cast<T*>(out);
    do {
        const char* from = args[1];
        if (apart == N)
            to = choose_line(args[0], step, count, to, [=](Size i) { return reinterpret_cast<const T*>(from)[i]; });
        else
            to = choose_line(args[0], step, count, to, [=](Size i) { return *reinterpret_cast<const T*>(from + i * apart); });
    } while (next_position(s, last, at, args));
}

// Elements of the second argument where the first is true.
inline void read_chosen(int itemsize, char** start, StridedSpace s, char* to) {
    const InOrder mask(s, 0, 1, start[0]), elements(s, 1, itemsize, start[1]);
    join_axes(s);
    switch (itemsize) {
        case 1: return read_lines<1>(start, s, to);
        case 2: return read_lines<2>(start, s, to);
        case 4: return read_lines<4>(start, s, to);
        case 8: return read_lines<8>(start, s, to);
    }
    read_lines<16>(start, s, to);
}

// Indices along each axis where the argument is true.
inline void find_chosen(char** start, StridedSpace s, int64_t* const* to) {
    const InOrder mask(s, 0, 1, start[0]);
    const int last = s.rank - 1;
    const Size step = s.strides[0][last], count = s.shape[last];
    char* args[MOST_ARGS] = {start[0]};
    Size at[MOST_AXES] = {0}, done = 0;
    do {
        const int64_t* end = choose_line(args[0], step, count, to[last] + done, [](Size i) { return int64_t(i); });
        const Size found = end - to[last];
        for (int axis = 0; axis < last; ++axis)
            for (Size i = done; i < found; ++i) to[axis][i] = at[axis];
        done = found;
    } while (next_position(s, last, at, args));
}

}  // namespace numloom
