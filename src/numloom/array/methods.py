"""Methods of arrays that make other arrays over the same values: views, other shapes, copies, other dtypes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.array.ndarray import (
    assign,
    assigned_value,
    bind,
    element_from,
    later,
    ndarray,
    number_of,
    only_number,
    seen_through,
    storage_of,
    view_of,
    wrap,
)  # fmt: skip
from numloom.array.storage import read, read_only
from numloom.array.subscript import Advanced, in_c_order, new_basic, recut, squeezed, subscript
from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F16, F32, F64, ITEMSIZES, code_of
from numloom.base.integers import as_extent, as_integers, as_shape, is_single
from numloom.base.tracebacks import note_call, waits
from numloom.device.registry import current
from numloom.engine.evaluate import at_hand
from numloom.graph.again import learning
from numloom.graph.build import cast, copied
from numloom.graph.layout import named_order, strides_in_order
from numloom.graph.node import VIEW, register

_ONE_AXIS = (-1,)
LAZY = 16
"""Elements that iterating over a vector leaves to be read one by one, so that unpacking one does not wait."""
if not cython.compiled:
    dense_copy: Any = None  # of `engine/_blocks.pyx`
    element_of: Any = None


def view(array: Any, dtype: Any = None, type: Any = None) -> Any:
    """Another array over the same memory, with another dtype if given; the type can only be this one."""
    if type is None and _is_array_class(dtype):
        dtype, type = None, dtype
    if type is not None and type is not ndarray:
        raise TypeError(f"views are numloom arrays, without subclasses, got {type!r}: use x.get().view(...), a copy")
    if dtype is None:
        return view_of(array, array.offset, array._shape, array._strides)
    return later("view_as")(array, dtype)


def _is_array_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, (ndarray, np.ndarray))


def seen_as(array: Any, shape: tuple[Any, ...]) -> Any:
    """A view in another shape of an array that lies in C order; None where more must be looked at."""
    found = recut(array._shape, array._strides, shape, ITEMSIZES[array.code])
    return None if found is None else view_of(array, array.offset, found.shape, found.strides)


def reshape(array: Any, *shape: Any, order: str | None = "C", copy: bool | None = None) -> Any:
    """The same values in another shape: a view where the memory allows, else a copy."""
    if len(shape) == 1 and not isinstance(shape[0], int):
        if type(shape[0]) is tuple:
            shape = shape[0]
        elif not is_single(shape[0]):
            shape = as_shape(shape[0])
    if order == "C" and not copy:
        seen = seen_as(array, shape)
        if seen is not None:
            return seen
    return later("reshaped")(array, shape, order, copy)


def ravel(array: Any, order: str | None = "C") -> Any:
    """The elements as one dimension: a view of contiguous memory, else a copy."""
    if order == "C":
        seen = seen_as(array, _ONE_AXIS)
        if seen is not None:
            return seen
    return later("ravelled")(array, order)


def without_ones(a: Any, axis: Any = None) -> Any:
    """A view of an array of ours without axes of extent 1; None where more must be looked at."""
    if axis is not None or type(a) is not ndarray:
        return None
    found = squeezed(a._shape, a._strides)
    return None if found is None else view_of(a, a.offset, found.shape, found.strides)


def is_flat(array: Any) -> bool:
    """Whether an array lies in C order."""
    return in_c_order(array._shape, array._strides, ITEMSIZES[array.code])


def fill(array: Any, value: Any) -> None:
    """Set every element to a scalar.

    Raises
    ------
    ValueError
        If the value has several elements, or is a list.
    """
    if type(value) is not float and type(value) is not int:
        if waits(value):
            note_call(fill, (array, value), {})  # Which says that nothing is written before a call.
        if isinstance(value, (list, tuple)) or bool(getattr(value, "shape", None)):
            listed = isinstance(value, (list, tuple)) and DTYPES[array.code].kind in "iuc"
            if not listed:
                assigned_value(value, array.code)  # Sparse arrays say more.
            raise (TypeError if listed else ValueError)("setting an array element with a sequence.")
        assigned_value(value, array.code)
    if not array.writeable:
        raise read_only(array, "assignment destination")
    assign(array, new_basic(array.offset, array._shape, array._strides, False), value)


def copy(array: Any, order: str | None = "C") -> Any:
    """A new array with the same values; but small ones of the host are copied when one of the two is written."""
    storage = storage_of(array)
    order = "C" if order is None else order if order == "C" or order == "K" else named_order(order, "C")
    flat = order == "C" or (order == "K" and in_c_order(array._shape, array._strides, ITEMSIZES[array.code]))
    # In trees, the same values until one of both is written: a gradient follows them.
    if cython.compiled and flat and array._shape and not (storage.pins or register.symbols or register.open):
        node = dense_copy(storage.value, array.code, array.offset, array._shape, array._strides)
        if node is not None:
            return wrap(node)
    node = read(storage, array.code, array.offset, array._shape, array._strides)
    strides = strides_in_order(array._shape, array._strides, ITEMSIZES[array.code], order)
    if storage.pins or node.kind == VIEW or node.strides != strides:
        node = copied(node, strides, array.code)
    result = wrap(node)
    result.is_scalar = array.is_scalar
    return result


def duplicate(array: Any, memo: Any = None) -> Any:
    """What the module ``copy`` makes of an array."""
    return copy(array, "K")


def astype(
    array: Any, dtype: Any, order: str | None = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """A new array of another dtype."""
    if order != "K":
        order = named_order(order, "K")
    give: Any = later("astype_elsewhere")
    if give and (elsewhere := give(array, dtype, order, casting)) is not None:
        return elsewhere
    code = code_of(dtype)
    if casting != "unsafe" and not np.can_cast(array.dtype, DTYPES[code], casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {array.dtype!r} to {DTYPES[code]!r} according to the rule '{casting}'"
        )
    if code == array.code:
        lies = order == "K" or array._strides == strides_in_order(array._shape, array._strides, ITEMSIZES[code], order)
        return array if lies and not copy else array.copy(order)
    if (array.code == C64 or array.code == C128) and DTYPES[code].kind not in "bc":
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=1 if cython.compiled else 2)
    source = read(storage_of(array), array.code, array.offset, array._shape, array._strides)
    node = cast(source, code)
    result = wrap(node)
    if order != "K" or source.kind == VIEW:
        # "A" and "K" ask how this array lies.
        itemsize, wide = ITEMSIZES[array.code], ITEMSIZES[code]
        lying = strides_in_order(array._shape, array._strides, itemsize, order)
        wanted = tuple([stride // itemsize * wide for stride in lying])
        if wanted != node.strides:
            result = wrap(copied(node, wanted, code))
    result.is_scalar = array.is_scalar
    return result


def transpose(array: Any, *axes: Any) -> Any:
    """A view with the axes permuted (reversed if none are given)."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return array.T
    if len(axes) == 1:
        axes = axes[0] if type(axes[0]) is tuple else as_integers(axes[0])
    if len(axes) != array.ndim:
        raise ValueError("axes don't match array")
    order = []
    for given in axes:
        axis = given if type(given) is int else as_extent(given)
        if not -len(axes) <= axis < len(axes):
            raise np.exceptions.AxisError(axis, len(axes))
        order.append(axis % len(axes))
    if len(set(order)) != len(order):
        raise ValueError("repeated axis in transpose")
    shape, strides = array._shape, array._strides
    return view_of(array, array.offset, tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order))


