"""0-d values that the host knows: operations on them and stores of them are done at once, with NumPy's results."""

from __future__ import annotations

import itertools
import operator
from random import Random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array import numbers
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.engine.state import counters
from numloom.graph.node import LEAF
from numloom.ops.elementwise import ELEMENTWISE

ON_HOST = pytest.mark.skipif(
    registry.current().discrete or config.executor == "reference" or config.eager or unplanned._unplanned is None,
    reason="elements are at hand on the host alone, and for the compiled core",
)

FLOATS = [0.0, -0.0, 1.5, -2.25, 3.0, 1e308, -1e308, 5e-324, float(2**53), float(2**53) + 2, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 2, 7, -9, 2**31, 2**53, 2**53 + 1, -(2**53) - 3, 2**62, 2**63 - 1, -(2**63)]
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne"),
        *("and_", "or_", "xor"),
    )
}


def outcome(call: Any, *args: Any) -> Any:
    """dtype and bits of a result, or the class of its error."""
    try:
        with np.errstate(all="ignore"):
            found = call(*args)
            found = found.get() if isinstance(found, nl.ndarray) else np.asarray(found)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error)
    return found.dtype, found.shape, "nan" if found.dtype.kind == "f" and np.isnan(found) else found.tobytes()


def ways(value: Any) -> list[tuple[Any, Any]]:
    """A number as each library has it: read from an array, made an array, computed."""
    host = np.array([value, value])
    ours = nl.asarray(host)
    return [(host[1], ours[1]), (np.asarray(host[0])[()], nl.asarray(value)), (host[0], ours[:1].max())]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kinds", ["ff", "ii", "fi", "if", "bb", "bi", "fb"])
def test_operators(name: str, kinds: str) -> None:
    values = {"f": FLOATS, "i": INTEGERS, "b": [True, False]}
    call = OPERATORS[name]
    for p, q in itertools.product(values[kinds[0]], values[kinds[1]]):
        theirs_p, ours_p = ways(p)[0]
        theirs_q, ours_q = ways(q)[1]
        assert outcome(call, ours_p, ours_q) == outcome(call, theirs_p, theirs_q), (p, q)
        assert outcome(call, ours_p, q) == outcome(call, theirs_p, q), (p, "Python's", q)
        assert outcome(call, p, ours_q) == outcome(call, p, theirs_q), ("Python's", p, q)


@pytest.mark.parametrize("call", [operator.neg, operator.abs, operator.pos, bool, float])
def test_operators_of_one(call: Any) -> None:
    for value in [*FLOATS, *INTEGERS, True, False]:
        for theirs, ours in ways(value):
            if call is operator.neg and isinstance(value, bool):
                continue
            assert outcome(call, ours) == outcome(call, theirs), value


def test_other_dtypes_and_numbers() -> None:
    """Numbers that Python has no type for, and numbers of NumPy's, are recorded as before."""
    for dtype in ("f4", "f2", "i1", "u8", "c16", "i4"):
        x, y = np.array([3, 2], dtype), nl.asarray(np.array([3, 2], dtype))
        for call in (lambda v: v[0] * v[1], lambda v: v[0] / 2, lambda v: 2 - v[1], lambda v: v[0] * np.float64(0.5)):
            assert outcome(call, y) == outcome(call, x), dtype


def test_types_of_numbers() -> None:
    """A number is what its dtype says, whatever the host holds it as."""
    for value, dtype in ((True, "i8"), (1, "?"), (True, "f8"), (2, "f8"), (1.0, "i4"), (0, "?")):
        for x in (
            nl.full((), value, dtype),
            nl.asarray(np.array([value, value], dtype))[1],
            nl.full(3, value, dtype)[0],
        ):
            want = np.array(value, dtype).item()
            assert type(x.item()) is type(want) and x.item() == want
            assert bool(x) == bool(want) and float(x) == float(want) and (x > 0).item() is (want > 0)


