"""Calls of compiled functions, the short way: from operands that are laid out as the symbols are to computed arrays."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.storage import Storage, set_value
from numloom.base.config import config
from numloom.base.errors import OutOfMemoryError
from numloom.device.registry import current, is_mixed
from numloom.engine.evaluate import evaluate, leaf_memory
from numloom.engine.look import check as check_values
from numloom.engine.observed import prepare
from numloom.engine.prepared import MOST, CallState, Prepared, run_prepared
from numloom.engine.state import counters
from numloom.engine.verify import same_value
from numloom.graph.build import full
from numloom.graph.node import FILL, LEAF, SCALAR, VIEW, Node, hold, unhold
from numloom.graph.replay import RecordedTrace, replay

_counters = counters
OFTEN = 64
"""Calls of a function from which on all that it computes has a plan."""


def computed_operands(likes: list[Node], args: Any) -> Any:
    """The values of arrays that lie as the symbols `likes` do, in memory or one number; None where one does not."""
    count = len(likes)
    if len(args) != count or _counters.profiler is not None:
        return None
    operands: list[Any] = []
    for place in range(count):
        given = args[place]
        if type(given) is not ndarray:
            return None
        array = cython.cast(ndarray, given)
        like = likes[place]
        if array.code != like.code or (array._shape is not like.shape and array._shape != like.shape):
            return None
        node = node_of(array)
        if node.kind == SCALAR or node.kind == FILL:
            node = full(node.attr, node.code, node.shape, like.strides)
        elif node.kind != LEAF or (node.strides is not like.strides and node.strides != like.strides):
            return None
        operands.append(node)
    return operands


def run_fast(
    recorded: RecordedTrace,
    results: tuple[int, ...],
    updated: list[Storage],
    may_fail: bool,
    state: CallState,
    operands: list[Any],
) -> Any:
    """Arrays of what a trace records for computed operands, all of them computed.

    Parameters
    ----------
    recorded : RecordedTrace
        What is recorded.
    results : tuple of int
        Numbers of the results among operands and instructions; the last ones are new values of `updated`.
    updated : list of Storage
        Shared variables that get the last results, once all are computed.
    may_fail : bool
        Whether values may say that something cannot be computed: then they are waited for before any is changed.
    state : CallState
        What is known of its calls.
    operands : list of Node
        Of a call's arguments, then of shared variables, and blocks of random numbers.
    """
    arrays: list[Any] = []
    if state.prepared is not None:
        found = run_prepared(state.prepared, operands, False)
        if found is not None:
            for node in found:
                arrays.append(wrap(node))
            if updated and (may_fail or _counters.doubts > 0):
                check_values([node_of(array) for array in arrays])
            update(arrays, len(results) - len(updated), updated)
            return arrays
    given = list(operands) if config.verify else None
    state.calls += 1
    observes = state.calls == state.next
    if observes:
        state.next = min(2 * state.next, state.next + MOST)
    with config(placement="device") if is_far(recorded, state) else nullcontext():
        if observes:
            arrays = observed(recorded, results, operands, state)
        else:
            arrays = run_recorded(recorded, results, operands)
    if given is not None and state.prepared is not None:
        check(state.prepared, given, arrays)
    if updated and (may_fail or _counters.doubts > 0):
        check_values([node_of(array) for array in arrays])
    update(arrays, len(results) - len(updated), updated)
    return arrays


def is_far(recorded: RecordedTrace, state: CallState) -> bool:
    """Whether all of it runs on the GPU: a loop of it did, and what is around that would have to move."""
    if state.loops is None:
        calls = [one.call for one in recorded.instructions]
        state.loops = [call for call in calls if getattr(call, "is_far", None) is not None]
    return any([loop.is_far for loop in state.loops]) and config.placement == "auto"


def run_recorded(recorded: RecordedTrace, results: tuple[int, ...], operands: list[Node]) -> list[Any]:
    """Arrays of what a trace records for operands, whose list is emptied, all of them computed."""
    replay(recorded, operands)
    found = []
    wanted: list[Node] = []
    for number in results:
        node = operands[number]
        found.append(node)
        if node.buffer is None:
            wanted.append(node)
    arrays = wrap_all(found)
    operands.clear()
    evaluate(wanted)
    return arrays


def observed(recorded: RecordedTrace, results: tuple[int, ...], operands: list[Node], state: CallState) -> list[Any]:
    """`run_recorded`, of which is taken down what it ran."""
    given = list(operands)
    arrays: list[Any] = []

    def run() -> list[Node]:
        arrays.extend(run_recorded(recorded, results, operands))
        return [node_of(array) for array in arrays]

    try:
        # What was called that often will be: then small values have a plan, too, as long as there is one place for it.
        often = state.calls >= OFTEN and not is_mixed()
        state.prepared = prepare(given, constants_of(recorded), (), run, plans=often, numbers=True)[0]
    except OutOfMemoryError:  # What runs is kept until all has run.
        return run_recorded(recorded, results, given)
    return arrays


def constants_of(recorded: RecordedTrace) -> list[Node]:
    """Computed values that a trace reads beside its operands."""
    nodes = [one.attr for one in recorded.instructions if one.signature is None and one.call is None]
    memory = [node.args[0] if node.kind == VIEW else node for node in nodes]
    return list({id(node): node for node in memory}.values())


def wrap_all(nodes: list[Node]) -> list[Any]:
    """New arrays of several values: where all runs at once none of them runs before all are known to be needed."""
    # Of a view what it sees: a view that is held would be computed, into memory that has its size and not its strides.
    held = [node.args[0] if node.kind == VIEW else node for node in nodes]
    for node in held:
        hold(node)
    try:
        return [wrap(node) for node in nodes]
    finally:
        for node in held:
            unhold(node)


def check(prepared: Prepared, operands: list[Any], arrays: list[Any]) -> None:
    """Run a prepared plan beside the long way, whose results are there, and compare the bits."""
    found = run_prepared(prepared, operands, True)
    device = current()
    for node, array in zip(found or (), arrays, strict=False):
        same_value(node, node_of(array), device, leaf_memory, "a call of a compiled function")


def update(arrays: list[Any], first: int, updated: list[Storage]) -> None:
    """Shared variables get the last of some computed arrays."""
    for place in range(len(updated)):
        node = cython.cast(ndarray, arrays[first + place]).held.value
        if node.kind != LEAF:
            raise AssertionError("the new value of a shared variable was not computed")
        set_value(updated[place], node)


__all__ = ["computed_operands", "run_fast", "wrap_all"]
