"""Incomplete gamma functions in kernels: SciPy's values on both sides of every way that they go, and at the ends."""

from __future__ import annotations

import numpy as np
from scipy import special as scipys

import numloom as nl
from compilers import needed
from numloom import special

ENDS = [0.0, 1e-10, 0.3, 0.5, 1.0, 1.1, 2.0, 8.0, 10.0, 50.0, 60.0, 171.0, 500.0, np.inf, np.nan]


def test_both_incomplete_gamma_functions() -> None:
    needed()
    near = np.outer([0.4, 7.0, 51.0, 300.0], [0.65, 0.71, 0.99, 1.0, 1.01, 1.29, 1.31]).ravel()
    a, x = (each.ravel() for each in np.meshgrid(ENDS, [*ENDS, *near]))
    with nl.config(unplanned=0, cpu_compile="wait"), np.errstate(all="ignore"):
        ours = nl.asarray(a), nl.asarray(x)
        lower, upper = special.gammainc(*ours) * 1.0, special.gammaincc(*ours) * 1.0
        nl.evaluate(lower, upper)
    for found, expected in ((lower, scipys.gammainc(a, x)), (upper, scipys.gammaincc(a, x))):
        np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-300)
