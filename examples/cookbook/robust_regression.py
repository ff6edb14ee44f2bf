"""A line that outliers do not bend: gradient descent.

Least squares follow a few wrong points; Huber's loss is a square near zero and a line far away. Its gradient is
clipped residuals, and the descent takes some hundred steps with momentum.

**What fuses.** A step is two kernels: residuals, clipping and both sums read the points together. Asking each step
whether anything still moves waits for two numbers.
"""

import numpy

FULL = {"points": 200_000, "steps": 200}
SMALL = {"points": 500, "steps": 60}


def inputs(points, steps):
    rng = numpy.random.default_rng(16)
    x = rng.uniform(-1, 1, points)
    y = 0.5 + 1.5 * x + rng.normal(0, 0.2, points)
    wrong = rng.random(points) < 0.2 * (x > 0.3)
    return {"x": x, "y": numpy.where(wrong, rng.uniform(-6, -2, points), y), "steps": steps}


def compute(np, x, y, steps):
    slope, height = np.zeros(()), np.zeros(())
    fast_slope, fast_height = np.zeros(()), np.zeros(())
    path = []
    for _ in range(steps):
        pull = np.clip(height + slope * x - y, -0.3, 0.3)
        fast_slope = 0.8 * fast_slope - 0.5 * (pull * x).mean()
        fast_height = 0.8 * fast_height - 0.5 * pull.mean()
        slope, height = slope + fast_slope, height + fast_height
        path.append(np.stack([slope, height]))
        if abs(float(fast_slope)) + abs(float(fast_height)) < 1e-12:
            break
    squares = np.polyfit(x, y, 1)
    return {"huber": np.stack([slope, height]), "squares": squares, "path": np.stack(path)}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.plot(given["x"][:1500], given["y"][:1500], ",", color="gray")
    ends = numpy.array([-1.0, 1.0])
    for name in ("huber", "squares"):
        slope, height = found[name].tolist()
        left.plot(ends, height + slope * ends, label=name)
    left.legend()
    right.plot(found["path"], label=["slope", "height"])
    right.set_xlabel("step")
    right.legend()
