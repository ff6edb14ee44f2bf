"""Prices and sensitivities of many options.

The formula of Black and Scholes for every pair of spot price and time to maturity, with its derivatives: delta,
gamma, vega and theta. The normal distribution is SciPy's, which takes our arrays.

**What fuses.** Five tables come from two short vectors in three kernels. What they have in common (`d1`, the
density) is computed for an element and never stored.
"""

import numpy
from scipy import special

FULL = {"side": 1200}
SMALL = {"side": 24}


def inputs(side):
    return {"spot": numpy.linspace(50, 150, side), "years": numpy.linspace(0.05, 2, side)}


def compute(np, spot, years):
    strike, rate, volatility = 100.0, 0.02, 0.2
    s, t = spot, years[:, None]
    root = volatility * np.sqrt(t)
    d1 = (np.log(s / strike) + (rate + volatility**2 / 2) * t) / root
    d2 = d1 - root
    discount = strike * np.exp(-rate * t)
    density = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    delta = special.ndtr(d1)
    return {
        "price": s * delta - discount * special.ndtr(d2),
        "delta": delta,
        "gamma": density / (s * root),
        "vega": s * density * np.sqrt(t),
        "theta": -s * density * volatility / (2 * np.sqrt(t)) - rate * discount * special.ndtr(d2),
    }


def picture(figure, given, found):
    for axis, name in zip(figure.subplots(1, 4), ("price", "delta", "gamma", "vega"), strict=True):
        axis.imshow(found[name][::8, ::8], origin="lower", extent=(50, 150, 0.05, 2), aspect="auto")
        axis.set_title(name)
        axis.set_xlabel("spot")
