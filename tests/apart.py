"""The host's kernels over memory that the host does not see, as a GPU's: elements are pending, errors come later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numloom as nl
from numloom.device import registry
from numloom.device.interface import Strided
from numloom.device.memory import Pool
from numloom.engine import execute
from numloom.engine.evaluate import plans_of

BEFORE = 256
"""Bytes before a block that an address may lie: what is padded is read from a place before its first element."""


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


@contextmanager
def stand_in() -> Iterator[Any]:
    """A device beside the host, as a GPU is, with memory that the host does not see; small work runs on the host.

    Kernels and routines that are given memory of the host's pool fail.
    """
    nl.synchronize()
    inner = registry.get("cpu")
    blocks: dict[int, int] = {}

    def raw_allocate(nbytes: int) -> int:
        address = inner.pool.raw_allocate(nbytes)
        blocks[address] = nbytes
        return address

    def raw_free(address: int, nbytes: int) -> None:
        del blocks[address]
        inner.pool.raw_free(address, nbytes)

    def interpret_here(program: Any, pointers: Any, params: Any, offsets: Any, where: Any, places: Any) -> None:
        if where is device:
            for pointer in pointers:
                known = any(at - BEFORE <= pointer <= at + size for at, size in blocks.items())
                assert known, "a kernel was given host memory"
        interpret(program, pointers, params, offsets, where, places)

    def routine(name: str) -> Any:
        function = found(name)

        def checked(*given: Any, **options: Any) -> Any:
            for part in (*given, *options.values()):
                assert not isinstance(part, Strided) or part.buffer.pool is not inner.pool, "a routine, too"
            return function(*given, **options)

        return checked

    device: Any = type(inner)()
    device.pool = Pool("stand-in", raw_allocate, raw_free, cache_limit=1 << 24, error_at=0)
    device.allocate = device.pool.allocate
    device.discrete = True
    device.view = lambda buffer: None
    found, device.routine = device.routine, routine
    interpret, execute.interpret = execute.interpret, interpret_here  # type: ignore[attr-defined]
    registry._devices["stand-in"] = device
    try:
        with nl.config(placement="auto", cpu_compile="never"), registry.use("stand-in"):
            yield device
            nl.synchronize()
    finally:
        execute.interpret = interpret  # type: ignore[attr-defined]
        del registry._devices["stand-in"]
        plans_of(device).clear()
        device.builder.stop()
