"""`vmap`: a function of one example as a function of many, which runs on all of them at once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import ITEMSIZES
from numloom.base.nesting import deeper
from numloom.base.tracebacks import public
from numloom.base.wording import counted
from numloom.compiled.batching import rewritten
from numloom.compiled.batching_values import is_result, repeated
from numloom.compiled.deferred import reading
from numloom.compiled.examples import Examples
from numloom.compiled.gradient_values import Array, array_of
from numloom.compiled.structure import arguments, flat, like
from numloom.graph.build import copied
from numloom.graph.layout import c_strides
from numloom.graph.tree import recording

Function = Callable[..., Any]


class Mapped:
    """A function of one example, called with many.

    Attributes
    ----------
    function : callable
        Of one example.
    in_axes, out_axes : int, None, or nested tuples, lists and dicts of them
        Where arguments and results have their examples.
    """

    __name__: str

    def __init__(self, function: Function, in_axes: Any, out_axes: Any) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.function = function
        self.in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        self.out_axes = out_axes

    @public
    @reading
    def __call__(self, *args: Any, **named: Any) -> Any:
        leaves = flat((args, named))
        names = arguments(self.function, args, named)
        axes = self._axes(args, named)
        arrays: list[Array | None] = [
            None if axis is None else _in_front(leaf, axis, name, self.__name__)
            for leaf, axis, name in zip(leaves, axes, names, strict=True)
        ]
        count = _count(arrays, axes, names, self.__name__)
        examples = Examples(self.function, args, named, arrays, names, count, rewritten)
        places = _spread(self.out_axes, examples.result, "out_axes", self.__name__)
        with recording():
            trees = [
                self._placed(array, several, place, count)
                for array, several, place in zip(examples.found, examples.several, places, strict=True)
            ]
        found = examples.results(trees)
        return like(examples.result, found)

    def _axes(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[int | None]:
        """The axis of examples of each leaf of the arguments; those that are given by name have it in front."""
        if isinstance(self.in_axes, tuple) and len(self.in_axes) != len(args):
            raise ValueError(
                f"in_axes of vmap({self.__name__}) has {counted(len(self.in_axes), 'entry')}, and the call has "
                f"{counted(len(args), 'argument')}: give one for each of them".replace("entrys", "entries")
            )
        axes = _spread(self.in_axes, args, "in_axes", self.__name__)
        return [*axes, *[0 for _ in flat(named)]]

    def _placed(self, array: Array, several: bool, place: int | None, count: int) -> Array:
        """A result with its examples along an axis, in memory of its own, in C order."""
        node = node_of(array)
        if place is None:
            if several:
                raise ValueError(
                    f"a result of vmap({self.__name__}) differs from example to example, and out_axes says None for "
                    "it: say along which axis they are stacked"
                )
            return _in_c_order(array)
        whole = array_of(node if several else repeated(node, count))
        axis = _checked_axis(place, whole.ndim, "out_axes", "a result", self.__name__)
        return _in_c_order(whole.transpose((*range(1, axis + 1), 0, *range(axis + 1, whole.ndim))))

    def __repr__(self) -> str:
        return f"<vmap of {self.__name__}>"


def _in_c_order(array: Array) -> Array:
    """The same array in memory of its own, in C order."""
    node = node_of(array)
    return array if is_result(node) else wrap(copied(node, c_strides(node.shape, ITEMSIZES[node.code]), node.code))


def _in_front(leaf: Any, axis: int, name: str, called: str) -> Array:
    """An argument as an array whose first axis counts the examples."""
    if not isinstance(leaf, (ndarray, np.ndarray)):
        raise TypeError(
            f"{name} of vmap({called}) has axis {axis} in in_axes, and is no array but {type(leaf).__name__}: say None "
            "for what is the same in all examples, or give an array"
        )
    array = asarray(leaf)
    at = _checked_axis(axis, array.ndim, "in_axes", name, called)
    return array.transpose((at, *[k for k in range(array.ndim) if k != at])) if at else array


def _checked_axis(axis: int, ndim: int, option: str, name: str, called: str) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"{option} of vmap({called}) says axis {axis} of {name}, which has {counted(ndim, 'axis')}"
                         .replace("axiss", "axes"))  # fmt: skip
    return axis % ndim


def _count(arrays: Sequence[Array | None], axes: Sequence[int | None], names: Sequence[str], called: str) -> int:
    """How many examples there are."""
    found = [(name, axis, array.shape[0]) for array, axis, name in zip(arrays, axes, names, strict=True)
             if array is not None]  # fmt: skip
    if not found:
        raise ValueError(
            f"vmap({called}) got no array with an axis of examples: in_axes must say one for some argument"
        )
    if len({extent for _, _, extent in found}) > 1:
        shown = ", ".join([f"{name} has {extent} along axis {axis}" for name, axis, extent in found])
        raise ValueError(f"vmap({called}) got arrays of different numbers of examples: {shown}")
    return int(found[0][2])


def _spread(axes: Any, value: Any, option: str, called: str, depth: int = 0) -> list[int | None]:
    """Axes for all leaves of nested values: what stands for a part of them counts for all of its leaves."""
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        return [axes if axes is None else operator.index(axes) for _ in flat(value)]
    kind = dict if isinstance(axes, dict) else (list, tuple) if isinstance(axes, (list, tuple)) else ()
    if not kind:
        raise TypeError(
            f"{option} of vmap({called}) must be integers and None, nested as what they are for, not {axes!r}"
        )
    if not isinstance(value, kind) or len(value) != len(axes) or (kind is dict and set(axes) != set(value)):
        raise ValueError(
            f"{option} of vmap({called}) is {axes!r}, which is not nested as what it is for: {_form(value)}"
        )
    pairs = [(axes[key], value[key]) for key in (value if kind is dict else range(len(value)))]
    depth = deeper(depth)
    return [axis for inner, part in pairs for axis in _spread(inner, part, option, called, depth)]


def _form(value: Any) -> str:
    """How values are nested, in words."""
    if isinstance(value, dict):
        return f"a dict of {', '.join(map(repr, value))}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (list, tuple)) else "")


def vmap(function: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """The function of many examples that a function of one example is.

    The function is recorded once, for one example, and what was recorded is rewritten with the axis of examples in
    front: products of matrices become stacks or one larger product, reductions take one axis more. The result is that
    of ``np.stack([function(x[k]) for k in range(n)])``, up to rounding.

    Parameters
    ----------
    function : callable
        Of arrays, or of nested tuples, lists and dicts of them; it gives the same.
    in_axes : int, None, or nested tuple, list or dict of them
        Along which axis each argument has its examples; None of what is the same in all. A tuple has an entry for each
        argument, and an entry counts for all arrays within one. Arguments that are given by name have theirs along the
        first axis.
    out_axes : int, None, or nested tuple, list or dict of them
        Along which axis examples of results are stacked; None of what is the same in all of them.

    Returns
    -------
    callable
        It takes what `function` takes, with an axis more.

    Raises
    ------
    ValueError
        If arrays have different numbers of examples, or an argument is written to.
    TreeError
        If the function looks at a number (``if x > 0``, ``float(x)``), or the size of a result follows from values.

    Examples
    --------
    >>> import numloom as nl
    >>> x, w = nl.arange(6.0).reshape(3, 2), nl.array([1.0, 2.0])
    >>> nl.vmap(nl.dot, in_axes=(0, None))(x, w)
    array([ 2.,  8., 14.])
    >>> nl.vmap(nl.grad(lambda x: (x**3).sum()))(x).shape
    (3, 2)
    """
    if not callable(function):
        raise TypeError(f"vmap takes a function, not {type(function).__name__}")
    return Mapped(function, in_axes, out_axes)


__all__ = ["Mapped", "vmap"]
