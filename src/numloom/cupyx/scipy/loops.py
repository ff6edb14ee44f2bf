"""The dtypes of ``cupyx.scipy.special``: those of the installed SciPy's loops, which are CuPy's too."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from numloom import special as ours
from numloom.api.ufunc import value_of
from numloom.array.convert import asarray
from numloom.base.dtypes import DTYPES
from numloom.base.forking import importing
from numloom.base.tracebacks import public
from numloom.cupyx.scipy.host import hosted
from numloom.graph.node import Node
from numloom.ops.definitions import is_rounded
from numloom.special.functions import FUNCTIONS, SpecialFunction

Kind = Any
"""A dtype, or the type of a number of Python's."""

_EXAMPLES: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


@cache
def result_dtype(name: str, kinds: tuple[Kind, ...]) -> np.dtype[Any]:
    """The dtype of SciPy's result for arguments of these dtypes, and of these types of Python's numbers.

    Raises
    ------
    TypeError
        If SciPy's function has no loop for them.

    Examples
    --------
    >>> result_dtype("erf", (np.dtype("int8"),)), result_dtype("erfinv", (np.dtype("int8"),))
    (dtype('float64'), dtype('float32'))
    """
    function = _scipys(name)
    # bfloat16 and its like are not SciPy's: float32 holds them.
    known = [np.dtype(np.float32) if _is_small(each) else each for each in kinds]
    if isinstance(function, np.ufunc):
        loop = (*(np.dtype(np.bool_) if each is bool else each for each in known), *(None,) * function.nout)
        return function.resolve_dtypes(loop)[-1]
    with np.errstate(all="ignore"):
        found = function(*(_EXAMPLES[each] if isinstance(each, type) else np.ones(1, each) for each in known))
    return np.asarray(found).dtype


def _is_small(kind: Kind) -> bool:
    return not isinstance(kind, type) and is_rounded(kind) and kind != np.float16


def _scipys(name: str) -> Any:
    with importing:
        import scipy.special
    return getattr(scipy.special, name)


def _kind(argument: Any) -> Kind:
    value = value_of(argument)
    return DTYPES[value.code] if type(value) is Node else type(value)


def _kinds(arguments: tuple[Any, ...]) -> tuple[Kind, ...]:
    return tuple(map(_kind, arguments))


class Typed(SpecialFunction):
    """An elementwise special function in the loops of SciPy's; complex numbers are SciPy's, on the host."""

    def __repr__(self) -> str:
        return f"<ufunc 'cupyx_scipy_special_{self.__name__}'>"

    def __reduce__(self) -> Any:
        return typed, (self.__name__,)

    @property
    def types(self) -> list[str]:
        """The loops, as of NumPy's ufuncs."""
        return list(_scipys(self.__name__).types)

    @public
    def __call__(
        self, *args: Any, out: Any = None, where: Any = True, casting: str = "same_kind", dtype: Any = None
    ) -> Any:
        if len(args) == self.nin + 1 and out is None:
            args, out = args[:-1], args[-1]
        if dtype is None and len(args) == self.nin:
            kinds = _kinds(args)
            dtype = result_dtype(self.__name__, kinds)
            if dtype.kind == "c":
                options = {} if out is None else {"out": out}
                return hosted(_scipys(self.__name__), self.__name__)(*args, where=where, casting=casting, **options)
        return super().__call__(*args, out=out, where=where, casting=casting, dtype=dtype)


@cache
def typed(name: str) -> Callable[..., Any]:
    """The function of ``cupyx.scipy.special`` of a name that `numloom.special` has."""
    own = getattr(ours, name)
    if isinstance(own, SpecialFunction):
        if own.__name__ != name:
            return typed(own.__name__)  # digamma is psi
        function = Typed(own.__name__, own.nin, "")
        function.__doc__ = own.__doc__
        return function
    return _MADE[name](name, own) if name in _MADE else own


def _in_loop(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def function(x: Any, out: Any = None, **options: Any) -> Any:
        return own(x, out, **{"dtype": result_dtype(name, _kinds((x,))), **options})

    return function


def _of_rows(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def function(x: Any, axis: Any = None) -> Any:
        dtype = result_dtype(name, _kinds((x,)))
        return hosted(_scipys(name), name)(x, axis) if dtype.kind == "c" else own(x, axis).astype(dtype)

    return function


def _of_sums(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def function(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
        dtype = (
            result_dtype(name, _kinds((a,)))
            if b is None
            else np.result_type(*(result_dtype(name, _kinds((each,))) for each in (a, b)))
        )
        if dtype.kind == "c":
            return hosted(_scipys(name), name)(a, axis, b, keepdims, return_sign)
        found = own(a, axis, b, keepdims, return_sign)
        return tuple(each.astype(dtype) for each in found) if return_sign else found.astype(dtype)

    return function


def _zeta(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
        given = (x,) if q is None else (x, q)
        dtype = result_dtype(name, _kinds(given))
        if dtype.kind == "c":
            return hosted(_scipys(name), name)(x, q, out)
        return FUNCTIONS["riemann_zeta" if q is None else "hurwitz_zeta"](*given, out=out, dtype=dtype)

    return zeta


def _in_double(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """In float64, and rounded to SciPy's dtype."""

    @wraps(own)
    def polygamma(n: Any, x: Any) -> Any:
        dtype = result_dtype(name, _kinds((n, x)))
        return own(asarray(n).astype(np.float64), asarray(x).astype(np.float64)).astype(dtype)

    return polygamma


def _of_dimensions(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def multigammaln(a: Any, d: Any) -> Any:
        return own(asarray(a).astype(np.float64), d)

    return multigammaln


_MADE: dict[str, Callable[[str, Callable[..., Any]], Callable[..., Any]]] = {
    "cbrt": _in_loop, "exp2": _in_loop, "log_softmax": _of_rows, "logsumexp": _of_sums,
    "multigammaln": _of_dimensions, "polygamma": _in_double, "softmax": _of_rows, "zeta": _zeta,
}  # fmt: skip
"""How functions that are made of others come to SciPy's dtypes."""

__all__ = ["Typed", "result_dtype", "typed"]
