"""``cupyx.scipy``: what numloom has of SciPy."""

import importlib
from typing import Any

from numloom import special
from numloom.base.wording import no_name
from numloom.cupy.names import get_array_module
from numloom.cupyx.scipy import fft, fftpack, linalg

_HOST = "SciPy's own takes x.get(), and where it knows the array API, our arrays"
_MISSING = dict.fromkeys(("cluster", "interpolate", "ndimage", "optimize", "signal", "spatial", "stats"), _HOST)


def __getattr__(name: str) -> Any:
    if name == "sparse":  # SciPy is imported for it
        return importlib.import_module(f"{__name__}.sparse")
    raise AttributeError(no_name(__name__, name, _MISSING, __all__))


__all__ = ["fft", "fftpack", "get_array_module", "linalg", "special"]
