"""Trees: NumPy is the oracle of random expressions, run by NumPy, by the engine, pickled, as text and as functions."""

from __future__ import annotations

import os
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.compiled.source import source
from numloom.graph.node import recording_here
from numloom.graph.tree import TreeError

DTYPES = ("?", "i1", "u2", "i8", "f4", "f8", "c8", "c16")
EXAMPLES = int(os.environ.get("NUMLOOM_TREES", "60"))
SHAPES = ((), (0,), (3,), (1, 3), (4, 1), (4, 3), (2, 4, 3))


def leaf(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) > 0.5
    if kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    numbers = rng.standard_normal(shape)
    return (numbers + 1j * rng.standard_normal(shape) if kind == "c" else numbers).astype(dtype)


def build(np_: Any, choices: list[int], leaves: list[Any]) -> list[Any]:
    """A random program of NumPy's functions on arrays; the same for NumPy and for us."""
    values = list(leaves)

    def number(value: Any) -> Any:
        return value if value.dtype.kind != "b" else np_.asarray(value) * 1

    for choice in choices:
        a = values[choice % len(values)]
        b = values[(choice // 7) % len(values)]
        op = (choice // 50) % 14
        if op == 0:
            found = np_.add(a, b) if np.broadcast_shapes(a.shape, ()) == b.shape else np_.add(a, 1)
        elif op == 1:
            found = number(a) * 2 if a.dtype.kind in "fc" else np_.multiply(a, a)
        elif op == 2:
            found = np_.where(np_.equal(a, a), a, np_.zeros_like(a))
        elif op == 3:
            found = a.T
        elif op == 4:
            found = np_.sum(number(a), axis=-1) if a.ndim else np_.negative(number(a))
        elif op == 5:
            found = np_.exp(np_.minimum(np_.abs(number(a)), 3)).astype(np.float64)
        elif op == 6:
            found = a[..., ::-1] if a.ndim else a + 0
        elif op == 7:
            found = np_.sort(a, axis=-1) if a.ndim and a.dtype.kind != "c" else np_.positive(number(a))
        elif op == 8:
            found = (
                np_.cumsum(number(a).astype(np.int64 if a.dtype.kind in "biu" else a.dtype), axis=0) if a.ndim else a
            )
        elif op == 9:
            found = a.copy()
            if a.ndim and a.shape[0]:
                found[1:] = found[:1]
        elif op == 10:
            found = np_.concatenate([a, a]) if a.ndim else a
        elif op == 11:
            found = a.reshape(-1)
        elif op == 12:
            found = np_.max(a, axis=0) if a.ndim and a.shape[0] else a
        else:
            found = number(a) - number(b) if a.shape == b.shape else np_.square(number(a))
        if found.size < 4000:
            values.append(found)
    return values[len(leaves) :][-3:] or values[-1:]


def close(ours: Any, theirs: Any, single: bool) -> None:
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if theirs.dtype.kind in "fc":
        np.testing.assert_allclose(ours, theirs, rtol=1e-3 if single else 1e-9, atol=1e-3 if single else 1e-9)
    else:
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=8),
    st.sampled_from(SHAPES), st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.integers(0, 99),
)  # fmt: skip
# What is written into is read after a sort, which runs before the rest is recorded.
@example([450, 350, 0], (3,), "f8", "f8", 0)
def test_random_trees(choices: list[int], shape: tuple[int, ...], first: str, second: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hosts = [leaf(rng, shape, first), leaf(rng, shape, second)]
    single = not {first, second} <= {"i8", "f8", "c16"}  # Small integers become float32.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = build(np, choices, hosts)
        symbols = [nl.symbol("x", shape, first), nl.symbol("y", shape, second)]
        trees = build(nl, choices, symbols)
        arrays = [nl.asarray(host) for host in hosts]
        given_values = nl.substitute(trees, list(zip(symbols, arrays, strict=True)))
        with nl.symbolic():
            recorded = build(nl, choices, [nl.asarray(host) for host in hosts])
        for tree, by_value, alone, theirs in zip(trees, given_values, recorded, wanted, strict=True):
            assert tree.shape == np.shape(theirs)
            for one in (by_value, alone, pickle.loads(pickle.dumps(by_value))):
                close(one.asnumpy(), theirs, single)
                close(one.get(), theirs, single)
            text = source(alone)
            close(np.asarray(text.compile()(*[one.get() for one in text.arguments.values()])), theirs, single)
        function = nl.function(symbols, trees)
        for turn in range(5):
            again = [leaf(np.random.default_rng((seed, turn)), shape, dtype) for dtype in (first, second)]
            before = [host.copy() for host in again]
            for ours, theirs in zip(function(*again), build(np, choices, again), strict=True):
                close(ours.get(), theirs, single)
            for host, kept in zip(again, before, strict=True):
                np.testing.assert_array_equal(host, kept)


def network() -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(0)
    hosts = [rng.standard_normal(shape) for shape in ((8, 5), (8, 5), (5, 4))]
    X, z, W = (nl.asarray(host) for host in hosts)
    with nl.symbolic():
        h = 1 / (1 + nl.exp(-nl.dot(X, W)))
        delta_o = -(X - z)
        delta_h = nl.dot(delta_o, W) * h * (1.0 - h)
        grad_W = nl.dot(X.T, delta_h)
    return grad_W, [X, z, W]


def oracle(X: Any, z: Any, W: Any) -> Any:
    h = 1 / (1 + np.exp(-np.dot(X, W)))
    return np.dot(X.T, np.dot(-(X - z), W) * h * (1 - h))


@pytest.mark.filterwarnings("ignore:no GPU")
def test_the_tree_of_the_readme() -> None:
    grad_W, arrays = network()
    hosts = [array.get() for array in arrays]
    assert grad_W.shape[0] == 5 and grad_W.dtype == np.float64
    np.testing.assert_allclose(grad_W.asnumpy(), oracle(*hosts), rtol=1e-12)
    np.testing.assert_allclose(grad_W.ascuda().get(), oracle(*hosts), rtol=1e-12)
    assert nl.compare(grad_W)
    text = nl.source(grad_W)
    assert "@" in str(text) and "np.exp" in str(text) and "runtime" not in str(text)
    np.testing.assert_allclose(text.compile()(*[a.get() for a in text.arguments.values()]), oracle(*hosts), rtol=1e-12)
    other = np.random.default_rng(1).standard_normal((5, 4))
    changed = nl.substitute(grad_W, (arrays[2], nl.asarray(other)))
    np.testing.assert_allclose(changed.get(), oracle(hosts[0], hosts[1], other), rtol=1e-12)
    np.testing.assert_allclose(grad_W.get(), oracle(*hosts), rtol=1e-12)


def test_a_tree_keeps_what_its_arrays_held() -> None:
    grad_W, arrays = network()
    before = grad_W.get()
    for array in arrays:
        array[...] = 7
        array += 1
    np.testing.assert_array_equal(grad_W.get(), before)
    np.testing.assert_array_equal(grad_W.get(), before)
    assert arrays[0].get()[0, 0] == 8


def test_constants_can_be_changed() -> None:
    x = nl.symbol("x", (3,))
    y = x * 2 + 1
    two = next(part for part in nl.tree(y).constants if part.value == 2)
    assert nl.substitute(y, [(two.array, 5), (x, nl.asarray([1.0, 2, 3]))]).get().tolist() == [6, 11, 16]


def test_an_index_out_of_bounds_is_told_of_the_substitution() -> None:
    """Of the line that gave it, not of the one that recorded the tree."""
    table, i = nl.asarray(np.arange(5.0)), nl.symbol("i", (3,), "i8")
    tree = table[i] * 2
    with nl.config(executor="fused"), pytest.raises(IndexError, match=r"recorded at .*: .*nl\.substitute\(tree, "):
        nl.substitute(tree, (i, nl.asarray([0, 1, 7]))).get()
    assert nl.substitute(tree, (i, nl.asarray([0, 1, -1]))).tolist() == [0.0, 2.0, 8.0]


def test_rules() -> None:
    x = nl.symbol("x", (3,))
    y = nl.log(nl.exp(x * 2)) + nl.log(nl.exp(x))
    simple = nl.rewrite(y, (lambda a: nl.log(nl.exp(a)), lambda a: a))
    assert not {"exp", "log"} & {part.name for part in nl.tree(simple)}
    sines = nl.rewrite(y, lambda part: nl.sin(part.array) if part.name == "log" else None)
    assert [part.name for part in nl.tree(sines)].count("sin") == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: float(x[0]), "x is a symbol"),
        (lambda x: bool(x.sum()), "x is a symbol"),
        (lambda x: x.get(), "x is a symbol"),
        (lambda x: nl.unique(x), "unique gives follows from values"),
        (lambda x: nl.nonzero(x), "nonzero gives follows from values"),
        (lambda x: x[x > 0], "follows from values"),
        (lambda x: nl.function([], x), "x, which is not among"),
        (lambda x: nl.function([x], x, updates=[(nl.asarray([1.0]), x)]), "only shared variables"),
        (lambda x: nl.function([x], x)(), "misses a value for x"),
        (lambda x: nl.function([x], x)(x, x), "takes 1 argument"),
        (lambda x: nl.function([x], x)([1.0, 2]), "x must have extent 3 along axis 0, not 2"),
        (lambda x: nl.function([x], x)(1.0), "x must have 1 axis, not 0"),
        (lambda x: nl.function([x], x)(np.ones(3, complex)), "x must have dtype float64"),
        (lambda x: nl.function([x], x)(y=1), "no input 'y'"),
        (lambda x: nl.substitute(x * 2, (x, nl.zeros(4))), "must have that shape"),
        (lambda x: nl.while_loop(lambda s: s.sum() < 9, lambda s: s * 1j, x), "must keep its dtypes"),
    ],
)
def test_one_clear_sentence(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError, nl.TreeError), match=words):
        call(nl.symbol("x", (3,)))


