// Loops of the host's routines, shared by threads: entry(params, begin, end) takes the pieces from begin to end.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
struct u128 { u64 low, high; };

// Elements where a mask is true: into memory of the piece's own first, without a branch an element, since what lies behind
// the piece's part of the result is the next one's.
struct SelectTask {
    const void* from;
    const u8* mask;
    void* to;
    const i64* starts;
    i64 count, piece;
};
template <class T, class Value> static void select(const SelectTask* p, i64 begin, i64 end, Value value) {
    constexpr i64 BLOCK = 1024;
    T kept[BLOCK + 1];
    for (i64 number = begin; number < end; ++number) {
        T* to = (T*)p->to + p->starts[number];
        const i64 last = (number + 1) * p->piece < p->count ? (number + 1) * p->piece : p->count;
        for (i64 first = number * p->piece; first < last; first += BLOCK) {
            const i64 count = last - first < BLOCK ? last - first : BLOCK;
            const u8* mask = p->mask + first;
            i64 k = 0;
            for (i64 i = 0; i < count; ++i) {
                kept[k] = value(first + i);
                k += mask[i];
            }
            __builtin_memcpy(to, kept, k * sizeof(T));
            to += k;
        }
    }
}
#define SELECT(T) extern "C" void select_##T(const SelectTask* p, i64 begin, i64 end) { \
    const T* from = (const T*)p->from; \
    select<T>(p, begin, end, [=](i64 i) { return from[i]; }); \
}
SELECT(u8) SELECT(u16) SELECT(u32) SELECT(u64) SELECT(u128)
extern "C" void select_place(const SelectTask* p, i64 begin, i64 end) {
    select<i64>(p, begin, end, [](i64 i) { return i; });
}

// How many numbers lie between neighbours of edges that are evenly spaced, but for rounding; the last bin has both its
// edges. The place by multiplication is put right by the edges themselves.
struct Histogram {
    const void* from;
    const void* edges;
    i64* counts;
    i64 count, bins, piece;
};
constexpr i64 BINS = 4096;
template <class T> static void histogram(const Histogram* p, i64 begin, i64 end) {
    constexpr i64 BLOCK = 256;
    const T* edges = (const T*)p->edges;
    const T low = edges[0], high = edges[p->bins];
    const double scale = (double)p->bins / ((double)high - (double)low);
    const int bins = (int)p->bins;
    u32 counts[BINS + 1];
    for (int k = 0; k <= bins; ++k) counts[k] = 0;
    const i64 last = end * p->piece < p->count ? end * p->piece : p->count;
    int places[BLOCK];
    for (i64 first = begin * p->piece; first < last; first += BLOCK) {
        const T* x = (const T*)p->from + first;
        const i64 count = last - first < BLOCK ? last - first : BLOCK;
        for (i64 i = 0; i < count; ++i) {
            double place = ((double)x[i] - (double)low) * scale;
            place = place < bins - 1 ? place : bins - 1;
            place = place > 0 ? place : 0;
            places[i] = (int)place;
        }
        for (i64 i = 0; i < count; ++i) {
            const bool inside = (x[i] >= low) & (x[i] <= high);
            int place = inside ? places[i] : bins;  // what lies outside, and NaN, is counted behind the others
            if (inside) {
                while (x[i] < edges[place]) --place;
                while (place < bins - 1 && x[i] >= edges[place + 1]) ++place;
            }
            ++counts[place];
        }
    }
    for (int k = 0; k < bins; ++k) __atomic_fetch_add(p->counts + k, (i64)counts[k], __ATOMIC_RELAXED);
}
extern "C" void histogram_f32(const Histogram* p, i64 begin, i64 end) { histogram<float>(p, begin, end); }
extern "C" void histogram_f64(const Histogram* p, i64 begin, i64 end) { histogram<double>(p, begin, end); }

