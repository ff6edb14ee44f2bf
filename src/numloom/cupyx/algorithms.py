"""``cupyx.jit.thrust``: algorithms on ranges of one array, which one thread does, in CUDA C++ for `translating`."""

from __future__ import annotations

Result = int | str | tuple[int, int] | None
FORMS: dict[str, dict[str, Result]] = {
    "adjacent_difference": {"iii": 2},
    "binary_search": {"iiv": "bool", "iiiii": 4},
    "copy": {"iii": 2},
    "count": {"iiv": "count"},
    "equal": {"iii": "bool"},
    "equal_range": {"iiv": (0, 0)},
    "exclusive_scan": {"iii": 2, "iiiv": 2},
    "exclusive_scan_by_key": {"iiii": 3, "iiiiv": 3},
    "fill": {"iiv": None},
    "find": {"iiv": 0},
    "gather": {"iiii": 3},
    "inclusive_scan": {"iii": 2},
    "inclusive_scan_by_key": {"iiii": 3},
    "inner_product": {"iiiv": "last"},
    "is_sorted": {"ii": "bool"},
    "is_sorted_until": {"ii": 0},
    "lower_bound": {"iiv": 0, "iiiii": 4},
    "mismatch": {"iii": (0, 2)},
    "reduce": {"ii": "element", "iiv": "last"},
    "reduce_by_key": {"iiiii": (3, 4)},
    "remove": {"iiv": 0},
    "remove_copy": {"iiiv": 2},
    "replace": {"iivv": None},
    "replace_copy": {"iiivv": 2},
    "reverse": {"ii": None},
    "reverse_copy": {"iii": 2},
    "scatter": {"iiii": None},
    "sequence": {"ii": None, "iiv": None, "iivv": None},
    "set_difference": {"iiiii": 4},
    "set_difference_by_key": {"iiiiiiii": (6, 7)},
    "set_intersection": {"iiiii": 4},
    "set_intersection_by_key": {"iiiiiii": (5, 6)},
    "set_symmetric_difference": {"iiiii": 4},
    "set_symmetric_difference_by_key": {"iiiiiiii": (6, 7)},
    "set_union": {"iiiii": 4},
    "set_union_by_key": {"iiiiiiii": (6, 7)},
    "sort": {"ii": None},
    "sort_by_key": {"iii": None},
    "stable_sort": {"ii": None},
    "stable_sort_by_key": {"iii": None},
    "swap_ranges": {"iii": 2},
    "unique": {"ii": 0},
    "unique_by_key": {"iii": (0, 2)},
    "upper_bound": {"iiv": 0, "iiiii": 4},
}
"""Algorithms by the arguments they take after the policy (`i`: an iterator, `v`: a number), and what they give: the
place that the k-th argument has come to (two of them: a pair), a number of the last argument's or an element's type."""
MAKERS = {"make_constant_iterator": "constant", "make_counting_iterator": "counting"}
POLICIES = ("seq", "device")

ITERATORS = """
template <typename T> struct nl_strided {
    T* data; long long stride, at;
    __device__ T& operator[](long long k) const { return data[(at + k) * stride]; }
};
template <typename T> struct nl_constant {
    T value; long long at;
    __device__ T operator[](long long) const { return value; }
};
template <typename T> struct nl_counting {
    T start; long long at;
    __device__ T operator[](long long k) const { return (T)(start + (T)(at + k)); }
};
template <typename A, typename B> struct nl_pair { A first; B second; };
template <typename I> __device__ I nl_moved(I it, long long k) { it.at += k; return it; }
template <typename I> __device__ long long nl_gap(I end, I start) { return end.at - start.at; }
template <typename T> __device__ long long nl_gap(nl_strided<T> end, nl_strided<T> start) {
    const long long apart = end.data - start.data;
    return end.at - start.at + (apart == 0 || start.stride == 0 ? 0 : apart / start.stride);
}
"""
"""Iterators hold where they began and how far they are, so that those over one repeated element have a distance."""

