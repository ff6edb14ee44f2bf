"""Layer 9: Fourier transforms, by the names of `numpy.fft`; `scipy_backend` is for `scipy.fft.set_backend`."""

from numloom.base.tracebacks import publish
from numloom.base.wording import no_name
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

_MISSING = {
    "config": "plans are kept by themselves, and there is nothing to set",
    "dct": "use scipy.fft.dct on x.get()",
    "dst": "use scipy.fft.dst on x.get()",
    "next_fast_len": "use scipy.fft.next_fast_len",
    "test": "it runs NumPy's own tests",
}

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


def __getattr__(name: str) -> object:
    raise AttributeError(no_name(__name__, name, _MISSING, __all__, "; if SciPy has it, use scipy.fft on x.get()"))


publish(globals(), __all__)
