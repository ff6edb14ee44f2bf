"""``cupy.random``: numloom's generator, with CuPy's keyword ``dtype=`` on draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom import random as ours
from numloom.array.convert import asarray

Array = Any

_PLACES = {
    "beta": 3, "chisquare": 2, "exponential": 2, "f": 3, "gamma": 3, "geometric": 2, "gumbel": 3, "hypergeometric": 4,
    "laplace": 3, "logistic": 3, "lognormal": 3, "logseries": 2, "binomial": 3, "negative_binomial": 3,
    "noncentral_chisquare": 3, "noncentral_f": 4, "pareto": 2, "poisson": 2, "power": 2, "rayleigh": 2,
    "standard_cauchy": 1, "standard_t": 2, "triangular": 4, "vonmises": 3, "wald": 3, "weibull": 2, "zipf": 2,
}  # fmt: skip
"""Draws that are made as NumPy's and converted, and how many arguments stand before `dtype`."""


class RandomState(ours.RandomState):
    """CuPy's older interface: draws take ``dtype=``.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> x = cp.random.RandomState(1).rand(3, dtype=cp.float32)
    >>> x.dtype, x.shape
    (dtype('float32'), (3,))
    """

    def _drawn(self, method: str, size: Any, dtype: Any) -> Array:
        """A draw of the newer interface, which knows both dtypes, from this state's bits."""
        wanted = np.dtype(float if dtype is None else dtype)
        if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"random numbers are float32 or float64, not {wanted}")
        return getattr(ours.Generator(self._bit_generator), method)(size, dtype=wanted)

    def random_sample(self, size: Any = None, dtype: Any = float) -> Array:
        """Uniform in [0, 1)."""
        return self._drawn("random", size, dtype)

    random = ranf = sample = random_sample

    def rand(self, *size: int, dtype: Any = float) -> Array:
        """Uniform in [0, 1), the shape given as arguments."""
        return self._drawn("random", size, dtype)

    def randn(self, *size: int, dtype: Any = float) -> Array:
        """Standard normal, the shape given as arguments."""
        return self._drawn("standard_normal", size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = float) -> Array:
        """Normal with mean 0 and deviation 1."""
        return self._drawn("standard_normal", size, dtype)

    def standard_exponential(self, size: Any = None, dtype: Any = float) -> Array:
        """Exponential with mean 1."""
        return self._drawn("standard_exponential", size, dtype)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = float) -> Array:
        """Gamma numbers of scale 1."""
        return _converted(super().standard_gamma(shape, size), dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = float) -> Array:
        """Uniform in [low, high)."""
        return _converted(super().uniform(low, high, size), dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> Array:
        """Normal with mean `loc` and deviation `scale`."""
        return _converted(super().normal(loc, scale, size), dtype)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "ignore", tol: float = 1e-8,
        method: str = "cholesky", dtype: Any = float,
    ) -> Array:  # fmt: skip
        """Normal vectors of a mean and a covariance (`method` is the same for all)."""
        return _converted(super().multivariate_normal(mean, cov, size, check_valid, tol), dtype)


def _converted(drawn: Array, dtype: Any) -> Array:
    wanted = np.dtype(float if dtype is None else dtype)
    return drawn if drawn.dtype == wanted else asarray(drawn).astype(wanted)


def _typed(name: str, place: int) -> Callable[..., Array]:
    """A method of NumPy's form that takes a dtype after its other arguments."""
    method = getattr(ours.RandomState, name)

    def draw(self: Any, *args: Any, dtype: Any = None, **named: Any) -> Array:
        if len(args) > place:
            if dtype is not None or len(args) > place + 1:
                raise TypeError(f"{name} takes at most {place + 1} arguments")
            args, dtype = args[:place], args[place]
        drawn = method(self, *args, **named)
        return drawn if dtype is None else _converted(drawn, dtype)

    draw.__name__, draw.__doc__ = name, method.__doc__
    return draw


for _name, _place in _PLACES.items():
    setattr(RandomState, _name, _typed(_name, _place))

_shared = RandomState(ours.get_bit_generator())
"""Draws the same stream as `numloom.random`'s functions."""
_TYPED = frozenset(_PLACES) | {
    "multivariate_normal", "normal", "rand", "randn", "random", "random_sample", "ranf", "sample",
    "standard_exponential", "standard_gamma", "standard_normal", "uniform",
}  # fmt: skip
_GENERATORS = frozenset(("MRG32k3a", "Philox4x3210", "XORWOW"))


def get_random_state() -> RandomState:
    """The state that the functions share."""
    return _shared


def __getattr__(name: str) -> Any:
    if name in _TYPED:
        return getattr(_shared, name)
    if name in _GENERATORS:  # Any of them starts the one generator that there is.
        return ours.Philox
    return getattr(ours, name)


def __dir__() -> list[str]:
    return sorted({*dir(ours), *_GENERATORS, "RandomState", "get_random_state"})
