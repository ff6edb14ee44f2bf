// Rows of COUNT elements between memory, where they lie one behind the other, and shared memory, PITCH elements apart: all
// threads of a block together, 16 bytes each where the first row begins so. Up to ROWS rows, of which there are `rows`.
namespace nl {
template <int COUNT, int ROWS, class T> struct staged {
    static constexpr int V = sizeof(T) < 16 ? 16 / sizeof(T) : 1;
    static constexpr int THREADS = 128, N = (ROWS * COUNT + V * THREADS - 1) / (V * THREADS);
    pack<V, T> w[N];
};
template <int COUNT, int PITCH, int ROWS, class T> NL_DEV void stage(T* to, const T* from, int rows) {
    typedef staged<COUNT, ROWS, T> S;
    constexpr int V = S::V;
    const bool wide = ((u64)from & 15) == 0;
    const int size = rows * COUNT;
    S s;
    // All are read before the first is needed.
#pragma unroll
    for (int k = 0; k < S::N; ++k) {
        const int at = (k * S::THREADS + (int)threadIdx.x) * V;
        if (wide && at + V <= size) load(s.w[k], from + at);
        else {
#pragma unroll
            for (int v = 0; v < V; ++v) if (at + v < size) s.w[k].x[v] = from[at + v];
        }
    }
#pragma unroll
    for (int k = 0; k < S::N; ++k) {
        const int at = (k * S::THREADS + (int)threadIdx.x) * V;
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const int e = at + v;
            if (e < ROWS * COUNT) to[e / COUNT * PITCH + e % COUNT] = s.w[k].x[v];
        }
    }
}
template <int COUNT, int PITCH, int ROWS, class T> NL_DEV void unstage(T* to, const T* from, int rows) {
    typedef staged<COUNT, ROWS, T> S;
    constexpr int V = S::V;
    const bool wide = ((u64)to & 15) == 0;
    const int size = rows * COUNT;
#pragma unroll
    for (int k = 0; k < S::N; ++k) {
        const int at = (k * S::THREADS + (int)threadIdx.x) * V;
        pack<V, T> w;
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const int e = at + v < ROWS * COUNT ? at + v : 0;
            w.x[v] = from[e / COUNT * PITCH + e % COUNT];
        }
        if (wide && at + V <= size) store(to + at, w);
        else {
#pragma unroll
            for (int v = 0; v < V; ++v) if (at + v < size) to[at + v] = w.x[v];
        }
    }
}
}
