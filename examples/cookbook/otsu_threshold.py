"""Separate things from their background.

Otsu's method looks for the grey value that splits an image into two classes whose means lie furthest apart. It
needs nothing but the histogram and its running sums. Opening the mask (erode, then dilate) removes specks.

**What fuses.** The histogram is one kernel over all pixels, and what follows works on 256 numbers. Eroding and
dilating are minima and maxima of nine shifted slices, one kernel each.
"""

import numpy

FULL = {"side": 1500}
SMALL = {"side": 60}


def inputs(side):
    rng = numpy.random.default_rng(4)
    y, x = numpy.mgrid[0:side, 0:side] / side
    image = 0.25 + 0.1 * x
    for cx, cy, radius in rng.uniform([0.05, 0.05, 0.02], [0.95, 0.95, 0.07], (40, 3)):
        image += 0.3 * (numpy.hypot(x - cx, y - cy) < radius)
    image += rng.normal(0, 0.09, image.shape)
    return {"image": (255 * numpy.clip(image, 0, 1)).astype(numpy.uint8)}


def around(np, mask, which):
    p = np.pad(mask, 1, mode="edge")
    rows, columns = mask.shape
    parts = [p[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    result = parts[0]
    for part in parts[1:]:
        result = which(result, part)
    return result


def compute(np, image):
    share = np.bincount(image.ravel(), minlength=256) / image.size
    below = np.cumsum(share)
    moment = np.cumsum(share * np.arange(256))
    with numpy.errstate(all="ignore"):
        apart = (moment[-1] * below - moment) ** 2 / (below * (1 - below))
    threshold = np.argmax(np.nan_to_num(apart, posinf=0.0))
    mask = image > threshold
    opened = around(np, around(np, mask, np.minimum), np.maximum)
    return {"threshold": threshold, "share": share, "mask": mask, "opened": opened}


def picture(figure, given, found):
    left, middle, right = figure.subplots(1, 3)
    left.imshow(given["image"][::3, ::3], cmap="gray")
    middle.plot(found["share"])
    middle.axvline(found["threshold"], color="red")
    middle.set_title(f"threshold {int(found['threshold'])}")
    right.imshow(found["opened"][::3, ::3], cmap="gray")
    left.axis("off")
    right.axis("off")
