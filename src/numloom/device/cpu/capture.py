"""Launches of the host taken down in a row: see `numloom.device.interface.Capture`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.device.capture import LiveCapture
from numloom.device.cpu import threads
from numloom.device.memory import Buffer


class ChainCapture(LiveCapture):
    """A `Capture`, and what was captured: calling it with addresses of what is given runs it.

    What is given has the address 0 meanwhile, so blocks hold how far from there each word is.
    """

    def __init__(self, device: Any, chain: Any) -> None:
        super().__init__(device)
        self.chain = chain
        self.given: list[Buffer] = []

    def operand(self, nbytes: int, launched: bool = False) -> Buffer:
        """Memory that each run is given."""
        self.given.append(Buffer(0, nbytes))
        return self.given[-1]

    result = operand

    def number(self) -> Buffer:
        """Return what stands for a word that each run is given."""
        return self.operand(0)

    def _places(self, buffers: Sequence[Any]) -> list[int]:
        return [next((place for place, one in enumerate(self.given) if one is buffer), -1) for buffer in buffers]

    def live(self, bound: Callable[[], None]) -> None:
        """Refuse: a launch is a call, so in a row they take no less time."""
        self.refuse()

    def launch(self, bound: Callable[[], None], words: Sequence[int], buffers: Sequence[Any]) -> None:
        """Take a launch down."""
        if type(bound) is not threads.bound:
            raise RuntimeError("a launch that may do more than to call one function")
        self.chain.launch(bound, list(words), self._places(buffers))

    def call(self, bound: Callable[..., Any], buffers: Sequence[Any], addresses: Sequence[int]) -> None:
        """Take a routine down."""
        self.chain.call(bound, list(addresses), self._places(buffers))

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        """Take a copy down."""
        to, begin = self._places([target, source])
        self.chain.copy(target.ptr + target_offset, to, source.ptr + source_offset, begin, nbytes)

    def __call__(self, addresses: Sequence[int]) -> bool:
        return bool(self.chain(list(addresses)))


__all__ = ["ChainCapture"]
