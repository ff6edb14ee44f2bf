"""An Asian option priced by paths of geometric Brownian motion, and a European one beside its formula."""

import math

import cupy as cp


def paths(count, steps, price, rate, volatility, years):
    step = years / steps
    shocks = cp.random.randn(count, steps, dtype=cp.float32)
    drift = (rate - 0.5 * volatility**2) * step
    return price * cp.exp(cp.cumsum(drift + volatility * math.sqrt(step) * shocks, axis=1, dtype=cp.float32))


if __name__ == "__main__":
    cp.random.seed(4)
    prices = paths(40_000, 16, 100.0, 0.03, 0.2, 1.0)
    assert prices.dtype == cp.float32
    discount = math.exp(-0.03)
    european = float(discount * cp.maximum(prices[:, -1] - 100, 0).mean())
    asian = float(discount * cp.maximum(prices.mean(axis=1) - 100, 0).mean())
    d1 = (0.03 + 0.02) / 0.2
    normal = [0.5 * math.erfc(-d / math.sqrt(2)) for d in (d1, d1 - 0.2)]
    formula = 100 * normal[0] - 100 * discount * normal[1]
    assert abs(european - formula) < 0.3, (european, formula)
    assert 0 < asian < european
    pool = cp.get_default_memory_pool()
    assert pool.used_bytes() <= pool.total_bytes()
    print("Monte Carlo: the European option within 0.3 of its formula")
