"""Draw balls by casting rays.

A ray through each pixel meets the nearest of some balls over a floor; where it meets one, light, shadow and the
floor's squares give the colour. There is no loop over pixels, only one over balls.

**What fuses.** The whole picture is four kernels: rays, hits with all balls, shadows and colours are some hundred
operations on values that stay in registers.
"""

import numpy

FULL = {"rows": 600, "columns": 900}
SMALL = {"rows": 24, "columns": 36}
BALLS = [(-1.2, 0.5, 4.0, 0.5), (0.0, 0.8, 5.0, 0.8), (1.3, 0.45, 3.6, 0.45), (0.35, 0.25, 3.1, 0.25)]
COLOURS = [(0.9, 0.3, 0.2), (0.2, 0.6, 0.9), (0.95, 0.8, 0.2), (0.3, 0.8, 0.4)]


def inputs(rows, columns):
    return {"rows": rows, "columns": columns}


def hit(np, start, ray, ball):
    """How far a ray goes to a ball (infinitely, where it misses)."""
    cx, cy, cz, radius = ball
    ox, oy, oz = start[0] - cx, start[1] - cy, start[2] - cz
    b = ox * ray[0] + oy * ray[1] + oz * ray[2]
    under = b * b - (ox * ox + oy * oy + oz * oz - radius * radius)
    far = -b - np.sqrt(np.maximum(under, 0.0))
    return np.where((under > 0) & (far > 1e-3), far, np.inf)


def compute(np, rows, columns):
    x = np.linspace(-0.75, 0.75, columns) + np.zeros((rows, 1))
    y = np.linspace(0.35, -0.55, rows)[:, None] + np.zeros(columns)
    length = np.sqrt(x * x + y * y + 1)
    ray = (x / length, y / length, 1 / length)
    eye = (0.0, 1.1, 0.0)
    light = (0.5, 0.75, -0.433)

    floor = np.where(ray[1] < 0, -eye[1] / np.minimum(ray[1], -1e-9), np.inf)
    far, which = floor, np.where(floor < 60, -1, -2)
    for k, ball in enumerate(BALLS):
        t = hit(np, eye, ray, ball)
        far, which = np.minimum(far, t), np.where(t < far, k, which)
    reach = np.where(which > -2, far, 1.0)
    place = tuple(e + reach * r for e, r in zip(eye, ray, strict=True))

    squares = (np.floor(place[0]) + np.floor(place[2])) % 2 * 0.5 + 0.4
    colour = [np.where(which == -1, squares, 0.6 + 0.3 * (c == 2) + 0.5 * ray[1]) for c in range(3)]
    bright = np.where(which == -1, light[1], 1.0)
    for k, (cx, cy, cz, radius) in enumerate(BALLS):
        facing = ((place[0] - cx) * light[0] + (place[1] - cy) * light[1] + (place[2] - cz) * light[2]) / radius
        bright = np.where(which == k, np.maximum(facing, 0.0), bright)
        colour = [np.where(which == k, COLOURS[k][c], colour[c]) for c in range(3)]
    dark = np.zeros((rows, columns), dtype=bool)
    for ball in BALLS:
        dark = dark | np.isfinite(hit(np, place, light, ball))
    bright = np.where(which == -2, 1.0, 0.25 + 0.75 * np.where(dark, 0.0, bright))
    return {"image": np.clip(np.stack([one * bright for one in colour], axis=-1), 0, 1)}


def agree(a, b):
    return float((numpy.abs(a["image"] - b["image"]) > 1e-6).mean()) < 0.002


def picture(figure, given, found):
    axis = figure.subplots()
    axis.imshow(found["image"])
    axis.axis("off")
