"""Find clusters: k-means.

A point belongs to the nearest centre, and a centre is the mean of its points. Both steps are repeated.

**What fuses.** Distances to all centres and the index of the smallest are one kernel, which stores no table of
distances. The means are counts with weights.
"""

import numpy

FULL = {"points": 200_000, "k": 12, "rounds": 15}
SMALL = {"points": 600, "k": 4, "rounds": 5}


def inputs(points, k, rounds):
    rng = numpy.random.default_rng(14)
    middle = rng.uniform(-1, 1, (k, 2))
    of = rng.integers(0, k, points)
    x = middle[of] + rng.normal(0, 0.09, (points, 2)) * rng.uniform(0.4, 1.5, (k, 1))[of]
    return {"points": x, "start": x[:k].copy(), "rounds": rounds}


def compute(np, points, start, rounds):
    centres = start
    k = start.shape[0]
    for _ in range(rounds):
        square = ((points[:, None, :] - centres) ** 2).sum(axis=-1)
        nearest = square.argmin(axis=1)
        counts = np.maximum(np.bincount(nearest, minlength=k), 1)
        centres = np.stack([np.bincount(nearest, weights=points[:, d], minlength=k) for d in (0, 1)], axis=1)
        centres = centres / counts[:, None]
    return {"centres": centres, "nearest": nearest}


def picture(figure, given, found):
    axis = figure.subplots()
    some = slice(None, 8000)
    axis.scatter(*given["points"][some].T, c=found["nearest"][some], s=1, cmap="tab20")
    axis.plot(*found["centres"].T, "k+", ms=12)
    axis.set_aspect("equal")
