"""The host as a device: kernels compiled by the host compiler, run on all cores, one after another."""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from numloom.base import later
from numloom.base.config import config
from numloom.device import complaints
from numloom.device.complaints import Found
from numloom.device.cpu import hostview, memory, threads
from numloom.device.cpu.builder import Builder, CpuKernel
from numloom.device.cpu.capture import ChainCapture
from numloom.device.cpu.loops import Loops, packaged
from numloom.device.cpu.routines import ROUTINES, bound
from numloom.device.interface import Capture, Captured, Image, Sampling, Strided, Texels
from numloom.device.memory import KEPT_SCRATCH, NOTHING_KEPT, Buffer, Pool

if TYPE_CHECKING:
    from numloom.device.cpu.module import CpuModule, Loader
    from numloom.device.cpu.simt.texture import CpuHandle, CpuImage

_MODULE, _TEXTURE = "numloom.device.cpu.module", "numloom.device.cpu.simt.texture"
"""What users' own kernels need."""


class CpuDevice:
    """The host; see `numloom.device.interface.Backend` for the methods without a text of their own.

    Attributes
    ----------
    pool : Pool
        Memory of the arrays.
    builder : Builder
        Kernels by text: memory, disk cache, compiler.
    """

    name = "cpu"
    discrete = False
    dlpack = (1, 0)
    interprets = True
    fast_math = False
    short_rows = False
    low_products = False
    tiny_product = 4096
    cluster = 1
    finishes = True

    def __init__(self) -> None:
        self._error = array("q", bytes(complaints.NBYTES))
        self._error_address = self._error.buffer_info()[0]
        self.pool = Pool(
            "cpu", memory.allocate, memory.free, config.memory_limit, memory.total() // 4, self._error_address
        )
        self.pool.poison = memory.poison
        self.allocate: Any = self.pool.allocate
        self.builder = Builder()
        self.builder.error_address = self._error_address
        self.kernel: Any = self.builder.kernel
        if threads.launch is not None:
            self.launch = threads.launch  # type: ignore[method-assign]
            self.bound = threads.bound  # type: ignore[method-assign]
        self._modules: Loader | None = None
        self._local = threading.local()
        self._loops: Loops | None = None
        self._loops_kernel: CpuKernel | None = None

    @classmethod
    def missing(cls) -> str | None:
        """None: without a compiler NumPy does the work."""
        return None

    def upload(self, host: np.ndarray[Any, Any]) -> Buffer:
        buffer = self.pool.allocate(host.nbytes)
        hostview.fill(buffer.ptr, host)
        return buffer

    def download(self, buffer: Any, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        host = np.empty(nbytes, np.uint8)
        if nbytes:
            ctypes.memmove(host.__array_interface__["data"][0], buffer.ptr + offset, nbytes)
        return host

    def make_current(self) -> None:
        """Nothing: the host is where every thread is."""

    def holds(self, address: int) -> bool:
        """False: memory of no device is the host's."""
        return False

    def view(self, buffer: Any) -> np.ndarray[Any, Any]:
        return hostview.as_bytes(buffer)

    def array(self, operand: Strided) -> np.ndarray[Any, Any]:
        """The operand itself as a NumPy array (which keeps the buffer alive)."""
        return hostview.as_array(operand)

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        ctypes.memmove(target.ptr + target_offset, source.ptr + source_offset, nbytes)

    def crowded(self) -> bool:
        return self.builder.crowded()

    def expect(self, texts: Sequence[str]) -> None:
        """Nothing: no caller waits for the compiler, but where nothing else can do the work."""

    def launch(self, kernel: Any, params: Any, geometry: Any) -> None:
        address = params.buffer_info()[0]
        threads.run(kernel.address, address, geometry.items, geometry.grain)
        if geometry.finish_items:
            threads.run(kernel.finish_address, address, geometry.finish_items, 1)

    def bound(self, kernel: Any, params: Any, geometry: Any) -> Callable[[], None]:
        return partial(self.launch, kernel, params, geometry)

    def enter(self) -> bool:
        """True: any thread may launch."""
        return True

    def captured(self, calls: Callable[[Capture], None]) -> Captured | None:
        return None if threads.Chain is None else ChainCapture(self, threads.Chain()).captured(calls)

    def module(
        self, sources: Mapping[str, str], *, options: tuple[str, ...] = (), names: tuple[str, ...] = ()
    ) -> CpuModule:
        if self._modules is None:
            self._modules = later.load(_MODULE).Loader(self.builder)
        return self._modules.load(sources, options, names)

    def image(self, texels: Texels, flags: int) -> CpuImage:
        return later.load(_TEXTURE).CpuImage(self.pool, texels, flags)

    def texture(self, memory: Image | int, texels: Texels, sampling: Sampling) -> CpuHandle:
        return later.load(_TEXTURE).texture_object(memory, texels, sampling)

    def surface(self, image: Image) -> CpuHandle:
        return later.load(_TEXTURE).surface_object(image)

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        if nbytes > KEPT_SCRATCH or self.pool.cache_limit == NOTHING_KEPT:
            much = self.pool.allocate(nbytes)
            self.clear(much, counters)
            return much
        local = self._local
        buffer = getattr(local, "buffer", None)
        if buffer is None or buffer.nbytes < nbytes:
            buffer = local.buffer = self.pool.allocate(nbytes)
            local.clean = 0
        if counters > local.clean:
            ctypes.memset(buffer.ptr + local.clean, 0, counters - local.clean)
        # The kernel leaves its counters at zero and anything else as it likes.
        local.clean = counters
        return buffer  # type: ignore[no-any-return]

    def clear(self, buffer: Any, nbytes: int) -> None:
        ctypes.memset(buffer.ptr, 0, nbytes)

    def error_address(self) -> int:
        return self._error_address

    def take_complaints(self) -> list[Found]:
        first = self._error[0]
        found = complaints.take(self._error_address) if first else complaints.NOTHING
        if first < 0:
            raise self.builder.fault()
        return found

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    def routine(self, name: str) -> Callable[..., Any]:
        return ROUTINES[name]

    def bound_routine(self, name: str, *operands: Strided, **options: Any) -> Any:
        return bound(self, name, operands, options)

    @property
    def compiles(self) -> bool:
        """Whether there is a compiler, and the settings let it run."""
        return config.cpu_compile != "never" and self.builder.compiler is not None

    @property
    def loops(self) -> Loops | None:
        """The single-operation loops, None where they are not there (yet): see `load_loops`."""
        if self._loops is None:
            if self._loops_kernel is None:
                self._loops = packaged()
            elif self._loops_kernel.library is not None:
                self._loops = Loops(self._loops_kernel.library)
        return self._loops

    def load_loops(self, text: Callable[[], str], *, wait: bool) -> Loops | None:
        """The single-operation loops, compiled from ``text()`` where the package was built without them.

        That takes seconds, once for all processes; with ``wait=False`` it is done in the background, and
        None is returned meanwhile, as it is where there is no compiler.
        """
        if self.loops is None:
            if self._loops_kernel is None:
                self._loops_kernel = self.builder.kernel(text(), "", wait=wait and self.compiles)
            elif wait and self.compiles:
                self.builder.kernel(self._loops_kernel.text, "", wait=True)
        return self.loops
