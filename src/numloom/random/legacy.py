"""NumPy's older names: `RandomState`, and functions that share one of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from numloom.base.integers import is_integer
from numloom.random.bit_generator import BitGenerator, Philox, bit_generator_of
from numloom.random.distributions import vector
from numloom.random.orders import Orders
from numloom.random.parameters import drawn_shape, not_negative, refuse

Array = Any


class RandomState(Orders):
    """The older interface over the same streams as `Generator`.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence or bit generator, optional
        Where to start; unpredictable by default.
    """

    def __init__(self, seed: Any = None) -> None:
        self._bit_generator = _started(seed)

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._bit_generator).__name__})"

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed."""
        # In place: whoever holds the bit generator goes on from the seed, too.
        fresh = _started(seed)
        self._bit_generator.seed_seq = fresh.seed_seq
        self._bit_generator.state = fresh.state
        self._bit_generator.set_in = fresh.set_in

    def get_state(self, legacy: bool = True) -> dict[str, Any]:
        """What `set_state` takes back; always a dictionary, as NumPy's is for all but the Mersenne Twister."""
        return self._bit_generator.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called."""
        self._bit_generator.state = state

    # ------------------------------------------------------------ uniform and standard

    def random_sample(self, size: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self._uniform(size)

    def random(self, size: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self._uniform(size)

    def rand(self, *args: int) -> Array:
        """Uniform in [0, 1), the shape given as arguments."""
        return self._uniform(args or None)

    def randn(self, *args: int) -> Array:
        """Standard normal, the shape given as arguments."""
        return self._normal(args or None)

    def standard_normal(self, size: Any = None) -> Array:
        """Normal with mean 0 and deviation 1."""
        return self._normal(size)

    def standard_exponential(self, size: Any = None) -> Array:
        """Exponential with mean 1."""
        return self._exponential(size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Array:
        """Gamma numbers of scale 1."""
        alpha = not_negative(shape, "shape")
        return self._gamma(alpha, drawn_shape(size, alpha))

    # ------------------------------------------------------------ whole numbers

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Array:
        """Whole numbers from `low` to below `high` (from 0 to below `low` without it)."""
        return self._integers(low, high, size, dtype, False, "randint")

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Array:
        """Whole numbers from `low` to `high` (from 1 to `low` without it); use `randint`."""
        if high is None:
            low, high = 1, low
        warnings.warn(
            f"This function is deprecated. Please call randint({low}, {high} + 1) instead",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._integers(low, high, size, int, True, "randint")

    def tomaxint(self, size: Any = None) -> Array:
        """Whole numbers from 0 to the largest int64."""
        return self._integers(0, np.iinfo(np.int64).max, size, np.int64, True, "tomaxint")

    # ------------------------------------------------------------ vectors

    def dirichlet(self, alpha: Any, size: Any = None) -> Array:
        """Parts of 1: gamma numbers of shapes `alpha`, divided by their sum."""
        shapes = vector(alpha)
        return self._parts_of_one(refuse(shapes, shapes <= 0, "alpha <= 0"), size)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> Array:
        """Normal vectors of a mean and a covariance."""
        return self._correlated(mean, cov, size, check_valid, tol, "svd")

    # ------------------------------------------------------------ orders and samples

    def permutation(self, x: Any) -> Array:
        """The numbers below `x`, or the parts of an array along its first axis, in random order."""
        return self._permutation(x, 0)

    def shuffle(self, x: Any) -> None:
        """Put the parts of an array along its first axis, or the items of a list, into random order, in place."""
        self._shuffle(x, 0)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Array:
        """A sample of the numbers below `a`, or of the elements of a vector."""
        if not is_integer(a) and np.ndim(a) > 1:
            raise ValueError("a must be 1-dimensional")
        return self._choice(a, size, replace, p, 0)


def _started(seed: Any) -> Philox:
    """The bit generator of an older seed, which has 32 bits if it is one number."""
    if is_integer(seed) and not 0 <= int(seed) < 1 << 32:
        raise ValueError("Seed must be between 0 and 2**32 - 1")
    return bit_generator_of(seed)


_shared = RandomState()


def get_bit_generator() -> Philox:
    """The bit generator of the functions of this module."""
    return _shared._bit_generator


def set_bit_generator(bitgen: BitGenerator) -> None:
    """Give the functions of this module another bit generator."""
    _shared._bit_generator = bit_generator_of(bitgen)


beta = _shared.beta
binomial = _shared.binomial
bytes = _shared.bytes
chisquare = _shared.chisquare
choice = _shared.choice
dirichlet = _shared.dirichlet
exponential = _shared.exponential
f = _shared.f
gamma = _shared.gamma
geometric = _shared.geometric
get_state = _shared.get_state
gumbel = _shared.gumbel
hypergeometric = _shared.hypergeometric
laplace = _shared.laplace
logistic = _shared.logistic
lognormal = _shared.lognormal
logseries = _shared.logseries
multinomial = _shared.multinomial
multivariate_normal = _shared.multivariate_normal
negative_binomial = _shared.negative_binomial
noncentral_chisquare = _shared.noncentral_chisquare
noncentral_f = _shared.noncentral_f
normal = _shared.normal
pareto = _shared.pareto
permutation = _shared.permutation
poisson = _shared.poisson
power = _shared.power
rand = _shared.rand
randint = _shared.randint
randn = _shared.randn
random = _shared.random
random_integers = _shared.random_integers
random_sample = ranf = sample = _shared.random_sample
rayleigh = _shared.rayleigh
seed = _shared.seed
set_state = _shared.set_state
shuffle = _shared.shuffle
standard_cauchy = _shared.standard_cauchy
standard_exponential = _shared.standard_exponential
standard_gamma = _shared.standard_gamma
standard_normal = _shared.standard_normal
standard_t = _shared.standard_t
triangular = _shared.triangular
uniform = _shared.uniform
vonmises = _shared.vonmises
wald = _shared.wald
weibull = _shared.weibull
zipf = _shared.zipf

__all__ = [
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_bit_generator",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_bit_generator",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]
