"""Solvers, eigenvalues and norms, beside SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as theirs

import numloom as nl

pytestmark = pytest.mark.usefixtures("way")
ours = nl.sparse.linalg


def grid(n: int, dtype: str = "f8") -> scipy.sparse.csr_array:
    """Poisson's equation on a square of n × n points."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return scipy.sparse.csr_array(scipy.sparse.kronsum(line, line).astype(dtype))


B = np.random.default_rng(1).standard_normal(100)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("name", ["cg", "gmres", "minres", "bicg", "bicgstab"])
def test_iterative(name: str, dtype: str) -> None:
    if name == "minres" and dtype == "c16":
        return
    a = grid(10).astype(dtype)
    if dtype == "c16":
        a = a + 0.3j * (scipy.sparse.triu(a, 1) - scipy.sparse.tril(a, -1))
    b = B.astype(dtype)
    x, info = getattr(ours, name)(nl.sparse.csr_array(a), nl.asarray(b), rtol=1e-5 if dtype == "f4" else 1e-9)
    assert info == 0 and x.dtype == getattr(theirs, name)(a, b)[0].dtype
    tolerance = 1e-3 if dtype == "f4" else 1e-6
    np.testing.assert_allclose(x.get(), np.linalg.solve(a.toarray(), b), tolerance, tolerance)


@pytest.mark.parametrize("name", ["cg", "gmres"])
def test_preconditioned_started_and_stopped(name: str) -> None:
    a = grid(10) + scipy.sparse.diags_array(np.linspace(0, 50, 100))
    mine, b = nl.sparse.csr_array(a), nl.asarray(B)
    inverse = 1 / mine.diagonal()
    M = ours.LinearOperator((100, 100), matvec=lambda v: v * inverse)
    solve = getattr(ours, name)
    x, info = solve(mine, b, M=M, rtol=1e-10)
    assert info == 0
    exact = np.linalg.solve(a.toarray(), B)
    np.testing.assert_allclose(x.get(), exact, 1e-6, 1e-8)
    again, info = solve(mine, b, x0=x, rtol=1e-8)
    np.testing.assert_allclose(again.get(), exact, 1e-6, 1e-8)
    assert solve(mine, b, maxiter=1, rtol=1e-12, **({"restart": 2} if name == "gmres" else {}))[1] > 0
    zero, info = solve(mine, 0 * b)
    assert info == 0 and not zero.get().any()
    operator = ours.LinearOperator((100, 100), matvec=lambda v: mine @ v)
    np.testing.assert_allclose(solve(operator, b, rtol=1e-10)[0].get(), exact, 1e-6, 1e-8)
    with pytest.raises(ValueError):
        solve(mine, b[:50])
    with pytest.raises(ValueError):
        solve(mine[:50], b)


def test_callback_sees_each_step() -> None:
    seen = []
    ours.cg(nl.sparse.csr_array(grid(5)), nl.ones(25), callback=lambda x: seen.append(float(x.sum())))
    expected = []
    theirs.cg(grid(5), np.ones(25), callback=lambda x: expected.append(x.sum()))
    np.testing.assert_allclose(seen, expected)


def test_direct() -> None:
    a = scipy.sparse.csc_array(grid(10))
    mine, b = nl.sparse.csc_array(a), nl.asarray(B)
    exact = theirs.spsolve(a, B)
    np.testing.assert_allclose(ours.spsolve(mine, b).get(), exact)
    np.testing.assert_allclose(ours.splu(mine).solve(b).get(), exact)
    np.testing.assert_allclose(ours.factorized(mine)(b).get(), exact)
    np.testing.assert_allclose(ours.splu(mine).L.toarray().get(), theirs.splu(a).L.toarray())
    lower = nl.sparse.csr_array(nl.sparse.tril(mine))
    expected = theirs.spsolve_triangular(scipy.sparse.csr_array(scipy.sparse.tril(a)), B)
    np.testing.assert_allclose(ours.spsolve_triangular(lower, b).get(), expected)
    np.testing.assert_allclose(ours.inv(mine).toarray().get(), np.linalg.inv(a.toarray()))
    np.testing.assert_allclose(ours.expm_multiply(mine, b).get(), theirs.expm_multiply(a, B))
    with pytest.raises(ValueError):
        ours.spsolve(mine, b[:50])
    with pytest.raises(RuntimeError):
        ours.splu(nl.sparse.csc_array(np.zeros((3, 3))))


