"""Memory hooks: functions that are told of each allocation, by CuPy's names."""

from __future__ import annotations

from typing import Any

from numloom.base.forking import lock
from numloom.cuda.devices import flush
from numloom.cuda.memory import source
from numloom.cuda.watching import active, told
from numloom.device.memory import Pool

_counting = lock()
_watched: dict[int, tuple[Pool, int]] = {}
"""Pools that are watched, and by how many hooks."""


class MemoryHook:
    """Methods that are called when memory is taken and given back, while a ``with`` block of the hook runs.

    Subclass it and define what you need: `alloc_preprocess` and `alloc_postprocess` (memory is asked of the device),
    `malloc_preprocess` and `malloc_postprocess` (memory is asked of the pool), `free_preprocess` and
    `free_postprocess` (memory goes back to the pool).

    Notes
    -----
    Recorded work takes memory when it runs. What is pending runs before the block begins and before it ends, so that
    the block's own work is counted in it, and at the line that makes it run.

    Methods may make, read and write arrays. A look at one that is just being computed, which is why the hook is
    called, raises `RuntimeError`.

    Examples
    --------
    >>> import numloom as np
    >>> class Count(np.cuda.MemoryHook):
    ...     name = "Count"
    ...     taken = 0
    ...     def malloc_postprocess(self, **given):
    ...         self.taken += given["mem_size"]
    >>> with Count() as count:
    ...     x = np.arange(1000.0) + 1
    >>> count.taken >= 8000
    True
    """

    name = "MemoryHook"

    def __enter__(self) -> Any:
        hooks = active()
        if self.name in hooks:
            raise KeyError(f"a memory hook {self.name!r} is active already: give one of them another name")
        flush()
        _watch(1)
        hooks[self.name] = self
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        try:
            if kind is None:
                flush()
        finally:
            del active()[self.name]
            _watch(-1)

    def alloc_preprocess(self, *, device_id: int, mem_size: int) -> None:
        """Called before `mem_size` bytes are asked of the device."""

    def alloc_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        """Called when the device has given them, at `mem_ptr` (0: it had none)."""

    def malloc_preprocess(self, *, device_id: int, size: int, mem_size: int) -> None:
        """Called before `size` bytes are asked of the pool, which rounds them up to `mem_size`."""

    def malloc_postprocess(self, *, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Called when the pool has given them, at `mem_ptr`; `pmem_id` is the same when they come back."""

    def free_preprocess(self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Called before `mem_size` bytes go back to the pool."""

    def free_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Called when they are there."""


def _watch(change: int) -> None:
    """One hook more or less of this device's pool."""
    pool = source().pool
    with _counting:
        count = _watched.get(id(pool), (pool, 0))[1] + change
        if count:
            _watched[id(pool)] = (pool, count)
            pool.watch(told)
        else:
            del _watched[id(pool)]
            pool.watch(None)


__all__ = ["MemoryHook"]
