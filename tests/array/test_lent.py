"""Functions of small arrays that NumPy's loops, or loops like them, take at once over the same memory."""

from __future__ import annotations

import numpy as np

import numloom as nl


def test_interpolation_at_the_points_themselves() -> None:
    """Each point has its value, whatever the slopes beside it, the last one like the others."""
    rng = np.random.default_rng(7)
    for count in (2, 3, 10, 50):
        points = np.sort(rng.standard_normal(count)) * 10.0 ** rng.integers(-3, 4)
        values = rng.standard_normal(count) * 10.0 ** rng.integers(-9, 9, count)
        x, y = nl.asarray(points), nl.asarray(values)
        assert nl.interp(x, x, y).get().tobytes() == values.tobytes()
        assert [float(nl.interp(point, x, y)) for point in points.tolist()] == values.tolist()
        assert float(nl.interp(points[-1], x, y, right=-1.0)) == values[-1]