def test_least_squares() -> None:
    a = scipy.sparse.random_array((60, 20), density=0.3, rng=3, format="csr")
    mine, b = nl.sparse.csr_array(a), nl.asarray(B[:60])
    exact = np.linalg.lstsq(a.toarray(), B[:60], rcond=None)[0]
    for name in ("lsqr", "lsmr"):
        found = getattr(ours, name)(mine, b, atol=1e-12, btol=1e-12)
        assert len(found) == len(getattr(theirs, name)(a, B[:60]))
        np.testing.assert_allclose(found[0].get(), exact, 1e-6, 1e-8)
    operator = ours.aslinearoperator(mine)
    np.testing.assert_allclose(ours.lsqr(operator, b, atol=1e-12, btol=1e-12)[0].get(), exact, 1e-6, 1e-8)


def test_eigenvalues_and_norms() -> None:
    a = grid(8)
    mine = nl.sparse.csr_array(a)
    v0 = np.ones(64)
    np.testing.assert_allclose(ours.eigsh(mine, 4, v0=v0)[0].get(), theirs.eigsh(a, 4, v0=v0)[0])
    np.testing.assert_allclose(
        ours.eigsh(ours.aslinearoperator(mine), 4, v0=v0, return_eigenvectors=False).get(),
        theirs.eigsh(a, 4, v0=v0, return_eigenvectors=False),
    )
    u, s, vt = ours.svds(mine, 3, v0=v0)
    np.testing.assert_allclose(s.get(), theirs.svds(a, 3, v0=v0)[1])
    assert u.shape == (64, 3) and vt.shape == (3, 64)
    for order in (None, "fro", 1, -1, np.inf, -np.inf):
        np.testing.assert_allclose(float(ours.norm(mine, order)), theirs.norm(a, order))
    np.testing.assert_allclose(ours.norm(mine, axis=1).get(), theirs.norm(a, axis=1))


def test_operators() -> None:
    values = np.arange(12.0).reshape(3, 4) + 1j
    a = ours.aslinearoperator(nl.sparse.csr_array(values))
    expected = theirs.aslinearoperator(values)
    x, y = np.arange(4.0), np.arange(3.0) + 2j
    for name, vector in (("matvec", x), ("rmatvec", y)):
        np.testing.assert_allclose(getattr(a, name)(vector).get(), getattr(expected, name)(vector))
    np.testing.assert_allclose((a.H @ y).get(), expected.H @ y)
    np.testing.assert_allclose((a.T @ y).get(), expected.T @ y)
    np.testing.assert_allclose(((a + 2 * a) @ x).get(), (expected + 2 * expected) @ x)
    np.testing.assert_allclose(((a.H @ a) @ x).get(), (expected.H @ expected) @ x)
    np.testing.assert_allclose((a @ np.eye(4)).get(), values)
    np.testing.assert_allclose(((a - a) @ x).get(), np.zeros(3))
    with pytest.raises(ValueError):
        a.matvec(np.ones(7))
    with pytest.raises(TypeError):
        ours.aslinearoperator("no")


def test_scipys_solvers_take_our_matrix() -> None:
    a = grid(6)
    mine = nl.sparse.csr_array(a)
    x, info = theirs.cg(mine, np.ones(36), rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(a @ x, np.ones(36), 1e-8)


@pytest.mark.parametrize("name", ["cg", "gmres", "minres", "bicgstab"])
def test_a_solution_shares_no_memory_with_what_was_given(name: str) -> None:
    a, zero = nl.sparse.eye_array(1000, format="csr"), nl.zeros(1000)
    x, info = getattr(ours, name)(a, zero)
    zero[:] = 5
    assert info == 0 and not x.get().any()
