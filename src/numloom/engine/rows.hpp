// Rows of memory read and written at index arrays and masks, by one thread: see _indexing.pyx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace numloom {

using Size = std::ptrdiff_t;
template <Size N> using Fixed = std::integral_constant<Size, N>;

// `f` of the bytes of a row: as a number that the compiler knows where they are as many as an element has.
template <class F> inline auto by_bytes(Size bytes, F f) {
    switch (bytes) {
        case 1: return f(Fixed<1>());
        case 2: return f(Fixed<2>());
        case 4: return f(Fixed<4>());
        case 8: return f(Fixed<8>());
        case 16: return f(Fixed<16>());
        default: return f(bytes);
    }
}

// `f` of an integer of the dtype with this code.
template <class F> inline auto by_integer(int code, F f) {
    switch (code) {
        case 1: return f(std::int8_t());
        case 2: return f(std::uint8_t());
        case 3: return f(std::int16_t());
        case 4: return f(std::uint16_t());
        case 5: return f(std::int32_t());
        case 6: return f(std::uint32_t());
        case 7: return f(std::int64_t());
        default: return f(std::uint64_t());  // NumPy too counts the largest ones from the end.
    }
}

// `each` of place and row for indices along an axis, `gap` bytes from one to the next; false at one out of bounds.
template <class Index, class Each> inline bool rows_at(const char* at, Size gap, Size count, Size extent, Each each) {
    for (Size place = 0; place < count; ++place, at += gap) {
        Index index;
        std::memcpy(&index, at, sizeof index);
        std::int64_t row = static_cast<std::int64_t>(index);
        row += row < 0 ? extent : 0;
        if (static_cast<std::uint64_t>(row) >= static_cast<std::uint64_t>(extent)) return false;
        each(place, static_cast<Size>(row));
    }
    return true;
}

template <class Each> inline bool each_row(const char* at, int code, Size gap, Size count, Size extent, Each each) {
    return by_integer(code, [=](auto kind) { return rows_at<decltype(kind)>(at, gap, count, extent, each); });
}

// Add where indices along an axis lead, in bytes.
inline bool add_offsets(Size* offsets, const char* at, int code, Size gap, Size count, Size extent, Size step) {
    return each_row(at, code, gap, count, extent, [=](Size place, Size row) { offsets[place] += row * step; });
}

// Rows at indices along the first axis, one after the other.
inline bool read_at_indices(
    char* to, const char* source, Size step, Size bytes, const char* at, int code, Size gap, Size count, Size extent
) {
    return by_bytes(bytes, [=](auto size) {
        return each_row(at, code, gap, count, extent, [=](Size place, Size row) {
            std::memcpy(to + place * size, source + row * step, size);
        });
    });
}

// Rows at offsets, one after the other.
inline void read_rows(char* to, const char* source, const Size* offsets, Size count, Size bytes) {
    by_bytes(bytes, [=](auto size) {
        for (Size place = 0; place < count; ++place) std::memcpy(to + place * size, source + offsets[place], size);
    });
}

// Store rows, `step` bytes from one to the next, at offsets, of equal ones the last.
inline void write_rows(char* to, const Size* offsets, Size count, Size bytes, const char* values, Size step) {
    by_bytes(bytes, [=](auto size) {
        for (Size place = 0; place < count; ++place) std::memcpy(to + offsets[place], values + place * step, size);
    });
}

// ---------------------------------------------------------------- masks

constexpr Size WORD = 8;  // truth values that are looked at together
constexpr std::uint64_t ALL_TRUE = 0x0101010101010101;

// How many truth values, `gap` bytes from one to the next, are true.
inline Size count_true(const char* mask, Size gap, Size count) {
    typedef unsigned char Lanes __attribute__((vector_size(16)));
    Size found = 0, place = 0;
    if (gap == 1)
        while (count - place >= 16) {
            Lanes sums = {}, truths;
            for (int turn = 0; turn < 255 && count - place >= 16; ++turn, place += 16) {
                std::memcpy(&truths, mask + place, 16);
                sums -= (Lanes)(truths != 0);
            }
            for (int lane = 0; lane < 16; ++lane) found += sums[lane];
        }
    for (; place < count; ++place) found += mask[place * gap] != 0;
    return found;
}

// The `chosen` rows where a mask is true, one after the other. Of few bytes each is written without asking, where there is
// room for one more behind what is kept: whether it is true is as hard to guess as the mask.
template <class Bytes> inline void read_where_of(
    Bytes size, char* to, Size chosen, const char* row, Size step, const char* mask, Size gap, Size count
) {
    constexpr bool few = !std::is_same_v<Bytes, Size>;
    char* const end = to + chosen * size;
    Size place = 0;
    if (gap == 1)
        for (; to != end && count - place >= WORD; place += WORD, mask += WORD, row += WORD * step) {
            std::uint64_t truths;
            std::memcpy(&truths, mask, WORD);
            if (!truths) continue;
            if (truths == ALL_TRUE && step == size && end - to >= WORD * size) {
                std::memcpy(to, row, WORD * size);
                to += WORD * size;
            } else if (few && end - to > WORD * size) {
                for (Size k = 0; k < WORD; ++k) {
                    std::memcpy(to, row + k * step, size);
                    to += mask[k] ? Size(size) : 0;
                }
            } else {
                for (Size k = 0; k < WORD && to != end; ++k)
                    if (mask[k]) {
                        std::memcpy(to, row + k * step, size);
                        to += size;
                    }
            }
        }
    for (; to != end && place < count; ++place, mask += gap, row += step)
        if (*mask) {
            std::memcpy(to, row, size);
            to += size;
        }
}

inline void read_where(
    char* to, Size chosen, const char* row, Size step, Size bytes, const char* mask, Size gap, Size count
) {
    by_bytes(bytes, [=](auto size) { read_where_of(size, to, chosen, row, step, mask, gap, count); });
}

// Store the begins of rows, `next` bytes from one value to the next, where a mask is true. Nobody else sees the rows
// meanwhile, so what is there may be stored again.
template <class Bytes> inline void write_where_of(
    Bytes size, char* row, Size step, const char* mask, Size gap, Size count, const char* values, Size next
) {
    Size place = 0;
    if (gap == 1)
        for (; count - place >= WORD; place += WORD, mask += WORD, row += WORD * step) {
            std::uint64_t truths;
            std::memcpy(&truths, mask, WORD);
            if (!truths) continue;
            if (truths == ALL_TRUE && step == size && next == size) {
                std::memcpy(row, values, WORD * size);
                values += WORD * size;
                continue;
            }
            for (Size k = 0; k < WORD; ++k) {
                char* const here = row + k * step;
                if constexpr (!std::is_same_v<Bytes, Size>) {
                    char kept[Bytes::value];
                    std::memcpy(kept, mask[k] ? values : here, size);
                    std::memcpy(here, kept, size);
                } else if (mask[k]) {
                    std::memcpy(here, values, size);
                }
                values += mask[k] ? next : 0;
            }
        }
    for (; place < count; ++place, mask += gap, row += step)
        if (*mask) {
            std::memcpy(row, values, size);
            values += next;
        }
}

inline void write_where(
    char* row, Size step, Size bytes, const char* mask, Size gap, Size count, const char* values, Size next
) {
    by_bytes(bytes, [=](auto size) { write_where_of(size, row, step, mask, gap, count, values, next); });
}

}  // namespace numloom
