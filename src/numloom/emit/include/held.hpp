// A value that may be absent: reductions without a neutral element.
namespace nl {
template <class T> struct held { T value; bool any; };
template <class T> NL_DEV held<T> hold(T value, bool any) { held<T> r; r.value = value; r.any = any; return r; }
}
