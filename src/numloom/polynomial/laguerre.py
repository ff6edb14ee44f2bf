"""Series of Laguerre polynomials: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import LAGUERRE
from numloom.polynomial.series import Series

lagline = LAGUERRE.line
lagfromroots = LAGUERRE.fromroots
lagadd = LAGUERRE.add
lagsub = LAGUERRE.sub
lagmulx = LAGUERRE.mulx
lagmul = LAGUERRE.mul
lagdiv = LAGUERRE.div
lagpow = LAGUERRE.power
lagval = LAGUERRE.val
lagval2d = LAGUERRE.val2d
lagval3d = LAGUERRE.val3d
lagvalnd = LAGUERRE.valnd
laggrid2d = LAGUERRE.grid2d
laggrid3d = LAGUERRE.grid3d
lagder = LAGUERRE.deriv
lagint = LAGUERRE.integ
lagvander = LAGUERRE.vander
lagvander2d = LAGUERRE.vander2d
lagvander3d = LAGUERRE.vander3d
lagfit = LAGUERRE.fit
lagtrim = LAGUERRE.trim
lagcompanion = LAGUERRE.companion
lagroots = LAGUERRE.roots
laggauss = LAGUERRE.gauss
lagweight = LAGUERRE.weight
poly2lag = LAGUERRE.from_poly
lag2poly = LAGUERRE.to_poly

_CONSTANTS = ("lagdomain", "lagzero", "lagone", "lagx")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(LAGUERRE.numpy, name))


class Laguerre(Series):
    """A series of Laguerre polynomials; domain and window are ``[0, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = LAGUERRE
    twin = np.polynomial.Laguerre
    basis_name = "L"


__all__ = [  # noqa: F822
    "Laguerre",
    "lag2poly",
    "lagadd",
    "lagcompanion",
    "lagder",
    "lagdiv",
    "lagdomain",
    "lagfit",
    "lagfromroots",
    "laggauss",
    "laggrid2d",
    "laggrid3d",
    "lagint",
    "lagline",
    "lagmul",
    "lagmulx",
    "lagone",
    "lagpow",
    "lagroots",
    "lagsub",
    "lagtrim",
    "lagval",
    "lagval2d",
    "lagval3d",
    "lagvalnd",
    "lagvander",
    "lagvander2d",
    "lagvander3d",
    "lagweight",
    "lagx",
    "lagzero",
    "poly2lag",
]
