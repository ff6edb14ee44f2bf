"""Where random walkers get.

Twenty thousand walkers take a thousand steps each in one of four directions. The mean square of the distance grows
like the number of steps, and the largest distance so far like its root.

**What fuses.** Drawing a direction and taking the step's two parts of it are fused, running sums are scans. Squares
and means over walkers are the next kernels.
"""

FULL = {"walkers": 20_000, "steps": 1000}
SMALL = {"walkers": 400, "steps": 60}


def inputs(walkers, steps):
    return {"walkers": walkers, "steps": steps}


def compute(np, walkers, steps):
    direction = np.random.default_rng(11).integers(0, 4, (steps, walkers))
    x = np.cumsum(np.where(direction == 0, 1, 0) - np.where(direction == 1, 1, 0), axis=0, dtype=np.int32)
    y = np.cumsum(np.where(direction == 2, 1, 0) - np.where(direction == 3, 1, 0), axis=0, dtype=np.int32)
    square = (x**2 + y**2).mean(axis=1)
    far = np.sqrt((x**2 + y**2).max(axis=0)).mean()
    return {"square": square, "far": far, "x": x[:, :6], "y": y[:, :6]}


def agree(a, b):
    last = [float(one["square"][-1]) for one in (a, b)]
    return abs(last[0] / last[1] - 1) < 0.25 and abs(float(a["far"]) / float(b["far"]) - 1) < 0.15


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.plot(found["x"], found["y"], lw=0.6)
    left.set_aspect("equal")
    right.plot(found["square"])
    right.plot([0, given["steps"]], [0, given["steps"]], "k:")
    right.set_title("mean square of the distance")
