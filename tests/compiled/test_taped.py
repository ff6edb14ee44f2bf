"""Calls of functions whose plan is known: the short way from memory to launches, and when it is not taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from joined import Joined, joining
from numloom.base.errors import OutOfMemoryError
from numloom.compiled.calls import TAPED
from numloom.device.registry import current
from numloom.engine import verify
from numloom.engine.state import counters


@pytest.fixture(autouse=True)
def planned() -> Any:
    with nl.config(unplanned=0, cpu_compile="wait", cuda_compile="wait", placement="device"):
        yield


def is_taped(function: Any) -> bool:
    return function.ready.state.taped is not None


def call_until_taped(function: Any, *args: Any) -> Any:
    for _ in range(4 * TAPED):
        result = function(*args)
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function)
    return result


def norm(shape: tuple[int, ...], dtype: str = "f8") -> Any:
    """A function of several kernels, with numbers, views, a temporary value and two results."""
    x, y = nl.symbol("x", shape, dtype), nl.symbol("y", shape, dtype)
    z = nl.exp(-x) * 0.5 + y
    rows = z.sum(1)
    return nl.function([x, y], [z - rows[:, None] / 3, (z * z).sum(0)[::2] + 1])


def by_numpy_of(xp: Any) -> Any:
    """`norm` as a function of one library."""

    def of(x: Any, y: Any) -> list[Any]:
        z = xp.exp(-x) * 0.5 + y
        return [z - z.sum(1)[:, None] / 3, (z * z).sum(0)[::2] + 1]

    return of


by_numpy = by_numpy_of(np)


@pytest.mark.parametrize("shape", [(6, 5), (300, 400), (1, 1), (0, 4)])
def test_other_numbers_in_each_call(shape: tuple[int, ...]) -> None:
    function = norm(shape)
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(6 * TAPED):
        x, y = rng.standard_normal(shape), rng.standard_normal(shape)
        kept.append((function(nl.asarray(x), nl.asarray(y)), by_numpy(x, y)))
    for found, expected in kept:  # Each call's results are its own.
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-12, atol=1e-12)


def test_the_bits_of_the_long_way() -> None:
    function = norm((30, 20), "f4")
    x, y = (nl.asarray(np.random.default_rng(k).standard_normal((30, 20)).astype("f4")) for k in range(2))
    first = [one.get() for one in function(x, y)]
    again = call_until_taped(function, x, y)
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.get().tobytes()


def test_verification_runs_both(monkeypatch: pytest.MonkeyPatch) -> None:
    function = norm((30, 20))
    x, y = (nl.asarray(np.random.default_rng(k).standard_normal((30, 20))) for k in range(2))
    call_until_taped(function, x, y)
    compared = []
    same_bits = verify.same_bits
    monkeypatch.setattr(verify, "same_bits", lambda *args: (compared.append(args[-1]), same_bits(*args)))
    with nl.config(verify=True):
        function(x, y)
    assert compared.count("a call of a compiled function") == 2


def test_functions_of_one_plan_have_numbers_of_their_own() -> None:
    x = nl.symbol("x", (1000,))
    twice, thrice = nl.function([x], x * 2.0 + 1.0), nl.function([x], x * 3.0 + 5.0)
    v = nl.asarray(np.arange(1000.0))
    for _ in range(6 * TAPED):
        assert twice(v)[2] == 5 and thrice(v)[2] == 11
        assert (v * 7.0 + 0.5)[2] == 14.5
    assert is_taped(twice) and is_taped(thrice)


def test_updates_and_what_the_user_holds() -> None:
    w = nl.shared(np.zeros(1000), "w")
    x = nl.symbol("x", (1000,))
    step = nl.function([x], w.sum(), updates=[(w, w + x)])
    one = nl.asarray(np.ones(1000))
    held = []
    for number in range(6 * TAPED):
        assert float(step(one)) == 1000 * number
        held.append(w.get_value(borrow=True, host=False))
    assert is_taped(step)
    for number, value in enumerate(held):
        assert value.get()[5] == number + 1
    w.set_value(np.full(1000, 100.0))
    assert float(step(one)) == 100_000 and w.get_value()[0] == 101


def test_what_lies_otherwise_goes_the_long_way() -> None:
    function = norm((30, 20))
    x, y = np.random.default_rng(0).standard_normal((2, 30, 20))
    a, b = nl.asarray(x), nl.asarray(y)
    call_until_taped(function, a, b)
    wide = nl.asarray(np.random.default_rng(1).standard_normal((31, 40)))
    for one, other in [
        (a, a),  # The same memory twice.
        (wide[1:, ::2], b),  # A view.
        (nl.asarray(x.T.copy()).T, b),  # Another order.
        (a * 2, b + 1),  # What is pending.
        (nl.asarray(x) * 0, b),
        (nl.zeros((30, 20)), b),
    ]:
        expected = by_numpy(one.get(), other.get())
        for found, right in zip(function(one, other), expected, strict=True):
            np.testing.assert_allclose(found.get(), right, rtol=1e-12)
    pending = a * 3
    found = function(a, b)[0].get()
    np.testing.assert_allclose(found, by_numpy(x, y)[0], rtol=1e-12)
    assert pending[3, 4] == x[3, 4] * 3
    a += 1  # The array has another value now.
    np.testing.assert_allclose(function(a, b)[0].get(), by_numpy(x + 1, y)[0], rtol=1e-12)


ARGUMENTS: dict[str, Any] = {
    "pending": lambda xp, a, wide: a * 2 - 1,
    "pending, written to": lambda xp, a, wide: written(a * 2),
    "a row": lambda xp, a, wide: wide[7].reshape(30, 20),
    "a row that begins elsewhere": lambda xp, a, wide: wide[7, :600].reshape(30, 20),
    "a part": lambda xp, a, wide: wide.reshape(32, -1)[1:31, 1:21],
    "every other one": lambda xp, a, wide: wide[:60, :40].reshape(60, 40)[::2, 1::2],
    "backwards": lambda xp, a, wide: a[::-1, ::-1],
    "a part of what is pending": lambda xp, a, wide: (wide + 1)[:30, 3:23],
    "a copy": lambda xp, a, wide: a[:, ::-1].copy(),
}


def written(a: Any) -> Any:
    a[3:5] = 7
    return a


@pytest.mark.parametrize("by", ["function", "compile"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_lie_otherwise_are_brought_to_the_tape(name: str, by: str) -> None:
    """Views are copied and what is pending is computed: to replay the trace took several times the plain time."""
    function = norm((30, 20)) if by == "function" else nl.compile(by_numpy_of(nl))
    rng = np.random.default_rng(0)
    for _ in range(4 * TAPED):
        x, y = rng.standard_normal((2, 30, 20))
        function(nl.asarray(x), nl.asarray(y))
    state = function.ready.state
    for turn in range(3):
        x, y = rng.standard_normal((2, 30, 20))
        wide = rng.standard_normal((60, 600))
        before = state.calls
        a, w = nl.asarray(x), nl.asarray(wide)
        given, right = ARGUMENTS[name](nl, a, w), ARGUMENTS[name](np, x, wide)
        unread = w * turn  # Nothing of it is read, and it does not stand in the way.
        for found, expected in zip(function(given, nl.asarray(y)), by_numpy(right, y), strict=True):
            np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(given.get(), right)
        np.testing.assert_array_equal(unread.get(), wide * turn)
        if current().name != "reference" and nl.config.executor != "reference":
            assert function.ready.state is state and state.calls == before


def test_orders_of_arguments_are_those_of_the_plain_line() -> None:
    """Arrays of another order and broadcast ones have a record of their own, whose results lie as plain code's do."""
    plain = by_numpy_of(nl)
    function = nl.compile(plain)
    x, y = np.random.default_rng(0).standard_normal((2, 30, 20))
    orders = [
        lambda a: a, lambda a: nl.asfortranarray(a), lambda a: a[::-1], lambda a: nl.asfortranarray(a)[:, ::-1],
        lambda a: nl.broadcast_to(a[:1], a.shape), lambda a: nl.broadcast_to(a[:, :1], a.shape), lambda a: a * 2,
        lambda a: nl.asfortranarray(a) * 2, lambda a: nl.zeros(a.shape), lambda a: nl.zeros(a.shape, order="F"),
    ]  # fmt: skip
    for turn in range(3 * TAPED):
        for order in orders:
            one, other = order(nl.asarray(x + turn)), nl.asarray(y)
            for found, expected in zip(function(one, other), plain(one, other), strict=True):
                assert found.strides == expected.strides
                np.testing.assert_allclose(found.get(), expected.get(), rtol=1e-12, atol=1e-12)


