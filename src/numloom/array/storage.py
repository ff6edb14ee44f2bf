"""Storages: what arrays that share memory share, and the only module that knows aliasing.

A storage refers to the value that its memory holds now. Reading gives that value through a layout;
writing the whole puts a new value in the storage; writing a part records an UPDATE, "the old value,
but there new", which runs in place when nobody else needs the old one. Values never change, so
what was read before stays what it was, and overlapping self-assignment needs no care at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F32, F64, ITEMSIZES, U8
from numloom.device.registry import holder, on, several
from numloom.engine.evaluate import after_record, before_store, download_value, evaluate, leaf_from_host, pin_value
from numloom.engine.look import put_number
from numloom.engine.owners import elsewhere
from numloom.engine.placement import bring_home
from numloom.engine.routines import Change, call_in_place
from numloom.graph.again import lose
from numloom.graph.build import binary, cast, copied, full, leaf, unary, update, view
from numloom.graph.layout import (
    broadcast_strides,
    c_strides,
    is_dense_order,
    k_strides,
    may_self_overlap,
    shown,
)
from numloom.graph.node import FILL, LEAF, SCALAR, SYMBOL, VIEW, Node, hold, recorded_as2, register, tracing, unhold
from numloom.graph.slots import known_update
from numloom.graph.tree import recording, refuse_outside
from numloom.ops.elementwise import ELEMENTWISE

_REAL = ELEMENTWISE["real"]
_IMAG = ELEMENTWISE["imag"]
_NOT_EQUAL = ELEMENTWISE["not_equal"]


@cython.no_gc
@cython.freelist(128)
@cython.cclass
class Storage:
    """A mutable reference to the value that one block of memory holds now.

    Attributes
    ----------
    value : Node
        The current value; its dense buffer is the memory.
    pins : int
        How many exports of the memory's address are alive; while any is, every operation on the
        memory runs at once and writes go to that very address.
    era : int
        When it was made (`Node.era`).
    """

    __slots__ = ("era", "pins", "value")

    value: Node
    pins: int
    era: int

    def __dealloc__(self) -> None:
        if self.value is not None:
            unhold(self.value)

    if not cython.compiled:
        __del__ = __dealloc__


def new_storage(value: Node) -> Storage:
    """A storage whose memory holds `value`."""
    storage = Storage.__new__(Storage)
    storage.value = value
    storage.pins = 0
    storage.era = register.era
    hold(value)
    return storage


AT_ONCE = 1 << 40
"""More recorded operations than any budget allows."""


def set_value(storage: Storage, value: Node) -> None:
    """The memory now holds `value`."""
    old = storage.value
    hold(value)
    storage.value = value
    unhold(old)


def read(storage: Storage, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    """The storage's current value seen through a layout."""
    current = storage.value
    if storage.pins:
        if register.tracing and tracing():
            # A tree runs at any time: it has what the memory holds now.
            with recording(False):
                return kept_apart(read_part(current, code, offset, shape, strides))
        # Others may write this memory unseen: what reads it must run as soon as it is recorded, and nobody may
        # take the value itself for a copy.
        register.recorded = AT_ONCE
        return read_part(current, code, offset, shape, strides)
    if (
        current.code == code
        and offset == 0
        and (current.shape is shape or current.shape == shape)
        and (current.strides is strides or current.strides == strides)
    ):
        return current
    return read_part(current, code, offset, shape, strides)


def kept_apart(node: Node) -> Node:
    """What a value is now, computed into memory of its own, whatever tree is being recorded."""
    with recording(False):
        node = copied(node, c_strides(node.shape, ITEMSIZES[node.code]), node.code)
        evaluate([node])
    return node


