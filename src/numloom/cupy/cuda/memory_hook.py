"""``cupy.cuda.memory_hook``: the class of hooks, and those that are active."""

from numloom.cuda.hooks import MemoryHook
from numloom.cuda.watching import active as get_memory_hooks

__all__ = ["MemoryHook", "get_memory_hooks"]