FILLED: list[Any] = [
    lambda: nl.full((3, 4), 3.0), lambda: nl.full((5, 4), 3.0)[1:-1], lambda: nl.full((3, 4), 3.0, order="F"),
]  # fmt: skip


@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize("order", ["C", "F"])
def test_one_number_lies_as_it_was_asked_for(filled: Any, order: str) -> None:
    """An array of one number has an order, too: it was taken for one that lies as those of the calls before."""
    host = np.asarray(np.arange(12.0).reshape(3, 4), order=order)  # type: ignore[call-overload]
    plain = lambda a, b: (b + b, a + b, b * 1)  # noqa: E731
    with nl.config(unplanned=0):
        function = nl.compile(plain)
        for _ in range(3 * TAPED):
            function(nl.array(host, order="K"), nl.array(host, order="K"))
        a, b = nl.array(host, order="K"), filled()
        for found, expected in zip(function(a, b), plain(a, b), strict=True):
            assert found.strides == expected.strides
            np.testing.assert_array_equal(found.get(), expected.get())


def test_settings_are_heeded() -> None:
    function = norm((30, 20))
    x, y = np.random.default_rng(0).standard_normal((2, 30, 20))
    a, b = nl.asarray(x), nl.asarray(y)
    call_until_taped(function, a, b)
    for settings in ({"executor": "reference"}, {"verify": True}, {"fast_math": True}, {"eager": True}):
        with nl.config(**settings):
            np.testing.assert_allclose(function(a, b)[0].get(), by_numpy(x, y)[0], rtol=1e-6)
    before = counters.kernels
    function(a, b)
    assert counters.kernels > before


