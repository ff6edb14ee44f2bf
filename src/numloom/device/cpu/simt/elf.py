"""What the reports need of a compiled module: symbols, and the source line of an address (ELF, DWARF 4)."""

from __future__ import annotations

import bisect
import re
import struct
from dataclasses import dataclass
from functools import cached_property

_MAGIC = b"\x7fELF\x02\x01"
TLS, OBJECT, FUNCTION = 6, 1, 2
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_LENGTH_AND_NAME = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol; `defined` is False where another file has it."""

    name: str
    kind: int
    value: int
    nbytes: int
    defined: bool

    @property
    def plain(self) -> str:
        """The last part of a mangled name: ``tile`` of ``_ZZ6kernelE4tile``."""
        name = re.sub(r"_\d+$", "", self.name) if self.name.startswith("_ZZ") else self.name
        for found in _LENGTH_AND_NAME.finditer(name):
            for start in range(found.start(), found.end()):
                if int(name[start : found.end()]) == len(name) - found.end():
                    return name[found.end() :]
        return self.name


def is_whole(content: bytes) -> bool:
    """Whether no part of an ELF file lies beyond its end; what is none of these is for the loader to judge.

    Examples
    --------
    >>> is_whole(b"no such file")
    True
    """
    if content[:6] != _MAGIC:
        return True
    if len(content) < 64:
        return False
    segments, sections = struct.unpack_from("<QQ", content, 32)
    segment, many_segments, section, many_sections = struct.unpack_from("<HHHH", content, 54)
    last = segments + segment * many_segments
    if max(last, sections + section * many_sections) > len(content):
        return False
    ends = [sum(struct.unpack_from("<Q16xQ", content, at + 8)) for at in range(segments, last, segment or 1)]
    return max(ends, default=0) <= len(content)


class ElfFile:
    """A 64-bit, little-endian ELF file.

    Parameters
    ----------
    content : bytes
        The file.
    """

    def __init__(self, content: bytes) -> None:
        if content[:6] != _MAGIC:
            raise ValueError("no 64-bit, little-endian ELF file")
        self.content = content
        (start,) = struct.unpack_from("<Q", content, 40)
        size, count, names_at = struct.unpack_from("<HHH", content, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", content, start + size * at) for at in range(count)]
        names = raw[names_at][4]
        self._sections: dict[str, tuple[int, int, int, int]] = {}  # offset, size, link, bytes an entry
        for name, _, _, _, offset, nbytes, link, _, _, entry in raw:
            self._sections.setdefault(_text(content, names + name), (offset, nbytes, link, entry))
        self._raw = raw

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols with a name."""
        if ".symtab" not in self._sections:
            return []
        offset, nbytes, link, _ = self._sections[".symtab"]
        strings = self._raw[link][4]
        found = []
        for at in range(offset, offset + nbytes, 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.content, at)
            if name:
                found.append(Symbol(_text(self.content, strings + name), info & 15, value, size, section != 0))
        return found

    def variable_at(self, offset: int) -> str:
        """The thread-local (``__shared__``) variable that holds this byte of the segment; empty where none does."""
        inside = [s for s in self.symbols if s.kind == TLS and s.defined and s.value <= offset < s.value + s.nbytes]
        if not inside:
            # Dynamic shared memory has names and no size.
            open_ended = [s for s in self.symbols if s.kind == TLS and s.defined and not s.nbytes and s.value <= offset]
            inside = [s for s in open_ended if s.plain != "numloom_dynamic"]
        return max(inside, key=lambda s: s.value).plain if inside else ""

    @cached_property
    def lines(self) -> list[tuple[int, str, int]]:
        """Address, file and line of every row of the line table, by address; line 0 ends a run of code."""
        if ".debug_line" not in self._sections:
            return []
        offset, nbytes, _, _ = self._sections[".debug_line"]
        data = self.content[offset : offset + nbytes]
        rows: list[tuple[int, str, int]] = []
        at = 0
        while at + 4 < len(data):
            (length,) = struct.unpack_from("<I", data, at)
            unit = data[at + 4 : at + 4 + length]
            at += 4 + length
            if struct.unpack_from("<H", unit)[0] == 4:
                rows += _rows(unit)
        rows.sort(key=lambda row: row[0])
        return rows

    def line_of(self, address: int, ours: tuple[str, ...] = ()) -> tuple[str, int]:
        """File and line of the code at an address; code from files in `ours` counts for what is before it."""
        rows = self.lines
        at = bisect.bisect_right(rows, address, key=lambda row: row[0]) - 1
        while at >= 0 and rows[at][2]:
            if not rows[at][1].startswith(ours) or not ours:
                return rows[at][1], rows[at][2]
            at -= 1
        return "", 0


def _text(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode(errors="replace")


def _rows(unit: bytes) -> list[tuple[int, str, int]]:
    """The line table of one unit (DWARF 4, section 6.2)."""
    (header_length,) = struct.unpack_from("<I", unit, 2)
    minimum, _, _, line_base, line_range, opcode_base = struct.unpack_from("<BBBbBB", unit, 6)
    lengths = unit[12 : 11 + opcode_base]
    at = 11 + opcode_base
    folders = [""]
    while unit[at]:
        folders.append(_text(unit, at))
        at = unit.index(b"\0", at) + 1
    at += 1
    files = [""]
    while unit[at]:
        name = _text(unit, at)
        at = unit.index(b"\0", at) + 1
        folder, at = _unsigned(unit, at)
        _, at = _unsigned(unit, at)
        _, at = _unsigned(unit, at)
        files.append(f"{folders[folder]}/{name}" if folder and not name.startswith("/") else name)
    at = 6 + header_length
    rows: list[tuple[int, str, int]] = []
    address, file, line = 0, 1, 1
    while at < len(unit):
        opcode = unit[at]
        at += 1
        if opcode >= opcode_base:
            step = opcode - opcode_base
            address += step // line_range * minimum
            line += line_base + step % line_range
            rows.append((address, files[file], line))
        elif opcode == 0:
            length, at = _unsigned(unit, at)
            extended = unit[at]
            if extended == _END_SEQUENCE:
                rows.append((address, "", 0))
                address, file, line = 0, 1, 1
            elif extended == _SET_ADDRESS:
                (address,) = struct.unpack_from("<Q", unit, at + 1)
            at += length
        elif opcode == _COPY:
            rows.append((address, files[file], line))
        elif opcode == _ADVANCE_PC:
            step, at = _unsigned(unit, at)
            address += step * minimum
        elif opcode == _ADVANCE_LINE:
            step, at = _signed(unit, at)
            line += step
        elif opcode == _SET_FILE:
            file, at = _unsigned(unit, at)
        elif opcode == _CONST_ADD_PC:
            address += (255 - opcode_base) // line_range * minimum
        elif opcode == _FIXED_ADVANCE_PC:
            address += struct.unpack_from("<H", unit, at)[0]
            at += 2
        else:
            for _ in range(lengths[opcode - 1]):
                _, at = _unsigned(unit, at)
    return rows


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    start = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), at
