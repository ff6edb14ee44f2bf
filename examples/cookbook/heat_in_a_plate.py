"""Heat in a plate, written in place.

A plate is hot along one edge and around a hole, and cold elsewhere. Each step moves the inner points towards the
mean of their neighbours; the places that are held are written again.

**What fuses.** `u[1:-1, 1:-1] += ...` reads neighbours that it also writes: it is one kernel, and numloom finds out
whether it may run in place. Results have NumPy's bits.
"""

import numpy

FULL = {"side": 512, "steps": 400}
SMALL = {"side": 32, "steps": 20}


def inputs(side, steps):
    at = numpy.linspace(-1, 1, side)
    hole = (at - 0.2) ** 2 + (at[:, None] - 0.1) ** 2 < 0.05
    start = numpy.where(hole, 60.0, 0.0)
    start[0] = 100.0
    return {"start": start, "hole": hole, "steps": steps}


def compute(np, start, hole, steps):
    u = np.array(start)
    inner = u[1:-1, 1:-1]
    held = hole[1:-1, 1:-1]
    for _ in range(steps):
        step = 0.24 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
        inner += np.where(held, 0.0, step)
    return {"heat": u}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow(given["start"], cmap="inferno")
    shown = right.imshow(found["heat"], cmap="inferno")
    right.contour(found["heat"], levels=[5, 20, 40, 80], colors="white", linewidths=0.6)
    figure.colorbar(shown, ax=right, shrink=0.8)