@pytest.mark.usefixtures("no_spare_parts")
def test_without_memory_nothing_is_updated() -> None:
    size = 1 << 16
    w = nl.shared(np.zeros(size), "w")
    x = nl.symbol("x", (size,))
    step = nl.function([x], [nl.exp(x + w), nl.sin(x + w)], updates=[(w, w + x)])
    one = nl.asarray(np.ones(size))
    call_until_taped(step, one)
    before = w.get_value()[0]
    kept = step(one)
    pool = current().pool
    pool.trim()
    with nl.config(memory_limit=pool.used + size * 8 + 4096), pytest.raises(OutOfMemoryError):
        for _ in range(3):
            kept.append(step(one))
            kept.append(nl.exp(one))
            step(one)
    value = w.get_value()
    assert np.all(value == value[0]) and value[0] >= before + 1
    after = step(one)[1].get()
    np.testing.assert_allclose(after, np.sin(1 + value), rtol=1e-12)


def test_temporary_memory_is_given_back() -> None:
    function = norm((300, 400))
    x, y = (nl.asarray(np.random.default_rng(k).standard_normal((300, 400))) for k in range(2))
    call_until_taped(function, x, y)
    used = current().pool.used
    for _ in range(20):
        function(x, y)
    assert current().pool.used == used


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the current device has joined; a GPU has graphs of its own."""
    if current().name == "cuda":
        pytest.skip("counts what a stand-in for graphs is asked for")
    made: list[Joined] = []
    monkeypatch.setattr(type(current()), "captured", joining(type(current()).captured, made))
    return made


def test_several_kernels_are_one_graph(joined: list[Joined]) -> None:
    function = norm((37, 41))
    rng = np.random.default_rng(0)

    def right(x: Any, y: Any) -> None:
        for one, other in zip(function(nl.asarray(x), nl.asarray(y)), by_numpy(x, y), strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-12)

    for _ in range(6 * TAPED):
        right(rng.standard_normal((37, 41)), rng.standard_normal((37, 41)))
    assert is_taped(function) and len(joined) == 1
    steps = len(joined[0].launches)
    # Where the pool asks for memory, what waits is launched before.
    assert steps >= 2 and joined[0].calls >= 4 * TAPED
    a, b = nl.asarray(np.ones((37, 41))), nl.asarray(np.ones((37, 41)))
    before = counters.kernels, joined[0].calls
    function(a, b)
    assert (counters.kernels, joined[0].calls) == (before[0] + steps, before[1] + 1)
    joined[0].refuses = True  # Each kernel is launched for itself then.
    for _ in range(3):
        right(rng.standard_normal((37, 41)), rng.standard_normal((37, 41)))


@pytest.mark.usefixtures("no_spare_parts")
def test_no_memory_within_a_graph(joined: list[Joined]) -> None:
    shape = (211, 223)
    function = norm(shape)
    x, y = np.random.default_rng(0).standard_normal((2, *shape))
    a, b = nl.asarray(x), nl.asarray(y)
    kept = [call_until_taped(function, a, b)]
    assert len(joined) == 1
    pool = current().pool
    pool.trim()
    with nl.config(memory_limit=pool.used + 3 * 8 * 211 * 223), pytest.raises(OutOfMemoryError):
        for _ in range(20):
            kept.append(function(a, b))
    kept.append(function(a, b))
    for found in kept:
        for one, other in zip(found, by_numpy(x, y), strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-12)


def test_equal_results_know_of_each_other() -> None:
    x, w = nl.symbol("x", (300,)), nl.shared(np.zeros(300), "w")
    y = x * 2 + w
    function = nl.function([x], [y, y, y + 1], updates=[(w, y)])
    given = nl.asarray(np.arange(300.0))
    for calls in range(1, 4 * TAPED):
        one, two, _ = function(given)
        one[:2] = -7.0
        one += 100
        expected = 2 * calls * np.arange(300.0)
        np.testing.assert_array_equal(two.get(), expected)
        np.testing.assert_array_equal(w.get_value(), expected)
        assert one.tolist() == [93.0, 93.0, *(expected[2:] + 100)]
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function)


@pytest.mark.parametrize("places", ["abb", "aa", "abab", "abcbac", "abBb", "aABbaB"])
def test_which_results_are_equal(places: str) -> None:
    """Equal letters are one value: a write to one result changes none of the others; capitals are views of the same."""
    x = nl.symbol("x", (300,))
    values = {"a": x * 2, "b": x + 1, "c": x - 5}
    values |= {letter.upper(): value[::-1] for letter, value in values.items()}
    function = nl.function([x], [values[letter] for letter in places])
    given = np.arange(300.0)
    expected = {"a": given * 2, "b": given + 1, "c": given - 5}
    expected |= {letter.upper(): value[::-1] for letter, value in expected.items()}
    for _ in range(4 * TAPED):
        found = function(nl.asarray(given))
        for number, one in enumerate(found):
            one[:2] = -7.0 - number
        for number, (one, letter) in enumerate(zip(found, places, strict=True)):
            assert one[:2].tolist() == [-7.0 - number] * 2
            np.testing.assert_array_equal(one.get()[2:], expected[letter][2:])
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function)


def mlp(xp: Any, x: Any, w: Any, v: Any) -> Any:
    """Products, whose operands are turned, between kernels."""
    hidden = xp.tanh(x @ w)
    out = hidden @ v - 0.5
    return [out, hidden.T @ out, (out @ v.T).sum(0)]


def factors(xp: Any, x: Any, w: Any, v: Any) -> Any:
    """Routines of several results."""
    square = x.T @ x + 3 * xp.eye(x.shape[1])
    sign, log = xp.linalg.slogdet(square)
    return [xp.linalg.solve(square, w), xp.linalg.cholesky(square), sign * log, xp.linalg.inv(square)[::2]]


def sorted_and_added(xp: Any, x: Any, w: Any, v: Any) -> Any:
    """Routines along axes, writes in place to what was computed and to what is read again."""
    order = xp.argsort(x, axis=0)
    y = x * 2
    y[1:] += xp.cumsum(x, 0)[:-1]
    z = y.copy()
    xp.add.at(z, order[:, 0], 1.0)
    return [xp.sort(y, axis=1), z, y, order]


@pytest.mark.parametrize("body", [mlp, factors, sorted_and_added], ids=lambda body: body.__name__)
@pytest.mark.parametrize("shape", [(9, 5, 4), (1, 1, 1), (40, 33, 20)], ids=str)
def test_routines(body: Any, shape: tuple[int, int, int]) -> None:
    rows, n, m = shape
    symbols = [nl.symbol(name, size) for name, size in zip("xwv", [(rows, n), (n, m), (m, n)], strict=True)]
    function = nl.function(symbols, body(nl, *symbols))
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(5 * TAPED):
        given = [rng.standard_normal(symbol.shape) for symbol in symbols]
        arrays = [nl.asarray(one) for one in given]
        kept.append((function(*arrays), body(np, *given), arrays, given))
    for found, expected, arrays, given in kept:  # Each call's results are its own, and its arguments the user's.
        for one, other in zip([*found, *arrays], [*expected, *given], strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype
            np.testing.assert_allclose(one.get(), other, rtol=1e-8, atol=1e-8)
    # Results of one routine are known of each other by what is kept while a call is recorded.
    if current().name != "reference" and nl.config.executor != "reference" and body is not factors:
        assert is_taped(function)
    with nl.config(verify=True):
        for one, other in zip(function(*kept[0][2]), kept[0][1], strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-8, atol=1e-8)


def turned(xp: Any, x: Any, steps: Any) -> Any:
    """A loop whose state lies in another order after each step."""
    return steps(37, lambda k, s: xp.tanh(s * 0.9 + k).T, x)


def sorted_in_steps(xp: Any, x: Any, steps: Any) -> Any:
    """A loop of routines."""
    return steps(37, lambda k, s: xp.sort(s, axis=0) * 0.9 + s.mean() + k, x)


@pytest.mark.parametrize("body", [turned, sorted_in_steps], ids=lambda body: body.__name__)
def test_loops(body: Any) -> None:
    """A loop is one thing of the call, whether its steps are recorded one by one or not."""
    x = nl.symbol("x", (3, 3))
    function = nl.function([x], [body(nl, x * 2, lambda n, step, s: nl.fori_loop(0, n, step, s)) * x, x + 1])

    def in_steps(n: int, step: Any, state: Any) -> Any:
        for k in range(n):
            state = step(k, state)
        return state

    rng = np.random.default_rng(2)
    kept = []
    for _ in range(5 * TAPED):
        given = rng.standard_normal((3, 3))
        kept.append((function(nl.asarray(given)), [body(np, given * 2, in_steps) * given, given + 1]))
    for found, expected in kept:  # Each call's results are its own.
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-10)
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function)


def test_errors_of_routines_that_are_prepared() -> None:
    x, w = nl.symbol("x", (3, 3)), nl.shared(np.zeros((3, 3)), "w")
    function = nl.function([x], nl.linalg.inv(x) + 1, updates=[(w, w + x)])
    eye = nl.asarray(np.eye(3))
    calls = 4 * TAPED
    for _ in range(calls):
        function(eye)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            function(nl.asarray(np.zeros((3, 3))))
        np.testing.assert_array_equal(w.get_value(), calls * np.eye(3))
    np.testing.assert_array_equal(function(eye).get(), np.eye(3) + 1)


def test_draws_go_on() -> None:
    """Functions that draw give other numbers in each call, those that plain code draws."""
    rng, plain = nl.random.default_rng(7), nl.random.default_rng(7)
    function = nl.compile(lambda x: (x + rng.standard_normal((50, 3))) @ np.ones((3, 2)))
    given = nl.asarray(np.ones((50, 3)))
    for _ in range(4 * TAPED):
        expected = (1 + plain.standard_normal((50, 3)).get()) @ np.ones((3, 2))
        np.testing.assert_allclose(function(given).get(), expected, rtol=1e-12)
    if current().name != "reference" and nl.config.executor != "reference":
        assert next(iter(function.known.entries.values())).ready.state.taped is not None


def test_constants_that_are_given_as_arguments() -> None:
    x, constant = nl.symbol("x", (300,)), nl.asarray(np.arange(300.0))
    function = nl.function([x], x * 2 + constant)
    for number in range(4 * TAPED):
        assert function(constant).tolist() == (3 * np.arange(300.0)).tolist()
        if number % TAPED == 0:
            found = function(nl.asarray(np.ones(300)))
            assert found.tolist() == (2 + np.arange(300.0)).tolist()


def test_numbers_that_the_host_knows() -> None:
    """Numbers and filled arrays as arguments, of which each call is given others, and memory in between."""
    x, y, n = nl.symbol("x", (40,)), nl.symbol("y", (40,), "f4"), nl.symbol("n", (), "i8")
    function = nl.function([x, y, n], [(x * n + y).sum(), nl.where(n > 3, x, y)[::2] + x[n]])
    rng = np.random.default_rng(0)
    for call in range(12 * TAPED):
        given = [rng.standard_normal(40), rng.standard_normal(40).astype("f4"), rng.integers(0, 8)]
        arrays = [nl.asarray(one) for one in given]
        kind = call // (3 * TAPED)
        if kind == 1:
            given[0], arrays[0] = np.full(40, given[0][0]), nl.full(40, given[0][0])
        elif kind == 2:
            given[1], arrays[1], arrays[2] = np.zeros(40, "f4"), nl.zeros(40, "f4"), int(given[2])
        a, b, k = given
        for found, want in zip(function(*arrays), [(a * k + b).sum(), np.where(k > 3, a, b)[::2] + a[k]], strict=True):
            np.testing.assert_allclose(found.get(), want, rtol=1e-12, atol=1e-12)
    call_until_taped(function, *arrays)


def test_equal_numbers_are_not_one() -> None:
    """Of two arguments that were one number in the call that was observed each has its own in the next ones."""
    x, y = nl.symbol("x", ()), nl.symbol("y", ())
    function = nl.function([x, y], x * 2 + y * 2)
    same = nl.asarray(3.0)
    call_until_taped(function, same, same)
    for a, b in ((1.0, 5.0), (5.0, 1.0), (2.0, 2.0)):
        assert function(nl.asarray(a), b).tolist() == 2 * a + 2 * b
        assert function(a, a).tolist() == 4 * a


def test_minibatches_with_draws() -> None:
    """The step of training as Theano's users have it: rows by a number, a mask that is drawn, weights that change."""
    data = np.random.default_rng(0).standard_normal((60, 7))
    shared, w, rng, plain = nl.shared(data), nl.shared(np.zeros(7)), nl.random.default_rng(3), nl.random.default_rng(3)
    i = nl.symbol("i", (), "i8")
    with nl.symbolic():
        rows = shared[i * 5 : i * 5 + 5] * (rng.random((5, 7)) < 0.5)
    plain.random((5, 7))
    step = nl.function([i], rows.sum(), updates=[(w, w + rows.sum(0))])
    weights = np.zeros(7)
    for call in range(8 * TAPED):
        k = call % 12
        batch = data[5 * k : 5 * k + 5] * (plain.random((5, 7)).get() < 0.5)
        weights = weights + batch.sum(0)
        np.testing.assert_allclose(step(k if call % 2 else nl.asarray(k)).get(), batch.sum(), atol=1e-12)
        np.testing.assert_allclose(w.get_value(), weights, atol=1e-12)
    with nl.config(verify=True):
        batch = data[:5] * (plain.random((5, 7)).get() < 0.5)
        np.testing.assert_allclose(step(0).get(), batch.sum(), atol=1e-12)
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(step)


