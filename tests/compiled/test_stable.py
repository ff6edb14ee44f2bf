"""Expressions rewritten, on request, so that they do not overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import numloom as nl

X = np.array([-800.0, -40.0, -1e-12, 0.0, 1e-12, 0.3, 40.0, 800.0])
ROWS = np.array([[800.0, 0.0, -800.0], [1e3, 1e3, 1e3], [0.1, 0.2, -0.7], [-1e3, -2e3, -1e3]])


def sigmoid(x: Any) -> Any:
    return 1 / (1 + nl.exp(-x))


ELEMENTWISE = {
    "log(sigmoid)": (lambda x: nl.log(sigmoid(x)), special.log_expit),
    "log(expit)": (lambda x: nl.log(nl.special.expit(x)), special.log_expit),
    "log(1 - sigmoid)": (lambda x: nl.log(1 - sigmoid(x)), lambda x: special.log_expit(-x)),
    "log1p(-sigmoid)": (lambda x: nl.log1p(-sigmoid(x)), lambda x: special.log_expit(-x)),
    "log(1 + exp)": (lambda x: nl.log(1 + nl.exp(x)), lambda x: np.logaddexp(0, x)),
    "log(exp + 1)": (lambda x: nl.log(nl.exp(x) + 1), lambda x: np.logaddexp(0, x)),
    "sigmoid": (sigmoid, special.expit),
    "exp - 1": (lambda x: nl.exp(x * 1e-3) - 1, lambda x: np.expm1(x * 1e-3)),
    "log(1 + x)": (lambda x: nl.log(1 + x * x), lambda x: np.log1p(x * x)),
    "log(1 - x)": (lambda x: nl.log(1 - x / 1e3), lambda x: np.log1p(-x / 1e3)),
    "cross entropy": (
        lambda x: -(0.3 * nl.log(sigmoid(x)) + 0.7 * nl.log(1 - sigmoid(x))),
        lambda x: -(0.3 * special.log_expit(x) + 0.7 * special.log_expit(-x)),
    ),
}
OF_ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "log(softmax)": (lambda x, a: nl.log(nl.special.softmax(x, a)), special.log_softmax),
    "log(exp / sum)": (lambda x, a: nl.log(nl.exp(x) / nl.exp(x).sum(a, keepdims=True)), special.log_softmax),
    "softmax": (lambda x, a: nl.exp(x) / nl.exp(x).sum(a, keepdims=True), special.softmax),
    "log(sum(exp))": (lambda x, a: nl.log(nl.exp(x).sum(a)), special.logsumexp),
    "log(sum(exp)), kept": (
        lambda x, a: nl.log(nl.exp(x).sum(a, keepdims=True)),
        lambda x, a: special.logsumexp(x, a, keepdims=True),
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str, dtype: str) -> None:
    ours, wanted = ELEMENTWISE[name]
    x = nl.symbol("x", X.shape, dtype)
    tree = ours(x)
    f = nl.function([x], nl.stable(tree))
    values = X.astype(dtype)
    found = f(values).get()
    assert found.dtype == dtype
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(found, wanted(values), rtol=2e-14 if dtype == "float64" else 1e-5, atol=tiny)
    assert np.isnan(f(np.full_like(values, np.nan)).get()).all()


@pytest.mark.parametrize("axis", [None, -1, 0, 1])
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name: str, axis: int | None) -> None:
    ours, wanted = OF_ROWS[name]
    x = nl.symbol("x", ROWS.shape)
    found = nl.function([x], nl.stable(ours(x, axis)))(ROWS).get()
    np.testing.assert_allclose(found, wanted(ROWS, axis), rtol=1e-13, atol=1e-300)


def test_gradients_are_finite() -> None:
    x = nl.symbol("x", X.shape)
    cost = nl.stable(-(0.3 * nl.log(sigmoid(x)) + 0.7 * nl.log(1 - sigmoid(x)))).sum()
    np.testing.assert_allclose(nl.function([x], nl.grad(cost, x))(X).get(), special.expit(X) - 0.3, rtol=1e-13)
    rows = nl.symbol("rows", ROWS.shape)
    cost = -nl.stable(nl.log(nl.special.softmax(rows, 1)))[nl.arange(4), nl.asarray([2, 0, 1, 1])].sum()
    wanted = special.softmax(ROWS, 1)
    wanted[np.arange(4), [2, 0, 1, 1]] -= 1
    np.testing.assert_allclose(nl.function([rows], nl.grad(cost, rows))(ROWS).get(), wanted, atol=1e-14)


def test_unknown_extents() -> None:
    x = nl.compiled.vector("x")
    found = nl.stable({"a": np.log(1 - 1 / (1 + np.exp(-x))), "b": [x * 1]})
    f = nl.function([x], found)
    for values in (X, X[:3]):
        np.testing.assert_allclose(f(values)["a"].get(), special.log_expit(-values), rtol=1e-13)
        assert np.array_equal(f(values)["b"][0].get(), values)


def test_nothing_is_rewritten_unasked() -> None:
    x = nl.symbol("x", X.shape)
    f = nl.function([x], [nl.log(1 - sigmoid(x)), nl.log(1 + x * x)])
    with np.errstate(all="ignore"):
        wanted = np.log(1 - 1 / (1 + np.exp(-X)))
    assert np.array_equal(np.isinf(f(X)[0].get()), np.isinf(wanted)) and np.isinf(wanted).any()
    assert f(X)[1].get()[2] == 0.0


def test_forms_and_refusals() -> None:
    x = nl.symbol("x", (3,))
    found = nl.stable({"a": [nl.log(1 + x), None], "b": x})
    assert found["b"] is not None and found["a"][1] is None and nl.tree(found["a"][0])[-1].name == "log1p"
    with pytest.raises(TypeError, match="stable takes arrays"):
        nl.stable(lambda x: x)
    kept = nl.log(x * 2) + nl.exp(x) - 2
    assert str(nl.tree(nl.stable(kept))) == str(nl.tree(kept))
