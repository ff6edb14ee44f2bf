"""The host's kernels over memory that the host does not see, as a GPU's: elements are pending, errors come later."""

from __future__ import annotations

import copy
import ctypes
import functools
import mmap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import numloom as nl
from numloom.device import complaints, registry
from numloom.device.cpu.hostview import array_at
from numloom.device.interface import Strided
from numloom.device.memory import Pool
from numloom.device.ordering import gpu_of
from numloom.engine import tape
from numloom.engine.evaluate import plans_of
from numloom.ops.routines import ROUTINES

BEFORE = 256
"""Bytes before a block that an address may lie: what is padded is read from a place before its first element."""
SHIFTED = 1 << 20
"""Bytes by which what is shifted may begin before all blocks."""
ROOM = 1 << 30
"""Bytes of addresses that a stand-in's memory may take."""


class Hidden:
    """Memory that ends the process when the host touches it, but while the stand-in itself is at work."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self.base = libc.mmap(None, ROOM, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert self.base not in (None, ctypes.c_void_p(-1).value)
        self.unmap = libc.munmap
        self.end = BEFORE
        self.free: dict[int, list[int]] = {}
        self.blocks: dict[int, int] = {}
        self.lock = threading.RLock()
        self.depth = 0
        self.protect = ctypes.CDLL(None).mprotect
        self._show(False)

    def _show(self, visible: bool) -> None:
        flags = mmap.PROT_READ | mmap.PROT_WRITE if visible else 0
        assert self.protect(ctypes.c_void_p(self.base), ctypes.c_size_t(ROOM), flags) == 0

    def close(self) -> None:
        """Give the addresses back: hundreds of stand-ins are more than a process may have when it forks."""
        assert self.unmap(ctypes.c_void_p(self.base), ctypes.c_size_t(ROOM)) == 0

    @contextmanager
    def visible(self) -> Iterator[None]:
        with self.lock:
            if self.depth == 0:
                self._show(True)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1
                if self.depth == 0:
                    self._show(False)

    def at_work(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def work(*given: Any, **options: Any) -> Any:
            with self.visible():
                return function(*given, **options)

        return work

    def allocate(self, nbytes: int) -> int:
        kind = max(nbytes, 256).bit_length()  # Blocks of one kind may stand for each other.
        with self.lock:
            if self.free.get(kind):
                address = self.free[kind].pop()
            else:
                end = self.end + (1 << kind) + BEFORE
                if end > ROOM:
                    raise MemoryError("no room for addresses")
                address, self.end = self.base + self.end, end
            self.blocks[address] = nbytes
            return address

    def give_back(self, address: int, nbytes: int) -> None:
        with self.lock:
            del self.blocks[address]
            self.free.setdefault(max(nbytes, 256).bit_length(), []).append(address)


@contextmanager
def apart() -> Iterator[Any]:
    """The CPU's device is replaced by one whose memory is out of sight, for as long as this is open."""
    nl.synchronize()
    inner = registry.get("cpu")
    device: Any = type(inner)()
    device.pool = Pool(inner.pool.name, inner.pool.raw_allocate, inner.pool.raw_free, cache_limit=1 << 24, error_at=0)
    device.pool.poison = inner.pool.poison
    device.allocate = device.pool.allocate
    device.keeps = inner.pool
    device.view = lambda buffer: None
    registry._devices["cpu"] = device
    try:
        with registry.use("cpu"):
            yield device
            nl.synchronize()
    finally:
        registry._devices["cpu"] = inner
        registry.count_devices()  # It was counted beside the other one, whose arrays may live on.
        plans_of(device).clear()
        device.builder.stop()


