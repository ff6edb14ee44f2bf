"""How sure is a median? Bootstrap.

Samples are drawn again from the sample, with replacement, thousands of times. The spread of their medians and means
is the error of both, without any formula.

**What fuses.** Drawing places and gathering values there is one kernel, which writes the table that is sorted for
the medians. The means are a sum over the same table.
"""

import numpy

FULL = {"size": 400, "times": 20_000}
SMALL = {"size": 50, "times": 400}


def inputs(size, times):
    rng = numpy.random.default_rng(8)
    return {"sample": rng.lognormal(1.0, 0.8, size), "times": times}


def compute(np, sample, times):
    places = np.random.default_rng(9).integers(0, sample.size, (times, sample.size))
    again = sample[places]
    means, medians = again.mean(axis=1), np.median(again, axis=1)
    levels = [2.5, 50, 97.5]
    return {
        "means": means,
        "medians": medians,
        "of_mean": np.percentile(means, levels),
        "of_median": np.percentile(medians, levels),
    }


def agree(a, b):
    pairs = [(a[name], b[name]) for name in ("of_mean", "of_median")]
    return all(numpy.allclose(one, other, rtol=0.1) for one, other in pairs)


def picture(figure, given, found):
    axis = figure.subplots()
    axis.hist(found["means"], bins=60, alpha=0.6, label="mean")
    axis.hist(found["medians"], bins=60, alpha=0.6, label="median")
    for place in [*found["of_mean"].tolist()[::2], *found["of_median"].tolist()[::2]]:
        axis.axvline(place, color="black", lw=0.7)
    axis.legend()
