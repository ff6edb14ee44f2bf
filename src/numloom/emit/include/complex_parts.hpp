// Functions of the parts of a complex number.
namespace nl {
template <class T> NL_DEV T abs(complex<T> a) { return hypot(a.re, a.im); }
template <class T> NL_DEV complex<T> rint(complex<T> a) { return make_complex<T>(rint(a.re), rint(a.im)); }
template <class T> NL_DEV bool is_inf(complex<T> a) { return is_inf(a.re) | is_inf(a.im); }
template <class T> NL_DEV bool is_finite(complex<T> a) { return is_finite(a.re) & is_finite(a.im); }
}
