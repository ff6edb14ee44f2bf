// Part of runtime.hpp: from one stack to another.
#pragma once

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.type numloom_switch,@function
numloom_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size numloom_switch,.-numloom_switch
)");
extern "C" __attribute__((visibility("hidden"))) void numloom_switch(void** save, void* to);

void* fresh(char* top, void (*entry)()) {
    void** sp = reinterpret_cast<void**>(top);
    *--sp = nullptr;  // where entry would return to; it also aligns the stack as after a call
    *--sp = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--sp = nullptr;
    return sp;
}
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.type numloom_switch,%function
numloom_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size numloom_switch,.-numloom_switch
)");
extern "C" __attribute__((visibility("hidden"))) void numloom_switch(void** save, void* to);

void* fresh(char* top, void (*entry)()) {
    void** sp = reinterpret_cast<void**>(top - 160);
    memset(sp, 0, 160);
    sp[11] = reinterpret_cast<void*>(entry);  // x30
    return sp;
}
#else
// Anywhere else the system switches, with two system calls each time. A context lies at the top of its stack.
void numloom_switch(void** save, void* to) {
    ucontext_t own;
    *save = &own;
    swapcontext(&own, static_cast<ucontext_t*>(to));
}

void* fresh(char* top, void (*entry)()) {
    ucontext_t* context = reinterpret_cast<ucontext_t*>(top - ((sizeof(ucontext_t) + 255) & ~size_t(255)));
    getcontext(context);
    context->uc_stack.ss_sp = top - STACK;
    context->uc_stack.ss_size = reinterpret_cast<char*>(context) - (top - STACK);
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}
#endif

size_t page() {
    static size_t bytes;
    if (!bytes) bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}
