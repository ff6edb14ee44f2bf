"""Arguments and results of a call that NumPy answers: our arrays become NumPy's for it, what it makes becomes ours.

Nothing is ever lost on the way. Memory that NumPy is known to write is written back; any other copy is read-only, so
that a function which writes its argument fails instead of writing where nobody looks. A result that is a view of an
argument stays what it is, a view: of NumPy's memory as NumPy's array; of a copy of ours read-only, and with it what it
was taken of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from numloom.array.convert import from_host
from numloom.array.ndarray import ndarray
from numloom.base import later
from numloom.base.dtypes import DTYPES, NUMPY_DTYPES
from numloom.base.nesting import deeper

Host = np.ndarray[Any, Any]

HELD = frozenset((dtype.kind, dtype.itemsize) for dtype in NUMPY_DTYPES)
OURS, HOST, ODD = 1, 2, 4
"""What a call's arguments may hold: arrays of ours, NumPy's that we can hold, and arrays that we cannot hold."""

PLAIN = frozenset((int, float, complex, bool, type(None), slice, type(Ellipsis), bytes, type, range))
"""Types of what holds no array."""
_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__array_priority__", "__array_interface__", "__array__")
_READ_ONCE = ("__next__", "read", "write")
_foreign: dict[type, int] = {}
_LOOKED_AT = 32
"""How many items of a list are looked at to tell what it holds."""


def held(dtype: np.dtype[Any]) -> bool:
    """Whether our arrays can have this dtype."""
    return dtype.isnative and ((dtype.kind, dtype.itemsize) in HELD if dtype.isbuiltin == 1 else dtype in DTYPES)


def kind_of(value: Any, depth: int = 0) -> int:
    """What an argument holds: a sum of `OURS`, `HOST` and `ODD`."""
    kind = type(value)
    if kind is ndarray:
        return OURS
    if kind in PLAIN:
        return 0
    if kind is np.ndarray or kind is np.memmap:
        return HOST if held(value.dtype) else ODD
    if kind is str:
        return ODD if value[:1] == ">" else 0
    if isinstance(value, np.dtype):
        return 0 if held(value) else ODD
    if isinstance(value, np.generic):
        return 0 if held(value.dtype) else ODD
    if isinstance(value, (list, tuple)):
        return kinds_of(value[:_LOOKED_AT], deeper(depth))
    if isinstance(value, np.ndarray):
        return ODD  # masked arrays, matrices, records: more than their memory
    if kind not in _foreign:
        _foreign[kind] = _foreign_kind(value)
    return _foreign[kind]


def _foreign_kind(value: Any) -> int:
    """What an object of no type known here holds: another library's array, memory that arrays can share, or neither.

    Iterators and files are odd: they can be read once, so numloom must not begin with them and refuse then.
    """
    if isinstance(value, type):
        return 0
    if any(hasattr(type(value), name) for name in _PROTOCOLS):
        return ODD
    try:
        memoryview(value)
    except TypeError:
        return ODD if any(hasattr(value, name) for name in _READ_ONCE) else 0
    return HOST


def kinds_of(values: Iterable[Any], depth: int = 0) -> int:
    """What several arguments hold together."""
    kinds = 0
    for value in values:
        kind = type(value)
        if kind is ndarray:
            kinds |= OURS
        elif kind not in PLAIN:
            kinds |= kind_of(value, depth)
    return kinds


def odd_one(values: Iterable[Any]) -> str:
    """What the first argument is that we cannot hold, in words."""
    for value in values:
        if kind_of(value) & ODD:
            if isinstance(value, (list, tuple)):
                return odd_one(value)
            if type(value) in (np.ndarray, np.memmap) or isinstance(value, np.generic):
                return f"an array of dtype {value.dtype}"
            if isinstance(value, (np.dtype, str)):
                return f"dtype {value}"
            return f"an argument of type {type(value).__module__.partition('.')[0]}.{type(value).__qualname__}"
    return "an argument that it cannot hold"


def numpy_function(name: str) -> Any:
    """NumPy's function of a dotted name, as pickles of ours find it again."""
    module, _, last = f"numpy.{name}".rpartition(".")
    return later.load("pkgutil").resolve_name(f"{module}:{last}")


