"""``cupy.fft.config``: settings of plans, taken for CuPy's sake. Plans are kept by themselves, 64 of each GPU.

A plan has no memory of its own: a transform takes its workspace from the pool and gives it back, so that there is
nothing to bound or to clear here.
"""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

KEPT = 64
use_multi_gpus = False
"""A transform runs on one GPU: split it, or use a process for each GPU (`numloom.distributed`)."""
_settings: dict[str, Any] = {"enable_nd_planning": True}


class _Config(ModuleType):
    """The module's class: a setting that is read or set says that it is deprecated, as in CuPy 14."""

    @property
    def enable_nd_planning(self) -> Any:
        """Whatever it says, a transform over several axes is one plan where cuFFT can describe it."""
        _tell("enable_nd_planning")
        return _settings["enable_nd_planning"]

    @enable_nd_planning.setter
    def enable_nd_planning(self, value: Any) -> None:
        _tell("enable_nd_planning")
        _settings["enable_nd_planning"] = value


def _tell(name: str) -> None:
    warnings.warn(f"cupy.fft.config.{name} is deprecated and changes nothing", DeprecationWarning, stacklevel=3)


sys.modules[__name__].__class__ = _Config


class PlanCache:
    """The limits that a program has set, and what there is: plans are numloom's own."""

    def __init__(self, size: int = KEPT, memsize: int = -1, dev: int = -1) -> None:
        self._size = size
        self._memsize = memsize

    def get_size(self) -> int:
        """The limit of plans that was set."""
        return self._size

    def set_size(self, size: int) -> None:
        """Note a limit of plans."""
        if size < -1:
            raise ValueError(f"a limit is a number of plans, or -1 for none; got {size}")
        self._size = size

    def get_memsize(self) -> int:
        """The limit of bytes that was set."""
        return self._memsize

    def set_memsize(self, memsize: int) -> None:
        """Note a limit of bytes: plans take none."""
        if memsize < -1:
            raise ValueError(f"a limit is a number of bytes, or -1 for none; got {memsize}")
        self._memsize = memsize

    def get_curr_memsize(self) -> int:
        """Bytes of the GPU that plans hold: none."""
        return 0

    def get_curr_size(self) -> int:
        """Plans that could be given back: none."""
        return 0

    def clear(self) -> None:
        """Nothing is held that could be given back."""

    def show_info(self) -> None:
        """Print what is known."""
        print(f"plans are kept by themselves, at most {KEPT}, and hold no memory of the pool")


_cache = PlanCache()


def get_plan_cache() -> PlanCache:
    """What stands for CuPy's cache of plans.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> cache = cp.fft.config.get_plan_cache()
    >>> cache.set_size(8)
    >>> cache.get_size(), cache.get_curr_memsize()
    (8, 0)
    """
    return _cache


def clear_plan_cache() -> None:
    """Nothing is held that could be given back."""
    _cache.clear()


def get_plan_cache_size() -> int:
    """The limit of plans that was set."""
    return _cache.get_size()


def set_plan_cache_size(size: int) -> None:
    """Note a limit of plans."""
    _cache.set_size(size)


def get_plan_cache_max_memsize() -> int:
    """The limit of bytes that was set."""
    return _cache.get_memsize()


def set_plan_cache_max_memsize(size: int) -> None:
    """Note a limit of bytes: plans take none."""
    _cache.set_memsize(size)


def show_plan_cache_info() -> None:
    """Print what is known of plans."""
    _cache.show_info()


__all__ = [
    "PlanCache", "clear_plan_cache", "get_plan_cache", "get_plan_cache_max_memsize",
    "get_plan_cache_size", "set_plan_cache_max_memsize", "set_plan_cache_size", "show_plan_cache_info",
    "use_multi_gpus",
]  # fmt: skip
__all__ += ["enable_nd_planning"]  # noqa: F822
