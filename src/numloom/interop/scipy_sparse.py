"""SciPy's sparse arrays: what their modules ask of foreign operands, answered for our dense and sparse arrays.

Our dense arrays are dense operands, as NumPy's are. Our sparse ones are taken where SciPy takes those of other
libraries (by `to_scipy_sparse`), and by its constructors.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper


def isdense(x: Any) -> bool:
    """Whether this is a dense array: NumPy's or ours."""
    return type(x) is ndarray or isinstance(x, np.ndarray)


def is_ours(x: Any) -> bool:
    """Whether this is a sparse array of ours."""
    return hasattr(x, "_sparse_parts")


def replace(package: str, old: Any, new: Any) -> None:
    """Put one function for another in all modules of a package that are imported: they take it by name."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            for key in [key for key, value in list(vars(module).items()) if value is old]:
                setattr(module, key, new)


def taking_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that is given its own matrices for ours, over the same memory where the host sees it."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return function(*map(_theirs, args), **{key: _theirs(x) for key, x in options.items()})

    return call


def _theirs(x: Any, depth: int = 0) -> Any:
    """SciPy's matrix for one of ours, in lists and tuples too."""
    if is_ours(x):
        return x.to_scipy_sparse()
    if hasattr(type(x), "_for_scipy"):  # a linear operator
        return x._for_scipy()
    if type(x) not in (list, tuple):
        return x
    depth = deeper(depth)
    return type(x)([_theirs(each, depth) for each in x])


def register() -> None:
    """Give SciPy's sparse modules our answers to what is dense, and what of another library is sparse."""
    shared: Any = sys.modules["scipy.sparse._sputils"]
    convert = getattr(shared, "convert_pydata_sparse_to_scipy", None)
    if convert is not None:  # newer than SciPy 1.12

        @functools.wraps(convert)
        def converted(arg: Any, target_format: Any = None, *args: Any, **options: Any) -> Any:
            if not is_ours(arg):
                return convert(arg, target_format, *args, **options)
            made = arg.to_scipy_sparse()
            if target_format is None and made.format not in ("csc", "csr"):
                target_format = "csc"
            return made.asformat(target_format)

        replace("scipy.sparse", convert, converted)
    replace("scipy.sparse", shared.isdense, isdense)


__all__ = ["is_ours", "isdense", "register", "replace", "taking_ours"]
