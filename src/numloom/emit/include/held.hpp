// A value that may be absent: reductions without a neutral element.
namespace nl {
template <class T> struct held { T value; bool any; };
template <class T> NL_DEV held<T> hold(T value, bool any) { held<T> r; r.value = value; r.any = any; return r; }
// Products: numbers are their own accumulators, complex ones may be absent.
template <class T> NL_DEV T factor(T x) { return x; }
template <class T> NL_DEV held<complex<T>> factor(complex<T> x) { return hold(x, true); }
template <class T> NL_DEV T times(T a, T b) { return (T)(a * b); }
template <class T> NL_DEV held<T> times(held<T> a, held<T> b) {
    return !a.any ? b : !b.any ? a : hold(a.value * b.value, true);
}
template <class T> NL_DEV T product(T a) { return a; }
template <class T> NL_DEV T product(held<T> a) { return a.value; }
}
