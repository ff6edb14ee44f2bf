"""``cupyx.distributed``: processes that compute together; NCCL where arrays are on a GPU, connections elsewhere."""

from __future__ import annotations

from typing import Any

from numloom.distributed.group import ProcessGroup
from numloom.distributed.group import init_process_group as init

NCCLBackend = ProcessGroup
Backend = ProcessGroup


def init_process_group(
    n_devices: int, rank: int, *, backend: str = "nccl", host: str | None = None, port: int | None = None, **more: Any
) -> ProcessGroup:
    """`numloom.distributed.init_process_group`; "nccl", CuPy's only backend, is what fits the device.

    Examples
    --------
    >>> from numloom.cupyx import distributed
    >>> group = distributed.init_process_group(1, 0, port=0)
    >>> group.rank
    0
    >>> group.stop()
    """
    return init(n_devices, rank, backend="auto" if backend == "nccl" else backend, host=host, port=port, **more)


__all__ = ["Backend", "NCCLBackend", "ProcessGroup", "init_process_group"]
