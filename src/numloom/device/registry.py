"""Which device arrays live on: chosen at first use, by name or by what the machine has.

A process has one device until somebody asks for another one. From then on `several` holds: `current` is the device
that the thread has chosen (else the process's), and whoever touches memory asks whose it is (`holder`) and enters that
device (`on`). Who never asks for another device pays for none of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.base.forking import DEVICES, anew, lock
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cuda.driver import FORKED, device_count, first_index
from numloom.device.interface import Backend
from numloom.device.null.backend import NullDevice

try:
    from numloom.device.cuda.backend import CudaDevice
except ImportError:
    CudaDevice = None  # type: ignore[assignment, misc]

_devices: dict[str, Backend] = {}
_making = lock(DEVICES)
_current: Backend | None = None
_auto = config.placement == "auto" and not config.fast_math
_far: tuple[Any, Any] = (None, None)
"""The device that `beside` was last asked of, with the host beside it: one tuple, since threads ask of several."""
_mixed = False
_several = False
_many = False
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
    for device, host in _hosts.items():
        if host.pool is pool:
            return host if device is None else device
    if pool is None or pool.error_at:  # The host's: also what a parent process had there.
        return get("cpu")
    left: Any = Forked()
    return left


def in_use() -> list[Backend]:
    """The devices that this process has made, and may use."""
    return [device for device in _devices.values() if not isinstance(device, (Forked, NullDevice))]


def passing() -> Backend:
    """The host, for what comes with a call and belongs to no device yet."""
    return _hosts.get(None) or _make_host(None)


class on:
    """Work of this thread goes to a device for the length of a ``with`` block."""

    __slots__ = ("before", "device")

    def __init__(self, device: Backend) -> None:
        self.device = device

    def __enter__(self) -> Backend:
        self.device.make_current()
        self.before = getattr(_chosen, "device", None)
        _chosen.device = self.device
        return self.device

    def __exit__(self, *error: object) -> None:
        _chosen.device = self.before
        if self.device.discrete:
            current().make_current()


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
        _become_several()


def _become_several() -> None:
    global _several
    if not _several:
        _several = True
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
    backend: Any = {"cpu": CpuDevice, "cuda": CudaDevice, "null": NullDevice}.get(kind, NullDevice)
    if backend is None:
        return "this build has no CUDA backend: reinstall numloom"
    reason: str | None = backend.missing()
    return reason


def _make(name: str) -> Backend:
    global _many
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return CpuDevice()
    if kind == "null":
        return NullDevice()
    if kind == "cuda" and CudaDevice is not None:
        _many = device_count() > 1
        return CudaDevice(int(index)) if index else CudaDevice()
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
    global _several
    before = _several
    others = [*_devices.values(), *[host for device, host in _hosts.items() if device not in (None, _current)]]
    _several = not isinstance(_current, NullDevice) and any([_is_used(one) for one in others if one is not _current])
    if before != _several:
        for tell in _when_several:
            tell()


def _is_used(device: Backend) -> bool:
    """Whether somebody has memory of a device."""
    return isinstance(device, Forked) or (not isinstance(device, NullDevice) and device.pool.used > 0)


class Forked:
    """What a GPU that its parent uses is in a forked process: whatever is asked of it says so."""

    name, discrete, dlpack = "cuda", True, (2, 0)

    def __getattr__(self, name: str) -> Any:
        raise DeviceError(FORKED)


def _leave_behind() -> None:
    """In a forked process, use no GPU that was in use."""
    global _current, _far, _several
    _far = (None, None)
    _chosen.device = None
    _hosts.clear()
    for name, device in _devices.items():
        if isinstance(device, Forked) or device.discrete:
            left: Any = Forked()
            _current = left if device is _current else _current
            _devices[name] = left
            _several = True


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
