"""Streams and events.

Within ``with stream:`` the work of arrays goes to that stream, and so do users' kernels that are given it; else it goes
to CUDA's legacy default stream. An array that another stream works on is waited for by itself (docs/design/devices.md).
What is asked of a stream starts what was recorded first. Streams of other libraries are ordered before and after the
work of arrays, which stays on ours. On the host work is done when it is started, so there streams keep order by
themselves and events take real times.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from numloom.base.errors import DeviceError
from numloom.base.integers import is_integer
from numloom.cuda.devices import backend, current_id, flush, gpu, on_gpu, release, wait
from numloom.device import registry
from numloom.device.cuda import driver
from numloom.device.ordering import gpu_of
from numloom.engine import look

LEGACY, PER_THREAD = 1, 2
"""CUDA's own numbers of the two default streams."""
_numbers = itertools.count(16)
_local = threading.local()
_HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_waiting: dict[int, Any] = {}
"""Functions that a GPU is to call."""
_done: set[int] = set()
"""Those that it has called: they are let go later, since code that runs must not be freed."""


class Event:
    """A point in the work of a stream.

    Parameters
    ----------
    block : bool
        Whether `synchronize` sleeps instead of spinning.
    disable_timing : bool
        Whether it goes without a time.
    interprocess : bool
        Taken for CuPy's sake; events are this process's own.

    Examples
    --------
    >>> import numloom as np
    >>> start, end = np.cuda.Event(), np.cuda.Event()
    >>> start.record()
    >>> y = np.arange(1000.0).sum()
    >>> end.record()
    >>> end.synchronize()
    >>> np.cuda.get_elapsed_time(start, end) > 0
    True
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("events of several processes are not there: use one process, or exchange files")
        self.timed = not disable_timing
        self.recorded: int | None = None
        self.ptr = 0
        if on_gpu():
            self.ptr = int(driver.call("cuEventCreate", int(block) | 2 * disable_timing, doing="making an event"))

    def __del__(self) -> None:
        if getattr(self, "ptr", 0):
            release("cuEventDestroy", self.ptr)

    def record(self, stream: Stream | None = None) -> None:
        """Let it stand for all work up to now, of arrays and of the stream (the current one by default)."""
        flush()
        if self.ptr:
            stream = stream or get_current_stream()
            stream._follow_arrays()
            driver.call("cuEventRecord", self.ptr, stream.ptr, doing="recording an event")
        self.recorded = time.perf_counter_ns()

    @property
    def done(self) -> bool:
        """Whether the work before it is done; True before it is recorded."""
        return not self.ptr or driver.bindings().cuEventQuery(self.ptr)[0] == 0

    def query(self) -> bool:
        """Whether the work before it is done; True before it is recorded."""
        return self.done

    def synchronize(self) -> None:
        """Wait for the work before it."""
        if self.ptr:
            driver.call("cuEventSynchronize", self.ptr, doing="waiting for an event")


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events that are done: by the GPU's clock, or by the host's without one.

    Raises
    ------
    ValueError
        If one was not recorded, or has no time.
    """
    for name, event in (("start", start_event), ("end", end_event)):
        if event.recorded is None or not event.timed:
            raise ValueError(f"the {name} event has no time: " + ("record it" if event.timed else "it disables timing"))
    if start_event.ptr:
        found = driver.call("cuEventElapsedTime", start_event.ptr, end_event.ptr, doing="timing")
        return float(found)
    assert start_event.recorded is not None and end_event.recorded is not None
    return (end_event.recorded - start_event.recorded) * 1e-6


