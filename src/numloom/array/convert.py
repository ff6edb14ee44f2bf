"""Where foreign arrays stop: NumPy's and other libraries' become ours here, and ours become theirs.

Past this module there are only our arrays. NumPy arrays, lists and numbers are copied to the
device; memory of other libraries (DLPack, ``__cuda_array_interface__``) is shared and pinned.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.array import about
from numloom.array.asked import NO_ARRAY, asked_for_arrays
from numloom.array.devices import another, device_at, is_asked_by_us, made_on, moved
from numloom.array.hostcopy import host_copy
from numloom.array.ndarray import bind, construct, later, ndarray, node_of, view_of, wrap
from numloom.array.storage import Exported, Storage, pin, pin_foreign
from numloom.base.config import config
from numloom.base.dtypes import BOOL, CHARS, DTYPES, ITEMSIZES, LOW, U8, code_of, native
from numloom.base.integers import is_integer
from numloom.base.low import cast_host
from numloom.base.nesting import deeper
from numloom.base.tracebacks import at_once
from numloom.base.wording import NOTHING
from numloom.device import registry
from numloom.device.memory import Buffer
from numloom.device.ordering import gpu_of
from numloom.engine import look
from numloom.engine.evaluate import leaf_from_host
from numloom.engine.routines import empty as empty_leaf
from numloom.engine.state import counters
from numloom.graph import build
from numloom.graph.layout import (
    Layout,
    c_strides,
    extent_of,
    f_strides,
    is_c_contiguous,
    is_f_contiguous,
    named_order,
)

try:
    from numloom.array._type import finish_type
except ImportError:
    finish_type = None

try:
    from numloom.array import _making, _short  # type: ignore[attr-defined]
except ImportError:
    _making = _short = None

Array = Any
Host = np.ndarray[Any, Any]

_NUMBERS = frozenset((bool, int, float, complex))


# ---------------------------------------------------------------- in


@at_once(getattr(_making, "asarray", None))
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Array:
    """An array of anything array-like; `a` itself if it is one of ours with the dtype and order asked for.

    Parameters
    ----------
    a : array_like
        Our array, NumPy's, a number, (nested) lists of these, or an array of a library that speaks
        DLPack or ``__cuda_array_interface__`` (whose memory is shared where the device can see it).
    dtype : dtype, optional
        dtype of the result; by default NumPy's choice.
    order : {"K", "A", "C", "F"}, optional
        Memory order; "K" (keep) by default.
    device : optional
        The device: "cpu", "cuda:1", or a `numloom.cuda.Device`; by default an array of ours stays where it is, and
        what comes from elsewhere goes to the current one. What lies on another device is copied.
    copy : bool, optional
        True copies in any case, False raises where a copy is needed.
    like : array, optional
        Another library's array makes the array instead (NEP 35); ours and NumPy's change nothing.

    Returns
    -------
    ndarray
    """
    if like is not None:
        return made_like(like, np.asarray, a, dtype, order, device=device, copy=copy)
    if device is not None:
        if type(a) is ndarray:
            if (there := moved(a, device, copy)) is not a:
                a, copy = there, None
        elif (other := another(device)) is not None:
            return made_on(other, asarray, a, dtype, order, copy=copy)
    if type(a) is ndarray:
        if dtype is None and (order is None or order == "K") and not copy:
            return own_array(a) if a.is_scalar else a
        return _converted(a, dtype, named_order(order, "K"), copy)
    order = "K" if order is None or order == "K" else named_order(order, "K")
    if copy is False and not hasattr(a, "__dlpack__"):
        raise ValueError("Unable to avoid copy while creating an array as requested: it lies on the host")
    code = -1 if dtype is None else code_of(dtype)
    if type(a) in _NUMBERS or isinstance(a, np.generic):
        return from_number(a, code)
    if isinstance(a, np.ndarray):
        return _seen(a, code, order, copy)
    if isinstance(a, (list, tuple)):
        if _short is not None and order in "KC" and (type(a) is list or type(a) is tuple):
            known = _short.array_of(a, code)
            if known is not None:
                return known  # type: ignore[no-any-return]
        if _short is not None and a and type(a[0]) is ndarray and (host := _short.gathered(list(a))) is not None:
            return _converted(_computed(from_host(host)), dtype, order, None)
        parts = _our_leaves(a)
        if parts is None:
            return _by_numpy(a, dtype, code, order, copy)
        return _converted(_gathered(a, parts), dtype, order, None)
    if (meant := stood_for(a)) is not None:
        return _converted(meant, dtype, order, copy)
    if hasattr(a, "__cuda_array_interface__") and registry.current().dlpack[0] == _CUDA:
        return _converted(from_cuda_interface(a), dtype, order, copy)
    if hasattr(a, "__dlpack__") and hasattr(a, "__dlpack_device__") and not hasattr(a, "__array_interface__"):
        shared = from_dlpack(a)
        return _converted(shared, dtype, order, copy)
    return _by_numpy(a, dtype, code, order, copy)


def _by_numpy(a: Any, dtype: Any, code: int, order: str, copy: bool | None) -> Array:
    """An array of what NumPy makes one of, or of objects whose ``__array__`` gives ours, which it refuses."""
    try:
        host = np.asarray(a, None if code < 0 else DTYPES[code])
    except ValueError as error:
        if str(error) != NO_ARRAY:
            raise
        return asarray(asked_for_arrays(a), dtype, order, copy=copy)
    return from_host(host, code, order, a) if isinstance(a, (list, tuple)) else _seen(host, code, order, copy, a)


def _seen(host: Host, code: int, order: str, copy: bool | None, given: Any = NOTHING) -> Array:
    """A copy of a NumPy array, in which nothing is written where its byte order is another one and NumPy's is a view.

    Whoever writes there means the file or the table, which a copy in the machine's order would not tell.
    """
    result = from_host(host, code, order, given)
    if not host.dtype.isnative and code < 0 and not copy:
        lies = host.flags
        result.writeable = not (order in "KA" or (lies.c_contiguous if order == "C" else lies.f_contiguous))
    return result


_STANDING = ("__numloom_array__", "__cupy_get_ndarray__")
"""Methods that give the array that an object stands for."""


def stood_for(a: Any) -> Array | None:
    """The array that an object stands for, as a polynomial for its coefficients; the second name is CuPy's."""
    for name in _STANDING:
        if hasattr(a, name):
            found = getattr(a, name)()
            if any(hasattr(found, again) for again in _STANDING):
                raise ValueError(f"{type(a).__name__}.{name}() must give an array, not {type(found).__name__}")
            return asarray(found)
    return None


