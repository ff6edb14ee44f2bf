// CUDA's threads as fibres of one host thread: enough of the language to run the kernels of the tests without a GPU.
// A barrier that not every thread of a block reaches, or a shuffle that not every lane reaches, is reported.
// Blocks of a cluster take turns, each until it waits for the others; what they share lies in one section of the library,
// of which each has a copy while it does not run.
// C's own headers (-nostdinc++): those of C++ take longer than most kernels.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#define __CUDACC__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define LINKED __attribute__((weak, visibility("hidden")))
#define __shared__ static __attribute__((section("shared")))
extern "C" char __start_shared[] LINKED, __stop_shared[] LINKED;
#define __CUDA_PREC_DIV 1
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct dim3 { unsigned x, y, z; };
dim3 threadIdx, blockIdx, blockDim, gridDim;
namespace fibres {
enum State { READY, AT_BARRIER, IN_SHUFFLE, IN_CLUSTER, DONE };
constexpr int BLOCKS = 8, MOST = 1024 * BLOCKS;
constexpr size_t STACK = 128 << 10;
// SWITCHING
void *scheduler, *thread[MOST];
State state[MOST];
unsigned slot[MOST];
char* stacks;
char* memory[BLOCKS];
int arrived[MOST], waited[MOST];
int now, threads, block, wrong;
void (*entry)();
void wait(State why) {
    state[now] = why;
    numloom_switch(&thread[now], scheduler);
}
void start() {
    entry();
    wait(DONE);
}
// Runs a block until all of its threads are done, or wait for the cluster.
int advance(int count, bool backwards) {
    const int begin = block * count, end = begin + count;
    for (;;) {
        for (int k = 0; k < count; ++k) {
            now = backwards ? end - 1 - k : begin + k;
            if (state[now] != READY) continue;
            threadIdx.x = (unsigned)(now - begin);
            numloom_switch(&scheduler, thread[now]);
        }
        bool shuffled = false, barrier = false;
        for (int first = begin; first < end; first += 32) {
            int lanes = 0;
            for (int t = first; t < first + 32 && t < end; ++t) lanes += state[t] == IN_SHUFFLE;
            if (!lanes) continue;
            if (lanes != 32) return 1;
            for (int t = first; t < first + 32; ++t) state[t] = READY;
            shuffled = true;
        }
        if (shuffled) continue;
        for (int t = begin; t < end; ++t) barrier |= state[t] == AT_BARRIER;
        if (!barrier) return 0;
        for (int t = begin; t < end; ++t) {
            if (state[t] == IN_SHUFFLE || state[t] == IN_CLUSTER) return 2;
            if (state[t] == AT_BARRIER) state[t] = READY;
        }
    }
}
// 0, or what went wrong: 1 a shuffle without all lanes, 2 a barrier that some thread waits at elsewhere, 3 one of the
// cluster that not all reach, 4 memory of a block that has not begun or has ended.
int run_cluster(int count, int blocks, bool backwards) {
    if (!stacks) stacks = (char*)aligned_alloc(64, MOST * STACK);
    const size_t nbytes = __stop_shared - __start_shared;
    threads = count;
    wrong = 0;
    for (int t = 0; t < count * blocks; ++t) {
        thread[t] = fresh(stacks + (t + 1) * STACK, start);
        state[t] = READY;
        arrived[t] = waited[t] = 0;
    }
    for (int k = 0; k < blocks; ++k) memset(memory[k] = (char*)malloc(nbytes + 1), 0xA5, nbytes);
    const unsigned first = blockIdx.x;
    for (bool going = true; going && !wrong;) {
        for (int k = 0; k < blocks && !wrong; ++k) {
            block = backwards ? blocks - 1 - k : k;
            blockIdx.x = first + (unsigned)block;
            memcpy(__start_shared, memory[block], nbytes);
            if (int found = advance(count, backwards)) wrong = found;
            memcpy(memory[block], __start_shared, nbytes);
        }
        int least = 1 << 30, moved = 0;
        for (int t = 0; t < count * blocks; ++t) if (state[t] != DONE && arrived[t] < least) least = arrived[t];
        going = false;
        for (int t = 0; t < count * blocks; ++t) {
            going |= state[t] != DONE;
            if (state[t] == IN_CLUSTER && waited[t] <= least) state[t] = READY, ++moved;
        }
        if (going && !moved) wrong = 3;
    }
    for (int t = 0; t < count * blocks; ++t) if (arrived[t] != waited[t] && !wrong) wrong = 3;
    for (int k = 0; k < blocks; ++k) free(memory[k]);
    return wrong;
}
inline void arrive() { ++arrived[now]; }
inline void meet() { ++waited[now]; wait(IN_CLUSTER); }
// Where a block of the cluster has what this one has at an address.
template <class T> T* of_block(T* own, int rank) {
    const int first = rank * threads;
    bool runs = waited[now];
    for (int t = first; t < first + threads; ++t) runs &= state[t] != DONE;
    if (!runs) wrong = 4;
    return rank == block ? own : (T*)(memory[rank] + ((char*)own - __start_shared));
}
}
inline void __syncthreads() { fibres::wait(fibres::AT_BARRIER); }
inline void __syncwarp() {}
inline void __threadfence() {}
inline unsigned exchange(unsigned value, int from) {
    fibres::slot[fibres::now] = value;
    fibres::wait(fibres::IN_SHUFFLE);
    const unsigned r = fibres::slot[from];
    fibres::wait(fibres::IN_SHUFFLE);
    return r;
}
inline unsigned __shfl_sync(unsigned, unsigned value, int from, int width = 32) {
    return exchange(value, (fibres::now & ~(width - 1)) + from);
}
inline unsigned __shfl_xor_sync(unsigned, unsigned value, int mask) { return exchange(value, fibres::now ^ mask); }
template <class T, class U> inline T atomicCAS(T* at, U was, U value) { const T old = *at; if (old == (T)was) *at = (T)value; return old; }
template <class T> inline T atomicAdd(T* at, T value) { const T old = *at; *at += value; return old; }
inline unsigned __brev(unsigned x) { return [x]() mutable { unsigned r = 0; for (int k = 0; k < 32; ++k, x >>= 1) r = r << 1 | (x & 1); return r; }(); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline float half_to_float(unsigned short bits) { return (float)__builtin_bit_cast(_Float16, bits); }
template <class T> inline unsigned short to_half(T x) { return __builtin_bit_cast(unsigned short, (_Float16)x); }
