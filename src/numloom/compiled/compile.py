"""Python functions of arrays, recorded once for each form of their arguments."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.manipulation import broadcast_to
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of
from numloom.base.memo import Memo
from numloom.base.tracebacks import public
from numloom.compiled.calls import Called
from numloom.compiled.function import Function
from numloom.compiled.orders import order, repeated
from numloom.compiled.pickling import found_by_name
from numloom.compiled.structure import arguments, flat, like, signature
from numloom.compiled.symbols import symbol_of
from numloom.graph.node import register, tracing
from numloom.graph.tree import Placeholder

_ARRAYS: Any = (ndarray, np.ndarray)


class Compiled(Called):
    """A Python function whose calls are replayed.

    Attributes
    ----------
    function : callable
        The function itself.
    host : bool
        Whether results are NumPy arrays.
    known : Memo
        What was recorded, by the form of arguments.
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], host: bool, profile: bool) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)  # `partial` and objects have none.
        self.function = function
        self.host = host
        self.profiled = profile
        self.known = Memo(256)
        self.ready = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @public  # No frame of what records or looks stands between the caller's line and the function's.
    def _called(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call with any arguments."""
        given = (args, named)
        leaves = flat(given)
        if register.trees and any([type(leaf) is ndarray and node_of(leaf).tree for leaf in leaves]):
            return self.function(*args, **named)
        if tracing():
            return self.function(*args, **named)
        values = []
        shapes = []
        notes: list[Any] = [signature(given)]
        for leaf in leaves:
            if isinstance(leaf, _ARRAYS):
                array = leaf if type(leaf) is ndarray else asarray(leaf)
                value = repeated(array)
                values.append(value)
                shapes.append(array.shape)
                notes.append((array.code, array.shape, value.shape, order(value.shape, value.strides, array.itemsize)))
            else:
                notes.append(_static(leaf, self.__name__))
        key = tuple(notes)
        found = self.known.entries.get(key)
        if found is None:
            found = self.known.keep(key, self._recorded(given, leaves, values, shapes))
        ready = found.ready
        # Only where all arguments are arrays, in turn and none of them repeated, do these say which record is meant.
        alone = not named and len(values) == len(args) and all([isinstance(one, _ARRAYS) for one in args])
        alone = alone and all([value.shape == shape for value, shape in zip(values, shapes, strict=True)])
        self.ready = ready if alone and ready is not None and ready.state is not None else None
        return found(*values)

    def _recorded(self, given: Any, leaves: list[Any], values: list[Any], shapes: list[Any]) -> Function:
        """The function of the arrays among some arguments, which are `values` broadcast to `shapes`."""
        called = zip(arguments(self.function, *given), leaves, strict=True)
        names = [name for name, leaf in called if isinstance(leaf, _ARRAYS)]
        symbols = [
            symbol_of(Placeholder(name), value.code, value.shape, order(value.shape, value.strides, value.itemsize))
            for name, value in zip(names, values, strict=True)
        ]

        def run(*arrays: Any) -> Any:
            left = iter(
                [
                    array if array.shape == shape else broadcast_to(array, shape)
                    for array, shape in zip(arrays, shapes, strict=True)
                ]
            )
            filled = [next(left) if isinstance(leaf, _ARRAYS) else leaf for leaf in leaves]
            args, named = like(given, filled)
            return self.function(*args, **named)

        return Function(symbols, run, None, None, self.profiled, self.__name__, self.host)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if found_by_name(self):
            return self.__qualname__
        return Compiled, (self.function, self.host, self.profiled)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}>"


def _static(value: Any, name: str) -> Any:
    """What says which value is meant, of one that is no array: different ones are equal nowhere."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{name} got an argument of type {type(value).__name__}, which is no array and cannot be compared by hash"
        ) from None
    return type(value), repr(value) if isinstance(value, float) else value


def compile(
    function: Callable[..., Any] | None = None, *, host: bool = False, profile: bool = False
) -> Any:  # the name that users know
    """Have a Python function of arrays recorded once for each form of its arguments, and replayed by each call.

    Arrays count by dtype, shape and order; all else (numbers, text, options) by its value, so give as arrays what
    changes from call to call. The function must follow from its arguments alone: other arrays that it reads are those
    of the first call, but for shared variables. It cannot look at numbers: `ifelse`, `where` and the loops decide for
    it. Arguments are the caller's arrays, which are read and not changed: ``x += 1`` of one is refused.

    Parameters
    ----------
    function : callable, optional
        Without it, what makes a decorator.
    host : bool
        Whether results are NumPy arrays.
    profile : bool
        Whether calls are counted and timed.

    Examples
    --------
    >>> import numloom as np
    >>> @np.compile
    ... def length(x, y):
    ...     return np.sqrt(x * x + y * y)
    >>> print(length(np.asarray([3.0]), np.asarray([4.0])))
    [5.]
    """
    if function is None:
        return functools.partial(compile, host=host, profile=profile)
    return Compiled(function, host, profile)


__all__ = ["Compiled", "compile"]
