"""Follow many things that are seen badly: Kalman filters.

Fifty thousand objects move with nearly constant speed; where they are is measured with noise. A filter for each
keeps position, speed and how sure it is of both, and all filters take their step together.

**What fuses.** On a GPU a step of all filters, with some thirty operations, is one kernel: what is known of an
object is read once and written once. On a CPU work of this size runs by ready-made loops. Written
with matrices of 2 by 2 it would be hundreds of small products.
"""

import numpy

FULL = {"objects": 50_000, "steps": 100}
SMALL = {"objects": 100, "steps": 20}


def inputs(objects, steps):
    rng = numpy.random.default_rng(19)
    speed = numpy.cumsum(rng.normal(0, 0.05, (steps, objects)), axis=0) + rng.normal(0, 1, objects)
    place = numpy.cumsum(speed, axis=0)
    return {"seen": place + rng.normal(0, 3, place.shape), "place": place}


def compute(np, seen, place):
    objects = seen.shape[1]
    x, v = np.array(seen[0]), np.zeros(objects)
    p, q, r = np.full(objects, 9.0), np.zeros(objects), np.full(objects, 4.0)  # variances and covariance
    errors, one = [], []
    for k in range(1, len(seen)):
        x, p, q, r = x + v, p + 2 * q + r + 0.01, q + r, r + 0.003
        gain_x, gain_v = p / (p + 9), q / (p + 9)
        off = seen[k] - x
        x, v = x + gain_x * off, v + gain_v * off
        p, q, r = (1 - gain_x) * p, (1 - gain_x) * q, r - gain_v * q
        errors.append(np.sqrt(((x - place[k]) ** 2).mean()))
        one.append(x[0])
    return {"errors": np.stack(errors), "one": np.stack(one)}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.plot(given["seen"][1:, 0], ".", ms=3, label="seen")
    left.plot(given["place"][1:, 0], label="is")
    left.plot(found["one"], label="filtered")
    left.legend()
    right.plot(found["errors"])
    right.set_title("error (measured: 3)")
    right.set_ylim(0)
