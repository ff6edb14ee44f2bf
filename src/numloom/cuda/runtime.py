"""The few functions of CUDA's runtime that programs call themselves, by CuPy's names (``numloom.cuda.runtime``).

Without a GPU they speak of the host: one device, whose work is done in order.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from numloom.base.errors import DeviceError
from numloom.cuda import devices
from numloom.cuda.handles import (
    deviceGetLimit,
    deviceSetLimit,
    eventCreate,
    eventCreateWithFlags,
    eventDestroy,
    eventElapsedTime,
    eventQuery,
    eventRecord,
    eventSynchronize,
    freeAsync,
    hostRegister,
    hostUnregister,
    launchHostFunc,
    mallocAsync,
    of_host,
    streamAddCallback,
    streamCreate,
    streamCreateWithFlags,
    streamCreateWithPriority,
    streamDestroy,
    streamGetFlags,
    streamGetPriority,
    streamIsCapturing,
    streamQuery,
    streamWaitEvent,
)
from numloom.device.cpu import memory as host_memory
from numloom.device.cuda import driver
from numloom.device.memory import Buffer

CUDARuntimeError = DeviceError
"""What a call that fails raises."""

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)
streamDefault, streamNonBlocking = 0, 1
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4
memAttachGlobal = 1
cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat = 0, 1, 2
cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D = range(4)
cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder = range(4)
cudaFilterModePoint, cudaFilterModeLinear = 0, 1
cudaReadModeElementType, cudaReadModeNormalizedFloat = 0, 1
is_hip = False

cudaDevAttrMaxThreadsPerBlock, cudaDevAttrMaxSharedMemoryPerBlock = 1, 8
cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ = 2, 3, 4
cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ = 5, 6, 7
cudaDevAttrTotalConstantMemory, cudaDevAttrWarpSize, cudaDevAttrMaxRegistersPerBlock = 9, 10, 12
cudaDevAttrClockRate, cudaDevAttrMultiProcessorCount, cudaDevAttrIntegrated = 13, 16, 18
cudaDevAttrConcurrentKernels, cudaDevAttrEccEnabled = 31, 32
cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth, cudaDevAttrL2CacheSize = 36, 37, 38
cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrAsyncEngineCount, cudaDevAttrUnifiedAddressing = 39, 40, 41
cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor = 75, 76
cudaDevAttrMaxSharedMemoryPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor = 81, 82
cudaDevAttrManagedMemory, cudaDevAttrCooperativeLaunch, cudaDevAttrMaxSharedMemoryPerBlockOptin = 83, 95, 97

_OF_HOST = {
    cudaDevAttrMaxThreadsPerBlock: 1024, cudaDevAttrMaxSharedMemoryPerBlock: 48 << 10, cudaDevAttrWarpSize: 32,
    cudaDevAttrMaxBlockDimX: 1024, cudaDevAttrMaxBlockDimY: 1024, cudaDevAttrMaxBlockDimZ: 64,
    cudaDevAttrMaxGridDimX: 2**31 - 1, cudaDevAttrMaxGridDimY: 65535, cudaDevAttrMaxGridDimZ: 65535,
    cudaDevAttrIntegrated: 1, cudaDevAttrUnifiedAddressing: 1, cudaDevAttrManagedMemory: 1,
    cudaDevAttrComputeCapabilityMajor: 0, cudaDevAttrComputeCapabilityMinor: 0, cudaDevAttrCooperativeLaunch: 1,
    cudaDevAttrConcurrentKernels: 0, cudaDevAttrAsyncEngineCount: 0,
}  # fmt: skip
"""What is true of kernels on the host."""


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


def deviceGetAttribute(attrib: int, device: int) -> int:
    """An attribute of a device, such as `cudaDevAttrMultiProcessorCount`; of the host those that mean something there.

    Raises
    ------
    ValueError
        If the host has no such attribute.

    Examples
    --------
    >>> from numloom.cuda import runtime
    >>> runtime.deviceGetAttribute(runtime.cudaDevAttrWarpSize, 0)
    32
    """
    devices.Device(device)
    if devices.on_gpu():
        which = driver.bindings().CUdevice_attribute(attrib)
        return int(driver.call("cuDeviceGetAttribute", which, driver.call("cuDeviceGet", device)))
    if attrib == cudaDevAttrMultiProcessorCount:
        return os.cpu_count() or 1
    if attrib not in _OF_HOST:
        raise ValueError(f"the host has no attribute {attrib}: it is one of GPUs")
    return _OF_HOST[attrib]


_PROPERTIES = {
    "asyncEngineCount": "AsyncEngineCount", "canMapHostMemory": "CanMapHostMemory", "clockRate": "ClockRate",
    "concurrentKernels": "ConcurrentKernels", "cooperativeLaunch": "CooperativeLaunch", "ECCEnabled": "EccEnabled",
    "integrated": "Integrated", "l2CacheSize": "L2CacheSize", "managedMemory": "ManagedMemory",
    "maxThreadsPerMultiProcessor": "MaxThreadsPerMultiprocessor", "memoryBusWidth": "GlobalMemoryBusWidth",
    "memoryClockRate": "MemoryClockRate", "pciBusID": "PciBusId", "pciDeviceID": "PciDeviceId",
    "pciDomainID": "PciDomainId", "regsPerBlock": "MaxRegistersPerBlock",
    "regsPerMultiprocessor": "MaxRegistersPerMultiprocessor",
    "sharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin",
    "sharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor", "totalConstMem": "TotalConstantMemory",
    "unifiedAddressing": "UnifiedAddressing",
}  # fmt: skip
"""Properties of GPUs by the attributes that say the same."""


def getDeviceProperties(device: int) -> dict[str, Any]:
    """What is known of a device, by CUDA's names: of a GPU more than of the host."""
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
        "maxThreadsDim": tuple(attributes.get(f"MaxBlockDim{axis}", most) for axis, most in _MOST_THREADS),
        "maxGridSize": tuple(attributes.get(f"MaxGridDim{axis}", most) for axis, most in _MOST_BLOCKS),
        "warpSize": attributes.get("WarpSize", 32),
        "sharedMemPerBlock": attributes.get("MaxSharedMemoryPerBlock", 48 << 10),
        **{name: attributes[key] for name, key in _PROPERTIES.items() if key in attributes},
    }


