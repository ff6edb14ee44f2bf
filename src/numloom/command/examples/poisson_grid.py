"""Poisson's equation on a square grid by conjugate gradients, with the residual after each step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

TITLE = "Poisson's equation, conjugate gradients"
STEPS = 200
POINTS = 64


def load() -> dict[str, Any]:
    """Charges on the grid: two plates and a point."""
    charge = np.zeros((POINTS, POINTS))
    charge[POINTS // 4, POINTS // 4 : -POINTS // 4] = 1
    charge[-POINTS // 4, POINTS // 4 : -POINTS // 4] = -1
    charge[POINTS // 2, POINTS // 8] = 4
    return {"charge": charge}


def run(xp: Any, steps: Iterable[int], *, charge: Any) -> dict[str, Any]:
    """Solve with the sparse arrays of `xp`, or SciPy's where it has none; at most so many steps."""
    sparse = scipy.sparse if xp is np else xp.sparse
    n = len(charge)
    line = sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    matrix = sparse.kronsum(line, line).tocsr()
    b = xp.array(charge).ravel()
    residuals: list[float] = []
    x, _ = sparse.linalg.cg(
        matrix, b, rtol=1e-10, maxiter=len(list(steps)),
        callback=lambda x: residuals.append(float(xp.sqrt(((b - matrix @ x) ** 2).sum()))),
    )  # fmt: skip
    return {"potential": x.reshape(charge.shape), "residuals": residuals}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = float(np.abs(a["potential"] - b["potential"]).max())
    return difference < 1e-8, f"potentials differ by at most {difference:.1e}"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    return f"residual {result['residuals'][-1]:.1e} after {len(result['residuals'])} steps"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw the potential, the residual and, given a second result, where the two differ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15 if other else 10, 4.4), layout="constrained")
    axes = figure.subplots(1, 3 if other else 2)
    figure.colorbar(axes[0].contourf(result["potential"], 30, cmap="RdBu"), ax=axes[0])
    axes[0].set_title("potential")
    axes[1].semilogy(result["residuals"])
    axes[1].set_title("norm of the residual")
    axes[1].set_xlabel("step")
    if other is not None:
        difference = result["potential"] - other["potential"]
        figure.colorbar(axes[2].imshow(difference, cmap="RdBu"), ax=axes[2])
        axes[2].set_title("against SciPy")
    path = folder / "poisson_grid.png"
    figure.savefig(path, dpi=120)
    return path
