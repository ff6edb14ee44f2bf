"""SciPy at work on our buffers: our matrices as SciPy's without copies, and its results as ours.

On a GPU the same functions copy, and count what they copy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from numloom.api.verifying import compare
from numloom.array.convert import asarray, from_dlpack, from_host
from numloom.array.hostcopy import count
from numloom.array.ndarray import ndarray
from numloom.base.config import config
from numloom.base.nesting import deeper
from numloom.device import registry
from numloom.engine.verify import VerificationError
from numloom.sparse.where import CLASSES

try:
    from numloom.sparse import _twin  # type: ignore[attr-defined]
except ImportError:
    _twin = None

Host = np.ndarray[Any, Any]

_SMALL = 4096
"""Bytes up to which a result is copied: that costs less than sharing its memory."""


def to_host(x: Any) -> Any:
    """An array of ours as NumPy's: over the same memory where the host sees it, else a counted copy."""
    if registry.current().discrete:
        count(x.nbytes, config.host_copy == "warn")
        return x.get()
    return np.asarray(x)


def to_ours(host: Host) -> Any:
    """A NumPy array that nobody else will write as ours: over the same memory where the device sees it."""
    if type(host) is not np.ndarray:
        host = np.asarray(host)
    flags = host.flags
    if registry.current().discrete or host.nbytes <= _SMALL or not (flags.behaved and host.dtype.isnative):
        return from_host(host)
    return from_dlpack(host)


def scipy_class(name: str) -> Any:
    """SciPy's class of this name."""
    return getattr(scipy.sparse, name)


def view(a: Any) -> Any:
    """SciPy's matrix over the buffers of ours; SciPy must not write to it."""
    if a.format in ("lil", "dok"):
        return a._host
    kind = scipy_class(type(a).__name__)
    data, *places = map(to_host, a._parts)
    made = kind((data, tuple(places)) if a.format == "coo" else (data, *places), shape=a.shape)
    if a.format in ("csr", "csc", "coo") and a._canonical is not None:
        made.has_canonical_format = a._canonical
    return made


def stable(a: Any) -> Any:
    """SciPy's matrix of ours, which SciPy may bring in order: a copy where ours is not."""
    made = view(a)
    if a.format in ("csr", "csc"):
        a._canonical = bool(made.has_canonical_format)  # Looked at once, as SciPy does.
    return made if a.format in ("dia", "lil", "dok") or made.has_canonical_format else made.copy()


def host_value(x: Any, depth: int = 0) -> Any:
    """An argument as SciPy takes it: ours become NumPy's and SciPy's, in tuples, lists and slices too."""
    if type(x) is ndarray:
        return to_host(x)
    if hasattr(x, "_sparse_parts"):
        return stable(x)
    if type(x) in (tuple, list):
        depth = deeper(depth)
        return type(x)([host_value(each, depth) for each in x])
    if type(x) is slice and any(type(each) is ndarray for each in (x.start, x.stop, x.step)):
        return slice(*(each if each is None else int(each) for each in (x.start, x.stop, x.step)))
    return x


def _address(x: Host) -> tuple[int, int]:
    return x.__array_interface__["data"][0], x.nbytes


def _arrays_in(given: Any, depth: int = 0) -> list[Any]:
    """Arrays of ours, and those that sparse ones consist of, in tuples and lists too."""
    if type(given) in (tuple, list):
        depth = deeper(depth)
        return [array for each in given for array in _arrays_in(each, depth)]
    if hasattr(given, "_sparse_parts"):
        return list(given._sparse_parts())
    return [given] if type(given) is ndarray else []


class GivenArrays:
    """Arrays of ours that SciPy was given: a result over their memory is told from one with memory of its own."""

    def __init__(self, *given: Any) -> None:
        self._arrays = _arrays_in(given)
        self._ranges = [] if registry.current().discrete else [_address(np.asarray(x)) for x in self._arrays if x.size]

    def ours(self, host: Host) -> Any:
        """The array as ours, copied if its memory is that of an array that was given."""
        start, size = _address(host)
        for address, nbytes in self._ranges:
            if start < address + nbytes and address < start + size:
                return from_host(host)
        return to_ours(host)


