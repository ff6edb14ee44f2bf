"""One test body under NumPy and under numloom: values, dtypes, shapes and errors must be the same."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from numloom.base.dtypes import NUMPY_DTYPES
from numloom.testing.compare import assert_dtype_equal, assert_shape_equal, host

Function = TypeVar("Function", bound=Callable[..., Any])

MISSING = object()

again = 0
"""How many times more `matches_numpy` runs a body, each time with other numbers."""


def matches_numpy(
    function: Function | None = None,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    dtype: bool = True,
    name: str = "xp",
) -> Any:
    """Run a test body under NumPy and under numloom and compare what it gives or raises.

    The body takes the array module as argument `name` and returns an array, a scalar, a tuple,
    list or dict of them, or None. If it raises under NumPy it must raise the same kind of error
    under numloom, and the other way round.

    While `numloom.testing.parity.again` is not 0, the body is run so many times more in the same process, each time
    with other numbers (`Varied`), so that what is remembered of earlier calls is compared, too.

    Parameters
    ----------
    rtol, atol : float, optional
        Tolerances for inexact results; values are to be equal if `rtol` is not given.
    dtype : bool
        Whether dtypes must be the same.
    name : str
        Argument that gets the module.

    Examples
    --------
    >>> @matches_numpy
    ... def test_cumulative(xp):
    ...     return (xp.arange(6).reshape(2, 3) * 2).sum(axis=0)
    >>> test_cumulative()
    """

    def decorate(body: Function) -> Function:
        signature = inspect.signature(body)

        @functools.wraps(body)
        def test(*arguments: Any, **keywords: Any) -> None:
            modules: tuple[Any, ...] = (importlib.import_module("numloom"), np)
            for turn in range(1 + again):
                if turn:
                    modules = tuple([Varied(module, turn) for module in (importlib.import_module("numloom"), np)])
                (actual, raised), (desired, expected) = (
                    _outcome(functools.partial(body, *arguments, **{name: module}, **keywords)) for module in modules
                )
                # Tolerances below a narrow dtype's precision are for the round numbers in a body.
                least = 0.0 if rtol is None or not turn else 4.0
                where = f"result of turn {turn}" if turn else "result"
                if expected is not None or raised is not None:
                    _compare_errors(raised, expected)
                else:
                    _compare(actual, desired, rtol, atol, dtype, where, least)

        # The test runner must not look for a fixture of the module's name.
        del test.__wrapped__  # type: ignore[attr-defined]
        kept = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        test.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return test  # type: ignore[return-value]

    return decorate if function is None else decorate(function)


class Varied:
    """An array module whose `array` and `asarray` give other numbers, of the same kind, at each turn.

    Floating-point and complex arrays are scaled by a positive number near 1, which keeps signs, zeros, the order of
    numbers and what is not finite. Under numloom they are recorded and not yet run.
    """

    def __init__(self, module: Any, turn: int) -> None:
        self._module = module
        self._factor = 1 + turn / 8

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def array(self, *arguments: Any, **keywords: Any) -> Any:
        return self._scaled(self._module.array(*arguments, **keywords))

    def asarray(self, *arguments: Any, **keywords: Any) -> Any:
        return self._scaled(self._module.asarray(*arguments, **keywords))

    def _scaled(self, array: Any) -> Any:
        return array * self._factor if array.ndim and array.dtype.kind in "fc" else array


def for_dtypes(dtypes: Iterable[Any], *, name: str = "dtype") -> Callable[[Function], Function]:
    """Run a test once for each dtype, handed to argument `name`.

    Under pytest each dtype is a test of its own (as ``pytest.mark.parametrize`` makes them).
    """
    import pytest

    listed = [np.dtype(dtype) for dtype in dtypes]
    return pytest.mark.parametrize(name, listed, ids=[dtype.name for dtype in listed])  # type: ignore[return-value]


def for_all_dtypes(
    *, kinds: str = "?biufc", without: Iterable[Any] = (), name: str = "dtype"
) -> Callable[[Function], Function]:
    """Run a test once for each supported dtype of NumPy's own.

    Parameters
    ----------
    kinds : str
        Kinds to take: ``?`` or ``b`` for bool, ``i``, ``u``, ``f``, ``c``.
    without : iterable of dtypes
        Dtypes to leave out.
    """
    kinds = kinds.replace("?", "b")
    left_out = {np.dtype(dtype) for dtype in without}
    return for_dtypes([dtype for dtype in NUMPY_DTYPES if dtype.kind in kinds and dtype not in left_out], name=name)


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a call gives, brought to the host (errors may be found as late as that), and what it raises."""
    try:
        with np.errstate(all="ignore"):
            return _to_host(call()), None
    except Exception as error:
        return MISSING, error


def _to_host(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_host(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_to_host(item) for item in value]
    return value if value is None or isinstance(value, (str, np.dtype, type)) else host(value)


def _compare_errors(raised: Exception | None, expected: Exception | None) -> None:
    if expected is None:
        raise AssertionError(f"numloom raised {raised!r}, NumPy did not") from raised
    if raised is None:
        raise AssertionError(f"NumPy raised {expected!r}, numloom did not") from expected
    # NumPy's own classes derive from the built-in ones that callers catch.
    kinds = [kind for kind in type(expected).__mro__ if kind.__module__ == "builtins"]
    if not isinstance(raised, kinds[0]):
        raise AssertionError(f"NumPy raised {expected!r}, numloom {raised!r}") from raised


def _compare(
    actual: Any, desired: Any, rtol: float | None, atol: float, dtype: bool, where: str, least: float = 0.0
) -> None:
    """Compare outcomes; tolerances are at least so many units in the last place."""
    if isinstance(desired, dict):
        assert isinstance(actual, dict) and actual.keys() == desired.keys(), f"{where}: other keys"
        for key in desired:
            _compare(actual[key], desired[key], rtol, atol, dtype, f"{where}[{key!r}]", least)
    elif isinstance(desired, list):
        assert isinstance(actual, list) and len(actual) == len(desired), f"{where}: other length"
        for index, pair in enumerate(zip(actual, desired, strict=True)):
            _compare(*pair, rtol, atol, dtype, f"{where}[{index}]", least)
    elif isinstance(desired, np.ndarray):
        assert isinstance(actual, np.ndarray), f"{where}: {actual!r} is no array, NumPy gave {desired!r}"
        if dtype:
            assert_dtype_equal(actual, desired, f"{where}:")
        assert_shape_equal(actual, desired, f"{where}:")
        if rtol is None or desired.dtype.kind not in "fc":
            np.testing.assert_array_equal(actual, desired, err_msg=where)
        else:
            rtol = max(rtol, least * float(np.finfo(desired.dtype).eps))
            np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, err_msg=where)
    elif actual != desired:
        raise AssertionError(f"{where}: {actual!r}, NumPy gave {desired!r}")
