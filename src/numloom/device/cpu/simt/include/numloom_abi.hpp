// What a compiled module of a user and the runtime (runtime.hpp) know of each other.
#pragma once

struct uint3 { unsigned x, y, z; };

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

namespace numloom {

// A place in the user's source.
struct Site {
    const char* file;
    int line;
};

enum Barrier : int { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };
enum Access : int { ACCESS_READ = 0, ACCESS_WRITE = 1, ACCESS_ATOMIC = 2 };

// Does a warp operation once all its lanes are there: `requests[lane]` is what each of `lanes` asked for.
typedef void (*Finish)(void* const* requests, unsigned lanes);

struct Table {
    int (*barrier)(int kind, int predicate, Site site);
    void (*warp)(unsigned mask, Finish finish, void* request, const char* what, Site site);
    unsigned (*active)(Site site);
    void (*yield)();
    void (*fail)(const char* text, Site site);  // does not return
    void (*grid)(Site site);
    void (*access)(const void* at, long bytes, int kind, const void* code, Site site);
    void* (*allocate)(unsigned long bytes);
    void (*release)(void* memory);
};

// What the running thread of a block reads about itself: one in each host thread and module.
struct Here {
    uint3 numloom_thread;  // The first four stand in users' texts, whose macros may have shorter names.
    uint3 numloom_block;
    dim3 numloom_block_dim;
    dim3 numloom_grid_dim;
    unsigned lane;
    unsigned turns;     // how often it looked at `spun` in vain: a thread that spins gives way now and then
    unsigned alone;     // how often it gave way and nobody else could run
    const void* spun;
    unsigned dynamic_bytes;
    int cooperative;
    const Table* table;
};

}  // namespace numloom
