// Where an extreme of real numbers is, on the host: better elements are rare, so most blocks are only compared with the
// best one so far. Loops have lanes of 256 bytes, which are a few registers.
namespace nl {
template <int BYTES> struct flags { };
template <> struct flags<1> { typedef i8 type; };
template <> struct flags<2> { typedef i16 type; };
template <> struct flags<4> { typedef i32 type; };
template <> struct flags<8> { typedef i64 type; };
template <bool LARGEST, class T> NL_DEV T extreme(T a, T b) { return (LARGEST ? b > a : b < a) ? b : a; }
// Position of the first extreme of a block (of the first NaN, if there is one), if it takes the place of `best`; else -1.
template <bool LARGEST, class T> static i64 find_extreme(const T* x, i64 n, T& best, bool some) {
    constexpr i64 W = 256 / sizeof(T), S = 64;
    typedef typename flags<sizeof(T)>::type F;
    if (some) {
        if (best != best) return -1;
        const T rival = best;
        F any = 0;
        for (i64 l = 0; l < n; ++l) any |= (F)!(LARGEST ? x[l] <= rival : x[l] >= rival);
        if (!any) return -1;
    }
    T top = x[0];
    F odd = 0;
    if (n < W) {
        for (i64 l = 0; l < n; ++l) {
            odd |= (F)(x[l] != x[l]);
            top = (LARGEST ? x[l] > top : x[l] < top) ? x[l] : top;
        }
    } else {
        // A sum that is no number may come of infinities, too: then all are asked.
        T lane[W], sum[W];
        for (i64 l = 0; l < W; ++l) sum[l] = lane[l] = x[l];
        i64 e = W;
        for (; e + 4 * W <= n; e += 4 * W) {  // Lanes go to memory and back each time.
            const T* y = x + e;
            for (i64 l = 0; l < W; ++l) {
                sum[l] += (y[l] + y[l + W]) + (y[l + 2 * W] + y[l + 3 * W]);
                lane[l] = extreme<LARGEST>(lane[l], extreme<LARGEST>(extreme<LARGEST>(y[l], y[l + W]),
                                                                     extreme<LARGEST>(y[l + 2 * W], y[l + 3 * W])));
            }
        }
        for (; e < n; e += W) {
            const T* y = x + (e + W <= n ? e : n - W);  // Some may be seen twice.
            for (i64 l = 0; l < W; ++l) {
                sum[l] += y[l];
                lane[l] = extreme<LARGEST>(lane[l], y[l]);
            }
        }
        NL_UNROLL
        for (i64 half = W / 2; half > 0; half /= 2)
            for (i64 l = 0; l < half; ++l) {
                sum[l] += sum[l + half];
                lane[l] = extreme<LARGEST>(lane[l], lane[l + half]);
            }
        top = lane[0];
        if (sum[0] != sum[0]) for (i64 l = 0; l < n; ++l) odd |= (F)(x[l] != x[l]);
    }
    i64 at = 0;
    for (; at + S <= n; at += S) {
        F hit = 0, first = S;
        if (odd) for (i64 l = 0; l < S; ++l) hit |= (F)(x[at + l] != x[at + l]);
        else for (i64 l = 0; l < S; ++l) hit |= (F)(x[at + l] == top);
        if (!hit) continue;
        for (i64 l = 0; l < S; ++l) {
            const F here = (odd ? x[at + l] != x[at + l] : x[at + l] == top) ? (F)l : (F)S;
            first = here < first ? here : first;
        }
        at += first;
        break;
    }
    while (odd ? x[at] == x[at] : x[at] != top) ++at;
    best = x[at];
    return at;
}
// Positions of the first extremes of columns that lie side by side: element l of a row at `x + l`, the next row at `step`.
// Rows without gaps are compared several at a time, those of a block first among themselves.
template <bool LARGEST, class T>
static void find_extremes(const T* x, i64 step, i64 rows, i64 width, i64 start, T* best, i64* at) {
    constexpr i64 W = 64;
    typedef typename flags<sizeof(T)>::type F;
    T lane[W];
    F nan[W];
    const i64 lines = step == width ? W / width : 1, lanes = lines * width, most = width < 16 ? 16 * W / width : W;
    for (i64 first = 0; first < rows; first += most) {
        const i64 end = rows - first < most ? rows - first : most, used = end < lines ? end * width : lanes;
        const T* const block = x + first * step;
        for (i64 l = 0; l < used; ++l) { lane[l] = block[l]; nan[l] = (F)(block[l] != block[l]); }
        for (i64 e = lines; e < end; e += lines) {
            const T* const y = block + e * step;
            const i64 n = end - e < lines ? (end - e) * width : lanes;
            for (i64 l = 0; l < n; ++l) {
                nan[l] |= (F)(y[l] != y[l]);
                lane[l] = (LARGEST ? y[l] > lane[l] : y[l] < lane[l]) ? y[l] : lane[l];
            }
        }
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
