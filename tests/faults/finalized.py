"""End objects that have a finalizer: ``python finalized.py half|cycle|end`` prints their classes, and no error.

``half``: their making failed before anything was set. ``cycle``: they are in a cycle with a finalizer of a user's.
``end``: they live until the interpreter ends, when modules are gone.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy

import numloom as nl


def texture() -> Any:
    """A texture of an array."""
    kernels = importlib.import_module("numloom.kernels.texture")
    resource = kernels.ResourceDescriptor(
        kernels.cudaResourceTypeLinear, arr=nl.arange(8, dtype="f4"),
        chDesc=kernels.ChannelFormatDescriptor(32, 0, 0, 0, kernels.cudaChannelFormatKindFloat), sizeInBytes=32,
    )  # fmt: skip
    return kernels.TextureObject(resource, kernels.TextureDescriptor())


def handle() -> Any:
    """What a texture of the CPU is to kernels."""
    return texture()._handle


def of(module: str, name: str) -> Any:
    """A class, or None where its module is not compiled or needs what is not there."""
    try:
        return getattr(importlib.import_module(f"numloom.{module}"), name)
    except ImportError:
        return None


def reader() -> Any:
    """A reader of a value."""
    found = of("graph.node", "Reader")()
    found.read(nl.arange(3.0).storage.value)
    return found


def chain() -> Any:
    """Launches in a row."""
    made = of("device.cpu._threads", "Chain")
    return None if made is None else made()


MAKERS: dict[tuple[str, str], Callable[[], Any] | None] = {
    ("graph.node", "Node"): lambda: (nl.arange(5.0) + 1).storage.value,
    ("graph.node", "Reader"): reader,
    ("array.storage", "Storage"): lambda: nl.arange(3.0).storage,
    ("array.storage", "Exported"): lambda: of("array.storage", "Exported")(nl.arange(3.0).storage),
    ("array.convert", "_Consumed"): lambda: of("array.convert", "_Consumed")(numpy.arange(3.0).__dlpack__()),
    ("engine._looped", "Part"): None,
    ("engine._unplanned", "Run"): None,
    ("engine.doubts", "Doubt"): None,
    ("kernels.texture", "TextureObject"): texture,
    ("cuda.streams", "Event"): lambda: nl.cuda.Event(),
    ("cuda.streams", "Stream"): lambda: nl.cuda.Stream(),
    ("cuda.memory", "Memory"): lambda: nl.cuda.Memory(64),
    ("cuda.memory", "_Freed"): None,
    ("cuda.memory", "_Returned"): lambda: of("cuda.memory", "_Returned")(lambda address, number: None, 1, 0),
    ("cuda.memory", "PinnedMemory"): lambda: nl.cuda.PinnedMemory(64),
    ("cuda.nccl", "NcclCommunicator"): None,
    ("device.memory", "Buffer"): lambda: nl.asarray(numpy.arange(3.0)).storage.value.buffer,
    ("device.memory", "Pool"): lambda: of("device.memory", "own_pool")(nl.cuda.memory.gpu().pool, 1 << 20),
    ("device.cpu._threads", "Chain"): chain,
    ("device.cpu.simt.texture", "CpuHandle"): handle,
    ("device.cuda.backend", "CudaEvent"): None,
    ("device.cuda.capture", "GraphCapture"): None,
    ("device.cuda.texture", "CudaImage"): None,
    ("device.cuda.texture", "CudaHandle"): None,
    ("device.cuda._launch", "CopiedGraph"): None,
    ("device.cuda._launch", "Replay"): None,
    ("device.cuda._launch", "Script"): None,
    ("device.cuda._raw", "RawLaunch"): None,
}
"""Every class with a finalizer, and what makes one without a GPU."""


class OfAUser:
    """Has a finalizer that looks at what it was in a cycle with."""

    def __init__(self, other: Any) -> None:
        self.other, self.me = other, self

    def __del__(self) -> None:
        repr(self.other)


def made() -> list[tuple[str, Any]]:
    """One of each."""
    found = [(name, make()) for (_, name), make in MAKERS.items() if make is not None]
    return [(name, one) for name, one in found if one is not None]


def half() -> None:
    """Objects whose making failed."""
    compiled = of("device.cpu._threads", "Chain") is not None
    for module, name in MAKERS:
        cls = of(module, name)
        declared = getattr(cls, "__dealloc__", None) is not None  # Python's stand-in for a compiled class.
        if cls is None or (not compiled and (declared or name == "Pool")):
            continue
        print(name, flush=True)
        try:
            one = cls.__new__(cls)
        except TypeError:  # None is made but by our own code.
            continue
        del one
        gc.collect()


def cycle() -> None:
    """Objects in cycles."""
    for name, one in made():
        print(name, flush=True)
        holder = [OfAUser(one), one]
        holder.append(holder)
        if hasattr(one, "__dict__"):
            one.in_a_cycle = holder
        del one, holder
        gc.collect()


def end() -> None:
    """Objects that live to the end: in a module's names, in a cycle, and among Python's own."""
    global kept
    kept = made()
    in_a_cycle: list[Any] = [made()]
    in_a_cycle.append(in_a_cycle)
    builtins.kept_to_the_end = made()  # type: ignore[attr-defined]
    for name, _ in kept:
        print(name, flush=True)


kept: Any = None
if __name__ == "__main__":
    {"half": half, "cycle": cycle, "end": end}[sys.argv[1]]()
