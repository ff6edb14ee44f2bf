"""Memory and handles of textures on the host; the fetching is ``include/numloom_texture.hpp``."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from numloom.device.interface import Image, Sampling, Texels
from numloom.device.memory import Pool

TEXTURE, SURFACE = 0x6E6C746578747572, 0x6E6C737572666163
KINDS = "uif"
_LAYERED, _CUBEMAP = 1, 4


class Described(ctypes.Structure):
    """``Described`` of numloom_texture.hpp."""

    _fields_ = [
        ("what", ctypes.c_uint64), ("data", ctypes.c_uint64), ("extent", ctypes.c_int64 * 3),
        ("pitch", ctypes.c_int64), ("slice", ctypes.c_int64),
        ("kind", ctypes.c_int), ("bytes", ctypes.c_int), ("channels", ctypes.c_int),
        ("dimensions", ctypes.c_int), ("layered", ctypes.c_int), ("fetched", ctypes.c_int),
        ("address", ctypes.c_int * 3),
        ("linear", ctypes.c_int), ("as_float", ctypes.c_int), ("normalized", ctypes.c_int), ("srgb", ctypes.c_int),
        ("border", ctypes.c_float * 4),
    ]  # fmt: skip


class CpuImage:
    """Ordinary memory, in C order; see `numloom.device.interface.Image`."""

    def __init__(self, pool: Pool, texels: Texels, flags: int) -> None:
        if flags & _CUBEMAP:
            raise NotImplementedError("cubemaps are there on a GPU only")
        self.texels = texels
        self.nbytes = math.prod(texels.extent) * texels.channels * texels.dtype.itemsize
        self.buffer = pool.allocate(self.nbytes)
        ctypes.memset(self.buffer.ptr, 0, self.nbytes)

    def write(self, address: int, stream: int | None = None) -> None:
        ctypes.memmove(self.buffer.ptr, address, self.nbytes)

    def read(self, address: int, stream: int | None = None) -> None:
        ctypes.memmove(address, self.buffer.ptr, self.nbytes)


class CpuHandle:
    """The address of a description; see `numloom.device.interface.Handle`."""

    def __init__(self, described: Described, memory: Any) -> None:
        self.value = ctypes.addressof(described)
        self._described = described
        self._memory = memory

    def __del__(self) -> None:
        described = getattr(self, "_described", None)
        if described is not None:
            described.what = 0  # a kernel that still gets the handle is told so, while the memory is not used again


def _described(what: int, address: int, texels: Texels) -> Described:
    extent = (*texels.extent, 1, 1)[:3]
    return Described(
        what, address, extent, texels.pitch, texels.pitch * extent[1],
        KINDS.index(texels.dtype.kind), texels.dtype.itemsize, texels.channels,
        len(texels.extent) - texels.layered, texels.layered,
    )  # fmt: skip


def texture_object(memory: Image | int, texels: Texels, sampling: Sampling) -> CpuHandle:
    """`numloom.device.interface.Backend.texture` of the host."""
    described = _described(TEXTURE, memory if isinstance(memory, int) else memory.buffer.ptr, texels)  # type: ignore[attr-defined]
    described.fetched = isinstance(memory, int) and len(texels.extent) == 1
    described.address = sampling.address
    described.linear = sampling.linear
    described.as_float = sampling.as_float
    described.normalized = sampling.normalized
    described.srgb = sampling.srgb
    described.border = sampling.border
    return CpuHandle(described, memory)


def surface_object(image: Image) -> CpuHandle:
    """`numloom.device.interface.Backend.surface` of the host."""
    return CpuHandle(_described(SURFACE, image.buffer.ptr, image.texels), image)  # type: ignore[attr-defined]
