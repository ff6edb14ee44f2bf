"""Polynomials by powers of x: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import POWERS
from numloom.polynomial.series import Series

polyline = POWERS.line
polyfromroots = POWERS.fromroots
polyadd = POWERS.add
polysub = POWERS.sub
polymulx = POWERS.mulx
polymul = POWERS.mul
polydiv = POWERS.div
polypow = POWERS.power
polyval = POWERS.val
polyval2d = POWERS.val2d
polyval3d = POWERS.val3d
polyvalnd = POWERS.valnd
polygrid2d = POWERS.grid2d
polygrid3d = POWERS.grid3d
polyder = POWERS.deriv
polyint = POWERS.integ
polyvander = POWERS.vander
polyvander2d = POWERS.vander2d
polyvander3d = POWERS.vander3d
polyfit = POWERS.fit
polytrim = POWERS.trim
polycompanion = POWERS.companion
polyroots = POWERS.roots
polyvalfromroots = POWERS.valfromroots

_CONSTANTS = ("polydomain", "polyzero", "polyone", "polyx")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(POWERS.numpy, name))


class Polynomial(Series):
    """A polynomial by powers of x; domain and window are ``[-1, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = POWERS
    twin = np.polynomial.Polynomial
    basis_name = None


__all__ = [  # noqa: F822
    "Polynomial",
    "polyadd",
    "polycompanion",
    "polyder",
    "polydiv",
    "polydomain",
    "polyfit",
    "polyfromroots",
    "polygrid2d",
    "polygrid3d",
    "polyint",
    "polyline",
    "polymul",
    "polymulx",
    "polyone",
    "polypow",
    "polyroots",
    "polysub",
    "polytrim",
    "polyval",
    "polyval2d",
    "polyval3d",
    "polyvalfromroots",
    "polyvalnd",
    "polyvander",
    "polyvander2d",
    "polyvander3d",
    "polyx",
    "polyzero",
]
