"""What runs where beside a GPU, for people."""

from __future__ import annotations

from dataclasses import dataclass

from numloom.base.config import config
from numloom.base.wording import counted
from numloom.device.registry import beside, current
from numloom.engine.placement import Move, moves


@dataclass(frozen=True)
class Placement:
    """Where work runs, and what moved for it since the process started.

    Attributes
    ----------
    device : str
        The current device.
    on_host : bool
        Whether small work may run on the host beside it.
    to_device, to_host : int
        How many values moved.
    bytes_to_device, bytes_to_host : int
        Their bytes.
    recent : tuple of Move
        The last moves, each with dtype, shape, bytes, why, and the line of the program.
    """

    device: str
    on_host: bool
    to_device: int
    to_host: int
    bytes_to_device: int
    bytes_to_host: int
    recent: tuple[Move, ...]

    def __str__(self) -> str:
        if self.on_host:
            first = f"small work (up to {config.unplanned:,} elements) runs on the host where that takes less time"
        else:
            first = "all work runs there"
        lines = [
            f"{self.device}: {first}",
            f"moved to the device: {counted(self.to_device, 'value')}, {counted(self.bytes_to_device, 'byte')}",
            f"moved to the host: {counted(self.to_host, 'value')}, {counted(self.bytes_to_host, 'byte')}",
        ]
        for move in self.recent:
            where = "device" if move.to_device else "host  "
            lines.append(
                f"  to the {where} {move.dtype}{list(move.shape)}, {counted(move.nbytes, 'byte')}: "
                f"{move.why}, {move.line}"
            )
        return "\n".join(lines)


def placement() -> Placement:
    """What runs where beside a GPU: whether small work runs on the host, and what moved between the two, and why.

    Returns
    -------
    Placement
        Printed, it is a table.

    Examples
    --------
    >>> import numloom as np
    >>> print(np.placement())  # doctest: +ELLIPSIS
    c...
    """
    device = current()
    return Placement(
        device.name, beside(device) is not None, moves.to_device, moves.to_host, moves.bytes_to_device,
        moves.bytes_to_host, tuple(moves.recent),
    )  # fmt: skip


__all__ = ["Placement", "placement"]
