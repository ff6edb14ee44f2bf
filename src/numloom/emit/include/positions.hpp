// Where an extreme is, on the host. Of real numbers first what it is, then where, both by vectors of a register each and
// without a branch an element. Better blocks are rare, so most of a long row are not asked where.
#if defined(__AVX512F__)
#define NL_VECTOR 64
#elif defined(__AVX2__)
#define NL_VECTOR 32
#else
#define NL_VECTOR 16
#endif
namespace nl {
template <int BYTES> struct flags { };
template <> struct flags<1> { typedef i8 type; };
template <> struct flags<2> { typedef i16 type; };
template <> struct flags<4> { typedef i32 type; };
template <> struct flags<8> { typedef i64 type; };
template <class T, i64 BYTES> struct lanes_of { typedef T type __attribute__((vector_size(BYTES))); };
template <class V, class T> NL_DEV V load(const T* x) { V y; __builtin_memcpy(&y, x, sizeof(V)); return y; }
template <bool LARGEST, class T> NL_DEV T extreme(T a, T b) { return (LARGEST ? b > a : b < a) ? b : a; }
// The first of n elements that is `top` (or not a number), -1 if there is none. Lanes go from the end of a piece to its
// beginning, and keep the last place that they found.
template <i64 BYTES, bool NUMBER, class T> NL_DEV i64 find_first(const T* x, i64 n, T top) {
    typedef typename flags<sizeof(T)>::type F;
    typedef typename lanes_of<T, BYTES>::type V;
    typedef typename lanes_of<F, BYTES>::type P;
    constexpr i64 W = BYTES / sizeof(T), PIECE = sizeof(T) == 1 ? 128 : 16 * W;
    const V tops = top - V{};
    P lanes;
    for (i64 l = 0; l < W; ++l) lanes[l] = (F)l;
    for (i64 start = 0;; start += PIECE) {
        i64 m = n - start < PIECE ? n - start : PIECE;
        if (m < W) { start = n - W; m = W; }
        const V last = load<V>(x + start + m - W);
        P first = (NUMBER ? last == tops : last != last) ? lanes + (F)(m - W) : (F)(PIECE - 1) - P{};
        i64 e = (m - 1) / W * W - W;
        for (P place = lanes + (F)e; e >= 0; e -= W, place -= (F)W) {
            const V y = load<V>(x + start + e);
            first = (NUMBER ? y == tops : y != y) ? place : first;
        }
        F found[W];
        __builtin_memcpy(found, &first, BYTES);
        NL_UNROLL
        for (i64 half = W / 2; half > 0; half /= 2)
            for (i64 l = 0; l < half; ++l) found[l] = found[l + half] < found[l] ? found[l + half] : found[l];
        const i64 at = start + found[0];
        if (at < n && (NUMBER ? x[at] == top : x[at] != x[at])) return at;
        if (start + m == n) return -1;
    }
}
// Position of the first extreme of a block (of the first NaN, if there is one), if it takes the place of `best`; else -1.
template <bool LARGEST, i64 BYTES, class T> NL_DEV i64 find_by(const T* x, i64 n, T& best, bool some) {
    typedef typename lanes_of<T, BYTES>::type V;
    constexpr i64 W = BYTES / sizeof(T);
    // What is no number is no extreme, but makes the sum none. Elements of the end are seen twice.
    V lane = load<V>(x + n - W), sum = lane;
    i64 e = 0;
    if (n >= 4 * W) {
        V lane1 = lane, lane2 = lane, lane3 = lane, sum1{}, sum2{}, sum3{};
        for (; e + 4 * W <= n; e += 4 * W) {
            const V a = load<V>(x + e), b = load<V>(x + e + W), c = load<V>(x + e + 2 * W), d = load<V>(x + e + 3 * W);
            lane = extreme<LARGEST>(lane, a), lane1 = extreme<LARGEST>(lane1, b);
            lane2 = extreme<LARGEST>(lane2, c), lane3 = extreme<LARGEST>(lane3, d);
            sum += a, sum1 += b, sum2 += c, sum3 += d;
        }
        lane = extreme<LARGEST>(extreme<LARGEST>(lane, lane1), extreme<LARGEST>(lane2, lane3));
        sum = (sum + sum1) + (sum2 + sum3);
    }
    for (; e < n - W; e += W) {
        const V a = load<V>(x + e);
        sum += a;
        lane = extreme<LARGEST>(lane, a);
    }
    T tops[W], sums[W];
    __builtin_memcpy(tops, &lane, BYTES);
    __builtin_memcpy(sums, &sum, BYTES);
    NL_UNROLL
    for (i64 half = W / 2; half > 0; half /= 2)
        for (i64 l = 0; l < half; ++l) {
            sums[l] += sums[l + half];
            tops[l] = extreme<LARGEST>(tops[l], tops[l + half]);
        }
    const T top = tops[0], total = sums[0];
    if (total != total) {  // Of infinities, too.
        const i64 at = find_first<BYTES, false>(x, n, top);
        if (at >= 0) best = x[at];
        if (at >= 0) return at;
    }
    if (some && !(LARGEST ? top > best : top < best)) return -1;
    best = top;
    return find_first<BYTES, true>(x, n, top);
}
template <bool LARGEST, class T> static i64 find_extreme(const T* x, i64 n, T& best, bool some) {
    if (some && best != best) return -1;
    if (n * sizeof(T) >= NL_VECTOR) return find_by<LARGEST, NL_VECTOR>(x, n, best, some);
    if (n * sizeof(T) >= 16) return find_by<LARGEST, 16>(x, n, best, some);
    i64 at = some ? -1 : 0;
    if (!some) best = x[0];
    for (i64 e = 0; e < n; ++e)
        if ((LARGEST ? x[e] > best : x[e] < best) || (x[e] != x[e] && best == best)) best = x[e], at = e;
    return at;
}
// Complex numbers by blocks: only those with the best real part of theirs are compared.
template <bool LARGEST, class T> static i64 find_extreme(const complex<T>* x, i64 n, complex<T>& best, bool some) {
    constexpr i64 W = 16, BLOCK = 128;
    typedef typename flags<sizeof(T)>::type F;
    i64 at = some ? -1 : 0;
    if (!some) best = x[0];
    if (is_nan(best)) return at;
    for (i64 start = 0; start < n; start += BLOCK) {
        const i64 end = n - start < BLOCK ? n : start + BLOCK;
        T lane[W];
        F odd[W] = {}, any = 0;
        for (i64 l = 0; l < W; ++l) lane[l] = x[start].re;
        i64 e = start;
        for (; e + W <= end; e += W) {
            NL_ROLLED
            for (i64 l = 0; l < W; ++l) {
                const complex<T> y = x[e + l];
                odd[l] |= (F)(y.re != y.re) | (F)(y.im != y.im);
                lane[l] = extreme<LARGEST>(lane[l], y.re);
            }
        }
        for (; e < end; ++e) {
            odd[0] |= (F)is_nan(x[e]);
            lane[0] = extreme<LARGEST>(lane[0], x[e].re);
        }
        for (i64 l = 0; l < W; ++l) any |= odd[l];
        T top = lane[0];
        for (i64 l = 1; l < W; ++l) top = extreme<LARGEST>(top, lane[l]);
        if (!any && (LARGEST ? top < best.re : top > best.re)) continue;
        for (e = start; e < end; ++e) {
            if (any ? !is_nan(x[e]) : x[e].re != top || !(LARGEST ? x[e] > best : x[e] < best)) continue;
            best = x[e], at = e;
            if (any) return at;
        }
    }
    return at;
}
template <bool LARGEST, class T, class F> NL_DEV void take_line(const T* y, i64 n, T* lane, F* nan) {
    for (i64 l = 0; l < n; ++l) {
        nan[l] |= (F)(y[l] != y[l]);
        lane[l] = extreme<LARGEST>(lane[l], y[l]);
    }
}
// Positions of the first extremes of columns that lie side by side: element l of a row at `x + l`, the next row at `step`.
// Rows without gaps are compared several at a time, those of a block first among themselves.
template <bool LARGEST, class T>
static void find_extremes(const T* x, i64 step, i64 rows, i64 width, i64 start, T* best, i64* at) {
    constexpr i64 W = 64;
    typedef typename flags<sizeof(T)>::type F;
    T lane[W] = {};
    F nan[W] = {};
    const i64 lines = step == width ? W / width : 1, lanes = lines * width, most = width < 16 ? 16 * W / width : W;
    for (i64 first = 0; first < rows; first += most) {
        const i64 end = rows - first < most ? rows - first : most, used = end < lines ? end * width : lanes;
        const T* const block = x + first * step;
        for (i64 l = 0; l < used; ++l) { lane[l] = block[l]; nan[l] = (F)(block[l] != block[l]); }
        // Past the last column of a line is the next one, which does no harm: the number of lanes is known.
        i64 e = lines;
        if (step == width) for (; e + lines < end; e += lines) take_line<LARGEST>(block + e * step, W, lane, nan);
        for (; e < end; e += lines)
            take_line<LARGEST>(block + e * step, end - e < lines ? (end - e) * width : lanes, lane, nan);
        for (i64 other = width; other < used; other += width)
            for (i64 l = 0; l < width; ++l) {
                const T y = lane[other + l];
                nan[l] |= nan[other + l];
                lane[l] = (LARGEST ? y > lane[l] : y < lane[l]) ? y : lane[l];
            }
        for (i64 l = 0; l < width; ++l) {
            const T top = lane[l], rival = best[l];
            const bool better = nan[l] || (LARGEST ? top > rival : top < rival);
            if (at[l] >= 0 && (rival != rival || !better)) continue;
            i64 e = 0;
            if (nan[l]) while (block[e * step + l] == block[e * step + l]) ++e;
            else while (block[e * step + l] != top) ++e;
            best[l] = block[e * step + l];
            at[l] = start + first + e;
        }
    }
}
}
