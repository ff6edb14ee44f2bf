"""The game of life.

A cell lives on with two or three living neighbours, and is born with three. Eight shifted views are added; the rest
are comparisons of bytes.

**What fuses.** A generation is two kernels over bytes, of cells and of ages: neighbours are read around the edges
of the torus, and neither sums nor comparisons are stored.
"""

import numpy

FULL = {"side": 1024, "steps": 200}
SMALL = {"side": 40, "steps": 20}


def inputs(side, steps):
    return {"start": (numpy.random.default_rng(25).random((side, side)) < 0.3).astype(numpy.uint8), "steps": steps}


def compute(np, start, steps):
    cells = np.asarray(start)
    age = np.zeros(start.shape, dtype=np.int32)
    for _ in range(steps):
        rows = np.roll(cells, 1, 0) + cells + np.roll(cells, -1, 0)
        near = np.roll(rows, 1, 1) + rows + np.roll(rows, -1, 1) - cells
        cells = ((near == 3) | ((near == 2) & (cells == 1))).astype(np.uint8)
        age = np.where(cells == 1, age + 1, 0)
    return {"cells": cells, "age": age}


def picture(figure, given, found):
    axis = figure.subplots()
    axis.imshow(numpy.log1p(found["age"][:150, :300].tolist()), cmap="inferno")
    axis.set_title("how long cells live")
    axis.axis("off")
