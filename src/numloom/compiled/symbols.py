"""Symbols, and recording trees."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numloom.array.ndarray import wrap
from numloom.base.config import config
from numloom.base.dtypes import DTYPES, code_of
from numloom.compiled.deferred import Deferred, resolved, set_prober, symbols_of
from numloom.compiled.draws import give_back
from numloom.engine.evaluate import evaluate
from numloom.graph.node import register
from numloom.graph.tree import Placeholder, recording, symbol_node

Array = Any


def symbol(name: str, shape: int | Sequence[int | None] = (), dtype: Any = None) -> Array:
    """An array without numbers, of which trees are made: what is computed from it waits for a value.

    Parameters
    ----------
    name : str
        Its name, in printed trees and in errors.
    shape : int or sequence of int or None
        Its shape. None is an extent that is not known: then calls with the symbol are noted, its shape can be
        computed with, and a function made of it is specialised for each shape that it is called with.
    dtype : dtype, optional
        Its dtype; without one that of ``config.default_float``.

    Returns
    -------
    ndarray
        Read-only; with unknown extents a `Deferred`.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3, 2))
    >>> (np.sin(x) * 2).sum(0).shape
    (2,)
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a symbol's name must be a Python name, not {name!r}")
    extents = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    code = code_of(config.default_float if dtype is None else np.dtype(dtype))
    known = tuple([extent if extent is None else operator.index(extent) for extent in extents])
    if any([extent is not None and extent < 0 for extent in known]):
        raise ValueError(f"negative extents are not allowed: {known}")
    register.symbols = True
    if None in known:
        return Deferred.symbol(name, known, DTYPES[code])
    return symbol_of(Placeholder(name), code, known)  # type: ignore[arg-type]


def symbol_of(
    placeholder: Placeholder, code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Array:
    """The array of a placeholder, which nobody may write to; in C order or in that of `strides`."""
    array = wrap(symbol_node(placeholder, code, shape, strides))
    array.writeable = False
    array.is_scalar = False
    return array


def _probe(root: Deferred, shapes: dict[int, tuple[int, ...]]) -> Any:
    """What an expression is for extents of its symbols: it is recorded, and generators stay where they are."""
    with recording(watches="expression with unknown extents", alone=True) as record:
        known: dict[int, Array] = {}
        for part in symbols_of(root):
            known[id(part)] = symbol_of(Placeholder(part.name), code_of(part.dtype), shapes[id(part)])
        try:
            return resolved(root, known)
        finally:
            give_back(record.draws)


set_prober(_probe)


def scalar(name: str, dtype: Any = None) -> Array:
    """A `symbol` without axes."""
    return symbol(name, (), dtype)


def vector(name: str, shape: Sequence[int | None] = (None,), dtype: Any = None) -> Array:
    """A `symbol` of one axis, of unknown extent unless it is given."""
    return _of_rank(name, shape, dtype, 1)


def matrix(name: str, shape: Sequence[int | None] = (None, None), dtype: Any = None) -> Array:
    """A `symbol` of two axes, of unknown extents unless they are given."""
    return _of_rank(name, shape, dtype, 2)


def tensor3(name: str, shape: Sequence[int | None] = (None, None, None), dtype: Any = None) -> Array:
    """A `symbol` of three axes, of unknown extents unless they are given."""
    return _of_rank(name, shape, dtype, 3)


def tensor4(name: str, shape: Sequence[int | None] = (None, None, None, None), dtype: Any = None) -> Array:
    """A `symbol` of four axes, of unknown extents unless they are given."""
    return _of_rank(name, shape, dtype, 4)


def _of_rank(name: str, shape: Any, dtype: Any, rank: int) -> Array:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(extents) != rank:
        raise ValueError(f"{name} must have {rank} axes, not the shape {extents}")
    return symbol(name, extents, dtype)


@contextmanager
def symbolic() -> Iterator[None]:
    """Have arrays that are computed meanwhile hold their tree, also of ordinary arrays.

    Their shape and dtype are known; their numbers are computed each time that somebody asks for them, and the tree
    stays.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(4.0)
    >>> with np.symbolic():
    ...     y = (x * x).sum()
    >>> y.asnumpy(), float(y)
    (array(14.), 14.0)
    """
    evaluate([])  # What is pending outside is a leaf of the tree.
    with recording():
        yield


__all__ = ["matrix", "scalar", "symbol", "symbol_of", "symbolic", "tensor3", "tensor4", "vector"]
