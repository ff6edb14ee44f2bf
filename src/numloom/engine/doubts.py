"""Whether a GPU's kernels found an index out of range, kept with the memory that they wrote.

A kernel writes what it finds to a table (`numloom.device.complaints`), and the host reads that when it next waits for
the device. Until then what the kernel computed is in doubt (`Buffer.doubt`), and so is whatever is computed from it.
Then an error is raised to whoever looks at such a value, and to nobody else. On the host a kernel has run when its
launch returns, so nothing is ever in doubt there.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Sequence
from threading import get_ident
from types import TracebackType
from typing import Any
from weakref import ref

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.device.complaints import SLOTS, Found
from numloom.engine.state import counters
from numloom.graph.node import GATHER, LEAF, VIEW, Node
from numloom.graph.source_location import INSIDE, OUT_OF_BOUNDS, Complaint, here, of

_counters = counters
"""The same, found faster by what is compiled here."""
_MOST = 1024
"""Doubts that are open at a time, before the host waits for their device."""


class Doubt:
    """What the host does not know yet, or knows to be wrong, of what some memory holds.

    Attributes
    ----------
    device : Backend
        Whose kernels are to be waited for.
    numbers : tuple of int
        Of the source locations that these kernels may name.
    parents : tuple of Doubt
        Doubts about what was read; once all is heard of, those that have an error.
    stored : bool
        Whether they named it before they stored anything, so that the memory still holds what it held.
    error : Exception or None
        What they found.
    heard : bool
        Whether they have been waited for.
    """

    __slots__ = ("__weakref__", "counted", "device", "error", "heard", "numbers", "parents", "stored")

    device: Any
    numbers: tuple[int, ...]
    parents: tuple[Doubt, ...]
    stored: bool
    error: Exception | None
    heard: bool
    counted: bool

    def __init__(self, device: Any, numbers: Sequence[int], parents: Iterable[Doubt], stored: bool) -> None:
        self.device = device
        self.numbers = tuple(numbers)
        self.parents = tuple(parents)
        self.stored = stored
        self.error = None
        self.heard = False
        self.counted = True
        _counters.doubts += 1

    def is_groundless(self) -> bool:
        """Whether nothing was found."""
        return self.heard and self.error is None and not self.parents

    def close(self) -> None:
        """Its kernels have been waited for."""
        self.heard = True
        self.parents = tuple([one for one in self.parents if not one.is_groundless()])
        if self.is_groundless():
            self._uncount()

    def _uncount(self) -> None:
        if self.counted:
            self.counted = False
            _counters.doubts -= 1

    def __dealloc__(self) -> None:
        self._uncount()

    if not cython.compiled:
        __del__ = __dealloc__


_Open = tuple[weakref.ref[Doubt], Any, tuple[int, ...]]
"""A doubt that is not heard of, as long as anybody has it; whose kernels they are, and what these may say."""
_open: list[_Open] = []
"""In the order in which their kernels were launched."""
_untold: list[weakref.ref[Doubt]] = []
"""Those of which something was found that nobody was told yet."""
_unclaimed: list[Exception] = []
"""What was found by kernels that nothing is known to come from; the next look raises it."""


def doubt_of(buffer: Any) -> Doubt | None:
    """The doubt about some memory, if there is one."""
    doubt: Doubt | None = buffer.doubt
    if doubt is not None and doubt.is_groundless():
        buffer.doubt = doubt = None
    return doubt


def joined(device: Any, parents: Iterable[Doubt], numbers: Sequence[int] = (), stored: bool = False) -> Doubt | None:
    """The doubt about what is computed of memory in doubt, by a kernel that may name source locations."""
    found = list(dict.fromkeys(parents))
    if not numbers and len(found) < 2:
        return found[0] if found else None
    if len(_open) >= _MOST:
        hear(device)
    doubt = Doubt(device, numbers, found, stored)
    _open.append((ref(doubt), device, doubt.numbers))
    return doubt


def spread(device: Any, nodes: list[Any]) -> list[Doubt | None] | None:
    """The doubts about the values of a walk, in its order, before a plan for it runs; None if there is none."""
    found: list[Doubt | None] = [None] * len(nodes)
    any_found = False
    for place in range(len(nodes)):
        node = nodes[place]
        if node is None:
            continue
        node.number = place
        if node.kind == LEAF:
            doubt = doubt_of(node.buffer)
        else:
            doubt = None
            several: Any = None
            for arg in node.args:
                number = arg.number
                if number < place and nodes[number] is arg:
                    other = found[number]
                else:
                    other = doubt_of(arg.buffer) if arg.kind == LEAF else None
                if other is None or other is doubt:
                    continue
                if doubt is None:
                    doubt = other
                elif several is None:
                    several = [doubt, other]
                else:
                    several.append(other)
            if node.kind == GATHER and node.op_def is not INSIDE:
                doubt = joined(device, several or (() if doubt is None else (doubt,)), (node.op_def.id,))
            elif several is not None:
                doubt = joined(device, several)
        if doubt is not None:
            found[place] = doubt
            any_found = True
    return found if any_found else None


def _of_leaf(node: Node) -> Doubt | None:
    """The doubt about the memory of a computed value."""
    return doubt_of(node.buffer) if node.kind == LEAF else None


def of_values(nodes: Iterable[Any]) -> list[Doubt]:
    """The doubts about computed values, and views of them."""
    bases = [node.args[0] if node.kind == VIEW else node for node in nodes]
    return [doubt for doubt in [_of_leaf(node) for node in bases] if doubt is not None]


class Within:
    """A call of which each result depends on all that it is given, as a context.

    Attributes
    ----------
    device : Backend
        Where it runs.
    operands : sequence of Node
        What it is given.
    numbers : list of int
        Of source locations that its kernels may name.
    known : dict
        Those of its own, by their complaints.
    outer : Within or None
        The call in which it runs.
    """

    __slots__ = ("device", "known", "numbers", "operands", "outer", "thread")

    def __init__(self, device: Any, operands: Sequence[Any]) -> None:
        self.device, self.operands = device, operands
        self.numbers: list[int] = []
        self.known: dict[Complaint, int] = {}
        self.outer: Within | None = None
        self.thread = get_ident()

    def __enter__(self) -> Within:
        global _within
        self.outer, _within = _within, self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        global _within
        _within = self.outer
        if self.outer is not None and self.outer.thread == self.thread:
            self.outer.numbers += self.numbers

    def cover(self, buffers: Iterable[Any], before: Any = None, stored: bool = False) -> None:
        """Have memory that it wrote be in doubt, if that is due; also by what was in doubt of a buffer `before`."""
        earlier = None if before is None else doubt_of(before)
        more = () if earlier is None else (earlier,)
        doubt = joined(self.device, [*of_values(self.operands), *more], self.numbers, stored)
        for buffer in buffers:
            buffer.doubt = doubt


_within: Within | None = None


def number_of(complaint: Complaint) -> int:
    """The number of a source location for a kernel that is about to be launched; one for all of a call's kernels."""
    within = _within
    if within is None or within.thread != get_ident():
        return here(complaint).id
    number = within.known.get(complaint)
    if number is None:
        number = within.known[complaint] = here(complaint).id
        within.numbers.append(number)
    return number


