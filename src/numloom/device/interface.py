"""The whole contract of a backend.

A backend gives memory, moves bytes, compiles kernel text, launches it and waits. It knows
nothing of arrays, graphs or programs. All work is ordered on one stream (the current one), so
`launch` and `copy` may return before they are done; `download` and `synchronize` wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from numloom.device.complaints import Found
from numloom.device.memory import Buffer, Pool


class DeviceBuffer(Protocol):
    """A block of device memory; given back to its pool when the last reference goes."""

    ptr: int
    nbytes: int


@dataclass(slots=True, eq=False)
class Strided:
    """An array as routines take it: `offset` and `strides` count elements of `dtype` in `buffer`.

    Nobody changes one; it is not frozen, since making frozen ones takes three times as long.
    """

    buffer: DeviceBuffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


class Kernel(Protocol):
    """A kernel in memory. `ready` is False while a background compile is under way.

    Until then a backend that `interprets` computes by other means, and others launch code that is slower: once, since
    there who asks for the second time waits.
    """

    @property
    def ready(self) -> bool:
        """Whether it is what it will be."""


@dataclass(frozen=True, slots=True)
class MemorySpan:
    """An array as a user's kernel takes it: the address of its first element, and the bytes that belong to it.

    `ptr` lies in ``[begin, end)``; a backend that checks accesses holds the kernel to that range.
    """

    ptr: int
    begin: int
    end: int


class DeviceFunction(Protocol):
    """A ``__global__`` function of a user's module.

    `attributes` are CUDA's of a function, by the names CuPy and PyCUDA users know (``num_regs``,
    ``shared_size_bytes``, ``const_size_bytes``, ``local_size_bytes``, ``max_threads_per_block``, ...).
    """

    name: str
    attributes: Mapping[str, int]

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[MemorySpan | bytes],
        *,
        shared: int = 0,
        stream: int | None = None,
        cooperative: bool = False,
    ) -> None:
        """Run it, in the order of `stream` (None: the current one).

        An argument is memory, or the bytes of a value as the kernel's parameter lays it out.
        """


class Module(Protocol):
    """A user's compiled CUDA source."""

    def function(self, name: str) -> DeviceFunction:
        """A function by its name, or by the name expression that the module was compiled with; KeyError."""

    def variable(self, name: str) -> tuple[int, int]:
        """Address and bytes of a ``__device__`` or ``__constant__`` variable; KeyError."""


