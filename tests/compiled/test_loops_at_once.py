"""Loops whose body is a map over the same elements run by one launch; each is compared with its steps."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.base.config import config
from numloom.compiled import loops

STEPS = 37  # More than are unrolled, and no multiple of anything.


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch):
    """Kernels are waited for, and each loop runs both ways."""
    monkeypatch.setattr(config, "cpu_compile", "wait")
    before = config.verify
    config.verify = True
    yield
    config.verify = before


@pytest.fixture
def launched(monkeypatch):
    """Loops that ran by one launch, and those that did not."""
    found = []
    run = loops.Loop._launched

    def counted(self, *args):
        result = run(self, *args)
        found.append(result is not None)
        return result

    monkeypatch.setattr(loops.Loop, "_launched", counted)
    return found


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    real = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (real + 1j * rng.standard_normal(shape)).astype(dtype)
    if np.dtype(dtype).kind in "iub":
        return (rng.integers(0, 9, shape) % (2 if dtype == "?" else 9)).astype(dtype)
    return real.astype(dtype)


def steps(body, state, count=STEPS, first=0):
    """The state after steps in NumPy."""
    with np.errstate(all="ignore"):
        for number in range(first, first + count):
            state = body(np.int64(number), state)
    return state


def close(found, want):
    tolerance = {"e": 2e-2, "f": 1e-4, "F": 1e-4}.get(np.asarray(want).dtype.char, 1e-9)
    assert found.dtype == np.asarray(want).dtype
    assert found.shape == np.shape(want)
    np.testing.assert_allclose(found.get(), want, rtol=tolerance, atol=tolerance)


def shrinking(number, x):
    return x * x.dtype.type(0.5) + x.dtype.type(1)


ORDERS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "turned": lambda x: np.ascontiguousarray(x.transpose()).transpose(),
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "e", "f", "d", "F", "D"])
def test_dtypes(dtype, launched):
    x = numbers((301,), dtype)

    def body(number, x):
        if dtype == "?":
            return x ^ (number % 2 == 0)
        return (x + x.dtype.type(1)) * x.dtype.type(1) if np.dtype(dtype).kind in "iu" else shrinking(number, x)

    close(nl.compile(lambda x: nl.fori_loop(0, STEPS, body, x))(nl.asarray(x)), steps(body, x))
    assert launched == [True] * len(launched)
    assert launched


SHAPES = [(), (1,), (5,), (255,), (256,), (257,), (1000,), (3, 4), (2, 300), (300, 2), (4, 5, 6), (1, 7, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", list(ORDERS))
def test_shapes_and_orders(shape, order, launched):
    if not shape and order in ("reversed", "every second"):
        pytest.skip("no axis")
    x = ORDERS[order](numbers(shape, "f"))
    close(nl.compile(lambda x: nl.fori_loop(0, STEPS, shrinking, x))(nl.asarray(x)), steps(shrinking, x))
    assert all(launched)


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_nothing(shape):
    x = np.zeros(shape, np.float32)
    close(nl.compile(lambda x: nl.fori_loop(0, STEPS, shrinking, x))(nl.asarray(x)), x)


@pytest.mark.parametrize("first", [0, 5, -40])
def test_the_number_of_the_step(first, launched):
    def body(number, x):
        return np.where(number % 3 == 0, x + number, x * np.float32(0.5)).astype(np.float32)

    def ours(number, x):
        return nl.where(number % 3 == 0, x + number, x * np.float32(0.5)).astype(np.float32)

    x = numbers((300,), "f")
    close(nl.compile(lambda x: nl.fori_loop(first, first + STEPS, ours, x))(nl.asarray(x)), steps(body, x, first=first))
    assert all(launched)


def test_several_states_of_several_dtypes(launched):
    def body(number, state):
        x, y, count = state
        inside = x * x + y * y < 4
        where = nl.where if isinstance(x, nl.ndarray) else np.where
        return where(inside, x * x - y * y + x.dtype.type(0.1), x), where(inside, 2 * x * y, y), count + inside

    state = numbers((33, 40), "f"), numbers((33, 40), "f", 1), np.zeros((33, 40), np.int32)
    found = nl.compile(lambda *state: nl.fori_loop(0, STEPS, body, state))(*map(nl.asarray, state))
    for one, want in zip(found, steps(body, state), strict=True):
        close(one, want)
    assert all(launched)


def test_states_that_change_places(launched):
    def body(number, state):
        x, y, z = state
        return y, z, x + y

    state = [numbers((500,), "d", seed) for seed in range(3)]
    found = nl.compile(lambda *state: nl.fori_loop(0, STEPS, body, state))(*map(nl.asarray, state))
    for one, want in zip(found, steps(body, tuple(state)), strict=True):
        close(one, want)
    assert all(launched)


def test_results_that_are_one_value(launched):
    def body(state, row):
        after = [0.5 * s + row for s in state]
        return [after[0], after[0]], (after[0], after[0])

    start, rows = [numbers((70,), "d", 1)] * 2, numbers((STEPS, 70), "d")
    last, kept = nl.compile(lambda a, b, rows: nl.scan(body, [a, b], rows))(*map(nl.asarray, [*start, rows]))
    want, state = [], start
    for row in rows:
        state, one = body(state, row)
        want.append(one[0])
    for found in last:
        close(found, state[0])
    for found in kept:
        close(found, np.stack(want))
    assert launched


def test_one_array_as_state_and_beside_it(launched):
    a = np.abs(numbers((1000,), "d")) + 1

    def run(a):
        return nl.fori_loop(0, STEPS, lambda number, x: x - (x * x * x - a) / (3 * x * x), a)

    compiled = nl.compile(run)
    for _ in range(3):
        close(compiled(nl.asarray(a)), steps(lambda number, x: x - (x * x * x - a) / (3 * x * x), a))
    assert all(launched)


@pytest.mark.parametrize("other", [(300,), (20, 1), (1, 300), (), (20, 300)])
def test_what_is_read_beside_the_state(other, launched):
    x, b = numbers((20, 300), "f"), numbers(other, "f", 1)

    def body(number, x):
        return x * np.float32(0.5) + b

    def ours(x, b):
        return nl.fori_loop(0, STEPS, lambda number, x: x * np.float32(0.5) + b, x)

    close(nl.compile(ours)(nl.asarray(x), nl.asarray(b)), steps(body, x))
    turned = np.ascontiguousarray(b.T).T
    close(nl.compile(ours)(nl.asarray(x), nl.asarray(turned)), steps(body, x))
    assert all(launched)


def test_a_constant_array_and_numbers_that_change(launched):
    table = nl.asarray(numbers((64,), "f", 3))

    @nl.compile
    def run(x, scale):
        return nl.fori_loop(0, STEPS, lambda number, x: x * scale + table, x)

    for seed in range(4):
        x, scale = numbers((10, 64), "f", seed), np.float32(0.1 * seed)
        close(run(nl.asarray(x), nl.asarray(scale)), steps(lambda number, x, s=scale: x * s + table.get(), x))
    assert all(launched)


def test_a_state_that_begins_as_a_filled_array(launched):
    @nl.compile
    def run(x):
        return nl.fori_loop(0, STEPS, lambda number, s: s * np.float32(0.5) + x, nl.zeros(x.shape, np.float32))

    x = numbers((300,), "f")
    close(run(nl.asarray(x)), steps(lambda number, s: s * np.float32(0.5) + x, np.zeros(300, np.float32)))
    assert all(launched)


@pytest.mark.parametrize("shape", [(), (5,), (300,), (6, 50)])
def test_a_scan(shape, launched):
    rows, start = numbers((STEPS, *shape), "d"), numbers(shape, "d", 1)

    def body(state, row):
        after = 0.5 * state + row
        return after, after * after

    last, kept = nl.compile(lambda start, rows: nl.scan(body, start, rows))(nl.asarray(start), nl.asarray(rows))
    want, state = [], start
    for row in rows:
        state, one = body(state, row)
        want.append(one)
    close(last, state)
    close(kept, np.stack(want))
    assert all(launched)


def test_what_reads_its_neighbours_is_left_to_the_steps(launched):
    x = numbers((50, 60), "d")

    def waves(number, x):
        roll = nl.roll if isinstance(x, nl.ndarray) else np.roll
        return 0.5 * x + 0.25 * roll(x, 1, axis=1)

    def turned(number, x):
        return 0.5 * x + 0.25 * x.T

    def reversed_rows(number, x):
        return 0.5 * x + 0.25 * x[::-1]

    def summed(number, x):
        return x / (1 + abs(x).sum())

    for body in (waves, reversed_rows, summed):
        close(nl.compile(lambda x, b=body: nl.fori_loop(0, STEPS, b, x))(nl.asarray(x)), steps(body, x))
    square = x[:, :50]
    close(nl.compile(lambda x: nl.fori_loop(0, STEPS, turned, x))(nl.asarray(square)), steps(turned, square))
    assert not any(launched)


def test_bodies_that_change_memory_are_not_run_once_more(launched):
    """A body is recorded to be looked at, and what runs when it is recorded must not."""

    def body(number, x):
        where = nl if isinstance(x, nl.ndarray) else np
        y = ~x
        where.add.at(y, np.asarray([0, 0, -1]), y.dtype.type(1))
        return y

    for dtype in ("i1", "i4"):
        x = numbers((3, 1, 2), dtype)
        for _ in range(3):
            close(nl.compile(lambda x: nl.fori_loop(0, STEPS, body, x))(nl.asarray(x)), steps(body, x))
    assert not any(launched)


def test_states_of_different_shapes_are_left_to_the_steps(launched):
    def body(number, state):
        x, y = state
        return x * 0.5 + y, y * 0.9

    state = numbers((30, 40), "d"), numbers((40,), "d", 1)
    found = nl.compile(lambda *state: nl.fori_loop(0, STEPS, body, state))(*map(nl.asarray, state))
    for one, want in zip(found, steps(body, state), strict=True):
        close(one, want)
    assert not any(launched)


def test_memory_that_begins_elsewhere():
    """Operands whose addresses are no multiple of 16 bytes are another kernel's, or another way's."""
    run = nl.compile(lambda x: nl.fori_loop(0, STEPS, shrinking, x))
    memory = nl.asarray(numbers((1003,), "f"))
    for begin in (0, 1, 2, 3, 0, 1):
        x = memory[begin : begin + 1000]
        close(run(x), steps(shrinking, x.get()))


UNARY = [
    "abs({})",
    "-{}",
    "{} * {}",
    "np.tanh({})",
    "np.sqrt(abs({}))",
    "np.exp(-abs({}))",
    "np.sin({})",
    "np.floor({})",
]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "np.minimum({}, {})", "np.maximum({}, {})", "{} / (1 + abs({}))"]


def random_body(rng, states, invariants):
    """The text of a body: expressions of the state, what is beside it, and the step's number."""
    known = [f"s[{k}]" for k in range(states)] + [f"b[{k}]" for k in range(invariants)] + ["(i % 5)", "0.5", "2"]
    lines = []
    for k in range(int(rng.integers(2, 9))):
        if rng.random() < 0.4:
            one = known[rng.integers(len(known))]
            text = UNARY[rng.integers(len(UNARY))].replace("{}", one)
        elif rng.random() < 0.2:
            a, b, c = (known[rng.integers(len(known))] for _ in range(3))
            text = f"np.where({a} < {b}, {b}, {c})"
        else:
            text = BINARY[rng.integers(len(BINARY))].format(*[known[rng.integers(len(known))] for _ in range(2)])
        lines.append(f"v{k} = {text}")
        known.append(f"v{k}")
    ends = [known[rng.integers(len(known))] for _ in range(states)]
    lines.append("return [" + ", ".join(f"shaped(s[{k}], {end})" for k, end in enumerate(ends)) + "]")
    return "def body(np, shaped, i, s, b):\n  " + "\n  ".join(lines) + "\n"


