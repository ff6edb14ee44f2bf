"""A smooth density of points.

Each of some thousand points is a small hill, and the density at a place is the sum of all hills. The smooth surface
stands beside a histogram of the same points.

**What fuses.** The table of 10,000 places by 5,000 points, its exponentials included, lives in registers only:
distance, hill and sum are one kernel. NumPy stores 50 million numbers for each step.
"""

import numpy

FULL = {"points": 5000, "side": 100}
SMALL = {"points": 200, "side": 12}


def inputs(points, side):
    rng = numpy.random.default_rng(10)
    angle = rng.uniform(0, 2 * numpy.pi, points)
    ring = numpy.stack([numpy.cos(angle), numpy.sin(angle)]) * rng.choice([0.5, 1.3], points)
    return {"x": ring[0] + rng.normal(0, 0.12, points), "y": ring[1] + rng.normal(0, 0.12, points), "side": side}


def compute(np, x, y, side):
    width = 0.1
    grid = np.linspace(-2, 2, side)
    gx, gy = np.meshgrid(grid, grid)
    square = (gx.reshape(-1, 1) - x) ** 2 + (gy.reshape(-1, 1) - y) ** 2
    hills = np.exp(-square / (2 * width**2)).sum(axis=1) / (2 * np.pi * width**2 * x.size)
    counts = np.histogram2d(y, x, bins=40, range=[[-2, 2], [-2, 2]])[0]
    return {"density": hills.reshape(side, side), "counts": counts}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow(found["counts"], origin="lower", extent=(-2, 2, -2, 2))
    left.set_title("histogram")
    grid = numpy.linspace(-2, 2, given["side"])
    right.contourf(grid, grid, found["density"], levels=15)
    right.set_aspect("equal")
    right.set_title("density")
