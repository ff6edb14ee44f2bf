"""The host's kernels over memory that the host does not see, as a GPU's: elements are pending, errors come later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numloom as nl
from numloom.device import registry
from numloom.device.memory import Pool
from numloom.engine.evaluate import plans_of


@contextmanager
def apart() -> Iterator[Any]:
    """The CPU's device is replaced by one whose memory is out of sight, for as long as this is open."""
    nl.synchronize()
    inner = registry.get("cpu")
    device: Any = type(inner)()
    device.pool = Pool(inner.pool.name, inner.pool.raw_allocate, inner.pool.raw_free, cache_limit=1 << 24, error_at=0)
    device.allocate = device.pool.allocate
    device.keeps = inner.pool
    device.view = lambda buffer: None
    registry._devices["cpu"] = device
    try:
        with registry.use("cpu"):
            yield device
            nl.synchronize()
    finally:
        registry._devices["cpu"] = inner
        plans_of(device).clear()
        device.builder.stop()