def bounded(np_):
    """What makes of any value a next state of the form of the one before."""

    def shaped(before, value):
        value = np_.asarray(value)
        found = np_.broadcast_to(value, before.shape) if value.shape != before.shape else value
        if found.dtype.kind == "c" and before.dtype.kind != "c":
            found = found.real
        if before.dtype.kind in "iu" and found.dtype.kind == "f":
            found = np_.clip(np_.where(found == found, found, 0), -1000, 1000)
        if before.dtype.kind == "f":
            found = np_.clip(np_.where(found == found, found, 0), -1000, 1000)
        return found.astype(before.dtype)

    return shaped


def check_random(seed):
    """One random body: the loop beside its steps to the bit (`config.verify`), and beside NumPy."""
    rng = np.random.default_rng(seed)
    shape = [(7,), (300,), (3, 90), (5, 1), (), (2, 3, 50)][rng.integers(6)]
    states, invariants = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    dtypes = ["f", "d", "e", "i4", "i2"]
    kinds = [dtypes[rng.integers(len(dtypes))] for _ in range(states + invariants)]
    given = [numbers(shape, kind, seed + k) for k, kind in enumerate(kinds)]
    for k in range(states, states + invariants):
        if shape and rng.random() < 0.4:
            given[k] = given[k][..., :1] if rng.random() < 0.5 else given[k][:1]
    scope = {}
    exec(random_body(rng, states, invariants), scope)
    count = int(rng.integers(33, 50))

    def run(*values):
        rest = values[states:]
        return nl.fori_loop(0, count, lambda i, s: scope["body"](nl, bounded(nl), i, s, rest), list(values[:states]))

    compiled = nl.compile(run)
    for turn in range(3):
        values = [(value * (1 if turn == 0 else 0.5 + turn)).astype(value.dtype) for value in given]
        compiled(*map(nl.asarray, values))


@pytest.mark.parametrize("seed", range(16))
def test_random_bodies(seed):
    check_random(seed)