def test_other_numbers_at_each_call() -> None:
    """A call that is learned takes what was computed from its numbers for no constant."""
    rng = np.random.default_rng(3)
    for name, call in {
        "clip": lambda xp, x, a: xp.clip(x, a * 0.5, a + 1),
        "interp": lambda xp, x, a: xp.interp(x, [0, 1 + a * a, 9], [a - 1, 2, a]),
        "where": lambda xp, x, a: xp.where(x > a * 2, x - a, a),
        "histogram": lambda xp, x, a: xp.histogram(x, bins=4, range=(a - 3, a + 3))[0],
        "median": lambda xp, x, a: xp.median(x * a + x[2]),
        "linspace": lambda xp, x, a: xp.linspace(a, a * 2, 5),
        "average": lambda xp, x, a: xp.average(x, weights=x * x + a),
    }.items():
        for _ in range(8):
            data = rng.standard_normal(12)
            x = nl.asarray(data)
            found, want = call(nl, x, x[3] * x[3]), call(np, data, data[3] * data[3])
            np.testing.assert_allclose(nl.asnumpy(found), want, rtol=1e-13, atol=1e-13, err_msg=name)


@ON_HOST
def test_a_store_of_a_number_is_done_at_once() -> None:
    x = nl.asarray(np.arange(6.0)) + 1
    nl.synchronize()
    before = counters.flushes
    for k in range(5):
        x[k] = 0.5 * k
        x[k + 1] = x[k] * 2 - 1
        assert node_of(x).kind == LEAF
    assert counters.flushes == before
    assert x.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]


def test_who_else_has_the_value_keeps_it() -> None:
    """Copies, pending readers, other names of the value, exported memory: each sees what it must."""
    for turn in range(3):
        host = np.arange(5.0) + turn
        x = nl.asarray(host.copy()) * 1
        nl.synchronize()
        copied, later, part, element = x.copy(), x * 2, x[1:3], x[1]
        node = node_of(x)
        x[1] = 100
        assert x.tolist() == [host[0], 100, *host[2:]]
        assert copied.tolist() == host.tolist() and later.tolist() == (host * 2).tolist()
        assert part.tolist() == [100, host[2]] and element == host[1]
        if node_of(x) is not node and node.buffer is not None:
            assert nl.array(nl.asnumpy(copied))[1] == host[1]
        part[0] = 7
        assert x[1] == 7 and copied[1] == host[1]
        kept = nl.array(x)
        x[2] = -1
        assert kept[2] == host[2] and x[2] == -1


@ON_HOST
def test_a_node_that_somebody_has_is_not_written() -> None:
    x = nl.asarray(np.arange(5.0)) * 1
    nl.synchronize()
    node = node_of(x)
    buffer = node.buffer
    x[0] = 9
    assert node_of(x) is not node
    assert nl.asnumpy(x).tolist() == [9, 1, 2, 3, 4]
    del node
    y = nl.asarray(np.arange(5.0)) * 1
    nl.synchronize()
    buffer = node_of(y).buffer
    shared = np.asarray(y)
    y[0] = 9
    assert shared.tolist() == y.tolist() == [9, 1, 2, 3, 4]
    del buffer


def test_constants_of_calls_stay_what_they_are() -> None:
    """An array that a learned call made of a list and gave back is its caller's to write."""
    for _ in range(8):
        x = nl.append(nl.asarray(np.arange(3.0)), [5.0, 6.0])
        assert x.tolist() == [0, 1, 2, 5, 6]
        x[3] = -1
        x[0] = x[3] * 2
        y = nl.zeros(3)
        y[1] = 4
        z = nl.asarray([1.0, 2.0])
        z[0] = 8
        assert x.tolist() == [-2, 1, 2, -1, 6] and y.tolist() == [0, 4, 0] and z.tolist() == [8, 2]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16", "f2"])
def test_stores_of_numbers(dtype: str) -> None:
    """Numbers of each kind into arrays of each dtype: value, or error, as NumPy."""
    for value in (2, -3, 1.75, True, 300, 2**40, 2**63, np.nan, np.inf, 1j, np.float32(1.5), np.int8(-4)):
        for computed in (False, True):
            x, y = np.ones(4, dtype), nl.asarray(np.ones(4, dtype)) + nl.asarray(np.zeros(4, dtype))
            nl.synchronize()
            if computed and isinstance(value, (float, int)) and -1e6 < value < 1e6:
                theirs, ours = np.array([value, 1])[0], nl.asarray(np.array([value, 1]))[0]
                if np.array(value).dtype.kind not in "f" or np.dtype(dtype).kind in "fc":
                    results = [outcome_of_store(x, theirs), outcome_of_store(y, ours)]
                    assert results[0] == results[1], (value, computed)
                continue
            strange = isinstance(value, float) and not np.isfinite(value) and np.dtype(dtype).kind in "iu"
            if not strange and not (value == 1j and dtype != "c16"):
                results = [outcome_of_store(x, value), outcome_of_store(y, value)]
                assert results[0] == results[1], (value, computed)


