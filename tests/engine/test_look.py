"""One door for looking at computed memory."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import numloom as nl
from numloom.api.calling import replayed
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.graph.again import end, start

PACKAGE = Path(nl.__file__).parent
OPEN = ("device", "engine/look.py", "engine/doubts.py")
"""Devices, the door, and who hears what kernels complain of."""
ON_HOST = {
    "engine/reference.py", "engine/interpret.py", "api/construct.py", "kernels/pycuda.py",
}  # fmt: skip
"""Who makes arrays over other memory: NumPy's own, what a kernel that runs on the host was given, what a user gives."""


def reads(path: Path) -> list[str]:
    """Calls in a module that read memory of a device, or take what its kernels found."""
    name = path.relative_to(PACKAGE).as_posix()
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        given = [ast.unparse(arg) for arg in node.args]
        seen = called == "view" and len(given) == 1 and given[0].endswith(("buffer", "memory"))
        if (
            called in ("download", "take_complaints", "number_at", "number_at_uncompiled")
            or (called == "array_at" and name not in ON_HOST)
            or seen
        ):
            found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_nobody_else_reads_memory_of_a_device() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if not path.relative_to(PACKAGE).as_posix().startswith(OPEN)]
    assert len(modules) > 200 and [call for path in modules for call in reads(path)] == []
    assert len(reads(PACKAGE / "engine/look.py")) >= 6  # the test sees what it forbids


WAYS = {
    "number": lambda x: float(x[1]),
    "bool": lambda x: bool(x[1] > 0),
    "get": lambda x: x.get(),
    "item": lambda x: x.item(1),
    "print": lambda x: str(x),
    "list": lambda x: x.tolist(),
    "bytes": lambda x: x.tobytes(),
    "NumPy": lambda x: x.get() if registry.current().discrete else np.asarray(x),
    "wait": lambda x: nl.synchronize(),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_look_is_told_what_a_kernel_found(way: str) -> None:
    for _ in range(3):
        bad = nl.arange(5.0)[nl.asarray([1, 2]) + 7]
        assert node_of(bad).buffer is None or registry.current().discrete
        with pytest.raises(IndexError, match="out of bounds"):
            WAYS[way](bad * 2)
        del bad
        assert nl.arange(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("way", [None, *[way for way in WAYS if way != "wait"]])
def test_every_look_ends_what_is_learned(way: str | None) -> None:
    ran = []

    def body(x: nl.ndarray) -> nl.ndarray:
        ran.append(True)
        if way is not None:
            WAYS[way](x)
        return nl.negative(x)

    function = replayed(body)
    for turn in range(6):
        x = nl.arange(4.0) * (turn + 2)
        assert function(x).tolist() == [0, *[-k * (turn + 2.0) for k in (1, 2, 3)]]
    assert len(ran) == 6 if way else len(ran) < 6  # a call without a look is learned


@pytest.mark.parametrize("value", [2.5, float("inf"), 3, -7, True, False])
def test_numbers_of_constants_need_no_look(value: float) -> None:
    """What a filled array holds is known: a call that asks for it is learned, and what waits goes on waiting."""
    with nl.config(unplanned=0):
        filled = nl.full(40_000, value)
        waiting = nl.asarray(np.arange(9.0)) + 1
        recorder = start(None, [node_of(filled)], False)
        try:
            found = filled[3].item()
            assert type(found) is type(value) and found == value
            assert not recorder.lost and node_of(waiting).buffer is None
        finally:
            end(recorder)
