// Places along a row as runs: for `left` elements, at least one, each is `step` further than the one before it. A truth
// value is a run of 0 or 1.
namespace nl {
struct Run { i64 at, step, left; };
// No row is longer than 2^40 elements.
NL_DEV Run run_of(i64 value) { return {value, 0, 1ll << 40}; }
NL_DEV i64 fewer(i64 a, i64 b) { return a < b ? a : b; }
// Whether a difference could leave the range of numbers within a row: such runs are taken element by element.
NL_DEV bool run_is_far(Run a) {
    const i64 most = 1ll << 61, wide = 1ll << 20;
    return a.at > most || a.at < -most || a.step > wide || a.step < -wide;
}
NL_DEV i64 run_sum(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
NL_DEV i64 run_difference(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
NL_DEV Run run_add(Run a, Run b) { return {run_sum(a.at, b.at), run_sum(a.step, b.step), fewer(a.left, b.left)}; }
NL_DEV Run run_subtract(Run a, Run b) {
    return {run_difference(a.at, b.at), run_difference(a.step, b.step), fewer(a.left, b.left)};
}
NL_DEV Run run_times(Run a, i64 b) { return {a.at * b, a.step * b, a.left}; }
// Whether it is below zero, until that changes.
NL_DEV Run run_negative(Run a) {
    i64 left = run_is_far(a) ? 1 : a.left;
    if (left > 1 && a.at < 0 && a.step > 0) left = fewer(left, (a.step - 1 - a.at) / a.step);
    if (left > 1 && a.at >= 0 && a.step < 0) left = fewer(left, a.at / -a.step + 1);
    return {a.at < 0, 0, left};
}
NL_DEV Run run_not(Run a) { return {!a.at, 0, a.left}; }
NL_DEV Run run_less(Run a, Run b) {
    if (run_is_far(a) || run_is_far(b)) return {a.at < b.at, 0, 1};
    return run_negative(run_subtract(a, b));
}
NL_DEV Run run_where(Run c, Run a, Run b) {
    const Run r = c.at ? a : b;
    return {r.at, r.step, fewer(c.left, r.left)};
}
NL_DEV Run run_minimum(Run a, Run b) { return run_where(run_less(b, a), b, a); }
NL_DEV Run run_maximum(Run a, Run b) { return run_where(run_less(a, b), b, a); }
// The remainder by one positive number for the whole row; of others element by element.
NL_DEV Run run_remainder(Run a, Run b) {
    const i64 d = b.at, cut = d == 0 || d == -1 ? 0 : a.at % d, at = cut && (cut < 0) != (d < 0) ? cut + d : cut;
    if (d < 1 || b.step || run_is_far(a) || a.step >= d || -a.step >= d) return {at, 0, 1};
    const i64 inside = a.step > 0 ? (d - at - 1) / a.step + 1 : a.step < 0 ? at / -a.step + 1 : a.left;
    return {at, a.step, fewer(fewer(a.left, b.left), inside)};
}
NL_DEV Run run_from_end(Run a, i64 extent) { return run_where(run_negative(a), run_add(a, run_of(extent)), a); }
NL_DEV Run run_checked(Run a, i64 extent, i64* error, i64 location) {
    const Run at = run_from_end(a, extent), below = run_negative(at), inside = run_less(at, run_of(extent));
    const i64 left = fewer(below.left, inside.left);
    if (below.at || !inside.at) { complain(error, location, a.at, extent); return {0, 0, left}; }
    return {at.at, at.step, fewer(at.left, left)};
}
}
