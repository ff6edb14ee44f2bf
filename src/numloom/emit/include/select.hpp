// Selection in one pass: each tile publishes how many it chose, and writes them where those of earlier
// tiles end.
namespace nl {
template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four { T x[4]; };
struct alignas(16) Sixteen { u64 low, high; };
template <class T> NL_DEV T fetched(const T* from) { return *from; }
NL_DEV Sixteen fetched(const Sixteen* from) { return {((const u64*)from)[0], ((const u64*)from)[1]}; }
// Inter-block flags: words of a count, with the launch's number above it, so that nothing is ever cleared.
NL_DEV u64 load_flag(const u64* at) {
    u64 x;
    asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
    return x;
}
NL_DEV void publish(u64* at, i64 launch, u32 count) {
    const u64 x = (u64)launch << 32 | count;
    asm volatile("st.relaxed.gpu.b64 [%0], %1;" : : "l"(at), "l"(x) : "memory");
}
// The sum of `count` words once all are published, by a warp.
NL_DEV i64 sum_published(const u64* at, i32 count, i64 launch) {
    i64 sum = 0;
    for (i32 i = threadIdx.x & 31; i < count; i += 128) {
        u64 x[4];
        bool here;
        do {
            here = true;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                x[k] = i + k * 32 < count ? load_flag(at + i + k * 32) : (u64)launch << 32;
                here = here && (u32)(x[k] >> 32) == (u32)launch;
            }
        } while (!here);
#pragma unroll
        for (int k = 0; k < 4; ++k) sum += (u32)x[k];
    }
    __syncwarp();
#pragma unroll
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}
// Which neighbours of a lane there are in some rows, `rest` elements before the end.
NL_DEV u32 present(i64 rest, int rows) {
    u32 flags = 0;
#pragma unroll 1
    for (int k = 0; k < rows; ++k, rest -= 128)
        flags |= (rest >= 4 ? 15 : rest <= 0 ? 0 : (1u << (int)rest) - 1) << 4 * k;
    return flags;
}
// Where elements are kept: the address in shared memory itself, since compilers find out a pointer's at every store.
#ifdef __CUDACC__
typedef u32 SharedAddress;
NL_DEV SharedAddress shared_address(const void* kept) {
    u64 at;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(kept));
    u32 place = (u32)at;
    asm volatile("" : "+r"(place));
    return place;
}
NL_DEV void store_shared(SharedAddress at, u8 x) { asm volatile("st.shared.u8 [%0], %1;" : : "r"(at), "r"((u32)x) : "memory"); }
NL_DEV void store_shared(SharedAddress at, u16 x) { asm volatile("st.shared.u16 [%0], %1;" : : "r"(at), "h"(x) : "memory"); }
NL_DEV void store_shared(SharedAddress at, u32 x) { asm volatile("st.shared.u32 [%0], %1;" : : "r"(at), "r"(x) : "memory"); }
NL_DEV void store_shared(SharedAddress at, u64 x) { asm volatile("st.shared.u64 [%0], %1;" : : "r"(at), "l"(x) : "memory"); }
NL_DEV void store_shared(SharedAddress at, Sixteen x) {
    asm volatile("st.shared.v2.u64 [%0], {%1, %2};" : : "r"(at), "l"(x.low), "l"(x.high) : "memory");
}
#else
typedef u64 SharedAddress;
NL_DEV SharedAddress shared_address(const void* kept) { return (u64)kept; }
template <class T> NL_DEV void store_shared(SharedAddress at, T x) { *(T*)at = x; }
#endif
// Adds what `flags` chooses of some rows of a warp (four neighbours a lane, four flags a row) to the `count` kept ones.
template <int ROWS, class T> NL_DEV u32 keep(SharedAddress kept, u32 count, u32 flags, const Four<T> (&x)[ROWS]) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int row = 0; row < ROWS; row += 4) {
        // Counts of up to four rows side by side in one word: none exceeds 128.
        u32 own = 0;
#pragma unroll
        for (int k = 0; k < 4 && row + k < ROWS; ++k) own |= (u32)__popc(flags & 15u << 4 * (row + k)) << 8 * k;
        u32 sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const u32 other = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += other;
        }
        const u32 before = sum - own, all = __shfl_sync(0xffffffffu, sum, 31);
#pragma unroll
        for (int k = 0; k < 4 && row + k < ROWS; ++k) {
            SharedAddress at = kept + (count + (before >> 8 * k & 255)) * sizeof(T);
#pragma unroll
            for (int v = 0; v < 4; ++v)
                if (flags >> (4 * (row + k) + v) & 1) {
                    store_shared(at, x[row + k].x[v]);
                    at += sizeof(T);
                }
            count += all >> 8 * k & 255;
        }
    }
    return count;
}
// A warp writes `count` kept elements, from a line of memory on; small ones four bytes at a time.
template <class T> NL_DEV void write_kept(T* to, const T* kept, u32 count) {
    const u32 lane = threadIdx.x & 31;
    if (sizeof(T) >= 4) {
        constexpr u32 LINE = 128 / sizeof(T);
#pragma unroll 4
        for (i32 i = (i32)lane - (i32)((u64)to / sizeof(T) & (LINE - 1)); i < (i32)count; i += 32)
            if (i >= 0) to[i] = kept[i];
    } else {
        const u32 bytes = count * sizeof(T), gap = (u32)(0 - (u64)to) & 3, head = gap < bytes ? gap : bytes;
        const u32 words = (bytes - head) / 4, done = head + 4 * words;
        char* out = (char*)to;
        const char* in = (const char*)kept;
        if (lane < head) out[lane] = in[lane];
#pragma unroll 4
        for (u32 w = lane; w < words; w += 32) {
            const u32 low = ((const u32*)in)[w], high = ((const u32*)in)[w + 1];
            ((u32*)(out + head))[w] = (u32)(((u64)high << 32 | low) >> 8 * head);
        }
        if (done + lane < bytes) out[done + lane] = in[done + lane];
    }
}
// A warp writes indices along axes: of elements `kept` after `start`, in an array of so many axes.
template <int AXES> NL_DEV void write_indices(i64* const* to, const i64* shape, i64 at, i64 start, const u16* kept, u32 count) {
#pragma unroll 4
    for (i32 i = (i32)(threadIdx.x & 31) - (i32)(at & 15); i < (i32)count; i += 32) {
        if (i < 0) continue;
        i64 rest = start + kept[i];
#pragma unroll
        for (int d = AXES - 1; d > 0; --d) {
            const i64 e = shape[d], q = ((u64)rest | (u64)e) >> 32 ? rest / e : (i64)((u32)rest / (u32)e);
            to[d][at + i] = rest - q * e;
            rest = q;
        }
        to[0][at + i] = rest;
    }
}
}
