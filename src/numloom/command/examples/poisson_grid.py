"""Poisson's equation on a square grid by conjugate gradients, plain and with incomplete factors as preconditioner."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

TITLE = "Poisson's equation, conjugate gradients"
STEPS = 300
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
    # In the order of the rows and without pivots the two factors are nearly each other's transposes, as they must be.
    factors = sparse.linalg.spilu(
        matrix.tocsc(), drop_tol=0.01, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    incomplete = sparse.linalg.LinearOperator(matrix.shape, factors.solve, dtype=b.dtype)
    most, found = len(list(steps)), {}
    for name, preconditioner in (("plain", None), ("preconditioned", incomplete)):
        residuals: list[float] = []
        x, _ = sparse.linalg.cg(
            matrix, b, rtol=1e-10, maxiter=most, M=preconditioner,
            callback=lambda x, to=residuals: to.append(float(xp.sqrt(((b - matrix @ x) ** 2).sum()))),
        )  # fmt: skip
        found[name] = x.reshape(charge.shape), residuals
    return {
        "potential": found["plain"][0], "residuals": found["plain"][1],
        "preconditioned": found["preconditioned"][0], "fewer_residuals": found["preconditioned"][1],
    }  # fmt: skip


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    difference = max(float(np.abs(a[name] - b[name]).max()) for name in ("potential", "preconditioned"))
    return difference < 1e-8, f"potentials differ by at most {difference:.1e}"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    plain, fewer = result["residuals"], result["fewer_residuals"]
    return (
        f"residual {plain[-1]:.1e} after {len(plain)} steps, with incomplete factors {fewer[-1]:.1e} after {len(fewer)}"
    )


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw the potential, both residuals and, given a second result, where the two differ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15 if other else 10, 4.4), layout="constrained")
    axes = figure.subplots(1, 3 if other else 2)
    figure.colorbar(axes[0].contourf(result["potential"], 30, cmap="RdBu"), ax=axes[0])
    axes[0].set_title("potential")
    axes[1].semilogy(result["residuals"], label="plain")
    axes[1].semilogy(result["fewer_residuals"], label="incomplete factors")
    axes[1].legend()
    axes[1].set_title("norm of the residual")
    axes[1].set_xlabel("step")
    if other is not None:
        difference = result["potential"] - other["potential"]
        figure.colorbar(axes[2].imshow(difference, cmap="RdBu"), ax=axes[2])
        axes[2].set_title("against SciPy")
    path = folder / "poisson_grid.png"
    figure.savefig(path, dpi=120)
    return path
