"""Kernels in CUDA C++ as users write them: RawKernel for one, RawModule for a source with several.

On a GPU they are compiled by NVRTC; on the CPU by the host's compiler, where the threads of a block are run as
fibres. The front door is the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from numloom.array.ndarray import view_of, wrap
from numloom.array.storage import pin_foreign
from numloom.base.dtypes import ITEMSIZES, U8, code_of
from numloom.base.integers import is_integer
from numloom.device import registry
from numloom.device.interface import DeviceFunction, Module
from numloom.device.memory import Buffer
from numloom.device.registry import current, many, several
from numloom.engine.doubts import is_due, share
from numloom.graph.build import leaf
from numloom.graph.layout import c_strides
from numloom.kernels.arguments import Signature, elsewhere_for, release
from numloom.kernels.options import checked
from numloom.kernels.parameters import Reader

MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
MOST_THREADS_A_BLOCK = 1024
_GEOMETRIES_KEPT = 256


class RawModule:
    """CUDA C++ with any number of kernels and variables.

    Parameters
    ----------
    code : str, sequence of str, or mapping of str to str
        The source; several (a mapping names the files) are compiled one by one and linked.
    path : str or sequence of str
        Files to read the source from, instead of `code`. Their folders are searched for headers. One ``.cubin``,
        ``.fatbin`` or ``.ptx`` file is loaded as it is, on a GPU; it tells the sizes of parameters alone, so a number
        goes by its own type (``numpy.int32(3)``, ``numpy.float32(3)``).
    options : tuple of str
        Compiler options: ``-DNAME=value``, ``-Ifolder``, ``-std=c++20`` and others, from a list of allowed ones.
    backend : {"nvrtc"}
        Taken for CuPy's sake.
    enable_cooperative_groups : bool
        Launch kernels so that all their blocks run at once and can wait for each other.
    name_expressions : sequence of str
        Templates to instantiate and functions without C linkage, such as ``"scale<float>"``.

    Examples
    --------
    >>> import numloom as np
    >>> module = np.RawModule(code=r'''
    ... template <typename T> __global__ void scale(T* x, T factor, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) x[i] *= factor;
    ... }''', name_expressions=["scale<float>", "scale<double>"])
    >>> x = np.arange(4, dtype=np.float32)
    >>> module.get_function("scale<float>")(1, 32, (x, 2.5, 4))
    >>> x
    array([0. , 2.5, 5. , 7.5], dtype=float32)
    """

    def __init__(
        self,
        code: str | Sequence[str] | Mapping[str, str] | None = None,
        *,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("RawModule takes either code or path, and just one of them")
        if backend != "nvrtc":
            raise ValueError(
                f"backend {backend!r} is not there: sources are compiled by 'nvrtc' (or the host's compiler)"
            )
        self.options = checked(options)
        self.binary = _read_compiled(path)
        if self.binary is not None:
            self.sources: dict[str, str] = {}
            if self.options or name_expressions:
                raise TypeError("a file that is compiled already takes no options and no name_expressions")
        elif path is not None:
            self.sources, folders = _read(path)
            self.options += tuple(f"-I{folder}" for folder in folders if f"-I{folder}" not in self.options)
        else:
            self.sources = _named(code)
        self.enable_cooperative_groups = bool(enable_cooperative_groups)
        self.name_expressions = _expressions(name_expressions)
        self.reader = Reader(list(self.sources.values()), self.options)
        self._compiled: dict[Any, Module] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": {}}  # What was compiled is this process's.

    def compile(self, log_stream: Any = None) -> None:
        """Compile now, not at the first use; CompileError shows the line that is wrong."""
        self.module()

    def module(self) -> Module:
        """The compiled module of the current device."""
        device = registry.current()
        module = self._compiled.get(device)
        if module is None:
            if self.binary is None:
                module = device.module(self.sources, options=self.options, names=self.name_expressions)
            elif hasattr(device, "loaded"):
                module = device.loaded(self.binary)
            else:
                raise NotImplementedError(
                    f"a compiled file (.cubin, .fatbin, .ptx) is for GPUs, and arrays are on {device.name!r}: give the "
                    "source in CUDA C++"
                )
            self._compiled[device] = module
        return module

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name, or by one of the name expressions.

        Raises
        ------
        ValueError
            If there is none.
        """
        self._function(name)
        return _kernel_of(self, name)

    def get_global(self, name: str, dtype: Any = None, shape: Any = None) -> Any:
        """An array over the memory of a ``__device__`` or ``__constant__`` variable.

        Reading it reads the variable, assigning to its elements sets the variable. `dtype` and `shape` are those
        of the declaration; where it does not tell (a struct, say) the array holds bytes.

        Examples
        --------
        >>> import numloom as np
        >>> module = np.RawModule(code='__constant__ float factors[2]; extern "C" __global__ void f(float* x) '
        ...                            '{ x[threadIdx.x] *= factors[threadIdx.x]; }')
        >>> module.get_global("factors")[...] = [2, 3]
        >>> x = np.ones(2, np.float32)
        >>> module.get_function("f")(1, 2, (x,))
        >>> x
        array([2., 3.], dtype=float32)
        """
        module = self.module()
        try:
            address, nbytes = module.variable(name)
        except KeyError:
            raise ValueError(
                f"the module has no variable {name!r}: declare it __device__ or __constant__ outside of functions, use "
                "it in a kernel, and give its name expression ('&space::name') where it is static or in a namespace"
            ) from None
        if dtype is None:
            declared = self.reader.variable(name)
            try:
                code = U8 if declared is None else code_of(declared[0])
            except TypeError:
                code, declared = U8, None
            if declared is not None:
                shape = declared[1] if shape is None else shape
        else:
            code = code_of(dtype)
        itemsize = ITEMSIZES[code]
        extents = (nbytes // itemsize,) if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        count = int(np.prod(extents, dtype=np.int64))
        if count < 0 or count * itemsize > nbytes:
            raise ValueError(
                f"variable {name} has {nbytes} bytes, an array of shape {extents} and {itemsize} bytes an element "
                f"needs {count * itemsize}"
            )
        flat = wrap(leaf(Buffer(address, nbytes, None, module), U8, (nbytes,), (1,)))
        pin_foreign(flat.storage)  # kernels read and write it unseen
        array = view_of(flat, 0, extents, c_strides(extents, itemsize))
        array.code = code
        array.is_scalar = False
        return array

    def _function(self, name: str) -> DeviceFunction:
        try:
            return self.module().function(name)
        except KeyError:
            pass
        if self.reader.mangled(name):
            cure = f'it has no C linkage: write extern "C" before it, or give name_expressions=["{name}"]'
        else:
            found = sorted({declared.name for declared in self.reader.declared})
            cure = f"the source defines {', '.join(found)}" if found else "the source defines no __global__ function"
            if self.binary is not None:
                cure = 'see its names with `cuobjdump -symbols` (C++ names are mangled unless declared extern "C")'
        raise ValueError(f"the module has no kernel {name!r}: {cure}")


def _kernel_of(source: RawModule, name: str) -> RawKernel:
    """A kernel of a module by its name."""
    kernel = RawKernel.__new__(RawKernel)
    kernel._take(source, name)
    return kernel


class RawKernel:
    """A kernel in CUDA C++.

    Parameters
    ----------
    code : str
        The source.
    name : str
        The kernel's name; also a name expression such as ``"scale<float>"``.
    options : tuple of str
        Compiler options (see `RawModule`).
    backend, translate_cucomplex, enable_cooperative_groups, jitify
        As of `RawModule`.

    Notes
    -----
    ``kernel(grid, block, args, shared_mem=0, stream=None)`` launches it: `grid` blocks of `block` threads (numbers or
    tuples of up to three). An array gives the address of its first element and is written in place. Numbers take
    the type of the kernel's own parameter, and what does not fit is refused.

    Examples
    --------
    >>> import numloom as np
    >>> add = np.RawKernel(r'''
    ... extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) z[i] = x[i] + y[i];
    ... }''', "add")
    >>> x = np.arange(5, dtype=np.float32)
    >>> z = np.zeros_like(x)
    >>> add((1,), (128,), (x, x, z, 5))
    >>> z
    array([0., 2., 4., 6., 8.], dtype=float32)
    """

    name: str
    source: RawModule

    def __init__(
        self,
        code: str | Sequence[str] | Mapping[str, str],
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise TypeError(f"the kernel's name must be a string, got {name!r}")
        source = RawModule(
            code, options=options, backend=backend, enable_cooperative_groups=enable_cooperative_groups
        )  # fmt: skip
        if "<" in name or source.reader.mangled(name):
            source.name_expressions = _expressions([name])
        self._take(source, name)

    def _take(self, source: RawModule, name: str) -> None:
        self.source = source
        self.name = name
        self.cooperative = source.enable_cooperative_groups
        self._device: Any = None
        self._function: Any = None
        self._packs = False
        self._signature: Any = None
        self._geometries: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}>"

    def __reduce__(self) -> Any:
        return _kernel_of, (self.source, self.name)

    def compile(self, log_stream: Any = None) -> None:
        """Compile now, not at the first launch."""
        self._prepare()

    def _prepare(self) -> None:
        """Find the function on the current device and read its parameters."""
        function = self.source._function(self.name)
        self._function = function
        self._packs = hasattr(function, "launch_packed")
        self._signature = Signature(
            self.name, self.source.reader.parameters(self.name), getattr(function, "layout", None)
        )
        self._device = registry.current()

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any] = (), *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch the kernel; the call returns before it is done."""
        self._launch(grid, block, args if type(args) is tuple else _argument_tuple(args), shared_mem, stream)

    def _launch(self, grid: Any, block: Any, args: tuple[Any, ...], shared_mem: Any, stream: Any) -> None:
        if stream is not None and (lane := registry.lane_at(stream_handle(stream) or 0)) is not None:
            registry.include(lane)
            with registry.on(lane):
                self._launch(grid, block, args, shared_mem, None)
            return
        if (several() or many()) and (place := elsewhere_for(args)) is not None:
            with place:
                self._launch(grid, block, args, shared_mem, stream)
            return
        if current() is not self._device:
            self._prepare()
        try:
            size = self._geometries[grid, block]
        except (KeyError, TypeError):
            size = self._geometry(grid, block)
        if shared_mem or stream is not None:
            shared_mem, stream = _shared_bytes(shared_mem), stream_handle(stream)
        signature = self._signature
        function = self._function
        pinned: list[Any] = []
        try:
            if self._packs:
                packed = signature.pack(args, pinned)
                if pinned:  # pinning one array may have moved another's memory
                    packed = signature.pack(args, pinned)
                function.launch_packed(size[0], size[1], packed, shared_mem, stream, self.cooperative)
            else:
                function.launch(
                    size[0], size[1], signature.spans(args, pinned),
                    shared=shared_mem, stream=stream, cooperative=self.cooperative,
                )  # fmt: skip
            if is_due(self._device):
                share(self._device, *signature.values(args))
        finally:
            if pinned:
                release(pinned)

    def _geometry(self, grid: Any, block: Any) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Grid and block as three numbers each, within the limits of every GPU."""
        blocks = triple(grid, "grid", "blocks", MOST_BLOCKS)
        threads = triple(block, "block", "threads", MOST_THREADS)
        if threads[0] * threads[1] * threads[2] > MOST_THREADS_A_BLOCK:
            raise ValueError(
                f"a block of {' x '.join(map(str, threads))} threads has {threads[0] * threads[1] * threads[2]}, "
                f"at most {MOST_THREADS_A_BLOCK} are possible"
            )
        if len(self._geometries) >= _GEOMETRIES_KEPT:
            self._geometries.clear()
        try:
            self._geometries[grid, block] = blocks, threads
        except TypeError:  # lists
            pass
        return blocks, threads

    # ------------------------------------------------------------ attributes

    @property
    def kernel(self) -> DeviceFunction:
        """The device's own function."""
        if registry.current() is not self._device:
            self._prepare()
        function: DeviceFunction = self._function
        return function

    @property
    def attributes(self) -> dict[str, int]:
        """All attributes of the compiled function by name (registers, shared memory, ...)."""
        return dict(self.kernel.attributes)

    def _attribute(self, name: str) -> int:
        try:
            return self.kernel.attributes[name]
        except KeyError:
            device = registry.current().name
            raise AttributeError(f"kernels on the device {device!r} have no attribute {name!r}") from None

    def _set_attribute(self, name: str, value: int) -> None:
        attributes = self.kernel.attributes
        if isinstance(attributes, MutableMapping):
            attributes[name] = int(value)

    @property
    def max_threads_per_block(self) -> int:
        """The most threads a block of this kernel may have."""
        return self._attribute("max_threads_per_block")

    @property
    def shared_size_bytes(self) -> int:
        """Bytes of static shared memory."""
        return self._attribute("shared_size_bytes")

    @property
    def const_size_bytes(self) -> int:
        """Bytes of constant memory."""
        return self._attribute("const_size_bytes")

    @property
    def local_size_bytes(self) -> int:
        """Bytes of local memory (spilled registers and arrays) of a thread."""
        return self._attribute("local_size_bytes")

    @property
    def num_regs(self) -> int:
        """Registers of a thread."""
        return self._attribute("num_regs")

    @property
    def ptx_version(self) -> int:
        """Version of the virtual architecture, ten times major plus minor."""
        return self._attribute("ptx_version")

    @property
    def binary_version(self) -> int:
        """Version of the real architecture, ten times major plus minor."""
        return self._attribute("binary_version")

    @property
    def cache_mode_ca(self) -> int:
        """Whether global loads are cached in L1."""
        return self._attribute("cache_mode_ca")

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Most bytes of dynamic shared memory; may be set, and grows by itself when a launch asks for more."""
        return self._attribute("max_dynamic_shared_size_bytes")

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        self._set_attribute("max_dynamic_shared_size_bytes", nbytes)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """Share of the L1 cache that is to be shared memory, in percent; may be set."""
        return self._attribute("preferred_shared_memory_carveout")

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        self._set_attribute("preferred_shared_memory_carveout", percent)

    def occupancy(self, block: Any, shared_mem: int = 0) -> int:
        """Blocks that one multiprocessor of the GPU runs at once.

        Parameters
        ----------
        block : int or tuple of int
            Threads of a block.
        shared_mem : int
            Bytes of dynamic shared memory of a block.
        """
        threads = triple(block, "block", "threads", MOST_THREADS)
        function: Any = self.kernel
        if not hasattr(function, "occupancy"):
            raise NotImplementedError(f"the device {registry.current().name!r} has no multiprocessors to be occupied")
        return int(function.occupancy(threads[0] * threads[1] * threads[2], _shared_bytes(shared_mem)))


# ---------------------------------------------------------------- what users hand in


def triple(size: Any, what: str, of: str, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """Grid or block as three numbers.

    >>> triple((4, 2), "grid", "blocks", (9, 9, 9))
    (4, 2, 1)
    """
    given = (size,) if is_integer(size) else size
    if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3:
        raise TypeError(f"{what} must be an int or a tuple of one to three ints, got {size!r}")
    numbers = []
    for number in given:
        if isinstance(number, (bool, np.bool_)) or not is_integer(number):
            raise TypeError(f"{what} must hold ints, got {number!r} in {size!r} (divide with //, not with /)")
        numbers.append(int(number))
    numbers += [1] * (3 - len(numbers))
    for axis, number, limit in zip("xyz", numbers, most, strict=True):
        if not 1 <= number <= limit:
            raise ValueError(f"{what} {size!r} has {number} {of} along {axis}: 1 to {limit} are possible")
    return numbers[0], numbers[1], numbers[2]


def stream_handle(stream: Any) -> int | None:
    """A stream's handle: of an int, of an object with ``__cuda_stream__``, ``ptr``, ``cuda_stream`` or ``handle``."""
    if stream is None or (isinstance(stream, int) and not isinstance(stream, bool)):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(handle)
    raise TypeError(f"stream must be a handle (int), an object with .ptr or __cuda_stream__, or None; got {stream!r}")


