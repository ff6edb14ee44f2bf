"""NumPy's `Generator`: every method takes its counters, records a draw and returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, F32, F64, code_of
from numloom.random.bit_generator import BitGenerator, Philox, bit_generator_of
from numloom.random.distributions import into
from numloom.random.orders import Orders, split_colours
from numloom.random.parameters import drawn_shape, not_negative

Array = Any


class Generator(Orders):
    """Random numbers of a bit generator; made by `default_rng`.

    Parameters
    ----------
    bit_generator : Philox
        Where the bits come from. NumPy's bit generators give their seed: numloom's stream of that seed is another one.

    Examples
    --------
    >>> Generator(Philox(key=7)).random(1).tolist() == Generator(Philox(key=7)).random(3)[:1].tolist()
    True
    """

    def __init__(self, bit_generator: Any) -> None:
        self.bit_generator = bit_generator

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._bit_generator).__name__})"

    @property
    def bit_generator(self) -> Philox:
        """Where the bits come from; another one may be assigned, as in CuPy."""
        return self._bit_generator

    @bit_generator.setter
    def bit_generator(self, value: Any) -> None:
        if not isinstance(value, (BitGenerator, np.random.BitGenerator)):
            raise TypeError(f"expected a bit generator, got {type(value).__name__}; default_rng takes a seed")
        self._bit_generator = bit_generator_of(value)

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators of independent streams.

        Parameters
        ----------
        n_children : int
            How many.
        """
        return [type(self)(child) for child in self._bit_generator.spawn(n_children)]

    # ------------------------------------------------------------ standard ones

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Uniform in [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result.
        dtype : dtype, optional
            float64 or float32.
        out : ndarray, optional
            Where the result goes.
        """
        return self._floats("random_uniform", size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Normal with mean 0 and deviation 1 (Box and Muller 1958); arguments as those of `random`."""
        return self._floats("random_normal", size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Array:
        """Exponential with mean 1, by inversion whatever `method` says; other arguments as those of `random`."""
        return self._floats("random_exponential", size, dtype, out)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Gamma numbers of scale 1.

        Parameters
        ----------
        shape : float or array_like
            Shape of the distribution, not negative.
        size : int or tuple of int, optional
            Shape of the result; that of `shape` by default.
        dtype : dtype, optional
            float64 or float32.
        out : ndarray, optional
            Where the result goes.
        """
        code = code_of(dtype)
        if code not in (F32, F64):
            raise TypeError(f"Unsupported dtype {DTYPES[code]!r} for standard_gamma")
        alpha = not_negative(shape, "shape")
        extents = self._shape_into(out, code, size, "C") if out is not None or size is not None else None
        return into(out, self._gamma(alpha, drawn_shape(extents, alpha)).astype(DTYPES[code], copy=False))

    # ------------------------------------------------------------ whole numbers

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Array:
        """Whole numbers from `low` to below `high` (from 0 to below `low` without it), each exactly as likely.

        Parameters
        ----------
        low, high : int or array_like of int
            Limits.
        size : int or tuple of int, optional
            Shape of the result; what the limits broadcast to by default.
        dtype : dtype, optional
            An integer dtype or bool.
        endpoint : bool, optional
            Whether `high` itself can be drawn.

        Raises
        ------
        ValueError
            If a limit is not of the dtype, or nothing lies between the limits.

        Examples
        --------
        >>> import numloom as nl
        >>> x = nl.random.default_rng(3).integers(1, 6, 1000, endpoint=True)
        >>> int(x.min()), int(x.max())
        (1, 6)
        """
        return self._integers(low, high, size, dtype, endpoint, "integers")

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Any = None, method: str = "marginals"
    ) -> Array:
        """How many of each colour are among `nsample` drawn without replacement.

        Parameters
        ----------
        colors : sequence of int
            How many there are of each colour.
        nsample : int
            How many are drawn.
        size : int or tuple of int, optional
            Shape of the result, without the last axis.
        method : {"marginals", "count"}, optional
            NumPy's two algorithms; here both are the one that splits the sample between halves of the colours.
        """
        return split_colours(self, colors, nsample, size, method)

    # ------------------------------------------------------------ vectors

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Array:
        """Normal vectors.

        Parameters
        ----------
        mean : sequence of float
            Mean.
        cov : array_like
            Covariance; it is factored on the host.
        size : int or tuple of int, optional
            Shape of the result, without the last axis.
        check_valid : {"warn", "raise", "ignore"}, optional
            What is done if `cov` is not symmetric and positive semidefinite, to `tol`.
        tol : float, optional
            Tolerance of that check.
        method : {"svd", "eigh", "cholesky"}, optional
            Factor of the covariance that is used.

        Examples
        --------
        >>> import numloom as nl
        >>> x = nl.random.default_rng(3).multivariate_normal([0, 5], [[2, 1], [1, 2]], 20_000)
        >>> nl.cov(x.T).round(1).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
        """
        return self._correlated(mean, cov, size, check_valid, tol, method)

    # ------------------------------------------------------------ orders and samples

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The numbers below `x`, or the parts of an array along an axis, in random order.

        Parameters
        ----------
        x : int or array_like
            How many numbers, or the array.
        axis : int, optional
            Axis whose parts change places.
        """
        return self._permutation(x, axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the parts of an array along an axis, or the items of a list, into random order, in place.

        Parameters
        ----------
        x : ndarray, numpy.ndarray or list
            What is shuffled.
        axis : int, optional
            Axis whose parts change places.
        """
        self._shuffle(x, axis)

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Array:
        """Elements along an axis (of the flattened array if None) in random order, each row in its own.

        Parameters
        ----------
        x : array_like
            The array.
        axis : int, optional
            Axis along which elements change places.
        out : ndarray, optional
            Where the result goes; it may be `x`.
        """
        return self._permuted(x, axis, out)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Array:
        """A sample of the numbers below `a`, or of the parts of an array along an axis.

        Parameters
        ----------
        a : int or array_like
            What is drawn from.
        size : int or tuple of int, optional
            Shape of the sample.
        replace : bool, optional
            Whether the same one can be drawn again.
        p : array_like, optional
            Probabilities; all the same by default.
        axis : int, optional
            Axis of `a` along which the parts lie.
        shuffle : bool, optional
            False allows any order of a sample without replacement; it is random here all the same.

        Examples
        --------
        >>> import numloom as nl
        >>> sorted(nl.random.default_rng(3).choice(5, 5, replace=False).tolist())
        [0, 1, 2, 3, 4]
        """
        return self._choice(a, size, replace, p, axis)


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers: the same numbers for the same seed, on every device.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence, BitGenerator, Generator or RandomState, optional
        Where to start; unpredictable by default. A generator is given back as it is.
    """
    return seed if isinstance(seed, Generator) else Generator(bit_generator_of(seed))


__all__ = ["Generator", "default_rng"]
