// Sums of complex numbers, part by part.
namespace nl_user {
template <class T> NL_DEV complex<T> atomicAdd(complex<T>* at, typename plain<complex<T> >::type v) {
    return complex<T>(add_any(&at->re, v.re), add_any(&at->im, v.im));
}
template <class T> NL_DEV complex<T> atomicSub(complex<T>* at, typename plain<complex<T> >::type v) {
    return complex<T>(sub_any(&at->re, v.re), sub_any(&at->im, v.im));
}
}
