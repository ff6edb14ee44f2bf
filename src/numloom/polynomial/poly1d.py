"""NumPy's older polynomials: coefficients with the highest power first, and the class `poly1d`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED, at_once
from numloom.api.calling import replayed
from numloom.api.creation import arange, ones, zeros, zeros_like
from numloom.api.elementwise import add, subtract
from numloom.api.joining import concatenate
from numloom.api.products import dot, outer
from numloom.api.protocols import isscalar
from numloom.api.statistics import convolve
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, wrap
from numloom.array.views import in_tree, refuse_sizes
from numloom.base.dtypes import code_of, limits_of, native
from numloom.graph.build import known
from numloom.polynomial.basis import delivered
from numloom.polynomial.fitting import check_data, data_of, fit, warn_of_rank
from numloom.polynomial.polyutils import check_steps, on_host

Array = Any


def _is_number(value: Any) -> bool:
    """Whether this is a number, or an array where NumPy would have one."""
    return isscalar(value) or (type(value) is ndarray and not value.ndim)


def _vector(c: Any) -> Array:
    """Coefficients as an array with at least one dimension."""
    array = c.coeffs if isinstance(c, poly1d) else asarray(c)
    return array if array.ndim else array.reshape(1)


def _host(c: Any) -> Any:
    return on_host(c.coeffs if isinstance(c, poly1d) else c)


def _as_given(value: Array, *operands: Any) -> Any:
    """A `poly1d` if one of the operands is one, else the coefficients."""
    return poly1d(value) if any(isinstance(operand, poly1d) for operand in operands) else value


# ---------------------------------------------------------------- roots


def poly(seq_of_zeros: Any) -> Array:
    """Coefficients of the monic polynomial with given roots, the highest power first.

    Parameters
    ----------
    seq_of_zeros : array_like
        Roots, or a square matrix, whose characteristic polynomial is given.

    Returns
    -------
    ndarray
        Real if the roots are real or come in conjugate pairs; worked out on the host.

    Raises
    ------
    ValueError
        If it is neither a vector nor a square matrix.

    Examples
    --------
    >>> import numloom as np
    >>> np.poly([1, 2])
    array([ 1., -3.,  2.])
    """
    zeros_of = asarray(seq_of_zeros) if in_tree(seq_of_zeros) else None
    # Whether complex ones come in pairs, whose product is real, is for NumPy to find.
    if zeros_of is not None and zeros_of.ndim == 1 and zeros_of.dtype.kind == "f":
        product = ones(1, zeros_of.dtype)
        for zero in zeros_of:
            product = concatenate((product, zeros(1, product.dtype))) - concatenate(
                (zeros(1, product.dtype), product * zero)
            )
        return product
    return delivered(np.poly(_host(seq_of_zeros)))


def roots(p: Any) -> Array:
    """Roots of a polynomial: eigenvalues of its companion matrix, found on the host.

    Parameters
    ----------
    p : array_like
        Coefficients, the highest power first.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If `p` has more than one dimension.
    """
    refuse_sizes("roots", p)
    return delivered(np.roots(_host(p)))


# ---------------------------------------------------------------- coefficients


def polyadd(a1: Any, a2: Any) -> Any:
    """Sum of two polynomials; recorded."""
    return _as_given(add(*_padded(a1, a2)), a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """Difference of two polynomials; recorded."""
    return _as_given(subtract(*_padded(a1, a2)), a1, a2)


def _padded(a1: Any, a2: Any) -> tuple[Array, Array]:
    """Coefficients of two polynomials with zeros in front of the shorter ones."""
    x, y = _vector(a1), _vector(a2)
    missing = len(y) - len(x)
    if missing > 0:
        x = concatenate((zeros(missing, x.dtype), x))
    elif missing < 0:
        y = concatenate((zeros(-missing, y.dtype), y))
    return x, y


def polymul(a1: Any, a2: Any) -> Any:
    """Product of two polynomials: their convolution, on the device."""
    return _as_given(convolve(poly1d(a1).coeffs, poly1d(a2).coeffs), a1, a2)


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials; worked out on the host.

    Parameters
    ----------
    u, v : array_like or poly1d
        Coefficients of dividend and divisor, the highest power first.

    Returns
    -------
    q, r : ndarray or poly1d
        Coefficients of quotient and remainder.
    """
    refuse_sizes("polydiv", u, v)
    quotient, remainder = delivered(np.polydiv(_host(u), _host(v)))
    return _as_given(quotient, u, v), _as_given(remainder, u, v)


