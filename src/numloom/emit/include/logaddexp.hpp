// log(exp(a) + exp(b)) without overflow.
namespace nl {
template <class T, class... F> NL_DEV T logaddexp(T a, T b, F&... slow) {
    T d = a - b, larger = a > b ? a : b;
    T r = larger + log1p(exp(-fabs(d), slow...), slow...);
    r = d != d ? d : r;
    return a == b ? a + (T)0.693147180559945309417 : r;
}
template <class T, class... F> NL_DEV T logaddexp2(T a, T b, F&... slow) {
    T d = a - b, larger = a > b ? a : b;
    T r = larger + (T)1.44269504088896340736 * log1p(exp2(-fabs(d), slow...), slow...);
    r = d != d ? d : r;
    return a == b ? a + (T)1 : r;
}
}