def turned_matrices(array: Any) -> Any:
    """A view with the last two axes exchanged."""
    if array.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    shape, strides = array._shape, array._strides
    return view_of(array, array.offset, (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]))


def iterate(array: Any) -> Any:
    """Parts along the first axis; elements of a vector on another device than the host are read all at once."""
    if len(array._shape) != 1 or array._shape[0] <= LAZY:
        return iter([part_at(array, place) for place in range(array._shape[0])])
    return _parts(array) if current().interprets else later("elements")(array)


def _parts(array: Any) -> Iterator[Any]:
    for place in range(array._shape[0]):
        yield part_at(array, place)


def part_at(array: Any, place: int) -> Any:
    """What an integer as a subscript gives."""
    found = element_of(array, place) if cython.compiled else None
    return array[place] if found is None else found


def part_of(array: Any, offset: int) -> Any:
    """A view of the halves of complex numbers that begin so many bytes after them."""
    part = view_of(array, array.offset + offset, array._shape, array._strides)
    part.code = F32 if array.code == C64 else F64
    return part


def real(array: Any) -> Any:
    """The real parts: a view, of real numbers the array itself."""
    return part_of(array, 0) if array.code in (C64, C128) else array


def imag(array: Any) -> Any:
    """The imaginary parts: a view, of real numbers zeros."""
    return part_of(array, ITEMSIZES[array.code] // 2) if array.code in (C64, C128) else later("imag_of_real")(array)


def real_number(array: Any) -> Any:
    """`only_number` for ``float`` and ``int``: of a complex scalar the real part, with NumPy's warning."""
    found = only_number(array)
    if type(found) is complex and array.is_scalar:
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=2)
        return found.real
    return found


def with_integers(index: Any) -> Any:
    """A subscript with the numbers of its integers (a 0-d array is an index array), if the host sees them."""
    items = index if type(index) is tuple else (index,)
    found = False
    for item in items:
        if type(item) is ndarray:
            array = cython.cast(ndarray, item)
            if array._shape or not (array.is_scalar and BOOL < array.code < F16):
                return index
            if array.held is not None and not at_hand(array.held.value):
                return index
            found = True
    if not found or learning():
        return index
    numbers = tuple([number_of(item) if type(item) is ndarray else item for item in items])
    return numbers if type(index) is tuple else numbers[0]


def looked_up(array: Any, index: Any) -> Any:
    """What a subscript gives that is not a plain one; an element cannot be written."""
    result = _looked_up(array, index)
    return element_from(result) if type(result) is ndarray and result.is_scalar else result


def _looked_up(array: Any, index: Any) -> Any:
    if register.trees and waits(index):
        return note_call(operator.getitem, (array, index), {})
    kind = type(index)
    several = kind is ndarray and cython.cast(ndarray, index)._shape
    if (several or kind is list or kind is tuple) and (found := later("read_at_once")(array, index)) is not None:
        return found
    if several:
        if index.code != BOOL:
            return later("taken")(array, index)
        if index._shape == array._shape:
            return later("selected")(array, index)
    elif (plain := with_integers(index)) is not index:
        return array[plain]
    elif kind is list or kind is tuple or kind is slice:
        return later("read_item")(array, index)
    found = subscript(array.offset, array._shape, array._strides, index, later("expand_index"))
    return later("take_advanced")(array, found) if type(found) is Advanced else seen_through(array, found)


bind(
    iterate=iterate,
    looked_up=looked_up,
    real_number=real_number,
    method___copy__=duplicate,
    method___deepcopy__=duplicate,
    method_astype=astype,
    method_copy=copy,
    method_imag=property(imag, lambda array, value: later("set_imag")(array, value)),
    method_fill=fill,
    method_mT=property(turned_matrices),
    method_ravel=ravel,
    method_real=property(real, lambda array, value: later("set_real")(array, value)),
    method_reshape=reshape,
    method_transpose=transpose,
    method_view=view,
    with_integers=with_integers,
)

__all__ = ["astype", "copy", "fill", "is_flat", "ravel", "reshape", "transpose", "view", "without_ones"]
