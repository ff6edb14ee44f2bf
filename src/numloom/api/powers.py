"""`power`, which refuses whole numbers to negative powers: at once where the host knows them, else at the next look."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.conditions import numpy_is_near, raised_where
from numloom.api.ufunc import FUNCTIONS, NO_VALUE, WHERE, mask_of, node_at, normal_axes, single, ufunc
from numloom.array.convert import asarray
from numloom.array.foreign import stands_aside
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, KINDS
from numloom.engine.evaluate import mirror_of
from numloom.engine.look import is_near
from numloom.graph import build
from numloom.graph.again import lose
from numloom.graph.layout import broadcast_shapes, k_strides
from numloom.graph.node import CAST, FILL, LEAF, SCALAR, Node
from numloom.ops.definitions import OpDef
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

_ADD = ELEMENTWISE["add"]
_AND = ELEMENTWISE["logical_and"]
_GREATER = ELEMENTWISE["greater"]
_LESS = ELEMENTWISE["less"]
_SQRT = ELEMENTWISE["sqrt"]
_FEW = 1024
_REFUSED = "Integers to negative integer powers are not allowed."


class Power(ufunc):
    """`numpy.power`: an integer's exponent that is an integer must not be negative."""

    def __init__(self, numpy: np.ufunc, op_defs: tuple[OpDef, ...]) -> None:
        super().__init__(numpy, op_defs)
        self.careful = True

    def _checked(self, nodes: list[Node], where: Any) -> list[Node]:
        base, exponent = nodes
        mask = None if where is True else mask_of(where)
        shapes = (base.shape, exponent.shape) if mask is None else (base.shape, exponent.shape, mask.shape)
        if KINDS[exponent.code] != "i" or 0 in broadcast_shapes(*shapes):
            return nodes
        return [base, allowed(exponent, mask)]

    def _op_defs_for(self, nodes: list[Node]) -> tuple[OpDef, ...]:
        """As NumPy takes a square root for a power of 0.5."""
        exponent = nodes[1]
        if exponent.kind == SCALAR and exponent.attr == 0.5 and KINDS[exponent.code] == "f":
            return (_SQRT,)
        return self._op_defs

    def _checked_at(self, a: Array, indices: Any, value: Node | None) -> Node | None:
        if value is None or KINDS[value.code] != "i" or not a[indices].size:
            return value
        return _gated(value, build.binary(_LESS, value, 0))

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Array:
        if not stands_aside(array) and self._of_integers(node := node_at(array), dtype, out):
            axes = normal_axes(axis, len(node.shape))
            begins = initial is NO_VALUE or initial is None
            array = _with_exponents(node, axes[0] if begins and axes else None, where)
        return super().reduce(array, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        if not stands_aside(array) and self._of_integers(node := node_at(array), dtype, out) and node.shape:
            array = _with_exponents(node, normal_axes(axis, len(node.shape))[0], True)
        return super().accumulate(array, axis, dtype, out)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        if not stands_aside(array) and self._of_integers(node := node_at(array), dtype, out) and node.shape:
            axis = normal_axes(axis, len(node.shape))[0]
            starts = asarray(indices)
            negative = wrap(build.cast(build.binary(_LESS, node, 0), I64))
            # The first element of a part is no exponent.
            counts = FUNCTIONS[np.add].reduceat(negative, starts, axis) - negative.take(starts, axis)
            array = wrap(_gated(node, node_of((counts > 0).any())))
        return super().reduceat(array, indices, axis, dtype, out)

    for _method in (reduce, accumulate, reduceat):
        _method.__doc__ = getattr(ufunc, _method.__name__).__doc__

    def _of_integers(self, node: Node, dtype: Any, out: Any) -> bool:
        """Whether a method's elements are exponents that may be negative."""
        if KINDS[node.code] != "i" or not node.size:
            return False
        return KINDS[self._reduction_codes(node.code, dtype, single(out))[1]] == "i"


def allowed(exponent: Node, mask: Node | None = None) -> Node:
    """An exponent that must not be negative when somebody looks at the power; 0 where a mask leaves elements out.

    Raises
    ------
    ValueError
        If the host knows them and one is negative.
    """
    known = _has_negative(exponent)
    if known is False:
        return exponent
    if known and mask is None:
        raise ValueError(_REFUSED)
    if mask is not None:
        exponent = build.elementwise(WHERE, (mask, exponent, 0))
    return _looked_at(exponent, build.binary(_LESS, exponent, 0))


def _looked_at(node: Node, bad: Node) -> Node:
    """The same values in the same order; who looks at them gets the error if one is bad."""
    found = build.binary(_ADD, node, node_of(raised_where(wrap(bad), node.code, ValueError, _REFUSED)))
    strides = k_strides(node.shape, [node.strides], ITEMSIZES[node.code]) if node.shape else ()
    return found if found.strides == strides else build.copied(found, strides, node.code)


def _has_negative(node: Node) -> bool | None:
    """Whether an integer of a value is negative; None where the host does not know it."""
    source = node.args[0] if node.kind == CAST else node
    kind = KINDS[source.code]
    if kind == "b" or (kind == "u" and ITEMSIZES[source.code] < ITEMSIZES[node.code]):
        return False
    if node.kind == SCALAR or (node.kind == FILL and node.attr is not None):
        return bool(node.attr < 0)
    if source.kind == LEAF and (type(source.attr) is np.ndarray or (source.attr is not None and _near(source))):
        lose()
        known = source.attr if type(source.attr) is np.ndarray else mirror_of(source)
        with np.errstate(all="ignore"):
            return bool((known.astype(DTYPES[node.code], copy=False) < 0).any())
    return None


def _near(leaf: Node) -> bool:
    """Whether the host sees the memory of a computed value, which has few elements."""
    return leaf.size <= _FEW and leaf.buffer is not None and is_near(leaf.buffer)


def _with_exponents(node: Node, axis: int | None, where: Any) -> Array:
    """An array whose elements must not be negative where a mask selects them, but for the first along `axis`."""
    mask = None if where is True else mask_of(where)
    if axis is not None:
        shape = (node.shape[axis], *(1,) * (len(node.shape) - axis - 1))
        later = node_of(wrap(build.binary(_GREATER, build.iota(shape[0]), 0)).reshape(shape))
        mask = later if mask is None else build.binary(_AND, mask, later)
    bad = build.binary(_LESS, node, 0)
    return wrap(_gated(node, bad if mask is None else build.binary(_AND, bad, mask)))


def _gated(node: Node, bad: Node) -> Node:
    """What a routine takes: on the host it runs at once, and so does the look at what is bad."""
    if not numpy_is_near():
        return _looked_at(node, bad)
    if bool(wrap(bad).any()):
        raise ValueError(_REFUSED)
    return node


__all__ = ["Power", "allowed"]
