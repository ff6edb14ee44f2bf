"""Calls every function of a module with lists that have no end: ``python nested_calls.py KIND``.

Prints a line before each call, so that the last one names the call that ended the process, and one for what it raised.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import pkgutil
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import numloom

DEEP = 100_000
"""Levels of what is nested deeper than any stack bears."""
MOST_PLACES = 4
"""Parameters of a function that are tried by their place; others are tried by name."""
LEFT_OUT = {"SeedSequence", "exit", "info", "input", "show_config", "show_runtime", "test"}
"""What asks for something else than numbers, and NumPy's own class, which such a list ends."""
OPERATORS = {name for name in vars(operator) if name.startswith("__")} | {
    "__array__",
    "__array_function__",
    "__setitem__",
}
OPERATORS |= {f"__r{name[2:]}" for name in OPERATORS} - {"__repr__"}
"""Operators of arrays that take another operand."""


class Itself:
    """An object that stands for itself, in every way that an array may be asked for."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            return self
        raise IndexError

    def __numloom_array__(self) -> Any:
        return self


def in_itself() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


def in_turns() -> list[Any]:
    """A list that holds a tuple that holds it."""
    found: list[Any] = []
    found.append((found,))
    return found


def deep() -> list[Any]:
    """A number within many lists."""
    found: Any = 1.0
    for _ in range(DEEP):
        found = [found]
    return found  # type: ignore[no-any-return]


def beside_an_array() -> list[Any]:
    """A list that holds an array of ours, and itself."""
    from numloom import ones

    found: list[Any] = [ones(2)]
    found.append(found)
    return found


def dict_in_itself() -> dict[str, Any]:
    """A dict that holds itself."""
    found: dict[str, Any] = {}
    found["itself"] = found
    return found


KINDS: dict[str, Callable[[], Any]] = {
    one.__name__: one for one in (in_itself, in_turns, deep, beside_an_array, dict_in_itself, Itself)
}


def functions(module: Any) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a module, by name."""
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        one = getattr(module, name, None)
        if name.startswith("_") or name in LEFT_OUT or not callable(one):
            continue
        if isinstance(one, type) and issubclass(one, BaseException | numpy.generic):
            continue
        yield name, one


def places(function: Any) -> tuple[int, list[str]]:
    """How many arguments must be given, and the names that may be."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 2, []
    by_place = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        by_place += [inspect.Parameter("more", inspect.Parameter.POSITIONAL_ONLY)] * 2
    named = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len([one for one in by_place if one.default is one.empty]), named


def calls(function: Any, plain: Any, endless: Any) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Arguments of which one has no end."""
    needed, named = places(function)
    for place in range(min(max(needed, 1), MOST_PLACES)):
        args = [plain] * max(needed, 1)
        args[place] = endless
        yield str(place), tuple(args), {}
    for name in named[needed:]:
        yield name, (plain,) * needed, {name: endless}


def outcome(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> str:
    """The name of what a call raises, which is "given" where it raises nothing."""
    signal.alarm(10)
    try:
        found = function(*args, **options)
        getattr(found, "get", int)()
    except Exception as error:
        if str(error).endswith("while getting the repr of an object"):
            return "unshown"  # Python shows no list that is nested so deep, and says so.
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    finally:
        signal.alarm(0)
    return "given"


def methods_of(array: Any) -> Any:
    """The methods of an array, and its operators, as a module has functions."""
    names = [name for name in dir(array) if not name.startswith("_") or name in OPERATORS]
    names = [name for name in names if callable(getattr(type(array), name))]
    methods = {f"m{name}" if name.startswith("_") else name: getattr(array, name) for name in names}
    return types.SimpleNamespace(__all__=[*methods], **methods)


def namespaces() -> list[tuple[str, Any]]:
    """Every package of ours that says what is public in it, and an array's methods."""
    found = [importlib.import_module(f"numloom.{one.name}") for one in pkgutil.iter_modules(numloom.__path__)]
    named = [(one.__name__, one) for one in (numloom, *found) if hasattr(one, "__all__")]
    return [*named, ("numloom.ndarray", methods_of(numloom.ones(3)))]


def main(kind: str) -> None:
    """Call all of them."""
    warnings.simplefilter("ignore")
    endless = KINDS[kind]()
    for name, home in namespaces():
        plain = numloom.ones(3)
        for function_name, function in functions(home):
            for where, args, options in calls(function, plain, endless):
                print(f"{name}.{function_name} {where}", end=" ", flush=True)
                print(outcome(function, args, options), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
