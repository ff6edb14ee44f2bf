"""What random programs of others found: small differences from NumPy, each held here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

pytestmark = pytest.mark.filterwarnings("ignore")


def outcome(xp: Any, call: Callable[[Any], Any]) -> Any:
    """What a call gives, or the class of its error; of numbers that are none it does not matter which NaN they are."""
    try:
        with np.errstate(all="ignore"):
            result = call(xp)
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    host = result.get() if xp is nl else np.asarray(result)
    lies = [step for step, extent in zip(host.strides, host.shape, strict=True) if extent > 1] if host.size else []
    if host.dtype.kind in "fc":
        parts = host.copy().reshape(-1).view(host.real.dtype)
        parts[np.isnan(parts)] = np.nan
        return str(host.dtype), host.shape, lies, parts.tobytes()
    return str(host.dtype), host.shape, lies, host.tobytes()


def truth(xp: Any) -> Any:
    return xp.asarray(np.array([True, False, True]))


def locked(xp: Any, dtype: str, shape: tuple[int, ...] = (3,)) -> Any:
    """An array that cannot be written."""
    return xp.broadcast_to(xp.asarray(np.ones(shape[-1:], dtype)), shape)


def written(array: Any, *store: Callable[[Any], Any]) -> Any:
    for one in store:
        one(array)
    return array


POWERS: dict[str, Callable[[Any], Any]] = {
    "a truth value": lambda xp: truth(xp)[0] ** 2,
    "a reduced one": lambda xp: xp.logical_or.reduce(truth(xp)) ** 2,
    "a 0-d array": lambda xp: xp.asarray(np.array(True)) ** 2,
    "truth values": lambda xp: truth(xp) ** 2,
    "any": lambda xp: truth(xp).any() ** 2,
    "by three": lambda xp: truth(xp).any() ** 3,
    "in place": lambda xp: truth(xp).any() ** True,
    "a root": lambda xp: xp.power(xp.asarray(np.array([-np.inf, -0.0, 4, np.nan], "f4")), 0.5),
    "a root into": lambda xp: xp.power(xp.asarray(np.array([-np.inf, 4])), 0.5, out=xp.zeros(2)),
    "roots": lambda xp: xp.power(xp.asarray(np.array([-np.inf, 4])), xp.asarray(np.array([0.5, 0.5]))),
    "a root of integers": lambda xp: xp.power(xp.asarray(np.array([4, 9], "i1")), 0.5),
    "a root where": lambda xp: xp.power(xp.asarray(np.array([4.0, 9.0])), 0.5, where=np.array([True, True])),
    "a root in single": lambda xp: xp.power(xp.asarray(np.array([-np.inf, 9.0])), 0.5, dtype="f4"),
    "a number's root": lambda xp: xp.power(-np.inf, 0.5),
}


@pytest.mark.parametrize("name", POWERS)
def test_powers(name: str) -> None:
    assert outcome(nl, POWERS[name]) == outcome(np, POWERS[name])


ERRORS: dict[str, Callable[[Any], Any]] = {
    "no loop, read-only": lambda xp: xp.bitwise_or(xp.ones(3), xp.ones(3), out=locked(xp, "u2")),
    "no loop of one, read-only": lambda xp: xp.invert(xp.ones(3), out=locked(xp, "u2")),
    "no cast, read-only": lambda xp: xp.add(xp.ones(3, "c16"), 1, out=locked(xp, "u2")),
    "no room, read-only": lambda xp: xp.add(xp.ones(3, "u1"), 300, out=locked(xp, "u1")),
    "in place, no loop": lambda xp: locked(xp, "u1").__ilshift__(xp.ones(3)),
    "in place, no room": lambda xp: locked(xp, "i1").__iadd__(300),
    "in place, no cast": lambda xp: locked(xp, "i4").__iadd__(xp.ones(3, "c16")),
    "in place, no shape": lambda xp: locked(xp, "i4").__iadd__(xp.ones(4, "i4")),
    "dtype without room": lambda xp: xp.add(xp.ones(3, "i4"), 300, dtype="u1"),
    "dtype without room, safe": lambda xp: xp.gcd(xp.ones(3), -3, dtype="u8", casting="safe"),
    "dtype without a cast": lambda xp: xp.add(xp.ones(3), 3, dtype="u1"),
    "a power in place, no cast": lambda xp: locked(xp, "u2").__ipow__(xp.ones(3)),
    "copyto no cast, read-only": lambda xp: xp.copyto(locked(xp, "u2"), xp.ones(3)),
    "copyto itself, read-only": lambda xp: (lambda x: xp.copyto(x, x, where=truth(xp)) or x)(locked(xp, "u2")),
    "place no cast, nothing": lambda xp: xp.place(xp.ones(3, "i1"), truth(xp), xp.ones(0)),
    "put nothing without room": lambda xp: xp.put(xp.ones(3, "u1"), xp.zeros(0, "i8"), 300),
    "put nothing": lambda xp: written(xp.ones(3, "u1"), lambda x: xp.put(x, xp.zeros(0, "i8"), 3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_which_error_comes_first(name: str) -> None:
    got, want = outcome(nl, ERRORS[name]), outcome(np, ERRORS[name])
    assert got == want and (type(want) is str) == (name not in ("copyto itself, read-only", "put nothing"))


def test_what_a_locked_array_refuses_changes_nothing() -> None:
    x = nl.asarray(np.arange(3))
    locked = nl.broadcast_to(x, (2, 3))
    with pytest.raises(ValueError, match="read-only"):
        locked += 1
    with pytest.raises(ValueError, match="read-only"):
        nl.add(locked, 1, out=locked)
    assert x.get().tolist() == [0, 1, 2]
    number = nl.asarray(np.array([3]))[0]
    number += 1  # A scalar gets another name.
    assert number.get() == 4


def test_trimmed_scalars_are_scalars() -> None:
    for xp in (np, nl):
        number = xp.trim_zeros(xp.asarray(np.array([3, 1], "i2")).min())
        number -= xp.zeros((2,), "i4")  # A scalar gets another name.
        assert number.shape == (2,)
        table = xp.trim_zeros(xp.asarray(np.array(3)))
        with pytest.raises(ValueError, match="broadcast"):
            table -= xp.zeros((2,), int)


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "cross": lambda xp: xp.cross(xp.asarray(np.array([1.0, 2])), xp.asarray(np.array([3.0, 5]))),
    "random": lambda xp: xp.random.default_rng(1).random(()),
    "normal": lambda xp: xp.random.default_rng(1).normal(size=()),
    "integers": lambda xp: xp.random.default_rng(1).integers(5, size=()),
    "legacy": lambda xp: xp.random.RandomState(1).uniform(1, 2, ()),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="cross takes no plane vectors")
@pytest.mark.parametrize("name", ARRAYS)
def test_results_without_axes_that_are_arrays(name: str) -> None:
    for xp in (np, nl):
        for _ in range(4):
            result = again = ARRAYS[name](xp)
            result += 1
            assert again is result
            assert result.shape == ()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2,), (2, 1)])
@pytest.mark.parametrize("values", [(), (1,), (0,), (2,), (1, 1), (3, 0), (0, 2), (2, 1, 1)])
def test_values_of_a_mask_have_one_axis(shape: tuple[int, ...], values: tuple[int, ...]) -> None:
    for mask in (True, False):
        for index in (lambda m: m, lambda m: (m,)):

            def stored(xp: Any, mask: bool = mask, index: Any = index) -> Any:
                x = xp.zeros(shape)
                x[index(xp.full(shape, mask))] = xp.ones(values)
                return x

            assert outcome(nl, stored) == outcome(np, stored), (mask, values)


FORTRAN = np.asfortranarray(np.arange(24.0).reshape(4, 6))
ORDERS: dict[str, Callable[[Any], Any]] = {
    "row and column": lambda xp: xp.multiply(xp.ones((1, 4), "f2"), xp.ones((4, 1), "f2"), order="A"),
    "vector and column": lambda xp: xp.fmin(xp.ones(5, "u2"), xp.ones((4, 1), "f2"), order="A"),
    "vector and table": lambda xp: xp.add(xp.ones(5), xp.ones((4, 5)), order="A"),
    "tables": lambda xp: xp.add(xp.asarray(FORTRAN), xp.asarray(FORTRAN), order="A"),
    "table and number": lambda xp: xp.add(xp.asarray(FORTRAN), 1, order="A"),
    "packed backwards": lambda xp: xp.packbits(xp.asarray(FORTRAN > 5)[::-1], axis=-1),
    "packed": lambda xp: xp.packbits(xp.asarray(FORTRAN > 5), axis=-1),
    "packed downwards": lambda xp: xp.packbits(xp.asarray(FORTRAN > 5)[::-1], axis=0),
}


@pytest.mark.parametrize("name", ORDERS)
def test_memory_order(name: str) -> None:
    assert outcome(nl, ORDERS[name]) == outcome(np, ORDERS[name])


EMPTY: dict[str, Callable[[Any], Any]] = {
    "vector": lambda xp: xp.arange(10)[xp.zeros(0, bool)],
    "table": lambda xp: xp.ones((3, 2))[xp.zeros(0, bool)],
    "second axis": lambda xp: xp.ones((3, 2))[:, xp.zeros(0, bool)],
    "both axes": lambda xp: xp.ones((3, 2))[xp.zeros((0, 2), bool)],
    "another extent": lambda xp: xp.ones((3, 2))[xp.zeros((0, 5), bool)],
    "of the host": lambda xp: xp.ones((3, 2))[np.zeros(0, bool)],
    "stored": lambda xp: written(xp.ones((3, 2)), lambda x: x.__setitem__(xp.zeros(0, bool), 5)),
    "too many": lambda xp: xp.ones(3)[xp.zeros((0, 1), bool)],
    "not empty": lambda xp: xp.ones(3)[xp.zeros(2, bool)],
}


@pytest.mark.parametrize("name", EMPTY)
def test_masks_without_elements_fit_everywhere(name: str) -> None:
    assert outcome(nl, EMPTY[name]) == outcome(np, EMPTY[name])


@pytest.mark.parametrize("unplanned", [0, 1 << 16])
def test_large_unsigned_indices_count_from_the_end(unplanned: int) -> None:
    """As in NumPy, which takes them for signed ones; those beyond are errors."""
    index = np.array([2**64 - 5, 1], "u8")
    with nl.config(unplanned=unplanned):
        for given in (nl.asarray(index), nl.asarray(index) + nl.asarray(np.zeros(2, "u8"))):
            x = nl.arange(10) * 1
            assert x[given].tolist() == nl.take(x, given).tolist() == [5, 1]
            assert x.reshape(2, 5)[:, given].tolist() == np.arange(10).reshape(2, 5)[:, index].tolist()
            x[given] = -1
            assert x.tolist() == [0, -1, 2, 3, 4, -1, 6, 7, 8, 9]
        with pytest.raises(IndexError, match="out of bounds"):
            nl.arange(10)[nl.asarray(np.array([2**63 + 5], "u8"))].get()


NUMBERS = [
    *map(np.float64, (2.75, -1.5, 315.0, np.nan, -np.inf, 1e30, 2.0**53)), np.float32(3e9), np.float16(7.5),
    *map(np.int64, (300, -1, 2**62)), np.int32(127), np.uint64(2**64 - 1), np.uint64(7), np.uint8(200), np.bool_(True),
]  # fmt: skip


@pytest.mark.parametrize("place", [2, slice(0, 2), Ellipsis, (0,), [0, 1]], ids=str)
@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_numbers_that_are_stored_as_another_dtype(dtype: str, place: Any) -> None:
    """NumPy's scalars must be numbers of integers' dtypes, what is without axes is cast."""
    for number in NUMBERS:
        stored = []
        for xp in (np, nl):
            x = xp.zeros(3, dtype)
            value = number if xp is np else nl.asarray(np.array([number]))[0]
            with np.errstate(all="ignore"):
                stored.append(
                    outcome(xp, lambda xp, x=x, value=value: written(x, lambda x: x.__setitem__(place, value)))
                )
        assert stored[0] == stored[1], (number, stored)
