"""Sorting and running operations by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.device.cpu.hostview import as_array
from numloom.device.interface import Strided


def sort(device: Any, a: Strided, *, axis: int, out: Strided) -> None:
    """``out`` = `a` sorted along `axis`; NaN last."""
    target = as_array(out)
    target[...] = as_array(a)
    target.sort(axis)


def argsort(device: Any, a: Strided, *, axis: int, out: Strided) -> None:
    """``out`` = positions (int64) that sort `a` along `axis`, stable; NaN last."""
    as_array(out)[...] = np.argsort(as_array(a), axis, kind="stable")


def scan(device: Any, a: Strided, *, op: str, axis: int, out: Strided) -> None:
    """``out`` = running `op` (a ufunc's name) along `axis`, in the dtype of `a`."""
    source, target = as_array(a), as_array(out)
    with np.errstate(all="ignore"):
        getattr(np, op).accumulate(source, axis, source.dtype, target)
