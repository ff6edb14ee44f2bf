"""Polynomials and series over arrays on the device: the modules and classes of `numpy.polynomial`."""

from numpy.polynomial import set_default_printstyle

from numloom.base.tracebacks import publish
from numloom.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils
from numloom.polynomial.chebyshev import Chebyshev
from numloom.polynomial.hermite import Hermite
from numloom.polynomial.hermite_e import HermiteE
from numloom.polynomial.laguerre import Laguerre
from numloom.polynomial.legendre import Legendre
from numloom.polynomial.polynomial import Polynomial

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
    "set_default_printstyle",
]


def __dir__() -> list[str]:
    return __all__


publish(globals(), __all__)
