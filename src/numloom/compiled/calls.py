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
from numloom.base.dtypes import ITEMSIZES
from numloom.base.errors import OutOfMemoryError
from numloom.compiled.captured import capture_call
from numloom.compiled.orders import order
from numloom.device.registry import current, is_mixed
from numloom.engine.evaluate import evaluate, leaf_memory
from numloom.engine.look import check as check_values
from numloom.engine.look import is_near
from numloom.engine.observed import prepare
from numloom.engine.state import counters
from numloom.engine.tape import runs_by_loops
from numloom.engine.taped import TapedCall, run_taped
from numloom.engine.verify import same_value
from numloom.graph.again import RecordedTrace, replay
from numloom.graph.build import copied, full
from numloom.graph.node import FILL, LEAF, SCALAR, VIEW, Node, hold, new_node, register, tracing, unhold

_counters = counters
_register = register
_verify = bool(config.verify)
TAPED = 3
"""Which call of a function is recorded: of those that no tape runs; the next one after twice as many."""
BYTES = 1 << 20
"""Most bytes of an argument that is computed, or copied, before a call: a tape saves more than to go over it takes."""
MOST = 4096
"""Calls between two tries, at most."""


def _set_verify(value: Any) -> None:
    global _verify
    _verify = bool(value)


config.listen("verify", _set_verify)


class CallState:
    """What the short way needs of a function of known shapes, and what is known of its calls.

    Attributes
    ----------
    recorded : RecordedTrace
        What a call records.
    results : tuple of int
        Numbers of the results among operands and instructions; the last ones are new values of `updated`.
    updated : list of Storage
        Shared variables that get the last results, once all are computed.
    may_fail : bool
        Whether values may say that something cannot be computed: then they are waited for before any is changed.
    likes : list of Node
        Symbols, as which the arguments must lie.
    storages : list
        What has the values that a call takes beside them.
    drawn : bool
        Whether a call draws random numbers.
    plain : bool
        Whether it returns one array, as it is computed.
    taped : TapedCall or None
        What one of them ran, once one was recorded.
    runs : bool
        Whether all of it can run: by kernels, or by loops until they are compiled; before calls replay their trace.
    calls, next : int
        Calls that no tape ran, and which of them is recorded.
    loops : list or None
        Loops among what it records, once that is known.
    """

    __slots__ = (
        "calls", "drawn", "likes", "loops", "may_fail", "next", "plain", "recorded", "results", "runs", "storages",
        "taped", "updated",
    )  # fmt: skip

    recorded: RecordedTrace
    results: tuple[int, ...]
    updated: list[Any]
    likes: list[Node]
    storages: list[Any]
    may_fail: bool
    drawn: bool
    plain: bool
    taped: Any
    runs: bool
    loops: Any
    calls: int
    next: int

    def __init__(
        self, recorded: RecordedTrace, results: tuple[int, ...], updated: list[Any], likes: list[Node],
        storages: list[Any], may_fail: bool, drawn: bool, plain: bool,
    ) -> None:  # fmt: skip
        self.recorded = recorded
        self.results = results
        self.updated = updated
        self.likes = likes
        self.storages = storages
        self.may_fail = may_fail
        self.drawn = drawn
        self.plain = plain
        self.taped = None
        self.runs = False
        self.loops = None
        self.calls = 0
        self.next = TAPED

    def is_ready(self) -> bool:
        """Return whether a tape is there that can run; asked until it is."""
        if not self.runs and self.taped is not None:
            tape = cython.cast(TapedCall, self.taped).tape
            # Elsewhere slower code runs meanwhile, whoever launches it.
            self.runs = not tape.device.interprets or runs_by_loops(tape)
        return self.runs


def computed_operands(likes: list[Node], args: Any) -> Any:
    """The values of arrays that lie as the symbols `likes` do, in memory or one number; None where one does not.

    What is pending is computed, and views are copied, if they are not large.
    """
    count = len(likes)
    if len(args) != count:
        return None
    operands: list[Any] = []
    waiting: Any = None
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
            strides = array._strides
            if strides is not like.strides and strides != like.strides and not in_order(array._shape, strides, like):
                return None
            node = full(node.attr, node.code, node.shape, like.strides)
        elif node.kind != LEAF or (node.strides is not like.strides and node.strides != like.strides):
            found = in_form(node, like)
            if found is None:
                return None
            node = found
            if waiting is None:
                waiting = []
            waiting.append(node)
        operands.append(node)
    if waiting is not None:
        evaluate(waiting)
        for node in waiting:
            if node.kind != LEAF:
                return None
    return operands


def in_form(node: Node, like: Node) -> Node | None:
    """Return a value that lies as a symbol does once it is computed, or None where the long way takes less.

    That fuses it with what reads it, which is no gain of few bytes. What repeats its elements is taken as it is there.
    """
    if node.tree or node.size * ITEMSIZES[node.code] > BYTES:
        return None
    if node.kind != VIEW:
        return node if node.kind != LEAF and node.strides == like.strides else None
    return copied(node, like.strides, node.code) if in_order(node.shape, node.strides, like) else None


def in_order(shape: tuple[int, ...], strides: tuple[int, ...], like: Node) -> bool:
    """Return whether axes lie in the order of a symbol, and repeat nothing: else another record is meant."""
    for step, extent in zip(strides, shape, strict=True):
        if step == 0 and extent > 1:
            return False
    return order(shape, strides, ITEMSIZES[like.code]) == like.strides


class Known:
    """A function of known shapes; `state` is None where each call of it must be looked at."""

    state: Any

    def run_computed(self, operands: list[Any]) -> Any:
        """Return arrays by the short way, of computed values that lie as the symbols do."""
        raise NotImplementedError

    def given(self, arrays: list[Any]) -> Any:
        """Return outputs as they were asked for."""
        raise NotImplementedError


