"""``cupyx``'s functions of arrays and of pinned memory."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any

import numpy as np

from numloom.api.elementwise import UFUNCS, reciprocal, sqrt
from numloom.array.convert import asarray
from numloom.base.integers import as_integers
from numloom.cuda.memory import alloc_pinned_memory

Array = Any
Host = np.ndarray[Any, Any]


def scatter_add(a: Array, slices: Any, value: Any) -> None:
    """Add `value` to the elements `slices` of `a`; equal indices add up, in their order.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom import cupyx
    >>> x = np.zeros(3)
    >>> cupyx.scatter_add(x, np.array([0, 2, 0]), 1.0)
    >>> x
    array([2., 0., 1.])
    """
    UFUNCS["add"].at(a, slices, value)


def scatter_max(a: Array, slices: Any, value: Any) -> None:
    """The greater of elements and values, in place."""
    UFUNCS["maximum"].at(a, slices, value)


def scatter_min(a: Array, slices: Any, value: Any) -> None:
    """The smaller of elements and values, in place."""
    UFUNCS["minimum"].at(a, slices, value)


def rsqrt(x: Any, out: Any = None) -> Array:
    """One by the square root.

    >>> from numloom import cupyx
    >>> cupyx.rsqrt([1.0, 4.0])
    array([1. , 0.5])
    """
    given = asarray(x)
    if given.dtype.kind not in "fc":
        given = given.astype(np.float64)
    return reciprocal(sqrt(given), out=out)


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Host:
    """A NumPy array in pinned memory, from which copies are fastest; without a GPU in ordinary memory.

    >>> from numloom import cupyx
    >>> cupyx.empty_pinned((2, 3), "f4").shape
    (2, 3)
    """
    kind = np.dtype(dtype)
    extents = as_integers(shape)
    order = order or "C"
    memory = alloc_pinned_memory(math.prod(extents) * kind.itemsize)
    return np.ndarray(extents, kind, memory, order=order)  # type: ignore[arg-type]


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Host:
    """A NumPy array of zeros in pinned memory."""
    result = empty_pinned(shape, dtype, order)
    result[...] = 0
    return result


def empty_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Host:
    """A NumPy array in pinned memory, of another array's shape, dtype and order as `numpy.empty_like` has them."""
    if subok:
        raise TypeError("subok=True has no meaning here: pinned memory is an array of NumPy's, no subclass")
    like = np.lib.stride_tricks.as_strided(np.empty(1, a.dtype), a.shape, a.strides)  # Its bytes are never looked at.
    model = np.empty_like(like, dtype, order or "K", False, shape)  # type: ignore[call-overload]
    memory = alloc_pinned_memory(model.nbytes)
    return np.ndarray(model.shape, model.dtype, memory, strides=model.strides)


def zeros_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Host:
    """A NumPy array of zeros in pinned memory, of another array's shape and dtype."""
    result = empty_like_pinned(a, dtype, order, subok, shape)
    result[...] = 0
    return result


_state = {"divide": None, "over": None, "under": None, "invalid": None, "linalg": "raise", "fallback_mode": None}


def geterr() -> dict[str, Any]:
    """What `seterr` set."""
    return dict(_state)


def seterr(**given: Any) -> dict[str, Any]:
    """Taken for CuPy's sake, and kept for `geterr`: `linalg` is always "raise", the others are None.

    Raises
    ------
    NotImplementedError
        For anything else.
    """
    before = geterr()
    for name, value in given.items():
        if name not in _state:
            raise TypeError(f"seterr takes {', '.join(_state)}, not {name}")
        if value is not None and not (name == "linalg" and value == "raise"):
            raise NotImplementedError(
                f"{name}={value!r} is not there: linear algebra raises LinAlgError where there is no answer, and "
                "elementwise work gives inf and nan without a word"
            )
    return before


class errstate:
    """`seterr` for a ``with`` block."""

    def __init__(self, **given: Any) -> None:
        self._given = given

    def __enter__(self) -> None:
        seterr(**self._given)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


__all__ = [
    "empty_like_pinned", "empty_pinned", "errstate", "geterr", "rsqrt", "scatter_add", "scatter_max", "scatter_min",
    "seterr", "zeros_like_pinned", "zeros_pinned",
]  # fmt: skip
