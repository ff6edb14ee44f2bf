// Rows in shared memory in the order in which the tree takes their lanes: position p of a line of 128 elements holds lane
// p with its bits reversed. 16 bytes of neighbours are a unit; units change places so that lanes of a warp meet in no bank.
namespace nl {
template <int N> struct log2_of { static constexpr int value = 1 + log2_of<N / 2>::value; };
template <> struct log2_of<1> { static constexpr int value = 0; };
template <int N> NL_DEV int reversed(int x) { return N < 2 ? 0 : (int)(__brev((u32)x) >> (32 - log2_of<N>::value)); }
// Where position p of a line lies.
template <class T> NL_DEV int swizzled(int p) {
    constexpr int V = 16 / sizeof(T), U = 128 / V;
    const int unit = p / V;
    return (U > 8 ? unit ^ (unit >> (log2_of<U>::value - 3) & 7) : unit) * V + p % V;
}
// Rows of COUNT elements, `along` apart, into lines of 128: the first begins at `from`, others `step` elements further each
// up to the one `last`, which stands for all behind it, too.
template <int ROWS, int COUNT, int PITCH, int THREADS, class T>
NL_DEV void stage_rows(T* to, const T* from, i64 step, i64 along, i64 last) {
    constexpr int V = 16 / sizeof(T), U = 128 / V, LINES = (COUNT + 127) / 128;
#pragma unroll 4
    for (int n = threadIdx.x; n < ROWS * LINES * U; n += THREADS) {
        const int lane = n % U, line = n / U % LINES, row = n / (U * LINES);
        const T* const begin = from + (row < last ? row : last) * step;
        pack<V, T> w;
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const int e = line * 128 + lane + U * reversed<V>(v);
            w.x[v] = e < COUNT ? begin[e * along] : T();
        }
        store(to + row * PITCH + line * 128 + swizzled<T>(reversed<U>(lane) * V), w);
    }
}
// The same of a piece of rows that has `left` elements, in their own order; neighbouring threads take neighbouring rows, or
// (not ACROSS) what follows in a row.
template <int ROWS, int PITCH, int THREADS, bool ACROSS, class T>
NL_DEV void stage_piece(T* to, const T* from, i64 step, i64 along, i64 last, int left) {
    constexpr int V = 16 / sizeof(T), U = 128 / V;
#pragma unroll 4
    for (int n = threadIdx.x; n < ROWS * U; n += THREADS) {
        const int unit = ACROSS ? n / ROWS : n % U, row = ACROSS ? n % ROWS : n / U;
        const T* const begin = from + (row < last ? row : last) * step;
        pack<V, T> w;
#pragma unroll
        for (int v = 0; v < V; ++v) w.x[v] = unit * V + v < left ? begin[(unit * V + v) * along] : T();
        store(to + row * PITCH + unit * V, w);
    }
}
}
