"""Moving averages, bands and drawdown of a time series.

A band around a price is its mean of the last days and twice their deviation. Windows are views of the series; the
deepest fall so far is a running maximum.

**What fuses.** A window's mean and deviation are taken in one pass over the series, without a table of windows.
What is done with both (the band, the days outside of it) is in the same kernel.
"""

import numpy

FULL = {"days": 1_000_000, "width": 60}
SMALL = {"days": 500, "width": 20}


def inputs(days, width):
    rng = numpy.random.default_rng(5)
    return {"price": 100 * numpy.exp(numpy.cumsum(rng.normal(0, 0.004, days))), "width": width}


def compute(np, price, width):
    windows = np.lib.stride_tricks.sliding_window_view(price, width)
    mean, deviation = windows.mean(axis=1), windows.std(axis=1)
    now = price[width - 1 :]
    outside = np.abs(now - mean) > 2 * deviation
    fall = 1 - now / np.maximum.accumulate(price)[width - 1 :]
    return {"mean": mean, "low": mean - 2 * deviation, "high": mean + 2 * deviation, "fall": fall, "outside": outside}


def picture(figure, given, found):
    top, bottom = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    days = numpy.arange(400)
    top.plot(days, given["price"][given["width"] - 1 :][:400], lw=0.8)
    top.plot(days, found["mean"][:400])
    top.fill_between(days, found["low"][:400], found["high"][:400], alpha=0.2)
    bottom.fill_between(days, -found["fall"][:400], color="red", alpha=0.5)
    bottom.set_ylabel("fall")
