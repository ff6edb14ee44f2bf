"""autoray: what its general rules would do by way of `numpy.asarray`, which on a GPU is an error."""

from __future__ import annotations

from typing import Any

import autoray

from numloom.array.convert import asarray, asnumpy
from numloom.array.ndarray import ndarray


def to_numpy(x: Any) -> Any:
    """An array on the host."""
    return asnumpy(x)


def from_numpy(x: Any, dtype: Any = None, device: Any = None) -> Any:
    """A NumPy array on the device."""
    return asarray(x, dtype=dtype, device=device)


def register() -> None:
    """Name the backend, and the way to the host and back."""
    autoray.register_backend(ndarray, "numloom")
    autoray.register_function("numloom", "to_numpy", to_numpy)
    autoray.register_function("numloom", "from_numpy", from_numpy)
