"""What is known of the package's single-operation loops without their text (`numloom.emit.loops` has that)."""

from __future__ import annotations

from typing import Any

from numloom.base.dtypes import CHARS, DTYPES, KINDS, LOW
from numloom.ops.definitions import OpDef
from numloom.ops.elementwise import cast_text

CASTS = {
    code: OpDef(
        name=f"cast_{char}",
        nin=1,
        numpy=lambda x, dtype=dtype: x.astype(dtype),
        text=cast_text,
        exact_kinds="biu",
        headers=("cast",),
        loops=lambda dtypes, dtype=dtype: (*dtypes, dtype),  # type: ignore[misc]
    )
    for code, (char, dtype) in enumerate(zip(CHARS, DTYPES, strict=True))
    if KINDS[code] in "iu"
}
"""Casts to integers by target code, as operations: where a float is out of range, NumPy's own answer depends on
its place in the array."""

_LOW = "".join(CHARS[code] for code in LOW)


def loop_name(op: OpDef, in_chars: str) -> str:
    """Entry of the loop of `op` for these dtypes (a bool is written b1 in a name)."""
    return f"loop_{op.name}_{in_chars.replace('?', 'b1')}"


def loop_words(op: OpDef) -> tuple[int, ...]:
    """The words of a loop's parameter block: -1 for the number of elements, else which operand's address.

    Examples
    --------
    >>> loop_words(CASTS[6])
    (-1, 0, 1)
    """
    return -1, *range(op.nin + 1)


def has_loop(op_def: OpDef, chars: str, loops: Any) -> bool:
    """Whether there is a loop of an operation for these dtypes."""
    return loops is not None and bool(loops.address(loop_name(op_def, chars)))


def wide(chars: str) -> str:
    """Dtypes of the loop that computes for these dtypes: float32 for bfloat16 and float8."""
    return "".join("f" if char in _LOW else char for char in chars)
