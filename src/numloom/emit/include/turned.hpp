// Tiles turned on the host: blocks of 16 bytes square in registers. As often as it takes, elements of the first half of a
// block's lines are put between those of the second half.
namespace nl {
template <int N> struct turning;
template <> struct turning<1> { typedef u8 V __attribute__((vector_size(16))); };
template <> struct turning<2> { typedef u16 V __attribute__((vector_size(16))); };
template <> struct turning<4> { typedef u32 V __attribute__((vector_size(16))); };
#ifdef __clang__
#define NL_MIXED(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define NL_MIXED(V, a, b, ...) __builtin_shuffle(a, b, V{__VA_ARGS__})
#endif
template <int N, class V> NL_DEV V low_halves(V a, V b) {
    if constexpr (N == 1) return NL_MIXED(V, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    else if constexpr (N == 2) return NL_MIXED(V, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    else return NL_MIXED(V, a, b, 0, 4, 1, 5);
}
template <int N, class V> NL_DEV V high_halves(V a, V b) {
    if constexpr (N == 1) return NL_MIXED(V, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    else if constexpr (N == 2) return NL_MIXED(V, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    else return NL_MIXED(V, a, b, 2, 6, 3, 7);
}
template <int N> NL_DEV void turn_block(char* to, i64 to_step, const char* from, i64 from_step) {
    constexpr int count = 16 / N;
    typedef typename turning<N>::V V;
    V a[count], b[count];
    NL_UNROLL
    for (int i = 0; i < count; ++i) NL_COPY(&a[i], from + i * from_step, 16);
    NL_UNROLL
    for (int turns = 1; turns < count; turns *= 2) {
        NL_UNROLL
        for (int i = 0; i < count / 2; ++i) {
            b[2 * i] = low_halves<N>(a[i], a[i + count / 2]);
            b[2 * i + 1] = high_halves<N>(a[i], a[i + count / 2]);
        }
        NL_UNROLL
        for (int i = 0; i < count; ++i) a[i] = b[i];
    }
    NL_UNROLL
    for (int i = 0; i < count; ++i) NL_COPY(to + i * to_step, &a[i], 16);
}
// Line i of `to` (of `lines` elements) is column i of `from` (of `width` columns); steps are bytes.
template <int N> static void turn(char* to, i64 to_step, const char* from, i64 from_step, i64 lines, i64 width) {
    constexpr i64 count = 16 / N;
    const i64 whole_lines = lines - lines % count, whole_width = width - width % count;
    for (i64 j = 0; j < whole_lines; j += count)
        for (i64 i = 0; i < whole_width; i += count)
            turn_block<N>(to + i * to_step + j * N, to_step, from + j * from_step + i * N, from_step);
    for (i64 i = 0; i < width; ++i)
        for (i64 j = i < whole_width ? whole_lines : 0; j < lines; ++j)
            NL_COPY(to + i * to_step + j * N, from + j * from_step + i * N, N);
}
}
