"""SciPy's functions of images and distances: our arrays that are given for results are filled.

`scipy.ndimage` asks for NumPy's by their type there, and works in an array of its own for others: ``label(x,
output=ours)`` left ours as it was, without a word, as did some of ``pdist(x, out=ours)`` on a GPU.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.interop.filling import FILLED, Filling
from numloom.interop.pandas import plain


def register() -> None:
    """Put functions that fill ours for those that do not, wherever they have been imported to."""
    known = [
        vars(sys.modules[name]).values() for name in ("scipy.ndimage", "scipy.spatial.distance") if name in sys.modules
    ]
    ours = {id(each): filling(each) for values in known for each in list(values) if _is_to_change(each)}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if not ours.keys().isdisjoint(map(id, list(names.values()))):
            names.update({name: ours[id(value)] for name, value in names.items() if id(value) in ours})


def _is_to_change(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__globals__ is not globals() and bool(_places(value))


def _places(function: Callable[..., Any]) -> frozenset[int | str]:
    """The parameters that take an array for results: their places and names."""
    names = inspect.signature(function).parameters
    return frozenset(key for pair in enumerate(names) if pair[1] in FILLED for key in pair)


def filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that fills arrays of ours and gives them, where its own gives NumPy's."""
    places = _places(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        filled = [args[place] for place in range(len(args)) if place in places]
        filled += [value for name, value in options.items() if name in places]
        if not any(isinstance(value, ndarray) for value in filled):
            return function(*args, **options)
        filling, others = Filling(), []

        def host(key: int | str, value: Any) -> Any:
            if key in places:
                return filling.lend(value)
            others.append(value)
            return plain(value)

        hosts = [host(place, value) for place, value in enumerate(args)]
        result = function(*hosts, **{name: host(name, value) for name, value in options.items()})
        filling.finish()
        given = filling.given(result)
        if given is result and isinstance(result, np.ndarray) and _gives_their_kind(others):
            return asarray(result)
        return given

    return call


def _gives_their_kind(arguments: list[Any]) -> bool:
    """Whether SciPy gives arrays of ours for these arguments, as it does if ``SCIPY_ARRAY_API`` is set."""
    setting = getattr(sys.modules.get("scipy._lib._array_api"), "SCIPY_ARRAY_API", False)
    return bool(setting) and any(isinstance(value, ndarray) for value in arguments)


__all__ = ["filling", "register"]
