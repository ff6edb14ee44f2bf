"""Draws again: what a call records follows from its arguments, but for the blocks of random bits that it takes.

So the numbers of these blocks and the key are the operands of a chain (`numloom.graph.replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from numloom.api.calling import is_whole, noted
from numloom.api.verifying import beside
from numloom.array.ndarray import ndarray, wrap
from numloom.base.config import config
from numloom.device.registry import current
from numloom.graph.node import register
from numloom.graph.replay import Chain, Trace, end, learning, replay, start

Method = TypeVar("Method", bound=Callable[..., Any])
_KEPT = 1024
_ONCE = object()
"""What is known of a call that was met once."""


def drawn(method: Method) -> Method:
    """A method of what has a `_bit_generator` that gives a new array, which numbers, text and dtypes alone describe.

    It must not warn. Calls with arrays among their arguments are done in full.
    """
    known: dict[Any, Any] = {}

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        arrays: list[Any] = []
        given = noted((*args, *options.values()), arrays)
        if given is None or arrays:
            return method(self, *args, **options)
        source = self._bit_generator
        key = (type(self), given, len(args), *options, current())
        found = known.get(key)
        if type(found) is tuple:
            chain, counts = found
            operands: list[Any] = []
            before = source.state if config.verify and not learning() else None
            for count in counts:
                operands += source.take(count)
            result = wrap(replay(chain, operands))
            if before is None:
                return result
            source.state = before
            return beside(lambda: method(self, *args, **options), lambda: result)
        if found is None or source.taken is not None or register.tracing:
            if found is None:
                if len(known) >= _KEPT:
                    known.clear()
                known[key] = _ONCE
            return method(self, *args, **options)
        # Calls of other threads take blocks that this one does not use, and so are not learned from.
        taken: list[Any] = []
        source.taken = taken
        trace = start(None, [], False)
        try:
            result = method(self, *args, **options)
        finally:
            end(trace)
            source.taken = None
        known[key] = _learned(trace, result, taken) or False
        return result

    return call  # type: ignore[return-value]


def _learned(trace: Trace, result: Any, taken: list[Any]) -> tuple[Chain, list[int]] | None:
    """The chain that leads from taken blocks to a result, and how many they are; None where they do not say it all."""
    if type(result) is not ndarray or not is_whole(result) or not taken or trace.lost:
        return None
    operands = trace.operands = [node for _, *nodes in taken for node in nodes]
    number = trace.number(result.cell.value)
    if number < len(operands):
        return None
    links, _ = trace.needed([number])
    read = {arg for link in links for arg in (link.first, link.second, *link.rest)}
    if not read.issuperset(range(len(operands))):
        return None
    return Chain(None, operands, links, None, None), [count for count, *_ in taken]


__all__ = ["drawn"]
