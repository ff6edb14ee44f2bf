"""NumPy's assertions pass and fail on our arrays as NumPy's do on its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl

CALLS = """
assert_equal(a, a.copy())
assert_equal(a, [0, 1, 2])
assert_equal(a, [0, 1, 3])
assert_equal({"x": a, "y": [a, 1]}, {"x": [0, 1, 2], "y": [a, 1]})
assert_equal({"x": a}, {"x": a + 1})
assert_equal([a, b], [a, b + 1])
assert_equal(a.sum(), 3)
assert_equal(a.sum(), 4)
assert_equal(a, a.astype("f4"), strict=True)
assert_almost_equal(b, b + 1e-9)
assert_almost_equal(b, b + 1e-3)
assert_almost_equal(b, b + 1e-3, decimal=2)
assert_almost_equal(b.sum(), 4.5)
assert_approx_equal(b.sum(), 4.5)
assert_approx_equal(b.sum(), 4.501)
assert_approx_equal(b.sum(), 4.501, significant=3)
assert_allclose(b, b + 1e-9)
assert_allclose(b, b + 1e-3)
assert_allclose(b, b + 1e-3, 1e-2)
assert_allclose(b, b + 1e-3, atol=1e-2)
assert_allclose(n, n)
assert_allclose(n, n, equal_nan=False)
assert_allclose(b, b[:2])
assert_allclose(xp.ones(3), 1)
assert_allclose(xp.ones(3), 1, strict=True)
assert_allclose(a, a + 1, err_msg="here it is")
assert_array_equal(a, [0, 1, 2])
assert_array_equal(a, a.astype("i2"))
assert_array_equal(a, a.astype("i2"), strict=True)
assert_array_equal(a, a[:, None])
assert_array_equal(n, n)
assert_array_equal(a, [0, 1, 4], "here it is")
assert_array_almost_equal(b, b + 1e-8)
assert_array_almost_equal(b, b + 1e-3)
assert_array_almost_equal(b, b + 1e-3, decimal=2)
assert_array_less(a, b + 1)
assert_array_less(b, a)
assert_array_less(a, 3)
assert_array_less(a, xp.asarray([3, 3, 3], dtype="i2"), strict=True)
assert_array_almost_equal_nulp(b, b * (1 + 2e-16))
assert_array_almost_equal_nulp(b, b * (1 + 1e-15))
assert_array_almost_equal_nulp(b, b * (1 + 1e-15), 10)
assert_array_max_ulp(b, b * (1 + 1e-15))
assert_array_max_ulp(b, b * (1 + 1e-15), 10)
assert_array_compare(np.greater, b, a - 1)
assert_array_compare(np.greater, a, b)
assert_(a.sum() == 3)
assert_((a == 0).all())
assert_string_equal("a", "a")
assert_string_equal("a", "b")
assert_raises(ValueError, lambda: xp.ones(3) + xp.ones(2))
assert_raises(TypeError, lambda: xp.ones(3) + xp.ones(2))
assert_raises(ValueError, lambda: a)
assert_raises_regex(ValueError, "broadcast", lambda: xp.ones(3) + xp.ones(2))
assert_raises_regex(ValueError, "nonsense", lambda: xp.ones(3) + xp.ones(2))
assert_warns(UserWarning, warnings.warn, "be warned")
assert_warns(UserWarning, lambda: a)
assert_no_warnings(lambda: a + 1)
"""


@pytest.mark.parametrize("text", [text for text in CALLS.split("\n") if text])
def test_as_numpy(text: str) -> None:
    def outcome(xp: Any) -> BaseException | None:
        arrays = {"a": np.arange(3), "b": np.array([0.5, 1.5, 2.5]), "n": np.array([1, np.nan, np.inf])}
        known = {name: xp.asarray(array) for name, array in arrays.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                eval("xp.testing." + text, {"xp": xp, "np": np, "warnings": warnings, **known})
        except Exception as error:
            return error
        return None

    ours, theirs = outcome(nl), outcome(np)
    assert type(ours) is type(theirs), (ours, theirs)
    if theirs is not None and "raises" not in text:
        assert str(ours) == str(theirs) or "lambda" in str(theirs)
        assert ("here it is" in str(ours)) == ("here it is" in text)


def test_errors_that_are_found_later_are_raised() -> None:
    x, index = nl.arange(5), nl.asarray([1, 7])
    nl.testing.assert_raises(IndexError, lambda: x[index])
    with nl.testing.assert_raises(IndexError):
        y = x[index]
    with nl.testing.assert_raises_regex(IndexError, "out of bounds"):
        y = x[index]
    del y
    with pytest.raises(AssertionError), nl.testing.assert_raises(IndexError):
        x[nl.asarray([1, 2])].get()


def test_names_are_all_there() -> None:
    about_numpy = {"HAS_LAPACK64", "HAS_REFCOUNT", "BLAS_SUPPORTS_FPE", "NUMPY_ROOT", "check_support_sve", "overrides",
                   "verbose", "rundocs", "runstring", "jiffies", "memusage", "decorate_methods"}  # fmt: skip
    names = [name for name in np.testing.__all__ if name not in about_numpy and not name.startswith(("IS_", "NOGIL"))]
    assert not [name for name in names if not hasattr(nl.testing, name)]
    with pytest.raises(AttributeError):
        nl.testing.nothing