def test_printing_needs_no_numbers() -> None:
    x = nl.symbol("x", (3,))
    assert repr(x) == "<symbol x float64[3]>" and "of x" in str(x * 2)


def test_a_long_tree_needs_no_recursion() -> None:
    x = nl.symbol("x")
    y = x
    for _ in range(20_000):
        y = y + 1.0
    assert len(nl.tree(y)) > 20_000
    assert float(nl.substitute(y, (x, nl.asarray(1.0))).asnumpy()) == 20_001


def test_factorisations_and_draws() -> None:
    rng = np.random.default_rng(0)
    host = rng.standard_normal((4, 4))
    host = host @ host.T + np.eye(4)
    with nl.symbolic():
        a = nl.asarray(host)
        results = [
            nl.linalg.cholesky(a), nl.linalg.inv(a), nl.linalg.det(a), nl.linalg.slogdet(a)[1], nl.linalg.qr(a)[1],
            nl.linalg.eigvalsh(a), nl.linalg.svd(a, compute_uv=False), nl.linalg.solve(a, a[0]), nl.fft.fft(a),
        ]  # fmt: skip
        draw = nl.random.default_rng(5).normal(size=4)
    wanted = [
        np.linalg.cholesky(host), np.linalg.inv(host), np.linalg.det(host), np.linalg.slogdet(host)[1],
        np.linalg.qr(host)[1], np.linalg.eigvalsh(host), np.linalg.svd(host, compute_uv=False),
        np.linalg.solve(host, host[0]), np.fft.fft(host),
    ]  # fmt: skip
    for ours, theirs in zip(results, wanted, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.get(), theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ours)).get(), theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(draw.get(), nl.random.default_rng(5).normal(size=4).get())
    np.testing.assert_array_equal(draw.get(), draw.get())


