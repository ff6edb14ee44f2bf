"""See inside by projections: filtered back projection.

A scanner measures how much every ray through a body absorbs. Each projection is sharpened by a ramp in its spectrum
and smeared back over the image along its rays; the sum of all directions is the body.

**What fuses.** Directions are recorded, and several of them run as one kernel over the image: positions on the
detector, two gathers, interpolation and the addition to what is there already. Turned coordinates are never stored.
"""

import numpy

FULL = {"side": 512, "directions": 180}
SMALL = {"side": 32, "directions": 24}
ELLIPSES = [
    (1, 0.69, 0.92, 0, 0, 0), (-0.8, 0.66, 0.87, 0, -0.02, 0), (-0.2, 0.11, 0.31, 0.22, 0, -18),
    (-0.2, 0.16, 0.41, -0.22, 0, 18), (0.2, 0.21, 0.25, 0, 0.35, 0), (0.2, 0.05, 0.05, 0, 0.1, 0),
    (0.2, 0.05, 0.05, 0, -0.1, 0), (0.2, 0.05, 0.02, -0.08, -0.6, 0), (0.2, 0.03, 0.02, 0, -0.6, 0),
]  # fmt: skip


def inputs(side, directions):
    """Projections of ellipses, which are known exactly."""
    angles = numpy.arange(directions) * numpy.pi / directions
    at = numpy.linspace(-1, 1, side)
    measured = numpy.zeros((directions, side))
    for density, a, b, x, y, turn in ELLIPSES:
        turned = angles - numpy.deg2rad(turn)
        square = ((a * numpy.cos(turned)) ** 2 + (b * numpy.sin(turned)) ** 2)[:, None]
        s = at - (x * numpy.cos(angles) + y * numpy.sin(angles))[:, None]
        measured += 2 * density * a * b * numpy.sqrt(numpy.clip(square - s**2, 0, None)) / square
    return {"measured": measured, "angles": angles}


def compute(np, measured, angles):
    directions, side = measured.shape
    ramp = np.abs(np.fft.fftfreq(2 * side, d=2 / side)) * 2
    padded = np.pad(measured, ((0, 0), (0, side)))
    filtered = np.fft.ifft(np.fft.fft(padded, axis=1) * ramp, axis=1).real[:, :side]
    x = np.linspace(-1, 1, side)
    y = x[::-1, None]
    body = np.zeros((side, side))
    for k in range(directions):
        angle = float(angles[k])
        place = (x * numpy.cos(angle) + y * numpy.sin(angle) + 1) * (side - 1) / 2
        low = np.clip(np.floor(place), 0, side - 2)
        part = place - low
        ray = filtered[k]
        body += ray[low.astype(np.int32)] * (1 - part) + ray[low.astype(np.int32) + 1] * part
    return {"body": body * (numpy.pi / directions)}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow(given["measured"], aspect="auto", cmap="magma")
    left.set_title("measured")
    right.imshow(found["body"], cmap="gray", vmin=0, vmax=0.6)
    right.set_title("computed")
    right.axis("off")
