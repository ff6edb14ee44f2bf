"""Matrices to test with. The folder is not called sparse: Dask would take it for the package of that name."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

import numloom

FORMATS = ("csr", "csc", "coo", "dia")
DTYPES = ("?", "i4", "i8", "u1", "f4", "f8", "c8", "c16")
SHAPES = ((3, 4), (1, 5), (5, 1), (0, 3), (3, 0), (0, 0), (6, 6))


def dense(shape: tuple[int, ...], dtype: str, seed: int = 0, density: float = 0.4) -> Any:
    """A dense array, mostly zeros."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + np.asarray(1j * rng.integers(-3, 4, shape), dtype)
    elif np.dtype(dtype).kind in "fi":
        values = values * rng.choice(np.array([-1, 1], dtype), shape)
    return np.where(rng.random(shape) < density, values, np.zeros((), dtype)).astype(dtype)


def pair(shape: tuple[int, ...], dtype: str, format: str, kind: str = "array", seed: int = 0) -> tuple[Any, Any]:
    """The same sparse array of ours and of SciPy's."""
    values = dense(shape, dtype, seed)
    name = f"{format}_{kind}"
    return getattr(numloom.sparse, name)(values), getattr(scipy.sparse, name)(values)


def messy(shape: tuple[int, int], dtype: str, count: int = 30, seed: int = 0, kind: str = "coo_array") -> Any:
    """SciPy's matrix with places that come twice, in any order, and stored zeros."""
    rng = np.random.default_rng(seed)
    row, col = rng.integers(0, shape[0], count), rng.integers(0, shape[1], count)
    data = rng.integers(0, 4, count).astype(dtype)
    if kind.startswith("coo"):
        return getattr(scipy.sparse, kind)((data, (row, col)), shape=shape)
    major = np.sort(row if kind.startswith("csr") else col)
    minor = col if kind.startswith("csr") else row
    lines = shape[0] if kind.startswith("csr") else shape[1]
    indptr = np.searchsorted(major, np.arange(lines + 1))
    return getattr(scipy.sparse, kind)((data, minor, indptr), shape=shape)


def as_numpy(x: Any) -> Any:
    """A result as NumPy's: dense."""
    if hasattr(x, "toarray"):
        x = x.toarray()
    return x.get() if isinstance(x, numloom.ndarray) else np.asarray(x)


def same(ours: Any, theirs: Any, exact: bool = False) -> None:
    """Fail unless ours is SciPy's: kind, format, shape, dtype and numbers."""
    if scipy.sparse.issparse(theirs):
        expected = type(theirs).__name__
        if theirs.format in FORMATS:
            assert type(ours).__name__ == expected
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        if exact:
            assert ours.nnz == theirs.nnz
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
        return
    else:
        assert np.shape(as_numpy(ours)) == np.shape(theirs)
        if isinstance(theirs, (np.ndarray, np.generic)):
            assert as_numpy(ours).dtype == theirs.dtype
    a, b = as_numpy(ours), as_numpy(theirs)
    if b.dtype.kind in "fc":
        small = b.dtype.char in "fF"
        np.testing.assert_allclose(a, b, rtol=1e-5 if small else 1e-12, atol=1e-5 if small else 1e-12)
    else:
        np.testing.assert_array_equal(a, b)
