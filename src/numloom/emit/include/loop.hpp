// Functions with a rare branch, for loops: nl::loop_f(x) is nl::f(x). GCC calls the versions for vectors of a function that
// is declared simd, by the names of x86-64's vector ABI; here they are. Where some numbers of a vector need the slow path,
// these are computed again one by one.
#if defined(__CUDACC__) || !defined(__x86_64__) || defined(__clang__)
#define NL_LOOP(name) namespace nl { template <class T> NL_DEV T loop_##name(T x) { return name(x); } }
#else
#define NL_HIDDEN extern "C" __attribute__((weak, visibility("hidden")))
#define NL_VARIANT(name, type, isa, lanes) \
typedef type type##x##lanes##name __attribute__((vector_size(lanes * sizeof(type)))); \
NL_HIDDEN type##x##lanes##name _ZGV##isa##N##lanes##v_nl_##name##_##type(type##x##lanes##name x) noexcept { \
    alignas(sizeof(x)) type from[lanes], to[lanes]; \
    *(decltype(x)*)from = x; \
    _Pragma("omp simd") for (int k = 0; k < lanes; ++k) to[k] = nl::fast_##name(from[k]); \
    int slow = 0; \
    for (int k = 0; k < lanes; ++k) slow |= !nl::is_ordinary(from[k]); \
    if (__builtin_expect(slow, 0)) for (int k = 0; k < lanes; ++k) if (!nl::is_ordinary(from[k])) to[k] = nl::slow_##name(from[k]); \
    return *(decltype(x)*)to; \
}
#ifdef __AVX512F__
#define NL_VARIANTS512(name) NL_VARIANT(name, f32, e, 16) NL_VARIANT(name, f64, e, 8)
#else
#define NL_VARIANTS512(name)
#endif
#if defined(__AVX2__)
#define NL_VARIANTS256(name) NL_VARIANT(name, f32, d, 8) NL_VARIANT(name, f64, d, 4)
#elif defined(__AVX__)
#define NL_VARIANTS256(name) NL_VARIANT(name, f32, c, 8) NL_VARIANT(name, f64, c, 4)
#else
#define NL_VARIANTS256(name)
#endif
#define NL_LOOP1(name, type) \
extern "C" __attribute__((simd("notinbranch"), const)) type nl_##name##_##type(type) noexcept; \
NL_HIDDEN type nl_scalar_##name##_##type(type x) noexcept asm("nl_" #name "_" #type); \
NL_HIDDEN type nl_scalar_##name##_##type(type x) noexcept { return nl::name(x); } \
namespace nl { NL_DEV type loop_##name(type x) { return ::nl_##name##_##type(x); } }
#define NL_LOOP(name) NL_VARIANT(name, f32, b, 4) NL_VARIANT(name, f64, b, 2) NL_VARIANTS256(name) NL_VARIANTS512(name) \
NL_LOOP1(name, f32) NL_LOOP1(name, f64)
#endif
