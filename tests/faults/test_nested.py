"""Lists without an end are NumPy's ValueError: in every function that takes one, and never the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nested_calls
import numpy as np
import pytest

import numloom as nl
from numloom.device import registry

SCRIPT = Path(__file__).with_name("nested_calls.py")
DEEPEST = 64


def nested(levels: int, leaf: Any = 1.0) -> Any:
    """A number within so many lists."""
    return leaf if levels == 0 else [nested(levels - 1, leaf)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", nested_calls.KINDS)
def test_no_function_is_ended_by_what_has_no_end(kind: str, tmp_path: Path) -> None:
    """All public functions, with such a list in the place of each argument: none ends the process, or has no end."""
    command = [sys.executable, str(SCRIPT), kind]
    here = {**os.environ, "NUMLOOM_DEVICE": "cpu"}  # The host reads lists.
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, env=here)
    lines = found.stdout.splitlines()
    assert found.returncode == 0, f"{lines[-1:]} ended the process ({found.returncode})\n{found.stderr[-2000:]}"
    assert len(lines) > 3000  # It is a walk.
    assert not [line for line in lines if line.endswith((" RecursionError", " MemoryError", " SystemError"))]


READERS: dict[str, Callable[[Any], Any]] = {
    "array": nl.array,
    "asarray": nl.asarray,
    "sum": nl.sum,
    "sort": nl.sort,
    "unique": nl.unique,
    "bincount": nl.bincount,
    "concatenate": nl.concatenate,
    "stack": nl.stack,
    "where": lambda x: nl.where(x, 1, 2),
    "take": lambda x: nl.take(nl.ones(3), x),
    "interp": lambda x: nl.interp(x, nl.arange(3.0), nl.arange(3.0)),
    "einsum": lambda x: nl.einsum("i->i", x),
    "linspace": lambda x: nl.linspace(x, 1, 3),
    "percentile": lambda x: nl.percentile(nl.ones(3), x),
    "pad": lambda x: nl.pad(nl.ones(3), 1, constant_values=x),
    "sin": nl.sin,
    "add": lambda x: nl.ones(3) + x,
    "radd": lambda x: x + nl.ones(3),
    "matmul": lambda x: nl.ones(3) @ x,
    "index": lambda x: nl.ones(3)[x],
    "index among others": lambda x: nl.ones((3, 3))[0, x],
    "set at": lambda x: nl.ones(3).__setitem__(x, 1),
    "set to": lambda x: nl.ones(3).__setitem__(slice(None), x),
    "fill": lambda x: nl.ones(3).fill(x),
    "normal": nl.random.normal,
    "seed": nl.random.default_rng,
    "poly1d": nl.poly1d,
    "save": lambda x: nl.save("file.npy", x),
    "savez": lambda x: nl.savez("file.npz", x),
    "sparse": nl.sparse.csr_array,
    "sparse product": lambda x: nl.sparse.csr_array(nl.ones((3, 3))) @ x,
    "compiled": lambda x: nl.compile(lambda a: a)(x),
    "gradient": lambda x: nl.grad(lambda a: nl.sum(a))(x),
    "vmap": lambda x: nl.vmap(lambda a: a)(x),
    "shared": nl.shared,
    "result of a compiled function": lambda x: nl.compile(lambda _: x)(nl.ones(3)),
    "NumPy's function": lambda x: np.concatenate([nl.ones(3), x]),
    "assert_equal": lambda x: nl.testing.assert_equal(nl.ones(3), [nl.ones(3), x]),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["in_itself", "in_turns", "deep", "beside_an_array"])
def test_what_reads_lists_raises_numpys_error(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # What lies on a GPU becomes no list's element by itself, whatever else is in the list.
    far = kind == "beside_an_array" and registry.current().discrete
    with pytest.raises((ValueError, TypeError) if far else ValueError):
        READERS[name](nested_calls.KINDS[kind]())


def test_blocks_are_lists() -> None:
    with pytest.raises(ValueError, match="nested deeper"):
        nl.block(nested_calls.in_itself())
    with pytest.raises(TypeError, match="arrays is a tuple"):
        nl.block(nested_calls.in_turns())


def test_a_dict_that_holds_itself() -> None:
    with pytest.raises(ValueError, match="nested deeper"):
        nl.compile(lambda a: a)(nested_calls.dict_in_itself())
    with pytest.raises(ValueError, match="nested deeper"):
        nl.grad(lambda a: nl.sum(a))(nested_calls.dict_in_itself())


@pytest.mark.parametrize("leaf", [1.0, nl.ones(())], ids=["number", "array"])
def test_as_many_levels_as_an_array_has_axes(leaf: Any) -> None:
    assert nl.asarray(nested(DEEPEST, leaf)).shape == (1,) * DEEPEST
    with pytest.raises(ValueError, match=r"exceed the maximum number of dimension of 64"):
        nl.asarray(nested(DEEPEST + 1, leaf))


def test_an_object_that_stands_for_itself() -> None:
    with pytest.raises(ValueError, match=r"Itself.__numloom_array__\(\) must give an array, not Itself"):
        nl.ones(3) + nested_calls.Itself()
