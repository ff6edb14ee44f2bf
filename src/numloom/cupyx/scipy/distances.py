"""``distance_transform_edt`` with CuPy's parameters, computed by SciPy on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.base.integers import is_integer
from numloom.cupyx.scipy.host import call

Array = Any


def distance_transform_edt(
    image: Any, sampling: Any = None, return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None, *, block_params: tuple[int, int, int] | None = None,
    float64_distances: bool = True,
) -> Array | tuple[Array, ...] | None:  # fmt: skip
    """How far each element that is not zero is from the nearest zero, and where that is.

    Parameters
    ----------
    image : array_like
        Of any number of axes.
    sampling : number or sequence of numbers, optional
        How far neighbours along each axis are from each other.
    return_distances, return_indices : bool
        What is asked for.
    distances : ndarray, optional
        What the distances go to, instead of being returned: of `image`'s shape, and of the dtype they have.
    indices : ndarray, optional
        What the indices go to: of shape ``(image.ndim, *image.shape)``, of integers of 16 bits or more.
    block_params : tuple of int, optional
        Three numbers that choose how CuPy computes; the second a power of two. They mean nothing here.
    float64_distances : bool
        Whether the distances are float64, or float32.

    Returns
    -------
    ndarray or tuple of ndarray
        Distances, indices (int32), or both; None where all went to arrays.

    Raises
    ------
    RuntimeError
        For an array given for what is not asked for, or that cannot hold it.
    ValueError
        For other `block_params`.

    Examples
    --------
    >>> import numloom as nl
    >>> distance_transform_edt(nl.array([1, 1, 0, 1]), float64_distances=False)
    array([2., 1., 0., 1.], dtype=float32)
    >>> distance_transform_edt(nl.array([1, 1, 0, 1]), return_distances=False, return_indices=True)
    array([[2, 2, 2, 2]], dtype=int32)
    """
    from scipy.ndimage import distance_transform_edt as scipys

    if block_params is not None:
        _check_blocks(block_params)
    array = asarray(image)
    dtype = np.dtype("f8" if float64_distances else "f4")
    if not return_distances and not return_indices:
        raise RuntimeError("at least one of return_distances and return_indices must be True")
    if distances is not None:
        _check_given("distances", return_distances, distances, array.shape)
        if distances.dtype != dtype:
            raise RuntimeError(f"distances must be {dtype.name}, as float64_distances says, not {distances.dtype}")
    if indices is not None:
        _check_given("indices", return_indices, indices, (array.ndim, *array.shape))
        kind, size = indices.dtype.kind, indices.dtype.itemsize
        if kind not in "iu" or size < 2 or np.iinfo(indices.dtype).max < max(array.shape, default=0) - 1:
            raise RuntimeError(f"indices must be integers of 16 bits or more that hold each index, not {indices.dtype}")
    options = {"sampling": sampling, "return_distances": return_distances, "return_indices": return_indices}
    computed = call(scipys, (array,), options)
    found = list(computed) if isinstance(computed, tuple) else [computed]
    places = [place for asked, place in ((return_distances, distances), (return_indices, indices)) if asked]
    if return_distances:
        found[0] = found[0].astype(dtype, copy=False)
    for result, place in zip(found, places, strict=True):
        if place is not None:
            place[...] = result.astype(place.dtype, copy=False)
    left = tuple(result for result, place in zip(found, places, strict=True) if place is None)
    return left if len(left) > 1 else left[0] if left else None


def _check_given(what: str, asked: bool, given: Any, shape: tuple[int, ...]) -> None:
    if not asked:
        raise RuntimeError(f"return_{what} must be True where {what}= gives an array for them")
    if given.shape != shape:
        raise RuntimeError(f"{what} array has wrong shape: {given.shape}, not {shape}")


def _check_blocks(given: Any) -> None:
    numbers = tuple(given)
    if len(numbers) != 3 or not all(is_integer(each) and each > 0 for each in numbers):
        raise ValueError(f"block_params are three positive integers, got {given!r}")
    if numbers[1] & (numbers[1] - 1):
        raise ValueError(f"the second of block_params is a power of two, got {numbers[1]}")


__all__ = ["distance_transform_edt"]
