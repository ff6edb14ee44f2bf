"""Patterns of `rewrite` match what they compute and nothing else: axes, views, products, dtypes, numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

X = nl.symbol("x", (3, 3))
Y = nl.symbol("y", (3, 3))
V = nl.symbol("v", (4,))
B = nl.symbol("b", (4,), "bool")


def hits(tree: Any, pattern: Callable[..., Any]) -> list[tuple[str, ...]]:
    """What a pattern's arguments were, each time that it matched."""
    found: list[tuple[str, ...]] = []

    def replaced(*given: Any) -> Any:
        found.append(tuple([nl.tree(one)[-1].name for one in given]))
        return pattern(*given)

    nl.rewrite(tree, (pattern, replaced))
    return found


def count(tree: Any, pattern: Callable[..., Any]) -> int:
    return len(hits(tree, pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        lambda a: a.sum(),
        lambda a: a.mean(),
        lambda a: a.max(),
        lambda a: a.T,
        lambda a: a.sum(0),
        lambda a: a.prod(),
        lambda a: a.reshape(-1),
        lambda a: a[::-1],
        lambda a: nl.sort(a),
        lambda a: nl.cumsum(a),
        lambda a: a.astype("float32"),
        lambda a: nl.clip(a, 0, 1),
        lambda a, b: a @ b,
    ],
)
def test_what_is_not_there_is_not_matched(pattern: Any) -> None:
    assert count(nl.sin(X) + Y * 2 + nl.exp(X - Y), pattern) == 0


@pytest.mark.parametrize(
    ("tree", "pattern", "times"),
    [
        (nl.sin(X).sum(), lambda a: a.sum(), 1),
        (nl.sin(X).sum(0), lambda a: a.sum(), 0),
        (nl.sin(X).sum(0), lambda a: a.sum(0), 1),
        (nl.sin(X).sum(0).sum(), lambda a: a.sum(0).sum(), 1),
        (nl.sin(X).sum(0, keepdims=True), lambda a: a.sum(0), 0),
        (nl.sin(X).max(1), lambda a: a.max(-1), 1),
        (nl.sin(X).max(1), lambda a: a.min(-1), 0),
        (nl.sin(X).mean(), lambda a: a.mean(), 1),
        (nl.sin(X).mean(), lambda a: a.sum(), 0),
        (nl.sin(X).T + 1, lambda a: a.T, 1),
        (X.T + 1, lambda a: a.T, 1),
        (X[::-1] + 1, lambda a: a.T, 0),
        (X[::-1] + 1, lambda a: a[::-1], 1),
        (X[1:] + 1, lambda a: a[::-1], 0),
        (X @ Y, lambda a, b: a @ b, 1),
        (X @ X, lambda a, b: a @ b, 1),
        (X @ X, lambda a: a @ a, 1),
        (X @ Y, lambda a: a @ a, 0),
        (nl.sin(X) @ V[:3], lambda a, b: a @ b, 1),
        (X @ Y @ X, lambda a, b, c: (a @ b) @ c, 1),
        (nl.matmul(X, Y) + nl.matmul(Y, X), lambda a, b: a @ b, 2),
        ((V * V).sum() + 1, lambda a, b: (a * b).sum(), 1),
        ((V * V).sum() + 1, lambda a: (a * a).sum(), 1),
        ((V[1:] * V[1:]).sum(), lambda a: (a * a).sum(), 1),
        ((V[1:] * V[:-1]).sum(), lambda a: (a * a).sum(), 0),
        (nl.sort(nl.sin(X), axis=0), lambda a: nl.sort(a, axis=0), 1),
        (nl.sort(nl.sin(X), axis=0), lambda a: nl.sort(a, axis=1), 0),
        (nl.cumsum(V) + 1, lambda a: nl.cumsum(a), 1),
        (nl.linalg.svd(X)[1].sum(), lambda a: nl.linalg.svd(a)[1], 1),
        (nl.linalg.svd(X)[0].sum(), lambda a: nl.linalg.svd(a)[1], 0),
        (nl.linalg.inv(X) @ V[:3], lambda a, b: nl.linalg.inv(a) @ b, 1),
        (V > 0, lambda a: a > 0, 1),
        (V > 1, lambda a: a > 0, 0),
        (nl.where(B, V, 0), lambda c, a: nl.where(c, a, 0), 1),
        (V.astype("float32") * 2, lambda a: a.astype("float32"), 1),
        (B.sum(), lambda a: a.sum(), 1),
        (nl.sin(V) + 2, lambda a: nl.sin(a) + 3, 0),
        (nl.sin(V) + nl.nan, lambda a: a + nl.nan, 1),
        (V[nl.asarray([2, 0])] + 1, lambda a: a + 1, 1),
        (nl.log(nl.sin(nl.exp(nl.cos(nl.tan(nl.exp(V + 1).sum())) * 2))),
         lambda a: nl.log(nl.sin(nl.exp(nl.cos(nl.tan(nl.exp(a + 1).sum())) * 2))), 1),
    ],
)  # fmt: skip
def test_what_is_there_is_matched(tree: Any, pattern: Any, times: int) -> None:
    assert count(tree, pattern) == times