def is_due(device: Any, complains: Any = False) -> bool:
    """Whether what runs on a device has to ask what is in doubt: memory is, or it may complain itself."""
    return device.pool.error_at == 0 and (complains or _counters.doubts > 0)


def cover(device: Any, operands: Iterable[Any], buffer: Any) -> None:
    """Some memory was computed of values, by what complains of nothing itself."""
    if is_due(device):
        buffer.doubt = joined(device, of_values(operands))


def add(device: Any, buffer: Any, nodes: Iterable[Any]) -> None:
    """Values were copied to parts of some memory."""
    if is_due(device):
        before = doubt_of(buffer)
        buffer.doubt = joined(device, [*([] if before is None else [before]), *of_values(nodes)])


def share(device: Any, nodes: Sequence[Any]) -> None:
    """A kernel was launched of which nothing is known but what values it was given: all of them depend on all."""
    if is_due(device):
        doubt = joined(device, of_values(nodes))
        for node in nodes:
            (node.args[0] if node.kind == VIEW else node).buffer.doubt = doubt


# ------------------------------------------------------------ hearing and telling


def hear(device: Any) -> None:
    """Wait for a device, and settle what was in doubt there."""
    waiting = begin()
    try:
        device.synchronize()
    except BaseException:
        give_up(waiting)
        raise
    conclude(device, waiting)


