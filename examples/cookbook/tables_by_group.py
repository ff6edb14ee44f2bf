"""Group a table and sum up.

A million taxi rides have an hour, a distance and a fare. Rides, mean fare by kilometre and the share of long rides
for each hour are counts with weights. The result becomes a table of pandas, and is drawn by it.

**What fuses.** Fare by kilometre and the mark of long rides are a kernel each; `bincount` is a routine that adds
them up. The table of pandas sees our memory on a CPU; from a GPU it gets a copy of 24 rows.
"""

import numpy

FULL = {"rides": 1_000_000}
SMALL = {"rides": 2_000}


def inputs(rides):
    rng = numpy.random.default_rng(6)
    hour = (rng.normal(14, 5, rides) % 24).astype(numpy.int64)
    distance = rng.gamma(2.0, 2.5, rides) + 0.3
    fare = 3 + 1.8 * distance * (1 + 0.3 * numpy.isin(hour, (8, 9, 17, 18))) + rng.normal(0, 1, rides)
    return {"hour": hour, "distance": distance, "fare": fare}


def compute(np, hour, distance, fare):
    rides = np.bincount(hour, minlength=24)
    by_km = np.bincount(hour, weights=fare / distance, minlength=24) / rides
    long = np.bincount(hour, weights=np.where(distance > 8, 1.0, 0.0), minlength=24) / rides
    return {"rides": rides, "by_km": by_km, "long": long}


def picture(figure, given, found):
    import pandas

    table = pandas.DataFrame(found)
    left, right = figure.subplots(1, 2)
    table["rides"].plot.bar(ax=left, title="rides by hour", fontsize=6)
    table[["by_km"]].plot(ax=right, title="fare by kilometre", legend=False)
