"""Arrays for tests: counted, random, of given singular values."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from numloom.array.convert import asnumpy
from numloom.array.ndarray import ndarray

_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]


def shaped_arange(shape: Any, xp: Any = None, dtype: Any = np.float32, order: str = "C") -> Any:
    """1, 2, 3, ... in a shape.

    >>> from numloom.cupy import testing
    >>> testing.shaped_arange((2, 2))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    count = int(np.prod(shape))
    values = np.arange(1, count + 1)
    values = values % 2 == 0 if np.dtype(dtype) == np.bool_ else values
    return _made(values.astype(dtype).reshape(shape, order="C"), xp, order)


def shaped_reverse_arange(shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """..., 3, 2, 1 in a shape."""
    count = int(np.prod(shape))
    values = np.arange(count, 0, -1)
    values = values % 2 == 0 if np.dtype(dtype) == np.bool_ else values
    return _made(values.astype(dtype).reshape(shape), xp, "C")


def shaped_linspace(start: Any, stop: Any, shape: Any, xp: Any = None, dtype: Any = np.float32) -> Any:
    """Evenly spaced numbers from `start` to `stop` in a shape; of what the dtype can have: from 0 on without a sign.

    >>> from numloom.cupy import testing
    >>> testing.shaped_linspace(0, 3, (2, 2))
    array([[0., 1.],
           [2., 3.]], dtype=float32)
    """
    kind = np.dtype(dtype).kind
    if kind in "bu":
        start, stop = (np.clip(end, 0, 1 if kind == "b" else None) for end in (start, stop))
    return _made(np.linspace(start, stop, int(np.prod(shape))).astype(dtype).reshape(shape), xp, "C")


def shaped_random(
    shape: Any, xp: Any = None, dtype: Any = np.float32, scale: float = 10, seed: int = 0, order: str = "C"
) -> Any:
    """Random numbers in a shape, the same for the same seed."""
    random = np.random.RandomState(seed)
    kind = np.dtype(dtype).kind
    values: Any = random.randint(2, size=shape) if kind == "b" else random.rand(*shape) * scale
    if kind == "c":
        values = values + 1j * random.rand(*shape) * scale
    return _made(np.asarray(values).astype(dtype), xp, order)


def shaped_sparse_random(
    shape: Any, sp: Any = None, dtype: Any = np.float32, density: float = 0.01, format: str = "coo", seed: int = 0
) -> Any:
    """A random sparse matrix, the same for the same seed; `sp` is the module that makes it."""
    module = importlib.import_module("numloom.sparse") if sp is None else sp
    host = importlib.import_module("scipy.sparse").random(
        *shape, density=density, format="coo", random_state=np.random.RandomState(seed), dtype=np.float64
    )
    values = _made(host.data.astype(dtype), module_of(module), "C")
    rows, columns = (_made(places, module_of(module), "C") for places in (host.row, host.col))
    return module.coo_matrix((values, (rows, columns)), shape=shape).asformat(format)


def module_of(sparse: Any) -> Any:
    """The module of arrays beside one of sparse matrices."""
    return np if sparse.__name__.startswith("scipy") else None


def generate_matrix(shape: Any, xp: Any = None, dtype: Any = np.float32, *, singular_values: Any) -> Any:
    """Matrices of given singular values.

    Parameters
    ----------
    shape : tuple of int
        Of the stack of matrices.
    xp : module, optional
        Whose arrays to give.
    dtype : dtype
        A floating or complex one.
    singular_values : array_like, optional
        Broadcast to the smaller side; real, and none is negative.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> A = cp.testing.generate_matrix((3, 2), dtype="f8", singular_values=[4, 2])
    >>> cp.linalg.svd(A, compute_uv=False).round(10)
    array([4., 2.])
    """
    if len(shape) < 2:
        raise ValueError(f"a matrix has two axes at least, got shape {shape}")
    least = min(shape[-2:])
    random = np.random.RandomState(0)
    wanted = np.dtype(dtype)
    if wanted.kind not in "fc":
        raise TypeError(f"a matrix of singular values is floating or complex, got dtype {wanted}")
    values = np.asarray(asnumpy(singular_values) if type(singular_values) is ndarray else singular_values)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"singular values are real numbers, got dtype {values.dtype}")
    if (values < 0).any():
        raise ValueError(f"singular values are not negative, got {values.min()}")
    sides = []
    for side in shape[-2:]:
        part: Any = random.randn(*shape[:-2], side, least)
        sides.append(np.linalg.qr(part + 1j * random.randn(*part.shape) if wanted.kind == "c" else part)[0])
    left, right = sides
    made = (left * np.broadcast_to(values, (*shape[:-2], least))[..., None, :]) @ np.swapaxes(right.conj(), -1, -2)
    return _made(made.astype(wanted), xp, "C")


def _made(values: Any, xp: Any, order: str) -> Any:
    """An array that owns its memory, as `base` tells."""
    return (importlib.import_module(_PACKAGE) if xp is None else xp).array(values, order=order)


__all__ = [
    "generate_matrix", "shaped_arange", "shaped_linspace", "shaped_random", "shaped_reverse_arange",
    "shaped_sparse_random",
]  # fmt: skip
