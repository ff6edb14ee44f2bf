"""Users' own CUDA C++ on the GPU: NVRTC to a CUBIN, several sources linked, functions and variables by name."""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from numloom.base.errors import CompileError, DeviceError, MissingDependencyError
from numloom.base.forking import importing
from numloom.base.lasting import WeakValues
from numloom.base.wording import counted
from numloom.device.cache import key_of, shared
from numloom.device.cuda import driver
from numloom.device.cuda.code import LoadedCode
from numloom.device.cuda.compile import SAME_STACK
from numloom.device.cuda.compile import bindings as nvrtc_bindings
from numloom.device.headers import Headers, scan
from numloom.device.interface import MemorySpan

try:
    from numloom.device.cuda._raw import RawLaunch  # type: ignore[import-not-found]
except ImportError:
    RawLaunch = None

PLAIN_SHARED = 48 << 10
GRID = (2**31 - 1, 65535, 65535)
BLOCK = (1024, 1024, 64)
ATTRIBUTES = {
    "max_threads_per_block": "MAX_THREADS_PER_BLOCK",
    "shared_size_bytes": "SHARED_SIZE_BYTES",
    "const_size_bytes": "CONST_SIZE_BYTES",
    "local_size_bytes": "LOCAL_SIZE_BYTES",
    "num_regs": "NUM_REGS",
    "ptx_version": "PTX_VERSION",
    "binary_version": "BINARY_VERSION",
    "cache_mode_ca": "CACHE_MODE_CA",
    "max_dynamic_shared_size_bytes": "MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "preferred_shared_memory_carveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
}
"""Names that CuPy's and PyCUDA's users know, and the driver's."""

_INSTALL = "pip install 'numloom[cuda13-core]'"
_NO_HEADER = re.compile(r'error: (?:cannot|could not) open source file "([^"]+)"')
_CUDA_HEADER = re.compile(
    r"^(?:cuda[\w]*\.h(?:pp)?$|cuda/|cub/|thrust/|nv/|cooperative_groups|mma\.h|curand|cuComplex\.h|math_constants\.h"
    r"|vector_types\.h|crt/|device_\w+\.h|sm_\w+\.h)"
)
_COMPLAINT_FILE = re.compile(r"^([^\n()]*)\(\d+\): (?:catastrophic )?error", re.MULTILINE)


# ---------------------------------------------------------------- headers


