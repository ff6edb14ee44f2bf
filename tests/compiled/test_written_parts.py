"""Values of which a part is written later, and which others read: before, after, and where routines run in between."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import Out
from numloom.device import registry

HOST = np.arange(12.0).reshape(4, 3)


def running_sum(np: Any, a: Any) -> Any:
    b = a * 2
    b[0] = 1
    t = b + 1
    b[:, 0] = 4
    return np.cumsum(b) * t.sum()


def sorted_rows(np: Any, a: Any) -> Any:
    t = a.copy()
    t[:, 1] = 2
    return np.sort(t, axis=1) * (t + a)


def two_writes(np: Any, a: Any) -> Any:
    b = a + 0.5
    c = b.copy()
    b[1:] = 7
    s = np.sort(b, axis=0)
    b[:, 2] = s[:, 0]
    return np.cumsum(b, axis=0) + c * s


def factored(np: Any, a: Any) -> Any:
    """The second result of one routine, which is asked for twice, written in between."""
    m = a[:3] + 9 * np.eye(3)
    s = np.linalg.svd(m)[1]
    s[0] = 0
    run = np.cumsum(s)
    return run.sum() + np.linalg.svd(m)[1] + s


def scattered(np: Any, a: Any) -> Any:
    b = a * 3
    np.add.at(b, ([0, 0, 2], [1, 1, 0]), 5)
    t = b * 1
    np.add.at(b, ([3], [2]), 1)
    return np.sort(t + b, axis=1)


def scattered_between(np: Any, a: Any) -> Any:
    """What is read of a value before it is written is needed again after a routine that changes its memory."""
    s = np.sort(a, axis=0)
    before = s[0, 0] * 1
    s[1, 2] = s[0, 0] * s[2, 1]
    np.add.at(s, [0, 0, 2], a[:3] * 2)
    return np.cumsum(s * before) + s.ravel() * before


PROGRAMS = [scattered_between, running_sum, sorted_rows, two_writes, factored, scattered]
MODES: dict[str, dict[str, Any]] = {
    "as ever": {}, "eager": {"eager": True}, "recorded": {"unplanned": 0, "cpu_compile": "never"},
    "short": {"max_pending": 2}, "verified": {"verify": True},
}  # fmt: skip


def by_tree(f: Any, x: Any) -> Any:
    with nl.symbolic():
        return f(nl, x)


def by_update(f: Any, x: Any) -> Any:
    w = nl.shared(np.zeros(np.shape(f(np, HOST))), "w")
    s = nl.symbol("x", x.shape)
    nl.function([s], updates=[(w, f(nl, s))])(x)
    return w.get_value()


def by_step(f: Any, x: Any) -> Any:
    zero = nl.zeros(np.shape(f(np, HOST)))
    return nl.compile(lambda x: nl.fori_loop(0, 40, lambda i, s: s * 0 + f(nl, x), zero))(x)


def on_device(tree: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tree.ascuda()


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "compile": lambda f, x: nl.compile(lambda x: f(nl, x))(x),
    "function": lambda f, x: nl.function([s := nl.symbol("s", x.shape)], f(nl, s))(x),
    "unknown extents": lambda f, x: nl.function([nl.symbol("s", (None, None))], lambda s: f(nl, s))(x),
    "get": lambda f, x: by_tree(f, x),
    "ascuda": lambda f, x: on_device(by_tree(f, x)),
    "asnumpy": lambda f, x: by_tree(f, x).asnumpy(),
    "substitute": lambda f, x: nl.substitute(f(nl, s := nl.symbol("s", x.shape)), (s, x)),
    "update": by_update,
    "loop": by_step,
    "value_and_grad": lambda f, x: nl.value_and_grad(lambda x: f(nl, x).sum())(x)[0],
    "jvp": lambda f, x: nl.jvp(lambda x: f(nl, x), (x,), (x,))[0],
    "vjp": lambda f, x: nl.vjp(lambda x: f(nl, x), x)[0],
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_who_reads_a_value_is_known_before_a_routine_runs(program: Any, way: str, mode: str) -> None:
    """Issue 37, A1: with every way of running a tree, in every mode."""
    with nl.config(**MODES[mode]):
        for turn in range(3):
            host = (HOST + turn) % 7
            want = program(np, host)
            if way == "value_and_grad":
                want = want.sum()
            found = WAYS[way](program, nl.asarray(host))
            np.testing.assert_allclose(found if isinstance(found, np.ndarray) else found.get(), want, rtol=1e-12)


def parts(x: Any) -> list[Any]:
    y = x * 2
    t = y.copy()
    t[1:] = 3
    u = t.copy()
    u[:1] = 5
    return [u, t, y]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [3, 1000])
def test_outputs_of_which_one_is_another_one_written(size: int, mode: str) -> None:
    """All outputs are known to be needed before the first of them runs, also where all runs at once."""
    host = np.arange(float(size))
    want = parts(host)
    with nl.config(**MODES[mode]):
        x = nl.symbol("x", (size,))
        w = nl.shared(host, "w")
        functions = [
            nl.function([x], parts(x)), nl.compile(parts),
            nl.function([x], [Out(one, borrow=True) for one in parts(x)]),
            nl.function([x], parts(x), updates=[(w, parts(x)[2])]),
        ]  # fmt: skip
        for turn in range(5):
            for given in (nl.asarray(host), nl.asarray(host[::-1].copy())[::-1], nl.asarray(np.repeat(host, 2))[::2]):
                for function in functions:
                    for one, expected in zip(function(given), want, strict=True):
                        np.testing.assert_array_equal(one.get(), expected, err_msg=f"turn {turn}")
            np.testing.assert_array_equal(w.get_value(), want[2])


EXPORTS: dict[str, Callable[[Any], Any]] = {"asarray": np.asarray, "dlpack": np.from_dlpack}


@pytest.mark.skipif(registry.current().discrete, reason="NumPy sees no memory of a GPU")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("way", EXPORTS)
def test_memory_that_numpy_sees_and_a_function_or_a_tree_reads(way: str, before: bool, mode: str) -> None:
    """A function has the arrays of its first call, and a tree those of its moment, whoever writes there later."""
    with nl.config(**MODES[mode]):
        for shape in ((6,), (40, 50), ()):
            host = np.arange(float(np.prod(shape))).reshape(shape)
            c = nl.asarray(host.copy()).copy()
            seen = EXPORTS[way](c) if before else None
            x = nl.symbol("x", shape)
            known = nl.function([x], [c, c + x, x])
            whole = nl.compile(lambda x, c=c: c + x)
            with nl.symbolic():
                tree = c + 0
                part = c[..., None] * 2
            zero = nl.zeros(shape)
            whole(zero)
            if not before:
                seen = EXPORTS[way](c)
            c[...] = 5
            if seen.flags.writeable:
                seen[...] = 7
            for _ in range(2):
                found = [*known(zero), whole(zero), tree, part]
                for one, want in zip(found, [host, host, host * 0, host, host, host[..., None] * 2], strict=True):
                    np.testing.assert_array_equal(one.get(), want)
            np.testing.assert_array_equal(c.get(), seen)
            np.testing.assert_array_equal(known(c)[2].get(), seen)


def differences(f: Any, x: Any) -> Any:
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-5
        found[at] = (f(np, x + step).sum() - f(np, x - step).sum()) / 2e-5
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_where_parts_are_written_and_routines_run(program: Any, mode: str) -> None:
    """A gradient reads what was there before a write and before a routine."""
    host = np.random.default_rng(3).uniform(-1.5, 1.5, (4, 3))
    want = differences(program, host)
    with nl.config(**MODES[mode]):
        for found in (
            nl.grad(lambda x: program(nl, x).sum())(nl.asarray(host)),
            nl.compile(nl.grad(lambda x: program(nl, x).sum()))(nl.asarray(host)),
            nl.vjp(lambda x: program(nl, x), nl.asarray(host))[1](np.ones(np.shape(program(np, host))))[0],
        ):
            np.testing.assert_allclose(found.get(), want, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [6, 2000])
def test_pending_arrays_that_a_function_reads(size: int, mode: str) -> None:
    """They are computed once: what they were computed from may be written later."""
    with nl.config(**MODES[mode]):
        host = np.arange(float(size))
        c = nl.asarray(host).copy()
        x = nl.symbol("x", (size,))
        function = nl.function([x], x + c * 2)
        zero = nl.zeros(size)
        for turn in range(6):
            c[:1] = 5 + turn
            np.testing.assert_array_equal(function(zero).get(), host * 2)
            c += 1


def test_a_loop_over_rows_without_elements() -> None:
    rows = nl.zeros((36, 0, 3))
    last, all_of = nl.scan(lambda s, x: (s + x.sum(), x * 2), nl.asarray(0.0), rows)
    assert float(last) == 0 and all_of.shape == (36, 0, 3)


def test_writes_at_indices_to_trees_while_calls_are_verified() -> None:
    def f(np: Any, a: Any) -> Any:
        b = a * 1
        b[[0, 2]] = a[[1, 0]]
        b[b[:, 0] > 1] = 5
        return b

    with nl.config(verify=True):
        for turn in range(5):
            host = (HOST + turn) % 5
            x = nl.symbol("x", (4, 3))
            np.testing.assert_array_equal(nl.substitute(f(nl, x), (x, host)).get(), f(np, host))


def test_verify_finds_a_write_that_others_do_not_know_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 37, A3: a fault of the kind of A1, made by taking its mend out."""
    from numloom.compiled import program
    from numloom.engine.verify import VerificationError

    monkeypatch.setattr(program, "_is_needed", lambda old, roots: False)
    x = nl.symbol("x", (4, 3))
    wrong = nl.function([x], running_sum(nl, x))
    host = nl.asarray(HOST)
    assert not np.allclose(wrong(host).get(), running_sum(np, HOST))
    with nl.config(verify=True), pytest.raises(VerificationError):
        wrong(host)
