"""Parameters of every size: the points of `grid.py`, and values that were wrong."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import numloom as nl

pytest.importorskip("scipy")
pytest.importorskip("mpmath")
_spec = importlib.util.spec_from_file_location("special_grid", Path(__file__).with_name("grid.py"))
grid = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(grid)

EXACT = [
    ("betainc", (30.0, 1e-10, 0.999), 2.974899693116203e-10),
    ("betainc", (10.0, 1e-12, 0.9999), 6.382271938016441e-12),
    ("betainc", (5.0, 1e-6, 0.9), 5.90560313915409e-07),
    ("betainc", (1e-15, 0.5, 0.3), 0.9999999999999978),
    ("betainc", (1e-300, 0.5, 0.3), 1.0),
    ("betaincc", (1e-10, 30.0, 1e-10), 1.906419711716177e-09),
    ("fdtr", (3.5, 1e-10, 1e-10), 4.24264415403821e-11),
    ("fdtr", (0.017384769348668054, 1.5901330774660476e-230, 3.4829002016675935e230), 9.309832034979874e-228),
    ("fdtr", (3.0, 2.0, 1.5), 0.5760348191569686),
    ("fdtrc", (3.5, 1e-10, 1e-10), 0.9999999999575736),
    ("fdtrc", (3.131989910827337e-06, 3.2477906522764906e-122, 1.2520965809340994e212), 1.0),
    ("stdtr", (4.7133972305328337e-35, 6.53596437115359e191), 0.5),
    ("stdtr", (2.0, -1e200), 0.0),
    ("poch", (4700.022417817339, 1.0144702222865335e-10), 1.0000000008577565),
    ("rel_entr", (8.0259422014731745e-233, 2.8295941412774472e85), -5.868404516580547e-230),
    ("chdtri", (1.9412332167722485e-143, 2.606630569278224e-05), 0.0),
    ("gammaincinv", (1e-300, 0.7), 0.0),
    ("betainccinv", (1e-17, 2.0, 1e-24), 0.999552853068682),
    ("betainccinv", (6.098984262906297e-57, 22.991135316669943, 2.1055080658459632e-150), 0.9999013512385936),
    ("betainccinv", (1e-27, 0.25, 1e-68), 1.0),
]


@pytest.mark.parametrize(("name", "point", "exact"), EXACT)
@pytest.mark.parametrize("count", [1, 5000], ids=["few", "many"])
def test_tiny_parameters(name: str, point: tuple[float, ...], exact: float, count: int) -> None:
    found = getattr(nl.special, name)(*[nl.asarray(np.full(count, x)) for x in point]).get()
    np.testing.assert_allclose(found, exact, rtol=4e-15)


def test_ends_of_distributions() -> None:
    inf, nan = np.inf, np.nan
    for name, point, exact in [
        ("fdtr", (3.0, 2.0, inf), 1),
        ("fdtr", (3.0, 2.0, 0.0), 0),
        ("fdtrc", (3.0, 2.0, inf), 0),
        ("fdtrc", (3.0, 2.0, 0.0), 1),
        ("fdtr", (1e-230, 3.0, 2.0), 1),
        ("fdtr", (1e5, 1e300, 1e-310), 0),
        ("fdtr", (inf, 2.0, 1.0), nan),
        ("fdtr", (3.0, 2.0, nan), nan),
        ("fdtr", (3.0, 2.0, -1.0), nan),
        ("stdtr", (3.0, inf), 1),
        ("stdtr", (3.0, -inf), 0),
        ("stdtr", (3.0, nan), nan),
        ("stdtr", (1e-300, 0.0), 0.5),
        ("rel_entr", (1.0, inf), -inf),
        ("poch", (2.0, 1.0), 2),
        ("poch", (1.0, -0.5), 1.772453850905516),
    ]:
        np.testing.assert_allclose(
            float(getattr(nl.special, name)(*point)), exact, rtol=1e-15, err_msg=f"{name}{point}"
        )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="mpmath is stopped by an alarm")
@pytest.mark.parametrize("name", [*grid.CASES, *grid.INVERSES])
def test_parameters_of_every_size(name: str) -> None:
    found = [row for row in grid.errors(name, 16, seed=3)]
    wrong = [row for row in found if not row[0] <= grid.BOUNDS[name]]
    assert not wrong, wrong
