"""A stand-in for graphs: launches whose blocks are read in each run, one after another, as one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.device.capture import LiveCapture


class Joined(LiveCapture):
    """Such launches.

    Attributes
    ----------
    calls : int
        How often they ran.
    refuses : bool
        Whether they cannot run the next time.
    """

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.calls = 0
        self.refuses = False

    @classmethod
    def of(cls, device: Any) -> Callable[[Callable[[Any], None]], Any]:
        """Return a method `captured` for a device."""
        return lambda calls: cls(device).captured(calls)

    def __call__(self, addresses: Sequence[int]) -> bool:
        assert not addresses
        self.calls += 1
        if self.refuses:
            self.refuses = False
            return False
        for launch in self.launches:
            launch()
        return True


def joining(captured: Callable[..., Any], made: list[Joined]) -> Callable[..., Any]:
    """Return a device's method `captured` that joins such launches, and notes them; else it does as before."""

    def either(self: Any, calls: Callable[[Any], None]) -> Any:
        found = Joined(self).captured(calls)
        if found is None:
            return captured(self, calls)
        made.append(found)
        return found

    return either
