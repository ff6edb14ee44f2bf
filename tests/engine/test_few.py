"""Operations on few elements, which are done at once, beside the same operations recorded and planned."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.graph.node import LEAF, OP, register

UNARY = [
    nl.negative, nl.absolute, nl.sqrt, nl.exp, nl.sin, nl.floor, nl.isnan, nl.square, nl.sign, nl.conjugate, nl.invert,
    nl.logical_not,
]  # fmt: skip
BINARY = [
    nl.add, nl.subtract, nl.multiply, nl.divide, nl.floor_divide, nl.remainder, nl.maximum, nl.minimum, nl.less,
    nl.greater_equal, nl.equal, nl.not_equal, nl.logical_and, nl.bitwise_xor, nl.hypot, nl.arctan2, nl.copysign,
]  # fmt: skip
DTYPES = list("?bBhHiIqQefdFD")


@pytest.fixture(autouse=True)
def no_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests made symbols, after which nothing is done at once."""
    monkeypatch.setattr(register, "symbols", False)


def is_uncompiled() -> bool:
    return bool(sys.modules["numloom.array.ndarray"].__file__.endswith(".py"))  # type: ignore[union-attr]


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers of a dtype, with some that are special."""
    if dtype == "?":
        return rng.integers(0, 2, shape).astype(bool)
    found = (
        rng.integers(-9, 10, shape).astype(dtype) if dtype not in "BHIQ" else rng.integers(0, 99, shape).astype(dtype)
    )
    if dtype in "efdFD":
        found = found / np.asarray(4, dtype)
        found[rng.random(shape) < 0.05] = np.nan
        found[rng.random(shape) < 0.05] = np.inf
        found[rng.random(shape) < 0.05] = -0.0
    return found.astype(dtype)


def layout(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Any]:
    """The shape of memory, and what makes it a view of a shape: axes turned, steps, the other way round."""
    order = rng.permutation(len(shape)) if rng.random() < 0.3 else np.arange(len(shape))
    steps = [int(rng.choice([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    memory = tuple(shape[axis] * abs(steps[axis]) + int(rng.integers(0, 2)) for axis in order)

    def view(array: Any) -> Any:
        turned = array.transpose(*np.argsort(order)) if len(shape) > 1 else array
        cut = turned[tuple(slice(None, None, step) for step in steps)]
        return cut[tuple(slice(0, extent) for extent in shape)]

    return memory, view


def operand(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """An array of NumPy's, and one of ours that lies as it does."""
    memory, view = layout(rng, shape)
    host = values(rng, dtype, memory)
    ours = nl.asarray(host)
    nl.evaluate(ours)
    return view(host), view(ours)


def bits(array: Any) -> Any:
    host = np.ascontiguousarray(array.get())
    if host.dtype.kind in "fc":  # NaN of any sign and payload.
        parts = host.reshape(-1).view(host.real.dtype)
        parts[np.isnan(parts)] = np.nan
    return host.dtype, host.shape, array.strides, host.tobytes()


def recorded(call: Any) -> Any:
    """What a call gives when all is planned."""
    with nl.config(unplanned=0):
        found = call()
        nl.evaluate(found)
    return found


def same(call: Any, what: str) -> None:
    """Whether a call does the same at once and planned, also where it refuses."""
    try:
        expected = recorded(call)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            call()
        return
    assert bits(call()) == bits(expected), what


@pytest.mark.parametrize("seed", range(12))
def test_operations_have_the_bits_of_plans(seed: int) -> None:
    rng = np.random.default_rng([seed, 4401])
    for _ in range(12):
        shape = tuple(int(rng.integers(1, 6)) for _ in range(rng.integers(1, 4)))
        other = tuple(1 if rng.random() < 0.2 else extent for extent in shape[int(rng.integers(0, len(shape))) :])
        first, second = (str(rng.choice(DTYPES)) for _ in range(2))
        (_, x), (_, y) = operand(rng, first, shape), operand(rng, second, other)
        function = UNARY[rng.integers(0, len(UNARY))]
        same(lambda f=function, x=x: f(x), f"{function} {first} {x.strides}")
        function = BINARY[rng.integers(0, len(BINARY))]
        same(lambda f=function, x=x, y=y: f(x, y), f"{function} {first} {second} {shape} {other}")
        same(lambda f=function, x=x: f(x, 3), f"{function} {first} 3")
        same(lambda f=function, x=x: f(2.5, x), f"{function} 2.5 {first}")
        number = np.dtype(second).type(1)
        same(lambda f=function, x=x, number=number: f(x, number), f"{function} {first} {number!r}")


