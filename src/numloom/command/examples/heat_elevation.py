"""Diffusion over a landscape: the elevation data that Matplotlib ships, smoothed by a stencil in place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

TITLE = "heat diffusion, elevation"
STEPS = 200
FINER = 4


def load() -> dict[str, Any]:
    """Heights in metres (float32), interpolated to a finer grid."""
    from matplotlib.cbook import get_sample_data

    sample: Any = get_sample_data("jacksboro_fault_dem.npz")
    heights = sample["elevation"].astype(np.float32)
    for axis in (0, 1):
        at = np.linspace(0, heights.shape[axis] - 1, FINER * heights.shape[axis], dtype=np.float32)
        low = np.minimum(at.astype(int), heights.shape[axis] - 2)
        part = (at - low).reshape(-1, 1) if axis == 0 else at - low
        heights = heights.take(low, axis) * (1 - part) + heights.take(low + 1, axis) * part
    return {"heights": heights.astype(np.float32)}


def run(xp: Any, steps: Iterable[int], *, heights: Any) -> dict[str, Any]:
    """Diffuse with the array module `xp`; the border stays as it is."""
    u = xp.array(heights)
    for _ in steps:
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return {"heights": u}


def agree(a: dict[str, Any], b: dict[str, Any]) -> tuple[bool, str]:
    """Whether two results (as NumPy arrays) agree, and by how much they differ."""
    # Additions and multiplications give NumPy's bits on every device.
    unequal = int(np.sum(a["heights"] != b["heights"]))
    return unequal == 0, "same bits" if unequal == 0 else f"{unequal} values differ (none may)"


def describe(result: dict[str, Any]) -> str:
    """What came out, in a few words."""
    heights = result["heights"]
    return f"{heights.shape[0]} × {heights.shape[1]} points, {heights.min():.0f} m to {heights.max():.0f} m"


def draw(folder: Path, inputs: dict[str, Any], result: dict[str, Any], other: dict[str, Any] | None = None) -> Path:
    """Draw before, after, what was smoothed away and, given a second result, where the two differ."""
    from matplotlib.colors import LightSource
    from matplotlib.figure import Figure

    before, after = inputs["heights"], result["heights"]
    light = LightSource(azdeg=315, altdeg=45)
    residual = after - before
    panels = [("before", before), ("after", after), ("residual (m)", residual)]
    if other is not None:
        panels.append(("against NumPy (m)", after - other["heights"]))
    figure = Figure(figsize=(5 * len(panels), 4.4), layout="constrained")
    for index, (axis, (title, panel)) in enumerate(zip(figure.subplots(1, len(panels)), panels, strict=True)):
        if index < 2:
            axis.imshow(light.hillshade(panel, vert_exag=0.15), cmap="gray")
        else:
            limit = float(np.percentile(np.abs(panel), 99.5)) or 1.0
            figure.colorbar(axis.imshow(panel, cmap="RdBu", vmin=-limit, vmax=limit), ax=axis, shrink=0.8)
        axis.set_title(title)
        axis.axis("off")
    path = folder / "heat_elevation.png"
    figure.savefig(path, dpi=120)
    return path
