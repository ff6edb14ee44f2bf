"""Matrices for the tests of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def matrices(xp: Any) -> dict[str, Any]:
    """Names for expressions: matrices of several shapes, orders and dtypes in the array module `xp`."""
    random = np.random.default_rng(5)
    normal = random.standard_normal
    square, wide, stack = normal((4, 4)), normal((3, 5)), normal((2, 3, 4, 4))
    complex_ = normal((4, 4)) + 1j * normal((4, 4))
    hosts = {
        "a": square, "b": normal((4, 4)), "w": wide, "t": wide.T, "v": normal(4), "stack": stack, "z": complex_,
        "f": square.astype("f4"), "c": complex_.astype("F"), "i": random.integers(-5, 6, (3, 3)),
        "u": np.eye(3, dtype="u1") * 3, "q": random.random((3, 3)) < 0.5, "h": normal((3, 3)).astype("e"),
        "sym": square + square.T + 9 * np.eye(4), "her": complex_ @ complex_.conj().T + np.eye(4),
        "spd": stack @ stack.mT + np.eye(4), "flat": np.outer(wide[0], wide[1]), "e0": np.zeros((0, 0)),
        "e1": np.zeros((0, 3)), "e2": np.zeros((3, 0), "f"), "e3": np.zeros((2, 0, 3, 3)),
        "nan": np.where(np.eye(4, dtype=bool), np.nan, square), "inf": np.where(wide > 1, np.inf, wide),
        "zero": np.zeros((2, 2)), "one": np.ones((2, 2, 2)), "t4": normal((2, 3, 3, 2)),
    }  # fmt: skip
    names = {name: xp.asarray(host) for name, host in hosts.items()}
    names |= {
        "sl": names["stack"][::-1, ::2],
        "fo": xp.asarray(np.asfortranarray(stack)),
        "rev": names["a"][::-1, ::-1],
    }
    return {"xp": xp, "la": xp.linalg, "np": np, **names}


@pytest.fixture(scope="session", name="matrices")
def matrices_fixture() -> Any:
    return matrices
