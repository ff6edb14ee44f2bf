"""Without a C++ compiler: everything but users' kernels runs, by the package's loops or, where these lack, by NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom import MissingDependencyError
from numloom.device import registry
from numloom.device.cpu import backend, builder
from numloom.device.cpu.backend import CpuDevice

rng = np.random.default_rng(3)
REAL = rng.standard_normal((7, 300))
COMPLEX = REAL + 1j * rng.standard_normal((7, 300))
WORK = {
    **{name: lambda xp, x, name=name: getattr(xp, name)(x, axis=1) for name in (
        "sum", "prod", "max", "min", "argmax", "argmin", "ptp", "mean", "var", "std", "any", "all", "cumsum",
    )},
    "fmax": lambda xp, x: xp.fmax.reduce(x),
    "multiply": lambda xp, x: xp.multiply.reduce(x, axis=None),
    "chain": lambda xp, x: (xp.exp(x) * xp.sin(x) + xp.sqrt(x * x)).sum(0),
    "softmax": lambda xp, x: xp.exp(x - x.max(1, keepdims=True)) / xp.exp(x - x.max(1, keepdims=True)).sum(1)[:, None],
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "product": lambda xp, x: x @ x.T,
    "where": lambda xp, x: xp.where(x.real > 0, x, -x)[::-1, ::3],
    "powers": lambda xp, x: x**2 + x**-1,
}  # fmt: skip
OF_REAL = {
    "logaddexp": lambda xp, x: xp.logaddexp.reduce(x, axis=1),
    "hypot": lambda xp, x: xp.hypot.reduce(x, axis=0),
    "i0": lambda xp, x: xp.i0(x),
    "kaiser": lambda xp, x: xp.kaiser(20, 3.0),
    "divide": lambda xp, x: xp.divide.reduce(x, axis=1),
    "median": lambda xp, x: xp.median(x, axis=1),
    "nextafter": lambda xp, x: xp.nextafter(x, 0),
    "half": lambda xp, x: xp.tanh(x.astype("f2")).sum(1),
    "floor": lambda xp, x: (x * 10).astype("i4") // xp.arange(1, 301) % 7,
    "histogram": lambda xp, x: xp.histogram(x, 12)[0],
}  # fmt: skip
CASES = [(name, COMPLEX.astype(char)) for name in WORK for char in "FD"]
CASES += [(name, REAL.astype(char)) for name in (WORK | OF_REAL) for char in "fd"]


def check(name: str, x: np.ndarray[Any, Any]) -> None:
    work = (WORK | OF_REAL)[name]
    expected = np.asarray(work(np, x))
    result = nl.asnumpy(work(nl, nl.asarray(x)))
    assert result.dtype == expected.dtype
    rtol = {"f": 3e-4, "F": 3e-4}.get(x.dtype.char, 1e-11) if name != "half" else 1e-2
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)


@pytest.fixture(params=["the package's loops", "no loops"])
def uncompiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The CPU as a device that has no compiler, with or without the package's loops."""
    monkeypatch.setattr(builder, "find", lambda remembered=None: None)
    if request.param == "no loops":
        monkeypatch.setattr(backend, "packaged", lambda: None)
    device = CpuDevice()
    monkeypatch.setitem(registry._devices, "cpu", device)
    with nl.config(executor="fused", cpu_compile="background"), registry.use("cpu"):
        yield device


@pytest.mark.parametrize(("name", "x"), CASES, ids=lambda value: value if isinstance(value, str) else value.dtype.char)
def test_results_are_numpys(name: str, x: np.ndarray[Any, Any], uncompiled: Any) -> None:
    check(name, x)


@pytest.mark.parametrize("mode", ["wait", "background", "never"])
def test_no_setting_asks_for_a_compiler(mode: str, uncompiled: Any) -> None:
    with nl.config(cpu_compile=mode):
        check("prod", COMPLEX)
        check("chain", REAL)


def test_users_kernels_say_what_is_missing(uncompiled: Any) -> None:
    with pytest.raises(MissingDependencyError, match=r"C\+\+ compiler"):
        nl.ElementwiseKernel("T x", "T y", "y = x + 1", "without")(nl.ones(3))


PROGRAM = """
import sys
import os
from numloom.device.cpu import loops
if sys.argv[1] == "no loops":
    loops.PACKAGED = loops.WIDE = "nowhere.so"
import numpy as np, numloom as nl
from numloom.device import registry
from numloom.device.cpu import backend, builder
from numloom.device.cpu.backend import CpuDevice
device = registry.get("cpu")
assert device.builder.compiler is None
x = np.random.default_rng(1).standard_normal((5, 1000)) * (1 + 2j)
a = nl.asarray(x)
np.testing.assert_allclose(nl.asnumpy(a.prod(1)), x.prod(1), rtol=1e-12)
np.testing.assert_array_equal(nl.asnumpy(a.max(0)), x.max(0))
np.testing.assert_allclose(nl.asnumpy(nl.exp(a).sum()), np.exp(x).sum(), rtol=1e-12)
assert (device.loops is None) == (sys.argv[1] == "no loops") or not os.path.exists(loops.PACKAGED)
assert device.builder.compiles == 0
"""


@pytest.mark.parametrize("loops", ["loops", "no loops"])
def test_a_process_without_a_compiler(loops: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "NUMLOOM_EXECUTOR")}
    environment |= {"PATH": str(tmp_path), "NUMLOOM_CACHE_DIR": str(tmp_path / "cache"), "NUMLOOM_DEVICE": "cpu"}
    hidden = "import importlib.util as u, sys; find = u.find_spec\n"
    hidden += "u.find_spec = lambda name, package=None: None if name == 'ziglang' else find(name, package)\n"
    done = subprocess.run(
        [sys.executable, "-c", hidden + PROGRAM, loops], env=environment, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
