"""Norms, condition and rank against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_kernels, for_all_dtypes, matches_numpy

ORDERS = [None, 0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf, "fro", "nuc", "f", "other"]

CASES = """
la.norm(stack)
la.norm(stack, axis=(0, -1))
la.norm(stack, 1, (0, 0))
la.norm(stack, 2, (3, 1), True)
la.norm(stack, "nuc", (1, 3), keepdims=True)
la.norm(stack, None, keepdims=True)
la.norm(stack, 2)
la.norm(stack, axis=4)
la.norm(a, axis=[0])
la.norm(a, axis=1.0)
la.norm(a, axis=())
la.norm(a, 2, 0, True)
la.norm(a.T[::-1], np.inf, 1)
la.norm([3, 4])
la.norm([[1, 2], [3, 4]], "fro")
la.norm(5.0)
la.norm(5.0, keepdims=True)
la.norm(5.0, 2)
la.norm(i, 1)
la.norm(q)
la.norm(f, 3, -1)
la.norm(c)
la.norm(z, 2, 1)
la.norm(z, "fro")
la.norm(z[0], 0)
la.norm(e1)
la.norm(e1, 1)
la.norm(e1, np.inf)
la.norm(e1, -np.inf)
la.norm(e2, 2, 0)
la.norm(e2, np.inf, 1)
la.norm(e1, 2)
la.norm(nan, np.inf)
la.norm(inf)
la.norm(inf, -1)
la.vector_norm(stack)
la.vector_norm(stack, axis=1, ord=np.inf)
la.vector_norm(stack, axis=(-1, 0), ord=3)
la.vector_norm(stack, axis=(0, 2), keepdims=True)
la.vector_norm(stack, keepdims=True, ord=1)
la.vector_norm(stack, axis=(0, 0))
la.vector_norm(stack, axis=7)
la.vector_norm(4)
la.vector_norm(-4.0, keepdims=True)
la.vector_norm(e1, axis=0)
la.vector_norm(e1, ord=-np.inf)
la.vector_norm(c, ord=-1)
la.vector_norm(a, ord="fro")
la.matrix_norm(stack)
la.matrix_norm(stack, keepdims=True, ord=1)
la.matrix_norm(stack, ord=-2)
la.matrix_norm(v)
la.cond(a)
la.cond(w)
la.cond(w, 1)
la.cond(stack, -2)
la.cond(stack, 1)
la.cond(z, "fro")
la.cond(f, np.inf)
la.cond(i)
la.cond(zero)
la.cond(zero, 1)
la.cond(one, 1)
la.cond(e0)
la.cond(e1, 2)
la.cond(e3)
la.cond(v)
la.cond(a, 5)
la.cond(h)
la.cond(nan, 1)
la.matrix_rank(a)
la.matrix_rank(flat)
la.matrix_rank(stack)
la.matrix_rank(stack, rtol=[0.1, 0.5, 0.9])
la.matrix_rank(stack, 2.0)
la.matrix_rank(stack, [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]])
la.matrix_rank(sym, hermitian=True)
la.matrix_rank(a, 1.0, rtol=0.1)
la.matrix_rank(v)
la.matrix_rank(0 * v)
la.matrix_rank(3)
la.matrix_rank(zero)
la.matrix_rank(i)
la.matrix_rank(e1)
la.matrix_rank(q)
la.matrix_rank(h)
""".strip().splitlines()


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=2e-5, atol=1e-12)
def test_matches(xp: Any, expression: str, matrices: Any) -> Any:
    return eval(expression, matrices(xp))


@pytest.mark.parametrize("ord", ORDERS)
@matches_numpy(rtol=1e-9)
def test_orders(xp: Any, ord: Any, matrices: Any) -> Any:
    names = matrices(xp)

    def outcome(*arguments: Any) -> Any:
        try:
            return xp.linalg.norm(*arguments)
        except ValueError as error:
            return str(error)

    return [outcome(names["v"], ord), outcome(names["w"], ord), outcome(names["z"], ord), outcome(names["w"], ord, 0)]


@for_all_dtypes()
@matches_numpy(rtol=2e-3)
def test_dtypes(xp: Any, dtype: Any) -> Any:
    x = xp.asarray((np.arange(12).reshape(3, 4) % 5).astype(dtype))
    norm = xp.linalg.norm
    return norm(x), norm(x, axis=1), norm(x, 1), norm(x, 3, 0), norm(x, 0, 1), norm(x, np.inf, 0)


def test_a_norm_is_one_kernel() -> None:
    x = nl.asarray(np.ones((40, 50)))
    with assert_kernels(1):
        total = nl.linalg.norm(2 * x - 1)
    assert float(total) == pytest.approx(np.sqrt(2000))
    with assert_kernels(1):
        rows = nl.linalg.norm(x, axis=1, keepdims=True)
        scaled = x / rows
    np.testing.assert_allclose(scaled.get(), 1 / np.sqrt(50))