class Called:
    """Something that is called with arrays, by the short way where these allow it.

    Attributes
    ----------
    ready : Known or None
        What it does with arrays that lie as those of an earlier call; None where more must be looked at.
    """

    ready: Any

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return what it gives for these arguments."""
        ready = self.ready  # Another thread may put another one there.
        if ready is not None and not named and _counters.profiler is None:  # Who is told of each call.
            state = cython.cast(Known, ready).state
            if state is not None and not (_register.tracing and tracing()):
                operands = computed_operands(cython.cast(CallState, state).likes, args)
                if operands is not None:
                    if _verify or cython.cast(CallState, state).drawn:
                        arrays = ready.run_computed(operands)
                    else:
                        for storage in cython.cast(CallState, state).storages:
                            operands.append(storage.value)
                        arrays = run_fast(state, operands)
                    return arrays[0] if cython.cast(CallState, state).plain else ready.given(arrays)
        return self._called(args, named)

    def _called(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what it gives for any arguments."""
        raise NotImplementedError


def run_fast(state: CallState, operands: list[Any]) -> Any:
    """Return arrays of what a trace records, all of them computed.

    `operands` are computed values: of a call's arguments, then of shared variables, and blocks of random numbers.
    """
    recorded, results, updated = state.recorded, state.results, state.updated
    arrays: list[Any] = []
    ready = state.runs or state.is_ready()
    if ready:
        if _register.oldest is not None:  # It would keep the tape from running; nothing of it is read here.
            evaluate([])
        found = run_taped(state.taped, operands, False)
        if found is not None:
            for node in found:
                arrays.append(wrap(node))
            if updated and (state.may_fail or _counters.doubts > 0):
                check_values([node_of(array) for array in arrays])
            update(arrays, len(results) - len(updated), updated)
            return arrays
    given = list(operands) if _verify else None
    records = False
    if ready or state.taped is None:
        state.calls += 1
        records = state.calls == state.next
    if records:
        state.next = min(2 * state.next, state.next + MOST)
    with config(placement="device") if is_mixed() and is_far(recorded, state, operands) else nullcontext():
        if records:
            arrays = taped_anew(recorded, results, operands, state)
        else:
            arrays = run_recorded(recorded, results, operands)
    if given is not None and state.taped is not None:
        check(state.taped, given, arrays)
    if updated and (state.may_fail or _counters.doubts > 0):
        check_values([node_of(array) for array in arrays])
    update(arrays, len(results) - len(updated), updated)
    return arrays


def is_far(recorded: RecordedTrace, state: CallState, operands: list[Any]) -> bool:
    """Return whether all of it runs on the GPU: some of what it takes lies there, or a loop of it ran there.

    What is around would have to move, and its results back.
    """
    if config.placement != "auto":
        return False
    for node in operands:
        if node.kind == LEAF and not is_near(node.buffer):
            return True
    if state.loops is None:
        calls = [one.call for one in recorded.instructions]
        state.loops = [call for call in calls if getattr(call, "is_far", None) is not None]
    return any([loop.is_far for loop in state.loops])


def may_run() -> bool:
    """Return whether something runs the launches of a tape: kernels, maybe later, or ready-made loops."""
    device: Any = current()
    return not device.interprets or device.loops is not None or (device.compiles and config.cpu_compile != "never")


def run_recorded(
    recorded: RecordedTrace, results: tuple[int, ...], operands: list[Node], trace: list[Node] | None = None
) -> list[Any]:
    """Return arrays of what a trace records for operands, whose list is emptied, all of them computed.

    `trace` gets what the trace has beside the operands: numbers among it are the same in each call.
    """
    given = len(operands)
    replay(recorded, operands)
    if trace is not None:
        constants = zip(recorded.instructions, operands[given:], strict=True)
        trace += [node for one, node in constants if one.call is None and one.first < 0]
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


def taped_anew(recorded: RecordedTrace, results: tuple[int, ...], operands: list[Node], state: CallState) -> list[Any]:
    """`run_recorded`, which is recorded as a tape."""
    if not may_run():  # Nothing would run what is recorded.
        return run_recorded(recorded, results, operands)
    apart_numbers(operands)
    given = list(operands)
    arrays: list[Any] = []

    trace: list[Node] = []

    def run() -> list[Node]:
        arrays.extend(run_recorded(recorded, results, operands, trace))
        return [node_of(array) for array in arrays]

    try:
        taped = prepare(given, constants_of(recorded), (), run, plans=True, numbers=True, trace=trace)[0]
        if taped is not None:
            taped.capture = capture_call
            state.taped = taped
            state.runs = False
    except OutOfMemoryError:  # What runs is kept until all has run.
        return run_recorded(recorded, results, given)
    return arrays


def apart_numbers(operands: list[Node]) -> None:
    """Have each number among operands be a node of its own, as the key of a generator that draws twice is not."""
    seen: set[int] = set()
    for place, node in enumerate(operands):
        if id(node) in seen and node.kind in (SCALAR, FILL):
            alike = new_node(node.kind, None, (), node.code, node.shape, node.strides, node.size, node.attr)
            operands[place] = alike
        seen.add(id(operands[place]))


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


def check(taped: TapedCall, operands: list[Any], arrays: list[Any]) -> None:
    """Run a tape beside the long way, whose results are there, and compare the bits."""
    found = run_taped(taped, operands, True)
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


__all__ = ["CallState", "Called", "Known", "in_form", "run_fast", "wrap_all"]
