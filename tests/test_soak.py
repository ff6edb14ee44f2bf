"""``make soak``: each kind of fault once, and losses that are planted are seen."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from numloom.device import registry
from numloom.device.cpu.compiler import candidates

TOOL = Path(__file__).resolve().parent.parent / "tools" / "soak.py"
pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="not in the source tree"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults are made by Linux's means"),
    pytest.mark.skipif(not any(candidates()), reason="no C++ compiler"),
    pytest.mark.skipif(registry.current().name != "cpu", reason="faults of the host"),
]


def load() -> Any:
    """The tool as a module."""
    specification = importlib.util.spec_from_file_location("soak", TOOL)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["soak"] = module
    specification.loader.exec_module(module)
    return module


soak: Any = load() if TOOL.exists() else None

PLANTED = """
import os, signal, sys, threading, time
kind = sys.argv[1]
print("ready", flush=True)
print("held", flush=True)
if kind == "lies":
    print("lost a wrong value", flush=True)
elif kind == "hangs":
    threading.Event().wait()
elif kind == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
elif kind == "gives up":
    sys.exit(3)
elif kind == "ends early":
    sys.exit()
elif kind == "swallows":
    class Swallows:
        def __del__(self):
            raise KeyboardInterrupt
    Swallows()
elif kind == "leaves a file":
    open(os.path.join(os.environ["TMPDIR"], "numloom-left"), "w").close()
elif kind == "leaves an entry":
    os.makedirs(os.environ["NUMLOOM_CACHE_DIR"])
    open(os.path.join(os.environ["NUMLOOM_CACHE_DIR"], ".new-left"), "w").close()
elif kind == "leaves a process" and not os.fork():
    os.close(1), os.close(2)
    time.sleep(30)
print("end", flush=True)
"""
SEEN = {
    "fine": None,
    "lies": "a wrong value",
    "hangs": r"no end after \['held'\]: .*most recent call first",
    "crashes": f"ended by signal {int(signal.SIGSEGV)}",
    "gives up": "ended with 3",
    "ends early": "ended with 0",
    "swallows": "Exception ignored in",
    "leaves a file": "numloom-left stays",
    "leaves an entry": ".new-left stays",
    "leaves a process": "process .* goes on",
}


@pytest.mark.parametrize("planted", SEEN)
def test_a_planted_loss_is_seen(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(PLANTED)
    monkeypatch.setattr(soak.Folder.left, "__defaults__", (0.5,))
    with soak.new_folder() as folder:
        ended = soak.attend([str(worker), planted], folder, 1.5)
        tally = soak.checked(soak.judge(ended), folder)
        for number in folder.processes():
            os.kill(number, signal.SIGKILL)
    assert tally.tried >= 1
    if SEEN[planted] is None:
        assert tally.lost == []
    else:
        assert len(tally.lost) == 1 and re.search(SEEN[planted], tally.lost[0], re.DOTALL), tally.lost


def test_what_was_killed_on_purpose_is_no_loss() -> None:
    killed = soak.Ended(["ready"], -signal.SIGKILL, "")
    assert soak.judge(killed, killed=True).lost == [] and soak.judge(killed).lost
    assert soak.judge(soak.Ended(["ready", "lost x", "missed"], -signal.SIGKILL, ""), killed=True).lost == ["x"]


def test_growth_without_end_is_seen() -> None:
    from grown import grown

    flat = [[number, 400, 90_000, 8, 3] for number in range(8)]
    assert grown(flat, 4, memory=True) == []
    assert grown([[k, 400 + 10 * k, 90_000, 8 + k, 3] for k in range(8)], 4, memory=False) == [
        "open files grew from 11 to 15"
    ]
    assert len(grown([[k, 400 + 50 * k, 90_000 + k * 9_000, 8, 3 + k] for k in range(8)], 4, memory=True)) == 3


def test_the_table() -> None:
    kinds = {name: soak.KINDS[name] for name in ("interrupts", "stacks")}
    found = {"interrupts": soak.Tally(1200, ["one"]), "stacks": soak.Tally(3)}
    lines = soak.table(kinds, found).splitlines()
    assert lines[2] == "| Ctrl-C at a random moment | 1,200 | 1,199 | 1 |" and lines[4] == "| all | 1,203 | 1,202 | 1 |"


def test_turns_go_round() -> None:
    names = soak.in_turn(soak.KINDS, once=False)
    first = [next(names) for _ in soak.KINDS]
    assert first == list(soak.KINDS) and next(names) == "interrupts"
    assert "growth" not in [next(names) for _ in range(30)]
    assert list(soak.in_turn(soak.KINDS, once=True)) == first


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(soak.KINDS) if soak else [])
def test_each_kind_is_met(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same code as of ten minutes, and nothing is lost."""
    count = "1" if kind in ("kills", "entries") else "2"  # Each is several processes.
    status = soak.main(["--kinds", kind, "--count", count, "--kernels", "16", "--jobs", "1", "--seed", "1"])
    said = capsys.readouterr().out
    if "left out" in said:
        pytest.skip(said.splitlines()[0])
    assert status == 0, said
    assert re.search(r"\| all \| [1-9]", said), said
