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
from numloom.base.errors import DeviceError
from numloom.base.forking import lock
from numloom.device.complaints import SLOTS, Found
from numloom.device.ordering import gpu_of
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
    opened : Opened
        What it waits for.
    parents : tuple of Doubt
        Doubts about what was read; once all is heard of, one that has an error.
    stored : bool
        Whether it is about memory that was stored to at indices, from which wrong ones are left out.
    error : Exception or None
        What kernels found.
    heard : bool
        Whether they have been waited for.
    """

    __slots__ = ("__weakref__", "counted", "error", "heard", "opened", "parents", "stored")

    opened: Opened
    parents: tuple[Doubt, ...]
    stored: bool
    error: Exception | None
    heard: bool
    counted: bool

    def __init__(self, parents: Iterable[Doubt], stored: bool) -> None:
        self.parents = tuple(parents)
        self.stored = stored
        self.error = None
        self.heard = False
        self.counted = True
        _counters.doubts += 1

    def is_groundless(self) -> bool:
        """Whether nothing was found."""
        if not self.heard or self.error is not None:
            return False
        if self.parents:
            self.parents = tuple([one for one in self.parents if not one.is_groundless()])
            if self.parents:
                return False
        self._uncount()
        return True

    def close(self) -> None:
        """Its kernels have been waited for; of what was read the first error is enough."""
        self.heard = True
        if self.is_groundless() or self.stored:
            return
        if self.error is not None:
            self.parents = ()
            return
        for one in self.parents:
            if one.heard:
                self.parents = (one if one.error is not None else one.parents[0],)
                return

    def _uncount(self) -> None:
        if self.counted:
            self.counted = False
            _counters.doubts -= 1

    def __dealloc__(self) -> None:
        self._uncount()

    if not cython.compiled:
        __del__ = __dealloc__


class Opened:
    """A doubt that is not heard of.

    Attributes
    ----------
    doubt : weak reference to Doubt
        The doubt, as long as anybody has it.
    device : Backend
        Whose kernels are to be waited for.
    numbers : list of int
        Of the source locations that these kernels may name.
    launched : bool
        Whether they are under way, so that who waits from now on waits for them.
    """

    __slots__ = ("device", "doubt", "launched", "numbers")

    def __init__(self, doubt: Doubt, device: Any, numbers: list[int], launched: bool) -> None:
        self.doubt = ref(doubt)
        self.device = device
        self.numbers = numbers
        self.launched = launched


_open: dict[int, Opened] = {}
"""In the order in which they were made, by their identity."""
_hearing = lock()
"""Who takes complaints gives each to its doubt before anybody else takes more."""
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


def opened(device: Any, parents: Iterable[Doubt], numbers: list[int], stored: bool, launched: bool) -> Doubt:
    """A new doubt."""
    doubt = Doubt(parents, stored)
    one = doubt.opened = Opened(doubt, device, numbers, launched)
    _open[id(one)] = one
    return doubt


def joined(device: Any, parents: Iterable[Doubt]) -> Doubt | None:
    """The doubt about what was computed of memory in doubt."""
    found = list(dict.fromkeys(parents))
    if not found:
        return None
    # What is forgiven to memory that was stored to is not forgiven to what was computed from it.
    return found[0] if len(found) == 1 and not found[0].stored else opened(device, found, [], False, True)


def make_room(device: Any) -> None:
    """Hear what is open where that is much, before more is launched."""
    if len(_open) < _MOST:
        return
    hear(device)
    for other in {id(one.device): one.device for one in list(_open.values()) if one.launched}.values():
        try:
            hear(other)
        except DeviceError:  # A stream that is gone.
            forget([one for one in list(_open.values()) if one.device is other])


def spread(device: Any, nodes: list[Any]) -> list[Doubt | None] | None:
    """The doubts about the values of a walk, in its order, before a plan for it runs; None if there is none.

    When it has run, or failed to, `launched` is told.
    """
    make_room(device)
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
                doubt = opened(device, several or (() if doubt is None else (doubt,)), [node.op_def.id], False, False)
            elif several is not None or (doubt is not None and doubt.stored):
                doubt = joined(device, several or [d for d in (doubt,) if d is not None])
        if doubt is not None:
            found[place] = doubt
            any_found = True
    return found if any_found else None


def launched(doubts: list[Doubt | None]) -> None:
    """What may complain about values was launched, or never will be."""
    for doubt in doubts:
        if doubt is not None:
            doubt.opened.launched = True


def _of_leaf(node: Node) -> Doubt | None:
    """The doubt about the memory of a computed value."""
    return doubt_of(node.buffer) if node.kind == LEAF else None


def of_values(nodes: Iterable[Any]) -> list[Doubt]:
    """The doubts about computed values, and views of them."""
    bases = [node.args[0] if node.kind == VIEW else node for node in nodes]
    return [doubt for doubt in [_of_leaf(node) for node in bases] if doubt is not None]


def stored_to(device: Any, operands: Sequence[Any]) -> list[Doubt]:
    """The doubts about memory that is stored to, and about the other operands, whose errors are not forgiven."""
    others = [joined(device, [one]) for one in of_values(operands[1:])]
    return of_values(operands[:1]) + [one for one in others if one is not None]


class Within:
    """A call of which each result depends on all that it is given, as a context.

    Attributes
    ----------
    device : Backend
        Where it runs.
    operands : sequence of Node
        What it is given.
    stored : bool
        Whether it stores at indices.
    doubt : Doubt or None
        The doubt about its results, once a kernel of it may name a source location.
    known : dict
        Numbers of source locations that its own kernels may name, by their complaints.
    inner : list of Doubt
        Doubts of calls within it.
    outer : Within or None
        The call in which it runs.
    """

    __slots__ = ("device", "doubt", "inner", "known", "operands", "outer", "stored", "thread")

    def __init__(self, device: Any, operands: Sequence[Any], stored: bool = False) -> None:
        self.device, self.operands, self.stored = device, operands, stored
        self.doubt: Doubt | None = None
        self.known: dict[Complaint, int] = {}
        self.inner: list[Doubt] = []
        self.outer: Within | None = None
        self.thread = get_ident()

    def __enter__(self) -> Within:
        global _within
        make_room(self.device)
        self.outer, _within = _within, self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        global _within
        _within = self.outer
        if self.doubt is None:
            return
        self.doubt.opened.launched = True
        if self.outer is not None and self.outer.thread == self.thread:
            self.outer.inner.append(self.doubt)

    def number_of(self, complaint: Complaint) -> int:
        """The number of a source location for a kernel that is about to be launched; one for all of the call's."""
        number = self.known.get(complaint)
        if number is None:
            number = self.known[complaint] = here(complaint).id
            if self.doubt is None:
                self.doubt = opened(self.device, (), [number], self.stored, False)
            else:
                self.doubt.opened.numbers.append(number)
        return number

    def cover(self, buffers: Iterable[Any], before: Any = None) -> None:
        """Have memory that it wrote be in doubt, if that is due; also by what was in doubt of a buffer `before`."""
        parents = (stored_to(self.device, self.operands) if self.stored else of_values(self.operands)) + self.inner
        earlier = None if before is None else doubt_of(before)
        if earlier is not None:
            parents.append(earlier)
        if self.doubt is None:
            self.doubt = joined(self.device, parents)
        else:
            self.doubt.parents = tuple(dict.fromkeys(parents))
        for buffer in buffers:
            buffer.doubt = self.doubt


