"""Compiled cases give NumPy's results under numloom; their report holds together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from benchmarks import training_cases as training
from benchmarks.compiled import (
    Found,
    Limits,
    Row,
    difference,
    load_json,
    markdown,
    measured,
    save_json,
    summary,
    table,
    unlike,
)  # fmt: skip
from benchmarks.compiled_cases import CASES, Case
from benchmarks.compiled_libraries import NumloomCompile, leaves, numpy_space

import numloom as nl
from numloom.device import registry

SHORT = {case.name: case for case in CASES if case.name.split(",")[0] in ("100 updates of 1", "200 operations of ten")}
LIMITS = Limits(budget=0.01, warm=0.0, first=60)


@pytest.fixture
def library():
    with nl.config(cache_dir=nl.config.cache_dir):
        yield NumloomCompile(registry.current().name)


def tiny(case: Case) -> Case:
    """The case with 12 numbers in each array."""
    return dataclasses.replace(case, inputs=lambda rng: tuple(array[:12] for array in case.inputs(rng)))


@pytest.mark.parametrize("case", SHORT.values(), ids=SHORT)
def test_results_are_numpys(case: Case, library: NumloomCompile) -> None:
    small = tiny(case)
    inputs = small.inputs(np.random.default_rng(0))
    run = library.prepare(lambda *arrays: small.run(library.namespace, *arrays))
    found = [library.host(one) for one in leaves(run(*[library.array(one) for one in inputs]))]
    assert difference(found, leaves(small.run(numpy_space(), *inputs)), 0) == ""
    one = measured(small, [library], LIMITS, on_gpu=True).found["numloom"]
    assert one.best and one.first and one.host and one.calls and not one.note


def test_a_step_of_training_is_numpys(library: NumloomCompile) -> None:
    rng = np.random.default_rng(0)
    inputs = training.machine(rng)
    drawn = {shape: rng.random(shape, np.float32) for shape in ((100, 500), (100, 784))}
    ours, theirs = library.namespace, numpy_space()
    ours.uniform, theirs.uniform = lambda key, shape: library.array(drawn[shape]), lambda key, shape: drawn[shape]
    run = library.prepare(lambda *arrays: training.divergence_step(ours, *arrays))
    found = [library.host(one) for one in leaves(run(*[library.array(one) for one in inputs]))]
    assert difference(found, leaves(training.divergence_step(theirs, *inputs)), 0) == ""


def test_a_step_goes_along_the_gradient(library: NumloomCompile) -> None:
    inputs = training.minibatches(np.random.default_rng(0))
    run = library.prepare(lambda *arrays: training.logistic_step(library.namespace, *arrays))
    found = [library.host(one) for one in run(*[library.array(one) for one in inputs])]
    w, b, pictures, truth, _ = inputs
    x, y = pictures[1800:2400], truth[1800:2400]
    scores = np.exp(x @ w + b)
    wrong = (scores / scores.sum(axis=1, keepdims=True) - y) / 600
    assert difference(found, [w - np.float32(0.13) * (x.T @ wrong), b - np.float32(0.13) * wrong.sum(axis=0)], 0) == ""


def test_a_failure_is_a_note(library: NumloomCompile) -> None:
    def run(xp, x):
        raise ValueError("no such thing\nand more")

    broken = measured(Case("broken", lambda rng: (np.ones(2),), run), [library], LIMITS, on_gpu=False)
    assert broken.found["numloom"].note == "ValueError: no such thing" and broken.ratio is None


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 28


def test_differences_are_found() -> None:
    x = np.array([1.0, -2.0, np.inf], np.float32)
    assert difference([x], [x * np.float32(1 + 1e-5)], 0) == ""
    assert "0.05" in difference([x + np.float32([0.1, 0, 0])], [x], 0)
    assert "finite" in difference([x], [x[[0, 2, 1]]], 0)
    assert difference([x[:2]], [x], 0) and difference([], [x], 0)
    counts = np.arange(10)
    assert difference([counts], [counts.clip(1)], 0.1) == "" and difference([counts], [counts.clip(1)], 0)


def test_what_is_drawn_is_compared_by_norms() -> None:
    x = np.ones(100)
    assert unlike([x * 1.1], [x], 0.2) == "" and "norm 15" in unlike([x * 1.5], [x], 0.2)
    assert "shapes" in unlike([x[:3]], [x], 0.2) and unlike([x * np.nan], [x], 0.2)


def test_report(tmp_path: Path) -> None:
    rows = [
        Row("slow[x]", {"numloom": Found(0.1, 3e-5), "jax": Found(0.2, 1e-5), "torch.compile": Found(2, 2e-5)}),
        Row("fast", {"numloom": Found(0.1, 1e-5), "jax": Found(0.2, 4e-5), "torch.compile": Found(note="over 9 s")}),
        Row("wrong", {"numloom": Found(0.1, 1e-5), "jax": Found(0.2, 4e-5, wrong="0.1 apart")}),
    ]
    assert [row.ratio for row in rows] == [pytest.approx(3), pytest.approx(0.25), None]
    about = {"machine": "a machine", "device": "cpu", "versions": {"numloom": "0", "jax": "1", "torch.compile": "2"}}
    text = markdown(rows, about)
    assert "| slow[x] | 30 | 10 | 20 | **3.00** | 100 | 200 | 2,000 |" in text
    assert "| wrong | 10 | WRONG | – | – |" in text and "- fast, torch.compile: over 9 s" in text
    assert "1 of 2 rows" in summary(rows)
    assert table(rows, list(about["versions"]), "a machine", on_gpu=True).row_count == 3
    save_json(rows, about, tmp_path / "rows.json")
    assert load_json(tmp_path / "rows.json") == rows
