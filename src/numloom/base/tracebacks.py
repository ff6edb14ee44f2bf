"""Public functions and methods whose errors stand at the user's line (see ``_tracebacks.pyx``).

Where the core is not compiled, all frames are shown.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType
from typing import Any

from numloom.base.config import config

try:
    from numloom.base._tracebacks import Public, functions, set_folders, show_all
except ImportError:
    Public = None

DIRECT = frozenset(
    ("all", "any", "argmax", "argmin", "dot", "max", "mean", "min", "prod", "std", "sum", "var", "where")
)
"""Functions that do nothing but call the compiled core: a `Public` would add a tenth to their time. They stay as they
are, and are the one frame that is shown."""

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def public(function: Any) -> Any:
    """The function or bound method as users call it; what is no function of Python's stays what it is."""
    if type(function) is MethodType:
        return MethodType(public(function.__func__), function.__self__)
    if Public is None or type(function) is not FunctionType or function.__qualname__ in DIRECT:
        return function
    if not _is_ours(function):
        return function
    known = functions.get(function)
    if known is None:
        known = Public(function)
        vars(known).update(vars(function))
        vars(known).update({name: getattr(function, name) for name in _COPIED})
        known.__wrapped__ = function
    return known


def publish(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Make functions of a namespace public, and the methods of classes that are ours."""
    for name in names:
        thing = namespace[name]
        if not isinstance(thing, type):
            namespace[name] = public(thing)
        elif not issubclass(thing, BaseException):
            for kind in thing.__mro__:
                if _is_ours(kind):
                    _publish_methods(kind)


def _publish_methods(kind: type) -> None:
    for name, member in list(vars(kind).items()):
        if (found := public(member)) is not member:
            setattr(kind, name, found)


def _is_ours(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] == "numloom"


def _folders() -> Iterator[str]:
    """Where our code lies, and that of libraries that we call (of which none is imported for it)."""
    for package in ("numloom", "numpy", "scipy"):
        found = importlib.util.find_spec(package)
        for folder in (found and found.submodule_search_locations) or ():
            yield os.path.abspath(folder) + os.sep


if Public is not None:
    set_folders(tuple(_folders()))
    config.listen("full_tracebacks", show_all)
    show_all(config.full_tracebacks)

__all__ = ["public", "publish"]
