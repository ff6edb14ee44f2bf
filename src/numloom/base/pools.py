"""Pools of Python's threads: few need one, and ``concurrent.futures`` takes 3 ms to import."""

from __future__ import annotations

from concurrent.futures import Future, wait
from concurrent.futures.thread import ThreadPoolExecutor

from numloom.base.forking import register

register()  # `submit` asks for a lock that the library registers, and is called by threads that hold ours.

__all__ = ["Future", "ThreadPoolExecutor", "wait"]
