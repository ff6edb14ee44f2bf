"""Faults in users' loops, which leave the loop and not the process (``simt/guard.hpp``), and their description."""

from __future__ import annotations

import ctypes
import re
import signal
from collections.abc import Iterable
from typing import Any

from numloom.base.errors import CompileError, DeviceError
from numloom.device.cpu.compiler import Compiler
from numloom.device.cpu.libraries import address_of
from numloom.device.cpu.simt.elf import ElfFile
from numloom.device.cpu.simt.report import excerpt

_LINES = ("-g1", "-gdwarf-4")
_NEAR = 32
"""Bytes of code between a faulting instruction and that of the line to which it belongs, at most."""
_PART = re.compile(r'^#line 1 "(\w+)"\n(.*?)\n#line 1 "kernel.cpp"$', re.MULTILINE | re.DOTALL)


class Fault(ctypes.Structure):
    """``Fault`` of guard.hpp."""

    _fields_ = [
        ("signal", ctypes.c_int32), ("stack", ctypes.c_int32),
        ("address", ctypes.c_uint64), ("pc", ctypes.c_uint64), ("loop", ctypes.c_uint64),
        ("index", ctypes.c_int64), ("count", ctypes.c_int64), ("name", ctypes.c_char * 64),
    ]  # fmt: skip


class GuardHooks(ctypes.Structure):
    """``nl_guard`` of a kernel's text."""

    _fields_ = [("run", ctypes.c_void_p), ("error", ctypes.c_void_p), ("outside", ctypes.c_void_p)]


class Faults:
    """What catches faults for the loops of a device.

    Parameters
    ----------
    runtime : CDLL
        The compiled runtime.
    error_address : int
        Of the device's error word, which a fault sets to -1.
    """

    def __init__(self, runtime: ctypes.CDLL, error_address: int) -> None:
        self._runtime = runtime
        self._run = ctypes.cast(runtime.numloom_guarded, ctypes.c_void_p).value
        self._outside = ctypes.cast(runtime.numloom_outside, ctypes.c_void_p).value
        self._error_address = error_address

    def arm(self, library: ctypes.CDLL) -> None:
        """Have the loops of a library called by way of the guard."""
        guard = GuardHooks.in_dll(library, "nl_guard")
        guard.run, guard.error, guard.outside = self._run, self._error_address, self._outside

    def taken(self, kernels: Iterable[Any], compiler: Compiler) -> DeviceError:
        """The first fault since the last look as an error; `kernels` are those that may have it."""
        fault = Fault()
        self._runtime.numloom_take_fault(ctypes.byref(fault))
        if not fault.signal:
            return DeviceError("a user's kernel failed at the same time as another, whose error was told")
        for kernel in kernels:
            for entry in (kernel.entry, f"{kernel.entry}_finish"):
                if address_of(kernel.library, f"{entry}_alone") == fault.loop:
                    place = _place(fault, kernel.text, f"{entry}_alone", compiler)
                    return DeviceError(f"{_name(entry)} {_what(fault)}" + (f"\n{place}" if place else ""))
        return DeviceError(f"a user's kernel {_what(fault)}")


def _name(entry: str) -> str:
    """What the user calls the kernel; one that is part of another with its neighbours has no entry of its own."""
    name = re.sub(r"_[0-9a-f]{20}(_finish)?$", "", entry)
    return "a user's kernel" if name == "k" else f"kernel {name}"


def _what(fault: Fault) -> str:
    if fault.name:
        return f"is out of bounds: {fault.name.decode()} has {fault.count} elements there, and none at {fault.index}"
    if fault.stack:
        return "needs more stack than there is: it calls itself too often, or its arrays are too large"
    if fault.signal == signal.SIGFPE:
        return "divides an integer by zero"
    if fault.signal == signal.SIGILL:
        return "fails an assertion, traps, or runs an illegal instruction"
    null = " (a null pointer)" if fault.address < 4096 else ""
    return f"accesses address {fault.address:#x}{null}, which is no memory of this program"


def _place(fault: Fault, text: str, entry: str, compiler: Compiler) -> str:
    """The user's line; empty where it is not known for sure."""
    parts = dict(_PART.findall(text))
    if fault.name:
        indexed = re.compile(rf"\b{fault.name.decode()}\s*\[")
        lines = [
            (part, number)
            for part, source in parts.items()
            for number, line in enumerate(source.splitlines(), 1)
            if indexed.search(line)
        ]
        return excerpt(*lines[0], parts) if len(lines) == 1 else ""
    # Compiled once more, with line numbers: the code is the same.
    try:
        image = ElfFile(Compiler(compiler.command, (*compiler.flags, *_LINES), compiler.identity).compile(text))
    except (CompileError, OSError):
        return ""
    start = next((symbol.value for symbol in image.symbols if symbol.name == entry), None)
    if start is None:
        return ""
    at = start + fault.pc - fault.loop
    # What the user's line calls of ours is beside it.
    near = [(abs(row[0] - at), row[1:]) for row in image.lines if row[1] in parts and abs(row[0] - at) <= _NEAR]
    return excerpt(*min(near)[1], parts) if near else ""
