"""Products, diagonals, chains and powers of matrices against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.linalg import multiply
from numloom.testing import matches_numpy

CASES = """
la.matmul(stack, a)
la.matmul(v, stack)
la.matmul(2, a)
la.vecdot(z, c)
la.vecdot(stack, a[:, :1], axis=-2)
la.tensordot(stack, a)
la.tensordot(stack, a, axes=1)
la.tensordot(stack, stack, axes=([0, 1], [0, 1]))
la.tensordot(a, w)
la.cross(i, i + 1)
la.cross(w, w + 2, axis=0)
la.cross(a, a)
la.outer(v, w[0])
la.outer(a, v)
la.diagonal(stack)
la.diagonal(stack, offset=-1)
la.diagonal(v)
la.trace(stack)
la.trace(stack, offset=2)
la.trace(i, dtype="f4")
la.trace(v)
la.matrix_transpose(stack)
la.matrix_transpose(v)
la.matrix_power(a, 0)
la.matrix_power(a, 1)
la.matrix_power(stack, 5)
la.matrix_power(i, 3)
la.matrix_power(q, 2)
la.matrix_power(q, 0)
la.matrix_power(h, 0)
la.matrix_power(i + 9 * xp.eye(3), -2)
la.matrix_power(f, -1)
la.matrix_power(a, 10)
la.matrix_power(zero, -1)
la.matrix_power(a, 1.5)
la.matrix_power(w, 2)
la.matrix_power(e3, 2)
la.multi_dot([a, t.T[:, :4].T])
la.multi_dot([a, b, z])
la.multi_dot([v, a, b, v])
la.multi_dot([v, a, b])
la.multi_dot([a, b, v])
la.multi_dot((w, t, w, t, w[:, 0]))
la.multi_dot([[1, 2], [[1, 2], [3, 4]], [5, 6]])
la.multi_dot([a])
la.multi_dot([a, w, a])
la.multi_dot([a, stack, a])
la.multi_dot([a, v, a])
la.multi_dot([w, t, w, t], out=xp.zeros((3, 3)))
la.multi_dot([w, t, w, t], out=xp.zeros((3, 4)))
""".strip().splitlines()


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=1e-5, atol=1e-10)
def test_matches(xp: Any, expression: str, matrices: Any) -> Any:
    return eval(expression, matrices(xp))


def test_a_chain_is_split_where_that_is_cheapest() -> None:
    """The textbook's example: ((A (B C)) ((D E) F)), 15125 multiplications."""
    splits = multiply._cheapest_splits([30, 35, 15, 5, 10, 20, 25])
    assert splits[0, 5] == 2 and splits[0, 2] == 0 and splits[3, 5] == 4


def test_out_of_a_chain_is_filled() -> None:
    hosts = [np.random.default_rng(k).standard_normal((4, 4)) for k in range(4)]
    out = nl.zeros((4, 4))
    assert nl.linalg.multi_dot([nl.asarray(host) for host in hosts], out=out) is out
    np.testing.assert_allclose(out.get(), np.linalg.multi_dot(hosts), rtol=1e-12)
