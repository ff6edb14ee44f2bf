"""Whatever fails on the way: a typed error, nothing left behind, and the next correct call is right.

``NUMLOOM_TEST_FAULTS`` is how many faults each program meets at most in each way of running it (0: every one there is).
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fault_programs import PROGRAMS, Program
from injection import ERRORS, Faults, forget_plans, installed, state, state_after

import numloom as nl
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.emit.loops import loops_text

MOST = int(os.environ.get("NUMLOOM_TEST_FAULTS", "5"))

WAYS = {
    "as recorded": {},
    "anew": {},
    "eager": {"eager": True},
    "eager, anew": {"eager": True},
    "by twos": {"max_pending": 2},
    "compiled": {"cpu_compile": "wait"},
    "compiled anew": {"cpu_compile": "wait"},
    "compiled, eager": {"cpu_compile": "wait", "eager": True},
    "compiled plans": {"cpu_compile": "wait", "unplanned": 0},
    "compiled plans anew": {"cpu_compile": "wait", "unplanned": 0},
}
"""How programs run: plans known, plans forgotten (anew), each statement at once, two by two, by compiled kernels, which
small work has (plans) or takes ready-made loops for."""

COMPILED = ("elementwise", "stencil", "reductions", "softmax", "users' kernels", "called again")
"""Programs that CI compiles; with every fault all are."""


@pytest.fixture(scope="module")
def faults() -> Faults:
    return Faults()


@pytest.fixture(scope="module")
def faulty_device(device: str, faults: Faults) -> Iterator[Any]:
    if device == "reference":
        pytest.skip("the reference executor has no device of its own")
    with installed(registry.current().name, faults) as found:
        if hasattr(found, "builder"):
            assert found.builder.compiler is None or found.builder.compiler.flags  # found while nothing fails
        if found.interprets:  # The single-operation loops, where the package was built without them.
            found.load_loops(loops_text, wait=True)
        yield found


def host(value: Any) -> Any:
    """A copy of what a name stands for, if it is an array or a number."""
    if isinstance(value, nl.ndarray):
        return value.get()
    if isinstance(value, np.ndarray):
        return value.copy()
    return value if isinstance(value, (int, float, list, np.generic)) else None


def look(names: dict[str, Any]) -> dict[str, Any]:
    """Every array and number among names."""
    return {name: seen for name, value in names.items() if (seen := host(value)) is not None}


def look_after(names: dict[str, Any], faults: Faults) -> dict[str, Any]:
    """`look` after faults: launches that waited for others, and failed then, leave values that have the error."""
    seen = {}
    for name, value in names.items():
        try:
            found = host(value)
        except DeviceError as error:
            assert "launch" in faults.failed, f"{name}: {error!r}"
            with pytest.raises(DeviceError, match="on purpose"):  # Each time.
                host(value)
        else:
            if found is not None:
                seen[name] = found
    return seen


def same(found: Any, expected: Any, bits: bool) -> bool:
    """Whether two values are equal, but for rounding unless `bits`."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if bits:
        return bool(np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc"))
    return bool(np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True))


class Run:
    """One program on a device: what holds after each line, and whether a run gives that."""

    def __init__(self, program: Program, device: Any, faults: Faults, folder: str) -> None:
        self.program = program
        self.device = device
        self.faults = faults
        self.folder = folder
        self.code = [compile(line, line, "exec") for line in program.lines]
        self.states = self.snapshots(nl)
        if program.plain:
            # NumPy says what is right; which bits, the first run of ours.
            for line, ours, theirs in zip(program.lines, self.states, self.snapshots(np), strict=True):
                assert ours.keys() == theirs.keys()
                for name in ours:
                    assert same(ours[name], theirs[name], False), f"{name} after {line}"

    def snapshots(self, module: Any) -> list[dict[str, Any]]:
        """What all names stand for after each line."""
        names = self.program.names(module, self.folder)
        found = []
        for code in self.code:
            exec(code, names)
            found.append(look(names))
        return found

    def clean(self) -> None:
        """A run without faults gives what the first one did."""
        names = self.program.names(nl, self.folder)
        for code in self.code:
            exec(code, names)
        self.check(look(names), self.states[-1], self.states[-1], "a run without faults")

    def check(self, found: dict[str, Any], before: dict[str, Any], after: dict[str, Any], where: str) -> None:
        """Every name stands for what it stood for before a line, or after it."""
        for name, value in found.items():
            known = [state[name] for state in (before, after) if name in state]
            assert any(same(value, each, True) for each in known), f"{name} is wrong: {where}"

    def count(self, forget: bool) -> list[str]:
        """The operations of a run, by kind."""
        if forget:
            forget_plans(self.device)
        self.faults.arm()
        try:
            self.clean()
        finally:
            self.faults.disarm()
        return self.faults.met

    def fail(self, at: int, how: str, forget: bool, again: int = 0) -> bool:
        """A run in which operation `at` fails; whether it was met.

        If more is in use than before, it happens up to four times more (`again`): a leak grows each time, while
        constants of recorded calls, which failures left to be computed by themselves, are kept once.
        """
        faults = self.faults
        where = f"fault {at} ({how})"
        if forget:
            forget_plans(self.device)
        names = self.program.names(nl, self.folder)
        line, error = 0, None
        before = state(self.device)
        faults.arm(at, how)
        try:
            for line, code in enumerate(self.code):
                exec(code, names)
            look(names)
        except Exception as raised:
            error = raised.with_traceback(None)
        finally:
            faults.disarm()
        if error is not None:
            assert faults.hit is not None, f"{where}: {error!r} without a fault"
            where = f"{where}, a {faults.hit} in {self.program.lines[line]!r}: {error!r}"
            assert isinstance(error, tuple(ERRORS[kind] for kind in faults.failed)), where
        error = None
        # What was recorded before is kept, and the line was recorded or not.
        self.check(look_after(names, faults), self.states[line - 1] if line else {}, self.states[line], where)
        names.clear()
        after = state_after(self.device, before)
        if again < 4 and after != before and after == {**before, "bytes in use": after["bytes in use"]}:
            self.clean()
            return self.fail(at, how, forget, again + 1)
        assert after == before, where
        self.clean()
        assert state_after(self.device, before) == before, where
        return faults.hit is not None


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_faults(name: str, way: str, faulty_device: Any, faults: Faults, tmp_path: Any) -> None:
    if way.startswith("compiled") and (faulty_device.discrete or (MOST and name not in COMPILED)):
        pytest.skip("kernels are compiled anyway, or take too long")
    forget = way.endswith("anew")
    settings = {"cpu_compile": "never" if name not in ("users' kernels", "raw kernels") else "wait", **WAYS[way]}
    met = 0
    with nl.config(**settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Run(PROGRAMS[name], faulty_device, faults, str(tmp_path))
        for _ in range(4):  # until everything is learned
            run.clean()
        kinds = run.count(forget)
        # Each run below looks through all that is not frozen. It stays so: else each test would look through all again.
        gc.collect()
        gc.freeze()
        places = range(1, len(kinds) + 1)
        if MOST and len(places) > MOST:  # Spread over the program, at other places in each way.
            shift = list(WAYS).index(way) / len(WAYS)
            places = sorted({1 + int((k + shift) * len(kinds) / MOST) for k in range(MOST)})
        for at in places:
            for how in ("once", "on", "passing") if kinds[at - 1] == "allocation" else ("once", "on"):
                met += run.fail(at, how, forget)
    print(f"{name}, {way}: {met} faults of {len(kinds)} operations")
    assert met
