"""The parameter block of a kernel: a field for each name, with the type that its word is read as."""

from __future__ import annotations

import re

import pytest

from numloom.base.dtypes import C128, F32, F64, ITEMSIZES
from numloom.emit.block import ParameterBlock


def declared(block: ParameterBlock) -> dict[str, str]:
    """Types of the struct's fields by their names, in their order."""
    return {name: ctype for ctype, name in re.findall(r"alignas\(8\) (.*?) (\w+);", block.text())}


@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize("narrow_first", [False, True])
def test_numbers_are_narrow_where_they_are_asked_to_be(kind: str, narrow_first: bool) -> None:
    """A kernel that takes the smaller of two numbers as 32 bits finds 32 bits: PTX assemblers narrow them wrongly."""
    block = ParameterBlock()
    found = {}
    for narrow in (narrow_first, not narrow_first, narrow_first):
        found[narrow] = block.narrow("count", 77, kind) if narrow else block.number("count", 77)
    types = declared(block)
    assert types[found[True].removeprefix("p.")] == kind and types[found[False].removeprefix("p.")] == "i64"
    assert len(types) == len(block.words) == (2 if kind == "i32" else 1)
    assert [(word.kind, word.value) for word in block.words] == [("constant", 77)] * len(types)


def test_each_field_is_one_word_but_for_wide_numbers() -> None:
    """Fields and words are in the order of asking; who asks again gets the same field."""
    block = ParameterBlock()

    def ask() -> list[str]:
        asked = [block.pointer(0, F64, True), block.param(3, F32), block.param(1, C128), block.iota_offset(2)]
        return [*asked, block.number("n", 5), block.error(), block.location(0), block.workspace(), block.param(0, F64)]

    first = ask()
    words = [(word.kind, word.index, word.value) for word in block.words]
    assert ask() == first and [(word.kind, word.index, word.value) for word in block.words] == words
    assert [f"p.{name}" for name in declared(block)] == first
    assert ITEMSIZES[C128] == 16
    assert [word[0] for word in words] == [
        "pointer", "param", "param", "unused", "iota_offset", "constant", "error", "location", "workspace", "param",
    ]  # fmt: skip
    assert [word[1] for word in words if word[0] != "unused"] == [0, 3, 1, 2, 0, 0, 0, 0, 0]
