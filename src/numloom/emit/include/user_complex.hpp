// Complex numbers in users' texts: arithmetic with each other and with real numbers, parts, elementary functions.
namespace nl_user {
template <class T> struct complex {
    typedef T value_type;
    T re, im;
    NL_METHOD complex() : re(0), im(0) {}
    template <class A, class R = typename real_of<A>::type> NL_METHOD complex(A x) : re((T)x), im(0) {}
    NL_METHOD complex(T x, T y) : re(x), im(y) {}
    template <class U> NL_METHOD complex(const complex<U>& z) : re((T)z.re), im((T)z.im) {}
    template <class U> NL_METHOD complex(const nl::complex<U>& z) : re((T)z.re), im((T)z.im) {}
    NL_METHOD operator nl::complex<T>() const { return nl::make_complex<T>(re, im); }
    NL_METHOD T real() const { return re; }
    NL_METHOD T imag() const { return im; }
    NL_METHOD void real(T x) { re = x; }
    NL_METHOD void imag(T x) { im = x; }
    template <class A> NL_METHOD complex& operator+=(const A& z) { return *this = *this + z; }
    template <class A> NL_METHOD complex& operator-=(const A& z) { return *this = *this - z; }
    template <class A> NL_METHOD complex& operator*=(const A& z) { return *this = *this * z; }
    template <class A> NL_METHOD complex& operator/=(const A& z) { return *this = *this / z; }
};
typedef complex<f32> complex64;
typedef complex<f64> complex128;
// The part's type beside a real number: integers follow the complex number.
template <class T, class A> struct part { typedef T type; };
template <class T> struct part<T, f64> { typedef f64 type; };
template <class A, class B> struct wider { typedef typename both<A, B>::type type; };
#define NL_BOTH_COMPLEX(sign) \
template <class A, class B, class C = typename wider<A, B>::type> \
NL_DEV complex<C> operator sign(const complex<A>& a, const complex<B>& b) { \
    return nl::make_complex<C>(a.re, a.im) sign nl::make_complex<C>(b.re, b.im); }
#define NL_WITH_REAL(sign) \
template <class A, class B, class R = typename real_of<B>::type, class C = typename part<A, B>::type> \
NL_DEV complex<C> operator sign(const complex<A>& a, const B& b) { \
    return nl::make_complex<C>(a.re, a.im) sign nl::make_complex<C>((C)b, 0); } \
template <class A, class B, class R = typename real_of<A>::type, class C = typename part<B, A>::type> \
NL_DEV complex<C> operator sign(const A& a, const complex<B>& b) { \
    return nl::make_complex<C>((C)a, 0) sign nl::make_complex<C>(b.re, b.im); }
NL_BOTH_COMPLEX(+)
NL_BOTH_COMPLEX(-)
NL_BOTH_COMPLEX(*)
NL_BOTH_COMPLEX(/)
NL_WITH_REAL(+)
NL_WITH_REAL(-)
NL_WITH_REAL(*)
NL_WITH_REAL(/)
#define NL_COMPARE(sign) \
template <class A, class B, class C = typename wider<A, B>::type> \
NL_DEV bool operator sign(const complex<A>& a, const complex<B>& b) { \
    return nl::make_complex<C>(a.re, a.im) sign nl::make_complex<C>(b.re, b.im); } \
template <class A, class B, class R = typename real_of<B>::type> \
NL_DEV bool operator sign(const complex<A>& a, const B& b) { \
    return nl::make_complex<A>(a.re, a.im) sign nl::make_complex<A>((A)b, 0); } \
template <class A, class B, class R = typename real_of<A>::type> \
NL_DEV bool operator sign(const A& a, const complex<B>& b) { \
    return nl::make_complex<B>((B)a, 0) sign nl::make_complex<B>(b.re, b.im); }
NL_COMPARE(==)
NL_COMPARE(!=)
NL_COMPARE(<)
NL_COMPARE(<=)
NL_COMPARE(>)
NL_COMPARE(>=)
template <class T> NL_DEV complex<T> operator-(const complex<T>& z) { return complex<T>(-z.re, -z.im); }
template <class T> NL_DEV complex<T> operator+(const complex<T>& z) { return z; }
template <class T> NL_DEV T real(const complex<T>& z) { return z.re; }
template <class T> NL_DEV T imag(const complex<T>& z) { return z.im; }
template <class T, class R = typename real_of<T>::type> NL_DEV T real(T x) { return x; }
template <class T, class R = typename real_of<T>::type> NL_DEV T imag(T x) { return T(0); }
template <class T> NL_DEV complex<T> conj(const complex<T>& z) { return complex<T>(z.re, -z.im); }
template <class T, class R = typename real_of<T>::type> NL_DEV T conj(T x) { return x; }
template <class T> NL_DEV T norm(const complex<T>& z) { return z.re * z.re + z.im * z.im; }
template <class T> NL_DEV T abs(const complex<T>& z) { return nl::abs(nl::make_complex<T>(z.re, z.im)); }
template <class T> NL_DEV T arg(const complex<T>& z) { return nl::atan2(z.im, z.re); }
template <class T> NL_DEV complex<T> polar(T r, T t) { return complex<T>(r * nl::cos(t), r * nl::sin(t)); }
template <class T> NL_DEV bool isnan(const complex<T>& z) { return z.re != z.re || z.im != z.im; }
template <class T> NL_DEV bool isinf(const complex<T>& z) { return nl::is_inf(z.re) || nl::is_inf(z.im); }
template <class T> NL_DEV bool isfinite(const complex<T>& z) { return nl::is_finite(z.re) && nl::is_finite(z.im); }
#define NL_OF_COMPLEX(name) \
template <class T> NL_DEV complex<T> name(const complex<T>& z) { return nl::name(nl::make_complex<T>(z.re, z.im)); }
NL_OF_COMPLEX(sqrt)
NL_OF_COMPLEX(exp)
NL_OF_COMPLEX(exp2)
NL_OF_COMPLEX(expm1)
NL_OF_COMPLEX(log)
NL_OF_COMPLEX(log2)
NL_OF_COMPLEX(log10)
NL_OF_COMPLEX(log1p)
NL_OF_COMPLEX(sin)
NL_OF_COMPLEX(cos)
NL_OF_COMPLEX(tan)
NL_OF_COMPLEX(asin)
NL_OF_COMPLEX(acos)
NL_OF_COMPLEX(atan)
NL_OF_COMPLEX(sinh)
NL_OF_COMPLEX(cosh)
NL_OF_COMPLEX(tanh)
NL_OF_COMPLEX(asinh)
NL_OF_COMPLEX(acosh)
NL_OF_COMPLEX(atanh)
template <class A, class B, class C = typename wider<A, B>::type>
NL_DEV complex<C> pow(const complex<A>& a, const complex<B>& b) {
    return nl::pow(nl::make_complex<C>(a.re, a.im), nl::make_complex<C>(b.re, b.im));
}
template <class A, class B, class R = typename real_of<B>::type>
NL_DEV complex<A> pow(const complex<A>& a, const B& b) { return pow(a, complex<A>((A)b)); }
template <class A, class B, class R = typename real_of<A>::type>
NL_DEV complex<B> pow(const A& a, const complex<B>& b) { return pow(complex<B>((B)a), b); }
}
