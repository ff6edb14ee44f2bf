"""Streams, events and memory by their handles, as CUDA's runtime has them, over the classes of this package."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from numloom.cuda.devices import flush, on_gpu, wait
from numloom.cuda.streams import Event, ExternalStream, Stream, follow_arrays, get_elapsed_time
from numloom.device.cpu import memory as host_memory
from numloom.device.cuda import driver

_numbers = itertools.count(1 << 20)
"""Handles of events without a GPU."""
_events: dict[int, Event] = {}
_streams: dict[int, Stream] = {}
_BLOCKING, _UNTIMED, _INTERPROCESS, _NON_BLOCKING = 1, 2, 4, 1


def _event(handle: int) -> Event:
    if handle not in _events:
        raise ValueError(f"{handle} is no event that eventCreate made and eventDestroy has not ended")
    return _events[handle]


def _stream(handle: int) -> Any:
    """The stream of a handle: one that `streamCreate` made, the default one, or another library's."""
    return _streams.get(handle) or (Stream.null if handle == 0 else ExternalStream(handle))


def eventCreate() -> int:
    """The handle of a new event, which `eventDestroy` ends.

    Examples
    --------
    >>> from numloom.cuda import runtime
    >>> start, end = runtime.eventCreate(), runtime.eventCreate()
    >>> runtime.eventRecord(start, 0)
    >>> runtime.eventRecord(end, 0)
    >>> runtime.eventSynchronize(end)
    >>> runtime.eventElapsedTime(start, end) >= 0
    True
    >>> runtime.eventDestroy(start)
    >>> runtime.eventDestroy(end)
    """
    return eventCreateWithFlags(0)


def eventCreateWithFlags(flags: int) -> int:
    """The handle of a new event; `flags` are those of `eventBlockingSync` and its like."""
    event = Event(bool(flags & _BLOCKING), bool(flags & _UNTIMED), bool(flags & _INTERPROCESS))
    handle = event.ptr or next(_numbers)
    _events[handle] = event
    return handle


def eventDestroy(event: int) -> None:
    """End an event."""
    _event(event)
    del _events[event]


def eventRecord(event: int, stream: int) -> None:
    """Let it stand for all work of a stream, and of arrays, up to now."""
    _event(event).record(_stream(stream))


def eventSynchronize(event: int) -> None:
    """Wait for the work before it."""
    _event(event).synchronize()


def eventQuery(event: int) -> int:
    """0 if the work before it is done, else 600, CUDA's number of what is not ready."""
    return 0 if _event(event).done else 600


def eventElapsedTime(start: int, end: int) -> float:
    """Milliseconds between two events that are done."""
    return get_elapsed_time(_event(start), _event(end))


def streamCreate() -> int:
    """The handle of a new stream, which `streamDestroy` ends.

    Examples
    --------
    >>> from numloom.cuda import runtime
    >>> stream = runtime.streamCreate()
    >>> runtime.streamSynchronize(stream)
    >>> runtime.streamQuery(stream)
    0
    >>> runtime.streamDestroy(stream)
    """
    return streamCreateWithFlags(0)


def streamCreateWithFlags(flags: int) -> int:
    """The handle of a new stream; `flags` is `streamDefault` or `streamNonBlocking`."""
    return streamCreateWithPriority(flags, 0)


def streamCreateWithPriority(flags: int, priority: int) -> int:
    """The handle of a new stream of a priority: lower numbers go first."""
    stream = Stream(non_blocking=bool(flags & _NON_BLOCKING), priority=priority)
    _streams[int(stream.ptr)] = stream
    return int(stream.ptr)


def streamDestroy(stream: int) -> None:
    """End a stream when its work is done."""
    if stream not in _streams:
        raise ValueError(f"{stream} is no stream that streamCreate made and streamDestroy has not ended")
    _streams[stream].synchronize()
    del _streams[stream]


def streamQuery(stream: int) -> int:
    """0 if its work is done, else 600, CUDA's number of what is not ready."""
    return 0 if _stream(stream).done else 600


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    """Let later work of a stream wait for an event."""
    _stream(stream).wait_event(_event(event))


def streamGetFlags(stream: int) -> int:
    """`streamDefault` or `streamNonBlocking`."""
    return int(_stream(stream).is_non_blocking)


def streamGetPriority(stream: int) -> int:
    """Lower numbers go first."""
    return int(_stream(stream).priority)


def streamIsCapturing(stream: int) -> bool:
    """Whether launches are captured: never."""
    return False


def launchHostFunc(stream: int, callback: Callable[[Any], Any], arg: Any) -> None:
    """Have ``callback(arg)`` called when the work of a stream up to now is done."""
    _stream(stream).launch_host_func(callback, arg)


def streamAddCallback(stream: int, callback: Callable[[Any, int, Any], Any], arg: Any, flags: int = 0) -> None:
    """Have ``callback(stream, status, arg)`` called, with the handle, when the work of a stream up to now is done."""
    _stream(stream).launch_host_func(lambda given: callback(stream, 0, given), arg)


def mallocAsync(size: int, stream: int) -> int:
    """The address of `size` bytes in the order of a stream, which `freeAsync` gives back."""
    if on_gpu():
        return int(driver.call("cuMemAllocAsync", max(int(size), 1), stream, doing="allocating in stream order"))
    return of_host(size)


def freeAsync(ptr: int, stream: int) -> None:
    """Give back what `mallocAsync` gave, in the order of a stream, after the work of arrays up to now."""
    flush()
    if on_gpu():
        follow_arrays(stream)
        driver.call("cuMemFreeAsync", ptr, stream)
    elif ptr:
        host_memory.free(ptr, 0)


def hostRegister(ptr: int, size: int, flags: int) -> None:
    """Pin memory of the host, until `hostUnregister`; nothing without a GPU."""
    if on_gpu():
        driver.call("cuMemHostRegister", ptr, size, flags, doing="pinning memory")


def hostUnregister(ptr: int) -> None:
    """Let memory of the host go that `hostRegister` pinned."""
    wait()
    if on_gpu():
        driver.call("cuMemHostUnregister", ptr)


def deviceGetLimit(limit: int) -> int:
    """A limit of kernels by CUDA's number: 0 is bytes of the stack of a thread, 1 of what printf writes, 2 of malloc.

    Raises
    ------
    ValueError
        Without a GPU.
    """
    return int(driver.call("cuCtxGetLimit", _limit(limit)))


def deviceSetLimit(limit: int, value: int) -> None:
    """Set a limit of kernels; ValueError without a GPU."""
    driver.call("cuCtxSetLimit", _limit(limit), value)


def _limit(number: int) -> Any:
    if not on_gpu():
        raise ValueError("kernels on the host have no limits of CUDA's: stack and memory are the process's")
    return driver.bindings().CUlimit(number)


def of_host(size: int) -> int:
    """The address of `size` bytes of the host; MemoryError if there are none."""
    address = host_memory.allocate(max(int(size), 1))
    if not address:
        raise MemoryError(f"the host has no {size} bytes")
    return address


__all__ = [
    "deviceGetLimit", "deviceSetLimit", "eventCreate", "eventCreateWithFlags", "eventDestroy", "eventElapsedTime",
    "eventQuery", "eventRecord", "eventSynchronize", "freeAsync", "hostRegister", "hostUnregister", "launchHostFunc",
    "mallocAsync", "streamAddCallback", "streamCreate", "streamCreateWithFlags", "streamCreateWithPriority",
    "streamDestroy", "streamGetFlags", "streamGetPriority", "streamIsCapturing", "streamQuery", "streamWaitEvent",
]  # fmt: skip
