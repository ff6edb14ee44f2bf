// Finished runs, merged as a counter of reduce.hpp does it.
#ifdef __CUDACC__
// All levels but the first two lie in local memory: in registers they leave room for few threads, and runs are seldom.
template <int LEVELS> struct stack {
    A first, second, level[LEVELS - 2];
    u32 runs;
};
template <int LEVELS> NL_DEV void counter_start(stack<LEVELS>& c) { c.runs = 0; c.first = c.second = a_none(); }
template <int LEVELS> NL_DEV void counter_add(stack<LEVELS>& c, A a) {
    if (!(c.runs & 1u)) c.first = a;
    else {
        a = a_merge(c.first, a);
        if (!(c.runs & 2u)) c.second = a;
        else {
            a = a_merge(c.second, a);
            int k = 2;
#pragma unroll 1
            for (; (c.runs >> k) & 1u; ++k) a = a_merge(c.level[k - 2], a);
            c.level[k - 2] = a;
        }
    }
    ++c.runs;
}
template <int LEVELS> NL_DEV A counter_total(const stack<LEVELS>& c) {
    A a = c.first;
    bool any = c.runs & 1u;
    if (c.runs & 2u) { a = any ? a_merge(c.second, a) : c.second; any = true; }
#pragma unroll 1
    for (int k = 2; c.runs >> k; ++k) {
        if ((c.runs >> k) & 1u) { a = any ? a_merge(c.level[k - 2], a) : c.level[k - 2]; any = true; }
    }
    return a;
}
#endif
