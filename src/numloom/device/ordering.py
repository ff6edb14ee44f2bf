"""The order of a GPU's streams: work that uses the memory of another stream comes after what that has done to it.

A stream lends its memory to the work of another one (`numloom.device.registry.on`). `before` that, the borrower waits
for the lender's own work, `after` it the lender waits for the borrower. So two borrowers that only read do not wait for
each other, though the lender waits for both: its mark, an event behind its own work, lies before these waits.
"""

from __future__ import annotations

from typing import Any

from numloom.base.forking import lock

_lock = lock()


def gpu_of(device: Any) -> Any:
    """The GPU of a stream; any other device is its own."""
    return getattr(device, "gpu", device)


def before(borrower: Any, lender: Any, writes: bool) -> None:
    """Have later work of the borrower after what the lender has done; if it `writes`, also after all who read that."""
    with _lock:
        if writes:
            borrower.follow(lender)
            return
        _mark(lender)
        if borrower.seen.get(lender) != lender.version:
            borrower.follow_mark(lender)
            borrower.seen[lender] = lender.version


def after(borrower: Any, lender: Any, writes: bool) -> None:
    """Have later work of the lender after what the borrower has done."""
    with _lock:
        if not writes:
            _mark(lender)
        lender.follow(borrower)
        if writes:
            lender.touched = True  # Who reads it next comes after what was written, too.


def _mark(lender: Any) -> None:
    """Put the lender's mark behind its own work, if it has done any since."""
    if lender.touched:
        lender.touched = False
        lender.version += 1
        lender.mark()


__all__ = ["after", "before", "gpu_of"]
