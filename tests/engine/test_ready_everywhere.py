"""Which operations have the same bits on every device (`numloom.engine._ready`): those run beside a GPU on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.engine import unplanned

pytestmark = pytest.mark.skipif(
    registry.current().discrete or nl.config.executor == "reference" or unplanned._unplanned is None,
    reason="a GPU has tests of its own; the reference and the uncompiled core run nothing without a plan",
)

FUNCTIONS: dict[str, Any] = {
    "exp": nl.exp, "sin": nl.sin, "log1p": nl.log1p, "tanh": nl.tanh, "power": lambda x: x**1.7,
}  # fmt: skip
EXACT: dict[str, Any] = {
    "add": lambda x: x + x, "negative": nl.negative, "sqrt": nl.sqrt, "maximum": lambda x: nl.maximum(x, 0.5),
    "less": lambda x: x < 0.5, "cast": lambda x: x.astype("f8"), "max": lambda x: x.max(),
}  # fmt: skip


@pytest.fixture
def device() -> Iterator[Any]:
    with stand_in() as made:
        yield made


def is_on_host(array: Any) -> bool:
    nl.evaluate(array)
    host = registry.beside(registry.current())
    return host is not None and bool(node_of(array).buffer.pool is host.pool)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_functions_of_narrow_floats_are_those_of_the_device(dtype: str, device: Any) -> None:
    """Of float64 they have one text; what is exact is the same wherever it runs."""
    host = np.linspace(0.1, 1, 9).astype(dtype)
    places = {name: is_on_host(function(nl.asarray(host))) for name, function in FUNCTIONS.items()}
    assert places == dict.fromkeys(FUNCTIONS, dtype == "f8")
    places = {name: is_on_host(function(nl.asarray(host))) for name, function in EXACT.items()}
    assert places == dict.fromkeys(EXACT, True)
