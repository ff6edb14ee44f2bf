"""Users' own CUDA C++ on the host: blocks run on all cores, the threads of a block as fibres, checked where asked for.

See ``simt/runtime.hpp`` for how, and ``docs/howto-debug-kernels-on-the-cpu.md`` for what is checked.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.base.forking import RUNTIME, anew, held
from numloom.base.lasting import Lasting, WeakValues
from numloom.base.wording import counted
from numloom.device.cpu import threads
from numloom.device.cpu.builder import Builder, trouble
from numloom.device.cpu.compiler import require
from numloom.device.cpu.libraries import address_of
from numloom.device.cpu.libraries import load as load_library
from numloom.device.cpu.simt import report
from numloom.device.cpu.simt.build import Request, build, headers_of, runtime_text
from numloom.device.cpu.simt.elf import FUNCTION, OBJECT, TLS, ElfFile
from numloom.device.interface import MemorySpan

GRID = (2**31 - 1, 65535, 65535)
BLOCK = (1024, 1024, 64)
MOST_THREADS = 1024
MOST_SHARED = 227 << 10
KEPT = 256
"""Modules that stay loaded though nobody has them."""
MOST_COOPERATING = 4096
"""Blocks of a cooperative launch: each is a thread of the host."""

CHECKS = {"bounds": 1, "races": 2, "barriers": 4}
_MARGIN = 1 << 16
_LOWEST, _HIGHEST = 0x5400 << 32, 1 << 47
"""Where the memory of a process usually lies, seen as numbers."""

_ALIGNMENT = 256
_POINTER = ctypes.sizeof(ctypes.c_void_p)


class Entry(ctypes.Structure):
    """``Entry`` of numloom_cuda.hpp."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("call", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int)), ("count", ctypes.c_int), ("bytes", ctypes.c_long),
    ]  # fmt: skip


class Region(ctypes.Structure):
    """``Region`` of runtime.hpp."""

    _fields_ = [("begin", ctypes.c_uint64), ("end", ctypes.c_uint64), ("argument", ctypes.c_int64)]


class SimtLaunch(ctypes.Structure):
    """``SimtLaunch`` of runtime.hpp."""

    _fields_ = [
        ("call", ctypes.c_void_p), ("function", ctypes.c_void_p), ("arguments", ctypes.c_void_p),
        ("here", ctypes.c_void_p), ("dynamic", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint64),
        ("cooperative", ctypes.c_int32), ("check", ctypes.c_int32), ("strict", ctypes.c_int32),
        ("spare", ctypes.c_int32),
        ("regions", ctypes.c_void_p), ("region_count", ctypes.c_int64), ("margin", ctypes.c_uint64),
        ("error", ctypes.c_void_p),
        ("stop", ctypes.c_int32), ("arrived", ctypes.c_int32), ("left", ctypes.c_int32),
        ("generation", ctypes.c_int32),
    ]  # fmt: skip


