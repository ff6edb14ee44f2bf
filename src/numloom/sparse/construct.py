"""Making sparse arrays, and putting them together: the functions of `scipy.sparse` that have no matrix's method."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from numloom.sparse import host
from numloom.sparse.base import SparseBase


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """A sparse array with ones on diagonal `k`.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.eye_array(2).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return host.call(scipy.sparse.eye_array, m, n, k=k, dtype=dtype, format=format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """A sparse matrix with ones on diagonal `k`."""
    return host.call(scipy.sparse.eye, m, n, k, dtype, format)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """The identity as a sparse matrix."""
    return host.call(scipy.sparse.identity, n, dtype, format)


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> Any:
    """A sparse array of its diagonals.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.diags_array([[1.0, 2.0], [5.0]], offsets=[0, 1]).toarray().tolist()
    [[1.0, 5.0], [0.0, 2.0]]
    """
    return host.call(_diags_array, diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)


def _diags_array(diagonals: Any, **options: Any) -> Any:
    if options["dtype"] is None:
        del options["dtype"]  # A default of SciPy's own, which has changed.
    return scipy.sparse.diags_array(diagonals, **options)


def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """A sparse matrix of its diagonals."""
    options = {} if dtype is None else {"dtype": dtype}
    return host.call(scipy.sparse.diags, diagonals, offsets, shape, format, **options)


def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: str | None = None) -> Any:
    """A sparse matrix of diagonals that are rows of `data`."""
    return host.call(scipy.sparse.spdiags, data, diags, m, n, format)


def random_array(shape: Any, **options: Any) -> Any:
    """A sparse array of random numbers at random places; options and draws are those of SciPy's `random_array`."""
    return host.call(scipy.sparse.random_array, shape, **options)


def random(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None,
    data_rvs: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """A sparse matrix of random numbers at random places; draws are SciPy's."""
    if rng is not None:
        options["rng"] = rng
    return host.call(scipy.sparse.random, m, n, density, format, dtype, data_rvs=data_rvs, **options)


def rand(m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None) -> Any:
    """A sparse matrix of uniform random numbers at random places; draws are SciPy's."""
    return random(m, n, density, format, dtype, rng)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """The Kronecker product.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.kron(np.sparse.eye_array(2), [[1, 2]]).toarray().tolist()
    [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    return host.call(scipy.sparse.kron, A, B, format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """The Kronecker sum of two square arrays."""
    return host.call(scipy.sparse.kronsum, A, B, format)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks side by side.

    Examples
    --------
    >>> import numloom as np
    >>> one = np.sparse.eye_array(1)
    >>> np.sparse.hstack([one, one]).toarray().tolist()
    [[1.0, 1.0]]
    """
    return host.call(scipy.sparse.hstack, list(blocks), format, dtype)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks one below the other."""
    return host.call(scipy.sparse.vstack, list(blocks), format, dtype)


def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks in rows and columns, None for zeros; an array if one of them is."""
    return host.call(scipy.sparse.bmat, _rows(blocks), format, dtype)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """A sparse array of blocks in rows and columns, None for zeros."""
    return host.call(scipy.sparse.block_array, _rows(blocks), format=format, dtype=dtype)


def _rows(blocks: Any) -> list[list[Any]]:
    return [list(row) for row in blocks] if isinstance(blocks, (list, tuple)) else blocks


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks along the diagonal."""
    return host.call(scipy.sparse.block_diag, list(mats), format, dtype)


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """What lies on diagonal `k` and below."""
    return host.call(scipy.sparse.tril, A, k, format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """What lies on diagonal `k` and above."""
    return host.call(scipy.sparse.triu, A, k, format)


def find(A: Any) -> Any:
    """Rows, columns and values of what is not zero.

    Examples
    --------
    >>> import numloom as np
    >>> [x.tolist() for x in np.sparse.find(np.sparse.csr_array([[0, 5], [6, 0]]))]
    [[0, 1], [1, 0], [5, 6]]
    """
    return host.call(scipy.sparse.find, A)


def save_npz(file: Any, matrix: Any, compressed: bool = True) -> None:
    """Write a sparse array or matrix into a file that `scipy.sparse.load_npz` reads, too."""
    scipy.sparse.save_npz(file, host.view(matrix) if isinstance(matrix, SparseBase) else matrix, compressed)


def load_npz(file: Any) -> Any:
    """A sparse array or matrix of a file of `save_npz`, ours or SciPy's."""
    return host.wrap(scipy.sparse.load_npz(file))


__all__ = [
    "block_array",
    "block_diag",
    "bmat",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "find",
    "hstack",
    "identity",
    "kron",
    "kronsum",
    "load_npz",
    "rand",
    "random",
    "random_array",
    "save_npz",
    "spdiags",
    "tril",
    "triu",
    "vstack",
]
