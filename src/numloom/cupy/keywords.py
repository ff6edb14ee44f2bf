"""Functions whose parameters CuPy names or orders in its own way: here they take NumPy's names and CuPy's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numloom
from numloom.cupy.former import fromDlpack

Array = Any
Function = Callable[..., Any]

_BEGIN = {
    "array_str": "arr", "bincount": "x", "concat": "tup", "concatenate": "tup", "cov": "a", "delete": "arr indices",
    "ediff1d": "arr", "extract": "condition a", "flip": "a", "fliplr": "a", "flipud": "a",
    "histogram": "x", "histogram2d": "x y bins range", "histogramdd": "sample bins range", "inner": "a b",
    "intersect1d": "arr1 arr2", "may_share_memory": "a b", "packbits": "a", "reshape": "a newshape", "rot90": "a",
    "shares_memory": "a b", "stack": "tup", "take_along_axis": "a", "union1d": "arr1 arr2", "unpackbits": "a axis",
    "unravel_index": "indices dims", "vdot": "a b", "where": "condition x y",
}  # fmt: skip
"""CuPy's names of the first parameters."""

_THEN = {
    "histogram2d": "weights density", "histogramdd": "weights density", "may_share_memory": "max_work",
    "shares_memory": "max_work", "unpackbits": "bitorder",
}  # fmt: skip
"""What CuPy has after these, where NumPy has another order."""


def taking(function: Function, begin: Sequence[str], then: Sequence[str] = ()) -> Function:
    """A function that takes other names for its first parameters, and others after these by place.

    Examples
    --------
    >>> def power(base, exponent, *, negative=False):
    ...     return -(base**exponent) if negative else base**exponent
    >>> raised = taking(power, ("x",), ("exponent", "negative"))
    >>> raised(x=2, exponent=3), raised(2, 3, True)
    (8, -8)
    """

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        for name in begin[len(args) :]:
            if name not in named:
                break
            args += (named.pop(name),)
        if then and len(args) > len(begin):
            more = args[len(begin) :]
            if len(more) > len(then):
                raise TypeError(f"{function.__name__} takes at most {len(begin) + len(then)} arguments by place")
            args = args[: len(begin)]
            named.update(zip(then, more, strict=False))
        return function(*args, **named)

    called.__signature__ = _signature(function, begin, then)  # type: ignore[attr-defined]
    return called


def _signature(function: Function, begin: Sequence[str], then: Sequence[str]) -> inspect.Signature:
    kind = inspect.Parameter
    given = list(inspect.signature(function).parameters.values())
    found = [one.replace(name=name, kind=kind.POSITIONAL_OR_KEYWORD) for name, one in zip(begin, given, strict=False)]
    rest = {one.name: one for one in given[len(begin) :]}
    found += [rest.pop(name).replace(kind=kind.POSITIONAL_OR_KEYWORD) for name in then]
    last = [one.replace(kind=kind.KEYWORD_ONLY) if then else one for one in rest.values()]
    return inspect.Signature(found + last)


def _position(name: str) -> Function:
    function = getattr(numloom, name)

    @functools.wraps(function)
    def called(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
        if out is not None or dtype is None:
            return function(a, axis, out, keepdims=keepdims)
        return function(a, axis, keepdims=keepdims).astype(dtype)

    called.__signature__ = inspect.signature(called, follow_wrapped=False)  # type: ignore[attr-defined]
    return called


def _quantile(name: str) -> Function:
    function = getattr(numloom, name)

    @functools.wraps(function)
    def called(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, interpolation: str | None = None, **more: Any,
    ) -> Array:  # fmt: skip
        return function(a, q, axis, out, overwrite_input, interpolation or method, keepdims, **more)

    called.__signature__ = inspect.signature(called, follow_wrapped=False)  # type: ignore[attr-defined]
    return called


def corrcoef(
    a: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, *, dtype: Any = None
) -> Array:
    """`numloom.corrcoef`; `bias` and `ddof` do nothing, as in CuPy."""
    return numloom.corrcoef(a, y, rowvar, dtype=dtype)


def from_dlpack(array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """`numloom.from_dlpack`, of a capsule too."""
    if type(array).__name__ == "PyCapsule":
        return numloom.asarray(fromDlpack(array), device=device, copy=copy)
    return numloom.from_dlpack(array, device=device, copy=copy)


def ndim(a: Any) -> int:
    """The number of axes."""
    return int(a.ndim) if hasattr(a, "ndim") else int(np.ndim(a))


FUNCTIONS: dict[str, Function] = {
    **{
        name: taking(getattr(numloom, name), begin.split(), _THEN.get(name, "").split())
        for name, begin in _BEGIN.items()
    },
    **{name: _position(name) for name in ("argmax", "argmin", "nanargmax", "nanargmin")},
    **{name: _quantile(name) for name in ("percentile", "quantile")},
    "corrcoef": corrcoef,
    "from_dlpack": from_dlpack,
}
"""The functions by name."""

__all__ = ["FUNCTIONS", "taking"]