@pytest.mark.parametrize("seed", range(6))
def test_products_and_reductions_have_the_bits_of_plans(seed: int) -> None:
    rng = np.random.default_rng([seed, 4402])
    for _ in range(12):
        n, k = (int(extent) for extent in rng.integers(0, 40, 2))
        dtype = str(rng.choice(["f", "d", "d", "q"]))
        (_, a), (_, v), (_, w) = operand(rng, dtype, (n, k)), operand(rng, dtype, (k,)), operand(rng, dtype, (n,))
        same(lambda a=a, v=v: a @ v, f"rows {dtype} {a.strides} {a.shape}")
        same(lambda a=a, w=w: w @ a, f"columns {dtype} {a.strides} {a.shape}")
        same(lambda a=a, w=w: a.T @ w, f"turned {dtype} {a.strides} {a.shape}")
        for axis in (None, 0, 1):
            for name in ("sum", "mean", "prod", "any"):
                if n and k:
                    same(lambda a=a, axis=axis, name=name: getattr(a, name)(axis), f"{name} {axis} {dtype} {a.strides}")


@pytest.mark.parametrize("seed", range(6))
def test_writing_in_place_is_numpys(seed: int) -> None:
    rng = np.random.default_rng([seed, 4403])
    for _ in range(20):
        shape = tuple(int(rng.integers(2, 6)) for _ in range(rng.integers(1, 3)))
        host, ours = operand(rng, "d", shape)
        host, ours = host.copy(), ours.copy()
        part = tuple(slice(int(rng.integers(0, 2)), None, int(rng.choice([1, 1, 2]))) for _ in shape)
        extents = host[part].shape
        back = tuple(slice(0, extent) for extent in extents)
        keep_host, keep = host[part], ours[part]
        kind = rng.integers(0, 4)
        if kind == 0:
            host[part] += host[back]
            ours[part] += ours[back]
        elif kind == 1:
            host[part] *= 0.5
            ours[part] *= 0.5
        elif kind == 2:
            with np.errstate(all="ignore"):
                host -= host[::-1]
            ours -= ours[::-1]
        else:
            host[part] = host[back] * 2 + host[part]
            ours[part] = ours[back] * 2 + ours[part]
        np.testing.assert_array_equal(ours.get(), host)
        np.testing.assert_array_equal(keep.get(), keep_host)


@pytest.mark.parametrize("seed", range(8))
def test_combining_at_indices_has_the_bits_of_plans(seed: int) -> None:
    rng = np.random.default_rng([seed, 4404])
    names = ["add", "subtract", "multiply", "divide", "maximum", "fmin", "bitwise_or", "logical_and", "hypot", "power"]
    for _ in range(24):
        dtype = str(rng.choice(DTYPES))
        shape = tuple(int(extent) for extent in rng.integers(1, 6, rng.integers(1, 4)))
        axes, count = int(rng.integers(1, len(shape) + 1)), int(rng.integers(1, 6))
        index: Any = [rng.integers(-extent, extent, count) for extent in shape[:axes]]
        if rng.random() < 0.1:
            index[0][-1] = 9
        rest = shape[axes:]
        value: Any = [
            int(rng.integers(-3, 4)), float(rng.normal()), True, np.float32(1.5), values(rng, dtype, (1, *rest))[0],
            values(rng, dtype, (count, *rest)), values(rng, "d", (count, *rest)), values(rng, dtype, (count, 1, *rest)),
        ][rng.integers(0, 8)]  # fmt: skip
        listed = rng.random() < 0.5
        function = getattr(nl, str(rng.choice(names)))
        memory, view = layout(rng, shape)
        host = values(rng, dtype, memory)
        late = rng.random() < 0.3

        def combined(
            host: Any = host, view: Any = view, index: Any = index, value: Any = value, listed: Any = listed,
            function: Any = function, late: Any = late,
        ) -> Any:  # fmt: skip
            array = nl.array(host)
            nl.evaluate(array)
            kept = array + 0 if late else array
            at = [one.tolist() if listed else nl.asarray(one) for one in index]
            given = nl.asarray(value) if isinstance(value, np.ndarray) else value
            function.at(view(array), at[0] if len(at) == 1 else tuple(at), given)
            return nl.stack((array, kept))

        what = f"{function} {dtype} {shape} {index} {value!r}"
        try:
            expected = bits(recorded(combined))
        except (IndexError, TypeError, ValueError) as error:  # Of a GPU when somebody looks.
            with pytest.raises(type(error)):
                bits(combined())
            continue
        assert bits(combined()) == expected, what


