"""The way through the host: download, the row's NumPy twin, upload."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numloom.device.cuda.routines.kernels import dense
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

Host = np.ndarray[Any, Any]


def to_host(device: Any, operand: Strided) -> Host:
    """The operand's elements as a host array (waits)."""
    if not prod(operand.shape):
        return np.empty(operand.shape, operand.dtype)
    operand = dense(device, operand)
    itemsize = operand.dtype.itemsize
    nbytes = prod(operand.shape) * itemsize
    data: Host = device.download(operand.buffer, operand.offset * itemsize, nbytes)
    return data.view(operand.dtype).reshape(operand.shape)


def from_host(device: Any, out: Strided, host: Host) -> None:
    """Write a host array where `out` lies, which has no gaps (its elements are all of a fresh buffer)."""
    if not host.size:
        return
    itemsize = out.dtype.itemsize
    packed = np.empty(host.size, out.dtype)
    np.ndarray(out.shape, out.dtype, packed, 0, tuple([stride * itemsize for stride in out.strides]))[...] = host
    device.copy(out.buffer, out.offset * itemsize, device.upload(packed), 0, packed.nbytes)


def on_host(name: str, device: Any, *operands: Strided, out: Strided, **options: Any) -> None:
    """Run the sized routine `name` by its NumPy twin."""
    from_host(device, out, ROWS[name].numpy(*[to_host(device, operand) for operand in operands], **options))
