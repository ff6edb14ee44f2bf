"""Functions of ``cupyx.scipy`` that are not as SciPy's."""

import numpy as np
import pytest
import scipy.linalg

import numloom as nl
from numloom.cupyx.scipy import linalg


def test_bandwidth() -> None:
    for dtype in ("?", "f2", "i4", "c8"):
        matrix = np.zeros((6, 8), dtype)
        matrix[5, 2] = matrix[1, 2] = 1
        assert linalg.bandwidth(nl.asarray(matrix)) == linalg.bandwidth(matrix) == (3, 1)
    assert linalg.bandwidth(nl.zeros((2, 2))) == (0, 0)
    assert linalg.bandwidth(nl.asarray([[0, 1], [0, 0]])) == (0, 1)
    with pytest.raises(np.linalg.LinAlgError, match="two axes"):
        linalg.bandwidth(nl.ones(3))


def test_khatri_rao() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(nl.asnumpy(linalg.khatri_rao(nl.asarray(a), b)), scipy.linalg.khatri_rao(a, b))
    with pytest.raises(np.linalg.LinAlgError, match="two axes"):
        linalg.khatri_rao(nl.ones(3), nl.ones((2, 3)))
    with pytest.raises(ValueError, match="as many columns"):
        linalg.khatri_rao(nl.ones((3, 2)), nl.ones((2, 3)))


def test_a_stack_of_triangles_takes_a_stack_of_vectors() -> None:
    rng = np.random.default_rng(3)
    a, b = np.tril(rng.random((4, 4, 4)) + 1), rng.random((4, 4))
    found = nl.asnumpy(linalg.solve_triangular(nl.asarray(a), nl.asarray(b), lower=True))
    expected = [scipy.linalg.solve_triangular(one, other, lower=True) for one, other in zip(a, b, strict=True)]
    np.testing.assert_allclose(found, expected)
    one = nl.asnumpy(linalg.solve_triangular(nl.asarray(a[0]), nl.asarray(b[0]), trans="T", lower=True))
    np.testing.assert_allclose(one, scipy.linalg.solve_triangular(a[0], b[0], trans="T", lower=True))
