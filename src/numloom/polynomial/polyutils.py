"""What series of every basis share: coefficients on the host, domains and the maps between them.

Coefficients are few, and most of what is done with them depends on their values (leading zeros are
cut, polynomials divided, eigenvalues found). So they are worked on where the host has them, by
NumPy's own functions; points and data are many, and stay on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.joining import stack
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper

Array = Any

_TWIN = np.polynomial.polyutils


MOST_STEPS = 1 << 24
"""Factors of a power, and integrals of one another, at most: they are taken one by one."""


def check_steps(count: Any, what: str) -> None:
    """Refuse more steps than anybody waits for, where NumPy has no end.

    Raises
    ------
    ValueError
        Of more.
    """
    if isinstance(count, (int, float, np.number)) and count > MOST_STEPS:
        raise ValueError(f"{what} is at most {MOST_STEPS:,}, got {count}")


def on_host(value: Any, depth: int = 0) -> Any:
    """An array of ours as NumPy's (lists of arrays item by item), everything else as it is."""
    if type(value) is ndarray:
        return value.get()
    if type(value) not in (list, tuple):
        return value
    depth = deeper(depth)
    return [on_host(item, depth) for item in value]


def as_series(alist: Any, trim: bool = True) -> list[Array]:
    """Several vectors of coefficients with one inexact dtype.

    Parameters
    ----------
    alist : sequence of array_like
        Vectors of coefficients, the lowest degree first.
    trim : bool
        Whether zeros at the end are cut.

    Returns
    -------
    list of ndarray

    Raises
    ------
    ValueError
        If a vector is empty or has more than one dimension, or if there is no common dtype.
    """
    return [asarray(series) for series in _TWIN.as_series(on_host(alist), trim)]


def trimseq(seq: Any) -> Array:
    """A vector without the zeros at its end (a view of an array); one element stays."""
    kept = _TWIN.trimseq(on_host(seq))
    return seq[: len(kept)] if type(seq) is ndarray else asarray(kept)


def trimcoef(c: Any, tol: float = 0) -> Array:
    """Coefficients without the last ones that are at most `tol`.

    Parameters
    ----------
    c : array_like
        Coefficients, the lowest degree first.
    tol : float
        What counts as nothing, in magnitude.

    Returns
    -------
    ndarray
        A single zero if nothing is left.

    Raises
    ------
    ValueError
        If `tol` is negative.
    """
    return asarray(_TWIN.trimcoef(on_host(c), tol))  # type: ignore[arg-type]


def getdomain(x: Any) -> Array:
    """The least interval (of complex values: rectangle, by two corners) that holds all points.

    Parameters
    ----------
    x : array_like
        A vector of points.

    Returns
    -------
    ndarray
        Two values; they are found on the device and not waited for.

    Examples
    --------
    >>> import numloom as np
    >>> np.polynomial.polyutils.getdomain(np.arange(4) ** 2 - 5)
    array([-5.,  4.])
    """
    points = asarray(x)
    if not points.size:
        raise ValueError("Coefficient array is empty")
    if points.ndim > 1:
        raise ValueError("Coefficient array is not 1-d")
    points = points.reshape(-1)
    if points.dtype.kind in "bui":
        points = points.astype(float)
    if points.dtype.kind != "c":
        return stack([points.min(), points.max()])
    # NumPy takes the extremes of the parts.
    low = points.real.min() + 1j * points.imag.min()
    return stack([low, points.real.max() + 1j * points.imag.max()]).astype(points.dtype)


def mapparms(old: Any, new: Any) -> tuple[Any, Any]:
    """Offset and scale of the linear map of one domain to another.

    Parameters
    ----------
    old, new : array_like
        Two values each.

    Returns
    -------
    offset, scale : scalar
        So that ``offset + scale * old`` is `new`.

    Examples
    --------
    >>> offset, scale = mapparms([-1, 1], [0, 10])
    >>> float(offset), float(scale)
    (5.0, 5.0)
    """
    return _TWIN.mapparms(on_host(old), on_host(new))  # type: ignore[no-any-return, arg-type]


def points_of(x: Any) -> Any:
    """What a function is evaluated at: arrays and what becomes one; numbers and series stay what they are."""
    if isinstance(x, (list, tuple, np.ndarray)) or (hasattr(x, "__dlpack__") and type(x) is not ndarray):
        return asarray(x)
    return x


def mapdomain(x: Any, old: Any, new: Any) -> Any:
    """Points moved by the linear map of one domain to another.

    Parameters
    ----------
    x : array_like
        Points.
    old, new : array_like
        Two values each.

    Returns
    -------
    ndarray
        Recorded; it fuses with what is done with the points.
    """
    offset, scale = mapparms(old, new)
    return offset + scale * points_of(x)


def format_float(x: Any, parens: bool = False) -> str:
    """A coefficient as text, by NumPy's print options."""
    value: Any = x
    if type(x) is ndarray:
        value = x.get()[()]
    return _TWIN.format_float(value, parens)


__all__ = ["as_series", "check_steps", "format_float", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq"]
