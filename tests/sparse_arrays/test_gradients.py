"""Gradients through products with a fixed pattern, beside those of the same work on dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import numloom as nl

pytestmark = pytest.mark.usefixtures("way")

B = scipy.sparse.random_array((6, 5), density=0.5, rng=1, format="csr")
X, COLUMNS = np.linspace(0.5, 2, 5), np.linspace(-1, 1, 15).reshape(5, 3)


def dense_of(data: Any) -> Any:
    """The matrix with these numbers, dense, by recorded work alone."""
    made = nl.zeros(B.shape, data.dtype)
    row, col = B.tocoo().coords
    made[nl.asarray(row), nl.asarray(col)] = data
    return made


BY_OPERAND = {
    "a @ x": lambda a, x: (nl.sin(a @ x) ** 2).sum(),
    "x @ a.T": lambda a, x: (x @ a.T).prod(),
    "twice": lambda a, x: ((a.T @ (a @ x)) * x).sum(),
}


@pytest.mark.parametrize("name", BY_OPERAND)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_by_a_dense_operand(name: str, format: str, dtype: str) -> None:
    cost = BY_OPERAND[name]
    a = nl.sparse.csr_array(B.astype(dtype)).asformat(format)
    x = nl.asarray(X.astype(dtype))
    found = nl.grad(lambda x: cost(a, x))(x)
    expected = nl.grad(lambda x: cost(nl.asarray(B.toarray().astype(dtype)), x))(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.get(), expected.get(), 2e-4 if dtype == "f4" else 1e-10)


def test_by_dense_columns() -> None:
    a, x = nl.sparse.csr_array(B), nl.asarray(COLUMNS)
    found = nl.grad(lambda x: (nl.tanh(a @ x) ** 2).sum())(x)
    expected = nl.grad(lambda x: (nl.tanh(nl.asarray(B.toarray()) @ x) ** 2).sum())(x)
    np.testing.assert_allclose(found.get(), expected.get(), 1e-10)


BY_NUMBERS = {
    "product": lambda a: (a @ nl.asarray(X) ** 2).sum(),
    "columns": lambda a: (nl.sin(a @ nl.asarray(COLUMNS))).sum(),
    "transposed": lambda a: ((nl.asarray(np.arange(6.0)) @ a) ** 2).sum(),
    "elementwise first": lambda a: ((nl.sin(a) * 3) @ nl.asarray(X)).sum(),
}


@pytest.mark.parametrize("name", BY_NUMBERS)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_by_the_stored_numbers(name: str, format: str) -> None:
    parts = nl.asarray(B.indices), nl.asarray(B.indptr)
    cost = BY_NUMBERS[name]

    def of(data: Any) -> Any:
        return cost(nl.sparse.csr_array((data, *parts), shape=B.shape).asformat(format))

    data = nl.asarray(B.data)
    found = nl.grad(of)(data)
    expected = nl.grad(lambda data: cost(dense_of(data)))(data)
    np.testing.assert_allclose(found.get(), expected.get(), 1e-10)
    value, again = nl.value_and_grad(of)(data)
    np.testing.assert_allclose(float(value), float(of(data)), 1e-12)
    np.testing.assert_array_equal(again.get(), found.get())


def test_a_pattern_that_values_make() -> None:
    """The numbers that are stored when the function runs carry the gradient."""
    x = nl.asarray(X)
    found = nl.grad(lambda x: (nl.sparse.csr_array(nl.outer(x, x)) @ nl.ones(5)).prod())(x)
    expected = nl.grad(lambda x: (nl.outer(x, x) @ nl.ones(5)).prod())(x)
    np.testing.assert_allclose(found.get(), expected.get(), 1e-10)


def test_work_on_stored_numbers_is_recorded() -> None:
    a = nl.sparse.csr_array(B)
    made = abs(nl.sin(a) * 2).sqrt().data
    np.testing.assert_allclose(made.get(), np.sqrt(abs(np.sin(B.data) * 2)), 1e-12)
    found = nl.grad(lambda scale: (a * scale).tanh().data.sum())(2.0)
    np.testing.assert_allclose(float(found), float((B.data / np.cosh(2 * B.data) ** 2).sum()), 1e-12)


def test_in_compiled_functions() -> None:
    a = nl.sparse.csr_array(B)
    by_vector = nl.compile(lambda x: nl.sin(a @ x) * 2)
    by_numbers = nl.compile(lambda data: nl.sparse.csr_array((data, a.indices, a.indptr), shape=a.shape) @ nl.ones(5))
    for k in range(4):
        np.testing.assert_allclose(by_vector(nl.asarray(X + k)).get(), 2 * np.sin(B @ (X + k)), 1e-12)
        np.testing.assert_allclose(by_numbers(nl.asarray(B.data * k)).get(), k * B @ np.ones(5), 1e-12)


def test_with_symbols() -> None:
    a, x = nl.sparse.csr_array(B), nl.symbol("x", (5,), "float64")
    y = (a @ x) ** 2
    run = nl.compiled.function([x], [y, nl.grad(y.sum(), x)])
    value, gradient = run(nl.asarray(X))
    np.testing.assert_allclose(value.get(), (B @ X) ** 2, 1e-12)
    np.testing.assert_allclose(gradient.get(), 2 * B.T @ (B @ X), 1e-12)
