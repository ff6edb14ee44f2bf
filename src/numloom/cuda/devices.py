"""Devices by their numbers, as CuPy's users know them. Without a GPU the host is device 0, and the same code runs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from functools import total_ordering
from typing import Any

from numloom.api.running import evaluate
from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.cpu.memory import total
from numloom.device.cuda import driver
from numloom.device.ordering import gpu_of
from numloom.engine import look
from numloom.engine.evaluate import synchronize

_CUDA = 2
"""DLPack's number of memory that a GPU has."""


def backend() -> Any:
    """The device that arrays live on, as the backend's own object."""
    return registry.current()


def gpu() -> Any:
    """`backend` without regard to the current stream: whose pool it is that all streams take their memory from."""
    return gpu_of(registry.current())


def on_gpu() -> bool:
    """Whether arrays live on a GPU."""
    return bool(backend().dlpack[0] == _CUDA)


def is_available() -> bool:
    """Whether a GPU can be used here. (Streams, events and pools work without one, too.)

    Examples
    --------
    >>> import numloom as np
    >>> np.cuda.is_available() in (True, False)
    True
    """
    return registry.missing("cuda") is None


def device_count() -> int:
    """How many devices there are: GPUs where arrays live on one, else the host alone."""
    return driver.device_count() if _will_be_on_gpu() else 1


def _will_be_on_gpu() -> bool:
    """`on_gpu`, but a process that has not begun does not take a GPU by asking."""
    if registry.is_chosen():
        return on_gpu()
    return config.device[:4] in ("auto", "cuda") and is_available()


def release(function: str, handle: int, *more: Any) -> None:
    """Give something back to the driver when its last reference goes, which may be when all is over."""
    if not sys.is_finalizing() and not driver.state.lost and os.getpid() == driver.state.process:
        getattr(driver.bindings(), function)(handle, *more)


def flush() -> None:
    """Start everything that is recorded, so that what is asked of a stream follows it."""
    evaluate()


def wait() -> None:
    """Run everything that is recorded and wait for it."""
    synchronize()


