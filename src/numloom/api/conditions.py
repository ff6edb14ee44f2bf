"""What depends on computed numbers: on the host they are looked at; for a GPU nobody waits.

What must raise there does so when somebody looks at the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import I64
from numloom.device import registry
from numloom.graph import build
from numloom.graph.again import made
from numloom.graph.node import tracing
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

_zero: dict[str, Array] = {}


def numpy_is_near() -> bool:
    """Whether what NumPy computes of numbers alone is at once where it is needed: the device is the host.

    No tree is recorded then, which has none.
    """
    return not registry.current().discrete and not tracing()


def raised_where(bad: Array, code: int, error: type[Exception], message: str) -> Array:
    """Zeros of dtype `code`, recorded: whoever looks at what is computed from them gets the error if `bad` holds.

    Parameters
    ----------
    bad : ndarray of bool
        What must not be.
    code : int
        dtype code of the zeros.
    error : type
        What is raised.
    message : str
        What it says.
    """
    # Reading behind the end of a table of one element is what kernels can complain about.
    name = registry.current().name
    table = _zero.get(name)
    if table is None:
        table = _zero[name] = asarray(np.zeros(1, np.int64))
    made(node_of(table))
    gate = build.gather(node_of(table), [build.cast(node_of(bad), I64)], (0,), 0, (error, message))
    return wrap(build.cast(gate, code))


def unless(bad: Array, result: Array, error: type[Exception], message: str) -> Array:
    """An array, recorded, of which who looks at it gets the error if `bad`, one truth value, holds."""
    gate = node_of(raised_where(bad, result.code, error, message))
    return wrap(build.elementwise(ELEMENTWISE["where"], (node_of(bad), gate, node_of(result))))


__all__ = ["numpy_is_near", "raised_where", "unless"]
