"""Which device arrays live on: chosen at first use, by name or by what the machine has.

A process has one device until somebody asks for another one. From then on `several` holds: `current` is the device
that the thread has chosen (else the process's), and whoever touches memory asks whose it is (`holder`) and enters that
device (`on`). Who never asks for another device pays for none of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base import later
from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.base.forking import DEVICES, anew, lock
from numloom.device import ordering
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cuda import driver
from numloom.device.cuda.driver import FORKED, device_count, first_index
from numloom.device.interface import Backend
from numloom.device.null.backend import NullDevice
from numloom.device.ordering import gpu_of

_CUDA = "numloom.device.cuda.backend"
"""What knows GPUs: imported where the driver sees one."""
_devices: dict[str, Backend] = {}
_making = lock(DEVICES)
_current: Backend | None = None
_auto = config.placement == "auto" and not config.fast_math
_far: tuple[Any, Any] = (None, None)
"""The device that `beside` was last asked of, with the host beside it: one tuple, since threads ask of several."""
_mixed = False
_several = False
_apart = False
_many = False
_lanes: list[Any] = []
"""Streams beside each GPU's own, as devices with memory of their own (`lane`)."""
NOBODY: dict[Any, bool] = {}
_hosts: dict[Any, Backend] = {}
"""The host beside each GPU, whose memory is the GPU's as far as users see."""
_chosen = threading.local()
"""The device that a thread has chosen, or has entered for a while (`device`)."""
_before_change: list[Callable[[], None]] = []
_when_several: list[Callable[[], None]] = []


def _set_placement(**changed: Any) -> None:
    """Follow the settings; what is computed approximately on a GPU has other bits there."""
    global _auto, _far
    _auto = changed.get("placement", config.placement) == "auto" and not changed.get("fast_math", config.fast_math)
    _far = (None, None)


config.listen("placement", lambda value: _set_placement(placement=value))
config.listen("fast_math", lambda value: _set_placement(fast_math=value))


def current() -> Backend:
    """The device that new arrays live on: the one that this thread has chosen, else the process's.

    At first use that is what ``config.device`` says; ``auto`` is the GPU where a driver and a GPU
    are there, else the CPU.
    """
    if _several:
        return _of_thread()
    return _current if _current is not None else use(config.device).device


def _of_thread() -> Backend:
    chosen: Backend | None = getattr(_chosen, "device", None)
    if chosen is not None:
        return chosen
    return _current if _current is not None else use(config.device).device


def home() -> Backend:
    """The process's device, whichever the thread has chosen."""
    return _current if _current is not None else current()


def several() -> bool:
    """Whether memory of more than one device may be alive, so that whoever touches memory must ask whose it is."""
    return _several


def apart() -> bool:
    """Whether these may be different devices, not only streams of one: then each value is asked where it belongs."""
    return _apart


def many() -> bool:
    """Whether the machine has several GPUs, so that other libraries may leave another one current in a thread."""
    return _many


def holder(buffer: Any) -> Backend:
    """Whose memory this is. (What lies on the host beside a GPU is that GPU's.)"""
    pool = buffer.pool
    for device in _devices.values():
        if isinstance(device, Forked):
            continue
        if pool is None:
            if device.discrete and device.holds(buffer.ptr):
                return device
        elif device.pool is pool:
            return device
    for lane in tuple(_lanes):
        if lane.pool is pool:
            return lane  # type: ignore[no-any-return]
    for device, host in _hosts.items():
        if host.pool is pool:
            return host if device is None else device
    if pool is None or pool.error_at:  # The host's: also what a parent process had there.
        return get("cpu")
    left: Any = Forked()
    return left


def in_use() -> list[Backend]:
    """The devices that this process has made, and may use."""
    return [device for device in (*_devices.values(), *_lanes) if not isinstance(device, (Forked, NullDevice))]


def passing() -> Backend:
    """The host, for what comes with a call and belongs to no device yet."""
    return _hosts.get(None) or _make_host(None)


def placed(device: Any) -> Any:
    """Where work on a device's memory goes: to this thread's stream, if that is one of the device's."""
    here = current()
    return here if gpu_of(here) is gpu_of(device) else device


def lane(device: Any, *kind: Any) -> Any:
    """A stream beside a GPU's own, as a device: one of this `kind` that nobody has any more, or a new one.

    It has its own memory (taken from the GPU's pool), plans and handles of libraries; all else is the GPU's. Streams
    are not given back to the driver, since memory that was used on one may be in use there.
    """
    with _making:
        for one in lanes_of(device):
            if not one.taken and one.kind == kind:
                break
        else:
            one = device.lane(*kind)
            one.kind = kind
            device.pool.recall = partial(trim_lanes, device)
            _lanes.append(one)
        one.taken = True
        return one


def lanes_of(device: Any) -> list[Any]:
    """The streams beside a GPU's own."""
    return [one for one in tuple(_lanes) if one.gpu is device]


