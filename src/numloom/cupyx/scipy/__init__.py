"""``cupyx.scipy``: CuPy's names; `numloom.cupyx.scipy.table` says how each is computed."""

import importlib
from typing import Any

from numloom.base.wording import no_name
from numloom.cupy.names import get_array_module
from numloom.cupyx.scipy import fft, linalg, special

_LATER = ("fftpack", "interpolate", "ndimage", "signal", "sparse", "spatial", "stats")
_HOST = "SciPy's own takes x.get(), and where it knows the array API, our arrays"
_MISSING = dict.fromkeys(("cluster", "optimize"), _HOST)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(no_name(__name__, name, _MISSING, (*__all__, *_LATER)))


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


__all__ = ["fft", "get_array_module", "linalg", "special"]
