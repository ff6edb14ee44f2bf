"""Who is told of memory that is taken and given back: the hooks that are active."""

from __future__ import annotations

import sys
import threading
from typing import Any, cast

from numloom.cuda.devices import current_id

_local = threading.local()


def active() -> dict[str, Any]:
    """Hooks of the thread that are active, by name."""
    if not hasattr(_local, "hooks"):
        _local.hooks = {}
        _local.busy = False
    return _local.hooks  # type: ignore[no-any-return]


def told(what: str, nbytes: int, size: int, address: int) -> None:
    """What `Pool.watch` calls."""
    hooks = active()
    if not hooks or _local.busy:  # Another thread's, or a hook that computes.
        return
    _local.busy = True
    try:
        for hook in list(hooks.values()):
            number = current_id()
            if what == "malloc_before":
                hook.malloc_preprocess(device_id=number, size=nbytes, mem_size=size)
            elif what == "malloc_after":
                hook.malloc_postprocess(device_id=number, size=nbytes, mem_size=size, mem_ptr=address, pmem_id=address)
            else:
                called = hook.free_preprocess if what == "free_before" else hook.free_postprocess
                try:
                    called(device_id=number, mem_size=size, mem_ptr=address, pmem_id=address)
                except Exception as error:  # Memory is freed in the middle of anything: nobody could catch it.
                    sys.unraisablehook(cast(Any, _Unraisable(error, called)))
    finally:
        _local.busy = False


class _Unraisable:
    """What `sys.unraisablehook` takes."""

    def __init__(self, error: BaseException, function: Any) -> None:
        self.exc_type, self.exc_value, self.exc_traceback = type(error), error, error.__traceback__
        self.err_msg, self.object = "a memory hook failed in", function


def before_raw(size: int) -> None:
    """Tell hooks that memory is asked of the device."""
    for hook in _others():
        hook.alloc_preprocess(device_id=current_id(), mem_size=size)


def after_raw(size: int, address: int) -> None:
    """Tell hooks what the device gave."""
    for hook in _others():
        hook.alloc_postprocess(device_id=current_id(), mem_size=size, mem_ptr=address)


def _others() -> list[Any]:
    hooks = active()
    return [] if _local.busy else list(hooks.values())


__all__ = ["active", "after_raw", "before_raw", "told"]
