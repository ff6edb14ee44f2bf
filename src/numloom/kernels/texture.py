"""Textures and surfaces for raw kernels: memory that a kernel reads between its elements and past its edges.

`Texture` makes one of an array; the other classes and the constants are CUDA's own, in CuPy's form.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, wrap
from numloom.array.storage import materialize, pin, unpin
from numloom.base.dtypes import code_of
from numloom.base.integers import as_integer
from numloom.device import registry
from numloom.device.interface import Handle, Image, Sampling, Texels
from numloom.engine import look
from numloom.graph.build import leaf
from numloom.graph.layout import c_strides
from numloom.kernels.raw import stream_handle

cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat = 0, 1, 2
cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D = range(4)
cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder = range(4)
cudaFilterModePoint, cudaFilterModeLinear = 0, 1
cudaReadModeElementType, cudaReadModeNormalizedFloat = 0, 1
cudaArrayDefault, cudaArrayLayered, cudaArraySurfaceLoadStore, cudaArrayCubemap, cudaArrayTextureGather = 0, 1, 2, 4, 8

PITCH_ALIGNMENT = 32
"""Of rows of linear memory that is read as a 2-D texture: what GPUs ask for."""
_KINDS = {cudaChannelFormatKindSigned: "i", cudaChannelFormatKindUnsigned: "u", cudaChannelFormatKindFloat: "f"}
_BITS = {"i": (8, 16, 32), "u": (8, 16, 32), "f": (16, 32)}
_ADDRESSES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_FILTERS = {"point": 0, "linear": 1}


class ChannelFormatDescriptor:
    """What an element is made of.

    Parameters
    ----------
    x, y, z, w : int
        Bits of the channels: 8, 16 or 32, the same for each of one, two or four channels, and 0 for the rest.
    f : int
        ``cudaChannelFormatKindSigned``, ``cudaChannelFormatKindUnsigned`` or ``cudaChannelFormatKindFloat``.
    """

    def __init__(self, x: int, y: int, z: int, w: int, f: int) -> None:
        bits = (x, y, z, w)
        channels = sum(1 for number in bits if number)
        kind = _KINDS.get(f)
        if kind is None:
            raise ValueError(f"the kind of a channel is 0 (signed), 1 (unsigned) or 2 (float), got {f!r}")
        if channels not in (1, 2, 4) or bits != (x,) * channels + (0,) * (4 - channels):
            raise ValueError(f"an element has one, two or four channels of the same bits, got {bits}")
        if x not in _BITS[kind]:
            name = {"i": "signed", "u": "unsigned", "f": "float"}[kind]
            raise ValueError(f"{name} channels have {' or '.join(map(str, _BITS[kind]))} bits, got {x}")
        self.bits = bits
        self.kind = f
        self.channels = channels
        self.dtype: np.dtype[Any] = np.dtype(f"{kind}{x // 8}")

    def get_channel_format(self) -> dict[str, int]:
        """The parameters by name."""
        return dict(zip("xyzw", self.bits, strict=True), f=self.kind)

    def __repr__(self) -> str:
        return f"<{self.channels} channel{'s' * (self.channels != 1)} of {self.dtype}>"


def _format_of(dtype: Any, channels: int) -> ChannelFormatDescriptor:
    """The format of arrays of a dtype."""
    dtype = np.dtype(dtype)
    kinds = {kind: number for number, kind in _KINDS.items()}
    bits = dtype.itemsize * 8
    if dtype.kind not in kinds or bits not in _BITS[dtype.kind]:
        raise TypeError(
            f"textures hold float16, float32 and integers of 8, 16 or 32 bits, got {dtype}: convert it with astype"
        )
    channels = as_integer(channels)
    if channels not in (1, 2, 4):
        raise ValueError(f"an element has 1, 2 or 4 channels, got {channels!r}")
    x, y, z, w = [bits] * channels + [0] * (4 - channels)
    return ChannelFormatDescriptor(x, y, z, w, kinds[dtype.kind])


class CUDAarray:
    """Memory laid out for textures and surfaces.

    Parameters
    ----------
    desc : ChannelFormatDescriptor
        Of the elements.
    width, height, depth : int
        Elements along x, y and z; 0 for axes that are not there. With ``cudaArrayLayered`` the depth counts layers.
    flags : int
        ``cudaArraySurfaceLoadStore`` for surfaces, ``cudaArrayLayered``.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom import texture
    >>> desc = texture.ChannelFormatDescriptor(32, 0, 0, 0, texture.cudaChannelFormatKindFloat)
    >>> memory = texture.CUDAarray(desc, 3, 2)
    >>> memory.copy_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    """

    def __init__(
        self, desc: ChannelFormatDescriptor, width: int, height: int = 0, depth: int = 0, flags: int = 0
    ) -> None:
        if not isinstance(desc, ChannelFormatDescriptor):
            raise TypeError(f"desc must be a ChannelFormatDescriptor, got {type(desc).__name__}")
        self.desc = desc
        self.width = _count(width, "width", 1)
        self.height = _count(height, "height")
        self.depth = _count(depth, "depth")
        self.flags = _count(flags, "flags")
        layered = bool(flags & cudaArrayLayered)
        if layered and not self.depth:
            raise ValueError("with cudaArrayLayered the depth is the number of layers, got 0")
        if self.depth and not self.height and not layered:
            raise ValueError(f"a depth of {self.depth} needs a height: 3-D is width, height, depth")
        extent = tuple(number for number in (self.width, self.height, self.depth) if number)
        self.ndim = len(extent) - layered
        row = self.width * desc.channels * desc.dtype.itemsize
        self._device = registry.current()
        self._image: Image = self._device.image(Texels(desc.dtype, desc.channels, extent, row, layered), self.flags)

    def __repr__(self) -> str:
        return f"<CUDAarray of {' x '.join(map(str, self._image.texels.extent))}, {self.desc!r}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of arrays that are copied from and to: depth (or layers), height, width and channels where there are any."""
        texels = self._image.texels
        return texels.extent[::-1] + ((texels.channels,) if texels.channels > 1 else ())

    def copy_from(self, in_arr: Any, stream: Any = None) -> None:
        """Take all elements from an array, of numloom or NumPy.

        Parameters
        ----------
        in_arr : array_like
            Of `shape` and of the dtype of the channels; the channels may also be merged into the width.
        stream : optional
            Where the copy is done; it is after numloom's earlier work and before its later work anyway.
        """
        array = asarray(in_arr, order="C")
        self._check(array)
        node = materialize(array.storage)
        self._image.write(node.buffer.ptr + array.offset, stream_handle(stream))

    def copy_to(self, out_arr: Any, stream: Any = None) -> None:
        """Give all elements to an array, of numloom or NumPy; parameters as of `copy_from`."""
        if not isinstance(out_arr, (ndarray, np.ndarray)):
            raise TypeError(f"copy_to takes an array to write to, got {type(out_arr).__name__}")
        self._check(out_arr)
        texels = self._image.texels
        buffer = self._device.allocate(math.prod(texels.extent) * texels.channels * texels.dtype.itemsize)
        self._image.read(buffer.ptr, stream_handle(stream))
        shape = tuple(out_arr.shape)
        strides = c_strides(shape, texels.dtype.itemsize)
        copied: Any = wrap(leaf(buffer, code_of(texels.dtype), shape, strides))
        out_arr[...] = copied.get() if isinstance(out_arr, np.ndarray) else copied

    def _check(self, array: Any) -> None:
        if registry.current() is not self._device:
            raise ValueError(f"the CUDAarray is on the device {self._device.name!r}, which is not the current one")
        shape, channels = self.shape, self.desc.channels
        merged = (*self._image.texels.extent[:0:-1], self.width * channels)
        if array.dtype != self.desc.dtype:
            raise TypeError(f"the CUDAarray holds {self.desc.dtype}, the array given has dtype {array.dtype}")
        if tuple(array.shape) not in (shape, merged):
            other = f" or {merged}" if merged != shape else ""
            raise ValueError(f"the CUDAarray takes arrays of shape {shape}{other}, got {tuple(array.shape)}")


