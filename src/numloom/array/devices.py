"""Arrays on other devices than the current one: whose an array is, making one there, and bringing one there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from numloom.array.ndarray import ndarray, node_of, storage_of, wrap
from numloom.base.dtypes import ITEMSIZES
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.ordering import gpu_of
from numloom.engine import look
from numloom.engine.evaluate import download_value, evaluate, leaf_from_host
from numloom.engine.owners import device_of, name_of
from numloom.engine.state import UNSET
from numloom.graph.build import copied, leaf
from numloom.graph.layout import k_strides
from numloom.graph.node import LEAF, Node

Array = Any
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONVERSIONS = frozenset(
    (
        "_by_numpy", "_seen", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray",
        "asfortranarray", "copy", "from_dlpack", "from_host", "frombuffer", "fromfile", "fromiter", "fromstring",
        "genfromtxt", "load", "loadtxt", "made_on", "over_host", "require",
    )
)  # fmt: skip
"""Functions whose result is what the user asked for, by their own name."""


def device_name() -> str:
    """Name of the device that new arrays live on: "cpu", or "cuda:" and the GPU's number."""
    return name_of(registry.current())


def device_at(array: Array) -> Any:
    """The device that an array lies on."""
    if not registry.apart():
        return gpu_of(registry.current())
    return device_of([storage_of(array).value]) or gpu_of(registry.current())


def another(device: Any, like: Any = None) -> Any:
    """The device that a new array is asked for on, if that is not the current one; None if it is.

    Parameters
    ----------
    device : object
        A name, with or without a number, or a `numloom.cuda.Device`; None for the current one, or that of `like`.
    like : object, optional
        What the new array is to be like.

    Raises
    ------
    ValueError
        If there is no such device.
    """
    here = gpu_of(registry.current())
    if device is None:
        if like is None or type(like) is not ndarray or not registry.apart():
            return None
        there = device_at(like)
    else:
        name = f"cuda:{device.id}" if hasattr(device, "id") and here.discrete else str(device)
        if hasattr(device, "id") and not here.discrete and device.id == 0:
            return None
        if name in (name_of(here), here.name):
            return None
        try:
            there = registry.get(name)
        except DeviceError as error:
            raise ValueError(str(error)) from None
    return None if there is here else there


def made_on(device: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a function makes on another device than the current one."""
    registry.include(device)
    with registry.on(device):
        made = function(*args, **options)
    value = made.storage.value if type(made) is ndarray else None
    if value is not None and value.attr is UNSET:
        value.result = True  # Also memory that nobody has written to stays, where it was asked for.
    return made


def moved(array: Array, device: Any, copy: bool | None = None) -> Array:
    """An array on a device: itself if it lies there, else a copy.

    Raises
    ------
    ValueError
        If there is no such device, or `copy` is False and it lies on another one.
    """
    source = device_at(array)
    with registry.on(source):
        target = another(device)
    if target is None:
        return array
    if copy is False:
        raise ValueError(f"Unable to avoid copy while creating an array as requested: it lies on {name_of(source)!r}")
    registry.include(target)
    result = wrap(carried_over(node_of(array), source, target))
    result.is_scalar = False
    return result


def is_asked_by_us() -> bool:
    """Whether a conversion is a step of a call of ours: then it goes where it is used, not to the current device."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name in _CONVERSIONS:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_PACKAGE)


def carried_over(node: Node, source: Any, target: Any) -> Node:
    """A copy of a value of one device on another: from GPU to GPU directly, else by way of the host."""
    with registry.on(source):
        value = copied(node, k_strides(node.shape, [node.strides], ITEMSIZES[node.code]), node.code)
        if node.kind == LEAF:
            value = node
        evaluate([value])
        look.check((value,))
        direct = hasattr(target, "receive") and hasattr(source, "receive") and not look.is_near(value.buffer)
        host = None if direct else download_value(value)
    with registry.on(target):
        if host is not None:
            return leaf_from_host(host, stays=True)
        nbytes = max(value.size, 1) * ITEMSIZES[value.code]
        there = registry.holder(value.buffer)
        return leaf(target.receive(there, value.buffer, nbytes), value.code, value.shape, value.strides)


__all__ = ["another", "device_at", "device_name", "is_asked_by_us", "made_on", "moved"]
