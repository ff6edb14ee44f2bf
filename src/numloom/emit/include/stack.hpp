// Finished runs of carriers of several numbers in one object: `low_levels` of reduce.hpp with the levels above them.
#ifdef __CUDACC__
template <int LEVELS> struct stack {
    low_levels low;
    A level[LEVELS - 2];
};
template <int LEVELS> NL_DEV void counter_start(stack<LEVELS>& c) { counter_start(c.low); }
template <int LEVELS> NL_DEV void counter_add(stack<LEVELS>& c, A a) { counter_add(c.low, c.level, a); }
template <int LEVELS> NL_DEV A counter_total(const stack<LEVELS>& c) { return counter_total(c.low, c.level); }
#endif
