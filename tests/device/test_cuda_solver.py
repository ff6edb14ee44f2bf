"""CUDA's factorisations against the NumPy twins of their rows.

On the host our kernels run in emulation, and LAPACK stands in for the libraries; on the GPU all is real.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from lapack_bindings import Blas, Dense
from numpy.linalg import LinAlgError
from test_cuda_routines import back, operand

from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.routines import ROUTINES, matrices, reflections, solver
from numloom.ops.routines import ROUTINES as ROWS

SINGLE = 3e-4


@pytest.fixture
def runner(request):
    """The emulated device with LAPACK for libraries, or the GPU."""
    device = request.getfixturevalue("emulated")
    device.solver = solver.Solver(device, Dense(), SimpleNamespace(cublas=Blas(), handle=9))
    yield device
    del device.solver


@pytest.fixture(params=["runner", pytest.param("gpu", marks=pytest.mark.cuda)])
def device(request):
    found = request.getfixturevalue(request.param)
    if solver.solver_of(found) is None:
        pytest.skip("cuSOLVER or its bindings are not installed")
    return found


def random(shape, char, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if char in "FD" else x).astype(char)


def stacks(m, n, char):
    """Matrices in C and Fortran order, a stack, a stack of other order and gaps."""
    yield random((m, n), char)
    yield random((n, m), char).T
    yield random((3, m, n), char)
    yield random((2, 2, 2 * m, n), char).transpose(1, 0, 2, 3)[:, ::-1, ::2]


def run(device, name, *hosts, **options):
    found = ROUTINES[name](device, *(operand(device, host) for host in hosts), **options)
    many = isinstance(found, tuple)
    arrays = [back(device, each) for each in (found if many else (found,))]
    twin = ROWS[name].numpy(*hosts, **options)
    expected = twin if isinstance(twin, tuple) else (twin,)
    assert many == isinstance(twin, tuple)
    assert [(x.shape, x.dtype) for x in arrays] == [(x.shape, x.dtype) for x in expected]
    assert all(x.flags.c_contiguous for x in arrays)
    return (arrays, expected) if many else (arrays[0], expected[0])


def close(actual, expected, digits=1e-9):
    digits = SINGLE if actual.dtype.char in "fF" else digits
    np.testing.assert_allclose(actual, expected, rtol=digits, atol=digits)


def hermitian(a):
    return a @ a.mT.conj() + np.eye(a.shape[-1], dtype=a.dtype)


CHARS = "dF"


@pytest.mark.parametrize("char", CHARS)
def test_lu(device, char):
    for a in stacks(5, 5, char):
        for check in (True, False):
            close(*run(device, "inv", a, check=check))
        for b in (random((5, 1), char, 2), random((3, 5), char, 2).T, random((*a.shape[:-2], 5, 2), char, 3)):
            close(*run(device, "solve", a, b))
        close(*run(device, "det", a))
        for actual, expected in zip(*run(device, "slogdet", a), strict=True):
            close(actual, expected)
    one, many = random((1, 5, 5), char), random((4, 5, 3), char)
    close(*run(device, "solve", one, many))
    close(*run(device, "solve", random((2, 1, 5, 5), char), many))


@pytest.mark.parametrize("char", CHARS)
def test_singular_matrices(device, char):
    a = random((3, 4, 4), char)
    a[1, 2] = a[1, 0]
    a[1, :, 2] = 0
    for one in (a, a[1]):
        for name, operands, options in (("inv", (one,), {"check": True}), ("solve", (one, one), {})):
            with pytest.raises(LinAlgError, match="Singular matrix"):
                run(device, name, *operands, **options)
        close(*run(device, "inv", one, check=False))
        close(*run(device, "det", one))
        for actual, expected in zip(*run(device, "slogdet", one), strict=True):
            close(actual, expected)


@pytest.mark.parametrize("char", CHARS)
def test_cholesky(device, char):
    for a in stacks(5, 5, char):
        for upper in (False, True):
            half = (np.triu if upper else np.tril)(hermitian(a))
            close(*run(device, "cholesky", half, upper=upper))
    with pytest.raises(LinAlgError, match="not positive definite"):
        run(device, "cholesky", -hermitian(random((5, 5), char)), upper=False)
    bad = hermitian(random((2, 5, 5), char))
    bad[1, 4, 4] = -1
    with pytest.raises(LinAlgError, match="not positive definite"):
        run(device, "cholesky", bad, upper=True)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("shape", [(5, 5), (6, 4), (4, 6), (1, 3), (3, 1)])
def test_qr(device, char, shape):
    for a in stacks(*shape, char):
        for mode in ("reduced", "complete"):
            (q, r), _ = run(device, "qr", a, mode=mode)
            close(q @ r, a)
            close(q.mT.conj() @ q, np.broadcast_to(np.eye(q.shape[-1]), (*a.shape[:-2], *q.shape[-1:] * 2)))
            close(r, np.triu(r))
        ((r,), _) = run(device, "qr", a, mode="r")
        close(r.mT.conj() @ r, a.mT.conj() @ a)
        h, tau = ROUTINES["qr"](device, operand(device, a), mode="raw")
        assert h.shape == (*a.shape[:-2], *a.shape[:-3:-1]) and tau.shape == (*a.shape[:-2], min(shape))
        expected = np.linalg.qr(a, "raw")
        close(back(device, h), expected[0])
        close(back(device, tau), expected[1])
        close(abs(np.triu(back(device, h).mT)[..., : min(shape), :]), abs(r))


@pytest.mark.parametrize("char", CHARS)
def test_reflections_of_awkward_columns(device, char):
    """Zeros, huge and tiny numbers, NaN and columns that need no reflection."""
    big = np.finfo(np.dtype(char)).max / 8
    a = np.stack([np.zeros((4, 3)), np.eye(4, 3), 1 + np.eye(4, 3), np.full((4, 3), 2)]).astype(char)
    a[2] *= big
    a[3, 1, 1] = np.nan
    (q, r), expected = run(device, "qr", a, mode="complete")
    for actual, wanted in zip((q[:3], r[:3] / big), (expected[0][:3], expected[1][:3] / big), strict=True):
        close(actual, wanted)
    assert np.isnan(r[3, 1:, 1:]).any() and np.isfinite(r[:3]).all()


@pytest.mark.parametrize("char", CHARS)
def test_eigh(device, char):
    for a in stacks(5, 5, char):
        for lower in (True, False):
            (values, vectors), expected = run(device, "eigh", a, lower=lower, vectors=True)
            close(values, expected[0])
            close(vectors * values[..., None, :] @ vectors.mT.conj(), expected[1] * values[..., None, :]
                  @ expected[1].mT.conj())  # fmt: skip
            ((alone,), _) = run(device, "eigh", a, lower=lower, vectors=False)
            close(alone, values)


@pytest.mark.parametrize("char", CHARS)
def test_eig(device, char):
    for a in stacks(5, 5, char):
        (values, vectors), (expected, _) = run(device, "eig", a, vectors=True)
        close(a @ vectors, vectors * values[..., None, :])
        close(np.linalg.norm(vectors, axis=-2), np.ones(values.shape))
        close(np.sort(values), np.sort(expected))
        ((alone,), _) = run(device, "eig", a, vectors=False)
        close(np.sort(alone), np.sort(expected))


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("shape", [(5, 5), (6, 4), (4, 6), (1, 3), (40, 3), (3, 40)])
def test_svd(device, char, shape):
    k = min(shape)
    for a in stacks(*shape, char):
        for full in (True, False):
            (u, s, vh), expected = run(device, "svd", a, full=full, vectors=True)
            close(s, expected[1])
            close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
            close(u.mT.conj() @ u, np.broadcast_to(np.eye(u.shape[-1]), (*a.shape[:-2], *u.shape[-1:] * 2)))
            close(vh @ vh.mT.conj(), np.broadcast_to(np.eye(vh.shape[-2]), (*a.shape[:-2], *vh.shape[-2:-1] * 2)))
        ((alone,), _) = run(device, "svd", a, full=False, vectors=False)
        close(alone, s)


def test_singular_values_of_nan(device):
    a = random((4, 3), "d")
    a[1, 1] = np.nan
    with pytest.raises(LinAlgError, match="SVD did not converge"):
        ROUTINES["svd"](device, operand(device, a), full=False, vectors=False)


def test_empty_matrices_and_a_missing_library(emulated):
    """Both go by the twins."""
    emulated.solver = None
    try:
        a = random((3, 4, 4), "d")
        close(*run(emulated, "inv", a, check=True))
        (u, _, _), _ = run(emulated, "svd", a[:, :0], full=True, vectors=True)
        assert u.shape == (3, 0, 0)
        empty = operand(emulated, np.zeros((2, 0, 3, 3)))
        result = ROUTINES["inv"](emulated, empty, check=True)
        result = result[0] if isinstance(result, tuple) else result
        assert result.strides == (9, 9, 3, 1)  # Layouts are cut by strides: one of 0 would be a division by zero.
    finally:
        del emulated.solver


def test_stacks_of_small_matrices_are_factored_together(runner):
    dense, blas = runner.solver.dense, runner.solver.blas.cublas
    a = hermitian(random((6, 4, 4), "d"))
    run(runner, "cholesky", a, upper=False)
    run(runner, "eigh", a, lower=True, vectors=True)
    run(runner, "svd", a, full=False, vectors=True)
    run(runner, "inv", a, check=True)
    run(runner, "solve", a, a)
    run(runner, "det", a)
    run(runner, "qr", a, mode="complete")
    assert dense.calls == ["potrf_batched", "xsyev_batched", "gesvdj_batched"]
    assert blas.calls == ["getrf_batched", "getri_batched", "getrf_batched", "getrs_batched", "getrf_batched"]
    run(runner, "solve", a[:1], a)
    assert dense.calls[-2:] == ["xgetrf", "xgetrs"]


def test_stacks_of_very_many_matrices_take_several_calls(device, monkeypatch):
    monkeypatch.setattr(solver, "AT_ONCE", 2)
    a = hermitian(random((5, 4, 4), "F"))
    for lower in (True, False):
        (values, vectors), expected = run(device, "eigh", a, lower=lower, vectors=True)
        close(values, expected[0])
        close(vectors * values[:, None] @ vectors.mT.conj(), a)
    (u, values, vh), expected = run(device, "svd", a[:, 1:], full=False, vectors=True)
    close(values, expected[1])
    close(u * values[:, None] @ vh, a[:, 1:])
    close(*run(device, "svd", a, full=False, vectors=False)[0], expected=np.linalg.svd(a)[1])


@pytest.mark.cuda
def test_a_hundred_thousand_matrices(gpu):
    """Libraries refuse some numbers of matrices that no document tells of."""
    if solver.solver_of(gpu) is None:
        pytest.skip("cuSOLVER or its bindings are not installed")
    a = hermitian(random((100_000, 3, 3), "f"))
    for name, options in (
        ("cholesky", {"upper": False}), ("inv", {"check": True}), ("det", {}),
        ("eigh", {"lower": True, "vectors": False}), ("svd", {"full": False, "vectors": False}),
        ("qr", {"mode": "complete"}),
    ):  # fmt: skip
        found, expected = run(gpu, name, a, **options)
        if name in ("eigh", "svd"):
            close(found[0], expected[0])
        elif name == "qr":
            close(found[0] @ found[1], a)
        else:
            np.testing.assert_allclose(found, expected, rtol=0.05, atol=1e-3 * float(np.abs(expected).max()))


def test_single_precision_double_and_complex_texts_compile_for_the_gpu():
    pytest.importorskip("cuda.bindings.nvrtc")
    texts = [matrices.arranged_text(ctype, rank) for ctype, rank in (("f32", 2), ("c128", 3))]
    texts += [matrices.determinant_text(ctype, pivot) for ctype, pivot in (("f64", "i64"), ("c64", "i32"))]
    texts += [matrices.paired_text("f32"), matrices.check_text("f64"), matrices.ADDRESSES]
    texts += [reflections.reflections_text(ctype) for ctype in ("f32", "c128")]
    for text in texts:
        assert nvrtc.compile_cubin(text, "sm_90")[:4] == b"\x7fELF"


def test_threads_may_take_their_turns_backwards(emulated, monkeypatch):
    """Where a barrier is missing, results depend on it."""
    a = operand(emulated, random((2, 40, 5), "d"))
    forward = [back(emulated, each) for each in with_lapack(emulated, a)]
    monkeypatch.setattr(emulated, "backwards", True)
    for mine, other in zip(forward, with_lapack(emulated, a), strict=True):
        np.testing.assert_array_equal(mine, back(emulated, other))


def with_lapack(device, a):
    library = solver.Solver(device, Dense(), SimpleNamespace(cublas=Blas(), handle=9))
    device.solver = library
    try:
        return ROUTINES["qr"](device, a, mode="reduced")
    finally:
        del device.solver
