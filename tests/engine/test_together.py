"""Plans of several steps whose launches are held back and made together."""

import gc
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import numloom as nl
from compilers import needed
from joined import Joined, joining
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.memory import Pool
from numloom.device.null.backend import NullDevice
from numloom.engine import evaluate, resized, tape
from numloom.engine.evaluate import plans_of
from numloom.engine.words import new_words


@pytest.fixture
def joined(monkeypatch):
    """The current device joins launches; what it joined."""
    made = []
    device = registry.current()

    if device.name != "cuda":  # which has graphs
        needed()
        monkeypatch.setattr(type(device), "captured", joining(type(device).captured, made))
    with nl.config(cpu_compile="wait", cuda_compile="wait", unplanned=0):
        yield made


def steps_of_heat(xp, u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def regression(xp, x, y, w, steps=3):
    b = xp.mean(y) * 0
    for _ in range(steps):
        error = 1 / (1 + xp.exp(-(x @ w + b))) - y
        w = w - 0.1 * (x.T @ error) / 400
        b = b - 0.1 * xp.mean(error)
    return w, b


def test_repeated_plans_give_the_same(joined):
    rng = np.random.default_rng(1)
    start = rng.standard_normal((40, 50))
    expected = steps_of_heat(np, start.copy(), 6)
    for turn in range(6):
        scale = turn + 1.0
        u = nl.asarray(start * scale)
        np.testing.assert_allclose(nl.asnumpy(steps_of_heat(nl, u, 6)), expected * scale, rtol=1e-12)
    if registry.current().name != "cuda":
        assert len(joined) == 1 and joined[0].calls == 6 - tape.WARM_UP_RUNS and len(joined[0].launches) >= 6


def test_numbers_and_addresses_change(joined):
    """Scalars, and where operands and results lie, are those of the run."""
    rng = np.random.default_rng(2)
    x, y, kept = rng.random((60, 70)), (rng.random(60) > 0.5).astype("f8"), []
    for turn in range(7):
        w = rng.random(70)
        a, b = regression(nl, nl.asarray(x), nl.asarray(y * turn), nl.asarray(w))
        kept.append((a, b, regression(np, x, y * turn, w)))
        nl.evaluate(a, b)
        filler = nl.ones(70 + turn)  # noqa: F841  (takes some memory that would be used again)
    for a, b, (wanted_a, wanted_b) in kept:
        np.testing.assert_allclose(nl.asnumpy(a), wanted_a, rtol=1e-10)
        np.testing.assert_allclose(float(b), wanted_b, rtol=1e-10, atol=1e-15)


def test_reductions_in_parts_keep_their_scratch_memory(joined):
    """Kernels whose blocks meet at counters share memory only with those that have as many."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3000, 33)).astype("f4")
    device = nl.asarray(x)
    for _ in range(6):
        total = device.sum()
        columns = (device * total).sum(0)
        spread = (device - columns).var(0)
        largest = (device * spread).max()
        got = nl.asnumpy(largest)
    total = x.sum()
    columns = (x * total).sum(0)
    np.testing.assert_allclose(got, (x * (x - columns).var(0)).max(), rtol=1e-3)


def test_few_plans_have_graphs(joined, monkeypatch):
    """Each keeps memory."""
    monkeypatch.setattr(tape, "MOST_CAPTURED", 0)
    start = np.random.default_rng(6).standard_normal((20, 31))
    for _ in range(tape.WARM_UP_RUNS + 2):
        got = nl.asnumpy(steps_of_heat(nl, nl.asarray(start), 3))
    np.testing.assert_allclose(got, steps_of_heat(np, start.copy(), 3), rtol=1e-12)
    assert not joined


def varied(turn):
    """Bits of programs whose numbers, and where memory lies, are other ones in each turn."""
    rng = np.random.default_rng(turn)
    filler = nl.ones(70 + turn)  # noqa: F841  (takes some memory that would be used again)
    u = steps_of_heat(nl, nl.asarray(rng.standard_normal((29, 37)) * turn), 5)
    total = u.sum() * (turn + 0.5)
    spread = ((u - total) * (turn - 1.5)).var(0)
    found = [nl.asnumpy(one).tobytes() for one in (u, total, spread, *regression(nl, u[1:], u[1:, 0] > turn, u[0]))]
    nl.evaluate(nl.ones(1000 * turn + 1))
    return found


@pytest.mark.parametrize("refused", [False, True])
def test_captured_launches_have_the_bits_of_the_steps(joined, monkeypatch, refused):
    """Blocks are read anew in each run; a tape that the device does not capture runs step by step."""
    device = registry.current()
    with monkeypatch.context() as patch:
        patch.setattr(tape, "MOST_CAPTURED", 0)
        forget_plans(device)
        wanted = [varied(turn) for turn in range(8)]
    asked = []
    if refused:
        monkeypatch.setattr(type(device), "captured", lambda self, calls: asked.append(calls))
    forget_plans(device)
    gc.collect()
    before = len(tape._captured)
    assert [varied(turn) for turn in range(8)] == wanted
    assert bool(asked) == refused
    assert (len(tape._captured) > before) != refused
    assert any(plan.replay is not None for plan in plans_of(device).values()) != refused


def forget_plans(device):
    """Have nothing be planned, nor be at hand."""
    resized._specialisations.clear()
    while plans_of(device):
        evaluate._drop_half()


def test_room_for_graphs_comes_back(joined):
    """What is captured counts as long as a plan, or a function that shares its graph, is there; and no longer."""
    device = registry.current()
    forget_plans(device)
    gc.collect()
    before = len(tape._captured)
    x = nl.asarray(np.random.default_rng(8).standard_normal((230, 310)))
    function = nl.compile(lambda a: (a - a.sum())[::-1] / (1 + (a * a).sum()) - a.max())
    for _ in range(3 * tape.WARM_UP_RUNS):
        nl.evaluate(steps_of_heat(nl, x * 1, 4))
        function(x).get()
    both = len(tape._captured) - before
    assert both >= (1 if device.discrete else 2)  # Of a GPU the function may be one launch without a graph.
    joined.clear()
    forget_plans(device)
    gc.collect()
    left = len(tape._captured) - before
    assert (0 if device.discrete else 1) <= left < both
    function(x).get()
    del function
    gc.collect()
    assert len(tape._captured) == before


@pytest.mark.parametrize("refused", [False, True])
def test_no_memory_for_a_graph(refused):
    """A plan that has run goes on step by step where there is no scratch memory for it alone."""
    steps = []
    for k in (1, 1, 2):
        linked = tape.Linked(None, new_words(4), SimpleNamespace(counters=8 * k, workspace=100))
        linked.run, linked.workspace = print, 3
        steps.append(tape.Launch(linked))
    cleared = []
    pool = Pool("test", lambda nbytes: 0 if refused else 1 << 20, lambda ptr, nbytes: None)
    device = SimpleNamespace(clear=lambda *given: cleared.append(given[1]), pool=pool)
    device.captured = Joined.of(device)
    plan = tape.Tape(device, steps, 0)
    tape.capture_graph(plan)
    assert (plan.replay is None) == refused
    assert cleared == ([] if refused else [8, 16])
    assert all((step.linked.scratch is None) == refused for step in steps)
    assert all((step.linked.words.get(3) == 0) == refused for step in steps)


@pytest.mark.parametrize("when", [0, 2, 5])
def test_held_launches_go_first_where_the_pool_asks_for_memory(joined, monkeypatch, when):
    """Memory that the backend gives, or cannot give, comes after what waits; the results are the same."""
    start = np.random.default_rng(4).standard_normal((64, 64))
    expected = steps_of_heat(np, start.copy(), 8)
    pool = registry.current().pool
    seen = []
    for turn in range(8):
        u = nl.asarray(start)
        steps_of_heat(nl, u, 8)
        if turn > tape.WARM_UP_RUNS:
            pool.trim()  # Every buffer is new.
            before = nl.ones((when + 1) * 1000)  # noqa: F841
        nl.evaluate(u)
        seen.append(nl.asnumpy(u))
        gc.collect()
    for got in seen:
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.usefixtures("no_spare_parts")
def test_no_memory_in_the_middle(joined):
    """What was held is launched, the rest stays pending and can run later."""
    device = registry.current()
    n = 1 << 18
    x = np.random.default_rng(5).standard_normal(n)

    def chain(a):
        total = a * 2
        parts = []
        for k in range(4):
            total = total[::-1] + k
            total = total - total.max()
            parts.append(total)
        return parts

    for _ in range(tape.WARM_UP_RUNS + 1):
        nl.evaluate(*chain(nl.asarray(x)))
    parts = chain(nl.asarray(x))
    pool = device.pool
    limit = pool.limit
    pool.trim()
    pool.limit = pool.used + 3 * n * 8
    try:
        with pytest.raises(MemoryError):
            nl.evaluate(*parts)
    finally:
        pool.limit = limit
    want = x * 2
    for k, part in enumerate(parts):
        want = want[::-1] + k
        want = want - want.max()
        np.testing.assert_array_equal(nl.asnumpy(part), want)


def test_values_that_were_lost_keep_nobodys_arrays(joined, monkeypatch):
    """An error that a value keeps has no traceback, whose frames have the arrays of all callers, and that value."""
    device = registry.current()
    if device.name == "cuda":
        pytest.skip("compiled code launches there")
    bound, broken = device.bound, []

    def bound_or_broken(*given):
        launch = bound(*given)

        def run():
            if broken:
                raise DeviceError("broken on purpose")
            launch()

        return run

    monkeypatch.setattr(device, "bound", bound_or_broken)
    start = np.random.default_rng(7).standard_normal((24, 31))

    def work(lost):
        mine = nl.ones(50_000)
        mine[3] = 1
        u = nl.asarray(start)
        lost.append(steps_of_heat(nl, u, 3))
        u.get()

    def fails(function, *given):
        mine = nl.ones(30_000) * 2
        nl.evaluate(mine)
        broken.append(True)
        try:
            function(*given)
        except DeviceError as error:
            return str(error)
        finally:
            broken.clear()

    for _ in range(tape.WARM_UP_RUNS + 1):
        work([])
    assert len(joined) == 1
    for _ in range(3):
        gc.collect()
        before, lost = device.pool.used, []
        assert fails(work, lost) == "broken on purpose"
        for _ in range(3):
            assert fails(nl.asnumpy, lost[0]) == "broken on purpose"
        lost.clear()
        gc.collect()
        assert device.pool.used == before
    work([])


def test_memory_of_others_is_kept_until_the_launch(joined):
    """Whoever lent memory may take it back as soon as nobody here holds it."""
    if registry.current().name != "cpu":
        pytest.skip("NumPy lends memory of the CPU")
    for turn in range(tape.WARM_UP_RUNS + 2):
        host = np.full((30, 30), float(turn))
        u = nl.from_dlpack(host)
        v = nl.zeros((30, 30))
        v[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1]
        w = v[1:-1, 1:-1].sum(0) * 2
        z = (v - w.max()).sum(1)
        del u, host
        got = nl.asnumpy(z)
    want = np.zeros((30, 30))
    want[1:-1, 1:-1] = 2.0 * turn
    np.testing.assert_allclose(got, (want - (want[1:-1, 1:-1].sum(0) * 2).max()).sum(1))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=st.lists(st.sampled_from(["sum", "shift", "scale", "write", "sort"]), min_size=2, max_size=7))
def test_random_programs_repeat(joined, program):
    """Any program gives at its sixth run what NumPy gives."""
    x = np.arange(48.0).reshape(6, 8) % 7

    def run(xp):
        a = xp.asarray(x) * 1.0
        for step in program:
            if step == "sum":
                a = a - a.sum(0)
            elif step == "shift":
                a[1:] = a[:-1] * 0.5 + a[1:]
            elif step == "scale":
                a = a * 0.25 + 1
            elif step == "write":
                a[:, ::2] = a[:, 1::2].max(1, keepdims=True)
            else:
                a = xp.sort(a, 1)
        return a

    want = run(np)
    for _ in range(tape.WARM_UP_RUNS + 2):
        np.testing.assert_allclose(nl.asnumpy(run(nl)), want, rtol=1e-12, atol=1e-12)


def test_the_pool_says_when_it_asks():
    asked = []
    pool = Pool("test", lambda nbytes: 4096 * (len(asked) + 1), lambda address, nbytes: None)
    pool.held = lambda: asked.append(pool.used)
    first = pool.allocate(1000)
    assert asked == [0]
    del first
    again = pool.allocate(1000)
    assert asked == [0] and again.nbytes == 1000


def test_a_kernel_that_a_tape_launches_twice_has_one_block():
    """Launched together, both would have the words of the last one."""
    linked = tape.Linked(None, new_words(4), SimpleNamespace(counters=1, workspace=0))
    linked.run = print
    device = SimpleNamespace(pool=Pool("test", lambda n: 0, lambda p, n: None), captured=lambda calls: print)
    twice = tape.Tape(device, [tape.Launch(linked), tape.Launch(linked)], 0)
    tape.capture_graph(twice)
    assert twice.replay is None


def test_what_devices_capture_without_a_gpu():
    """On the host a launch is a call; where none runs they are counted, and nothing else is taken down."""
    cpu, null = registry.get("cpu"), NullDevice()
    assert cpu.captured(lambda capture: capture.live(print)) is None
    captured = null.captured(lambda capture: [capture.live(print), capture.workspace(100, 8), capture.live(print)])
    assert captured(()) is True and null.launches == 2 and captured.nbytes == 256
    assert null.captured(lambda capture: [capture.live(print), capture.operand(8)]) is None
