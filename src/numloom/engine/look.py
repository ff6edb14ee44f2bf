"""The one door through which the host sees computed memory.

Whoever looks (`number`, `array`, `lend`, `wait`) ends what is being learned of calls, since what follows may depend on
the values; waits for what was launched; and is told what kernels found. Whoever only computes with memory on the host
(`operand`) is told as well. No other module of the package reads memory of a device (`tests/engine/test_look.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.base.dtypes import I64

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.device.cpu.hostview import array_at, number_at
from numloom.device.memory import Pool
from numloom.device.registry import beside, holder, many, on, several
from numloom.engine.state import counters, note_copy, watchers
from numloom.graph.layout import Layout, extent_of
from numloom.graph.replay import learning, lose
from numloom.graph.source_location import OUT_OF_BOUNDS, of

Host = np.ndarray[Any, Any]
_ALONE = 2
_BYTES = np.dtype(np.uint8)
_counters = counters
"""The same, found faster by what is compiled here."""


def is_near(buffer: Any) -> bool:
    """Whether the host sees this memory, and finds in it what was launched before."""
    pool = buffer.pool
    return pool is not None and pool.error_at != 0


def is_pool_near(pool: Pool) -> bool:
    """Whether the host sees memory of this pool."""
    return pool.error_at != 0


def is_shared(device: Any, buffer: Any) -> bool:
    """Whether `array` gives the memory itself, not a copy."""
    if several():
        device = holder(buffer)
    return is_near(buffer) or device.view(buffer) is not None


def number(device: Any, buffer: Any, offset: int, code: int) -> Any:
    """The Python number at a byte offset of memory that `is_near`."""
    lose()
    settle_near(holder(buffer) if several() else device, buffer.pool)
    return number_at(buffer.ptr + offset, code)


def put_number(value: Any, code: int, offset: int, number: Any) -> bool:
    """Store a Python number in memory of the host at once, if nobody but the caller's storage has that memory.

    Who has the value or its buffer keeps a reference to it, so these are counted: one of the storage, one of the caller
    (compiled code, which alone may ask).
    """
    buffer = value.buffer
    if not cython.compiled or buffer is None or buffer.owner is not None or not is_near(buffer):
        return False
    if Py_REFCNT(value) > _ALONE or Py_REFCNT(buffer) > _ALONE:  # type: ignore[name-defined]  # noqa: F821
        return False
    return put_number_at(buffer.ptr + offset, code, number)  # type: ignore[name-defined]  # noqa: F821


def read_bits(value: Any, code: int, offset: int, to: int) -> bool:
    """Copy the element at a byte offset of computed memory to an address, if the host sees it and no call is learned.

    For compiled code alone: the number needs no object.
    """
    buffer = value.buffer
    if not cython.compiled or value.code != code or value.attr is None or not is_quiet(buffer):
        return False
    return copy_element(to, buffer.ptr + offset, code)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def write_bits(value: Any, code: int, offset: int, number: int) -> bool:
    """`put_number` of the element at an address."""
    buffer = value.buffer
    if not cython.compiled or value.code != code or value.attr is None or not is_quiet(buffer):
        return False
    if buffer.owner is not None or type(value.attr) is np.ndarray:
        return False
    if Py_REFCNT(value) > _ALONE or Py_REFCNT(buffer) > _ALONE:  # type: ignore[name-defined]  # noqa: F821
        return False
    return copy_element(buffer.ptr + offset, number, code)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def is_quiet(buffer: Any) -> bool:
    """Whether memory `is_near`, no kernel has complained, and no call is learned that a look would end."""
    if buffer is None or learning():
        return False
    pool = buffer.pool
    return pool is not None and pool.error_at != 0 and not is_set(pool.error_at)  # type: ignore[name-defined]  # noqa: F821


def array(
    device: Any, buffer: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> Host:
    """Memory through a layout (bytes) on the host: itself where it `is_shared`, else a copy of what lies between."""
    lose()
    _counters.waits += 1
    return operand(device, buffer, offset, shape, strides, dtype)


def lend(
    device: Any, buffer: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any],
    owner: Any,
) -> Host:  # fmt: skip
    """Memory that the host sees as an array that others may keep, which keeps `owner`."""
    lose()
    if several():
        device = holder(buffer)
    if is_near(buffer):
        settle_near(device, buffer.pool)
    else:
        settle(device)
    return array_at(buffer.ptr + offset, shape, strides, dtype, owner)


def wait(device: Any) -> None:
    """Wait for all that was launched, and raise what it found."""
    _counters.waits += 1
    settle(device)


def operand(
    device: Any, buffer: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> Host:
    """`array` for who computes with it, and gives nobody what it saw."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if several():
        with on(holder(buffer)) as device:
            return _seen(device, buffer, offset, shape, strides, dtype)
    if many():
        device.enter()
    return _seen(device, buffer, offset, shape, strides, dtype)


