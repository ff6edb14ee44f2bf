"""Members of arrays that see, change or give away their memory.

Views of bytes and of parts of numbers, other shapes and orders, resizing, flags, single elements.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from numloom.array.convert import exported_on_host
from numloom.array.methods import reshape
from numloom.array.ndarray import bind, element_from, ndarray, node_of, number_of, view_of, wrap
from numloom.array.storage import new_storage, read_only
from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F64, ITEMSIZES, KINDS, code_of
from numloom.base.integers import as_integer, as_integers, as_shape, no_axis
from numloom.base.nesting import deeper
from numloom.device import registry
from numloom.engine.evaluate import at_hand
from numloom.graph import build
from numloom.graph.again import learning
from numloom.graph.layout import (
    c_strides,
    f_strides,
    is_c_contiguous,
    is_f_contiguous,
    k_order,
    named_order,
    reshape_strides,
    resolve_shape,
)
from numloom.graph.tree import is_settled, sized_by_values
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

# ---------------------------------------------------------------- other dtypes


def view_as(array: Array, dtype: Any) -> Array:
    """The same memory with another dtype; one of another size divides or joins the last axis.

    Raises
    ------
    ValueError
        If the last axis is not contiguous or its bytes do not divide.
    """
    code = code_of(dtype)
    have, want = ITEMSIZES[array.code], ITEMSIZES[code]
    shape, strides = array.shape, array.strides
    if have != want:
        if not shape:
            raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
        if shape[-1] != 1 and strides[-1] != have and array.size:
            raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
        if have > want:
            last, rest = shape[-1] * (have // want), have % want
        else:
            last, rest = divmod(shape[-1] * have, want)
        if rest:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the "
                "last axis of the array."
            )
        shape, strides = (*shape[:-1], last), (*strides[:-1], want)
    result = view_of(array, array.offset, shape, strides)
    result.code = code
    return result


def set_dtype(array: Array, dtype: Any) -> None:
    """See an array's own memory with another dtype from here on."""
    seen = view_as(array, dtype)
    array.code = seen.code
    array._shape, array._strides = seen.shape, seen.strides


def getfield(array: Array, dtype: Any, offset: int = 0) -> Array:
    """A view of some bytes of each element.

    Parameters
    ----------
    dtype : dtype
        Of what is seen, not larger than the elements.
    offset : int
        Bytes before it in each element.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numloom as np
    >>> np.array([1 + 2j, 3 + 4j]).getfield(np.float64, offset=8)
    array([2., 4.])
    """
    code = code_of(dtype)
    have, want = ITEMSIZES[array.code], ITEMSIZES[code]
    offset = operator.index(offset)
    if want > have:
        raise ValueError("new type is larger than original type")
    if offset < 0:
        raise ValueError("offset is negative")
    if offset + want > have:
        raise ValueError("new type plus offset is larger than original type")
    result = view_of(array, array.offset + offset, array.shape, array.strides)
    result.code = code
    return result


def setfield(array: Array, val: Any, dtype: Any, offset: int = 0) -> None:
    """Write some bytes of each element (see `getfield`)."""
    if not array.writeable:
        raise read_only(array, "assignment destination")
    getfield(array, dtype, offset)[...] = val


# ---------------------------------------------------------------- shape and flags


def set_shape(array: Array, shape: Any) -> None:
    """Give an array another shape in place.

    Raises
    ------
    AttributeError
        If the memory cannot be seen so.
    """
    wanted = as_shape(shape)
    try:
        seen = array.reshape(wanted, copy=False)
    except ValueError as error:
        if "copy" not in str(error):
            raise
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
        ) from error
    array._shape, array._strides = seen.shape, seen.strides


def _holders(array: Array) -> int:
    return sys.getrefcount(array.storage)


_ALONE = _holders(wrap(build.scalar(0, 0)))


def resize(array: Array, *new_shape: Any, refcheck: bool = True) -> None:
    """Change an array's shape and size in place; elements that are new are zero.

    Parameters
    ----------
    *new_shape : int or tuple of int
        The shape; None and nothing leave it as it is.
    refcheck : bool
        Whether to refuse where other arrays share the memory. Without it they keep the old memory.

    Raises
    ------
    ValueError
        If the array is a view, or is not contiguous.
    """
    shape = new_shape[0] if len(new_shape) == 1 else new_shape
    if not new_shape or shape is None:
        return
    extents = as_shape(shape)
    if any(extent < 0 for extent in extents):
        raise ValueError("negative dimensions not allowed")
    itemsize = array.itemsize
    in_c = is_c_contiguous(array.shape, array.strides, itemsize)
    if not in_c and not is_f_contiguous(array.shape, array.strides, itemsize):
        raise ValueError("resize only works on single-segment arrays")
    size = prod(extents)
    if size != array.size:
        if array.base is not None:
            raise ValueError("cannot resize this array: it does not own its data")
        if not array.writeable:
            raise ValueError("cannot resize an array that is read-only")
        if array.storage.pins or (refcheck and _holders(array) > _ALONE):
            raise ValueError(
                "cannot resize an array that references or is referenced\nby another array in this way.\n"
                "Use the np.resize function or refcheck=False"
            )
    flat = node_of(array if in_c else array.T)
    flat = node_of(wrap(flat).reshape(-1))
    kept = min(size, array.size)
    node = build.full(DTYPES[array.code].type(0).item(), array.code, (size,))
    if kept:
        part = build.copied(build.view(flat, array.code, 0, (kept,), (itemsize,)), (itemsize,), array.code)
        node = build.update(node, part, 0, (kept,), (itemsize,), array.code)
    if size != array.size:
        array.storage = new_storage(node)
        array.offset = 0
    array._shape = extents
    array._strides = (c_strides if in_c else f_strides)(extents, itemsize)


