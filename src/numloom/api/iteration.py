"""Loops over elements, which run on the host: one copy there, and one back of what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numloom.api.indexing import flatiter
from numloom.api.manipulation import broadcast_to
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.array.views import in_tree
from numloom.graph.layout import broadcast_shapes

Array = Any
Host = np.ndarray[Any, Any]


def _host(array: Any) -> Host:
    return array.get() if type(array) is ndarray else np.asarray(array)


class ndenumerate:
    """Coordinates and values of an array's elements, in C order.

    Parameters
    ----------
    arr : array_like
        The array; it is copied to the host once, and values are NumPy's numbers.

    Attributes
    ----------
    iter : flatiter
        The elements, as ``arr.flat``.

    Examples
    --------
    >>> import numloom as np
    >>> [(place, int(value)) for place, value in np.ndenumerate(np.asarray([[1, 2]]))]
    [((0, 0), 1), ((0, 1), 2)]
    """

    def __init__(self, arr: Any) -> None:
        array = asarray(arr)
        self.iter = flatiter(array)
        # Elements of a tree are arrays: numbers would be constants.
        self._elements = (
            ((place, array[place]) for place in np.ndindex(array.shape)) if in_tree(array)
            else iter(np.ndenumerate(_host(arr)))
        )  # fmt: skip

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        return next(self._elements)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return self


class broadcast:
    """Arrays broadcast against each other: the shape that they have together, and their elements side by side.

    Parameters
    ----------
    *arrays : array_like
        Arrays; values are copied to the host when they are iterated, not before.

    Attributes
    ----------
    shape : tuple of int
        The common shape.
    ndim, nd, size, numiter : int
        Numbers of its dimensions, elements and arrays.
    index : int
        How many elements were taken.
    iters : tuple of flatiter
        The elements of each broadcast array.

    Raises
    ------
    ValueError
        If shapes do not fit together.

    Examples
    --------
    >>> import numloom as np
    >>> np.broadcast(np.ones((3, 1)), np.ones(4)).shape
    (3, 4)
    """

    __slots__ = ("_arrays", "_host", "shape")

    def __init__(self, *arrays: Any) -> None:
        self._arrays: list[Array] = []
        for array in arrays:
            self._arrays.extend(array._arrays if isinstance(array, broadcast) else [asarray(array)])
        if len(self._arrays) > 64:
            raise ValueError("Need at least 0 and at most 64 array objects.")
        try:
            shape: tuple[int, ...] = ()
            for array in self._arrays:
                shape = broadcast_shapes(shape, array.shape)
        except ValueError:
            shapes = " ".join(str(array.shape) for array in self._arrays)
            raise ValueError(f"shape mismatch: objects cannot be broadcast to a single shape: {shapes}") from None
        self.shape = shape
        self._host: Any = None

    def _iterator(self) -> Any:
        if self._host is None:
            self._host = np.broadcast(*map(_host, self._arrays))
        return self._host

    @property
    def ndim(self) -> int:
        return len(self.shape)

    nd = ndim

    @property
    def size(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def numiter(self) -> int:
        return len(self._arrays)

    @property
    def index(self) -> int:
        return 0 if self._host is None else self._host.index

    @property
    def iters(self) -> tuple[flatiter, ...]:
        return tuple(flatiter(broadcast_to(array, self.shape)) for array in self._arrays)

    def reset(self) -> None:
        """Start again."""
        self._host = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return next(self._iterator())  # type: ignore[no-any-return]


_WRITTEN = {"readwrite", "writeonly"}


class nditer:
    """NumPy's iterator over arrays, run on the host.

    Operands are copied to the host once, items are NumPy's, and operands that were open for writing
    are copied back when the iteration ends, when a ``with`` block ends, or by `close`. For anything
    but small arrays whole-array operations, `vectorize` or a kernel do the same without a loop.

    Parameters
    ----------
    op : array_like or sequence of array_like
        Operands; None is an output that is made.
    flags, op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize
        As for `numpy.nditer`. All of its attributes and methods are there.

    Attributes
    ----------
    operands : tuple of ndarray
        The operands, on the device; reading them brings back what was written.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(3)
    >>> with np.nditer(x, op_flags=["readwrite"]) as it:
    ...     for item in it:
    ...         item[...] = 2 * item
    >>> x
    array([0, 2, 4])
    """

    __slots__ = ("_iterator", "_ours", "_written")

    def __init__(
        self,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        ours, hosts = _operands(op)
        given = {"flags": flags, "op_flags": op_flags, "op_dtypes": op_dtypes, "op_axes": op_axes,
                 "itershape": itershape}  # fmt: skip
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        options = {**options, "order": order, "casting": casting, "buffersize": buffersize}
        iterator = np.nditer(hosts, **options)
        self._take(iterator, ours, op_flags)

    def _take(self, iterator: Any, ours: list[Any], op_flags: Any) -> None:
        object.__setattr__(self, "_iterator", iterator)
        object.__setattr__(self, "_ours", ours)
        several = bool(op_flags) and not isinstance(op_flags[0], str)
        flags = [op_flags[k] if several else op_flags or () for k in range(len(ours))]
        written = [type(x) is ndarray and not _WRITTEN.isdisjoint(f) for x, f in zip(ours, flags, strict=True)]
        object.__setattr__(self, "_written", written)

    def _bring_back(self) -> None:
        for ours, host, written in zip(self._ours, self._iterator.operands, self._written, strict=True):
            if written:
                ours[...] = host

    @property
    def operands(self) -> tuple[Array, ...]:
        self._bring_back()
        hosts = self._iterator.operands
        return tuple(
            ours if type(ours) is ndarray else asarray(host) for ours, host in zip(self._ours, hosts, strict=True)
        )

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            self._bring_back()
            raise

    def iternext(self) -> bool:
        """Go on to the next element; False, and what was written is copied back, where there is none."""
        more = self._iterator.iternext()
        if not more:
            self._bring_back()
        return bool(more)

    def close(self) -> None:
        """Copy back what was written, and end."""
        ours, hosts = self._ours, self._iterator.operands
        self._iterator.close()
        for array, host, written in zip(ours, hosts, self._written, strict=True):
            if written:
                array[...] = host

    def copy(self) -> nditer:
        """Another iterator at the same place over the same copies."""
        result = nditer.__new__(nditer)
        result._take(self._iterator.copy(), self._ours, None)
        object.__setattr__(result, "_written", self._written)
        return result

    def __enter__(self) -> nditer:
        self._iterator.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._iterator)

    def __getitem__(self, key: Any) -> Any:
        return self._iterator[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._iterator[key] = value.get() if type(value) is ndarray else value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iterator, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._iterator, name)


def _operands(op: Any) -> tuple[list[Any], Any]:
    """Operands as given, and as NumPy's iterator takes them."""
    if not isinstance(op, (list, tuple)):
        return [op], _host(op)
    return list(op), [None if operand is None else _host(operand) for operand in op]


def nested_iters(
    op: Any,
    axes: Any,
    flags: Sequence[str] | None = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: str = "K",
    casting: str = "safe",
    buffersize: int = 0,
) -> tuple[nditer, ...]:
    """Iterators that are nested: each new place of the outer one starts the inner one there; see `nditer`.

    Parameters
    ----------
    op : array_like or sequence of array_like
        Operands.
    axes : list of list of int
        The axes of each iterator, the outermost first.
    flags, op_flags, op_dtypes, order, casting, buffersize
        As for `numpy.nested_iters`.

    Returns
    -------
    tuple of nditer
        What was written is copied back when the outermost ends.
    """
    ours, hosts = _operands(op)
    given = {"flags": flags, "op_flags": op_flags, "op_dtypes": op_dtypes}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    options = {**options, "order": order, "casting": casting, "buffersize": buffersize}
    found = np.nested_iters(hosts, axes, **options)
    iterators = []
    for depth, iterator in enumerate(found):
        wrapped = nditer.__new__(nditer)
        wrapped._take(iterator, ours, None if depth else op_flags)
        iterators.append(wrapped)
    return tuple(iterators)


__all__ = ["broadcast", "ndenumerate", "nditer", "nested_iters"]
