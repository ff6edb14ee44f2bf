"""A small neural network on two spirals.

Two layers with `tanh`, trained by gradient descent with derivatives written by hand. The picture is what the
network says about each point of the plane.

**What fuses.** Around the products everything is fused: `tanh` and the addition before it, its derivative `1 − h²`
times what comes from above, and the update of all weights in place.
"""

import numpy

FULL = {"points": 1000, "hidden": 64, "steps": 300}
SMALL = {"points": 60, "hidden": 8, "steps": 20}


def inputs(points, hidden, steps):
    rng = numpy.random.default_rng(17)
    label = numpy.arange(points) % 2
    radius = rng.uniform(0.1, 1, points)
    angle = 2.2 * numpy.pi * radius + numpy.pi * label
    x = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], axis=1) * 3
    weights = [rng.normal(0, 1.2, shape) / numpy.sqrt(shape[0] / 2) for shape in ((2, hidden), (hidden, hidden))]
    return {"x": x, "label": label, "w1": weights[0], "w2": weights[1], "steps": steps}


def compute(np, x, label, w1, w2, steps):
    hidden = w1.shape[1]
    w = [np.array(w1), np.zeros(hidden), np.array(w2), np.zeros(hidden), np.zeros((hidden, 1)), np.zeros(1)]
    speed = [np.zeros_like(one) for one in w]
    target = label[:, None]
    losses = []
    for _ in range(steps):
        h1 = np.tanh(x @ w[0] + w[1])
        h2 = np.tanh(h1 @ w[2] + w[3])
        p = 1 / (1 + np.exp(-(h2 @ w[4] + w[5])))
        losses.append(-np.where(target == 1, np.log(p + 1e-12), np.log(1 - p + 1e-12)).mean())
        d3 = (p - target) / len(x)
        d2 = (d3 @ w[4].T) * (1 - h2**2)
        d1 = (d2 @ w[2].T) * (1 - h1**2)
        slopes = [x.T @ d1, d1.sum(axis=0), h1.T @ d2, d2.sum(axis=0), h2.T @ d3, d3.sum(axis=0)]
        for one, fast, slope in zip(w, speed, slopes, strict=True):
            fast *= 0.9
            fast -= 0.15 * slope
            one += fast
    at = np.linspace(-3.3, 3.3, 120)
    gx, gy = np.meshgrid(at, at)
    plane = np.stack([gx.ravel(), gy.ravel()], axis=1)
    says = 1 / (1 + np.exp(-(np.tanh(np.tanh(plane @ w[0] + w[1]) @ w[2] + w[3]) @ w[4] + w[5])))
    return {"losses": np.stack(losses), "says": says.reshape(120, 120)}


def agree(a, b):
    # Rounding of sums grows with the steps; early losses must be alike, and the last ones small in both.
    same = numpy.allclose(a["losses"][:20], b["losses"][:20], rtol=1e-6)
    return same and abs(float(a["losses"][-1]) - float(b["losses"][-1])) < 0.1


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow(found["says"], origin="lower", extent=(-3.3, 3.3, -3.3, 3.3), cmap="RdBu", alpha=0.7)
    left.scatter(*given["x"].T, c=given["label"], cmap="RdBu", s=4, edgecolors="black", linewidths=0.2)
    right.semilogy(found["losses"])
    right.set_title("loss by step")
