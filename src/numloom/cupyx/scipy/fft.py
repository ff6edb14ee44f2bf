"""``cupyx.scipy.fft``: SciPy's functions, run by numloom."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from numloom.array.convert import asarray
from numloom.base.integers import as_integer
from numloom.cupy.fft.plans import Plan, check, get_fft_plan
from numloom.cupyx.scipy.lookup import members
from numloom.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from numloom.fft.uarray import scipy_backend

Array = Any


class _FftFunction:
    """A function of SciPy's by its name, as the backend asks for it."""

    def __init__(self, name: str) -> None:
        self.__name__ = name


def _function(name: str) -> Callable[..., Array]:
    method = _FftFunction(name)

    def transform(x: Any, *args: Any, **options: Any) -> Array:
        """As SciPy's of the same name."""
        return scipy_backend.__ua_function__(method, (asarray(x), *args), options)

    transform.__name__ = name
    return transform


def _one(name: str) -> Callable[..., Array]:
    function = _function(name)

    def transform(
        x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Plan | None = None,
    ) -> Array:  # fmt: skip
        """As SciPy's of the same name; a plan must be of such a transform."""
        check(name, x, n, axis, plan)
        return function(x, n, axis, norm)

    transform.__name__ = name
    return transform


def _several(name: str, places: Any = None) -> Callable[..., Array]:
    function = _function(name)

    def transform(
        x: Any, s: Any = None, axes: Any = places, norm: Any = None, overwrite_x: bool = False, workers: Any = None, *,
        plan: Plan | None = None,
    ) -> Array:  # fmt: skip
        """As SciPy's of the same name; a plan must be of such a transform."""
        check(name, x, s, axes, plan)
        return function(x, s, axes, norm)

    transform.__name__ = name
    return transform


def _smooth(n: int) -> bool:
    for prime in (2, 3, 5, 7):
        while n % prime == 0:
            n //= prime
    return n == 1


def next_fast_len(target: int, real: bool = False) -> int:
    """The least length from `target` on whose prime factors are 2, 3, 5 and 7, which transform fast on a GPU.

    Examples
    --------
    >>> from numloom.cupyx.scipy import fft
    >>> fft.next_fast_len(1021)
    1024
    """
    least = as_integer(target)
    if least < 0:
        raise ValueError(f"target is a length, not {least}")
    return next(n for n in count(least) if n == 0 or _smooth(n))


dct, dctn, dst, dstn = map(_function, ("dct", "dctn", "dst", "dstn"))
idct, idctn, idst, idstn = map(_function, ("idct", "idctn", "idst", "idstn"))
fft, ifft, rfft, irfft, hfft, ihfft = map(_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_several, ("fftn", "ifftn", "rfftn", "irfftn"))
hfftn, ihfftn = map(_several, ("hfftn", "ihfftn"))
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (
    _several(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")
)

__getattr__ = members(__name__)

__ua_domain__ = "numpy.scipy.fft"
"""What the module stands in for, in ``scipy.fft.set_backend`` and its like."""


def __ua_function__(method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function of ``scipy.fft``'s gives while this module is its backend."""
    own = globals().get(method.__name__)
    return NotImplemented if own is None else own(*args, **options)


__all__ = [
    "dct", "dctn", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift", "get_fft_plan", "hfft", "hfft2",
    "hfftn", "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn",
    "irfft", "irfft2", "irfftn", "next_fast_len", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
