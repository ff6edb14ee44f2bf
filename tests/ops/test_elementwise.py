"""The elementwise table: completeness, type rules, and every exact loop against NumPy bit by bit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from single_loops import DTYPE, INCLUDE, Loop, build, loops_of, same_bits, samples

from numloom.base.dtypes import NUMPY_CHARS as CHARS
from numloom.ops.elementwise import ALIASES, ELEMENTWISE, HEADERS, OF_UFUNC, cast_text, resolve, resolve_chars

pytestmark = pytest.mark.optimized

LOOPS = [loop for op in ELEMENTWISE.values() for loop in loops_of(op)]
EXACT = [loop for loop in LOOPS if ELEMENTWISE[loop[0]].is_exact(loop[1])]
CASTS = [("cast", source, target) for source in CHARS for target in CHARS]
EXACT_NAMES = sorted({name for name, _, _ in EXACT})


@functools.cache
def compiled() -> dict[Loop, Any]:
    return build(tuple(EXACT + CASTS))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def differences(loop: Loop, args: list[Any], got: Any, want: Any) -> list[Any]:
    wrong = np.flatnonzero(~same_bits(got, want))[:3]
    return [(tuple(a[i] for a in args), "got", got[i], "NumPy", want[i]) for i in wrong]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT_NAMES)
def test_exact_rows_have_numpys_bits(name: str) -> None:
    for loop in EXACT:
        if loop[0] == name:
            args = samples(loop[1])
            if name == "power" and DTYPE[loop[1][0]].kind == "i":
                args[1] = args[1] & np.iinfo(args[1].dtype).max  # NumPy refuses negative exponents
            want = ELEMENTWISE[name].numpy(*args)
            got = compiled()[loop](*args)
            assert got.dtype == want.dtype
            if name == "nextafter":  # NumPy 2.4 and 2.5 differ between the two zeros of float16
                got, want = got + want.dtype.type(0), want + want.dtype.type(0)
            assert not differences(loop, args, got, want), loop


@pytest.mark.parametrize("char", "bhiqBHIQ")
def test_quotients_near_whole_numbers(char: str) -> None:
    """Division is by floating point: what lies beside a multiple must not be rounded up to it."""
    ends, rng = np.iinfo(DTYPE[char]), np.random.default_rng(7)

    def any_size() -> np.ndarray[Any, Any]:
        found = rng.integers(ends.min, ends.max, 5000, DTYPE[char], endpoint=True)
        return found >> rng.integers(0, ends.bits, 5000).astype(DTYPE[char])

    divisor = any_size()
    beside = divisor * any_size() + rng.integers(0, 3, 5000).astype(DTYPE[char]) - DTYPE[char].type(1)
    largest = ends.max - rng.integers(0, 100, 5000).astype(DTYPE[char])
    for name in ("floor_divide", "remainder", "fmod", "gcd", "lcm"):
        loop = next(loop for loop in EXACT if loop[:2] == (name, char * 2))
        for dividend in (beside, largest, -largest):
            args = [dividend, divisor]
            assert not differences(loop, args, compiled()[loop](*args), ELEMENTWISE[name].numpy(*args)), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", CHARS)
def test_casts_have_numpys_bits(source: str) -> None:
    for target in CHARS:
        # Whole vectors: NumPy's own rest of a vector casts what is out of range differently.
        args = [x[: x.size // 64 * 64] for x in samples(source)]
        if source in "FD" and target == "I":
            args = [x[(x.real > -(2.0**31)) & (x.real < 2.0**32)] for x in args]  # NumPy's answer depends on the place
        got = compiled()["cast", source, target](*args)
        want = args[0].astype(DTYPE[target])
        assert not differences(("cast", source, target), args, got, want), target


def test_double_rounds_to_half_once() -> None:
    tie = np.array([1 + 2.0**-11 + 2.0**-40, -(1 + 2.0**-11 + 2.0**-40), 2.0**-25 + 2.0**-60, 65519.99999999])
    got = compiled()["cast", "d", "e"](np.resize(tie, 64))[:4]
    assert same_bits(got, tie.astype(np.float16)).all()
    assert (got != tie.astype(np.float32).astype(np.float16)).any()


def test_every_ufunc_of_numpy_has_a_row() -> None:
    several = {"divmod", "modf", "frexp", "isnat", "matmul", "matvec", "vecmat", "vecdot"}
    names = {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    assert names - set(ELEMENTWISE) - set(ALIASES) - several == set()
    assert all(getattr(np, alias).__name__ == getattr(np, name).__name__ for alias, name in ALIASES.items()
               if hasattr(np, alias))  # fmt: skip
    assert OF_UFUNC[np.add] is ELEMENTWISE["add"]
    assert [op.id for op in ELEMENTWISE.values()] == list(range(len(ELEMENTWISE)))


def test_twins_give_the_declared_dtypes() -> None:
    for name, ins, out in LOOPS:
        args = [np.ones(2, DTYPE[char]) for char in ins]
        assert ELEMENTWISE[name].numpy(*args).dtype == DTYPE[out], (name, ins)


def test_resolve_asks_numpy() -> None:
    add = ELEMENTWISE["add"]
    assert resolve_chars(add, (np.dtype("i1"), int)) == ("bb", "b")
    assert resolve_chars(add, (np.dtype("f4"), float)) == ("ff", "f")
    assert resolve_chars(add, (np.dtype("i4"), complex)) == ("DD", "D")
    assert resolve_chars(add, (np.dtype("i8"), np.dtype("u8"))) == ("dd", "d")
    assert resolve_chars(add, (np.dtype("f4"), np.dtype("f4")), np.dtype("f8")) == ("dd", "d")
    assert resolve_chars(ELEMENTWISE["sin"], (np.dtype("i1"),)) == ("e", "e")
    assert resolve_chars(ELEMENTWISE["less"], (np.dtype("i8"), np.dtype("u8"))) == ("qQ", "?")
    assert resolve_chars(ELEMENTWISE["where"], (np.dtype("?"), np.dtype("f4"), int)) == ("?ff", "f")
    assert resolve_chars(ELEMENTWISE["clip"], (np.dtype("u1"), int, int)) == ("BBB", "B")
    assert resolve_chars(ELEMENTWISE["real"], (np.dtype("F"),)) == ("F", "f")
    assert resolve_chars(ELEMENTWISE["complex_pack"], (np.dtype("i4"), float)) == ("dd", "D")
    assert resolve_chars(ELEMENTWISE["frexp_exponent"], (np.dtype("f4"),)) == ("f", "i")
    assert resolve_chars(ELEMENTWISE["random_uniform32"], (np.dtype("q"), np.dtype("Q"), int)) == ("QQQ", "f")


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [("subtract", "??"), ("negative", "?"), ("bitwise_and", "ff"), ("invert", "d"), ("floor", "F"), ("gcd", "dd")],
)
def test_impossible_types_raise_numpys_error(name: str, dtypes: str) -> None:
    given = tuple(np.dtype(char) for char in dtypes)
    with pytest.raises(TypeError) as ours:
        resolve(ELEMENTWISE[name], given)
    with pytest.raises(TypeError) as numpys:
        getattr(np, name)(*(np.ones(2, dtype) for dtype in given))
    assert str(ours.value) == str(numpys.value)


def test_long_doubles_are_refused() -> None:
    with pytest.raises(TypeError, match="not supported"):
        resolve(ELEMENTWISE["add"], (np.dtype("g"), np.dtype("f")))


def test_headers_exist() -> None:
    assert {path.stem for path in INCLUDE.glob("*.hpp")} >= set(HEADERS)
    for name in HEADERS:
        text = (INCLUDE / f"{name}.hpp").read_text()
        assert "#include" not in text
        assert "std::" not in text


def test_cast_texts() -> None:
    assert cast_text("f", "f") == "{0}"
    assert cast_text("e", "f") == "{0}"
    assert cast_text("d", "i") == "(nl::to_i32({0}))"
