"""A CUDA GPU as a device.

All work goes to the legacy default stream, so it is ordered with that of CuPy, PyTorch and any
other library that uses it. Downloaded arrays of middling size lie in pinned memory, which goes back to a
pool when they die; larger copies pass through a few pinned blocks. A process may use several.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numloom.base import later
from numloom.base.config import config
from numloom.base.errors import DeviceError, MissingDependencyError, OutOfMemoryError
from numloom.base.lasting import Lasting, Rest, WeakValues
from numloom.base.threads import begin
from numloom.device import complaints
from numloom.device.complaints import Found
from numloom.device.cpu.hostview import as_bytes
from numloom.device.cpu.memory import total
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda import driver
from numloom.device.cuda.capture import GraphCapture
from numloom.device.cuda.code import LoadedCode, unload
from numloom.device.cuda.module import CudaModule, load
from numloom.device.cuda.routines import BOUND, ROUTINES
from numloom.device.cuda.routines.compaction import Chosen
from numloom.device.cuda.routines.products import blas_of
from numloom.device.cuda.texture import CudaHandle, CudaImage, surface_object, texture_object
from numloom.device.cuda.transfer import Ring, StagingBuffers
from numloom.device.interface import Capture, Captured, Image, Module, Sampling, Texels
from numloom.device.memory import KEPT_SCRATCH, NOTHING_KEPT, POISON, Buffer, Pool

try:
    from numloom.device.cuda._launch import Launch  # type: ignore[import-not-found]
    from numloom.device.cuda._read import Read  # type: ignore[import-not-found]
except ImportError:
    Launch = Read = None

later.prepare()  # The compiled classes that came with them.

STREAM = 0
PLAIN_SHARED = 48 << 10  # bytes of dynamic shared memory that need no asking
CLUSTER = 8  # blocks that a cluster has room for on every GPU that has clusters
READ = 16 << 10  # bytes that are copied by way of one small pinned block
PINNED = 256 << 10  # bytes from which a downloaded array lies in pinned memory itself
STAGED_DOWNLOAD = 64 << 20  # pinning more takes longer than copying it once more
RING_UPLOAD = 64 << 10  # bytes up to which an upload waits for nothing
STAGED_UPLOAD = 4 << 20
KEPT = 1024  # kernels that stay loaded though nobody has them
KEPT_MODULES = 256  # and users' modules
TURNS = 20_000  # looks at a word, about a millisecond; whoever waits longer does so where Ctrl-C is heard


_settling = threading.Lock()
"""Held while a kernel takes its full code."""


class CudaKernel:
    """A loaded kernel.

    Attributes
    ----------
    module, function : LoadedCode, int
        What the driver launches. (Code of the fast tier stays as well: launches are bound to it.)
    waits : bool
        Whether it can be launched before the work before it is done.
    full : Ahead or None
        While `function` is of code that was compiled by the fast tier: the full code, which takes its place.
    shared : int
        Bytes of dynamic shared memory that the driver was asked for.
    """

    __slots__ = (
        "__weakref__", "_asked", "_first", "_load", "entry", "full", "function", "module", "shared", "text", "waits",
    )  # fmt: skip

    def __init__(
        self, text: str, entry: str, load: Callable[[bytes], LoadedCode], module: LoadedCode, full: Any = None
    ) -> None:
        self.text = text
        self.entry = entry
        self.waits = nvrtc.waits(text)
        self.full = full
        self._load = load
        self._asked = False
        self._first = module
        self._take(module)

    def _take(self, module: LoadedCode) -> None:
        find = "cuModuleGetFunction"
        function = driver.call(find, module.handle, self.entry.encode(), doing=f"finding kernel {self.entry}")
        self.module, self.function = module, int(function)
        self.shared = PLAIN_SHARED

    @property
    def ready(self) -> bool:
        """False once where `function` is slow code: whoever asks again waits for the full one."""
        if self.full is not None:
            if not self._asked and not self.full.done:
                self._asked = True
                return False
            self.settle()
        return True

    def settle(self) -> None:
        """Wait for the full code, which is launched from now on. (What was launched may still run, and stays.)"""
        full = self.full
        if full is not None:
            cubin = full.cubin()
            with _settling:
                if self.full is not None:  # Or another thread was sooner: launches are bound to its code, then.
                    self._take(self._load(cubin))
                    self.full = None

    def attribute(self, name: str) -> int:
        """A function attribute by the end of its name, such as NUM_REGS or LOCAL_SIZE_BYTES."""
        which = getattr(driver.bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(driver.call("cuFuncGetAttribute", which, self.function))


_SHARED = frozenset([
    "index", "dlpack", "device", "architecture", "context", "multiprocessors", "cluster", "l2_bytes", "total_memory",
    "description", "pinned", "idle", "_kernels", "_modules", "_ahead", "_lock", "_complaints", "_error",
    "_error_address", "_read_back", "_reading_back",
])  # fmt: skip
"""What a stream of a GPU has from it."""


class CudaDevice:
    """One GPU; see `numloom.device.interface.Backend` for the methods without a text of their own.

    Attributes
    ----------
    index : int
        Number of the GPU among those that CUDA_VISIBLE_DEVICES shows.
    architecture : str
        For the compiler, such as "sm_90".
    multiprocessors, total_memory, cluster : int
        Properties of the GPU.
    pool : Pool
        Memory of the arrays.
    stream : int
        Handle of the stream that work goes to.
    """

    name = "cuda"
    stream = STREAM
    has_lanes = False
    discrete = True
    interprets = False
    fast_math = True
    short_rows = True
    tiny_product = 1 << 21
    finishes = False
    cluster = 1
    address_of = staticmethod(driver.address_of)

    def __init__(self, index: int | None = None) -> None:
        if index is None:
            index = driver.first_index()
        state = driver.state
        if state.process not in (-1, os.getpid()):
            raise DeviceError(driver.FORKED)
        driver.call("cuInit", 0, doing="starting CUDA")
        count = driver.device_count()
        if not 0 <= index < count:
            raise DeviceError(f"there is no GPU {index}: the numbers here are 0 to {count - 1}")
        self.index = index
        self.dlpack = (2, index)
        self.device = driver.call("cuDeviceGet", index, doing=f"choosing GPU {index}")
        major = driver.attribute(self.device, "COMPUTE_CAPABILITY_MAJOR")
        minor = driver.attribute(self.device, "COMPUTE_CAPABILITY_MINOR")
        self.architecture = f"sm_{major}{minor}"
        # A first compile loads the compiler, which takes as long as making a context: both at once.
        begin(threading.Thread(target=_warm, args=(self.architecture,), name="numloom-nvrtc"))
        self.context = driver.call("cuDevicePrimaryCtxRetain", self.device, doing="making a CUDA context")
        driver.call("cuCtxSetCurrent", self.context)
        state.process = os.getpid()
        state.several = count > 1
        if state.index < 0:
            state.context, state.index = self.context, index
        self.multiprocessors = driver.attribute(self.device, "MULTIPROCESSOR_COUNT")
        self.cluster = CLUSTER if major >= 9 and driver.attribute(self.device, "CLUSTER_LAUNCH") else 1
        self.l2_bytes = driver.attribute(self.device, "L2_CACHE_SIZE")
        self.total_memory = int(driver.call("cuDeviceTotalMem", self.device))
        name = driver.call("cuDeviceGetName", 256, self.device)
        self.description = name.decode(errors="replace").rstrip("\0 ")
        self.pool = Pool("cuda", self._raw_allocate, self._raw_free, config.memory_limit)
        self.pool.poison = self._poison
        self.allocate = self.pool.allocate
        memory = total()
        self.pinned = Pool("pinned host memory", self._pin, self._unpin, memory // 2, min(memory // 8, 1 << 30))
        self.idle: list[Rest] = []
        self._kernels: Lasting[tuple[str, str], CudaKernel] = Lasting(KEPT)
        self._modules: WeakValues[str, LoadedCode] = WeakValues()
        self._ahead: dict[str, nvrtc.Ahead] = {}
        self._user_modules: Lasting[Any, Module] = Lasting(KEPT_MODULES)
        self._lock = threading.Lock()
        host = driver.call("cuMemHostAlloc", complaints.NBYTES, driver.bindings().CU_MEMHOSTALLOC_DEVICEMAP)
        self._complaints = int(host)
        self._error = ctypes.c_int64.from_address(self._complaints)
        ctypes.memset(self._complaints, 0, complaints.NBYTES)
        self._error_address = int(driver.call("cuMemHostGetDevicePointer", host, 0))
        self._read_back = ctypes.c_int64.from_address(int(host) + 32)
        self._reading_back = threading.Lock()
        self._work: Buffer | None = None
        self._clean = 0
        self._read: Any = None
        self.touched, self.version = True, 0
        self.seen: dict[Any, int] = {}
        self._marked: CudaEvent | None = None
        self._followed: CudaEvent | None = None
        self._bind()

    def _bind(self) -> None:
        """Make what launches on the stream."""
        if Launch is not None:
            address = driver.address_of("cuLaunchKernelEx")
            early = nvrtc.launches_early(self.architecture)
            contexts = (driver.address_of("cuCtxGetCurrent"), driver.address_of("cuCtxSetCurrent"), int(self.context))
            launch = Launch(address, self.stream, early, self._prepare, self._launch_failed, *contexts)
            self.launch, self.bound, self.enter = launch, launch.bound, launch.enter  # type: ignore[method-assign]
            copy, query = driver.address_of("cuMemcpyDtoHAsync"), driver.address_of("cuStreamQuery")
            self._read = Read(copy, query, self.stream, self.pinned.allocate(READ), READ)

    # ------------------------------------------------------------ streams

    def lane(self, non_blocking: bool, priority: int) -> Any:
        """A stream beside this GPU's own, as a device: see `numloom.device.registry.lane`."""
        if driver.state.several:
            self.enter()
        made: Any = object.__new__(CudaDevice)
        # What libraries keep for a device (cuBLAS's handle and the like) works on its stream: each makes its own.
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name in _SHARED})
        made.gpu = self
        made.has_lanes = self.has_lanes = True
        made.stream = int(
            driver.call("cuStreamCreateWithPriority", int(non_blocking), priority, doing="making a stream")
        )
        lent: dict[int, Buffer] = {}

        def take(nbytes: int) -> int:
            buffer = self.pool.allocate(nbytes)
            made.follow(self)  # Who had it before may still use it there.
            lent[buffer.ptr] = buffer
            return int(buffer.ptr)

        def give(address: int, nbytes: int) -> None:
            buffer = lent.pop(address)
            if not driver.state.lost and os.getpid() == driver.state.process and not sys.is_finalizing():
                self.follow(made)
            del buffer

        made.pool = Pool("cuda", take, give)
        made.pool.poison = made._poison
        made.allocate = made.pool.allocate
        made._user_modules = Lasting(KEPT_MODULES)
        made._work, made._clean, made._read = None, 0, None
        made.touched, made.version, made.seen, made._marked, made._followed = True, 0, {}, None, None
        made._bind()
        return made

    def follow(self, other: Any) -> None:
        """Let later work of this stream start after what another stream of the same GPU has now."""
        other._followed = other._recorded(other._followed)
        driver.call("cuStreamWaitEvent", self.stream, other._followed.handle, 0, doing="ordering two streams")

    def mark(self) -> None:
        """Remember what this stream has now, for `follow_mark`."""
        self._marked = self._recorded(self._marked)

    def follow_mark(self, other: Any) -> None:
        """Let later work of this stream start after the `mark` of another one."""
        driver.call("cuStreamWaitEvent", self.stream, other._marked.handle, 0, doing="ordering two streams")

    def _recorded(self, event: CudaEvent | None) -> CudaEvent:
        """An event behind what this stream has now. (Who waits for one keeps to what it was when they began.)"""
        if event is None:
            return CudaEvent(self.stream)
        driver.call("cuEventRecord", event.handle, self.stream, doing="recording an event")
        return event

    @classmethod
    def missing(cls) -> str | None:
        """What keeps a GPU from being used here."""
        why = driver.missing()
        if why is None:
            try:
                nvrtc.bindings()
            except MissingDependencyError as error:
                why = str(error)
        return why

    # ------------------------------------------------------------ memory

    def _raw_allocate(self, nbytes: int) -> int:
        if driver.state.several:
            self.enter()
        return int(driver.call("cuMemAlloc", nbytes, doing=f"allocating {nbytes} bytes on the GPU"))

    def _raw_free(self, address: int, nbytes: int) -> None:
        # Memory of a lost GPU, or of the parent process, is not ours to free.
        if not driver.state.lost and os.getpid() == driver.state.process:
            driver.call("cuMemFree", address, doing="freeing memory of the GPU")

    def _poison(self, address: int, nbytes: int) -> None:
        if driver.state.several:
            self.enter()
        driver.call("cuMemsetD8Async", address, POISON, nbytes, self.stream, doing="filling new memory")

    def _pin(self, nbytes: int) -> int:
        return int(driver.call("cuMemHostAlloc", nbytes, 0, doing=f"pinning {nbytes} bytes of the host"))

    def _unpin(self, address: int, nbytes: int) -> None:
        if not driver.state.lost and os.getpid() == driver.state.process:
            driver.call("cuMemFreeHost", address, doing="freeing memory of the host")

    def memory_info(self) -> tuple[int, int]:
        """Free and total bytes of the GPU."""
        free, total = driver.call("cuMemGetInfo")
        return int(free), int(total)

    def upload(self, host: np.ndarray[Any, Any]) -> Buffer:
        self.touched = True
        buffer = self.pool.allocate(host.nbytes)
        address = host.__array_interface__["data"][0]
        if host.nbytes >= STAGED_UPLOAD or (host.nbytes > RING_UPLOAD and self.stream != STREAM):
            self.staging.upload(buffer.ptr, address, host.nbytes)
        elif 0 < host.nbytes <= RING_UPLOAD:
            self.ring.upload(buffer.ptr, address, host.nbytes)
        elif host.nbytes:
            driver.call("cuMemcpyHtoD", buffer.ptr, address, host.nbytes, doing="copying to the GPU")
        return buffer

    def download(self, buffer: Any, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        source = buffer.ptr + offset
        if self._read is not None and 0 < nbytes <= READ:
            few = self._read(source, nbytes)
            if few is not None:
                return np.frombuffer(bytearray(few), np.uint8)
        if nbytes <= STAGED_DOWNLOAD:
            try:
                pinned = self.pinned.allocate(nbytes)
            except OutOfMemoryError:
                pinned = None
            if pinned is not None:
                if nbytes:
                    driver.call(
                        "cuMemcpyDtoHAsync", pinned.ptr, source, nbytes, self.stream, doing="copying from the GPU"
                    )
                self.synchronize()
                if nbytes >= PINNED:
                    return as_bytes(pinned)
                host = np.empty(nbytes, np.uint8)
                ctypes.memmove(host.__array_interface__["data"][0], pinned.ptr, nbytes)
                return host
        host = np.empty(nbytes, np.uint8)
        self.synchronize()  # copies wait too, but deaf to Ctrl-C
        self.staging.download(host.__array_interface__["data"][0], source, nbytes)
        return host

    @functools.cached_property
    def ring(self) -> Ring:
        """For small copies from ordinary host memory."""
        return Ring(self.pinned, self.stream)

    @functools.cached_property
    def staging(self) -> StagingBuffers:
        """For large copies from and to ordinary host memory."""
        return StagingBuffers(self.pinned, self.stream)

    def view(self, buffer: Any) -> np.ndarray[Any, Any] | None:
        """None: the host cannot see the memory."""
        return None

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        self.touched = True
        if nbytes:
            driver.call(
                "cuMemcpyDtoDAsync", target.ptr + target_offset, source.ptr + source_offset, nbytes, self.stream,
                doing="copying on the GPU",
            )  # fmt: skip

    def receive(self, other: CudaDevice, source: Any, nbytes: int) -> Buffer:
        """A copy of another GPU's memory: after its work, and before what it does next."""
        self.touched = True
        target = self.pool.allocate(nbytes)
        other.make_current()
        try:
            there = CudaEvent(other.stream)
        finally:
            self.make_current()
        driver.call("cuStreamWaitEvent", self.stream, there.handle, 0, doing="ordering two GPUs")
        driver.call(
            "cuMemcpyPeerAsync", target.ptr, self.context, source.ptr, other.context, nbytes, self.stream,
            doing=f"copying from GPU {other.index} to GPU {self.index}",
        )  # fmt: skip
        here = CudaEvent(self.stream)
        other.make_current()
        try:
            driver.call("cuStreamWaitEvent", other.stream, here.handle, 0, doing="ordering two GPUs")
        finally:
            self.make_current()
        return target

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        if nbytes > KEPT_SCRATCH or self.pool.cache_limit == NOTHING_KEPT:
            much = self.pool.allocate(nbytes)
            self.clear(much, counters)
            return much
        work = self._work
        if work is None or work.nbytes < nbytes:
            self._work = work = self.pool.allocate(max(nbytes, 1 << 20))
            self._clean = 0
        if counters > self._clean:
            driver.call("cuMemsetD8Async", work.ptr + self._clean, 0, counters - self._clean, self.stream)
        # A kernel leaves its counters at zero and anything else as it likes.
        self._clean = counters
        return work

    # ------------------------------------------------------------ kernels

    def kernel(self, text: str, entry: str, *, wait: bool = True) -> CudaKernel:
        kernel = self._kernels.get((text, entry))
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get((text, entry))
                if kernel is None:
                    kernel = self._first(text, entry, wait or not self._hurries())
                    self._kernels.keep((text, entry), kernel)
        elif kernel.full is not None:
            kernel.settle()
        return kernel

    def crowded(self) -> bool:
        # Called for each new plan, in which nothing is captured.
        unload(self.idle, self.enter)
        return self._kernels.crowded()

    def expect(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text not in self._modules:
                with self._lock:
                    if text not in self._modules and text not in self._ahead:
                        self._ahead[text] = nvrtc.Ahead(text, self.architecture, self._hurries())

    @staticmethod
    def _hurries() -> bool:
        return nvrtc.HURRIES and config.cuda_compile == "background"

    def _first(self, text: str, entry: str, wait: bool) -> CudaKernel:
        """A kernel of its full code, or unless we are to wait, of that which is there first."""
        if driver.state.several:
            self.enter()
        load = functools.partial(self._loaded, text, entry)
        module = self._modules.get(text)
        if module is not None:
            return CudaKernel(text, entry, load, module)
        ahead = self._ahead.pop(text, None)
        if ahead is None and wait:
            return CudaKernel(text, entry, load, load(nvrtc.cached_cubin(text, self.architecture)))
        ahead = ahead or nvrtc.Ahead(text, self.architecture, fast_tier=True)
        cubin, full = (ahead.cubin(), True) if wait else ahead.first()
        if full:
            return CudaKernel(text, entry, load, load(cubin))
        return CudaKernel(text, entry, load, LoadedCode(cubin, self.idle, f"loading kernel {entry}"), ahead)

    def _loaded(self, text: str, entry: str, cubin: bytes) -> LoadedCode:
        """The module of a text's full code."""
        module = self._modules.get(text)
        if module is None:
            module = self._modules[text] = LoadedCode(cubin, self.idle, f"loading kernel {entry}")
        return module

    def module(
        self, sources: Mapping[str, str], *, options: tuple[str, ...] = (), names: tuple[str, ...] = ()
    ) -> Module:
        key = (tuple(sources.items()), options, names)
        if driver.state.several:
            self.enter()
        with self._lock:
            module = self._user_modules.get(key)
            if module is None:
                unload(self.idle, self.enter)
                module = self._user_modules.keep(key, load(self, sources, options, names))
        return module

    def loaded(self, code: bytes) -> Module:
        """A module of a user's machine code or PTX."""
        if driver.state.several:
            self.enter()
        unload(self.idle, self.enter)
        return CudaModule(self, code, {})

    def image(self, texels: Texels, flags: int) -> CudaImage:
        return CudaImage(self, texels, flags)

    def texture(self, memory: Image | int, texels: Texels, sampling: Sampling) -> CudaHandle:
        return texture_object(self, memory, texels, sampling)

    def surface(self, image: Image) -> CudaHandle:
        return surface_object(self, image)

    def launch(self, kernel: Any, params: array[int], geometry: Any) -> None:
        if geometry.shared > PLAIN_SHARED:
            self._prepare(kernel, geometry.shared)
        code = self._launch_uncompiled(kernel, params, geometry)
        if code:
            self._launch_failed(kernel, params, geometry, code)

    def bound(self, kernel: Any, params: array[int], geometry: Any) -> Callable[[], None]:
        return functools.partial(self.launch, kernel, params, geometry)

    def enter(self) -> bool:
        return not driver.bindings().cuCtxSetCurrent(self.context)[0]

    def make_current(self) -> None:
        driver.call("cuCtxSetCurrent", self.context, doing=f"choosing GPU {self.index}")

    def holds(self, address: int) -> bool:
        which = driver.bindings().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        code, index = driver.bindings().cuPointerGetAttribute(which, address)
        return not code and int(index) == self.index

    def captured(self, calls: Callable[[Capture], None]) -> Captured | None:
        if Launch is None:
            return None
        self.enter()
        return GraphCapture(self).captured(calls)

    def _launch_uncompiled(self, kernel: Any, params: array[int], geometry: Any) -> int:
        pointers = (ctypes.c_void_p * 1)(params.buffer_info()[0])
        (code,) = driver.bindings().cuLaunchKernel(
            kernel.function, geometry.blocks, geometry.blocks_y, 1, geometry.threads, 1, 1, geometry.shared,
            self.stream, ctypes.addressof(pointers), 0,
        )  # fmt: skip
        return int(code)

    def _prepare(self, kernel: Any, shared: int) -> None:
        """Ask for more dynamic shared memory than a kernel has by default."""
        if shared > kernel.shared:
            which = driver.bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call(
                "cuFuncSetAttribute", kernel.function, which, shared,
                doing=f"giving kernel {kernel.entry} {shared} bytes of shared memory",
            )  # fmt: skip
            kernel.shared = shared

    def _launch_failed(self, kernel: Any, params: array[int], geometry: Any, code: int) -> None:
        """Launch again where this thread had no context, else raise."""
        if driver.enter_context(code):
            code = self._launch_uncompiled(kernel, params, geometry)
        if code:
            size = f"{geometry.blocks} x {geometry.blocks_y} blocks of {geometry.threads} threads"
            driver.fail(code, f"launching kernel {kernel.entry} ({size}, {geometry.shared} bytes of shared memory)")

    # ------------------------------------------------------------ order and errors

    def error_address(self) -> int:
        return self._error_address

    def take_complaints(self) -> list[Found]:
        return complaints.take(self._complaints) if self._error.value else complaints.NOTHING

    def complain(self, number: int) -> None:
        """Have the next look raise what stands for this number (`numloom.graph.source_location`)."""
        complaints.put(self._complaints, Found(number, 0, -1))

    def synchronize(self) -> None:
        """Wait for all work, awake for Ctrl-C."""
        query = driver.bindings().cuStreamQuery
        (code,) = query(self.stream)
        if code == 0:
            return
        busy = driver.bindings().CUresult.CUDA_ERROR_NOT_READY
        if driver.enter_context(code):
            (code,) = query(self.stream)
        end = time.monotonic() + 0.002
        while code == busy:
            if time.monotonic() > end:
                time.sleep(0.0002)
            (code,) = query(self.stream)
        if code:
            driver.fail(code, "running earlier work")

    def order(self, first: int, then: int) -> None:
        """Let later work on stream `then` start after what stream `first` has now; nobody waits for it here."""
        mark = CudaEvent(first)
        driver.call("cuStreamWaitEvent", then, mark.handle, 0, doing="ordering two streams")

    def read_back(self, ask: Callable[[int], None]) -> int:
        """A number (0 or more) that work writes to the address which is given to `ask`, who queues that work.

        The word is the host's own memory, so that the number is here as soon as it is known, whatever is queued.
        """
        with self._reading_back:
            word = self._read_back
            word.value = -1
            ask(self._error_address + 32)
            for _ in range(TURNS):
                if word.value >= 0:
                    return word.value
            self.synchronize()
            return word.value

    def clear(self, buffer: Any, nbytes: int) -> None:
        self.touched = True
        if nbytes:
            driver.call("cuMemsetD8Async", buffer.ptr, 0, nbytes, self.stream, doing="clearing memory")

    @property
    def low_products(self) -> bool:
        """Whether the library that multiplies them is there."""
        return blas_of(self) is not None

    def routine(self, name: str) -> Callable[..., Any]:
        return ROUTINES[name]

    def bound_routine(self, name: str, *operands: Any, **options: Any) -> Callable[..., None] | None:
        bind = BOUND.get(name)
        return None if bind is None else bind(self, *operands, **options)

    def resident(self, each: int) -> int:
        """Blocks that run at once where a multiprocessor holds `each`."""
        return each * self.multiprocessors

    def select(self, blocks: int) -> Chosen:
        """What a launch of a selecting kernel (`numloom.emit.compaction`) in `blocks` blocks needs and gives."""
        return Chosen(self, blocks)

    # ------------------------------------------------------------ time

    def event(self) -> CudaEvent:
        """A timing event, recorded now."""
        return CudaEvent(self.stream)

    def elapsed(self, start: CudaEvent, end: CudaEvent) -> float:
        """Milliseconds between two events; waits for the second."""
        driver.call("cuEventSynchronize", end.handle, doing="running earlier work")
        return float(driver.call("cuEventElapsedTime", start.handle, end.handle, doing="timing"))


class CudaEvent:
    """A point in the stream's work that has a time."""

    __slots__ = ("handle",)

    def __init__(self, stream: int) -> None:
        self.handle: Any = None
        self.handle = driver.call("cuEventCreate", 0, doing="making an event")
        driver.call("cuEventRecord", self.handle, stream, doing="recording an event")

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        # At exit the driver may be gone before us, and then the event with it.
        if handle is not None and not sys.is_finalizing() and os.getpid() == driver.state.process:
            driver.bindings().cuEventDestroy(handle)


def _warm(architecture: str) -> None:
    """Load the compiler and its library of built-in functions by a small compile."""
    try:
        nvrtc.compile_cubin(f'extern "C" __global__ void warm() {{ }}  // {architecture}', architecture)
    except Exception:  # The first kernel says what is wrong.
        return
