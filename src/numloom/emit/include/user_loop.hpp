// Arrays that are indexed freely, and the indices of a loop, in users' texts. Steps count bytes.
namespace nl_user {
template <int N> struct indexer {
    enum { ndim = N };
    i64 count, extents[N ? N : 1];
    ptrdiff_t at[N ? N : 1];
    NL_METHOD i64 size() const { return count; }
    NL_METHOD const i64* shape() const { return extents; }
    NL_METHOD const ptrdiff_t* get() const { return at; }
    NL_METHOD void set(i64 i) {
        if (count < 0x80000000ll) {
            u32 rest = (u32)i;
            for (int d = N - 1; d > 0; --d) {
                const u32 e = (u32)extents[d], q = rest / e;
                at[d] = rest - q * e;
                rest = q;
            }
            at[0] = rest;
            return;
        }
        for (int d = N - 1; d > 0; --d) {
            const i64 q = i / extents[d];
            at[d] = i - q * extents[d];
            i = q;
        }
        at[0] = i;
    }
};
template <int N> NL_DEV i64 offset(const ptrdiff_t* at, const i64* steps) {
    i64 sum = 0;
    for (int d = 0; d < N; ++d) sum += at[d] * steps[d];
    return sum;
}
template <class T, int N, bool DENSE> struct raw_array {
    enum { ndim = N };
    char* memory;
    i64 count, extents[N ? N : 1], steps[N ? N : 1];
    NL_METHOD i64 size() const { return count; }
    NL_METHOD const i64* shape() const { return extents; }
    NL_METHOD const i64* strides() const { return steps; }
    NL_METHOD T* data() const { return (T*)memory; }
    NL_METHOD T& operator[](i64 i) const {
        if (DENSE) return ((T*)memory)[i];
        i64 sum = 0;
        for (int d = N - 1; d > 0; --d) {
            const i64 q = i / extents[d];
            sum += (i - q * extents[d]) * steps[d];
            i = q;
        }
        return *(T*)(memory + sum + (N ? i * steps[0] : 0));
    }
    template <class I> NL_METHOD T& operator[](const I* at) const {
        i64 sum = 0;
        for (int d = 0; d < N; ++d) sum += (i64)at[d] * steps[d];
        return *(T*)(memory + sum);
    }
};
// The same, where the host looks at each index.
template <class T, int N, bool DENSE> struct checked_array : raw_array<T, N, DENSE> {
    const char* name;
#ifndef __CUDACC__
    NL_METHOD T& operator[](i64 i) const {
        if ((u64)i >= (u64)this->count) nl_guard.outside(name, i, this->count);
        return raw_array<T, N, DENSE>::operator[](i);
    }
    template <class I> NL_METHOD T& operator[](const I* at) const {
        for (int d = 0; d < N; ++d)
            if ((u64)(i64)at[d] >= (u64)this->extents[d]) nl_guard.outside(name, (i64)at[d], this->extents[d]);
        return raw_array<T, N, DENSE>::operator[](at);
    }
#endif
};
}