// Products of the matrices of a stack, one by one, by BLAS. Behind the fields: extents of the stack, then how many bytes
// matrices of a, b and c are apart along each of its axes.
struct Stack {
    void* gemm;
    i64 wide, left, right, m, n, k, lda, ldb, ldc;
    const char *a, *b;
    char* c;
    i64 ndim, axes[1];
};
template <class T, class I> struct RealGemm {
    using Call = void (*)(int, int, int, I, I, I, T, const void*, I, const void*, I, T, void*, I);
    static void run(const Stack* p, const char* a, const char* b, char* c) {
        ((Call)p->gemm)(101, (int)p->left, (int)p->right, (I)p->m, (I)p->n, (I)p->k, T(1), a, (I)p->lda, b, (I)p->ldb,
                        T(0), c, (I)p->ldc);
    }
};
template <class T, class I> struct ComplexGemm {
    using Call = void (*)(int, int, int, I, I, I, const T*, const void*, I, const void*, I, const T*, void*, I);
    static void run(const Stack* p, const char* a, const char* b, char* c) {
        const T one[2] = {1, 0}, zero[2] = {0, 0};
        ((Call)p->gemm)(101, (int)p->left, (int)p->right, (I)p->m, (I)p->n, (I)p->k, one, a, (I)p->lda, b, (I)p->ldb,
                        zero, c, (I)p->ldc);
    }
};
template <class Gemm> static void stack(const Stack* p, i64 begin, i64 end) {
    const i64 *shape = p->axes, *a = shape + p->ndim, *b = a + p->ndim, *c = b + p->ndim;
    for (i64 number = begin; number < end; ++number) {
        i64 left = number, at_a = 0, at_b = 0, at_c = 0;
        for (i64 axis = p->ndim - 1; axis >= 0; --axis) {
            const i64 place = left % shape[axis];
            left /= shape[axis];
            at_a += place * a[axis];
            at_b += place * b[axis];
            at_c += place * c[axis];
        }
        Gemm::run(p, p->a + at_a, p->b + at_b, p->c + at_c);
    }
}
#define STACK(NAME, GEMM, T) extern "C" void stack_##NAME(const Stack* p, i64 begin, i64 end) { \
    if (p->wide) stack<GEMM<T, i64>>(p, begin, end); \
    else stack<GEMM<T, int>>(p, begin, end); \
}
STACK(f, RealGemm, float) STACK(d, RealGemm, double) STACK(F, ComplexGemm, float) STACK(D, ComplexGemm, double)

// Running values of many lines, each from its first element to its last. A line's neighbours are `inner` elements apart.
struct Scan {
    const void* from;
    void* to;
    i64 extent, inner;
};
struct Add { template <class T> static T of(T x, T y) { return x + y; } };
struct Multiply { template <class T> static T of(T x, T y) { return x * y; } };
struct Maximum { template <class T> static T of(T x, T y) { return x >= y || x != x ? x : y; } };
struct Minimum { template <class T> static T of(T x, T y) { return x <= y || x != x ? x : y; } };
template <class T, class Op, int ROWS> static void scan_rows(const T* from, T* to, i64 extent) {
    T last[ROWS];  // of rows side by side, since each element waits for the one before
    for (int row = 0; row < ROWS; ++row) last[row] = to[row * extent] = from[row * extent];
    for (i64 k = 1; k < extent; ++k)
        for (int row = 0; row < ROWS; ++row) to[row * extent + k] = last[row] = Op::of(last[row], from[row * extent + k]);
}
template <class T, class Op> static void scan(const Scan* p, i64 begin, i64 end) {
    constexpr i64 BLOCK = 1024;
    const i64 extent = p->extent, inner = p->inner;
    const T* from = (const T*)p->from;
    T* to = (T*)p->to;
    if (inner == 1) {
        for (; begin + 8 <= end; begin += 8) scan_rows<T, Op, 8>(from + begin * extent, to + begin * extent, extent);
        for (; begin < end; ++begin) scan_rows<T, Op, 1>(from + begin * extent, to + begin * extent, extent);
        return;
    }
    while (begin < end) {
        const i64 outer = begin / inner, first = begin % inner, left = inner - first < end - begin ? inner - first : end - begin;
        const i64 count = left < BLOCK ? left : BLOCK, start = outer * extent * inner + first;
        const T* x = from + start;
        T* y = to + start;
        for (i64 i = 0; i < count; ++i) y[i] = x[i];
        for (i64 k = 1; k < extent; ++k) {
            x += inner;
            for (i64 i = 0; i < count; ++i) y[inner + i] = Op::of(y[i], x[i]);
            y += inner;
        }
        begin += count;
    }
}
#define SCAN(op, Op, char, T) extern "C" void scan_##op##_##char(const Scan* p, i64 begin, i64 end) { scan<T, Op>(p, begin, end); }
#define SUMS(char, T) SCAN(add, Add, char, T) SCAN(multiply, Multiply, char, T)
#define EXTREMES(char, T) SCAN(maximum, Maximum, char, T) SCAN(minimum, Minimum, char, T)
SUMS(f4, float) SUMS(f8, double) SUMS(i4, u32) SUMS(i8, u64)
EXTREMES(f4, float) EXTREMES(f8, double) EXTREMES(i4, int) EXTREMES(i8, i64)
