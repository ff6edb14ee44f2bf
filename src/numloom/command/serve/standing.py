"""Classes that stand in the namespace for NumPy's, so that ``isinstance`` and subclassing mean what they meant."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray

SCALARS = ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating")
"""Abstract classes of scalars, of which a 0-d result of ours is one where NumPy's would be."""


class Standing(type):
    """A class that stands for one of NumPy's.

    Calling it calls `make`; a subclass of it is a subclass of NumPy's class, and nothing of this one; what it has not
    is NumPy's.
    """

    stood: type
    kinds: tuple[type, ...]
    make: Callable[..., Any]
    holds: Callable[[Any], bool]

    def __new__(meta, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: Any) -> Any:
        if any(isinstance(base, Standing) for base in bases) and "stood" not in members:
            parents = [stood_for(base) for base in bases]
            arrays = [isinstance(base, Standing) and issubclass(base.stood, np.ndarray) for base in bases]
            if any(arrays):
                parents.insert(arrays.index(True), _Views)
            return types.new_class(name, tuple(parents), options, lambda body: body.update(members))
        return super().__new__(meta, name, bases, members, **options)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return cls.make(*args, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        if type(instance) is ndarray:
            return cls.holds(instance)
        return isinstance(instance, cls.kinds)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if isinstance(subclass, Standing):
            subclass = subclass.stood
        return issubclass(subclass, cls.stood) or (subclass is ndarray and cls.stood is np.ndarray)

    def __getattr__(cls, name: str) -> Any:
        return getattr(type.__getattribute__(cls, "stood"), name)

    def __getitem__(cls, item: Any) -> Any:
        return cls.stood[item]  # type: ignore[index]

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stood

    def __hash__(cls) -> int:
        return hash(cls.stood)

    def __repr__(cls) -> str:
        return repr(cls.stood)

    def stands_for(cls) -> type:
        """NumPy's class, for NumPy to use."""
        return cls.stood


class _Views:
    """What classes of the program that derive from NumPy's arrays have more: `view` takes what stands for a class."""

    __slots__ = ()

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        options = {"dtype": stood_for(dtype), "type": stood_for(type)}
        real: Any = super()
        return real.view(**{name: value for name, value in options.items() if value is not None})


def stood_for(value: Any) -> Any:
    """NumPy's class for what stands for it; anything else as it is."""
    return value.stands_for() if isinstance(value, Standing) else value


def _none_of_ours(array: Any) -> bool:
    return False


def standing(real: type, make: Callable[..., Any], *also: type) -> Any:
    """A class that stands for `real`; none of our arrays is an instance of it.

    Parameters
    ----------
    real : type
        NumPy's class.
    make : callable
        What a call of the class does.
    *also : type
        Other classes whose instances pass for its own.
    """
    members = {
        "stood": real, "kinds": (real, *also), "make": staticmethod(make), "holds": staticmethod(_none_of_ours),
        "__new__": real.__new__, "__module__": real.__module__, "__qualname__": real.__qualname__,
        "__doc__": real.__doc__,
    }  # fmt: skip
    # A subclass of NumPy's if that is one of arrays, so that `view` of NumPy's arrays takes it.
    return Standing(real.__name__, (real,) if issubclass(real, np.ndarray) else (), members)


def standing_scalar(real: type) -> Any:
    """A class that stands for an abstract class of scalars: our 0-d results count as NumPy's scalars would."""

    def holds(array: Any) -> bool:
        return bool(array.is_scalar) and issubclass(array.dtype.type, real)

    # A subclass of NumPy's class, so that dtype functions and other libraries take it for one.
    members = {
        "stood": real, "kinds": (real,), "make": staticmethod(real), "holds": staticmethod(holds),
        "__module__": real.__module__, "__qualname__": real.__qualname__, "__doc__": real.__doc__,
    }  # fmt: skip
    return Standing(real.__name__, (real,), members)


def standing_array(make: Callable[..., Any]) -> Any:
    """`numpy.ndarray`: our arrays and NumPy's."""

    def holds(array: Any) -> bool:
        return not array.is_scalar

    members = {
        "stood": np.ndarray, "kinds": (np.ndarray,), "make": staticmethod(make), "holds": staticmethod(holds),
        "__new__": np.ndarray.__new__, "__module__": "numpy", "__doc__": np.ndarray.__doc__,
    }  # fmt: skip
    return _StandingArray("ndarray", (), members)


class _StandingArray(Standing):
    """As `Standing`; its methods, taken from the class, work on our arrays too, and the type of ours is equal to it.

    It is not equal to NumPy's class as well: `functools.singledispatch` takes equal classes for one.
    """

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is ndarray

    def __hash__(cls) -> int:
        return hash(ndarray)

    def __getattr__(cls, name: str) -> Any:
        found = getattr(np.ndarray, name)
        if name.startswith("__") or not callable(found):
            return found

        def method(array: Any, *args: Any, **options: Any) -> Any:
            return (getattr(array, name) if type(array) is ndarray else found.__get__(array))(*args, **options)

        return method
