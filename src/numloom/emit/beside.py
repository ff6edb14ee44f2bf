"""Arrays of the host's kernels that are too large for a thread's stack."""

from __future__ import annotations

import re
from math import prod

from numloom.base.dtypes import CTYPES, ITEMSIZES
from numloom.emit.values import header

MOST = 20 << 10
"""Bytes of arrays that a kernel has on the stack: with what else it keeps there, a frame has 32 KB at most."""
WIDEST = 32
"""Bytes of a number of a type that is not known here, at most."""
_ARRAY = re.compile(r"(\w+)((?:\[\d+\])+)")
_NUMBER = re.compile(r"\d+")
_SIZES = {**dict(zip(CTYPES, ITEMSIZES, strict=True)), "bool8": 1}


def beside_header() -> str:
    """What a text with such arrays needs before it."""
    return header("beside")


def bytes_of(declare: str) -> int:
    """Bytes of declared arrays, at most.

    Examples
    --------
    >>> bytes_of("f64 acc0[2][256], sum[4]; u8 b[3];"), bytes_of("A done[2];")
    (4131, 64)
    """
    total = 0
    for statement in declare.split(";"):
        found = _ARRAY.findall(statement)
        size = _SIZES.get(statement.split()[0], WIDEST) if found else 0
        total += size * sum(prod(map(int, _NUMBER.findall(extents))) for _, extents in found)
    return total


def beside(declare: str) -> str:
    """Declarations of arrays, which are parts of an object beside the stack where they are large.

    Examples
    --------
    >>> beside("f64 x[16];")
    'f64 x[16];'
    >>> print(beside("A done[256], level[31][256];"))
    struct Arrays { A done[256], level[31][256]; };
    NL_BESIDE(Arrays, arrays);
    auto& done = arrays->done;
    auto& level = arrays->level;
    <BLANKLINE>
    """
    if bytes_of(declare) <= MOST:
        return declare
    references = "".join(f"auto& {name} = arrays->{name};\n" for name, _ in _ARRAY.findall(declare))
    return f"struct Arrays {{ {declare} }};\nNL_BESIDE(Arrays, arrays);\n{references}"


def hoisted(declare: str, space: str) -> tuple[str, str]:
    r"""Declarations for the place before a loop, of arrays that are used within it, and their names for there.

    Accumulators are those of the namespace `space`, in which the arrays are used.

    Examples
    --------
    >>> print(*hoisted("A done[256]; f64 acc0[2][256];", "pass1"), sep="\n")
    pass1::A pass1_done[256]; f64 pass1_acc0[2][256];
    auto& done = pass1_done;
    auto& acc0 = pass1_acc0;
    <BLANKLINE>
    """
    inside = "".join(f"auto& {name} = {space}_{name};\n" for name, _ in _ARRAY.findall(declare))
    return _ARRAY.sub(rf"{space}_\g<0>", re.sub(r"\bA\b", f"{space}::A", declare)), inside


__all__ = ["beside", "beside_header", "bytes_of", "hoisted"]
