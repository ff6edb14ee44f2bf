"""CuPy's own functions: what NumPy has not, and what takes more keywords here."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numloom.api import creation
from numloom.array import convert
from numloom.array.ndarray import ndarray
from numloom.command.info import info
from numloom.device import registry

Array = Any
_PACKAGE = __name__.rpartition(".")[0]
_SPARSE = f"{_PACKAGE.rpartition('.')[0]}.sparse."


def array(
    obj: Any, dtype: Any = None, copy: bool | None = True, order: str | None = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> Array:  # fmt: skip
    """`numloom.array`; the copy is done on return whatever `blocking` says."""
    return creation.array(obj, dtype, copy=copy, order=order, ndmin=ndmin)


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, blocking: bool = False
) -> Array:
    """`numloom.asarray`; the copy is done on return whatever `blocking` says."""
    return convert.asarray(a, dtype, order, copy=copy)


def asanyarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, blocking: bool = False
) -> Array:
    """`numloom.asarray`; there are no subclasses."""
    return convert.asarray(a, dtype, order, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    """`numloom.ascontiguousarray`."""
    return creation.ascontiguousarray(a, dtype)


def asnumpy(
    a: Any, stream: Any = None, order: str | None = "C", out: Any = None, *, blocking: bool = True
) -> np.ndarray[Any, Any]:
    """The values as a NumPy array, in C order unless another is asked for."""
    return convert.asnumpy(a, stream, order or "K", out)


def get_array_module(*args: Any) -> Any:
    """The module for these arguments: this one if any of them is an array of ours, else NumPy.

    Examples
    --------
    >>> import numpy
    >>> import numloom.cupy as cp
    >>> cp.get_array_module(cp.arange(3)) is cp, cp.get_array_module(numpy.arange(3)) is numpy
    (True, True)
    """
    return sys.modules[_PACKAGE] if any(map(_ours, args)) else np


def _ours(arg: Any) -> bool:
    """Whether it is an array of ours, or a sparse one."""
    return type(arg) is ndarray or type(arg).__module__.startswith(_SPARSE)


_memories: list[Any] = []


def memoize(for_each_device: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that keeps results by arguments, which are hashable; for each device if wanted.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> @cp.memoize()
    ... def double(n):
    ...     print("computed")
    ...     return 2 * n
    >>> double(3) + double(3)
    computed
    12
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        kept: dict[Any, Any] = {}
        _memories.append(kept)

        @functools.wraps(function)
        def remembered(*args: Any, **named: Any) -> Any:
            key = (registry.current() if for_each_device else None, args, tuple(sorted(named.items())))
            if key not in kept:
                kept[key] = function(*args, **named)
            return kept[key]

        return remembered

    return decorate


def clear_memo() -> None:
    """Forget what `memoize` keeps."""
    for kept in _memories:
        kept.clear()


def who(vardict: Mapping[str, Any] | None = None) -> None:
    """Print the arrays of a dictionary with their sizes; by default the global ones of the module that asks.

    Parameters
    ----------
    vardict : dict, optional
        Arrays by name; what is no array of ours is left out.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> x = cp.ones((2, 3))
    >>> cp.who({"x": x, "y": x[0]})  # doctest: +NORMALIZE_WHITESPACE
    Name  Shape  Bytes  Type
    ==============================
    <BLANKLINE>
    x     2 x 3  48     float64
    y     3      24     float64
    <BLANKLINE>
    Upper bound on total bytes  =       48
    """
    given = sys._getframe(1).f_globals if vardict is None else vardict
    arrays = {name: value for name, value in given.items() if type(value) is ndarray}
    rows = [(name, " x ".join(map(str, x.shape)), str(x.nbytes), x.dtype.name) for name, x in arrays.items()]
    if rows:
        head = "Name", "Shape", "Bytes", "Type"
        widths = [max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)]
        print(_row(head, widths), "=" * sum(widths), "", *(_row(row, widths) for row in rows), sep="\n")
    # A view has no memory of its own.
    whole = {id(x if x.base is None else x.base): x if x.base is None else x.base for x in arrays.values()}
    print(f"\nUpper bound on total bytes  =       {sum(x.nbytes for x in whole.values())}")


def _row(fields: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(field.ljust(width) for field, width in zip(fields, widths, strict=True)).rstrip()


def show_config(*, _full: bool = False) -> None:
    """Print devices, libraries and compilers (``python -m numloom info``)."""
    info()


__all__ = [
    "array", "asanyarray", "asarray", "ascontiguousarray", "asnumpy", "clear_memo", "get_array_module", "memoize",
    "show_config", "who",
]  # fmt: skip
