"""The libraries: each gives a namespace with NumPy's names, puts arrays on its device, and waits."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


class Library:
    """An array library; this one is NumPy, and what the others share."""

    name = "numpy"
    module = "numpy"
    writable = True
    compiles_any_shape = True

    def __init__(self) -> None:
        self.namespace: Any = np
        self.device = "cpu"

    @classmethod
    def installed(cls) -> bool:
        """Whether it can be imported here."""
        return importlib.util.find_spec(cls.module) is not None

    @property
    def version(self) -> str:
        """Version of the library."""
        return str(importlib.import_module(self.module).__version__)

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        """An array of the library, on its device, with its own memory."""
        return host.copy()

    def prepare(self, function: Function) -> Function:
        """What is called for `function` (already bound to the namespace): itself, or compiled."""
        return function

    def start(self, result: Any) -> None:
        """See that the work of a result is started, as a program does that goes on without waiting."""

    def wait(self, result: Any) -> None:
        """Wait for all work; `result` is the last one."""

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        """A result on the host."""
        return np.asarray(value)

    def release(self) -> None:
        """Give cached memory back."""

    def counts(self) -> tuple[int, int, int] | None:
        """Kernels launched, routines called and waits of the host so far, where the library counts them."""
        return None


class Numloom(Library):
    """Our library: recorded work is started at each call."""

    name = "numloom"
    module = "numloom"

    def __init__(self) -> None:
        import numloom
        from numloom.device import registry
        from numloom.engine.state import counters

        # A benchmark is of the kernels, not of what stands in for them while they compile.
        numloom.config.cpu_compile = "wait"
        self.namespace = numloom
        self.device = registry.current().name
        self._counters = counters

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.namespace.array(host)

    def start(self, result: Any) -> None:
        if isinstance(result, tuple):
            self.namespace.evaluate(*result)
        else:
            self.namespace.evaluate(result)

    def wait(self, result: Any) -> None:
        self.namespace.synchronize()

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        return self.namespace.asnumpy(value)

    def counts(self) -> tuple[int, int, int]:
        found = self._counters
        return found.kernels, found.library_calls, found.waits


class Cupy(Library):
    """CuPy, eager."""

    name = "cupy"
    module = "cupy"

    def __init__(self) -> None:
        import cupy

        self.namespace = cupy
        self.device = "cuda"
        cupy.arange(1)

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.namespace.array(host)

    def wait(self, result: Any) -> None:
        self.namespace.cuda.Device().synchronize()

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        return self.namespace.asnumpy(value)

    def release(self) -> None:
        self.namespace.get_default_memory_pool().free_all_blocks()


class TorchNamespace:
    """NumPy's names over torch, where the two differ in names, keywords or scalars."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.device = torch, device
        for name in ("exp", "log", "log1p", "sqrt", "abs", "where", "bincount", "searchsorted", "argsort"):
            setattr(self, name, getattr(torch, name))

    def arange(self, n: int) -> Any:
        return self.torch.arange(n, device=self.device)

    def maximum(self, a: Any, b: Any) -> Any:
        if isinstance(a, (int, float)):
            return self.torch.clamp_min(b, a)
        return self.torch.clamp_min(a, b) if isinstance(b, (int, float)) else self.torch.maximum(a, b)

    def max(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return self.torch.amax(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return self.torch.sum(x) if axis is None else self.torch.sum(x, dim=axis, keepdim=keepdims)

    def mean(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return self.torch.mean(x) if axis is None else self.torch.mean(x, dim=axis, keepdim=keepdims)

    def var(self, x: Any, axis: int | None = None) -> Any:
        return self.torch.var(x, dim=axis, correction=0)

    def std(self, x: Any, axis: int | None = None) -> Any:
        return self.torch.std(x, dim=axis, correction=0)

    def argmin(self, x: Any, axis: int) -> Any:
        return self.torch.argmin(x, dim=axis)

    def cumsum(self, x: Any, axis: int = 0) -> Any:
        return self.torch.cumsum(x, dim=axis)

    def sort(self, x: Any) -> Any:
        return self.torch.sort(x).values

    def unique(self, x: Any) -> Any:
        return self.torch.unique(x)

    def take(self, x: Any, indices: Any, axis: int) -> Any:
        return self.torch.index_select(x, axis, indices)

    def histogram(self, x: Any, bins: int, range: tuple[float, float]) -> Any:
        return self.torch.histc(x, bins, *range), None


class Torch(Library):
    """PyTorch, eager."""

    name = "torch"
    module = "torch"

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.namespace = TorchNamespace(torch, self.device)
        torch.set_grad_enabled(False)

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.torch.tensor(host, device=self.device)

    def wait(self, result: Any) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        return value.cpu().numpy()

    def release(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class TorchCompile(Torch):
    """PyTorch, compiled."""

    name = "torch.compile"

    def prepare(self, function: Function) -> Function:
        self.torch._dynamo.reset()
        return self.torch.compile(function, dynamic=False)


class Jax(Library):
    """JAX, jitted; its arrays cannot be written, so cases that write run their functional form."""

    name = "jax"
    module = "jax"
    writable = False
    compiles_any_shape = False

    def __init__(self) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.namespace = jax.numpy
        self.device = "cuda" if jax.default_backend() == "gpu" else "cpu"

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.jax.numpy.array(host)

    def prepare(self, function: Function) -> Function:
        return self.jax.jit(function)

    def wait(self, result: Any) -> None:
        self.jax.block_until_ready(result)


LIBRARIES: dict[str, type[Library]] = {
    library.name: library for library in (Numloom, Library, Cupy, Torch, TorchCompile, Jax)
}
