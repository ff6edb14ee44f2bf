"""PyCUDA's `cumath`: functions of a GPUArray, element by element. They are numloom's own, recorded and fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.api import elementwise
from numloom.kernels.gpuarray import GPUArray, launchable, wrapped

NAMES = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp",
    "fabs": "fabs", "floor": "floor", "log": "log", "log10": "log10", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "tan": "tan", "tanh": "tanh",
}  # fmt: skip
"""PyCUDA's names, and NumPy's."""


def _function(name: str, theirs: str) -> Callable[..., GPUArray]:
    compute = getattr(elementwise, theirs)

    def function(array: Any, *, out: GPUArray | None = None, stream: Any = None) -> GPUArray:
        result = compute(launchable(array))
        if out is None:
            return wrapped(result)
        out.array[...] = result
        return out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{theirs}` of a GPUArray."
    return function


globals().update({name: _function(name, theirs) for name, theirs in NAMES.items()})


def fmod(x: GPUArray, y: Any, stream: Any = None) -> GPUArray:
    """The remainder with the sign of `x`."""
    return wrapped(elementwise.fmod(launchable(x), launchable(y)))


def ldexp(significand: GPUArray, exponent: Any, stream: Any = None) -> GPUArray:
    """``significand * 2**exponent``."""
    return wrapped(launchable(significand) * elementwise.exp2(launchable(exponent)))
