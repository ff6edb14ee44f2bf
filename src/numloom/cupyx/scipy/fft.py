"""``cupyx.scipy.fft``: SciPy's functions, run by numloom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.array.convert import asarray
from numloom.cupyx.scipy.lookup import members
from numloom.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from numloom.fft.uarray import scipy_backend


class _FftFunction:
    """A function of SciPy's by its name, as the backend asks for it."""

    def __init__(self, name: str) -> None:
        self.__name__ = name


def _function(name: str) -> Callable[..., Any]:
    method = _FftFunction(name)

    def transform(x: Any, *args: Any, **options: Any) -> Any:
        """As SciPy's of the same name."""
        return scipy_backend.__ua_function__(method, (asarray(x), *args), options)

    transform.__name__ = name
    return transform


dct, dctn, dst, dstn = map(_function, ("dct", "dctn", "dst", "dstn"))
idct, idctn, idst, idstn = map(_function, ("idct", "idctn", "idst", "idstn"))
fft, fft2, fftn, hfft = map(_function, ("fft", "fft2", "fftn", "hfft"))
ifft, ifft2, ifftn, ihfft = map(_function, ("ifft", "ifft2", "ifftn", "ihfft"))
rfft, rfft2, rfftn = map(_function, ("rfft", "rfft2", "rfftn"))
irfft, irfft2, irfftn = map(_function, ("irfft", "irfft2", "irfftn"))

__getattr__ = members(__name__)

__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idctn", "idst",
    "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip
