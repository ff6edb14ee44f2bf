"""Blur by a Fourier product, and undo it.

A convolution with a large kernel is a product of spectra. Wiener's filter divides by the spectrum again, but holds
back where there is more noise than signal.

**What fuses.** Between two transforms everything is one kernel: the product, the filter `conj(h) / (|h|² + 1 /
snr)`, and the noise that is added are computed as they are read and written.
"""

import numpy

FULL = {"repeat": 3}
SMALL = {"repeat": 1, "step": 8}


def inputs(repeat, step=1):
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[::step, ::step].mean(axis=2) / 255
    image = image.repeat(repeat, 0).repeat(repeat, 1)
    return {"image": image, "noise": numpy.random.default_rng(1).normal(0, 0.01, image.shape)}


def compute(np, image, noise):
    rows, columns = image.shape
    y = np.minimum(np.arange(rows), rows - np.arange(rows))[:, None]
    x = np.minimum(np.arange(columns), columns - np.arange(columns))
    radius = columns // 80
    disc = np.asarray(x**2 + y**2 <= radius**2, dtype=np.float64)
    h = np.fft.rfft2(disc / disc.sum())
    blurred = np.fft.irfft2(np.fft.rfft2(image) * h, s=image.shape) + noise
    wiener = np.conj(h) / (h.real**2 + h.imag**2 + 0.004)
    restored = np.fft.irfft2(np.fft.rfft2(blurred) * wiener, s=image.shape)
    return {"blurred": blurred, "restored": np.clip(restored, 0, 1)}


def picture(figure, given, found):
    for axis, (name, image) in zip(figure.subplots(1, 2), found.items(), strict=True):
        axis.imshow(image[::3, ::3], cmap="gray", vmin=0, vmax=1)
        axis.set_title(name)
        axis.axis("off")