class Runtime:
    """The runtime, compiled once for all modules; a lock as `numloom.base.forking` knows them."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library  # the addresses are in it
        self.blocks = _address(library.numloom_blocks)
        self.enter = library.numloom_enter
        self.leave = library.numloom_leave
        self.acquire = library.numloom_hold
        self.release = library.numloom_let_go
        self.cooperate = library.numloom_cooperate
        self.cooperate.argtypes = [ctypes.c_void_p]
        wanted = [ctypes.sizeof(SimtLaunch), ctypes.sizeof(report.Error), ctypes.sizeof(Region)]
        if [library.numloom_sizes(which) for which in range(3)] != wanted:
            raise DeviceError("the runtime of CUDA kernels on the CPU and its Python side are of different versions")
        held(self, RUNTIME)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Loader:
    """Modules of one device: the same arguments give the same module."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._modules: Lasting[Any, CpuModule] = Lasting(KEPT)
        self._runtime: Runtime | None = None
        # Not held by forks, which would wait for the compiler: what it guards is whole at any time.
        self._lock = threading.RLock()
        anew(self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def load(self, sources: Mapping[str, str], options: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> CpuModule:
        """`numloom.device.interface.Backend.module` of the host."""
        check = checks_of(options)
        request = Request(
            dict(sources), tuple(option for option in options if not option.startswith("--check")), tuple(names),
            bool(check),
        )  # fmt: skip
        headers = headers_of(request)
        key = (tuple(request.sources.items()), request.options, request.names, check, headers.files)
        with self._lock:
            module = self._modules.get(key) if headers.whole else None
            if module is None:
                if config.cpu_compile == "never":
                    raise MissingDependencyError(
                        "compiling for the CPU is switched off", "set config.cpu_compile to 'background' or 'wait'"
                    )
                compiler = require(self._builder.compiler)
                try:
                    content = build(request, headers, compiler, self._builder.cache)
                    module = CpuModule(self.runtime, request, content, check)
                except OSError as error:
                    raise trouble(error) from error
                self._modules.keep(key, module)
        return module

    @property
    def runtime(self) -> Runtime:
        """Compiled at the first use."""
        if self._runtime is None:
            library = self._builder.kernel(runtime_text(), "", wait=True).library
            assert library is not None
            self._runtime = Runtime(library)
        return self._runtime


def checks_of(options: Sequence[str]) -> int:
    """What is checked, by the options or by ``config.check``: bits of `CHECKS`."""
    every = sum(CHECKS.values())
    bits = every if config.check else 0
    for option in options:
        if option == "--check":
            bits = every
        elif option.startswith("--check="):
            for word in option.removeprefix("--check=").split(","):
                if word not in CHECKS:
                    raise ValueError(f"option {option!r}: there is no check {word!r}; there are {', '.join(CHECKS)}")
                bits |= CHECKS[word]
    return bits


class CpuModule:
    """A loaded module; see `numloom.device.interface.Module`.

    Attributes
    ----------
    check : int
        What is checked: bits of `CHECKS`.
    """

    def __init__(self, runtime: Runtime, request: Request, content: bytes, check: int) -> None:
        self.runtime = runtime
        self.sources = request.sources
        self.check = check
        self.library = load_library(content)
        self.image = ElfFile(content)
        self.here = address_of(self.library, "numloom_here_address")
        self.dynamic = address_of(self.library, "numloom_dynamic_address")
        self._entries: dict[str, Entry] = {}
        self._functions: WeakValues[str, CpuFunction] = WeakValues()  # They hold it.
        self.attributes: dict[str, dict[str, int]] = {}  # As users set them, by function.
        for number in range(len(request.sources)):
            entries = (Entry * (1 << 20)).in_dll(self.library, f"numloom_entries_{number}")
            for entry in entries:
                if entry.name is None:
                    break
                self._entries.setdefault(entry.name.decode(), entry)

    def function(self, name: str) -> CpuFunction:
        found = self._functions.get(name)
        if found is None:
            entry = self._entries.get(name) or self._entries.get("&" + name)
            if entry is None or not entry.call:
                raise KeyError(name)
            found = self._functions[name] = CpuFunction(self, name, entry)
        return found

    def variable(self, name: str) -> tuple[int, int]:
        entry = self._entries.get(name) or self._entries.get("&" + name)
        if entry is not None and not entry.call:
            return int(entry.address), int(entry.bytes)
        if not name.startswith("numloom_"):
            for symbol in self.image.symbols:
                if symbol.name == name and symbol.kind == OBJECT and symbol.defined:
                    try:
                        return ctypes.addressof(ctypes.c_char.in_dll(self.library, name)), symbol.nbytes
                    except ValueError:  # static
                        break
        raise KeyError(name)

    def static_shared(self, address: int) -> int:
        """Bytes of the ``__shared__`` variables that the kernel at an address declares itself."""
        known = next(symbol.value for symbol in self.image.symbols if symbol.name == "numloom_here_address")
        start = address - self.here + known
        names = [s.name for s in self.image.symbols if s.kind == FUNCTION and s.value == start and s.defined]
        inside = tuple(f"_ZZ{name[2:]}E" if name.startswith("_Z") else f"_ZZ{len(name)}{name}E" for name in names)
        return sum(s.nbytes for s in self.image.symbols if s.kind == TLS and s.defined and s.name.startswith(inside))


class CpuFunction:
    """A ``__global__`` function; see `numloom.device.interface.DeviceFunction`."""

    def __init__(self, module: CpuModule, name: str, entry: Entry) -> None:
        self.name = name
        self._module = module
        self._call = int(entry.call)
        self._address = int(entry.address)
        self._sizes = tuple(entry.sizes[: entry.count])
        self._offsets: list[int] = []
        end = 0
        for size in self._sizes:
            self._offsets.append(end)
            end += -(-size // 64) * 64  # of any alignment
        self._nbytes = end
        shared = module.static_shared(self._address)
        attributes = {
            "max_threads_per_block": MOST_THREADS,
            "shared_size_bytes": shared,
            "max_dynamic_shared_size_bytes": MOST_SHARED - shared,
            # Of a GPU's, the CPU takes none.
            "num_regs": 0,
            "local_size_bytes": 0,
            "const_size_bytes": 0,
        }
        self.attributes: Mapping[str, int] = module.attributes.setdefault(name, attributes)

    def __repr__(self) -> str:
        return f"<CpuFunction {self.name}>"

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
        blocks = self._check_size(grid, block, shared, cooperative)
        if len(arguments) != len(self._sizes):
            raise TypeError(
                f"kernel {self.name} takes {counted(len(self._sizes), 'argument')}, {len(arguments)} were given"
            )
        moved = GuardedArguments(arguments) if self._module.check & CHECKS["bounds"] else None
        memory = ctypes.create_string_buffer(self._nbytes + 64)
        start = -(-ctypes.addressof(memory) // 64) * 64
        pointers = (ctypes.c_void_p * max(len(arguments), 1))()
        regions = []
        sizes: dict[int, int] = {}
        for at, (argument, size, offset) in enumerate(zip(arguments, self._sizes, self._offsets, strict=True)):
            if isinstance(argument, bytes):
                value = argument
            else:
                shift = moved.shift(argument) if moved is not None else 0
                value = (argument.ptr + shift).to_bytes(_POINTER, "little")
                regions.append(Region(argument.begin + shift, argument.end + shift, at))
                sizes[at + 1] = argument.end - argument.begin
            if len(value) != size:
                raise TypeError(
                    f"argument {at + 1} of kernel {self.name} has {len(value)} bytes, its parameter takes {size}"
                )
            ctypes.memmove(start + offset, value, size)
            pointers[at] = start + offset
        table = (Region * max(len(regions), 1))(*regions)
        error = report.Error()
        launch = SimtLaunch(
            self._call, self._address, ctypes.addressof(pointers), self._module.here, self._module.dynamic, grid, block,
            shared, cooperative, self._module.check, moved is not None and moved.strict, 0, ctypes.addressof(table),
            len(regions), _MARGIN if moved is not None and moved.moved else 0, ctypes.addressof(error),
        )  # fmt: skip
        self._run(launch, blocks, cooperative)
        if moved is not None:
            moved.copy_back()
        if error.code:
            raise DeviceError(report.describe(error, self.name, self._module.sources, self._module.image, sizes))

    def _run(self, launch: SimtLaunch, blocks: int, cooperative: bool) -> None:
        runtime = self._module.runtime
        runtime.enter()
        try:
            if cooperative and blocks > 1:
                started = runtime.cooperate(ctypes.addressof(launch))
            else:
                started = 0
                threads.run(runtime.blocks, ctypes.addressof(launch), blocks, 1)
        finally:
            runtime.leave()
        if started:
            raise DeviceError(
                f"kernel {self.name}: a cooperative launch runs all its blocks at once, and the system lets this "
                f"process start threads for only {max(started - 1, 0)} of {blocks} blocks: launch fewer"
            )

    def _check_size(self, grid: Sequence[int], block: Sequence[int], shared: int, cooperative: bool) -> int:
        """The number of blocks, if everything is within CUDA's limits."""
        for what, size, limits in (("grid", grid, GRID), ("block", block, BLOCK)):
            for axis, number, limit in zip("xyz", size, limits, strict=True):
                if not 1 <= number <= limit:
                    raise ValueError(f"kernel {self.name}: {what}.{axis} must be from 1 to {limit}, got {number}")
        count = block[0] * block[1] * block[2]
        if count > MOST_THREADS:
            raise ValueError(
                f"kernel {self.name}: a block of {' x '.join(map(str, block))} threads has {count}, at most "
                f"{MOST_THREADS} are possible"
            )
        most = self.attributes["max_dynamic_shared_size_bytes"]
        if not 0 <= shared <= most:
            raise ValueError(
                f"kernel {self.name} was given {shared} bytes of dynamic shared memory beside "
                f"{MOST_SHARED - most} static ones; at most {MOST_SHARED} in all are possible"
            )
        blocks = grid[0] * grid[1] * grid[2]
        if cooperative and blocks > MOST_COOPERATING:
            raise ValueError(
                f"a cooperative launch needs all its blocks at once: kernel {self.name} was asked to run {blocks}, at "
                f"most {MOST_COOPERATING} are possible on the CPU"
            )
        return blocks


def _words(content: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(content[: len(content) // 8 * 8], np.uint64)


def _words_at(begin: int, end: int) -> np.ndarray[Any, Any]:
    start = -(-begin // 8) * 8
    return np.ctypeslib.as_array((ctypes.c_uint64 * max((end - start) // 8, 0)).from_address(start))


def heap() -> tuple[int, int]:
    """Where the heap of this process begins and ends; far below all else where Python is not loaded just anywhere."""
    try:
        with open("/proc/self/maps") as lines:
            found = [line.split(" ", 1)[0].split("-") for line in lines if line.endswith("[heap]\n")]
    except OSError:
        found = []
    if not found:
        return 0, 0
    end = ctypes.CDLL(None).sbrk
    end.restype, end.argtypes = ctypes.c_size_t, [ctypes.c_ssize_t]
    return int(found[0][0], 16), max(int(found[-1][1], 16), end(0))


class GuardedArguments:
    """Array arguments moved apart for one launch, so that whatever is beside one of them is nobody's.

    Arrays that share bytes are moved together. Where an argument holds addresses into another, nothing is moved.

    Attributes
    ----------
    moved : bool
        Whether they were.
    strict : bool
        Whether no value and no array looks as if it held an address, so that the kernel has no business anywhere else.
    """

    def __init__(self, arguments: Sequence[MemorySpan | bytes]) -> None:
        spans = [argument for argument in arguments if not isinstance(argument, bytes)]
        self._ranges: list[list[int]] = []  # begin, end, where the copy begins
        for begin, end in sorted((span.begin, span.end) for span in spans):
            if self._ranges and begin < self._ranges[-1][1]:
                self._ranges[-1][1] = max(end, self._ranges[-1][1])
            elif end > begin or not self._ranges or self._ranges[-1][:2] != [begin, end]:
                self._ranges.append([begin, end, begin])
        held = [_words(argument) for argument in arguments if isinstance(argument, bytes)]
        held += [_words_at(begin, end) for begin, end, _ in self._ranges]
        memory_lies = [(_LOWEST, _HIGHEST), heap()]
        self.strict = not any(((words >= begin) & (words < end)).any() for words in held for begin, end in memory_lies)
        self.moved = self.strict or not any(
            ((words >= begin) & (words < end)).any() for words in held for begin, end, _ in self._ranges
        )
        self._memory: list[mmap.mmap] = []
        if not self.moved:
            return
        for found in self._ranges:
            begin, end, _ = found
            memory = mmap.mmap(-1, 2 * _MARGIN + end - begin + 2 * _ALIGNMENT)
            self._memory.append(memory)
            start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + _MARGIN
            found[2] = start + (begin - start) % _ALIGNMENT
            ctypes.memmove(found[2], begin, end - begin)

    def shift(self, span: MemorySpan) -> int:
        """How far an argument was moved."""
        for begin, end, start in self._ranges:
            if begin <= span.begin and span.end <= end and begin <= span.ptr <= end:
                return start - begin
        return 0

    def copy_back(self) -> None:
        """Bring what the kernel wrote to where it belongs."""
        if self.moved:
            for begin, end, start in self._ranges:
                ctypes.memmove(begin, start, end - begin)