def has_lanes() -> bool:
    """Whether a GPU has more than its own stream."""
    return bool(_lanes)


def lane_at(handle: int) -> Any:
    """The stream with the driver's handle; None if it is none of ours."""
    for one in tuple(_lanes):
        if one.stream == handle:
            return one
    return None


def trim_lanes(device: Any) -> bool:
    """Give what streams keep of a GPU's memory back to it; whether there was any."""
    before = device.pool.used
    for one in lanes_of(device):
        one.pool.trim()
    return bool(device.pool.used < before)


class on:
    """Work of this thread goes to a device for the length of a ``with`` block.

    It comes after what the `lenders`, other streams of the same GPU whose memory is used, have done to it; and what
    they do afterwards, so also whoever gets that memory next, comes after it (`numloom.device.ordering`).
    """

    __slots__ = ("before", "device", "lenders", "outer")

    def __init__(self, device: Backend, lenders: Mapping[Any, bool] = NOBODY) -> None:
        self.device = device
        self.lenders = dict(lenders)

    def __enter__(self) -> Backend:
        device: Any = self.device
        device.make_current()
        self.before, self.outer = getattr(_chosen, "device", None), getattr(_chosen, "within", None)
        _chosen.device, _chosen.within = device, self
        device.touched = True
        for lender, writes in self.lenders.items():
            ordering.before(device, lender, writes)
        return self.device

    def __exit__(self, *error: object) -> None:
        outer = _chosen.within = self.outer
        _chosen.device = self.before
        device: Any = self.device
        device.touched = True
        for lender, writes in self.lenders.items():
            ordering.after(device, lender, writes)
        if outer is not None:
            outer.device.touched = True  # By what it does from now on.
            if device in outer.lenders:
                ordering.before(outer.device, device, outer.lenders[device])  # It may have changed what was lent.
        if self.device.discrete:
            current().make_current()


def entered(device: Any, lenders: Mapping[Any, bool]) -> on | None:
    """What to enter for work on a device with memory of `lenders`; None where this thread has entered that already."""
    if device is current():
        within = getattr(_chosen, "within", None)
        inside = (
            within is not None
            and within.device is device
            and all([within.lenders.get(lender, -1) >= writes for lender, writes in lenders.items()])
        )
        if inside or not _lanes:
            device.make_current()
            return None
    return on(device, lenders)


def take_turn(device: Any) -> None:
    """Have work that begins now, on memory that is all the device's own, be on it, and known to other streams."""
    device.make_current()
    device.touched = True


def borrow(lender: Any) -> bool:
    """Use another stream's memory in the block that this thread has entered; False if it has entered none."""
    within = getattr(_chosen, "within", None)
    if within is None or within.device is not current():
        return False
    if lender not in within.lenders:
        within.lenders[lender] = True
        ordering.before(within.device, lender, True)
    return True


def choose(device: Backend | None) -> Backend | None:
    """Have this thread work on a device from now on (None: on the process's); the one that it had chosen before."""
    before: Backend | None = getattr(_chosen, "device", None)
    if device is not None:
        include(device)
    _chosen.device = device
    if _several:
        current().make_current()
    return before


def include(device: Backend) -> None:
    """Be prepared for memory of this device beside that of the current one."""
    if device is not current():
        _become_several(gpu_of(device) is not home())


def _become_several(are_apart: bool = True) -> None:
    global _several, _apart
    if not _several or (are_apart and not _apart):
        _several, _apart = True, _apart or are_apart
        for tell in _when_several:
            tell()


def before_change(function: Callable[[], None]) -> None:
    """Call this before the process's device becomes another one."""
    _before_change.append(function)


def when_several(function: Callable[[], None]) -> None:
    """Call this when there is more than one device, or one alone again."""
    _when_several.append(function)


def get(name: str) -> Backend:
    """The device `name` ("auto", "cpu", "cuda", "cuda:N" or "null"), made at first use.

    Raises
    ------
    DeviceError
        If it cannot be used here; the message says why and what would help.
    """
    if name == "auto":
        name = "cuda" if missing("cuda") is None else "cpu"
    if name[:4] == "cuda":
        name = _one_name(name)
    device = _devices.get(name)
    if device is None:
        with _making:  # Arrays of two devices of one name would each be strange to the other.
            device = _devices.get(name)
            if device is None:
                why = missing(name)
                if why is not None:
                    raise DeviceError(f"device {name!r} cannot be used: {why}")
                device = _devices[name] = _make(name)
    return device


def _one_name(name: str) -> str:
    """The name under which this GPU is known: "cuda:0" and "cuda" may be one."""
    index = name[5:]
    used = {getattr(device, "index", 0): known for known, device in _devices.items() if known[:4] == "cuda"}
    if not index:
        return next(iter(used.values()), name)
    if index.isdigit():
        return used.get(int(index)) or ("cuda" if int(index) == first_index() and not used else name)
    return name


