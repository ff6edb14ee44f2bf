"""Draws again: what a call records follows from its arguments, but for the blocks of random bits that it takes.

So the numbers of these blocks and the key are the operands of a recorded trace (`numloom.graph.replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from numloom.api.calling import is_whole, noted
from numloom.api.verifying import beside
from numloom.array.ndarray import ndarray, wrap
from numloom.base.config import config
from numloom.base.memo import Memo
from numloom.device.registry import current
from numloom.graph.node import tracing
from numloom.graph.replay import RecordedTrace, TraceRecorder, end, learning, replay, start

Method = TypeVar("Method", bound=Callable[..., Any])
_ONCE = object()
"""What is known of a call that was met once."""


def drawn(method: Method) -> Method:
    """A method of what has a `_bit_generator` that gives a new array, which numbers, text and dtypes alone describe.

    It must not warn. Calls with arrays among their arguments are done in full.
    """
    known = Memo(1024)

    def in_full(self: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = method(self, *args, **options)
        if (
            type(result) is ndarray
            and result.is_scalar
            and any(type(given) is tuple and not given for given in (*args, *options.values()))
        ):
            result.is_scalar = False  # Of ``size=()`` NumPy gives an array.
        return result

    def checked(self: Any, args: Any, options: Any, recorded: RecordedTrace, counts: list[int]) -> Any:
        """What is remembered of a call beside the call in full, by the same blocks, which no other thread has."""
        source = self._bit_generator
        with source.lock:
            before = source.state
            operands = [node for count in counts for node in source.take(count)]
            result = wrap(replay(recorded, operands))
            after, source.state = source.state, before
            try:
                return beside(lambda: in_full(self, args, options), lambda: result)
            finally:
                source.state = after  # Another thread may learn a call meanwhile: then nothing was done in full.

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        arrays: list[Any] = []
        given = noted((*args, *options.values()), arrays)
        if given is None or arrays:
            return in_full(self, args, options)
        source = self._bit_generator
        key = (type(self), given, len(args), *options, current())
        found = known.entries.get(key)
        if type(found) is tuple:
            recorded, counts = found
            if config.verify and not learning():
                return checked(self, args, options, recorded, counts)
            operands: list[Any] = []
            for count in counts:
                operands += source.take(count)
            return wrap(replay(recorded, operands))
        if found is None or source.taken is not None or tracing():
            if found is None:
                known.keep(key, _ONCE)
            return in_full(self, args, options)
        # Calls of other threads take blocks that this one does not use, and so are not learned from.
        taken: list[Any] = []
        source.taken = taken
        recorder = start(None, [], False)
        try:
            result = in_full(self, args, options)
        finally:
            end(recorder)
            source.taken = None
        known.keep(key, _learned(recorder, result, taken) or False)
        return result

    return call  # type: ignore[return-value]


def _learned(recorder: TraceRecorder, result: Any, taken: list[Any]) -> tuple[RecordedTrace, list[int]] | None:
    """The trace that leads from taken blocks to a result, and how many they are; None where they do not say it all."""
    if type(result) is not ndarray or not is_whole(result) or not taken or recorder.lost:
        return None
    operands = recorder.operands = [node for _, *nodes in taken for node in nodes]
    number = recorder.number(result.storage.value)
    if number < len(operands):
        return None
    instructions, _ = recorder.needed([number])
    read = {arg for instruction in instructions for arg in (instruction.first, instruction.second, *instruction.rest)}
    if not read.issuperset(range(len(operands))):
        return None
    return RecordedTrace(None, operands, instructions, None, None), [count for count, *_ in taken]


__all__ = ["drawn"]