def polyder(p: Any, m: int = 1) -> Any:
    """Derivative of a polynomial; recorded.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, the highest power first.
    m : int
        How often to differentiate.

    Returns
    -------
    ndarray or poly1d

    Raises
    ------
    ValueError
        If `m` is negative.
    """
    times = int(m)
    if times < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    result = p.coeffs if isinstance(p, poly1d) else asarray(p)
    for _ in range(times)[: max(len(result), 1)]:  # Nothing is left after that.
        result = result[:-1] * arange(len(result) - 1, 0, -1)
    return _as_given(result, p)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Integral of a polynomial; recorded.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, the highest power first.
    m : int
        How often to integrate.
    k : scalar or sequence of m scalars, optional
        Constants of integration, in the order of the integrals; zeros if not given.

    Returns
    -------
    ndarray or poly1d

    Raises
    ------
    ValueError
        If `m` is negative, or there is another number of constants.
    """
    times = int(m)
    if times < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    check_steps(times, "the order of an integral")
    constants = zeros(times) if k is None else _vector(k)
    if len(constants) == 1 and times > 1:
        constants = constants[0] * zeros(times, constants.dtype) + constants[0]
    if len(constants) < times:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    result = p.coeffs if isinstance(p, poly1d) else asarray(p)
    for number in range(times):
        raised = result / arange(len(result), 0, -1)
        result = concatenate((raised, constants[number : number + 1]))
    return _as_given(result, p)


# ---------------------------------------------------------------- values and fits


def _host_polyval(p: Any, x: Any) -> Any:
    """Horner's rule by NumPy's own numbers; complex ones are multiplied otherwise there."""
    if "c" in (np.asarray(p).dtype.kind, np.asarray(x).dtype.kind):
        return None
    with np.errstate(all="ignore"):
        return np.polyval(p, x)


@at_once(_host_polyval, most=RECORDED, pending=False)
def polyval(p: Any, x: Any) -> Any:
    """Values of a polynomial, by Horner's rule.

    Parameters
    ----------
    p : array_like or poly1d
        Coefficients, the highest power first.
    x : array_like or poly1d
        Points; a polynomial is put into the other one.

    Returns
    -------
    ndarray or poly1d
        Recorded: one kernel, whatever the degree.

    Examples
    --------
    >>> import numloom as np
    >>> np.polyval([3, 0, 1], np.arange(3))
    array([ 1,  4, 13])
    """
    # The coefficients of an array are looked at.
    return (_polyval_at if isinstance(p, (list, tuple)) and not isinstance(x, poly1d) else _polyval)(p, x)


def _polyval(p: Any, x: Any) -> Any:
    coefficients: Any = p.coeffs if isinstance(p, poly1d) else p
    if isinstance(coefficients, (list, tuple)):
        host = np.asarray(coefficients)
        if host.ndim == 1 and host.dtype.kind in "biufc":
            # What the host knows is not looked at, so the call can be replayed.
            coefficients = [wrap(known(number, code_of(native(host.dtype)))) for number in host.tolist()]
        elif host.dtype.kind not in "biufcO":
            coefficients = asarray(coefficients)  # Which says what is wrong.
    if not isinstance(coefficients, list):
        coefficients = asarray(coefficients)
    if isinstance(x, poly1d):
        result: Any = 0
        points: Any = x
    else:
        points = asarray(x)
        result = zeros_like(points)
    for coefficient in coefficients:
        result = result * points + coefficient
    return result


_polyval_at = replayed(_polyval)


def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial that fits data best in the sense of least squares.

    Parameters
    ----------
    x : array_like
        M points.
    y : array_like
        M values, or M by K for several fits at once.
    deg : int
        Degree.
    rcond : float, optional
        Singular values below this part of the largest one count as zero; M times the dtype's eps if not given.
    full : bool
        Whether the report is given as well.
    w : array_like, optional
        A weight for each point: the weighted distances are what is squared.
    cov : bool or "unscaled"
        Whether the covariance of the coefficients is given (by the spread of the data; "unscaled": by the weights).

    Returns
    -------
    p : ndarray
        Coefficients, the highest power first (a column for each fit).
    residuals, rank, singular_values, rcond
        With `full`.
    V : ndarray
        Covariance matrix (one for each fit, along the last axis), with `cov`.

    Raises
    ------
    TypeError
        If shapes do not fit together.
    ValueError
        If `deg` is negative, or there are too few points for a covariance.

    Warns
    -----
    numpy.exceptions.RankWarning
        If the data do not determine the coefficients (not with `full`).

    Notes
    -----
    Long systems are solved by Householder reflections on the device, others by NumPy on the host.
    """
    order = int(deg) + 1
    if order < 1:
        raise ValueError("expected deg >= 0")
    points, values = data_of(x), data_of(y)
    check_data(points, values, None)
    weights = None
    if w is not None:
        weights = data_of(w)
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != values.shape[0]:
            raise TypeError("expected w and y to have the same length")
    if rcond is None:
        rcond = len(points) * float(limits_of(points.dtype).eps)
    matrix = _powers(points, order)
    found, (residuals, rank, singular, rcond), scale = fit(matrix, values, weights, rcond)
    if rank != order and not full:
        warn_of_rank(2)
    if full or cov:
        refuse_sizes("polyfit(full=True, cov=True)", points, values)
    if full:
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    scaled = (matrix if weights is None else matrix * weights[:, None]) / scale
    inverse = np.linalg.inv(dot(scaled.T, scaled).get())
    basis = asarray(inverse) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif len(points) <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (len(points) - order)
    return found, basis * factor if values.ndim == 1 else basis[:, :, None] * factor


