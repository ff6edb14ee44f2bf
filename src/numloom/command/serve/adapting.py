"""Libraries that recognise NumPy's own class and nothing else: they get NumPy's arrays where the program gives ours."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.base import later
from numloom.command.serve.crossing import OURS, Crossing, kinds_of

_ITEMS = ("__getitem__", "__setitem__")
METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "pandas": {
        "pandas:DataFrame": (*_ITEMS, "groupby", "replace", "set_index"),
        "pandas:Series": (*_ITEMS, "groupby", "replace"),
        "pandas:Index": ("__getitem__",),
        "pandas.core.indexing:_LocationIndexer": _ITEMS,
    }
}
"""Methods, by library and class, whose first argument may be an array: a mask, positions, keys."""

FUNCTIONS = frozenset(("cv2",))
"""Modules of compiled functions; one that writes its argument refuses our array, which it gets as a read-only copy."""


class Adaptation:
    """What was changed in libraries, so that it can be undone."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []
        self._met: set[str] = set()

    def meet(self, library: str) -> None:
        """The program has imported a library; what it needs is done once."""
        if library in self._met or not (library in METHODS or library in FUNCTIONS):
            return
        self._met.add(library)
        for path, names in METHODS.get(library, {}).items():
            try:
                kind = later.load("pkgutil").resolve_name(path)
            except (AttributeError, ImportError):
                continue  # another version of the library
            for name in names:
                if hasattr(kind, name):
                    self._replace(kind, name, _method(getattr(kind, name)))
        if library in FUNCTIONS:
            module = importlib.import_module(library)
            for name, function in list(vars(module).items()):
                if isinstance(function, BuiltinFunctionType):
                    self._replace(module, name, _function(function))

    def undo(self) -> None:
        """The libraries are as they were."""
        while self._before:
            owner, name, function = self._before.pop()
            if function is None:
                delattr(owner, name)
            else:
                setattr(owner, name, function)
        self._met.clear()

    def _replace(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        inherited = isinstance(owner, type) and name not in vars(owner)
        self._before.append((owner, name, None if inherited else getattr(owner, name)))
        setattr(owner, name, function)


def give_numpys(kind: Any) -> None:
    """Let a class of the program give NumPy's array for itself: NumPy refuses ours, which its method may give."""
    method = getattr(kind, "__dict__", {}).get("__array__")
    if not isinstance(method, FunctionType):
        return

    @functools.wraps(method)
    def array(self: Any, *args: Any, **options: Any) -> Any:
        found = method(self, *args, **options)
        return np.asarray(found) if type(found) is ndarray else found

    kind.__array__ = array


def _method(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def adapted(self: Any, *args: Any, **options: Any) -> Any:
        if kinds_of((*args[:1], *options.values())) & OURS:
            crossing = Crossing([])
            args, options = (crossing.out(args[0]), *args[1:]) if args else (), crossing.out(options)
        return method(self, *args, **options)

    return adapted


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def adapted(*args: Any, **options: Any) -> Any:
        crossing = Crossing([])
        return function(*crossing.out(args), **crossing.out(options))

    return adapted
