"""What functions of users' read from outside: by names of their module, of the functions around, and as defaults."""

from __future__ import annotations

import copy
import dis
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

_LIBRARIES = (__name__.partition(".")[0], "numpy")


def read_by(function: FunctionType) -> Iterator[Any]:
    """What a function reads, and what functions of users' read that are among that."""
    known = {function}
    waiting = [function]
    while waiting:
        for value in _own_reads(waiting.pop()):
            yield value
            if type(value) is FunctionType and value not in known:
                known.add(value)
                waiting.append(value)


def _own_reads(function: FunctionType) -> list[Any]:
    if _is_ours(function):  # What a decorator gave.
        return [value for value in _cells_of(function) if type(value) is FunctionType]
    return [*_globals_of(function).values(), *_cells_of(function), *_defaults_of(function)]


def _is_ours(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).partition(".")[0] in _LIBRARIES


def _globals_of(function: FunctionType) -> dict[str, Any]:
    """What it reads by names of its module, if that is a user's."""
    scope = function.__globals__
    if _is_ours(function):
        return {}
    return {name: scope[name] for name in _global_names(function.__code__) if name in scope}


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> frozenset[str]:
    """Names of its module that code reads, also in functions that it makes."""
    inner = [_global_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    instructions = dis.get_instructions(code)
    own = frozenset([one.argval for one in instructions if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")])
    return own.union(*inner)


def _cells_of(function: FunctionType) -> list[Any]:
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # Nothing is in it yet.
            found.append(cell.cell_contents)
    return found


def _defaults_of(function: FunctionType) -> list[Any]:
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _is_fixed(value: Any) -> bool:
    """Whether a name of this is not given to something else: a module, a class, something that is called."""
    return isinstance(value, (ModuleType, type)) or (callable(value) and type(value) is not FunctionType)


def as_now(function: Any, kept: Callable[[Any], Any], known: dict[int, Any] | None = None) -> Any:
    """A function that reads what this one would read now, whatever its names stand for later.

    One that reads modules, classes and functions alone stays itself. `kept` gives values as they are now.
    """
    if type(function) is not FunctionType:  # A gradient of a function, or a compiled one.
        inner = getattr(function, "__wrapped__", None)
        if type(inner) is not FunctionType or getattr(function, "function", None) is not inner:
            return function
        now_inner = as_now(inner, kept, known)
        found = copy.copy(function) if now_inner is not inner else function
        if found is not function:
            found.function = found.__wrapped__ = now_inner
        return found
    known = {} if known is None else known
    if id(function) in known:
        return known[id(function)]
    if all([_is_fixed(value) for value in read_by(function) if type(value) is not FunctionType]):
        return function

    def now(value: Any) -> Any:
        return as_now(value, kept, known) if callable(value) else kept(value)

    scope = {name: function.__globals__.get(name) for name in ("__builtins__", "__name__")}
    if not _globals_of(function):
        scope = function.__globals__
    cells = tuple([CellType() for _ in function.__closure__ or ()])
    found = FunctionType(function.__code__, scope, function.__name__, None, cells)
    known[id(function)] = found
    found.__qualname__, found.__module__ = function.__qualname__, function.__module__
    found.__dict__.update(function.__dict__)
    if function.__defaults__:
        found.__defaults__ = tuple(map(now, function.__defaults__))
    if function.__kwdefaults__:
        found.__kwdefaults__ = {name: now(value) for name, value in function.__kwdefaults__.items()}
    for name, value in _globals_of(function).items():
        scope[name] = now(value)
    for cell, own in zip(cells, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            cell.cell_contents = now(own.cell_contents)
    return found


__all__ = ["as_now", "read_by"]
