"""The libraries that compile functions: each gives a namespace for the cases, puts arrays on its device, and waits."""

from __future__ import annotations

import functools
import os
import tempfile
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.libraries import Library

Function = Callable[..., Any]
DEVICES = "cpu", "cuda"


class Space:
    """The names of an array module, and what a compiling library has beside them."""

    def __init__(self, module: Any, **more: Any) -> None:
        self._module = module
        self.__dict__.update(more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def fori(lower: int, upper: int, body: Function, state: Any) -> Any:
    """A loop in Python."""
    for number in range(lower, upper):
        state = body(number, state)
    return state


def scan_by(stack: Function) -> Function:
    """A `scan` in Python, which keeps one array a step."""

    def scan(body: Function, state: Any, over: Any) -> Any:
        kept = []
        for number in range(over.shape[0]):
            state, one = body(state, over[number])
            kept.append(one)
        return state, stack(kept)

    return scan


def numpy_space() -> Space:
    """NumPy's namespace, which has no gradients: what tests compare with."""
    from scipy.special import erf

    rng = np.random.default_rng(0)
    return Space(
        np, fori=fori, scan=scan_by(np.stack), erf=erf, rows=rows,
        uniform=lambda key, shape: rng.random(shape, np.float32), astype=lambda x, dtype: x.astype(dtype),
    )  # fmt: skip


def rows(x: Any, start: Any, count: int) -> Any:
    """A part that begins where an array says."""
    return x[start : start + count]


def drawn(generator: Any, key: Any, shape: tuple[int, ...]) -> Any:
    """The next numbers of a generator between 0 and 1."""
    return generator.random(shape, np.float32)


class Compiling(Library):
    """A library that compiles functions, on one device."""

    unrolls = False

    def __init__(self, device: str) -> None:
        self.device = device
        self.namespace: Any = None
        self.open()

    def open(self) -> None:
        """Import the library, and choose its device."""

    def settle(self) -> None:
        """Wait for what compiles in the background."""


class NumloomCompile(Compiling):
    """`numloom.compile`, as users have it: kernels compile in the background, from an empty cache."""

    name = "numloom"
    module = "numloom"

    def open(self) -> None:
        import numloom as nl
        from numloom.device import registry

        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        nl.config.cache_dir = self.folder.name
        if registry.current().name != self.device:
            nl.config.device = self.device
        here = registry.current()
        self.backends = here, registry.beside(here)
        self.numloom = nl
        self.namespace = Space(
            nl,
            fori=nl.fori_loop,
            scan=nl.scan,
            grad=nl.grad,
            erf=nl.special.erf,
            rows=rows,
            uniform=functools.partial(drawn, nl.random.default_rng(0)),
        )

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.numloom.array(host)

    def prepare(self, function: Function) -> Function:
        return self.numloom.compile(function)

    def wait(self, result: Any) -> None:
        self.numloom.synchronize()

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        return self.numloom.asnumpy(value)

    def settle(self) -> None:
        for backend in self.backends:
            builder = getattr(backend, "builder", None)
            if builder is not None:
                builder.drain(60)
        for thread in threading.enumerate():
            if thread.name == "numloom-nvrtc":
                thread.join(60)


class JaxJit(Compiling):
    """`jax.jit`, with products in full float32."""

    name = "jax"
    module = "jax"

    def open(self) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if self.device == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax = jax
        if (jax.default_backend() == "gpu") != (self.device == "cuda"):
            raise RuntimeError(f"JAX runs on {jax.default_backend()}, not on {self.device}")
        self.namespace = Space(
            jax.numpy,
            fori=jax.lax.fori_loop,
            scan=jax.lax.scan,
            grad=jax.grad,
            erf=jax.scipy.special.erf,
            rows=jax.lax.dynamic_slice_in_dim,
            uniform=lambda key, shape: jax.random.uniform(jax.random.fold_in(jax.random.key(0), key), shape),
        )

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        if host.dtype == np.float64:  # Until the case is over.
            self.jax.config.update("jax_enable_x64", True)
        return self.jax.numpy.array(host)

    def release(self) -> None:
        self.jax.config.update("jax_enable_x64", False)

    def prepare(self, function: Function) -> Function:
        return self.jax.jit(function)

    def wait(self, result: Any) -> None:
        self.jax.block_until_ready(result)


def torch_space(torch: Any, device: str) -> SimpleNamespace:
    """NumPy's names over torch, whose compiler unrolls loops."""

    def reduction(function: Function) -> Function:
        def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

        return reduced

    def maximum(a: Any, b: Any) -> Any:
        return torch.clamp_min(a, b) if isinstance(b, (int, float)) else torch.maximum(a, b)

    same = "exp", "log", "sqrt", "tanh", "erf", "where", "zeros_like", "swapaxes", "logaddexp", "float32"
    return SimpleNamespace(
        **{name: getattr(torch, name) for name in same},
        fori=fori,
        scan=scan_by(torch.stack),
        grad=torch.func.grad,
        rows=lambda x, start, count: x[start + torch.arange(count, device=device)],
        uniform=lambda key, shape: torch.rand(shape, device=device),
        sum=reduction(torch.sum),
        mean=reduction(torch.mean),
        max=reduction(torch.amax),
        min=reduction(torch.amin),
        maximum=maximum,
        std=lambda x, axis: torch.std(x, dim=axis, correction=0),
        argmin=lambda x, axis: torch.argmin(x, dim=axis),
        cumsum=lambda x, axis: torch.cumsum(x, dim=axis),
        arange=lambda n: torch.arange(n, device=device),
        zeros=lambda shape, dtype: torch.zeros(shape, dtype=dtype, device=device),
        astype=lambda x, dtype: x.to(dtype),
        pad=lambda x, width: torch.nn.functional.pad(x, (width, width) * x.ndim),
    )


class TorchCompile(Compiling):
    """`torch.compile`, with products in full float32, from an empty cache."""

    name = "torch.compile"
    module = "torch"
    unrolls = True
    mode = "default"

    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.folder.name
        import torch

        if self.device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("torch has no GPU")
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        self.torch = torch
        self.namespace = torch_space(torch, self.device)

    def array(self, host: np.ndarray[Any, Any]) -> Any:
        return self.torch.tensor(host, device=self.device)

    def prepare(self, function: Function) -> Function:
        self.torch._dynamo.reset()
        return self.torch.compile(function, dynamic=False, fullgraph=True, mode=self.mode)

    def wait(self, result: Any) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def host(self, value: Any) -> np.ndarray[Any, Any]:
        return value.detach().cpu().numpy()


def leaves(result: Any) -> tuple[Any, ...]:
    """The arrays of a result."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def warmed(library: Compiling) -> Compiling:
    """A library after its first product, so that no case pays for opening the device."""
    a = library.array(np.ones((64, 64), np.float32))
    run = library.prepare(lambda x: x @ x + 1)
    for _ in range(2):
        library.wait(run(a))
    time.sleep(0.1)
    library.settle()
    return library


LIBRARIES: dict[str, type[Compiling]] = {library.name: library for library in (NumloomCompile, JaxJit, TorchCompile)}
