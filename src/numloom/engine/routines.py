"""The one place where run-at-once primitives are called.

A primitive evaluates its operands, describes their memory (views are not copied first), and runs
the device's routine of that name; where the device has none, its NumPy twin on the host.

On a device whose work goes on behind the host's back a routine holds the guard of evaluations: its launches, scratch
memory and flags between blocks are one piece in the order of the stream. On the host threads sort side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.dtypes import BF16, DTYPES, F32, ITEMSIZES, KINDS, LOW, code_of
from numloom.device.interface import Backend, Strided
from numloom.device.registry import beside, current, is_mixed
from numloom.engine import look
from numloom.engine.doubts import (
    Within,
    cover,
    is_due,
    joined,
    launched,
    make_room,
    number_of,
    of_values,
    opened,
    stored_to,
)
from numloom.engine.evaluate import evaluate, leaf_from_host, leaf_memory
from numloom.engine.guard import Guard, guard
from numloom.engine.owners import elsewhere
from numloom.engine.placement import begins_on_host, bring, may_move
from numloom.engine.state import UNSET, counters, note_copy
from numloom.engine.verify import same_value
from numloom.engine.waiting import waiting
from numloom.graph.again import arguments, called, lose
from numloom.graph.build import cast, copied, leaf, one_tuple, view
from numloom.graph.layout import Layout, c_strides, extent_of, k_strides
from numloom.graph.node import (
    LEAF,
    ROUTINE,
    VIEW,
    Node,
    NodeSignature,
    computed,
    new_node,
    register,
    signature_by,
    signature_of,
)
from numloom.graph.source_location import Complaint, SourceLocation
from numloom.graph.tree import known_values, recording, sized_by_values, waits
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.routines import ROUTINES, Routine

Host = np.ndarray[Any, Any]
_counters = counters
_guard: Guard = guard
"""The same, found faster by what is compiled here."""


def call(
    name: str,
    *operands: Node,
    code: int = -1,
    shape: tuple[int, ...] | None = None,
    order: str = "C",
    strides: tuple[int, ...] | None = None,
    **options: Any,
) -> Any:
    """Run the primitive `name` of `numloom.ops.routines` on values, now.

    Parameters
    ----------
    name : str
        Its name.
    *operands : Node
        What it reads.
    code, shape : int, tuple of int
        dtype code and shape of the result, where it is `sized`.
    order : {"C", "K"}
        Memory order of a sized result: C, or that of the first operand (of equal shape).
    strides : tuple of int
        Byte strides of a sized result, instead of an order.
    **options
        Passed on; of a source location (`numloom.graph.source_location.here`) its number.

    Returns
    -------
    Node or tuple of Node
        The computed result (the results, as the routine gives them).
    """
    for node in operands:
        if node.code >= BF16 and name not in _MOVES:  # the last codes
            return _called_wide(name, operands, code, shape, order, strides, options)
    op_def = ROUTINES[name]
    if op_def.sized:
        assert shape is not None
        if strides is None:
            strides = _dense_strides(shape, operands[0].strides if order == "K" else None, ITEMSIZES[code])
        return Call(op_def, code, shape, strides, options)(*operands)
    if register.trees and waits(operands):
        results = waiting(name, operands, options, call)
        if results is not None:
            return results
        known = known_values(operands, name == "nonzero")
        if known is None:
            raise sized_by_values(name)
        with recording(False):
            return call(name, *known, code=code, shape=shape, order=order, strides=strides, **options)
    place = elsewhere(operands)
    if place is not None:
        with place:
            return call(name, *operands, code=code, shape=shape, order=order, strides=strides, **options)
    lose()  # The sizes follow from the values.
    if is_mixed() and is_small(op_def, operands):
        operands = tuple([without_the_rest(node) for node in operands])
    device = device_for(op_def, operands, options)
    guarded = device.discrete
    if guarded:
        _guard.take()
    try:
        if _counters.watched:
            run = partial(_run_sized, device, op_def, operands, options)
            return watched(name, partial(call, name, **options), device, operands, run)
        return _run_sized(device, op_def, operands, options)
    finally:
        if guarded:
            _guard.give()


def _run_sized(device: Any, op_def: Routine, operands: Sequence[Node], options: dict[str, Any]) -> Any:
    """What a routine gives whose sizes follow from the values."""
    described = describe(operands, device)
    counters.library_calls += 1
    function = routine_of(device, op_def.name)
    look.check(operands)  # The sizes tell something of them.
    if function is not None:
        results = function(device, *described, **options)
        return tuple(map(from_strided, results)) if isinstance(results, tuple) else from_strided(results)
    results = op_def.numpy(*[host_array(device, operand) for operand in described], **options)
    several = isinstance(results, tuple)
    nodes = tuple([_result(leaf_from_host(one, stays=True)) for one in (results if several else (results,))])
    return nodes if several else nodes[0]


def watched(name: str, call: Any, device: Any, operands: Sequence[Node], run: Callable[[], Any]) -> Any:
    """Return ``run()`` of a routine, and tell who records and who profiles.

    It is ``call(*operands)``, which can run again; None if nothing says that.
    """
    evaluate([node for node in [each.args[0] if each.kind == VIEW else each for each in operands] if node.kind != LEAF])
    recorder, profiler = _counters.recorder, _counters.profiler
    span = None if profiler is None else profiler.begin_routine(name, operands)
    try:
        with nullcontext() if recorder is None else recorder.apart():
            found = run()
    finally:
        if span is not None:
            profiler.end(span)
    if recorder is not None and call is not None:
        recorder.ran_call(call, device, operands, found)
    return found


_MOVES = frozenset(("compress", "matmul"))
"""Primitives that take bfloat16 and float8 as they are."""


def _called_wide(
    name: str,
    operands: tuple[Node, ...],
    code: int,
    shape: tuple[int, ...] | None,
    order: str,
    strides: tuple[int, ...] | None,
    options: dict[str, Any],
) -> Any:
    """`call` of operands of bfloat16 and float8 as float32, which has all their numbers, in the same order."""
    low = next(node.code for node in operands if node.code in LOW)
    nodes = [cast(node, F32) if node.code in LOW else node for node in operands]
    if code in LOW and strides is not None:
        strides = tuple([stride // ITEMSIZES[code] * ITEMSIZES[F32] for stride in strides])
    wide = F32 if code in LOW else code
    found = call(name, *nodes, code=wide, shape=shape, order=order, strides=strides, **options)
    if type(found) is tuple:
        return tuple([cast(node, low) if node.code == F32 else node for node in found])
    return cast(found, low) if found.code == F32 and (code in LOW or code < 0) else found


class Repeated:
    """A routine with all but its operands, for who calls it again with operands of the same dtypes, shapes and strides.

    A device may then take addresses alone.

    Attributes
    ----------
    op_def : Routine
        The routine.
    options, complaints : dict
        What else the routine takes; of options that are places, which are other numbers in each call, what is wrong
        if the routine names them.
    device : Backend or None
        Where it ran last.
    guarded : bool
        Whether it holds the guard of evaluations there.
    runs, asked : bool
        Whether it ran there before, and whether that device was asked for a `bound` routine.
    bound : callable or None
        The routine there, for addresses.
    """

    __slots__ = ("asked", "bound", "complaints", "device", "guarded", "op_def", "options", "runs")

    op_def: Routine
    options: dict[str, Any]
    complaints: dict[str, Complaint]
    device: Any
    guarded: bool
    runs: bool
    asked: bool
    bound: Any

    def __init__(self, op_def: Routine, options: dict[str, Any]) -> None:
        self.op_def = op_def
        self.complaints = {name: value.complaint for name, value in options.items() if type(value) is SourceLocation}
        self.options = {name: value for name, value in options.items() if name not in self.complaints}
        self.device = None
        self.guarded = self.runs = self.asked = False
        self.bound = None

    def move(self, device: Any) -> None:
        """Go on where another device is in use now."""
        self.device = device
        self.guarded = device.discrete
        self.runs = self.asked = False
        self.bound = None

    def options_here(self) -> dict[str, Any]:
        """Its options, those that are places by the number of who calls."""
        if not self.complaints:
            return self.options
        return {**self.options, **{name: number_of(complaint) for name, complaint in self.complaints.items()}}

    def make_ready(self, lie: bool, *given: Strided, **named: Strided) -> None:
        """Note that it ran; the second time its device is asked for the routine, if its operands `lie` as they say."""
        # What runs for the first time may never run again.
        if self.runs and not self.asked:
            self.asked = True
            if lie:
                changing = dict.fromkeys(self.complaints, ...)
                self.bound = self.device.bound_routine(self.op_def.name, *given, **named, **self.options, **changing)
        self.runs = True


class Call(Repeated):
    """A routine whose result has a known size; called with its operands it gives the result.

    Attributes
    ----------
    signature : NodeSignature
        Of the result.
    nbytes : int
        Its memory.
    """

    __slots__ = ("nbytes", "signature")

    signature: NodeSignature
    nbytes: int

    def __init__(
        self, op_def: Routine, code: int, shape: tuple[int, ...], strides: tuple[int, ...], options: dict[str, Any]
    ) -> None:
        Repeated.__init__(self, op_def, options)
        self.signature = signature_by(LEAF, None, code, one_tuple(shape), one_tuple(strides), prod(shape), None)
        self.nbytes = max(self.signature.size, 1) * ITEMSIZES[code]

    def __call__(self, *operands: Node) -> Node:
        if register.trees and waits(operands):
            signature = self.signature
            return new_node(
                ROUTINE, self, operands, signature.code, signature.shape, signature.strides, signature.size, None
            )
        known = arguments(operands)
        place = elsewhere(operands)
        if place is not None:
            with place:
                return self(*operands)
        device = device_for(self.op_def, operands, self.options)
        if device is not self.device:
            self.move(device)
        guarded = self.guarded
        run = self._watched if _counters.watched else self._run
        if guarded:
            _guard.take()
        try:
            if guarded and self.complaints:
                with Within(device, operands) as within:
                    result = run(device, operands)
                    within.cover((result.buffer,))
            else:
                result = run(device, operands)
                if guarded and _counters.doubts > 0:
                    cover(device, operands, result.buffer)
        finally:
            if guarded:
                _guard.give()
        if known:
            called(known, self, result)
        return result

    def _watched(self, device: Any, operands: tuple[Node, ...]) -> Any:
        """`_run`, of which is told."""
        return watched(self.op_def.name, self, device, operands, partial(self._run, device, operands))

    def _run(self, device: Any, operands: tuple[Node, ...]) -> Node:
        """The result, the short way where there is one."""
        result = _by_addresses(self, operands) if self.bound is not None else None
        if result is None:
            result = self._in_full(device, operands)
        elif config.verify:
            same_value(result, self._in_full(device, operands), device, leaf_memory, self.op_def.name)
        return result

    def _in_full(self, device: Any, operands: Sequence[Node]) -> Node:
        """Run it on operands of any kind."""
        described = describe(operands, device)
        counters.library_calls += 1
        result = computed(self.signature, device.allocate(self.nbytes))
        out = strided(result, device)
        function = routine_of(device, self.op_def.name)
        options = self.options_here()
        if function is None:
            store(device, out, self.op_def.numpy(*[host_array(device, operand) for operand in described], **options))
        else:
            function(device, *described, out=out, **options)
        if not self.asked:
            self.make_ready(all(map(_lies_as, described, operands)), *described, out=out)
        return result


def _by_addresses(call: Call, operands: Sequence[Node]) -> Node | None:
    """The result of operands that are memory where it lies; None where they must be looked at."""
    at: list[int] = []
    if not _locate(operands, at, call.device):
        return None
    memory = call.device.allocate(call.nbytes)
    at.append(memory.ptr)
    for complaint in call.complaints.values():
        at.append(number_of(complaint))
    done = call.bound(at[0], at[1], at[2]) if len(at) == 3 else call.bound(*at)
    if done is False:
        return None
    _counters.library_calls += 1
    return computed(call.signature, memory)


def _locate(operands: Sequence[Node], at: list[int], device: Any) -> bool:
    """Add the addresses of operands on a device, computed if they are not yet; False where they must be looked at."""
    pending = [node for node in operands if (node.args[0] if node.kind == VIEW else node).kind != LEAF]
    if pending:
        evaluate([node.args[0] if node.kind == VIEW else node for node in pending])
    itemsize = 0
    for node in operands:
        begin = 0
        if node.kind == VIEW:
            begin = node.attr
            itemsize = ITEMSIZES[node.code]
            node = node.args[0]
            if begin % itemsize or node.kind != LEAF:
                return False
        buffer = bring(node, device) if is_mixed() else node.buffer
        at.append(buffer.ptr + begin)
    return True


def _lies_as(operand: Strided, node: Node) -> bool:
    """Whether a routine reads a value where it lies, by its own strides."""
    itemsize = ITEMSIZES[node.code]
    return [stride * itemsize for stride in operand.strides] == [*node.strides]


def call_in_place(name: str, target: Node, *operands: Node, **options: Any) -> None:
    """Run the primitive `name`, which changes computed memory (or a view of it) that nobody else needs.

    No operand may read that memory.
    """
    lose()
    place = elsewhere((target, *operands), writes=True)
    if place is not None:
        with place:
            call_in_place(name, target, *operands, **options)
        return
    device = current()
    if device.discrete:
        _guard.take()
    try:
        _call_in_place(device, ROUTINES[name], target, operands, options)
    finally:
        if device.discrete:
            _guard.give()


def _call_in_place(
    device: Any, op_def: Routine, target: Node, operands: Sequence[Node], options: dict[str, Any]
) -> None:
    described = describe(operands, device)
    numbered = {option: value.id if type(value) is SourceLocation else value for option, value in options.items()}
    out = strided(target, device)
    memory = target.args[0] if target.kind == VIEW else target
    doubt = None
    locations = [value.id for value in options.values() if type(value) is SourceLocation]
    if is_due(device, locations):
        make_room(device)
        if locations:
            doubt = opened(device, stored_to(device, (memory, *operands)), locations, True, False)
        else:
            doubt = joined(device, of_values((memory, *operands)))
        memory.buffer.doubt = doubt
    if memory.attr is not None:
        memory.attr = 0  # A copy that the host keeps is of what was there before.
    run = partial(_run_in_place, device, op_def, out, described, numbered)
    try:
        if _counters.watched:
            watched(op_def.name, None, device, (target, *operands), run)
        else:
            run()
    finally:
        if doubt is not None:
            launched([doubt])


def _run_in_place(
    device: Any, op_def: Routine, out: Strided, described: list[Strided], options: dict[str, Any]
) -> None:
    """Run a routine that changes `out`."""
    counters.library_calls += 1
    function = routine_of(device, op_def.name)
    if function is not None:
        function(device, out, *described, **options)
        return
    memory = host_array(device, out)
    op_def.numpy(memory, *[host_array(device, operand) for operand in described], **options)
    if not look.is_shared(device, out.buffer):
        put_back(device, out, memory)


class Change(Repeated):
    """A routine that changes memory; called with the value that lies there and with the routine's other operands,
    which read none of it, it gives the value that lies there then.

    It changes the memory in place if only one storage holds the old value and nobody is about to read it, else a copy:
    in the middle of a run, too, which may have its address.
    What is `bound` takes the address that is changed first.

    Attributes
    ----------
    seen : tuple
        The layout through which it sees the memory: dtype code, offset in bytes, shape, strides.
    offset : int
        That offset.
    """

    __slots__ = ("offset", "seen")

    seen: tuple[Any, ...]
    offset: int

    def __init__(self, name: str, seen: tuple[Any, ...], options: dict[str, Any]) -> None:
        Repeated.__init__(self, ROUTINES[name], options)
        self.seen = seen
        self.offset = seen[1]

    def __call__(self, value: Node, *operands: Node) -> Node:
        if register.trees and waits((value, *operands)):
            return new_node(ROUTINE, self, (value, *operands), value.code, value.shape, value.strides, value.size, None)
        known = arguments((value, *operands))
        place = elsewhere((value, *operands), writes=True)
        if place is not None:
            with place:
                return self(value, *operands)
        device = device_for(self.op_def, (value, *operands), self.options)
        if device is not self.device:
            self.move(device)
        between = _guard.is_mine()
        guarded = self.guarded or config.verify  # which looks at what others have computed
        run = self._watched if _counters.watched else self._run
        if guarded:
            _guard.take()
        try:
            if guarded and self.complaints:
                with Within(device, (value, *operands), stored=True) as within:
                    result = run(device, value, operands, between)
                    within.cover((result.buffer,))
            else:
                result = run(device, value, operands, between)
                if guarded and _counters.doubts > 0:
                    cover(device, (value, *operands), result.buffer)
        finally:
            if guarded:
                _guard.give()
        if known:
            called(known, self, result)
        return result

    def _watched(self, device: Any, value: Node, operands: tuple[Node, ...], between: bool) -> Any:
        """`_run`, of which is told."""
        run = partial(self._run, device, value, operands, between)
        return watched(self.op_def.name, self, device, (value, *operands), run)

    def _run(self, device: Any, value: Node, operands: tuple[Node, ...], between: bool) -> Node:
        """The new value, the short way where there is one."""
        twin = _twin(value) if config.verify and self.bound is not None else None
        result = _changed(self, value, operands) if self.bound is not None and not between else None
        if result is None:
            result = self._in_full(device, value, operands, between)
        elif twin is not None:
            same_value(result, self._in_full(device, twin, operands, between), device, leaf_memory, self.op_def.name)
        return result

    def _in_full(self, device: Any, value: Node, operands: Sequence[Node], between: bool) -> Node:
        """Run it on operands of any kind; in memory of its own where it is called in the middle of a run."""
        code, offset, shape, strides = self.seen
        evaluate([value, *[node.args[0] if node.kind == VIEW else node for node in operands]])
        if between or value.storages > 1 or value.readers:
            value = _twin(value)
        described = describe(operands, device)
        target = view(value, code, offset, shape, strides)
        out = strided(target, device)
        _run_in_place(device, self.op_def, out, described, self.options_here())
        if not self.asked:
            self.make_ready(all(map(_lies_as, described, operands)), out, *described)
        return _result(leaf(out.buffer, value.code, value.shape, value.strides))


def _twin(value: Node) -> Node:
    """A copy of a value in memory of its own."""
    twin = copied(value, value.strides, value.code)
    evaluate([twin])
    return twin


def _changed(change: Change, value: Node, operands: Sequence[Node]) -> Node | None:
    """The new value if memory can be changed where it lies, by operands where they lie; else None."""
    at: list[int] = []
    if not _locate((value, *operands), at, change.device) or value.storages > 1 or value.readers:
        return None
    buffer = value.buffer
    at[0] += change.offset
    for complaint in change.complaints.values():
        at.append(number_of(complaint))
    if change.bound(*at) is False:
        return None
    _counters.library_calls += 1
    return computed(signature_of(value), buffer)


@lru_cache(4096)
def _dense_strides(shape: tuple[int, ...], like: tuple[int, ...] | None, itemsize: int) -> tuple[int, ...]:
    """Byte strides of a result in C order, or in the order of other strides."""
    return c_strides(shape, itemsize) if like is None else k_strides(shape, [like], itemsize)


@lru_cache(4096)
def _element_strides(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    return tuple([stride // itemsize for stride in strides])


def routine_of(device: Backend, name: str) -> Any:
    """The device's routine of this name, or None where its twin does the work on the host."""
    try:
        return device.routine(name)
    except (KeyError, NotImplementedError):
        return None


