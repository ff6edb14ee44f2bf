"""Modules that are imported when something of them is asked for, so that programs that need none start sooner."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from numloom.base.forking import importing

_afterwards: list[Callable[[], None]] = []


def load(name: str) -> ModuleType:
    """The module of this name, imported at the first call.

    Examples
    --------
    >>> load("math").sqrt(9.0)
    3.0
    """
    found = sys.modules.get(name)
    if found is None or getattr(found.__spec__, "_initializing", False):
        with importing:
            try:
                found = importlib.import_module(name)
            except ImportError as error:
                if not any([is_short_of_memory(str(cause)) for cause in _causes(error)]):
                    raise
                raise MemoryError(f"there is no memory to load {name}: {error}") from error
        prepare()
    return found


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came of: packages say of themselves that they are broken."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_short_of_memory(said: str) -> bool:
    """Whether the system's loader said of a library that there is no memory for it.

    Examples
    --------
    >>> is_short_of_memory("libm.so: failed to map segment from shared object")
    True
    >>> is_short_of_memory("libm.so: failed to map segment from shared object: Operation not permitted")
    False
    """
    return ("failed to map segment" in said and "not permitted" not in said) or "annot allocate memory" in said


class Later:
    """A module that is imported when something of it is asked for; stands in the place of an ``import`` statement.

    Parameters
    ----------
    name : str
        The module's name.

    Examples
    --------
    >>> math = Later("math")
    >>> math.sqrt(9.0)
    3.0
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(load(self._name), name)


def prepare() -> None:
    """Do what is done after each import by `load`: for modules that may be imported by others, too."""
    for act in _afterwards:
        act()


def afterwards(function: Callable[[], None]) -> None:
    """Call this after each import by `load`: for what is done to all modules that are there."""
    _afterwards.append(function)


__all__ = ["Later", "afterwards", "is_short_of_memory", "load", "prepare"]
