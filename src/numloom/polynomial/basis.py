"""Series in the six families of polynomials: one table of what differs, and what follows from it.

A family P_0, P_1, ... is given by its three-term recurrence ::

    P_0(x) = 1    P_1(x) = a0 x + b0    P_(k+1)(x) = (a(k) x + b(k)) P_k(x) - g(k) P_(k-1)(x)

(Abramowitz and Stegun, table 22.7; DLMF, section 18.9), which is all that evaluation (Clenshaw's
recurrence) and matrices of values need. Those are recorded on the device and fuse into one kernel.
Coefficients are few, and are worked on by NumPy on the host (see `numloom.polynomial.polyutils`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import index, mul
from types import ModuleType
from typing import Any

import numpy as np

from numloom.api.creation import empty, zeros
from numloom.api.elementwise import exp, multiply, sqrt
from numloom.api.joining import concatenate
from numloom.api.manipulation import moveaxis
from numloom.api.products import dot, tensordot
from numloom.array.convert import asarray, from_host, host_numbers
from numloom.array.ndarray import ndarray
from numloom.array.views import constant_of, in_tree
from numloom.base.dtypes import limits_of
from numloom.polynomial.fitting import check_data, data_of, fit, warn_of_rank
from numloom.polynomial.polyutils import check_steps, on_host, points_of

Array = Any
Recurrence = Callable[[int], tuple[float, float, float]]


def coefficients_of(c: Any) -> Array:
    """Coefficients as an array with at least one dimension; integers and booleans as float64."""
    array = data_of(c)
    return array if array.ndim else array.reshape(1)


def delivered(found: Any) -> Any:
    """What NumPy made of coefficients, as arrays on the device; tuples stay tuples."""
    if isinstance(found, tuple):
        return tuple(map(delivered, found))
    return from_host(found) if isinstance(found, np.ndarray) else asarray(found)


class Basis:
    """A family of polynomials, and the functions of its module in NumPy.

    Parameters
    ----------
    prefix : str
        What its functions' names start with in NumPy.
    numpy : module
        NumPy's module, which works on coefficients.
    first : tuple of float
        ``a0, b0``: the polynomial of degree 1.
    recurrence : callable
        ``a, b, g`` of k, from k = 1.
    weight : callable, optional
        The weight function by which the family is orthogonal.
    """

    def __init__(
        self,
        prefix: str,
        numpy: ModuleType,
        first: tuple[float, float],
        recurrence: Recurrence,
        weight: Callable[[Array], Array] | None = None,
    ) -> None:
        self.prefix = prefix
        self.numpy = numpy
        self.first = first
        self.recurrence = recurrence
        self._weight = weight

    def __repr__(self) -> str:
        return f"<{self.numpy.__name__.rpartition('.')[2]} basis>"

    def __reduce__(self) -> Any:
        return _family, (self.prefix,)

    def twin(self, name: str) -> Any:
        """NumPy's function for this family: "add" is `chebadd` for "cheb"."""
        return getattr(self.numpy, self.prefix + name)

    # ------------------------------------------------------------ coefficients

    def line(self, off: Any, scl: Any) -> Array:
        """Coefficients of ``off + scl * x``."""
        return delivered(self.twin("line")(on_host(off), on_host(scl)))

    def fromroots(self, roots: Any) -> Array:
        """Coefficients of the series with these roots and a leading coefficient that makes it monic in x."""
        return delivered(self.twin("fromroots")(on_host(roots)))

    def add(self, c1: Any, c2: Any) -> Array:
        """Coefficients of the sum of two series."""
        if in_tree(c1, c2):
            return self._sum(c1, c2, "add")
        return delivered(self.twin("add")(on_host(c1), on_host(c2)))

    def sub(self, c1: Any, c2: Any) -> Array:
        """Coefficients of the difference of two series."""
        if in_tree(c1, c2):
            return self._sum(c1, c2, "sub")
        return delivered(self.twin("sub")(on_host(c1), on_host(c2)))

    def mulx(self, c: Any) -> Array:
        """Coefficients of a series times x."""
        return delivered(self.twin("mulx")(on_host(c)))

    def mul(self, c1: Any, c2: Any) -> Array:
        """Coefficients of the product of two series."""
        if in_tree(c1, c2):
            return self._product(c1, c2)
        return delivered(self.twin("mul")(on_host(c1), on_host(c2)))

    def _sum(self, c1: Any, c2: Any, name: str) -> Array:
        """`add` or `sub` in a tree; how many coefficients are left is looked at."""
        one, two = coefficients_of(c1), coefficients_of(c2)
        found = self.twin(name)(constant_of(one).get(), constant_of(two).get())
        count = max(one.size, two.size)
        one, two = (concatenate((c, zeros(count - c.size, found.dtype))) for c in (one, two))
        return (one + two if name == "add" else one - two)[: found.size].astype(found.dtype)

    def _product(self, c1: Any, c2: Any) -> Array:
        """`mul` in a tree: linear in both, so it follows from the products of the family's polynomials."""
        one, two = coefficients_of(c1), coefficients_of(c2)
        found = self.twin("mul")(constant_of(one).get(), constant_of(two).get())
        products = np.zeros((one.size, two.size, one.size + two.size - 1), found.real.dtype)
        for i, j in np.ndindex(one.size, two.size):
            product = self.twin("mul")(np.eye(one.size)[i], np.eye(two.size)[j])
            products[i, j, : product.size] = product
        total = (asarray(products) * (one[:, None] * two)[:, :, None]).sum(axis=(0, 1))
        return total[: found.size].astype(found.dtype)

    def div(self, c1: Any, c2: Any) -> tuple[Array, Array]:
        """Coefficients of quotient and remainder of two series."""
        return delivered(self.twin("div")(on_host(c1), on_host(c2)))  # type: ignore[no-any-return]

    def power(self, c: Any, pow: int, maxpower: int | None = 16) -> Array:
        """Coefficients of a power of a series; ValueError if it is above `maxpower`."""
        check_steps(pow, "the power of a polynomial")
        return delivered(self.twin("pow")(on_host(c), pow, maxpower))

    def trim(self, c: Any, tol: float = 0) -> Array:
        """Coefficients without the last ones that are at most `tol` in magnitude."""
        return delivered(self.twin("trim")(on_host(c), tol))

    def companion(self, c: Any) -> Array:
        """The (scaled) companion matrix, whose eigenvalues are the roots."""
        return delivered(self.twin("companion")(on_host(c)))

    def roots(self, c: Any) -> Array:
        """Sorted roots of a series: eigenvalues of its companion matrix."""
        return delivered(self.twin("roots")(on_host(c)))

    def gauss(self, deg: int) -> tuple[Array, Array]:
        """Points and weights of Gauss's quadrature with `deg` points."""
        return delivered(self.twin("gauss")(index(deg)))  # type: ignore[no-any-return]

    def from_poly(self, pol: Any) -> Array:
        """Coefficients in this family of a polynomial given by powers of x."""
        return delivered(getattr(self.numpy, "poly2" + self.prefix)(on_host(pol)))

    def to_poly(self, c: Any) -> Array:
        """Coefficients by powers of x of a series in this family."""
        return delivered(getattr(self.numpy, self.prefix + "2poly")(on_host(c)))

    def deriv(self, c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Array:
        """Coefficients of a derivative.

        Parameters
        ----------
        c : array_like
            Coefficients along `axis`, the lowest degree first.
        m : int
            How often to differentiate.
        scl : scalar
            Each derivative is multiplied by it: the slope of a linear change of variable.
        axis : int
            Axis of the degrees.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            If `m` is negative.
        numpy.exceptions.AxisError
            If there is no such axis.
        """
        return self._linear(c, axis, lambda a, along: self.twin("der")(a, m, on_host(scl), along))

    def integ(self, c: Any, m: int = 1, k: Any = [], lbnd: Any = 0, scl: Any = 1, axis: int = 0) -> Array:  # noqa: B006
        """Coefficients of an integral.

        Parameters
        ----------
        c : array_like
            Coefficients along `axis`, the lowest degree first.
        m : int
            How often to integrate.
        k : scalar or sequence
            Constants of integration: values at `lbnd`, the first integral's first; zeros where there are none.
        lbnd : scalar
            Where integration starts.
        scl : scalar
            Each integral is multiplied by it before its constant is added.
        axis : int
            Axis of the degrees.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            If `m` is negative, there are more constants than integrals, or `lbnd` or `scl` is no scalar.
        """
        constants, start, slope = on_host(k), on_host(lbnd), on_host(scl)
        return self._linear(c, axis, lambda a, along: self.twin("int")(a, m, constants, start, slope, along))

    def _linear(self, c: Any, axis: int, function: Callable[[Any, int], Any]) -> Array:
        """`function` of coefficients; of many series at once on the device, by the matrix that does it."""
        if (type(c) is not ndarray or c.ndim < 2) and not in_tree(c):
            return delivered(function(on_host(c), axis))
        array = coefficients_of(c)
        function(np.zeros((1,) * array.ndim), axis)  # raises what is to be raised
        degrees, part = array.shape[axis], array.real.dtype
        origin = function(np.zeros(degrees, part), 0)
        result = tensordot(asarray(function(np.eye(degrees, dtype=part), 0) - origin[:, None]), array, (1, axis))
        if origin.any():
            result = result + asarray(origin).reshape((-1,) + (1,) * (array.ndim - 1))
        return moveaxis(result, 0, axis)

    # ------------------------------------------------------------ values

    def _next(self, k: int, x: Any) -> Any:
        """``a(k) x + b(k)``; k = 0 stands for the polynomial of degree 1."""
        a, b = self.recurrence(k)[:2] if k else self.first
        grown = x if a == 1 else a * x
        return grown if b == 0 else grown + b

    def val(self, x: Any, c: Any, tensor: bool = True) -> Any:
        """Values of a series, by Clenshaw's recurrence.

        Parameters
        ----------
        x : array_like or object
            Points; anything else that can be added and multiplied (another series) is taken as it is.
        c : array_like
            Coefficients along the first axis, the lowest degree first; other axes are several series.
        tensor : bool
            Whether each of several series is evaluated at each point; else `x` broadcasts with the series.

        Returns
        -------
        ndarray
            ``c.shape[1:] + x.shape`` with `tensor`. Recorded: one kernel, whatever the degree, and no array between.
        """
        coefficients = coefficients_of(c)
        points = points_of(x)
        if tensor and type(points) is ndarray and points.ndim and coefficients.ndim:
            coefficients = coefficients.reshape(coefficients.shape + (1,) * points.ndim)
        if not coefficients.shape[0]:
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        return self._summed(points, coefficients)

    def _summed(self, points: Any, coefficients: Array) -> Any:
        """The sum of a series by Clenshaw's recurrence."""
        last = coefficients.shape[0] - 1
        if last == 0:
            return coefficients[0] + 0 * self._next(0, points)
        low, high = coefficients[last - 1], coefficients[last]
        for k in range(last - 1, 0, -1):
            factor = self.recurrence(k)[2]
            below = coefficients[k - 1]
            low, high = (
                below if factor == 0 else below - (high if factor == 1 else high * factor),
                low + high * self._next(k, points),
            )
        return low + high * self._next(0, points)

    def val2d(self, x: Any, y: Any, c: Any) -> Array:
        """Values of a series in two variables at points ``(x, y)``; shapes must be equal."""
        return self._at_points(c, x, y)

    def val3d(self, x: Any, y: Any, z: Any, c: Any) -> Array:
        """Values of a series in three variables at points ``(x, y, z)``; shapes must be equal."""
        return self._at_points(c, x, y, z)

    def valnd(self, pts: Any, c: Any) -> Array:
        """Values of a series in several variables.

        Parameters
        ----------
        pts : sequence of array_like
            One array of coordinates for each variable, of one shape.
        c : array_like
            Coefficients; axis k belongs to variable k, further axes are several series.

        Returns
        -------
        ndarray
            ``c.shape[len(pts):] + pts[0].shape``. Recorded: one kernel.

        Raises
        ------
        ValueError
            If shapes differ.
        """
        return self._at_points(c, *pts)

    def grid2d(self, x: Any, y: Any, c: Any) -> Array:
        """Values of a series in two variables on the grid of `x` and `y`: ``c.shape[2:] + x.shape + y.shape``."""
        return self.val(y, self.val(x, c))

    def grid3d(self, x: Any, y: Any, z: Any, c: Any) -> Array:
        """Values of a series in three variables on the grid of `x`, `y` and `z`."""
        return self.val(z, self.val(y, self.val(x, c)))

    def _at_points(self, c: Any, *points: Any) -> Array:
        arrays = [asarray(on_points) for on_points in points]
        if len({array.shape for array in arrays}) > 1:
            names = ", ".join("xyz"[: len(arrays)]) if len(arrays) < 4 else "ordinates"
            raise ValueError(f"{names} are incompatible")
        values = self.val(arrays[0], c)
        for array in arrays[1:]:
            values = self.val(array, values, tensor=False)
        return values

    def vander(self, x: Any, deg: int) -> Array:
        """Values of the polynomials of degree 0 to `deg` at points, along a new last axis.

        Parameters
        ----------
        x : array_like
            Points.
        deg : int
            The highest degree.

        Returns
        -------
        ndarray
            ``x.shape + (deg + 1,)``; in memory the values of one degree lie together, as NumPy has them.

        Raises
        ------
        ValueError
            If `deg` is negative.
        """
        highest = index(deg)
        if highest < 0:
            raise ValueError("deg must be non-negative")
        points = data_of(x)
        points = (points if points.ndim else points.reshape(1)) + 0.0  # As NumPy: there is no -0.0.
        values = empty((highest + 1, *points.shape), points.dtype)
        values[0] = points * 0 + 1
        if highest:
            before, now = 1, self._next(0, points)
            values[1] = now
            for k in range(1, highest):
                factor = self.recurrence(k)[2]
                grown = now * self._next(k, points)
                before, now = now, grown if factor == 0 else grown - (before if factor == 1 else before * factor)
                values[k + 1] = now
        return moveaxis(values, 0, -1)

    def vander2d(self, x: Any, y: Any, deg: Any) -> Array:
        """Products of the polynomials at points ``(x, y)``, up to degrees ``deg``, along a new last axis."""
        return self._products((x, y), deg)

    def vander3d(self, x: Any, y: Any, z: Any, deg: Any) -> Array:
        """Products of the polynomials at points ``(x, y, z)``, up to degrees ``deg``, along a new last axis."""
        return self._products((x, y, z), deg)

    def _products(self, points: tuple[Any, ...], deg: Any) -> Array:
        degrees = on_host(deg)
        if len(degrees) != len(points):
            raise ValueError(f"Expected {len(points)} dimensions of degrees, got {len(degrees)}")
        ndim = len(points)
        arrays = [coefficients_of(array) for array in points]
        factors = []
        for place, (array, highest) in enumerate(zip(arrays, degrees, strict=True)):
            values = self.vander(array, highest)
            extents = tuple(values.shape[-1] if k == place else 1 for k in range(ndim))
            factors.append(values.reshape((*array.shape, *extents)))
        product = reduce(mul, factors)
        return product.reshape((*product.shape[:-ndim], -1))

    def weight(self, x: Any) -> Array:
        """The weight function of the family at points."""
        assert self._weight is not None
        return self._weight(points_of(x))

    # ------------------------------------------------------------ fits

    def fit(self, x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None) -> Any:
        """Coefficients of the least-squares fit to data.

        Parameters
        ----------
        x : array_like
            M points.
        y : array_like
            M values, or M by N for several fits at once.
        deg : int or sequence of int
            Highest degree, or all degrees that may appear.
        rcond : float, optional
            Singular values below this part of the largest one count as zero; M times the dtype's eps if not given.
        full : bool
            Whether the report is given as well.
        w : array_like, optional
            A weight for each point: the weighted distances are what is squared.

        Returns
        -------
        coefficients : ndarray
            The lowest degree first (a column for each fit).
        report : list
            Residuals, rank, singular values and rcond, with `full`.

        Raises
        ------
        TypeError
            If shapes do not fit together, or degrees are no integers.
        ValueError
            If a degree is negative.

        Warns
        -----
        numpy.exceptions.RankWarning
            If the data do not determine the coefficients (not with `full`).

        Notes
        -----
        Long systems are solved by Householder reflections on the device, others by NumPy on the host
        (`numloom.polynomial.fitting`); coefficients and rank are known when it returns.
        """
        degrees = np.asarray(on_host(deg))
        if degrees.ndim > 1 or degrees.dtype.kind not in "iu" or degrees.size == 0:
            raise TypeError("deg must be an int or non-empty 1-D array of int")
        if degrees.min() < 0:
            raise ValueError("expected deg >= 0")
        points, values = data_of(x), data_of(y)
        weights = None if w is None else data_of(w)
        check_data(points, values, weights)
        highest = degrees.max().item()
        matrix = self.vander(points, highest)
        degrees = np.sort(degrees, axis=None)
        if np.ndim(on_host(deg)):
            matrix = matrix[:, asarray(degrees)]
        if rcond is None:
            rcond = float(points.size * limits_of(points.dtype).eps)
        found, report, _ = fit(matrix, values, weights, rcond)
        if np.ndim(on_host(deg)):
            whole = zeros((highest + 1, *found.shape[1:]), found.dtype)
            whole[asarray(degrees)] = found
            found = whole
        if full:
            return found, report
        if report[1] != matrix.shape[1]:
            warn_of_rank(2)
        return found


FEW_ROOTS = 16


class Powers(Basis):
    """The powers of x, whose functions differ a little: no weight, no bound on powers, values from roots."""

    def power(self, c: Any, pow: int, maxpower: int | None = None) -> Array:
        """Coefficients of a power of a polynomial; ValueError if it is above `maxpower`."""
        return super().power(c, pow, maxpower)

    def _summed(self, points: Any, coefficients: Array) -> Any:
        """The sum of a polynomial by Horner's rule; as in NumPy no value is finite where a point is not."""
        result = coefficients[-1] + points * 0
        for k in range(coefficients.shape[0] - 2, -1, -1):
            result = coefficients[k] + result * points
        return result

    def valfromroots(self, x: Any, r: Any, tensor: bool = True) -> Array:
        """Values of the monic polynomials with given roots.

        Parameters
        ----------
        x : array_like
            Points.
        r : array_like
            Roots along the first axis; other axes are several polynomials.
        tensor : bool
            Whether each polynomial is evaluated at each point; else `x` broadcasts with the polynomials.

        Returns
        -------
        ndarray
            Recorded: one kernel, in which the differences are never stored.
        """
        roots, points = coefficients_of(r), points_of(x)
        if type(points) is ndarray:
            if tensor:
                roots = roots.reshape(roots.shape + (1,) * points.ndim)
            elif points.ndim >= roots.ndim:
                raise ValueError("x.ndim must be < r.ndim when tensor == False")
        if roots.shape[0] > FEW_ROOTS:
            return (points - roots).prod(axis=0)
        # Few factors are multiplied where a point is, one after the other.
        result = points - roots[0]
        for k in range(1, roots.shape[0]):
            result = result * (points - roots[k])
        return result


class ChebyshevBasis(Basis):
    """Chebyshev's polynomials, which have points of interpolation as well."""

    def pts1(self, npts: int) -> Array:
        """The `npts` roots of the Chebyshev polynomial of that degree, ascending."""
        return delivered(self.twin("pts1")(npts))

    def pts2(self, npts: int) -> Array:
        """The `npts` extremes (the ends among them) of the Chebyshev polynomial of degree ``npts - 1``, ascending."""
        return delivered(self.twin("pts2")(npts))

    def interpolate(self, func: Callable[..., Any], deg: int, args: tuple[Any, ...] = ()) -> Array:
        """Coefficients of the series that has a function's values at the Chebyshev points of the first kind.

        Parameters
        ----------
        func : callable
            ``func(x, *args)`` for a vector of points.
        deg : int
            Degree.
        args : tuple
            More arguments of `func`.

        Returns
        -------
        ndarray
        """
        degree = np.asarray(host_numbers(deg))
        if degree.ndim > 0 or degree.dtype.kind not in "iu" or degree.size == 0:
            raise TypeError("deg must be an int")
        if degree < 0:
            raise ValueError("expected deg >= 0")
        order = index(deg) + 1
        points = self.pts1(order)
        products = dot(self.vander(points, order - 1).T, func(points, *args))
        # The polynomials are orthogonal on these points: N for degree 0, N / 2 for the others.
        norms = np.full(order, 0.5 * order)
        norms[0] = order
        return products / asarray(norms).reshape((-1,) + (1,) * (products.ndim - 1))


_series = np.polynomial
POWERS = Powers("poly", _series.polynomial, (1, 0), lambda k: (1, 0, 0))
CHEBYSHEV = ChebyshevBasis(
    "cheb", _series.chebyshev, (1, 0), lambda k: (2, 0, 1), lambda x: 1 / (sqrt(1 + x) * sqrt(1 - x))
)
LEGENDRE = Basis(
    "leg", _series.legendre, (1, 0), lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1)), lambda x: x * 0.0 + 1.0
)
LAGUERRE = Basis(
    "lag", _series.laguerre, (-1, 1), lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)), lambda x: exp(-x)
)
HERMITE = Basis("herm", _series.hermite, (2, 0), lambda k: (2, 0, 2 * k), lambda x: exp(-multiply(x, x)))
HERMITE_E = Basis("herme", _series.hermite_e, (1, 0), lambda k: (1, 0, k), lambda x: exp(-0.5 * multiply(x, x)))

FAMILIES = {family.prefix: family for family in (POWERS, CHEBYSHEV, LEGENDRE, LAGUERRE, HERMITE, HERMITE_E)}
"""The table by prefix."""


def _family(prefix: str) -> Basis:
    """The family that was pickled."""
    return FAMILIES[prefix]


__all__ = [
    "CHEBYSHEV",
    "FAMILIES",
    "HERMITE",
    "HERMITE_E",
    "LAGUERRE",
    "LEGENDRE",
    "POWERS",
    "Basis",
    "ChebyshevBasis",
    "Powers",
    "coefficients_of",
    "delivered",
]
