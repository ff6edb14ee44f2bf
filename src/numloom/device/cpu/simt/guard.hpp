// Part of runtime.hpp: users' loops that are called by address, whose faults end the loop and not the process.
#pragma once

void watch_signals();

typedef void (*Loop)(const void*, long long, long long);

struct Fault {  // as in faults.py
    int32_t signal, stack;
    uint64_t address, pc, loop;
    int64_t index, count;
    char name[64];  // of the raw array, where an index was looked at
};

Fault first_fault;

struct GuardedCall {
    void* jump[5];
    Loop loop;
    long long* error;
    uint64_t floor;  // the stack of the loop begins here and grows down
    GuardedCall* outer;
};

__thread GuardedCall* guarded __attribute__((tls_model("initial-exec")));

#if defined(__x86_64__)
// An integer division by zero gives 0 and leaves 0; the smallest number by -1 gives itself and leaves 0. The processor
// faults instead, so the handler puts that into the registers and goes on behind the instruction.
bool divided(ucontext_t* context) {
    static const int NAMES[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    greg_t* const r = context->uc_mcontext.gregs;
    const unsigned char* at = reinterpret_cast<const unsigned char*>(r[REG_RIP]);
    bool half = false;
    for (; *at == 0x66 || *at == 0x2e || *at == 0x3e || *at == 0xf2 || *at == 0xf3; ++at) half |= *at == 0x66;
    const unsigned rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    const unsigned operation = *at++, form = *at++;
    const unsigned mode = form >> 6, what = form >> 3 & 7, place = form & 7;
    if ((operation != 0xf6 && operation != 0xf7) || what < 6) return false;
    const int bytes = operation == 0xf6 ? 1 : rex & 8 ? 8 : half ? 2 : 4;
    uint64_t divisor = 0;
    if (mode == 3) {
        // Without a prefix names 4 to 7 of single bytes are second bytes: what they hold is of no matter but for zero.
        const bool second = bytes == 1 && !rex && place >= 4;
        divisor = uint64_t(r[NAMES[second ? place - 4 : place | (rex & 1) << 3]]) >> (second ? 8 : 0);
        memcpy(&divisor, &divisor, sizeof divisor);
    } else {
        uint64_t from = 0;
        bool base = true, relative = false;
        unsigned name = place | (rex & 1) << 3;
        if (place == 4) {
            const unsigned sib = *at++, index = (sib >> 3 & 7) | (rex & 2) << 2;
            if (index != 4) from += uint64_t(r[NAMES[index]]) << (sib >> 6);
            name = (sib & 7) | (rex & 1) << 3;
            base = !(mode == 0 && (sib & 7) == 5);
        } else if (mode == 0 && place == 5) {
            base = false;
            relative = true;
        }
        int32_t far = 0;
        if (mode == 1) far = *reinterpret_cast<const signed char*>(at++);
        else if (mode == 2 || !base) memcpy(&far, at, 4), at += 4;
        from += uint64_t(int64_t(far)) + (base ? uint64_t(r[NAMES[name]]) : relative ? reinterpret_cast<uint64_t>(at) : 0);
        memcpy(&divisor, reinterpret_cast<const void*>(from), size_t(bytes));
    }
    if (bytes < 8) divisor &= (uint64_t(1) << 8 * bytes) - 1;
    const uint64_t whole = divisor ? uint64_t(r[REG_RAX]) : 0;
    if (bytes == 8) r[REG_RAX] = greg_t(whole), r[REG_RDX] = 0;
    else if (bytes == 4) r[REG_RAX] = greg_t(whole & 0xffffffff), r[REG_RDX] = 0;
    else if (bytes == 2) r[REG_RAX] = greg_t((uint64_t(r[REG_RAX]) & ~0xffffull) | (whole & 0xffff)), r[REG_RDX] &= ~0xffffll;
    else r[REG_RAX] = greg_t((uint64_t(r[REG_RAX]) & ~0xffffull) | (whole & 0xff));
    r[REG_RIP] = reinterpret_cast<greg_t>(at);
    return true;
}
#else
bool divided(ucontext_t*) { return false; }
#endif

// In the handler: go on behind a division, or leave the loop.
bool leave_guarded(int number, const siginfo_t* info, ucontext_t* context) {
    if (number == SIGFPE && divided(context)) return true;
    GuardedCall* g = guarded;
    uint64_t pc = 0, sp = 0;
#if defined(__x86_64__)
    pc = uint64_t(context->uc_mcontext.gregs[REG_RIP]);
    sp = uint64_t(context->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    pc = context->uc_mcontext.pc;
    sp = context->uc_mcontext.sp;
#endif
    pthread_mutex_lock(&lock);
    if (!first_fault.signal) {
        const uint64_t at = reinterpret_cast<uint64_t>(info->si_addr);
        first_fault.signal = number;
        first_fault.address = at;
        first_fault.pc = pc;
        first_fault.loop = reinterpret_cast<uint64_t>(g->loop);
        // Near the end of a deep stack: that of threads has 8 MiB, and some have less.
        first_fault.stack = number == SIGSEGV && g->floor - sp > (64 << 10) && at + (64 << 10) > sp && at < sp + (64 << 10);
    }
    pthread_mutex_unlock(&lock);
    __atomic_store_n(g->error, -1ll, __ATOMIC_RELEASE);
    __builtin_longjmp(g->jump, 1);
}

// A checked index that is none: leave the loop.
void leave_outside(const char* name, long long index, long long count, const void* pc) {
    GuardedCall* g = guarded;
    pthread_mutex_lock(&lock);
    if (!first_fault.signal) {
        first_fault.signal = SIGSEGV;
        first_fault.pc = reinterpret_cast<uint64_t>(pc) - 1;
        first_fault.loop = reinterpret_cast<uint64_t>(g->loop);
        first_fault.index = index;
        first_fault.count = count;
        copy_text(first_fault.name, sizeof first_fault.name, name);
    }
    pthread_mutex_unlock(&lock);
    __atomic_store_n(g->error, -1ll, __ATOMIC_RELEASE);
    __builtin_longjmp(g->jump, 1);
}

__thread bool has_signal_stack __attribute__((tls_model("initial-exec")));
pthread_key_t signal_stacks;
pthread_once_t signal_stacks_once = PTHREAD_ONCE_INIT;

void drop_signal_stack(void* memory) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    free(memory);
}

// A thread's handlers need a stack of their own where its own is used up; it is kept as long as the thread.
void give_signal_stack() {
    has_signal_stack = true;
    stack_t own = {};
    sigaltstack(nullptr, &own);
    if (!(own.ss_flags & SS_DISABLE)) return;
    pthread_once(&signal_stacks_once, [] { pthread_key_create(&signal_stacks, drop_signal_stack); });
    own.ss_sp = malloc(SIGNAL_STACK);
    own.ss_size = SIGNAL_STACK;
    own.ss_flags = 0;
    if (!own.ss_sp) return;
    pthread_setspecific(signal_stacks, own.ss_sp);
    sigaltstack(&own, nullptr);
}

__attribute__((noinline)) void run_guarded(Loop loop, const void* params, long long begin, long long end, long long* error) {
    if (!has_signal_stack) give_signal_stack();
    watch_signals();
    GuardedCall g;
    g.loop = loop;
    g.error = error;
    g.floor = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    g.outer = guarded;
    if (!__builtin_setjmp(g.jump)) {
        guarded = &g;
        loop(params, begin, end);
    }
    guarded = g.outer;
}