def test_combining_is_refused_in_read_only_memory_and_takes_equal_indices_in_turn() -> None:
    x = nl.zeros(3)
    for _ in range(3):
        nl.add.at(x, [0, 0, 2], nl.asarray([1.0, 2.0, 3.0]))
        nl.subtract.at(x, [0, 0], 1)
    assert x.tolist() == [3, 0, 9]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        nl.add.at(x, [0], 1)
    with pytest.raises(IndexError):
        nl.add.at(nl.zeros(3), [0, 3], 1)


def test_what_was_read_stays_when_its_memory_is_written() -> None:
    x = nl.asarray([1.0, 2.0, 3.0])
    y = x + 1
    x[0] = 50
    x += 1
    assert y.tolist() == [2, 3, 4] and x.tolist() == [51, 3, 4]


def test_it_is_done_at_once() -> None:
    """Else this page of tests tests nothing: where the host is alone, results are there before anybody looks."""
    x = nl.asarray(np.arange(5.0))
    nl.evaluate(x)
    found = node_of(x * 2 - 1)
    if registry.current().name != "cpu" or is_uncompiled() or registry.current().loops is None:
        pytest.skip("operations are recorded here")
    assert found.kind == LEAF and found.result
    assert node_of(nl.asarray(np.arange(1000.0)) * 2).kind != LEAF


def test_gradients_of_what_was_computed_before_are_refused() -> None:
    """As of all that was looked at: it may depend on what is differentiated by."""
    text = """
import numloom as nl
z = nl.zeros(3)
y = z * 2 + 1
try:
    print(nl.grad((y**2).sum() + nl.shared(nl.ones(3)).sum(), z))
except nl.CutError:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", text], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "refused"


def test_strided_operands_are_negated_where_they_lie() -> None:
    """NumPy's own loop, before 2.5, takes other elements than it should of some strides."""
    for dtype in ("f", "d", "i", "q", "D"):
        for step in range(1, 12):
            for rest in (3, 8, 17):
                host = np.arange(2 * rest * step, dtype=dtype).reshape(2, rest * step)
                x = nl.asarray(host).T[::step]
                expected = np.negative(host.T[::step].copy())
                np.testing.assert_array_equal((-x).get(), expected)
                assert [number.item() for number in -x[:, 1]] == expected[:, 1].tolist()


@pytest.mark.skipif(
    registry.current().discrete or is_uncompiled(), reason="a part of the compiled core; beside a GPU values wait"
)
def test_compiled_calls_leave_it_so() -> None:
    """Work beside compiled functions, gradients and loops is done at once, as before the first of them."""
    x, y = nl.asarray([1.0, 2.0, 3.0]), nl.asarray([4.0, 5.0, 6.0])
    twice = nl.compile(lambda a: (a * 2).sum())
    for _ in range(4):
        assert float(twice(x)) == 12
    assert nl.grad(lambda a: (a * a).sum())(x).tolist() == [2, 4, 6]
    assert nl.fori_loop(0, 3, lambda i, s: s + x, x).tolist() == [4, 8, 12]
    assert node_of(x + y).kind == LEAF
    assert node_of((x + y).copy()).kind == LEAF
    assert register.open == 0


@pytest.mark.skipif(
    registry.current().discrete or is_uncompiled(), reason="a part of the compiled core; beside a GPU values wait"
)
def test_what_is_recorded_beside_symbols_is_known_as_such() -> None:
    """What is computed at once leaves nothing behind: gradients refuse what they do not see."""
    s = nl.symbol("s", (3,))
    try:
        x = nl.asarray([1.0, 2.0, 3.0])
        assert node_of(x + 1).kind == OP
        assert nl.function([s], nl.grad((s * (x + 1)).sum(), s))(x).tolist() == [2, 3, 4]
    finally:
        register.symbols = False
