"""``numpy.lib.format``: the files that `save` writes, with arrays of ours and mapped files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib import format as numpy_format
from numpy.lib.format import (
    ARRAY_ALIGN,
    BUFFER_SIZE,
    EXPECTED_KEYS,
    GROWTH_AXIS_MAX_DIGITS,
    MAGIC_LEN,
    MAGIC_PREFIX,
    descr_to_dtype,
    drop_metadata,
    dtype_to_descr,
    isfileobj,
    magic,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
    write_array_header_1_0,
    write_array_header_2_0,
)

from numloom.api.creation import array
from numloom.api.io import as_meant, as_written, mapped, to_file
from numloom.base.integers import as_integers

Array = Any


def header_data_from_array_1_0(array: Any) -> dict[str, Any]:
    """What a file's header says of an array: dtype, order and shape."""
    return numpy_format.header_data_from_array_1_0(to_file(array))


def write_array(fp: Any, array: Any, version: Any = None, allow_pickle: bool = True, pickle_kwargs: Any = None) -> None:
    """Write an array to an open file, as `save` does.

    Parameters
    ----------
    fp : file
        Open for writing bytes.
    array : array_like
        The array.
    version : (int, int), optional
        Of the format; by default the oldest one that can hold the array.
    allow_pickle, pickle_kwargs
        For objects, which arrays of ours do not hold.
    """
    numpy_format.write_array(fp, to_file(array), version, allow_pickle, pickle_kwargs)


def read_array(
    fp: Any, allow_pickle: bool = False, pickle_kwargs: Any = None, *, max_header_size: int = 10000
) -> Array:
    """The array that an open file holds from here on; parameters as of `numpy.lib.format.read_array`."""
    found = numpy_format.read_array(fp, allow_pickle, pickle_kwargs, max_header_size=max_header_size)
    return array(as_meant(found))


def open_memmap(
    filename: Any,
    mode: str = "r+",
    dtype: Any = None,
    shape: Any = None,
    fortran_order: bool = False,
    version: Any = None,
    *,
    max_header_size: int = 10000,
) -> Any:
    """A .npy file seen as an array: `numloom.memmap` behind its header.

    Parameters
    ----------
    filename : str or path
        The file.
    mode : {"r", "r+", "w+", "c"}
        As of `memmap`; "w+" makes the file anew.
    dtype : dtype, optional
        Of a new file; by default float64.
    shape : int or tuple of int, optional
        Of a new file.
    fortran_order : bool
        Whether a new file lies in Fortran order.
    version : (int, int), optional
        Of a new file's format.
    max_header_size : int
        The longest header that is read.

    Returns
    -------
    memmap
    """
    extents = None if shape is None else as_integers(shape)
    written = None if dtype is None else as_written(np.dtype(dtype))
    found = numpy_format.open_memmap(
        filename, mode, written, extents, fortran_order, version, max_header_size=max_header_size
    )
    return mapped(as_meant(found))


__all__ = [
    "ARRAY_ALIGN",
    "BUFFER_SIZE",
    "EXPECTED_KEYS",
    "GROWTH_AXIS_MAX_DIGITS",
    "MAGIC_LEN",
    "MAGIC_PREFIX",
    "descr_to_dtype",
    "drop_metadata",
    "dtype_to_descr",
    "header_data_from_array_1_0",
    "isfileobj",
    "magic",
    "open_memmap",
    "read_array",
    "read_array_header_1_0",
    "read_array_header_2_0",
    "read_magic",
    "write_array",
    "write_array_header_1_0",
    "write_array_header_2_0",
]
