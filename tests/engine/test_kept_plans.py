"""Plans that an earlier process made are the plans that this one would make."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.test_resized import PROGRAMS, Device, nothing_at_once, nothing_runs  # noqa: F401 (fixtures)

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.base.dtypes import C128, F32, F64, I16
from numloom.device.cache import shared
from numloom.engine import kept_plans, resized
from numloom.engine.symbolic_key import symbolic_key
from numloom.engine.walk import walk
from numloom.ops.elementwise import ELEMENTWISE
from numloom.plan.plan import make_plan
from numloom.plan.step import Plan

SIZES = ((1, 1), (7, 5), (64, 64), (300, 17), (70000, 3))
FOUND: dict[str, Any] = {}
"""What the plans of all keys are that tests have met."""


@pytest.fixture(autouse=True)
def plans_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(kept_plans, "kept", True)
    monkeypatch.setattr(kept_plans, "_made", {})
    monkeypatch.setattr(resized, "_specialisations", {})
    with nl.config(cache_dir=str(tmp_path / "kernels"), cache_bytes=1 << 28):
        yield


def walked(outputs: Any) -> tuple[list[Any], list[int], tuple[Any, ...]]:
    """The nodes, the numbers of the roots, and the parts of the key."""
    roots = [node_of(output) for output in (outputs if isinstance(outputs, list) else [outputs])]
    found = walk(roots)
    return found.nodes, [root.number for root in roots], symbolic_key(found.nodes, roots)


@pytest.mark.parametrize("device", [Device("null"), Device("cuda")], ids=["null", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_is_what_would_be_made(name: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (F32, F64, I16, C128):
        if code == C128 and name in ("place", "columns"):
            continue
        for n, m in SIZES:
            nodes, roots, (digest, things, sizes) = walked(PROGRAMS[name](code, n, m))
            key = kept_plans.key(digest, things, sizes, device, device.fast_math)
            assert key is not None
            made = resized._exact_plan(nodes, roots, device, digest, things, sizes)
            assert FOUND.setdefault(key, made) == made
            kept_plans.write()
            assert not kept_plans._made
            with monkeypatch.context() as patch:
                patch.setattr(resized, "planner", None)
                read = resized._exact_plan(nodes, roots, device, digest, things, sizes)
            assert read == made
            assert read[0] == make_plan(nodes, roots, device.short_rows, cluster=device.cluster)


def test_keys_are_of_all_that_plans_depend_on() -> None:
    _, _, (digest, things, sizes) = walked(PROGRAMS["chain"](F32, 8, 8))
    null, cuda = Device("null"), Device("cuda")
    keys = {
        kept_plans.key(digest, things, sizes, null, False), kept_plans.key(digest, things, sizes, null, True),
        kept_plans.key(digest, things, sizes, cuda, True),
        kept_plans.key(digest, things, [*sizes[:-1], 5], null, False),
        kept_plans.key(bytes(16), things, sizes, null, False), kept_plans.key(digest, things[1:], sizes, null, False),
    }  # fmt: skip
    assert len(keys) == 6 and None not in keys


def test_an_operation_of_this_process_alone_is_not_kept() -> None:
    """As those of users are: one with the name of another that is in a table is not that one."""
    nodes, roots, (digest, _, sizes) = walked(PROGRAMS["chain"](F32, 8, 8))
    device, own = Device("null"), replace(ELEMENTWISE["add"])
    assert kept_plans.key(digest, (own,), sizes, device, False) is None
    plan = make_plan(nodes, roots)
    (step,) = plan.steps
    assert step.program is not None
    body = tuple([replace(instr, op_def=own) if instr.op_def else instr for instr in step.program.body])
    kept_plans.keep("key", Plan((replace(step, program=replace(step.program, body=body)),), plan.drop), [None])
    assert not kept_plans._made


def test_switched_off() -> None:
    _, _, (digest, things, sizes) = walked(PROGRAMS["chain"](F32, 8, 8))
    with nl.config(cache_bytes=0):
        assert kept_plans.key(digest, things, sizes, Device("null"), False) is None


def test_an_entry_of_something_else_is_none(tmp_path: Path) -> None:
    """No entry calls what is no part of a plan."""
    path = tmp_path / "called"
    entry = zlib.compress(pickle.dumps(_Touch(str(path))))
    shared().put("0" * 64, entry, kept_plans._origin())
    assert kept_plans.find("0" * 64) is None
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"no zlib", zlib.compress(b""), zlib.compress(b"no pickle"), zlib.compress(b"ab" * 50)[:-3],
        *(zlib.compress(pickle.dumps(thing)) for thing in (None, 5, (), (1,), (1, 2), ([], []), (1, 2, 3), "ab")),
        zlib.compress(pickle.dumps((Plan((), ()), "none"))), zlib.compress(pickle.dumps((Plan((1,), ()), []))),
        zlib.compress(pickle.dumps((Plan(5, ()), []))), zlib.compress(pickle.dumps((Plan((), ()), [5]))),
        zlib.compress(b"cnumloom.plan.step\nPlan\n(I1\nI2\nI3\ntR."),  # More than Plan takes.
        zlib.compress(b"cnumloom.plan.step\nPlan\n)R."), zlib.compress(b"cnumloom.plan.step\nPlan.attribute\n."),
        zlib.compress(b"cnumloom.plan.step\nPlan\n)\x81}b."), zlib.compress(b"(" * 5000 + b"."),
        zlib.compress(b"]" + b"]\x85" * 2000 + b"."), zlib.compress(b"I1\nI2\nb."),
        zlib.compress(b"cnumloom.engine.kept_plans\noperation\n(Vnone\nVsin\ntR."),
        zlib.compress(b"\x8e" + b"\xff" * 8), zlib.compress(b"\x80\xff."),
    ],
)  # fmt: skip
def test_an_entry_that_is_no_plan_is_deleted(content: bytes) -> None:
    key = "0" * 64
    shared().put(key, content, kept_plans._origin())
    assert kept_plans.find(key) is None
    assert shared().entries() == []


class _Touch:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_verify_tells_another_plan() -> None:
    device = Device("null")
    nodes, roots, (digest, things, sizes) = walked(PROGRAMS["chain"](F32, 8, 8))
    key = kept_plans.key(digest, things, sizes, device, False)
    others, other_roots, _ = walked(PROGRAMS["slices"](F32, 8, 8))
    plan = make_plan(others, other_roots)
    kept_plans.keep(str(key), plan, [None] * len(plan.steps))
    with nl.config(verify=True), pytest.raises(SystemError, match="fault of numloom"):
        resized._exact_plan(nodes, roots, device, digest, things, sizes)


PROGRAM = """
import sys
import numpy
import numloom as nl
from numloom.engine.state import counters
with nl.config(unplanned=0, cpu_compile="wait"):
    x = nl.asarray(numpy.arange(600.0).reshape(20, 30))
    y = nl.exp(-x / 100) @ nl.ones((30, 4)) + x.sum(1, keepdims=True)
    z = (x - x.mean(0)) / x.std(0)
    z[2:5] = nl.logaddexp(x[:3], 2)
    numpy.save(sys.argv[1], numpy.concatenate([y.get().ravel(), z.get().ravel(), nl.special.erf(z).get().ravel()]))