def _seen(
    device: Any, buffer: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> Host:
    """`operand` of memory of this device."""
    if is_near(buffer):
        settle_near(device, buffer.pool)
        return array_at(buffer.ptr + offset, shape, strides, dtype, buffer)
    memory = device.view(buffer)
    if memory is not None:
        settle(device)
        return np.ndarray(shape, dtype, memory.data, offset, strides)
    low, high = extent_of(Layout(offset, shape, strides), dtype.itemsize)
    host = device.download(buffer, low, high - low)
    if watchers:
        note_copy(False, high - low)
    _raise_found(device, True)
    return np.ndarray(shape, dtype, host.data, offset - low, strides)


def carried(device: Any, buffer: Any) -> Host:
    """The bytes of a buffer for who moves it to other memory, and looks at none of them."""
    if is_near(buffer):
        return array_at(buffer.ptr, (buffer.nbytes,), (1,), _BYTES, buffer)
    if many():
        device.enter()
    return device.download(buffer, 0, buffer.nbytes)  # type: ignore[no-any-return]


def hand_on(device: Any, host: Any) -> None:
    """Have the host tell at its next look what kernels found on a device, whose work it has waited for."""
    error = device.take_error(waited=True)
    if error:
        host.complain(error)


def settle(device: Any) -> None:
    """Wait for the device, and raise what a kernel found since the last look."""
    if many():
        device.enter()
    device.synchronize()
    _raise_found(device, True)


def _is_word_set(address: int) -> bool:
    """Whether a word of the host is not 0."""
    if cython.compiled:  # Without a number of Python's.
        return is_set(address)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return number_at(address, I64) != 0


def settle_near(device: Any, pool: Pool | None) -> None:
    """Raise what a kernel found that has run, where the host sees that at once."""
    if pool is not None and pool.error_at and _is_word_set(pool.error_at):
        _raise_found(device, True, pool is not device.pool)


def settle_fault(device: Any, pool: Pool) -> None:
    """`settle_near` of faults alone: what ended a kernel, not what it complains of."""
    if pool.error_at and _is_word_set(pool.error_at) and number_at(pool.error_at, I64) < 0:
        _raise_found(device, False)


def _raise_found(device: Any, waited: bool, near: bool = False) -> None:
    """Raise what was found on the device, or on the host beside it (`near`: there first).

    What else was found until then is told with it: the second error of a call must not meet who looks at another value.
    """
    host = beside(device)
    error = 0 if near else device.take_error(waited=waited)
    if host is not None:
        error = host.take_error(waited=True) or error
        if near:
            device.take_error(waited=True)
    if error:
        location = of(error)
        if location is None:
            kind, text = OUT_OF_BOUNDS
            raise kind(text)
        raise location.error()


__all__ = [
    "array",
    "carried",
    "is_near",
    "is_shared",
    "lend",
    "number",
    "operand",
    "put_number",
    "read_bits",
    "settle",
    "settle_fault",
    "settle_near",
    "wait",
    "write_bits",
]