def setflags(array: Array, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
    """Set whether an array may be written; it is always aligned and never a copy to be written back.

    Raises
    ------
    ValueError
        For what cannot be set.
    """
    if align is not None and not align:
        raise ValueError("cannot set ALIGNED flag to False: arrays are aligned on the device")
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is not None:
        array.flags.writeable = bool(write)


# ---------------------------------------------------------------- parts of complex numbers


def set_real(array: Array, value: Any) -> None:
    """Write the real parts."""
    array.real[...] = value


def imag_of_real(array: Array) -> Array:
    """The imaginary parts of an array that is not complex: zeros that cannot be written."""
    strides = (f_strides if array.flags.fnc else c_strides)(array.shape, array.itemsize)
    zeros = wrap(build.full(DTYPES[array.code].type(0).item(), array.code, array.shape, strides))
    zeros.writeable = zeros.is_scalar = array.is_scalar
    return zeros


def set_imag(array: Array, value: Any) -> None:
    """Write the imaginary parts."""
    if array.code not in (C64, C128):
        raise TypeError("array does not have imaginary part to set")
    array.imag[...] = value


# ---------------------------------------------------------------- order


def reshaped(array: Array, shape: tuple[Any, ...], order: str | None, copy: bool | None) -> Array:
    """What `reshape` gives for a layout and a shape that did not come together before.

    Raises
    ------
    TypeError, ValueError
        For what is no shape, one of another size, or one that needs a copy which `copy` forbids.
    """
    if shape == (None,):
        return array.view()
    itemsize = array.itemsize
    order = named_order(order, "C", "CFA")
    new_shape = resolve_shape(array.size, as_integers(shape))
    if order == "A":
        order = "F" if array.flags.fnc else "C"
    if order == "F":
        return array.T.reshape(*new_shape[::-1], copy=copy).T
    strides = reshape_strides(array.shape, array.strides, new_shape, itemsize)
    if copy or strides is None:
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return view_of(array.copy(), 0, new_shape, c_strides(new_shape, itemsize))
    return view_of(array, array.offset, new_shape, strides)


def ravelled(array: Array, order: str | None) -> Array:
    """What `ravel` gives in an order of any name, and of what does not lie in C order."""
    order = named_order(order, "C")
    turned = array
    itemsize = ITEMSIZES[array.code]
    if order == "K":
        turned = array.transpose(k_order(array.ndim, [array.strides]))
    elif order == "F" or (
        order == "A"
        and is_f_contiguous(array.shape, array.strides, itemsize)
        and not is_c_contiguous(array.shape, array.strides, itemsize)
    ):
        turned = array.T
    if not is_c_contiguous(turned.shape, turned.strides, itemsize):
        return reshape(turned.copy(), -1)
    return reshape(turned, -1)


def flatten(array: Array, order: str = "C") -> Array:
    """The elements as one dimension, copied."""
    return array.ravel(order).copy()


def swapaxes(array: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    ndim = len(array.shape)
    axis1, axis2 = as_integer(axis1), as_integer(axis2)
    for axis in (axis1, axis2):
        if not -ndim <= axis < ndim:
            raise no_axis(axis, ndim)
    order = list(range(ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return array.transpose(*order) if ndim > 1 else array.view()


# ---------------------------------------------------------------- elements


def offset_of_item(array: Array, index: tuple[Any, ...]) -> int:
    """Byte offset of the element that `numloom.ndarray.item` gives; NumPy's errors if there is none."""
    if len(index) == 1 and isinstance(index[0], tuple):
        (index,) = index
    if not index:
        if array.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return int(array.offset)
    if len(index) == 1 and len(array.shape) != 1:
        position = operator.index(index[0])
        if not -array.size <= position < array.size:
            raise IndexError(f"index {position} is out of bounds for size {array.size}")
        position %= array.size
        places = []
        for extent in reversed(array.shape):
            position, place = divmod(position, extent)
            places.append(place)
        index = tuple(reversed(places))
    elif len(index) != len(array.shape):
        raise ValueError("incorrect number of indices for array")
    offset = int(array.offset)
    for axis, (given, extent, stride) in enumerate(zip(index, array.shape, array.strides, strict=True)):
        position = operator.index(given)
        if not -extent <= position < extent:
            raise IndexError(f"index {position} is out of bounds for axis {axis} with size {extent}")
        offset += (position % extent) * stride
    return offset


def as_stored(value: Array, code: int) -> Any:
    """A scalar as what NumPy stores of it in integers of dtype `code`, if the host knows it; else itself.

    Raises
    ------
    OverflowError, ValueError
        If it is none of their numbers: NumPy's scalars do not wrap as arrays without axes do.
    """
    if learning() or not BOOL < value.code <= F64 or not at_hand(node_of(value)):
        return value
    element = np.empty((), DTYPES[code])
    with np.errstate(all="ignore"):
        element[()] = DTYPES[value.code].type(number_of(value))
    return element.item()


def elements(array: Array) -> Iterator[Any]:
    """The elements of a long vector of another device than the host: numbers known there, read all at once."""
    value = array.storage.value
    host = array.get().tolist()
    for i in range(len(host)):
        # What was written meanwhile is seen, as in NumPy.
        if array.storage.value is value and not array.storage.pins:
            yield element_from(wrap(build.known_read(host[i], array.code)))
        else:
            yield array[i]


# ---------------------------------------------------------------- numbers that only decide or are shown


def constant_of(array: Array) -> Array:
    """An array, or of a tree's the same without a gradient: for who decides by its numbers, rounds or shows them."""
    if array.held is None or not array.held.value.tree or KINDS[array.code] not in "fc":
        return array
    result = wrap(build.elementwise(ELEMENTWISE["stop_gradient"], [node_of(array)]))
    result.is_scalar = array.is_scalar
    return result


def in_tree(*values: Any, depth: int = 0) -> bool:
    """Whether one of some arguments is an array of a tree, or a list or tuple that has one.

    What is otherwise read on the host is computed in the tree then: a number would be a constant.
    """
    return any(
        [
            in_tree(*value, depth=deeper(depth)) if type(value) in (list, tuple) else
            type(value) is ndarray and value.held is not None and value.held.value.tree
            for value in values
        ]
    )  # fmt: skip


def has_no_number(value: Any) -> bool:
    """Whether this is an array of a tree whose numbers are not known yet, or are others in each call."""
    return type(value) is ndarray and in_tree(value) and not is_settled([node_of(value)])


def as_truth(array: Array) -> Any:
    """One truth value as Python's; where it is not known yet the array itself."""
    return array if has_no_number(array) else bool(array)


def refuse_sizes(name: str, *values: Any) -> None:
    """Raise where the size of what a function gives would follow from numbers that are not known yet."""
    if any(map(has_no_number, values)):
        raise sized_by_values(name)


def rounded(array: Array, digits: int | None) -> Any:
    """``round`` of an array without axes."""
    if array.shape:
        raise TypeError("type numloom.ndarray doesn't define __round__ method")
    number = constant_of(array)._only_element()
    return round(number, digits) if digits is not None else round(number)


def formatted(array: Array, spec: str) -> str:
    """``format`` of an array."""
    if array.shape and spec:
        raise TypeError("unsupported format string passed to numloom.ndarray.__format__")
    return str(array) if array.shape else format(constant_of(array).get()[()], spec)


# ---------------------------------------------------------------- memory of the host


def _on_host(array: Array, name: str) -> np.ndarray[Any, Any]:
    if registry.current().discrete:
        raise AttributeError(
            f"the memory lies on the GPU, which has no `{name}`: take it of a copy, `x.get().{name}`, or give "
            "`x.__cuda_array_interface__` to what runs there"
        )
    return exported_on_host(array)


def data(array: Array) -> memoryview:
    """The memory, shared, where it lies on the host; AttributeError with the cure on a GPU."""
    return _on_host(array, "data").data


def ctypes_of(array: Array) -> Any:
    """NumPy's `ctypes` object of the memory where it lies on the host; AttributeError with the cure on a GPU."""
    return _on_host(array, "ctypes").ctypes


def unhashable(array: Array) -> int:
    """The error of who puts an array into a set or makes it a key of a dict."""
    raise TypeError("unhashable type: 'numloom.ndarray'")


bind(
    as_stored=as_stored,
    constant_of=constant_of,
    elements=elements,
    formatted=formatted,
    hashed=unhashable,
    imag_of_real=imag_of_real,
    method_ctypes=property(ctypes_of),
    method_data=property(data),
    method_flatten=flatten,
    method_getfield=getfield,
    method_resize=resize,
    method_setfield=setfield,
    method_setflags=setflags,
    method_swapaxes=swapaxes,
    offset_of_item=offset_of_item,
    ravelled=ravelled,
    rounded=rounded,
    reshaped=reshaped,
    set_dtype=set_dtype,
    set_imag=set_imag,
    set_real=set_real,
    set_shape=set_shape,
    view_as=view_as,
)

__all__ = [
    "as_truth", "constant_of", "data", "getfield", "has_no_number", "in_tree", "ndarray", "refuse_sizes",
    "resize", "setfield", "setflags", "view_as",
]  # fmt: skip
