"""PyData's sparse: our dense arrays are dense operands there, as NumPy's are, which it asks for by their type."""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import Any

from numloom.array.ndarray import ndarray
from numloom.interop.pandas import change, family, plain, taking_ours
from numloom.interop.scipy_sparse import replace


def register() -> None:
    """Let its functions, constructors, subscripts and NumPy's functions of its arrays take ours."""
    theirs: Any = sys.modules["sparse"]
    for function in [each for each in vars(theirs).values() if isinstance(each, FunctionType)]:
        replace("sparse", function, taking_ours(function))
    for kind in family(theirs.SparseArray):
        change(kind, "__array_ufunc__", "__getitem__", "__init__", "__setitem__")
        if "__array_function__" in vars(kind):
            kind.__array_function__ = _with_ours(kind.__array_function__)  # type: ignore[attr-defined]


def _with_ours(array_function: Any) -> Any:
    @functools.wraps(array_function)
    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        others = tuple(each for each in types if each is not ndarray)
        options = {name: plain(value) for name, value in kwargs.items()}
        return array_function(self, func, others, tuple(map(plain, args)), options)

    return __array_function__


__all__ = ["register"]
