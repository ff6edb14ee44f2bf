"""Matrices to test with. The folder is not called sparse: Dask would take it for the package of that name.

``python programs.py 5000 SEED [beside]`` runs random programs, with ``beside`` on a stand-in for a GPU.
"""

from __future__ import annotations

import importlib
from pathlib import Path
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


def _assigned(x: Any, key: Any, value: Any) -> Any:
    x = x.tocsr(copy=True)
    x[key] = value
    return x


def _with_diagonal(x: Any, k: int) -> Any:
    x = x.copy()
    x.setdiag(3, k)
    return x


def _smaller(x: Any) -> Any:
    x = x.tocsr(copy=True)
    x.resize((4, 4))
    x.resize((5, 5))
    return x


STEPS: dict[str, Any] = {
    "transpose": lambda s, x, o: x.T,
    "double": lambda s, x, o: x * 2,
    "product": lambda s, x, o: x @ o,
    "product from the left": lambda s, x, o: o @ x,
    "add": lambda s, x, o: x + o,
    "subtract": lambda s, x, o: o - x,
    "multiply": lambda s, x, o: x.multiply(o),
    "maximum": lambda s, x, o: x.maximum(o),
    "minimum": lambda s, x, o: x.minimum(o),
    "tanh": lambda s, x, o: x.tanh(),
    "csc": lambda s, x, o: x.tocsc(),
    "coo": lambda s, x, o: x.tocoo(),
    "csr": lambda s, x, o: x.tocsr(),
    "bsr": lambda s, x, o: x.tobsr().tocsr(),
    "dia": lambda s, x, o: x.todia().tocsr(),
    "lil": lambda s, x, o: x.tolil().tocsr(),
    "dok": lambda s, x, o: x.todok().tocsc(),
    "reversed": lambda s, x, o: x.tocsr()[::-1],
    "columns": lambda s, x, o: x.tocsr()[:, [2, 0, 1, 3, 3]],
    "rows": lambda s, x, o: x.tocsc()[[4, 4, 0, 1, 2]],
    "a grid of places": lambda s, x, o: x.tocsr()[[[0], [1], [4], [2], [2]], [4, 3, 2, 0, 0]],
    "unequal": lambda s, x, o: (x != o).astype("f8"),
    "equal": lambda s, x, o: (x.tocsr() == o).astype("f8"),
    "greater": lambda s, x, o: (x > 0.5).astype("f8"),
    "at most": lambda s, x, o: (x.tocsr() <= o).astype("f8"),
    "absolute": lambda s, x, o: abs(x),
    "positive": lambda s, x, o: x.multiply(x > 0),
    "stacked": lambda s, x, o: s.vstack([x, o]).tocsr()[3:8],
    "beside": lambda s, x, o: s.hstack([o, x], format="csc")[:, 4:9],
    "kron": lambda s, x, o: s.kron(x, s.csr_array([[1.0, 2.0]]), "csr")[:, ::2],
    "lower": lambda s, x, o: s.tril(x, 1),
    "upper": lambda s, x, o: s.triu(x, -2, "csr"),
    "block": lambda s, x, o: s.block_diag([x, o], "csr")[2:7, 2:7],
    "reshaped": lambda s, x, o: x.reshape(25, 1).tocsr().reshape(5, 5),
    "by columns": lambda s, x, o: x.reshape((5, 5)).tocoo().reshape((1, 25), order="F").reshape((5, 5)).tocsr(),
    "assigned": lambda s, x, o: _assigned(x, (slice(1, 3), [0, 4]), 2.5),
    "zeros assigned": lambda s, x, o: _assigned(x, ([0, 4, 4], [1, 2, 2]), 0),
    "where": lambda s, x, o: _assigned(x, x.toarray() > 1, 7.0),
    "diagonal": lambda s, x, o: _with_diagonal(x.tocsr(), 1),
    "cut": lambda s, x, o: _smaller(x),
    "no zeros": lambda s, x, o: _cleaned(x),
    "by a row": lambda s, x, o: x.multiply(o.toarray()[:1]).tocsr(),
    "by sums": lambda s, x, o: x.multiply(x.sum(axis=1).reshape(-1, 1)).tocsr(),
    "by extremes": lambda s, x, o: x.multiply(x.tocsr().max(axis=0).toarray().reshape(1, -1)).tocsc(),
    "quotient": lambda s, x, o: (x / (abs(o.toarray()) + 1)).tocsr(),
    "squared": lambda s, x, o: x.power(2),
    "dense": lambda s, x, o: s.csr_array(x.toarray() + o),
    "diagonals": lambda s, x, o: x.todia(),
    "diagonals added": lambda s, x, o: x.todia() + o.todia().T,
    "diagonals multiplied": lambda s, x, o: x.todia().multiply(o.todia()) - o.todia(),
    "diagonals times": lambda s, x, o: _with_ones(s, x) @ _with_ones(s, o),
    "diagonals by a column": lambda s, x, o: x.todia() * (o.toarray()[:, :1] + 1),
    "blocks": lambda s, x, o: x.tobsr((5, 1)).tocsc(),
    "blocks turned": lambda s, x, o: x.tobsr((1, 5)).T.tocoo(),
    "blocks times": lambda s, x, o: (x.tobsr((5, 5)) @ o.tobsr((5, 1))).tocsr(),
    "blocks unequal": lambda s, x, o: (x.tobsr((1, 5)) != o.todia()).astype("f8"),
    "blocks multiplied": lambda s, x, o: x.tobsr((5, 1)).multiply(o.tobsr((5, 1))).tocsr(),
    "quotient of two": lambda s, x, o: s.csr_array(x.tocsr() / s.csr_array(o.toarray() * 0 + 9)),
    "cube": lambda s, x, o: s.csr_array(_cube(s, x, o).sum(axis=1)),
    "cube turned": lambda s, x, o: _cube(s, x, o).transpose((0, 2, 1)).reshape(10, 5).tocsr()[2:7],
    "cube by columns": lambda s, x, o: _cube(s, x, o).reshape((5, 10), order="F").tocsr()[:, ::2],
    "cube added": lambda s, x, o: (_cube(s, x, o) + _cube(s, o, x) * 2 - _cube(s, x, x)).reshape(5, 10).tocsr()[:, 3:8],
    "cube compared": lambda s, x, o: ((_cube(s, x, o) > _cube(s, o, x)).astype("f8").max(axis=1)).tocsr(),
    "cube multiplied": lambda s, x, o: _cube(s, x, o).multiply(_cube(s, o, x)).max(axis=1).tocsr(),
    "cube of extremes": lambda s, x, o: _cube(s, x, o).maximum(_cube(s, o, x).minimum(-1)).min(axis=1).tocsr(),
    "cube times": lambda s, x, o: s.csr_array((_cube(s, x, o) @ o.toarray())[:, 0]),
    "line": lambda s, x, o: (x.tocoo().reshape(25) + o.tocoo().reshape(25)).tocoo().reshape(5, 5).tocsr(),
    "line multiplied": lambda s, x, o: x.tocoo().reshape(25).multiply(o.tocoo().reshape(25)).tocoo().reshape(5, 5),
}


