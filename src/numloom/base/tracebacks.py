"""Public functions and methods: the door through which a program comes in (see ``_tracebacks.pyx``).

Errors of theirs stand at the user's line; where the core is not compiled, all frames are shown. Calls with an
expression whose extents are not known are noted instead of made (`wait_for`), and what is no array but answers calls
itself is asked (`answer_for`).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from types import FunctionType, MethodType
from typing import Any

from numloom.base.config import config

try:
    from numloom.base._tracebacks import (
        Public,
        answer_for,
        functions,
        note_call,
        set_folders,
        show_all,
        wait_for,
        waits,
    )
except ImportError:
    Public = None
    _waiting: list[Any] = []
    _answering: list[Any] = []

    def wait_for(kind: type, function: Callable[..., Any]) -> None:
        """Say of what class expressions are whose extents are not known, and what notes a call that is given one."""
        _waiting[:] = kind, function

    def note_call(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Note a call that waits."""
        return _waiting[1](function, args, options)

    def answer_for(kind: type, function: Callable[..., Any]) -> None:
        """Say what class answers calls with one of its objects among the arguments, and by what function."""
        _answering[:] = kind, function

    def _holds(value: Any, kind: type, depth: int) -> bool:
        """Whether this is of a kind, or something within it, if that is not deep."""
        if isinstance(value, kind):
            return True
        if depth and isinstance(value, (tuple, list, dict, slice)):
            if isinstance(value, slice):
                value = value.start, value.stop, value.step
            parts = value.values() if isinstance(value, dict) else value
            return any([_holds(part, kind, depth - 1) for part in parts])
        return False

    def waits(value: Any) -> bool:
        """Whether the extents of this are not known, or of something within it, if that is not deep."""
        return bool(_waiting) and _holds(value, _waiting[0], 12)

    def _is_operator(name: str) -> bool:
        """Whether this is what a compiled class does itself, which is no door: what it calls for rarer operands is."""
        special = name.rpartition(".")[2]
        inside = special.startswith("__") and special not in ("__call__", "__init__")
        return inside or name == "ElementwiseCall.__call__"

    def _door(function: Any) -> Any:
        """A function that notes calls with what waits, and lets those answer who do so."""

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if waits(args) or waits(options):
                return note_call(function, args, options)
            if _answering and (_holds(args, _answering[0], 4) or _holds(options, _answering[0], 4)):
                return _answering[1](function, args, options)
            return function(*args, **options)

        call.is_door = True  # type: ignore[attr-defined]
        return call


def to_write(value: Any) -> Any:
    """What is written to an array in place, which is known."""
    if waits(value):
        raise TypeError(f"{value!r} cannot be written in place: write x = x @ y, or nl.compile a Python function")
    return value


DIRECT = frozenset(
    ("all", "any", "argmax", "argmin", "dot", "max", "mean", "min", "prod", "std", "sum", "var", "where")
)
"""Functions that do nothing but call the compiled core: a `Public` would add a tenth to their time. They stay as they
are, and are the one frame that is shown. What they call for rarer arguments is a door of its own."""

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


def public(function: Any) -> Any:
    """The function or bound method as users call it; what is no function of Python's stays what it is."""
    if type(function) is MethodType:
        return MethodType(public(function.__func__), function.__self__)
    if type(function) is not FunctionType or function.__qualname__ in DIRECT or not _is_ours(function):
        return function
    if Public is None:
        return function if hasattr(function, "is_door") or _is_operator(function.__qualname__) else _door(function)
    known = functions.get(function)
    if known is None:
        known = Public(function)
        vars(known).update(vars(function))
        vars(known).update({name: getattr(function, name) for name in _COPIED})
        known.__wrapped__ = function
    return known


def at_once(quick: Any) -> Callable[[Any], Any]:
    """Have a public function ask a compiled one first, which takes the same arguments and gives None for the rest."""

    def mark(function: Any) -> Any:
        function.at_once = quick
        return function

    return mark


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

__all__ = ["answer_for", "note_call", "public", "publish", "to_write", "wait_for", "waits"]
