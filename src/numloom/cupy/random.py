"""``cupy.random``: numloom's generator, with CuPy's keyword ``dtype=`` on draws."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom import random as ours
from numloom.array.convert import asarray
from numloom.base.integers import is_integer

Array = Any

_PLACES = {
    "beta": 3, "chisquare": 2, "exponential": 2, "f": 3, "gamma": 3, "geometric": 2, "gumbel": 3, "hypergeometric": 4,
    "laplace": 3, "logistic": 3, "lognormal": 3, "logseries": 2, "binomial": 3, "negative_binomial": 3,
    "noncentral_chisquare": 3, "noncentral_f": 4, "pareto": 2, "poisson": 2, "power": 2, "rayleigh": 2,
    "standard_cauchy": 1, "standard_t": 2, "triangular": 4, "vonmises": 3, "wald": 3, "weibull": 2, "zipf": 2,
}  # fmt: skip
"""Draws that are made as NumPy's and converted, and how many arguments stand before `dtype`."""


class _Named(ours.Philox):
    """One of CuPy's generators by its name: numbers come from Philox's stream whatever the name.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
        Where to start; unpredictable by default.
    size : int
        Taken for CuPy's sake: how many states a GPU would keep.
    """

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        super().__init__(_wide(seed))


class XORWOW(_Named):
    """Philox's stream by cuRAND's usual generator's name."""


class MRG32k3a(_Named):
    """Philox's stream by a generator of cuRAND's name."""


class Philox4x3210(_Named):
    """Philox's stream by CuPy's own name."""


def _wide(seed: Any) -> Any:
    """A seed; CuPy's have 64 bits, of which NumPy's older interface takes 32."""
    if is_integer(seed) and int(seed) >> 32:
        return np.random.SeedSequence(int(seed) % (1 << 64))
    return seed


class Generator(ours.Generator):
    """`numloom.random.Generator`; `beta` and `uniform` take ``dtype=``, too.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> x = cp.random.Generator(cp.random.XORWOW(1)).uniform(2, 3, 4, cp.float32)
    >>> x.dtype, bool((x >= 2).all() and (x < 3).all())
    (dtype('float32'), True)
    """

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = float) -> Array:
        """Beta numbers."""
        return _converted(super().beta(a, b, size), dtype)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = float) -> Array:
        """Uniform in [low, high)."""
        return _converted(super().uniform(low, high, size), dtype)


def default_rng(seed: Any = None) -> Generator:
    """A generator of a seed, a bit generator, or what has one; `seed` itself if it is a generator of this module."""
    if isinstance(seed, Generator):
        return seed
    return Generator(ours.default_rng(_wide(seed)).bit_generator)


class RandomState(ours.RandomState):
    """CuPy's older interface: draws take ``dtype=``.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence or bit generator, optional
        Where to start; unpredictable by default.
    method : int
        Taken for CuPy's sake: one of cuRAND's generators.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> x = cp.random.RandomState(1).rand(3, dtype=cp.float32)
    >>> x.dtype, x.shape
    (dtype('float32'), (3,))
    """

    def __init__(self, seed: Any = None, method: int = 100) -> None:
        super().__init__(_wide(seed))

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed."""
        super().seed(_wide(seed))

    def permutation(self, a: Any) -> Array:
        """The numbers below `a`, or the parts of an array along its first axis, in random order."""
        return super().permutation(a)

    def shuffle(self, a: Any) -> None:
        """Put the parts of an array along its first axis into random order, in place."""
        super().shuffle(a)

    def dirichlet(self, alpha: Any, size: Any = None, dtype: Any = float) -> Array:
        """Parts of 1: gamma numbers of shapes `alpha`, divided by their sum."""
        return _converted(super().dirichlet(alpha, size), dtype)

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
    given = list(inspect.signature(method).parameters.values())
    added = inspect.Parameter("dtype", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    draw.__signature__ = inspect.Signature([*given, added])  # type: ignore[attr-defined]
    return draw


for _name, _place in _PLACES.items():
    setattr(RandomState, _name, _typed(_name, _place))

_FUNCTIONS = frozenset(name for name in ours.__all__ if hasattr(RandomState, name)) | {"random"}
"""Methods of the shared state that are functions of this module."""


class _Shared:
    """The state that the functions share."""

    state = RandomState(ours.get_bit_generator())


def get_random_state() -> RandomState:
    """The state that the functions share, with `numloom.random`'s.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> cp.random.seed(3)
    >>> cp.random.get_random_state().rand() == cp.random.RandomState(3).rand()
    array(True)
    """
    bits = ours.get_bit_generator()
    if _Shared.state._bit_generator is not bits:
        _Shared.state = RandomState(bits)
    return _Shared.state


def set_random_state(rs: RandomState) -> None:
    """Have the functions share another state.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> state = cp.random.RandomState(7)
    >>> cp.random.set_random_state(state)
    >>> cp.random.get_random_state() is state
    True
    """
    if not isinstance(rs, RandomState):
        raise TypeError(f"the shared state is a RandomState, not {type(rs).__name__}")
    ours.set_bit_generator(rs._bit_generator)
    _Shared.state = rs


def reset_states() -> None:
    """Start the shared state from an unpredictable seed."""
    set_random_state(RandomState())


def _function(name: str) -> Callable[..., Any]:
    method = getattr(RandomState, name)

    def draw(*args: Any, **named: Any) -> Any:
        return getattr(get_random_state(), name)(*args, **named)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = method.__doc__
    signature = inspect.signature(method)
    draw.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return draw


globals().update({name: _function(name) for name in _FUNCTIONS})


def __getattr__(name: str) -> Any:
    return getattr(ours, name)


def __dir__() -> list[str]:
    return sorted({*dir(ours), *__all__})


__all__ = [
    "Generator", "MRG32k3a", "Philox4x3210", "RandomState", "XORWOW", "default_rng", "get_random_state",
    "reset_states", "set_random_state", *sorted(_FUNCTIONS),
]  # fmt: skip
