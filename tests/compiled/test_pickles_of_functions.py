"""Compiled functions in pickles: the same answers, and a state of their own."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import matrix


def twin(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and all(map(same, one, other))
    return type(one) is type(other) and np.array_equal(nl.asnumpy(one), nl.asnumpy(other))


def counter() -> tuple[Any, Any, Any]:
    x, w = nl.symbol("x", (3,)), nl.shared(np.ones(3), "w")
    return nl.function([x], (x * w).sum(), updates=[(w, w + x)], name="step"), x, w


def test_a_twin_goes_on_by_itself() -> None:
    f, _, w = counter()
    f([1, 2, 3])
    g = twin(f)
    assert g.name == "step" and repr(g) == repr(f)
    answers = [f([1, 2, 3]).item() for _ in range(4)]
    assert w.get_value().tolist() == [6, 11, 16]
    assert [g([1, 2, 3]).item() for _ in range(4)] == answers
    assert f(x=[0, 0, 1]).item() == 16 and g(x=[0, 0, 1]).item() == 16
    g([5, 5, 5])
    assert w.get_value().tolist() == [6, 11, 17]


def test_variables_of_one_pickle_stay_one() -> None:
    f, _, w = counter()
    g, v = twin((f, w))
    g([1, 1, 1])
    assert v.get_value().tolist() == [2, 2, 2] and w.get_value().tolist() == [1, 1, 1]
    v.set_value(np.zeros(3))
    assert g([1, 1, 1]).item() == 0
    reads, writes = twin((nl.function([], w * 1), nl.function([], updates={w: w * 3})))
    writes()
    assert reads().get().tolist() == [3, 3, 3]


def test_deep_copies_are_apart_and_copies_are_not() -> None:
    f, _, w = counter()
    apart, together = copy.deepcopy(f), copy.copy(f)
    apart([1, 1, 1])
    assert w.get_value().tolist() == [1, 1, 1]
    together([1, 1, 1])
    assert w.get_value().tolist() == [2, 2, 2]


def test_forms_of_arguments_and_outputs() -> None:
    x, y = nl.symbol("x", (2,)), nl.symbol("y", (), "int32")
    inputs = [nl.In(x, strict=True), nl.In(y, value=3, name="times", allow_downcast=True)]
    outputs = {"a": [x * y, nl.Out(x + 1, host=True)], "b": (None, nl.Out(x, borrow=True))}
    f = nl.function(inputs, outputs, host=False)
    g = twin(f)
    given = nl.asarray([1.0, 2.0])
    assert same(g(given), f(given)) and same(g(given, times=7), f(given, times=7))
    assert type(g(given)["a"][1]) is np.ndarray
    with pytest.raises(TypeError, match="strict"):
        g([1.0, 2.0])
    with pytest.raises(TypeError, match="misses a value for x"):
        g()


def test_unknown_extents_givens_and_profiles() -> None:
    x, w = matrix("x"), nl.shared(np.arange(3.0), "w")
    f = nl.function([x], [np.dot(x, w), x.sum(0)], updates={w: w + x.sum(0)}, profile=True)
    g = twin(f)
    for rows in (2, 5):
        given = np.random.default_rng(rows).normal(size=(rows, 3))
        assert same(f(given), g(given))
    assert g.profile is not None and g.profile is not f.profile
    data, i = nl.shared(np.random.default_rng(0).normal(size=(40, 3)), "data"), nl.symbol("i", (), "int64")
    f = nl.function([i], (x * w).sum(), givens={x: data[i * 10 : (i + 1) * 10]})
    g = twin(f)
    assert all(same(f(k), g(k)) for k in range(4))
    with pytest.raises(IndexError, match="reaches over the ends"):
        g(4).get()


def test_streams_of_random_numbers_go_on() -> None:
    rng, w = nl.random.default_rng(3), nl.shared(np.zeros(4), "w")
    with nl.symbolic():
        noise = rng.normal(size=4)
        other = rng.random(4)
    f = nl.function([], [noise, w + other], updates=[(w, w + noise)])
    f()
    g = twin(f)
    first, second = [f(), f()], [g(), g()]
    assert same(first, second) and not same(first[0], first[1])
    plain = nl.random.default_rng(3)
    for _ in range(2):  # Of the recording, and of the first call.
        plain.normal(size=4), plain.random(4)
    assert same(first[0][0], plain.normal(size=4))


@pytest.mark.parametrize("steps", [5, 50])
def test_loops(steps: int) -> None:
    x, w = nl.symbol("x", (3,)), nl.shared(np.eye(3) * 0.9, "w")
    last, rows = nl.scan(lambda s, e: (nl.tanh(nl.dot(w, s)) + e, s * 2), x, nl.asarray(np.linspace(0, 1, steps)))
    cost = (last**2).sum() + rows.sum()
    f = nl.function([x], [last, rows, nl.grad(cost, w)], updates=[(w, w - 0.1 * nl.grad(cost, w))])
    g = twin(f)
    for _ in range(3):
        for one, other in zip(f([1, 2, 3]), g([1, 2, 3]), strict=True):
            assert np.allclose(one.get(), other.get(), rtol=1e-13, atol=1e-13)
    x0 = nl.symbol("x0")
    root = nl.function([x0], nl.while_loop(lambda s: s < 100, lambda s: s * 2, x0))
    assert twin(root)(3.0) == root(3.0) == 192


def sums(x: Any) -> Any:
    return {"sum": x.sum(), "rows": x * 2}


@nl.compile
def decorated(x: Any) -> Any:
    return nl.sqrt(x) + 1


def test_python_functions() -> None:
    f = nl.function([nl.symbol("x", (4,))], sums)
    assert same(twin(f)(np.arange(4.0)), f(np.arange(4.0)))
    decorated(nl.ones(3))
    assert twin(decorated) is decorated
    shifted = nl.compile(functools.partial(np.add, 3))
    shifted(nl.ones(2))
    assert same(twin(shifted)(nl.ones(2)), shifted(nl.ones(2)))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(nl.compile(lambda x: x))


def test_trees_keep_their_streams_and_variables() -> None:
    w = nl.shared(np.ones(2), "w")
    tree, v = twin((w * 3, w))
    assert str(tree) == "[3. 3.]"
    v.set_value([2.0, 4.0])
    assert str(tree) == "[ 6. 12.]" and w.get_value().tolist() == [1, 1]


def test_another_process_has_them(tmp_path: Path) -> None:
    f, _, _ = counter()
    f([1, 2, 3])
    (tmp_path / "f.pickle").write_bytes(pickle.dumps(f))
    code = (
        "import pickle, sys\nf = pickle.load(open(sys.argv[1], 'rb'))\nprint([f([1, 2, 3]).item() for _ in range(2)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "f.pickle")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str([f([1, 2, 3]).item() for _ in range(2)])
