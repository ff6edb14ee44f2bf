"""Where work runs beside a GPU, and what moves for it.

Small arrays begin in memory of the host, and small work on them runs there, by ready-made loops or by kernels of the
host: it takes less time than a launch. A value moves when work needs it on the other side. Which side that is follows
from two estimates, made of operations and bytes alone, so that a program runs the same way each time: what the work
takes here and there, and what has to move. Work that is done where it takes longer, since its values lie there, leaves
the difference with them as a debt. When that has reached the price of moving, they move. This is the work function of
a system of two states, which takes at most three times as long as the best schedule in hindsight (Borodin, Linial and
Saks, "An optimal on-line algorithm for metrical task systems", 1992).

Only work that has the same bits on both sides runs on the host (`_unplanned.measure`). Memory whose address is known
to others never moves. A value keeps its buffer as long as somebody reads it there: moving makes another one.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.device.registry import beside, current, several
from numloom.engine import look
from numloom.engine.guard import guard
from numloom.engine.owners import refuse
from numloom.engine.state import UNSET, note_copy, watchers
from numloom.engine.unplanned import set_prices
from numloom.graph.build import leaf
from numloom.graph.node import LEAF, VIEW, Node

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
RECENT = 32
"""Moves that are kept to be told of."""
MIRRORED = 16 << 10
"""Bytes of a value that the host keeps a copy of when it goes to a GPU."""
LAUNCH = 4_500
"""Nanoseconds of a launch of known work."""
MOVE = 25_000
"""Nanoseconds of a move of few bytes, with its wait or with the launches that it delays."""
RATE = 20
"""Bytes that move in a nanosecond."""
LOOKED = 8_000
"""Nanoseconds of a look at a number that lies on a GPU."""


@dataclass(frozen=True, slots=True)
class Move:
    """One value that moved: whether to the device, its dtype and shape, bytes, why, and the user's line."""

    to_device: bool
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    why: str
    line: str


class Moves:
    """What moved since the process started.

    Attributes
    ----------
    to_device, to_host : int
        Values.
    bytes_to_device, bytes_to_host : int
        Their bytes.
    recent : deque of Move
        The last ones.
    """

    __slots__ = ("bytes_to_device", "bytes_to_host", "recent", "to_device", "to_host")

    def __init__(self) -> None:
        self.to_device = self.to_host = 0
        self.bytes_to_device = self.bytes_to_host = 0
        self.recent: deque[Move] = deque(maxlen=RECENT)

    def note(self, value: Node, to_device: bool, nbytes: int, why: str) -> None:
        """One value more."""
        self.recent.append(Move(to_device, str(DTYPES[value.code]), value.shape, nbytes, why, users_line()))
        if to_device:
            self.to_device += 1
            self.bytes_to_device += nbytes
        else:
            self.to_host += 1
            self.bytes_to_host += nbytes


def users_line() -> str:
    """File and line of the innermost code outside of this package that is being executed."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


moves = Moves()
set_prices(LAUNCH, MOVE, RATE)


def begins_on_host(size: int) -> bool:
    """Whether a new array of so many elements begins in memory of the host, beside a GPU."""
    return size <= config.unplanned and beside(current()) is not None


def bring(value: Node, device: Any, why: str = "work that runs there needs it") -> Any:
    """Have the memory of a computed value (or of what a view sees) on this device, if it may move; gives the memory.

    Whoever reads an address keeps what this gives: another thread may move the value meanwhile.
    """
    if value.kind == VIEW:
        value = value.args[0]
    buffer = value.buffer
    if value.kind != LEAF or buffer.pool is None or buffer.pool is device.pool:
        return buffer
    if several():
        refuse(buffer, device)
    guard.take()  # No plan that reads it is under way.
    try:
        return _moved(value, device, why)
    finally:
        guard.give()


def may_move(value: Node) -> bool:
    """Whether a computed value lies on the host, or may be brought there: its address is nobody else's."""
    return value.attr is not None or look.is_near(value.buffer)


def _moved(value: Node, device: Any, why: str) -> Any:
    buffer = value.buffer
    near = look.is_near(buffer)
    if near == look.is_pool_near(device.pool) or (value.attr is None and not near):
        return buffer
    # What `cut` left behind a value is no part of it.
    host = look.carried(current(), buffer)
    moved = device.upload(host)
    size = value.size * ITEMSIZES[value.code]
    if watchers:
        note_copy(near, host.nbytes)
    moves.note(value, near, host.nbytes, why)
    if near:
        if 0 < size <= MIRRORED and value.attr is not UNSET:
            value.attr = host[:size].view(DTYPES[value.code])
    elif type(value.attr) is np.ndarray:
        value.attr = 0  # The host writes to this memory where it lies.
    value.buffer = moved
    return moved


def bring_all(nodes: list[Node], count: int, device: Any) -> bool:
    """`bring` the computed values among the first nodes of a walk; whether any moved."""
    moved = False
    for position in range(count):
        node = nodes[position]
        if node.kind == LEAF:
            before = node.buffer
            bring(node, device)
            moved = moved or node.buffer is not before
    return moved


def bring_home(value: Node) -> None:
    """`bring` to the current device."""
    bring(value, current())


def here(value: Node, device: Any) -> Node:
    """A computed value in memory of this device: itself, or a twin."""
    twin = leaf(value.buffer, value.code, value.shape, value.strides)
    bring(twin, device)
    return value if twin.buffer is value.buffer else twin


def looked(value: Node, device: Any) -> None:
    """A number of a computed value was fetched from a GPU: what is looked at often moves to the host."""
    host = beside(device)
    buffer = value.buffer
    if host is None or buffer.pool is not device.pool:
        return
    buffer.debt += LOOKED
    if buffer.debt >= MOVE + buffer.nbytes // RATE:
        bring(value, host, "its numbers are looked at")


__all__ = [
    "LAUNCH", "LOOKED", "MIRRORED", "MOVE", "RATE", "begins_on_host", "bring", "bring_all", "bring_home", "here",
    "looked", "may_move", "moves",
]  # fmt: skip