def outcome_of_store(x: Any, value: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            x[2] = value
        found = nl.asnumpy(x) if isinstance(x, nl.ndarray) else x
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    return found.tolist() if not (found != found).any() else str(found)


def test_subscripts_of_elements() -> None:
    """0-d arrays of integers stand for their numbers."""
    rng = np.random.default_rng(5)
    for dtype in ("i8", "i4", "u1"):
        parent = rng.integers(0, 9, 9).astype(dtype)
        x, y = parent.copy(), nl.asarray(parent)
        table, ours = np.arange(81.0).reshape(9, 9), nl.asarray(np.arange(81.0).reshape(9, 9))
        for k in range(9):
            x[x[k]] = x[x[x[k]]]
            y[y[k]] = y[y[y[k]]]
            table[x[k], 1:4] += table[x[k], x[x[k]]]
            ours[y[k], 1:4] += ours[y[k], y[y[k]]]
            table[x[k]] = table[:, x[k]]
            ours[y[k]] = ours[:, y[k]]
        assert y.tolist() == x.tolist() and ours.tolist() == table.tolist()
        kept = []  # What nobody has is not computed.
        with pytest.raises(IndexError):
            kept.append(ours[y[0] * 0 + 9])
            nl.synchronize()
        row, copied = ours[y[0]], ours[nl.asarray(y[0])]  # NumPy: of a number a view, of an array a copy
        ours[y[0]] = -1
        assert copied.tolist() == table[x[0]].tolist()
        assert registry.current().discrete or config.executor == "reference" or row.tolist() == [-1.0] * 9


def test_random_loops_over_elements() -> None:
    """Reads, operations and stores by elements and slices, looked at now and then, in arrays that share memory."""
    for seed in range(60):
        random = Random(seed)
        data = np.array([random.randrange(-4, 5) / 2 for _ in range(12)])
        worlds = []
        for xp in (np, nl):
            x = xp.asarray(data.copy()) + 0
            worlds.append({"xp": xp, "x": x, "v": x[2:9], "r": x[::-1], "c": x.copy(), "s": 0.5})
        for _ in range(40):
            a, b = random.choice("xvrc"), random.choice("xvrc")
            i, j, k = (random.randrange(7) for _ in range(3))
            line = random.choice([
                f"{a}[{i}] = {b}[{j}] * s + {k}", f"s = {a}[{i}] - s * 0.5", f"{a}[{i}] = {k}.25",
                f"{a}[{i}] += {b}[{j}]", f"{a}[{i}:] = {b}[{i}] ", f"{a}[:3] += {b}[{j}] * 0.5",
                f"s = max(s, {a}[{i}])", f"s = min(s, -{a}[{i}] / 2)", f"c = {a} * 0.25 + s",
                f"{a}[{i}] = ({a}[:{j + 1}] * 0.5).sum()", f"s = abs({b}[{j}]) if {a}[{i}] > s else s * 1",
                f"c = {a}.copy()", f"z = {a} + {b}[{i}]; {a}[{j}] = {k}; c = z[:12] * 1", f"float({a}[{i}])",
            ])  # fmt: skip
            for world in worlds:
                exec(line, world)
        for name in "xvrcs":
            np.testing.assert_array_equal(nl.asnumpy(worlds[1][name]), worlds[0][name], err_msg=f"{seed} {name}")


def test_numbers_that_others_came_to_are_results() -> None:
    """Else gradients would take them for constants."""
    for found in (
        numbers.binary_number(ELEMENTWISE["multiply"], 2.0, 3.0), numbers.unary_number(ELEMENTWISE["negative"], 2),
    ):  # fmt: skip
        assert found.result
    x = nl.array([1.0, 2.0])
    for value in (x[0], x[0] * 2, -x[1], x[0] + x[1], next(iter(x))):
        with nl.symbolic():
            cost = value * 3 + x.sum()
        with pytest.raises(nl.CutError):
            nl.grad(cost, x)
