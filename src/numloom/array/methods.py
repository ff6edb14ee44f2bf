"""Methods of arrays that make other arrays over the same values: views, other shapes, copies, other dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.ndarray import bind, later, ndarray, reshaped_before, storage_of, view_of, wrap
from numloom.array.storage import read
from numloom.base.dtypes import C64, C128, DTYPES, F32, F64, ITEMSIZES, code_of
from numloom.graph.build import cast, copied
from numloom.graph.layout import named_order, strides_in_order
from numloom.graph.node import VIEW


def view(array: Any, dtype: Any = None, type: Any = None) -> Any:
    """Another array over the same memory, with another dtype if given; the type can only be this one."""
    wanted = dtype if dtype is ndarray else type
    if wanted is not None and wanted is not ndarray:
        raise TypeError("views are numloom arrays: there are no subclasses")
    if dtype is None or dtype is ndarray:
        return view_of(array, array.offset, array._shape, array._strides)
    return later("view_as")(array, dtype)


def reshape(array: Any, *shape: Any, order: str | None = "C", copy: bool | None = None) -> Any:
    """The same values in another shape: a view where the memory allows, else a copy."""
    if len(shape) == 1 and not isinstance(shape[0], int) and not hasattr(shape[0], "__index__"):
        shape = tuple(shape[0])
    if order == "C" and not copy:
        for extent in shape:
            if type(extent) is not int:  # 2.0 would be found as 2 is.
                break
        else:
            known = reshaped_before.get((array._shape, array._strides, array.code, shape))
            if known is not None:
                return view_of(array, array.offset, known[0], known[1])
    return later("reshaped")(array, shape, order, copy)


def copy(array: Any, order: str | None = "C") -> Any:
    """A new array with the same values; costs nothing until one of the two is written."""
    node = read(storage_of(array), array.code, array.offset, array._shape, array._strides)
    order = "C" if order is None else order
    strides = strides_in_order(array._shape, array._strides, ITEMSIZES[array.code], order)
    if storage_of(array).pins or node.kind == VIEW or node.strides != strides:
        node = copied(node, strides, array.code)
    result = wrap(node)
    result.is_scalar = array.is_scalar
    return result


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
        return array.copy(order) if copy or order not in "KA" else array
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
    if not axes or axes == (None,):
        return array.T
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = tuple(axes[0])
    if len(axes) != array.ndim:
        raise ValueError("axes don't match array")
    order = []
    for axis in axes:
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


bind(
    method_astype=astype,
    method_copy=copy,
    method_imag=property(imag, lambda array, value: later("set_imag")(array, value)),
    method_mT=property(turned_matrices),
    method_real=property(real, lambda array, value: later("set_real")(array, value)),
    method_reshape=reshape,
    method_transpose=transpose,
    method_view=view,
)

__all__ = ["astype", "copy", "reshape", "transpose", "view"]
