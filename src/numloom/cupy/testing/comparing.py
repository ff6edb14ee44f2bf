"""Assertions, and decorators that run a test under NumPy and numloom and compare what it gives."""

from __future__ import annotations

import functools
import importlib
import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numloom.array.convert import asnumpy
from numloom.array.ndarray import ndarray
from numloom.cupy.testing.loops import taking_fewer

_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]
_TOP = _PACKAGE.rpartition(".")[0]
Test = Callable[..., Any]
Check = Callable[[Any, Any], None]
assert_warns = unittest.TestCase().assertWarns


def assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False,
    strides_check: bool = False,
) -> None:  # fmt: skip
    """Arrays are equal; with `strides_check` their strides, too."""
    first, second = host(actual), host(desired)
    np.testing.assert_array_equal(first, second, err_msg, verbose, strict=strict)
    if strides_check:
        strides = [getattr(one, "strides", None) for one in (actual, desired)]
        assert strides[0] == strides[1], f"strides {strides[0]}, expected {strides[1]} {err_msg}"


def assert_array_list_equal(
    xlist: Sequence[Any], ylist: Sequence[Any], err_msg: str = "", verbose: bool = True
) -> None:
    """Lists of arrays are equal, one by one."""
    assert len(xlist) == len(ylist), f"{len(xlist)} arrays, expected {len(ylist)} {err_msg}"
    for one, other in zip(xlist, ylist, strict=True):
        np.testing.assert_array_equal(host(one), host(other), err_msg, verbose)


def host(value: Any) -> Any:
    """A result as NumPy has it: of our arrays and sparse matrices their values."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    return asnumpy(value) if type(value) is ndarray else value


class _Names:
    """Under which arguments a test gets modules: of arrays, of sparse matrices, of SciPy's functions."""

    def __init__(self, name: str, sp_name: str | None, scipy_name: str | None) -> None:
        self.given = ((name, _PACKAGE, "numpy"), (sp_name, f"{_TOP}.cupyx.scipy.sparse", "scipy.sparse"),
                      (scipy_name, f"{_TOP}.cupyx.scipy", "scipy"))  # fmt: skip

    def modules(self, place: int) -> dict[str, Any]:
        """Ours (1) or NumPy's (2)."""
        return {one[0]: importlib.import_module(str(one[place])) for one in self.given if one[0]}


def _outcome(test: Test, args: Any, named: Any) -> tuple[Any, Exception | None]:
    try:
        return test(*args, **named), None
    except Exception as error:
        return None, error


