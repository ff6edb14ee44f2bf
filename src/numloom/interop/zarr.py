"""zarr: chunks of its arrays are NumPy's, also where what is stored is ours."""

from __future__ import annotations

from typing import Any

from numloom.interop.pandas import plain


def register() -> None:
    """Tell zarr, when its buffers have been imported."""
    from zarr.core.buffer.cpu import NDBuffer

    make: Any = NDBuffer.from_ndarray_like.__func__  # type: ignore[attr-defined]
    NDBuffer.from_ndarray_like = classmethod(lambda cls, array: make(cls, plain(array)))  # type: ignore[assignment]


__all__ = ["register"]
