"""Which device arrays live on: chosen at first use, by name or by what the machine has."""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.base.forking import DEVICES, anew, lock
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cuda.driver import FORKED, first_index, state
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


def _set_placement(**changed: Any) -> None:
    """Follow the settings; what is computed approximately on a GPU has other bits there."""
    global _auto, _far
    _auto = changed.get("placement", config.placement) == "auto" and not changed.get("fast_math", config.fast_math)
    _far = (None, None)


config.listen("placement", lambda value: _set_placement(placement=value))
config.listen("fast_math", lambda value: _set_placement(fast_math=value))


def current() -> Backend:
    """The device that new arrays live on.

    At first use it is what ``config.device`` says; ``auto`` is the GPU where a driver and a GPU
    are there, else the CPU.
    """
    return _current if _current is not None else use(config.device).device


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
    used = [known for known in _devices if known[:4] == "cuda"]
    if not index:
        return used[0] if used else name
    if index.isdigit() and int(index) == (state.index if used else first_index()):
        return used[0] if used else "cuda"
    return name


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
        host = get("cpu") if usable else None
        far = _far = (device, host if host is not device else None)
        _mixed = _mixed or far[1] is not None
    return far[1]


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
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return CpuDevice()
    if kind == "null":
        return NullDevice()
    if kind == "cuda" and CudaDevice is not None:
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
        global _current
        self.device = get(name)
        self._before = _current
        _current = self.device

    def __enter__(self) -> Backend:
        return self.device

    def __exit__(self, *error: object) -> None:
        global _current
        _current = self._before


class Forked:
    """What a GPU that its parent uses is in a forked process: whatever is asked of it says so."""

    def __getattr__(self, name: str) -> Any:
        raise DeviceError(FORKED)


def _leave_behind() -> None:
    """In a forked process, use no GPU that was in use."""
    global _current, _far
    _far = (None, None)
    for name, device in _devices.items():
        if isinstance(device, Forked) or device.discrete:
            left: Any = Forked()
            _current = left if device is _current else _current
            _devices[name] = left


anew(_leave_behind)


def _switch(name: str) -> None:
    """Follow an assignment to ``config.device``."""
    use(name)


def _limit(nbytes: int) -> None:
    """Follow an assignment to ``config.memory_limit``."""
    for device in _devices.values():
        if isinstance(device, Forked):
            continue
        pool = getattr(device, "pool", None)
        if pool is not None:
            pool.limit = nbytes


config.listen("device", _switch)
config.listen("memory_limit", _limit)
