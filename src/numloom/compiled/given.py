"""What `givens` of a function say of symbols with unknown extents: these get the shape of what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.wording import counted
from numloom.compiled.deferred import Deferred, parts_of, resolved

Array = Any


def is_open(old: Any) -> bool:
    """Whether what is replaced is a symbol with unknown extents."""
    return isinstance(old, Deferred) and old.call is None


def _symbols_of(value: Any) -> set[int]:
    """Symbols with unknown extents that an expression reads, by their identities."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = parts_of([value])
    while stack:
        part = stack.pop()
        if id(part) not in seen:
            seen.add(id(part))
            if part.call is None:
                found.add(id(part))
            stack += parts_of([part.args, part.options])
    return found


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
            values[id(old)] = _fitting(old, resolved(new, values))
        waiting = [(old, new) for old, new in waiting if id(old) not in values]
    return values


def _fitting(old: Deferred, new: Any) -> Array:
    """What stands for a symbol, of its dtype and of the extents of it that are known."""
    array = new if type(new) is ndarray else asarray(new, old.dtype)
    if array.dtype != old.dtype:
        raise TypeError(
            f"what stands for {old.name} must have dtype {old.dtype.name}, not {array.dtype.name}: convert it by astype"
        )
    if array.ndim != old.ndim:
        wanted = counted(old.ndim, "axis").replace("axiss", "axes")
        raise ValueError(f"what stands for {old.name} must have {wanted}, not {array.ndim}")
    for axis, (extent, asked) in enumerate(zip(array.shape, old.shape, strict=True)):
        if asked is not None and extent != asked:
            raise ValueError(f"what stands for {old.name} must have extent {asked} along axis {axis}, not {extent}")
    return array


__all__ = ["is_open", "opened"]
