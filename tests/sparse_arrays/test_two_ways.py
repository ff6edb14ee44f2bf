"""The host's way and a GPU's beside SciPy: what once differed, and random programs of `walk.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import numloom as nl
from numloom.sparse.where import forced

pytestmark = pytest.mark.filterwarnings("ignore::Warning")

_spec = importlib.util.spec_from_file_location("sparse_walk", Path(__file__).with_name("walk.py"))
walk = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(walk)

ASSIGNED: list[tuple[Any, Any]] = [
    ((slice(None), 0), [1.0, 2, 3]),
    ((slice(None), 0), [[1.0], [2], [3]]),
    ((slice(None), slice(0, 1)), [1.0, 2, 3]),
    ((slice(None), [2]), [1.0, 2, 3]),
    ((slice(None, None, 2), 0), [5.0, 6]),
    ((slice(None, None, -1), 1), [1.0, 2, 3]),
    ((slice(1, 1), 0), np.zeros(0)),
    ((0, slice(None)), [1.0, 2, 3]),
    ((slice(0, 1), slice(None)), [[1.0, 2, 3]]),
    ((slice(None), slice(None)), [1.0, 2, 3]),
    (([0, 1, 2], [2, 1, 0]), [1.0, 2, 3]),
    (([[0], [2]], [0, 1]), [[1.0, 2], [3, 4]]),
    ((slice(None), -1), 7),
    ((slice(None), np.array([True, False, True])), [[1.0], [2], [3]]),
]
REFUSED: list[tuple[Any, Any]] = [
    ((slice(None), 0), [1.0, 2]),
    ((slice(None), slice(0, 2)), [1.0, 2, 3]),
    ((0, 0), [1.0, 2]),
    (([0, 1], [0, 1]), [[[1.0]]]),
]


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("place", range(len(ASSIGNED)))
def test_vectors_are_columns_too(place: int, format: str, device: bool) -> None:
    key, value = ASSIGNED[place]
    theirs = scipy.sparse.eye_array(3).asformat(format)
    theirs[key] = value
    for given in (value, nl.asarray(np.asarray(value, float))):
        with forced(device):
            ours = nl.sparse.csr_array(np.eye(3)).asformat(format)
            ours[key] = given
            assert ours.toarray().tolist() == theirs.toarray().tolist()
            assert (ours.format, ours.dtype, ours.shape) == (theirs.format, theirs.dtype, theirs.shape)


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_what_does_not_fit_is_refused(key: Any, value: Any, device: bool) -> None:
    with forced(device):
        ours = nl.sparse.csr_array(np.eye(3))
        with pytest.raises(ValueError, match=r"broadcast|sequence|assign values|dimensions"):
            ours[key] = value
        with pytest.raises(OverflowError):
            nl.sparse.csr_array(np.eye(3, dtype="u1"))[0, 0] = -1


def test_sums_of_rows_need_no_vector_of_all_columns() -> None:
    count = 3_000_000_000_000  # As many float64 are 24 TB.
    parts = np.array([1.0, 5]), np.array([count - 1, 7]), np.array([0, 1, 1, 2])
    with forced(True):
        a = nl.sparse.csr_array(tuple(map(nl.asarray, parts)), shape=(3, count))
        assert a.sum(axis=1).tolist() == [1, 0, 5]
        assert a.T.sum(axis=0).tolist() == [1, 0, 5]
        np.testing.assert_allclose(a.mean(axis=1).get(), [1 / count, 0, 5 / count])
        assert nl.sparse.linalg.norm(a, axis=1).tolist() == [1, 0, 5]


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
def test_iterations_and_shapes_are_the_same(device: bool) -> None:
    diagonals = [np.full(39, -1.0), np.full(40, 2.5), np.full(39, -1.0)]
    theirs = scipy.sparse.diags_array(diagonals, offsets=[-1, 0, 1], format="csr")
    with forced(device):
        a = nl.sparse.diags_array(diagonals, offsets=[-1, 0, 1], format="csr")
        for options in ({"restart": 3, "maxiter": 1}, {"restart": 2, "maxiter": 4}, {}):
            want = scipy.sparse.linalg.gmres(theirs, np.ones(40), rtol=1e-14, **options)
            found = nl.sparse.linalg.gmres(a, nl.ones(40), rtol=1e-14, **options)
            assert found[1] == want[1]
            np.testing.assert_allclose(found[0].get(), want[0], rtol=1e-9)
        for format in ("coo", "csr", "csc"):  # Of COO SciPy forgets the axis.
            row = nl.sparse.coo_array(np.array([[1.0, 2]])).asformat(format)
            assert (row @ nl.ones(2)).tolist() == (nl.ones(2) @ row.T).tolist() == [3]
            assert (row @ nl.ones((2, 1))).tolist() == [[3]]
        assert (nl.sparse.coo_array(np.array([1.0, 2])) @ nl.ones(2)).shape == ()
        nothing = nl.sparse.csc_array(np.ones((1, 1)))[:, 2:-1]
        assert (nothing.shape, nothing.toarray().tolist(), (nothing + nothing).nnz) == ((1, 0), [[]], 0)
        for dtype in ("?", "i1", "u1", "i8", "f4", "f8", "c8"):
            values = np.array([[3, 0], [0, 4]]).astype(dtype)
            norm = nl.sparse.linalg.norm(nl.sparse.csr_array(values))
            assert norm.dtype == scipy.sparse.linalg.norm(scipy.sparse.csr_array(values)).dtype
            np.testing.assert_allclose(float(norm), np.linalg.norm(values))


@pytest.mark.parametrize("seed", range(0, 1000, 50))
def test_random_programs(seed: int) -> None:
    wrong = [text for number in range(seed, seed + 50) if (text := walk.differs(number))]
    assert not wrong, "\n".join(wrong)
