"""The Python array API standard: what the namespace says of itself, and of the devices of its arrays.

Functions of the standard stand beside NumPy's; where both have a name, one function takes the arguments of both.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from numloom.array.devices import another, device_name
from numloom.array.ndarray import bind
from numloom.base.dtypes import NUMPY_DTYPES
from numloom.device.registry import gpu_count

Array = Any

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Editions of the standard whose functions and arguments all are here."""

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


class ArrayNamespaceInfo:
    """What ``__array_namespace_info__()`` of the standard gives.

    Examples
    --------
    >>> import numloom as np
    >>> info = np.__array_namespace_info__()
    >>> info.default_dtypes()["integral"]
    dtype('int64')
    >>> sorted(info.dtypes(kind="complex floating"))
    ['complex128', 'complex64']
    """

    __module__ = "numloom"

    def capabilities(self) -> dict[str, Any]:
        """What is possible: masks as subscripts, shapes that depend on values, and how many axes an array has."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device that new arrays live on."""
        return device_name()

    def devices(self) -> list[str]:
        """The devices that arrays can live on: the current one first, then the other GPUs, and the host."""
        found = [device_name()]
        for name in (*[f"cuda:{k}" for k in range(gpu_count())], "cpu"):
            if name not in found:
                found.append(name)
        return found

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays for which none was asked."""
        another(device)  # Refuses what is no device.
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by name: all, or those of a kind (or of several).

        Parameters
        ----------
        device : optional
            Every device has all dtypes.
        kind : str or tuple of str, optional
            "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or "numeric".

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If there is no such kind.
        """
        another(device)
        chosen = ["bool", "numeric"] if kind is None else [kind] if isinstance(kind, str) else kind
        letters = ""
        for one in chosen:
            if one not in _KINDS:
                raise ValueError(f"unsupported kind: {one!r}")
            letters += _KINDS[one]
        # float16 is ours, not the standard's.
        return {d.name: d for d in NUMPY_DTYPES if d.kind in letters and d != np.float16}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What this namespace can do: devices, dtypes and capabilities, as the array API standard has it."""
    return ArrayNamespaceInfo()


def array_namespace(array: Array, /, *, api_version: str | None = None) -> Any:
    """The module with the standard's functions for an array: numloom itself."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"edition {api_version!r} of the array API standard is not supported; {VERSIONS[-1]} is")
    return sys.modules[__name__.partition(".")[0]]


bind(method___array_namespace__=array_namespace)

__all__ = ["VERSIONS", "ArrayNamespaceInfo", "__array_namespace_info__"]
