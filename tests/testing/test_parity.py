"""The decorators: what agrees passes, every kind of difference fails."""

from __future__ import annotations

import numpy as np
import pytest

from numloom.testing import for_all_dtypes, for_dtypes, matches_numpy


@matches_numpy
def test_values_shapes_and_dtypes(xp):
    return {"a": xp.arange(6).reshape(2, 3) * 2, "b": (xp.ones(3, dtype="f4"), None, "text")}


@matches_numpy
def test_errors(xp):
    return xp.arange(3) + xp.arange(4)


@matches_numpy(rtol=1e-6)
def test_tolerance(xp):
    return xp.exp(xp.arange(4, dtype="f4"))


@for_dtypes(["i4", "f8"])
@matches_numpy
def test_dtypes(xp, dtype):
    return xp.arange(4, dtype=dtype) + 1


@for_all_dtypes(kinds="iu", without=["u8"], name="kind")
def test_all_dtypes(kind):
    assert np.dtype(kind).kind in "iu"
    assert kind != np.uint64


def is_numpy(xp) -> bool:
    return xp is np


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda xp: np.arange(3) + (not is_numpy(xp)), "result"),
        (lambda xp: np.arange(3) if is_numpy(xp) else np.arange(4), "shapes differ"),
        (lambda xp: np.arange(3) if is_numpy(xp) else np.arange(3.0), "dtypes differ"),
        (lambda xp: 1 / 0 if is_numpy(xp) else 0, "NumPy raised"),
        (lambda xp: 0 if is_numpy(xp) else 1 / 0, "numloom raised"),
        (lambda xp: int("x") if is_numpy(xp) else 1 / 0, "NumPy raised ValueError"),
        (lambda xp: [1, 2] if is_numpy(xp) else [1], "other length"),
        (lambda xp: {"a": 1} if is_numpy(xp) else {"b": 1}, "other keys"),
        (lambda xp: "a" if is_numpy(xp) else "b", "NumPy gave"),
        (lambda xp: np.arange(3) if is_numpy(xp) else None, "is no array"),
    ],
)
def test_differences_fail(body, message):
    with pytest.raises(AssertionError, match=message):
        matches_numpy(body)()
