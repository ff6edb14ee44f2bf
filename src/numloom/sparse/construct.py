"""Making sparse arrays, and putting them together: the functions of `scipy.sparse` that have no matrix's method."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from numloom.random.generator import Generator
from numloom.random.legacy import RandomState
from numloom.sparse import combining, host
from numloom.sparse.base import SparseBase
from numloom.sparse.where import in_order, on_device


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """A sparse array with ones on diagonal `k`.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.eye_array(2).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dtype = in_order(dtype)
    return host.call(scipy.sparse.eye_array, m, n, k=k, dtype=dtype, format=format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """A sparse matrix with ones on diagonal `k`."""
    dtype = in_order(dtype)
    return host.call(scipy.sparse.eye, m, n, k, dtype, format)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """The identity as a sparse matrix."""
    dtype = in_order(dtype)
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
    dtype = in_order(dtype)
    if on_device():
        found = combining.diagonals(diagonals, offsets, shape, format, dtype)
        if found is not NotImplemented:
            return found
    return host.call(_diags_array, diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)


def _diags_array(diagonals: Any, **options: Any) -> Any:
    if options["dtype"] is None:
        del options["dtype"]  # A default of SciPy's own, which has changed.
    return scipy.sparse.diags_array(diagonals, **options)


def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """A sparse matrix of its diagonals."""
    dtype = in_order(dtype)
    options = {} if dtype is None else {"dtype": dtype}
    return host.call(scipy.sparse.diags, diagonals, offsets, shape, format, **options)


def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: str | None = None) -> Any:
    """A sparse matrix of diagonals that are rows of `data`."""
    return host.call(scipy.sparse.spdiags, data, diags, m, n, format)


def random_array(shape: Any, **options: Any) -> Any:
    """A sparse array of random numbers at random places; options and draws are those of SciPy's `random_array`."""
    return host.call(scipy.sparse.random_array, shape, **_drawing(options))


def random(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None,
    data_rvs: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """A sparse matrix of random numbers at random places; draws are SciPy's."""
    if rng is not None:
        options["rng"] = rng
    return host.call(scipy.sparse.random, m, n, density, format, dtype, data_rvs=data_rvs, **_drawing(options))


def _drawing(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with a generator of NumPy's, seeded by a draw, for each of ours."""
    return {
        name: np.random.default_rng(int(each.integers(2**63))) if isinstance(each, Generator)
        else np.random.RandomState(int(each.randint(0, 2**32))) if isinstance(each, RandomState) else each
        for name, each in options.items()
    }  # fmt: skip


def rand(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None, **options: Any
) -> Any:
    """A sparse matrix of uniform random numbers at random places; draws are SciPy's."""
    return random(m, n, density, format, dtype, rng, **options)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """The Kronecker product.

    Examples
    --------
    >>> import numloom as np
    >>> np.sparse.kron(np.sparse.eye_array(2), [[1, 2]]).toarray().tolist()
    [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    found = combining.kron(A, B, format) if on_device() else NotImplemented
    if found is not NotImplemented:
        return found
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
    return _joined(scipy.sparse.hstack, list(blocks), [list(blocks)], format, dtype)


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks one below the other."""
    blocks = list(blocks)
    return _joined(scipy.sparse.vstack, list(blocks), [[block] for block in blocks], format, dtype)


def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks in rows and columns, None for zeros; an array if one of them is."""
    return _joined(scipy.sparse.bmat, _rows(blocks), _rows(blocks), format, dtype)


def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> Any:
    """A sparse array of blocks in rows and columns, None for zeros."""
    return _joined(scipy.sparse.block_array, _rows(blocks), _rows(blocks), format, dtype, True)


def _joined(theirs: Any, given: Any, lines: Any, format: Any, dtype: Any, as_array: bool = False) -> Any:
    """Blocks put together on the device, if they are there, else by SciPy."""
    if on_device() and isinstance(lines, list):
        as_array = as_array or any(getattr(x, "_is_array", False) for line in lines for x in line)
        found = combining.blocks(lines, format, dtype, as_array)
        if found is not NotImplemented:
            return found
    return host.call(theirs, given, format=format, dtype=dtype)


def _rows(blocks: Any) -> list[list[Any]]:
    return [list(row) for row in blocks] if isinstance(blocks, (list, tuple)) else blocks


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Blocks along the diagonal."""
    mats = list(mats)
    lines = [[mat if i == j else None for j in range(len(mats))] for i, mat in enumerate(mats)]
    if len(mats) == 1 and format is None:
        format = "coo"
    return _joined(
        lambda given, format, dtype: scipy.sparse.block_diag(given, format, dtype), mats, lines, format, dtype
    )


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """What lies on diagonal `k` and below."""
    return _triangle(scipy.sparse.tril, A, k, format, True)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """What lies on diagonal `k` and above."""
    return _triangle(scipy.sparse.triu, A, k, format, False)


def _triangle(theirs: Any, A: Any, k: int, format: str | None, lower: bool) -> Any:
    found = combining.triangle(A, k, format, lower) if on_device() else NotImplemented
    return host.call(theirs, A, k, format) if found is NotImplemented else found


def expand_dims(A: Any, /, *, axis: int = 0) -> Any:
    """A sparse array with one more axis, of length 1."""
    return host.call(scipy.sparse.expand_dims, A, axis=axis)


def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """A sparse array with two axes changed for each other."""
    return host.call(scipy.sparse.swapaxes, A, axis1, axis2)


def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    """A sparse array with its axes in another order."""
    return host.call(scipy.sparse.permute_dims, A, axes, copy)


def matrix_transpose(A: Any) -> Any:
    """A sparse array with its last two axes changed for each other."""
    return (A if isinstance(A, SparseBase) else host.wrap(A)).mT


def get_index_dtype(arrays: Any = (), maxval: Any = None, check_contents: bool = False) -> Any:
    """The dtype of indices, int32 or int64, that SciPy would choose."""
    return scipy.sparse.get_index_dtype(host.host_value(arrays), host.host_value(maxval), check_contents)


def safely_cast_index_arrays(A: Any, idx_dtype: Any = np.int32, msg: str = "") -> Any:
    """The index arrays of a sparse array in a dtype, or ValueError if they do not fit."""
    return host.call(scipy.sparse.safely_cast_index_arrays, A, idx_dtype, msg)


def find(A: Any) -> Any:
    """Rows, columns and values of what is not zero.

    Examples
    --------
    >>> import numloom as np
    >>> [x.tolist() for x in np.sparse.find(np.sparse.csr_array([[0, 5], [6, 0]]))]
    [[0, 1], [1, 0], [5, 6]]
    """
    found = combining.found(A) if on_device() else NotImplemented
    return host.call(scipy.sparse.find, A) if found is NotImplemented else found


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
    "expand_dims",
    "eye",
    "eye_array",
    "find",
    "get_index_dtype",
    "hstack",
    "identity",
    "kron",
    "kronsum",
    "load_npz",
    "matrix_transpose",
    "permute_dims",
    "rand",
    "random",
    "random_array",
    "safely_cast_index_arrays",
    "save_npz",
    "spdiags",
    "swapaxes",
    "tril",
    "triu",
    "vstack",
]