def _powers(points: Array, order: int) -> Array:
    """Powers of points as columns, the highest first; at least float64, as those of `numpy.vander`."""
    points = points.astype(np.promote_types(points.dtype, int))
    np.empty((len(points), order), points.dtype)  # Its error, where there can be no such matrix.
    columns = [points * 0 + 1]
    for _ in range(order - 1):
        columns.append(columns[-1] * points)
    return concatenate([column[None] for column in reversed(columns)]).T


# ---------------------------------------------------------------- the class


class poly1d:
    """A polynomial in one variable, by its coefficients with the highest power first.

    New code is better served by `numloom.polynomial.Polynomial`, as NumPy says.

    Parameters
    ----------
    c_or_r : array_like
        Coefficients, or roots if `r` is true.
    r : bool
        Whether roots are given.
    variable : str, optional
        Name of the variable in text, "x" if not given.

    Attributes
    ----------
    coeffs, c, coef, coefficients : ndarray
        Coefficients on the device, without zeros in front. (Who asks first what the degree is waits for them.)
    order, o : int
        Degree.
    roots, r : ndarray
        Roots.
    variable : str
        Name of the variable.

    Raises
    ------
    ValueError
        If coefficients have more than one dimension.

    Examples
    --------
    >>> import numloom as np
    >>> p = np.poly1d([1, 2, 3])
    >>> p(np.arange(3))
    array([ 3,  6, 11])
    >>> p * p
    poly1d([ 1,  4, 10, 12,  9])
    """

    __hash__ = None  # type: ignore[assignment]

    _given: Array
    """Coefficients, which may have zeros in front until `_is_trimmed`."""
    _is_trimmed: bool
    _variable: str

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        if isinstance(c_or_r, poly1d):
            self._given, self._is_trimmed = c_or_r._given, c_or_r._is_trimmed
            self._variable = c_or_r._variable if variable is None else variable
            return
        if isinstance(c_or_r, np.poly1d):
            c_or_r, variable = c_or_r.coeffs, variable or c_or_r.variable
        coefficients = _vector(poly(c_or_r) if r else c_or_r)
        if coefficients.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        refuse_sizes("poly1d", coefficients)
        self._given, self._is_trimmed = coefficients, False
        self._variable = "x" if variable is None else variable

    @property
    def _coeffs(self) -> Array:
        if not self._is_trimmed:
            given = self._given
            kept = np.flatnonzero((given != 0 if in_tree(given) else given).get())
            self._given = given[int(kept[0]) :] if kept.size else zeros(1, given.dtype)
            self._is_trimmed = True
        return self._given

    @_coeffs.setter
    def _coeffs(self, value: Array) -> None:
        self._given, self._is_trimmed = value, True

    @property
    def coeffs(self) -> Array:
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        # `p.coeffs *= 2` assigns what is there already.
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    def get(self, stream: Any = None) -> np.poly1d:
        """The same polynomial of NumPy's class.

        Examples
        --------
        >>> import numloom as np
        >>> np.poly1d([1, 2]).get()
        poly1d([1, 2])
        """
        return np.poly1d(self._coeffs.get(stream), variable=self._variable)

    def set(self, polyin: np.poly1d, stream: Any = None) -> None:
        """Become the polynomial of NumPy's class that is given."""
        given = poly1d(polyin.coeffs, variable=polyin.variable)
        self._coeffs, self._variable = given._coeffs, given._variable

    @property
    def variable(self) -> str:
        return self._variable

    @property
    def order(self) -> int:
        return len(self._coeffs) - 1

    o = order

    @property
    def roots(self) -> Array:
        return roots(self._coeffs)

    r = roots

    def __numloom_array__(self) -> Array:
        return self._coeffs

    def __array__(self, t: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._coeffs.__array__(t, copy)  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        # Beside arrays a polynomial is its coefficients.
        arrays = [operand._coeffs if isinstance(operand, poly1d) else operand for operand in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def _on_host(self) -> np.poly1d:
        return np.poly1d(self._coeffs.get(), variable=self._variable)

    def __repr__(self) -> str:
        return repr(self._on_host())

    def __str__(self) -> str:
        return str(self._on_host())

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coeffs)

    def __call__(self, val: Any) -> Any:
        return polyval(self._coeffs, val)

    def __getitem__(self, val: int) -> Array:
        last = len(self._given) - 1  # The degree or more: nothing needs to be waited for.
        if val < 0 or val > last:
            return zeros((), self._given.dtype)
        return self._given[last - val]

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            self._coeffs = concatenate((zeros(key - self.order, self._coeffs.dtype), self._coeffs))
        self._coeffs[self.order - key] = val

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return poly1d(polyadd(self._coeffs, poly1d(other)._coeffs))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return poly1d(polysub(self._coeffs, poly1d(other)._coeffs))

    def __rsub__(self, other: Any) -> Any:
        return poly1d(polysub(poly1d(other)._coeffs, self._coeffs))

    def __mul__(self, other: Any) -> Any:
        if _is_number(other):
            return poly1d(self._coeffs * other)
        return poly1d(polymul(self._coeffs, other))

    __rmul__ = __mul__

    def __pow__(self, val: Any) -> Any:
        if not _is_number(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        check_steps(val, "the power of a polynomial")
        result: Any = asarray([1])
        for _ in range(val):  # which refuses 3.0, as NumPy does
            result = polymul(self._coeffs, result)
        return poly1d(result)

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self._coeffs / other) if _is_number(other) else polydiv(self, poly1d(other))

    def __rtruediv__(self, other: Any) -> Any:
        return poly1d(other / self._coeffs) if _is_number(other) else polydiv(poly1d(other), self)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        return len(self._coeffs) == len(other._coeffs) and bool((self._coeffs == other._coeffs).all())

    def __ne__(self, other: object) -> Any:
        return NotImplemented if not isinstance(other, poly1d) else not self == other

    def deriv(self, m: int = 1) -> Any:
        """The derivative, `m` times (see `polyder`)."""
        return poly1d(polyder(self._coeffs, m))

    def integ(self, m: int = 1, k: Any = 0) -> Any:
        """The integral, `m` times, with constants `k` (see `polyint`)."""
        return poly1d(polyint(self._coeffs, m, k))


__all__ = [
    "poly",
    "poly1d",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]
