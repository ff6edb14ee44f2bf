"""Exact identities: what they say of bits, what plans make of them, and trees with and without them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

import numloom as np
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import DTYPES, kind_of
from numloom.engine.evaluate import evaluate
from numloom.engine.walk import walk
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.identities import IDENTITIES
from numloom.ops.special import SPECIAL
from numloom.plan import plan as planning
from numloom.plan.plan import make_plan

FLOATS = ("f2", "bfloat16", "f4", "f8")
KINDS = {"b": ("?",), "i": ("i1", "i2", "i4", "i8"), "u": ("u1", "u2", "u4", "u8"), "f": FLOATS, "c": ("c8", "c16")}


def special(dtype: Any, seed: int = 0) -> numpy.ndarray:
    """Numbers of a dtype at which identities could fail, and others."""
    dtype = numpy.dtype(dtype)
    rng = numpy.random.default_rng(seed)
    kind = kind_of(dtype)
    if kind == "b":
        return numpy.array([False, True] * 8)
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        few = [0, 1, 2, 3, limits.min, limits.max, limits.min + 1, limits.max - 1]
        return numpy.concatenate([numpy.array(few, dtype), rng.integers(limits.min, limits.max, 40, dtype)])
    with numpy.errstate(all="ignore"):
        few = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, numpy.inf, -numpy.inf, numpy.nan, 1e-45, -1e-45, 1e-310]
        few += [3e38, -3e38, 1e308, 6e4, -6e4, 6e-8, 1e-4, 0.999, 7.25, 710.0, -89.0, 1e22, -3e15, numpy.pi]
        wide = rng.standard_normal(60) * 10.0 ** rng.integers(-8, 9, 60)
        values = numpy.concatenate([few, wide, rng.standard_normal(40)])
        if kind == "c":
            pairs = numpy.array(list(itertools.product(values[:14], values[:14])))
            return (pairs[:, 0] + 1j * pairs[:, 1]).astype(dtype)
        return values.astype(dtype)


def bits(array: Any) -> numpy.ndarray:
    """The bits of an array; of NaN those of one NaN."""
    host = numpy.asarray(array.get() if isinstance(array, np.ndarray) else array).reshape(-1).copy()
    if host.dtype.kind not in "biu?":
        parts = host.view(host.real.dtype) if host.dtype.kind == "c" else host
        parts[parts != parts] = numpy.nan
    return host.view(numpy.uint8)


def operations(*arrays: np.ndarray) -> int:
    """Operations an element of the kernels that compute arrays."""
    nodes = [node_of(array) for array in arrays]
    found = walk(nodes)
    plan = make_plan(found.nodes, [node.number for node in nodes])
    programs = [step.program for step in plan.steps if step.program is not None]
    return sum([instr.kind in ("op", "cast") for program in programs for instr in (*program.body, *program.post)])


# ---------------------------------------------------------------- what the table says


def test_the_table_names_operations() -> None:
    for name, identities in IDENTITIES.items():
        op_def = ELEMENTWISE.get(name) or SPECIAL[name]
        assert op_def.identities is identities


CASES = [
    (name, fact, dtype)
    for name, identities in IDENTITIES.items()
    for fact, kinds in identities.items()
    for kind in kinds
    for dtype in KINDS[kind]
]


def apply(name: str, *args: Any) -> Any:
    """What an operation gives, computed alone."""
    function = getattr(np, name, None) or getattr(np.special, name)
    result = function(*args)
    evaluate([node_of(result)])
    return result


@pytest.mark.parametrize("name, fact, dtype", CASES)
def test_identities_hold_to_the_bit(name: str, fact: str, dtype: str) -> None:
    x = special(dtype)
    a = np.asarray(numpy.repeat(x, len(x)) if ELEMENTWISE.get(name, SPECIAL.get(name)).nin > 1 else x)
    b = np.asarray(numpy.tile(x, len(x)))
    minus = lambda v: apply("negative", v)  # noqa: E731
    with numpy.errstate(all="ignore"), np.config(eager=True):
        if fact == "negates":
            pairs = [(apply(name, minus(a)), a)]
        elif fact == "even":
            pairs = [(apply(name, minus(a)), apply(name, a))]
        elif fact == "odd":
            pairs = [(apply(name, minus(a)), minus(apply(name, a)))]
        elif fact == "signs":
            pairs = [
                (apply(name, minus(a), b), minus(apply(name, a, b))),
                (apply(name, a, minus(b)), minus(apply(name, a, b))),
                (apply(name, minus(a), minus(b)), apply(name, a, b)),
            ]
        elif fact == "adds":
            pairs = [
                (apply(name, a, minus(b)), apply("subtract", a, b)),
                (apply(name, minus(a), b), apply("subtract", b, a)),
            ]
        elif fact == "subtracts":
            pairs = [(apply(name, a, minus(b)), apply("add", a, b))]
            if a.dtype.kind in "iu":
                pairs.append((minus(apply(name, a, b)), apply(name, b, a)))
        elif fact == "commutes":
            pairs = [(apply(name, a, b), apply(name, b, a))]
        elif fact == "same":
            pairs = [(apply(name, a, a), a)]
        elif fact == "keeps":
            pairs = [(apply(name, a), a)]
        elif fact == "undoes":
            pairs = [(apply(name, apply(name, a)), a)]
        else:
            assert fact == "chooses"
            pairs = [(apply(name, a, b, b), b)]
        for one, other in pairs:
            assert one.dtype == other.dtype
            numpy.testing.assert_array_equal(bits(one), bits(other))


def test_a_difference_is_not_the_negated_other_one() -> None:
    """Why the table does not say so of floats."""
    x, y = np.asarray([1.5, 2.0]), np.asarray([1.5, 1.0])
    one, other = x - y, -(y - x)
    assert not numpy.signbit(one.get()[0]) and numpy.signbit(other.get()[0])


# ---------------------------------------------------------------- what plans make of it


def test_equal_values_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.config, "unplanned", 0)  # Few elements are computed at once, and leave no tree.
    x, y = np.asarray(special("f8")), np.asarray(special("f8", 1))
    # pytest holds on to what stands within an assertion.
    count = operations(np.abs(-x) + np.abs(x))
    assert count == 2
    count = operations((-x) * (-x))
    assert count == 1
    count = operations(np.cos(-x) * np.cos(x))
    assert count == 2
    count = operations(np.sin(x) + np.sin(-x))
    assert count <= 3
    count = operations(np.abs(x - y) + np.abs(y - x))
    assert count == 3
    count = operations(np.where(x > 0, y, y))
    assert count <= 1
    count = operations(x.astype("f4").astype("f8"))  # Which rounds.
    assert count == 2
    count = operations(np.asarray(special("f4")).astype("f8").astype("f4") + np.asarray(special("f4")))
    assert count == 1
    count = operations(x * y + y * x)
    assert count == 2
    count = operations((x > y) & (y < x))
    assert count <= 2
    count = operations(-(-x) + y)
    assert count == 1
    count = operations(x + -y)
    assert count == 1


def test_values_are_equal_after_many_other_shapes() -> None:
    """Also where equal shapes are no longer the same tuple, since too many were met to keep them all."""
    x = np.asarray(special("f4"))
    count = operations(x.astype("f8").astype("f4") + x)  # pytest holds on to what stands within an assertion.
    assert count == 1
    for count in range(5000):
        np.zeros((count, 3))
    count = operations(np.asarray(special("f4")).astype("f8").astype("f4") + np.asarray(special("f4")))
    assert count == 1
    y = np.asarray(special("f4"))
    count = operations(np.where(x > 0, y, y))
    assert count <= 1


def cnd(d: Any) -> Any:
    """The normal distribution, as users write it."""
    return 0.5 * (1 + np.special.erf(d * 0.7071067811865476))


def test_black_scholes_by_a_function_shares_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """d1, d2 and their negations need two exponentials, not four."""
    for polynomial in (False, True):
        shared, found = _black_scholes(polynomial)
        with np.config(eager=True):
            _, one_by_one = _black_scholes(polynomial)
        for one, other in zip(found, one_by_one, strict=True):
            numpy.testing.assert_array_equal(bits(one), bits(other))
        with monkeypatch.context() as patched:
            patched.setattr(planning, "rewritten", lambda nodes, roots: nodes)
            apart, _ = _black_scholes(polynomial)
        assert shared <= 0.8 * apart, (shared, apart)


def _black_scholes(polynomial: bool) -> tuple[int, list[numpy.ndarray]]:
    rng = numpy.random.default_rng(0)
    s, k, t = (np.asarray(rng.uniform(low, high, 500)) for low, high in ((10, 50), (10, 50), (1, 2)))

    def normal(d: Any) -> Any:
        if not polynomial:
            return cnd(d)
        a = 1 / (1 + 0.2316419 * np.abs(d))
        terms = a * (0.31938153 + a * (-0.356563782 + a * (1.781477937 + a * (-1.821255978 + a * 1.330274429))))
        tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * terms
        return np.where(d > 0, 1 - tail, tail)

    def prices(s: Any, k: Any, t: Any) -> Any:
        d1 = (np.log(s / k) + 0.065 * t) / (0.3 * np.sqrt(t))
        d2 = d1 - 0.3 * np.sqrt(t)
        e = k * np.exp(-0.02 * t)
        return s * normal(d1) - e * normal(d2), e * normal(-d2) - s * normal(-d1)

    symbols = [np.symbol(name, (500,)) for name in "skt"]
    made = np.function(symbols, prices)
    operands = [node_of(array) for array in (s, k, t)]
    values = list(map(wrap, made.ready.program.run(list(operands))))
    return operations(*values), [value.get() for value in values]


def test_plans_for_other_sizes_are_rewritten_alike() -> None:
    def work(x: Any, y: Any) -> list[Any]:
        d = x - y
        return [np.abs(-d) * np.cos(-x) + np.cos(x), np.where(x > y, d, d).sum(), -(-x).astype("f4").astype("f8")]

    for size in (5, 1, 64, 1000, 3, 0, 129):
        x, y = (np.asarray(numpy.resize(special("f8", seed), size)) for seed in range(2))
        with numpy.errstate(all="ignore"):
            with np.config(eager=True):
                expected = [bits(one) for one in work(x, y)]
            with np.config(unplanned=0, cpu_compile="wait"):
                found = [bits(one) for one in work(x, y)]
        for one, other in zip(expected, found, strict=True):
            numpy.testing.assert_array_equal(one, other)


def test_floats_without_two_zeros_have_no_identities() -> None:
    x = np.asarray(numpy.array([1, -2, 0, 3], "float8_e4m3fnuz"))
    assert np.abs(x).get().tolist() == [1, 2, 0, 3]
    count = operations(np.abs(-x))
    assert count == 2


# ---------------------------------------------------------------- random trees

UNARY = ("negative", "absolute", "square", "positive", "cos", "sin", "tanh", "rint", "isnan", "arctan", "conjugate")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "less", "equal", "logical_and")
WHOLE = ("negative", "absolute", "square", "positive", "invert")
WHOLE_BINARY = ("add", "subtract", "multiply", "bitwise_and", "bitwise_or", "maximum", "less", "greater_equal")


def tree(rng: Any, leaves: list[Any], dtype: Any) -> list[Any]:
    """Random operations on few leaves, with much that is equal."""
    floats = kind_of(numpy.dtype(dtype)) == "f"
    values = list(leaves)
    made = []
    for _ in range(int(rng.integers(4, 18))):
        what = rng.integers(0, 10)
        a, b = (values[int(rng.integers(0, len(values)))] for _ in range(2))
        if what < 3:
            new = -a
        elif what < 6:
            new = getattr(np, str(rng.choice(UNARY if floats else WHOLE)))(a)
        elif what < 9:
            new = getattr(np, str(rng.choice(BINARY if floats else WHOLE_BINARY)))(a, b)
        else:
            new = np.where(a > b, a, a if rng.integers(0, 2) else b)
        if rng.integers(0, 8) == 0:
            new = new.astype("f8").astype(dtype) if floats else new.astype("i8").astype(dtype)
        made.append(new)
        if new.dtype == leaves[0].dtype:
            values.append(new)
    held = [made[int(k)] for k in rng.choice(len(made), min(len(made), 3), replace=False)]
    return [made[-1], *held, made[-1].sum() if floats and made[-1].dtype != bool else made[0]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "i4", "i8", "u1"])
def test_random_trees_have_the_bits_of_single_operations(dtype: str) -> None:
    found = {}
    for eager in (True, False):
        rng = numpy.random.default_rng(DTYPES.index(numpy.dtype(dtype)))
        results = []
        with np.config(eager=eager, unplanned=65536 if eager else 0, cpu_compile="wait"), numpy.errstate(all="ignore"):
            for number in range(3):
                x, y = special(dtype, number), special(dtype, number + 50)[::-1].copy()
                results += [bits(array) for array in tree(rng, [np.asarray(x), np.asarray(y)], dtype)]
        found[eager] = results
    for one, other in zip(found[True], found[False], strict=True):
        numpy.testing.assert_array_equal(one, other)
