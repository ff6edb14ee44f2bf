"""What is made once and shared: as long as anybody has it, and the last of it in any case."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

from numloom.base.memo import Memo

K = TypeVar("K")
V = TypeVar("V")


class Lasting(Generic[K, V]):
    """Values by key. One that somebody has is the one that is found; when nobody has it, it may be forgotten.

    Parameters
    ----------
    room : int
        Most values that stay though nobody else has them: a full table lets go of every other one.
    """

    def __init__(self, room: int) -> None:
        self.alive: weakref.WeakValueDictionary[K, V] = weakref.WeakValueDictionary()
        self._held = Memo(room)

    def get(self, key: K) -> V | None:
        """The value of a key, if it is there."""
        return self.alive.get(key)

    def setdefault(self, key: K, value: V) -> V:
        """The value of a key, or else this one, which is forgotten when nobody has it unless it is kept."""
        return self.alive.setdefault(key, value)

    def keep(self, key: K, value: V) -> V:
        """Have a value last, and give it back."""
        self.alive[key] = value
        self._held.keep(key, value)
        return value

    def values(self) -> list[V]:
        """Those that are there."""
        return list(self.alive.values())

    def forget_half(self) -> None:
        """Let go of every other one."""
        self._held.forget_half()


__all__ = ["Lasting"]
