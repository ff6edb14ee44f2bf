"""The parameter block of a kernel: fields of the C++ struct ``P`` and the words that fill it."""

from __future__ import annotations

from numloom.base.dtypes import BOOL, CTYPES, ITEMSIZES
from numloom.plan.program import Word

MEMORY_TYPES = tuple("bool8" if code == BOOL else ctype for code, ctype in enumerate(CTYPES))
"""C++ types of elements in memory by dtype code."""


class ParameterBlock:
    """Collects the fields of ``P``, each in its own 8-byte words, in the order of asking.

    Each method gives the C++ expression of the field (``p.name``) and adds the field once.
    """

    def __init__(self) -> None:
        self.words: list[Word] = []
        self._fields: dict[str, str] = {}

    def _field(self, name: str, ctype: str, kind: str, index: int = 0, value: int = 0) -> str:
        if name not in self._fields:
            self._fields[name] = ctype
            self.words.append(Word(kind, index, 0, value))
        return f"p.{name}"

    def pointer(self, operand: int, code: int, const: bool) -> str:
        """Address of an operand."""
        ctype = f"{'const ' if const else ''}{MEMORY_TYPES[code]}*"
        return self._field(f"x{operand}", ctype, "pointer", operand)

    def param(self, index: int, code: int) -> str:
        """A host scalar, as its memory type."""
        name = f"c{index}"
        more = max(1, ITEMSIZES[code] // 8) - 1 if name not in self._fields else 0
        field = self._field(name, MEMORY_TYPES[code], "param", index)
        self.words.extend([Word("unused")] * more)
        return field

    def iota_offset(self, index: int) -> str:
        """Value of an iota at index zero."""
        return self._field(f"o{index}", "i64", "iota_offset", index)

    def number(self, name: str, value: int) -> str:
        """A number computed from the sizes (extent, stride, divisor)."""
        return self._field(name, "i64", "constant", 0, value)

    def narrow(self, name: str, value: int, kind: str) -> str:
        """The same number where a kernel takes the smaller of two as `kind`; a field of its own if that is 32 bits.

        PTX assemblers 13.0 to 13.5 miscompile ``a < b ? a : b`` of the low halves of two 64-bit parameters
        (``selp.b64`` and ``cvt.u32.u64``): one use of the result keeps only its low 16 bits.
        """
        if kind == "i64":
            return self.number(name, value)
        return self._field(f"{name}_{kind}", kind, "constant", 0, value)

    def error(self) -> str:
        """Address of the error word."""
        return self._field("error", "i64*", "error")

    def location(self, index: int) -> str:
        """What gather `index` writes to the error word."""
        return self._field(f"location{index}", "i64", "location", index)

    def workspace(self) -> str:
        """Address of scratch memory."""
        return self._field("work", "char*", "workspace")

    def text(self) -> str:
        """The struct's declaration."""
        fields = "".join(f" alignas(8) {ctype} {name};" for name, ctype in self._fields.items())
        return f"struct P {{{fields} }};\n"
