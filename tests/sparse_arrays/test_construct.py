"""Functions that make sparse arrays and put them together, beside SciPy, and files."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import numloom as nl

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]

CALLS = {
    "eye_array": lambda s, a, b: s.eye_array(3, 4, k=1, format="csr"),
    "eye": lambda s, a, b: s.eye(3),
    "identity": lambda s, a, b: s.identity(3, "f4", "csc"),
    "diags_array": lambda s, a, b: s.diags_array([[1.0, 2.0, 3.0], [4.0, 5.0]], offsets=[0, 1]),
    "diags": lambda s, a, b: s.diags([[1.0, 2.0, 3.0], [4.0, 5.0]], [0, -1]),
    "spdiags": lambda s, a, b: s.spdiags(np.arange(8.0).reshape(2, 4), [0, 1], 4, 4),
    "random_array": lambda s, a, b: s.random_array((5, 6), density=0.3, rng=1),
    "random": lambda s, a, b: s.random(5, 6, 0.3, rng=np.random.default_rng(1)),
    "kron": lambda s, a, b: s.kron(a, b, "csr"),
    "kron without a format": lambda s, a, b: s.kron(a, b),
    "kronsum": lambda s, a, b: s.kronsum(a, b, "csr"),
    "vstack": lambda s, a, b: s.vstack([a, b]),
    "hstack": lambda s, a, b: s.hstack((a, b), format="coo"),
    "bmat": lambda s, a, b: s.bmat([[a, None], [None, b]]),
    "block_array": lambda s, a, b: s.block_array([[a, b], [b, a]], format="csc"),
    "block_diag": lambda s, a, b: s.block_diag((a, b, [[1, 2]])),
    "tril": lambda s, a, b: s.tril(a, 1),
    "triu": lambda s, a, b: s.triu(a, -1, "csc"),
    "find": lambda s, a, b: s.find(a),
    "wrong heights": lambda s, a, b: s.hstack([a, s.eye_array(9)]),
    "wrong format": lambda s, a, b: s.eye_array(3, format="what"),
    "negative": lambda s, a, b: s.csr_array((-2, 3)),
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str, kind: str) -> None:
    (a, b), (c, d) = (programs.pair((4, 4), "f8", format, kind, 3) for format in ("csr", "coo"))
    call: Any = CALLS[name]
    try:
        expected = call(scipy.sparse, b, d)
    except Exception as error:
        with pytest.raises(type(error)):
            call(nl.sparse, a, c)
        return
    programs.same(call(nl.sparse, a, c), expected)


@pytest.mark.parametrize("format", programs.FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_files(format: str, kind: str, tmp_path: Path) -> None:
    ours, theirs = programs.pair((4, 6), "c16", format, kind)
    nl.sparse.save_npz(tmp_path / "ours.npz", ours)
    programs.same(ours, scipy.sparse.load_npz(tmp_path / "ours.npz"), exact=True)
    scipy.sparse.save_npz(tmp_path / "theirs.npz", theirs)
    programs.same(nl.sparse.load_npz(tmp_path / "theirs.npz"), theirs, exact=True)


def test_names() -> None:
    left_out = {"test", "base", "bsr", "compressed", "construct", "coo", "csc", "csr", "data", "dia", "dok", "extract"}
    left_out |= {"lil", "sparsetools", "spfuncs", "sputils", "dsolve", "eigen", "interface", "isolve", "matfuncs"}
    for ours, theirs in (
        (nl.sparse, scipy.sparse), (nl.sparse.linalg, scipy.sparse.linalg), (nl.sparse.csgraph, scipy.sparse.csgraph),
    ):  # fmt: skip
        assert set(theirs.__all__) - left_out <= set(ours.__all__) <= set(dir(ours))
        assert all(hasattr(ours, name) for name in ours.__all__)
    with pytest.raises(AttributeError, match="csr_array"):
        _ = nl.sparse.csr_arrays
    with pytest.raises(ValueError, match="csr"):
        nl.sparse.eye_array(3).asformat("what")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_members(format: str, kind: str) -> None:
    """Every public attribute and method of SciPy's classes is there."""
    ours, theirs = (getattr(module.sparse, f"{format}_{kind}") for module in (nl, scipy))
    missing = {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours))
    assert not missing


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
def test_matrix_transpose(format: str) -> None:
    dense = np.arange(6.0).reshape(2, 3)
    a = nl.sparse.coo_array(dense).asformat(format)
    for turned in (a.mT, nl.sparse.matrix_transpose(a), nl.matrix_transpose(a)):
        np.testing.assert_array_equal(turned.toarray().get(), dense.T)
    np.testing.assert_array_equal(nl.sparse.matrix_transpose(a.get()).toarray().get(), dense.T)


def test_matrix_transpose_of_other_axes() -> None:
    dense = np.arange(24.0).reshape(2, 3, 4) % 5
    stack = nl.sparse.coo_array(dense)
    assert stack.mT.shape == (2, 4, 3)
    np.testing.assert_array_equal(stack.mT.toarray().get(), dense.transpose(0, 2, 1))
    np.testing.assert_array_equal(nl.matrix_transpose(stack).toarray().get(), dense.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="at least 2-dimensional"):
        _ = nl.sparse.coo_array(dense[0, 0]).mT


def test_what_is_put_together_shares_no_memory() -> None:
    a = nl.sparse.csr_array(np.arange(5000.0).reshape(50, 100))
    diagonal = nl.arange(5000.0)
    for made, part in (
        (nl.sparse.vstack([a]), a.data), (nl.sparse.bmat([[a]]), a.data), (nl.sparse.block_diag((a,)), a.data),
        (nl.sparse.tril(a, 200), a.data), (nl.sparse.diags_array([diagonal], offsets=[0]), diagonal),
    ):  # fmt: skip
        before = made.data.get().copy()
        part[:] = part + 1
        np.testing.assert_array_equal(made.data.get(), before)