def test_indices_out_of_range_change_nothing() -> None:
    data, w = nl.asarray(np.arange(12.0).reshape(6, 2)), nl.shared(np.zeros(3))
    places = nl.symbol("places", (3,), "i8")
    step = nl.function([places], data[:, 0][places], updates=[(w, w + data[:, 1][places])])
    good = nl.asarray(np.array([0, 5, -6]))
    call_until_taped(step, good)
    before = w.get_value().copy()
    for wrong in (6, -7, 1 << 40):
        with pytest.raises(IndexError, match="out of bounds"):
            step(nl.asarray(np.array([0, wrong, 1]))).get()
        np.testing.assert_array_equal(w.get_value(), before)
        assert step(good).tolist() == [0.0, 10.0, 0.0]
        before += [1.0, 11.0, 1.0]
        np.testing.assert_array_equal(w.get_value(), before)


def test_small_work_is_taped_as_all_else() -> None:
    x, w = nl.symbol("x", (3,)), nl.shared(np.zeros(3))
    step = nl.function([x], (x * w).sum(), updates=[(w, w + x / 2)])
    given, weights = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    with nl.config(unplanned=1000):
        for _ in range(4 * TAPED):
            np.testing.assert_allclose(step(nl.asarray(given)).get(), (given * weights).sum(), rtol=1e-14)
            weights += given / 2
            np.testing.assert_array_equal(w.get_value(), weights)


