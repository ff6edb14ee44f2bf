// A value that may be absent: reductions without an identity.
namespace nl {
template <class T> struct optional { T value; bool any; };
template <class T> NL_DEV optional<T> make_optional(T value, bool any) { optional<T> r; r.value = value; r.any = any; return r; }
// Products: numbers are their own accumulators, complex ones may be absent.
template <class T> NL_DEV T factor(T x) { return x; }
template <class T> NL_DEV optional<complex<T>> factor(complex<T> x) { return make_optional(x, true); }
template <class T> NL_DEV T times(T a, T b) { return (T)(a * b); }
template <class T> NL_DEV optional<T> times(optional<T> a, optional<T> b) {
    return !a.any ? b : !b.any ? a : make_optional(a.value * b.value, true);
}
template <class T> NL_DEV T product(T a) { return a; }
template <class T> NL_DEV T product(optional<T> a) { return a.value; }
}
