"""Compiled functions, shared variables, `compile` and loops; NumPy is the oracle."""

from __future__ import annotations

import functools
import gc
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled import matrix, vector
from numloom.compiled.control import UNROLLED
from numloom.engine.state import counters


def test_updates_are_of_old_values() -> None:
    a, b = nl.shared(np.ones(3), "a"), nl.shared(np.zeros(3), "b")
    swap = nl.function([], a + b, updates=[(a, b), (b, a)])
    assert swap().tolist() == [1, 1, 1]
    assert a.get_value().tolist() == [0, 0, 0] and b.get_value().tolist() == [1, 1, 1]
    swap()
    assert a.get_value().tolist() == [1, 1, 1]


def test_nothing_is_half_updated() -> None:
    a, b = nl.shared(np.ones(3), "a"), nl.shared(np.eye(2), "b")
    x = nl.symbol("x", (2, 2))
    function = nl.function([x], None, updates=[(a, a + 1), (b, nl.linalg.inv(x))])
    function(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        function(np.zeros((2, 2)))
    assert a.get_value().tolist() == [2, 2, 2] and b.get_value().tolist() == [[1, 0], [0, 1]]


def test_values_of_shared_variables_are_their_own() -> None:
    host = np.zeros(3)
    given = nl.asarray(host)
    w = nl.shared(given, "w")
    given += 1
    assert w.get_value().tolist() == [0, 0, 0]
    taken = w.get_value(host=False)
    taken += 5
    assert w.get_value().tolist() == [0, 0, 0]
    w.set_value([1, 2, 3])
    assert (w * 2).get().tolist() == [2, 4, 6]
    out = nl.function([], w, updates=[(w, w * 10)])
    first = out()
    first += 100
    assert w.get_value().tolist() == [10, 20, 30] and first.tolist() == [101, 102, 103]
    with pytest.raises(ValueError, match="w has shape"):
        w.set_value([1.0])
    with pytest.raises(TypeError, match="only shared"):
        nl.zeros(3).get_value()
    with pytest.raises(ValueError, match="read-only"):
        w += 1


def test_bad_updates() -> None:
    w = nl.shared(np.zeros(3), "w")
    for pairs, words in [
        ([(w, nl.zeros(2))], "shape"),
        ([(w, w * 1j)], "dtype"),
        ([(w, w), (w, w)], "updated twice"),
        ([w], "pairs"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words):
            nl.function([], None, updates=pairs)


def test_what_is_lent() -> None:
    x, w, v = nl.symbol("x", (300,)), nl.shared(np.zeros(300), "w"), nl.shared(np.ones(300), "v")
    function = nl.function([x], [nl.Out(x, borrow=True), x, w, x + 1], updates=[(v, w), (w, v + x)])
    given = nl.asarray(np.arange(300.0))
    models = [np.zeros(300), np.ones(300)]
    for _ in range(20):
        before = [given.storage.value, w.get_value(host=False, borrow=True).storage.value]
        lent, own, shared, _ = function(given)
        # Only the copy is other memory: values of shared variables are handed on.
        assert lent.storage.value is before[0] and own.storage.value is not before[0]
        assert shared.storage.value is before[1]
        assert v.get_value(host=False, borrow=True).storage.value is before[1]
        shared[:2] = -7.0
        lent += 1
        models = [models[1] + np.arange(300.0), models[0]]
        np.testing.assert_array_equal(w.get_value(), models[0])
        np.testing.assert_array_equal(v.get_value(), models[1])
        np.testing.assert_array_equal(given.get(), np.arange(300.0))


@pytest.mark.parametrize("borrow", [False, True])
def test_outputs_that_are_arrays_stay_what_they_were(borrow: bool) -> None:
    constant = nl.arange(6.0)
    w = nl.shared(np.zeros(6), "w")
    function = nl.function([], [nl.Out(constant, borrow=borrow), constant[1:]], updates=[(w, constant)])
    compiled = nl.compile(lambda x: constant)
    compiled(nl.ones(2))
    for number in range(3):
        constant[:2] = 5 + number
        for one in (*function(), compiled(nl.ones(2))):
            assert one.tolist() == list(range(6))[-one.size :]
            one[:2] = -1
        assert w.get_value().tolist() == list(range(6))
        assert constant.tolist() == [5 + number, 5 + number, 2, 3, 4, 5]


def test_arrays_are_let_go_with_their_function() -> None:
    constant = nl.asarray(np.arange(6.0))
    function = nl.function([], [nl.Out(constant, borrow=True), constant])
    value = constant.storage.value
    assert value.readers
    function()
    del function
    gc.collect()
    assert value.readers == 0


def test_givens_for_views() -> None:
    x, z = nl.symbol("x", (3,)), nl.symbol("z", (3,))
    y = (x * 2)[::-1]
    for found in (
        nl.function([x, z], [y + 1, y * 2, nl.sort(y)], givens=[(y, z)])([1, 2, 3], [30, 10, 20]),
        nl.function([z], nl.substitute([y + 1, y * 2, nl.sort(y)], (y, z)))([30, 10, 20]),
    ):
        assert [one.tolist() for one in found] == [[31, 11, 21], [60, 20, 40], [10, 20, 30]]


def test_givens_for_what_is_not_there() -> None:
    x, y, z = nl.symbol("x", (3,)), nl.symbol("y", (3,)), nl.symbol("z", (3,))
    assert nl.function([x, z], x + 1, givens=[(y, z)])([1, 2, 3], [0, 0, 0]).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="does not depend on what is to be replaced"):
        nl.function([x, z], x + 1, givens=[(x * 2, z)])
    with pytest.raises(ValueError, match="a view of a view is a part of its own"):
        nl.function([x, z], (x * 2)[1:][1:], givens=[((x * 2)[1:], z[1:])])


def test_givens() -> None:
    x, y, z = (nl.symbol(name, (3,)) for name in "xyz")
    function = nl.function([z], x * y, givens=[(x, y + 1), (y, z * 2)])
    assert function([1, 2, 3]).tolist() == [6, 20, 42]
    with pytest.raises(ValueError, match="circular"):
        nl.function([z], x * y, givens=[(x, y), (y, x)])


def test_inputs_and_outputs() -> None:
    x, y = nl.symbol("x", (2,), np.float32), nl.symbol("y", (2,), np.float32)
    function = nl.function(
        [nl.In(x, allow_downcast=True), nl.In(y, value=[1, 1], name="other")],
        {"sum": x + y, "host": nl.Out(x * 2, host=True)},
    )
    found = function(np.asarray([1.5, 2.5]))
    assert type(found["host"]) is np.ndarray and found["host"].tolist() == [3, 5]
    assert found["sum"].tolist() == [2.5, 3.5] and function([1, 2], other=[2, 2])["sum"].tolist() == [3, 4]
    given = nl.asarray(np.asarray([1, 2], np.float32))
    same = nl.function([x], x)(given)
    same += 1
    assert given.tolist() == [1, 2]
    for array in (nl.asarray(np.ones((2, 2), np.float32))[0], nl.ones(4, np.float32)[::2], nl.ones(2, np.float32) * 1):
        assert nl.function([x], x * 3)(array).tolist() == [3, 3]


def test_unknown_extents() -> None:
    a, b = matrix("a"), vector("b")
    total = (np.dot(a, b) * 2).sum() + a[0, 0] - np.exp(b).max()
    w = nl.shared(0.0, "w")
    function = nl.function([a, b], [total, -a.T], updates=[(w, w + total)])
    rng = np.random.default_rng(0)
    kept = 0.0
    for n, m in ((2, 3), (5, 1), (2, 3), (4, 7)):
        p, q = rng.random((n, m)), rng.random(m)
        wanted = (p @ q * 2).sum() + p[0, 0] - np.exp(q).max()
        kept += wanted
        found, turned = function(p, q)
        np.testing.assert_allclose(float(found), wanted, rtol=1e-12)
        np.testing.assert_array_equal(turned.get(), -p.T)
        np.testing.assert_allclose(w.get_value(), kept, rtol=1e-12)
    with pytest.raises(ValueError, match="a must have 2 axes, not 1"):
        function(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="not known yet"):
        bool(a > 0)


def test_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    n, features = 40, 20
    data, labels = rng.standard_normal((n, features)), rng.integers(0, 2, n).astype(float)
    x, y = nl.symbol("x", (n, features)), nl.symbol("y", (n,))
    start = rng.standard_normal(features)
    w, b = nl.shared(start, "w"), nl.shared(0.0, "b")
    p = 1 / (1 + nl.exp(-nl.dot(x, w) - b))
    xent = -y * nl.log(p) - (1 - y) * nl.log(1 - p)
    delta = (p - y) / n
    updates = [(w, w - 0.1 * (nl.dot(x.T, delta) + 0.02 * w)), (b, b - 0.1 * delta.sum())]
    train = nl.function([x, y], [p > 0.5, xent], updates=updates, name="train")
    own, bias = start.copy(), 0.0
    for _ in range(200):
        q = 1 / (1 + np.exp(-data @ own - bias))
        error = -labels * np.log(q) - (1 - labels) * np.log(1 - q)
        prediction, cost = train(data, labels)
        np.testing.assert_allclose(cost.get(), error, rtol=1e-7, atol=1e-10)
        np.testing.assert_array_equal(prediction.get(), q > 0.5)
        d = (q - labels) / n
        own, bias = own - 0.1 * (data.T @ d + 0.02 * own), bias - 0.1 * d.sum()
    np.testing.assert_allclose(w.get_value(), own, rtol=1e-7)
    np.testing.assert_allclose(b.get_value(), bias, rtol=1e-7)


def test_a_call_runs_few_kernels() -> None:
    x, y = nl.symbol("x", (5000,)), nl.symbol("y", (5000,))
    function = nl.function([x, y], nl.sqrt(x * x + y * y) * 0.5 - x)
    a, b = nl.ones(5000) * 3, nl.ones(5000) * 4
    nl.evaluate(a, b)
    for _ in range(5):
        function(a, b)
    before = counters.kernels, counters.flushes
    function(a, b)
    assert (counters.kernels - before[0], counters.flushes - before[1]) == (1, 1)


def test_compile() -> None:
    @nl.compile
    def step(p: Any, k: Any = 2, flip: bool = False) -> Any:
        q = p["w"] * k
        return {"w": -q if flip else q, "s": (q.sum(), None)}

    host = np.random.default_rng(0).random((3, 4))
    for k, flip in ((2, False), (2, True), (2.0, False), (1, False), (True, False), (2, True)):
        found = step({"w": host}, k, flip=flip)
        np.testing.assert_array_equal(found["w"].get(), (-1 if flip else 1) * host * k)
        assert found["s"][1] is None
    assert len(step.known.entries) == 5

    @nl.compile(host=True)
    def twice(x: Any) -> Any:
        return x + x

    for dtype in ("f4", "i8", "?", "c16"):
        for shape in ((), (0,), (3,), (2, 3)):
            x = np.ones(shape, dtype)
            for _ in range(3):
                found = twice(x)
                assert found.dtype == (x + x).dtype
                np.testing.assert_array_equal(found, x + x)


def test_random_streams_go_on_as_in_plain_code() -> None:
    mine, plain = nl.random.default_rng(3), nl.random.default_rng(3)

    @nl.compile
    def noise(x: Any) -> Any:
        mine.random(7)
        return x + mine.normal(size=3), mine.integers(0, 9, 4)

    for _ in range(4):
        first, second = noise(np.zeros(3))
        plain.random(7)
        np.testing.assert_array_equal(first.get(), plain.normal(size=3).get())
        np.testing.assert_array_equal(second.get(), plain.integers(0, 9, 4).get())


@pytest.mark.parametrize("steps", [0, 3, UNROLLED + 20])
def test_loops_by_number(steps: int) -> None:
    x, w = nl.symbol("x", (4,)), nl.symbol("w", (4,))
    twice = w * 2
    tree = nl.fori_loop(0, steps, lambda i, s: (s[0] * 0.5 + twice + i, s[1] + 1), (x, nl.asarray(0)))
    a, b = np.arange(4.0), np.ones(4)
    wanted = a
    for i in range(steps):
        wanted = wanted * 0.5 + b * 2 + i
    function = nl.function([x, w], tree)
    for _ in range(3):
        found = function(a, b)
        np.testing.assert_array_equal(found[0].get(), wanted)
        assert int(found[1]) == steps
    np.testing.assert_array_equal(
        nl.substitute(tree[0], [(x, nl.asarray(a)), (w, nl.asarray(b))] if steps else (x, nl.asarray(a))).asnumpy(),
        wanted,
    )


@pytest.mark.parametrize("steps", [1, 5, UNROLLED + 9])
def test_scans(steps: int) -> None:
    state, over = nl.symbol("state", (3,)), nl.symbol("over", (steps, 3))
    tree = nl.scan(lambda s, x: (s * 0.9 + x, {"sum": s.sum(), "twice": s * 2}), state, over)
    host = np.random.default_rng(0).random((steps, 3))
    s, sums, twices = np.zeros(3), [], []
    for row in host:
        sums.append(s.sum())
        twices.append(s * 2)
        s = s * 0.9 + row
    last, kept = nl.function([state, over], tree)(np.zeros(3), host)
    np.testing.assert_allclose(last.get(), s, rtol=1e-14)
    np.testing.assert_allclose(kept["sum"].get(), sums, rtol=1e-14)
    np.testing.assert_allclose(kept["twice"].get(), twices, rtol=1e-14)


def test_while_loops_and_decisions() -> None:
    x = nl.symbol("x")
    tree = nl.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, nl.asarray(0)))
    function = nl.function([x], [*tree, nl.ifelse(x > 4, x * 2, -x)])
    for start, steps, chosen in ((3.0, 6, -3.0), (200.0, 0, 400.0)):
        last, count, either = function(start)
        assert (float(last), int(count), float(either)) == (start * 2**steps, steps, chosen)
    assert float(nl.substitute(tree[0], (x, nl.asarray(3.0))).asnumpy()) == 192

    @nl.compile
    def draws(y: Any) -> Any:
        return nl.while_loop(lambda s: s[0] < 9, lambda s: s + nl.random.normal(size=3) ** 2, y)

    with pytest.raises(TypeError, match="random numbers drawn in the body"):
        draws(np.zeros(3))


