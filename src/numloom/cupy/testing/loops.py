"""Decorators that run a test for each of several dtypes, orders or axes."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

Test = Callable[..., Any]
_SIGNED, _UNSIGNED, _FLOATS, _COMPLEX = "bhiq", "BHIQ", "fd", "FD"
_ROTATIONS = 4
"""Of how many rotations of the dtypes a combination that is not full is made."""


def taking_fewer(run: Test, given: Collection[str]) -> Test:
    """A wrapped test whose signature lacks what the wrapper gives: a runner takes the others for fixtures."""
    of_test = inspect.signature(run)
    left = [one for name, one in of_test.parameters.items() if name not in given]
    run.__signature__ = of_test.replace(parameters=left)  # type: ignore[attr-defined]
    del run.__wrapped__  # type: ignore[attr-defined]
    return run


def each(choices: Iterable[dict[str, Any]]) -> Callable[[Test], Test]:
    """A decorator: the test runs with each of these sets of arguments."""
    listed = list(choices)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **named: Any) -> None:
            for choice in listed:
                try:
                    test(*args, **{**named, **choice})  # Of two decorators for one name the inner one decides.
                except Exception as error:
                    error.add_note(f"with {', '.join(f'{name}={value!r}' for name, value in choice.items())}")
                    raise

        return taking_fewer(run, {name for choice in listed for name in choice})

    return decorate


def for_dtypes(dtypes: Iterable[Any], name: str = "dtype") -> Callable[[Test], Test]:
    """A decorator: the test runs for each dtype, given as argument `name`.

    Examples
    --------
    >>> from numloom.cupy import testing
    >>> @testing.for_dtypes(["f4", "f8"])
    ... def test(dtype):
    ...     print(dtype.__name__)
    >>> test()
    float32
    float64
    """
    return each({name: np.dtype(dtype).type} for dtype in dtypes)


def _all(no_float16: bool, no_bool: bool, no_complex: bool) -> str:
    kinds = ("" if no_bool else "?") + _SIGNED + _UNSIGNED + ("" if no_float16 else "e") + _FLOATS
    return kinds + ("" if no_complex else _COMPLEX)


def for_all_dtypes(
    name: str = "dtype", no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> Callable[[Test], Test]:
    """`for_dtypes` of all that arrays can have."""
    return for_dtypes(_all(no_float16, no_bool, no_complex), name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Callable[[Test], Test]:
    """`for_dtypes` of the floating ones."""
    return for_dtypes(_FLOATS if no_float16 else "e" + _FLOATS, name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Callable[[Test], Test]:
    """`for_dtypes` of the integers."""
    return for_dtypes(("" if no_bool else "?") + _SIGNED + _UNSIGNED, name)


def for_signed_dtypes(name: str = "dtype") -> Callable[[Test], Test]:
    """`for_dtypes` of the integers with a sign."""
    return for_dtypes(_SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Callable[[Test], Test]:
    """`for_dtypes` of the integers without a sign."""
    return for_dtypes(_UNSIGNED, name)


def for_complex_dtypes(name: str = "dtype") -> Callable[[Test], Test]:
    """`for_dtypes` of the complex ones."""
    return for_dtypes(_COMPLEX, name)


def for_dtypes_combination(
    types: Iterable[Any], names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Callable[[Test], Test]:
    """A decorator: the test runs for several dtypes at once, given as arguments `names`.

    Parameters
    ----------
    types : iterable
        The dtypes.
    names : sequence of str
        The arguments.
    full : bool, optional
        Whether for all combinations; else each dtype meets some others in each place.
    """
    kinds = [np.dtype(dtype).type for dtype in types]
    if full:
        combinations: Iterable[tuple[Any, ...]] = itertools.product(kinds, repeat=len(names))
    else:
        combinations = dict.fromkeys(
            tuple(kinds[(first + turn * place) % len(kinds)] for place in range(len(names)))
            for turn in range(min(_ROTATIONS, len(kinds)))
            for first in range(len(kinds))
        )
    return each(dict(zip(names, combination, strict=True)) for combination in combinations)


def for_all_dtypes_combination(
    names: Sequence[str] = ("dtyes",), no_float16: bool = False, no_bool: bool = False, full: bool | None = None,
    no_complex: bool = False,
) -> Callable[[Test], Test]:  # fmt: skip
    """`for_dtypes_combination` of all that arrays can have."""
    return for_dtypes_combination(_all(no_float16, no_bool, no_complex), names, full)


def for_signed_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Callable[[Test], Test]:
    """`for_dtypes_combination` of the integers with a sign."""
    return for_dtypes_combination(_SIGNED, names, full)


def for_unsigned_dtypes_combination(
    names: Sequence[str] = ("dtype",), full: bool | None = None
) -> Callable[[Test], Test]:
    """`for_dtypes_combination` of the integers without a sign."""
    return for_dtypes_combination(_UNSIGNED, names, full)


def for_int_dtypes_combination(
    names: Sequence[str] = ("dtype",), no_bool: bool = False, full: bool | None = None
) -> Callable[[Test], Test]:
    """`for_dtypes_combination` of the integers."""
    return for_dtypes_combination(("" if no_bool else "?") + _SIGNED + _UNSIGNED, names, full)


def for_orders(orders: Iterable[str | None], name: str = "order") -> Callable[[Test], Test]:
    """A decorator: the test runs for each order, given as argument `name`."""
    return each({name: order} for order in orders)


def for_CF_orders(name: str = "order") -> Callable[[Test], Test]:
    """`for_orders` of ``"C"`` and ``"F"``, and what NumPy takes for C's: None."""
    return for_orders([None, "C", "F", "c", "f"], name)


def for_contiguous_axes(name: str = "axis") -> Callable[[Test], Test]:
    """A decorator of a method: for each axis that gives dense parts of the object's `shape` in its `order`."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **named: Any) -> None:
            ndim = len(self.shape)
            if self.order in ("c", "C"):
                axes = [tuple(range(k, ndim)) for k in range(ndim)]
            elif self.order in ("f", "F"):
                axes = [tuple(range(k + 1)) for k in range(ndim)]
            else:
                raise ValueError(f"order is 'C' or 'F', got {self.order!r}")
            for axis in axes:
                test(self, *args, **named, **{name: axis})

        return taking_fewer(run, {name})

    return decorate


__all__ = [
    "each", "for_CF_orders", "for_all_dtypes", "for_all_dtypes_combination", "for_complex_dtypes",
    "for_contiguous_axes", "for_dtypes", "for_dtypes_combination", "for_float_dtypes", "for_int_dtypes",
    "for_int_dtypes_combination", "for_orders", "for_signed_dtypes", "for_signed_dtypes_combination",
    "for_unsigned_dtypes", "for_unsigned_dtypes_combination", "taking_fewer",
]  # fmt: skip
