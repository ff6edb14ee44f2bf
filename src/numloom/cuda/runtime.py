"""The few functions of CUDA's runtime that programs call themselves, by CuPy's names (``numloom.cuda.runtime``).

Without a GPU they speak of the host: one device, whose work is done in order.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numloom.base.errors import DeviceError
from numloom.cuda import devices
from numloom.device.cuda import driver
from numloom.device.memory import Buffer

CUDARuntimeError = DeviceError
"""What a call that fails raises."""

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)
streamDefault, streamNonBlocking = 0, 1
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
is_hip = False


def getDeviceCount() -> int:
    """Number of devices; 1 without a GPU, since the host takes its place."""
    return devices.device_count()


def getDevice() -> int:
    """The current device's number."""
    return devices.current_id()


def setDevice(device: int) -> None:
    """Make a device the current one."""
    devices.Device(device).use()


def deviceSynchronize() -> None:
    """Run everything that is recorded and wait for it."""
    devices.wait()


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of the device's memory."""
    return devices.memory_info()


def driverGetVersion() -> int:
    """The driver's version (13020 is CUDA 13.2); 0 without a GPU."""
    return int(driver.call("cuDriverGetVersion")) if devices.on_gpu() else 0


def runtimeGetVersion() -> int:
    """The version of CUDA that kernels are compiled for: the driver's; 0 without a GPU."""
    return driverGetVersion()


def getDeviceProperties(device: int) -> dict[str, Any]:
    """What is known of a device, by CUDA's names as far as CuPy's programs ask for them."""
    found = devices.Device(device)
    attributes = found.attributes
    capability = found.compute_capability
    return {
        "name": found.name.encode(),
        "totalGlobalMem": devices.total_memory(),
        "major": int(capability[:-1]),
        "minor": int(capability[-1]),
        "multiProcessorCount": attributes.get("MultiProcessorCount", 0),
        "maxThreadsPerBlock": attributes.get("MaxThreadsPerBlock", 1024),
        "warpSize": attributes.get("WarpSize", 32),
        "sharedMemPerBlock": attributes.get("MaxSharedMemoryPerBlock", 48 << 10),
    }


def deviceCanAccessPeer(device: int, peer: int) -> int:
    """Whether one device can read another's memory."""
    return int(driver.call("cuDeviceCanAccessPeer", device, peer)) if devices.on_gpu() and device != peer else 0


def streamSynchronize(stream: int) -> None:
    """Wait for a stream, and for the work of arrays."""
    devices.wait()
    if devices.on_gpu() and stream:
        driver.call("cuStreamSynchronize", stream, doing="waiting for a stream")


def memcpy(dst: int, src: int, size: int, kind: int = memcpyDefault) -> None:
    """Copy `size` bytes between addresses; `kind` says which of them are the host's."""
    devices.wait()
    device = devices.backend()
    if not size:
        return
    if not devices.on_gpu() or kind == memcpyHostToHost:
        ctypes.memmove(dst, src, size)
    elif kind == memcpyHostToDevice:
        driver.call("cuMemcpyHtoD", dst, src, size, doing="copying to the GPU")
    elif kind == memcpyDeviceToHost:
        driver.call("cuMemcpyDtoH", dst, src, size, doing="copying from the GPU")
    elif kind == memcpyDeviceToDevice:
        device.copy(Buffer(dst, size), 0, Buffer(src, size), 0, size)
    else:
        driver.call("cuMemcpy", dst, src, size, doing="copying memory")


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """`memcpy`, which is done on return whatever the stream."""
    memcpy(dst, src, size, kind)


def memset(ptr: int, value: int, size: int) -> None:
    """Set `size` bytes to `value`."""
    devices.flush()
    if not devices.on_gpu():
        ctypes.memset(ptr, value, size)
    elif size:
        driver.call("cuMemsetD8Async", ptr, value & 0xFF, size, devices.backend().stream, doing="setting memory")


def profilerStart() -> None:
    """Have a profiler begin to record; nothing without a GPU."""
    if devices.on_gpu():
        driver.call("cuProfilerStart")


def profilerStop() -> None:
    """Have a profiler stop recording; nothing without a GPU."""
    if devices.on_gpu():
        driver.call("cuProfilerStop")


__all__ = [
    "CUDARuntimeError", "deviceCanAccessPeer", "deviceSynchronize", "driverGetVersion", "eventBlockingSync",
    "eventDefault", "eventDisableTiming", "eventInterprocess", "getDevice", "getDeviceCount", "getDeviceProperties",
    "is_hip", "memGetInfo", "memcpy", "memcpyAsync", "memcpyDefault", "memcpyDeviceToDevice", "memcpyDeviceToHost",
    "memcpyHostToDevice", "memcpyHostToHost", "memset", "profilerStart", "profilerStop", "runtimeGetVersion",
    "setDevice", "streamDefault", "streamNonBlocking", "streamSynchronize",
]  # fmt: skip
