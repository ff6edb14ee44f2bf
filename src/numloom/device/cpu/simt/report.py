"""What went wrong in a kernel, in words: the kernel's line, the thread, the argument."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Mapping

from numloom.device.cpu.simt.build import INCLUDE
from numloom.device.cpu.simt.elf import ElfFile

TEXT, OUT_OF_BOUNDS, RACE, DIVERGENCE, DEADLOCK, FAULT, SYSTEM = range(1, 8)
_KINDS = ("reads", "writes", "reads", "changes by an atomic operation")


class Error(ctypes.Structure):
    """``Error`` of runtime.hpp."""

    _fields_ = [
        ("code", ctypes.c_int),
        ("line", ctypes.c_int), ("other_line", ctypes.c_int),
        ("write", ctypes.c_int), ("other_write", ctypes.c_int),
        ("argument", ctypes.c_int),
        ("signal", ctypes.c_int),
        ("thread", ctypes.c_uint * 3), ("other_thread", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
        ("pc", ctypes.c_uint64), ("other_pc", ctypes.c_uint64), ("address", ctypes.c_uint64),
        ("image", ctypes.c_uint64),
        ("bytes", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("file", ctypes.c_char * 256), ("other_file", ctypes.c_char * 256),
        ("text", ctypes.c_char * 1024),
    ]  # fmt: skip


def describe(
    error: Error, kernel: str, sources: Mapping[str, str], image: ElfFile, sizes: Mapping[int, int]
) -> str:  # fmt: skip
    """The message; `sizes` are the bytes of array arguments by number (from 1)."""
    file, line = error.file.decode(errors="replace"), error.line
    if error.pc:
        found = image.line_of(error.pc - error.image - 1, (INCLUDE,))
        if found[1]:
            file, line = found
    thread, block = tuple(error.thread), tuple(error.block)
    who = f"thread {thread} of block {block}"
    text = error.text.decode(errors="replace")
    extra, also = "", 0
    if error.code == OUT_OF_BOUNDS:
        what = f"{who} {_KINDS[error.write & 3]} {error.bytes} byte{'s' * (error.bytes != 1)}"
        if text == "dynamic shared memory":
            message = f"{what} past the end of dynamic shared memory: launch with more (shared_mem=)"
        elif text:
            message = f"{what} in {text}"
        elif error.argument >= 0:
            message = f"out of bounds: {what} {_place(error.offset, error.argument + 1, sizes)}"
        else:
            message = f"out of bounds: {what} at address {error.address:#x}, which is in no array argument"
            if error.address < 4096:
                message += " (a null pointer)"
    elif error.code == RACE:
        name = image.variable_at(error.offset)
        where = f"shared memory ({name})" if name else "shared memory"
        found = image.line_of(error.other_pc - error.image - 1, (INCLUDE,))
        message = (
            f"a data race on {where} in block {block}: thread {thread} {_KINDS[error.write & 3]} what thread "
            f"{tuple(error.other_thread)} {_past(error.other_write)}{f' at line {found[1]}' if found[1] else ''}, "
            "and no barrier is between them"
        )
        if found[0] == file and abs(found[1] - line) <= 2:
            also = found[1]
        elif found[1]:
            extra = excerpt(*found, sources)
    elif error.code in (DIVERGENCE, DEADLOCK):
        message = f"{text} (block {block})"
    elif error.code == FAULT:
        message = f"{who} {_fault(error, text, sizes)}"
    elif error.code == SYSTEM:
        return f"kernel {kernel}: {text}"
    else:
        message = f"{who}: {text}"
    return "\n".join(filter(None, [f"kernel {kernel}: {message}", excerpt(file, line, sources, also), extra]))


def _past(kind: int) -> str:
    return ("read", "wrote", "read", "changed by an atomic operation")[kind & 3]


def _place(offset: int, number: int, sizes: Mapping[int, int]) -> str:
    """Where in an argument."""
    has = sizes.get(number, 0)
    if offset < 0:
        return f"{-offset} byte{'s' * (offset != -1)} before argument {number}, which has {has} bytes"
    return f"at byte {offset} of argument {number}, which has {has} bytes"


def _fault(error: Error, text: str, sizes: Mapping[int, int]) -> str:
    if text == "stack":
        return "needs more local memory than there is: 512 KiB are kept for the arrays and calls of a thread"
    if error.signal == signal.SIGFPE:
        return "divides an integer by zero"
    if error.signal == signal.SIGILL:
        return "runs an illegal instruction"
    near = f", {_place(error.offset, error.argument + 1, sizes)}" if error.argument >= 0 else ""
    null = " (a null pointer)" if error.address < 4096 else ""
    return f"accesses address {error.address:#x}{null}, which is no memory of this program{near}"


def excerpt(file: str, line: int, sources: Mapping[str, str], also: int = 0) -> str:
    """The line (and perhaps another near it) with its neighbours."""
    text = sources.get(file)
    if text is None:
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                text = stream.read()
        except OSError:
            return f"{file}:{line}" if line else ""
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return f"{file}:{line}" if line else ""
    shown = [
        f"{'>' if number in (line, also) else ' '} {number:5d} | {lines[number - 1]}"
        for number in range(max(1, line - 2), min(len(lines), line + 2) + 1)
    ]
    return "\n".join([f"{file}, line {line}:", *shown])
