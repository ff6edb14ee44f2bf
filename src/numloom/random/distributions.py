"""The distributions that `Generator` and `RandomState` share.

Every draw is recorded: one element is a function of its counter and of the parameters at its place, so it costs no
memory until it is stored and fuses with what uses it. Those that take a number of random bits of their own are rows of
`ops/sampling.py`; the others are made of uniform, normal, exponential and gamma numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from numloom.api.calling import drawn
from numloom.api.joining import concatenate, stack
from numloom.api.manipulation import broadcast_to
from numloom.api.products import matmul
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, store_result, wrap
from numloom.base.dtypes import DTYPES, F32, F64, I64, code_of
from numloom.graph import build
from numloom.ops.elementwise import ELEMENTWISE
from numloom.random.bit_generator import Philox
from numloom.random.parameters import (
    MOST_EVENTS,
    Parameter,
    above_one,
    apply,
    below_one,
    chance,
    count,
    drawn_shape,
    not_negative,
    on_device,
    positive,
    probability,
    rate,
    real,
    recorded,
    refuse,
    shape_of,
    whole,
)

try:
    from numloom.random import _drawn  # type: ignore[attr-defined]
except ImportError:
    _drawn = None

Array = Any

_REAL, _WHOLE = "d", "q"
MOST_COLOURS = 1_000_000_000
_PUBLIC = {
    "random_uniform": "random",
    "random_normal": "standard_normal",
    "random_exponential": "standard_exponential",
}


_NUMBERS = (float, int)
_MOST_WIDTH = 1e300
_FLOATS = {name: ELEMENTWISE[f"{name}64"] for name in _PUBLIC}


class Distributions:
    """Random numbers of a bit generator."""

    _bit_generator: Philox

    # ------------------------------------------------------------ the source

    def draw(self, name: str, shape: tuple[int, ...], *parameters: Parameter, chars: str = "") -> Array:
        """One number of the row `name` for each of the next counters."""
        codes = [F64 if char == _REAL else I64 for char in chars]
        nodes = [recorded(parameter, code) for parameter, code in zip(parameters, codes, strict=True)]
        return wrap(build.elementwise(ELEMENTWISE[name], [*self._bit_generator.counters(shape), *nodes]))

    @drawn
    def _sampled(self, name: str, chars: str, size: Any, *parameters: Parameter) -> Array:
        return self.draw(f"random_{name}", drawn_shape(size, *parameters), *parameters, chars=chars)

    def _floats(self, name: str, size: Any, dtype: Any = np.float64, out: Any = None) -> Array:
        """Numbers of a row that exists for float32 and float64."""
        few = self._few(name, size) if dtype is np.float64 and out is None else None
        return self._recorded_floats(name, size, dtype, out) if few is None else few

    def _few(self, name: str, size: Any) -> Array | None:
        """One number, or a short vector, of float64, drawn at once; None where draws are recorded."""
        return None if _drawn is None else _drawn.floats(self._bit_generator, _FLOATS[name], F64, size)

    @drawn
    def _recorded_floats(self, name: str, size: Any, dtype: Any, out: Any) -> Array:
        code = code_of(dtype)
        if code not in (F32, F64):
            raise TypeError(f"Unsupported dtype {DTYPES[code]!r} for {_PUBLIC[name]}")
        bits = 32 if code == F32 else 64
        places = self._bit_generator.places(self._shape_into(out, code, size), 128 // bits)
        return into(out, wrap(build.elementwise(ELEMENTWISE[f"{name}{bits}"], places)))

    def _shape_into(self, out: Any, code: int, size: Any, orders: str = "CF") -> tuple[int, ...]:
        """The shape of a draw of dtype `code` that may go into `out`, which lies in one of these orders."""
        if out is None:
            return shape_of(size)
        if not isinstance(out, ndarray):
            raise TypeError(f"out must be a numloom array, got {type(out).__name__}")
        if out.code != code:
            raise TypeError(f"Supplied output array has the wrong type. Expected {DTYPES[code]}, got {out.dtype}")
        if not any(out.flags[order] for order in orders) or not out.flags.writeable:
            kind = "contiguous" if len(orders) > 1 else f"{orders}-contiguous"
            raise ValueError(f"Supplied output array must be {kind}, writable, aligned, and in machine byte-order.")
        if size is not None and shape_of(size) != out.shape:
            raise ValueError("size must match out.shape when used together")
        return out.shape

    def _uniform(self, shape: Any) -> Array:
        return self._floats("random_uniform", shape)

    def _normal(self, shape: Any) -> Array:
        return self._floats("random_normal", shape)

    def _exponential(self, shape: Any) -> Array:
        return self._floats("random_exponential", shape)

    def _open(self, shape: Any) -> Array:
        """Uniform in (0, 1)."""
        return apply("maximum", self._uniform(shape), 2.0**-54)

    def _scaled(self, standard: Any, loc: Any, scale: Any, size: Any) -> Array:
        loc, scale = real(loc), not_negative(scale, "scale")
        result = _times(standard(drawn_shape(size, loc, scale) or None), scale)
        return result if isinstance(loc, float) and loc == 0 else result + on_device(loc)

    # ------------------------------------------------------------ continuous, by transformation

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Array:
        """Uniform in [low, high).

        Parameters
        ----------
        low, high : float or array_like
            Limits.
        size : int or tuple of int, optional
            Shape of the result; what the parameters broadcast to by default.

        Raises
        ------
        OverflowError
            If ``high - low`` is not finite.
        """
        if type(low) in _NUMBERS and type(high) in _NUMBERS and 0 <= high - low < _MOST_WIDTH:
            few = self._few("random_uniform", size)
            if few is not None:
                return few if (low, high) == (0, 1) else few * float(high - low) + float(low)
        return self._recorded_uniform(low, high, size)

    @drawn
    def _recorded_uniform(self, low: Any, high: Any, size: Any) -> Array:
        low, high = real(low), real(high)
        shape = drawn_shape(size, low, high)
        if isinstance(low, float) and isinstance(high, float):
            if not np.isfinite(high - low):
                raise OverflowError("high - low range exceeds valid bounds")
            width = refuse(high - low, high < low, "high - low < 0")
            result = self._uniform(shape or None)
            return result if (low, high) == (0, 1) else result * width + low
        if not isinstance(low, ndarray) and not isinstance(high, ndarray):
            with np.errstate(all="ignore"):
                width = high - low
            if not np.isfinite(width).all():
                raise OverflowError("Range exceeds valid bounds")
        else:
            width = on_device(high) - on_device(low)
            width = refuse(width, ~apply("isfinite", width), "Range exceeds valid bounds", OverflowError)
        width = refuse(width, np.signbit(width) if not isinstance(width, ndarray) else width < 0, "high - low < 0")
        return self._uniform(shape) * on_device(width) + on_device(low)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """Normal with mean `loc` and deviation `scale` (Box and Muller 1958).

        Parameters
        ----------
        loc, scale : float or array_like
            Mean, and standard deviation, which is not negative.
        size : int or tuple of int, optional
            Shape of the result; what the parameters broadcast to by default.

        Examples
        --------
        >>> import numloom as nl
        >>> nl.random.default_rng(3).normal([0, 100], [1, 10], (2000, 2)).mean(0).round(-1).tolist()
        [0.0, 100.0]
        """
        few = self._few("random_normal", size) if type(loc) in _NUMBERS and _is_scale(scale) else None
        if few is None:
            return self._recorded_normal(loc, scale, size)
        few = few if scale == 1 else few * float(scale)
        return few if loc == 0 else few + float(loc)

    @drawn
    def _recorded_normal(self, loc: Any, scale: Any, size: Any) -> Array:
        return self._scaled(self._normal, loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Array:
        """Exponential with mean `scale`."""
        few = self._few("random_exponential", size) if _is_scale(scale) else None
        if few is None:
            return self._recorded_exponential(scale, size)
        return few if scale == 1 else few * float(scale)

    @drawn
    def _recorded_exponential(self, scale: Any, size: Any) -> Array:
        return self._scaled(self._exponential, 0.0, scale, size)

    @drawn
    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Array:
        """The exponential of a normal number of mean `mean` and deviation `sigma`."""
        return apply("exp", self._scaled(self._normal, mean, not_negative(sigma, "sigma"), size))

    @drawn
    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """Exponential of mean `scale` on both sides of `loc`."""

        def standard(shape: Any) -> Array:
            u = self._open(shape)
            return apply("where", u < 0.5, apply("log", u + u), -apply("log", 2.0 - (u + u)))

        return self._scaled(standard, loc, scale, size)

    @drawn
    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """The logistic distribution around `loc`."""

        def standard(shape: Any) -> Array:
            u = self._open(shape)
            return apply("log", u) - apply("log1p", -u)

        return self._scaled(standard, loc, scale, size)

    @drawn
    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Array:
        """The distribution of the largest of many, of mode `loc`."""
        return self._scaled(lambda shape: -apply("log", -apply("log", self._open(shape))), loc, scale, size)

    @drawn
    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Array:
        """The length of a vector of two normal numbers of deviation `scale`."""
        return self._scaled(lambda shape: apply("sqrt", self._exponential(shape) * 2.0), 0.0, scale, size)

    @drawn
    def standard_cauchy(self, size: Any = None) -> Array:
        """The quotient of two standard normal numbers."""
        return self._normal(size) / self._normal(size)

    @drawn
    def weibull(self, a: Any, size: Any = None) -> Array:
        """The Weibull distribution of shape `a`: an exponential number to the power 1 / a."""
        a = not_negative(a, "a")
        shape = drawn_shape(size, a)
        if isinstance(a, float):
            # NumPy's answer where the power is infinite.
            return self._exponential(shape) ** (1.0 / a) if a else self._exponential(shape) * 0.0
        a = on_device(a)
        return apply("where", a == 0, 0.0, self._exponential(shape) ** (1.0 / a))

    @drawn
    def pareto(self, a: Any, size: Any = None) -> Array:
        """The Pareto II (Lomax) distribution of shape `a`."""
        a = positive(a, "a")
        return apply("expm1", self._exponential(drawn_shape(size, a)) / on_device(a))

    @drawn
    def power(self, a: Any, size: Any = None) -> Array:
        """Numbers in [0, 1] with density a x**(a - 1)."""
        a = positive(a, "a")
        below = -apply("expm1", -self._exponential(drawn_shape(size, a)))
        return below ** (1.0 / on_device(a))

    @drawn
    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Array:
        """The triangular distribution.

        Parameters
        ----------
        left, mode, right : float or array_like
            Lower end, peak and upper end.
        size : int or tuple of int, optional
            Shape of the result.
        """
        left, mode, right = real(left), real(mode), real(right)
        shape = drawn_shape(size, left, mode, right)
        if any(isinstance(x, ndarray) for x in (left, mode, right)):
            left, mode, right = on_device(left), on_device(mode), on_device(right)
        left = refuse(left, left > mode, "left > mode")
        right = refuse(right, mode > right, "mode > right")
        right = refuse(right, left == right, "left == right")
        base, rise, fall = right - left, mode - left, right - mode
        corner, below, above = (on_device(x) for x in (rise / base, rise * base, fall * base))
        left, right = on_device(left), on_device(right)
        u = self._uniform(shape)
        lower, upper = left + apply("sqrt", u * below), right - apply("sqrt", (1.0 - u) * above)
        return apply("where", u <= corner, lower, upper)

    # ------------------------------------------------------------ continuous, of gamma numbers

    def _gamma(self, shape: Parameter, size: tuple[int, ...]) -> Array:
        return self.draw("random_gamma", size, shape, chars=_REAL)

    @drawn
    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Array:
        """The gamma distribution (Marsaglia and Tsang 2000).

        Parameters
        ----------
        shape, scale : float or array_like
            Shape and scale, not negative.
        size : int or tuple of int, optional
            Shape of the result; what the parameters broadcast to by default.

        Examples
        --------
        >>> import numloom as nl
        >>> x = nl.random.default_rng(5).gamma(4.0, 0.5, 10_000)
        >>> round(float(x.mean()), 1), round(float(x.var()), 1)
        (2.0, 1.0)
        """
        shape, scale = not_negative(shape, "shape"), not_negative(scale, "scale")
        return _times(self._gamma(shape, drawn_shape(size, shape, scale)), scale)

    def _chisquare(self, df: Parameter, size: tuple[int, ...]) -> Array:
        return self._gamma(on_device(df) * 0.5, size) * 2.0

    @drawn
    def chisquare(self, df: Any, size: Any = None) -> Array:
        """The sum of `df` squares of standard normal numbers; `df` may be a fraction."""
        df = positive(df, "df")
        return self._chisquare(df, drawn_shape(size, df))

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Array:
        """As `chisquare`, the normal numbers having means whose squares sum to `nonc`."""
        return self._sampled("noncentral_chisquare", "dd", size, positive(df, "df"), not_negative(nonc, "nonc"))

    @drawn
    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Array:
        """The F distribution: the quotient of two chi-square numbers, each by its degrees of freedom."""
        dfnum, dfden = positive(dfnum, "dfnum"), positive(dfden, "dfden")
        shape = drawn_shape(size, dfnum, dfden)
        above, below = self._chisquare(dfnum, shape), self._chisquare(dfden, shape)
        return (above * on_device(dfden)) / (below * on_device(dfnum))

    @drawn
    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Array:
        """As `f`, the numerator being noncentral."""
        dfnum, dfden, nonc = positive(dfnum, "dfnum"), positive(dfden, "dfden"), not_negative(nonc, "nonc")
        shape = drawn_shape(size, dfnum, dfden, nonc)
        above = self.draw("random_noncentral_chisquare", shape, dfnum, nonc, chars="dd")
        return (above * on_device(dfden)) / (self._chisquare(dfden, shape) * on_device(dfnum))

    @drawn
    def standard_t(self, df: Any, size: Any = None) -> Array:
        """Student's t of `df` degrees of freedom."""
        df = positive(df, "df")
        shape = drawn_shape(size, df)
        half = on_device(df) * 0.5
        return self._normal(shape) * apply("sqrt", half / self._gamma(half, shape))

    def _log_gamma(self, shape: Parameter, size: tuple[int, ...]) -> Array:
        return self.draw("random_log_gamma", size, shape, chars=_REAL)

    @drawn
    def beta(self, a: Any, b: Any, size: Any = None) -> Array:
        """The beta distribution on [0, 1], with density as x**(a - 1) (1 - x)**(b - 1)."""
        a, b = positive(a, "a"), positive(b, "b")
        shape = drawn_shape(size, a, b)
        return self.draw("random_beta", shape, a, b, chars="dd")

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Array:
        """The Wald or inverse Gaussian distribution (Michael, Schucany and Haas 1976)."""
        return self._sampled("wald", "dd", size, positive(mean, "mean"), positive(scale, "scale"))

    @drawn
    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Array:
        """The von Mises distribution of angles in [-pi, pi] (Best and Fisher 1979).

        Parameters
        ----------
        mu, kappa : float or array_like
            Mode, and concentration, which is not negative.
        size : int or tuple of int, optional
            Shape of the result.
        """
        mu, kappa = real(mu), not_negative(kappa, "kappa")
        tangent = self.draw("random_vonmises", drawn_shape(size, mu, kappa), kappa, chars=_REAL)
        angle = apply("arctan", tangent) * 2.0 + on_device(mu)
        return apply("remainder", angle + pi, 2.0 * pi) - pi

    # ------------------------------------------------------------ whole numbers

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Array:
        """Poisson numbers of mean `lam` (Hoermann 1993).

        Parameters
        ----------
        lam : float or array_like
            Mean, not negative.
        size : int or tuple of int, optional
            Shape of the result; that of `lam` by default.

        Examples
        --------
        >>> import numloom as nl
        >>> nl.random.default_rng(5).poisson([1.0, 100.0], (5000, 2)).mean(0).round().tolist()
        [1.0, 100.0]
        """
        return self._sampled("poisson", _REAL, size, rate(lam, "lam"))

    def binomial(self, n: Any, p: Any, size: Any = None) -> Array:
        """Successes in `n` trials with probability `p` (Hoermann 1993).

        Parameters
        ----------
        n : int or array_like of int
            Trials, not negative.
        p : float or array_like
            Probability of success.
        size : int or tuple of int, optional
            Shape of the result; what the parameters broadcast to by default.
        """
        p = probability(p, "p")
        return self._sampled("binomial", "qd", size, count(n, "n"), p)

    @drawn
    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Array:
        """Failures before the `n`-th success of probability `p`: Poisson numbers whose mean is a gamma number."""
        n, p = positive(n, "n"), chance(p, "p")
        shape = drawn_shape(size, n, p)
        n, p = (on_device(n), on_device(p)) if any(isinstance(x, ndarray) for x in (n, p)) else (n, p)
        odds = (1.0 - p) / p
        root = apply("sqrt", n) if isinstance(n, ndarray) else np.sqrt(n)
        bad = (n + 10.0 * root) * odds > MOST_EVENTS
        n = refuse(n, bad, "n too large or p too small, see Generator.negative_binomial Notes")
        means = self._gamma(n, shape) * on_device(odds)
        return self.draw("random_poisson", shape, means, chars=_REAL)

    def geometric(self, p: Any, size: Any = None) -> Array:
        """Trials up to the first success of probability `p`."""
        return self._sampled("geometric", _REAL, size, chance(p, "p"))

    def logseries(self, p: Any, size: Any = None) -> Array:
        """Numbers of the logarithmic series of parameter `p` (Kemp 1981)."""
        return self._sampled("logseries", _REAL, size, below_one(p, "p"))

    def zipf(self, a: Any, size: Any = None) -> Array:
        """Whole numbers k from 1 on with probabilities as k**-a (Devroye 1986)."""
        return self._sampled("zipf", _REAL, size, above_one(a, "a"))

    @drawn
    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Array:
        """Good ones among `nsample` drawn without replacement (Stadlober 1990).

        Parameters
        ----------
        ngood, nbad, nsample : int or array_like of int
            How many are good, how many are not, how many are drawn.
        size : int or tuple of int, optional
            Shape of the result.
        """
        good, bad, sample = whole(ngood), whole(nbad), whole(nsample)
        shape = drawn_shape(size, good, bad, sample)
        if any(isinstance(x, ndarray) for x in (good, bad, sample)):
            good, bad, sample = on_device(good), on_device(bad), on_device(sample)
        too_many = (good >= MOST_COLOURS) | (bad >= MOST_COLOURS)
        good = refuse(good, too_many, "both ngood and nbad must be less than 1000000000")
        sample = refuse(sample, good + bad < sample, "ngood + nbad < nsample")
        for value, name in ((good, "ngood"), (bad, "nbad"), (sample, "nsample")):
            good = refuse(good, value < 0, f"{name} < 0")
        return self.draw("random_hypergeometric", shape, good, bad, sample, chars="qqq")

    # ------------------------------------------------------------ vectors of whole numbers

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Array:
        """How often each outcome occurs in `n` trials.

        The trials are split between halves of the outcomes by binomial numbers, halves into quarters, and so on, so
        that k outcomes take log2(k) steps.

        Parameters
        ----------
        n : int or array_like of int
            Trials.
        pvals : array_like
            Probabilities along the last axis; the last of them is what the others leave of 1.
        size : int or tuple of int, optional
            Shape of the result, without the last axis.

        Examples
        --------
        >>> import numloom as nl
        >>> nl.random.default_rng(5).multinomial(20, [0.5, 0.25, 0.25], 3).sum(-1).tolist()
        [20, 20, 20]
        """
        trials, chances = count(n, "n"), real(pvals)
        if not np.ndim(chances) or not np.shape(chances)[-1]:
            raise ValueError(
                "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0."
            )
        with np.errstate(invalid="ignore"):
            bad = (chances != chances) | (chances < 0) | (chances > 1)
        chances = refuse(chances, bad, "pvals < 0, pvals > 1 or pvals contains NaNs")
        others = chances[..., :-1]
        total = others.sum(-1, keepdims=True)
        total = refuse(total, total > 1.0 + 1e-12, "sum(pvals[:-1]) > 1.0")
        join = concatenate if isinstance(chances, ndarray) else np.concatenate
        chances = join((others, (1.0 - total) * (total < 1.0)), -1)
        shape = drawn_shape(size, trials, total[..., 0])

        def halves(left: Array, right: Array, trials: Array) -> Array:
            both = left + right
            return self.draw("random_binomial", trials.shape, trials, left / (both + (both == 0)), chars="qd")

        return split_between(broadcast_to(asarray(trials), shape), chances, halves)

    # ------------------------------------------------------------ vectors of floats

    def dirichlet(self, alpha: Any, size: Any = None) -> Array:
        """Parts of 1: gamma numbers of shapes `alpha`, divided by their sum.

        Parameters
        ----------
        alpha : sequence of float
            Shapes.
        size : int or tuple of int, optional
            Shape of the result, without the last axis.
        """
        shapes = vector(alpha)
        return self._parts_of_one(not_negative(shapes, "alpha"), size)

    def _parts_of_one(self, alpha: Parameter, size: Any) -> Array:
        shape = (*shape_of(size), *alpha.shape)
        if not alpha.size or (not isinstance(alpha, ndarray) and not np.any(alpha)):
            return asarray(np.zeros(shape))
        # Of logarithms, so that small shapes do not all give 0.
        logarithms = self._log_gamma(alpha, shape)
        parts = apply("exp", logarithms - logarithms.max(-1, keepdims=True))
        return parts / parts.sum(-1, keepdims=True)

    def _correlated(self, mean: Any, cov: Any, size: Any, check_valid: str, tol: float, method: str) -> Array:
        """Normal vectors: standard ones times a factor of the covariance, which is found on the host."""
        if method not in ("svd", "eigh", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        centre = mean if isinstance(mean, ndarray) else np.asarray(mean)
        matrix = cov.get() if isinstance(cov, ndarray) else np.asarray(cov)
        if "c" in (centre.dtype.kind, matrix.dtype.kind):
            raise TypeError("mean and cov must not be complex")
        if centre.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        centre, matrix = real(centre), matrix.astype(np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if centre.shape[0] != matrix.shape[0]:
            raise ValueError("mean and cov must have same length")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        shape = (*shape_of(size), centre.shape[0])
        factor, valid = _factor(matrix, method, tol)
        if not valid and check_valid == "raise":
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        if not valid and check_valid == "warn":
            warnings.warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning, stacklevel=3)
        return matmul(self._normal(shape), asarray(np.ascontiguousarray(factor.T))) + on_device(centre)


def _is_scale(scale: Any) -> bool:
    """Whether this is a number that scales numbers that are drawn at once."""
    return type(scale) in _NUMBERS and 0 < scale < _MOST_WIDTH


def _times(result: Array, scale: Parameter) -> Array:
    return result if isinstance(scale, float) and scale == 1 else result * on_device(scale)


def split_between(counts: Array, weights: Parameter, halves: Callable[[Array, Array, Array], Array]) -> Array:
    """`counts` split between parts: ``halves(left, right, counts)`` says how many of them go to the left ones.

    Parameters
    ----------
    counts : ndarray
        How many there are.
    weights : array
        Of the parts, along the last axis.
    halves : callable
        Takes weights of left and right parts and the counts of both together.
    """
    join = concatenate if isinstance(weights, ndarray) else np.concatenate
    levels = []
    while weights.shape[-1] > 1:
        extent = weights.shape[-1]
        if extent % 2:
            weights = join((weights, weights[..., :1] * 0), -1)
        levels.append((extent, weights[..., 0::2], weights[..., 1::2]))
        weights = weights[..., 0::2] + weights[..., 1::2]
    counts = counts.reshape(*counts.shape, 1)
    for extent, left, right in reversed(levels):
        first = halves(left, right, counts)
        pairs = stack((first, counts - first), -1)
        counts = pairs.reshape(*pairs.shape[:-2], 2 * pairs.shape[-2])[..., :extent]
    return counts


def vector(values: Any) -> Parameter:
    """Parameters of float64 along one axis."""
    found = real(values if isinstance(values, ndarray) else np.asarray(values))
    if np.ndim(found) != 1:
        if not np.ndim(found):
            raise TypeError(f"expected a sequence of parameters, not one {type(values).__name__}")
        raise ValueError("expected parameters along one axis")
    return found


def _factor(matrix: np.ndarray[Any, Any], method: str, tol: float) -> tuple[np.ndarray[Any, Any], bool]:
    """F with ``F @ F.T`` being a covariance, and whether that is positive semidefinite."""
    if method == "cholesky":
        return np.linalg.cholesky(matrix), True
    if method == "eigh":
        values, vectors = np.linalg.eigh(matrix)
        return vectors * np.sqrt(np.abs(values)), not (values < -tol).any()
    vectors, values, right = np.linalg.svd(matrix)
    valid = np.allclose((right.T * values) @ right, matrix, rtol=tol, atol=tol)
    return vectors * np.sqrt(values), valid


def into(out: Any, result: Array) -> Array:
    """A draw, or `out` with the draw in it."""
    return result if out is None else store_result(out, result, "random")


__all__ = ["MOST_COLOURS", "Distributions", "into", "split_between", "vector"]
