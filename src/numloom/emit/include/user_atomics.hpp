// Atomics on every type of 1, 2, 4 or 8 bytes (complex numbers part by part): the processor's own where it has one,
// else a loop of compare and swap on the word that holds the value.
namespace nl_user {
template <int BYTES> struct word_of {};
template <> struct word_of<1> { typedef u8 type; };
template <> struct word_of<2> { typedef u16 type; };
template <> struct word_of<4> { typedef u32 type; };
template <> struct word_of<8> { typedef u64 type; };
#ifdef __CUDACC__
NL_DEV u32 swap_if(u32* at, u32 expected, u32 value) { return ::atomicCAS(at, expected, value); }
NL_DEV u64 swap_if(u64* at, u64 expected, u64 value) { return ::atomicCAS(at, expected, value); }
template <class W> NL_DEV W swap_if(W* at, W expected, W value) {
    u32* word = (u32*)((u64)at & ~3ull);
    const u32 shift = (u32)((u64)at & 3) * 8, mask = ((1u << 8 * sizeof(W)) - 1) << shift;
    u32 old = *(volatile u32*)word;
    for (;;) {
        const W found = (W)((old & mask) >> shift);
        if (found != expected) return found;
        const u32 seen = ::atomicCAS(word, old, (old & ~mask) | (u32)value << shift);
        if (seen == old) return expected;
        old = seen;
    }
}
template <class W> NL_DEV W peek(W* at) { return *(volatile W*)at; }
#else
template <class W> NL_DEV W swap_if(W* at, W expected, W value) {
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class W> NL_DEV W peek(W* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
#endif
template <class A, class B> NL_DEV A same_bits(B b) {
    A a;
#ifdef __CUDACC__
    memcpy(&a, &b, sizeof(A));
#else
    __builtin_memcpy(&a, &b, sizeof(A));
#endif
    return a;
}
template <class T, class F> NL_DEV T update(T* at, F change) {
    typedef typename word_of<sizeof(T)>::type W;
    W old = peek((W*)at);
    for (;;) {
        const T before = same_bits<T>(old);
        const W seen = swap_if((W*)at, old, same_bits<W>(change(before)));
        if (seen == old) return before;
        old = seen;
    }
}
#define NL_UPDATE(name, expression) \
template <class T> struct change_##name { \
    T v; \
    NL_METHOD T operator()(T old) const { return (T)(expression); } \
}; \
template <class T> NL_DEV T name##_any(T* at, T v) { change_##name<T> f; f.v = v; return update(at, f); }
NL_UPDATE(add, old + v)
NL_UPDATE(sub, old - v)
NL_UPDATE(min, v < old ? v : old)
NL_UPDATE(max, old < v ? v : old)
NL_UPDATE(meet, old & v)
NL_UPDATE(join, old | v)
NL_UPDATE(differ, old ^ v)
NL_UPDATE(exchange, v)
NL_UPDATE(increment, old >= v ? T(0) : T(old + 1))
NL_UPDATE(decrement, old == T(0) || v < old ? v : T(old - 1))
#ifdef __CUDACC__
#define NL_NATIVE(name, T, W, function) NL_DEV T name##_any(T* at, T v) { return (T)::function((W*)at, (W)v); }
#define NL_NATIVES(T, W) \
NL_NATIVE(min, T, T, atomicMin) \
NL_NATIVE(max, T, T, atomicMax) \
NL_NATIVE(meet, T, W, atomicAnd) \
NL_NATIVE(join, T, W, atomicOr) \
NL_NATIVE(differ, T, W, atomicXor) \
NL_NATIVE(add, T, W, atomicAdd) \
NL_NATIVE(exchange, T, W, atomicExch) \
NL_DEV T sub_any(T* at, T v) { return (T)::atomicAdd((W*)at, (W)0 - (W)v); }
NL_NATIVES(i32, u32)
NL_NATIVES(u32, u32)
NL_NATIVES(i64, u64)
NL_NATIVES(u64, u64)
NL_NATIVE(add, f32, f32, atomicAdd)
NL_NATIVE(add, f64, f64, atomicAdd)
#else
#define NL_NATIVES(T) \
NL_DEV T add_any(T* at, T v) { return __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST); } \
NL_DEV T sub_any(T* at, T v) { return __atomic_fetch_sub(at, v, __ATOMIC_SEQ_CST); } \
NL_DEV T meet_any(T* at, T v) { return __atomic_fetch_and(at, v, __ATOMIC_SEQ_CST); } \
NL_DEV T join_any(T* at, T v) { return __atomic_fetch_or(at, v, __ATOMIC_SEQ_CST); } \
NL_DEV T differ_any(T* at, T v) { return __atomic_fetch_xor(at, v, __ATOMIC_SEQ_CST); }
NL_NATIVES(i8)
NL_NATIVES(u8)
NL_NATIVES(i16)
NL_NATIVES(u16)
NL_NATIVES(i32)
NL_NATIVES(u32)
NL_NATIVES(i64)
NL_NATIVES(u64)
#endif
// The value's type follows the memory's.
#define NL_ATOMIC(name, function) \
template <class T> NL_DEV T name(T* at, typename plain<T>::type v) { return function##_any(at, v); } \
template <class T> NL_DEV T name##_block(T* at, typename plain<T>::type v) { return function##_any(at, v); } \
template <class T> NL_DEV T name##_system(T* at, typename plain<T>::type v) { return function##_any(at, v); }
NL_ATOMIC(atomicAdd, add)
NL_ATOMIC(atomicSub, sub)
NL_ATOMIC(atomicMin, min)
NL_ATOMIC(atomicMax, max)
NL_ATOMIC(atomicAnd, meet)
NL_ATOMIC(atomicOr, join)
NL_ATOMIC(atomicXor, differ)
NL_ATOMIC(atomicExch, exchange)
NL_ATOMIC(atomicInc, increment)
NL_ATOMIC(atomicDec, decrement)
template <class T> NL_DEV T atomicCAS(T* at, typename plain<T>::type expected, typename plain<T>::type value) {
    typedef typename word_of<sizeof(T)>::type W;
    return same_bits<T>(swap_if((W*)at, same_bits<W>(expected), same_bits<W>(value)));
}
}
