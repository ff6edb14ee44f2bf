"""Spots and stripes: a reaction that diffuses.

Two substances react and spread at different speeds (Gray and Scott). From a few seeds grow patterns like those of
shells and corals.

**What fuses.** A step of both substances, two Laplacians and the reaction, is one kernel that writes both; float32
is enough, and half the memory.
"""

import numpy

FULL = {"side": 256, "steps": 3000}
SMALL = {"side": 32, "steps": 20}


def inputs(side, steps):
    rng = numpy.random.default_rng(24)
    u, v = numpy.ones((side, side), numpy.float32), numpy.zeros((side, side), numpy.float32)
    for y, x in rng.integers(0, side - 10, (20, 2)):
        u[y : y + 10, x : x + 10] = 0.5
        v[y : y + 10, x : x + 10] = 0.25
    v += rng.uniform(0, 0.02, v.shape).astype(numpy.float32)
    return {"u": u, "v": v, "steps": steps}


def laplace(np, a):
    return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a


def compute(np, u, v, steps):
    for _ in range(steps):
        react = u * v * v
        u, v = (
            u + 0.16 * laplace(np, u) - react + 0.035 * (1 - u),
            v + 0.08 * laplace(np, v) + react - (0.035 + 0.06) * v,
        )
    return {"u": u, "v": v}


def picture(figure, given, found):
    axis = figure.subplots()
    axis.imshow(found["v"], cmap="magma")
    axis.axis("off")
