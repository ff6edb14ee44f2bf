// Warp operations: each lane hands in a request; the last one that comes fulfils all of them.
#pragma once

namespace numloom {

template <class T> struct Shuffle {
    T value;
    int source;
    T result;
    bool absent;
};

template <class T> NUMLOOM_UNWATCHED void finish_shuffle(void* const* requests, unsigned lanes) {
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        Shuffle<T>& own = *static_cast<Shuffle<T>*>(requests[__builtin_ctz(rest)]);
        own.absent = !(lanes >> own.source & 1);
        // What a lane reads from one that takes no part is undefined; its own value is as good as any.
        own.result = own.absent ? own.value : static_cast<Shuffle<T>*>(requests[own.source])->value;
    }
}

template <class T> NUMLOOM_UNWATCHED inline T shuffle(unsigned mask, T value, int source, const char* what, Site site) {
    static_assert(sizeof(T) <= 16, "shuffles move values of at most 16 bytes");
    Shuffle<T> request{value, source, value, false};
    numloom_here.table->warp(mask, finish_shuffle<T>, &request, what, site);
#if defined(NUMLOOM_CHECK)
    if (request.absent) fail("a shuffle reads from a lane that takes no part in it", site);
#endif
    return request.result;
}

inline int segment(int width) { return int(numloom_here.lane) & ~(width - 1); }

struct Vote {
    int predicate;
    unsigned result;
};

NUMLOOM_UNWATCHED inline void finish_vote(void* const* requests, unsigned lanes) {
    unsigned votes = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1)
        if (static_cast<Vote*>(requests[__builtin_ctz(rest)])->predicate) votes |= rest & -rest;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        Vote& own = *static_cast<Vote*>(requests[__builtin_ctz(rest)]);
        own.result = votes;
        own.predicate = votes == lanes;
    }
}

NUMLOOM_UNWATCHED inline Vote vote(unsigned mask, int predicate, const char* what, Site site) {
    Vote request{predicate, 0};
    numloom_here.table->warp(mask, finish_vote, &request, what, site);
    return request;
}

struct Match {
    unsigned long long value;
    unsigned result;
    bool all;
};

NUMLOOM_UNWATCHED inline void finish_match(void* const* requests, unsigned lanes) {
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        Match& own = *static_cast<Match*>(requests[__builtin_ctz(rest)]);
        own.result = 0;
        for (unsigned others = lanes; others; others &= others - 1)
            if (static_cast<Match*>(requests[__builtin_ctz(others)])->value == own.value) own.result |= others & -others;
        own.all = own.result == lanes;
    }
}

template <class T> NUMLOOM_UNWATCHED inline Match match(unsigned mask, T value, const char* what, Site site) {
    Match request{bits<typename Bits<sizeof(T)>::type>(value), 0, false};
    numloom_here.table->warp(mask, finish_match, &request, what, site);
    return request;
}

struct AddOf { template <class T> static T of(T a, T b) { return T(a + b); } };
struct MinOf { template <class T> static T of(T a, T b) { return b < a ? b : a; } };
struct MaxOf { template <class T> static T of(T a, T b) { return a < b ? b : a; } };
struct AndOf { template <class T> static T of(T a, T b) { return a & b; } };
struct OrOf { template <class T> static T of(T a, T b) { return a | b; } };
struct XorOf { template <class T> static T of(T a, T b) { return a ^ b; } };

template <class Op, class T> NUMLOOM_UNWATCHED void finish_reduce(void* const* requests, unsigned lanes) {
    T result = *static_cast<T*>(requests[__builtin_ctz(lanes)]);
    for (unsigned rest = lanes & (lanes - 1); rest; rest &= rest - 1)
        result = Op::of(result, *static_cast<T*>(requests[__builtin_ctz(rest)]));
    for (unsigned rest = lanes; rest; rest &= rest - 1) *static_cast<T*>(requests[__builtin_ctz(rest)]) = result;
}

template <class Op, class T> NUMLOOM_UNWATCHED inline T reduce(unsigned mask, T value, const char* what, Site site) {
    numloom_here.table->warp(mask, finish_reduce<Op, T>, &value, what, site);
    return value;
}

NUMLOOM_UNWATCHED inline void finish_nothing(void* const*, unsigned) {}

}  // namespace numloom

template <class T> inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, NUMLOOM_SITE) {
    return numloom::shuffle(mask, value, numloom::segment(width) + (lane & (width - 1)), "__shfl_sync", NUMLOOM_HERE);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, NUMLOOM_SITE) {
    const int own = numloom_here.lane, from = own - int(delta);
    return numloom::shuffle(mask, value, from < numloom::segment(width) ? own : from, "__shfl_up_sync", NUMLOOM_HERE);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, NUMLOOM_SITE) {
    const int own = numloom_here.lane, from = own + int(delta);
    return numloom::shuffle(
        mask, value, from >= numloom::segment(width) + width ? own : from, "__shfl_down_sync", NUMLOOM_HERE);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, NUMLOOM_SITE) {
    const int own = numloom_here.lane, from = own ^ lanes;
    return numloom::shuffle(mask, value, from >= numloom::segment(width) + width || from < 0 ? own : from,
                            "__shfl_xor_sync", NUMLOOM_HERE);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, NUMLOOM_SITE) {
    int nothing = 0;
    numloom_here.table->warp(mask, numloom::finish_nothing, &nothing, "__syncwarp", NUMLOOM_HERE);
}
inline int __all_sync(unsigned mask, int predicate, NUMLOOM_SITE) {
    return numloom::vote(mask, predicate, "__all_sync", NUMLOOM_HERE).predicate;
}
inline int __any_sync(unsigned mask, int predicate, NUMLOOM_SITE) {
    return numloom::vote(mask, predicate, "__any_sync", NUMLOOM_HERE).result != 0;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, NUMLOOM_SITE) {
    return numloom::vote(mask, predicate, "__ballot_sync", NUMLOOM_HERE).result;
}
inline unsigned __activemask(NUMLOOM_SITE) { return numloom_here.table->active(NUMLOOM_HERE); }
template <class T> inline unsigned __match_any_sync(unsigned mask, T value, NUMLOOM_SITE) {
    return numloom::match(mask, value, "__match_any_sync", NUMLOOM_HERE).result;
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T value, int* all, NUMLOOM_SITE) {
    const numloom::Match found = numloom::match(mask, value, "__match_all_sync", NUMLOOM_HERE);
    *all = found.all;
    return found.all ? found.result : 0;
}

#define NUMLOOM_REDUCE(name, Op, T)                                                  \
    inline T name(unsigned mask, T value, NUMLOOM_SITE) {                            \
        return numloom::reduce<numloom::Op>(mask, value, #name, NUMLOOM_HERE);       \
    }
NUMLOOM_REDUCE(__reduce_add_sync, AddOf, int)
NUMLOOM_REDUCE(__reduce_add_sync, AddOf, unsigned)
NUMLOOM_REDUCE(__reduce_min_sync, MinOf, int)
NUMLOOM_REDUCE(__reduce_min_sync, MinOf, unsigned)
NUMLOOM_REDUCE(__reduce_max_sync, MaxOf, int)
NUMLOOM_REDUCE(__reduce_max_sync, MaxOf, unsigned)
NUMLOOM_REDUCE(__reduce_and_sync, AndOf, unsigned)
NUMLOOM_REDUCE(__reduce_or_sync, OrOf, unsigned)
NUMLOOM_REDUCE(__reduce_xor_sync, XorOf, unsigned)
#undef NUMLOOM_REDUCE