def test_results_of_routines_are_let_go_once_a_tree_is_computed() -> None:
    for turn in range(3):
        with nl.symbolic():
            tree = nl.linalg.svd(nl.asarray(np.eye(6) + turn))[1]
        assert np.allclose(tree.get(), np.linalg.svd(np.eye(6) + turn)[1])
        assert recording_here.get() is None


def test_trees_are_made_while_calls_are_verified() -> None:
    """What is remembered of a call is compared as far as there are numbers."""
    x = nl.symbol("x", (3, 4))
    host = np.arange(12.0).reshape(3, 4)
    calls = [
        lambda a, p: p.cumsum(a, 1), lambda a, p: p.median(a), lambda a, p: p.sort(a, 0), lambda a, p: p.roll(a, 1),
        lambda a, p: p.concatenate([a, a * 2]), lambda a, p: p.std(a, axis=0), lambda a, p: a.sum(0) - a.max(),
    ]  # fmt: skip
    with nl.config(verify=True):
        for call in calls:
            for k in range(4):
                tree = nl.substitute(call(x + k, nl), (x, host))
                np.testing.assert_allclose(nl.asnumpy(tree), call(host + k, np), rtol=1e-14)


@pytest.mark.parametrize(
    "name", ["lambda", "np", "None", "complex", "seen", "operation", "tree", "v1", "a", "x1", "__debug__", "\ufb01"]
)
def test_source_of_symbols_of_any_name(name: str) -> None:
    one, other = nl.symbol(name, (3,)), nl.symbol(name, (3,))
    constant = nl.asarray([1.0, 2.0, 3.0])
    shared = nl.shared([3.0, 2.0, 1.0], name)
    ascii_name, v = nl.symbol("fi", (3,)), nl.symbol("v1", (3,))
    y = nl.sin(one[::-1] * other) + 1j * constant * shared
    y = y * nl.special.expit(ascii_name) + v * nl.flip(y) + (1 + 2j) + nl.special.expit(v)[::2][:1]
    text = nl.source(y * y)
    given, pairs = [], []
    for number, array in enumerate(text.arguments.values()):
        symbol = nl.tree(array)[-1].name == "symbol"
        given.append(np.full(3, 0.1 * number) if symbol else array.get())
        pairs += [(array, nl.asarray(given[-1]))] if symbol else []
    assert len(pairs) == 5
    wanted = nl.substitute(y * y, pairs).asnumpy()
    np.testing.assert_allclose(text.compile()(*given), wanted)