def begin() -> Any:
    """The doubts about what was launched until now, for who is about to wait for a device; None if there are none."""
    global _open
    if not _open:
        return None
    waiting, _open = _open, []  # Another thread may launch meanwhile.
    return waiting


def give_up(waiting: Any) -> None:
    """Nobody has waited."""
    global _open
    if waiting:
        _open = waiting + _open


def conclude(device: Any, waiting: Any) -> None:
    """Settle the doubts that `begin` gave, now that their device has been waited for."""
    found = device.take_complaints()
    if found or waiting:
        _settle(device, waiting or [], found)


def _settle(device: Any, waiting: list[_Open], found: Sequence[Found]) -> None:
    """Tell each doubt of a device what was found, and close it."""
    gone: list[Exception] = _attribute(found, waiting + _open) if found else []
    others = []
    for one in waiting:
        if one[1] is not device:
            others.append(one)
            continue
        doubt = one[0]()
        if doubt is not None:
            doubt.close()
    give_up(others)
    for error in gone:
        warnings.warn(f"{error}; nothing is left that depends on it", RuntimeWarning, stacklevel=2)


def _attribute(found: Sequence[Found], candidates: Sequence[_Open]) -> list[Exception]:
    """Give each error to the doubt that waits for it; the errors whose values are gone."""
    gone = []
    for one in found:
        error = error_of(one)
        # Who shares a slot of the table may have found something that had no room there.
        sharing = [each for each in candidates if any([(n - one.number) % SLOTS == 0 for n in each[2]])]
        own = [each for each in sharing if one.number in each[2]]
        if not own:
            _unclaimed.append(error)
        for each in sharing:
            doubt = each[0]()
            if doubt is None:
                gone += [error] if each in own else []
            elif doubt.error is None:
                doubt.error = error if each in own else error_of(Found(each[2][0], 0, -1))
                _untold.append(each[0])
    return gone


def error_of(found: Found) -> Exception:
    """What to raise of what a kernel found."""
    location = of(found.number)
    kind, text = OUT_OF_BOUNDS if location is None else location.complaint
    if text == OUT_OF_BOUNDS[1] and found.extent >= 0:
        text = f"index {found.at} is out of bounds for an axis with size {found.extent}"
    return kind(text) if location is None else location.error(text)


def tell(device: Any, buffer: Any) -> None:
    """Raise what was found about memory that somebody looks at, now that `hear` was called."""
    if _unclaimed:
        raise _unclaimed.pop(0)
    doubt = doubt_of(buffer)
    if doubt is None:
        return
    while not doubt.heard:  # Of another stream.
        hear(doubt.device)
    wrong = _wrong(doubt)
    if wrong is None:
        buffer.doubt = None
        return
    if wrong is doubt and doubt.stored:  # Who was told may go on with what the memory holds.
        buffer.doubt = doubt.parents[0] if len(doubt.parents) == 1 else joined(device, doubt.parents)
    _raise(wrong)


def tell_all() -> None:
    """Raise what was found and nobody was told yet, now that `hear` was called."""
    if _unclaimed:
        raise _unclaimed.pop(0)
    while _untold:
        doubt = _untold.pop(0)()
        if doubt is not None:
            _raise(doubt)


def _wrong(doubt: Doubt) -> Doubt | None:
    """The doubt with an error that makes another one wrong: itself, or what was read."""
    seen: set[int] = set()
    left = [doubt]
    while left:
        one = left.pop()
        if one.error is not None:
            return one
        if id(one) not in seen:
            seen.add(id(one))
            left += [parent for parent in one.parents if not parent.is_groundless()]
    return None


def _raise(doubt: Doubt) -> None:
    """Raise an error anew: one that was raised before keeps where that was."""
    _untold[:] = [one for one in _untold if one() is not doubt]
    error = doubt.error
    assert error is not None
    raise type(error)(*error.args)


__all__ = [
    "Doubt", "Within", "add", "begin", "conclude", "cover", "doubt_of", "error_of", "give_up", "hear", "is_due",
    "joined", "number_of", "of_values", "share", "spread", "tell", "tell_all",
]  # fmt: skip
