"""Running recorded work at the user's word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

MAKE: dict[str, Callable[[], Any]] = {
    "operation": lambda: nl.array([1.0, 2.0]) + 1,
    "reduction": lambda: nl.array([[1.0, 2.0]]).sum(1),
    "filled": lambda: nl.ones(9000),
    "counter": lambda: nl.arange(9000),
    "computed": lambda: nl.array([1, 2]),
    "view": lambda: (nl.array([1.0, 2.0]) * 2)[::-1],
    "empty": lambda: nl.zeros((0, 3)) + 1,
    "scalar": lambda: nl.array(2.0) * 3,
}


def has_run(array: Any) -> bool:
    return array.storage.value.buffer is not None


@pytest.mark.parametrize("name", MAKE)
def test_one_array(name: str) -> None:
    array = MAKE[name]()
    assert nl.evaluate(array) is None
    assert has_run(array)
    nl.evaluate(array)
    np.testing.assert_array_equal(array.get(), MAKE[name]().get())


@pytest.mark.parametrize("count", [2, 3, 8])
def test_several_arrays_and_what_else_is_pending(count: int) -> None:
    arrays = [make() for make in list(MAKE.values())[:count]]
    other = MAKE["operation"]()
    nl.evaluate(*arrays)
    assert all(map(has_run, [*arrays, other]))


def test_everything_that_is_pending() -> None:
    array, filled = MAKE["operation"](), MAKE["filled"]()
    nl.evaluate()
    assert has_run(array)
    assert not has_run(filled)  # nobody asked for it


@pytest.mark.parametrize("given", [(None,), (1.0,), (np.ones(2),), ([1],), ("array", None), (None, "array")])
def test_other_things_are_refused(given: tuple[Any, ...]) -> None:
    arrays = [MAKE["operation"]() if isinstance(one, str) else one for one in given]
    with pytest.raises(TypeError, match="evaluate takes numloom arrays"):
        nl.evaluate(*arrays)
