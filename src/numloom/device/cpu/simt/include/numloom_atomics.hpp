// Atomics on any type of 1, 2, 4, 8 or 16 bytes, in global and shared memory.
#pragma once

namespace numloom {

// Replace *at by change(*at) and give the old value.
template <class T, class F> NUMLOOM_UNWATCHED inline T update(T* at, F change) {
    typedef typename Bits<sizeof(T)>::type Raw;
    Raw* const raw = reinterpret_cast<Raw*>(at);
    Raw old = __atomic_load_n(raw, __ATOMIC_RELAXED);
    for (;;) {
        const T value = bits<T>(old);
        const Raw wanted = bits<Raw>(change(value));
        if (__atomic_compare_exchange_n(raw, &old, wanted, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            // A poll such as atomicAdd(p, 0) changes nothing.
            if (wanted == old) spin(at);
            return value;
        }
    }
}

template <class T> NUMLOOM_UNWATCHED inline T exchange(T* at, T value) {
    typedef typename Bits<sizeof(T)>::type Raw;
    const Raw wanted = bits<Raw>(value), old = __atomic_exchange_n(reinterpret_cast<Raw*>(at), wanted, __ATOMIC_SEQ_CST);
    if (wanted == old) spin(at);
    return bits<T>(old);
}

template <class T> NUMLOOM_UNWATCHED inline T compare_exchange(T* at, T expected, T value) {
    typedef typename Bits<sizeof(T)>::type Raw;
    Raw old = bits<Raw>(expected);
    if (!__atomic_compare_exchange_n(
            reinterpret_cast<Raw*>(at), &old, bits<Raw>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        spin(at);
    return bits<T>(old);
}

}  // namespace numloom

#define NUMLOOM_ATOMIC_CHECKED(at) NUMLOOM_ACCESS(at, sizeof *(at), numloom::ACCESS_ATOMIC | numloom::ACCESS_WRITE)

// With and without the scope in the name: one process is one system.
#define NUMLOOM_ATOMIC(name, expression)                                                                    \
    template <class T> NUMLOOM_UNWATCHED inline T name(T* at, numloom::same<T> value, NUMLOOM_SITE) {       \
        NUMLOOM_ATOMIC_CHECKED(at);                                                                         \
        return numloom::update(at, [value](T old) { return T(expression); });                               \
    }
#define NUMLOOM_ATOMICS(name, expression)   \
    NUMLOOM_ATOMIC(name, expression)        \
    NUMLOOM_ATOMIC(name##_block, expression) \
    NUMLOOM_ATOMIC(name##_system, expression)
NUMLOOM_ATOMICS(atomicAdd, old + value)
NUMLOOM_ATOMICS(atomicSub, old - value)
NUMLOOM_ATOMICS(atomicMin, value < old ? value : old)
NUMLOOM_ATOMICS(atomicMax, old < value ? value : old)
NUMLOOM_ATOMICS(atomicAnd, old& value)
NUMLOOM_ATOMICS(atomicOr, old | value)
NUMLOOM_ATOMICS(atomicXor, old ^ value)
NUMLOOM_ATOMICS(atomicInc, old >= value ? 0 : old + 1)
NUMLOOM_ATOMICS(atomicDec, old == 0 || old > value ? value : old - 1)
#undef NUMLOOM_ATOMIC
#undef NUMLOOM_ATOMICS

#define NUMLOOM_EXCHANGE(scope)                                                                                 \
    template <class T> NUMLOOM_UNWATCHED inline T atomicExch##scope(T* at, numloom::same<T> value, NUMLOOM_SITE) { \
        NUMLOOM_ATOMIC_CHECKED(at);                                                                             \
        return numloom::exchange(at, value);                                                                    \
    }                                                                                                           \
    template <class T> NUMLOOM_UNWATCHED inline T atomicCAS##scope(                                             \
        T* at, numloom::same<T> expected, numloom::same<T> value, NUMLOOM_SITE) {                               \
        NUMLOOM_ATOMIC_CHECKED(at);                                                                             \
        return numloom::compare_exchange(at, expected, value);                                                  \
    }
NUMLOOM_EXCHANGE()
NUMLOOM_EXCHANGE(_block)
NUMLOOM_EXCHANGE(_system)
#undef NUMLOOM_EXCHANGE

// Two and four floats at once, each by itself, as on the GPU.
template <> NUMLOOM_UNWATCHED inline float2 atomicAdd<float2>(float2* at, float2 value, const char* site_file, int site_line) {
    return float2{atomicAdd(&at->x, value.x, site_file, site_line), atomicAdd(&at->y, value.y, site_file, site_line)};
}
template <> NUMLOOM_UNWATCHED inline float4 atomicAdd<float4>(float4* at, float4 value, const char* site_file, int site_line) {
    return float4{atomicAdd(&at->x, value.x, site_file, site_line), atomicAdd(&at->y, value.y, site_file, site_line),
                  atomicAdd(&at->z, value.z, site_file, site_line), atomicAdd(&at->w, value.w, site_file, site_line)};
}