@functools.cache
def header_folders() -> tuple[str, ...]:
    """Folders of the CUDA headers that are installed: the toolkit's own and the core compute libraries'."""
    found: list[str] = []
    try:
        with importing:
            from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:
        find_nvidia_header_directory = None
    if find_nvidia_header_directory is not None:
        for library in ("cudart", "cccl"):
            try:
                folder = find_nvidia_header_directory(library)
            except Exception:  # Not found, or a name that this version of the finder does not know.
                folder = None
            if folder:
                found.append(folder)
    spec = importlib.util.find_spec("cuda")
    for root in spec.submodule_search_locations or () if spec is not None else ():
        found += glob.glob(os.path.join(root, "cccl", "headers", "include"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            found.append(os.path.join(os.environ[variable], "include"))
    found += [os.path.join(folder, "cccl") for folder in found]
    return tuple(dict.fromkeys(folder for folder in found if os.path.isdir(folder)))


def _folders(options: Sequence[str]) -> list[str]:
    return [option[2:] for option in options if option.startswith("-I")]


# ---------------------------------------------------------------- compiling


def compile_module(
    sources: Mapping[str, str], options: tuple[str, ...], names: tuple[str, ...], architecture: str
) -> tuple[bytes, dict[str, str]]:
    """Machine code of the linked sources, and the symbol of each name expression; through the disk cache."""
    folders = _folders(options)
    headers = scan(sources, folders)
    nvrtc = nvrtc_bindings()
    _, major, minor = nvrtc.nvrtcVersion()
    others = header_folders() if headers.others or not headers.whole else ()
    origin = f"module nvrtc {major}.{minor} {architecture} {' '.join(others)}"
    key = key_of(json.dumps([list(sources.items()), options, names, headers.files]), origin)
    cache = shared()
    payload = cache.get(key, origin) if headers.whole else None
    found = None if payload is None else _parted(payload)
    if found is None:
        payload = _build(sources, options, names, architecture, headers, others)
        if headers.whole:
            cache.put(key, payload, origin)
        found = _parted(payload)
        assert found is not None
    return found


def _parted(payload: bytes) -> tuple[bytes, dict[str, str]] | None:
    """The two parts of an entry; None for what is none of ours."""
    line, _, cubin = payload.partition(b"\n")
    try:
        symbols = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return (cubin, symbols) if isinstance(symbols, dict) else None


def _build(
    sources: Mapping[str, str], options: tuple[str, ...], names: tuple[str, ...], architecture: str,
    headers: Headers, folders: tuple[str, ...],
) -> bytes:  # fmt: skip
    standard = () if any(option.startswith("-std=") for option in options) else ("-std=c++17",)
    relocatable = ("--relocatable-device-code=true",) if len(sources) > 1 else ()
    arguments = [
        f"--gpu-architecture={architecture}", SAME_STACK, *standard, *relocatable, *options,
        *[f"-I{folder}" for folder in folders],
    ]  # fmt: skip
    shares = _shares(sources, names)
    parts: dict[str, bytes] = {}
    symbols: dict[str, str] = {}
    for name, text in sources.items():
        parts[name], lowered = _compile(name, text, arguments, shares[name], headers)
        symbols.update(lowered)
    cubin = link(parts, architecture) if len(parts) > 1 else next(iter(parts.values()))
    return json.dumps(symbols).encode() + b"\n" + cubin


def _shares(sources: Mapping[str, str], names: Sequence[str]) -> dict[str, list[str]]:
    """The name expressions of each source: a name belongs to the first that defines it (or else speaks of it)."""
    shares: dict[str, list[str]] = {name: [] for name in sources}
    for expression in names:
        base = re.escape(expression.partition("<")[0].strip().lstrip("&").rpartition("::")[2])
        for pattern in (rf"__global__[^;{{}}]*\b{base}\s*\(", rf"\b{base}\b", ""):
            owner = next((name for name, text in sources.items() if re.search(pattern, text)), None)
            if owner is not None:
                shares[owner].append(expression)
                break
    return shares


def _compile(
    name: str, text: str, arguments: Sequence[str], names: Sequence[str], headers: Headers
) -> tuple[bytes, dict[str, str]]:
    """One source to a CUBIN."""
    nvrtc = nvrtc_bindings()
    code, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, None, None)
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise DeviceError(f"NVRTC could not take the source {name}: {code.name}")
    try:
        for expression in names:
            nvrtc.nvrtcAddNameExpression(program, expression.encode())
        options = [argument.encode() for argument in arguments]
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            said = log.decode(errors="replace").rstrip("\0 \n") or code.name
            raise _refusal(name, text, said, headers)
        lowered = {}
        for expression in names:
            code, symbol = nvrtc.nvrtcGetLoweredName(program, expression.encode())
            if code == nvrtc.nvrtcResult.NVRTC_SUCCESS:
                lowered[expression] = symbol.decode()
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = b" " * size
        nvrtc.nvrtcGetCUBIN(program, cubin)
        return cubin, lowered
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _refusal(name: str, text: str, log: str, headers: Headers) -> Exception:
    """What to raise: a missing header of CUDA has a cure; else the line of the file that the complaint is about."""
    missing = _NO_HEADER.search(log)
    if missing is not None and _CUDA_HEADER.match(missing[1]):
        return MissingDependencyError(f"the CUDA header {missing[1]} is not installed", _INSTALL)
    place = _COMPLAINT_FILE.search(log)
    if place is not None and place[1] == "__nv_name_map":
        # The line number counts NVRTC's own list of names, so it must not point into the user's text.
        return CompileError("NVRTC", "", "a name expression does not fit the source:\n" + log)
    if place is not None and place[1] != name and os.path.realpath(place[1]) in dict(headers.files):
        try:
            with open(place[1], encoding="utf-8", errors="replace") as file:
                return CompileError(f"NVRTC ({place[1]})", file.read(), log)
        except OSError:
            pass
    return CompileError("NVRTC" if name == "kernel.cu" else f"NVRTC ({name})", text, log)


def link(parts: Mapping[str, bytes], architecture: str) -> bytes:
    """One CUBIN of several relocatable ones: by nvJitLink where it is installed, else by the driver's linker."""
    try:
        with importing:
            from cuda.bindings import nvjitlink

        handle = nvjitlink.create(1, [f"-arch={architecture}"])
    except Exception:  # The library is not installed; the bindings raise their own kinds.
        return _link_by_driver(parts)
    try:
        for name, cubin in parts.items():
            nvjitlink.add_data(handle, nvjitlink.InputType.CUBIN, cubin, len(cubin), name)
        try:
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            log = bytearray(max(nvjitlink.get_error_log_size(handle), 1))
            nvjitlink.get_error_log(handle, log)
            raise CompileError("nvJitLink", "", log.decode(errors="replace").rstrip("\0 \n") or str(error)) from error
        linked = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, linked)
        return bytes(linked)
    finally:
        nvjitlink.destroy(handle)


