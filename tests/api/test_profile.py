"""Profiles: what they count, what they show, and that they change nothing."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import numloom as np
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.engine import profiling
from numloom.engine.profiling import OF_DEVICE, ProfileRecorder
from numloom.engine.state import counters


def work(x: Any) -> list[Any]:
    """Kernels, a routine, a reduction, small work and transfers."""
    y = np.sin(x) * 2 + 1
    total = float(y.sum())
    ordered = np.sort(y, axis=1)
    few = np.asarray(numpy.arange(100.0)) + total
    return [ordered.get(), few.get(), total]


@pytest.fixture
def taken() -> Any:
    x = np.asarray(numpy.random.default_rng(0).standard_normal((300, 400)))
    with np.config(unplanned=64, cpu_compile="wait"), np.profile("work") as found:
        results = work(x)
    return SimpleNamespace(found=found, results=results, x=x)


def test_results_are_those_without_a_profile(taken: Any) -> None:
    for one, other in zip(taken.results, work(taken.x), strict=True):
        assert numpy.array_equal(one, other)
    assert counters.profiler is None


def test_classes(taken: Any) -> None:
    rows = {row.name.partition(" (")[0]: row for row in taken.found.by_class()}
    assert {"kernel", "routine", "to device", "to host", "run", "host"} <= rows.keys()
    assert rows["routine"].calls == 1 and rows["to host"].calls >= 2
    assert rows["to host"].nbytes >= 300 * 400 * 8
    assert sum(row.share for row in rows.values()) == pytest.approx(1)
    if not registry.current().discrete:  # There all that is told apart takes place within the whole.
        assert sum(row.seconds for row in rows.values()) <= taken.found.seconds * 1.001 + 1e-6


def test_rows_go_down_and_add_up(taken: Any) -> None:
    for rows in (taken.found.by_class(), taken.found.by_operation(), taken.found.by_node()):
        assert rows == sorted(rows, key=lambda row: -row.seconds)
        assert rows[-1].cumulative == pytest.approx(1)
        for row in rows:
            assert row.each == pytest.approx(row.seconds / row.calls)
            assert row.bandwidth == pytest.approx(row.nbytes / row.seconds if row.seconds else 0)


def test_operations_share_the_time_of_their_kernel(taken: Any) -> None:
    rows = {row.name: row for row in taken.found.by_operation()}
    assert {"sin", "multiply", "add", "sum", "sort"} <= rows.keys()
    assert rows["sin"].seconds > rows["multiply"].seconds
    whole = sum([row.seconds for row in taken.found.by_class() if row.name in OF_DEVICE])
    assert sum([row.seconds for row in rows.values()]) == pytest.approx(whole)


def test_nodes_say_their_line(taken: Any) -> None:
    lines = Path(__file__).read_text().splitlines()
    rows = [row for row in taken.found.by_node() if "sin" in row.name]
    assert (len(rows) == 1 and "300" in rows[0].detail) or "120000" in rows[0].detail
    file, _, number = rows[0].line.rpartition(":")
    assert file == __file__ and "y.sum()" in lines[int(number) - 1]
    assert rows[0].nbytes >= 300 * 400 * 8


def test_text(taken: Any) -> None:
    text = str(taken.found)
    assert text.startswith("work: ") and "GB/s" in text
    for head in ("class", "operation", "node", "% time", "cumul. %", "time a call", "calls", "% of ceiling", "line"):
        assert head in text
    assert "test_profile.py" in text
    assert max(map(len, taken.found.text(100).splitlines())) <= 100


def test_json_and_trace(taken: Any, tmp_path: Path) -> None:
    data = json.loads(taken.found.json(tmp_path / "p.json"))
    assert json.loads((tmp_path / "p.json").read_text()) == data
    assert data["name"] == "work" and data["ceiling"] > 0 and data["nodes"][0]["each"] > 0
    begins = [span["begin"] for span in data["spans"]]
    assert begins == sorted(begins) and min(begins) >= 0
    trace = json.loads(taken.found.trace(tmp_path / "t.json"))["traceEvents"]
    complete = [event for event in trace if event["ph"] == "X"]
    assert len(complete) >= len(data["spans"])
    assert {event["cat"] for event in complete} == {span["kind"] for span in data["spans"]}
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in complete)


def test_page_needs_nothing_else(taken: Any, tmp_path: Path) -> None:
    text = taken.found.html(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == text
    assert set(re.findall(r"https?://[^'\"]*", text)) == {"http://www.w3.org/2000/svg"}
    chart = re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert chart is not None
    data = json.loads(chart[1])
    assert data["spans"] and all(span["k"] in data["colours"] for span in data["spans"])
    assert all(span["b"] >= 0 and span["b"] + span["s"] <= data["end"] * 1.000001 for span in data["spans"])
    # What lies within another span is drawn below it, never over a neighbour of the same row.
    rows: dict[int, list[tuple[float, float]]] = {}
    for span in sorted(data["spans"], key=lambda span: span["b"]):
        rows.setdefault(span["r"], []).append((span["b"], span["b"] + span["s"]))
    for spans in rows.values():
        assert all(one[1] <= other[0] + 1e-6 for one, other in itertools.pairwise(spans))
    assert "<table>" in taken.found._repr_html_() and "<html" not in taken.found._repr_html_()


def test_names_in_pages_are_escaped() -> None:
    with np.profile("</script><b>") as found:
        (np.arange(1000.0) + 1).get()
    assert "</script><b>" not in found.html()


def test_a_profile_goes_on_where_it_is_entered_again() -> None:
    found = np.profile()
    for _ in range(2):
        with found:
            np.sort(np.arange(3000.0)).get()
    rows = [row for row in found.by_node() if row.name == "routine: sort"]
    assert len(rows) == 1 and rows[0].calls == 2


def test_what_is_recorded_within_runs_within() -> None:
    """Work that nobody has asked for by the end belongs to the profile that it was recorded in."""
    x = np.asarray(numpy.arange(300_000.0))
    np.evaluate(x)
    for _ in range(2):
        with np.config(unplanned=0, cpu_compile="wait"), np.profile() as found:
            y = np.exp(-x) + 2
            assert node_of(y).buffer is None
        assert node_of(y).buffer is not None
        (row,) = [row for row in found.by_class() if row.name.partition(" (")[0] == "kernel"]
        assert row.calls == 1
        with np.profile() as after:
            y.get()
        assert "kernel" not in {row.name.partition(" (")[0] for row in after.by_class()}


def test_two_at_once_are_refused_and_errors_end_it() -> None:
    with np.profile(), pytest.raises(RuntimeError, match="a profile is being taken already"), np.profile():
        pass
    assert counters.profiler is None
    with pytest.raises(ZeroDivisionError), np.profile() as found:
        (np.arange(100000.0) * 2).get()
        raise ZeroDivisionError
    assert counters.profiler is None and found.by_node()


def test_an_empty_profile_has_tables() -> None:
    found = np.profile("nothing")
    assert [row.name for row in found.by_class()] == ["host (Python, recording)"]
    assert found.by_node() == [] and "nothing" in str(found) and json.loads(found.json())["spans"] == []


def test_long_ones_are_counted_where_they_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MOST_SPANS", 3)
    with np.profile() as found:
        for _ in range(10):
            np.sort(np.arange(3000.0)).get()
    assert len(json.loads(found.json())["spans"]) == 3 and found.dropped > 10
    assert "the trace lacks" in str(found)
    assert [row.calls for row in found.by_node() if row.name == "routine: sort"] == [10]


def test_nvtx_ranges_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    closed: list[int] = []

    def start_range(message: str) -> int:
        opened.append(message)
        return len(opened)

    monkeypatch.setattr(profiling, "nvtx", SimpleNamespace(start_range=start_range, end_range=closed.append))
    with np.profile():
        work(np.asarray(numpy.ones((300, 400))))
    assert sorted(closed) == list(range(1, len(opened) + 1))
    assert any(message == "routine: sort" for message in opened)


class Clock:
    """A device whose events are numbers."""

    discrete = True
    interprets = False

    def __init__(self) -> None:
        self.now = 0.0

    def event(self) -> float:
        self.now += 1.0
        return self.now

    def elapsed(self, first: float, last: float) -> float:
        return last - first

    def synchronize(self) -> None:
        pass


def test_times_of_a_device_come_from_its_events() -> None:
    device = Clock()
    recorder = ProfileRecorder(device)
    for _ in range(profiling.PENDING + 5):
        recorder.end(recorder.begin("kernel", "k", "k", "", "here:1"))
    recorder.end(recorder.begin("planning", "", "plans", "", "here:1"))
    recorder.settle()
    (kernel, planning) = recorder.works.values()
    assert kernel.device == pytest.approx((profiling.PENDING + 5) * 1e-3) and planning.device == 0
    begins = [at for of, _, _, at, _ in recorder.spans if of is kernel]
    assert begins == sorted(begins) and begins[0] == pytest.approx(1e-3)


def test_a_function_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.symbol("x", (1000,))
    total = np.shared(0.0, "total")
    plain = np.function([x], np.exp(x), updates=[(total, total + x.sum())])
    profiled = np.function([x], np.exp(x), profile=True, name="exponential")
    values = numpy.linspace(0, 1, 1000)
    for _ in range(3):
        assert numpy.array_equal(profiled(values).get(), plain(values).get())
    assert profiled.profile.calls == 3 and "exponential: " in str(profiled.profile)
    assert [row.calls for row in profiled.profile.by_class() if row.name == "call"] == [3]
    with np.profile() as around:
        profiled(values)
        plain(values)
    assert profiled.profile.calls == 3
    assert sorted(row.name for row in around.by_node() if row.name.startswith("call")) == [
        "call: exponential",
        "call: function",
    ]
    assert float(total.get_value()) == pytest.approx(4 * values.sum())


def test_steps_that_do_the_same_are_one_row() -> None:
    x = np.asarray(numpy.ones((50, 60)))
    with np.config(unplanned=0, cpu_compile="wait"), np.profile() as found:
        w = np.zeros(60)
        for _ in range(6):
            w = w - 0.1 * (x.T @ np.tanh(x @ w + 1))
        w.get()
    rows = [row for row in found.by_node() if "tanh" in row.name]
    assert len(rows) < 4 and sum(row.calls for row in rows) == 6
    assert len({(row.name, row.detail, row.line) for row in rows}) == len(rows)
    assert all(row.calls for table in (found.by_class(), found.by_node()) for row in table)


def test_a_loop_by_one_launch_is_one_kernel() -> None:
    run = np.compile(lambda x: np.fori_loop(0, 40, lambda i, x: np.sin(x) * 0.9 + i, x))
    x = np.asarray(numpy.linspace(0, 1, 3000))
    with np.config(cpu_compile="wait"):
        for _ in range(4):
            want = run(x).get()
        before = counters.kernels
        run(x).get()
        launches = counters.kernels - before
        with np.profile() as found:
            assert numpy.array_equal(run(x).get(), want)
    assert counters.profiler is None
    if launches == 1:
        (row,) = [row for row in found.by_node() if "sin" in row.name]
        assert row.calls == 1 and "40 steps" in row.detail
