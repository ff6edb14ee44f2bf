"""Compiled functions in pickles: the trees that they were made of, all of them as one, and their arguments."""

from __future__ import annotations

import copyreg
import pickle
import sys
from collections.abc import Callable
from typing import Any

from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.compiled.deferred import Deferred, begin
from numloom.compiled.packing import pack_all, unpack_all
from numloom.compiled.structure import flat, like
from numloom.graph.node import SYMBOL, Node
from numloom.graph.tree import recording

_PACKAGE = __name__.partition(".")[0]


class Part:
    """Stands for a tree in what is pickled."""

    def __init__(self, number: int) -> None:
        self.number = number


def packed(value: Any) -> tuple[Any, ...]:
    """Nested parts among which are trees: with numbers in their places, and the trees."""
    roots: list[Node] = []

    def change(part: Any) -> Any:
        if type(part) is not ndarray or not node_of(part).tree:
            return part
        roots.append(node_of(part))
        return Part(len(roots) - 1)

    return like(value, [change(part) for part in flat(value)]), *pack_all(roots)


def unpacked(value: Any, rows: Any, numbers: list[int]) -> Any:
    """The nested parts again."""
    with recording():
        nodes = unpack_all(rows)
        arrays = [wrap(nodes[number]) for number in numbers]
    for array in arrays:
        array.is_scalar = False
        array.writeable = array.writeable and node_of(array).kind != SYMBOL
    return like(value, [arrays[part.number] if isinstance(part, Part) else part for part in flat(value)])


def twin(value: Any) -> Any:
    """What a pickle of it would give."""
    return pickle.loads(pickle.dumps(value))


def _of_name(module: str, path: str) -> Any:
    """What a module has by a name, or None."""
    home: Any = sys.modules.get(module)
    for part in path.split("."):
        home = getattr(home, part, None)
    return home


def _name_of(value: Any) -> tuple[str, str]:
    return str(getattr(value, "__module__", None) or ""), str(getattr(value, "__qualname__", "<locals>"))


def found_by_name(value: Any) -> bool:
    """Whether a module has this very object by its name, as what a decorator gave."""
    return _of_name(*_name_of(value)) is value


class _Named:
    """Stands for a function of ours which its module has as what calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = _name_of(function)


_SLOTS = tuple([name for name in Deferred.__slots__ if name != "__weakref__"])


def _reduced(value: Deferred) -> tuple[Any, ...]:
    return _restored, tuple([_as_named(getattr(value, name)) for name in _SLOTS])


def _as_named(part: Any) -> Any:
    module, path = _name_of(part)
    inner = module.startswith(_PACKAGE) and callable(part) and not isinstance(part, Deferred)
    return _Named(part) if inner and _of_name(module, path) not in (None, part) else part


def _restored(*state: Any) -> Deferred:
    value = Deferred.__new__(Deferred)
    for name, part in zip(_SLOTS, state, strict=True):
        setattr(value, name, _of_name(*part.name) if isinstance(part, _Named) else part)
    begin(value.number)
    return value


copyreg.pickle(Deferred, _reduced)

__all__ = ["Part", "found_by_name", "packed", "twin", "unpacked"]
