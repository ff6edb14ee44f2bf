"""Solvers, eigenvalues and norms, beside SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["cg", "bicgstab"])
def test_a_breakdown_is_no_solution(name: str) -> None:
    a = nl.sparse.csr_array(np.diag([1.0, -1.0]))
    with np.errstate(all="ignore"):
        _, info = getattr(ours, name)(a, nl.ones(2))
    assert info != 0


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 20, 31])
def test_looking_seldom_changes_no_result(steps: int) -> None:
    """Steps after the residual was small enough, or the last step, change nothing."""
    a, b = nl.sparse.csr_array(grid(10)), nl.asarray(B)
    x, info = ours.cg(a, b, rtol=1e-3, maxiter=steps)
    seen = []
    y, other = ours.cg(a, b, rtol=1e-3, maxiter=steps, callback=lambda v: seen.append(v.get()))
    assert info == other and (info == steps or info == 0)
    np.testing.assert_array_equal(x.get(), y.get())
    expected, code = theirs.cg(grid(10), B, rtol=1e-3, maxiter=steps)
    assert code == info
    np.testing.assert_allclose(x.get(), expected, 1e-9, 1e-12)


def test_recurrences_in_all_their_forms() -> None:
    a = scipy.sparse.csr_array(grid(8) - 1.5 * scipy.sparse.eye_array(64))
    mine, b, start = nl.sparse.csr_array(a), nl.asarray(B[:64]), nl.asarray(B[36:])
    for options in ({}, {"shift": 0.25}, {"x0": start}, {"maxiter": 3}, {"rtol": 1e-10}):
        given = {key: value.get() if key == "x0" else value for key, value in options.items()}
        x, info = ours.minres(mine, b, **options)
        expected, code = theirs.minres(a, B[:64], **given)
        assert info == code
        np.testing.assert_allclose(x.get(), expected, 1e-6, 1e-8)
    inverse = 1 / nl.linspace(1.0, 3.0, 64)
    M = ours.LinearOperator((64, 64), matvec=lambda v: v * inverse)
    for name in ("minres", "bicgstab"):
        x, info = getattr(ours, name)(mine, b, M=M, rtol=1e-11)
        assert info == 0
        np.testing.assert_allclose(x.get(), np.linalg.solve(a.toarray(), B[:64]), 1e-5, 1e-6)
    for name in ("minres", "bicgstab"):
        assert getattr(ours, name)(mine, b, maxiter=2, rtol=1e-12)[1] == 2
        seen: list[float] = []
        getattr(ours, name)(mine, b, callback=lambda v, seen=seen: seen.append(float(v.sum())))
        assert len(seen) > 3


@pytest.mark.parametrize("maxiter", [0, 1, 4, None])
@pytest.mark.parametrize("name", ["cg", "bicgstab", "minres"])
def test_the_frame_of_all_solvers(name: str, maxiter: int | None) -> None:
    """Calls of the callback, infos, starts that are solutions and right sides of zeros are SciPy's."""
    a, b = grid(6), B[:36]
    mine, exact = nl.sparse.csr_array(a), np.linalg.solve(a.toarray(), b)
    for start, right in ((None, b), (exact, b), (None, 0 * b), (exact, 0 * b)):
        ours_seen, theirs_seen = [], []
        x, info = getattr(ours, name)(
            mine, nl.asarray(right), x0=None if start is None else nl.asarray(start), maxiter=maxiter,
            callback=lambda v, seen=ours_seen: seen.append(v.get()),
        )  # fmt: skip
        y, code = getattr(theirs, name)(
            a, right, x0=start, maxiter=maxiter, callback=lambda v, seen=theirs_seen: seen.append(v.copy())
        )
        assert info == code and len(ours_seen) == len(theirs_seen)
        np.testing.assert_allclose(x.get(), y, 1e-6, 1e-9)
        for one, other in zip(ours_seen, theirs_seen, strict=True):
            np.testing.assert_allclose(one, other, 1e-6, 1e-9)


def test_operators_of_classes_and_powers() -> None:
    class Twice(ours.LinearOperator):  # type: ignore[name-defined, misc]
        def __init__(self, n: int) -> None:
            super().__init__(np.float64, (n, n))

        def _matvec(self, x):  # type: ignore[no-untyped-def]
            return 2 * x

        def _adjoint(self):  # type: ignore[no-untyped-def]
            return self

    twice, x = Twice(3), nl.arange(3.0)
    assert (twice @ x).tolist() == [0, 2, 4] and (twice.H @ x).tolist() == [0, 2, 4]
    assert ((twice**3) @ x).tolist() == [0, 8, 16] and ((twice / 2) @ x).tolist() == [0, 1, 2]
    assert (x @ twice).tolist() == [0, 2, 4] and (twice @ nl.eye(3)).tolist() == (2 * np.eye(3)).tolist()
    with pytest.raises(TypeError):
        type("Empty", (ours.LinearOperator,), {})(float, (2, 2))
    with pytest.raises(ValueError):
        ours.LinearOperator((2, 3), matvec=lambda v: v[:2], dtype=float) ** 2


MORE = {
    "cgs": lambda m, a, b: m.cgs(a, b, rtol=1e-12)[0],
    "qmr": lambda m, a, b: m.qmr(a, b, rtol=1e-12)[0],
    "tfqmr": lambda m, a, b: m.tfqmr(a, b, rtol=1e-12)[0],
    "lgmres": lambda m, a, b: m.lgmres(a, b, rtol=1e-12)[0],
    "gcrotmk": lambda m, a, b: m.gcrotmk(a, b, rtol=1e-12)[0],
    "lobpcg": lambda m, a, b: m.lobpcg(a, np.eye(64, 3) + 0.1, tol=1e-9, maxiter=300)[0],
    "matrix_power": lambda m, a, b: m.matrix_power(a, 3),
    "spbandwidth": lambda m, a, b: m.spbandwidth(a),
    "is_sptriangular": lambda m, a, b: m.is_sptriangular(a),
    "funm_multiply_krylov": lambda m, a, b: m.funm_multiply_krylov(scipy.linalg.expm, a, b),
    "expm": lambda m, a, b: m.expm(a.tocsc()),
    "onenormest": lambda m, a, b: m.onenormest(a),
    "eigs": lambda m, a, b: abs(m.eigs(a, 2, v0=b, return_eigenvectors=False)),
    "spilu": lambda m, a, b: m.spilu(a.tocsc()).solve(b),
}


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("name", MORE)
def test_what_scipy_runs(name: str) -> None:
    a, b = grid(8), B[:64]
    found = MORE[name](ours, nl.sparse.csr_array(a), b)
    expected = MORE[name](theirs, a, b)
    if hasattr(found, "toarray"):
        found, expected = found.toarray(), expected.toarray()
    found = found.get() if isinstance(found, nl.ndarray) else found
    np.testing.assert_allclose(found, expected, 1e-5, 1e-7)


def test_callback_sees_each_step() -> None:
    seen = []
    ours.cg(nl.sparse.csr_array(grid(5)), nl.ones(25), callback=lambda x: seen.append(float(x.sum())))
    expected = []
    theirs.cg(grid(5), np.ones(25), callback=lambda x: expected.append(x.sum()))
    np.testing.assert_allclose(seen, expected)


@pytest.mark.slow
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
