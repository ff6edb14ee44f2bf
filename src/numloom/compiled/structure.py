"""Nested tuples, lists and dicts of arrays, as functions take and give them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from numloom.base.nesting import deeper


def flat(value: Any, depth: int = 0) -> list[Any]:
    """What is in nested tuples, lists and dicts, in turn; of None nothing."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        depth = deeper(depth)
        return [one for part in value for one in flat(part, depth)]
    if isinstance(value, dict):
        depth = deeper(depth)
        return [one for part in value.values() for one in flat(part, depth)]
    return [value]


def like(value: Any, leaves: Iterable[Any]) -> Any:
    """The same nested form with other leaves, taken in turn."""
    return _like(value, iter(leaves))


def _like(value: Any, leaves: Iterator[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        parts = [_like(part, leaves) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: _like(part, leaves) for name, part in value.items()}
    return next(leaves)


def signature(value: Any, depth: int = 0) -> Any:
    """What makes two nested forms the same, as something to compare; leaves count not."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        depth = deeper(depth)
        return type(value), tuple([signature(part, depth) for part in value])
    if isinstance(value, dict):
        depth = deeper(depth)
        return dict, tuple([(name, signature(part, depth)) for name, part in value.items()])
    return ...


def paths(name: str, value: Any, depth: int = 0) -> list[str]:
    """What the leaves of a nested form are called, in turn, as Python names: of ``d["a"][0]`` it is ``d_a_0``."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        depth = deeper(depth)
        return [one for place, part in enumerate(value) for one in paths(f"{name}_{place}", part, depth)]
    if isinstance(value, dict):
        depth = deeper(depth)
        return [one for key, part in value.items() for one in paths(f"{name}_{key}", part, depth)]
    return [re.sub(r"\W", "_", name)]


def parameters(function: Callable[..., Any], count: int) -> list[str]:
    """The names of a function's first parameters; where it does not tell them, numbers.

    Of ``*rest`` the parts are ``rest_0`` and so on.
    """
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        given = []
    names = [one.name for one in given if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)][:count]
    rest = next((one.name for one in given if one.kind is one.VAR_POSITIONAL), "argument")
    first = len(names) if rest == "argument" else 0
    return [*names, *(f"{rest}_{first + place}" for place in range(count - len(names)))]


def arguments(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
    """What the leaves of a call's arguments are called, in turn; all names differ."""
    tops = [*zip(parameters(function, len(args)), args, strict=True), *named.items()]
    found: list[str] = []
    taken: set[str] = set()
    for name in (one for top, value in tops for one in paths(top, value)):
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found


__all__ = ["arguments", "flat", "like", "parameters", "paths", "signature"]
