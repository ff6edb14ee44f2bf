"""All steps of a loop as one launch: beside the steps one after another, for other memory, threads and settings."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.command.info import core_modules
from numloom.compiled import captured
from numloom.compiled.captured import CapturedSteps
from numloom.compiled.steps import Stepping
from numloom.device.registry import current
from numloom.engine import tape
from numloom.engine.state import counters
from numloom.engine.verify import VerificationError

pytestmark = pytest.mark.skipif(
    not core_modules()[0] or current().name == "null" or nl.config.executor == "reference",
    reason="nothing is captured there",
)
STEPS = 40


@pytest.fixture(autouse=True)
def planned(request: pytest.FixtureRequest) -> Any:
    if request.config.getoption("--device") == "beside":
        pytest.skip("the stand-in for a GPU interprets kernels, and captures nothing")
    with nl.config(cpu_compile="wait", unplanned=0, placement="device"):
        yield


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each run of captured steps, whether they ran."""
    found: list[bool] = []
    run = CapturedSteps.run

    def noted(self: Any, *args: Any) -> bool:
        found.append(run(self, *args))
        return found[-1]

    monkeypatch.setattr(CapturedSteps, "run", noted)
    return found


def descent(xp: Any, x: Any, w: Any) -> Any:
    """A product, a sum and a map in each step, and what is stacked."""

    def step(w: Any, row: Any) -> Any:
        w = w - 0.1 * ((w @ x) / (1 + (w * w).sum()) + row)
        return w, (w.sum(), w[::-1])

    return xp.scan(step, w, x)


def by_numpy(x: Any, w: Any) -> Any:
    sums, turned = [], []
    for row in x:
        w = w - 0.1 * ((w @ x[: len(w)]) / (1 + (w * w).sum()) + row)
        sums.append(w.sum())
        turned.append(w[::-1])
    return w, (np.array(sums), np.array(turned))


def function() -> Any:
    return nl.compile(lambda x, w: descent(nl, x, w))


def check(call: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((STEPS, STEPS)), rng.standard_normal(STEPS)
    last, (sums, turned) = call(nl.asarray(x), nl.asarray(w))
    expected, (these, others) = by_numpy(x, w)

    def same() -> None:
        np.testing.assert_allclose(last.get(), expected, rtol=1e-9)
        np.testing.assert_allclose(sums.get(), these, rtol=1e-9)
        np.testing.assert_allclose(turned.get(), others, rtol=1e-9)

    same()
    return same


def test_results_of_earlier_calls_stay(ran: list[bool]) -> None:
    call = function()
    kept = [check(call, seed) for seed in range(12)]
    assert len(ran) >= 8
    assert all(ran)
    for same in kept:
        same()


def test_the_same_array_twice(ran: list[bool]) -> None:
    def body(xp: Any, a: Any, b: Any) -> Any:
        return xp.fori_loop(0, STEPS, lambda i, s: s * 0.5 + (a @ b) / (1 + xp.abs(s).sum()), a)

    call = nl.compile(lambda a, b: body(nl, a, b))
    for number in range(12):
        host = np.random.default_rng(number).standard_normal((5, 5))
        other = host if number % 2 else host.T.copy()
        array = nl.asarray(host)
        found = call(array, array if number % 2 else nl.asarray(other))
        expected = host
        for _ in range(STEPS):
            expected = expected * 0.5 + (host @ other) / (1 + np.abs(expected).sum())
        np.testing.assert_allclose(found.get(), expected, rtol=1e-9)
        np.testing.assert_array_equal(array.get(), host)
    assert ran
    assert all(ran)


def test_what_cannot_run_now_runs_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[bool] = []

    def refuse(self: Any, *args: Any) -> bool:
        refused.append(True)
        return False

    monkeypatch.setattr(CapturedSteps, "run", refuse)
    call = function()
    for seed in range(8):
        check(call, seed)
    assert refused


def by_both(call: Any, *args: Any) -> tuple[list[bytes], bool]:
    """The bytes of a call's results, which are the same by the shorter way; and whether that was taken."""
    taken: list[bool] = []
    again = Stepping.again

    def noted(self: Any, given: Any) -> Any:
        found = again(self, given)
        taken.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stepping, "again", lambda self, given: None)
        expected = [one.get().tobytes() for one in call(*args)]
        patch.setattr(Stepping, "again", noted)
        found = [one.get().tobytes() for one in call(*args)]
    assert found == expected
    return found, any(taken)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31, 100])
