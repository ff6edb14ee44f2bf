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
