"""Chaos: many weathers that start alike.

Lorenz' equations for fifty thousand starting points that differ by a thousandth, by the method of Runge and Kutta.
After some time the points are everywhere.

**What fuses.** A step evaluates the equations four times, some sixty operations on three arrays: on a GPU one
kernel that reads three arrays and writes three, on a CPU ready-made loops for work of this size.
"""

import numpy

FULL = {"points": 50_000, "steps": 300}
SMALL = {"points": 200, "steps": 40}


def inputs(points, steps):
    rng = numpy.random.default_rng(23)
    return {"start": numpy.array([[1.0], [1.0], [20.0]]) + rng.normal(0, 1e-3, (3, points)), "steps": steps}


def slopes(x, y, z):
    return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z


def compute(np, start, steps):
    x, y, z = start[0], start[1], start[2]
    h = 0.05
    spread = []
    for _ in range(steps):
        a = slopes(x, y, z)
        b = slopes(x + h / 2 * a[0], y + h / 2 * a[1], z + h / 2 * a[2])
        c = slopes(x + h / 2 * b[0], y + h / 2 * b[1], z + h / 2 * b[2])
        d = slopes(x + h * c[0], y + h * c[1], z + h * c[2])
        x = x + h / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
        y = y + h / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
        z = z + h / 6 * (a[2] + 2 * b[2] + 2 * c[2] + d[2])
        spread.append(x.std())
    return {"x": x, "z": z, "spread": np.stack(spread)}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.plot(found["x"][:20000], found["z"][:20000], ",")
    left.set_title("all points at the end")
    right.semilogy(found["spread"])
    right.set_title("spread by step")
