"""The benchmark's cases give NumPy's results under numloom; its report holds together."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import memory_page, pool_off, pools, sizes
from benchmarks.__main__ import run_numpy
from benchmarks.calls import EXCEPTIONS, UNORDERED, calls, covered
from benchmarks.cases import CASES, Case
from benchmarks.curve import CHAINS, Point, lines_below, single_calls, sizes_to, summary, table_of
from benchmarks.curve import measure as measure_curve
from benchmarks.curve import save_plot as save_curve
from benchmarks.functions import REASONS, Row, Workplace, arrays_in, host_inputs, load_rows, save_row
from benchmarks.functions import markdown as functions_markdown
from benchmarks.libraries import Library, Numloom
from benchmarks.measure import Measurement, measure, results_agree
from benchmarks.report import Report, markdown, save_json, save_plot, save_rows, table

from numloom.device import registry

NUMBERS = (np.generic, bool, int, float, complex)
SMALL = [case for case in CASES if case.small and "1e7" not in case.name]


@pytest.fixture(scope="module")
def numloom_library():
    import numloom

    with numloom.config(cpu_compile=numloom.config.cpu_compile):
        yield Numloom()


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_results_are_numpys(case: Case, numloom_library: Library) -> None:
    inputs = case.inputs(np.random.default_rng(0))
    assert results_agree(case, numloom_library, inputs, run_numpy(case, inputs))


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_measure_times_and_gives_up() -> None:
    case = Case("wait", lambda rng: (), lambda xp: np.arange(10) + 1)
    found = measure(case, Library(), (), cap=0.05, hard_cap=5)
    assert found.seconds and found.first and found.calls > 1
    assert found.best and found.best <= found.seconds

    def forever(xp):
        while True:
            pass

    found = measure(Case("forever", lambda rng: (), forever), Library(), (), cap=0.05, hard_cap=0.2)
    assert found.seconds is None and "over" in found.note
    found = measure(Case("broken", lambda rng: (), lambda xp: 1 / 0), Library(), (), cap=0.05, hard_cap=5)
    assert found.seconds is None and "ZeroDivisionError" in found.note


def test_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    machine = {"device": "a machine", "bytes_per_second": 1e12, "instructions_per_second": 1e13}
    report = Report(machine, {"numloom": "0", "numpy": "2", "cupy": "14"})
    report.add(
        Case("big[x]", lambda rng: (), abs, bytes=1e8, instructions=1e6),
        {"numloom": Measurement(1.25e-4, 0.1, 10, 9, 1), "numpy": Measurement(1e-2), "cupy": Measurement(5e-4)},
    )
    report.add(Case("failed", lambda rng: (), abs), {"numloom": Measurement(note="no such name")})
    assert report.best_peer("big[x]") == 5e-4
    assert report.ratio("big[x]") == pytest.approx(4)
    assert report.share("big[x]") == pytest.approx(0.8)
    assert report.ratio("failed") is None and report.floors["failed"] is None
    assert "| big[x] | 100 | 125 |" in markdown(report)
    assert "no such name" in str(table(report).caption)
    save_json(report, tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["cases"][0]["ratio_to_best_peer"] == pytest.approx(4)
    save_plot(report, tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5000


def test_every_function_has_a_line_or_a_reason() -> None:
    import numloom

    def functions(space: object, names: object) -> set[str]:
        return {n for n in names if callable(getattr(space, n)) and not isinstance(getattr(space, n), type)}  # type: ignore[attr-defined]

    have = covered()
    missing = functions(numloom, numloom.__all__) - have - set(EXCEPTIONS)
    for name in ("linalg", "fft", "special"):
        space = getattr(numloom, name)
        missing |= {f"{name}.{n}" for n in functions(space, space.__all__)} - have - set(EXCEPTIONS)
    drawing = {n for n in dir(numloom.random.Generator) if n[0] != "_" and hasattr(np.random.Generator, n)}
    missing |= {f"rng.{n}" for n in drawing} - have - set(EXCEPTIONS)
    missing |= {f".{n}" for n in dir(np.ndarray) if n[0] != "_"} - have - set(EXCEPTIONS)
    missing |= {f"add.{n}" for n in ("reduce", "accumulate", "reduceat", "outer", "at")} - have
    assert not missing
    assert not have & set(EXCEPTIONS), "what has a line needs no reason"
    assert set(REASONS) <= {call.text for call in calls()}


def test_functions_are_reported_from_their_file(tmp_path: Path) -> None:
    fast, slow, failed, left = itertools.islice(calls(), 4)
    times = {fast: (1e-5, 2e-5), slow: (3e-4, 1e-4), failed: (None, 1e-3)}
    rows = [Row(call, Measurement(a), Measurement(b), 1e-6) for call, (a, b) in times.items()]
    for number, row in enumerate(rows):
        save_row(row, tmp_path / "f.jsonl", "cupy", fresh=number == 0)
    with (tmp_path / "f.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"call": "no_such_line(x)"}\n')
    found, other = load_rows(tmp_path / "f.jsonl")
    assert found == rows and other == "cupy"
    text = functions_markdown(found, other)
    assert f"| `{slow.text}` | 300 | 100 | 0.33 |" in text and f"| `{failed.text}` | – |" in text
    assert f"`{fast.text}`" not in text and left.text not in text
    assert f"| {fast.section} | 2 | 1.17 | 1 |" in text and "| 2 ≤ cupy ÷ ours < 10 | 1 |" in text


@pytest.mark.filterwarnings("ignore")
def test_every_line_gives_numpys_results() -> None:
    pytest.importorskip("scipy")
    import numloom

    hosts = host_inputs(60)
    wrong = []
    # The fused kernels of these functions are tested where the functions are: here it is the lines that count.
    executor = "reference" if registry.current().name == "cpu" else numloom.config.executor
    with numloom.config(cpu_compile=numloom.config.cpu_compile, executor=executor), np.errstate(all="ignore"):
        ours, numpy = Workplace(Numloom(), hosts), Workplace(Library(), hosts)
        for call in calls():
            found = [numloom.asnumpy(value) for value in arrays_in(ours.bind(call)(), (numloom.ndarray, *NUMBERS))]
            expected = [np.asarray(value) for value in arrays_in(numpy.bind(call)(), (np.ndarray, *NUMBERS))]
            agree = len(found) == len(expected) and all(
                a.shape == b.shape for a, b in zip(found, expected, strict=True)
            )
            if agree and call.text in UNORDERED:
                found, expected = ([np.sort(value) for value in side] for side in (found, expected))
            if agree and call.section != "random" and not call.text.startswith("empty"):
                pairs = zip(found, expected, strict=True)
                agree = all(np.allclose(a, b, rtol=2e-3, atol=2e-3, equal_nan=True) for a, b in pairs)
            if not agree:
                wrong.append(call.text)
    assert not wrong


def test_curve(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = {line.name: line for line in single_calls()}
    assert {"add float64", "divmod int32", "ldexp float32", "left_shift int64", "all of rows bool"} <= set(lines)
    chosen = [lines["negative float32"], lines["modf float64"], lines["max of columns int32"]]
    points = measure_curve([*chosen, CHAINS[0]], [10, 100], budget=0)
    assert [(point.line, point.size) for point in points[:4]] == [
        ("negative float32", 10), ("negative float32", 100), ("modf float64", 10), ("modf float64", 100),
    ]  # fmt: skip
    assert len(points) == 7 and all(point.ours > 0 and point.numpy > 0 for point in points)
    known = [Point("slow", 10, 2.0, 1.0), Point("slow", 100, 1.0, 1.0), Point("fast", 100, 1.0, 3.0)]
    assert "| 100 | 2 | 1.00 | 2.00 | 0 |" in summary(known)
    assert "| slow | 0.50 | 1.00 |" in lines_below(known, 10) and "slow" not in lines_below(known, 100)
    assert "| `slow` | 10 | 2e+03 | 1e+03 | 0.50 |" in table_of(known)
    assert sizes_to(1000) == [1, 10, 100, 1000]
    save_curve(points, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000


def test_pool_on_and_off(numloom_library: Library) -> None:
    rows = pool_off.measured([numloom_library, Library()], rounds=2, side=10)
    assert [(row.library, row.pool) for row in rows] == [("numloom", "on"), ("numloom", "off"), ("numpy", "–")]
    assert all(row.milliseconds > 0 for row in rows)
    assert len(pool_off.table(rows)) == 4


def test_sizes(numloom_library: Library, tmp_path: Path) -> None:
    assert [sizes.operand(size).shape for size in (10, 10**5, 10**6)] == [(2, 5), (250, 400), (1000, 1000)]
    rows = sizes.measured([Library(), numloom_library], 1e12, (100, 1000), cap=0.01)
    assert [row.numbers for row in rows] == [100, 1000]
    for row in rows:
        assert set(row.milliseconds) == {"numpy", "numloom"} and set(row.of_bandwidth) == {"numloom"}
        moved = row.of_bandwidth["numloom"] * row.milliseconds["numloom"] * 1e-3 * 1e12
        assert moved == pytest.approx(8 * row.numbers)
    known = sizes.Row(10**6, {"numpy": 1.0, "numloom": 0.25}, {"numloom": 0.5})
    assert sizes.table([known])[1] == ["1,000,000", "1.0000", "0.2500", "50%"]
    pytest.importorskip("matplotlib")
    sizes.plot(rows, tmp_path / "sizes.svg")
    assert (tmp_path / "sizes.svg").stat().st_size > 1000


def test_a_size_that_fails_says_why() -> None:
    class Full(Library):
        def array(self, host: np.ndarray) -> np.ndarray:
            raise MemoryError("no memory left")

    with pytest.raises(RuntimeError, match="no memory left"):
        sizes.milliseconds(Full(), 10, cap=0.01)


@pytest.mark.parametrize("name", pools.SIMULATED)
def test_pools_follow_a_trace(name: str, tmp_path: Path) -> None:
    trace = [(0, 1000), (1, 5000), (0, 0), (2, 700), (1, 0), (2, 0)]
    used, held = pools.bytes_by_step(trace, pools.POOLS[name](1 << 20))
    assert used == [0, 1000, 6000, 5000, 5700, 700, 0]
    assert all(most >= now for most, now in zip(held, used, strict=True)) and held[0] == 0
    with pytest.raises(MemoryError):
        pools.replay(trace, pools.POOLS[name](4000))
    row = pools.measured("short", trace, name, least=True)
    assert row.used == 6000 and row.held >= 6000 and row.blocks > 0 and row.least and row.least >= 1
    pool = pools.POOLS[name](0)
    pools.replay(trace, pool)
    pool.release()
    assert pool.held() == 0
    pytest.importorskip("matplotlib")
    pools.plot(trace, [name], tmp_path / "pools.svg")
    assert (tmp_path / "pools.svg").stat().st_size > 1000


def test_our_pool_takes_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside CuPy and PyTorch, whose times have the driver's in them, ours must have it, too."""
    driver = pools.Addresses(1 << 20)
    gpu = SimpleNamespace(name="cuda", pool=SimpleNamespace(raw_allocate=driver.take, raw_free=driver.give))
    monkeypatch.setattr(registry, "current", lambda: gpu)
    pool = pools.Ours()
    block = pool.take(1 << 19)
    assert pool.held() == 1 << 19
    with pytest.raises(MemoryError):
        pool.take(1 << 20)
    del block
    pool.release()
    assert pool.held() == 0 and driver.take(1 << 20)


