"""What NumPy converts and what it refuses, and by which class: what is no number, bad casts beside bad shapes."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base.dtypes import NUMPY_CHARS as CHARS

KEYS = (0, slice(None), slice(1, None), [0, 1, 2], np.array([True, False, True]))
NO_NUMBERS = (
    "3", "2.5", "abc", "nan", "1+2j", "", " 4 ", "1e400", "300", "-1", "True", "0x10", "1_000", b"3", b"x", None,
    np.str_("3"), np.bytes_(b"7"), np.array("5"), np.array(None), object(),
)  # fmt: skip
ROWS = (["1", "2", "3"], ["1.5", 2, 3], [None, 1, 2], np.array(["5", "6", "7"]), np.array([1, 2.5, 3], object))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(work: Callable[[Any], Any], xp: Any) -> tuple[str, str]:
    """Dtype and elements of a result, or the name of an error's class."""
    try:
        result = work(xp)
    except Exception as error:
        return "raises", next(
            kind.__name__ for kind in (TypeError, ValueError, OverflowError) if isinstance(error, kind)
        )
    array = result.get() if isinstance(result, nl.ndarray) else np.asarray(result)
    return array.dtype.str, repr(array.tolist())


def same(work: Callable[[Any], Any], *what: Any) -> None:
    assert outcome(work, nl) == outcome(work, np), what


def assigned(xp: Any, char: str, key: Any, value: Any) -> Any:
    x = xp.zeros(3, char)
    x[key] = value
    return x


@pytest.mark.parametrize("char", CHARS)
def test_assigned_text_and_none(char: str) -> None:
    for key in KEYS:
        for value in NO_NUMBERS:
            same(lambda xp, key=key, value=value: assigned(xp, char, key, value), key, value)
    for value in ROWS:
        same(lambda xp, value=value: assigned(xp, char, slice(None), value), value)


@pytest.mark.parametrize("name", ["putmask", "place"])
@pytest.mark.parametrize("char", CHARS)
def test_values_of_masks(name: str, char: str) -> None:
    numbers: list[Callable[[Any], Any]] = [
        lambda xp, value=value: value
        for value in (1, 1.5, 300, -1, 2j, True, [1, 2], [1.5, 2], ["1", "2"], "3", None, [None, 1], [], float("nan"))
    ]
    for other in CHARS:
        numbers += [lambda xp, c=other: xp.ones(2, c), lambda xp, c=other: xp.ones((), c)]
        numbers += [lambda xp, c=other: np.ones(3, c), lambda xp, c=other: np.dtype(c).type(1)]

    def written(xp: Any, values: Callable[[Any], Any]) -> Any:
        x = xp.zeros(4, char)
        getattr(xp, name)(x, xp.array([True, False, True, True]), values(xp))
        return x

    for values in numbers:
        same(lambda xp, values=values: written(xp, values), values(nl))


@pytest.mark.parametrize("shape", ["a", "3", b"a", None, [1, "a"], True, 2.5, [2.5], [None], -1, {}], ids=repr)
def test_shapes_that_are_none(shape: Any) -> None:
    for name in ("zeros", "ones", "empty"):
        same(lambda xp, name=name: getattr(xp, name)(shape).shape, name)
    same(lambda xp: xp.full(shape, 1).shape, "full")


SHAPES = ((3,), (4,), (2, 3), (1, 3))
INTO: dict[str, Callable[[Any, str, Any], Any]] = {
    "add": lambda xp, c, out: xp.add(xp.ones((1, 3), c), xp.ones(3, c), out=out),
    "add that does not fit": lambda xp, c, out: xp.add(xp.ones(3, c), xp.ones(2, c), out=out),
    "power that does not fit": lambda xp, c, out: xp.power(xp.ones((2, 3), c), xp.ones((3, 2), c), out=out),
    "ldexp that does not fit": lambda xp, c, out: xp.ldexp(xp.ones(3, c), xp.ones(2, "i"), out=out),
    "divmod that does not fit": lambda xp, c, out: xp.divmod(xp.ones(3, c), xp.ones(2, c), out=(out, out)),
    "vecdot that does not fit": lambda xp, c, out: xp.vecdot(xp.ones((2, 3), c), xp.ones((2, 2), c), out=out),
    "matmul that does not fit": lambda xp, c, out: xp.matmul(xp.ones((2, 3), c), xp.ones((2, 3), c), out=out),
    "concatenate that does not fit": lambda xp, c, out: xp.concatenate(
        [xp.ones((1, 3), c), xp.ones((1, 2), c)], out=out
    ),
    "sin": lambda xp, c, out: xp.sin(xp.ones((2, 3), c), out=out),
    "sum": lambda xp, c, out: xp.sum(xp.ones((2, 3), c), axis=0, out=out),
    "max": lambda xp, c, out: xp.max(xp.ones((2, 3), c), axis=0, out=out),
    "mean": lambda xp, c, out: xp.mean(xp.ones((2, 3), c), axis=0, out=out),
    "argmax": lambda xp, c, out: xp.argmax(xp.ones((2, 3), c), axis=0, out=out),
    "cumsum": lambda xp, c, out: xp.cumsum(xp.ones((2, 3), c), axis=0, out=out),
    "reduce": lambda xp, c, out: xp.add.reduce(xp.ones((2, 3), c), out=out),
    "accumulate": lambda xp, c, out: xp.add.accumulate(xp.ones((2, 3), c), out=out),
    "matmul": lambda xp, c, out: xp.matmul(xp.ones((2, 3), c), xp.ones((3, 3), c), out=out),
    "dot": lambda xp, c, out: xp.dot(xp.ones((2, 3), c), xp.ones((3, 3), c), out=out),
    "concatenate": lambda xp, c, out: xp.concatenate([xp.ones((1, 3), c)] * 2, out=out),
}


@pytest.mark.parametrize("name", INTO)
def test_a_bad_cast_beside_a_bad_shape(name: str) -> None:
    for char, other, shape in itertools.product("?ifdF", "?ifd", SHAPES):
        same(lambda xp, c=char, o=other, s=shape: INTO[name](xp, c, xp.zeros(s, o)), char, other, shape)


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
def test_comparisons_with_what_no_element_can_be_heed_casting(casting: str) -> None:
    for name, number, into in itertools.product(("less", "equal"), (-1, 300), "?Bd"):
        same(
            lambda xp, n=name, k=number, o=into: getattr(xp, n)(
                xp.ones(3, "B"), k, out=xp.zeros(3, o), casting=casting
            ),
            name, number, into,
        )  # fmt: skip


@pytest.mark.parametrize("sign", ["+", "-", "/", "//", "**", "|", "<<", "%"])
def test_a_bad_cast_beside_a_bad_shape_in_place(sign: str) -> None:
    def changed(xp: Any, char: str, other: str, shape: tuple[int, ...]) -> Any:
        names = {"x": xp.ones(3, char), "y": xp.ones(shape, other)}
        exec(f"x {sign}= y", names)
        return names["x"]

    for char, other, shape in itertools.product("?bifdF", "?bifdF", ((3,), (4,), (2, 3))):
        same(lambda xp, c=char, o=other, s=shape: changed(xp, c, o, s), char, other, shape)
