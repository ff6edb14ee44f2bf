"""``cupy.testing``: numloom's and NumPy's assertions, and decorators that run a test under NumPy and numloom."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from numloom import testing as ours
from numloom.array.convert import asnumpy
from numloom.array.ndarray import ndarray

_PACKAGE = __name__.rpartition(".")[0]
Test = Callable[..., Any]


def _compared(check: Callable[[Any, Any], None], name: str, type_check: bool) -> Callable[[Test], Test]:
    """A decorator: the test runs with each module as argument `name`, and what it gives is compared."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **named: Any) -> None:
            found = test(*args, **named, **{name: importlib.import_module(_PACKAGE)})
            expected = test(*args, **named, **{name: np})
            pairs = zip(found, expected, strict=True) if isinstance(expected, (tuple, list)) else [(found, expected)]
            for one, other in pairs:
                if type_check and hasattr(other, "dtype"):
                    assert one.dtype == other.dtype, f"dtype {one.dtype}, expected {other.dtype}"
                check(asnumpy(one) if type(one) is ndarray else one, other)

        # A runner reads the signature for fixtures: the module is no fixture.
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


def numpy_cupy_allclose(
    rtol: float = 1e-7, atol: float = 0, err_msg: str = "", verbose: bool = True, name: str = "xp",
    type_check: bool = True, **_: Any,
) -> Callable[[Test], Test]:  # fmt: skip
    """A decorator: results under NumPy and here are close.

    Examples
    --------
    >>> from numloom.cupy import testing
    >>> @testing.numpy_cupy_allclose(rtol=1e-6)
    ... def test_sine(xp):
    ...     return xp.sin(xp.arange(5.0))
    >>> test_sine()
    """
    return _compared(lambda a, b: np.testing.assert_allclose(a, b, rtol, atol, True, err_msg), name, type_check)


def numpy_cupy_array_equal(
    err_msg: str = "", verbose: bool = True, name: str = "xp", type_check: bool = True, **_: Any
) -> Callable[[Test], Test]:
    """A decorator: results under NumPy and here are equal."""
    return _compared(lambda a, b: np.testing.assert_array_equal(a, b, err_msg), name, type_check)


def numpy_cupy_array_almost_equal(
    decimal: int = 6, err_msg: str = "", verbose: bool = True, name: str = "xp", type_check: bool = True, **_: Any
) -> Callable[[Test], Test]:
    """A decorator: results under NumPy and here agree to so many decimals."""
    return _compared(lambda a, b: np.testing.assert_array_almost_equal(a, b, decimal, err_msg), name, type_check)


def numpy_cupy_equal(name: str = "xp", **_: Any) -> Callable[[Test], Test]:
    """A decorator: results under NumPy and here, which are no arrays, are equal."""

    def check(a: Any, b: Any) -> None:
        assert a == b, f"{a!r}, expected {b!r}"

    return _compared(check, name, False)


def for_dtypes(dtypes: Iterable[Any], name: str = "dtype") -> Callable[[Test], Test]:
    """A decorator: the test runs for each dtype, given as argument `name`."""
    kinds = list(dtypes)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **named: Any) -> None:
            for dtype in kinds:
                test(*args, **named, **{name: np.dtype(dtype).type})

        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


_SIGNED, _UNSIGNED = "bhiq", "BHIQ"


def for_all_dtypes(
    name: str = "dtype", no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> Callable[[Test], Test]:
    """`for_dtypes` of all that arrays can have."""
    kinds = ("" if no_bool else "?") + _SIGNED + _UNSIGNED + ("" if no_float16 else "e") + "fd"
    return for_dtypes(kinds + ("" if no_complex else "FD"), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Callable[[Test], Test]:
    """`for_dtypes` of the floating ones."""
    return for_dtypes("fd" if no_float16 else "efd", name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Callable[[Test], Test]:
    """`for_dtypes` of the integers."""
    return for_dtypes(("" if no_bool else "?") + _SIGNED + _UNSIGNED, name)


def for_signed_dtypes(name: str = "dtype") -> Callable[[Test], Test]:
    """`for_dtypes` of the integers with a sign."""
    return for_dtypes(_SIGNED, name)


def for_complex_dtypes(name: str = "dtype") -> Callable[[Test], Test]:
    """`for_dtypes` of the complex ones."""
    return for_dtypes("FD", name)


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """1, 2, 3, ... in a shape.

    >>> from numloom.cupy import testing
    >>> testing.shaped_arange((2, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    count = int(np.prod(shape))
    values = np.arange(1, count + 1)
    values = values % 2 == 0 if np.dtype(dtype) == np.bool_ else values
    return _made(values.astype(dtype).reshape(shape, order="C"), xp, order)


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """..., 3, 2, 1 in a shape."""
    count = int(np.prod(shape))
    values = np.arange(count, 0, -1)
    values = values % 2 == 0 if np.dtype(dtype) == np.bool_ else values
    return _made(values.astype(dtype).reshape(shape), xp, "C")


def shaped_random(
    shape: Any, xp: Any = None, dtype: Any = np.float32, scale: float = 10, seed: int = 0, order: str = "C"
) -> Any:
    """Random numbers in a shape, the same for the same seed."""
    random = np.random.RandomState(seed)
    kind = np.dtype(dtype).kind
    values: Any = random.randint(2, size=shape) if kind == "b" else random.rand(*shape) * scale
    if kind == "c":
        values = values + 1j * random.rand(*shape) * scale
    return _made(np.asarray(values).astype(dtype), xp, order)


def _made(values: Any, xp: Any, order: str) -> Any:
    return (importlib.import_module(_PACKAGE) if xp is None else xp).asarray(values, order=order)


def __getattr__(name: str) -> Any:
    return getattr(ours, name)