PRODUCTS = {
    "inner": lambda xp, a, k: xp.inner(a, xp.broadcast_to(k, a.shape)),
    "matmul": lambda xp, a, k: a @ xp.broadcast_to(k, a.shape) + 1,
    "cast": lambda xp, a, k: xp.dot(a, xp.broadcast_to(k, a.shape).astype("f4")),
    "einsum": lambda xp, a, k: xp.einsum("ij,jk->ik", a, xp.broadcast_to(k, a.shape)) * k,
    "sort": lambda xp, a, k: xp.sort(a * k, 1) + xp.cumsum(xp.broadcast_to(k, a.shape), 0),
    "constants": lambda xp, a, k: (a * 2 + 3) * k + xp.full((6, 6), 2.0) @ a,
}


@pytest.mark.parametrize("unplanned", [0, 1000])
@pytest.mark.parametrize("name", PRODUCTS)
def test_numbers_that_routines_make_of_numbers_follow_the_call(name: str, unplanned: int) -> None:
    """A routine that is given a number records others that follow from it: they are no constants of a tape."""
    work = PRODUCTS[name]
    function = nl.compile(lambda a, k: work(nl, a, k))
    with nl.config(unplanned=unplanned):
        for call in range(1, 6 * TAPED):
            a = np.ones((6, 6)) * (call % 3)
            array = nl.asarray(a)
            nl.evaluate(array)
            found = function(array, nl.asarray(float(call))).get()
            np.testing.assert_allclose(found, work(np, a, np.asarray(float(call))), rtol=1e-6)