def test_a_product_is_matched_whatever_was_computed_before() -> None:
    """Plain products of the same form are sums of products, which calls replay."""
    tree = X @ Y @ X
    a, b = nl.asarray(np.random.default_rng(0).random((2, 3, 3)))
    for _ in range(8):
        ((a @ b) @ a + nl.matmul(a.T, b.T).T @ a).get()
    assert count(tree, lambda a, b, c: (a @ b) @ c) == 1
    assert count(tree, lambda a, b: nl.matmul(a, b)) == 2


def test_the_results_are_those_of_the_replacement() -> None:
    x, w = np.random.default_rng(0).random((2, 3, 3))
    tree = nl.rewrite(nl.sin(X @ Y).sum(0), (lambda a, b: a @ b, lambda a, b: (b.T @ a.T).T))
    np.testing.assert_allclose(nl.function([X, Y], tree)(x, w).get(), np.sin(x @ w).sum(0))
    tree = nl.rewrite(nl.log(nl.exp(X).sum(1)), (lambda a: nl.log(nl.exp(a).sum(1)), lambda a: a.max(1)))
    np.testing.assert_allclose(nl.function([X], tree)(x).get(), x.max(1))


def test_a_replacement_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="must have that shape"):
        nl.rewrite(nl.sin(X).sum(), (lambda a: a.sum(), lambda a: a))


def test_a_pattern_takes_a_fixed_number_of_arrays() -> None:
    with pytest.raises(TypeError, match="a fixed number of arrays"):
        nl.rewrite(nl.sin(X), (lambda *a: nl.sin(a[0]), lambda *a: a[0]))


def test_errors_of_a_pattern_itself_are_told() -> None:
    with pytest.raises(NameError):
        nl.rewrite(nl.sin(X), (lambda a: unknown(a), lambda a: a))  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("way", ["substitute", "givens", "verify"])
def test_a_number_in_the_place_of_memory_that_a_routine_sees_a_part_of(way: str) -> None:
    """A routine that is bound to addresses reads by the strides that it was bound for: `full` has no others."""
    with nl.config(unplanned=0, poison=True):
        x = nl.symbol("x", (8, 9), "i1")
        tree = nl.maximum.accumulate(x[1:, -2::-2], 0)
        ready = nl.function([x], tree)
        for call in range(4):
            ready(nl.array(np.full((8, 9), call, "i1")))
        filled = nl.full((8, 9), 3, "i1")
        if way == "substitute":
            found = nl.substitute(tree, (x, filled))
        elif way == "givens":
            found = nl.function([], tree, givens=[(x, filled)])()
        else:
            with nl.config(verify=True):
                found = ready(filled)
        assert (found.get() == 3).all()
