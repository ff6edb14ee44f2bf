"""Series of (physicists') Hermite polynomials: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import HERMITE
from numloom.polynomial.series import Series

hermline = HERMITE.line
hermfromroots = HERMITE.fromroots
hermadd = HERMITE.add
hermsub = HERMITE.sub
hermmulx = HERMITE.mulx
hermmul = HERMITE.mul
hermdiv = HERMITE.div
hermpow = HERMITE.power
hermval = HERMITE.val
hermval2d = HERMITE.val2d
hermval3d = HERMITE.val3d
hermvalnd = HERMITE.valnd
hermgrid2d = HERMITE.grid2d
hermgrid3d = HERMITE.grid3d
hermder = HERMITE.deriv
hermint = HERMITE.integ
hermvander = HERMITE.vander
hermvander2d = HERMITE.vander2d
hermvander3d = HERMITE.vander3d
hermfit = HERMITE.fit
hermtrim = HERMITE.trim
hermcompanion = HERMITE.companion
hermroots = HERMITE.roots
hermgauss = HERMITE.gauss
hermweight = HERMITE.weight
poly2herm = HERMITE.from_poly
herm2poly = HERMITE.to_poly

_CONSTANTS = ("hermdomain", "hermzero", "hermone", "hermx")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(HERMITE.numpy, name))


class Hermite(Series):
    """A series of Hermite polynomials as physics has them; domain and window are ``[-1, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = HERMITE
    twin = np.polynomial.Hermite
    basis_name = "H"


__all__ = [  # noqa: F822
    "Hermite",
    "herm2poly",
    "hermadd",
    "hermcompanion",
    "hermder",
    "hermdiv",
    "hermdomain",
    "hermfit",
    "hermfromroots",
    "hermgauss",
    "hermgrid2d",
    "hermgrid3d",
    "hermint",
    "hermline",
    "hermmul",
    "hermmulx",
    "hermone",
    "hermpow",
    "hermroots",
    "hermsub",
    "hermtrim",
    "hermval",
    "hermval2d",
    "hermval3d",
    "hermvalnd",
    "hermvander",
    "hermvander2d",
    "hermvander3d",
    "hermweight",
    "hermx",
    "hermzero",
    "poly2herm",
]