def own_array(scalar: Array) -> Array:
    """An array of a number that NumPy has as a scalar: it can be written, and the number stays what it is."""
    result = view_of(scalar, scalar.offset, (), ())
    result.is_scalar, result.writeable = False, True
    return result


def made_like(like: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What `function` of NumPy makes where ``like=`` names another array's library (NEP 35).

    Raises
    ------
    TypeError
        If `like` is no array that speaks ``__array_function__``.
    """
    if type(like) is ndarray or isinstance(like, np.ndarray):
        return getattr(sys.modules[__name__.partition(".")[0]], function.__name__)(*args, **options)
    method = getattr(type(like), "__array_function__", None)
    if method is None:
        raise TypeError("The `like` argument must be an array-like that implements the `__array_function__` protocol.")
    return method(like, function, (type(like),), args, options)


def from_number(value: Any, code: int = -1) -> Array:
    """A 0-d array of a Python or NumPy number (of its own dtype, or of dtype `code`)."""
    host = np.asarray(value)
    if code < 0:
        if type(value) is int and host.dtype == object:
            raise OverflowError(f"Python integer {value} is too large for int64 and uint64")
        code = code_of(host.dtype, value)
    elif DTYPES[code] != host.dtype:
        # Python integers must fit, NumPy's numbers are cast.
        host = np.asarray(value, DTYPES[code])
    result = wrap(build.scalar(host.item(), code))
    result.is_scalar = False
    return result


def from_host(host: Host, code: int = -1, order: str = "K", given: Any = NOTHING) -> Array:
    """A copy of a NumPy array on the device; `given` is what it was made of, for an error."""
    if type(host) is not np.ndarray:
        host = _plain(host)
    if code < 0:
        code = code_of(native(host.dtype), host if given is NOTHING else given)
    if host.dtype != DTYPES[code]:
        host = cast_host(host, DTYPES[code])
    if code == BOOL and host.base is not None and getattr(host.base, "dtype", None) != host.dtype:
        host = host.view(np.uint8) != 0  # The memory was not made of truth values, of which kernels take 0 and 1 alone.
    strides = None
    if order == "C" or (order == "A" and not host.flags.fnc):
        strides = c_strides(host.shape, host.itemsize)
    elif order in ("F", "A"):
        strides = f_strides(host.shape, host.itemsize)
    stays = registry.apart() and not is_asked_by_us()
    result = wrap(leaf_from_host(host, strides, stays))
    result.is_scalar = False
    return result


def _plain(host: Host) -> Host:
    """An array of a class of NumPy's as a plain one; a masked array only if nothing is masked."""
    if getattr(host, "mask", None) is not None and np.any(host.mask):  # type: ignore[attr-defined]
        raise TypeError(
            "numloom arrays have no masks: fill the masked elements by `.filled(value)`, drop them by `.compressed()`, "
            "or pass `.data` and `.mask` as two arrays"
        )
    return np.asarray(host)


def _converted(array: Array, dtype: Any, order: str, copy: bool | None) -> Array:
    """One of our arrays with this dtype and order; itself where that is possible and no copy is asked for."""
    code = array.code if dtype is None else code_of(dtype)
    itemsize = ITEMSIZES[array.code]
    fits = code == array.code and (
        order in "KA"
        or (order == "C" and is_c_contiguous(array.shape, array.strides, itemsize))
        or (order == "F" and is_f_contiguous(array.shape, array.strides, itemsize))
    )
    if fits and not copy:
        return own_array(array) if array.is_scalar else array
    if copy is False and not fits:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    result = array.astype(DTYPES[code], order) if code != array.code else array.copy(order)
    result.is_scalar = False
    return result


def _our_leaves(items: Sequence[Any]) -> list[Any] | None:
    """The arrays and numbers of a nested list if one of them is our array, else None."""
    if not _holds_ours(items):
        return None
    leaves: list[Any] = []
    stack: list[Iterator[Any]] = [iter(items)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, (list, tuple)):
                deeper(len(stack))
                stack.append(iter(item))
                break
            leaves.append(item)
        else:
            stack.pop()
    return leaves


def _holds_ours(items: Sequence[Any], depth: int = 1) -> bool:
    """Whether one of the elements of a nested list is our array."""
    kinds = {*map(type, items)}  # Few, mostly one: a list of numbers is not gone through by Python.
    if ndarray in kinds:
        return True
    if kinds <= _NUMBERS or not any([issubclass(kind, (list, tuple)) for kind in kinds]):
        return False
    depth = deeper(depth)
    for item in items:  # noqa: SIM110  (as fast as it gets)
        if isinstance(item, (list, tuple)) and _holds_ours(item, depth):
            return True
    return False


def _computed(array: Array) -> Array:
    """An array of numbers of ours: it is no data of the host, though that brought it."""
    array.storage.value.result = True
    return array


def _gathered(items: Sequence[Any], leaves: list[Any]) -> Array:
    """A nested list of arrays and numbers as one array, without leaving the device."""
    arrays = [asarray(item) for item in leaves]
    lead: list[int] = []
    level: Any = items
    while isinstance(level, (list, tuple)):
        lead.append(len(level))
        level = level[0] if level else None
    shape = (*lead, *arrays[0].shape)
    if any(array.shape != arrays[0].shape for array in arrays) or prod(lead) != len(arrays):
        # Arrays beside lists of numbers, or shapes that do not fit: NumPy knows.
        return _computed(from_host(np.asarray(host_numbers(items))))
    code = code_of(np.result_type(*{array.dtype for array in arrays}))
    strides = c_strides(shape, ITEMSIZES[code])
    node = empty_leaf(code, shape, strides)
    step = prod(arrays[0].shape) * ITEMSIZES[code]
    if step:
        inner = strides[len(lead) :]
        for number, array in enumerate(arrays):
            node = build.update(node, build.cast(node_of(array), code), number * step, array.shape, inner, code)
    result = wrap(node)
    result.is_scalar = False
    return result


# ---------------------------------------------------------------- out


def asnumpy(a: Any, stream: Any = None, order: str = "K", out: Host | None = None) -> Host:
    """Anything array-like as a NumPy array; runs what is recorded and waits.

    Parameters
    ----------
    a : array_like
        Our array (copied to the host), or anything that `numpy.asarray` takes.
    stream : optional
        Taken for compatibility; the copy is ordered after all work on the array.
    order : {"K", "A", "C", "F"}
        Memory order of the result.
    out : numpy.ndarray, optional
        Where to put the values.

    Returns
    -------
    numpy.ndarray
    """
    host = a.get() if type(a) is ndarray else np.asarray(a)
    if out is not None:
        np.copyto(out, host)
        return out
    return host if order == "K" else np.asarray(host, order=order)  # type: ignore[call-overload, no-any-return]


def got(host: Host, order: str | None, out: Any) -> Host:
    """What `ndarray.get` gives where an order or a place is asked for (`stream` and `blocking` are CuPy's)."""
    if out is None:
        return np.asarray(host, order=named_order(order, "K"))  # type: ignore[call-overload, no-any-return]
    if not isinstance(out, np.ndarray) or out.shape != host.shape or out.dtype != host.dtype:
        raise ValueError(f"out must be a NumPy array of shape {host.shape} and dtype {host.dtype}")
    out[...] = host
    return out


def get_array_module(*args: Any) -> Any:
    """The module that works on these arrays: numloom if any of them is its array, else numpy."""
    ours = any(type(arg) is ndarray for arg in args)
    return sys.modules[__name__.partition(".")[0] if ours else "numpy"]


def pickled(array: Array) -> tuple[Any, ...]:
    """What makes an array again from its values (`numloom.compiled` binds another one, which knows trees)."""
    host = array.get()
    return later("unpickle"), (host[()] if array.is_scalar else host,)  # which `numloom run` binds to NumPy's


def unpickle(host: Any) -> Array:
    """The array that was pickled with these values, on whatever device is there now.

    Pickles name this function, and hold NumPy's array or (of a number) NumPy's scalar: what they have of ours is the
    name and this argument, and both stay.
    """
    result = from_host(np.asarray(host))
    result.is_scalar = isinstance(host, np.generic)
    return result


# ---------------------------------------------------------------- shared memory


def _may_write(array: Array) -> bool:
    """Whether others may write where an array lies: as NumPy's arrays of scalars, those of elements have own memory."""
    return bool(array.writeable or array.is_scalar)


def exported_on_host(array: Array) -> Host:
    """The array's own memory as a NumPy array, pinned while that lives; for devices that are the host."""
    storage = array.storage
    owner = Exported(storage)
    dtype = DTYPES[array.code]
    view = look.lend(registry.current(), storage.value.buffer, array.offset, array._shape, array._strides, dtype, owner)
    if not _may_write(array):
        view.flags.writeable = False
    return view


def host_array(array: Array, dtype: Any = None, copy: bool | None = None) -> Host:
    """``__array__``: the memory itself as a NumPy array where the host can see it (pinned while that one lives).

    On a GPU it is a copy that cannot be written to, as ``config.host_copy`` says.

    Raises
    ------
    TypeError
        On a GPU, if ``config.host_copy`` is "raise".
    ValueError
        If `copy` is False and another dtype is asked for, or the memory lies on a GPU.
    """
    if device_at(array).discrete:
        return host_copy(array, dtype, copy)
    cast = dtype is not None and np.dtype(dtype) != array.dtype
    if cast and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested: the dtype changes")
    if cast or copy or not array.size or array.storage.value.tree:
        return array.get() if not cast else array.get().astype(dtype)  # type: ignore[no-any-return]
    counters.waits += 1
    return exported_on_host(array)


def to_numpy(array: Array, dtype: Any = None, copy: bool = False) -> Host:
    """The array as a NumPy array: its memory where the host sees it, unless `copy`; on a GPU a copy of it.

    Parameters
    ----------
    dtype : dtype, optional
        Another dtype, which makes it a copy.
    copy : bool
        Whether it is a copy in any case.
    """
    if device_at(array).discrete:
        host = array.get()
        return host if dtype is None else host.astype(dtype, copy=False)  # type: ignore[no-any-return]
    return host_array(array, dtype, copy or None)


def refuse_low(array: Array) -> None:
    """Raise AttributeError for what ``__array_interface__`` knows the bytes of, and not the meaning."""
    if array.code in LOW:
        raise AttributeError(f"'numloom.ndarray' object of {array.dtype} has no attribute '__array_interface__'")


def array_interface(array: Array) -> dict[str, Any]:
    """``__array_interface__``; the memory is pinned for the life of the storage. Of a GPU's or tree's it is a copy.

    Raises
    ------
    AttributeError
        For bfloat16 and float8, of which it knows the bytes only: who asks for it takes ``__array__`` then.
    """
    refuse_low(array)
    described: dict[str, Any] = {"shape": array.shape, "typestr": array.dtype.str, "version": 3}
    discrete = device_at(array).discrete
    if discrete or array.storage.value.tree:
        if discrete and config.host_copy == "raise":
            raise AttributeError("'numloom.ndarray' object has no attribute '__array_interface__'")
        host = np.ascontiguousarray(host_array(array)).reshape(array.shape)
        host.flags.writeable = False  # What is written to a copy would be lost.
        return {**described, "data": host, "strides": host.strides}
    node = pin(array.storage)
    contiguous = is_c_contiguous(array.shape, array.strides, array.itemsize)
    return {
        **described,
        "data": (node.buffer.ptr + array.offset if array.size else 0, not _may_write(array)),
        "strides": None if contiguous else array.strides,
    }


_CPU, _CUDA, _PINNED, _MANAGED = 1, 2, 3, 13
_VERSION = (1, 0)
_READ_ONLY, _COPIED = 1, 2
"""Flags of a versioned tensor."""
_FROM_DLPACK = {
    (6, 8): "?", (0, 8): "b", (1, 8): "B", (0, 16): "h", (1, 16): "H", (0, 32): "i", (1, 32): "I", (0, 64): "q",
    (1, 64): "Q", (2, 16): "e", (2, 32): "f", (2, 64): "d", (5, 64): "F", (5, 128): "D", (4, 16): "E", (7, 8): "3",
    (8, 8): "7", (9, 8): "X", (10, 8): "4", (11, 8): "G", (12, 8): "5", (13, 8): "C",
}  # fmt: skip


_LOW_TO_DLPACK = {CHARS.index(char): key[0] for key, char in _FROM_DLPACK.items() if CHARS.index(char) in LOW}
"""Type codes of dtypes that NumPy exports as bytes only."""


class _Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_LAYOUTS: dict[bytes, Any] = {b"dltensor": _Managed, b"dltensor_versioned": _ManagedVersioned}
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.restype, _capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _managed(capsule: Any) -> tuple[bytes, Any]:
    """Name of a capsule, and what it points to."""
    name = _capsule_name(capsule)
    layout = _LAYOUTS.get(name)
    if layout is None:
        raise BufferError(f"expected a fresh DLPack capsule, got one named {name!r}")
    return name, layout.from_address(_capsule_pointer(capsule, name))


def dlpack_device(array: Array) -> tuple[int, int]:
    """Kind and number of the device of `array`, in DLPack's numbers."""
    return device_at(array).dlpack  # type: ignore[no-any-return]


def to_dlpack(
    array: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the array's memory, which stays pinned until the consumer lets go of it.

    Parameters
    ----------
    stream : int, optional
        On a GPU the consumer's stream: it waits for all work on the array (-1: it need not).
    max_version : tuple of int, optional
        Newest version that the consumer knows; from (1, 0) on the capsule tells read-only memory and copies.
    dl_device : tuple of int, optional
        Where the consumer wants the memory: (1, 0), the host, is possible everywhere.
    copy : bool, optional
        True exports a copy, False raises where one is needed.

    Returns
    -------
    capsule

    Raises
    ------
    BufferError
        If the device or `copy` cannot be had, or read-only memory is asked for without a version.
    """
    where = dlpack_device(array)
    if stream is not None and not is_integer(stream):
        raise TypeError(f"stream must be None or an integer, not {type(stream).__name__}")
    for name, given in (("max_version", max_version), ("dl_device", dl_device)):
        if given is not None and not (isinstance(given, tuple) and len(given) == 2):
            raise TypeError(f"{name} must be None or a tuple of two integers, not {given!r}")
    if dl_device is not None and tuple(dl_device) not in (where, (_CPU, 0)):
        raise BufferError(f"cannot export to device {dl_device}: the array lies on {where}")
    to_host = where[0] == _CUDA and dl_device is not None and dl_device[0] == _CPU
    if to_host and copy is False:
        raise BufferError("cannot export device memory to the host without a copy")
    versioned = max_version is not None and tuple(max_version) >= _VERSION
    if to_host:
        view, where = array.get(), (_CPU, 0)
    else:
        # NumPy makes the capsule, of an array whose memory nobody reads; only the device is not its own.
        lent = array.copy("K") if copy else array
        view = exported_on_host(lent)
        if where[0] == _CUDA:
            _let_wait(registry.holder(lent.storage.value.buffer), stream)
    if array.code in LOW:
        view = view.view(f"u{array.itemsize}")
    capsule = view.__dlpack__(max_version=_VERSION) if versioned else view.__dlpack__()
    managed = _managed(capsule)[1]
    if array.code in LOW:
        managed.tensor.type_code = _LOW_TO_DLPACK[array.code]
    managed.tensor.device_type, managed.tensor.device_id = where
    if versioned and (copy or to_host):
        managed.flags |= _COPIED
    return capsule


def _let_wait(device: Any, stream: Any) -> None:
    """Let work on a consumer's stream wait for that of a device.

    The legacy default stream (None, 1), which is a GPU's own, and the per-thread one (2) are ordered by CUDA itself.
    """
    if stream == 0:
        raise ValueError("stream 0 is ambiguous: DLPack's number of the legacy default stream is 1")
    if stream == -1:
        return
    if gpu_of(device) is not device:
        gpu_of(device).follow(device)
    if stream not in (None, 1, 2):
        with registry.on(device):
            device.order(device.stream, stream)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array over the memory of another library's array, shared where the device can see it.

    Parameters
    ----------
    x : object
        Anything with ``__dlpack__`` and ``__dlpack_device__``.
    device : optional
        The device of the result; by default that of the memory where arrays can live there, else the current one.
    copy : bool, optional
        True copies, False raises where a copy is needed.

    Returns
    -------
    ndarray
        Read-only where the other array is.

    Raises
    ------
    BufferError
        If the memory cannot be shared or copied.
    """
    if device is not None:
        if type(x) is ndarray:
            x = moved(x, device, copy)
        elif (other := another(device)) is not None:
            return made_on(other, from_dlpack, x, copy=copy)
    if type(x) is ndarray:
        given: Any = x
        return given.copy("K") if copy else view_of(x, x.offset, x.shape, x.strides)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"{type(x).__name__} has no __dlpack__: it cannot be shared")
    kind, number = (int(part) for part in x.__dlpack_device__())
    here, index = registry.current().dlpack
    if here == _CUDA and kind in (_CUDA, _MANAGED):
        if kind == _CUDA and number != index:
            if device is not None:
                return made_on(registry.get(f"cuda:{number}"), from_dlpack, x).to_device(device)
            return made_on(registry.get(f"cuda:{number}"), from_dlpack, x, copy=copy)
        # Stream 1 is the legacy default one, on which all of our work is: the exporter orders its own before it.
        array = _from_capsule(x, stream=1)
    elif here == _CPU and kind in (_CPU, _PINNED, _MANAGED):
        try:
            array = _from_host_memory(np.from_dlpack(x))
        except (BufferError, RuntimeError):  # NumPy knows neither bfloat16 nor float8.
            array = _from_capsule(x)
    elif copy is False:
        raise BufferError(f"the memory of {type(x).__name__} lies on a device that arrays here cannot share")
    else:
        return from_host(_copied_to_host(x, kind))
    return array.copy("K") if copy else array


def _copied_to_host(x: Any, kind: int) -> Host:
    """Another library's array on the host: it copies the values itself where they lie on a device."""
    if kind in (_CPU, _PINNED, _MANAGED):
        return np.from_dlpack(x)
    try:
        return np.from_dlpack(x, device="cpu")  # type: ignore[call-arg]
    except (TypeError, ValueError) as error:
        raise BufferError(
            f"the memory of {type(x).__name__} lies on a device and it does not copy it: {error}"
        ) from None


def _from_host_memory(host: Host) -> Array:
    """An array over the memory of a NumPy array, on a device that is the host."""
    data, read_only = host.__array_interface__["data"]
    array = over(data, host.dtype, host.shape, host.strides, host)
    array.writeable = not read_only
    return array


class _Consumed:
    """A DLPack tensor taken over from its capsule; given back when the last user lets go."""

    def __init__(self, capsule: Any) -> None:
        self.address = 0  # It is not ours yet.
        name, self.managed = _managed(capsule)
        versioned = name == b"dltensor_versioned"
        if versioned and self.managed.major > _VERSION[0]:
            # The capsule keeps the memory, whose further layout nobody here knows.
            raise BufferError("the array was exported by a newer DLPack than version 1")
        self.read_only = versioned and bool(self.managed.flags & _READ_ONLY)
        address = _capsule_pointer(capsule, name)
        _capsule_rename(capsule, _USED[name])
        self.address = address

    def __del__(self) -> None:
        if getattr(self, "address", 0) and self.managed.deleter:
            _DELETER(self.managed.deleter)(self.address)


def _from_capsule(x: Any, **stream: int) -> Array:
    """An array over memory behind a DLPack capsule."""
    try:
        capsule = x.__dlpack__(**stream, max_version=_VERSION)
    except TypeError:  # Exporters of DLPack 0 know no versions, the plainest ones that stream only.
        try:
            capsule = x.__dlpack__(**stream)
        except TypeError:
            capsule = x.__dlpack__()
    consumed = _Consumed(capsule)
    tensor = consumed.managed.tensor
    char = _FROM_DLPACK.get((tensor.type_code, tensor.bits))
    if char is None or tensor.lanes != 1:
        raise TypeError(f"DLPack type code {tensor.type_code} of {tensor.bits} bits is not supported on the device")
    dtype = DTYPES[CHARS.index(char)]
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = (
        tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
        if tensor.strides
        else c_strides(shape, dtype.itemsize)
    )
    array = over((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, consumed)
    array.writeable = not consumed.read_only
    return array


def from_cuda_interface(x: Any) -> Array:
    """An array over the device memory that ``x.__cuda_array_interface__`` describes."""
    described = x.__cuda_array_interface__
    if described.get("mask") is not None:
        raise TypeError("arrays with a mask cannot be shared: give the values and the mask apart")
    dtype = np.dtype(described["typestr"])
    shape = tuple(described["shape"])
    strides = described.get("strides") or c_strides(shape, dtype.itemsize)
    stream = described.get("stream")
    if stream == 0:
        raise ValueError("stream 0 is ambiguous: the number of the legacy default stream is 1")
    if stream not in (None, 1, 2):
        device: Any = gpu_of(registry.current())
        device.order(stream, device.stream)
    array = over(described["data"][0] or 0, dtype, shape, tuple(strides), x)
    array.writeable = not described["data"][1]
    return array


def over(address: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], owner: Any) -> Array:
    """An array over foreign memory, pinned from the start, since others may write there."""
    code = code_of(dtype)
    if registry.current().discrete and 0 not in shape and any(at % dtype.itemsize for at in (address, *strides)):
        # An access of a GPU to such an address ends the process's work there for good.
        raise BufferError(f"the memory is not aligned: an address or a stride is no multiple of {dtype.itemsize} bytes")
    low, high = extent_of(Layout(0, shape, strides), dtype.itemsize)
    buffer = Buffer(address + low, high - low, None, owner)
    # The storage holds the whole stretch of memory as a vector, of which the array is a view: of bytes, if it is no
    # number of elements.
    unit = code if (high - low) % dtype.itemsize == 0 else U8
    array = wrap(build.leaf(buffer, unit, ((high - low) // ITEMSIZES[unit],), (ITEMSIZES[unit],)))
    pin_foreign(array.storage)
    result = view_of(array, -low, shape, strides)
    result.code = code
    return result


def host_numbers(value: Any, depth: int = 0) -> Any:
    """An argument of NumPy's that is no data: arrays of ours, also those in lists, as what NumPy has for them."""
    if type(value) is ndarray:
        return value.get()[()]
    if not isinstance(value, (list, tuple)):
        return value
    depth = deeper(depth)
    return [host_numbers(item, depth) for item in value]


def over_host(host: Host, base: Any) -> Array:
    """An array over memory of the host that `base` holds, read-only where NumPy may not write; on a GPU a copy.

    So is one of the other byte order, in which nothing is written, since the memory would not be.
    """
    if not host.size or not host.dtype.isnative or registry.current().discrete:
        result = from_host(host)
    else:
        result = over(host.__array_interface__["data"][0], host.dtype, host.shape, host.strides, host)
        result.base = base
    result.writeable = host.flags.writeable and host.dtype.isnative
    return result


def cuda_array_interface(array: Array) -> dict[str, Any]:
    """The array's ``__cuda_array_interface__``; its memory stays pinned for the life of the storage."""
    if device_at(array).dlpack[0] != _CUDA:
        raise AttributeError("'numloom.ndarray' object has no attribute '__cuda_array_interface__' on the CPU")
    storage: Storage = array.storage
    node = pin(storage)
    look.check((node,))
    if registry.several():
        _let_wait(registry.holder(node.buffer), 1)
    return {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (node.buffer.ptr + array.offset if array.size else 0, not _may_write(array)),
        "strides": None if is_c_contiguous(array.shape, array.strides, array.itemsize) else array.strides,
        "version": 3,
        "stream": 1,  # The legacy default stream: who reads the memory elsewhere waits for it.
    }


if finish_type is not None:
    # The former may be bound to something else later.
    finish_type(ndarray, ndarray.__array__, construct, about.__doc__)
else:
    ndarray.__doc__ = about.__doc__


bind(
    asarray=asarray,
    got=got,
    host_array=host_array,
    method___array_interface__=property(array_interface),
    method___cuda_array_interface__=property(cuda_array_interface),
    method___dlpack__=to_dlpack,
    method___dlpack_device__=dlpack_device,
    method_to_numpy=to_numpy,
    pickled=pickled,
    unpickle=unpickle,
)


__all__ = ["asarray", "asnumpy", "from_dlpack", "from_host", "from_number", "get_array_module"]