def _shared_bytes(nbytes: Any) -> int:
    if isinstance(nbytes, (bool, np.bool_)) or not is_integer(nbytes):
        raise TypeError(f"shared_mem must be a number of bytes, got {nbytes!r}")
    if not 0 <= nbytes < 1 << 31:
        raise ValueError(f"shared_mem must be a number of bytes, got {nbytes}")
    return int(nbytes)


def _argument_tuple(args: Any) -> tuple[Any, ...]:
    if isinstance(args, list):
        return tuple(args)
    raise TypeError(
        f"the kernel's arguments must be a tuple, got {type(args).__name__}: write kernel(grid, block, (x, y, n))"
    )


def _named(code: Any) -> dict[str, str]:
    """Sources by file name."""
    if isinstance(code, str):
        return {"kernel.cu": code}
    if isinstance(code, bytes):
        return {"kernel.cu": code.decode()}
    sources = dict(code) if isinstance(code, Mapping) else None
    if sources is None and isinstance(code, Sequence):
        sources = {f"kernel{number}.cu": text for number, text in enumerate(code, 1)}
    if not sources or not all(isinstance(text, str) for pair in sources.items() for text in pair):
        raise TypeError("code must be CUDA C++ as a string, a list of strings, or a mapping of file names to strings")
    return sources


