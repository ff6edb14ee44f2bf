"""CUDA arrays, texture and surface objects of the GPU."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from numloom.device.cuda import driver
from numloom.device.cuda.module import order
from numloom.device.interface import Image, Sampling, Texels

_FORMATS = {
    "u1": "UNSIGNED_INT8", "u2": "UNSIGNED_INT16", "u4": "UNSIGNED_INT32", "i1": "SIGNED_INT8", "i2": "SIGNED_INT16",
    "i4": "SIGNED_INT32", "f2": "HALF", "f4": "FLOAT",
}  # fmt: skip
_READ_AS_INTEGER, _NORMALIZED_COORDINATES, _SRGB = 1, 2, 16


def _format(dtype: np.dtype[Any]) -> Any:
    return getattr(driver.bindings().CUarray_format, f"CU_AD_FORMAT_{_FORMATS[dtype.str[1:]]}")


def _ours() -> bool:
    """Whether the process still has the GPU that its objects were made on."""
    return not driver.state.lost and os.getpid() == driver.state.process


class CudaImage:
    """A CUDA array; see `numloom.device.interface.Image`."""

    def __init__(self, device: Any, texels: Texels, flags: int) -> None:
        bindings = driver.bindings()
        described = bindings.CUDA_ARRAY3D_DESCRIPTOR()
        described.Format = _format(texels.dtype)
        described.NumChannels = texels.channels
        described.Width, described.Height, described.Depth = self._extent(texels, 0)
        described.Flags = flags
        self.device = device
        self.texels = texels
        self.handle = None
        size = " x ".join(map(str, texels.extent))
        self.handle = driver.call("cuArray3DCreate", described, doing=f"making a CUDA array of {size} elements")

    @staticmethod
    def _extent(texels: Texels, absent: int) -> tuple[int, int, int]:
        """Width, height and depth; layers are a depth also where there is no height."""
        width, *others = texels.extent
        height, depth = (*others, absent, absent)[:2]
        return (width, absent, height) if texels.layered and len(others) == 1 else (width, height, depth)

    def write(self, address: int, stream: int | None = None) -> None:
        self._copy(address, stream, to_array=True)

    def read(self, address: int, stream: int | None = None) -> None:
        self._copy(address, stream, to_array=False)

    def _copy(self, address: int, stream: int | None, *, to_array: bool) -> None:
        bindings = driver.bindings()
        texels = self.texels
        width, height, depth = self._extent(texels, 1)
        copy = bindings.CUDA_MEMCPY3D()
        linear, array = ("src", "dst") if to_array else ("dst", "src")
        setattr(copy, f"{linear}MemoryType", bindings.CUmemorytype.CU_MEMORYTYPE_DEVICE)
        setattr(copy, f"{linear}Device", bindings.CUdeviceptr(address))
        setattr(copy, f"{linear}Pitch", texels.pitch)
        setattr(copy, f"{linear}Height", height)
        setattr(copy, f"{array}MemoryType", bindings.CUmemorytype.CU_MEMORYTYPE_ARRAY)
        setattr(copy, f"{array}Array", self.handle)
        copy.WidthInBytes, copy.Height, copy.Depth = width * texels.channels * texels.dtype.itemsize, height, depth
        own = self.device.stream
        stream = own if stream is None else stream
        if self.device.has_lanes:  # Nobody says which streams' kernels use the image, or computed what is copied.
            driver.call("cuCtxSynchronize", doing="waiting for all streams")
        if stream != own:
            order(own, stream)
        driver.call("cuMemcpy3DAsync", copy, stream, doing="copying a CUDA array")
        if stream != own:
            order(stream, own)
        if self.device.has_lanes:
            driver.call("cuCtxSynchronize", doing="waiting for all streams")

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None and driver is not None and _ours():
            driver.bindings().cuStreamSynchronize(self.device.stream)  # kernels may still read it
            driver.bindings().cuArrayDestroy(self.handle)


class CudaHandle:
    """A texture or surface object; see `numloom.device.interface.Handle`."""

    def __init__(self, device: Any, made: Any, memory: Any, destroy: str) -> None:
        self.value = int(made)
        self._device = device
        self._memory = memory
        self._destroy = destroy

    def __del__(self) -> None:
        if hasattr(self, "_destroy") and driver is not None and _ours():
            bindings = driver.bindings()
            bindings.cuStreamSynchronize(self._device.stream)
            getattr(bindings, self._destroy)(self.value)


def texture_object(device: Any, memory: Image | int, texels: Texels, sampling: Sampling) -> CudaHandle:
    """`numloom.device.interface.Backend.texture` of a GPU."""
    bindings = driver.bindings()
    resource = bindings.CUDA_RESOURCE_DESC()
    kinds = bindings.CUresourcetype
    if not isinstance(memory, int):
        resource.resType = kinds.CU_RESOURCE_TYPE_ARRAY
        resource.res.array.hArray = memory.handle  # type: ignore[attr-defined]
    else:
        alignment = driver.attribute(device.device, "TEXTURE_ALIGNMENT")
        if memory % alignment:
            raise ValueError(
                f"a texture over an array needs memory that begins at a multiple of {alignment} bytes on this GPU, "
                f"this array's begins {memory % alignment} bytes later: pass a copy, or make a CUDAarray of it"
            )
        if len(texels.extent) == 1:
            resource.resType = kinds.CU_RESOURCE_TYPE_LINEAR
            into = resource.res.linear
            into.sizeInBytes = texels.pitch
        else:
            resource.resType = kinds.CU_RESOURCE_TYPE_PITCH2D
            into = resource.res.pitch2D
            into.width, into.height = texels.extent
            into.pitchInBytes = texels.pitch
        into.devPtr = bindings.CUdeviceptr(memory)
        into.format = _format(texels.dtype)
        into.numChannels = texels.channels
    how = bindings.CUDA_TEXTURE_DESC()
    how.addressMode = [bindings.CUaddress_mode(mode) for mode in sampling.address]
    how.filterMode = bindings.CUfilter_mode(int(sampling.linear))
    how.maxAnisotropy = sampling.anisotropy
    how.borderColor = list(sampling.border)
    integers = texels.dtype.kind in "ui" and not sampling.as_float
    how.flags = (
        _READ_AS_INTEGER * integers + _NORMALIZED_COORDINATES * sampling.normalized + _SRGB * sampling.srgb
    )  # fmt: skip
    made = driver.call("cuTexObjectCreate", resource, how, None, doing="making a texture object")
    return CudaHandle(device, made, memory, "cuTexObjectDestroy")


def surface_object(device: Any, image: Image) -> CudaHandle:
    """`numloom.device.interface.Backend.surface` of a GPU."""
    bindings = driver.bindings()
    resource = bindings.CUDA_RESOURCE_DESC()
    resource.resType = bindings.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    resource.res.array.hArray = image.handle  # type: ignore[attr-defined]
    made = driver.call("cuSurfObjectCreate", resource, doing="making a surface object")
    return CudaHandle(device, made, image, "cuSurfObjectDestroy")
