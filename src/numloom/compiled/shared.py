"""Shared variables: values that compiled functions read, and that their updates change."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array import storage
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray, node_of, wrap
from numloom.array.storage import Storage, new_storage
from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.compiled.symbols import symbol_of
from numloom.engine.evaluate import evaluate
from numloom.graph.build import copied
from numloom.graph.layout import c_strides
from numloom.graph.node import LEAF, SYMBOL, Node, register
from numloom.graph.tree import Placeholder

Array = Any


class SharedPlaceholder(Placeholder):
    """The symbol of a shared variable.

    Attributes
    ----------
    storage : Storage
        The memory whose value it has.
    """

    __slots__ = ("storage",)

    def __init__(self, name: str, storage: Storage) -> None:
        self.name = name
        self.stream = None
        self.differentiated = ""
        self.storage = storage

    @property
    def value(self) -> Node:  # type: ignore[override]
        """The value that it has now."""
        return self.storage.value


def _dense(array: Array, copy: bool) -> Node:
    """An array's value, computed and in C order; a value of its own with `copy`."""
    node = node_of(array)
    strides = c_strides(node.shape, ITEMSIZES[node.code])
    if node.kind != LEAF or node.strides != strides or copy:
        node = copied(node, strides, node.code)
        evaluate([node])
    return node


def shared(value: Any, name: str = "shared", borrow: bool = False) -> Array:
    """A variable that compiled functions read and update, kept on the device.

    Parameters
    ----------
    value : array_like
        What it holds first; Python's floats become ``config.default_float``.
    name : str
        Its name, in printed trees and in errors.
    borrow : bool
        Whether it may be the memory of `value`, an array of numloom, as long as nobody writes there.

    Returns
    -------
    ndarray
        A symbol with that value; ``get_value()`` and ``set_value(new)`` read and change it.

    Examples
    --------
    >>> import numloom as np
    >>> w = np.shared([1.0, 2.0], "w")
    >>> double = np.function([], w * 2, updates=[(w, w + 1)])
    >>> print(double(), w.get_value())
    [2. 4.] [2. 3.]
    """
    array = asarray(value)
    if not isinstance(value, (ndarray, np.ndarray, np.generic)) and array.dtype == np.float64:
        array = array.astype(config.default_float)
    register.symbols = True
    node = _dense(array, not borrow and type(value) is ndarray)
    return symbol_of(SharedPlaceholder(name, new_storage(node)), node.code, node.shape)


def shared_of(array: Array) -> SharedPlaceholder | None:
    """The shared variable that an array is; None of others."""
    if type(array) is not ndarray:
        return None
    node = node_of(array)
    found = node.attr if node.kind == SYMBOL else None
    return found if isinstance(found, SharedPlaceholder) else None


def _only_shared(array: Array) -> SharedPlaceholder:
    found = shared_of(array)
    if found is None:
        raise TypeError("only shared variables (nl.shared) have a value to get or set: this is another array")
    return found


def get_value(array: Array, borrow: bool = False, host: bool = True) -> Any:
    """The value of a shared variable.

    Parameters
    ----------
    borrow : bool
        Whether, of a value on the device, no copy is needed: what is given is read-only then.
    host : bool
        Whether as a NumPy array; else as an array of numloom.
    """
    value = _only_shared(array).storage.value
    if host:
        return wrap(value).get()
    result = wrap(value) if borrow else wrap(_dense(wrap(value), True))
    result.writeable = not borrow
    return result


def set_value(array: Array, value: Any, borrow: bool = False) -> None:
    """Give a shared variable another value, of the same dtype (or one that casts to it safely) and shape."""
    found = _only_shared(array)
    given = asarray(value)
    if given.shape != array.shape:
        raise ValueError(f"{found.name} has shape {array.shape}, its new value {given.shape}")
    if given.dtype != array.dtype:
        if not np.can_cast(given.dtype, array.dtype, "same_kind"):
            raise TypeError(f"{found.name} has dtype {array.dtype}, its new value {given.dtype}")
        given = given.astype(array.dtype)
    put(found, _dense(given, not borrow and given is value))


def put(found: SharedPlaceholder, node: Node) -> None:
    """The variable has this computed value now."""
    storage.set_value(found.storage, node)


def _hashed(array: Array) -> int:
    """Symbols and shared variables are keys of dicts, each for itself: nobody writes to them."""
    return object.__hash__(array) if node_of(array).kind == SYMBOL else _unhashable(array)  # type: ignore[no-any-return]


_unhashable = bind(hashed=_hashed)["hashed"]
bind(method_get_value=get_value, method_set_value=set_value)

__all__ = ["SharedPlaceholder", "get_value", "put", "set_value", "shared", "shared_of"]
