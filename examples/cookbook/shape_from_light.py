"""Shape from shading: least squares for each pixel.

Six photographs under six known lights tell how each pixel is turned: brightness is light times normal. One call of
`lstsq` solves all pixels; the surface is then found from its slopes by a Fourier transform.

**What fuses.** Scaling normals and taking slopes is one kernel; so is the division by squared frequencies between
the transforms. The solution itself is the library's.
"""

import numpy

FULL = {"side": 600}
SMALL = {"side": 24}


def inputs(side):
    at = numpy.linspace(-1, 1, side)
    x, y = numpy.meshgrid(at, at)
    height = 0.25 * numpy.exp(-4 * (x**2 + y**2)) * (1 + 0.6 * numpy.cos(9 * x) * numpy.cos(7 * y))
    down, right = numpy.gradient(height, at, at)
    normal = numpy.stack([-right, -down, numpy.ones_like(x)]) / numpy.sqrt(1 + down**2 + right**2)
    lights = numpy.array([[1, 0, 2], [-1, 0, 2], [0, 1, 2], [0, -1, 2], [1, 1, 2], [-1, 1, 3]]) / 3.0
    images = numpy.einsum("kc,cij->kij", lights, normal)
    images += numpy.random.default_rng(20).normal(0, 0.01, images.shape)
    return {"images": images, "lights": lights}


def compute(np, images, lights):
    count, side, _ = images.shape
    found = np.linalg.lstsq(lights, images.reshape(count, -1), rcond=None)[0].reshape(3, side, side)
    normal = found / np.sqrt((found**2).sum(axis=0))
    right, down = -normal[0] / normal[2], -normal[1] / normal[2]
    step = 2 / (side - 1)
    wx = 2 * np.pi * np.fft.fftfreq(side, step)
    wy = wx[:, None]
    square = wx**2 + wy**2
    square[0, 0] = 1.0
    flat = (-1j * wx * np.fft.fft2(right) - 1j * wy * np.fft.fft2(down)) / square
    height = np.fft.ifft2(flat).real
    return {"normal": normal, "height": height - height.min()}


def picture(figure, given, found):
    left, middle, right = figure.subplots(1, 3)
    left.imshow(given["images"][0], cmap="gray")
    left.set_title("one of six")
    middle.imshow(np_moved(found["normal"]))
    middle.set_title("normals")
    right.imshow(found["height"], cmap="terrain")
    right.set_title("height")
    for axis in (left, middle, right):
        axis.axis("off")


def np_moved(normal):
    return ((normal + 1) / 2).transpose(1, 2, 0)
