// What is before a tile of a sequence, in one pass: tiles tell those behind them their totals.
// 32 tiles make a group, 32 groups a section, and sections are summed one after the other, so the order of additions
// depends on a tile's number alone. Blocks start in the order of their numbers, so what is waited for is under way.
// Every 32 bits travel with the number of the launch in one word: no fences, and nothing to clear.
namespace nl {
template <class V> struct letter { static constexpr int N = (sizeof(V) + 3) / 4; u64 w[N]; };
template <class V> NL_DEV void post(volatile u64* to, V x, u32 launch) {
    constexpr int N = letter<V>::N;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = (u64)launch << 32 | w[k];
}
template <class V> NL_DEV void peek(letter<V>& to, const volatile u64* from) {
#pragma unroll
    for (int k = 0; k < letter<V>::N; ++k) to.w[k] = from[k];
}
template <class V> NL_DEV V opened(letter<V>& from, const volatile u64* again, u32 launch) {
    constexpr int N = letter<V>::N;
    u32 w[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        while ((u32)(from.w[k] >> 32) != launch) from.w[k] = again[k];
        w[k] = (u32)from.w[k];
    }
    V x;
    memcpy(&x, w, sizeof(V));
    return x;
}
// The value of the lane `d` before this one, and of lane `l`.
template <class V> NL_DEV V shifted(V x, int d) {
    constexpr int N = letter<V>::N;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_up_sync(0xffffffffu, w[k], d);
    memcpy(&x, w, sizeof(V));
    return x;
}
template <class V> NL_DEV V of_lane(V x, int l) {
    constexpr int N = letter<V>::N;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_sync(0xffffffffu, w[k], l);
    memcpy(&x, w, sizeof(V));
    return x;
}
template <class V, class C> NL_DEV V scan_lanes(V x, C combine) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const V other = shifted(x, d);
        if (lane >= d) x = combine(other, x);
    }
    return x;
}
// By one warp: what is before `tile` (undefined for the first one), after leaving its `total` for others.
template <class V, class C>
NL_DEV V before(volatile u64* mail, i64 tiles, i64 tile, u32 launch, V total, C combine) {
    constexpr int N = letter<V>::N;
    const int lane = threadIdx.x & 31, r = (int)(tile & 31), q = (int)(tile >> 5 & 31);
    const i64 group = tile >> 5, section = tile >> 10;
    volatile u64* groups = mail + tiles * N;
    volatile u64* sections = groups + (tiles + 31) / 32 * N;
    if (lane == 0) post(mail + tile * N, total, launch);
    letter<V> a, b, c;
    const volatile u64* from_a = mail + (tile - r + lane) * N;
    const volatile u64* from_b = groups + (group - q + lane) * N;
    const volatile u64* from_c = sections + (section - 1) * N;
    if (lane < r) peek(a, from_a);
    if (lane < q) peek(b, from_b);
    if (section > 0) peek(c, from_c);
    V x = total, y = total, z = total;
    if (lane < r) x = opened(a, from_a, launch);
    x = scan_lanes(x, combine);
    const V whole = of_lane(x, r);
    V head = of_lane(x, r - 1);
    bool some = r > 0;
    if (r == 31 && lane == 0) post(groups + group * N, whole, launch);
    y = whole;
    if (lane < q) y = opened(b, from_b, launch);
    y = scan_lanes(y, combine);
    const V all = of_lane(y, q);
    const V earlier = of_lane(y, q - 1);
    if (q > 0) { head = some ? combine(earlier, head) : earlier; some = true; }
    if (section > 0) {
        z = opened(c, from_c, launch);
        head = some ? combine(z, head) : z;
    }
    if (r == 31 && q == 31 && lane == 0) post(sections + section * N, section > 0 ? combine(z, all) : all, launch);
    return head;
}
}
