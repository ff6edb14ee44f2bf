"""What `givens` of a function say of symbols with unknown extents: these get the shape of what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.wording import counted
from numloom.compiled.deferred import Deferred, noted, parts_of, resolved, symbols_of

Array = Any


def is_open(old: Any) -> bool:
    """Whether what is replaced is a symbol with unknown extents.

    Raises
    ------
    TypeError
        If it is an expression of such symbols.
    """
    if isinstance(old, Deferred) and old.call is not None:
        raise TypeError(
            f"of what has unknown extents symbols are replaced, and {old!r} is none: write the expression with another "
            "symbol in that place, or give the symbols their extents"
        )
    return isinstance(old, Deferred)


def _symbols_of(value: Any) -> set[int]:
    """Symbols with unknown extents that an expression reads, by their identities."""
    return {id(one) for part in parts_of(value) for one in symbols_of(part)}


def opened(givens: Sequence[tuple[Any, Any]], known: dict[int, Array]) -> dict[int, Array]:
    """Arrays for the symbols with unknown extents that `givens` replace, beside those that are known.

    Raises
    ------
    ValueError
        If they depend on each other in a circle, or one has not the axes and extents of what stands for it.
    TypeError
        If one has not its dtype.
    """
    values = dict(known)
    waiting = [(old, new) for old, new in givens if is_open(old)]
    while waiting:
        olds = {id(old) for old, _ in waiting}
        ready = [(old, new) for old, new in waiting if not _symbols_of(new) & olds]
        if not ready:
            raise ValueError(f"givens are circular: {', '.join(sorted({old.name for old, _ in waiting}))}")
        for old, new in ready:
            values[id(old)] = fitted(old, resolved(new, values))
        waiting = [(old, new) for old, new in waiting if id(old) not in values]
    return values


def fitting(name: str, extents: tuple[int | None, ...], dtype: np.dtype[Any], new: Any) -> Array:
    """What stands for a symbol with unknown extents, of its dtype and of those extents that are known.

    Raises
    ------
    ValueError, TypeError
        If it has others.
    """
    array = new if type(new) is ndarray else asarray(new, dtype)
    if array.dtype != dtype:
        raise TypeError(
            f"what stands for {name} must have dtype {dtype.name}, not {array.dtype.name}: convert it by astype"
        )
    if array.ndim != len(extents):
        wanted = counted(len(extents), "axis").replace("axiss", "axes")
        raise ValueError(f"what stands for {name} must have {wanted}, not {array.ndim}")
    for axis, (extent, asked) in enumerate(zip(array.shape, extents, strict=True)):
        if asked is not None and extent != asked:
            raise ValueError(f"what stands for {name} must have extent {asked} along axis {axis}, not {extent}")
    return array


def fitted(old: Any, new: Any) -> Any:
    """The same for a symbol, now or, of an expression, when its extents are known."""
    if not is_open(old):
        raise TypeError(f"in an expression of symbols with unknown extents these are replaced, and {old!r} is none")
    form = old.name, old.extents, old.dtype
    return noted(fitting, *form, new) if parts_of(new) else fitting(*form, new)


__all__ = ["fitted", "is_open", "opened"]
