"""Gravity between all bodies: two discs meet.

Every body pulls every other one; steps are those of leapfrog. The forces are written with broadcasting, as a table
of all pairs.

**What fuses.** The table of pairs is never stored: distances, the root and the sums of forces are fused, and read
the positions only. A step is three kernels; NumPy writes a dozen tables of 640,000 numbers in each.
"""

import numpy

FULL = {"bodies": 800, "steps": 100}
SMALL = {"bodies": 60, "steps": 6}


def inputs(bodies, steps):
    rng = numpy.random.default_rng(22)
    places, speeds = [], []
    for sign in (1, -1):
        radius = 0.15 + 0.6 * numpy.sqrt(rng.random(bodies // 2))
        angle = rng.uniform(0, 2 * numpy.pi, bodies // 2)
        place = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), rng.normal(0, 0.02, bodies // 2)])
        round_ = numpy.sqrt(0.5 / radius) * numpy.stack([-numpy.sin(angle), numpy.cos(angle), 0 * angle])
        places.append(place + numpy.array([[1.0 * sign], [0.35 * sign], [0]]))
        speeds.append(round_ + numpy.array([[-0.45 * sign], [0], [0]]))
    mass = numpy.full(bodies, 0.5 / bodies)
    mass[:: bodies // 2] = 0.5  # a heavy one in each
    place, speed = numpy.concatenate(places, 1), numpy.concatenate(speeds, 1)
    for k, sign in ((0, 1), (bodies // 2, -1)):
        place[:, k] = [1.0 * sign, 0.35 * sign, 0]
        speed[:, k] = [-0.45 * sign, 0, 0]
    return {"place": place, "speed": speed, "mass": mass, "steps": steps}


def forces(np, place, mass):
    x, y, z = place
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    square = dx * dx + dy * dy + dz * dz + 0.01
    pull = mass / (square * np.sqrt(square))
    return np.stack([(pull * dx).sum(axis=1), (pull * dy).sum(axis=1), (pull * dz).sum(axis=1)])


def compute(np, place, speed, mass, steps):
    dt = 0.02
    shots = [place]
    speed = speed + 0.5 * dt * forces(np, place, mass)
    for step in range(1, steps + 1):
        place = place + dt * speed
        speed = speed + dt * forces(np, place, mass)
        if step % max(1, steps // 3) == 0:
            shots.append(place)
    return {"shots": np.stack(shots[:4])}


TOLERANCE = 1e-4


def picture(figure, given, found):
    for axis, shot in zip(figure.subplots(1, len(found["shots"])), found["shots"], strict=True):
        axis.plot(shot[0], shot[1], ".", ms=1, color="black")
        axis.set_xlim(-1.6, 1.6)
        axis.set_ylim(-1.6, 1.6)
        axis.set_aspect("equal")
        axis.axis("off")
