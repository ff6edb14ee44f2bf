"""SciPy's functions and classes on host copies of our arrays: right for every argument, slower than ours on a GPU."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, wraps
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.dtypes import refuse_other_order
from numloom.base.nesting import deeper
from numloom.interop.filling import FILLED, Filling


def to_host(value: Any, depth: int = 0) -> Any:
    """The value with a host copy in place of each of our arrays, in lists, tuples and dicts too."""
    if isinstance(value, ndarray):
        return value.get()
    if isinstance(value, Held):
        return value.__dict__["_held"]
    if type(value) in (list, tuple):
        depth = deeper(depth)
        return type(value)([to_host(each, depth) for each in value])
    if isinstance(value, tuple) and hasattr(value, "_make"):
        depth = deeper(depth)
        return value._make([to_host(each, depth) for each in value])
    if type(value) is dict:
        depth = deeper(depth)
        return {key: to_host(each, depth) for key, each in value.items()}
    if isinstance(value, type) and hasattr(value, "_of"):
        return value._of
    if inspect.isroutine(value):  # a callback, that may answer with our arrays
        return _answering_host(value)
    return value


def _answering_host(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def answer(*args: Any, **options: Any) -> Any:
        return to_host(function(*args, **options))

    return answer


def to_ours(value: Any, filling: Filling | None = None) -> Any:
    """The value with our array in place of each of NumPy's whose dtype ours can have; what SciPy made is held."""
    if filling and (ours := filling.given(value)) is not value:
        return ours
    if isinstance(value, (np.ndarray, np.generic)):
        return asarray(value) if value.dtype.kind in "biufc" and value.dtype.char not in "gG" else value
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(to_ours(each, filling) for each in value)
    if type(value) in (list, tuple):
        return type(value)(to_ours(each, filling) for each in value)
    if type(value) is dict:
        return {key: to_ours(each, filling) for key, each in value.items()}
    if isinstance(value, type) or not _of_scipy(type(value)):
        return value
    return hosted(value, value.__name__) if inspect.isroutine(value) else held(value)