print(counters.plans, "numloom.plan.group" in sys.modules, "numloom.emit.emit" in sys.modules)
"""


@pytest.mark.slow
def test_the_next_process_imports_no_planner(tmp_path: Path) -> None:
    """Whatever the seed of its hashes is; the numbers are the same to the bit."""
    told, numbers = [], []
    for seed in "123":
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "NUMLOOM_CACHE_DIR": str(tmp_path / "cache"),
            "NUMLOOM_DEVICE": "cpu",
        }
        environment["NUMLOOM_VERIFY"] = "1" if seed == "3" else "0"
        path = tmp_path / f"{seed}.npy"
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True, env=environment
        )
        told.append(ran.stdout.split())
        numbers.append(np.load(path).tobytes())
    assert int(told[0][0]) == int(told[1][0]) >= 2
    assert told[0][1:] == ["True", "True"] and told[1][1:] == ["False", "False"] and told[2][1:] == ["True", "True"]
    assert numbers[0] == numbers[1] == numbers[2]


FORKED = """
import os
from numloom.engine import kept_plans
kept_plans._made["key"] = b"entry"
child = os.fork()
if not child:
    os._exit(1 if kept_plans._made else 0)
assert os.waitpid(child, 0)[1] == 0
assert kept_plans._made.pop("key") == b"entry"
"""


def test_a_forked_child_leaves_it_to_its_parent() -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True)