def read_part(value: Node, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    """A value seen through a layout that is not its own."""
    if code == BOOL and value.code != BOOL:  # Of truth values kernels take the bytes 0 and 1 alone.
        return binary(_NOT_EQUAL, view(value, U8, offset, shape, strides), 0)
    if (
        value.code != code
        and value.kind != LEAF
        and ((value.code == C64 and code == F32) or (value.code == C128 and code == F64))
    ):
        itemsize = 8 if code == F32 else 16
        part = offset % itemsize
        op_def = _REAL if part == 0 else _IMAG if 2 * part == itemsize else None
        # No view where the whole is read: two layouts of one value would have it stored.
        if (
            op_def is not None
            and offset == part
            and (shape is value.shape or shape == value.shape)
            and (strides is value.strides or strides == value.strides)
        ):
            return unary(op_def, value)
        if op_def is not None and not any([stride % itemsize for stride in strides]):
            return unary(op_def, view(value, value.code, offset - part, shape, strides))
    if _is_aligned(value, ITEMSIZES[code], offset, strides):
        return view(value, code, offset, shape, strides)
    # Kernels read whole elements, which a GPU does at multiples of their size alone: these bytes are moved first.
    itemsize = ITEMSIZES[code]
    steps = k_strides(shape, [strides], itemsize)
    octets = view(value, U8, offset, (*shape, itemsize), (*strides, 1))
    return view(copied(octets, (*steps, 1), U8), code, 0, shape, steps)


def _is_aligned(value: Node, itemsize: int, offset: int, strides: tuple[int, ...]) -> bool:
    """Whether all elements seen through a layout begin at multiples of their size."""
    buffer = value.buffer
    if buffer is not None:
        offset += buffer.ptr & 15  # Memory of other libraries may begin anywhere.
    if offset & (itemsize - 1):
        return False
    for stride in strides:  # noqa: SIM110  (compiled)
        if stride & (itemsize - 1):
            return False
    return True


def broadcast_value(node: Node, shape: tuple[int, ...]) -> Node:
    """A value repeated to `shape` (by strides of 0); ValueError with NumPy's words if it does not fit."""
    if node.shape == shape:
        return node
    if node.kind == SCALAR:
        return full(node.attr, node.code, shape)
    lead = len(shape) - len(node.shape)
    if lead < 0 or any(extent not in (1, goal) for extent, goal in zip(node.shape, shape[lead:], strict=True)):
        # Assignment also drops leading axes of extent 1.
        if lead < 0 and all(extent == 1 for extent in node.shape[:-lead]):
            return broadcast_value(reshaped_front(node, -lead), shape)
        raise ValueError(f"could not broadcast input array from shape {shown(node.shape)} into shape {shown(shape)}")
    if node.kind == FILL:
        return full(node.attr, node.code, shape)
    if node.kind == VIEW:
        strides = broadcast_strides(node.shape, node.strides, shape)
        return view(node.args[0], node.code, node.attr, shape, strides)
    return view(node, node.code, 0, shape, broadcast_strides(node.shape, node.strides, shape))


def reshaped_front(node: Node, count: int) -> Node:
    """A value without its first `count` axes, each of extent 1."""
    if node.kind == VIEW:
        return view(node.args[0], node.code, node.attr, node.shape[count:], node.strides[count:])
    return view(node, node.code, 0, node.shape[count:], node.strides[count:])


def arranged(node: Node, shape: tuple[int, ...], strides: tuple[int, ...], code: int) -> Node:
    """The values of `node` as a dense value of exactly this shape, order and dtype."""
    if node.shape != shape:
        node = broadcast_value(node, shape)
    if node.code == code and node.strides == strides and node.kind not in (VIEW, SCALAR):
        return node
    if node.kind in (SCALAR, FILL):
        converted = cast(node, code)
        return full(converted.attr, code, shape, strides)
    return copied(node, strides, code)


def put(storage: Storage, value: Node) -> None:
    """The memory, whose address nobody knows, holds `value` now; that runs if a budget asks for it."""
    r = register
    if r.limit < 0:
        before_store(value, storage.value)
    set_value(storage, value)
    if r.recorded > r.limit or r.orphan_bytes > r.orphan_limit:
        after_record(value)


def write_number(storage: Storage, code: int, offset: int, number: Any) -> bool:
    """Store a number in one element at once, if that is all there is to do and nobody else has the memory."""
    value = storage.value
    if (
        value.kind != LEAF
        or value.code != code
        or storage.pins
        or not cython.compiled
        or register.tracing
        or value.readers
        or value.storages > 1
    ):
        return False
    mirror = value.attr
    if mirror is None or type(mirror) is np.ndarray:
        return False
    return put_number(value, code, offset, number)


def write(
    storage: Storage, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], value: Node
) -> None:
    """Store `value` (any dtype, broadcastable) through a layout; recorded, or at once if pinned."""
    if register.tracing:
        refuse_outside(storage.era)
    current = storage.value
    known = known_update(current, offset, shape, strides, code)
    if (
        known is not None
        and value.code == code
        and (value.shape is shape or value.shape == shape)
        and value.kind != VIEW
        and _is_aligned(current, ITEMSIZES[code], offset, strides)
    ):
        new = recorded_as2(known, current, value)
    elif shape and 0 in shape:
        broadcast_value(value, shape)
        return
    else:
        changed = _written(storage, value, code, offset, shape, strides)
        if changed is None:
            return
        new = changed
    if storage.pins:
        if new.storages or new.readers:
            # Others have this value, too: it must not come to lie in memory that is written in place.
            new = copied(new, new.strides, new.code)
        pin_value(current, new)
    put(storage, new)


