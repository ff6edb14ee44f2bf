"""A CUDA GPU as a device.

All work goes to the legacy default stream, so it is ordered with that of CuPy, PyTorch and any
other library that uses it, and `download` needs no more than the driver's own order.
"""

from __future__ import annotations

import ctypes
import os
import time
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.errors import DeviceError
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda import driver
from numloom.device.cuda.routines import ROUTINES
from numloom.device.memory import Buffer, Pool

try:
    from numloom.device.cuda._launch import launch as _launch  # type: ignore[import-not-found]
except ImportError:
    _launch = None

STREAM = 0
_STAGE = 4 << 20


class CudaKernel:
    """A loaded kernel; always ready."""

    __slots__ = ("entry", "function", "module", "text")

    ready = True

    def __init__(self, text: str, entry: str, module: Any, function: int) -> None:
        self.text = text
        self.entry = entry
        self.module = module
        self.function = function

    def attribute(self, name: str) -> int:
        """A function attribute by the end of its name, such as NUM_REGS or LOCAL_SIZE_BYTES."""
        which = getattr(driver.bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(driver.call("cuFuncGetAttribute", which, self.function))


class CudaDevice:
    """One GPU; see `numloom.device.interface.Device` for the methods without a text of their own.

    Attributes
    ----------
    index : int
        Number of the GPU among those that CUDA_VISIBLE_DEVICES shows.
    architecture : str
        For the compiler, such as "sm_90".
    multiprocessors, total_memory : int
        Properties of the GPU.
    pool : Pool
        Memory of the arrays.
    stream : int
        Handle of the stream that work goes to.
    """

    name = "cuda"
    stream = STREAM

    def __init__(self, index: int | None = None) -> None:
        if index is None:
            index = int(os.environ.get("NUMLOOM_CUDA_DEVICE", "0"))
        driver.call("cuInit", 0, doing="starting CUDA")
        self.index = index
        self.device = driver.call("cuDeviceGet", index, doing=f"choosing GPU {index}")
        self.context = driver.call("cuDevicePrimaryCtxRetain", self.device, doing="making a CUDA context")
        driver.call("cuCtxSetCurrent", self.context)
        major = driver.attribute(self.device, "COMPUTE_CAPABILITY_MAJOR")
        minor = driver.attribute(self.device, "COMPUTE_CAPABILITY_MINOR")
        self.architecture = f"sm_{major}{minor}"
        self.multiprocessors = driver.attribute(self.device, "MULTIPROCESSOR_COUNT")
        self.total_memory = int(driver.call("cuDeviceTotalMem", self.device))
        name = driver.call("cuDeviceGetName", 256, self.device)
        self.description = name.decode(errors="replace").rstrip("\0 ")
        self.pool = Pool("cuda", self._raw_allocate, self._raw_free, config.memory_limit)
        self.allocate = self.pool.allocate
        self._kernels: dict[tuple[str, str], CudaKernel] = {}
        self._process = os.getpid()
        host = driver.call("cuMemHostAlloc", 8, driver.bindings().CU_MEMHOSTALLOC_DEVICEMAP)
        self._error = ctypes.c_int64.from_address(int(host))
        self._error.value = 0
        self._error_address = int(driver.call("cuMemHostGetDevicePointer", host, 0))
        self._stage: tuple[int, Any] | None = None
        self._work: Buffer | None = None
        self._clean = 0
        self._launch_address = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p).value or 0

    @classmethod
    def missing(cls) -> str | None:
        """What keeps a GPU from being used here."""
        return driver.missing()

    # ------------------------------------------------------------ memory

    def _raw_allocate(self, nbytes: int) -> int:
        self._check_process()
        return int(driver.call("cuMemAlloc", nbytes, doing=f"allocating {nbytes} bytes"))

    def _raw_free(self, address: int, nbytes: int) -> None:
        if os.getpid() == self._process:
            driver.call("cuMemFree", address)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise DeviceError(
                "CUDA cannot be used in a forked process: start workers with multiprocessing's 'spawn' method"
            )

    def memory_info(self) -> tuple[int, int]:
        """Free and total bytes of the GPU."""
        free, total = driver.call("cuMemGetInfo")
        return int(free), int(total)

    def upload(self, host: np.ndarray[Any, Any]) -> Buffer:
        buffer = self.pool.allocate(host.nbytes)
        if host.nbytes:
            driver.call(
                "cuMemcpyHtoD", buffer.ptr, host.__array_interface__["data"][0], host.nbytes, doing="copying to the GPU"
            )
        return buffer

    def download(self, buffer: Any, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        host = np.empty(nbytes, np.uint8)
        if nbytes:
            address = host.__array_interface__["data"][0]
            driver.call("cuMemcpyDtoH", address, buffer.ptr + offset, nbytes, doing="copying from the GPU")
        return host

    def view(self, buffer: Any) -> np.ndarray[Any, Any] | None:
        """None: the host cannot see the memory."""
        return None

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        if nbytes:
            driver.call(
                "cuMemcpyDtoDAsync", target.ptr + target_offset, source.ptr + source_offset, nbytes, self.stream,
                doing="copying on the GPU",
            )  # fmt: skip

    def workspace(self, nbytes: int, counters: int) -> int:
        work = self._work
        if work is None or work.nbytes < nbytes:
            self._work = work = self.pool.allocate(max(nbytes, 1 << 20))
            self._clean = 0
        if counters > self._clean:
            driver.call("cuMemsetD8Async", work.ptr + self._clean, 0, counters - self._clean, self.stream)
        # A kernel leaves its counters at zero and anything else as it likes.
        self._clean = counters
        return int(work.ptr)

    # ------------------------------------------------------------ kernels

    def kernel(self, text: str, entry: str, *, wait: bool = True) -> CudaKernel:
        kernel = self._kernels.get((text, entry))
        if kernel is None:
            self._check_process()
            cubin = nvrtc.cached_cubin(text, self.architecture)
            module = driver.call("cuModuleLoadData", cubin, doing="loading a kernel")
            function = driver.call("cuModuleGetFunction", module, entry.encode(), doing=f"finding kernel {entry}")
            kernel = self._kernels[text, entry] = CudaKernel(text, entry, module, int(function))
        return kernel

    def launch(self, kernel: Any, params: array[int], geometry: Any) -> None:
        if geometry.shared > 49152:
            which = driver.bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.call("cuFuncSetAttribute", kernel.function, which, geometry.shared)
        if _launch is not None:
            code = _launch(
                self._launch_address, kernel.function, geometry.blocks, geometry.blocks_y, geometry.threads,
                geometry.shared, self.stream, params,
            )  # fmt: skip
        else:
            code = self._launch_uncompiled(kernel, params, geometry)
        if code:
            raise DeviceError(f"launching {kernel.entry} failed: {driver.bindings().CUresult(code).name}")

    def _launch_uncompiled(self, kernel: Any, params: array[int], geometry: Any) -> int:
        pointers = (ctypes.c_void_p * 1)(params.buffer_info()[0])
        (code,) = driver.bindings().cuLaunchKernel(
            kernel.function, geometry.blocks, geometry.blocks_y, 1, geometry.threads, 1, 1, geometry.shared,
            self.stream, ctypes.addressof(pointers), 0,
        )  # fmt: skip
        return int(code)

    # ------------------------------------------------------------ order and errors

    def error_address(self) -> int:
        return self._error_address

    def take_error(self) -> int:
        self.synchronize()
        error = self._error.value
        if error:
            self._error.value = 0
        return error

    def synchronize(self) -> None:
        """Wait for all work, awake for Ctrl-C."""
        query = driver.bindings().cuStreamQuery
        busy = driver.bindings().CUresult.CUDA_ERROR_NOT_READY
        end = time.monotonic() + 0.002
        while True:
            (code,) = query(self.stream)
            if code != busy:
                break
            if time.monotonic() > end:
                time.sleep(0.0002)
        if code:
            raise DeviceError(
                f"the GPU failed while running earlier work: {code.name}; its memory is lost, restart the process"
            )

    def routine(self, name: str) -> Callable[..., Any]:
        return ROUTINES[name]

    # ------------------------------------------------------------ time

    def event(self) -> Any:
        """A timing event, recorded now."""
        event = driver.call("cuEventCreate", 0)
        driver.call("cuEventRecord", event, self.stream)
        return event

    def elapsed(self, start: Any, end: Any) -> float:
        """Milliseconds between two events; waits for the second."""
        driver.call("cuEventSynchronize", end)
        return float(driver.call("cuEventElapsedTime", start, end))
