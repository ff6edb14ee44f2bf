"""Plans for other sizes are the plans that the planner makes for them: texts, words, launches, bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import BOOL, C64, F16, F32, F64, I8, I64, ITEMSIZES
from numloom.device.memory import Buffer
from numloom.device.null.backend import NullDevice
from numloom.engine import evaluate, resized
from numloom.engine import walk as walking
from numloom.engine.link import tape_of
from numloom.engine.state import counters
from numloom.engine.tape import Tape
from numloom.engine.walk import walk
from numloom.engine.words import rows_of
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import register
from numloom.plan.plan import make_plan

SIZES = (1, 2, 3, 4, 5, 8, 15, 16, 17, 32, 33, 64, 100, 127, 128, 129, 256, 500, 1000, 2048, 4097, 70000)


class Device:
    """What planning asks of a device: one without memory, for which plans are made as for a named one."""

    def __init__(self, name: str) -> None:
        null = NullDevice()
        self.name = name
        self.short_rows = self.fast_math = name == "cuda"
        self.cluster = 8 if name == "cuda" else 1
        self.interprets, self.finishes = False, not self.fast_math
        self.pool, self.launch, self.kernel, self.expect, self.error_address = (
            null.pool, null.launch, null.kernel, null.expect, null.error_address,
        )  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def nothing_at_once() -> Iterator[None]:
    """The memory that these values lie in is not there, so nobody may read it."""
    with nl.config(unplanned=0):
        yield


@pytest.fixture(autouse=True)
def nothing_runs() -> Iterator[None]:
    """What a test records, over memory that is none, must not run."""
    nl.synchronize()  # What other modules recorded as they were read.
    before = register.limit, register.orphan_limit
    register.limit = register.orphan_limit = 1 << 60
    assert register.oldest is None
    yield
    assert register.oldest is None
    register.limit, register.orphan_limit = before
    register.recorded = register.orphan_bytes = 0


def leaf(code: int, *shape: int, at: int = 4096) -> Any:
    nbytes = ITEMSIZES[code] * int(np.prod(shape))
    return wrap(build.leaf(Buffer(at, nbytes), code, shape, c_strides(shape, ITEMSIZES[code])))


def updated(x: Any, n: int) -> Any:
    x = x * 1
    x[1 : max(n - 1, 2)] += x[: max(n - 2, 1)]
    return x


Program = Callable[[int, int, int], Any]
PROGRAMS: dict[str, Program] = {
    "chain": lambda c, n, m: (leaf(c, n) * 2 + leaf(c, n)) * leaf(c, n, at=4100),
    "slices": lambda c, n, m: leaf(c, 2 * n)[::2] + leaf(c, n + 3)[3:] - leaf(c, n)[::-1],
    "halves": lambda c, n, m: (leaf(c, 2 * n) + 1)[:n] * (leaf(c, 2 * n) + 1)[n:],
    "flip": lambda c, n, m: nl.exp(leaf(F32, n, m) * 2)[:, ::-1].T.astype("f8"),
    "two": lambda c, n, m: [leaf(c, n, m).sum(), leaf(c, n, m) + 1],
    "rows": lambda c, n, m: leaf(c, n, m).sum(1),
    "columns": lambda c, n, m: leaf(c, n, m).max(0, keepdims=True),
    "moments": lambda c, n, m: leaf(F32, n, m).var(0) + leaf(F32, m),
    "place": lambda c, n, m: [leaf(c, n, m).argmax(1), leaf(c, n, m).T.argmin()],
    "softmax": lambda c, n, m: (lambda e: e / e.sum(1, keepdims=True))(nl.exp(leaf(F64, n, m))),
    "standard": lambda c, n, m: (leaf(F32, n, m) - leaf(F32, n, m).mean(1, keepdims=True)) * leaf(F32, m),
    "standard columns": lambda c, n, m: (leaf(F32, n, m) - leaf(F32, n, m).mean(0)) / leaf(F32, n, m).std(0),
    "outer": lambda c, n, m: leaf(c, n)[:, None] * leaf(c, m) + nl.arange(m),
    "distances": lambda c, n, m: ((leaf(F32, n, 1, 3) - leaf(F32, m, 3)) ** 2).sum(-1).min(1),
    "nearest": lambda c, n, m: ((leaf(F32, n, 1, 8) - leaf(F32, m, 8)) ** 2).sum(-1).argmin(1),
    "density": lambda c, n, m: ((leaf(F32, m, n)[:, :, None] - leaf(F32, m, 1, 6)) ** 2).sum(0).sum(1, keepdims=True),
    "across": lambda c, n, m: leaf(c, m, n).T + leaf(c, n, m),
    "cube": lambda c, n, m: leaf(c, n, 4, m)[:, 1:, :].sum(1) + nl.ones((n, 1)),
    "gather": lambda c, n, m: leaf(c, n, m)[leaf(I64, m)] + 1,
    "words": lambda c, n, m: leaf(I8, n, m)[leaf(I64, n)],
    "update": lambda c, n, m: updated(leaf(c, n + 2, m), n + 2),
    "joined": lambda c, n, m: nl.concatenate([leaf(c, n) * 2, leaf(c, m), nl.zeros(3)]),
    "columns of a long one": lambda c, n, m: leaf(c, 300 * n, m).sum(0),
    "mask": lambda c, n, m: nl.where(leaf(BOOL, n), leaf(c, n) > 0, leaf(c, n)[:1] != 2),
}


def described(plan: Tape) -> list[Any]:
    """All that a plan does."""
    steps: list[Any] = [plan.drop]
    for launch in plan.steps:
        linked = launch.linked
        done = launch.allocate, launch.adopt, launch.computed, launch.done, launch.target, launch.source, launch.copied
        if linked is None:
            steps.append(done)
            continue
        step, source = linked.step, linked.source
        if linked.pattern is not None:
            step, source = linked.pattern.specialisation.data(linked.pattern.number, linked.sizes)
        params = [(one.word, one.index, one.code) for one in linked.parameters]
        places = rows_of(launch.patches), rows_of(launch.reads), params, launch.numbers, launch.located
        made = linked.kernel.text, list(linked.words.block), linked.geometry, linked.workspace
        steps.append((step, source, made, places, done))
    return steps


def compared(outputs: Any, device: Device) -> None:
    """Compare the plan for these outputs with one that is made from nothing."""
    roots = [node_of(output) for output in (outputs if isinstance(outputs, list) else [outputs])]
    found = walk(roots)
    made = make_plan(found.nodes, [root.number for root in roots], short_rows=device.short_rows, cluster=device.cluster)
    plan = resized.plan_of(found, roots, device)  # type: ignore[arg-type]
    assert plan is not None
    same = described(plan) == described(tape_of(made, device, found.second))
    assert same  # What is told of a failure must not print values, whose memory is none.


@pytest.mark.parametrize("device", [Device("null"), Device("cuda")], ids=["null", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_sizes(name: str, device: Device) -> None:
    """The same program for sizes around all the limits that plans and texts have."""
    before = counters.resized
    shift = sum(map(ord, name))
    for k in range(12):
        n, m = SIZES[(k * 7 + shift) % 20], SIZES[(k * 3 + shift // 7) % 22]
        compared(PROGRAMS[name](F32, n, m), device)
    n, m = 1024, 768
    for k in range(1, 5):
        compared(PROGRAMS[name](F32, n + 128 * (k % 2), m + 4 * k), device)
    assert counters.resized > before


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(PROGRAMS)), min_size=1, max_size=2),
    st.sampled_from([I8, I64, F16, F32, F64, C64]),
    st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)), min_size=3, max_size=5),
)
def test_programs_together(names: list[str], code: int, sizes: list[tuple[int, int]]) -> None:
    device = Device("null")
    for n, m in sizes:
        outputs = [PROGRAMS[name](F32 if code == C64 and "place" in name else code, n, m) for name in names]
        flat = itertools.chain.from_iterable(each if isinstance(each, list) else [each] for each in outputs)
        compared(list(flat), device)


def test_empty_ones_and_scalars() -> None:
    device = Device("null")
    for n, m in [(3, 4), (5, 6), (0, 4), (3, 0), (7, 8), (1, 1), (1, 9), (9, 1), (11, 12)]:
        for name in ("chain", "rows", "softmax", "outer", "joined"):
            compared(PROGRAMS[name](F32, n, m), device)


def test_what_has_no_plan_has_none_for_other_sizes() -> None:
    """A change of the planner's plan is part of what is kept."""
    device = Device("null")
    asked = []

    def change(plan: Any) -> Any:
        asked.append(plan)
        return plan if len(plan.steps) == 1 else None

    for name, most in (("chain", 1000), ("moments", 1000), ("two", 256)):  # Small ones share a kernel.
        for n in (100, 200, 300, 400, 500, 600, 700):
            outputs = PROGRAMS[name](F32, n, n)
            roots = [node_of(output) for output in (outputs if isinstance(outputs, list) else [outputs])]
            plan = resized.plan_of(walk(roots), roots, device, change)  # type: ignore[arg-type]
            assert (plan is not None) == (n <= most), name
    assert 4 <= len(asked) < 12