def test_traces_free_what_they_allocate_and_no_peak_is_lost() -> None:
    for make in pools.TRACES.values():
        live: set[int] = set()
        for name, nbytes in make():
            (live.add if nbytes else live.remove)(name)
    assert pools.thinned([1, 9, 2, 3, 4], most=2) == [9, 4] and pools.thinned([1, 2], most=5) == [1, 2]


def test_page_of_memory_is_made_of_rows(tmp_path: Path) -> None:
    rows = [pools.Row("short", "numloom", 6_000_000, 9_000_000, None, 3, 120.4)]
    save_rows(rows, {"numloom": "0"}, tmp_path / "pools.json", bytes_per_second=1.0)
    runs: dict[str, object] = {}
    memory_page.take(runs, [f"pools={tmp_path / 'pools.json'}"])
    text = memory_page.page("# Memory\n\n## Measured\n\nold\n", runs)
    assert text.startswith("# Memory\n\n## Measured\n") and "old" not in text
    assert "| short | numloom | 6 | 9 | 1.50 | – | 3 | 120 |" in text and "![" in text
    assert text.count("### ") == 1 and memory_page.page("## Measured\n", {}).endswith("(design/memory.md).\n")
    assert memory_page.page(text, runs) == text
    with pytest.raises(SystemExit, match="no part"):
        memory_page.take(runs, ["nothing=x"])
    with pytest.raises(SystemExit, match="no heading"):
        memory_page.page("# Memory\n", runs)
