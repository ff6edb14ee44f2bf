"""Kernels in Python syntax: numba-cuda compiles them for the GPU, its simulator runs them on the CPU.

numba-cuda is an extra (``pip install 'numloom[numba]'``) and is imported when the first kernel runs.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.array.storage import pin, unpin
from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.registry import many, several
from numloom.engine import look
from numloom.engine.doubts import is_due, share
from numloom.kernels.arguments import elsewhere_for
from numloom.kernels.raw import MOST_BLOCKS, MOST_THREADS, stream_handle, triple

_SIMULATE = "NUMBA_ENABLE_CUDASIM"


def _numba_cuda() -> Any:
    """The module `numba.cuda`: the compiler where arrays live on a GPU, the simulator where they live on the CPU."""
    device = registry.current()
    simulate = not device.discrete
    if "numba.cuda" not in sys.modules and "numba_cuda.numba.cuda" not in sys.modules:
        before = os.environ.get(_SIMULATE)
        os.environ[_SIMULATE] = "1" if simulate else "0"
        try:
            module = _imported()
        finally:
            # Read once, at import; children of this process choose for themselves.
            if before is None:
                del os.environ[_SIMULATE]
            else:
                os.environ[_SIMULATE] = before
    else:
        module = _imported()
    simulates = "simulator" in module.to_device.__module__
    if simulates != simulate:
        found = "the simulator" if simulates else "the compiler for GPUs"
        raise DeviceError(
            f"numba.cuda was imported before as {found}, and arrays live on {device.name!r}: import it after numloom's "
            f"device is chosen, or set {_SIMULATE}={int(simulate)} before Python starts"
        )
    return module


def _imported() -> Any:
    try:
        module = importlib.import_module("numba.cuda")
        if "simulator" not in module.to_device.__module__:
            importlib.import_module("numba.cuda.cudaimpl")  # its first use would fail where NumPy is too new for it
    except ImportError as error:
        raise MissingDependencyError(
            f"kernels in Python syntax need numba-cuda ({error})", "pip install 'numloom[numba]'"
        ) from error
    except Exception as error:
        raise MissingDependencyError(
            f"the installed numba-cuda does not run with NumPy {np.__version__} ({error})",
            "upgrade numba-cuda (pip install -U 'numloom[numba]') or install an older NumPy",
        ) from error
    return module


class PythonKernel:
    """A kernel written in Python; made by `kernel`.

    ``f[grid, block](x, y)`` or ``f(grid, block, (x, y))`` launches it. In its text, ``cuda`` is `numba.cuda`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._python = function
        self._options = options
        self._compiled: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<kernel {self._python.__qualname__}>"

    @property
    def is_device_function(self) -> bool:
        """Whether kernels call it, rather than the host."""
        return bool(self._options.get("device"))

    def compiled(self) -> Any:
        """What numba made of it for the current device."""
        name = registry.current().name
        found = self._compiled.get(name)
        if found is None:
            cuda = _numba_cuda()
            found = self._compiled[name] = cuda.jit(**self._options)(self._with_names(cuda))
        return found

    def _with_names(self, cuda: Any) -> Any:
        """The function with `cuda` among its globals, and functions of ours replaced by what numba knows."""

        def known(value: Any) -> Any:
            return value.compiled() if isinstance(value, PythonKernel) and value is not self else value

        code = self._python.__code__
        names = {name: known(value) for name, value in self._python.__globals__.items() if name in _names_of(code)}
        names.setdefault("__builtins__", self._python.__globals__.get("__builtins__"))
        names.setdefault("__name__", self._python.__module__)
        names["cuda"] = cuda
        closure = self._python.__closure__
        if closure is not None:
            closure = tuple(types.CellType(known(cell.cell_contents)) for cell in closure)
        result = types.FunctionType(code, names, self._python.__name__, self._python.__defaults__, closure)
        result.__module__ = self._python.__module__
        result.__qualname__ = self._python.__qualname__
        return result

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise TypeError(
                f"a kernel is launched as f[grid, block](...), with a stream and bytes of shared memory after "
                f"them if need be; got f[{configuration!r}]"
            )
        grid, block = configuration[:2]
        stream = configuration[2] if len(configuration) > 2 else None
        shared = configuration[3] if len(configuration) > 3 else 0

        def launch(*args: Any) -> None:
            self._launch(grid, block, args, shared, stream)

        return launch

    def __call__(
        self, grid: Any, block: Any, args: Sequence[Any] = (), *, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch the kernel."""
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"the kernel's arguments must be a tuple, got {type(args).__name__}")
        self._launch(grid, block, tuple(args), shared_mem, stream)

    def _launch(self, grid: Any, block: Any, args: tuple[Any, ...], shared: int, stream: Any) -> None:
        if (several() or many()) and (place := elsewhere_for(args)) is not None:
            with place:
                self._launch(grid, block, args, shared, stream)
            return
        name = self._python.__name__
        if self.is_device_function:
            raise TypeError(f"{name} is a device function: kernels call it, it cannot be launched")
        blocks = triple(grid, "grid", "blocks", MOST_BLOCKS)
        threads = triple(block, "block", "threads", MOST_THREADS)
        takes = self._python.__code__.co_varnames[: self._python.__code__.co_argcount]
        if len(args) != len(takes):
            raise TypeError(
                f"kernel {name} takes {counted(len(takes), 'argument')} ({', '.join(takes)}), {len(args)} were given"
            )
        if stream_handle(stream) not in (None, 0):
            raise ValueError(f"kernel {name}: kernels in Python syntax run on numloom's own stream only")
        function = self.compiled()
        pinned = []
        try:
            for a in args:
                if type(a) is ndarray:
                    pin(a.storage)
                    pinned.append(a.storage)
            given = [_argument(name, parameter, a) for parameter, a in zip(takes, args, strict=True)]
            function[blocks, threads, 0, shared](*given)
            device = registry.current()
            if is_due(device):
                nodes = [a.storage.value for a in args if type(a) is ndarray]
                share(device, nodes, nodes)
        finally:
            for cell in pinned:
                unpin(cell)


def _names_of(code: types.CodeType) -> set[str]:
    """Global names that a function may use, those of functions within it too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names


class _DeviceMemory:
    """An array for numba: the address for one launch, without pinning for good."""

    __slots__ = ("__cuda_array_interface__",)

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = interface


def _argument(kernel: str, parameter: str, a: Any) -> Any:
    """One argument as numba takes it; the array's storage is pinned."""
    if isinstance(a, np.ndarray) and a.ndim:
        raise TypeError(
            f"kernel {kernel}: argument {parameter} is a NumPy array, which lies on the host: pass numloom.asarray(x)"
        )
    if type(a) is not ndarray:
        return a
    buffer = a.storage.value.buffer
    address = buffer.ptr + a.offset
    if registry.current().discrete:
        return _DeviceMemory(
            {
                "data": (address, not a.writeable), "shape": a.shape, "strides": a.strides, "typestr": a.dtype.str,
                "version": 3, "stream": None,
            }
        )  # fmt: skip
    host = look.lend(registry.current(), buffer, a.offset, a.shape, a.strides, a.dtype, buffer)
    if not a.writeable:
        host.flags.writeable = False
    # An array of the simulator's own kind is used in place; NumPy's it would copy twice.
    return _numba_cuda().simulator.cudadrv.devicearray.FakeCUDAArray(host)


@overload
def kernel(function: Callable[..., Any], /) -> PythonKernel: ...


@overload
def kernel(*, device: bool = False, **options: Any) -> Callable[[Callable[..., Any]], PythonKernel]: ...


def kernel(function: Callable[..., Any] | None = None, /, *, device: bool = False, **options: Any) -> Any:
    """Make a CUDA kernel of a Python function.

    The function is compiled by numba-cuda where arrays live on a GPU, and run by its simulator, thread by thread in
    Python, where they live on the CPU (for tests of small size). In its text ``cuda`` stands for `numba.cuda`:
    ``cuda.threadIdx``, ``cuda.grid(1)``, ``cuda.shared.array``, ``cuda.syncthreads()``, ``cuda.atomic.add``.

    Parameters
    ----------
    function : callable
        The kernel's text. It returns nothing.
    device : bool
        Make a function that kernels call.
    **options
        Options of `numba.cuda.jit`, such as ``fastmath=True``.

    Returns
    -------
    PythonKernel
        ``f[grid, block](x, y)`` launches it.

    Examples
    --------
    >>> import numloom as np
    >>> @np.kernel
    ... def scale(x, factor):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= factor
    >>> x = np.arange(4.0)
    >>> scale[1, 32](x, 3)  # doctest: +SKIP
    """
    if function is None:
        return lambda found: _made(found, device, options)
    return _made(function, device, options)


def _made(function: Any, device: bool, options: dict[str, Any]) -> PythonKernel:
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"kernel takes a Python function, got {type(function).__name__}")
    return PythonKernel(function, {**options, "device": True} if device else options)


__all__ = ["PythonKernel", "kernel"]