class ResourceDescriptor:
    """What a texture or surface lies over.

    Parameters
    ----------
    restype : int
        ``cudaResourceTypeArray``, ``cudaResourceTypeLinear`` or ``cudaResourceTypePitch2D``.
    cuArr : CUDAarray
        The memory, for ``cudaResourceTypeArray``.
    arr : ndarray
        The memory otherwise: an array of numloom, dense in C order, which stays where it lies and which later writes
        change.
    chDesc : ChannelFormatDescriptor
        Of the elements of `arr`.
    sizeInBytes : int
        Of linear memory.
    width, height, pitchInBytes : int
        Of 2-D memory: elements of a row, rows, and bytes from row to row (a multiple of 32).
    """

    def __init__(
        self,
        restype: int,
        cuArr: CUDAarray | None = None,
        arr: Any = None,
        chDesc: ChannelFormatDescriptor | None = None,
        sizeInBytes: int = 0,
        width: int = 0,
        height: int = 0,
        pitchInBytes: int = 0,
    ) -> None:
        self.restype = restype
        self.cuArr = cuArr
        self.arr = arr
        self.chDesc = chDesc
        if restype == cudaResourceTypeMipmappedArray:
            raise NotImplementedError("mipmapped arrays are not there: use cudaResourceTypeArray")
        if restype == cudaResourceTypeArray:
            if not isinstance(cuArr, CUDAarray):
                raise TypeError(f"cudaResourceTypeArray takes cuArr, a CUDAarray; got {type(cuArr).__name__}")
            self._texels = cuArr._image.texels
            return
        if restype not in (cudaResourceTypeLinear, cudaResourceTypePitch2D):
            raise ValueError(f"restype is 0 (array), 2 (linear) or 3 (pitch2D), got {restype!r}")
        if type(arr) is not ndarray:
            raise TypeError(f"linear and 2-D memory takes arr, an array of numloom; got {type(arr).__name__}")
        if not isinstance(chDesc, ChannelFormatDescriptor):
            raise TypeError(f"linear and 2-D memory takes chDesc, a ChannelFormatDescriptor; got {chDesc!r}")
        if tuple(arr.strides) != c_strides(arr.shape, arr.itemsize):
            raise ValueError(f"arr must be dense in C order, got strides {arr.strides}: pass ascontiguousarray(arr)")
        element = chDesc.channels * chDesc.dtype.itemsize
        if restype == cudaResourceTypeLinear:
            nbytes = _count(sizeInBytes, "sizeInBytes", element)
            self._texels = Texels(chDesc.dtype, chDesc.channels, (nbytes // element,), nbytes)
        else:
            width, height = _count(width, "width", 1), _count(height, "height", 1)
            pitch = _count(pitchInBytes, "pitchInBytes", width * element)
            if pitch % PITCH_ALIGNMENT:
                raise ValueError(f"pitchInBytes must be a multiple of {PITCH_ALIGNMENT}, got {pitch}")
            nbytes = (height - 1) * pitch + width * element
            self._texels = Texels(chDesc.dtype, chDesc.channels, (width, height), pitch)
        if nbytes > arr.nbytes:
            raise ValueError(f"the texture would read {nbytes} bytes, arr has {arr.nbytes}")


class TextureDescriptor:
    """How a texture is read.

    Parameters
    ----------
    addressModes : sequence of int
        What is read outside, for x, y and z: ``cudaAddressModeWrap``, ``Clamp`` (the default), ``Mirror``, ``Border``.
        Without normalized coordinates CUDA takes wrap and mirror for clamp.
    filterMode : int
        ``cudaFilterModePoint`` or ``cudaFilterModeLinear``.
    readMode : int
        ``cudaReadModeElementType``, or ``cudaReadModeNormalizedFloat``: integers of 8 and 16 bits are read as numbers
        from 0 to 1 (signed ones from -1).
    sRGB : bool
        Whether the first three channels of such 8-bit numbers are converted from sRGB.
    borderColors : sequence of float
        Up to four channels of what is outside, with ``cudaAddressModeBorder``; zeros by default.
    normalizedCoords : bool
        Whether coordinates go from 0 to 1.
    maxAnisotropy : int
        As CUDA takes it.
    """

    def __init__(
        self,
        addressModes: Sequence[int] | None = None,
        filterMode: int = cudaFilterModePoint,
        readMode: int = cudaReadModeElementType,
        sRGB: bool | None = None,
        borderColors: Sequence[float] | None = None,
        normalizedCoords: bool | None = None,
        maxAnisotropy: int | None = None,
    ) -> None:
        modes = [addressModes] if isinstance(addressModes, int) else list(() if addressModes is None else addressModes)
        if len(modes) > 3 or any(mode not in range(4) for mode in modes):
            raise ValueError(
                f"addressModes are up to three of 0 (wrap), 1 (clamp), 2 (mirror), 3 (border); got {addressModes!r}"
            )
        if filterMode not in (0, 1):
            raise ValueError(f"filterMode is 0 (point) or 1 (linear), got {filterMode!r}")
        if readMode not in (0, 1):
            raise ValueError(f"readMode is 0 (element type) or 1 (normalized float), got {readMode!r}")
        border = [] if borderColors is None else [float(part) for part in borderColors]
        if len(border) > 4:
            raise ValueError(f"borderColors are up to four numbers, got {borderColors!r}")
        border += [0.0] * (4 - len(border))
        if len(modes) == 1:
            modes *= 3
        modes += [cudaAddressModeClamp] * (3 - len(modes))
        self.addressModes: tuple[int, int, int] = (modes[0], modes[1], modes[2])
        self.filterMode = filterMode
        self.readMode = readMode
        self.sRGB = bool(sRGB)
        self.borderColors: tuple[float, float, float, float] = (border[0], border[1], border[2], border[3])
        self.normalizedCoords = bool(normalizedCoords)
        self.maxAnisotropy = _count(maxAnisotropy or 0, "maxAnisotropy")

    def _sampling(self, texels: Texels, linear_memory: bool) -> Sampling:
        """For these elements; ValueError for what they cannot be read as."""
        dtype = texels.dtype
        as_float = self.readMode == cudaReadModeNormalizedFloat and dtype.kind in "iu" and dtype.itemsize <= 2
        integers = dtype.kind in "iu" and not as_float
        if self.filterMode == cudaFilterModeLinear:
            if integers:
                raise ValueError(
                    f"a texture of {dtype} that is read as integers has no linear filter: read it as normalized float "
                    "(8 and 16 bits), convert the array to float32, or filter by point"
                )
            if linear_memory:
                raise ValueError("linear memory is read by tex1Dfetch, which does not filter: make a CUDAarray")
        if linear_memory and self.normalizedCoords:
            raise ValueError("linear memory is read by tex1Dfetch, which takes no normalized coordinates")
        if integers and any(self.borderColors):
            raise ValueError(f"a texture of {dtype} that is read as integers has a border of 0, not borderColors")
        if self.sRGB and (dtype != np.uint8 or not as_float):
            raise ValueError(f"sRGB is of uint8 that is read as normalized float, the texture holds {dtype}")
        axes = len(texels.extent) - texels.layered
        x, y, z = (
            *self.addressModes[:axes],
            *(cudaAddressModeClamp,) * (3 - axes),
        )  # a border beside a 1-D texture shows
        return Sampling(
            (x, y, z), bool(self.filterMode), as_float, self.normalizedCoords, self.sRGB, self.borderColors,
            self.maxAnisotropy,
        )  # fmt: skip


class _Object:
    """What a kernel takes for a texture or surface: an int, as long as this is alive."""

    kernel_parameter = ""
    """The type of the kernel's parameter."""

    def __init__(self, handle: Handle, res: ResourceDescriptor) -> None:
        self.ResDesc = res
        self._handle = handle
        self._device = registry.current()

    @property
    def ptr(self) -> int:
        """The handle; what was recorded for the memory runs before."""
        if registry.current() is not self._device:
            raise ValueError(
                f"the {type(self).__name__} is on the device {self._device.name!r}, which is not the current one"
            )
        if self.ResDesc.arr is not None:
            materialize(self.ResDesc.arr.storage)
        return self._handle.value

    def __index__(self) -> int:
        return self.ptr


class TextureObject(_Object):
    """A texture; raw kernels take it for a ``cudaTextureObject_t``.

    Parameters
    ----------
    ResDesc : ResourceDescriptor
        What it lies over; the memory lives as long as the texture.
    TexDesc : TextureDescriptor
        How it is read.
    """

    kernel_parameter = "cudaTextureObject_t"

    def __init__(self, ResDesc: ResourceDescriptor, TexDesc: TextureDescriptor) -> None:
        _check_type(ResDesc, "ResDesc", ResourceDescriptor)
        _check_type(TexDesc, "TexDesc", TextureDescriptor)
        self.TexDesc = TexDesc
        texels = ResDesc._texels
        linear = ResDesc.restype == cudaResourceTypeLinear
        sampling = TexDesc._sampling(texels, linear)
        device = registry.current()
        if ResDesc.cuArr is not None and ResDesc.arr is None:
            super().__init__(device.texture(_image_here(ResDesc.cuArr), texels, sampling), ResDesc)
            return
        storage = ResDesc.arr.storage
        node = pin(storage)
        address = node.buffer.ptr + ResDesc.arr.offset
        try:
            look.check((node,))
            super().__init__(device.texture(address, texels, sampling), ResDesc)
        except BaseException:
            unpin(storage)
            raise
        self._storage: Any = storage

    def __del__(self) -> None:
        storage = getattr(self, "_storage", None)
        if storage is not None:
            self._handle = None  # type: ignore[assignment]
            unpin(storage)


class SurfaceObject(_Object):
    """A surface, through which kernels read and write a CUDAarray; taken for a ``cudaSurfaceObject_t``.

    Parameters
    ----------
    ResDesc : ResourceDescriptor
        Of a CUDAarray with ``cudaArraySurfaceLoadStore`` among its flags.
    """

    kernel_parameter = "cudaSurfaceObject_t"

    def __init__(self, ResDesc: ResourceDescriptor) -> None:
        _check_type(ResDesc, "ResDesc", ResourceDescriptor)
        array = ResDesc.cuArr
        if ResDesc.restype != cudaResourceTypeArray or array is None:
            raise ValueError("a surface lies over a CUDAarray: restype must be cudaResourceTypeArray")
        if not array.flags & cudaArraySurfaceLoadStore:
            raise ValueError("the CUDAarray of a surface needs cudaArraySurfaceLoadStore (2) among its flags")
        super().__init__(registry.current().surface(_image_here(array)), ResDesc)


class Texture(TextureObject):
    """A texture of an array's values, in one call.

    Parameters
    ----------
    array : array_like
        1-, 2- or 3-D: float16, float32 or integers of 8 to 32 bits. Its values are copied; x goes along the last axis.
    address : {"clamp", "border", "wrap", "mirror"} or sequence of them
        What is read outside, for all axes or for x, y, z. Wrap and mirror need `normalized`.
    filter : {"linear", "point"}
        Whether elements are interpolated.
    normalized : bool
        Whether coordinates go from 0 to 1.
    channels : int
        Numbers of an element, 1, 2 or 4: if more than 1, the last axis has that many.
    as_float : bool
        Read integers of 8 and 16 bits as numbers from 0 to 1 (signed: from -1).
    border : float or sequence of float
        What is outside, with ``address="border"``.

    Examples
    --------
    >>> import numloom as np
    >>> between = np.RawKernel(r'''
    ... extern "C" __global__ void between(cudaTextureObject_t image, float* y) {
    ...     int i = threadIdx.x;
    ...     y[i] = tex1D<float>(image, i * 0.5f + 0.5f);
    ... }''', "between")
    >>> y = np.empty(5, np.float32)
    >>> between(1, 5, (np.Texture(np.array([1, 3, 7], np.float32)), y))
    >>> y
    array([1., 2., 3., 5., 7.], dtype=float32)
    """

    def __init__(
        self,
        array: Any,
        address: str | Sequence[str] = "clamp",
        filter: str = "linear",
        normalized: bool = False,
        *,
        channels: int = 1,
        as_float: bool = False,
        border: float | Sequence[float] = 0.0,
    ) -> None:
        array = asarray(array)
        desc = _format_of(array.dtype, channels)
        shape = tuple(array.shape)
        if channels > 1:
            if not shape or shape[-1] != channels:
                raise ValueError(f"with channels={channels} the last axis must have {channels}, got shape {shape}")
            shape = shape[:-1]
        if not 1 <= len(shape) <= 3 or 0 in shape:
            raise ValueError(f"a texture has 1 to 3 dimensions and is not empty, got shape {tuple(array.shape)}")
        names = [address] if isinstance(address, str) else list(address)
        for name in names:
            if name not in _ADDRESSES:
                raise ValueError(f"address is one of {', '.join(_ADDRESSES)}; got {name!r}")
            if name in ("wrap", "mirror") and not normalized:
                raise ValueError(f"address {name!r} needs normalized=True (coordinates from 0 to 1)")
        if filter not in _FILTERS:
            raise ValueError(f"filter is 'point' or 'linear', got {filter!r}")
        if filter == "linear" and array.dtype.kind in "iu" and not as_float:
            raise ValueError(f"integers have no linear filter, got {array.dtype}: give as_float=True or filter='point'")
        if as_float and array.dtype.itemsize == 4 and array.dtype.kind in "iu":
            raise ValueError(f"as_float is for integers of 8 and 16 bits, got {array.dtype}: convert it with astype")
        color = [float(border)] * 4 if isinstance(border, (int, float)) else border
        how = TextureDescriptor(
            [_ADDRESSES[name] for name in names], _FILTERS[filter], int(as_float), None, color, normalized
        )
        memory = CUDAarray(desc, *shape[::-1])
        memory.copy_from(array)
        super().__init__(ResourceDescriptor(cudaResourceTypeArray, cuArr=memory), how)

    def copy_from(self, array: Any) -> None:
        """Take new values, of the same shape and dtype."""
        assert self.ResDesc.cuArr is not None
        self.ResDesc.cuArr.copy_from(array)


def _image_here(array: CUDAarray) -> Image:
    if registry.current() is not array._device:
        raise ValueError(f"the CUDAarray is on the device {array._device.name!r}, which is not the current one")
    return array._image


def _count(number: Any, what: str, least: int = 0) -> int:
    try:
        value = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} must be an int, got {number!r}") from None
    if value < least:
        raise ValueError(f"{what} must be at least {least}, got {value}")
    return value


def _check_type(value: Any, what: str, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, got {type(value).__name__}")


__all__ = [
    "CUDAarray", "ChannelFormatDescriptor", "ResourceDescriptor", "SurfaceObject", "Texture", "TextureDescriptor",
    "TextureObject",
]  # fmt: skip
