"""Bounded tables of what was found once and need not be found again."""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython


@cython.cclass
class Memo:
    """What was found once, by key: a full one forgets every other entry.

    So of what comes round more than there is room for, some is met again; a table that is emptied, or that forgets what
    was used longest ago, meets none of it.

    Parameters
    ----------
    room : int
        Most entries.

    Attributes
    ----------
    entries : dict
        The entries, for reading.
    """

    def __init__(self, room: int = 1 << 14) -> None:
        self.entries: dict[Any, Any] = {}
        self.room = room

    def keep(self, key: Any, value: Any) -> Any:
        """Remember a value, and give it back."""
        if len(self.entries) >= self.room:
            self.forget_half()
        self.entries[key] = value
        return value

    def forget_half(self) -> None:
        """Forget every other entry."""
        for key in list(self.entries)[::2]:
            self.entries.pop(key, None)

    def forget(self) -> None:
        """Forget all entries."""
        self.entries.clear()


__all__ = ["Memo"]
