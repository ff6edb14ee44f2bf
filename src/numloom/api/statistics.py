"""Covariances and correlations of variables, convolutions of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.calling import Replayed, recalled, replayed
from numloom.api.joining import concatenate
from numloom.api.products import matmul
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import DTYPES, F64, KINDS, code_of
from numloom.base.errors import casting_error
from numloom.base.given import as_name
from numloom.engine.routines import call
from numloom.graph import build
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]


# ---------------------------------------------------------------- covariance


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Array:
    """The covariance matrix of variables.

    Parameters
    ----------
    m : array_like
        Observations: a row for each variable.
    y : array_like, optional
        More variables of the same form.
    rowvar : bool
        Whether variables are rows and not columns.
    bias : bool
        Whether sums are divided by the number of observations, not by one less.
    ddof : int, optional
        What is taken from the number of observations instead.
    fweights, aweights : array_like, optional
        How often each observation counts; how much it weighs.
    dtype : dtype, optional
        dtype of the result; at least float64 by default.

    Returns
    -------
    ndarray
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if type(m) is ndarray and y is None and fweights is None and aweights is None:
        ddof, code = None if ddof is None else int(ddof), None if dtype is None else code_of(dtype)
        return recalled(_COV, (bool(rowvar), _is_biased(bias), ddof, code), (m,))
    return _cov(m, y, rowvar, bias, ddof, fweights, aweights, dtype)


def _is_biased(bias: Any) -> bool:
    """Whether sums are divided by the count itself: NumPy compares with 0, which None and () are not."""
    return bool(bias != 0)


def _cov(m: Any, y: Any, rowvar: bool, bias: bool, ddof: int | None, fweights: Any, aweights: Any, dtype: Any) -> Array:
    """`cov`, its arguments as they are checked."""
    x = asarray(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    other = None if y is None else asarray(y)
    if other is not None and other.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x.dtype, np.float64, *(() if other is None else (other.dtype,)))
    x = _variables(x, rowvar or x.ndim == 1, dtype)
    if not x.shape[0]:
        return wrap(build.full(0.0, F64, (0, 0)))
    if other is not None:
        single = other.ndim < 2 or other.shape[0] == 1  # As NumPy, which takes one row of `y` for a variable.
        x = concatenate((x, _variables(other, rowvar or single, dtype)), 0)
    if KINDS[code_of(dtype)] in "biu":
        raise casting_error("subtract", "same_kind", F64, code_of(dtype))  # The means that are taken away.
    ddof = (0 if _is_biased(bias) else 1) if ddof is None else ddof
    weights = _weights(fweights, aweights, x.shape[1])
    if weights is None:
        average = x.mean(1)
        factor: Any = x.shape[1] - ddof
    else:
        total = weights.sum()
        average = (x * weights).sum(1) / total
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * (weights * asarray(aweights)).sum() / total
    if not isinstance(factor, ndarray):
        factor = float(max(factor, 0))
    x = x - average[:, None]
    turned = (x if weights is None else x * weights).T
    result = matmul(x, turned.conj() if x.dtype.kind == "c" else turned)
    return (result * (1 / factor) if not isinstance(factor, ndarray) and factor else result / factor).squeeze()


def _cov_of_one(given: tuple[bool, bool, int | None, int | None], m: Array) -> Array:
    rowvar, bias, ddof, code = given
    return _cov(m, None, rowvar, bias, ddof, None, None, None if code is None else DTYPES[code])


_COV = Replayed(_cov_of_one)


def _variables(x: Array, rowvar: bool, dtype: Any) -> Array:
    x = x.reshape((1, -1)) if x.ndim < 2 else x
    return (x if rowvar else x.T).astype(dtype)


def _weights(fweights: Any, aweights: Any, count: int) -> Array | None:
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        array = asarray(given)
        if name == "fweights" and array.dtype.kind not in "biu" and not bool((array == array.round()).all()):
            raise TypeError("fweights must be integer")
        if array.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if array.shape != (count,):
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((array < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        weights = array if weights is None else weights * array
    return weights


@replayed
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Array:
    """Correlation coefficients of variables: their covariances by the product of their deviations.

    Parameters
    ----------
    x, y, rowvar, dtype
        As of `cov`.

    Returns
    -------
    ndarray
        A matrix with ones on the diagonal.
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = wrap(build.unary(ELEMENTWISE["sqrt"], node_of(c.diagonal().real)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        c.real, c.imag = c.real.clip(-1, 1), c.imag.clip(-1, 1)
        return c
    return c.clip(-1, 1)


# ---------------------------------------------------------------- signals


@replayed
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The discrete convolution of two vectors.

    Parameters
    ----------
    a, v : array_like
        The vectors.
    mode : {"full", "same", "valid"}
        All places where they overlap, as many as the longer one has, or those where they overlap completely.

    Returns
    -------
    ndarray
    """
    x, y = _vectors(a), _vectors(v)
    if not x.size:
        raise ValueError("a cannot be empty")
    if not y.size:
        raise ValueError("v cannot be empty")
    if y.size > x.size:
        x, y = y, x
    turned = y[::-1]
    return _correlated(x, turned.conj() if y.dtype.kind == "c" else turned, mode)


@replayed
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The cross-correlation of two vectors: sums of products at each shift, `v` conjugated.

    Parameters
    ----------
    a, v : array_like
        The vectors.
    mode : {"valid", "same", "full"}
        As of `convolve`.

    Returns
    -------
    ndarray
    """
    x, y = asarray(a), asarray(v)
    for each in (x, y):
        if each.ndim != 1:
            raise ValueError(f"object {'too deep' if each.ndim else 'of too small depth'} for desired array")
    if not x.size:
        raise ValueError("first array argument cannot be empty")
    if not y.size:
        raise ValueError("second array argument cannot be empty")
    if y.size > x.size:
        result = _correlated(y, x, mode)[::-1]
        return (result.conj() if result.dtype.kind == "c" else result).copy()
    return _correlated(x, y, mode)


def _vectors(a: Any) -> Array:
    array = asarray(a)
    array = array.reshape(1) if not array.ndim else array
    if array.ndim > 1:
        raise ValueError("object too deep for desired array")
    return array


_MODES = {0: "valid", 1: "same", 2: "full"}
"""NumPy's old numbers of the modes."""


def _correlated(x: Array, y: Array, mode: Any) -> Array:
    mode = as_name(_MODES.get(mode, mode) if type(mode) is int else mode, "mode")
    modes = {"full": x.size + y.size - 1, "same": x.size, "valid": x.size - y.size + 1}
    if mode not in modes:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    code = code_of(np.result_type(x.dtype, y.dtype))
    nodes = build.cast(node_of(x), code), build.cast(node_of(y), code)
    return wrap(call("correlate", *nodes, code=code, shape=(modes[mode],), mode=mode))


__all__ = [
    "convolve",
    "corrcoef",
    "correlate",
    "cov",
]