@contextmanager
def stand_in() -> Iterator[Any]:
    """A device beside the host, as a GPU is, with memory that the host cannot touch; small work runs on the host.

    Kernels and routines that are given memory of the host's pool fail. One may stand within another, as under
    ``--device beside``: the outer one has another name meanwhile, so that its memory stays known.
    """
    nl.synchronize()
    inner = registry.get("cpu")
    hidden = Hidden()
    outer, aside = registry._devices.get("stand-in"), f"stand-in around {hidden.base:#x}"

    def interpret_here(
        program: Any, pointers: Any, params: Any, offsets: Any, where: Any, places: Any, later: Any
    ) -> None:
        if gpu_of(where) is not device:
            return interpret(program, pointers, params, offsets, where, places, later)
        for pointer in pointers:
            # What is shifted is read from a place before its first element.
            assert hidden.base - SHIFTED <= pointer < hidden.base + ROOM, "a kernel was given host memory"
        with hidden.visible():  # What is stored later would not be seen.
            interpret(program, pointers, params, offsets, where, places, None)

    def stored(where: Any, out: Strided, *given: Strided, **options: Any) -> None:
        """Store at indices by the NumPy twin, where the memory lies, as a GPU does."""
        parts = [
            array_at(
                part.buffer.ptr + part.offset * part.dtype.itemsize, part.shape,
                tuple(stride * part.dtype.itemsize for stride in part.strides), part.dtype, part.buffer,
            )
            for part in (out, *given)
        ]  # fmt: skip
        ROUTINES["scatter"].numpy(*parts, **options)

    def routine(name: str) -> Any:
        function = hidden.at_work(stored if name == "scatter" else found(name))

        def checked(*given: Any, **options: Any) -> Any:
            for part in (*given, *options.values()):
                near = isinstance(part, Strided) and part.buffer.pool is not None and part.buffer.pool.error_at
                assert not near, "a routine, too"
            return late(lambda: function(*given, **options), options.get("location"))

        return checked

    def late(run: Callable[[], Any], location: Any) -> Any:
        """What a routine gives; an index that it refuses is told later, as a GPU's kernels do."""
        if type(location) is not int:
            return run()
        try:
            return run()
        except IndexError:
            complaints.put(device.error_address(), complaints.Found(location, 0, -1))
            return None

    device: Any = type(inner)()
    device.pool = Pool("stand-in", hidden.allocate, hidden.give_back, cache_limit=1 << 24, error_at=0)
    device.pool.poison = hidden.at_work(inner.pool.poison)
    device.allocate = device.pool.allocate
    device.name, device.discrete, device.dlpack = "stand-in", True, (2, 0)
    device.view = lambda buffer: None
    device.stream, device.followed = 0, []

    def work_apart(one: Any) -> None:
        """Have what a device does see the memory."""
        for name in ("upload", "download", "copy", "clear", "workspace", "launch"):
            setattr(one, name, hidden.at_work(MethodType(getattr(type(inner), name), one)))
        launch = MethodType(type(inner).bound, one)
        one.bound = lambda kernel, params, geometry: hidden.at_work(launch(kernel, params, geometry))
        bind = MethodType(type(inner).bound_routine, one)

        def bound_routine(*given: Any, **options: Any) -> Any:
            function = bind(*given, **options)
            if function is None:
                return None
            function = hidden.at_work(function)
            if options.get("location") is ...:
                return lambda *at: late(lambda: function(*at), at[-1])
            return function

        one.bound_routine = bound_routine
        one.follow = one.follow_mark = lambda other: device.followed.append((one, other))
        one.mark = lambda: None
        one.touched, one.version, one.seen = True, 0, {}

    def lane(*kind: Any) -> Any:
        made = copy.copy(device)
        made.gpu, made.stream = device, len(registry._lanes) + 100
        lent: dict[int, Any] = {}

        def take(nbytes: int) -> int:
            buffer = device.pool.allocate(nbytes)
            lent[buffer.ptr] = buffer
            return int(buffer.ptr)

        made.pool = Pool("stand-in", take, lambda address, nbytes: lent.pop(address, None) and None)
        made.pool.poison = device.pool.poison
        made.allocate = made.pool.allocate
        work_apart(made)
        return made

    work_apart(device)
    device.lane = lane
    device.event, device.elapsed = time.perf_counter, lambda start, end: 1e3 * (end - start)
    found, device.routine = device.routine, routine
    interpret, tape.interpret = tape.interpret, interpret_here  # type: ignore[attr-defined]
    by_loops = tape.run_by_loops
    tape.run_by_loops = lambda linked, where: gpu_of(where) is not device and by_loops(linked, where)
    registry._devices["stand-in"] = device
    if outer is not None:
        registry._devices[aside] = outer
    try:
        with nl.config(placement="auto", cpu_compile="never"), registry.use("stand-in"):
            yield device
            nl.synchronize()
    finally:
        tape.interpret = interpret  # type: ignore[attr-defined]
        tape.run_by_loops = by_loops
        del registry._devices["stand-in"]
        if outer is not None:
            registry._devices["stand-in"] = registry._devices.pop(aside)
        registry._hosts.pop(device, None)
        registry._lanes[:] = [one for one in registry._lanes if one.gpu is not device]
        registry.count_devices()
        plans_of(device).clear()
        device.builder.stop()
        hidden.close()
