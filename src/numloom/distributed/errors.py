"""What goes wrong between processes."""

from __future__ import annotations

from numloom.base.errors import DeviceError


class GroupError(DeviceError):
    """Processes of a group do not come together: one is gone, does not answer, or called something else.

    Attributes
    ----------
    peer : int
        The process that it is about; -1 where that is not one.
    """

    def __init__(self, text: str, peer: int = -1) -> None:
        self.peer = peer
        super().__init__(text)

    def __reduce__(self) -> tuple[type[GroupError], tuple[str, int]]:
        return type(self), (str(self), self.peer)


class GroupTimeoutError(GroupError, TimeoutError):
    """Another process did not come in time."""


__all__ = ["GroupError", "GroupTimeoutError"]
