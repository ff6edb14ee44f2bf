"""NumPy's older names: `RandomState`, and functions that share one generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.random.generator import Generator

Array = Any


class RandomState(Generator):
    """The older interface over the same streams as `Generator`."""

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed."""
        Generator.__init__(self, seed)

    def rand(self, *shape: int) -> Array:
        """Uniform in [0, 1), the shape given as arguments."""
        return self.random(shape or None)

    def randn(self, *shape: int) -> Array:
        """Standard normal, the shape given as arguments."""
        return self.standard_normal(shape or None)

    def random_sample(self, size: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self.random(size)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64) -> Array:
        """Whole numbers from `low` to below `high`."""
        return self.integers(low, high, size, np.int64 if dtype is int else dtype)

    def get_state(self) -> dict[str, Any]:
        """What `set_state` takes back."""
        return {"bit_generator": "Philox", "key": self.key, "offset": self.offset}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called."""
        self.key, self.offset = state["key"], state["offset"]


_shared = RandomState()

seed = _shared.seed
rand = _shared.rand
randn = _shared.randn
random = _shared.random
random_sample = ranf = sample = _shared.random_sample
uniform = _shared.uniform
normal = _shared.normal
standard_normal = _shared.standard_normal
exponential = _shared.exponential
standard_exponential = _shared.standard_exponential
lognormal = _shared.lognormal
laplace = _shared.laplace
logistic = _shared.logistic
gumbel = _shared.gumbel
rayleigh = _shared.rayleigh
standard_cauchy = _shared.standard_cauchy
weibull = _shared.weibull
pareto = _shared.pareto
randint = _shared.randint
bytes = _shared.bytes
choice = _shared.choice
permutation = _shared.permutation
shuffle = _shared.shuffle
get_state = _shared.get_state
set_state = _shared.set_state

__all__ = [
    "RandomState",
    "bytes",
    "choice",
    "exponential",
    "get_state",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "pareto",
    "permutation",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_normal",
    "uniform",
    "weibull",
]
