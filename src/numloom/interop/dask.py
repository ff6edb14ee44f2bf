"""Dask arrays whose chunks are ours: the tables in which Dask looks functions up.

Runs right after `dask.array.dispatch` is imported, so in the middle of Dask's own import: it imports no more than that.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from dask.array.chunk_types import register_chunk_type
from dask.array.dispatch import (
    concatenate_lookup,
    divide_lookup,
    einsum_lookup,
    empty_lookup,
    nannumel_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
)
from dask.tokenize import normalize_token
from dask.utils import Dispatch

from numloom.api.creation import empty, full
from numloom.api.einsum import einsum
from numloom.api.elementwise import divide, isnan, logical_not
from numloom.api.indexing import take
from numloom.api.joining import concatenate
from numloom.api.products import tensordot
from numloom.api.quantiles import percentile
from numloom.api.reductions import sum as total
from numloom.array.convert import asarray, asnumpy
from numloom.array.ndarray import ndarray

Array = Any

to_numloom_dispatch = Dispatch("to_numloom_dispatch")
"""Chunks of other libraries as ours."""


def numel(x: Array, axis: Any = None, keepdims: bool = False, dtype: Any = np.float64, **options: Any) -> Any:
    """How many elements a reduction goes over, in the shape of its result."""
    axes = (
        range(x.ndim) if axis is None else [a % x.ndim for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
    )
    count = prod(x.shape[a] for a in axes)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a not in axes)
    return full(shape, count, dtype)


def nannumel(x: Array, **options: Any) -> Array:
    """How many elements that are no NaN a reduction goes over."""
    return total(logical_not(isnan(x)), **options)


def chunk_percentile(a: Array, q: Any, method: str = "linear") -> Any:
    """Percentiles of one chunk and how many elements it has, which Dask merges."""
    if not a.size:
        return None, 0
    if isinstance(q, str) or not np.ndim(q):
        q = [q]
    return percentile(a, asarray(q), method=method), a.size


def divided(a: Array, b: Any, dtype: Any = None, **options: Any) -> Array:
    """A sum by a count, as means of chunks are finished."""
    result = divide(a, b)
    return result if dtype is None else result.astype(dtype, copy=False)


def chunk_einsum(*operands: Any, **options: Any) -> Array:
    """`einsum` of chunks."""
    return einsum(*operands, **options)


def register() -> None:
    """Enter our functions in Dask's tables."""
    for lookup, function in (
        (concatenate_lookup, concatenate),
        (divide_lookup, divided),
        (einsum_lookup, chunk_einsum),
        (empty_lookup, empty),
        (nannumel_lookup, nannumel),
        (numel_lookup, numel),
        (percentile_lookup, chunk_percentile),
        (take_lookup, take),
        (tensordot_lookup, tensordot),
        (to_numpy_dispatch, to_numpy),
    ):
        lookup.register(ndarray, function)
    to_numloom_dispatch.register((np.ndarray, ndarray), from_any)
    register_chunk_type(ndarray)
    normalize_token.register(ndarray, token)


def to_numpy(data: Array, **options: Any) -> np.ndarray[Any, Any]:
    """A chunk on the host."""
    return asnumpy(data)


def from_any(data: Any, **options: Any) -> Array:
    """A chunk on the device."""
    return asarray(data)


def token(x: Array) -> Any:
    """What tells apart arrays of different values, for the names of tasks; looks at the values.

    It is that of NumPy's array, or scalar, of these values.
    """
    return normalize_token(x.get()[()] if x.is_scalar else x.get())
