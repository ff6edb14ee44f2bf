"""Blur, sharpen, find edges.

A photograph becomes grey, is blurred by a Gaussian (first along rows, then along columns), sharpened by what the
blur took away, and its edges are the length of the gradient by Sobel's weights. Filters are sums of shifted slices,
so there is no loop over pixels.

**What fuses.** A pass of the blur is one kernel: the 13 shifted slices are read where they lie, and no shifted copy
is made. Sharpening and edges are a kernel each, square root and clipping included.
"""

import numpy

FULL = {"repeat": 3}
SMALL = {"repeat": 1, "step": 8}


def inputs(repeat, step=1):
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[::step, ::step].astype(numpy.float32) / 255
    return {"image": image.repeat(repeat, 0).repeat(repeat, 1)}


def blur(np, image, sigma=2.0, radius=6):
    weights = numpy.exp(-0.5 * (numpy.arange(-radius, radius + 1) / sigma) ** 2)
    weights = [float(w) for w in weights / weights.sum()]
    rows, columns = image.shape
    padded = np.pad(image, ((radius, radius), (0, 0)), mode="edge")
    image = sum(w * padded[k : k + rows] for k, w in enumerate(weights))
    padded = np.pad(image, ((0, 0), (radius, radius)), mode="edge")
    return sum(w * padded[:, k : k + columns] for k, w in enumerate(weights))


def compute(np, image):
    grey = 0.299 * image[..., 0] + 0.587 * image[..., 1] + 0.114 * image[..., 2]
    soft = blur(np, grey)
    sharp = np.clip(grey + 1.5 * (grey - soft), 0, 1)
    p = np.pad(soft, 1, mode="edge")
    down = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    right = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    return {"blurred": soft, "sharpened": sharp, "edges": np.sqrt(down**2 + right**2)}


def picture(figure, given, found):
    for axis, (name, image) in zip(figure.subplots(1, 3), found.items(), strict=True):
        axis.imshow(image[::3, ::3], cmap="gray")
        axis.set_title(name)
        axis.axis("off")
