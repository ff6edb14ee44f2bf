"""Arguments in every order of memory: what NumPy calls a view is one under `compile` too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

ORDERS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x.reshape(3, 4),
    "F": lambda x: x.reshape(4, 3).T,
    "turned axes": lambda x: x.reshape(2, 3, 2).transpose(2, 0, 1),
    "reversed": lambda x: x.reshape(3, 4)[:, ::-1],
    "reversed F": lambda x: x.reshape(3, 4).T[::-1],
    "with gaps": lambda x: x.reshape(3, 4)[::2, ::2].T,
    "repeated": lambda x: x[:4, None] + x[None, :1] * 0,
    "repeated rows": lambda x: np.broadcast_to(x[:4], (3, 4)),
    "repeated columns": lambda x: np.broadcast_to(x[:4, None], (4, 3)),
    "a row": lambda x: x.reshape(12, 1).T,
    "nothing": lambda x: x[:0].reshape(0, 3).T,
}  # fmt: skip


def flat_writes(np: Any, a: Any) -> Any:
    """Writes through reshapes of results, copies and fresh arrays, which are views in some orders and not in others."""
    results = []
    for order in ("C", "F", "A"):
        for made in (a * 2, np.copy(a), a.copy(), np.zeros_like(a), np.sort(a, axis=0), a.T + 1):
            made.reshape(-1, order=order)[:2] = -1
            np.ravel(made, order=order)[1:3] = -2
            results.append(made)
            results.append(np.ravel(made, order="K") + 0)
    return results


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_a_view_under_compile(order: str) -> None:
    compiled = nl.compile(lambda a: flat_writes(nl, a))
    for turn in range(4):
        host = np.arange(12.0) + turn
        want = flat_writes(np, ORDERS[order](host))
        found = compiled(ORDERS[order](nl.asarray(host)))
        for one, expected in zip(found, want, strict=True):
            np.testing.assert_array_equal(one.get(), expected)


@pytest.mark.parametrize("verify", [False, True])
def test_one_function_called_in_every_order(verify: bool) -> None:
    """Each call runs what was recorded for its own order, also where shapes agree."""
    compiled = nl.compile(lambda a: flat_writes(nl, a))
    with nl.config(verify=verify):
        for turn in range(3):
            host = np.arange(12.0) + turn
            for make in ORDERS.values():
                for shape in (lambda x: x, lambda x: x[:1], lambda x: x.T, lambda x: x[:, :1]):
                    want = flat_writes(np, shape(make(host)))
                    found = compiled(shape(make(nl.asarray(host))))
                    for one, expected in zip(found, want, strict=True):
                        np.testing.assert_array_equal(one.get(), expected)


def test_gradients_of_repeated_arguments() -> None:
    """A broadcast argument counts as the whole array that it stands for."""
    x = nl.broadcast_to(nl.arange(4.0), (3, 4))
    for gradient in (nl.compile(nl.grad(lambda a: (a**2).sum())), nl.grad(nl.compile(lambda a: (a**2).sum()))):
        for _ in range(3):
            np.testing.assert_array_equal(gradient(x).get(), 2 * np.broadcast_to(np.arange(4.0), (3, 4)))


def test_a_repeated_row_is_not_taken_for_a_row() -> None:
    """The record of a broadcast argument is not that of the small array that it repeats."""
    compiled = nl.compile(lambda a: a.sum())
    row = nl.arange(4.0).reshape(1, 4)
    for _ in range(3):
        assert compiled(nl.broadcast_to(row, (3, 4))).item() == 18
        assert compiled(row).item() == 6


def flat_cost(np: Any, a: Any) -> Any:
    """A cost that follows from the order in which its argument lies."""
    weights = np.arange(1.0, a.size + 1).reshape(a.shape)
    made = a * 1
    made.reshape(-1)[:3] = -1
    np.ravel(made, order="F")[2:4] = 5
    return (made * weights + np.ravel(a.copy("K"), order="K")[:1] * weights * 2).sum()


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda cost, x: nl.grad(cost)(x),
    "value_and_grad": lambda cost, x: nl.value_and_grad(cost)(x)[1],
    "vjp": lambda cost, x: nl.vjp(cost, x)[1](1.0)[0],
    "jacobian": lambda cost, x: nl.jacobian(cost)(x),
    "jvp": lambda cost, x: nl.stack(
        [nl.jvp(cost, [x], [nl.arange(x.size).reshape(x.shape) == k * nl.ones(x.shape)])[1] for k in range(x.size)]
    ).reshape(x.shape),
    "compile of grad": lambda cost, x: nl.compile(nl.grad(cost))(x),
    "grad of compile": lambda cost, x: nl.grad(nl.compile(cost))(x),
    "grad of two": lambda cost, x: nl.grad(lambda a, b: cost(a) + b.sum(), argnums=(0, 1))(x, x)[0],
    "in a tree": lambda cost, x: nl.function([], lambda: nl.grad(cost)(x))(),
    "of what is computed": lambda cost, x: nl.grad(cost)(x * 1),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", [order for order in ORDERS if "repeated" not in order and order != "nothing"])
def test_gradients_in_every_order(order: str, way: str) -> None:
    host = ORDERS[order](np.arange(12.0))
    wanted = np.zeros(host.shape)
    for place in np.ndindex(host.shape):
        moved = host.copy("K")
        moved[place] += 1
        wanted[place] = flat_cost(np, moved) - flat_cost(np, host)  # It is linear.
    ours = ORDERS[order](nl.arange(12.0))
    np.testing.assert_allclose(nl.asnumpy(WAYS[way](lambda a: flat_cost(nl, a), ours)), wanted, atol=1e-9)
    value, _ = nl.value_and_grad(lambda a: flat_cost(nl, a))(ours)
    assert float(value) == flat_cost(np, host)
