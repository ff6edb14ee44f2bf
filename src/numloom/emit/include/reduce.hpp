// Accumulators of a reduction kernel come as one struct A with a_none() and a_merge(earlier, later).
#ifdef __CUDACC__
// Lanes of a warp: the lower lane's accumulator is the earlier. Both lanes get the result.
NL_DEV A a_across(A a, int mask) {
    const A b = nl::from_lane(a, mask);
    const bool later = threadIdx.x & mask;
    return a_merge(nl::choose(later, b, a), nl::choose(later, a, b));
}
// The same where only the lower lane's result is used.
NL_DEV A a_down(A a, int mask) { return a_merge(a, nl::from_lane(a, mask)); }
#endif
// Finished runs, merged as a binary counter carries; LEVELS bounds the number of runs by 2^LEVELS.
template <int LEVELS> struct counter {
    A level[LEVELS];
    u32 runs;
};
#ifdef __CUDACC__
// On the GPU of plain numbers alone. Every level has a value from the start, which a merge that is not used may read.
template <int LEVELS> NL_DEV void counter_start(counter<LEVELS>& c) {
    c.runs = 0;
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) c.level[k] = a_none();
}
// Straight, since numbers merge in an instruction or two: nested branches take compilers far longer. The run's result lands
// at the first free level; what is merged beyond is not used.
template <int LEVELS> NL_DEV void counter_add(counter<LEVELS>& c, A a) {
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) {
        const bool lands = (c.runs & ((2u << k) - 1)) == (1u << k) - 1;
        const A level = c.level[k];
        c.level[k] = lands ? a : level;
        a = a_merge(level, a);
    }
    ++c.runs;
}
template <int LEVELS> NL_DEV A counter_total(const counter<LEVELS>& c) {
    A a = a_none();
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) {
        const A both = a_merge(c.level[k], a);
        a = (c.runs >> k) & 1u ? both : a;
    }
    return a;
}
#else
template <int LEVELS> NL_DEV void counter_start(counter<LEVELS>& c) { c.runs = 0; }
template <int LEVELS> NL_DEV void counter_add(counter<LEVELS>& c, A a) {
    int k = 0;
    for (; (c.runs >> k) & 1u; ++k) a = a_merge(c.level[k], a);
    c.level[k] = a;
    ++c.runs;
}
template <int LEVELS> NL_DEV A counter_total(const counter<LEVELS>& c) {
    A a = a_none();
    bool any = false;
    for (int k = 0; c.runs >> k; ++k) {
        if ((c.runs >> k) & 1u) {
            a = any ? a_merge(c.level[k], a) : c.level[k];
            any = true;
        }
    }
    return a;
}
#endif
#ifdef __CUDACC__
// The same for accumulators of several numbers, whose merges are dear: where few levels are needed they are all in registers.
template <int LEVELS> struct few_levels {
    A level[LEVELS];
    u32 runs;
};
template <int LEVELS> NL_DEV void counter_start(few_levels<LEVELS>& c) {
    c.runs = 0;
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) c.level[k] = a_none();
}
template <int LEVELS> NL_DEV void counter_add(few_levels<LEVELS>& c, A a) {
    bool open = true;
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) {
        if (open) {
            if ((c.runs >> k) & 1u) a = a_merge(c.level[k], a);
            else { c.level[k] = a; open = false; }
        }
    }
    ++c.runs;
}
template <int LEVELS> NL_DEV A counter_total(const few_levels<LEVELS>& c) {
    A a = a_none();
    bool any = false;
#pragma unroll
    for (int k = 0; k < LEVELS; ++k) {
        if ((c.runs >> k) & 1u) {
            a = any ? a_merge(c.level[k], a) : c.level[k];
            any = true;
        }
    }
    return a;
}
// Else two levels, and those above them in local memory, an array of its own since all that an array with late indices is
// part of lies there. In registers they would leave room for few threads, and a merge for each level is more code than the
// caches of instructions hold.
struct low_levels {
    A first, second;
    u32 runs;
};
NL_DEV void add_pair(A& second, A* level, u32 runs, A a) {
    if (!(runs & 2u)) second = a;
    else {
        a = a_merge(second, a);
        int k = 2;
#pragma unroll 1
        for (; (runs >> k) & 1u; ++k) a = a_merge(level[k - 2], a);
        level[k - 2] = a;
    }
}
NL_DEV void add_run(A& first, A& second, A* level, u32& runs, A a) {
    if (!(runs & 1u)) first = a;
    else add_pair(second, level, runs, a_merge(first, a));
    ++runs;
}
NL_DEV A total_of_runs(const A& first, const A& second, const A* level, u32 runs) {
    A a = first;
    bool any = runs & 1u;
    if (runs & 2u) { a = any ? a_merge(second, a) : second; any = true; }
#pragma unroll 1
    for (int k = 2; runs >> k; ++k) {
        if ((runs >> k) & 1u) { a = any ? a_merge(level[k - 2], a) : level[k - 2]; any = true; }
    }
    return a;
}
NL_DEV void counter_start(low_levels& c) { c.runs = 0; c.first = c.second = a_none(); }
NL_DEV void counter_add(low_levels& c, A* level, A a) { add_run(c.first, c.second, level, c.runs, a); }
// Two runs at once, where those before were an even number.
NL_DEV void counter_add(low_levels& c, A* level, A a, A b) {
    add_pair(c.second, level, c.runs, a_merge(a, b));
    c.runs += 2;
}
NL_DEV A counter_total(const low_levels& c, const A* level) { return total_of_runs(c.first, c.second, level, c.runs); }
#endif
