"""Series of Chebyshev polynomials of the first kind: NumPy's names for what `numloom.polynomial.basis` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.polynomial.basis import CHEBYSHEV
from numloom.polynomial.polyutils import mapdomain
from numloom.polynomial.series import Series

chebline = CHEBYSHEV.line
chebfromroots = CHEBYSHEV.fromroots
chebadd = CHEBYSHEV.add
chebsub = CHEBYSHEV.sub
chebmulx = CHEBYSHEV.mulx
chebmul = CHEBYSHEV.mul
chebdiv = CHEBYSHEV.div
chebpow = CHEBYSHEV.power
chebval = CHEBYSHEV.val
chebval2d = CHEBYSHEV.val2d
chebval3d = CHEBYSHEV.val3d
chebvalnd = CHEBYSHEV.valnd
chebgrid2d = CHEBYSHEV.grid2d
chebgrid3d = CHEBYSHEV.grid3d
chebder = CHEBYSHEV.deriv
chebint = CHEBYSHEV.integ
chebvander = CHEBYSHEV.vander
chebvander2d = CHEBYSHEV.vander2d
chebvander3d = CHEBYSHEV.vander3d
chebfit = CHEBYSHEV.fit
chebtrim = CHEBYSHEV.trim
chebcompanion = CHEBYSHEV.companion
chebroots = CHEBYSHEV.roots
chebgauss = CHEBYSHEV.gauss
chebweight = CHEBYSHEV.weight
chebpts1 = CHEBYSHEV.pts1
chebpts2 = CHEBYSHEV.pts2
chebinterpolate = CHEBYSHEV.interpolate
poly2cheb = CHEBYSHEV.from_poly
cheb2poly = CHEBYSHEV.to_poly

_CONSTANTS = ("chebdomain", "chebzero", "chebone", "chebx")


def __getattr__(name: str) -> Any:
    """Constants of the module, which are arrays: made when they are asked for, since importing makes none."""
    if name not in _CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return asarray(getattr(CHEBYSHEV.numpy, name))


class Chebyshev(Series):
    """A series of Chebyshev polynomials of the first kind; domain and window are ``[-1, 1]`` if not given.

    Parameters are those of `Series`.
    """

    family = CHEBYSHEV
    twin = np.polynomial.Chebyshev
    basis_name = "T"

    @classmethod
    def interpolate(cls, func: Any, deg: int, domain: Any = None, args: tuple[Any, ...] = ()) -> Chebyshev:
        """The series that has a function's values at the Chebyshev points of the first kind.

        Parameters
        ----------
        func : callable
            ``func(x, *args)`` for a vector of points.
        deg : int
            Degree.
        domain : array_like, optional
            Where to interpolate, ``[-1, 1]`` if not given.
        args : tuple
            More arguments of `func`.

        Returns
        -------
        Chebyshev
        """
        ends = cls.domain if domain is None else domain

        def moved(x: Any) -> Any:
            return func(mapdomain(x, cls.window, ends), *args)

        return cls(CHEBYSHEV.interpolate(moved, deg), ends)


__all__ = [  # noqa: F822
    "Chebyshev",
    "cheb2poly",
    "chebadd",
    "chebcompanion",
    "chebder",
    "chebdiv",
    "chebdomain",
    "chebfit",
    "chebfromroots",
    "chebgauss",
    "chebgrid2d",
    "chebgrid3d",
    "chebint",
    "chebinterpolate",
    "chebline",
    "chebmul",
    "chebmulx",
    "chebone",
    "chebpow",
    "chebpts1",
    "chebpts2",
    "chebroots",
    "chebsub",
    "chebtrim",
    "chebval",
    "chebval2d",
    "chebval3d",
    "chebvalnd",
    "chebvander",
    "chebvander2d",
    "chebvander3d",
    "chebweight",
    "chebx",
    "chebzero",
    "poly2cheb",
]
