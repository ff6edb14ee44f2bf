// Minimum and maximum with NumPy's NaN and signed-zero rules (no ||: loops stay without branches), and the accumulator
// of arg-reductions.
namespace nl {
#ifdef __CUDACC__
template <class T> NL_DEV T maximum(T a, T b) { return (wide(a) > wide(b)) | (a != a) ? a : b; }
template <class T> NL_DEV T minimum(T a, T b) { return (wide(a) < wide(b)) | (a != a) ? a : b; }
template <class T> NL_DEV T fmax(T a, T b) { return (wide(a) > wide(b)) | (b != b) ? a : b; }
template <class T> NL_DEV T fmin(T a, T b) { return (wide(a) < wide(b)) | (b != b) ? a : b; }
#else
// The same; the inner select is one instruction.
template <class T> NL_DEV T maximum(T a, T b) { T r = a > b ? a : b; return a != a ? a : r; }
template <class T> NL_DEV T minimum(T a, T b) { T r = a < b ? a : b; return a != a ? a : r; }
template <class T> NL_DEV T fmax(T a, T b) { T r = a > b ? a : b; return b != b ? a : r; }
template <class T> NL_DEV T fmin(T a, T b) { T r = a < b ? a : b; return b != b ? a : r; }
#endif
// NumPy's float16 loops keep the first of two zeros.
NL_DEV f32 maximum_f16(f32 a, f32 b) { return (a >= b) | (a != a) ? a : b; }
NL_DEV f32 minimum_f16(f32 a, f32 b) { return (a <= b) | (a != a) ? a : b; }
NL_DEV f32 fmax_f16(f32 a, f32 b) { return (a >= b) | (b != b) ? a : b; }
NL_DEV f32 fmin_f16(f32 a, f32 b) { return (a <= b) | (b != b) ? a : b; }
template <class T> NL_DEV bool is_nan(T a) { return a != a; }
template <class T> NL_DEV bool nonzero(T a) { return a != 0; }
template <class T> struct arg { T value; i64 index; };  // a negative index: nothing yet
template <class T> NL_DEV arg<T> make_arg(T value, i64 index) { arg<T> r; r.value = value; r.index = index; return r; }
template <class T> NL_DEV bool before(arg<T> a, arg<T> b, bool better, bool equal) {
    bool na = is_nan(a.value), nb = is_nan(b.value), first = a.index < b.index;
    bool wins = na ? !nb || first : !nb && (better || (equal && first));
    return a.index >= 0 && (b.index < 0 || wins);
}
template <class T> NL_DEV arg<T> arg_maximum(arg<T> a, arg<T> b) {
    return before(a, b, wide(a.value) > wide(b.value), a.value == b.value) ? a : b;
}
template <class T> NL_DEV arg<T> arg_minimum(arg<T> a, arg<T> b) {
    return before(a, b, wide(a.value) < wide(b.value), a.value == b.value) ? a : b;
}
}