def _link_by_driver(parts: Mapping[str, bytes]) -> bytes:
    bindings = driver.bindings()
    log = bytearray(8192)
    which = bindings.CUjit_option
    keys = [which.CU_JIT_ERROR_LOG_BUFFER, which.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    state = driver.call("cuLinkCreate", 2, keys, [log, len(log)], doing="linking sources")
    try:
        kind = bindings.CUjitInputType.CU_JIT_INPUT_CUBIN
        for name, cubin in parts.items():
            driver.call("cuLinkAddData", state, kind, cubin, len(cubin), name.encode(), 0, [], [], doing="linking")
        address, size = driver.call("cuLinkComplete", state, doing="linking sources")
        return ctypes.string_at(int(address), int(size))
    except DeviceError as error:
        said = log.decode(errors="replace").rstrip("\0 \n")
        raise CompileError("the driver's linker", "", said or str(error)) from error
    finally:
        bindings.cuLinkDestroy(state)


# ---------------------------------------------------------------- modules and functions


class CudaModule:
    """A loaded module; see `numloom.device.interface.Module`."""

    def __init__(self, device: Any, cubin: bytes, symbols: Mapping[str, str]) -> None:
        self._device = device
        self._symbols = symbols
        self._code = LoadedCode(cubin, device.idle, "loading a module")
        self._functions: WeakValues[str, CudaFunction] = WeakValues()  # They hold it.

    def function(self, name: str) -> CudaFunction:
        found = self._functions.get(name)
        if found is None:
            handle = self._find("cuModuleGetFunction", name)
            found = self._functions[name] = CudaFunction(self._device, self, name, int(handle))
        return found

    def variable(self, name: str) -> tuple[int, int]:
        address, nbytes = self._find("cuModuleGetGlobal", name)
        return int(address), int(nbytes)

    def _find(self, call: str, name: str) -> Any:
        symbol = self._symbols.get(name) or self._symbols.get("&" + name) or name
        try:
            return driver.call(call, self._code.handle, symbol.encode(), doing=f"finding {name}")
        except DeviceError as error:
            if "NOT_FOUND" not in str(error):
                raise
            raise KeyError(name) from None


class Attributes(MutableMapping[str, int]):
    """A function's attributes, read from the driver when asked for."""

    def __init__(self, function: CudaFunction) -> None:
        self._function = function

    def __getitem__(self, name: str) -> int:
        return int(driver.call("cuFuncGetAttribute", self._which(name), self._function.handle))

    def __setitem__(self, name: str, value: int) -> None:
        driver.call(
            "cuFuncSetAttribute", self._function.handle, self._which(name), value,
            doing=f"setting {name} of kernel {self._function.name} to {value}",
        )  # fmt: skip
        if name == "max_dynamic_shared_size_bytes":
            self._function.dynamic = max(value, PLAIN_SHARED)

    def __delitem__(self, name: str) -> None:
        raise TypeError("attributes of a kernel cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(ATTRIBUTES)

    def __len__(self) -> int:
        return len(ATTRIBUTES)

    def _which(self, name: str) -> Any:
        return getattr(driver.bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{ATTRIBUTES[name]}")


class CudaFunction:
    """A ``__global__`` function; see `numloom.device.interface.DeviceFunction`.

    Attributes
    ----------
    layout : tuple of (int, int)
        Offset and bytes of each parameter, as the compiled code has them.
    dynamic : int
        Bytes of dynamic shared memory that it may be launched with so far.
    """

    def __init__(self, device: Any, module: CudaModule, name: str, handle: int) -> None:
        self.name = name
        self.handle = handle
        self.device = device
        self.dynamic = PLAIN_SHARED
        self.attributes: Mapping[str, int] = Attributes(self)
        self.layout = tuple(self._parameters())
        self.nbytes = max((offset + size for offset, size in self.layout), default=0)
        self._module = module  # the code must outlive the handle
        self._offsets = tuple(offset for offset, _ in self.layout)
        self._threads = self.attributes["max_threads_per_block"]
        if RawLaunch is None:
            self._call: Any = self._call_uncompiled
        else:
            self._call = RawLaunch(driver.address_of("cuLaunchKernel"), handle, self._offsets, self.nbytes)

    def _parameters(self) -> Iterator[tuple[int, int]]:
        query = driver.bindings().cuFuncGetParamInfo
        for index in range(4096):
            code, *found = query(self.handle, index)
            if code:
                return
            yield int(found[0]), int(found[1])

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
        if len(arguments) != len(self.layout):
            raise TypeError(
                f"kernel {self.name} takes {counted(len(self.layout), 'argument')}, {len(arguments)} were given"
            )
        packed = bytearray(self.nbytes)
        for number, (argument, (offset, size)) in enumerate(zip(arguments, self.layout, strict=True), 1):
            value = argument if isinstance(argument, bytes) else argument.ptr.to_bytes(8, "little")
            if len(value) != size:
                raise TypeError(
                    f"argument {number} of kernel {self.name} has {len(value)} bytes, its parameter takes {size}"
                )
            packed[offset : offset + size] = value
        self.launch_packed(grid, block, bytes(packed), shared, stream, cooperative)

    def launch_packed(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        packed: bytes,
        shared: int = 0,
        stream: int | None = None,
        cooperative: bool = False,
    ) -> None:
        """`launch` with the parameters already in one block, as `layout` says."""
        if block[0] * block[1] * block[2] > self._threads:
            raise ValueError(
                f"kernel {self.name} runs with at most {self._threads} threads a block on this GPU (it needs "
                f"{self.attributes['num_regs']} registers a thread); {'x'.join(map(str, block))} were asked for"
            )
        if shared > self.dynamic:
            self._allow(shared)
        own = self.device.stream
        if stream is None or stream == own:
            code = self._cooperate(grid, block, packed, shared, own) if cooperative else self._call(
                grid, block, packed, shared, own
            )  # fmt: skip
        else:
            order(own, stream)
            run = self._cooperate if cooperative else self._call
            code = run(grid, block, packed, shared, stream)
            if not code:
                order(stream, own)
        if code:
            self._failed(code, grid, block, packed, shared, stream, cooperative)

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """Blocks of `threads` threads that run on one multiprocessor at once."""
        call = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(driver.call(call, self.handle, threads, shared, doing=f"asking for the occupancy of {self.name}"))

    def _allow(self, shared: int) -> None:
        """Ask for more dynamic shared memory than a kernel has by default."""
        most = driver.attribute(self.device.device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        static = self.attributes["shared_size_bytes"]
        if shared + static > most:
            raise ValueError(
                f"kernel {self.name} was given {shared} bytes of dynamic shared memory beside {static} static ones; "
                f"a block of this GPU has at most {most}"
            )
        self.attributes["max_dynamic_shared_size_bytes"] = shared  # type: ignore[index]

    def _pointers(self, packed: bytes) -> tuple[Any, Any]:
        memory = ctypes.create_string_buffer(packed, max(len(packed), 1))
        base = ctypes.addressof(memory)
        return memory, (ctypes.c_void_p * max(len(self._offsets), 1))(*[base + offset for offset in self._offsets])

    def _call_uncompiled(self, grid: Any, block: Any, packed: bytes, shared: int, stream: int) -> int:
        memory, pointers = self._pointers(packed)
        call = driver.bindings().cuLaunchKernel
        (code,) = call(self.handle, *grid, *block, shared, stream, ctypes.addressof(pointers), 0)
        del memory
        return int(code)

    def _cooperate(self, grid: Any, block: Any, packed: bytes, shared: int, stream: int) -> int:
        memory, pointers = self._pointers(packed)
        call = driver.bindings().cuLaunchCooperativeKernel
        (code,) = call(self.handle, *grid, *block, shared, stream, ctypes.addressof(pointers))
        del memory
        return int(code)

    def _failed(
        self, code: int, grid: Any, block: Any, packed: bytes, shared: int, stream: int | None, cooperative: bool
    ) -> None:
        """Launch again where this thread had no context, else raise."""
        if driver.enter_context(code):
            run = self._cooperate if cooperative else self._call_uncompiled
            code = run(grid, block, packed, shared, self.device.stream if stream is None else stream)
        if code:
            size = f"{'x'.join(map(str, grid))} blocks of {'x'.join(map(str, block))} threads"
            if cooperative and driver.bindings().CUresult(code).name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE":
                fit = self.occupancy(block[0] * block[1] * block[2], shared) * self.device.multiprocessors
                raise ValueError(
                    f"a cooperative launch needs all its blocks on the GPU at once: kernel {self.name} was asked to "
                    f"run {size}, at most {fit} blocks of this size fit"
                )
            driver.fail(code, f"launching kernel {self.name} ({size}, {shared} bytes of shared memory)")


def order(first: int, then: int) -> None:
    """What is put on stream `then` from now on runs after what is on stream `first`."""
    bindings = driver.bindings()
    event = driver.call("cuEventCreate", bindings.CUevent_flags.CU_EVENT_DISABLE_TIMING, doing="making an event")
    try:
        driver.call("cuEventRecord", event, first, doing="recording an event")
        driver.call("cuStreamWaitEvent", then, event, 0, doing="ordering two streams")
    finally:
        bindings.cuEventDestroy(event)  # the driver keeps it until it has happened


def load(
    device: Any, sources: Mapping[str, str], options: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> CudaModule:
    """`numloom.device.interface.Backend.module` of a GPU."""
    options = tuple(option for option in options if option != "--check")
    cubin, symbols = compile_module(sources, options, names, device.architecture)
    return CudaModule(device, cubin, symbols)
