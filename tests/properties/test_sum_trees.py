"""What the bits of a sum depend on: shape, axes, dtype and the order of the axes in memory, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numloom as nl
from numloom.testing.compare import host

NAMES = ["sum", "mean", "var", "prod"]
SHAPES = [(50, 12), (3, 700), (7, 5, 40), (130, 3, 2), (2000,), (1, 33), (40000, 2)]


def with_gaps(x: Any) -> Any:
    """The same order of axes, but neither dense nor at the beginning of its memory."""
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    large = nl.zeros([2 * x.shape[axis] + 3 for axis in order], x.dtype)
    part = large[tuple(slice(3, None, 2) for _ in order)].transpose(*np.argsort(order))
    part[...] = x
    return part


def backwards(x: Any) -> Any:
    """Every axis walked backwards through memory."""
    turned = (slice(None, None, -1),) * x.ndim
    return x[turned].copy("K")[turned]


SAME_ORDER: dict[str, Callable[[Any], Any]] = {
    "computed": lambda x: x * 1,
    "gaps": with_gaps,
    "backwards": backwards,
    "copied": lambda x: x.copy("K"),
    "of a computed view": lambda x: nl.stack([x, x])[1] if x.flags.c_contiguous else x.T.copy().T,
    "waited for": lambda x: nl.asarray(np.array(host(x), order="K")),
    "cast on the way": lambda x: x.astype("c16").real if x.dtype == "f8" else x.astype("f8").astype(x.dtype),
}


def values(shape: tuple[int, ...], dtype: str, order: str) -> Any:
    made = (np.random.default_rng(shape[0]).normal(size=shape) * 3).astype(dtype)
    return nl.asarray(np.asarray(made, order=order))  # type: ignore[call-overload]


def bits(x: Any) -> list[int]:
    found = host(x)
    return found.reshape(-1).view(f"u{found.itemsize}").tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", NAMES)
@given(
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(["f8", "f4", "f2"]),
    order=st.sampled_from("CF"),
    how=st.sampled_from(sorted(SAME_ORDER)),
    data=st.data(),
)
def test_sums_of_one_order_of_axes_have_one_tree(
    name: str, shape: tuple[int, ...], dtype: str, order: str, how: str, data: Any
) -> None:
    axes = data.draw(st.sampled_from([None, *range(len(shape)), *([(0, 1), (-1, 0)] if len(shape) > 1 else [])]))
    x = values(shape, dtype, order)
    if name == "prod":
        x = x / 3 + 1
    plain = getattr(nl, name)(x, axes)
    assert bits(getattr(nl, name)(SAME_ORDER[how](x), axes)) == bits(plain)


@pytest.mark.parametrize("axis", [0, 1])
def test_another_order_of_axes_is_another_tree(axis: int) -> None:
    """Fortran order sums as the transposed table does, and a copy in C order as the table in C order."""
    table = values((50, 12), "f8", "C")
    turned = nl.asarray(np.asfortranarray(host(table)))
    assert bits(turned.sum(axis)) == bits(turned.T.copy().sum(1 - axis))
    assert bits(turned.copy().sum(axis)) == bits(table.sum(axis))
    assert bits(turned.sum(axis)) != bits(table.sum(axis))
    np.testing.assert_allclose(host(turned.sum(axis)), host(table.sum(axis)), rtol=1e-12, atol=1e-13)


def test_axes_that_only_repeat_lie_nowhere() -> None:
    """An axis of stride 0 is never the fast one: its sum goes one by one where no other axis is summed."""
    column = values((50, 1), "f8", "C")
    repeated = nl.broadcast_to(column, (50, 12))
    assert bits(repeated.sum(1)) == bits(nl.asarray(np.asfortranarray(host(repeated))).sum(1))
