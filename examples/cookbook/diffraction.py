"""Light behind an opening: Fourier optics.

Light of one colour passes a hexagonal opening and spreads. Each distance behind it is a product in the spectrum of
plane waves; far away the picture is the Fourier transform of the opening.

**What fuses.** The phase of each plane wave is computed while the spectrum is multiplied; brightness is taken as
the result of the transform is read.
"""

import numpy

FULL = {"side": 1024}
SMALL = {"side": 64}


def inputs(side):
    x, y = numpy.meshgrid(numpy.arange(side) - side // 2, numpy.arange(side) - side // 2)
    radius = side / 8
    opening = numpy.ones((side, side), dtype=bool)
    for k in range(6):
        opening &= x * numpy.cos(k * numpy.pi / 3) + y * numpy.sin(k * numpy.pi / 3) < radius
    return {"opening": opening}


def compute(np, opening):
    side = opening.shape[0]
    step, length = 10e-6, 633e-9
    spectrum = np.fft.fft2(opening)
    frequency = np.fft.fftfreq(side, step)
    square = 1 / length**2 - frequency**2 - frequency[:, None] ** 2
    axial = 2 * np.pi * np.sqrt(square)
    pictures = []
    for distance in (0.02, 0.1):
        field = np.fft.ifft2(spectrum * np.exp(1j * axial * distance))
        pictures.append(field.real**2 + field.imag**2)
    far = np.fft.fftshift(np.abs(spectrum) ** 2)
    return {"near": pictures[0], "further": pictures[1], "far": np.log10(far / far.max() + 1e-6)}


TOLERANCE = 1e-5  # phases of millions of radians


def picture(figure, given, found):
    side = given["opening"].shape[0]
    middle = slice(side // 4, 3 * side // 4)
    for axis, (name, image) in zip(figure.subplots(1, 3), found.items(), strict=True):
        axis.imshow(image[middle, middle], cmap="inferno")
        axis.set_title(name)
        axis.axis("off")