def test_filled_arrays_of_products_follow_the_call() -> None:
    function = nl.compile(lambda b, a: (b @ a) * 1.5)
    for call in range(1, 6 * TAPED):
        a = np.random.default_rng(call).standard_normal((4, 4))
        array = nl.asarray(a)
        nl.evaluate(array)
        expected = np.full((4, 4), float(call)) @ a * 1.5
        np.testing.assert_allclose(function(nl.full((4, 4), float(call)), array).get(), expected, rtol=1e-12)


@pytest.mark.parametrize("number", [0.0, 2.5, float("nan")])
def test_a_filled_array_that_a_product_takes_is_taped(number: float) -> None:
    """What a number fills is memory after that, which may be written to: the number is what it was."""

    def compute(xp: Any, x: Any, w: Any, count: Any) -> Any:
        state = xp.full((6, 30), number)
        for _ in range(3):
            state = xp.tanh(x + state @ w)
        return state * (1 - count), xp.full((6, 30), number) + count

    function = nl.compile(lambda *args: compute(nl, *args))
    rng = np.random.default_rng(0)
    for call in range(4 * TAPED):
        x, w, count = rng.standard_normal((6, 30)), 0.1 * rng.standard_normal((30, 30)), np.array(0.5 * call)
        for one, other in zip(function(*map(nl.asarray, (x, w, count))), compute(np, x, w, count), strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=1e-12, atol=1e-12)
    if current().name != "reference" and nl.config.executor != "reference":
        assert function.ready.state.taped is not None