@pytest.mark.parametrize("name", ["flip", "softmax", "standard columns"])
def test_fast_arithmetic_has_plans_of_its_own(name: str) -> None:
    """The setting is part of what is known: texts of one are never taken for the other."""
    device = Device("cuda")
    for n, fast in ((300, False), (301, False), (302, True), (303, False), (304, True), (305, True), (306, False)):
        with nl.config(fast_math=fast):
            compared(PROGRAMS[name](F32, n, 100), device)


def test_variants_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that hold a row's length are made for each; what was used least recently goes."""
    made_before: dict[Any, Any] = {}
    monkeypatch.setattr(resized, "_specialisations", made_before)
    device = Device("cuda")
    for n in range(2, 17):
        for _ in range(4):
            compared(leaf(F32, 5000 + n, n).sum(1), device)
    (found_before,) = (each for each in made_before.values() if each.specialisations)
    assert 1 < len(found_before.specialisations) <= resized._SPECIALISATIONS


def test_values() -> None:
    """New sizes of what is known make no plan and no text, and give NumPy's numbers."""
    host = np.arange(500, dtype="f4") / 8
    x = nl.asarray(host)
    nl.synchronize()
    plans = []
    for n in (300, 301, 302, 304, 308, 411, 5):
        part = x[3:n]
        nl.testing.assert_array_equal((part * 2 - 1) * part, (host[3:n] * 2 - 1) * host[3:n])
        nl.testing.assert_allclose((part + 1).sum(), (host[3:n] + 1).sum(), rtol=1e-6)
        plans.append(counters.plans)
    assert plans[4] == plans[3] == plans[2]


