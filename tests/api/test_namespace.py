"""Names of NumPy that are handed on or refused."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.api.namespace import OF_NUMPY, REFUSED


@pytest.mark.parametrize("name", [*REFUSED, "no_such_name"])
def test_a_refused_name_says_what_to_do(name: str) -> None:
    with pytest.raises(AttributeError, match=name) as caught:
        getattr(nl, name)
    assert REFUSED.get(name, "no attribute") in str(caught.value)
    assert not hasattr(nl, name) and name not in dir(nl)


def test_objects_of_numpy_are_its_own() -> None:
    for name in OF_NUMPY:
        if hasattr(np, name):
            assert getattr(nl, name) is getattr(np, name)
            assert name in dir(nl)
    assert nl.exceptions is np.exceptions and nl.dtypes is np.dtypes


def test_types_for_annotations() -> None:
    from numloom.typing import ArrayLike, DTypeLike, NDArray

    assert NDArray[nl.float32].__origin__ is nl.ndarray
    assert nl.ndarray in ArrayLike.__args__ and DTypeLike is not None
    assert nl.typing.NDArray is NDArray
