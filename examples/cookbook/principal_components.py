"""Handwritten digits in two dimensions: principal components.

The directions in which 1,797 images of 64 pixels differ most are eigenvectors of their covariance. Two of them
already show which digits look alike.

**What fuses.** Centring is computed while the covariance reads the images. The eigenvectors are the library's; a
sign is chosen so that NumPy and numloom say the same.
"""

import numpy

FULL = {"copies": 40}
SMALL = {"copies": 1}


def inputs(copies):
    from sklearn.datasets import load_digits

    digits = load_digits()
    return {"images": numpy.tile(digits.data, (copies, 1)), "digit": digits.target}


def compute(np, images, digit):
    centred = images - images.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(images))
    two = vectors[:, ::-1][:, :2]
    two = two * np.sign(two[np.argmax(np.abs(two), axis=0), np.arange(2)])
    return {"places": centred[: len(digit)] @ two, "explained": values[::-1] / values.sum(), "faces": two.T}


def picture(figure, given, found):
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    left.scatter(*found["places"].T, c=given["digit"], cmap="tab10", s=4)
    right.plot(numpy.cumsum(found["explained"]))
    right.set_title("explained by components")
