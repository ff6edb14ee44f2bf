// Finished runs of accumulators of several numbers in one object, with the levels above the first two.
#ifdef __CUDACC__
template <int LEVELS> struct stack {
    A first, second, level[LEVELS - 2];
    u32 runs;
};
template <int LEVELS> NL_DEV void counter_start(stack<LEVELS>& c) { c.runs = 0; c.first = c.second = a_none(); }
template <int LEVELS> NL_DEV void counter_add(stack<LEVELS>& c, A a) { add_run(c.first, c.second, c.level, c.runs, a); }
template <int LEVELS> NL_DEV A counter_total(const stack<LEVELS>& c) {
    return total_of_runs(c.first, c.second, c.level, c.runs);
}
#endif
