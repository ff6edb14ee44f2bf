"""A picture of dots: Voronoi cells.

Points move to the centre of what they are nearest to, weighted by darkness (Lloyd). After some rounds dots are
dense where the picture is dark.

**What fuses.** The nearest of a thousand points for each pixel is one kernel, which keeps distances in registers.
Centres are three counts with weights.
"""

import numpy

FULL = {"step": 4, "points": 1000, "rounds": 12}
SMALL = {"step": 20, "points": 30, "rounds": 3}


def inputs(step, points, rounds):
    from sklearn.datasets import load_sample_image

    dark = 1 - load_sample_image("flower.jpg")[::step, ::step].mean(axis=2) / 255
    dark = dark**3
    rng = numpy.random.default_rng(26)
    chosen = rng.choice(dark.size, points, p=dark.ravel() / dark.sum(), replace=False)
    start = numpy.stack(numpy.unravel_index(chosen, dark.shape), axis=1) + rng.uniform(-0.5, 0.5, (points, 2))
    return {"dark": dark, "start": start, "rounds": rounds}


def compute(np, dark, start, rounds):
    rows, columns = dark.shape
    y = np.repeat(np.arange(rows), columns).astype(np.float64)
    x = np.tile(np.arange(columns), rows).astype(np.float64)
    weight = dark.ravel()
    places = start
    count = len(start)
    for _ in range(rounds):
        square = (y[:, None] - places[:, 0]) ** 2 + (x[:, None] - places[:, 1]) ** 2
        nearest = square.argmin(axis=1)
        mass = np.bincount(nearest, weights=weight, minlength=count)
        moved = [np.bincount(nearest, weights=weight * one, minlength=count) / (mass + 1e-12) for one in (y, x)]
        places = np.where(mass[:, None] > 0, np.stack(moved, axis=1), places)
    return {"places": places, "nearest": nearest.reshape(rows, columns), "mass": mass}


def agree(a, b):
    # Sums in another order may give a pixel on a border to the other side, and move its points a little.
    return float((numpy.abs(a["places"] - b["places"]) > 0.5).mean()) < 0.02


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow((found["nearest"] * 37) % 256, cmap="prism")
    left.set_title("cells")
    right.scatter(found["places"][:, 1], -found["places"][:, 0], s=found["mass"] / found["mass"].max() * 8, c="black")
    right.set_aspect("equal")
    left.axis("off")
    right.axis("off")