class _StreamBase:
    """What all streams can do; `ptr` is the driver's handle."""

    ptr = 0
    device_id = -1
    lane: Any = None
    """A stream of ours as arrays see it (`numloom.device.registry.lane`)."""
    null: Stream
    ptds: Stream

    @property
    def is_non_blocking(self) -> bool:
        """Whether other libraries' work on the default stream does not order it."""
        if not on_gpu():
            return bool(getattr(self, "non_blocking", False))
        return bool(driver.call("cuStreamGetFlags", self.ptr) & 1)

    def __eq__(self, other: object) -> bool:
        return self.ptr == other.ptr if isinstance(other, _StreamBase) else NotImplemented

    def __hash__(self) -> int:
        return hash((_StreamBase, self.ptr))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    def use(self) -> Any:
        """Make it the current stream of this thread."""
        before = get_current_stream()
        if before.ptr != self.ptr:
            flush()  # What was recorded until now is the former stream's.
            before._follow_arrays()
            self._become_current()
            if self.lane is None:
                precede_arrays(self.ptr)
        _local.current = self
        return self

    def _become_current(self) -> None:
        """Have the work of arrays on this stream: its own, or the GPU's where it is another library's."""
        lane = self.lane
        if lane is None:
            here = registry.current()
            lane = gpu_of(here)
            if lane is here:
                return
            lane = None if lane is registry.home() else lane
        registry.choose(lane)

    def _follow_arrays(self) -> None:
        """Have later work of another library's stream after that of arrays."""
        if self.lane is None:
            follow_arrays(self.ptr)

    def __enter__(self) -> Any:
        if not hasattr(_local, "entered"):
            _local.entered = []
        _local.entered.append(get_current_stream())
        return self.use()

    def __exit__(self, kind: Any, *error: object) -> None:
        before = _local.entered.pop()
        if kind is None:
            before.use()
        else:
            before._become_current()  # What is recorded may be what failed: it runs when somebody looks.
            _local.current = before

    @property
    def done(self) -> bool:
        """Whether all of its work is done."""
        flush()
        if not on_gpu():
            return True
        query = driver.bindings().cuStreamQuery
        return query(self.ptr)[0] == 0 and (self.lane is not None or query(backend().stream)[0] == 0)

    def query(self) -> bool:
        """Whether all of its work is done."""
        return self.done

    def synchronize(self) -> None:
        """Wait for all of its work; of the default stream and of other libraries', also for all that of arrays."""
        if self.lane is not None:
            flush()
            with registry.on(self.lane) as lane:
                look.wait(lane)
            return
        wait()
        if on_gpu() and self.ptr not in (0, LEGACY):
            driver.call("cuStreamSynchronize", self.ptr, doing="waiting for a stream")

    def record(self, event: Event | None = None) -> Event:
        """Record an event (a new one by default) after the work up to now."""
        event = event or Event()
        event.record(self)  # type: ignore[arg-type]
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for an event; of another library's, also that of arrays."""
        flush()
        if on_gpu() and event.ptr:
            for handle in {self.ptr, self.ptr if self.lane is not None else backend().stream}:
                driver.call("cuStreamWaitEvent", handle, event.ptr, 0, doing="waiting for an event")

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any = None) -> None:
        """Have ``callback(arg)`` called when the work up to now is done; on a GPU it may not use the GPU."""
        flush()
        if not on_gpu():
            callback(arg)
            return
        self._follow_arrays()
        for number in [number for number in list(_waiting) if number in _done]:
            _waiting.pop(number, None)
            _done.discard(number)
        number = next(_numbers)

        def called(_: Any) -> None:
            try:
                callback(arg)
            finally:
                _done.add(number)

        function = _waiting[number] = _HostFunction(called)
        address = ctypes.cast(function, ctypes.c_void_p).value
        handle = driver.bindings().CUhostFn(address)
        driver.call("cuLaunchHostFunc", self.ptr, handle, 0, doing="queuing a host function")

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any = None) -> None:
        """Have ``callback(stream, status, arg)`` called when the work up to now is done."""
        self.launch_host_func(lambda given: callback(self, 0, given), arg)

    def begin_capture(self, mode: Any = None) -> None:
        """Refused: what repeats becomes a graph by itself."""
        raise NotImplementedError(
            "streams cannot be captured: arrays do not stay at the addresses that a captured graph repeats. Plans of "
            "several launches become CUDA graphs by themselves from their "
            "fourth run on, and numloom.compile keeps a function's whole work"
        )

    def end_capture(self) -> Any:
        """Refused, as `begin_capture`."""
        raise NotImplementedError("nothing is being captured: streams cannot be captured")

    def is_capturing(self) -> bool:
        """Whether launches are captured: never."""
        return False