@dataclass(frozen=True, slots=True)
class Texels:
    """The elements that a texture or surface is made of.

    Attributes
    ----------
    dtype, channels : numpy.dtype, int
        Of one channel; how many an element has: 1, 2 or 4.
    extent : tuple of int
        Width, height, depth as far as they are there; with `layered` the last one counts layers.
    pitch : int
        Bytes from row to row.
    """

    dtype: np.dtype[Any]
    channels: int
    extent: tuple[int, ...]
    pitch: int
    layered: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a texture is read: address modes by CUDA's numbers for x, y and z, and the rest of CUDA's description."""

    address: tuple[int, int, int]
    linear: bool
    as_float: bool
    normalized: bool
    srgb: bool
    border: tuple[float, float, float, float]
    anisotropy: int


class Image(Protocol):
    """Memory laid out for textures and surfaces (a "CUDA array"), freed with its last reference."""

    texels: Texels

    def write(self, address: int, stream: int | None = None) -> None:
        """Copy all elements from device memory, where they lie densely; in the order of `stream` and of all work."""

    def read(self, address: int, stream: int | None = None) -> None:
        """Copy all elements to device memory, likewise."""


class Handle(Protocol):
    """A texture or surface object; `value` is what kernels take. It goes with its last reference."""

    value: int


class Capture(Protocol):
    """Takes launches down instead of running them, in a row, each after the one before.

    What it cannot take down, or not beside what it has, it refuses with a RuntimeError or MemoryError.

    Attributes
    ----------
    pool : Pool
        Memory of their own, which stays theirs.
    """

    @property
    def pool(self) -> Pool: ...

    def operand(self, nbytes: int, launched: bool = False) -> Buffer:
        """Memory that each run is given, and that nothing here writes to; `launched`: of which launches alone know."""

    def result(self, nbytes: int, launched: bool = False) -> Buffer:
        """Memory that each run is given, to be written to; likewise."""

    def number(self) -> Buffer:
        """A word that each run is given, as if it were the address of this memory: a number, or a part of one."""

    def live(self, bound: Callable[[], None]) -> None:
        """A `bound` launch with what its block holds in each run."""

    def launch(self, bound: Callable[[], None], words: Sequence[int], buffers: Sequence[Any]) -> None:
        """A `bound` launch with what its block holds now; which words each run is given, and as what."""

    def call(self, bound: Callable[..., Any], buffers: Sequence[Any], addresses: Sequence[int]) -> None:
        """A `bound_routine`, of these addresses, each in its memory."""

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        """A copy, as `Backend.copy`."""

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        """Scratch memory for the next launch, as `Backend.workspace`."""


class Captured(Protocol):
    """Launches what was captured.

    Attributes
    ----------
    nbytes : int
        Bytes of memory of its own.
    """

    @property
    def nbytes(self) -> int: ...

    def __call__(self, addresses: Sequence[int]) -> bool:
        """Run it with the addresses of operands and results, and numbers, in the order in which it asked for them.

        False, with nothing done that lasts, where it cannot run now.
        """


class Backend(Protocol):
    """A backend. What others do differently for one of them follows from these attributes, never from its name.

    Attributes
    ----------
    name : str
        "cpu", "cuda" or "null".
    pool : Pool
        What `allocate` takes memory from.
    discrete : bool
        Whether its memory is not the host's and its work goes on behind the host's back, so that waits cost.
    dlpack : tuple of int
        Kind and number by which other libraries know its memory, in DLPack's numbers.
    interprets : bool
        Whether kernels may be compiled in the background, since `numloom.engine.interpret` can do their work meanwhile.
    fast_math : bool
        Whether its compiler has a mode for `config.fast_math`.
    short_rows : bool
        Whether threads are so many that reductions of short rows are best computed where they are read (`plan.group`).
    low_products : bool
        Whether it multiplies matrices of bfloat16 to float32.
    tiny_product : int
        Multiplications up to which a matrix product is done sooner by a fused kernel than by the vendor's library.
    cluster : int
        Most blocks that share their memory (a thread block cluster), and so may share a row; 1 where none do.
    finishes : bool
        Whether `launch` runs the ``_finish`` of a kernel whose geometry has `finish_items`, too.
    """

    name: str
    pool: Pool
    discrete: bool
    dlpack: tuple[int, int]
    interprets: bool
    fast_math: bool
    short_rows: bool
    tiny_product: int
    cluster: int
    finishes: bool

    @property
    def low_products(self) -> bool: ...

    @classmethod
    def missing(cls) -> str | None:
        """None where this backend can be used here, else one sentence: what is missing and the cure."""

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Memory of at least `nbytes` bytes, 256-byte aligned, contents undefined.

        Out of memory frees cached blocks and retries once, then raises
        `numloom.base.errors.OutOfMemoryError` saying what was asked, used and cached.
        """

    def upload(self, host: np.ndarray[Any, Any]) -> DeviceBuffer:
        """A new buffer with the bytes of a contiguous host array (a copy, complete on return)."""

    def download(self, buffer: DeviceBuffer, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        """A fresh host uint8 array with bytes [offset, offset + nbytes) of the buffer; waits."""

    def view(self, buffer: DeviceBuffer) -> np.ndarray[Any, Any] | None:
        """The buffer's memory itself as a uint8 host array (CPU), or None where the host cannot see it."""

    def copy(
        self, target: DeviceBuffer, target_offset: int, source: DeviceBuffer, source_offset: int, nbytes: int
    ) -> None:
        """Copy bytes between buffers of this device, in stream order."""

    def kernel(self, text: str, entry: str, *, wait: bool) -> Kernel:
        """The kernel of this text, from memory, from the disk cache or compiled now.

        A first line ``// nvrtc: OPTIONS`` gives options for that compiler alone.
        With ``wait=False`` a backend whose compiler is slow may return a kernel that is not yet
        `ready` and compile in the background; the same text gives the same object. Who says so asks before
        each launch whether it is `ready`, or calls this again.
        """

    def crowded(self) -> bool:
        """Whether so many kernels are loaded that half of the plans had better go, whose kernels then go, too.

        A kernel stays loaded as long as somebody has it, or a launch that is `bound` to it. Others may be loaded again.
        """

    def expect(self, texts: Sequence[str]) -> None:
        """These texts will be asked for soon: a backend whose callers wait for its compiler compiles them abreast."""

    def launch(self, kernel: Kernel, params: Any, geometry: Any) -> None:
        """Run a kernel with a parameter block (`array.array('q')`) and a `plan.program.Geometry`."""

    def bound(self, kernel: Kernel, params: Any, geometry: Any) -> Callable[[], None]:
        """`launch` with these arguments, again and again; the block may have other numbers each time."""

    def enter(self) -> bool:
        """Have what this thread needs for launches, if that can be: launches that follow run no other Python code."""

    def make_current(self) -> None:
        """Have calls of this thread go to this device, where a process has several."""

    def holds(self, address: int) -> bool:
        """Whether an address is of this device's memory, if that is not the host's."""

    def captured(self, calls: Callable[[Capture], None]) -> Captured | None:
        """What ``calls(capture)`` gives it, which does not run, as one launch; None where it cannot, or is no gain."""

    def module(
        self,
        sources: Mapping[str, str],
        *,
        options: tuple[str, ...] = (),
        names: tuple[str, ...] = (),
    ) -> Module:
        """A user's CUDA C++ (text by file name; several are linked), compiled with compiler `options`.

        `names` are name expressions (``"scale<float>"``) to instantiate. CompileError shows the
        user's own line. The same arguments give the same module, also from the disk cache. A backend of a GPU
        has a method ``loaded(code)``, too, for machine code (CUBIN, fatbin) or PTX.
        """

    def image(self, texels: Texels, flags: int) -> Image:
        """Memory for textures and surfaces; `flags` are CUDA's of an array."""

    def texture(self, memory: Image | int, texels: Texels, sampling: Sampling) -> Handle:
        """A texture object over an image, or over memory at an address (with `extent` of one or two numbers)."""

    def surface(self, image: Image) -> Handle:
        """A surface object, through which kernels also write to an image."""

    def workspace(self, nbytes: int, counters: int) -> DeviceBuffer:
        """Scratch memory for the next launch; its first `counters` bytes are zero.

        Whoever asks for it holds it until then. The device keeps little of it (`numloom.device.memory.KEPT_SCRATCH`);
        more goes back to the pool, and all of it while an allocator of the user's is set.
        """

    def clear(self, buffer: Any, nbytes: int) -> None:
        """Set the first bytes of a buffer to zero, after what was launched before."""

    def error_address(self) -> int:
        """Address (as kernels see it) of the table of errors (`numloom.device.complaints`)."""

    def take_complaints(self) -> list[Found]:
        """What kernels that have been waited for wrote to the table of errors, which is empty then."""

    def synchronize(self) -> None:
        """Wait for all work."""

    def routine(self, name: str) -> Callable[..., Any]:
        """A device-wide routine by name: ``routine(name)(device, *operands, **options)``.

        Names and options are those of the definitions in `numloom.ops.routines`. Operands are `Strided`;
        a result of known size is written to the operand called `out`, others come back as fresh,
        dense `Strided`. A backend that has a method ``select(blocks)`` too runs kernels of `numloom.emit.compaction`
        in so many blocks: what it gives has methods ``elements(a, queue)``, ``indices(shape, queue)`` and
        ``parts(a, lead, queue)``, where `queue` launches the kernel with its last words.

        Raises
        ------
        KeyError
            If the backend has none: the definition's NumPy twin does it.
        """

    def bound_routine(self, name: str, *operands: Strided, **options: Any) -> Callable[..., Any] | None:
        """A routine for operands that lie like these, again and again: it takes their addresses and the result's.

        What it writes is `out` among the options, or the first operand of a routine that changes memory in place.

        Options that are ``...`` are other numbers in each call, which follow the addresses. It gives False, having done
        nothing, where it cannot have been meant for such addresses. None where it takes more than addresses.
        """
