// Runs the blocks of a grid: the threads of a block are fibres of one host thread, blocks run on several.
//
// A fibre runs thread after thread until one has to wait; that thread keeps the fibre, and another fibre goes on with
// those that have not begun. So a kernel that never waits is a plain loop over its threads, and one with barriers
// costs a switch of stacks (some ten nanoseconds) each time a thread waits. Who waits for what is known at any time:
// when nobody can run, that is reported, and nothing ever hangs in a barrier.
//
// Nothing of libstdc++ is used: this is built like every kernel of the host.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "numloom_abi.hpp"

namespace numloom {
namespace {

constexpr int MOST = 1024;              // threads of a block
constexpr size_t STACK = 640 << 10;     // of a fibre: local memory as on a GPU; what is never touched costs nothing
constexpr size_t SIGNAL_STACK = 64 << 10;
constexpr int MOST_GUARDS = 16384;      // each is a mapping, of which a process may have about 65,000
constexpr int KEPT_WORKERS = 64;
constexpr unsigned FRUITLESS = 1u << 22;  // turns of a thread that spins alone before it is given up

enum Check : int { BOUNDS = 1, RACES = 2, BARRIERS_TOO = 4 };
enum Code : int { NONE, TEXT, OUT_OF_BOUNDS, RACE, DIVERGENCE, DEADLOCK, FAULT, SYSTEM };

struct Error {  // as in report.py
    int code;
    int line, other_line;
    int write, other_write;
    int argument;
    int signal;
    unsigned thread[3], other_thread[3], block[3];
    uint64_t pc, other_pc, address, image;
    int64_t bytes, offset;
    char file[256], other_file[256];
    char text[1024];
};

struct Region {  // the memory of an argument
    uint64_t begin, end;
    int64_t argument;
};

struct SimtLaunch {  // as in module.py
    void (*call)(void* function, void* const* arguments);
    void* function;
    void* const* arguments;
    Here* (*here)();
    char* (*dynamic)();
    unsigned grid[3], block[3];
    uint64_t shared;
    int32_t cooperative, check, strict, spare;
    const Region* regions;
    int64_t region_count;
    uint64_t margin;
    Error* error;
    int32_t stop, arrived, left, generation;
};

struct Fibre {
    void* sp;
    char* base;  // guard page included
    Fibre* next;
};

enum State : uint8_t { RUNS, AT_BARRIER, IN_WARP, AT_ACTIVE, DONE };

struct Thread {
    Fibre* fibre;
    State state;
    int8_t kind;
    int result;
    unsigned mask;
    uint3 index;
    const char* what;
    Site site;
};

struct Group {
    unsigned mask, arrived;
    Finish finish;
};

struct Warp {
    unsigned gone;  // lanes that have returned, or never were
    int groups;
    Group group[32];
    void* request[32];
    uint32_t clock[32][32];  // [lane][other]: how far lane knows of other, for races
};

// Who touched a byte of shared memory last.
struct Mark {
    uint32_t epoch;
    int16_t writer, reader[2];
    uint8_t atomic_write, atomic_read[2];
    uint32_t write_clock, read_clock[2];
    uint32_t write_pc, read_pc[2];
};

struct Pending {  // a second write of one byte, a race unless it writes the same
    unsigned char* at;
    long bytes;
    unsigned char before[32];
    Mark mark;
    const void* code;
    int thread;
};

struct LoadedImage {
    uint64_t begin, end;
    uint64_t tls_begin, tls_end;
    const void* inside;
};

struct Allocation {
    uint64_t begin, end;
    Allocation* next;
};

struct Worker {
    Thread threads[MOST];
    Warp warps[MOST / 32];
    int queue[MOST];
    int head, queued;
    int count, started, alive, waiting, asking;
    int predicate_count, now;
    bool predicate_and, predicate_or, broken;
    Fibre *fibre, *idle, *all;
    void* scheduler;
    SimtLaunch* launch;
    Here* here;
    uint3 block;
    char* signal_stack;
    Worker* next;
    // for checks
    LoadedImage image;
    uint64_t dynamic_begin, dynamic_end;
    Mark *marks, *dynamic_marks;
    size_t mark_count, dynamic_mark_count;
    uint32_t epoch;
    Pending pending;
    const void* read_last;
    unsigned read_again;
};

__thread Worker* current __attribute__((tls_model("initial-exec")));
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Worker* workers;
int workers_kept;
int guards;
Allocation* allocations;

#include "switching.hpp"

// ---------------------------------------------------------------- errors

void copy_text(char* to, size_t room, const char* from) {
    snprintf(to, room, "%s", from ? from : "");
}

void copy3(unsigned* to, uint3 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

// The launch's error record, if this is the first.
Error* claim(Worker* w, int code, Site site) {
    int none = 0;
    if (!__atomic_compare_exchange_n(&w->launch->stop, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return nullptr;
    Error* e = w->launch->error;
    memset(e, 0, sizeof *e);
    e->code = code;
    e->line = site.line;
    copy_text(e->file, sizeof e->file, site.file);
    e->argument = -1;
    copy3(e->block, w->block);
    if (w->now >= 0) copy3(e->thread, w->threads[w->now].index);
    e->image = w->image.begin;
    return e;
}

[[noreturn]] void leave(Worker* w) {
    w->broken = true;
    void* dead;
    numloom_switch(&dead, w->scheduler);
    __builtin_unreachable();
}

void fail(const char* text, Site site) {
    Worker* w = current;
    if (Error* e = claim(w, TEXT, site)) copy_text(e->text, sizeof e->text, text);
    leave(w);
}

// ---------------------------------------------------------------- threads

void push(Worker* w, int t) {
    w->threads[t].state = RUNS;
    w->queue[(w->head + w->queued++) & (MOST - 1)] = t;
}

int pop(Worker* w) {
    const int t = w->queue[w->head];
    w->head = (w->head + 1) & (MOST - 1);
    --w->queued;
    return t;
}

void enter(Worker* w, int t) {
    w->now = t;
    w->here->numloom_thread = w->threads[t].index;
    w->here->lane = t & 31;
    w->here->turns = w->here->alone = 0;
}

uint64_t blocks_of(const SimtLaunch* launch) { return uint64_t(launch->grid[0]) * launch->grid[1] * launch->grid[2]; }

void settle(Worker* w);

// The running thread waits; whoever makes it ready has pushed it.
void suspend(Worker* w) {
    if (w->pending.at) settle(w);
    const int t = w->now;
    Fibre* f = w->fibre;
    w->threads[t].fibre = f;
    numloom_switch(&f->sp, w->scheduler);
}

void yield() {
    Worker* w = current;
    w->here->turns = 0;
    if (__atomic_load_n(&w->launch->stop, __ATOMIC_RELAXED)) leave(w);
    if (w->queued == 0 && w->started == w->count) {
        // Nobody else in this block can run; another block may be what this one waits for.
        if (w->here->spun && ++w->here->alone > FRUITLESS && blocks_of(w->launch) == 1) {
            if (Error* e = claim(w, DEADLOCK, Site{nullptr, 0}))
                copy_text(e->text, sizeof e->text, "a thread waits, by an atomic operation, for what no other thread can do any more");
            leave(w);
        }
        sched_yield();
        return;
    }
    push(w, w->now);
    suspend(w);
}

void say_where(Worker* w, char* to, size_t room) {
    // Up to eight groups of threads that wait at the same place.
    struct Place { Site site; State state; const char* what; int count; int first; } place[8];
    int places = 0, returned = 0;
    for (int t = 0; t < w->count; ++t) {
        const Thread& thread = w->threads[t];
        if (thread.state == DONE) { ++returned; continue; }
        int p = 0;
        while (p < places && !(place[p].site.line == thread.site.line && place[p].what == thread.what)) ++p;
        if (p == places) {
            if (places == 8) continue;
            place[places++] = Place{thread.site, thread.state, thread.what, 0, t};
        }
        ++place[p].count;
    }
    size_t used = 0;
    for (int p = 0; p < places && used + 1 < room; ++p) {
        const uint3 i = w->threads[place[p].first].index;
        used += snprintf(to + used, room - used, "%s%d thread%s (the first is (%u, %u, %u)) wait%s in %s at line %d",
                         p ? "; " : "", place[p].count, place[p].count == 1 ? "" : "s", i.x, i.y, i.z,
                         place[p].count == 1 ? "s" : "", place[p].what, place[p].site.line);
    }
    if (returned && used + 1 < room)
        snprintf(to + used, room - used, "; %d thread%s returned", returned, returned == 1 ? " has" : "s have");
}

void report_waiting(Worker* w, int code, Site site, const char* start) {
    if (Error* e = claim(w, code, site)) {
        const size_t used = snprintf(e->text, sizeof e->text, "%s: ", start);
        say_where(w, e->text + used, sizeof e->text - used);
    }
}

// ---------------------------------------------------------------- block barriers

const char* const BARRIERS[] = {"__syncthreads", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"};

// Everyone who is left is there. `self` goes on at once.
void open_barrier(Worker* w, int self) {
    int kind = -1, line = -1, first = -1;
    bool same_kind = true, same_line = true;
    for (int t = 0; t < w->count; ++t) {
        const Thread& thread = w->threads[t];
        if (thread.state != AT_BARRIER) continue;
        if (first < 0) first = t, kind = thread.kind, line = thread.site.line;
        same_kind &= thread.kind == kind;
        same_line &= thread.site.line == line;
    }
    const bool left = w->alive < w->count;
    if (!same_kind || ((w->launch->check & BARRIERS_TOO) && (!same_line || left))) {
        const char* why = same_line && same_kind ? "some threads returned before a barrier that others wait at"
                                                 : "threads of one block wait at different barriers";
        report_waiting(w, DIVERGENCE, w->threads[first].site, why);
        if (self >= 0) leave(w);
        w->broken = true;
        return;
    }
    for (int t = 0; t < w->count; ++t) {
        Thread& thread = w->threads[t];
        if (thread.state != AT_BARRIER) continue;
        thread.result = kind == BARRIER_COUNT ? w->predicate_count : kind == BARRIER_AND ? w->predicate_and : w->predicate_or;
        if (t == self) thread.state = RUNS;
        else push(w, t);
    }
    w->waiting = 0;
    w->predicate_count = 0;
    w->predicate_and = true;
    w->predicate_or = false;
    ++w->epoch;
}

int barrier(int kind, int predicate, Site site) {
    Worker* w = current;
    if (w->pending.at) settle(w);
    const int t = w->now;
    Thread& thread = w->threads[t];
    thread.state = AT_BARRIER;
    thread.kind = static_cast<int8_t>(kind);
    thread.site = site;
    thread.what = BARRIERS[kind];
    w->predicate_count += predicate != 0;
    w->predicate_and &= predicate != 0;
    w->predicate_or |= predicate != 0;
    if (++w->waiting == w->alive) open_barrier(w, t);
    else suspend(w);
    return thread.result;
}

// ---------------------------------------------------------------- warps

void join_clocks(Warp& warp, unsigned lanes) {
    uint32_t latest[32] = {};
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        ++warp.clock[lane][lane];
        for (int k = 0; k < 32; ++k)
            if (warp.clock[lane][k] > latest[k]) latest[k] = warp.clock[lane][k];
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        memcpy(warp.clock[lane], latest, sizeof latest);
    }
}

// Finish a group whose lanes are all there; `self` (a thread or -1) goes on at once.
void complete(Worker* w, int number, int at, int self) {
    Warp& warp = w->warps[number];
    const Group group = warp.group[at];
    warp.group[at] = warp.group[--warp.groups];
    group.finish(warp.request, group.arrived);
    if (w->launch->check) join_clocks(warp, group.arrived);
    for (unsigned rest = group.arrived; rest; rest &= rest - 1) {
        const int t = number * 32 + __builtin_ctz(rest);
        if (t == self) w->threads[t].state = RUNS;
        else push(w, t);
    }
}

void warp_wait(unsigned mask, Finish finish, void* request, const char* what, Site site) {
    Worker* w = current;
    if (w->pending.at) settle(w);
    const int t = w->now, number = t >> 5;
    Thread& thread = w->threads[t];
    Warp& warp = w->warps[number];
    const unsigned self = 1u << (t & 31);
    if (!(mask & self)) {
        if (Error* e = claim(w, TEXT, site))
            snprintf(e->text, sizeof e->text, "lane %d calls %s with mask 0x%08x, in which it is not itself", t & 31, what, mask);
        leave(w);
    }
    thread.state = IN_WARP;
    thread.mask = mask;
    thread.site = site;
    thread.what = what;
    warp.request[t & 31] = request;
    int at = 0;
    while (at < warp.groups && !(warp.group[at].mask == mask && warp.group[at].finish == finish)) ++at;
    if (at == warp.groups) warp.group[warp.groups++] = Group{mask, 0, finish};
    warp.group[at].arrived |= self;
    if (((warp.group[at].arrived | warp.gone) & mask) == mask) complete(w, number, at, t);
    else suspend(w);
}

unsigned active(Site site) {
    Worker* w = current;
    if (w->pending.at) settle(w);
    Thread& thread = w->threads[w->now];
    thread.state = AT_ACTIVE;
    thread.site = site;
    thread.what = "__activemask";
    ++w->asking;
    suspend(w);
    return static_cast<unsigned>(thread.result);
}

// Nobody can run. Lanes that ask who is with them learn it now: those that came to the same place.
bool answer_active(Worker* w) {
    if (!w->asking) return false;
    for (int t = 0; t < w->count; ++t) {
        if (w->threads[t].state != AT_ACTIVE) continue;
        const Site site = w->threads[t].site;
        const int start = t & ~31, end = start + 32 < w->count ? start + 32 : w->count;
        unsigned lanes = 0;
        for (int k = t; k < end; ++k)
            if (w->threads[k].state == AT_ACTIVE && w->threads[k].site.line == site.line) lanes |= 1u << (k & 31);
        for (int k = t; k < end; ++k)
            if (lanes >> (k & 31) & 1) {
                w->threads[k].result = static_cast<int>(lanes);
                push(w, k);
                --w->asking;
            }
        return true;
    }
    return false;
}

// ---------------------------------------------------------------- running a block

void returned(Worker* w, int t) {
    if (w->pending.at) settle(w);
    w->threads[t].state = DONE;
    --w->alive;
    const int number = t >> 5;
    Warp& warp = w->warps[number];
    warp.gone |= 1u << (t & 31);
    for (int at = warp.groups - 1; at >= 0; --at) {
        const Group& group = warp.group[at];
        if (((group.arrived | warp.gone) & group.mask) == group.mask) complete(w, number, at, -1);
    }
    if (w->alive && w->waiting == w->alive) open_barrier(w, -1);
}

void fibre_main() {
    Worker* w = current;
    for (;;) {
        while (w->started < w->count && !w->broken) {
            const int t = w->started++;
            enter(w, t);
            w->launch->call(w->launch->function, w->launch->arguments);
            returned(w, w->now);
        }
        Fibre* self = w->fibre;
        self->next = w->idle;
        w->idle = self;
        numloom_switch(&self->sp, w->scheduler);
    }
}

Fibre* make_fibre(Worker* w) {
    const size_t guard = page();
    void* memory = mmap(nullptr, STACK + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    Fibre* f = static_cast<Fibre*>(malloc(sizeof(Fibre) + sizeof(Fibre*)));
    if (!f) {
        munmap(memory, STACK + guard);
        return nullptr;
    }
    // Past the most, an overflow meets the next stack instead: rather that than no mappings left for anybody.
    if (__atomic_add_fetch(&guards, 1, __ATOMIC_RELAXED) <= MOST_GUARDS) mprotect(memory, guard, PROT_NONE);
    f->base = static_cast<char*>(memory);
    f->sp = fresh(f->base + guard + STACK, fibre_main);
    f->next = nullptr;
    Fibre** chain = reinterpret_cast<Fibre**>(f + 1);
    *chain = w->all;
    w->all = f;
    return f;
}

Fibre* chained(Fibre* f) { return *reinterpret_cast<Fibre**>(f + 1); }

// After an error: every stack as new, whatever was on it.
void reset_fibres(Worker* w) {
    w->idle = nullptr;
    for (Fibre* f = w->all; f; f = chained(f)) {
        f->sp = fresh(f->base + page() + STACK, fibre_main);
        f->next = w->idle;
        w->idle = f;
    }
}

void run_block(Worker* w, uint64_t number) {
    SimtLaunch* launch = w->launch;
    const unsigned* size = launch->block;
    const unsigned* grid = launch->grid;
    w->block = uint3{unsigned(number % grid[0]), unsigned(number / grid[0] % grid[1]), unsigned(number / grid[0] / grid[1])};
    w->here->numloom_block = w->block;
    w->count = w->alive = int(size[0] * size[1] * size[2]);
    w->started = w->waiting = w->asking = w->queued = w->head = 0;
    w->predicate_count = 0;
    w->predicate_and = true;
    w->predicate_or = w->broken = false;
    w->now = -1;
    ++w->epoch;
    w->pending.at = nullptr;
    uint3 index{0, 0, 0};
    for (int t = 0; t < w->count; ++t) {
        Thread& thread = w->threads[t];
        thread.state = RUNS;
        thread.index = index;
        if (++index.x == size[0]) {
            index.x = 0;
            if (++index.y == size[1]) index.y = 0, ++index.z;
        }
    }
    for (int k = 0; k * 32 < w->count; ++k) {
        const int lanes = w->count - k * 32;
        w->warps[k].gone = lanes >= 32 ? 0 : ~0u << lanes;
        w->warps[k].groups = 0;
        if (launch->check) memset(w->warps[k].clock, 0, sizeof w->warps[k].clock);
    }
    while (w->alive && !w->broken) {
        if (w->started < w->count) {
            Fibre* f = w->idle;
            if (f) w->idle = f->next;
            else if (!(f = make_fibre(w))) {
                if (Error* e = claim(w, SYSTEM, Site{nullptr, 0})) copy_text(e->text, sizeof e->text, "no memory for the threads' stacks");
                break;
            }
            w->fibre = f;
            numloom_switch(&w->scheduler, f->sp);
        } else if (w->queued) {
            const int t = pop(w);
            enter(w, t);
            w->fibre = w->threads[t].fibre;
            numloom_switch(&w->scheduler, w->fibre->sp);
        } else if (!answer_active(w)) {
            w->now = -1;
            Site site{nullptr, 0};
            for (int t = w->count - 1; t >= 0; --t)
                if (w->threads[t].state != DONE) w->now = t, site = w->threads[t].site;
            report_waiting(w, DEADLOCK, site, "a deadlock: no thread of the block can go on");
            w->broken = true;
        }
    }
    if (w->broken || w->alive) reset_fibres(w);
}

#include "checks.hpp"

// ---------------------------------------------------------------- grids

pthread_cond_t grid_moved = PTHREAD_COND_INITIALIZER;
pthread_mutex_t grid_lock = PTHREAD_MUTEX_INITIALIZER;

// One thread of each block waits here for all the others; its block waits around it.
void grid(Site site) {
    Worker* w = current;
    SimtLaunch* launch = w->launch;
    if (blocks_of(launch) == 1) return;
    if (!launch->cooperative) fail("the grid can be synchronized only in a cooperative launch (enable_cooperative_groups=True)", site);
    pthread_mutex_lock(&grid_lock);
    const int generation = launch->generation;
    if (++launch->arrived == int(blocks_of(launch))) {
        launch->arrived = 0;
        ++launch->generation;
        pthread_cond_broadcast(&grid_moved);
    }
    bool stuck = false;
    while (launch->generation == generation && !__atomic_load_n(&launch->stop, __ATOMIC_ACQUIRE) && !stuck) {
        stuck = launch->left > 0;
        if (!stuck) pthread_cond_wait(&grid_moved, &grid_lock);
    }
    pthread_mutex_unlock(&grid_lock);
    if (stuck) {
        if (Error* e = claim(w, DEADLOCK, site))
            copy_text(e->text, sizeof e->text, "a deadlock: this block waits for the grid, and another block has returned");
    }
    if (stuck || __atomic_load_n(&launch->stop, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&grid_lock);
        pthread_cond_broadcast(&grid_moved);
        pthread_mutex_unlock(&grid_lock);
        leave(w);
    }
}

extern const Table TABLE = {barrier, warp_wait, active, yield, fail, grid, access, allocate, release};

#include "guard.hpp"

// ---------------------------------------------------------------- faults

constexpr int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction before[4];

void on_signal(int number, siginfo_t* info, void* given) {
    Worker* w = current;
    if (guarded && info->si_code > 0 && leave_guarded(number, info, static_cast<ucontext_t*>(given))) return;
    if (w && w->now >= 0) {
        const ucontext_t* context = static_cast<const ucontext_t*>(given);
        uint64_t pc = 0;
#if defined(__x86_64__)
        pc = uint64_t(context->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
        pc = context->uc_mcontext.pc;
#else
        (void)context;
#endif
        if (Error* e = claim(w, FAULT, Site{nullptr, 0})) {
            const uint64_t at = reinterpret_cast<uint64_t>(info->si_addr), base = reinterpret_cast<uint64_t>(w->fibre->base);
            e->signal = number;
            e->address = at;
            e->pc = pc + 1;  // reports look one byte before, as for return addresses
            if ((number == SIGSEGV || number == SIGBUS) && at - base < page()) copy_text(e->text, sizeof e->text, "stack");
            for (int64_t r = 0; r < w->launch->region_count; ++r) {
                const Region& region = w->launch->regions[r];
                if (at + (64 << 20) >= region.begin && at < region.end + (64 << 20)) {
                    e->argument = int(region.argument);
                    e->offset = int64_t(at - region.begin);
                }
            }
        }
        // The kernel's stack is left as it is; the handler's own is free again once the scheduler runs.
        leave(w);
    }
    for (int k = 0; k < 4; ++k)
        if (SIGNALS[k] == number) {
            const struct sigaction& old = before[k];
            if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(number, info, given);
            if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(number);
            sigaction(number, &old, nullptr);  // on return the instruction faults again, as if we had not been here
        }
}

// Before a launch: faults are ours if they come from a kernel, and else who had them before has them. Handlers stay, since
// to take them away again would take longer than many launches; one that came later is put behind ours.
void watch_signals() {
    struct sigaction now;
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) return;
    pthread_mutex_lock(&lock);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (int k = 0; k < 4; ++k) {
        sigaction(SIGNALS[k], nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) continue;
        before[k] = now;
        sigaction(SIGNALS[k], &action, nullptr);
    }
    pthread_mutex_unlock(&lock);
}

Worker* take_worker() {
    pthread_mutex_lock(&lock);
    Worker* w = workers;
    if (w) workers = w->next, --workers_kept;
    pthread_mutex_unlock(&lock);
    if (w) return w;
    w = static_cast<Worker*>(calloc(1, sizeof(Worker)));
    if (w && !(w->signal_stack = static_cast<char*>(malloc(SIGNAL_STACK)))) {
        free(w);
        w = nullptr;
    }
    return w;
}

void give_worker(Worker* w) {
    pthread_mutex_lock(&lock);
    const bool keep = workers_kept < KEPT_WORKERS;
    if (keep) w->next = workers, workers = w, ++workers_kept;
    pthread_mutex_unlock(&lock);
    if (keep) return;
    for (Fibre* f = w->all; f;) {
        Fibre* next = chained(f);
        munmap(f->base, STACK + page());
        __atomic_sub_fetch(&guards, 1, __ATOMIC_RELAXED);
        free(f);
        f = next;
    }
    if (w->marks) munmap(w->marks, w->mark_count * sizeof(Mark));
    if (w->dynamic_marks) munmap(w->dynamic_marks, w->dynamic_mark_count * sizeof(Mark));
    free(w->signal_stack);
    free(w);
}

void run_blocks(SimtLaunch* launch, uint64_t begin, uint64_t end) {
    Worker* w = take_worker();
    if (!w) {
        int none = 0;
        if (__atomic_compare_exchange_n(&launch->stop, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            memset(launch->error, 0, sizeof *launch->error);
            launch->error->code = SYSTEM;
            copy_text(launch->error->text, sizeof launch->error->text, "no memory to run the kernel's threads");
        }
        return;
    }
    Worker* outer = current;
    stack_t own = {}, old = {};
    own.ss_sp = w->signal_stack;
    own.ss_size = SIGNAL_STACK;
    sigaltstack(&own, &old);
    Here* here = launch->here();
    w->launch = launch;
    w->here = here;
    w->now = -1;
    here->numloom_block_dim = dim3(launch->block[0], launch->block[1], launch->block[2]);
    here->numloom_grid_dim = dim3(launch->grid[0], launch->grid[1], launch->grid[2]);
    here->dynamic_bytes = unsigned(launch->shared);
    here->cooperative = launch->cooperative || blocks_of(launch) == 1;
    here->table = &TABLE;
    memset(&w->image, 0, sizeof w->image);
    char* dynamic = launch->dynamic();
    w->dynamic_begin = reinterpret_cast<uint64_t>(dynamic);
    w->dynamic_end = dynamic ? w->dynamic_begin + (227 << 10) : 0;
    w->image.inside = launch->function;
    dl_iterate_phdr(find_image, &w->image);
    if (launch->check) {
        w->marks = map_marks(w->marks, w->mark_count, w->image.tls_end - w->image.tls_begin);
        w->dynamic_marks = map_marks(w->dynamic_marks, w->dynamic_mark_count, dynamic ? launch->shared : 0);
        w->read_last = nullptr;
    }
    current = w;
    for (uint64_t number = begin; number < end; ++number) {
        if (__atomic_load_n(&launch->stop, __ATOMIC_RELAXED)) break;
        run_block(w, number);
    }
    w->now = -1;
    current = outer;
    sigaltstack(&old, nullptr);
    give_worker(w);
}

struct Resident {
    SimtLaunch* launch;
    uint64_t number;
    pthread_t thread;
};

void* run_resident(void* given) {
    Resident* r = static_cast<Resident*>(given);
    run_blocks(r->launch, r->number, r->number + 1);
    pthread_mutex_lock(&grid_lock);
    ++r->launch->left;
    pthread_cond_broadcast(&grid_moved);
    pthread_mutex_unlock(&grid_lock);
    return nullptr;
}

}  // namespace
}  // namespace numloom

using namespace numloom;

extern "C" {

// A user's loop over its items; see guard.hpp.
void numloom_guarded(Loop loop, const void* params, long long begin, long long end, long long* error) {
    run_guarded(loop, params, begin, end, error);
}

// Around a fork: no other thread holds a lock meanwhile.
void numloom_hold() {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&grid_lock);
}

void numloom_let_go() {
    pthread_mutex_unlock(&grid_lock);
    pthread_mutex_unlock(&lock);
}

void numloom_outside(const char* name, long long index, long long count) {
    leave_outside(name, index, count, __builtin_return_address(0));
}

// The first fault since the last look, taken away.
void numloom_take_fault(Fault* to) {
    pthread_mutex_lock(&lock);
    *to = first_fault;
    memset(&first_fault, 0, sizeof first_fault);
    pthread_mutex_unlock(&lock);
}

void numloom_enter() { watch_signals(); }

void numloom_leave() { fflush(stdout); }

void numloom_blocks(const void* launch, long long begin, long long end) {
    run_blocks(static_cast<SimtLaunch*>(const_cast<void*>(launch)), uint64_t(begin), uint64_t(end));
}

// Every block on a host thread of its own, so that all are there at once. 0, or how many could be started.
int numloom_cooperate(SimtLaunch* launch) {
    const uint64_t count = blocks_of(launch);
    Resident* residents = static_cast<Resident*>(calloc(count, sizeof(Resident)));
    if (!residents) return -1;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    uint64_t started = 0;
    for (; started < count; ++started) {
        residents[started].launch = launch;
        residents[started].number = started;
        if (pthread_create(&residents[started].thread, &attributes, run_resident, &residents[started])) break;
    }
    if (started < count) {
        pthread_mutex_lock(&grid_lock);
        __atomic_store_n(&launch->stop, 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&grid_moved);
        pthread_mutex_unlock(&grid_lock);
    }
    for (uint64_t k = 0; k < started; ++k) pthread_join(residents[k].thread, nullptr);
    pthread_attr_destroy(&attributes);
    free(residents);
    return started == count ? 0 : int(started) + 1;
}

int numloom_sizes(int which) { return which == 0 ? int(sizeof(SimtLaunch)) : which == 1 ? int(sizeof(Error)) : int(sizeof(Region)); }

}  // extern "C"