_within: Within | None = None


def number_of(complaint: Complaint) -> int:
    """The number of a source location for a kernel that is about to be launched; one for all of a call's kernels."""
    within = _within
    if within is None or within.thread != get_ident():
        return here(complaint).id
    return within.number_of(complaint)


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


def share(device: Any, nodes: Sequence[Any], written: Sequence[Any]) -> None:
    """A kernel was launched of which nothing is known but what values it was given, and which it may write to.

    Ask `is_due` first.
    """
    doubt = joined(device, of_values(nodes))
    for node in written:
        buffer = (node.args[0] if node.kind == VIEW else node).buffer
        if buffer is not None:
            buffer.doubt = doubt


# ------------------------------------------------------------ hearing and telling


def hear(device: Any) -> None:
    """Wait for a device, and settle what was in doubt there."""
    waiting = begin(device)
    device.synchronize()
    conclude(device, waiting)


def begin(device: Any) -> Any:
    """The doubts about what a device was given to do until now, for who is about to wait for it; None without any."""
    if not _open:
        return None
    return [one for one in list(_open.values()) if one.launched and one.device is device]


def conclude(device: Any, waiting: Any) -> None:
    """Settle the doubts that `begin` gave, now that their device has been waited for."""
    gone: list[Exception] = []
    with _hearing:
        found = device.take_complaints()
        if found:
            _attribute(device, found, gone)
    if waiting:
        forget(waiting)
        for one in waiting:
            doubt = one.doubt()
            if doubt is not None and not doubt.heard:
                doubt.close()
    for error in gone:
        warnings.warn(f"{error}; nothing is left that depends on it", RuntimeWarning, stacklevel=2)


def forget(heard: Iterable[Opened]) -> None:
    """These are open no longer."""
    for one in heard:
        _open.pop(id(one), None)


def _attribute(device: Any, found: Sequence[Found], gone: list[Exception]) -> None:
    """Give each error to the doubt that waits for it, or add it to those whose values are gone."""
    gpu = gpu_of(device)
    candidates = [one for one in list(_open.values()) if gpu_of(one.device) is gpu]
    for one in found:
        error = error_of(one)
        # Who shares a slot of the table may have found something that had no room there.
        sharing = [each for each in candidates if any([(n - one.number) % SLOTS == 0 for n in each.numbers])]
        own = [each for each in sharing if one.number in each.numbers]
        if not own:
            _unclaimed.append(error)
        for each in sharing:
            doubt = each.doubt()
            if doubt is None:
                gone += [error] if each in own else []
            elif doubt.error is None:
                doubt.error = error if each in own else error_of(Found(each.numbers[0], 0, -1))
                _untold.append(each.doubt)


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
    if not doubt.heard:  # Of another stream, or of a plan that is under way in another thread.
        doubt.opened.launched = True
        hear(doubt.opened.device)
    wrong = _wrong(doubt)
    if wrong is None:
        return
    if doubt.stored:  # Who was told may go on with what the memory holds.
        buffer.doubt = _forgiven(device, doubt, wrong)
    _raise(wrong)


def _forgiven(device: Any, doubt: Doubt, wrong: Doubt) -> Doubt | None:
    """The doubt about memory that was stored to, without an error of these stores."""
    if wrong is doubt:
        left = doubt.parents
    elif wrong.stored and wrong in doubt.parents:
        left = tuple([one for one in doubt.parents if one is not wrong]) + wrong.parents
    else:
        return doubt
    return left[0] if len(left) == 1 else joined(device, left)


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
    _untold[:] = [one for one in _untold if one() is not doubt and one() is not None]
    error = doubt.error
    assert error is not None
    raise type(error)(*error.args)


__all__ = [
    "Doubt", "Within", "add", "begin", "conclude", "cover", "doubt_of", "error_of", "hear", "is_due", "joined",
    "launched", "make_room", "number_of", "of_values", "opened", "share", "spread", "stored_to", "tell", "tell_all",
]  # fmt: skip
