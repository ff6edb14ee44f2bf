// What users' texts see: NumPy's names of types, float16 and complex numbers with arithmetic. Their own text stands in
// a namespace inside of this one, so that what they define goes before what is here, and both before CUDA's.
#ifdef __CUDACC__
#define NL_METHOD __device__ __forceinline__
#else
#define NL_METHOD inline __attribute__((always_inline))
#define __device__
#define __host__
#define __constant__ static
#define __shared__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Which CUDA has without a header.
#ifndef assert
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
#define __trap() __builtin_trap()
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_E 2.71828182845904523536
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_LOG2E 1.44269504088896340736
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY ((float)NL_INFINITY)
#endif
#ifndef NAN
#define NAN ((float)NL_NAN)
#endif
#ifndef INT_MAX
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-9223372036854775807ll - 1)
#define ULLONG_MAX 18446744073709551615ull
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#endif
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
namespace nl_user {
typedef i8 int8;
typedef u8 uint8;
typedef i16 int16;
typedef u16 uint16;
typedef i32 int32;
typedef u32 uint32;
typedef i64 int64;
typedef u64 uint64;
typedef f32 float32;
typedef f64 float64;
typedef i8 int8_t;
typedef u8 uint8_t;
typedef i16 int16_t;
typedef u16 uint16_t;
typedef i32 int32_t;
typedef u32 uint32_t;
typedef i64 int64_t;
typedef u64 uint64_t;
typedef bool bool_;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef decltype(sizeof(0)) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
struct float16;
// The type a function of real numbers gives, and the one it computes in: integers go through double.
template <class T> struct real_of {};
template <class T> struct real_of<const T> : real_of<T> {};
#define NL_REAL(T, R, C) template <> struct real_of<T> { typedef R type; typedef C compute; };
NL_REAL(bool, f64, f64)
NL_REAL(char, f64, f64)
NL_REAL(signed char, f64, f64)
NL_REAL(unsigned char, f64, f64)
NL_REAL(short, f64, f64)
NL_REAL(unsigned short, f64, f64)
NL_REAL(int, f64, f64)
NL_REAL(unsigned int, f64, f64)
NL_REAL(long, f64, f64)
NL_REAL(unsigned long, f64, f64)
NL_REAL(long long, f64, f64)
NL_REAL(unsigned long long, f64, f64)
NL_REAL(f32, f32, f32)
NL_REAL(f64, f64, f64)
NL_REAL(float16, float16, f32)
template <class A, class B> struct same { enum { value = 0 }; };
template <class A> struct same<A, A> { enum { value = 1 }; };
template <bool C, class T> struct only_if {};
template <class T> struct only_if<true, T> { typedef T type; };
template <class T> struct plain { typedef T type; };
struct float16 {
    f16 half;
    float16() = default;
    template <class T, class R = typename real_of<T>::type> NL_METHOD float16(T x) : half(nl::f32_to_f16((f32)x)) {}
    NL_METHOD float16(f32 x) : half(nl::f32_to_f16(x)) {}
    NL_METHOD float16(f64 x) : half(nl::f32_to_f16(nl::round_f16(x))) {}
    NL_METHOD float16(f16 x) : half(x) {}
    NL_METHOD operator f32() const { return nl::f16_to_f32(half); }
    NL_METHOD float16& operator+=(f32 x) { return *this = float16((f32)*this + x); }
    NL_METHOD float16& operator-=(f32 x) { return *this = float16((f32)*this - x); }
    NL_METHOD float16& operator*=(f32 x) { return *this = float16((f32)*this * x); }
    NL_METHOD float16& operator/=(f32 x) { return *this = float16((f32)*this / x); }
    NL_METHOD float16& operator++() { return *this += 1.0f; }
    NL_METHOD float16& operator--() { return *this -= 1.0f; }
    NL_METHOD float16 operator++(int) { float16 r = *this; *this += 1.0f; return r; }
    NL_METHOD float16 operator--(int) { float16 r = *this; *this -= 1.0f; return r; }
};
// The common type of two real numbers.
template <class A, class B> struct both { typedef decltype(true ? A() : B()) type; };
template <> struct both<float16, float16> { typedef float16 type; };
template <class B> struct both<float16, B> { typedef typename both<f32, B>::type type; };
template <class A> struct both<A, float16> { typedef typename both<A, f32>::type type; };
// A function's result by two arguments: float16 stays only with itself, integers become double.
template <class A, class B> struct real_of2 { typedef typename real_of<typename both<A, B>::type>::type type; };
NL_DEV float16 value_of(f32 x, float16*) { return float16(x); }
template <class T> NL_DEV T value_of(T x, T*) { return x; }
}
