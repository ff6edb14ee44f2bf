"""Nested tuples, lists and dicts of arrays, as functions take and give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def flat(value: Any) -> list[Any]:
    """What is in nested tuples, lists and dicts, in turn; of None nothing."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in flat(part)]
    if isinstance(value, dict):
        return [one for part in value.values() for one in flat(part)]
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


def signature(value: Any) -> Any:
    """What makes two nested forms the same, as something to compare; leaves count not."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(signature, value))
    if isinstance(value, dict):
        return dict, tuple([(name, signature(part)) for name, part in value.items()])
    return ...


__all__ = ["flat", "like", "signature"]
