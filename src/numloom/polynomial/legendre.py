"""Series of Legendre polynomials: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import LEGENDRE
from numloom.polynomial.series import Series

legline = LEGENDRE.line
legfromroots = LEGENDRE.fromroots
legadd = LEGENDRE.add
legsub = LEGENDRE.sub
legmulx = LEGENDRE.mulx
legmul = LEGENDRE.mul
legdiv = LEGENDRE.div
legpow = LEGENDRE.power
legval = LEGENDRE.val
legval2d = LEGENDRE.val2d
legval3d = LEGENDRE.val3d
legvalnd = LEGENDRE.valnd
leggrid2d = LEGENDRE.grid2d
leggrid3d = LEGENDRE.grid3d
legder = LEGENDRE.deriv
legint = LEGENDRE.integ
legvander = LEGENDRE.vander
legvander2d = LEGENDRE.vander2d
legvander3d = LEGENDRE.vander3d
legfit = LEGENDRE.fit
legtrim = LEGENDRE.trim
legcompanion = LEGENDRE.companion
legroots = LEGENDRE.roots
leggauss = LEGENDRE.gauss
legweight = LEGENDRE.weight
poly2leg = LEGENDRE.from_poly
leg2poly = LEGENDRE.to_poly

_CONSTANTS = ("legdomain", "legzero", "legone", "legx")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(LEGENDRE.numpy, name))


class Legendre(Series):
    """A series of Legendre polynomials; domain and window are ``[-1, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = LEGENDRE
    twin = np.polynomial.Legendre
    basis_name = "P"


__all__ = [  # noqa: F822
    "Legendre",
    "leg2poly",
    "legadd",
    "legcompanion",
    "legder",
    "legdiv",
    "legdomain",
    "legfit",
    "legfromroots",
    "leggauss",
    "leggrid2d",
    "leggrid3d",
    "legint",
    "legline",
    "legmul",
    "legmulx",
    "legone",
    "legpow",
    "legroots",
    "legsub",
    "legtrim",
    "legval",
    "legval2d",
    "legval3d",
    "legvalnd",
    "legvander",
    "legvander2d",
    "legvander3d",
    "legweight",
    "legx",
    "legzero",
    "poly2leg",
]
