"""Fusion as a number: how many kernels an expression is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.engine.state import counters
from numloom.testing import assert_kernels

pytestmark = pytest.mark.skipif(
    nl.config.eager or nl.config.executor != "fused", reason="counts are those of the fused executor, not eager"
)


def array(*shape: int, seed: int = 0) -> Any:
    return nl.asarray(np.random.default_rng(seed).uniform(0.1, 2.0, shape).astype("f4"))


def logsumexp(x: Any) -> Any:
    m = x.max(1, keepdims=True)
    return nl.log(nl.exp(x - m).sum(1, keepdims=True)) + m


def softmax(x: Any) -> Any:
    e = nl.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


EXPRESSIONS = {
    "softplus": (1, lambda x, y: nl.maximum(0, x) + nl.log1p(nl.exp(-abs(x)))),
    "arange": (1, lambda x, y: nl.arange(10_000).reshape(1000, -1).T * 2),
    "logsumexp": (1, lambda x, y: logsumexp(x)),
    "l2 norm": (1, lambda x, y: nl.sqrt((x * x).sum(1))),
    "mean of squares": (1, lambda x, y: ((x - y) ** 2).mean()),
    "var": (1, lambda x, y: x.var()),
    "where sum": (1, lambda x, y: nl.where(x > 1, x, 0).sum()),
    "transposed": (1, lambda x, y: x.T + y.T),
    "softmax": (1, lambda x, y: softmax(x)),
    "hundred steps": (1, lambda x, y: steps(x, 100)),
    "matrix vector": (1, lambda x, y: 1 / (1 + nl.exp(-(x @ y[0]))) - y[0, 0]),
}


def steps(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x * 0.9 + 0.1
    return x


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name: str) -> None:
    most, expression = EXPRESSIONS[name]
    x, y = array(40, 50), array(40, 50, seed=1)
    nl.synchronize()
    before = counters.kernels
    result = expression(x, y)
    nl.evaluate(result)
    assert counters.kernels - before <= most


def test_black_scholes_is_one_kernel_with_two_outputs() -> None:
    price, strike, years = (array(1000, seed=k) for k in range(3))

    def cdf(d: Any) -> Any:
        k = 1 / (1 + 0.2316419 * abs(d))
        poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = 0.3989422804014327 * nl.exp(-0.5 * d * d) * poly
        return nl.where(d > 0, 1 - tail, tail)

    with assert_kernels(1):
        root = nl.sqrt(years)
        d1 = (nl.log(price / strike) + 0.065 * years) / (0.3 * root)
        d2 = d1 - 0.3 * root
        c1, c2, discount = cdf(d1), cdf(d2), nl.exp(-0.02 * years)
        call = price * c1 - strike * discount * c2
        put = strike * discount * (1 - c2) - price * (1 - c1)
        del root, d1, d2, c1, c2, discount
        nl.evaluate(call, put)


def test_a_stencil_step_is_one_kernel_and_no_copy() -> None:
    u = array(64, 70)
    copies = counters.copies
    with assert_kernels(1):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    assert counters.copies == copies


def test_mean_and_std_share_a_pass() -> None:
    x = array(100, 30)
    with assert_kernels(1):
        mean, std = x.mean(0), x.std(0)
        nl.evaluate(mean, std)


def test_assigning_an_element_copies_nothing() -> None:
    x = array(100_000)
    nl.synchronize()
    copies = counters.copies
    for k in range(300):
        x[k] = k
    nl.synchronize()
    assert counters.copies == copies
    np.testing.assert_array_equal(nl.asnumpy(x[:300]), np.arange(300, dtype="f4"))


def test_edges_written_from_their_neighbours_copy_nothing() -> None:
    u = array(50, 50)
    expected = nl.asnumpy(u).copy()
    copies = counters.copies
    u[0] = u[1]
    u[-1] = u[-2]
    expected[0], expected[-1] = expected[1], expected[-2]
    np.testing.assert_array_equal(nl.asnumpy(u), expected)
    assert counters.copies == copies


def test_a_hundred_thousand_operations() -> None:
    x = nl.asarray(np.zeros(10))
    for _ in range(100_000):
        x = x + 1
    np.testing.assert_array_equal(nl.asnumpy(x), np.full(10, 1e5))


def test_a_metric_that_nobody_reads_stays_bounded() -> None:
    from numloom.graph.node import live_nodes

    x = array(100)
    metric = nl.asarray(np.zeros(()))
    for _ in range(2000):
        x = x * 0.99
        metric = metric + x.sum()
        # Some of them are computed at once, and count as recorded until something runs.
        assert len(live_nodes()) <= nl.config.max_pending + 8
    assert float(metric) > 0


def test_inputs_that_only_recorded_work_needs_are_let_go() -> None:
    with nl.config(orphan_bytes=1 << 20):
        sums = []
        for _ in range(8):
            big = nl.asarray(np.ones(1 << 18))
            sums.append(big.sum())
            del big
        from numloom.graph.node import register

        assert register.orphan_bytes <= 4 << 20
        assert [float(s) for s in sums] == [float(1 << 18)] * 8


def test_parts_of_a_complex_value_do_not_have_it_stored() -> None:
    c = nl.asarray(np.linspace(-2, 2, 64).astype("c8"))
    with assert_kernels(1):
        z = c * c
        for _ in range(6):
            z = z * z * 0.25 + c * z.real - z.imag * z.imag
        nl.evaluate(z)
