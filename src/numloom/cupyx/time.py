"""``cupyx.time``: the older name of `cupyx.profiler.benchmark`."""

from numloom.cuda.profiler import benchmark as repeat

__all__ = ["repeat"]
