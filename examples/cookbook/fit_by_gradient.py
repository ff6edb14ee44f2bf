"""Fit a curve with derivatives that nobody wrote.

Two peaks over a slope have seven parameters. `grad` differentiates the loss as it is written, and the descent
follows it (Adam). Under NumPy, which has no gradients, the same derivatives stand below by hand.

**What fuses.** The loss, its gradient and the step of Adam are some nine kernels a step. `grad` records the
derivatives as ordinary work, so they fuse with what stands around them.
"""

import numpy

FULL = {"points": 50_000, "steps": 400}
SMALL = {"points": 200, "steps": 30}


def inputs(points, steps):
    rng = numpy.random.default_rng(18)
    x = numpy.sort(rng.uniform(0, 10, points))
    y = 0.3 + 2 * numpy.exp(-(((x - 3) / 0.7) ** 2)) + 1.2 * numpy.exp(-(((x - 6.5) / 1.1) ** 2))
    return {"x": x, "y": y + rng.normal(0, 0.1, points), "steps": steps}


def model(np, p, x):
    return p[0] + p[1] * np.exp(-(((x - p[2]) / p[3]) ** 2)) + p[4] * np.exp(-(((x - p[5]) / p[6]) ** 2))


def by_hand(np, p, x, y):
    """The gradient of the loss, where there is no `grad`."""
    rest = 2 * (model(np, p, x) - y) / x.size
    parts = [rest.sum()]
    for height, middle, width in (p[1:4], p[4:7]):
        u = (x - middle) / width
        hill = np.exp(-(u**2))
        parts += [(rest * hill).sum(), (rest * height * hill * 2 * u / width).sum()]
        parts.append((rest * height * hill * 2 * u**2 / width).sum())
    return np.stack(parts)


def compute(np, x, y, steps):
    def loss(p):
        return ((model(np, p, x) - y) ** 2).mean()

    slope_of = np.grad(loss) if hasattr(np, "grad") else lambda p: by_hand(np, p, x, y)
    p = np.asarray([0.0, 1.0, 2.5, 1.0, 1.0, 7.5, 1.0])
    first, second = np.zeros(7), np.zeros(7)
    for step in range(1, steps + 1):
        slope = slope_of(p)
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        p = p - 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return {"parameters": p, "curve": model(np, p, x), "loss": loss(p)}


TOLERANCE = 1e-5


def picture(figure, given, found):
    axis = figure.subplots()
    some = slice(None, None, max(1, given["x"].size // 3000))
    axis.plot(given["x"][some], given["y"][some], ",", color="gray")
    axis.plot(given["x"][some], found["curve"][some], lw=2)
    axis.set_title(", ".join(f"{one:.2f}" for one in found["parameters"].tolist()))
