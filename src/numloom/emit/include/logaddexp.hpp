// log(exp(a) + exp(b)) without overflow.
namespace nl {
template <class T> NL_DEV T logaddexp(T a, T b) {
    if (a == b) return a + (T)0.693147180559945309417;
    T d = a - b;
    return d != d ? d : (d > 0 ? a : b) + log1p(exp(d > 0 ? -d : d));
}
template <class T> NL_DEV T logaddexp2(T a, T b) {
    if (a == b) return a + (T)1;
    T d = a - b;
    return d != d ? d : (d > 0 ? a : b) + (T)1.44269504088896340736 * log1p(exp2(d > 0 ? -d : d));
}
}