def test_writes_in_a_tree() -> None:
    x, w = nl.symbol("x", (4,)), nl.symbol("w", (4,))
    y = x.copy()
    y[1:3] = 7
    y[0] += w[1]
    z = y * 2
    y[[0, 3]] = 9
    function = nl.function([x, w], [y, z, y + z])
    a = nl.arange(4.0)
    for _ in range(3):
        found = [one.tolist() for one in function(a, a + 1)]
        assert found == [[9, 7, 7, 9], [4, 14, 14, 6], [13, 21, 21, 15]]
        assert a.tolist() == [0, 1, 2, 3]


def test_functions_leave_memory_where_it_was() -> None:
    from numloom.device.registry import current

    def make() -> None:
        x = nl.symbol("x", (100,))
        w = nl.shared(np.zeros(100), "w")
        assert nl.function([x], (x * w).sum(), updates=[(w, w + x)])(np.ones(100)).shape == ()

    for _ in range(20):
        make()
    gc.collect()
    before = len(gc.get_objects()), current().pool.used
    for _ in range(200):
        make()
    gc.collect()
    assert len(gc.get_objects()) - before[0] < 200
    assert current().pool.used - before[1] < 100_000


def test_profile_and_explain() -> None:
    x = nl.symbol("x", (100,))
    function = nl.function([x], x * 2 + 1, profile=True, name="line")
    function(np.ones(100))
    assert function.profile.calls == 1 and "in 1 call" in str(function.profile)
    assert "device:" in function.explain(np.ones(100)) and "operations" in function.explain(np.ones(100))
    w = nl.shared(np.ones(100), "w")
    step = nl.function([x], [x + w, (x * w).sum()], updates=[(w, w * 2)])
    text = step.explain(np.ones(100))
    assert text.count("kernel over") == 1 and "output 0" in text and "output 1" in text and "the new w" in text
    assert "void" in step.explain(np.ones(100), source=True) and w.get_value()[0] == 1