def _decorator(names: _Names, accept: Any, compare: Callable[[Any, Any], None]) -> Callable[[Test], Test]:
    """A decorator: the test runs with each module, and what it gives is compared; or what it raises, where accepted."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **named: Any) -> None:
            found, wrong = _outcome(test, args, {**named, **names.modules(1)})
            expected, refused = _outcome(test, args, {**named, **names.modules(2)})
            if wrong is None and refused is None:
                assert accept is not _MUST, "neither raises"
                compare(found, expected)
                return
            _compare_errors(wrong, refused, accept)

        return taking_fewer(run, [str(one[0]) for one in names.given if one[0]])

    return decorate


_MUST = object()
"""Of a test that must raise."""


def _compare_errors(wrong: Exception | None, refused: Exception | None, accept: Any) -> None:
    if wrong is None or refused is None:
        raise AssertionError(f"raises {wrong!r}, under NumPy {refused!r}") from (wrong or refused)
    if isinstance(wrong, unittest.SkipTest):
        raise wrong
    kinds = Exception if accept is True or accept is _MUST else accept or ()
    if not (isinstance(wrong, kinds) and _as_explicit(wrong, refused)):
        raise AssertionError(f"raises {wrong!r}, under NumPy {refused!r}") from wrong


def _as_explicit(wrong: Exception, refused: Exception) -> bool:
    """Whether what catches NumPy's error catches ours, too: by Python's own classes, and `AxisError` by itself."""
    axis = np.exceptions.AxisError
    if isinstance(wrong, axis) is not isinstance(refused, axis):
        return False
    return isinstance(wrong, next(kind for kind in type(refused).__mro__ if kind.__module__ == "builtins"))


def _arrays(check: Check, type_check: bool) -> Callable[[Any, Any], None]:
    """A comparison of arrays, or of lists of them."""

    def compare(found: Any, expected: Any) -> None:
        several = isinstance(expected, (tuple, list))
        pairs = zip(found, expected, strict=True) if several else [(found, expected)]
        for one, other in pairs:
            if type_check and hasattr(other, "dtype"):
                assert one.dtype == other.dtype, f"dtype {one.dtype}, expected {other.dtype}"
            check(host(one), host(other))

    return compare


def _checked_tolerance(given: Any) -> None:
    for key in given if isinstance(given, Mapping) else ():
        if key != "default" and not (isinstance(key, type) and issubclass(key, np.generic)):
            raise TypeError(f"tolerances are told apart by NumPy's types of numbers or 'default', got {key!r}")


def _tolerance(given: Any, dtype: Any) -> Any:
    """A tolerance that may be a mapping of dtypes, with "default" for the others."""
    if not isinstance(given, Mapping):
        return given
    for kind, value in given.items():
        if kind != "default" and np.dtype(kind) == dtype:
            return value
    return given.get("default", 1e-7)


def numpy_cupy_allclose(
    rtol: Any = 1e-7, atol: Any = 0, err_msg: str = "", verbose: bool = True, name: str = "xp",
    type_check: bool = True, accept_error: Any = False, sp_name: str | None = None, scipy_name: str | None = None,
    contiguous_check: bool = True, *, _check_sparse_format: bool = True,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results under NumPy and here are close. (Whether they are dense is not compared.)

    Parameters
    ----------
    rtol, atol : float or dict
        Tolerances; by dtype in a dictionary, with ``"default"``.
    err_msg, verbose
        As of `numpy.testing.assert_allclose`.
    name, sp_name, scipy_name : str
        Arguments that are given the modules: of arrays, ``scipy.sparse`` and ``scipy``, or ours.
    type_check : bool
        Whether dtypes are the same.
    accept_error : bool or class or tuple of classes
        Errors that both may raise.
    contiguous_check : bool
        Taken for CuPy's sake.

    Examples
    --------
    >>> from numloom.cupy import testing
    >>> @testing.numpy_cupy_allclose(rtol=1e-6)
    ... def test_sine(xp):
    ...     return xp.sin(xp.arange(5.0))
    >>> test_sine()
    """
    for tolerance in (rtol, atol):
        _checked_tolerance(tolerance)

    def check(a: Any, b: Any) -> None:
        kind = getattr(a, "dtype", None)
        np.testing.assert_allclose(a, b, _tolerance(rtol, kind), _tolerance(atol, kind), True, err_msg, verbose)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_equal(
    err_msg: str = "", verbose: bool = True, name: str = "xp", type_check: bool = True, accept_error: Any = False,
    sp_name: str | None = None, scipy_name: str | None = None, strides_check: bool = False,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results under NumPy and here are equal. (Strides are not compared.)"""

    def check(a: Any, b: Any) -> None:
        np.testing.assert_array_equal(a, b, err_msg, verbose)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_almost_equal(
    decimal: int = 6, err_msg: str = "", verbose: bool = True, name: str = "xp", type_check: bool = True,
    accept_error: Any = False, sp_name: str | None = None, scipy_name: str | None = None,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results under NumPy and here agree to so many decimals."""

    def check(a: Any, b: Any) -> None:
        np.testing.assert_array_almost_equal(a, b, decimal, err_msg, verbose)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_almost_equal_nulp(
    nulp: int = 1, name: str = "xp", type_check: bool = True, accept_error: Any = False, sp_name: str | None = None,
    scipy_name: str | None = None,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results differ by at most so many spacings of their numbers."""

    def check(a: Any, b: Any) -> None:
        np.testing.assert_array_almost_equal_nulp(a, b, nulp)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_max_ulp(
    maxulp: int = 1, dtype: Any = None, name: str = "xp", type_check: bool = True, accept_error: Any = False,
    sp_name: str | None = None, scipy_name: str | None = None,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results differ by at most so many units in the last place."""

    def check(a: Any, b: Any) -> None:
        np.testing.assert_array_max_ulp(a, b, maxulp, dtype)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_less(
    err_msg: str = "", verbose: bool = True, name: str = "xp", type_check: bool = True, accept_error: Any = False,
    sp_name: str | None = None, scipy_name: str | None = None,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results here are less than those under NumPy."""

    def check(a: Any, b: Any) -> None:
        np.testing.assert_array_less(a, b, err_msg, verbose)

    return _decorator(_Names(name, sp_name, scipy_name), accept_error, _arrays(check, type_check))


def numpy_cupy_array_list_equal(
    err_msg: str = "", verbose: bool = True, name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None
) -> Callable[[Test], Test]:
    """A decorator: lists of arrays under NumPy and here are equal."""

    def compare(found: Any, expected: Any) -> None:
        assert_array_list_equal(found, expected, err_msg, verbose)

    return _decorator(_Names(name, sp_name, scipy_name), False, compare)


def numpy_cupy_equal(
    name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None
) -> Callable[[Test], Test]:
    """A decorator: results under NumPy and here, which are no arrays, are equal."""

    def compare(found: Any, expected: Any) -> None:
        assert found == expected, f"{found!r}, expected {expected!r}"

    return _decorator(_Names(name, sp_name, scipy_name), False, compare)


def numpy_cupy_raises(
    name: str = "xp", sp_name: str | None = None, scipy_name: str | None = None, accept_error: Any = Exception
) -> Callable[[Test], Test]:
    """A decorator: the test raises the same under NumPy and here. (CuPy has deprecated it.)"""
    warnings.warn(
        "numpy_cupy_raises is deprecated: use pytest.raises once for each module", DeprecationWarning, stacklevel=2
    )
    accept = _MUST if accept_error is Exception or accept_error is True else accept_error
    names = _Names(name, sp_name, scipy_name)

    def compare(found: Any, expected: Any) -> None:
        raise AssertionError("neither raises")

    return _decorator(names, accept, compare)


__all__ = [
    "assert_array_equal", "assert_array_list_equal", "assert_warns", "numpy_cupy_allclose",
    "numpy_cupy_array_almost_equal", "numpy_cupy_array_almost_equal_nulp", "numpy_cupy_array_equal",
    "numpy_cupy_array_less", "numpy_cupy_array_list_equal", "numpy_cupy_array_max_ulp", "numpy_cupy_equal",
    "numpy_cupy_raises",
]  # fmt: skip