def put_back(device: Backend, out: Strided, host: Host) -> None:
    """Copy changed elements to the device: the bytes from the first to the last that `out` touches."""
    itemsize = out.dtype.itemsize
    layout = Layout(out.offset * itemsize, out.shape, tuple([stride * itemsize for stride in out.strides]))
    low, high = extent_of(layout, itemsize)
    if high > low:
        memory = look.operand(device, out.buffer, low, (high - low,), (1,), np.dtype(np.uint8)).copy()
        np.ndarray(out.shape, out.dtype, memory.data, layout.offset - low, layout.strides)[...] = host
        device.copy(out.buffer, low, device.upload(memory), 0, high - low)


def empty(code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Node:
    """Memory that nothing has been written to."""
    strides = _dense_strides(shape, None, ITEMSIZES[code]) if strides is None else strides
    return Fresh(signature_by(LEAF, None, code, one_tuple(shape), one_tuple(strides), prod(shape), None))()


class Fresh:
    """What gives memory for a value of this signature."""

    __slots__ = ("signature",)

    signature: NodeSignature

    def __init__(self, signature: NodeSignature) -> None:
        self.signature = signature

    def __call__(self) -> Node:
        signature = self.signature
        known = arguments(())
        device: Any = current()
        if begins_on_host(signature.size):
            device = beside(device)
        result = computed(signature, device.allocate(max(signature.size, 1) * ITEMSIZES[signature.code]))
        result.attr = UNSET
        result.result = False
        if known:
            called(known, self, result)
        return result


def is_small(op_def: Routine, operands: Sequence[Node]) -> bool:
    """Whether the host runs it beside a GPU, whatever its bits."""
    return op_def.small > 0 and sum([node.size for node in operands]) <= op_def.small and beside(current()) is not None


def without_the_rest(node: Node) -> Node:
    """A value; instead of a part of much memory its copy, which can move alone."""
    if node.kind != VIEW or node.args[0].size <= config.unplanned:
        return node
    return copied(node, k_strides(node.shape, [node.strides], ITEMSIZES[node.code]), node.code)


def device_for(op_def: Routine, operands: Sequence[Node], options: dict[str, Any]) -> Any:
    """Where a routine runs: small work with the same bits everywhere on the host, if its operands lie there.

    Beside a GPU they are computed, and brought to where it runs.
    """
    device = current()
    if not is_mixed():
        return device
    host = beside(device)
    bases = []
    for node in operands:
        while node.kind == VIEW:
            node = node.args[0]
        bases.append(node)
    pending = [node for node in bases if node.kind != LEAF]
    if pending:
        evaluate(pending)
    op = options.get("op")
    if is_small(op_def, operands) and all([may_move(node) for node in bases]):
        return host
    if (
        operands
        and host is not None
        and KINDS[operands[0].code] in op_def.same
        and (not op or ELEMENTWISE[op].exact)
        and all([node.size <= config.unplanned and look.is_near(node.buffer) for node in bases])
    ):
        return host
    for node in bases:
        bring(node, device)
    return device


def describe(operands: Sequence[Node], device: Any) -> list[Strided]:
    """Computed memory of values on a device, as routines take it."""
    if all([node.kind == LEAF for node in operands]):
        return [strided(node, device) for node in operands]
    ready = []
    for node in operands:
        if node.kind == VIEW:
            itemsize = ITEMSIZES[node.code]
            aligned = not node.attr % itemsize and not any(stride % itemsize for stride in node.strides)
            if not aligned or node.args[0].kind == VIEW:
                node = copied(node, k_strides(node.shape, [node.strides], itemsize), node.code)
        ready.append(node)
    evaluate([node.args[0] if node.kind == VIEW else node for node in ready])
    return [strided(node, device) for node in ready]


def strided(node: Node, device: Any) -> Strided:
    """The memory of a computed value, or of a view of one, on a device."""
    buffer = bring(node, device)
    itemsize = ITEMSIZES[node.code]
    offset = node.attr // itemsize if node.kind == VIEW else 0
    return Strided(buffer, offset, node.shape, _element_strides(node.strides, itemsize), DTYPES[node.code])


def from_strided(result: Strided) -> Node:
    """A routine's fresh, dense result as a value."""
    itemsize = result.dtype.itemsize
    strides = tuple([stride * itemsize for stride in result.strides])
    return _result(leaf(result.buffer, code_of(result.dtype), result.shape, strides))


def _result(node: Node) -> Node:
    """A computed value, which is no data of the host."""
    node.result = True
    return node


def host_array(device: Backend, operand: Strided) -> Host:
    """The operand on the host: its own memory where the host can see it, else a copy."""
    dtype = operand.dtype
    strides = tuple([stride * dtype.itemsize for stride in operand.strides])
    offset = operand.offset * dtype.itemsize
    return look.operand(device, operand.buffer, offset, operand.shape, strides, dtype)


def store(device: Backend, out: Strided, host: Host) -> None:
    """Put a host result where a routine would have written it."""
    if not host.size:
        return
    dtype = out.dtype
    strides = tuple([stride * dtype.itemsize for stride in out.strides])
    if look.is_shared(device, out.buffer):
        look.operand(device, out.buffer, 0, out.shape, strides, dtype)[...] = host
        return
    dense = np.empty(host.size * dtype.itemsize, np.uint8)
    np.ndarray(out.shape, dtype, dense.data, 0, strides)[...] = host
    note_copy(True, dense.nbytes)
    device.copy(out.buffer, 0, device.upload(dense), 0, dense.nbytes)