_COMPILED = (".cubin", ".fatbin", ".ptx")


def _is_path(path: Any) -> bool:
    """Whether this names a file."""
    return isinstance(path, str) or hasattr(path, "__fspath__")


def _read_compiled(path: Any) -> bytes | None:
    """What is in a file that is compiled already; None of another."""
    if not _is_path(path) or not os.fspath(path).endswith(_COMPILED):
        return None
    with open(path, "rb") as file:
        return file.read() + bytes(1)  # PTX is text, which ends so; others tell their size.


def _read(path: Any) -> tuple[dict[str, str], list[str]]:
    """Sources from files, and the folders these are in."""
    paths = [path] if _is_path(path) else list(path)
    sources = {}
    for given in paths:
        name = os.path.abspath(os.fspath(given))
        if name.endswith(_COMPILED):
            raise ValueError(f"{given} is compiled already: such a file is loaded alone, as path=name")
        with open(name, encoding="utf-8") as file:
            sources[name] = file.read()
    if not sources:
        raise TypeError("path must name at least one file")
    return sources, list(dict.fromkeys(os.path.dirname(name) for name in sources))


def _expressions(names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"name_expressions must be a list of strings, got the string {names!r}")
    expressions = tuple(names or ())
    for name in expressions:
        if not isinstance(name, str) or not name.strip() or any(char in name for char in '\n\r\0;{}"#\\'):
            raise ValueError(f"{name!r} is no name expression, such as 'scale<float>'")
    return expressions


__all__ = ["RawKernel", "RawModule"]
