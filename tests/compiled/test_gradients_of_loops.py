"""Gradients of long loops are loops, and give what those of the steps one after the other give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import code_of
from numloom.compiled import control, gradient_of_loops
from numloom.compiled.gradient_loops import _seen, is_loop
from numloom.graph import build
from numloom.graph.tree import tree_nodes

STEPS = 37


def scan_rows(h: Any, w: Any, xs: Any) -> Any:
    last, sums = nl.scan(lambda h, x: ((z := nl.tanh(x * w[0] + h * 0.5)), z.sum()), h, xs)
    return (last * last).sum() + (sums * nl.arange(len(xs))).sum()


def product(h: Any, w: Any, xs: Any) -> Any:
    last, every = nl.scan(lambda h, x: ((z := nl.tanh(h @ w + x)), z), h, xs)
    return (last * w[1]).sum() + (every**2).sum()


def by_number(h: Any, w: Any, xs: Any) -> Any:
    return nl.fori_loop(0, len(xs), lambda k, s: nl.sin(s) * 0.9 + xs[k] * w[1] + k * 0.01, h).sum()


def shifted(h: Any, w: Any, xs: Any) -> Any:
    """Elements by other numbers: backwards, twice, and from the end."""

    def step(k: Any, s: Any) -> Any:
        return s * 0.7 + xs[len(xs) - 1 - k] * nl.cos(xs[k // 2]) + xs[-1 - k] * xs[k, 1]

    return (nl.fori_loop(0, len(xs), step, h) * w[0]).sum()


def some_rows(h: Any, w: Any, xs: Any) -> Any:
    return (nl.fori_loop(2, len(xs) - 1, lambda k, s: nl.tanh(s + xs[k]), h) * w).sum()


def columns(h: Any, w: Any, xs: Any) -> Any:
    turned = xs.T
    return nl.fori_loop(0, len(xs), lambda k, s: s * 0.5 + turned[:, k] * w[2], h).sum()


def table(h: Any, w: Any, xs: Any) -> Any:
    """Elements by numbers that are read."""
    where = nl.asarray(np.random.default_rng(3).integers(0, len(xs), (len(xs), 2)))
    return nl.scan(lambda s, k: (nl.tanh(s + xs[k].sum(0)), None), h, where)[0].sum()


def several(h: Any, w: Any, xs: Any) -> Any:
    def step(k: Any, state: Any) -> Any:
        a, (b, c), count = state
        return nl.tanh(a + b), (b * 0.9 + c * a, c), count + 1

    a, (b, c), count = nl.fori_loop(0, len(xs), step, (h, (xs[0], xs[1] * 0.1), nl.asarray(0)))
    return (a * b + c * count * w[0]).sum()


def swapped(h: Any, w: Any, xs: Any) -> Any:
    a, b = nl.fori_loop(0, len(xs), lambda k, s: (s[1], nl.sin(s[0]) + s[1] * w[0]), (h, xs[0] * 0.1))
    return (a * b).sum()


def overwritten(h: Any, w: Any, xs: Any) -> Any:
    a, b = nl.fori_loop(0, len(xs), lambda k, s: (xs[0] * w[0], s[1] * 0.9 + s[0]), (h, h))
    return (a + b).sum()


def unchanged(h: Any, w: Any, xs: Any) -> Any:
    a, b, c = nl.fori_loop(0, len(xs), lambda k, s: (s[0], s[1] * 0.5 + s[0], s[0]), (h, h * 2, h))
    return (a * b + c).sum()


def decided(h: Any, w: Any, xs: Any) -> Any:
    def step(s: Any, x: Any) -> Any:
        s = nl.where(s > x, s * 0.9, x * w[0])
        return nl.ifelse(s.sum() > 0, lambda: s * 0.8 + 0.1, lambda: s * 1.1), (s > 0).sum()

    last, counts = nl.scan(step, h, xs)
    return (last * counts.sum()).sum()


def roots_of_nothing(h: Any, w: Any, xs: Any) -> Any:
    """Infinite derivatives of what is not taken."""
    step = lambda s, x: (nl.ifelse((s * 0).sum() > 0, lambda: nl.sqrt(s * 0), lambda: s * 0.9 + x), None)  # noqa: E731
    return nl.scan(step, h, xs)[0].sum()


def stopped(h: Any, w: Any, xs: Any) -> Any:
    return nl.scan(lambda s, x: (nl.stop_gradient(s) * x + s * 0.5 * w[0], None), h, xs)[0].sum()


def nested(h: Any, w: Any, xs: Any) -> Any:
    def inner(k: Any, s: Any) -> Any:
        return nl.sin(s) + xs[k] * 0.01 * w[0]

    return nl.scan(lambda s, x: (nl.fori_loop(0, 34, inner, s * x) * 0.5, None), h, xs)[0].sum()


def nested_scan(h: Any, w: Any, xs: Any) -> Any:
    def outer(s: Any, x: Any) -> Any:
        last, every = nl.scan(lambda a, y: (nl.tanh(a + y * x), a.sum()), s, xs)
        return last * 0.5, every.mean()

    last, means = nl.scan(outer, h, xs)
    return (last * w).sum() + (means**2).sum()


def one_after_the_other(h: Any, w: Any, xs: Any) -> Any:
    last, every = nl.scan(lambda s, x: ((z := nl.tanh(s + x)), z * w[0]), h, xs)
    again, sums = nl.scan(lambda s, x: (s * 0.9 + x * last, s.sum()), last, every)
    return again.sum() + (sums * every[:, 0]).sum()


def matrices(h: Any, w: Any, xs: Any) -> Any:
    last = nl.fori_loop(0, len(xs), lambda k, s: nl.tanh(s @ w + s.T * xs[k]), w * 0.3)
    return (last * last).sum()


def turned_state(h: Any, w: Any, xs: Any) -> Any:
    return (nl.fori_loop(0, len(xs), lambda k, s: nl.sin(s + xs[k]), w.T) ** 2).sum()


def many_orders(h: Any, w: Any, xs: Any) -> Any:
    return (nl.fori_loop(0, len(xs), lambda k, s: (nl.sin(s) + xs[k]).T, w) * w).sum()


def order_of_the_first(h: Any, w: Any, xs: Any) -> Any:
    last, every = nl.scan(lambda s, x: ((z := (nl.sin(s) + x).copy("C")), z[0]), w.T, xs)
    return (last * w).sum() + (every**2).sum()


def repeated_state(h: Any, w: Any, xs: Any) -> Any:
    begin = nl.broadcast_to(h, (2, 3))
    last = nl.fori_loop(0, len(xs), lambda k, s: nl.broadcast_to(nl.tanh(s[:1] + xs[k] * w[0]), (2, 3)), begin)
    return (last * nl.arange(6.0).reshape(2, 3)).sum()


def repeated_results(h: Any, w: Any, xs: Any) -> Any:
    last, every = nl.scan(lambda s, x: (nl.sin(s + x), nl.broadcast_to(s[:, None], (3, 2))), h, xs)
    return last.sum() + (every * nl.arange(2.0) * w[0, 0]).sum()


def numbers(h: Any, w: Any, xs: Any) -> Any:
    total, product = nl.fori_loop(
        0, len(xs), lambda k, s: (s[0] + nl.cos(s[1] * k), s[1] * 0.9 + xs[k, 0]), (h[0], h[1])
    )
    return total * product * w[0, 0]


def nothing(h: Any, w: Any, xs: Any) -> Any:
    a, b = nl.fori_loop(0, len(xs), lambda k, s: (s[0] * 2, nl.sin(s[1] + s[0].sum())), (h[:0], h))
    return (b * w).sum() + a.sum()


def written(h: Any, w: Any, xs: Any) -> Any:
    def step(k: Any, s: Any) -> Any:
        made = s * 0.9
        made[0] = nl.sin(made[1]) + xs[k, 2]
        made[1:] += w[0, :2]
        return made

    return (nl.fori_loop(0, len(xs), step, h) ** 2).sum()


def parts_of_results(h: Any, w: Any, xs: Any) -> Any:
    last, every = nl.scan(lambda s, x: (nl.sin(s) + x, s * w[1]), h, xs)
    return last[1] * every[3:20:2].sum() + every[::-1, 0][:5].sum() + (every.T[1] ** 2).sum()


def solved(h: Any, w: Any, xs: Any) -> Any:
    eye = nl.eye(3) * 4
    return (nl.scan(lambda s, x: (nl.linalg.solve(eye + w * x, s) + x, s.max()), h, xs)[0] * h).sum()


def reduced(h: Any, w: Any, xs: Any) -> Any:
    def step(s: Any, x: Any) -> Any:
        e = nl.exp(s - s.max())
        p = e / e.sum()
        return p * x + s * 0.5, (p * w[0]).sum()

    last, every = nl.scan(step, h, xs)
    return last.prod() + nl.log(1 + every**2).sum()


def complex_numbers(h: Any, w: Any, xs: Any) -> Any:
    begin = h + 1j * xs[0]
    last, every = nl.scan(lambda s, x: ((z := s * nl.exp(0.1j * x) * 0.9 + x), nl.absolute(z)), begin, xs)
    return (last.real * w[0]).sum() + (last.imag**2).sum() + every.sum()


def mixed(h: Any, w: Any, xs: Any) -> Any:
    single = h.astype("float32")
    a, b = nl.fori_loop(
        0, len(xs), lambda k, s: ((s[0] * 0.9 + s[1].astype("float32")).astype("float32"), nl.sin(s[1]) + s[0]),
        (single, h),
    )  # fmt: skip
    return a.sum().astype(float) + (b * w).sum()


def spaced(h: Any, w: Any, xs: Any) -> Any:
    return nl.scan(lambda s, x: (nl.tanh(s + x[::-1]), None), h[::-1], xs[:, ::-1])[0].sum()


def stored(h: Any, w: Any, xs: Any) -> Any:
    """A state of which steps read elements and write to them."""

    def step(k: Any, s: Any) -> Any:
        made = s * 1
        made[k] = s[k - 1] * 0.9 + nl.sin(xs[k])
        return made

    return (nl.fori_loop(0, len(xs), step, xs * 0.1) ** 2).sum() * w[0, 0]


def unused(h: Any, w: Any, xs: Any) -> Any:
    a, _ = nl.fori_loop(0, len(xs), lambda k, s: (s[0] * 0.9 + xs[k], s[1] * s[0]), (h, w[0]))
    return a.sum() + w.sum() * 0


def constants(h: Any, w: Any, xs: Any) -> Any:
    """A loop that nothing is taken by, beside one that is."""
    held = nl.fori_loop(0, len(xs), lambda k, s: s * 0.9 + 1, OUTER)
    return (nl.scan(lambda s, x: (s * OUTER + x * held, None), h, xs)[0] * w[0]).sum()


OUTER = nl.array([0.3, 0.2, 0.1])
BODIES: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        scan_rows, product, by_number, shifted, some_rows, columns, table, several, swapped, overwritten, unchanged,
        decided, roots_of_nothing, stopped, nested, nested_scan, one_after_the_other, matrices, turned_state,
        many_orders, order_of_the_first, repeated_state, repeated_results, numbers, nothing, written,
        parts_of_results, solved, reduced, complex_numbers, mixed, spaced, stored, unused, constants,
    )
}  # fmt: skip
UNSMOOTH = ("stopped", "mixed")


def arguments(seed: int = 0, steps: int = STEPS) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(3), rng.standard_normal((3, 3)) * 0.3, rng.standard_normal((steps, 3)) * 0.5]


def gradients(cost: Callable[..., Any], hosts: list[np.ndarray]) -> list[np.ndarray]:
    found = nl.grad(cost, argnums=(0, 1, 2), allow_unused=True)(*[nl.asarray(host) for host in hosts])
    return [one.get() for one in found]


@pytest.fixture
def in_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What a function gives where all loops are unrolled."""

    def call(function: Callable[..., Any], *args: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(control, "UNROLLED", 1 << 20)
            return function(*args)

    return call


def close(found: Any, want: Any, rtol: float = 1e-9) -> None:
    for one, other in zip(found, want, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        scale = np.abs(other).max(initial=0) + 1e-12
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_gradients_are_those_of_the_steps(name: str, in_steps: Callable[..., Any]) -> None:
    cost = BODIES[name]
    compiled = nl.compile(nl.grad(cost, argnums=(0, 1, 2), allow_unused=True))
    rtol = 1e-4 if name == "mixed" else 1e-9
    for seed in range(2):
        hosts = arguments(seed)
        want = in_steps(gradients, cost, hosts)
        close(gradients(cost, hosts), want, rtol)
        close([one.get() for one in compiled(*[nl.asarray(host) for host in hosts])], want, rtol)


@pytest.mark.parametrize("name", [name for name in BODIES if name not in UNSMOOTH])
def test_gradients_are_those_of_differences(name: str) -> None:
    cost, hosts = BODIES[name], arguments(5)
    found = gradients(cost, hosts)
    rng = np.random.default_rng(7)
    compiled = nl.compile(cost)

    def at(step: float) -> float:
        moved = [nl.asarray(host + step * way) for host, way in zip(hosts, ways, strict=True)]
        return float(compiled(*moved))

    ways = [rng.standard_normal(host.shape) for host in hosts]
    size = 1e-6
    want = (at(size) - at(-size)) / (2 * size)
    assert sum([(one * way).sum() for one, way in zip(found, ways, strict=True)]) == pytest.approx(want, rel=2e-4)


LOOPED = [name for name in BODIES if name not in ("many_orders", "order_of_the_first")]


@pytest.mark.parametrize("name", LOOPED)
def test_trees_do_not_grow_with_steps(name: str) -> None:
    def sizes(steps: int) -> list[int]:
        symbols = [nl.symbol(f"x{k}", host.shape) for k, host in enumerate(arguments(0, steps))]
        found = nl.grad(BODIES[name](*symbols), symbols, allow_unused=True)
        nodes = tree_nodes([node_of(one) for one in found])
        inside = [node for node in nodes if is_loop(node)]
        assert inside
        return [len(nodes), *[len(tree_nodes(body.roots)) for node in inside for body in node.op_def.bodies]]

    for _ in range(8):  # Calls that are not learned yet put more numbers together, by a node or two.
        first, *others = sizes(40), sizes(100), sizes(1000)
        if others == [first, first]:
            return
    assert others == [first, first]


@pytest.mark.parametrize(("dtype", "inner"), [("c16", "f8"), ("c8", "f4"), ("f8", "i8"), ("i4", "f4")])
def test_what_views_of_a_loops_memory_see(dtype: str, inner: str) -> None:
    """Whole results, rows and columns of them, and their bytes as other numbers: what NumPy sees in that memory."""
    rng, size, last = np.random.default_rng(1), np.dtype(dtype).itemsize, 256
    hosts = {0: rng.integers(-9, 9, (3, 4)).astype(dtype), last: rng.standard_normal(12)}
    memory = np.zeros(last + 96, "u1")
    for begin, host in hosts.items():
        memory[begin : begin + host.nbytes] = host.reshape(-1).view("u1")
    results = {begin: node_of(nl.asarray(host)) for begin, host in hosts.items()}
    layouts: list[tuple[str, int, tuple[int, ...], tuple[int, ...]]] = [
        (dtype, 0, (3, 4), (4 * size, size)), (dtype, 0, (2, 4), (4 * size, size)),
        (dtype, size, (3, 3), (4 * size, size)),
        (dtype, 0, (3, 4), (0, size)), (dtype, 0, (4, 3), (size, 4 * size)), (dtype, 4 * size, (4,), (size,)),
        ("f8", last, (12,), (8,)), ("f8", last, (12,), (0,)), ("f8", last + 8, (5,), (16,)),
    ]  # fmt: skip
    # Parts of complex numbers lie as these do.
    layouts += [(inner, begin, (3, 4), (4 * size, size)) for begin in range(0, size, np.dtype(inner).itemsize)]
    loop = node_of(nl.asarray(memory))
    for seen, offset, shape, strides in layouts:
        found = nl.asnumpy(wrap(_seen(build.view(loop, code_of(seen), offset, shape, strides), results)))
        expected = np.ndarray(shape, seen, memory.data, offset, strides)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


SECOND = ["scan_rows", "product", "by_number", "shifted", "several", "decided", "parts_of_results", "table", "reduced",
          "repeated_state", "complex_numbers", "order_of_the_first", "written"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_gradients(name: str, in_steps: Callable[..., Any]) -> None:
    def second(h: Any, w: Any, xs: Any) -> Any:
        found = nl.grad(BODIES[name], argnums=(0, 1, 2), allow_unused=True)(h, w, xs)
        return sum([(nl.sin(one) * one).sum() for one in found])

    hosts = arguments(3, 34)
    close(gradients(second, hosts), in_steps(gradients, second, hosts), 1e-7)


@pytest.mark.parametrize("name", ["scan_rows", "product", "shifted", "several"])
def test_other_derivatives(name: str, in_steps: Callable[..., Any]) -> None:
    hosts = arguments(4, 34)
    h, w, xs = [nl.asarray(host) for host in hosts]
    cost = BODIES[name]

    def all_of_them() -> list[Any]:
        value, back = nl.vjp(cost, h, w, xs)
        first, along = nl.jvp(cost, (h, w, xs), (h, w, xs))
        rows = nl.jacobian(lambda h: nl.scan(lambda s, x: (nl.tanh(s + x), s), h * w[0], xs)[1][5])(h)
        again, parts = nl.value_and_grad(cost, argnums=(0, 1))(h, w, xs)
        found = [value, *back(nl.array(2.0)), first, along, rows, nl.hessian(lambda h: cost(h, w, xs))(h), again]
        return [one.get() for one in [*found, *parts]]

    close(all_of_them(), in_steps(all_of_them), 1e-8)


def test_arrays_from_outside_and_shared_ones(in_steps: Callable[..., Any]) -> None:
    def found() -> list[np.ndarray]:
        shared = nl.shared(np.arange(3.0) * 0.1)
        with nl.symbolic():
            x, rows = nl.array([0.5, 0.2, 0.1]), nl.asarray(np.linspace(0, 1, 120).reshape(40, 3))
            last = nl.scan(lambda s, y: (nl.sin(s * x + y) + shared, None), x, rows)[0]
            middle = last * 2
            cost = (nl.fori_loop(0, 40, lambda k, s: nl.tanh(s + middle * x), last) ** 2).sum()
            return [one.get() for one in nl.grad(cost, [x, rows, shared, last, middle])]

    close(found(), in_steps(found))


def test_results_as_what_gradients_are_taken_by(in_steps: Callable[..., Any]) -> None:
    def found() -> list[np.ndarray]:
        with nl.symbolic():
            x = nl.arange(3.0)
            last, every = nl.scan(lambda s, y: ((z := nl.sin(s) + y), z), x, nl.ones((40, 3)))
            cost = last[0] * every[3].sum() + every.T[1].sum() + (last**2).sum()
            return [one.get() for one in nl.grad(cost, [last, every])]

    close(found(), in_steps(found))


def test_draws_before_a_loop() -> None:
    def cost(x: Any) -> Any:
        noise = nl.random.default_rng(3).standard_normal((40, 3))
        return nl.scan(lambda s, e: (s * 0.9 + e * x, None), x, noise)[0].sum()

    x = nl.arange(3.0)
    noise = nl.random.default_rng(3).standard_normal((40, 3)).get()
    want = 0.9**40 + (noise * 0.9 ** np.arange(39, -1, -1)[:, None]).sum(0)
    np.testing.assert_allclose(nl.grad(cost)(x).get(), want)
    np.testing.assert_allclose(nl.compile(nl.grad(cost))(x).get(), want)


def test_while_loops_have_none() -> None:
    with pytest.raises(nl.NoGradientError if hasattr(nl, "NoGradientError") else TypeError, match="while_loop has no"):
        nl.grad(lambda x: nl.while_loop(lambda s: s.sum() < 9, lambda s: s * 2, x).sum())(nl.ones(3))


def test_large_elements_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    want = gradients(shifted, arguments())
    monkeypatch.setattr(gradient_of_loops, "KEPT_BYTES", 0)
    monkeypatch.setattr(gradient_of_loops, "_SMALL", 1 << 30)
    close(gradients(shifted, arguments()), want)


# ---------------------------------------------------------------- random programs


def random_cost(seed: int) -> Callable[..., Any]:
    """A loop whose body is made by chance: the same one for the same seed."""
    plan = np.random.default_rng(seed)
    count = int(plan.integers(1, 4))
    makes = [[int(plan.integers(0, 12)) for _ in range(int(plan.integers(2, 6)))] for _ in range(count)]
    picks = plan.integers(0, 1 << 16, (count, 8, 2))
    kind = plan.integers(0, 3)

    def one(number: int, a: Any, b: Any, w: Any, x: Any, k: Any) -> Any:
        return [
            lambda: a * 0.7 + b * 0.2, lambda: nl.sin(a) + x, lambda: nl.tanh(a @ w), lambda: nl.where(a > b, a, b * x),
            lambda: a * 0.5 + b.sum() * 0.1, lambda: a[::-1] * 0.8, lambda: nl.concatenate([a[1:], b[:1]]) * 0.9,
            lambda: nl.exp(-(a * a)) + b, lambda: a - a.max(), lambda: a * 0.6 + x * k * 0.01,
            lambda: nl.ifelse(a.sum() > b.sum(), a, b) * 0.9, lambda: nl.cumsum(a) * 0.3,
        ][number]()  # fmt: skip

    def step(states: Any, x: Any, w: Any, k: Any) -> tuple[list[Any], Any]:
        after = []
        for place, ways in enumerate(makes):
            known = [*states, x]
            for turn, way in enumerate(ways):
                a, b = (known[int(pick) % len(known)] for pick in picks[place, turn])
                known.append(one(way, a, b, w, x, k))
            after.append(nl.tanh(known[-1]))
        return after, after[0] * states[-1]

    def cost(h: Any, w: Any, xs: Any) -> Any:
        begin = [h * (place + 1) * 0.5 for place in range(count)]
        if kind == 0:
            last = nl.fori_loop(0, len(xs), lambda k, s: step(s, xs[k], w, k)[0], begin)
            return sum([(one * w[0]).sum() for one in last])
        last, every = nl.scan(lambda s, x: step(s, x, w, 1.0), begin, xs)
        return (every**2).sum() * (1 if kind == 1 else w[0, 0]) + last[0].sum() * w[1, 1]

    return cost


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, in_steps: Callable[..., Any]) -> None:
    cost = random_cost(seed)
    compiled = nl.compile(nl.grad(cost, argnums=(0, 1, 2), allow_unused=True))
    for turn in range(3 if seed % 6 == 0 else 1):
        hosts = arguments(100 + turn, 33 + seed % 4)
        want = in_steps(gradients, cost, hosts)
        found = gradients(cost, hosts) if turn == 0 else [one.get() for one in compiled(*map(nl.asarray, hosts))]
        close(found, want, 1e-7)
