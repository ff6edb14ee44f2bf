"""Arrays of kernels that are too large for the stack, and those that stay there."""

from __future__ import annotations

import pytest

from numloom.emit.beside import MOST, beside, bytes_of, hoisted


@pytest.mark.parametrize(
    "declare, nbytes",
    [
        ("", 0),
        ("f64 x[4];", 32),
        ("f32 a[2][3], b[5]; u8 c[7];", 51),
        ("bool8 t[9];\nc128 z[2];", 41),
        ("nl::moments m[2];", 64),
        ("i64 count = 3;", 0),
    ],
)
def test_bytes(declare: str, nbytes: int) -> None:
    assert bytes_of(declare) == nbytes


def test_only_large_ones_are_beside_the_stack() -> None:
    small, large = f"u8 x[{MOST}];", f"u8 x[{MOST}]; u8 y[1];"
    assert beside(small) == small
    assert beside(large).splitlines() == [
        f"struct Arrays {{ {large} }};",
        "NL_BESIDE(Arrays, arrays);",
        "auto& x = arrays->x;",
        "auto& y = arrays->y;",
    ]


def test_names_of_what_is_declared_before_a_loop() -> None:
    assert hoisted("A a[2]; f64 b[3][4];", "p") == ("p::A p_a[2]; f64 p_b[3][4];", "auto& a = p_a;\nauto& b = p_b;\n")
