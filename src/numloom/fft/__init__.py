"""Layer 9: Fourier transforms, by the names of `numpy.fft`; `scipy_backend` is for `scipy.fft.set_backend`."""

from numloom.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from numloom.fft.transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)
from numloom.fft.uarray import scipy_backend

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "scipy_backend",
]


def __dir__() -> list[str]:
    return __all__
