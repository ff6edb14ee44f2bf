"""Operations on numbers that have no value of the graph: the same dtypes and bits as of arrays that hold them."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.engine.state import counters
from numloom.graph.again import end, start

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="numbers are operated on at once on the host alone, and by the compiled core",
)

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.25, 3.0, 7.5, 1e30, -1e308, 1e-40, np.inf, -np.inf, np.nan]
EDGES: dict[str, list[Any]] = {
    "?": [False, True],
    **{
        char: [0, 1, 2, 3, 7, info.max - 1, info.max, *([-1, -2, -7, info.min, info.min + 1] if info.min else [])]
        for char in "bBhHiIlL"
        for info in [np.iinfo(char)]
    },
    "f": FLOATS,
    "d": [*FLOATS, 5e-324, 2.0**53 + 2],
    "F": [0, 1 + 2j, -3 - 0.5j, complex(np.inf, 1), complex(-0.0, 0.0), complex(np.nan, 2)],
    "D": [0, 1 + 2j, -3 - 0.5j, complex(np.inf, 1), complex(-0.0, 0.0), complex(np.nan, 2), 1e200 - 1e200j],
    "e": [0.0, 1.5, -65504, np.inf],
}
UFUNCS = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc) and getattr(np, name).nout == 1]
ONE = [name for name in UFUNCS if getattr(np, name).nin == 1 and hasattr(nl, name)]
TWO = [
    name for name in UFUNCS if getattr(np, name).nin == 2 and hasattr(nl, name) and getattr(np, name).signature is None
]


@np.errstate(all="ignore")
def bits(found: Any) -> tuple[Any, bytes]:
    """dtype and bits, of which those of NaN are one."""
    host = np.atleast_1d(found.get())
    if host.dtype.kind in "fc":
        host = np.where(np.isnan(host), host.dtype.type(np.nan), host)
    return host.dtype, host.tobytes()


def outcome(call: Any, *args: Any) -> Any:
    try:
        return bits(call(*args))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def arrays(char: str) -> tuple[nl.ndarray, list[nl.ndarray]]:
    """Edge values as an array, and its elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = nl.asarray(np.array(EDGES[char]).astype(char))
    return array, [array[place] for place in range(len(EDGES[char]))]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str) -> None:
    function = getattr(nl, name)
    for char in EDGES:
        array, elements = arrays(char)
        for place, element in enumerate(elements):
            assert outcome(function, element) == outcome(function, array[place : place + 1]), (char, element)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    """Whole columns of pairs in full, beside each pair."""
    function = getattr(nl, name)
    for first, second in itertools.product(EDGES, repeat=2):
        (x, left), (y, right) = arrays(first), arrays(second)
        places = [(p, q) for p in range(len(left)) for q in range(len(right)) if (p + q) % 3 == 0 or first == second]
        try:
            full = function(x[[p for p, _ in places]], y[[q for _, q in places]])
            host = full.get()
        except (TypeError, ValueError) as error:
            assert outcome(function, left[0], right[0]) in (type(error), TypeError) or isinstance(error, ValueError)
            continue
        for place, (p, q) in enumerate(places):
            found = function(left[p], right[q])
            assert bits(found) == bits(nl.asarray(host[place : place + 1])), (first, left[p], second, right[q])


NUMBERS = [
    0,
    1,
    -1,
    3,
    200,
    2**24 + 1,
    2**31,
    -(2**40),
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**70,
    True,
    0.0,
    -0.0,
    0.1,
    1e300,
    np.inf,
]


SOME = (
    "add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "less", "equal", "maximum",
    "greater", "less_equal", "greater_equal", "not_equal", "bitwise_and", "left_shift", "arctan2", "logical_or",
)  # fmt: skip