@total_ordering
class Device:
    """A device by its number.

    Parameters
    ----------
    device : int or Device, optional
        The number; the current device's by default.

    Attributes
    ----------
    id : int
        The number.

    Notes
    -----
    The current device is a thread's: `use` chooses it for good, a ``with`` block for its length. New arrays lie on it;
    work on arrays runs where they lie, whichever device is current, and arrays of two devices are brought together by
    `numloom.ndarray.to_device`. Without a GPU there is device 0, which is the host.

    Examples
    --------
    >>> import numloom as np
    >>> device = np.cuda.Device()
    >>> with device:
    ...     x = np.arange(3).sum()
    >>> device.synchronize()
    >>> device == np.cuda.Device(device.id)
    True
    """

    id: int

    def __init__(self, device: int | Device | None = None) -> None:
        if device is None:
            self.id = current_id()
            return
        self.id = int(device.id if isinstance(device, Device) else device)
        count = device_count()
        if not 0 <= self.id < count:
            raise DeviceError(f"there is no device {self.id}: the numbers here are 0 to {count - 1}")

    @classmethod
    def from_pci_bus_id(cls, pci_bus_id: str) -> Device:
        """The GPU that sits there (`pci_bus_id`)."""
        for number in range(device_count()):
            found = cls(number)
            if found.pci_bus_id.lower() == pci_bus_id.lower():
                return found
        raise DeviceError(f"no device sits at {pci_bus_id!r}")

    def __int__(self) -> int:
        return self.id

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Device) else NotImplemented

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash((Device, self.id))

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>" if on_gpu() else f"<Device {self.id}: the host>"

    def use(self) -> None:
        """Make it the current device of this thread; of the process, if that has none yet."""
        if not registry.is_chosen():
            registry.use(self._name())
        elif self.id != current_id():
            registry.choose(registry.get(self._name()))

    def _name(self) -> str:
        return f"cuda:{self.id}" if _will_be_on_gpu() else "cpu"

    def _here(self) -> Any:
        """What to enter for work on this device."""
        if self.id == current_id():
            return nullcontext()
        device = registry.get(self._name())
        registry.include(device)
        return registry.on(device)

    def __enter__(self) -> Device:
        if not registry.is_chosen():
            registry.use(self._name())
        _entered().append(registry.choose(registry.get(self._name())))
        return self

    def __exit__(self, *error: object) -> None:
        registry.choose(_entered().pop())

    def synchronize(self) -> None:
        """Run everything that is recorded and wait for what this device does."""
        flush()
        with self._here():
            here = gpu()
            look.wait(here)
            for stream in registry.lanes_of(here):
                with registry.on(stream):
                    look.wait(stream)

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of the device's memory."""
        with self._here():
            return memory_info()

    @property
    def compute_capability(self) -> str:
        """Such as ``"90"``; ``"00"`` of the host, which has none."""
        if not on_gpu():
            return "00"
        handle = driver.call("cuDeviceGet", self.id)
        parts = [driver.attribute(handle, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR")]
        return "".join(map(str, parts))

    @property
    def name(self) -> str:
        """What the maker calls it; of the host, "cpu"."""
        if not on_gpu():
            return str(backend().name)
        found = driver.call("cuDeviceGetName", 256, driver.call("cuDeviceGet", self.id))
        return str(found.decode(errors="replace").rstrip("\0 "))

    @property
    def pci_bus_id(self) -> str:
        """Where a GPU sits; empty of the host."""
        if not on_gpu():
            return ""
        return str(driver.call("cuDeviceGetPCIBusId", 32, self.id).split(b"\0")[0].decode())

    @property
    def attributes(self) -> Mapping[str, int]:
        """CUDA's attributes of the device by CuPy's names, such as ``MultiProcessorCount``; few of the host."""
        if not on_gpu():
            count = os.cpu_count() or 1
            return {"MultiProcessorCount": count, "MaxThreadsPerBlock": 1024, "WarpSize": 32, "UnifiedAddressing": 1}
        handle = driver.call("cuDeviceGet", self.id)
        found = {}
        start = "CU_DEVICE_ATTRIBUTE_"
        for which in driver.bindings().CUdevice_attribute:
            code, value = driver.bindings().cuDeviceGetAttribute(which, handle)
            if not code and which.name.startswith(start):
                words = which.name.removeprefix(start).split("_")
                found["".join(map(_capital, words))] = int(value)
        found.setdefault("MultiProcessorCount", found.get("MultiprocessorCount", 0))
        return found


def _capital(word: str) -> str:
    return word.capitalize()


_local = threading.local()


def _entered() -> list[Any]:
    """What this thread had chosen before the devices that its ``with`` blocks have entered; None where nothing."""
    if not hasattr(_local, "entered"):
        _local.entered = []
    return _local.entered  # type: ignore[no-any-return]


def current_id() -> int:
    """The current device's number."""
    if not registry.is_chosen():
        return int(config.device[5:] or driver.first_index()) if _will_be_on_gpu() else 0
    return int(getattr(backend(), "index", 0))


def get_device_id() -> int:
    """The current device's number."""
    return current_id()


def get_compute_capability() -> str:
    """The current device's, such as ``"90"``."""
    return Device().compute_capability


def total_memory() -> int:
    """Bytes of the device's memory."""
    return int(getattr(backend(), "total_memory", 0)) or total()


def memory_info() -> tuple[int, int]:
    """Free and total bytes of the device's memory."""
    device = backend()
    if hasattr(device, "memory_info"):
        free, whole = device.memory_info()
        return int(free), int(whole)
    whole = total()
    try:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        free = whole
    return min(free, whole), whole


__all__ = ["Device", "get_compute_capability", "get_device_id", "is_available"]
