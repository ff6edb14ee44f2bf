"""The examples under NumPy and numloom, and their scripts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numloom
from numloom.command.examples import (
    heat_elevation,
    labels_digits,
    logistic_digits,
    pagerank_miserables,
    poisson_grid,
    quantize_china,
    text_licences,
)
from numloom.command.script import compute
from numloom.sparse.where import forced

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("networkx")

FOLDER = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("example", [heat_elevation, logistic_digits, quantize_china], ids=lambda e: e.__name__[-9:])
def test_numloom_agrees_with_numpy(example) -> None:
    inputs = example.load()
    steps = range(max(3, example.STEPS // 20))
    expected, _ = compute(example, np, steps, inputs)
    actual, _ = compute(example, numloom, steps, inputs)
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        assert actual[name].dtype == value.dtype, name
    same, difference = example.agree(actual, expected)
    assert same, difference


@pytest.mark.parametrize("device_way", [False, True])
@pytest.mark.parametrize(
    "example", [labels_digits, pagerank_miserables, poisson_grid, text_licences], ids=lambda e: e.__name__[-9:]
)
def test_sparse_examples_agree_with_scipy(example, device_way) -> None:
    inputs = example.load()
    steps = range(example.STEPS)
    expected, _ = compute(example, np, steps, inputs)
    with forced(device_way), numloom.config(host_copy="allow"):  # Incomplete factors are SciPy's.
        actual, _ = compute(example, numloom, steps, inputs)
    same, difference = example.agree(actual, expected)
    assert same, difference


def test_digits_are_learnt() -> None:
    result = logistic_digits.run(np, range(300), **logistic_digits.load())
    assert np.mean(result["right"]) > 0.9
    assert result["losses"][-1] < 0.2 * result["losses"][0]


def test_labels_spread() -> None:
    result = labels_digits.run(np, range(labels_digits.STEPS), **labels_digits.load())
    assert result["right"][-1] > 0.93
    assert result["right"][-1] > result["right"][0] + 0.3


def test_incomplete_factors_save_steps() -> None:
    with numloom.config(host_copy="allow"):
        result = poisson_grid.run(numloom, range(poisson_grid.STEPS), **poisson_grid.load())
    plain, fewer = result["residuals"], result["fewer_residuals"]
    assert len(fewer) < len(plain) / 4
    assert max(plain[-1], fewer[-1]) < 1e-9 * plain[0]
    difference = np.abs((result["potential"] - result["preconditioned"]).get()).max()
    assert difference < 1e-7


def test_heat_keeps_the_border() -> None:
    inputs = heat_elevation.load()
    result = heat_elevation.run(np, range(3), **inputs)["heights"]
    assert np.array_equal(result[0], inputs["heights"][0])
    assert result[1:-1, 1:-1].std() < inputs["heights"][1:-1, 1:-1].std()


def test_colours_come_nearer() -> None:
    inputs = quantize_china.load()

    def loss(steps: int) -> float:
        return float(np.mean((quantize_china.run(np, range(steps), **inputs)["painted"] - inputs["photograph"]) ** 2))

    assert loss(3) < 0.9 * loss(0)


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_scripts(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, script, "--module", "numpy", "--steps", "2", "--output", tmp_path]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    assert "numpy" in out
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("name, options", [("digits", ["--steps", "20"]), ("heat", ["--size", "65", "--steps", "9"])])
def test_processes_compute_together(name, options) -> None:
    script = FOLDER / "together" / f"{name}.py"
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0 and "2 processes" in done.stdout, done.stderr
