"""Which device values belong to, where a process has several: work follows its operands.

Nobody asks before a second device is chosen (`registry.several`). From then on a value's device is that of the memory
that it is made of. Values that were made of nothing belong to the device that their thread had chosen, so on another
device than the process's they are computed at once (`evaluate.after_record`); those that wait are the process's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numloom.base.errors import DeviceError
from numloom.device.interface import Backend
from numloom.device.ordering import gpu_of
from numloom.device.registry import (
    beside,
    borrow,
    current,
    entered,
    has_lanes,
    holder,
    many,
    on,
    passing,
    placed,
    several,
)
from numloom.engine import look
from numloom.engine.state import UNSET
from numloom.graph.node import LEAF, UPDATE, Node


def name_of(device: Any) -> str:
    """As users write it: "cpu", or "cuda:" and the GPU's number."""
    return f"{device.name}:{device.dlpack[1]}" if device.discrete else str(device.name)


def leaves_of(nodes: Iterable[Node]) -> list[Node]:
    """The computed values that these are made of."""
    return _leaves_and_changes(nodes)[0]


def _leaves_and_changes(nodes: Iterable[Node]) -> tuple[list[Node], bool]:
    """`leaves_of`, and whether some pending value changes the memory of another one (an update of a part)."""
    met: set[int] = set()
    changed = False
    found = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) not in met:
            met.add(id(node))
            if node.buffer is not None:
                found.append(node)
            else:
                changed = changed or node.kind == UPDATE
                waiting.extend(node.args)
    return found, changed


def owner_of(node: Node) -> Backend | None:
    """The device of the first computed value that a value is made of; None of what is made of nothing."""
    met: set[int] = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if id(node) not in met:
            met.add(id(node))
            if node.buffer is None:
                waiting.extend(node.args)
            elif not is_passing(node):
                return gpu_of(holder(node.buffer))  # type: ignore[no-any-return]
    return None


def together(node: Node) -> Backend | None:
    """The device of a value that is being recorded, by its arguments, which have been asked before.

    Raises
    ------
    DeviceError
        If these belong to several devices.
    """
    if node.buffer is not None:
        return owner_of(node)
    found: Backend | None = None
    for arg in node.args:
        device = owner_of(arg)
        if found is None:
            found = device
        elif device is not None and device is not found:
            raise mixed([found, device])
    return found


def mixed(devices: Iterable[Backend]) -> DeviceError:
    """The error of arrays on these devices."""
    names = sorted(map(name_of, devices))
    return DeviceError(
        f"arrays on {' and '.join(map(repr, names))} cannot be computed with together: bring them to one device "
        f"first, as in x.to_device({names[0]!r})"
    )


def is_passing(leaf: Node) -> bool:
    """Whether a value goes where it is needed: what came with a call, and memory that nobody has written to."""
    return leaf.kind == LEAF and (leaf.buffer.pool is passing().pool or (leaf.attr is UNSET and not leaf.result))


def device_of(nodes: Sequence[Node]) -> Backend | None:
    """The device that values belong to; None of what is made of nothing.

    Raises
    ------
    DeviceError
        If they are made of arrays of several devices.
    """
    staying: dict[int, Backend] = {}
    for leaf in leaves_of(nodes):
        if not is_passing(leaf):
            device = gpu_of(holder(leaf.buffer))
            staying[id(device)] = device
    if len(staying) > 1:
        raise mixed(staying.values())
    return next(iter(staying.values()), None)


def gather(nodes: Iterable[Node], device: Backend) -> None:
    """Bring what is passing to a device, for work on these values."""
    for leaf in leaves_of(nodes):
        if is_passing(leaf) and holder(leaf.buffer) is not device:
            with on(device):
                if leaf.attr is UNSET:
                    leaf.buffer = device.allocate(leaf.buffer.nbytes)
                else:
                    leaf.buffer = device.upload(look.carried(device, leaf.buffer))


def elsewhere(nodes: Sequence[Node], writes: bool = False) -> on | None:
    """What to enter for work on these values at once; None where this thread is on their device already.

    `writes` says whether the work may change the memory that it is given.
    """
    if not several():
        if many():
            current().enter()
        return None
    device = placed(device_of(nodes) or current())
    gather(nodes, device)
    return entered(device, lenders_of(nodes, device, writes))


def lenders_of(nodes: Iterable[Node], device: Any, writes: bool = False) -> dict[Any, bool]:
    """The other streams of a GPU whose memory work on these values uses, and whether it may change that.

    What others see, too, counts as changed: nobody tells of what they do.
    """
    found: dict[Any, bool] = {}
    if has_lanes():
        leaves, changed = _leaves_and_changes(nodes)
        for leaf in leaves:
            one = holder(leaf.buffer)
            if one is not device and gpu_of(one) is gpu_of(device):
                found[one] = found.get(one, False) or writes or changed or leaf.buffer.pool is None
    return found


def elsewhere_than(buffer: Any) -> on | None:
    """`elsewhere` for memory."""
    if not several():
        return None
    here, device = current(), holder(buffer)
    if device is here:
        here.make_current()
        return None
    return on(device)


def refuse(buffer: Any, device: Any) -> None:
    """Raise DeviceError where memory is of another device than the one that is to read it.

    Work follows its operands, so this stands between a mistake of ours and a wrong number.
    """
    owner = holder(buffer)
    if gpu_of(owner) is gpu_of(device) and borrow(owner):
        return
    if owner is not device and owner is not passing() and beside(owner) is not device:
        raise DeviceError(
            f"an array on {name_of(owner)!r} was given to work on {name_of(device)!r}: bring it there first, as in "
            f"x.to_device({name_of(device)!r})"
        )


__all__ = [
    "device_of",
    "elsewhere",
    "elsewhere_than",
    "gather",
    "leaves_of",
    "lenders_of",
    "mixed",
    "name_of",
    "owner_of",
    "refuse",
    "together",
]
