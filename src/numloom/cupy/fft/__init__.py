"""``cupy.fft``: `numloom.fft` that hears of the plan of a ``with`` block, and the settings that programs ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from numloom import fft as ours
from numloom.cupy.fft import config, plans
from numloom.fft import *  # noqa: F403

_TRANSFORMS = (
    "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftn",
)  # fmt: skip


def _hearing(name: str) -> Callable[..., Any]:
    """The transform, refused where the plan of a ``with`` block is for another."""
    transform = getattr(ours, name)
    signature = inspect.signature(transform)

    @wraps(transform)
    def planned(*args: Any, **named: Any) -> Any:
        if plans.is_entered():
            bound = signature.bind(*args, **named)
            bound.apply_defaults()
            a, lengths, axes = list(bound.arguments.values())[:3]
            plans.check(name, a, lengths, axes, None)
        return transform(*args, **named)

    return planned


globals().update({name: _hearing(name) for name in _TRANSFORMS})


def __getattr__(name: str) -> Any:
    return getattr(ours, name)


def __dir__() -> list[str]:
    return sorted({*dir(ours), "config"})


__all__ = ["config"]
__all__ += ours.__all__