def _of_scipy(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "scipy"


@cache
def _parameters(function: Any) -> tuple[str, ...]:
    if isinstance(function, np.ufunc):
        return ("",) * function.nin + ("out",) * function.nout
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def call(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The function's result for our arrays; arrays of ours that it was to fill are filled.

    Examples
    --------
    >>> import numloom as nl
    >>> call(np.sort, (nl.array([3, 1, 2]),), {})
    array([1, 2, 3])
    """
    names = _parameters(function) if any(isinstance(each, ndarray) for each in args) else ()
    filling = Filling()
    copies: dict[int, Any] = {}  # SciPy asks at times whether two arguments are one array.

    def prepared(name: str, value: Any) -> Any:
        if name in FILLED and isinstance(value, (tuple, ndarray)):
            return filling.lend(value)
        if isinstance(value, np.dtype) or (isinstance(value, str) and value.startswith(("<", ">"))):
            refuse_other_order(value)
        if not isinstance(value, ndarray):
            return to_host(value)
        if id(value) not in copies:
            copies[id(value)] = value.get()
        return copies[id(value)]

    hosts = [prepared(names[place] if place < len(names) else "", each) for place, each in enumerate(args)]
    result = function(*hosts, **{name: prepared(name, each) for name, each in options.items()})
    filling.finish()
    return to_ours(result, filling)


def hosted(
    function: Callable[..., Any], name: str, idle: tuple[str, ...] = (), renamed: Mapping[str, str] | None = None,
    adapted: Callable[[dict[str, Any]], dict[str, Any]] | None = None, placed: tuple[str, ...] = (),
) -> Callable[..., Any]:  # fmt: skip
    """SciPy's function for our arrays.

    Parameters
    ----------
    function : callable
        SciPy's.
    name : str
        What it is called.
    idle : tuple of str
        Keywords of CuPy's alone, that choose how it computes and not what: they are taken and mean nothing.
    renamed : mapping, optional
        SciPy's names of parameters by CuPy's.
    adapted : callable, optional
        What gives new values for arguments, or refuses them: it gets those that were given by their names.
    placed : tuple of str
        SciPy's first parameters that are keywords alone, which CuPy takes by their place too.

    Returns
    -------
    callable
        Takes and gives our arrays.
    """
    names = renamed or {}
    places = _by_place(function) if placed else 0

    def on_host(*args: Any, **options: Any) -> Any:
        if placed and len(args) > places:
            args, options = args[:places], _named(name, args[places:], placed, options)
        wanted = {names.get(key, key): each for key, each in options.items() if key not in idle}
        if adapted is not None:
            given = inspect.signature(function).bind(*args, **wanted)
            given.arguments.update(adapted({**options, **given.arguments}))
            args, wanted = given.args, given.kwargs
        return call(function, args, wanted)

    on_host.__name__ = on_host.__qualname__ = name
    on_host.__doc__ = f"As SciPy's ``{name}``, which computes it on the host."
    with suppress(TypeError, ValueError):  # Ufuncs, and functions of C, have none.
        on_host.__signature__ = _signature(function, idle, names, placed)  # type: ignore[attr-defined]
    return on_host


def _by_place(function: Any) -> int:
    """How many arguments a function takes by their place."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in kinds for each in inspect.signature(function).parameters.values())


def _named(name: str, args: tuple[Any, ...], placed: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Keywords for arguments that stand behind those which SciPy takes by their place."""
    twice = set(placed[: len(args)]) & options.keys()
    if len(args) > len(placed) or twice:
        wrong = f"got multiple values for {', '.join(sorted(twice))}" if twice else f"takes no {len(args)} more"
        raise TypeError(f"{name}() {wrong}: by their place, {', '.join(placed)} come last")
    return {**options, **dict(zip(placed, args, strict=False))}


def _signature(
    function: Any, idle: tuple[str, ...], renamed: Mapping[str, str], placed: tuple[str, ...]
) -> inspect.Signature:
    ours = {theirs: name for name, theirs in renamed.items()}
    known = inspect.signature(function)
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        each.replace(name=ours.get(each.name, each.name), kind=either if each.name in placed else each.kind)
        for each in known.parameters.values()
    ]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in idle]
    last = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    place = len(parameters) - last
    return known.replace(parameters=[*parameters[:place], *more, *parameters[place:]])


class Held:
    """An object of SciPy's: takes our arrays, and what it gives becomes ours."""

    _of: type = object

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return call(cls._of, args, options)

    def __init__(self, *args: Any, **options: Any) -> None:
        """Nothing is left to do: SciPy's object is there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.__dict__["_held"], name)
        return hosted(value, name) if inspect.isroutine(value) else to_ours(value)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_held"], name, to_host(value))

    def __reduce__(self) -> Any:
        return held, (self.__dict__["_held"],)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_held"])

    def __repr__(self) -> str:
        return repr(self.__dict__["_held"])

    def __call__(self, *args: Any, **options: Any) -> Any:
        return call(self.__dict__["_held"], args, options)

    def __getitem__(self, key: Any) -> Any:
        return call(operator.getitem, (self, key), {})

    def __len__(self) -> int:
        return len(self.__dict__["_held"])

    def __add__(self, other: Any) -> Any:
        return call(operator.add, (self, other), {})

    def __sub__(self, other: Any) -> Any:
        return call(operator.sub, (self, other), {})

    def __mul__(self, other: Any) -> Any:
        return call(operator.mul, (self, other), {})

    def __truediv__(self, other: Any) -> Any:
        return call(operator.truediv, (self, other), {})

    def __neg__(self) -> Any:
        return call(operator.neg, (self,), {})


@cache
def held_class(of: Any) -> type[Held]:
    """Our class for one of SciPy's: its instances hold one of SciPy's; class methods answer with ours."""
    bases = tuple(held_class(base) for base in of.__bases__ if _of_scipy(base)) or (Held,)
    static = {
        name: staticmethod(hosted(getattr(of, name), name))
        for name, member in vars(of).items()
        if isinstance(member, (classmethod, staticmethod)) and not name.startswith("__")
    }
    return type(of.__name__, bases, {"_of": of, "__doc__": f"Holds SciPy's ``{of.__name__}``.", **static})


def held(value: Any) -> Held:
    """SciPy's object in an object of ours."""
    kind: Any = type(value)
    ours = object.__new__(held_class(kind))
    ours.__dict__["_held"] = value
    return ours


__all__ = ["Held", "call", "held", "held_class", "hosted", "to_host", "to_ours"]