@pytest.mark.parametrize("name", SOME)
def test_numbers_of_python(name: str) -> None:
    function = getattr(nl, name)
    for char in EDGES:
        array, elements = arrays(char)
        for number in NUMBERS:
            for place in range(0, len(elements), 2):
                few = array[place : place + 1]
                assert outcome(function, elements[place], number) == outcome(function, few, number), (
                    char,
                    place,
                    number,
                )
                assert outcome(function, number, elements[place]) == outcome(function, number, few), (
                    char,
                    place,
                    number,
                )
    for p, q in itertools.product([0, 3, -7, 2.5, True], repeat=2):
        try:
            with np.errstate(all="ignore"):
                expected = bits(nl.asarray(np.asarray(getattr(np, name)(p, q))))
        except (TypeError, ValueError) as error:
            expected = type(error)
        assert outcome(function, p, q) == expected, (p, q)


def test_nothing_is_recorded() -> None:
    x = nl.asarray(np.arange(1, 9, dtype=np.uint8))
    y = nl.asarray(np.arange(8.0))
    before = counters.flushes
    total, word = y[1], x[2]
    for place in range(8):
        total = total * 0.5 + nl.sqrt(y[place]) // 3 - nl.maximum(y[place], total)
        word = (word ^ x[place]) >> 1 & 255
    assert (float(total) < 0) == bool(total < 0) and int(word) >= 0
    assert counters.flushes == before
    assert node_of(total).shape == ()


def test_elements_are_stored_at_once() -> None:
    for char in EDGES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            host = np.array(EDGES[char]).astype(char)
        ours = nl.asarray(host)
        for place in range(len(host) - 1):
            host[place] = host[place + 1]
            ours[place] = ours[place + 1]
        assert ours.get().tobytes() == host.tobytes()
    matrix, theirs = nl.zeros((3, 4)), np.zeros((3, 4))
    kept = matrix.copy()
    for place in [(0, 1), (-1, -2), (2, 0)]:
        matrix[place] = matrix[place] + 2
        theirs[place] += 2
        assert float(matrix[place]) == 2
    assert matrix.tolist() == theirs.tolist() and kept.tolist() == np.zeros((3, 4)).tolist()
    for wrong in [(3, 0), (0, 4), (0, -5), (0, 0, 0)]:
        with pytest.raises(IndexError):
            matrix[wrong]
        with pytest.raises(IndexError):
            matrix[wrong] = 1.0
    bytes_of = nl.zeros(3, dtype="u1")
    for number in (256, -1, 2**70):
        with pytest.raises(OverflowError):
            bytes_of[0] = number


def test_a_number_keeps_its_value_when_its_array_changes() -> None:
    x = nl.asarray([1.0, 2.0, 3.0])
    first = x[0]
    view = x[1:]
    x[0] = 9.0
    x[1] = 8.0
    assert float(first) == 1.0 and view.tolist() == [8.0, 3.0]
    copied = x.copy()
    x[2] = 7.0
    assert copied.tolist() == [9.0, 8.0, 3.0] and x.tolist() == [9.0, 8.0, 7.0]
    made = first.storage.value
    assert first.storage.value is made and float(first + 1) == 2.0


def test_a_number_made_before_a_call_is_learned_is_not_of_that_call() -> None:
    """What is recorded with its value would else hold the number for all calls to come."""
    x = nl.asarray([1.0, 2.0])
    number = x[1]
    trace = start(None, [node_of(x)], False)
    try:
        assert node_of(number).era < node_of(x + 1).era
    finally:
        end(trace)


def test_without_small_work_numbers_are_recorded() -> None:
    x = nl.asarray(np.arange(5, dtype=np.uint8))
    with nl.config(unplanned=0):
        assert node_of(x[1] ^ x[2]).buffer is None
        assert int(x[1] ^ x[2]) == 3


def test_numbers_of_python_are_weak_beside_numbers_of_numpys():
    numbers = [5, 5.0, 5j, True, np.int8(5), np.uint8(3), np.float32(2), np.float16(2), np.int64(7), np.bool_(True)]
    for name in ("add", "multiply", "subtract", "divide", "maximum", "less", "hypot", "bitwise_and"):
        for left, right in itertools.product(numbers, repeat=2):
            try:
                expected = getattr(np, name)(left, right)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(nl, name)(left, right)
                continue
            found = getattr(nl, name)(left, right)
            assert found.dtype == expected.dtype, (name, left, right)
            assert found.item() == pytest.approx(expected.item(), rel=1e-3), (name, left, right)
