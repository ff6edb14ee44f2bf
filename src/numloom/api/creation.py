"""New arrays: filled, numbered, from functions and from the host. Generated values take no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import ceil, copysign
from typing import Any

import numpy as np

from numloom.api.calling import replayed
from numloom.api.conditions import numpy_is_near, unless
from numloom.api.elementwise import divide, floor, isfinite, log10, multiply, power, sign, where
from numloom.api.manipulation import moveaxis, normal_axes
from numloom.array.convert import asarray, from_host, made_like, over_host
from numloom.array.devices import another, made_on
from numloom.array.ndarray import bind, ndarray, view_of, wrap
from numloom.array.views import as_truth, constant_of, has_no_number, in_tree
from numloom.base.dtypes import DTYPES, F32, F64, I64, ITEMSIZES, KINDS, ROUNDED, code_of, native, refuse_other_order
from numloom.base.given import as_c_int
from numloom.base.integers import as_extent, as_integer, is_single
from numloom.base.memo import Memo
from numloom.base.tracebacks import at_once
from numloom.engine.routines import empty as empty_leaf
from numloom.graph import build
from numloom.graph.layout import broadcast_strides, c_strides, check_bytes, f_strides, named_order, strides_in_order
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE

try:
    from numloom.array import _making  # type: ignore[attr-defined]
except ImportError:
    _making = None

Array = Any

ADD = ELEMENTWISE["add"]
MULTIPLY = ELEMENTWISE["multiply"]
WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape argument (a number or several) as a tuple; NumPy's ValueError for negative extents."""
    if type(shape) is int:
        extents: tuple[int, ...] = (shape,)
    elif isinstance(shape, str):
        raise TypeError("'str' object cannot be interpreted as an integer")
    elif isinstance(shape, (bool, np.bool)):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{shape}'")
    elif isinstance(shape, (tuple, list)):
        extents = tuple([as_extent(extent) for extent in shape])
    elif is_single(shape) and hasattr(shape, "__index__"):
        extents = (as_extent(shape),)
    elif not isinstance(shape, Sequence) and (isinstance(shape, np.generic) or not hasattr(shape, "__array__")):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{shape}'")
    else:
        extents = tuple([as_extent(extent) for extent in shape])
    if len(extents) > 64:
        raise ValueError(f"maximum supported dimension for an ndarray is 64, found {len(extents)}")
    for extent in extents:
        if extent < 0:
            raise ValueError("negative dimensions are not allowed")
        if extent >= 1 << 63:
            raise ValueError("Maximum allowed dimension exceeded")
    return extents


def new_array(node: Node) -> Array:
    """A value as an array that is no scalar, whatever its shape."""
    result = wrap(node)
    result.is_scalar = False
    return result


# ---------------------------------------------------------------- filled


def _strides(shape: tuple[int, ...], code: int, order: str | None) -> tuple[int, ...]:
    """Strides of a dense array in an order with a name."""
    if order != "C" or len(shape) != 1:
        return _strides_by_name(shape, code, named_order(order, "C", "CF"))
    check_bytes(shape[0] * ITEMSIZES[code])
    return (ITEMSIZES[code],)


@lru_cache(1024)
def _strides_by_name(shape: tuple[int, ...], code: int, order: str) -> tuple[int, ...]:
    return (c_strides if order == "C" else f_strides)(shape, ITEMSIZES[code])


