"""Who computes: SciPy on the buffers themselves, or our own array operations where the data live on a device.

The classes by name stand here too, so that what makes results need not import what the classes import.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray, node_of
from numloom.base.dtypes import refuse_other_order
from numloom.base.integers import as_integer, is_integer
from numloom.device import registry
from numloom.graph.node import register, tracing

FORCED: ContextVar[bool | None] = ContextVar("numloom_sparse_device_way", default=None)
"""Whether array operations are forced, or SciPy; None for the way of the device."""

CLASSES: dict[str, type] = {}
"""Our classes by their names, which are SciPy's."""
SUPPORTED = "?bBhHiIlLqQfdFD"
"""Characters of the dtypes of stored numbers: SciPy's, but for those that no GPU computes with."""


def refuse_dtype(name: str, dtype: Any) -> None:
    """Raise ValueError for a dtype that a class of sparse arrays does not have."""
    if np.dtype(dtype).char not in SUPPORTED:
        raise ValueError(f"{name} does not support dtype {np.dtype(dtype)}: use float32 or float64")


def in_order(dtype: Any) -> Any:
    """A dtype that a result is asked for in; TypeError for one of the other byte order, which SciPy would drop."""
    if dtype is not None:
        refuse_other_order(dtype)
    return dtype


def plain_axis(axis: Any) -> Any:
    """An axis that is an array of no dimensions as a number; what SciPy should judge as it is."""
    return as_integer(axis) if axis is not None and is_integer(axis) else axis


def on_device() -> bool:
    """Whether sparse work is done by array operations: where the host does not see the memory, or if it is forced."""
    forced = FORCED.get()
    return bool(registry.current().discrete) if forced is None else forced


def in_tree(*operands: Any) -> bool:
    """Whether arrays, or parts of matrices, are being recorded for a gradient or a function: nobody may look."""
    if not register.trees:
        return False
    if register.tracing and tracing():  # Even a copy of a part would be recorded.
        return True
    arrays = [part for x in operands for part in (x._sparse_parts() if hasattr(x, "_sparse_parts") else (x,))]
    return any([type(x) is ndarray and node_of(x).tree for x in arrays])


@contextlib.contextmanager
def forced(device_way: bool | None) -> Iterator[None]:
    """Let one way do the work whatever the device is, to compare the two.

    Parameters
    ----------
    device_way : bool or None
        True for our own array operations, False for SciPy and nothing at once, None for what the device takes.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom.sparse.where import forced
    >>> a = np.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> with forced(True):
    ...     (a @ np.ones(2)).tolist()
    [3.0, 3.0]
    """
    token = FORCED.set(device_way)
    try:
        yield
    finally:
        FORCED.reset(token)


__all__ = ["CLASSES", "FORCED", "forced", "in_order", "in_tree", "on_device", "plain_axis", "refuse_dtype"]
