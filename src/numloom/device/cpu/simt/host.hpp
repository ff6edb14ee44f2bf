// Linked into every module: what its host threads know of themselves, and, with checks, what the compiler's
// instrumentation calls. NUMLOOM_DYNAMIC names the arrays that sources declare as `extern __shared__`.
#include "numloom_abi.hpp"

__attribute__((visibility("hidden"))) __thread numloom::Here numloom_here = {};

extern "C" numloom::Here* numloom_here_address() { return &numloom_here; }

#if defined(NUMLOOM_DYNAMIC)
// All of them are the same memory, as in CUDA: several names for one place need the assembler.
asm(".section .tbss,\"awT\",%nobits\n.balign 128\n" NUMLOOM_DYNAMIC
    ".globl numloom_dynamic\n.hidden numloom_dynamic\n.type numloom_dynamic,%object\nnumloom_dynamic:\n.zero 232448\n.text\n");
extern __thread char numloom_dynamic[] __attribute__((visibility("hidden")));
extern "C" char* numloom_dynamic_address() { return numloom_dynamic; }
#else
extern "C" char* numloom_dynamic_address() { return nullptr; }
#endif

#if defined(NUMLOOM_CHECK)
typedef unsigned long size;

static inline void seen(const void* at, long bytes, int kind, const void* code) {
    if (numloom_here.table) numloom_here.table->access(at, bytes, kind, code, numloom::Site{nullptr, 0});
}

#define HERE __builtin_return_address(0)
#define SIZED(bytes)                                                                                                \
    void __tsan_read##bytes(void* at) { seen(at, bytes, numloom::ACCESS_READ, HERE); }                              \
    void __tsan_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }                            \
    void __tsan_unaligned_read##bytes(void* at) { seen(at, bytes, numloom::ACCESS_READ, HERE); }                    \
    void __tsan_unaligned_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }                  \
    void __tsan_volatile_read##bytes(void* at) { seen(at, bytes, numloom::ACCESS_READ, HERE); }                     \
    void __tsan_volatile_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }                   \
    void __tsan_unaligned_volatile_read##bytes(void* at) { seen(at, bytes, numloom::ACCESS_READ, HERE); }           \
    void __tsan_unaligned_volatile_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }         \
    void __tsan_read_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }                       \
    void __tsan_unaligned_read_write##bytes(void* at) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }

extern "C" {
void* __real_malloc(size bytes);
void __real_free(void* memory);
void* __real_memcpy(void* to, const void* from, size bytes);
void* __real_memmove(void* to, const void* from, size bytes);
void* __real_memset(void* to, int value, size bytes);
#pragma GCC visibility push(hidden)
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
void __tsan_read_range(void* at, long bytes) { seen(at, bytes, numloom::ACCESS_READ, HERE); }
void __tsan_write_range(void* at, long bytes) { seen(at, bytes, numloom::ACCESS_WRITE, HERE); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

void* __wrap_malloc(size bytes) {
    return numloom_here.table ? numloom_here.table->allocate(bytes) : __real_malloc(bytes);
}
void __wrap_free(void* memory) {
    if (numloom_here.table) numloom_here.table->release(memory);
    else __real_free(memory);
}
void* __wrap_memcpy(void* to, const void* from, size bytes) {
    seen(from, long(bytes), numloom::ACCESS_READ, HERE);
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size bytes) {
    seen(from, long(bytes), numloom::ACCESS_READ, HERE);
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size bytes) {
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memset(to, value, bytes);
}
// What clang calls instead.
void* __tsan_memcpy(void* to, const void* from, size bytes) {
    seen(from, long(bytes), numloom::ACCESS_READ, HERE);
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size bytes) {
    seen(from, long(bytes), numloom::ACCESS_READ, HERE);
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, size bytes) {
    seen(to, long(bytes), numloom::ACCESS_WRITE, HERE);
    return __real_memset(to, value, bytes);
}
#pragma GCC visibility pop
}
#endif
