"""Layer 12: CuPy's names and keywords. ``import numloom.cupy as cupy``, or ``python -m numloom run --cupy script.py``.

What NumPy has too is numloom's own; the rest is here.
"""

import importlib
import sys
from typing import Any

import numloom
from numloom import *  # noqa: F403
from numloom import exceptions, linalg, polynomial, typing
from numloom.base.wording import no_name
from numloom.cuda.devices import is_available
from numloom.cuda.memory import get_default_memory_pool, get_default_pinned_memory_pool
from numloom.cupy import former
from numloom.cupy.former import *  # type: ignore[assignment]  # noqa: F403
from numloom.cupy.kernels import RawKernel, RawModule  # type: ignore[assignment]
from numloom.cupy.keywords import FUNCTIONS
from numloom.cupy.members import members
from numloom.cupy.names import (  # type: ignore[assignment]
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asnumpy,
    clear_memo,
    get_array_module,
    memoize,
    show_config,
    who,
)

# The star brought numloom's own modules of these names.
cublas, cuda, fft, random, testing = (
    importlib.import_module(f"{__name__}.{_name}") for _name in ("cublas", "cuda", "fft", "random", "testing")
)
globals().update(FUNCTIONS)
__version__ = numloom.__version__
_MISSING = {
    "get_elementwise_kernel": "use ElementwiseKernel",
    "make_aligned_dtype": "use numpy.dtype(fields, align=True)",
}


def __getattr__(name: str) -> Any:
    try:
        return getattr(numloom, name)
    except AttributeError as error:
        if name in _MISSING:
            raise AttributeError(no_name(__name__, name, _MISSING, __all__)) from None
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted({*dir(numloom), *__all__})


for _name in ("exceptions", "linalg", "polynomial", "lib", "typing"):
    sys.modules[f"{__name__}.{_name}"] = getattr(numloom, _name)
for _name in ("runtime", "memory", "memory_hooks", "stream", "device", "profiler", "nccl", "nvtx"):
    sys.modules[f"{__name__}.cuda.{_name}"] = getattr(numloom.cuda, _name)
for _name in ("texture", "pinned_memory"):
    sys.modules[f"{__name__}.cuda.{_name}"] = getattr(cuda, _name)
__all__ = [
    "RawKernel",
    "RawModule",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asnumpy",
    "clear_memo",
    "cublas",
    "cuda",
    "exceptions",
    "fft",
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "is_available",
    "linalg",
    "members",
    "memoize",
    "polynomial",
    "random",
    "show_config",
    "testing",
    "typing",
    "who",
]  # fmt: skip
__all__ += [*former.__all__, *numloom.__all__]