class Asked:
    """A function of the program, for numloom and then perhaps NumPy: what it has given is not asked for again.

    Parameters
    ----------
    function : callable
        The program's, that both call for the same parts in the same order.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._given: list[Any] = []
        self._again: Iterator[Any] = iter(())

    def __call__(self, *args: Any, **options: Any) -> Any:
        for answer in self._again:
            return answer
        answer = self._function(*args, **options)
        self._given.append(answer)
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def begin_again(self) -> None:
        """Give what has been given before, and ask the function for what comes then."""
        self._again = iter(self._given)
        self._given = []


def asked(value: Any, depth: int = 0) -> Any:
    """An argument with `Asked` for each function of the program, in lists and tuples too."""
    if type(value) in (list, tuple):
        depth = deeper(depth)
        return type(value)([asked(item, depth) for item in value])
    is_theirs = str(getattr(value, "__module__", "")).partition(".")[0] in ("numpy", "numloom")
    return Asked(value) if callable(value) and not isinstance(value, type) and not is_theirs else value


def begin_again(value: Any) -> None:
    """Begin again with every `Asked` of an argument."""
    if type(value) in (list, tuple):
        for each in value:
            begin_again(each)
    elif type(value) is Asked:
        value.begin_again()


def remade(value: Any, change: Callable[[Any], Any]) -> Any:
    """A named tuple with other items, and other things that it holds by name: SciPy's results have such."""
    result = tuple.__new__(type(value), [change(item) for item in value])
    for name, held in getattr(value, "__dict__", {}).items():
        result.__dict__[name] = change(held)
    return result


class Crossing:
    """One call's arguments as NumPy takes them.

    Parameters
    ----------
    written : list of ndarray
        Arrays of ours that NumPy will write.

    Attributes
    ----------
    frozen : bool
        Whether a result was a view of a copy, so that it and its source became read-only.
    """

    def __init__(self, written: list[Any]) -> None:
        self._written = {id(array) for array in written}
        self._crossed: dict[int, tuple[Any, Host]] = {}
        self._given: list[Host] = []
        self._foreign = False
        self.frozen = False

    def out(self, value: Any, depth: int = 0) -> Any:
        """An argument as NumPy takes it; containers are looked through."""
        kind = type(value)
        if kind in PLAIN or kind is str:
            return value
        if kind is ndarray:
            return self._array(value)
        if isinstance(value, np.ndarray):
            self._given.append(value)
            return value
        if kind is list or kind is tuple:
            depth = deeper(depth)
            return kind([self.out(item, depth) for item in value])
        if kind is dict:
            depth = deeper(depth)
            return {key: self.out(item, depth) for key, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return remade(value, self.out)
        standing_for = getattr(kind, "stands_for", None)
        if standing_for is not None:
            return standing_for(value)  # a function of the namespace, as a callback
        self._foreign = self._foreign or kind_of(value) == ODD
        return value

    def _array(self, array: Any) -> Any:
        known = self._crossed.get(id(array))
        if known is not None:
            return known[1]
        host = array.get()
        if array.is_scalar and id(array) not in self._written:
            return host[()]
        host.flags.writeable = id(array) in self._written
        self._crossed[id(array)] = array, host
        return host

    def write_back(self) -> None:
        """Give our arrays what NumPy wrote."""
        for array, host in self._crossed.values():
            if id(array) in self._written:
                array[...] = host

    def back(self, result: Any, *, views: bool = False) -> Any:
        """A result with NumPy's arrays as ours, where that loses nothing.

        Parameters
        ----------
        result : object
            What NumPy gave; tuples, lists and dictionaries are looked through.
        views : bool
            Whether the function may give memory that an object of another library goes on using.
        """
        kind = type(result)
        if isinstance(result, np.ndarray):
            return self._result(result, views)
        if kind is tuple or kind is list:
            return kind([self.back(item, views=views) for item in result])
        if kind is dict:
            return {key: self.back(item, views=views) for key, item in result.items()}
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return remade(result, lambda item: self.back(item, views=views))
        return result

    def _result(self, host: Host, views: bool) -> Any:
        for array, copy in self._crossed.values():
            if host is copy:
                return array
        whole = type(host) is np.ndarray and held(host.dtype)
        for array, copy in self._crossed.values():
            if np.may_share_memory(host, copy) and host.size:
                self.frozen = True
                for one in (array, array.base):
                    if type(one) is ndarray:  # and no buffer of the host
                        one.writeable = False
                host = np.ndarray.view(host)  # a class of the program may have a view of its own
                host.flags.writeable = False
        if not whole or any(host is given or np.may_share_memory(host, given) for given in self._given):
            return host
        owner: Any = host
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        if not isinstance(owner, (np.ndarray, bytes)) or (views and self._foreign):
            return host
        ours = from_host(host)
        ours.writeable = host.flags.writeable
        return ours
