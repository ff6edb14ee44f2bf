"""Samplers by rejection in NumPy: the twins of the definitions of distributions, with the same bits.

Element i of a draw has a stream of its own, the Philox blocks (counter of i, 0), (counter of i, 1), ..., and takes as
many of them as it needs. What is accepted is decided by + - * / and square roots alone (`log` and `exp` are made of
them), in the order of `emit/include/sampling.hpp`, so that no processor decides otherwise.

Sources
-------
Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): gamma. Hoermann, "The transformed
rejection method for generating Poisson random variables" and "The generation of binomial random variates" (1993):
Poisson, binomial. Loader, "Fast and accurate computation of binomial probabilities" (2000): their densities. Stadlober,
"The ratio of uniforms approach for generating discrete random variates" (1990): hypergeometric. Best and Fisher,
"Efficient simulation of the von Mises distribution" (1979). Michael, Schucany and Haas, "Generating random variates
using transformations with multiple roots" (1976): Wald. Kemp, "Efficient generation of logarithmically distributed
pseudo-random variables" (1981). Devroye, "Non-uniform random variate generation" (1986): zipf. Lemire, "Fast random
integer generation in an interval" (2019). Mitchell, Stokes, Frank and Holmes, "Bandwidth-optimal random shuffling for
GPUs" (2022): positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.ops.philox import (
    LOG2_HIGH,
    LOG2_LOW,
    bits32,
    bits64,
    high_product,
    log_series,
    minus_log64,
    philox,
    polynomial,
    split,
    turned64,
)

Array = np.ndarray[Any, Any]
Tried = tuple[Array, Array]

_MOST = np.int64(2**63 - 1)
_MOST_TRIES = 1 << 20
_END = 9.2233720368547748e18
_STIRLING = np.array(
    [
        0.0, 1.0, 1.3068528194400546, 1.4959226032237258, 1.6328763858683832, 1.7403021806115442, 1.828694396641771,
        1.9037903176782212, 1.9690705693065629, 2.0268062840554952,
    ]
)  # fmt: skip
_EXP = (
    2.0915118711997294226e-9, 2.5105821598328188174e-8, 2.7557272599857137691e-7, 2.7557253939287671843e-6,
    0.000024801587326374912011, 0.00019841269875978949911, 0.0013888888888883510356, 0.0083333333333258019164,
    0.041666666666666669934, 0.16666666666666671242, 0.5,
)  # fmt: skip


# --- arithmetic -----------------------------------------------------------------------------------


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x, np.float64).view(np.uint64)


def log(x: Array) -> Array:
    """The logarithm of float64, as `portable_log` of `emit/include/portable.hpp`.

    Examples
    --------
    >>> bool(abs(log(np.array([10.0])) - np.log(10.0))[0] < 1e-15)
    True
    """
    small = x < 2.2250738585072014e-308
    k, f = split(np.where(small, x * 18014398509481984.0, x))
    k = np.where(small, k - 54.0, k)
    h = 0.5 * f * f
    y = k * LOG2_HIGH - ((h - (log_series(f, h) + k * LOG2_LOW)) - f)
    y = np.where(x == np.inf, x, y)
    y = np.where(x == 0, -np.inf, y)
    return np.where((x < 0) | (x != x), np.nan, y)


def exp(x: Array) -> Array:
    """The exponential of float64, as `portable_exp` there."""
    x = np.where(x < -746.0, -746.0, x)
    x = np.where(x > 710.0, 710.0, x)
    t = x * 1.4426950408889634 + 6755399441055744.0
    n = (_bits(t) - np.uint64(0x4338000000000000)).view(np.int64)
    k = t - 6755399441055744.0
    high, low = x - k * LOG2_HIGH, k * LOG2_LOW
    r = high - low
    c = (high - r) - low
    y = 1.0 + (r + (r * r * polynomial(_EXP, r) + c))
    half = ((n + 4096).view(np.uint64) >> np.uint64(1)).view(np.int64) - 2048
    return y * _exp2(half) * _exp2(n - half)


def _exp2(n: Array) -> Array:
    return ((n + 1023).view(np.uint64) << np.uint64(52)).view(np.float64)


def log1p(x: Array) -> Array:
    """log(1 + x), as `portable_log1p` of `emit/include/sampling.hpp`."""
    y = 1.0 + x
    return np.where(y == 1.0, x, log(y) * (x / (y - 1.0)))


def expm1(x: Array) -> Array:
    """exp(x) - 1, as `portable_expm1` there."""
    y = exp(x)
    return np.where(y == 1.0, x, np.where(y - 1.0 == -1.0, -1.0, (y - 1.0) * (x / log(y))))


def _stirling(k: Array) -> Array:
    z = 1.0 / (k * k)
    tail = 0.08333333333333333 - (0.002777777777777778 - (0.0007936507936507937 - 0.0005952380952380953 * z) * z) * z
    large = 0.5 * log(6.283185307179586 * k) + tail / k
    return np.where(k < 10.0, _STIRLING[np.clip(k, 0, 9).astype(np.intp)], large)


def _deviance(k: Array, m: Array) -> Array:
    x = (k - m) / m
    return np.where(k == 0.0, m, m * ((1.0 + x) * log1p(x) - x))


def _log_binomial(k: Array, n: Array, p: Array, q: Array) -> Array:
    return -_stirling(k) - _stirling(n - k) - _deviance(k, n * p) - _deviance(n - k, n * q)


def _log_hypergeometric(k: Array, good: Array, bad: Array, sample: Array, p: Array) -> Array:
    return _log_binomial(k, good, p, 1.0 - p) + _log_binomial(sample - k, bad, p, 1.0 - p)


# --- streams --------------------------------------------------------------------------------------


class RandomBlocks:
    """The blocks of every element of a draw, and how many of them each has taken."""

    def __init__(self, counter: Array, key: Array) -> None:
        self.counter = counter
        self.key = key
        self.high = np.zeros(len(counter), np.uint64)

    def block(self, at: Array) -> tuple[Array, Array, Array, Array]:
        """The next four words (in uint64) for each of the elements `at`."""
        words = philox(self.counter[at], self.key[at], self.high[at])
        self.high[at] += np.uint64(1)
        return words

    def draw(self, at: Array) -> tuple[Array, Array]:
        """Two uniform float64 for each of the elements `at`."""
        x, y, z, w = self.block(at)
        return _unit(y, x), _unit(w, z)


def _unit(high: Array, low: Array) -> Array:
    return ((high << np.uint64(32) | low) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _until_accepted(count: int, attempt: Callable[[Array], Tried], dtype: Any = np.float64) -> Array:
    """What ``attempt(which)`` gives for `count` elements, each tried until it is accepted."""
    out = np.zeros(count, dtype)
    left = np.arange(count)
    tries = 0
    while left.size and tries < _MOST_TRIES:
        tries += 1
        values, accepted = attempt(left)
        out[left[accepted]] = values[accepted].astype(dtype)
        left = left[~accepted]
    return out


def _where(chosen: Array, out: Array, sample: Callable[[Array], Array]) -> None:
    """``out[chosen] = sample(positions of chosen)`` if there are any."""
    positions = np.flatnonzero(chosen)
    if positions.size:
        out[positions] = sample(positions)


def _sampler(sample: Callable[..., Array]) -> Callable[..., Array]:
    """A sampler of vectors as a function of a counter, a key and parameters that broadcast."""

    def twin(counter: Any, key: Any, *parameters: Any) -> Array:
        arrays = np.broadcast_arrays(counter, key, *parameters)
        counters, keys, *rest = (x.ravel() for x in arrays)
        with np.errstate(all="ignore"):
            result = sample(
                RandomBlocks(counters.astype(np.uint64), keys.astype(np.uint64)), np.arange(len(keys)), *rest
            )
        return result.reshape(arrays[0].shape)

    twin.__doc__ = sample.__doc__
    return twin


# --- samplers: (stream, elements, parameters of these elements) -----------------------------------


def _point(x: Array, y: Array, angle: Array) -> Array:
    """A normal number of two words for a radius and 64 bits for an angle."""
    return np.sqrt(2.0 * minus_log64(y << np.uint64(32) | x)) * turned64(angle, np.uint64(0))


def _normal(s: RandomBlocks, at: Array) -> Array:
    x, y, z, w = s.block(at)
    return _point(x, y, w << np.uint64(32) | z)


def _split_gamma(s: RandomBlocks, at: Array, a: Array) -> Tried:
    """A factor and the logarithm of another one, whose product is a gamma number."""
    tail, out = np.zeros(len(at)), np.where(a == 0.0, 0.0, np.where(a > 0.0, a, np.nan))

    def usual(some: Array) -> Array:
        shape = a[some]
        d = np.where(shape < 1.0, shape + 1.0, shape) - 0.3333333333333333
        c = 1.0 / np.sqrt(9.0 * d)
        surely = 0.1986 * c * c

        def attempt(left: Array) -> Tried:
            first, second, third, last = s.block(at[some][left])
            x = _point(first, second, third << np.uint64(32))
            u, own = (last.astype(np.float64) + 0.5) * 2.0**-32, d[left]
            t = 1.0 + c[left] * x
            inside, t, z = t > 0.0, t * t * t, x * x
            sure = u < 1.0 - surely[left] * (z * z)
            accepted = inside & (sure | (log(u) < 0.5 * z + own * (1.0 - t + log(t))))
            low = left[accepted & (shape[left] < 1.0)]
            if low.size:
                tail[some[low]] = log(1.0 - s.draw(at[some][low])[1]) / shape[low]
            return own * t, accepted

        return _until_accepted(len(some), attempt)

    _where((a > 0.0) & (a <= np.finfo(np.float64).max), out, usual)
    return out, tail


def _gamma(s: RandomBlocks, at: Array, a: Array) -> Array:
    """Gamma numbers of shape `a`."""
    g, tail = _split_gamma(s, at, a)
    return np.where(a < 1.0, g * exp(tail), g)


def _log_gamma(s: RandomBlocks, at: Array, a: Array) -> Array:
    """Logarithms of gamma numbers of shape `a`, also where these would be 0."""
    g, tail = _split_gamma(s, at, a)
    return log(g) + tail


def _beta(s: RandomBlocks, at: Array, a: Array, b: Array) -> Array:
    """Beta numbers: of gamma numbers whose small factors are kept as logarithms, so that not both vanish."""
    x, first = _split_gamma(s, at, a)
    y, second = _split_gamma(s, at, b)
    odds = y / x
    return 1.0 / (1.0 + np.where((a < 1.0) | (b < 1.0), odds * exp(second - first), odds))


def _noncentral_chisquare(s: RandomBlocks, at: Array, df: Array, nonc: Array) -> Array:
    """A chi-square number, a normal one off by the root of `nonc` among its squares."""
    out = np.full(len(at), np.nan)
    valid = (df > 0.0) & (nonc >= 0.0)

    def one_apart(some: Array) -> Array:
        z = _normal(s, at[some]) + np.sqrt(nonc[some])
        return 2.0 * _gamma(s, at[some], 0.5 * (df[some] - 1.0)) + z * z

    def in_pairs(some: Array) -> Array:
        pairs = _poisson(s, at[some], 0.5 * nonc[some]).astype(np.float64)
        return 2.0 * _gamma(s, at[some], 0.5 * df[some] + pairs)

    _where(valid & (df > 1.0), out, one_apart)
    _where(valid & (df <= 1.0), out, in_pairs)
    return out


def _wald(s: RandomBlocks, at: Array, mean: Array, scale: Array) -> Array:
    """Wald numbers."""
    z = _normal(s, at)
    w = z * z * mean / (2.0 * scale)
    x = mean / (1.0 + w + np.sqrt(w * (w + 2.0)))
    u, _ = s.draw(at)
    return np.where(u <= mean / (mean + x), x, mean * (mean / x))


def _vonmises(s: RandomBlocks, at: Array, kappa: Array) -> Array:
    """Tangents of half of a von Mises angle."""
    out = np.full(len(at), np.nan)
    _where(kappa > 1e12, out, lambda some: 0.5 * _normal(s, at[some]) / np.sqrt(kappa[some]))

    def usual(some: Array) -> Array:
        own = kappa[some]
        r = 1.0 + np.sqrt(1.0 + 4.0 * own * own)
        rho = np.where(own < 1e-5, 0.5 * own, (r - np.sqrt(2.0 * r)) / (2.0 * own))
        c, e = (1.0 + rho * rho) / (2.0 * rho), (1.0 - rho * rho) / (2.0 * rho)

        def attempt(left: Array) -> Tried:
            u, v = s.draw(at[some][left])
            x, y = 2.0 * u - 1.0, 2.0 * v - 1.0
            z = x * x + y * y
            inside = (z < 1.0) & (z != 0.0)
            even = own[left] < 1e-8
            values = np.where(even, y / x, (1.0 - rho[left]) / (1.0 + rho[left]) * (y / x))
            accepted = inside & even
            open_ = np.flatnonzero(inside & ~even)
            k, x, y, z = left[open_], x[open_], y[open_], z[open_]
            loss = own[k] * (e[k] * e[k] / (c[k] + (x - y) * (x + y) / z))
            u, _ = s.draw(at[some][k])
            accepted[open_] = (loss * (2.0 - loss) >= u) | (log(loss / u) + 1.0 >= loss)
            return values, accepted

        return _until_accepted(len(some), attempt)

    _where((kappa >= 0.0) & (kappa <= 1e12), out, usual)
    return out


def _poisson(s: RandomBlocks, at: Array, lam: Array) -> Array:
    """Poisson numbers."""
    out = np.where(lam > 9.223372006484771e18, _MOST, np.int64(0))

    def small(some: Array) -> Array:
        none, inverse = exp(-lam[some]), 1.0 / lam[some]

        def attempt(left: Array) -> Tried:
            u, _ = s.draw(at[some][left])
            k, last = np.zeros(len(left), np.int64), none[left]
            going = np.flatnonzero(u >= last)
            while going.size:
                k[going] += 1
                u[going] = (u[going] - last[going]) * (k[going] * inverse[left[going]])
                going = going[(u[going] >= last[going]) & (k[going] < 64)]
            return k, k < 64

        return _until_accepted(len(some), attempt, np.int64)

    def large(some: Array) -> Array:
        own = lam[some]
        b = 0.931 + 2.53 * np.sqrt(own)
        a, inverse, most = 0.02483 * b - 0.059, 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0)

        def attempt(left: Array) -> Tried:
            mean, aa, bb = own[left], a[left], b[left]
            u, v = s.draw(at[some][left])
            u = u - 0.5
            w = 0.5 - np.abs(u)
            k = np.floor((2.0 * aa / w + bb) * u + mean + 0.43)
            quick = (w >= 0.07) & (v <= most[left])
            possible = (k >= 0.0) & (k <= _END) & ((w >= 0.013) | (v <= w))
            k = np.where(quick | possible, k, 0.0)
            close = log(v * inverse[left] / (aa / (w * w) + bb)) <= -_deviance(k, mean) - _stirling(k)
            return k, quick | (possible & close)

        return _until_accepted(len(some), attempt, np.int64)

    _where((lam > 0.0) & (lam < 10.0), out, small)
    _where((lam >= 10.0) & (lam <= 9.223372006484771e18), out, large)
    return out


def _lower_binomial(s: RandomBlocks, at: Array, n: Array, p: Array) -> Array:
    """Binomial numbers for p of at most 1/2."""
    q, mean = 1.0 - p, n * p
    out = np.empty(len(at))

    def by_inversion(some: Array) -> Array:
        nn, pp, qq = n[some], p[some], q[some]
        none = exp(nn * log1p(-pp))
        bound = mean[some] + 10.0 * np.sqrt(mean[some] * qq + 1.0)
        bound = np.where(bound < nn, bound, nn)

        def attempt(left: Array) -> Tried:
            u, _ = s.draw(at[some][left])
            k, here = np.zeros(len(left)), none[left]
            going = np.flatnonzero(u > here)
            while going.size:
                k[going] += 1.0
                u[going] -= here[going]
                own = left[going]
                here[going] = (nn[own] - k[going] + 1.0) * pp[own] * here[going] / (k[going] * qq[own])
                going = going[(u[going] > here[going]) & (k[going] <= bound[own])]
            return k, k <= bound[left]

        return _until_accepted(len(some), attempt)

    def by_rejection(some: Array) -> Array:
        nn, pp, qq, mm = n[some], p[some], q[some], mean[some]
        deviation = np.sqrt(mm * qq)
        b = 1.15 + 2.53 * deviation
        a = 0.0248 * b - 0.0873 + 0.01 * pp
        alpha, most = (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b
        top = _log_binomial(np.floor((nn + 1.0) * pp), nn, pp, qq)

        def attempt(left: Array) -> Tried:
            aa, bb, own = a[left], b[left], nn[left]
            u, v = s.draw(at[some][left])
            u = u - 0.5
            w = 0.5 - np.abs(u)
            k = np.floor((2.0 * aa / w + bb) * u + mm[left] + 0.5)
            quick = (w >= 0.07) & (v <= most[left])
            possible = (k >= 0.0) & (k <= own)
            tested = np.where(possible, k, 0.0)
            density = _log_binomial(tested, own, pp[left], qq[left]) - top[left]
            return k, quick | (possible & (log(v * alpha[left] / (aa / (w * w) + bb)) <= density))

        return _until_accepted(len(some), attempt)

    _where(mean < 10.0, out, by_inversion)
    _where(mean >= 10.0, out, by_rejection)
    return out


def _binomial(s: RandomBlocks, at: Array, n: Array, p: Array) -> Array:
    """Binomial numbers."""
    out = np.where((n > 0) & (p >= 1.0), n, np.int64(0))

    def usual(some: Array) -> Array:
        own, flipped = n[some], p[some] > 0.5
        p_low = np.where(flipped, 1.0 - p[some], p[some])
        k = _lower_binomial(s, at[some], own.astype(np.float64), p_low).astype(np.int64)
        return np.where(flipped, own - k, k)

    _where((n > 0) & (p > 0.0) & (p < 1.0), out, usual)
    return out


_ONE_BY_ONE = 40.0
"""How many are drawn one by one; more are drawn together."""


def _lower_hypergeometric(s: RandomBlocks, at: Array, good: Array, bad: Array, sample: Array) -> Array:
    """Good ones among `sample` of at most half of all, good being at most bad."""
    total = good + bad
    out = np.empty(len(at))

    def one_by_one(some: Array) -> Array:
        rest = good[some].copy()
        for i in range(0, int(_ONE_BY_ONE), 2):
            left = np.flatnonzero(sample[some] > i)
            if not left.size:
                break
            u, v = s.draw(at[some][left])
            rest[left] -= u * (total[some][left] - i) < rest[left]
            both = sample[some][left] > i + 1
            rest[left] -= both & (v * (total[some][left] - i - 1.0) < rest[left])
        return good[some] - rest

    def by_rejection(some: Array) -> Array:
        g, b, m, t = good[some], bad[some], sample[some], total[some]
        p, part = g / t, m / t
        centre = m * p + 0.5
        width = np.sqrt((t - m) * (m * p * (1.0 - p) / (t - 1.0)) + 0.5)
        h = 1.7155277699214135 * width + 0.8989161620588988
        end = np.minimum(np.minimum(m, g) + 1.0, np.floor(centre + 16.0 * width))
        top = _log_hypergeometric(np.floor((m + 1.0) * ((g + 1.0) / (t + 2.0))), g, b, m, part)

        def attempt(left: Array) -> Tried:
            u, v = s.draw(at[some][left])
            x = centre[left] + h[left] * (v - 0.5) / u
            possible = (x >= 0.0) & (x < end[left])
            k = np.where(possible, np.floor(x), 0.0)
            gain = _log_hypergeometric(k, g[left], b[left], m[left], part[left]) - top[left]
            close = (u * (u - gain) < 1.0) & (2.0 * log(u) <= gain)
            return k, possible & ((u * (4.0 - u) - 3.0 <= gain) | close)

        return _until_accepted(len(some), attempt)

    _where(sample < _ONE_BY_ONE, out, one_by_one)
    _where(sample >= _ONE_BY_ONE, out, by_rejection)
    return out


def _hypergeometric(s: RandomBlocks, at: Array, good: Array, bad: Array, sample: Array) -> Array:
    """Good ones among `sample` of `good` and `bad` ones."""
    total, less = good + bad, np.minimum(good, bad)
    drawn = np.minimum(sample, total - sample)
    out = np.zeros(len(at), np.int64)

    def usual(some: Array) -> Array:
        low, few = less[some], drawn[some]
        k = _lower_hypergeometric(s, at[some], *(x.astype(np.float64) for x in (low, total[some] - low, few)))
        k = k.astype(np.int64)
        k = np.where(good[some] > bad[some], few - k, k)
        return np.where(few < sample[some], good[some] - k, k)

    _where((less >= 0) & (total >= 0) & (drawn >= 0), out, usual)
    return out


def _geometric(s: RandomBlocks, at: Array, p: Array) -> Array:
    """Trials until the first success."""
    u, _ = s.draw(at)
    k = np.ceil(log(1.0 - u) / log1p(-p))
    whole = np.where(k >= _END, _MOST, np.clip(k, 1.0, _END).astype(np.int64))
    return np.where((p > 0.0) & (p < 1.0), whole, np.int64(1))


def _logseries(s: RandomBlocks, at: Array, p: Array) -> Array:
    """Numbers of the logarithmic series."""
    out = np.ones(len(at), np.int64)

    def usual(some: Array) -> Array:
        own = p[some]
        r = log1p(-own)

        def attempt(left: Array) -> Tried:
            v, u = s.draw(at[some][left])
            q = -expm1(r[left] * u)
            k = np.floor(1.0 + log(v) / log(q))
            long = (v < own[left]) & (v <= q * q)
            values = np.where(v >= own[left], 1.0, np.where(v > q * q, np.where(v >= q, 1.0, 2.0), k))
            return np.where(values >= _END, -1.0, values), ~long | ((k >= 1.0) & (v > 0.0))

        k = _until_accepted(len(some), attempt, np.int64)
        return np.where(k < 0, _MOST, k)

    _where((p > 0.0) & (p < 1.0), out, usual)
    return out


def _zipf(s: RandomBlocks, at: Array, a: Array) -> Array:
    """Numbers k with probabilities as k**-a."""
    out = np.ones(len(at), np.int64)

    def usual(some: Array) -> Array:
        e = a[some] - 1.0
        least, b = exp(-43.668272375276556 * e), expm1(0.6931471805599453 * e)

        def attempt(left: Array) -> Tried:
            u, v = s.draw(at[some][left])
            own = e[left]
            k = np.floor(exp(-log(u * least[left] + (1.0 - u)) / own))
            t = expm1(own * log1p(1.0 / k))
            return k, (k >= 1.0) & (k <= _END) & (v * k * t / b[left] <= (1.0 + t) / (1.0 + b[left]))

        return _until_accepted(len(some), attempt, np.int64)

    _where((a > 1.0) & (a < 1025.0), out, usual)
    return out


beta = _sampler(_beta)
gamma = _sampler(_gamma)
log_gamma = _sampler(_log_gamma)
noncentral_chisquare = _sampler(_noncentral_chisquare)
wald = _sampler(_wald)
vonmises = _sampler(_vonmises)
poisson = _sampler(_poisson)
binomial = _sampler(_binomial)
hypergeometric = _sampler(_hypergeometric)
geometric = _sampler(_geometric)
logseries = _sampler(_logseries)
zipf = _sampler(_zipf)


# --- whole numbers without a bias -----------------------------------------------------------------


def below64(i: Any, start: Any, key: Any, count: Any) -> Array:
    """A uint64 in [0, count), or of all 64 bits where count is 0, for element i of a draw."""
    return _below(bits64, high_product, i, start, key, np.asarray(count).astype(np.uint64))


def below32(i: Any, start: Any, key: Any, count: Any) -> Array:
    """As `below64`, a uint32."""

    def high(x: Array, y: Array) -> Array:
        return (x.astype(np.uint64) * y >> np.uint64(32)).astype(np.uint32)

    return _below(bits32, high, i, start, key, np.asarray(count).astype(np.uint32))


def _below(bits: Any, high_of: Any, i: Any, start: Any, key: Any, count: Array) -> Array:
    kind = count.dtype.type
    shape = np.broadcast_shapes(*(np.shape(x) for x in (i, start, key, count)))
    number = np.broadcast_to(bits(i, start, key), shape).ravel()
    counts = np.broadcast_to(count, shape).ravel()
    out = np.where(counts == 0, number, high_of(number, counts))

    def again(some: Array, number: Array) -> Array:
        own = counts[some]
        low = number * own
        return some[(own != 0) & (low < own) & (low < (kind(0) - own) % np.maximum(own, kind(1)))]

    left = again(np.arange(counts.size), number)
    high = 0
    while left.size:  # pragma: no branch
        high += 1
        numbers, starts, keys = (np.broadcast_to(x, shape).ravel()[left] for x in (i, start, key))
        number = bits(numbers, starts, keys, high)
        out[left] = high_of(number, counts[left])
        left = again(left, number)
    return out.reshape(shape)


def position(i: Any, key: Any, count: Any) -> Array:
    """Where position i of [0, count) goes in the random order of a key.

    Examples
    --------
    >>> sorted(position(np.arange(5), 3, 5).tolist())
    [0, 1, 2, 3, 4]
    """
    arrays = np.broadcast_arrays(*(np.asarray(x).astype(np.uint64) for x in (i, key, count)))
    value, keys, counts = (x.ravel().copy() for x in arrays)
    two = np.uint64(2)
    width = np.array([min(max((int(n) - 1).bit_length(), 2), 63) for n in np.unique(counts)], np.uint64)
    width = width[np.searchsorted(np.unique(counts), counts)] if counts.size else counts
    one = np.uint64(1)
    inside = value < counts
    left = np.flatnonzero(inside)
    value[~inside] = 0
    while left.size:
        x, high = value[left], width[left] // two
        low = width[left] - high
        for step in range(1, 9):
            right, top = x & ((one << low) - one), x >> low
            first, second, _, _ = philox(right, keys[left], np.uint64(step << 32))
            top = (top ^ (second << np.uint64(32) | first)) & ((one << high) - one)
            x = right << high | top
            low, high = high, low
        value[left] = x
        left = left[x >= counts[left]]
    return value.astype(np.int64).reshape(arrays[0].shape)


__all__ = [
    "below32", "below64", "beta", "binomial", "exp", "expm1", "gamma", "geometric", "hypergeometric", "log", "log1p",
    "log_gamma", "logseries", "noncentral_chisquare", "poisson", "position", "vonmises", "wald", "zipf",
]  # fmt: skip
