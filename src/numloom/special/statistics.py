"""Special functions made of others: logarithms of sums, softmax, and functions of whole orders."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from numloom.api import elementwise as numpy_names
from numloom.api.manipulation import normal_axes
from numloom.array.convert import asarray
from numloom.special.functions import FUNCTIONS, gamma, gammaln, psi

Array = Any


def _floating(x: Any) -> Array:
    """The argument as an array of floats."""
    array = asarray(x)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def softmax(x: Any, axis: Any = None) -> Array:
    """``exp(x)`` over its sum along axes (all if None); one kernel where rows are not too long.

    Parameters
    ----------
    x : array_like
        Values.
    axis : int or tuple of int, optional
        Axes over which the result sums to 1.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as nl
    >>> nl.special.softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    array = _floating(x)
    if not array.size:
        return array.copy()
    raised = numpy_names.exp(array - array.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Array:
    """The logarithm of `softmax`, without overflow or loss; parameters as there."""
    array = _floating(x)
    if not array.size:
        return array.copy()
    top = array.max(axis, keepdims=True)
    shifted = array - numpy_names.where(numpy_names.isfinite(top), top, 0)
    return shifted - numpy_names.log(numpy_names.exp(shifted).sum(axis, keepdims=True))


def softplus(x: Any, **options: Any) -> Array:
    """``log(1 + exp(x))`` without overflow; keywords as of ufuncs."""
    return numpy_names.logaddexp(0, asarray(x), **options)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of the sum of ``b * exp(a)`` along axes, without overflow.

    Parameters
    ----------
    a : array_like
        Exponents, real.
    axis : int or tuple of int, optional
        Axes that are summed over, all if None.
    b : array_like, optional
        Factors, broadcast with `a`; they may be negative or zero.
    keepdims : bool
        Whether the axes stay with extent 1.
    return_sign : bool
        Whether to give the sign of the sum too; without it the logarithm of a negative sum is NaN.

    Returns
    -------
    ndarray or tuple of ndarray

    Raises
    ------
    TypeError
        If `a` or `b` is complex.
    """
    array = _floating(a)
    factor = None if b is None else asarray(b)
    if array.dtype.kind == "c" or (factor is not None and factor.dtype.kind == "c"):
        raise TypeError("logsumexp takes real numbers")
    if factor is not None:
        array, factor = array + 0 * numpy_names.where(numpy_names.isfinite(factor), factor, 0), factor + 0 * array
        array = numpy_names.where(factor == 0, -np.inf, array)
    if array.size:
        top = array.max(axis, keepdims=True)
        top = numpy_names.where(numpy_names.isfinite(top), top, 0)
    else:
        top = array.sum(axis, keepdims=True)
    terms = numpy_names.exp(array - top)
    if factor is not None:
        terms = numpy_names.where(factor == 0, 0, terms * factor)
    total = terms.sum(axis, keepdims=True)
    sign = numpy_names.sign(total)
    if return_sign:
        total = numpy_names.absolute(total)
    result = numpy_names.log(total) + top
    if not keepdims:
        axes = tuple(range(array.ndim)) if axis is None else normal_axes(axis, array.ndim)
        shape = tuple(extent for k, extent in enumerate(result.shape) if k not in axes)
        result, sign = result.reshape(shape), sign.reshape(shape)
    return (result, sign) if return_sign else result


def zeta(x: Any, q: Any = None, out: Any = None) -> Array:
    """Riemann's zeta function, or with `q` Hurwitz's: the sum of ``(q + n) ** -x`` over n >= 0.

    Parameters
    ----------
    x, q : array_like
        Exponent (above 1 if `q` is given) and start.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
    """
    return FUNCTIONS["riemann_zeta"](x, out=out) if q is None else FUNCTIONS["hurwitz_zeta"](x, q, out=out)


def polygamma(n: Any, x: Any) -> Array:
    """The `n`-th derivative of `psi`: ``(-1)**(n + 1) * n! * zeta(n + 1, x)``, and `psi` itself where `n` is 0.

    It is float64 whatever `x` is, as in SciPy.
    """
    order, point = asarray(n).astype(np.float64), asarray(x)
    sign = numpy_names.where(order % 2 == 0, -1.0, 1.0)
    derived = sign * gamma(order + 1) * zeta(order + 1, point)
    return numpy_names.where(order == 0, psi(point), derived)


def multigammaln(a: Any, d: Any) -> Array:
    """The logarithm of the gamma function of dimension `d`.

    Raises
    ------
    ValueError
        If `d` is no positive whole number, or `a` is not above ``(d - 1) / 2`` (which looks at the values).
    """
    array = _floating(a)
    if np.ndim(d) or np.floor(float(d)) != float(d) or float(d) < 1:
        raise ValueError("d should be a positive integer (dimension)")
    d = int(d)
    if bool((array <= 0.5 * (d - 1)).any()):
        raise ValueError(f"condition a > 0.5 * (d-1) not met: a={a}, d={d}")
    total = gammaln(array)
    for k in range(1, d):
        total = total + gammaln(array - k / 2)
    return total + d * (d - 1) * 0.25 * log(pi)


__all__ = ["log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax", "softplus", "zeta"]