def _written(
    storage: Storage, value: Node, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Node | None:
    """What the memory holds once `value` has been stored; None where it has been, by way of the host."""
    itemsize = ITEMSIZES[code]
    current = storage.value
    if (
        offset == 0
        and _count(shape) * itemsize == current.size * ITEMSIZES[current.code]
        and (strides == current.strides or is_dense_order(shape, strides, itemsize))
    ):
        return arranged(value, shape, strides, code)
    if shape and may_self_overlap(shape, strides, itemsize):
        value, offset, kept, strides = _last_written(storage, value, code, offset, shape, strides)
        if kept is None:
            return None
        shape = kept
    if value.shape != shape:
        value = broadcast_value(value, shape)
    if value.code != code:
        value = cast(value, code)
    if not _is_aligned(current, itemsize, offset, strides):
        steps = c_strides(shape, itemsize)
        value = view(copied(value, steps, code), U8, 0, (*shape, itemsize), (*steps, 1))
        shape, strides, code = (*shape, itemsize), (*strides, 1), U8
    return update(current, value, offset, shape, strides, code)


def _count(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _last_written(
    storage: Storage, value: Node, code: int, offset: int, shape: Any, strides: tuple[int, ...]
) -> tuple[Node, int, Any, tuple[int, ...]]:
    """Writing through a layout that overlaps itself: the last element in C order stays.

    Along axes of stride 0 that is the last index. Other overlaps (windows) go through the host.
    """
    value = broadcast_value(value, shape)
    repeated = [axis for axis, (e, s) in enumerate(zip(shape, strides, strict=True)) if s == 0 and e > 1]
    kept = [axis for axis in range(len(shape)) if axis not in repeated]
    kept_shape = tuple(shape[axis] for axis in kept)
    kept_strides = tuple(strides[axis] for axis in kept)
    if not may_self_overlap(kept_shape, kept_strides, ITEMSIZES[code]):
        base, at = (value.args[0], value.attr) if value.kind == VIEW else (value, 0)
        at += sum((shape[axis] - 1) * value.strides[axis] for axis in repeated)
        last_strides = tuple(value.strides[axis] for axis in kept)
        return view(base, value.code, at, kept_shape, last_strides), offset, kept_shape, kept_strides
    host = download_value(value)
    old = storage.value
    memory = np.array(download_value(old))
    flat = np.lib.stride_tricks.as_strided(memory, (memory.size,), (memory.itemsize,)).view(np.uint8)
    target = np.ndarray(shape, DTYPES[code], flat.data, offset, strides)
    target[...] = host
    with on(holder(old.buffer)) if several() else nullcontext():
        new = leaf_from_host(memory, old.strides, stays=True)
    if storage.pins:
        pin_value(old, new)
    set_value(storage, new)
    return value, 0, None, ()


def write_at(
    storage: Storage,
    code: int,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    operands: Sequence[Node],
    **options: Any,
) -> None:
    """Run the routine ``scatter`` on memory seen through a layout: in place where nobody else needs the old value."""
    if register.tracing:
        refuse_outside(storage.era)
    itemsize = ITEMSIZES[code]
    aligned = not offset % itemsize and not any([stride % itemsize for stride in strides])
    if not aligned or may_self_overlap(shape, strides, itemsize):
        dense = copied(read(storage, code, offset, shape, strides), c_strides(shape, itemsize), code)
        evaluate([dense])
        call_in_place("scatter", dense, *operands, **options)
        write(storage, code, offset, shape, strides, dense)
        return
    value = storage.value
    operands = [_apart(node, value) for node in operands]
    if not storage.pins:
        set_value(storage, Change("scatter", (code, offset, shape, strides), options)(value, *operands))
        return
    # Others know the address: it is this memory that changes, whoever reads it.
    evaluate([value, *[node.args[0] if node.kind == VIEW else node for node in operands]])
    call_in_place("scatter", view(value, code, offset, shape, strides), *operands, **options)
    new = leaf(value.buffer, value.code, value.shape, value.strides)
    new.attr = None
    new.result = True
    set_value(storage, new)


def _apart(node: Node, value: Node) -> Node:
    """What an operation on the memory of `value` takes: a copy of what lies there."""
    if node is value or (node.kind == VIEW and node.args[0] is value):
        return copied(node, c_strides(node.shape, ITEMSIZES[node.code]), node.code)
    return node


def materialize(storage: Storage) -> Node:
    """The storage's value, computed: a leaf with a buffer, in memory of the current device."""
    if storage.value.buffer is None:
        evaluate([storage.value])
    bring_home(storage.value)
    return storage.value


def pin(storage: Storage) -> Node:
    """Fix the storage to its buffer for an export; what reads it now runs first. Undo with `unpin`."""
    with elsewhere([storage.value], writes=True) or nullcontext():  # In a stream's block it may be another stream's.
        return _pinned(storage)


def _pinned(storage: Storage) -> Node:
    lose()
    value = materialize(storage)
    evaluate([])
    if not storage.pins and (value.storages > 1 or value.readers):
        # Another storage shares the value (a lazy copy), or a tree or a compiled function reads it, for nothing else is
        # pending: this one takes memory of its own.
        own = copied(value, value.strides, value.code)
        before_store(own, value)  # A copy of known numbers is made of nothing, and would go anywhere.
        set_value(storage, own)
        evaluate([own])
        bring_home(own)
    storage.pins += 1
    storage.value.attr = None  # What of it was read before need not be so for long.
    return storage.value


def pin_foreign(storage: Storage) -> None:
    """Fix a storage over memory that others may write at any time, for good."""
    storage.pins = 1
    storage.value.attr = None


def unpin(storage: Storage) -> None:
    """One export of the memory's address is gone."""
    storage.pins -= 1


@cython.no_gc
@cython.cclass
class Exported:
    """Keeps the memory of an array pinned as long as it is there; its end is compiled code, where no Ctrl-C is lost."""

    __slots__ = ("storage",)

    storage: Storage | None

    def __init__(self, storage: Storage) -> None:
        self.storage = None
        pin(storage)
        self.storage = storage

    def __dealloc__(self) -> None:
        if self.storage is not None:
            unpin(self.storage)

    if not cython.compiled:
        __del__ = __dealloc__


_ELEMENT = (
    "an element, a number of its own as NumPy's scalars are, so the array that it comes from would not be written: "
    "give a view of that array, x[1, ...] or x[1:2] rather than x[1], or asarray(x[1]) where the number alone is meant"
)

_READ_ONLY = "read-only: write to a copy of it, x.copy()"


def read_only(array: Any, what: str) -> TypeError | ValueError:
    """Why an array is not written to; of an element and of what stands for an argument, what to write instead."""
    value = array.storage.value
    if value.kind != SYMBOL:
        return TypeError(f"{what} is {_ELEMENT}") if array.is_scalar else ValueError(f"{what} is {_READ_ONLY}")
    name = value.attr.name
    return ValueError(
        f"{what} is read-only: {name} stands for what the function is given, which it does not change; write "
        f"{name} = {name} + 1 rather than {name} += 1, or begin with {name} = {name}.copy()"
    )
