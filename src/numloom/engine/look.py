"""The one door through which the host sees computed memory.

Whoever looks (`number`, `array`, `lend`, `wait`) ends what is being learned of calls, since what follows may depend on
the values; waits for what was launched; and is told what kernels found. Whoever only computes with memory on the host
(`operand`) is told as well. No other module of the package reads memory of a device (`tests/engine/test_look.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from numloom.base.dtypes import I64

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.device.complaints import Found, take
from numloom.device.cpu.hostview import array_at, number_at
from numloom.device.memory import Pool
from numloom.device.registry import beside, holder, many, on, several
from numloom.engine.doubts import begin, conclude, doubt_of, error_of, hear, tell, tell_all
from numloom.engine.state import counters, note_copy, watchers
from numloom.graph.again import learning, lose
from numloom.graph.layout import Layout, extent_of
from numloom.graph.node import VIEW

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
        settle(device, buffer)
    return array_at(buffer.ptr + offset, shape, strides, dtype, owner)


def wait(device: Any) -> None:
    """Wait for all that was launched, and raise what it found."""
    _counters.waits += 1
    if many():
        device.enter()
    hear(device)
    _raise_on_host(device)
    tell_all()


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
        settle(device, buffer)
        return np.ndarray(shape, dtype, memory.data, offset, strides)
    low, high = extent_of(Layout(offset, shape, strides), dtype.itemsize)
    waiting = begin(device)
    host = device.download(buffer, low, high - low)
    if watchers:
        note_copy(False, high - low)
    conclude(device, waiting)
    _raise_on_host(device)
    tell(device, buffer)
    return np.ndarray(shape, dtype, host.data, offset - low, strides)


def carried(device: Any, buffer: Any) -> Host:
    """The bytes of a buffer for who moves it to other memory, and looks at none of them but at what is wrong there."""
    if is_near(buffer):
        return array_at(buffer.ptr, (buffer.nbytes,), (1,), _BYTES, buffer)
    if many():
        device.enter()
    if buffer.doubt is not None:
        settle(device, buffer)
    return device.download(buffer, 0, buffer.nbytes)  # type: ignore[no-any-return]


def check(nodes: Iterable[Any]) -> None:
    """Wait for what is in doubt of computed values, and raise what was found wrong: before others see them."""
    for node in nodes:
        buffer = (node.args[0] if node.kind == VIEW else node).buffer
        if buffer is not None and doubt_of(buffer) is not None:
            settle(holder(buffer), buffer)


def settle(device: Any, buffer: Any) -> None:
    """Wait for the device, and raise what its kernels found wrong of what lies in some memory."""
    if many():
        device.enter()
    hear(device)
    _raise_on_host(device)
    tell(device, buffer)


def _is_word_set(address: int) -> bool:
    """Whether a word of the host is not 0."""
    if cython.compiled:  # Without a number of Python's.
        return is_set(address)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return number_at(address, I64) != 0


def settle_near(device: Any, pool: Pool | None) -> None:
    """Raise what a kernel found that has run, where the host sees that at once."""
    if pool is not None and pool.error_at and _is_word_set(pool.error_at):
        near = device if pool is device.pool else beside(device)
        if near is None:  # Memory of the host from before a fork, say: nobody else takes what stands there.
            _raise_first(take(pool.error_at))
        else:
            _raise_found(near)


def settle_fault(device: Any, pool: Pool) -> None:
    """`settle_near` of faults alone: what ended a kernel, not what it complains of."""
    if pool.error_at and _is_word_set(pool.error_at) and number_at(pool.error_at, I64) < 0:
        _raise_found(device)


def _raise_on_host(device: Any) -> None:
    """Raise what kernels found that ran on the host beside a device."""
    host = beside(device)
    if host is not None and _is_word_set(host.pool.error_at):
        _raise_found(host)


def _raise_found(host: Any) -> None:
    """Raise what kernels of the host found: the values that they were to compute are pending."""
    _raise_first(host.take_complaints())


def _raise_first(found: list[Found]) -> None:
    """Raise the first of what was found, if anything was."""
    if found:
        raise error_of(found[0])


__all__ = [
    "array",
    "carried",
    "check",
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
