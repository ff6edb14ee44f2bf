"""What a notebook shows: arrays as HTML, magics, and where a late error was recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api.inspect import Explanation
from numloom.api.timing import Benchmark
from numloom.array.printing import array_html
from numloom.command.notebook import load, unload
from numloom.engine.pending import pending_work
from numloom.engine.state import counters


@pytest.fixture
def shell() -> Iterator[Any]:
    """A shell as IPython's: names, magics, and names for its cells."""
    magics: dict[str, Any] = {}
    kinds: dict[str, str] = {}

    def register(function: Any, kind: str, name: str) -> None:
        magics[name], kinds[name] = function, kind

    names = {"<cell 3>": ("Cell", "In[3]")}
    made = SimpleNamespace(
        user_ns={"__name__": "__main__", "np": np}, register_magic_function=register, magics=magics, kinds=kinds,
        transform_cell=lambda text: text.replace("!", ""), compile=SimpleNamespace(format_code_name=names.get),
    )  # fmt: skip
    load(made)
    yield made
    unload(made)


# ---------------------------------------------------------------- arrays


def test_an_array_says_what_it_is_and_shows_its_edges() -> None:
    text = nl.arange(6.0).reshape(2, 3)._repr_html_()
    assert "2 × 3 · float64 · 48 bytes · " in text and "[0. 1. 2.]" in text
    text = nl.arange(100_000, dtype="i4")._repr_html_()
    assert "100,000 elements · int32 · 400 KB" in text and "..." in text and len(text) < 400
    assert "1 element ·" in nl.ones(1)._repr_html_() and "0 × 3" in nl.zeros((0, 3))._repr_html_()
    assert nl.ones(3).sum()._repr_html_() is None and nl.ones(())._repr_html_() is None


def test_a_preview_does_not_wait_for_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    x = nl.ones((300, 1000))
    nl.synchronize()
    monkeypatch.setattr(sys.modules["numloom.array.printing"], "_WAITED", {False: 500_000, True: 500_000})
    y = nl.sin(x) + 1
    before = counters.flushes
    text = array_html(y)
    assert "Not computed yet" in text and "or more" in text and counters.flushes == before
    nl.evaluate(y)
    assert "[[1.84" in array_html(y)


def test_pending_work_is_counted_by_what_is_computed_and_combined() -> None:
    x = nl.asarray(np.ones((20, 30)))
    nl.synchronize()
    assert pending_work((x * 2 + 1).storage.value, 10**9) == (2, 1200)
    operations, elements = pending_work((x * 2).sum(axis=0).storage.value, 10**9)
    assert (operations, elements) == (2, 1200)
    assert pending_work(x.storage.value, 10**9) == (0, 0)


def test_numbers_have_a_class_that_prints_them() -> None:
    """IPython prints by the class that a thing claims."""
    for x in (nl.ones(3).sum(), nl.arange(3).sum(), nl.ones(3, "c8").sum(), nl.ones(3)):
        assert x.__class__.__repr__ is not object.__repr__
        assert x.__class__.__repr__(x) == repr(x)


# ---------------------------------------------------------------- magics


def test_timing_waits_for_results(shell: Any) -> None:
    shell.user_ns["x"] = nl.linspace(0, 1, 5000)
    before = counters.flushes
    found = shell.magics["gpu_timeit"]("-n 4 -t 5 np.sin(x) * 2")
    assert isinstance(found, Benchmark) and len(found.times) == 4 and counters.flushes >= before + 1
    found = shell.magics["gpu_timeit"]("-n 2", "y = x !+ 1\ny = y * 2\n")
    assert len(found.times) == 2 and "y" not in shell.user_ns
    assert shell.kinds["gpu_timeit"] == shell.kinds["explain"] == "line_cell"
    for line, cell, word in (("", None, "needs a statement"), ("-n x y", None, "'x'"), ("-n 0 y", None, "above 0")):
        with pytest.raises(ValueError, match=word):
            shell.magics["gpu_timeit"](line, cell)
    with pytest.raises(ValueError, match="code below"):
        shell.magics["gpu_timeit"]("x", "x")


def test_functions_of_a_timed_cell_see_each_other(shell: Any) -> None:
    cell = "def f(n):\n    return n if n < 1 else f(n - 1)\nlist(map(f, [k for k in (1, 2) if f(k) == 0]))"
    assert len(shell.magics["gpu_timeit"]("-n 1", cell).times) == 1


def test_explaining_runs_nothing_and_keeps_names(shell: Any) -> None:
    x = shell.user_ns["x"] = nl.asarray(np.ones(5000))
    nl.synchronize()
    before = counters.kernels
    found = shell.magics["explain"]("np.sqrt(x) + 1")
    assert isinstance(found, Explanation) and len(found.kernels) == 1
    found = shell.magics["explain"]("", "a = x * 2\nb = a + 1")
    assert "add" in found.tree and counters.kernels == before
    assert shell.user_ns["b"].shape == x.shape and "_numloom_result" not in shell.user_ns
    with pytest.raises(TypeError, match="a int"):
        shell.magics["explain"]("3")
    with pytest.raises(ValueError, match="below it"):
        shell.magics["explain"]("x", "x")


# ---------------------------------------------------------------- late errors


def test_a_late_error_names_the_cell(shell: Any, device: str) -> None:
    space = shell.user_ns
    exec(compile("x = np.arange(3.0)\ni = np.array([1, 7])\ny = x[i] + 1\n", "<cell 3>", "exec"), space)
    with pytest.raises(IndexError, match=r"recorded at Cell In\[3\], line 3"):
        float(space["y"].sum())
    unload(shell)
    with pytest.raises(IndexError, match=r"recorded at .*test_notebook.py:\d+: x\[places\]\.get\(\)"):
        x, places = nl.arange(3.0), nl.asarray([1, 7])
        x[places].get()


def test_in_ipython() -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell()
    shell.run_line_magic("load_ext", "numloom")
    try:
        assert shell.run_cell("import numpy as np; x = np.arange(3.0)").success
        found = shell.run_cell("x").result
        assert "3 elements" in shell.display_formatter.format(found)[0]["text/html"]
        assert shell.display_formatter.format(shell.run_cell("x.sum()").result)[0] == {"text/plain": "np.float64(3.0)"}
        assert isinstance(shell.run_cell("%gpu_timeit -n 2 x + 1").result, Benchmark)
        assert isinstance(shell.run_cell("%%explain\ny = x * 2").result, Explanation)
    finally:
        shell.run_line_magic("unload_ext", "numloom")
