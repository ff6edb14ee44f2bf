// CUDA C++ on the host: included before every source of a user. The runtime behind it is runtime.hpp.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <type_traits>

#include "numloom_abi.hpp"

// ---------------------------------------------------------------- keywords

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ 900
#define CUDART_VERSION 13000
#define NUMLOOM_CPU 1

#define __global__ __attribute__((noinline, annotate("numloom_global")))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ thread_local
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __nv_pure__
#define asm static_assert(false, "inline PTX assembly runs on a GPU only: keep it from the CPU by #ifndef NUMLOOM_CPU"); asm_

extern __thread numloom::Here numloom_here __attribute__((visibility("hidden")));

#define threadIdx (numloom_here.numloom_thread)
#define blockIdx (numloom_here.numloom_block)
#define blockDim (numloom_here.numloom_block_dim)
#define gridDim (numloom_here.numloom_grid_dim)
static constexpr int warpSize = 32;

// The caller's place, as the last parameters of what may have to be reported.
#define NUMLOOM_SITE const char *site_file = __builtin_FILE(), int site_line = __builtin_LINE()
#define NUMLOOM_HERE (numloom::Site{site_file, site_line})
#if defined(NUMLOOM_CHECK)
#if defined(__clang__)
#define NUMLOOM_UNWATCHED __attribute__((disable_sanitizer_instrumentation, noinline))
#else
#define NUMLOOM_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#endif
#define NUMLOOM_ACCESS(at, bytes, kind) \
    numloom_here.table->access((const void*)(at), (bytes), (kind), __builtin_return_address(0), NUMLOOM_HERE)
#else
#define NUMLOOM_UNWATCHED
#define NUMLOOM_ACCESS(at, bytes, kind) ((void)site_file, (void)site_line)
#endif

#include "numloom_vectors.hpp"

namespace numloom {

template <class T> struct Same { typedef T type; };
template <class T> using same = typename Same<T>::type;  // a parameter that takes no part in deduction

template <int BYTES> struct Bits;
template <> struct Bits<1> { typedef unsigned char type; };
template <> struct Bits<2> { typedef unsigned short type; };
template <> struct Bits<4> { typedef unsigned type; };
template <> struct Bits<8> { typedef unsigned long long type; };
template <> struct Bits<16> { typedef unsigned __int128 type; };

template <class To, class From> inline To bits(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "types of one size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// The thread looks at `at` again and nothing has changed: others may have to run for that.
inline void spin(const void* at) {
    Here& here = numloom_here;
    if (here.spun != at) {
        here.spun = at;
        here.turns = here.alone = 0;
    } else if (++here.turns >= 64)
        here.table->yield();
}

[[noreturn]] inline void fail(const char* text, Site site) {
    numloom_here.table->fail(text, site);
    __builtin_unreachable();
}

[[noreturn]] inline void failed_assertion(const char* condition, const char* function, const char* file, int line) {
    char text[768];
    snprintf(text, sizeof text, "assertion `%s' failed in %s", condition, function);
    fail(text, Site{file, line});
}

}  // namespace numloom

#include "assert.h"

// ---------------------------------------------------------------- barriers, fences, time

inline void __syncthreads(NUMLOOM_SITE) { numloom_here.table->barrier(numloom::BARRIER_PLAIN, 0, NUMLOOM_HERE); }
inline int __syncthreads_count(int predicate, NUMLOOM_SITE) {
    return numloom_here.table->barrier(numloom::BARRIER_COUNT, predicate, NUMLOOM_HERE);
}
inline int __syncthreads_and(int predicate, NUMLOOM_SITE) {
    return numloom_here.table->barrier(numloom::BARRIER_AND, predicate, NUMLOOM_HERE);
}
inline int __syncthreads_or(int predicate, NUMLOOM_SITE) {
    return numloom_here.table->barrier(numloom::BARRIER_OR, predicate, NUMLOOM_HERE);
}
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    numloom::spin(nullptr);
}
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { numloom_here.table->yield(); }

[[noreturn]] inline void __trap(NUMLOOM_SITE) { numloom::fail("__trap", NUMLOOM_HERE); }
inline void __brkpt() {}
inline long long clock64() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}
inline unsigned long long __globaltimer() { return (unsigned long long)clock64(); }
#define __builtin_assume(condition) ((void)0)
#define __nv_ptx_builtin_ocg_dummy() ((void)0)

#include "numloom_warp.hpp"
#include "numloom_atomics.hpp"
#include "numloom_intrinsics.hpp"
#include "numloom_texture.hpp"

// ---------------------------------------------------------------- what runs on a GPU only

namespace numloom {
template <class T> struct OnGpuOnly { static constexpr bool here = false; };
}  // namespace numloom

#define NUMLOOM_TEXTURE(name)                                                                                        \
    template <class T = void, class... A> inline T name(A...) {                                                      \
        static_assert(numloom::OnGpuOnly<T>::here, #name " runs on a GPU only: on the CPU there are tex1Dfetch, "   \
                                                          "tex1D, tex2D, tex3D and layers, without levels");         \
        return T();                                                                                                  \
    }
NUMLOOM_TEXTURE(tex1DLod)
NUMLOOM_TEXTURE(tex1DGrad)
NUMLOOM_TEXTURE(tex2DLod)
NUMLOOM_TEXTURE(tex2DGrad)
NUMLOOM_TEXTURE(tex2Dgather)
NUMLOOM_TEXTURE(tex3DLod)
NUMLOOM_TEXTURE(tex3DGrad)
NUMLOOM_TEXTURE(texCubemap)
NUMLOOM_TEXTURE(surfCubemapread)
NUMLOOM_TEXTURE(surfCubemapwrite)

// ---------------------------------------------------------------- how a kernel is called and found

namespace numloom {

struct Entry {  // as in module.py
    const char* name;
    void* address;
    void (*call)(void* function, void* const* arguments);
    const int* sizes;
    int count;
    long bytes;  // of a variable
};

template <class T> struct Parameter {
    NUMLOOM_UNWATCHED static T& of(void* at) { return *static_cast<T*>(at); }
};
template <class T> struct Parameter<T&> {
    static_assert(OnGpuOnly<T>::here, "a kernel's parameters are values or pointers, not references");
};

template <class... A> struct EntryCall {
    template <int... I> struct Indices {};
    template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
    template <int... I> struct Count<0, I...> { typedef Indices<I...> type; };
    template <int... I>
    NUMLOOM_UNWATCHED static void spread(void (*function)(A...), void* const* arguments, Indices<I...>) {
        function(Parameter<A>::of(arguments[I])...);
    }
    NUMLOOM_UNWATCHED static void call(void* function, void* const* arguments) {
        spread(reinterpret_cast<void (*)(A...)>(function), arguments, typename Count<sizeof...(A)>::type());
    }
    static constexpr int sizes[] = {int(sizeof(A))..., 0};
};

template <class... A> inline Entry entry(const char* name, void (*function)(A...)) {
    return Entry{name, reinterpret_cast<void*>(function), EntryCall<A...>::call, EntryCall<A...>::sizes, int(sizeof...(A)), 0};
}
template <class T> inline typename std::enable_if<!std::is_function<T>::value, Entry>::type entry(const char* name, T* variable) {
    return Entry{name, const_cast<void*>(static_cast<const volatile void*>(variable)), nullptr, nullptr, 0, long(sizeof(T))};
}
template <class T> inline typename std::enable_if<!std::is_function<T>::value && !std::is_pointer<T>::value, Entry>::type
entry(const char* name, T& variable) {
    return entry(name, &variable);
}

}  // namespace numloom