def _layout(shape: Any, dtype: Any, order: str | None) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Code, shape and strides of a dense array; those of whole numbers are known again."""
    if type(shape) is int and order == "C":
        code, extents = code_of(dtype), shape_of(shape)
        return code, extents, _strides(extents, code, order)
    known = type(shape) is tuple and all([type(extent) is int for extent in shape])
    key = (shape, dtype, order)
    if known:
        try:
            return _layouts.entries[key]  # type: ignore[no-any-return]
        except (KeyError, TypeError):  # TypeError: a dtype that is a list of fields.
            pass
    extents = shape_of(shape)
    code = code_of(dtype)
    found = (code, build.one_tuple(extents), build.one_tuple(_strides(extents, code, order)))
    if known and isinstance(dtype, (type, str, np.dtype)):
        _layouts.keep(key, found)
    return found


_layouts = Memo()
_ZEROS = [dtype.type(0).item() for dtype in DTYPES]


@at_once(getattr(_making, "empty", None))
def empty(shape: Any, dtype: Any = None, order: str | None = "C", *, device: Any = None, like: Any = None) -> Array:
    """An array whose values are whatever its memory held."""
    if like is not None:
        return made_like(like, np.empty, shape, dtype, order, device=device)
    if (other := another(device)) is not None:
        return made_on(other, empty, shape, dtype, order)
    code, extents, strides = _layout(shape, dtype if dtype is not None else float, order)
    return new_array(empty_leaf(code, extents, strides))


@at_once(getattr(_making, "zeros", None))
def zeros(shape: Any, dtype: Any = None, order: str | None = "C", *, device: Any = None, like: Any = None) -> Array:
    """An array of zeros; takes no memory until a part of it is written."""
    if like is not None:
        return made_like(like, np.zeros, shape, dtype, order, device=device)
    if (other := another(device)) is not None:
        return made_on(other, zeros, shape, dtype, order)
    code, extents, strides = _layout(shape, dtype if dtype is not None else float, order)
    return new_array(build.full(_ZEROS[code], code, extents, strides))


@at_once(getattr(_making, "ones", None))
def ones(shape: Any, dtype: Any = None, order: str | None = "C", *, device: Any = None, like: Any = None) -> Array:
    """An array of ones; takes no memory until a part of it is written."""
    if like is not None:
        return made_like(like, np.ones, shape, dtype, order, device=device)
    return full(shape, 1, dtype if dtype is not None else float, order, device=device)


@at_once(getattr(_making, "full", None))
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str | None = "C", *, device: Any = None, like: Any = None
) -> Array:
    """An array of one value; takes no memory until a part of it is written.

    Parameters
    ----------
    shape : int or sequence of int
        Its shape.
    fill_value : scalar or array_like
        The value, broadcast to the shape.
    dtype : dtype, optional
        dtype, by default that of the value.
    order : {"C", "F"}
        Memory order.
    device : optional
        Where it lies: "cpu", "cuda:1"; the current one by default.
    like : array, optional
        Another library's array makes the array instead (NEP 35); ours and NumPy's change nothing.

    Returns
    -------
    ndarray
    """
    if like is not None:
        return made_like(like, np.full, shape, fill_value, dtype, order, device=device)
    if (other := another(device)) is not None:
        return made_on(other, full, shape, fill_value, dtype, order)
    extents = shape_of(shape)
    kind = type(fill_value)
    if kind is not int and kind is not float and (kind is ndarray or np.ndim(fill_value)):
        values = asarray(fill_value)
        code = values.code if dtype is None else code_of(dtype)
        result = new_array(empty_leaf(code, extents, _strides(extents, code, order)))
        result[...] = values
        return result
    if dtype is not None:
        code = code_of(dtype)
    elif kind is int and -_EXACT <= fill_value <= _EXACT:
        code = I64
    else:
        code = F64 if kind is float else code_of(native(np.asarray(fill_value).dtype))
    return new_array(build.full(_filler(fill_value, code), code, extents, _strides(extents, code, order)))


_EXACT, _FEW = 1 << 53, 1 << 24
"""Whole numbers up to these are numbers of float64 and of float32."""


def _filler(value: Any, code: int) -> Any:
    """A fill value as a Python number of dtype `code`; OverflowError for integers that do not fit."""
    kind = type(value)
    if code == F64 and (kind is float or (kind is int and -_EXACT <= value <= _EXACT)):
        return float(value)
    if code == F32 and kind is int and -_FEW <= value <= _FEW:
        return float(value)
    if code == I64 and kind is int and -_EXACT <= value <= _EXACT:
        return value
    if isinstance(value, (complex, np.complexfloating)) and KINDS[code] not in "cb":
        value = value.real
    with np.errstate(all="ignore"):
        target = np.empty((), DTYPES[code])
        np.copyto(target, value, casting="unsafe")
        return target.item()


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """An array like another one, whose values are whatever its memory held."""
    if (other := another(device, prototype)) is not None:
        return made_on(other, empty_like, prototype, dtype, order, subok, shape)
    code, extents, strides = _like(prototype, dtype, order, shape)
    return new_array(empty_leaf(code, extents, strides))


@replayed
def zeros_like(
    a: Any, dtype: Any = None, order: str | None = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of zeros like another one."""
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@replayed
def ones_like(
    a: Any, dtype: Any = None, order: str | None = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of ones like another one."""
    return full_like(a, 1, dtype, order, subok, shape, device=device)


@replayed
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """An array of one value with the shape, dtype and memory order of another one (or with those given)."""
    if (other := another(device, a)) is not None:
        return made_on(other, full_like, a, fill_value, dtype, order, subok, shape)
    code, extents, strides = _like(a, dtype, order, shape)
    if type(fill_value) is ndarray or np.ndim(fill_value):
        result = new_array(empty_leaf(code, extents, strides))
        result[...] = fill_value
        return result
    return new_array(build.full(_filler(fill_value, code), code, extents, strides))


def _like(prototype: Any, dtype: Any, order: str | None, shape: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    array = prototype if type(prototype) is ndarray else asarray(prototype)
    code = array.code if dtype is None else code_of(dtype)
    extents = array.shape if shape is None else shape_of(shape)
    order = named_order(order, "K")
    if extents is array.shape and code == array.code and order == "K" and array.strides == _strides(extents, code, "C"):
        return code, extents, array.strides
    if len(extents) != array.ndim:
        fortran = order == "A" and array.flags.fnc
        return code, extents, _strides(extents, code, order if order in "CF" else "F" if fortran else "C")
    have = array.itemsize
    strides = strides_in_order(array.shape, array.strides, array.itemsize, order)
    if extents != array.shape:
        axes = sorted(range(array.ndim), key=lambda axis: -strides[axis])
        step, result = ITEMSIZES[code], [0] * array.ndim
        for axis in reversed(axes):
            result[axis] = step
            step *= extents[axis] or 1
        return code, extents, tuple(result)
    return code, extents, tuple([stride // have * ITEMSIZES[code] for stride in strides])


# ---------------------------------------------------------------- copies


@at_once(getattr(_making, "array", None))
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Array:
    """A new array of anything array-like.

    Parameters
    ----------
    object : array_like
        Values: our or NumPy's array, (nested) lists of numbers and arrays, arrays of other libraries.
    dtype : dtype, optional
        dtype, by default NumPy's choice.
    copy : bool, optional
        None copies only where it must, False raises where it must.
    order : {"K", "A", "C", "F"}
        Memory order.
    subok : bool
        Taken for NumPy's sake.
    ndmin : int
        Least number of axes; new ones stand in front.
    ndmax : int
        Most axes that nested lists are looked through for; 0 is no limit (what is deeper is no number: ValueError).
    like : array, optional
        Another library's array makes the array instead (NEP 35); ours and NumPy's change nothing.

    Returns
    -------
    ndarray
    """
    if like is not None:
        options = {"copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
        return made_like(like, np.array, object, dtype, **options)
    ndmin, ndmax = as_c_int(ndmin), as_c_int(ndmax)
    result = asarray(object, dtype, order, copy=copy if type(object) is ndarray else copy or None)
    if copy is False and type(object) is not ndarray:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if type(object) is ndarray and result is object and copy:
        given: Any = object
        result = given.copy(named_order(order, "K"))
        result.is_scalar = False
    if ndmax and result.ndim > ndmax and type(object) is not ndarray and not isinstance(object, np.ndarray):
        raise ValueError(
            f"setting an array element with a sequence: nested deeper than the {ndmax} axes that ndmax allows"
        )
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """As `asarray`: there are no subclasses."""
    if like is not None:
        return made_like(like, np.asanyarray, a, dtype, order, device=device, copy=copy)
    return asarray(a, dtype, order, device=device, copy=copy)


@at_once(getattr(_making, "ascontiguousarray", None))
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """An array in C order, with at least one axis."""
    if like is not None:
        return made_like(like, np.ascontiguousarray, a, dtype)
    result = asarray(a, dtype, "C")
    return result if result.ndim else result.reshape(1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """An array in Fortran order, with at least one axis."""
    if like is not None:
        return made_like(like, np.asfortranarray, a, dtype)
    result = asarray(a, dtype, "F")
    return result if result.ndim else result.reshape(1)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Array:
    """An array that has the flags named in `requirements` ("C", "F", "O", "W", "A", "E")."""
    if like is not None:
        return made_like(like, np.require, a, dtype, requirements)
    flags = list(requirements or ())
    np.require((), None, flags)  # Its errors, of unknown flags and of "C" with "F".
    wanted = {flag.upper()[0] for flag in flags}
    result = asarray(a, dtype, "C" if "C" in wanted else "F" if "F" in wanted else "A")
    owned = type(a) is not ndarray or result is not a or result.base is None
    return result if ("O" not in wanted or owned) and ("W" not in wanted or result.writeable) else result.copy("A")


@at_once(getattr(_making, "copy", None))
def copy(a: Any, order: str | None = "K", subok: bool = False) -> Array:
    """A new array with the same values; costs nothing until one of the two is written."""
    result = asarray(a).copy(named_order(order, "K"))
    result.is_scalar = False
    return result


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Array:
    """As `asarray`, and ValueError if there are NaN or infinities; looks at the values."""
    result = asarray(a, dtype, order)
    if KINDS[result.code] in "fc" and not bool(isfinite(result).all()):
        raise ValueError("array must not contain infs or NaNs")
    return result


def frombuffer(buffer: Any, dtype: Any = None, count: int = -1, offset: int = 0, *, like: Any = None) -> Array:
    """A vector over the memory of a buffer, read-only if that is; on a GPU a copy of it."""
    if like is not None:
        return made_like(like, np.frombuffer, buffer, dtype, count, offset)
    return over_host(np.frombuffer(buffer, dtype, count, offset), buffer)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Array:
    """A vector of what an iterator gives."""
    if like is not None:
        return made_like(like, np.fromiter, iter, dtype, count)
    refuse_other_order(dtype)
    return from_host(np.fromiter(iter, dtype, count))


def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str, like: Any = None) -> Array:
    """A vector of the numbers in a text."""
    if like is not None:
        return made_like(like, np.fromstring, string, dtype, count, sep=sep)
    if sep:  # Bytes may be of any order.
        refuse_other_order(dtype)
    return from_host(np.fromstring(string, dtype, count, sep=sep))


def fromfile(
    file: Any, dtype: Any = None, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None
) -> Array:
    """A vector of the numbers in a file."""
    if like is not None:
        return made_like(like, np.fromfile, file, dtype, count, sep, offset)
    if sep:
        refuse_other_order(dtype)
    return from_host(np.fromfile(file, dtype, count, sep, offset))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **options: Any
) -> Any:
    """What `function` gives for the coordinates of an array of `shape`."""
    if like is not None:
        return made_like(like, np.fromfunction, function, shape, dtype=dtype, **options)
    return function(*indices(shape, dtype=dtype), **options)


# ---------------------------------------------------------------- numbered


@at_once(getattr(_making, "arange", None))
def arange(
    start: Any = NotImplemented,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
) -> Array:
    """Evenly spaced values from `start` (0 if it is the only number) up to `stop`, without it.

    Parameters
    ----------
    start, stop, step : scalar
        As for `numpy.arange`; values have NumPy's bits.
    dtype : dtype, optional
        dtype, by default NumPy's choice.
    device : optional
        Where it lies: "cpu", "cuda:1"; the current one by default.
    like : array, optional
        Another library's array makes the array instead (NEP 35); ours and NumPy's change nothing.

    Returns
    -------
    ndarray
        Generated where it is used: it takes no memory until it is stored.
    """
    if stop is None:
        first, last = 0, start
    else:
        first, last = start, stop
    plain = type(first) is int and type(last) is int and dtype is None and device is None and like is None
    by_one = step is None or (type(step) is int and step == 1)
    if plain and by_one and last - first > 1 and first >= -_EXACT and last <= _EXACT:
        node = build.iota(last - first)  # Sooner made than looked for among calls that came before.
        return new_array(node if first == 0 else build.binary(ADD, node, build.scalar(first, I64)))
    return _arange(start, stop, step, dtype, device=device, like=like)


@replayed
def _arange(start: Any, stop: Any, step: Any, dtype: Any, *, device: Any, like: Any) -> Array:
    if like is not None:
        return made_like(
            like, np.arange, *(() if start is NotImplemented else (start,)), stop, step, dtype, device=device
        )
    if (other := another(device)) is not None:
        return made_on(other, arange, start, stop, step, dtype)
    if start is NotImplemented:
        if stop is None:
            raise TypeError("arange() requires stop to be specified.")
        start = 0
    elif stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if in_tree(start, stop, step):
        return _moved(start, stop, step, dtype)
    start, stop, step = (x.item() if isinstance(x, (ndarray, np.ndarray)) else x for x in (start, stop, step))
    found = np.result_type(np.int64, *(np.asarray(x).dtype for x in (start, stop, step))) if dtype is None else dtype
    code = code_of(found)
    minus_zero = isinstance(start, float) and start == 0 and copysign(1.0, start) < 0  # Which a sum would not keep.
    if KINDS[code] in "bc" or minus_zero or _not_real(start, stop, step):
        return from_host(np.arange(start, stop, step, DTYPES[code]))  # type: ignore[call-overload]
    if step == 0:
        raise ZeroDivisionError("division by zero")
    length = (stop - start) / step
    if length != length:
        raise ValueError("arange: cannot compute length")
    if length > 1 << 62:
        raise ValueError("Maximum allowed size exceeded")
    count = ceil(length)
    if not length and start != stop:
        count = 1 if copysign(1.0, length) > 0 else 0  # It is too small for a number.
    if count <= 0:
        return new_array(build.full(0, code, (0,)))
    first = np.empty(2, DTYPES[code])
    with np.errstate(all="ignore"):
        first[0] = start
        # NumPy's second value; the others are multiples of the difference.
        first[1] = start + step if count > 1 else start
    return new_array(stepped(count, first, code))


def _moved(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """`arange` of arrays of a tree: how many values there are is decided by their numbers, which add nothing then."""
    fixed = [constant_of(x) if type(x) is ndarray else x for x in (start, stop, step)]
    first, last, each = (x.item() if type(x) is ndarray else x for x in fixed)
    result = arange(first, last, each, dtype)
    if KINDS[result.code] not in "fc":
        return result
    # A number less itself is 0, and has the derivative of the number.
    for value, number, times in ((start, fixed[0], None), (step, fixed[2], arange(result.size))):
        if type(value) is ndarray:
            part = (value - number).reshape(()).astype(result.dtype)
            result = result + (part if times is None else part * times.astype(result.dtype))
    return result


def _not_real(*values: Any) -> bool:
    """Whether one of some numbers is not real."""
    return not all(isinstance(value, (int, float, np.integer, np.floating)) for value in values)


def stepped(count: int, first: np.ndarray[Any, Any], code: int) -> Node:
    """The values ``start + i * delta`` of dtype `code`, given the first two, with the bits of NumPy's fill."""
    wide = F32 if code in ROUNDED else code
    with np.errstate(all="ignore"):
        start, second = first.astype(DTYPES[wide])
        delta = second - start
        exact = code in ROUNDED or start + delta == second
    counter = build.iota(count)
    if count == 1:
        return build.full(first[0].item(), code, (1,))
    if not np.isfinite(delta) and KINDS[wide] == "f":  # which would make NaN of the first value
        with np.errstate(all="ignore"):
            values = [*first.tolist(), (start + 2 * delta).item()]
        at_first, at_second = (build.binary(EQUAL, counter, build.scalar(place, I64)) for place in (0, 1))
        numbers = [build.scalar(value, code) for value in values]
        return build.elementwise(WHERE, (at_first, numbers[0], build.elementwise(WHERE, (at_second, *numbers[1:]))))
    node = build.cast(counter, wide)
    if delta != 1:
        node = build.binary(MULTIPLY, node, build.scalar(delta.item(), wide))
    if start != 0 or (delta < 0 and KINDS[wide] == "f"):
        node = build.binary(ADD, node, build.scalar(start.item(), wide))
    if code in ROUNDED:
        node = build.cast(node, code)
        exact = bool(DTYPES[code].type(start + delta) == first[1])
    if not exact:
        at = build.binary(EQUAL, counter, build.scalar(1, I64))
        node = build.elementwise(WHERE, (at, build.scalar(first[1].item(), code), node))
    return node


@replayed
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop : array_like
        First value and last one (or the one behind the last, without `endpoint`).
    num : int
        How many.
    endpoint : bool
        Whether `stop` is the last value.
    retstep : bool
        Whether the distance is given as well.
    dtype : dtype, optional
        dtype, by default that of the bounds, at least float64 for numbers.
    axis : int
        Where the new axis stands, if the bounds are arrays.
    device : optional
        Where it lies: "cpu", "cuda:1"; the current one by default.

    Returns
    -------
    ndarray or tuple
    """
    if (other := another(device)) is not None:
        return made_on(other, linspace, start, stop, num, endpoint, retstep, dtype, axis)
    num = as_integer(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    ours = type(start) is ndarray or type(stop) is ndarray
    if not (_is_exact(start) and _is_exact(stop)) and (
        ours or np.ndim(start) or np.ndim(stop) or np.iscomplexobj(start) or np.iscomplexobj(stop)
    ):
        return _linspace_arrays(start, stop, num, endpoint, retstep, dtype, axis, ours)
    intervals = num - 1 if endpoint else num
    normal_axes(axis, 1)
    low, high, distance, step, code = _divided(start, stop, intervals)
    counter = build.iota(num)
    node = build.cast(counter, code)
    if intervals > 0 and step != 0:
        node = build.binary(MULTIPLY, node, build.scalar(float(step), code))
    else:
        if intervals > 0:
            # The distance is too small to be divided: divide the numbers first, as NumPy does.
            node = build.binary(ELEMENTWISE["divide"], node, build.scalar(float(intervals), code))
        node = build.binary(MULTIPLY, node, build.scalar(distance, code))
    node = build.binary(ADD, node, build.scalar(low, code))
    if endpoint and num > 1:
        last = build.binary(EQUAL, counter, build.scalar(num - 1, I64))
        node = build.elementwise(WHERE, (last, build.scalar(high, code), node))
    result_code = code if dtype is None else code_of(dtype)
    if KINDS[result_code] in "iu":
        node = build.unary(ELEMENTWISE["floor"], node)
    result = new_array(build.cast(node, result_code))
    return (result, step) if retstep else result


def _divided(start: Any, stop: Any, intervals: int) -> tuple[float, float, float, Any, int]:
    """Bounds and their distance as numbers of the dtype that is found for them, the step, and the dtype's code."""
    if _is_exact(start) and _is_exact(stop):
        low, high = float(start), float(stop)
        distance = high - low
        return low, high, distance, np.float64(distance / intervals if intervals > 0 else np.nan), F64
    with np.errstate(all="ignore"):
        first, last = np.asanyarray(start) * 1.0, np.asanyarray(stop) * 1.0
        found = _inexact(start, stop)
        apart = np.subtract(last, first, dtype=found)
        step = apart / intervals if intervals > 0 else found.type(np.nan)
        low, high = np.asarray(first, found).item(), np.asarray(last, found).item()
    return low, high, apart.item(), step, code_of(found)


def _is_exact(bound: Any) -> bool:
    """Whether a bound is a number of Python's that float64 has."""
    return type(bound) is float or (type(bound) is int and -_EXACT <= bound <= _EXACT)


def _inexact(*bounds: Any) -> np.dtype[Any]:
    """Type of numbers between bounds; Python's numbers take that of the others."""
    return np.result_type(*(x if type(x) in (bool, int, float, complex) else asarray(x).dtype for x in bounds), 1.0)


def _linspace_arrays(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int, ours: bool
) -> Any:
    """`linspace` between arrays: on the host where they lie there."""
    refuse_other_order(dtype)
    if not ours:
        values, step = np.linspace(start, stop, num, endpoint, True, dtype, axis)  # type: ignore[call-overload]
        result = from_host(values)
        return (result, from_host(np.asarray(step))) if retstep else result
    low, high = multiply(start, 1.0), multiply(stop, 1.0)
    found = _inexact(start, stop)
    intervals = num - 1 if endpoint else num
    low, high = low.astype(found), high.astype(found)
    distance = high - low
    numbers = arange(num, dtype=found).reshape((num,) + (1,) * distance.ndim)
    if intervals > 0:
        step = divide(distance, intervals)
        zero = as_truth((step == 0).any())
        if type(zero) is ndarray:
            values = where(zero, numbers / intervals * distance, numbers * step)
        else:
            values = numbers / intervals * distance if zero else numbers * step
    else:
        step = full(distance.shape, float("nan"), found)
        values = numbers * distance
    values = values + low
    if endpoint and num > 1:
        values[-1, ...] = high
    if axis != 0:
        values = moveaxis(values, 0, axis)
    if dtype is not None:
        values = (floor(values) if np.dtype(dtype).kind in "iu" else values).astype(dtype)
    return (values, step) if retstep else values


def _whole(dtype: Any) -> bool:
    """Whether powers would be cut to whole numbers: one that misses its number by the last bit would be another."""
    return dtype is not None and KINDS[code_of(dtype)] in "iu"


@replayed
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Array:
    """`num` values, evenly spaced on a log scale, from ``base**start`` to ``base**stop``."""
    if (_whole(dtype) or numpy_is_near()) and not any(type(x) is ndarray for x in (start, stop, base)):
        return from_host(np.logspace(start, stop, num, endpoint, base, dtype, axis))
    if np.ndim(base):
        # The new axis stands among those that all three have together.
        ndim = max(np.ndim(x) for x in (start, stop, base))
        start, stop = (array(x, copy=None, ndmin=ndim) for x in (start, stop))
        base = array(base, copy=None, ndmin=ndim)
        base = base.reshape(*base.shape[: axis % (ndim + 1)], 1, *base.shape[axis % (ndim + 1) :])
    result = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else result.astype(dtype)


_NO_ZERO = "Geometric sequence cannot include zero"


@replayed
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """`num` values in a geometric progression from `start` to `stop` (looks at them)."""
    waits = in_tree(start, stop) and not _whole(dtype)
    low, high = (
        [asarray(x) for x in (start, stop)] if waits
        else [np.asarray(x.get() if type(x) is ndarray else x) for x in (start, stop)]
    )  # fmt: skip
    zero = (low == 0).any() | (high == 0).any()
    if has_no_number(zero):
        low = unless(zero, low, ValueError, _NO_ZERO)
    elif zero:
        raise ValueError(_NO_ZERO)
    if not waits and (_whole(dtype) or numpy_is_near()):
        return from_host(np.geomspace(low, high, num, endpoint, dtype, axis))
    found = np.result_type(low.dtype, high.dtype, 1.0, np.zeros((), dtype))
    low, high = low.astype(found), high.astype(found)
    # The first value is turned to the positive numbers, and all of them are turned back.
    turn, logarithm = (sign, log10) if waits else (np.sign, np.log10)
    signs = turn(low)
    low, high = low / signs, high / signs
    result = logspace(logarithm(low), logarithm(high), num, endpoint, dtype=found)
    place = arange(as_integer(num)).reshape((-1,) + (1,) * (result.ndim - 1))
    # Powers of logarithms may miss the bounds.
    if endpoint and num > 1:
        result = where(place == num - 1, high, result)
    result = where(place == 0, low, result) * signs
    if axis != 0:
        result = moveaxis(result, 0, axis)
    return result if dtype is None else result.astype(dtype)


# ---------------------------------------------------------------- coordinates and matrices


def _along(node: Node, shape: tuple[int, ...], axis: int) -> Node:
    """A vector repeated to `shape` along all axes but one."""
    strides = tuple(node.strides[0] if k == axis else 0 for k in range(len(shape)))
    return build.view(node, node.code, 0, shape, strides)


@replayed
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Coordinates of the elements of an array: one array an axis, stacked (a tuple of open ones if `sparse`)."""
    shape = shape_of(dimensions)
    code = code_of(dtype)
    vectors = [build.cast(build.iota(extent), code) for extent in shape]
    if sparse:
        return tuple(
            new_array(v).reshape(tuple(shape[axis] if k == axis else 1 for k in range(len(shape))))
            for axis, v in enumerate(vectors)
        )
    result = empty((len(shape), *shape), dtype)
    for axis, vector in enumerate(vectors):
        if vector.size:
            result[axis] = wrap(_along(vector, shape, axis))
    return result


@replayed
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinate matrices of vectors of coordinates.

    Parameters
    ----------
    *xi : array_like
        Vectors.
    copy : bool
        False gives read-only views.
    sparse : bool
        Whether each result extends along its own axis only.
    indexing : {"xy", "ij"}
        "xy" exchanges the first two axes.

    Returns
    -------
    tuple of ndarray
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    swapped = indexing == "xy" and ndim > 1
    vectors = [asarray(x).reshape(-1) for x in xi]
    places = [1 - k if swapped and k < 2 else k for k in range(ndim)]
    shape = [1] * ndim
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = vector.size
    results = []
    for place, vector in zip(places, vectors, strict=True):
        grid = vector.reshape(tuple(vector.size if k == place else 1 for k in range(ndim)))
        if not sparse:
            target = tuple(shape)
            grid = view_of(grid, grid.offset, target, broadcast_strides(grid.shape, grid.strides, target))
            grid.writeable = False
        results.append(grid.copy() if copy else grid)
    return tuple(results)


class _Grid:
    """``mgrid`` and ``ogrid``: coordinates by slices."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and not isinstance(key.step, (complex, np.complexfloating)):
            return arange(0 if key.start is None else key.start, key.stop, key.step)
        slices = key if isinstance(key, tuple) else (key,)
        if not self.sparse and any(np.ndim(edge) for part in slices for edge in (part.start, part.stop)):
            return from_host(np.mgrid[key])
        found: Any = np.ogrid[key]
        if not isinstance(key, tuple):
            return from_host(found)
        if self.sparse:
            return tuple(map(from_host, found))
        shape = np.broadcast_shapes(*(grid.shape for grid in found))
        code = code_of(np.result_type(*found))
        result = empty((len(found), *shape), DTYPES[code])
        for axis, grid in enumerate(found):
            result[axis] = from_host(grid)
        return result


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)

bind(full=full)

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "empty_like",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "fromstring",
    "full",
    "full_like",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
    "ones",
    "ones_like",
    "require",
    "zeros",
    "zeros_like",
]