class Stream(_StreamBase):
    """A queue of work.

    Parameters
    ----------
    null, ptds : bool
        The default stream, and the one of each thread, instead of a new one.
    non_blocking : bool
        Whether other libraries' work on the default stream does not order it.
    priority : int, optional
        Lower numbers go first.

    Notes
    -----
    ``numloom.cuda.Stream.null`` is the default stream. What is recorded within ``with stream:`` runs on the stream,
    with memory of its own, and so do kernels of users that are given ``stream=``. Two streams overlap where neither
    reads what the other computes; where one does, it waits, without an event of yours.

    Examples
    --------
    >>> import numloom as np
    >>> stream = np.cuda.Stream(non_blocking=True)
    >>> with stream:
    ...     y = np.arange(4) * 2
    >>> stream.synchronize()
    >>> stream.done
    True
    """

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        if null and ptds:
            raise ValueError("a stream is either the default one or the thread's: give null or ptds, not both")
        self.null_or_ptds = null or ptds
        self.non_blocking = bool(non_blocking)
        self.priority = 0 if priority is None else int(priority)
        if self.null_or_ptds:
            self.ptr = PER_THREAD if ptds else 0
            return
        self.device_id = current_id()
        if on_gpu():
            self.lane = registry.lane(gpu(), self.non_blocking, self.priority)
            self.ptr = self.lane.stream
        else:
            self.ptr = next(_numbers)

    def __del__(self) -> None:
        if self.lane is not None:
            self.lane.taken = False  # For the next one.

    @classmethod
    def from_external(cls, obj: Any) -> ExternalStream:
        """`numloom.cuda.from_external`."""
        return from_external(obj)


Stream.null = _StreamBase.null = Stream(null=True)
Stream.ptds = _StreamBase.ptds = Stream(ptds=True)


class ExternalStream(_StreamBase):
    """A stream of another library.

    Parameters
    ----------
    ptr : int
        Its handle.
    device_id : int
        Its device.
    """

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        self.ptr = int(ptr)
        self.device_id = device_id
        self._foreign_stream_ref: Any = None  # Whose stream it is, which must not go before.

    @property
    def priority(self) -> int:
        """Lower numbers go first; 0 without a GPU."""
        return int(driver.call("cuStreamGetPriority", self.ptr)) if on_gpu() else 0


def from_external(stream: Any) -> ExternalStream:
    """A stream of any library that has the method ``__cuda_stream__``, or the attribute ``cuda_stream`` or ``ptr``."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found = ExternalStream(_handle(stream, protocol() if callable(protocol) else protocol))
        found._foreign_stream_ref = stream
        return found
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return ExternalStream(int(getattr(stream, name)))
    raise TypeError(
        f"{type(stream).__name__} does not implement __cuda_stream__ and has no cuda_stream or ptr: it is no stream"
    )


def _handle(stream: Any, told: Any) -> int:
    """The handle in what a stream's ``__cuda_stream__`` tells: a version, which is 0, and a handle."""
    method = f"{type(stream).__name__}.__cuda_stream__"
    if not isinstance(told, tuple) or len(told) != 2:
        raise TypeError(f"{method} must return a 2-tuple of a version and a handle, got {told!r}")
    if not all(map(is_integer, told)):
        raise TypeError(f"{method} must return (int, int), got {told!r}")
    if told[0] != 0:
        raise TypeError(f"{method} is of an unsupported version: 0 is known, got {told[0]}")
    return int(told[1])


def get_current_stream(device_id: int | None = None) -> Any:
    """The current stream of this thread."""
    if device_id is not None and device_id != current_id():
        raise DeviceError(f"the current device is {current_id()}, not {device_id}")
    known = getattr(_local, "current", Stream.null)
    here = registry.current() if registry.several() else None
    lane: Any = None if here is None or gpu_of(here) is here else here
    if known.lane is lane:
        return known
    return Stream.null if lane is None else ExternalStream(lane.stream, lane.index)  # `Device` chose another device.


def follow_arrays(handle: int) -> None:
    """Let later work of a stream start after that of arrays up to now."""
    _order(None, handle)


def precede_arrays(handle: int) -> None:
    """Let later work of arrays start after that of a stream up to now."""
    _order(handle, None)


def _order(first: int | None, then: int | None) -> None:
    if on_gpu():
        device = backend()
        own = device.stream
        first, then = own if first is None else first, own if then is None else then
        defaults = (own, LEGACY)
        if first != then and not (first in defaults and then in defaults):
            device.order(first, then)


__all__ = ["Event", "ExternalStream", "Stream", "from_external", "get_current_stream", "get_elapsed_time"]
