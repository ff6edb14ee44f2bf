"""From kernel text to a function's address: memory, then the disk cache, then the compiler."""

from __future__ import annotations

import ctypes
import os
import tempfile

from numloom.base.errors import CompileError
from numloom.device.cpu.compiler import Compiler, find, require


class CpuKernel:
    """A kernel of the host.

    Attributes
    ----------
    ready : bool
        Whether `address` is there.
    address, finish_address : int
        Of ``entry`` and ``entry_finish`` (0 where there is none).
    error : CompileError or None
        Why it will never be ready.
    """

    __slots__ = ("address", "entry", "error", "finish_address", "ready", "text")

    def __init__(self, text: str, entry: str) -> None:
        self.text = text
        self.entry = entry
        self.ready = False
        self.address = 0
        self.finish_address = 0
        self.error: CompileError | None = None

    def bind(self, library: ctypes.CDLL) -> None:
        """Take the addresses from a library that has the entry."""
        self.address = address_of(library, self.entry)
        self.finish_address = address_of(library, self.entry + "_finish")
        self.ready = True


def address_of(library: ctypes.CDLL, name: str) -> int:
    """Address of a function, 0 where the library has none of this name."""
    try:
        function = getattr(library, name)
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def load(shared: bytes) -> ctypes.CDLL:
    """Load the bytes of a shared object; the file is gone afterwards."""
    handle, path = tempfile.mkstemp(prefix="numloom-", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(shared)
        return ctypes.CDLL(path)
    finally:
        os.unlink(path)


class Builder:
    """Kernels by text."""

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, str], CpuKernel] = {}
        self._compiler: Compiler | None = None
        self._searched = False

    @property
    def compiler(self) -> Compiler | None:
        """The compiler, looked for once."""
        if not self._searched:
            self._compiler = find()
            self._searched = True
        return self._compiler

    def kernel(self, text: str, entry: str, *, wait: bool) -> CpuKernel:
        """The kernel of this text."""
        kernel = self._kernels.get((text, entry))
        if kernel is None:
            kernel = self._kernels[text, entry] = CpuKernel(text, entry)
        if not kernel.ready and (wait or self.compiler is not None):
            kernel.bind(load(require(self.compiler).compile(text)))
        return kernel
