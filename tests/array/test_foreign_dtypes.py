"""NumPy's arrays in dtypes of other libraries, which are known by no number, are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

try:
    from numpy._core._multiarray_umath import _get_sfloat_dtype
except ImportError:  # NumPy's own dtype for tests of its C interface.
    pytest.skip("this NumPy has no dtype without a number", allow_module_level=True)

Use = Callable[[Any], Any]
USES: dict[str, Use] = {
    "asarray": nl.asarray,
    "array": nl.array,
    "asanyarray": nl.asanyarray,
    "ascontiguousarray": nl.ascontiguousarray,
    "copy": nl.copy,
    "of two axes": lambda x: nl.asarray(x.reshape(3, 1)),
    "of no elements": lambda x: nl.asarray(x[:0]),
    "turned": lambda x: nl.asarray(x[::-1]),
    "long": lambda x: nl.asarray(np.concatenate([x] * 3000)),
    "operand": lambda x: nl.ones(3) + x,
    "operand on the left": lambda x: x + nl.ones(3),
    "ufunc": lambda x: nl.add(x, x),
    "sort": nl.sort,
    "concatenate": lambda x: nl.concatenate([x, x]),
    "cumsum": nl.cumsum,
    "diff": nl.diff,
    "repeat": lambda x: nl.repeat(x, 2),
    "tile": lambda x: nl.tile(x, 2),
    "nonzero": nl.nonzero,
    "interp": lambda x: nl.interp(nl.ones(1), x, x),
    "searchsorted": lambda x: nl.searchsorted(nl.ones(3), x),
    "zeros": lambda x: nl.zeros(2, x.dtype),
    "zeros_like": nl.zeros_like,
    "astype": lambda x: nl.ones(3).astype(x.dtype),
    "view": lambda x: nl.ones(3).view(x.dtype),
    "frombuffer": lambda x: nl.frombuffer(bytes(24), x.dtype),
}


def scaled() -> np.ndarray[Any, Any]:
    return np.arange(1.0, 4.0).view(_get_sfloat_dtype()(2.0))  # 2, 4, 6


def test_its_number_is_negative() -> None:
    assert scaled().dtype.num < 0


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_refused(use: Use) -> None:
    for _ in range(3):
        with pytest.raises(TypeError, match="is not supported on the device"):
            use(scaled())


def test_converted_where_a_dtype_is_given() -> None:
    assert nl.asarray(scaled(), "f8").tolist() == [2, 4, 6]
    x = nl.zeros(3)
    x[:] = scaled()
    assert x.tolist() == [2, 4, 6]
