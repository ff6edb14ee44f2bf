"""Plans on disk: what one process planned and wrote as texts, the next one reads.

A process that begins anew would plan all of its work again, which takes longer than short programs run. An entry of
the cache on disk is a plan with its texts, for its sizes alone. Its key is the symbolic key with the sizes, and all
else that planner and emitter are told; what made it is this very package, to the file.
"""

from __future__ import annotations

import atexit
import functools
import io
import os
import pickle
import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.forking import anew
from numloom.base.later import load
from numloom.device.cache import key_of, shared
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS
from numloom.plan import program as programs
from numloom.plan import step as steps
from numloom.plan.program import KernelSource
from numloom.plan.step import Plan, Step

_SPECIAL = "numloom.ops.special"
_TABLES: dict[str, dict[str, Any]] = {"elementwise": ELEMENTWISE, "reductions": REDUCTIONS}
Sources = Sequence[KernelSource | None]

MOST = 512
"""Plans that a process keeps for later ones, some 25 KB each; they are written in a moment at its end."""
FOLDERS = ("base", "emit", "emit/include", "engine", "graph", "ops", "plan")
"""What plans and texts depend on."""
_ALLOWED: dict[tuple[str, str], Any] = {
    (module.__name__, name): getattr(module, name)
    for module, names in (
        (programs, "Box Geometry Instr KernelSource Operand Program Reduce Repeat Select Store Word"),
        (steps, "Binding Plan Step"),
    )
    for name in names.split()
}
"""All that an entry may be made of, but for numbers, texts and tuples."""
_made: dict[str, bytes] = {}
"""Entries that this process has made and not written."""
kept = True
"""Whether plans are looked for and kept."""


def key(digest: bytes, things: Sequence[Any], sizes: Sequence[int], device: Any, fast_math: bool) -> str | None:
    """The name of a plan's entry; None for one that means something to this process alone."""
    if not kept or not config.cache_bytes:
        return None
    names = []
    for thing in things:
        if isinstance(thing, OpDef | ReductionDef):
            thing = _place(thing)
            if thing is None:
                return None
        elif not _is_plain(thing):
            return None
        names.append(thing)
    told = (digest.hex(), names, sizes, device.name, device.short_rows, device.cluster, fast_math)
    return key_of(repr(told), _origin())


def find(key: str) -> tuple[Plan, Sources] | None:
    """The plan that is kept under a key, with its texts; an entry that is none is deleted."""
    entry = _made.get(key)
    if entry is None:
        entry = shared().get(key, _origin())
    if entry is None:
        return None
    try:
        return _read(entry)
    except Exception:  # Whoever wrote bytes that are no plan may have made them fail in any way.
        _made.pop(key, None)
        try:
            shared().discard(key)
        except OSError:
            pass
        return None


def _read(entry: bytes) -> tuple[Plan, Sources]:
    plan, sources = _Reader(io.BytesIO(zlib.decompress(entry))).load()
    whole = type(plan) is Plan and type(plan.steps) is tuple and all(type(step) is Step for step in plan.steps)
    if not whole or type(sources) is not list or not all(type(one) in (KernelSource, NoneType) for one in sources):
        raise TypeError("this is no plan")
    return plan, sources


def keep(key: str, plan: Plan, sources: Sources) -> None:
    """Keep a plan and its texts for later processes; it is written when this one ends."""
    if len(_made) >= MOST:
        return
    known: dict[Any, Any] = {}  # What is equal is written once.
    lean = [replace(step, program=known.setdefault(step.program, step.program), prepared={}) for step in plan.steps]
    file = io.BytesIO()
    writer = pickle.Pickler(file, 5)
    writer.dispatch_table = {OpDef: _written, ReductionDef: _written}
    try:
        writer.dump((Plan(tuple(lean), plan.drop), list(sources)))
    except pickle.PicklingError:  # An operation that has no name.
        return
    _made[key] = zlib.compress(file.getvalue(), 1)


def write() -> None:
    """Write what this process has made."""
    while _made:
        key, entry = _made.popitem()
        shared().put(key, entry, _origin(), durable=False)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _ALLOWED[module, name]


def operation(table: str, name: str) -> OpDef | ReductionDef:
    """The operation or reduction of a name in a table."""
    return _table(table)[name]


def _table(name: str) -> dict[str, Any]:
    return _TABLES[name] if name in _TABLES else load(_SPECIAL).SPECIAL


def _place(op_def: OpDef | ReductionDef) -> tuple[str, str] | None:
    """The table that an operation or a reduction stands in, and its name there; None if it is in none."""
    for table in (*_TABLES, _SPECIAL):
        if _table(table).get(op_def.name) is op_def:
            return table, op_def.name
    return None


def _written(op_def: OpDef | ReductionDef) -> Any:
    """How an operation stands in an entry."""
    place = _place(op_def)
    if place is None:
        raise pickle.PicklingError(f"{op_def.name} is in no table")
    return operation, place


_ALLOWED[operation.__module__, operation.__name__] = operation


def _is_plain(thing: Any) -> bool:
    """Whether a text says all of a thing."""
    if isinstance(thing, tuple):
        return all(map(_is_plain, thing))
    return thing is None or type(thing) in (bool, int, str)


@functools.cache
def _origin() -> str:
    """The package as it is here, to the file: a plan of any other is not looked at."""
    package = os.path.dirname(os.path.dirname(__file__))
    files = []
    for folder in FOLDERS:
        with os.scandir(os.path.join(package, folder)) as entries:
            for entry in entries:
                if entry.is_file():
                    status = entry.stat()
                    files.append((folder, entry.name, status.st_size, status.st_mtime_ns))
    python = f"{sys.implementation.cache_tag}, NumPy {np.__version__}"
    return f"plans of {key_of(repr(sorted(files)), package)[:16]}, {python}"


def _forget() -> None:
    _made.clear()


atexit.register(write)
anew(_forget)  # What a child finds here its parent writes.

__all__ = ["find", "keep", "key", "operation", "write"]
