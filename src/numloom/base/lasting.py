"""What is made once and shared: as long as anybody has it, and the last of it in any case."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

import numpy as np

from numloom.base.memo import Memo

K = TypeVar("K")
V = TypeVar("V")


class _Keyed(weakref.ref[V]):
    """A weak reference to the value of a key."""

    __slots__ = ("key",)

    key: Any


class WeakValues(Generic[K, V]):
    """Values by key, each as long as somebody has it.

    As `weakref.WeakValueDictionary`, but no line of Python runs where a value dies: Ctrl-C would be lost there.
    """

    def __init__(self) -> None:
        self._known: dict[K, _Keyed[V]] = {}
        self._dead: list[Any] = []

    def get(self, key: K) -> V | None:
        """The value of a key, if it is there."""
        found = self._known.get(key)
        return None if found is None else found()

    def __setitem__(self, key: K, value: V) -> None:
        self._bury()
        made = _Keyed(value, self._dead.append)
        made.key = key
        self._known[key] = made

    def setdefault(self, key: K, value: V) -> V:
        """The value of a key, or else this one."""
        found = self.get(key)
        if found is None:
            self[key] = found = value
        return found

    def __contains__(self, key: K) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        self._bury()
        return len(self._known)

    def values(self) -> list[V]:
        """Those that are there."""
        return [value for found in list(self._known.values()) if (value := found()) is not None]

    def _bury(self) -> None:
        """Forget the keys of values that died."""
        while self._dead:
            try:
                dead = self._dead.pop()
            except IndexError:  # Another thread took the last one.
                return
            other = self._known.pop(dead.key, None)
            if other is not None and other is not dead:  # The key has another value by now.
                self._known.setdefault(dead.key, other)


class Lasting(Generic[K, V]):
    """Values by key. One that somebody has is the one that is found; when nobody has it, it may be forgotten.

    Parameters
    ----------
    room : int
        Most values that stay though nobody else has them: a full table lets go of every other one.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._alive: WeakValues[K, V] = WeakValues()
        self._held = Memo(room)
        self._come = 0  # since it was crowded last

    def get(self, key: K) -> V | None:
        """The value of a key, if it is there."""
        return self._alive.get(key)

    def setdefault(self, key: K, value: V) -> V:
        """The value of a key, or else this one, which is forgotten when nobody has it unless it is kept."""
        return self._alive.setdefault(key, value)

    def keep(self, key: K, value: V) -> V:
        """Have a value last, and give it back."""
        self._alive[key] = value
        self._held.keep(key, value)
        self._come += 1
        return value

    def __len__(self) -> int:
        return len(self._alive)

    def values(self) -> list[V]:
        """Those that are there."""
        return self._alive.values()

    def crowded(self) -> bool:
        """Whether more are there than there is room for, so that others who have some had better let go of them.

        Half of those that are held here go then. If as many stay since others have them, it is crowded again only
        when half as many as there is room for have come.
        """
        if len(self._alive) <= self.room or 2 * self._come < self.room:
            return False
        self._come = 0
        self._held.forget_half()
        return True


class Rest(weakref.ref[Any]):
    """What is left to do for an object when nobody can use it any more.

    Attributes
    ----------
    what : object
        As `token` was given it.
    """

    __slots__ = ("what",)

    what: Any


_rests: dict[int, Rest] = {}
"""Of tokens whose `settled` is still to come, by identity: a weak reference that goes first tells nobody."""


def token(what: Any, gone: list[Rest]) -> object:
    """Make something to put into an object, whose `Rest` comes to `gone` when nobody can use that object any more.

    A finalizer of the object itself may come too early: of objects in a cycle all finalizers run, in any order, before
    the first of them is freed, and one that a user wrote may use the others, and keep them. An array is not in cycles.
    And no line of Python runs then, where Ctrl-C would be lost.
    """
    made = np.empty(0)
    rest = Rest(made, gone.append)
    rest.what = what
    _rests[id(rest)] = rest
    return made


def settled(rest: Rest) -> None:
    """Forget what has been done."""
    _rests.pop(id(rest), None)


__all__ = ["Lasting", "Rest", "WeakValues", "settled", "token"]
