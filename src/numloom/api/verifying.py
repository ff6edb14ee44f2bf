"""Calls under ``config.verify``: what is remembered of one gives what the call gives in full.

A replayed call is also done in full, each time. What has just been learned of a call is moreover tried on arrays of the
same form with other elements: something that was kept of the call's own numbers would be right of these for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray, node_of, storage_of, view_of, wrap
from numloom.base.dtypes import BOOL, DTYPES, code_of
from numloom.base.nesting import deeper
from numloom.device.registry import current
from numloom.engine.evaluate import download_layout, evaluate, leaf_memory
from numloom.engine.verify import VerificationError, is_unset, same_bits, strides_that_count
from numloom.graph.again import RecordedTrace, RecordedTraces, find, in_full, learning, replay
from numloom.graph.build import copied, leaf
from numloom.graph.node import Node

Host = np.ndarray[Any, Any]


def beside(full: Callable[[], Any], short: Callable[[], Any]) -> Any:
    """What a call gives in full, compared with what is remembered of it.

    While a call is learned that this one is a part of, nothing may be looked at: then what is remembered is taken, as
    it is without `config.verify`, and what the whole call gives is compared when that has been learned.

    Raises
    ------
    VerificationError
        If they differ.
    """
    return compared(short(), full)


def compared(got: Any, full: Callable[[], Any]) -> Any:
    """The same, where the result that is remembered is there."""
    if learning():
        return got
    with in_full():
        want = full()
    compare(got, want)
    return want


def compare(got: Any, want: Any) -> None:
    """Compare results of two ways: how they lie, and their bits."""
    if type(got) is not type(want):
        raise VerificationError(f"a replayed call gave {type(got).__name__}, in full {type(want).__name__}")
    if type(want) is np.ndarray:
        same_bits(np.ascontiguousarray(got), np.ascontiguousarray(want), code_of(want.dtype), "a replayed write")
        return
    if type(want) is not ndarray:
        if len(got) != len(want):
            raise VerificationError(f"a replayed call gave {len(got)} arrays, in full {len(want)}")
        for one, other in zip(got, want, strict=True):
            compare(one, other)
        return
    told_apart = [
        (x.code, x._shape, strides_that_count(x._shape, x._strides), x.is_scalar, x.writeable) for x in (got, want)
    ]
    if told_apart[0] != told_apart[1]:
        raise VerificationError(
            f"a replayed call gave dtype code, shape, strides, ... {told_apart[0]}, in full {told_apart[1]}"
        )
    values = [storage_of(x).value for x in (got, want)]
    if not any([value.tree or is_unset(value) for value in values]):  # trees may have no numbers
        one, other = (memory(x, storage_of(x).value) for x in (got, want))
        same_bits(np.ascontiguousarray(one), np.ascontiguousarray(other), want.code, "a replayed call")


def memory(target: Any, value: Node) -> Host:
    """What an array holds if this is the value of its memory."""
    return download_layout(value, target.code, target.offset, target._shape, target._strides)


def tried(
    traces: RecordedTraces,
    given: Any,
    recorded: RecordedTrace,
    arrays: Sequence[Any],
    call: partial[Any],
    again: Callable[..., Any],
) -> None:
    """Compare what was learned of a call with the call in full, for arrays like its own with other elements.

    `again` gives what the trace leads to.

    Raises
    ------
    VerificationError
        If they differ.
    """

    def full(others: list[Any]) -> Any:
        result = _with(call, arrays, others)()
        for part in result if type(result) in (tuple, list) else (result,):
            memory(part, storage_of(part).value)  # raises what a kernel finds wrong with the elements
        return result

    for others, operands in _others(arrays):
        if find(traces, given, operands) is recorded:
            want = _in_full(full, others)
            if want is not None:
                compare(again(recorded, operands, tuple(others), False), want)


def tried_write(
    traces: RecordedTraces, given: Any, recorded: RecordedTrace, arrays: Sequence[Any], write: partial[Any]
) -> None:
    """The same for a call that writes to the first of `arrays`."""

    def full(others: list[Any]) -> Any:
        copies = _like(others, lambda elements: elements, False)
        _with(write, arrays, copies)()
        return memory(copies[0], storage_of(copies[0]).value)

    for others, operands in _others(arrays):
        operands[0] = storage_of(others[0]).value
        if find(traces, given, operands) is recorded:
            want = _in_full(full, others)
            if want is not None:
                compare(memory(others[0], replay(recorded, operands)), want)


def _in_full(full: Callable[[list[Any]], Any], others: list[Any]) -> Any:
    """What a call gives in full; None of elements that it does not take."""
    try:
        with in_full():
            return full(others)
    except VerificationError:
        raise
    except Exception:
        return None


def _others(arrays: Sequence[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Arrays like these with other elements, computed and not yet, and their values; none if an address is known."""
    if not any([storage_of(array).pins for array in arrays]):
        for change in (_backwards, _next):
            for pending in (False, True):
                others = _like(arrays, change, pending)
                yield others, [node_of(other) for other in others]


def _like(arrays: Sequence[Any], change: Callable[[Host], Host], pending: bool) -> list[Any]:
    """Arrays of the same form in memory of their own, shared as theirs is; what is pending has other forms."""
    device = current()
    leaves: dict[int, Node] = {}
    wholes: dict[int, Any] = {}
    others: list[Any] = []
    for array in arrays:
        storage = storage_of(array)
        value = storage.value
        if id(value) not in leaves:
            if value.tree:  # it may have no numbers
                elements = (np.arange(prod(value.shape)) % 7).astype(DTYPES[value.code])
            else:
                if value.buffer is None:
                    evaluate([value])
                elements = leaf_memory(value, device).copy().view(DTYPES[value.code])
            changed = np.ascontiguousarray(change(elements)).view(np.uint8)
            new = leaf(device.upload(changed), value.code, value.shape, value.strides)
            leaves[id(value)] = copied(new, new.strides, new.code) if pending else new
        if id(storage) not in wholes:
            wholes[id(storage)] = wrap(leaves[id(value)])
            wholes[id(storage)].is_scalar = False
        other = view_of(wholes[id(storage)], array.offset, array._shape, array._strides)
        other.code, other.is_scalar, other.writeable = array.code, array.is_scalar, array.writeable
        if array.base is None:
            other.base = None
        others.append(other)
    return others


def _backwards(elements: Host) -> Host:
    """The same elements in another order, so that what must be in range is."""
    return elements[::-1]


def _next(elements: Host) -> Host:
    """Elements in the same order, but others."""
    with np.errstate(all="ignore"):
        return ~elements if elements.dtype == DTYPES[BOOL] else elements + elements.dtype.type(1)


def _with(call: partial[Any], arrays: Sequence[Any], others: Sequence[Any]) -> partial[Any]:
    """A call with other arrays."""
    swap = {id(array): other for array, other in zip(arrays, others, strict=True)}
    named = {name: _swapped(given, swap) for name, given in call.keywords.items()}
    return partial(call.func, *[_swapped(given, swap) for given in call.args], **named)


def _swapped(given: Any, swap: dict[int, Any], depth: int = 0) -> Any:
    """An argument with other arrays in it."""
    kind = type(given)
    if kind is ndarray:
        return swap.get(id(given), given)
    if kind is tuple or kind is list:
        depth = deeper(depth)
        return kind([_swapped(part, swap, depth) for part in given])
    if kind is slice:
        return slice(*[_swapped(part, swap) for part in (given.start, given.stop, given.step)])
    return given


__all__ = ["beside", "compare", "compared", "memory", "tried", "tried_write"]