def wrap(result: Any, known: GivenArrays | None = None, depth: int = 0) -> Any:
    """What SciPy gave as ours: matrices, arrays and numbers, in tuples and lists too."""
    take = to_ours if known is None else known.ours
    if scipy.sparse.issparse(result):
        return wrap_sparse(result, take)
    if isinstance(result, np.ndarray):
        return result if result.dtype.kind not in "biufc" else take(np.asarray(result))
    if isinstance(result, np.generic):
        number = asarray(result)
        number.is_scalar = True
        return number
    if type(result) in (tuple, list):
        depth = deeper(depth)
        return type(result)([wrap(each, known, depth) for each in result])
    return result


def _class_name(s: Any) -> str:
    return f"{s.format}_{'array' if isinstance(s, scipy.sparse.sparray) else 'matrix'}"


def wrap_sparse(s: Any, take: Callable[[Host], Any] = to_ours) -> Any:
    """A matrix of SciPy's as ours; one of a format for building becomes the inside of ours."""
    if s.format in ("csr", "csc") and s.indices.dtype == np.int64:
        # SciPy's matrices would look at such indices, and copy them, in every call; now they do it once.
        s = type(s)((s.data, s.indices, s.indptr), shape=s.shape)
    kind: Any = CLASSES[_class_name(s)]
    if s.format in ("lil", "dok"):
        return kind._of(s)
    if s.format == "coo":
        return kind._made((take(s.data), *(take(x) for x in s.coords)), s.shape, s.has_canonical_format or None)
    if s.format == "dia":
        return kind._made((take(s.data), take(s.offsets)), s.shape)
    return kind._made((take(s.data), take(s.indices), take(s.indptr)), s.shape)


def _wrapped(found: Any, operands: tuple[Any, ...]) -> Any:
    """What SciPy gave for these operands of ours as ours."""
    return wrap(found, GivenArrays(*operands))


def _arrays_of(found: Any) -> Any:
    """The arrays of a result of ours, to be compared with others."""
    if type(found) is tuple:
        return tuple(_arrays_of(each) for each in found)
    if hasattr(found, "_sparse_parts"):
        return tuple(found._sparse_parts())
    return found if type(found) is ndarray else np.asarray(found)


def _compared(found: Any, full: Callable[[], Any]) -> Any:
    """What a call gives in full, which what it gave at once has to be."""
    want = full()
    if type(found) is not type(want) or np.shape(found) != np.shape(want):
        raise VerificationError(f"at once it was a {type(found).__name__}, in full a {type(want).__name__}")
    compare(_arrays_of(found), _arrays_of(want))
    return want


def entered(full: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a function (or a method's name), operands and options that is done at once where it can be.

    Parameters
    ----------
    full : callable
        What does it in any case.
    """
    return full if _twin is None else _twin.entered(full, _wrapped, _compared)  # type: ignore[no-any-return]


def call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run SciPy's function on arguments of ours; what comes out is ours."""
    known = GivenArrays(*args, *options.values())
    return wrap(function(*map(host_value, args), **{k: host_value(v) for k, v in options.items()}), known)


def product(a: Any, b: Any) -> Any:
    """``a @ b`` by SciPy, which then leaves its operands in whatever order they are.

    Of COO with one row times a vector SciPy forgets the axis of rows.
    """
    operands = [view(x) if hasattr(x, "_sparse_parts") else host_value(x) for x in (a, b)]
    found = wrap(operator.matmul(*operands))
    lost = np.ndim(found) == 0 and sum(getattr(x, "ndim", 2) for x in operands) == 3
    return found.reshape(1) if lost else found


def call_method(a: Any, name: str, *args: Any, **options: Any) -> Any:
    """Run a method of SciPy's matrix over the buffers of ours."""
    known = GivenArrays(a, *args, *options.values())
    found = getattr(stable(a), name)(*map(host_value, args), **{k: host_value(v) for k, v in options.items()})
    return wrap(found, known)


__all__ = [
    "GivenArrays",
    "call",
    "call_method",
    "entered",
    "host_value",
    "product",
    "scipy_class",
    "stable",
    "to_host",
    "to_ours",
    "view",
    "wrap",
    "wrap_sparse",
]
