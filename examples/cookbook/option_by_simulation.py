"""Price an option by simulation.

An Asian option pays by the mean of a price over time. Two hundred thousand paths are drawn, each with its mirror
image (antithetic draws), which makes the error smaller.

**What fuses.** Drawing and scaling are one kernel and running sums a scan; exponentials, means over time, payoffs
and discount are fused again. Under NumPy each step of a formula is a table of 64 by 200,000.
"""

import numpy

FULL = {"paths": 200_000, "days": 64}
SMALL = {"paths": 4_000, "days": 16}
TOLERANCE = 0.06  # other random numbers, so another estimate


def inputs(paths, days):
    return {"paths": paths, "days": days}


def compute(np, paths, days):
    spot, strike, rate, volatility, years = 100.0, 105.0, 0.03, 0.25, 1.0
    dt = years / days
    draws = np.random.default_rng(7).standard_normal((days, paths))
    payoffs = []
    for sign in (1.0, -1.0):
        logs = np.cumsum((rate - volatility**2 / 2) * dt + sign * volatility * numpy.sqrt(dt) * draws, axis=0)
        mean = (spot * np.exp(logs)).mean(axis=0)
        payoffs.append(np.maximum(mean - strike, 0) * numpy.exp(-rate * years))
    value = (payoffs[0] + payoffs[1]) / 2
    return {"price": value.mean(), "histogram": np.histogram(value, bins=40, range=(0, 60))[0] / paths}


def agree(a, b):
    return abs(float(a["price"]) / float(b["price"]) - 1) < TOLERANCE


def picture(figure, given, found):
    axis = figure.subplots()
    axis.bar(numpy.arange(40) * 1.5, found["histogram"], width=1.4)
    axis.set_yscale("log")
    axis.set_title(f"payoffs; price {float(found['price']):.3f}")