def gpu_count() -> int:
    """How many GPUs can be used here."""
    return 0 if missing("cuda") is not None else device_count()


def is_chosen() -> bool:
    """Whether arrays have a device already; until then `current` makes one."""
    return _current is not None


def beside(device: Backend) -> Backend | None:
    """The host as a device, where small work of `device` may run; None of a device that is the host's.

    Only compiled code runs work that is not planned, and `config.placement` may want all on the device.
    """
    global _far, _mixed
    far = _far
    if far[0] is not device:
        device = gpu_of(device)
        usable = cython.compiled and _auto and not isinstance(device, Forked) and device.discrete
        host = (_hosts.get(device) or _make_host(device)) if usable else None
        far = _far = (device, host)
        _mixed = _mixed or host is not None
    return far[1]


def _make_host(device: Backend | None) -> Backend:
    with _making:
        return _hosts.setdefault(device, CpuDevice())


def is_mixed() -> bool:
    """Whether values of a GPU may lie in memory of the host: some device had that `beside` it."""
    return _mixed


def missing(name: str) -> str | None:
    """None where device `name` can be used, else a sentence that says what is missing and the cure."""
    kind = name.partition(":")[0]
    if kind == "cuda":
        return driver.missing() or _cuda_device().missing()  # type: ignore[no-any-return]
    backend: Any = CpuDevice if kind == "cpu" else NullDevice
    reason: str | None = backend.missing()
    return reason


def _cuda_device() -> Any:
    return later.load(_CUDA).CudaDevice


def _make(name: str) -> Backend:
    global _many
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return CpuDevice()
    if kind == "null":
        return NullDevice()
    if kind == "cuda":
        _many = device_count() > 1
        return _cuda_device()(int(index)) if index else _cuda_device()()  # type: ignore[no-any-return]
    raise DeviceError(f"there is no device {name!r}; there are auto, cpu, cuda, cuda:N and null")


class use:
    """Make `name` the current device, for good or for a ``with`` block.

    Examples
    --------
    >>> with use("null") as device:
    ...     device.name
    'null'
    """

    def __init__(self, name: str) -> None:
        self.device = get(name)
        self._before = _current
        _become(self.device)

    def __enter__(self) -> Backend:
        return self.device

    def __exit__(self, *error: object) -> None:
        _become(self._before)


def _become(device: Backend | None) -> None:
    """Have a device as the process's, and this thread's."""
    global _current
    if device is not _current and _current is not None:
        if not isinstance(_current, Forked):
            for act in _before_change:
                act()  # What is recorded runs where it was recorded.
        _current = device
        count_devices()
    _current = device
    _chosen.device = None
    if _several and device is not None:
        device.make_current()


def count_devices() -> None:
    """Have `several` by what is in use: a device that nobody has memory of any more counts for nothing."""
    global _several, _apart
    before = _several, _apart
    others = [*_devices.values(), *_lanes, *[host for device, host in _hosts.items() if device not in (None, _current)]]
    used = [] if isinstance(_current, NullDevice) else [one for one in others if one is not _current and _is_used(one)]
    _several = bool(used)
    _apart = any([gpu_of(one) is not _current for one in used])
    if before != (_several, _apart):
        for tell in _when_several:
            tell()


def _is_used(device: Backend) -> bool:
    """Whether somebody has memory of a device."""
    if isinstance(device, (Forked, NullDevice)):
        return isinstance(device, Forked)
    return device.pool.used > 0 or getattr(device, "taken", False)


class Forked:
    """What a GPU that its parent uses is in a forked process: whatever is asked of it says so."""

    name, discrete, dlpack = "cuda", True, (2, 0)

    @property
    def gpu(self) -> Any:
        """Itself: it has no streams."""
        return self

    def __getattr__(self, name: str) -> Any:
        raise DeviceError(FORKED)


def _leave_behind() -> None:
    """In a forked process, use no GPU that was in use."""
    global _current, _far, _several, _apart
    _far = (None, None)
    _chosen.device = None
    _chosen.within = None
    _hosts.clear()
    _lanes.clear()
    for name, device in _devices.items():
        if isinstance(device, Forked) or device.discrete:
            left: Any = Forked()
            _current = left if device is _current else _current
            _devices[name] = left
            _several = _apart = True


anew(_leave_behind)


def _switch(name: str) -> None:
    """Follow an assignment to ``config.device``."""
    use(name)


def _limit(nbytes: int) -> None:
    """Follow an assignment to ``config.memory_limit``."""
    for device in (*_devices.values(), *_hosts.values()):
        if isinstance(device, Forked):
            continue
        pool = getattr(device, "pool", None)
        if pool is not None:
            pool.limit = nbytes


config.listen("device", _switch)
config.listen("memory_limit", _limit)
