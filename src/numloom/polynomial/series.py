"""A series with its domain: the base of `Polynomial`, `Chebyshev` and the other classes.

A series holds its coefficients on the device and is evaluated there. What is done with coefficients
alone is asked of NumPy's class of the same name, so that rules, errors and text are NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np

from numloom.api.creation import linspace
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.array.views import constant_of, in_tree
from numloom.polynomial.basis import Basis, delivered
from numloom.polynomial.polyutils import getdomain, mapdomain, on_host

Array = Any
S = TypeVar("S", bound="Series")


class _Interval:
    """The domain or window that series of a class have by default; an array is made when it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type[Series]) -> Array:
        return asarray(getattr(owner.twin, self.name))


class Series:
    """A series of polynomials of one family.

    Parameters
    ----------
    coef : array_like
        Coefficients, the lowest degree first.
    domain : array_like, optional
        Interval of the variable that is mapped to `window`; the family's own if not given.
    window : array_like, optional
        Interval in which the series is evaluated; the family's own if not given.
    symbol : str
        Name of the variable in text.

    Attributes
    ----------
    coef, domain, window : ndarray
        As given, on the device.

    Raises
    ------
    ValueError
        If `coef` is empty or no vector, or an interval has not two ends, or `symbol` is no identifier.
    """

    family: ClassVar[Basis]
    """The family of polynomials."""
    twin: ClassVar[Any]
    """NumPy's class."""
    maxpower: ClassVar[int] = 100
    basis_name: ClassVar[str | None] = None

    domain: Array = _Interval("domain")
    window: Array = _Interval("window")

    __array_ufunc__ = None  # NumPy's arrays and numbers leave operators to the series.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> None:
        waits = in_tree(coef)
        numbers = constant_of(asarray(coef)).get() if waits else on_host(coef)
        host = self.twin(numbers, on_host(domain), on_host(window), symbol)
        self._take(host, domain is not None, window is not None)
        if waits:
            self.coef = asarray(coef).astype(host.coef.dtype)

    def _take(self, host: Any, domain: bool = True, window: bool = True) -> None:
        self.coef = asarray(host.coef)
        if domain:
            self.domain = asarray(host.domain)
        if window:
            self.window = asarray(host.window)
        self._symbol = host.symbol

    @property
    def symbol(self) -> str:
        return self._symbol  # type: ignore[no-any-return]

    # ------------------------------------------------------------ NumPy's series and ours

    def _on_host(self) -> Any:
        """The series as one of NumPy's class."""
        return self.twin(on_host(self.coef), on_host(self.domain), on_host(self.window), self.symbol)

    @classmethod
    def _of(cls: type[S], host: Any) -> S:
        """A series of NumPy's class as one of this class."""
        result = cls.__new__(cls)
        result._take(host)
        return result

    def _operated(self, operation: Callable[[Any, Any], Any], other: Any, swapped: bool = False) -> Any:
        """An operator on this series and another one, a number or coefficients."""
        value = _argument(other)
        pair = (value, self._on_host()) if swapped else (self._on_host(), value)
        found = operation(*pair)
        return tuple(map(self._of, found)) if isinstance(found, tuple) else self._of(found)

    # ------------------------------------------------------------ values

    def __call__(self, arg: Any) -> Any:
        """Values at points (recorded: they fuse with what is done with them), or the series of a series."""
        return self.family.val(mapdomain(arg, self.domain, self.window), self.coef)

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[Array, Array]:
        """`n` evenly spaced points of `domain` (the series' own), and the values there."""
        ends = on_host(self.domain if domain is None else domain)
        x = linspace(ends[0], ends[1], n)
        return x, self(x)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coef)

    def __len__(self) -> int:
        return len(self.coef)

    # ------------------------------------------------------------ operators

    def __neg__(self: S) -> S:
        return self._of(-self._on_host())

    def __pos__(self: S) -> S:
        return self

    def __add__(self, other: Any) -> Any:
        return self._operated(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._operated(operator.add, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._operated(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._operated(operator.sub, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._operated(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._operated(operator.mul, other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._operated(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._operated(operator.truediv, other, swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._operated(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._operated(operator.floordiv, other, swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._operated(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._operated(operator.mod, other, swapped=True)

    def __divmod__(self, other: Any) -> Any:
        return self._operated(divmod, other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._operated(divmod, other, swapped=True)

    def __pow__(self: S, other: int) -> S:
        return self._of(self._on_host() ** other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(self._on_host() == other._on_host())

    # ------------------------------------------------------------ text

    def __repr__(self) -> str:
        return repr(self._on_host()).replace(self.twin.__name__, type(self).__name__, 1)

    def __str__(self) -> str:
        return str(self._on_host())

    def __format__(self, fmt_str: str) -> str:
        return format(self._on_host(), fmt_str)

    def _repr_latex_(self) -> str:
        return self._on_host()._repr_latex_()  # type: ignore[no-any-return]

    # ------------------------------------------------------------ coefficients

    def copy(self: S) -> S:
        """A copy with coefficients of its own."""
        return self._of(self._on_host())

    def degree(self) -> int:
        """Degree of the series; zeros at the end of the coefficients count."""
        return len(self.coef) - 1

    def cutdeg(self: S, deg: int) -> S:
        """The series without the terms of degree above `deg`."""
        return self._of(self._on_host().cutdeg(deg))

    def trim(self: S, tol: float = 0) -> S:
        """The series without the last coefficients that are at most `tol` in magnitude."""
        return self._of(self._on_host().trim(tol))

    def truncate(self: S, size: int) -> S:
        """The series with its first `size` coefficients."""
        return self._of(self._on_host().truncate(size))

    def deriv(self: S, m: int = 1) -> S:
        """The derivative, `m` times."""
        return self._of(self._on_host().deriv(m))

    def integ(self: S, m: int = 1, k: Any = [], lbnd: Any = None) -> S:  # noqa: B006
        """The integral from `lbnd`, `m` times, with constants `k` (see `polyint`)."""
        return self._of(self._on_host().integ(m, on_host(k), on_host(lbnd)))

    def roots(self) -> Array:
        """The roots, moved to the domain; they lose accuracy the farther outside of it they lie."""
        return delivered(self._on_host().roots())

    def mapparms(self) -> tuple[Any, Any]:
        """Offset and scale of the map from domain to window."""
        return self._on_host().mapparms()  # type: ignore[no-any-return]

    # ------------------------------------------------------------ comparisons

    def has_samecoef(self, other: Any) -> bool:
        """Whether coefficients are equal."""
        return bool(self._on_host().has_samecoef(_argument(other)))

    def has_samedomain(self, other: Any) -> bool:
        """Whether domains are equal."""
        return bool(self._on_host().has_samedomain(_argument(other)))

    def has_samewindow(self, other: Any) -> bool:
        """Whether windows are equal."""
        return bool(self._on_host().has_samewindow(_argument(other)))

    def has_sametype(self, other: Any) -> bool:
        """Whether the other one is of this class."""
        return isinstance(other, type(self))

    # ------------------------------------------------------------ other series

    def convert(self, domain: Any = None, kind: type[Series] | None = None, window: Any = None) -> Any:
        """The same function as a series of another family, domain or window.

        Parameters
        ----------
        domain, window : array_like, optional
            Intervals of the result; those of `kind` if not given.
        kind : type, optional
            Class of the result; this one if not given.

        Returns
        -------
        Series

        Examples
        --------
        >>> from numloom.polynomial import Chebyshev, Polynomial
        >>> Polynomial([0, 0, 1]).convert(kind=Chebyshev)
        Chebyshev([0.5, 0. , 0.5], domain=[-1.,  1.], window=[-1.,  1.], symbol='x')
        """
        kind = type(self) if kind is None else kind
        return kind._of(self._on_host().convert(on_host(domain), kind.twin, on_host(window)))

    @classmethod
    def fit(
        cls: type[S],
        x: Any,
        y: Any,
        deg: Any,
        domain: Any = None,
        rcond: float | None = None,
        full: bool = False,
        w: Any = None,
        window: Any = None,
        symbol: str = "x",
    ) -> Any:
        """The series that fits data best in the sense of least squares.

        Parameters
        ----------
        x, y : array_like
            M points, and the values there.
        deg : int or sequence of int
            Highest degree, or all degrees that may appear.
        domain : array_like, optional
            Domain of the series: the interval of the points if not given, the family's own if ``[]``.
        rcond : float, optional
            Singular values below this part of the largest one count as zero.
        full : bool
            Whether the report is given as well.
        w : array_like, optional
            A weight for each point.
        window : array_like, optional
            Window of the series, the family's own if not given.
        symbol : str
            Name of the variable in text.

        Returns
        -------
        series : Series
        report : list
            Residuals, rank, singular values and rcond, with `full`.

        Examples
        --------
        >>> import numloom as np
        >>> x = np.linspace(0, 4, 50)
        >>> line = np.polynomial.Polynomial.fit(x, 3 * x - 1, 1)
        >>> [round(float(c), 6) for c in line.convert().coef]
        [-1.0, 3.0]
        """
        if domain is None:
            ends = on_host(getdomain(x))
            if ends[0] == ends[1]:
                ends = ends + np.array([-1, 1], ends.dtype)
        elif isinstance(domain, list) and not domain:
            ends = on_host(cls.domain)
        else:
            ends = on_host(domain)
        goal = on_host(cls.window) if window is None else on_host(window)
        found = cls.family.fit(mapdomain(x, ends, goal), y, deg, rcond, full, w)
        if not full:
            return cls(found, ends, goal, symbol)
        return cls(found[0], ends, goal, symbol), found[1]

    @classmethod
    def fromroots(cls: type[S], roots: Any, domain: Any = [], window: Any = None, symbol: str = "x") -> S:  # noqa: B006
        """The monic series with these roots; `domain` is the roots' own interval if None, the family's if ``[]``."""
        return cls._of(cls.twin.fromroots(on_host(roots), on_host(domain), on_host(window), symbol))

    @classmethod
    def identity(cls: type[S], domain: Any = None, window: Any = None, symbol: str = "x") -> S:
        """The series ``p(x) = x``."""
        return cls._of(cls.twin.identity(on_host(domain), on_host(window), symbol))

    @classmethod
    def basis(cls: type[S], deg: int, domain: Any = None, window: Any = None, symbol: str = "x") -> S:
        """The family's polynomial of degree `deg`."""
        return cls._of(cls.twin.basis(deg, on_host(domain), on_host(window), symbol))

    @classmethod
    def cast(cls: type[S], series: Series, domain: Any = None, window: Any = None) -> S:
        """A series of any family as one of this class; the domain is this family's if not given."""
        return cls._of(cls.twin.cast(series._on_host(), on_host(domain), on_host(window)))


def _argument(other: Any) -> Any:
    """What NumPy's classes understand of a series, an array or a number."""
    if isinstance(other, Series):
        return other._on_host()
    if type(other) is ndarray and not other.ndim:
        return other.get()[()]
    return on_host(other)


__all__ = ["Series"]
