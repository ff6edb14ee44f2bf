// Arrays of a kernel on the host beside the stack, since a thread may have little; on it where they are small after all, and
// where there is no memory. They are the function's own, as the compiler knows: nothing else reads or writes them.
extern "C" void* malloc(decltype(sizeof(0))) noexcept;
extern "C" void free(void*) noexcept;
namespace nl {
template <class T, bool LARGE = (sizeof(T) > 28672)> struct beside {
    T arrays;
    static constexpr char* block = nullptr;
    __attribute__((always_inline)) T* small() { return &arrays; }
};
template <class T> struct beside<T, true> {
    char* const block = (char*)malloc(sizeof(T) + 64);
    __attribute__((always_inline)) ~beside() { free(block); }
    __attribute__((always_inline)) T* small() { return nullptr; }
};
}
#define NL_BESIDE(T, name) \
    nl::beside<T> name##_held; \
    T* const name = sizeof(T) <= 28672 ? name##_held.small() \
        : name##_held.block ? (T*)(name##_held.block + (-(u64)name##_held.block & 63)) \
        : (T*)__builtin_alloca_with_align(sizeof(T), 512)