def test_views_that_begin_where_another_does_and_do_not() -> None:
    """One plan does not serve both."""
    host = np.arange(100, dtype="f4")
    x = nl.asarray(host)
    for a, b, n in itertools.product((4, 8), (4, 8), (60, 61, 64, 80)):
        nl.testing.assert_array_equal(
            x[a : a + n] * x[b : b + n] - x[a : a + n], host[a : a + n] * host[b : b + n] - host[a : a + n]
        )


def test_numbers_of_shapes_are_never_given_twice() -> None:
    """A program with always other sizes does not fill memory with them, and old plans do not serve new shapes."""
    count = 100_000  # more than there is room for
    first, second = ([walking.number_of(("shape", k)) for k in range(count)] for _ in range(2))
    assert len(set(first)) == len(set(second)) == count
    again = [one == other for one, other in zip(first, second, strict=True)]
    assert any(again) and not all(again)
    assert min(set(second) - set(first)) > max(first), "new ones all along"


def test_more_plans_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes round to them finds some again, and right results always."""
    monkeypatch.setattr(evaluate, "_PLANS_KEPT", 400)
    x = np.arange(7.0)

    def work(xp: Any, number: int) -> tuple[Any, Any]:
        y = xp.asarray(x)
        for bit in range(10):
            y = y * 0.5 if number >> bit & 1 else y + bit
        return y, y - 1  # one value alone is kept elsewhere, too

    made = []
    for _ in range(3):
        before = counters.plans + counters.resized
        with nl.config(unplanned=0):
            for number in range(700):  # the plans used last are found without the table
                assert work(nl, number)[1].tolist() == work(np, number)[1].tolist()
        made.append(counters.plans + counters.resized - before)
    assert made[0] > 600 and 100 < made[2] < 650