_MOST_THREADS = (("X", 1024), ("Y", 1024), ("Z", 64))
_MOST_BLOCKS = (("X", 2**31 - 1), ("Y", 65535), ("Z", 65535))


def deviceGetPCIBusId(device: int) -> str:
    """Where a GPU sits; empty of the host."""
    return devices.Device(device).pci_bus_id


def deviceGetByPCIBusId(pci_bus_id: str) -> int:
    """The number of the GPU that sits there."""
    return devices.Device.from_pci_bus_id(pci_bus_id).id


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Whether one device can read another's memory."""
    several = devices.on_gpu() and device != peerDevice
    return int(driver.call("cuDeviceCanAccessPeer", device, peerDevice)) if several else 0


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


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    """`memset`, in the order of the work of arrays whatever the stream."""
    memset(ptr, value, size)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    """Copy `size` bytes from a device to another."""
    memcpy(dst, src, size, memcpyDefault)


def memcpyPeerAsync(dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int) -> None:
    """`memcpyPeer`, which is done on return whatever the stream."""
    memcpy(dst, src, size, memcpyDefault)


def malloc(size: int) -> int:
    """The address of `size` bytes of the device, which `free` gives back.

    Examples
    --------
    >>> from numloom.cuda import runtime
    >>> address = runtime.malloc(64)
    >>> runtime.memset(address, 0, 64)
    >>> runtime.free(address)
    """
    if devices.on_gpu():
        return int(driver.call("cuMemAlloc", max(int(size), 1), doing="allocating memory"))
    return of_host(size)


def mallocManaged(size: int, flags: int = memAttachGlobal) -> int:
    """The address of `size` bytes that host and GPU both see, which `free` gives back."""
    if devices.on_gpu():
        return int(driver.call("cuMemAllocManaged", max(int(size), 1), flags, doing="allocating managed memory"))
    return of_host(size)


def free(ptr: int) -> None:
    """Give back what `malloc` or `mallocManaged` gave, when the work up to now is done."""
    devices.wait()
    if devices.on_gpu():
        driver.call("cuMemFree", ptr)
    elif ptr:
        host_memory.free(ptr, 0)


def hostAlloc(size: int, flags: int) -> int:
    """The address of `size` bytes of pinned memory of the host, which `freeHost` gives back."""
    if devices.on_gpu():
        return int(driver.call("cuMemHostAlloc", max(int(size), 1), flags, doing="allocating pinned memory"))
    return of_host(size)


def freeHost(ptr: int) -> None:
    """Give back what `hostAlloc` gave."""
    devices.wait()
    if devices.on_gpu():
        driver.call("cuMemFreeHost", ptr)
    elif ptr:
        host_memory.free(ptr, 0)


def profilerStart() -> None:
    """Have a profiler begin to record; nothing without a GPU."""
    if devices.on_gpu():
        driver.call("cuProfilerStart")


def profilerStop() -> None:
    """Have a profiler stop recording; nothing without a GPU."""
    if devices.on_gpu():
        driver.call("cuProfilerStop")


__all__ = [
    "CUDARuntimeError", "deviceCanAccessPeer", "deviceGetAttribute", "deviceGetByPCIBusId", "deviceGetLimit",
    "deviceGetPCIBusId", "deviceSetLimit", "deviceSynchronize", "driverGetVersion", "eventBlockingSync",
    "eventCreate", "eventCreateWithFlags", "eventDefault", "eventDestroy", "eventDisableTiming", "eventElapsedTime",
    "eventInterprocess", "eventQuery", "eventRecord", "eventSynchronize", "free", "freeAsync", "freeHost",
    "getDevice", "getDeviceCount", "getDeviceProperties", "hostAlloc", "hostAllocDefault", "hostAllocMapped",
    "hostAllocPortable", "hostAllocWriteCombined", "hostRegister", "hostUnregister", "is_hip", "launchHostFunc",
    "malloc", "mallocAsync", "mallocManaged", "memAttachGlobal", "memGetInfo", "memcpy", "memcpyAsync",
    "memcpyDefault", "memcpyDeviceToDevice", "memcpyDeviceToHost", "memcpyHostToDevice", "memcpyHostToHost",
    "memcpyPeer", "memcpyPeerAsync", "memset", "memsetAsync", "profilerStart", "profilerStop", "runtimeGetVersion",
    "setDevice", "streamAddCallback", "streamCreate", "streamCreateWithFlags", "streamCreateWithPriority",
    "streamDefault", "streamDestroy", "streamGetFlags", "streamGetPriority", "streamIsCapturing", "streamNonBlocking",
    "streamQuery", "streamSynchronize", "streamWaitEvent",
]  # fmt: skip