def _with_ones(s: Any, x: Any) -> Any:
    return x.todia() + s.eye_array(5, format="dia")


def _cube(s: Any, x: Any, o: Any) -> Any:
    """Both as one array of three axes: 5, 2, 5."""
    return s.hstack([x, o], format="coo").reshape(5, 2, 5)


def _cleaned(x: Any) -> Any:
    x = x.tocsr(copy=True)
    x.eliminate_zeros()
    return x


def run_program(steps: list[str], seed: int) -> None:
    """Run the same steps with both; fail where they differ."""
    a, b = pair((5, 5), "f8", "csr", seed=seed)
    c, d = pair((5, 5), "f8", "csc", seed=seed + 100)
    for step in steps:
        try:
            b = STEPS[step](scipy.sparse, b, d)
        except (ValueError, RuntimeError):  # SciPy fails with diagonals of several lengths, and with products of none.
            return
        a = STEPS[step](numloom.sparse, a, c)
        scale = float(np.abs(b.data).max()) if b.nnz else 1.0
        if scale > 1e6:
            a, b = a * (1 / scale), b * (1 / scale)
        same(a, b)


def run_many(count: int, seed: int = 0) -> int:
    """Run so many random programs, each as it comes, by SciPy or as on a device; what they were if one fails."""
    import warnings

    from numloom.sparse.where import forced

    rng, names = np.random.default_rng(seed), sorted(STEPS)
    for number in range(count):
        steps = [names[k] for k in rng.integers(0, len(names), rng.integers(1, 9))]
        way = (None, False, True)[number % 3]
        with warnings.catch_warnings(), forced(way):
            warnings.simplefilter("ignore")
            try:
                run_program(steps, number)
            except Exception as error:
                error.add_note(f"program {number}: {steps}, seed {number}, device way: {way}")
                raise
    return count


if __name__ == "__main__":
    import contextlib
    import sys

    numloom.config.host_copy = "allow"
    sys.path.insert(0, str(Path(__file__).parents[1]))
    beside = importlib.import_module("apart").stand_in if "beside" in sys.argv else contextlib.nullcontext
    with beside():
        print(run_many(*map(int, sys.argv[1:3])), "programs agree")