def test_captured_steps_run_at_once_where_operands_lie_as_they_did(size: int) -> None:
    """Also for a state that is written to, rows, numbers, NaN and memory in which nothing was written."""

    def body(x: Any, v: Any, rows: Any, kept: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            x, v = state
            v = 0.9 * v - 0.01 * (x - x.sum() * row) * kept
            return (x + v, v), x[::2]

        (x, v), seen = nl.scan(step, (x, v), rows)
        return x, v, seen

    call = nl.compile(body)
    rng = np.random.default_rng(size)
    with nl.config(poison=True):
        for turn in range(14):
            hosts = [rng.standard_normal((size,)) for _ in range(4)]
            hosts[2] = rng.standard_normal((STEPS, size))
            hosts[turn % 4].flat[0] = np.nan if turn % 3 else -0.0
            args = list(map(nl.asarray, hosts))
            for one in args:
                nl.evaluate(one)
            _, taken = by_both(call, *args)
            for one, host in zip(args, hosts, strict=True):
                np.testing.assert_array_equal(one.get(), host)  # Nothing was written to.
        assert taken or current().discrete
        one = nl.asarray(rng.standard_normal(size))
        by_both(call, one, one, args[2], one)  # One memory for all of them.
        apart = nl.asarray(rng.standard_normal(size + 1))[1:]
        by_both(call, apart, one * 2, args[2], apart)  # What is pending, and what lies at other bits.
        by_both(call, nl.full((size,), 0.5), one, args[2], nl.full((size,), 2.0))
        _, taken = by_both(call, *args)
        assert taken or current().discrete


def test_captured_steps_do_not_run_at_once_under_other_settings() -> None:
    call = function()
    for seed in range(12):
        check(call, seed)
    x, w = nl.asarray(np.ones((STEPS, STEPS))), nl.asarray(np.ones(STEPS))
    nl.evaluate(x, w)
    flat = nl.compile(lambda x, w: (lambda last, others: (last, *others))(*descent(nl, x, w)))
    for _ in range(12):
        flat(x, w)
    assert by_both(flat, x, w)[1] or current().discrete
    for setting in ({"verify": True}, {"executor": "reference"}, {"fast_math": True}):
        with nl.config(**setting):
            assert not by_both(flat, x, w)[1]
    for _ in range(12):  # Another setting's steps were observed meanwhile.
        flat(x, w)
    assert by_both(flat, x, w)[1] or current().discrete


def test_few_or_many_launches_are_not_captured(ran: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (
        (captured, "MOST", 2 * STEPS - 1), (captured, "LEAST", 1000), (tape, "MOST_CAPTURED", 0),
        (tape, "CAPTURED_MEMORY", 0),
    )  # fmt: skip
    for module, name, value in rules:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            call = function()
            for seed in range(6):
                check(call, seed)
    assert not ran


def test_little_memory(ran: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numloom.device.capture.CAPTURED", 0)
    call = function()
    for seed in range(6):
        check(call, seed)
    assert not ran


def test_memory_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Stepping] = []
    ask = Stepping._captured

    def noted(self: Any, *args: Any) -> Any:
        met.append(self)
        return ask(self, *args)

    monkeypatch.setattr(Stepping, "_captured", noted)
    call = function()
    for seed in range(6):
        check(call, seed)
    made = weakref.ref(met[-1].together)
    used = current().pool.used
    met[-1].together = None
    gc.collect()
    assert made() is None
    assert current().pool.used < used
    check(call, 7)


def test_threads(ran: list[bool]) -> None:
    call = function()
    for seed in range(6):
        check(call, seed)
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for seed in range(first, first + 20):
                check(call, seed)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert ran
    assert all(ran)


@pytest.mark.slow
def test_verification_compares_them(monkeypatch: pytest.MonkeyPatch) -> None:
    call = function()
    for seed in range(6):
        check(call, seed)
    with nl.config(verify=True):
        for seed in range(6):
            check(call, seed)
        device = current()

        def wrong(self: Any, memory: Any, packed: Any) -> bool:
            device.clear(packed, 8)
            return True

        monkeypatch.setattr(CapturedSteps, "run", wrong)
        with pytest.raises(VerificationError, match="as one"):
            check(call, 0)


def test_counts_are_those_of_the_steps() -> None:
    call = function()
    rng = np.random.default_rng(0)
    x, w = nl.asarray(rng.standard_normal((STEPS, STEPS))), nl.asarray(rng.standard_normal(STEPS))
    counted = []
    for _ in range(8):
        before = counters.kernels, counters.library_calls
        call(x, w)
        counted.append((counters.kernels - before[0], counters.library_calls - before[1]))
    assert counted[2:] == [counted[2]] * 6


def test_other_numbers_of_threads(ran: list[bool]) -> None:
    call = function()
    for threads in (0, 1, 2, 0, 1, 0, 2):
        with nl.config(num_threads=threads):
            check(call, threads)
    assert all(ran)


# ---------------------------------------------------------------- all that a compiled function runs


def dense(xp: Any, x: Any, w: Any, v: Any) -> Any:
    """Products between kernels, several results, one of them twice and one an operand's view."""
    hidden = xp.tanh(x @ w)
    out = hidden @ v - 0.5
    return out, hidden.T @ out, out, (out @ v.T).sum(0), x[::2]


SHAPES = ((300, 200), (200, 160), (160, 70)) if current().discrete else ((30, 20), (20, 16), (16, 7))
"""On a GPU small products are kernels, and what is all kernels has a graph that needs no copies."""


def is_captured(call: Any) -> bool:
    return getattr(call.ready.state.taped, "captured", None) is not None


def arrays_of(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in SHAPES]


def right(found: Any, given: list[Any]) -> None:
    for one, want in zip(found, dense(np, *given), strict=True):
        np.testing.assert_allclose(one.get(), want, rtol=1e-10, atol=1e-10)


def test_a_call_is_captured_and_its_results_are_its_own() -> None:
    call = nl.compile(lambda x, w, v: dense(nl, x, w, v))
    kept = []
    for seed in range(12):
        given = arrays_of(seed)
        found = call(*map(nl.asarray, given))
        kept.append((found, given))
        found[3][:2] = 5.0  # Others do not see it.
        nl.evaluate(found[3])
        kept[-1] = ((*found[:3], *found[4:]), given)
    assert is_captured(call)
    for found, given in kept:
        expected = dense(np, *given)
        for one, want in zip(found, (*expected[:3], *expected[4:]), strict=True):
            np.testing.assert_allclose(one.get(), want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("size", [2, 15, 16, 17, 33, 90])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_a_captured_call_have_the_bits_of_the_steps(size: int, dtype: str) -> None:
    """Products of several sizes, one by itself, with NaN; over memory in which nothing was written."""

    def body(x: Any, w: Any) -> Any:
        y = nl.tanh(x @ w)
        return y @ y.T, y.T @ x - 1, w @ w

    call = nl.compile(body)
    rng = np.random.default_rng(size)
    with nl.config(poison=True):
        for turn in range(12):
            x, w = rng.standard_normal((size, 24)).astype(dtype), rng.standard_normal((24, 24)).astype(dtype)
            x[turn % size, 3] = np.nan
            given = nl.asarray(x), nl.asarray(w)
            found = [one.get() for one in call(*given)]
            state = call.ready.state
            held = state.taped and state.taped.captured
            if held is not None:
                state.taped.captured = None  # So the steps run one by one.
            expected = [one.get() for one in call(*given)]
            if held is not None:
                state.taped.captured = held
            for one, other in zip(found, expected, strict=True):
                assert one.tobytes() == other.tobytes()
    assert current().discrete or is_captured(call)


def test_results_as_operands_of_the_next_call() -> None:
    """As training does: memory of a call before last is memory of results again."""
    rows, units = SHAPES[0][0], SHAPES[1][1]
    x, t = np.random.default_rng(1).standard_normal((2, rows, units)) / rows**0.5

    def step(xp: Any, x: Any, t: Any, w: Any) -> Any:
        miss = xp.tanh(x @ w) - t
        return w - 0.01 * (x.T @ miss), (miss * miss).sum()

    call = nl.compile(lambda x, t, w: step(nl, x, t, w))
    ours, theirs = nl.asarray(np.zeros((units, units))), np.zeros((units, units))
    a, b = nl.asarray(x), nl.asarray(t)
    for _ in range(30):
        ours, loss = call(a, b, ours)
        theirs, other = step(np, x, t, theirs)
        np.testing.assert_allclose(float(loss), other, rtol=1e-9)
    np.testing.assert_allclose(ours.get(), theirs, rtol=1e-9, atol=1e-12)
    assert is_captured(call)


def test_a_constant_that_is_written_to_and_one_that_moves() -> None:
    """A function reads the arrays around it as they were; where their memory is another one all goes step by step."""
    constant = nl.asarray(arrays_of(0)[2])
    held = constant.get()
    call = nl.compile(lambda x, w: dense(nl, x, w, constant))
    for seed in range(8):
        given = arrays_of(seed)[:2]
        right(call(*map(nl.asarray, given)), [*given, held])
    assert is_captured(call)
    taped = call.ready.state.taped
    constant += 1.0
    place = len(taped.past) - len(taped.constants)
    assert taped.captured.fixed[0][0] == place
    taped.captured.fixed[0] = (place, current().allocate(8))
    for seed in range(8, 12):
        given = arrays_of(seed)[:2]
        right(call(*map(nl.asarray, given)), [*given, held])


def test_a_captured_call_runs_step_by_step_when_it_is_profiled() -> None:
    """Each step has a time of its own; what runs is the same, and the next call is one launch again."""
    call = nl.compile(lambda x, w, v: dense(nl, x, w, v))
    for seed in range(8):
        with nl.profile():  # Which does not keep it from being captured.
            call(*map(nl.asarray, arrays_of(seed)))
    assert is_captured(call)
    given = list(map(nl.asarray, arrays_of(9)))
    before = counters.kernels, counters.library_calls
    wanted = [one.get().tobytes() for one in call(*given)]
    ran = counters.kernels - before[0], counters.library_calls - before[1]
    with nl.profile() as found:
        results = call(*given)
    assert [one.get().tobytes() for one in results] == wanted
    calls = {row.name.partition(" (")[0]: row.calls for row in found.by_class()}
    assert (calls["kernel"], calls.get("routine", 0)) == ran
    assert "run" not in calls and sum(calls[kind] for kind in ("kernel", "routine")) >= 3


def test_a_captured_call_that_cannot_run_goes_step_by_step() -> None:
    call = nl.compile(lambda x, w, v: dense(nl, x, w, v))
    for seed in range(8):
        call(*map(nl.asarray, arrays_of(seed)))
    captured_call = call.ready.state.taped.captured
    asked = []
    captured_call.launch = lambda addresses: (asked.append(addresses), False)[1]
    given = arrays_of(9)
    before = counters.kernels, counters.library_calls
    right(call(*map(nl.asarray, given)), given)
    assert len(asked) == 1 and counters.kernels > before[0] and counters.library_calls > before[1]
    with nl.config(tf32=not nl.config.tf32):  # Products would be others.
        right(call(*map(nl.asarray, given)), given)
    assert len(asked) == 1


@pytest.mark.usefixtures("no_spare_parts")
def test_no_memory_for_results_of_a_captured_call() -> None:
    call = nl.compile(lambda x, w, v: dense(nl, x, w, v))
    for seed in range(8):
        call(*map(nl.asarray, arrays_of(seed)))
    assert is_captured(call)
    arrays = [nl.asarray(one) for one in arrays_of(3)]
    kept = []
    pool = current().pool
    pool.trim()
    with nl.config(memory_limit=pool.used + 8 * SHAPES[0][0] * SHAPES[0][1]), pytest.raises(MemoryError):
        for _ in range(100):
            kept.append(call(*arrays))
    for found in [*kept, call(*arrays)]:
        right(found, arrays_of(3))


@pytest.mark.parametrize("size", [0, 1])
def test_a_captured_call_of_little(size: int) -> None:
    call = nl.compile(lambda x, w: ((x @ w) + 1, (x @ w).sum(0) * 2, nl.sort(x, 1)))
    for seed in range(8):
        a, b = np.random.default_rng(seed).standard_normal((2, size, size))
        found = call(nl.asarray(a), nl.asarray(b))
        for one, want in zip(found, ((a @ b) + 1, (a @ b).sum(0) * 2, np.sort(a, 1)), strict=True):
            np.testing.assert_allclose(one.get(), want, rtol=1e-12)


def test_calls_that_move_much_are_not_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "BYTES", 100)
    call = nl.compile(lambda x, w, v: dense(nl, x, w, v))
    for seed in range(8):
        given = arrays_of(seed)
        right(call(*map(nl.asarray, given)), given)
    assert call.ready.state.taped is not None and not is_captured(call)


def masked(xp: Any, x: Any, w: Any, v: Any, scale: Any, phase: Any, times: Any) -> Any:
    """Products between operations that take numbers of several dtypes, alone and beside each other."""
    y = xp.tanh(x @ w) * scale
    z = (y @ v) * phase
    return y * times + scale, z - scale, (z * phase).imag @ xp.ones(z.shape[1]), (y @ y.T) * times


NUMBERS = [(0.5, 1 + 2j, 3), (-0.0, complex(0.0, -1.0), -(1 << 40)), (np.inf, complex(-3.5, 0.25), 0), (1e-310, 0j, 7)]


def test_numbers_of_a_captured_call_are_those_of_the_run() -> None:
    """Numbers that are arguments: words of the launches, also complex ones, which take two."""
    call = nl.compile(lambda x, w, v, a, b, c: masked(nl, x, w, v, a, b, c))
    with nl.config(poison=True):
        for turn in range(16):
            given = arrays_of(turn)
            a, b, c = NUMBERS[turn % len(NUMBERS)]
            numbers = [nl.full((), a), nl.full((), b), nl.full((), c)]
            found = call(*map(nl.asarray, given), *numbers)
            for one, want in zip(found, masked(np, *given, *map(np.asarray, (a, b, c))), strict=True):
                np.testing.assert_allclose(one.get(), want, rtol=1e-10, atol=1e-10)
    taped = call.ready.state.taped
    assert is_captured(call) and len({place for place, _ in taped.captured.numbers}) == 3


def dropped(rng: Any, x: Any, w: Any, v: Any) -> Any:
    """A step with two masks, drawn anew."""
    y = nl.tanh(x @ w)
    y = y * (rng.random(y.shape) < 0.5) * 2
    z = y @ v
    return y, z * (rng.random(z.shape) < 0.25), z.T @ y


def test_draws_of_a_captured_call_are_those_of_the_steps() -> None:
    """Each call draws anew, and as the call that is not captured."""
    rngs = [nl.random.default_rng(5) for _ in range(2)]
    calls = [nl.compile(lambda *given, rng=rng: dropped(rng, *given)) for rng in rngs]
    kept = set()
    for turn in range(14):
        given = [nl.asarray(one) for one in arrays_of(turn // 3)]
        found = [one.get() for one in calls[0](*given)]
        state = calls[1].ready.state if calls[1].ready is not None else None
        if state is not None and state.taped is not None:
            state.taped.captured = state.taped.capture = None
        expected = [one.get() for one in calls[1](*given)]
        for one, want in zip(found, expected, strict=True):
            assert one.tobytes() == want.tobytes(), turn
        kept.add(found[0].tobytes())
    assert len(kept) == 14
    assert is_captured(calls[0]) and calls[0].ready.state.taped.captured.numbers