@pytest.mark.parametrize("name", ["lambda", "np", "two words", "seen", ""])
def test_source_refuses_names_that_no_function_can_have(name: str) -> None:
    with pytest.raises(ValueError, match="name="):
        nl.source(nl.symbol("x") + 1, name=name)


def test_truths_of_whole_arrays_wait() -> None:
    x, y = nl.symbol("x", (3,), "float64"), nl.symbol("y", (3,), "float64")
    truths = [nl.allclose(x, y), nl.array_equal(x, y), nl.array_equiv(x, y), nl.array_equal(x, 1)]
    function = nl.function([x, y], truths)
    for one, other in (([1.0, 2, 3], [1.0, 2, 3]), ([1.0, 2, 3], [1.0, 2, 3 + 1e-9]), ([1.0, 2, 3], [1.0, 2, 4])):
        expected = [np.allclose(one, other), np.array_equal(one, other), np.array_equiv(one, other), False]
        assert [bool(found) for found in function(one, other)] == expected
    with pytest.raises(TreeError, match="needs numbers"):
        bool(nl.allclose(x, y))


def test_choose_of_a_tree_refuses_numbers_out_of_bounds_in_each_call() -> None:
    which = nl.symbol("which", (3,), "int64")
    function = nl.function([which], nl.choose(which, [10.0, nl.arange(3.0)]))
    assert function([0, 1, 1]).tolist() == [10.0, 1.0, 2.0]
    for wrong in ([0, 2, 1], [-1, 0, 0]):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            function(wrong).get()
    assert function([1, 1, 0]).tolist() == [0.0, 1.0, 10.0]


def test_linspace_between_values_of_trees() -> None:
    x = nl.symbol("x", (2,), "float64")
    function = nl.function([x], [nl.linspace(x, 2.0, 5), nl.logspace(x, 2.0, 3), nl.linspace(x, x, 3)])
    for value in (np.array([0.5, 1.0]), np.array([2.0, 1.0]), np.array([1.1, 5e-324])):
        for found, expected in zip(
            function(value),
            [np.linspace(value, 2.0, 5), np.logspace(value, 2.0, 3), np.linspace(value, value, 3)],
            strict=True,
        ):
            np.testing.assert_allclose(found.get(), expected, rtol=1e-14)


@pytest.mark.parametrize("call", [nl.trim_zeros, nl.roots, lambda x: nl.polymul(x, x), lambda x: nl.polydiv(x, x)])
def test_sizes_that_follow_from_values_say_so(call: Any) -> None:
    with pytest.raises(TreeError, match=r"the size of what .* gives follows from values"):
        call(nl.symbol("x", (3,), "float64"))