ALGORITHMS = """
namespace nl_thrust {
template <typename I, typename O> __device__ O adjacent_difference(I a, I end, O out) {
    const long long n = nl_gap(end, a);
    if (n == 0) return out;
    auto before = a[0];
    out[0] = before;
    for (long long k = 1; k < n; ++k) {
        auto now = a[k];
        out[k] = now - before;
        before = now;
    }
    return nl_moved(out, n);
}
// The first place of [from, to) whose element is not below the value; `above`: whose element is above it.
template <typename I, typename V> __device__ long long bound(I a, long long from, long long to, V value, bool above) {
    while (from < to) {
        const long long half = from + (to - from) / 2;
        if (above ? !(value < a[half]) : a[half] < value) from = half + 1;
        else to = half;
    }
    return from;
}
template <typename I, typename V> __device__ I lower_bound(I a, I end, V value) {
    return nl_moved(a, bound(a, 0, nl_gap(end, a), value, false));
}
template <typename I, typename V> __device__ I upper_bound(I a, I end, V value) {
    return nl_moved(a, bound(a, 0, nl_gap(end, a), value, true));
}
template <typename I, typename V> __device__ nl_pair<I, I> equal_range(I a, I end, V value) {
    return {lower_bound(a, end, value), upper_bound(a, end, value)};
}
template <typename I, typename V> __device__ bool binary_search(I a, I end, V value) {
    const long long n = nl_gap(end, a), k = bound(a, 0, n, value, false);
    return k < n && !(value < a[k]);
}
template <typename I, typename J, typename O> __device__ O lower_bound(I a, I end, J v, J last, O out) {
    const long long n = nl_gap(end, a), m = nl_gap(last, v);
    for (long long k = 0; k < m; ++k) out[k] = bound(a, 0, n, v[k], false);
    return nl_moved(out, m);
}
template <typename I, typename J, typename O> __device__ O upper_bound(I a, I end, J v, J last, O out) {
    const long long n = nl_gap(end, a), m = nl_gap(last, v);
    for (long long k = 0; k < m; ++k) out[k] = bound(a, 0, n, v[k], true);
    return nl_moved(out, m);
}
template <typename I, typename J, typename O> __device__ O binary_search(I a, I end, J v, J last, O out) {
    const long long m = nl_gap(last, v);
    for (long long k = 0; k < m; ++k) out[k] = binary_search(a, end, v[k]);
    return nl_moved(out, m);
}
template <typename I, typename O> __device__ O copy(I a, I end, O out) {
    const long long n = nl_gap(end, a);
    for (long long k = 0; k < n; ++k) out[k] = a[k];
    return nl_moved(out, n);
}
template <typename I, typename V> __device__ long long count(I a, I end, V value) {
    long long found = 0;
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) found += a[k] == value;
    return found;
}
template <typename I, typename V> __device__ I find(I a, I end, V value) {
    const long long n = nl_gap(end, a);
    long long k = 0;
    while (k < n && !(a[k] == value)) ++k;
    return nl_moved(a, k);
}
template <typename I, typename J> __device__ nl_pair<I, J> mismatch(I a, I end, J b) {
    const long long n = nl_gap(end, a);
    long long k = 0;
    while (k < n && a[k] == b[k]) ++k;
    return {nl_moved(a, k), nl_moved(b, k)};
}
template <typename I, typename J> __device__ bool equal(I a, I end, J b) {
    return nl_gap(end, mismatch(a, end, b).first) == 0;
}
template <typename I, typename O, typename V> __device__ O exclusive_scan(I a, I end, O out, V sum) {
    const long long n = nl_gap(end, a);
    for (long long k = 0; k < n; ++k) {
        const V now = sum + (V)a[k];
        out[k] = sum;
        sum = now;
    }
    return nl_moved(out, n);
}
template <typename I> __device__ auto element(I a) {
    auto x = a[0];
    return x;
}
template <typename I, typename O> __device__ O exclusive_scan(I a, I end, O out) {
    return exclusive_scan(a, end, out, decltype(element(a))(0));
}
template <typename I, typename O> __device__ O inclusive_scan(I a, I end, O out) {
    const long long n = nl_gap(end, a);
    decltype(element(a)) sum = 0;
    for (long long k = 0; k < n; ++k) out[k] = sum = sum + a[k];
    return nl_moved(out, n);
}
template <typename K, typename I, typename O, typename V>
__device__ O exclusive_scan_by_key(K keys, K end, I a, O out, V start) {
    const long long n = nl_gap(end, keys);
    V sum = start;
    for (long long k = 0; k < n; ++k) {
        if (k > 0 && !(keys[k] == keys[k - 1])) sum = start;
        const V now = sum + (V)a[k];
        out[k] = sum;
        sum = now;
    }
    return nl_moved(out, n);
}
template <typename K, typename I, typename O> __device__ O exclusive_scan_by_key(K keys, K end, I a, O out) {
    return exclusive_scan_by_key(keys, end, a, out, decltype(element(a))(0));
}
template <typename K, typename I, typename O> __device__ O inclusive_scan_by_key(K keys, K end, I a, O out) {
    const long long n = nl_gap(end, keys);
    decltype(element(a)) sum = 0;
    for (long long k = 0; k < n; ++k) {
        if (k > 0 && !(keys[k] == keys[k - 1])) sum = 0;
        out[k] = sum = sum + a[k];
    }
    return nl_moved(out, n);
}
template <typename I, typename V> __device__ void fill(I a, I end, V value) {
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) a[k] = value;
}
template <typename M, typename I, typename O> __device__ O gather(M map, M end, I a, O out) {
    const long long n = nl_gap(end, map);
    for (long long k = 0; k < n; ++k) out[k] = a[map[k]];
    return nl_moved(out, n);
}
template <typename I, typename M, typename O> __device__ void scatter(I a, I end, M map, O out) {
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) out[map[k]] = a[k];
}
template <typename I, typename J, typename V> __device__ V inner_product(I a, I end, J b, V sum) {
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) sum = sum + (V)a[k] * (V)b[k];
    return sum;
}
template <typename I> __device__ I is_sorted_until(I a, I end) {
    const long long n = nl_gap(end, a);
    long long k = n == 0 ? 0 : 1;
    while (k < n && !(a[k] < a[k - 1])) ++k;
    return nl_moved(a, k);
}
template <typename I> __device__ bool is_sorted(I a, I end) { return nl_gap(end, is_sorted_until(a, end)) == 0; }
template <typename I, typename V> __device__ V reduce(I a, I end, V sum) {
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) sum = sum + (V)a[k];
    return sum;
}
template <typename I> __device__ auto reduce(I a, I end) { return reduce(a, end, decltype(element(a))(0)); }
template <typename K, typename I, typename L, typename O>
__device__ nl_pair<L, O> reduce_by_key(K keys, K end, I a, L keys_out, O out) {
    const long long n = nl_gap(end, keys);
    long long m = 0;
    for (long long k = 0; k < n;) {
        auto key = keys[k];
        auto sum = a[k];
        for (++k; k < n && keys[k] == key; ++k) sum = sum + a[k];
        keys_out[m] = key;
        out[m++] = sum;
    }
    return {nl_moved(keys_out, m), nl_moved(out, m)};
}
template <typename I, typename O, typename V> __device__ O remove_copy(I a, I end, O out, V value) {
    long long m = 0;
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k)
        if (!(a[k] == value)) out[m++] = a[k];
    return nl_moved(out, m);
}
template <typename I, typename V> __device__ I remove(I a, I end, V value) { return remove_copy(a, end, a, value); }
template <typename I, typename O, typename V, typename W>
__device__ O replace_copy(I a, I end, O out, V value, W other) {
    const long long n = nl_gap(end, a);
    for (long long k = 0; k < n; ++k) {
        auto x = a[k];
        if (x == value) out[k] = other;
        else out[k] = x;
    }
    return nl_moved(out, n);
}
template <typename I, typename V, typename W> __device__ void replace(I a, I end, V value, W other) {
    replace_copy(a, end, a, value, other);
}
template <typename I> __device__ void swap(I a, long long i, long long j) {
    auto x = a[i];
    a[i] = a[j];
    a[j] = x;
}
template <typename I> __device__ void reverse(I a, I end) {
    for (long long i = 0, j = nl_gap(end, a) - 1; i < j; ++i, --j) swap(a, i, j);
}
template <typename I, typename O> __device__ O reverse_copy(I a, I end, O out) {
    const long long n = nl_gap(end, a);
    for (long long k = 0; k < n; ++k) out[k] = a[n - 1 - k];
    return nl_moved(out, n);
}
template <typename I, typename V, typename W> __device__ void sequence(I a, I end, V start, W step) {
    for (long long k = 0, n = nl_gap(end, a); k < n; ++k) a[k] = start + (W)k * step;
}
template <typename I, typename V> __device__ void sequence(I a, I end, V start) { sequence(a, end, start, 1); }
template <typename I> __device__ void sequence(I a, I end) { sequence(a, end, 0, 1); }
template <typename I, typename J> __device__ J swap_ranges(I a, I end, J b) {
    const long long n = nl_gap(end, a);
    for (long long k = 0; k < n; ++k) {
        auto x = a[k];
        a[k] = b[k];
        b[k] = x;
    }
    return nl_moved(b, n);
}
// Values that go along with keys, or none.
struct none {};
template <typename V> __device__ void along(V values, long long to, V from, long long k) { values[to] = from[k]; }
__device__ void along(none, long long, none, long long) {}
template <typename V> __device__ void swapped(V values, long long i, long long j) { swap(values, i, j); }
__device__ void swapped(none, long long, long long) {}
template <typename V> __device__ V after(V values, long long k) { return nl_moved(values, k); }
__device__ none after(none, long long) { return {}; }

template <typename K, typename V> __device__ nl_pair<K, V> unique_by_key(K keys, K end, V values) {
    const long long n = nl_gap(end, keys);
    long long m = 0;
    for (long long k = 0; k < n; ++k) {
        if (k > 0 && keys[k] == keys[m - 1]) continue;
        keys[m] = keys[k];
        along(values, m++, values, k);
    }
    return {nl_moved(keys, m), after(values, m)};
}
template <typename I> __device__ I unique(I a, I end) { return unique_by_key(a, end, none{}).first; }

// A stable sort without memory of its own: runs of eight by insertion, then merged in place by turning parts over.
template <typename K, typename V> struct sorter {
    K keys;
    V values;
    __device__ void exchange(long long i, long long j) {
        swap(keys, i, j);
        swapped(values, i, j);
    }
    __device__ void turn(long long from, long long to) {
        for (--to; from < to; ++from, --to) exchange(from, to);
    }
    __device__ void rotate(long long from, long long middle, long long to) {
        turn(from, middle);
        turn(middle, to);
        turn(from, to);
    }
    // Each step cuts the parts in two pairs; the larger pair waits, so log2(n) of them wait at most.
    __device__ void merge(long long from, long long middle, long long to) {
        long long waiting[64][3];
        int count = 0;
        for (;;) {
            if (from < middle && middle < to && keys[middle] < keys[middle - 1]) {
                long long left, right;
                if (middle - from > to - middle) {
                    left = from + (middle - from) / 2;
                    right = bound(keys, middle, to, element(nl_moved(keys, left)), false);
                } else {
                    right = middle + (to - middle - 1) / 2;
                    left = bound(keys, from, middle, element(nl_moved(keys, right)), true);
                    right += 1;
                }
                rotate(left, middle, right);
                const long long cut = left + (right - middle);
                const bool later = to - cut > cut - from;
                waiting[count][0] = later ? cut : from;
                waiting[count][1] = later ? right : left;
                waiting[count++][2] = later ? to : cut;
                if (later) { middle = left; to = cut; }
                else { from = cut; middle = right; }
                continue;
            }
            if (count == 0) return;
            from = waiting[--count][0];
            middle = waiting[count][1];
            to = waiting[count][2];
        }
    }
    __device__ void sort(long long n) {
        for (long long start = 0; start < n; start += 8)
            for (long long i = start + 1; i < n && i < start + 8; ++i)
                for (long long j = i; j > start && keys[j] < keys[j - 1]; --j) exchange(j, j - 1);
        for (long long run = 8; run < n; run *= 2)
            for (long long start = 0; start + run < n; start += 2 * run)
                merge(start, start + run, start + 2 * run < n ? start + 2 * run : n);
    }
};
template <typename K, typename V> __device__ void stable_sort_by_key(K keys, K end, V values) {
    sorter<K, V>{keys, values}.sort(nl_gap(end, keys));
}
template <typename K, typename V> __device__ void sort_by_key(K keys, K end, V values) {
    stable_sort_by_key(keys, end, values);
}
template <typename I> __device__ void stable_sort(I a, I end) { stable_sort_by_key(a, end, none{}); }
template <typename I> __device__ void sort(I a, I end) { stable_sort(a, end); }

// Two sorted ranges: which of what is in the first alone, in both (of the first, then of the second), in the second
// alone goes on.
template <bool FIRST, bool BOTH, bool SECOND, typename A, typename B, typename U, typename W, typename O, typename P>
__device__ nl_pair<O, P> joined(A a, A a_end, B b, B b_end, U of_a, W of_b, O out, P values) {
    const long long n = nl_gap(a_end, a), m = nl_gap(b_end, b);
    long long i = 0, j = 0, to = 0;
    while (i < n || j < m) {
        const bool first = j == m || (i < n && a[i] < b[j]);
        const bool second = !first && (i == n || b[j] < a[i]);
        if (second ? SECOND : first ? FIRST : BOTH) {
            if (second) {
                out[to] = b[j];
                given(values, to, of_b, j);
            } else {
                out[to] = a[i];
                given(values, to, of_a, i);
            }
            ++to;
        }
        i += !second;
        j += !first;
    }
    return {nl_moved(out, to), after(values, to)};
}
"""


