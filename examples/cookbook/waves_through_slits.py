"""Waves through two slits.

The wave equation on a grid: a source at the left, a wall with two openings, and edges that take waves in. Behind
the wall the waves of both openings add up and cancel.

**What fuses.** A step is two kernels: the neighbours of each point, the step before, the wall and the damping edge;
and the brightness.
"""

import numpy

FULL = {"rows": 320, "columns": 400, "steps": 900}
SMALL = {"rows": 40, "columns": 50, "steps": 40}


def inputs(rows, columns, steps):
    y = numpy.abs(numpy.arange(rows) - rows / 2)[:, None]
    x = numpy.arange(columns)
    near, wide = rows / 10, rows / 50
    solid = (x == columns // 4) & (numpy.abs(y - near) > wide)
    edge = numpy.minimum(numpy.minimum(x, columns - 1 - x), rows / 2 - y)
    damping = numpy.where(edge < rows / 12, 0.12 * (1 - edge / (rows / 12)) ** 2, 0.0)
    return {"solid": solid, "damping": damping, "steps": steps}


def compute(np, solid, damping, steps):
    u, before = np.zeros(solid.shape), np.zeros(solid.shape)
    column = solid.shape[1] // 12
    bright = np.zeros(solid.shape)
    for step in range(steps):
        laplace = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        after = (2 * u - before + 0.25 * laplace) * (1 - damping)
        after = np.where(solid, 0.0, after)
        after[:, column] += 0.1 * numpy.sin(0.22 * step)
        u, before = after, u
        bright += u**2
    return {"wave": u, "bright": bright}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    most = float(numpy.percentile(numpy.abs(found["wave"].tolist()), 99))
    left.imshow(found["wave"], cmap="RdBu", vmin=-most, vmax=most)
    left.contour(given["solid"], levels=[0.5], colors="black", linewidths=0.7)
    right.imshow(numpy.log(numpy.asarray(found["bright"].tolist()) + 1e-2), cmap="magma")
    right.set_title("brightness")
    left.axis("off")
    right.axis("off")