def test_a_function_of_numbers_and_constants_of_its_own_is_taped() -> None:
    x, n = nl.symbol("x", (40,)), nl.symbol("n", (), "i8")
    function = nl.function([x, n], (x * n + 3) * 2 + nl.arange(40) * n)
    for call in range(4 * TAPED):
        v = np.random.default_rng(call).standard_normal(40)
        found = function(nl.asarray(v), call)
        np.testing.assert_allclose(found.get(), (v * call + 3) * 2 + np.arange(40) * call, rtol=1e-12)
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function)


def test_what_is_not_compiled_is_taped_once_it_is() -> None:
    """Where no kernel is compiled the trace is replayed; later calls are recorded when kernels are."""
    function = nl.compile(lambda a, b: (a * b + 1).sum())
    a, b = (nl.asarray(np.random.default_rng(k).standard_normal(50)) for k in range(2))
    expected = float((a.get() * b.get() + 1).sum())
    with nl.config(cpu_compile="never", unplanned=1000):
        for _ in range(3 * TAPED):
            assert float(function(a, b)) == pytest.approx(expected, rel=1e-12)
    for _ in range(8 * TAPED):
        assert float(function(a, b)) == pytest.approx(expected, rel=1e-12)
    if current().name != "reference" and nl.config.executor != "reference":
        assert function.ready.state.is_ready()


# ---------------------------------------------------------------- beside a profile


def calls_in(found: Any) -> dict[tuple[str, str], int]:
    """How often each kernel and routine ran, by what it is and what it is over."""
    rows = [row for row in found.by_node() if row.nbytes and "to host" not in row.name]
    return {(row.name.removesuffix(" (not compiled yet)"), row.detail): row.calls for row in rows}


def products(profile: bool = False) -> Any:
    """A function of two kernels and two routines."""
    x = nl.symbol("x", (300, 40))
    return nl.function([x], nl.sort(x * 2, axis=1) @ (nl.sin(x.T) + 1), profile=profile)


def runs_by_tape(function: Any, *args: Any) -> list[Any]:
    """The results of a call that is profiled, and run by its tape; with what ran."""
    ready = function.ready
    before, kernels, calls = ready.call_state.calls, counters.kernels, counters.library_calls
    with nl.profile() as found:
        result = function(*args)
    if current().name != "reference" and nl.config.executor != "reference":
        assert ready.call_state.taped is not None and (ready.call_state.calls == before or nl.config.verify)
    return [result, found, counters.kernels - kernels, counters.library_calls - calls]


@pytest.mark.parametrize("make", [norm, products])
def test_what_is_profiled_from_its_first_call_on_is_taped(make: Any) -> None:
    function, plain = (make((300, 40)), make((300, 40))) if make is norm else (make(), make())
    rng = np.random.default_rng(0)
    wanted: Any = None
    for number in range(4 * TAPED):
        given = [nl.asarray(rng.standard_normal((300, 40))) for _ in function.inputs]
        with nl.profile() as found:
            result = function(*given)
        results, others = (one if type(one) is list else [one] for one in (result, plain(*given)))
        for one, other in zip(results, others, strict=True):
            assert one.get().tobytes() == other.get().tobytes()
        wanted = calls_in(found) if number == 0 else wanted
        assert calls_in(found) == wanted
    if current().name != "reference" and nl.config.executor != "reference":
        assert is_taped(function) and wanted
        assert calls_in(runs_by_tape(function, *given)[1]) == wanted