def _sets() -> str:
    """The four operations on sorted ranges, which differ in what they keep."""
    text = ""
    for name, kept in (
        ("difference", "true, false, false"), ("intersection", "false, true, false"),
        ("symmetric_difference", "true, false, true"), ("union", "true, true, true"),
    ):  # fmt: skip
        second, given = ("", "none{}") if name == "intersection" else (", V v", "v")
        v = "" if name == "intersection" else ", typename V"
        text += f"""
template <typename A, typename B, typename O> __device__ O set_{name}(A a, A a_end, B b, B b_end, O out) {{
    return joined<{kept}>(a, a_end, b, b_end, none{{}}, none{{}}, out, none{{}}).first;
}}
template <typename A, typename B, typename U{v}, typename O, typename P>
__device__ nl_pair<O, P> set_{name}_by_key(A a, A a_end, B b, B b_end, U u{second}, O out, P values) {{
    return joined<{kept}>(a, a_end, b, b_end, u, {given}, out, values);
}}
"""
    return text


_GIVEN = """
template <typename P, typename U> __device__ void given(P values, long long to, U from, long long k) {
    values[to] = from[k];
}
template <typename P> __device__ void given(P, long long, none, long long) {}
__device__ void given(none, long long, none, long long) {}
"""


def _written() -> str:
    head, tail = ALGORITHMS.split("// Two sorted ranges", 1)
    return f"{head}{_GIVEN}// Two sorted ranges{tail}{_sets()}}}\n"


TEXT = _written()


__all__ = ["FORMS", "ITERATORS", "MAKERS", "POLICIES", "TEXT"]