def test_functions_within_trees() -> None:
    x, w = nl.symbol("x", (3,)), nl.shared(np.ones(3), "w")
    double = nl.function([x], (x + w) * 2)
    host = np.arange(3.0)
    with nl.symbolic():
        y = double(nl.asarray(host)) + 1
    assert nl.tree(y)[-1].name == "add" and y.get().tolist() == ((host + 1) * 2 + 1).tolist()
    assert nl.function([x], double(x) - x)(host).tolist() == ((host + 1) * 2 - host).tolist()
    assert nl.compile(lambda z: double(z) * 3)(host).tolist() == ((host + 1) * 6).tolist()
    counting = nl.function([x], x, updates=[(w, w + 1)])
    with pytest.raises(TypeError, match="cannot be called within a tree"):
        counting(x * 2)


@pytest.mark.parametrize("traced", [False, True], ids=["plain", "tree"])
def test_scan_over_nothing_gives_empty_results(traced: bool) -> None:
    rng = nl.random.default_rng(0)

    def body(s: Any, x: Any) -> Any:
        return s + x["a"].sum(), {"rows": x["a"] * 2, "both": (x["b"] > 0, s * 1j), "drawn": rng.normal(size=2)}

    def run(s: Any, a: Any, b: Any) -> Any:
        return nl.scan(body, s, {"a": a, "b": b})

    given = nl.asarray(1.5), nl.zeros((0, 3)), nl.zeros(0, "int32")
    last, found = (nl.compile(run) if traced else run)(*given)
    assert float(last) == 1.5
    assert found["rows"].shape == (0, 3) and found["rows"].dtype == np.float64
    assert found["both"][0].shape == (0,) and found["both"][0].dtype == bool
    assert found["both"][1].dtype == np.complex128
    assert found["drawn"].shape == (0, 2)
    assert rng.normal() == nl.random.default_rng(0).normal()  # No step was taken, so nothing was drawn.
    assert nl.scan(lambda s, x: (s, None), nl.asarray(0.0), length=0)[1] is None
    last, found = nl.scan(lambda s, x: (s + 1, s), nl.asarray(0.0), length=0)
    assert float(last) == 0.0 and found.shape == (0,)
    x = nl.symbol("x", (0,))
    total = nl.function([x], nl.scan(lambda s, e: (s + e, s * e), nl.asarray(0.0), x))
    assert total(np.zeros(0))[1].shape == (0,)