@pytest.mark.parametrize("make", [norm, products])
def test_what_is_taped_runs_by_its_tape_when_it_is_profiled(make: Any) -> None:
    function = make((300, 40)) if make is norm else make()
    given = [nl.asarray(np.random.default_rng(k).standard_normal((300, 40))) for k in range(len(function.inputs))]
    with nl.profile() as found:
        function(*given)
    wanted = calls_in(found)
    expected = call_until_taped(function, *given)
    for _ in range(4):
        before = counters.kernels, counters.library_calls
        function(*given)
        plain = [counters.kernels - before[0], counters.library_calls - before[1]]
        result, found, *ran = runs_by_tape(function, *given)
        assert ran == plain and calls_in(found) == wanted
        pairs = zip(result, expected, strict=True) if type(result) is list else [(result, expected)]
        for one, other in pairs:
            assert one.get().tobytes() == other.get().tobytes()


def test_a_function_with_a_profile_of_its_own_is_taped() -> None:
    function, plain = products(profile=True), products()
    x = nl.asarray(np.random.default_rng(0).standard_normal((300, 40)))
    for number in range(4 * TAPED):
        assert function(x).get().tobytes() == plain(x).get().tobytes()
        assert function.profile.calls == number + 1
        assert set(calls_in(function.profile).values()) <= {number + 1}
    if current().name != "reference" and nl.config.executor != "reference":
        assert function.ready.call_state.taped is not None and len(calls_in(function.profile)) == 4


def test_steps_of_loops_run_by_what_one_ran_when_they_are_profiled() -> None:
    run = nl.compile(lambda x: nl.fori_loop(0, 10, lambda i, x: nl.sin(x @ x) * 0.9 + 1, x))
    x = nl.asarray(np.random.default_rng(0).standard_normal((40, 40)))
    wanted = call_until_taped(run, x).get()
    for _ in range(3):
        before = counters.flushes
        run(x)
        plain, before = counters.flushes - before, counters.flushes
        with nl.profile() as found:
            result = run(x)
        assert counters.flushes - before == plain or nl.config.verify
        assert result.get().tobytes() == wanted.tobytes()
        assert set(calls_in(found).values()) <= {10}


def test_an_operand_that_nobody_reads_may_lie_elsewhere() -> None:
    """Beside a GPU few elements stay on the host: a key, an option that this variant has no use for."""
    with stand_in() as device, nl.config(placement="auto", unplanned=4096):
        function = nl.compile(lambda x, unused: nl.tanh(x) * 2 + x.sum())
        x = np.random.default_rng(0).standard_normal((600, 1000))
        result = call_until_taped(function, nl.asarray(x), nl.asarray(np.array(3, "i4")))
        assert function.ready.state.taped.tape.device is device
        np.testing.assert_allclose(nl.asnumpy(result), np.tanh(x) * 2 + x.sum(), rtol=1e-12)


def test_a_function_that_draws_twice_is_taped() -> None:
    """Both draws take the generator's key, which is one node: each place of it is the number that a call has."""
    rngs = [nl.random.default_rng(3) for _ in range(2)]
    functions = [nl.compile(lambda x, rng=rng: x * rng.random(x.shape) + rng.random(x.shape)) for rng in rngs]
    x = nl.asarray(np.random.default_rng(1).standard_normal((30, 40)))
    kept = set()
    for _ in range(4 * TAPED):
        found = functions[0](x).get()
        with nl.config(verify=True):
            wanted = functions[1](x).get()
        assert found.tobytes() == wanted.tobytes()
        kept.add(found.tobytes())
    assert len(kept) == 4 * TAPED
    assert nl.config.executor == "reference" or is_taped(functions[0])


def test_one_number_given_twice_is_not_taken_for_one() -> None:
    function = nl.compile(lambda x, a, b: x * a + b)
    x = nl.asarray(np.random.default_rng(1).standard_normal((30, 40)))
    same = nl.full((), 2.5)
    for _ in range(4 * TAPED):
        np.testing.assert_array_equal(function(x, same, same).get(), x.get() * 2.5 + 2.5)
    np.testing.assert_array_equal(function(x, nl.full((), 3.0), nl.full((), -1.0)).get(), x.get() * 3.0 - 1.0)
    np.testing.assert_array_equal(function(x, same, nl.full((), np.nan)).get(), np.full((30, 40), np.nan))
