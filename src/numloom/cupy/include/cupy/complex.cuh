// Complex numbers for kernels of users, by the names of CuPy's header of this name: arithmetic with each other and with
// real numbers, parts, elementary functions.
#pragma once
#define NUMLOOM_BOTH __host__ __device__ inline

template <class T> struct alignas(2 * sizeof(T)) complex {
    typedef T value_type;
    T re, im;
    complex() = default;
    __host__ __device__ complex(T x, T y = T()) : re(x), im(y) {}
    template <class U> __host__ __device__ complex(const complex<U>& z) : re(T(z.re)), im(T(z.im)) {}
    __host__ __device__ T real() const { return re; }
    __host__ __device__ T imag() const { return im; }
    __host__ __device__ void real(T x) { re = x; }
    __host__ __device__ void imag(T y) { im = y; }
    template <class A> __host__ __device__ complex& operator+=(const A& z) { return *this = *this + complex(z); }
    template <class A> __host__ __device__ complex& operator-=(const A& z) { return *this = *this - complex(z); }
    template <class A> __host__ __device__ complex& operator*=(const A& z) { return *this = *this * complex(z); }
    template <class A> __host__ __device__ complex& operator/=(const A& z) { return *this = *this / complex(z); }
};

namespace numloom_complex {
// The part's type of an operation: of two complex numbers the wider one; beside a real number the complex number's own,
// but double beside a double.
template <class A, class B> struct wider { typedef decltype(A() + B()) type; };
template <class T, class A> struct beside { typedef T type; };
template <> struct beside<float, double> { typedef double type; };
// Real numbers alone: other types have no `type`.
template <class A> struct real_number {};
#define NUMLOOM_REAL(A) template <> struct real_number<A> { typedef A type; };
NUMLOOM_REAL(bool) NUMLOOM_REAL(char) NUMLOOM_REAL(signed char) NUMLOOM_REAL(unsigned char)
NUMLOOM_REAL(short) NUMLOOM_REAL(unsigned short) NUMLOOM_REAL(int) NUMLOOM_REAL(unsigned int)
NUMLOOM_REAL(long) NUMLOOM_REAL(unsigned long) NUMLOOM_REAL(long long) NUMLOOM_REAL(unsigned long long)
NUMLOOM_REAL(float) NUMLOOM_REAL(double)
#undef NUMLOOM_REAL
template <class T> NUMLOOM_BOTH complex<T> sum(complex<T> a, complex<T> b) {
    return complex<T>(a.re + b.re, a.im + b.im);
}
template <class T> NUMLOOM_BOTH complex<T> difference(complex<T> a, complex<T> b) {
    return complex<T>(a.re - b.re, a.im - b.im);
}
template <class T> NUMLOOM_BOTH complex<T> product(complex<T> a, complex<T> b) {
    return complex<T>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
// Smith's division, by the larger part of the divisor.
template <class T> NUMLOOM_BOTH complex<T> quotient(complex<T> a, complex<T> b) {
    if (fabs(b.re) >= fabs(b.im)) {
        if (b.re == 0) return complex<T>(a.re / fabs(b.re), a.im / fabs(b.re));
        const T ratio = b.im / b.re, whole = b.re + b.im * ratio;
        return complex<T>((a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole);
    }
    const T ratio = b.re / b.im, whole = b.re * ratio + b.im;
    return complex<T>((a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole);
}
}

#define NUMLOOM_OPERATOR(sign, name)                                                                            \
    template <class A, class B, class C = typename numloom_complex::wider<A, B>::type>                          \
    NUMLOOM_BOTH complex<C> operator sign(const complex<A>& a, const complex<B>& b) {                           \
        return numloom_complex::name<C>(complex<C>(a), complex<C>(b));                                          \
    }                                                                                                           \
    template <class A, class B, class R = typename numloom_complex::real_number<B>::type,                       \
              class C = typename numloom_complex::beside<A, B>::type>                                           \
    NUMLOOM_BOTH complex<C> operator sign(const complex<A>& a, const B& b) {                                    \
        return numloom_complex::name<C>(complex<C>(a), complex<C>(C(b)));                                       \
    }                                                                                                           \
    template <class A, class B, class R = typename numloom_complex::real_number<A>::type,                       \
              class C = typename numloom_complex::beside<B, A>::type>                                           \
    NUMLOOM_BOTH complex<C> operator sign(const A& a, const complex<B>& b) {                                    \
        return numloom_complex::name<C>(complex<C>(C(a)), complex<C>(b));                                       \
    }
NUMLOOM_OPERATOR(+, sum)
NUMLOOM_OPERATOR(-, difference)
NUMLOOM_OPERATOR(*, product)
NUMLOOM_OPERATOR(/, quotient)
#undef NUMLOOM_OPERATOR
template <class T> NUMLOOM_BOTH complex<T> operator+(const complex<T>& z) { return z; }
template <class T> NUMLOOM_BOTH complex<T> operator-(const complex<T>& z) { return complex<T>(-z.re, -z.im); }

template <class A, class B> NUMLOOM_BOTH bool operator==(const complex<A>& a, const complex<B>& b) {
    return a.re == b.re && a.im == b.im;
}
template <class A, class B> NUMLOOM_BOTH bool operator!=(const complex<A>& a, const complex<B>& b) { return !(a == b); }
template <class A, class B, class R = typename numloom_complex::real_number<B>::type>
NUMLOOM_BOTH bool operator==(const complex<A>& a, const B& b) { return a.re == b && a.im == 0; }
template <class A, class B, class R = typename numloom_complex::real_number<B>::type>
NUMLOOM_BOTH bool operator!=(const complex<A>& a, const B& b) { return !(a == b); }

template <class T> NUMLOOM_BOTH T real(const complex<T>& z) { return z.re; }
template <class T> NUMLOOM_BOTH T imag(const complex<T>& z) { return z.im; }
template <class T> NUMLOOM_BOTH complex<T> conj(const complex<T>& z) { return complex<T>(z.re, -z.im); }
template <class T> NUMLOOM_BOTH T norm(const complex<T>& z) { return z.re * z.re + z.im * z.im; }
template <class T> NUMLOOM_BOTH T abs(const complex<T>& z) { return T(hypot(z.re, z.im)); }
template <class T> NUMLOOM_BOTH T arg(const complex<T>& z) { return T(atan2(z.im, z.re)); }
template <class T> NUMLOOM_BOTH complex<T> polar(const T& r, const T& angle = T()) {
    return complex<T>(r * T(cos(angle)), r * T(sin(angle)));
}
template <class T> NUMLOOM_BOTH bool isnan(const complex<T>& z) { return z.re != z.re || z.im != z.im; }
template <class T> NUMLOOM_BOTH bool isinf(const complex<T>& z) {
    return (z.re == z.re && z.re - z.re != 0) || (z.im == z.im && z.im - z.im != 0);
}
template <class T> NUMLOOM_BOTH bool isfinite(const complex<T>& z) { return z.re - z.re == 0 && z.im - z.im == 0; }

template <class T> NUMLOOM_BOTH complex<T> exp(const complex<T>& z) {
    const T size = T(exp(z.re));
    return z.im == 0 ? complex<T>(size, z.im) : complex<T>(size * T(cos(z.im)), size * T(sin(z.im)));
}
template <class T> NUMLOOM_BOTH complex<T> log(const complex<T>& z) { return complex<T>(T(log(abs(z))), arg(z)); }
template <class T> NUMLOOM_BOTH complex<T> log10(const complex<T>& z) {
    const T ten = T(2.302585092994045684);
    return complex<T>(T(log10(abs(z))), arg(z) / ten);
}
template <class T> NUMLOOM_BOTH complex<T> sqrt(const complex<T>& z) {
    if (z.re == 0 && z.im == 0) return complex<T>(T(0), z.im);
    const T size = T(sqrt((T(fabs(z.re)) + abs(z)) / 2)), other = z.im / (2 * size);
    if (z.re >= 0) return complex<T>(size, other);
    return complex<T>(T(fabs(other)), T(copysign(size, z.im)));
}
template <class T> NUMLOOM_BOTH complex<T> sinh(const complex<T>& z) {
    return complex<T>(T(sinh(z.re)) * T(cos(z.im)), T(cosh(z.re)) * T(sin(z.im)));
}
template <class T> NUMLOOM_BOTH complex<T> cosh(const complex<T>& z) {
    return complex<T>(T(cosh(z.re)) * T(cos(z.im)), T(sinh(z.re)) * T(sin(z.im)));
}
template <class T> NUMLOOM_BOTH complex<T> sin(const complex<T>& z) {
    return complex<T>(T(sin(z.re)) * T(cosh(z.im)), T(cos(z.re)) * T(sinh(z.im)));
}
template <class T> NUMLOOM_BOTH complex<T> cos(const complex<T>& z) {
    return complex<T>(T(cos(z.re)) * T(cosh(z.im)), -T(sin(z.re)) * T(sinh(z.im)));
}
// Kahan's: with the tangent of the one part and the sine of the other, as far as these do not overflow.
template <class T> NUMLOOM_BOTH complex<T> tanh(const complex<T>& z) {
    if (T(fabs(z.re)) > 22) {
        const T small = T(exp(-2 * T(fabs(z.re))));
        return complex<T>(T(copysign(T(1), z.re)), 4 * T(sin(z.im)) * T(cos(z.im)) * small);
    }
    const T t = T(tan(z.im)), s = T(sinh(z.re)), beta = 1 + t * t, below = 1 + beta * s * s;
    return complex<T>(beta * T(sqrt(1 + s * s)) * s / below, t / below);
}
template <class T> NUMLOOM_BOTH complex<T> tan(const complex<T>& z) {
    const complex<T> turned = tanh(complex<T>(-z.im, z.re));
    return complex<T>(turned.im, -turned.re);
}
template <class A, class B, class C = typename numloom_complex::wider<A, B>::type>
NUMLOOM_BOTH complex<C> pow(const complex<A>& a, const complex<B>& b) {
    if (a == 0) return b == 0 ? complex<C>(C(1)) : complex<C>(C(0));
    return exp(complex<C>(b) * log(complex<C>(a)));
}
template <class A, class B, class R = typename numloom_complex::real_number<B>::type,
          class C = typename numloom_complex::beside<A, B>::type>
NUMLOOM_BOTH complex<C> pow(const complex<A>& a, const B& b) { return pow(complex<C>(a), complex<C>(C(b))); }
template <class A, class B, class R = typename numloom_complex::real_number<A>::type,
          class C = typename numloom_complex::beside<B, A>::type>
NUMLOOM_BOTH complex<C> pow(const A& a, const complex<B>& b) { return pow(complex<C>(C(a)), complex<C>(b)); }
#undef NUMLOOM_BOTH