def test_scan_over_nothing_whose_body_looks_at_numbers() -> None:
    with pytest.raises(ValueError, match="over one element or more"):
        nl.scan(lambda s, x: (s, s if x > 0 else -s), nl.asarray(0.0), nl.zeros(0))


@pytest.mark.parametrize("looked", [False, True])
def test_givens_of_what_others_were_computed_from_outside_of_the_tree(looked: bool) -> None:
    """They would keep the old value, as ordinary arrays know not what they were computed from."""
    constant, s = nl.arange(3.0) * 1, nl.symbol("s", (3,))
    old = -constant
    other = -old
    if looked:
        other.get()
    for output in (other, s + other, [s + old, other * s]):
        with pytest.raises(ValueError, match=r"ordinary array.*symbolic|does not depend"):
            nl.function([s], output, givens=[(old, constant)])
        with pytest.raises(ValueError, match=r"ordinary array.*symbolic|does not depend"):
            nl.substitute(output, (old, constant))
    assert nl.function([s], s + old, givens=[(old, constant)])(nl.zeros(3)).tolist() == [0.0, 1.0, 2.0]
    with nl.symbolic():
        inside = -old
    assert nl.function([s], s + inside, givens=[(old, constant)])(nl.zeros(3)).tolist() == [0.0, -1.0, -2.0]


def test_compile_of_what_has_no_name() -> None:
    """A `partial`, and objects that can be called."""

    class Scaled:
        def __call__(self, x: Any) -> Any:
            return x * 3

    x = nl.asarray([1.0, 2.0])
    for given in (functools.partial(lambda a, x: x * a, 3.0), Scaled()):
        compiled = nl.compile(given)
        for _ in range(3):
            assert compiled(x).tolist() == [3.0, 6.0]
        assert type(given).__name__ in repr(compiled)
