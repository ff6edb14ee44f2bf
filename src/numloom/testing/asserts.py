"""NumPy's assertions on arrays of the device; each array is brought to the host once, and NumPy compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper
from numloom.engine.evaluate import synchronize


def fetched(value: Any, depth: int = 0) -> Any:
    """A value with all arrays of ours in it as NumPy's; what NumPy would have as a scalar is one."""
    if type(value) is ndarray:
        host = value.get()
        return host[()] if value.is_scalar else host
    if type(value) in (list, tuple):
        depth = deeper(depth)
        return type(value)([fetched(item, depth) for item in value])
    if type(value) is dict:
        depth = deeper(depth)
        return {key: fetched(item, depth) for key, item in value.items()}
    return value


def assert_equal(actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Fail unless two things (arrays, numbers, lists and dictionaries of them) are equal; NaN equals NaN.

    Parameters
    ----------
    actual, desired : array_like
        What is and what should be.
    err_msg : str
        Stands in the error's text.
    verbose : bool
        Whether the error shows the values.
    strict : bool
        Whether shapes and dtypes must be equal, too; else a number equals an array full of it.

    Raises
    ------
    AssertionError
        If they differ.
    """
    np.testing.assert_equal(fetched(actual), fetched(desired), err_msg, verbose, strict=strict)


def assert_almost_equal(actual: Any, desired: Any, decimal: int = 7, err_msg: str = "", verbose: bool = True) -> None:
    """Fail unless two things differ by less than ``1.5 * 10**-decimal``; see `assert_allclose`, which is better."""
    np.testing.assert_almost_equal(fetched(actual), fetched(desired), decimal, err_msg, verbose)


def assert_approx_equal(
    actual: Any, desired: Any, significant: int = 7, err_msg: str = "", verbose: bool = True
) -> None:
    """Fail unless two numbers agree to so many significant digits."""
    np.testing.assert_approx_equal(fetched(actual), fetched(desired), significant, err_msg, verbose)


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-7,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Fail unless shapes are equal and values differ by at most ``atol + rtol * abs(desired)``.

    Parameters
    ----------
    actual, desired : array_like
        What is and what should be.
    rtol, atol : float
        Tolerances.
    equal_nan : bool
        Whether NaN equals NaN.
    err_msg : str
        Stands in the error's text.
    verbose : bool
        Whether the error shows the values.
    strict : bool
        Whether dtypes must be equal, too; else a number is compared with every element.

    Raises
    ------
    AssertionError
        If they differ.

    Examples
    --------
    >>> import numloom as np
    >>> np.testing.assert_allclose(np.sqrt(np.arange(3)) ** 2, [0, 1, 2], atol=1e-12)
    """
    np.testing.assert_allclose(
        fetched(actual), fetched(desired), rtol, atol, equal_nan, err_msg, verbose, strict=strict
    )


def assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Fail unless shapes and values are equal (NaN equals NaN); with `strict` dtypes, too, and no number fits all."""
    np.testing.assert_array_equal(fetched(actual), fetched(desired), err_msg, verbose, strict=strict)


def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Fail unless shapes are equal and values differ by less than ``1.5 * 10**-decimal``."""
    np.testing.assert_array_almost_equal(fetched(actual), fetched(desired), decimal, err_msg, verbose)


def assert_array_less(x: Any, y: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Fail unless every value of `x` is less than that of `y`; with `strict` shapes and dtypes must be equal."""
    np.testing.assert_array_less(fetched(x), fetched(y), err_msg, verbose, strict=strict)


def assert_array_almost_equal_nulp(x: Any, y: Any, nulp: float = 1) -> None:
    """Fail unless values differ by at most `nulp` spacings of the larger one."""
    np.testing.assert_array_almost_equal_nulp(fetched(x), fetched(y), nulp)


def assert_array_max_ulp(a: Any, b: Any, maxulp: int = 1, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Fail unless at most `maxulp` numbers lie between values; gives how many lie there (on the host)."""
    return np.testing.assert_array_max_ulp(fetched(a), fetched(b), maxulp, dtype)  # type: ignore[return-value]


def assert_array_compare(
    comparison: Callable[..., Any],
    x: Any,
    y: Any,
    err_msg: str = "",
    verbose: bool = True,
    header: str = "",
    precision: int = 6,
    equal_nan: bool = True,
    equal_inf: bool = True,
    *,
    strict: bool = False,
    names: tuple[str, str] = ("ACTUAL", "DESIRED"),
) -> None:
    """Fail unless a comparison (a function of NumPy arrays) is true of all values."""
    np.testing.assert_array_compare(  # type: ignore[attr-defined]
        comparison, fetched(x), fetched(y), err_msg, verbose, header, precision, equal_nan, equal_inf, strict=strict,
        names=names,
    )  # fmt: skip


# ---------------------------------------------------------------- errors and warnings


def _settled(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, and wait: some errors (an index out of range) are found when work runs."""
    result = function(*args, **kwargs)
    synchronize()
    return result


@contextmanager
def _settling(checked: AbstractContextManager[Any]) -> Iterator[Any]:
    with checked as context:
        yield context
        synchronize()


def assert_raises(*args: Any, **kwargs: Any) -> Any:
    """Fail unless a function raises an error of this class, at once or when what it recorded runs.

    Parameters
    ----------
    exception_class : type or tuple of types
        Classes of the error.
    callable : callable, optional
        Called with the arguments that follow; without it this is a context manager.

    Examples
    --------
    >>> import numloom as np
    >>> with np.testing.assert_raises(ValueError):
    ...     np.ones(3) + np.ones(4)
    """
    if len(args) < 2:
        return _settling(np.testing.assert_raises(*args, **kwargs))
    return np.testing.assert_raises(args[0], _settled, *args[1:], **kwargs)


def assert_raises_regex(exception_class: Any, expected_regexp: Any, *args: Any, **kwargs: Any) -> Any:
    """As `assert_raises`, and the error's text must match a regular expression."""
    if not args:
        return _settling(np.testing.assert_raises_regex(exception_class, expected_regexp, **kwargs))
    return np.testing.assert_raises_regex(exception_class, expected_regexp, _settled, *args, **kwargs)


def assert_warns(warning_class: Any, *args: Any, **kwargs: Any) -> Any:
    """Fail unless a function (or the body of a ``with`` statement) gives a warning of this class."""
    return np.testing.assert_warns(warning_class, *args, **kwargs)


def assert_no_warnings(*args: Any, **kwargs: Any) -> Any:
    """Fail if a function (or the body of a ``with`` statement) gives a warning."""
    return np.testing.assert_no_warnings(*args, **kwargs)


def assert_(val: Any, msg: str = "") -> None:
    """Fail unless a value is true, with optimised Python as well."""
    np.testing.assert_(fetched(val), msg)


def assert_string_equal(actual: str, desired: str) -> None:
    """Fail unless two texts are equal; the error shows how they differ."""
    np.testing.assert_string_equal(actual, desired)


__all__ = [
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
]
