"""Series of (probabilists') Hermite polynomials: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import HERMITE_E
from numloom.polynomial.series import Series

hermeline = HERMITE_E.line
hermefromroots = HERMITE_E.fromroots
hermeadd = HERMITE_E.add
hermesub = HERMITE_E.sub
hermemulx = HERMITE_E.mulx
hermemul = HERMITE_E.mul
hermediv = HERMITE_E.div
hermepow = HERMITE_E.power
hermeval = HERMITE_E.val
hermeval2d = HERMITE_E.val2d
hermeval3d = HERMITE_E.val3d
hermevalnd = HERMITE_E.valnd
hermegrid2d = HERMITE_E.grid2d
hermegrid3d = HERMITE_E.grid3d
hermeder = HERMITE_E.deriv
hermeint = HERMITE_E.integ
hermevander = HERMITE_E.vander
hermevander2d = HERMITE_E.vander2d
hermevander3d = HERMITE_E.vander3d
hermefit = HERMITE_E.fit
hermetrim = HERMITE_E.trim
hermecompanion = HERMITE_E.companion
hermeroots = HERMITE_E.roots
hermegauss = HERMITE_E.gauss
hermeweight = HERMITE_E.weight
poly2herme = HERMITE_E.from_poly
herme2poly = HERMITE_E.to_poly

_CONSTANTS = ("hermedomain", "hermezero", "hermeone", "hermex")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(HERMITE_E.numpy, name))


class HermiteE(Series):
    """A series of Hermite polynomials as probability theory has them; domain and window are ``[-1, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = HERMITE_E
    twin = np.polynomial.HermiteE
    basis_name = "He"


__all__ = [  # noqa: F822
    "HermiteE",
    "herme2poly",
    "hermeadd",
    "hermecompanion",
    "hermeder",
    "hermediv",
    "hermedomain",
    "hermefit",
    "hermefromroots",
    "hermegauss",
    "hermegrid2d",
    "hermegrid3d",
    "hermeint",
    "hermeline",
    "hermemul",
    "hermemulx",
    "hermeone",
    "hermepow",
    "hermeroots",
    "hermesub",
    "hermetrim",
    "hermeval",
    "hermeval2d",
    "hermeval3d",
    "hermevalnd",
    "hermevander",
    "hermevander2d",
    "hermevander3d",
    "hermeweight",
    "hermex",
    "hermezero",
    "poly2herme",
]
