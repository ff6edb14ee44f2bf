"""Expressions of symbols whose extents are not known: what was called is noted, and called again when they are."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
_PACKAGE = __name__.partition(".")[0]


class Deferred:
    """A call that waits for the shapes of symbols.

    Attributes
    ----------
    call : callable or None
        What is called; None of a symbol.
    args, options : tuple, dict
        With what: among them deferred expressions, also within lists and tuples.
    name, extents, dtype
        Of a symbol.
    """

    __array_priority__ = 2000.0
    is_deferred = True  # Users' kernels ask for it, which know no more of this class.
    __slots__ = ("__weakref__", "_shape", "args", "call", "dtype", "name", "options")

    def __init__(self, call: Callable[..., Any] | None, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.call = call
        self.args = args
        self.options = options
        self.name = ""
        self._shape: tuple[int | None, ...] | None = None
        self.dtype: Any = None

    @classmethod
    def symbol(cls, name: str, extents: tuple[int | None, ...], dtype: np.dtype[Any]) -> Deferred:
        """A symbol with unknown extents."""
        result = cls(None, (), {})
        result.name, result._shape, result.dtype = name, extents, dtype
        return result

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Extents of a symbol, None where they are not known; of an expression nobody knows."""
        if self._shape is None:
            raise TypeError("the shape of an expression of symbols with unknown extents is known when it is called")
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes of a symbol."""
        return len(self.shape)

    @property
    def T(self) -> Deferred:
        """With axes in reverse order."""
        return Deferred(np.transpose, (self,), {})

    def __getitem__(self, index: Any) -> Deferred:
        return Deferred(operator.getitem, (self, index), {})

    def __iter__(self) -> Any:
        raise TypeError(_REFUSED)

    def __bool__(self) -> bool:
        raise TypeError(_REFUSED)

    def __float__(self) -> float:
        raise TypeError(_REFUSED)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(_REFUSED)

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"an expression of symbols with unknown extents has no attribute {name!r}")
        return _DeferredMethod(self, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options.get("out") is not None:
            return NotImplemented
        return Deferred(ufunc, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return Deferred(function, args, options)

    def __repr__(self) -> str:
        if self.call is None:
            return f"<symbol {self.name} {self.dtype.name}{list(self.shape)}>"
        return f"<deferred {getattr(self.call, '__name__', self.call)}>"


_REFUSED = (
    "the extents of this expression's symbols are not known yet: use operators, methods and NumPy's functions of it "
    "(numpy.dot(x, w)), give the symbols their extents, or make a Python function and nl.compile it"
)


class _DeferredMethod:
    def __init__(self, source: Deferred, name: str) -> None:
        self.source = source
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> Deferred:
        return Deferred(_called, (self.source, self.name, *args), options)


def _called(source: Any, name: str, *args: Any, **options: Any) -> Any:
    return getattr(source, name)(*args, **options)


def _operator(function: Callable[..., Any], swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: Deferred(function, (other, self), {})
    return lambda self, *others: Deferred(function, (self, *others), {})


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _function = getattr(operator, {"and": "and_", "or": "or_"}.get(_name, _name))
    setattr(Deferred, f"__{_name}__", _operator(_function))
    setattr(Deferred, f"__r{_name}__", _operator(_function, True))
for _name in ("neg", "pos", "abs", "invert", "lt", "le", "eq", "ne", "gt", "ge"):
    setattr(Deferred, f"__{_name}__", _operator(getattr(operator, _name)))


def parts_of(value: Any) -> list[Deferred]:
    """Deferred expressions among arguments, also within lists, tuples and dicts."""
    if isinstance(value, Deferred):
        return [value]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in parts_of(item)]
    if isinstance(value, dict):
        return [part for item in value.values() for part in parts_of(item)]
    return []


def resolved(roots: Any, known: dict[int, Array]) -> Any:
    """Expressions as arrays: `known` has an array for each symbol's identity; lists, tuples and dicts of them, too."""
    values = dict(known)
    for root in parts_of(roots):
        stack = [(root, False)]
        while stack:
            part, ready = stack.pop()
            if id(part) in values:
                continue
            if part.call is None:
                raise TypeError(f"{part.name} is a symbol that is no input of the function")
            if not ready:
                stack.append((part, True))
                stack += [(arg, False) for arg in parts_of([part.args, part.options])]
            else:
                args = _replaced(part.args, values)
                values[id(part)] = _ours(part.call)(*args, **_replaced(part.options, values))
    return _replaced(roots, values)


def _replaced(value: Any, values: dict[int, Any]) -> Any:
    if isinstance(value, Deferred):
        return values[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)([_replaced(item, values) for item in value])
    if isinstance(value, dict):
        return {name: _replaced(item, values) for name, item in value.items()}
    return value


def _ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """The package's function of a NumPy function's name."""
    module = getattr(function, "__module__", "") or ""
    if isinstance(function, np.ufunc):
        module = "numpy"
    if not module.startswith("numpy"):
        return function
    home: Any = sys.modules[_PACKAGE]
    for part in module.split(".")[1:]:
        home = getattr(home, part, home)
    found: Callable[..., Any] = getattr(home, function.__name__)
    return found


__all__ = ["Deferred", "parts_of", "resolved"]
