"""Rows taken by index arrays inside reductions: where they lie is found once a row."""

import numpy as np
import pytest

import numloom as nl
from numloom.emit import elements

CASES = {
    "rows": lambda xp, x, y, i, j: x[i].sum(1),
    "distances": lambda xp, x, y, i, j: ((x[i] - y[j]) ** 2).sum(-1),
    "of columns": lambda xp, x, y, i, j: x[i].sum(0),
    "columns": lambda xp, x, y, i, j: x[:, i % x.shape[1]].sum(0),
    "along": lambda xp, x, y, i, j: x[:, i % x.shape[1]].sum(1),
    "parts": lambda xp, x, y, i, j: x[i, 1:].max(1),
    "backwards": lambda xp, x, y, i, j: (x[i][:, ::-1] * y[0]).sum(1),
    "softmax": lambda xp, x, y, i, j: (lambda e: e / e.sum(1, keepdims=True))(xp.exp(x[i] / 100)),
    "first": lambda xp, x, y, i, j: x[i].argmax(1),
    "computed places": lambda xp, x, y, i, j: x[(i * 2 + j) % len(x)].min(1),
    "with the index": lambda xp, x, y, i, j: (x[i] * i[:, None]).sum(1),
    "pairs": lambda xp, x, y, i, j: x[i, j % x.shape[1]].sum(),
    "two levels": lambda xp, x, y, i, j: x[i[j % len(i)]].sum(1),
    "moments": lambda xp, x, y, i, j: x[i].var(1),
    "three axes": lambda xp, x, y, i, j: x[i].reshape(len(i), -1, 1).sum((1, 2)),
    "a table": lambda xp, x, y, i, j: (x[i[:, None], i[None, :] % x.shape[1]]).sum(1),
}


@pytest.mark.parametrize("width", [1, 3, 17, 64, 200, 3000])
@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name, width):
    rng = np.random.default_rng(width)
    x, y = rng.integers(-9, 9, (2, 40, width)).astype("f8")
    i = rng.integers(-40 if name not in ("columns", "along") else 0, 40, 30)
    j = rng.integers(0, 40, 30).astype("i4")
    if name == "parts" and width == 1:
        width, x, y = 2, np.hstack([x, x]), np.hstack([y, y])
    want = CASES[name](np, x, y, i, j)
    with nl.config(cpu_compile="wait"):
        got = CASES[name](nl, *map(nl.asarray, (x, y, i, j)))
        np.testing.assert_allclose(got.get(), want, rtol=1e-12)


@pytest.mark.parametrize("bad", [40, -41])
@pytest.mark.parametrize("width", [3, 64])
def test_places_outside_raise(bad, width):
    x = nl.asarray(np.ones((40, width)))
    i = nl.asarray(np.array([3, bad, 5]))
    with nl.config(cpu_compile="wait"), pytest.raises(IndexError):
        x[i].sum(1).get()


def test_what_is_found_once(monkeypatch):
    """Places that vary along the row are found at each element."""
    seen = []
    found = elements.Elements.taken.func
    monkeypatch.setattr(
        elements.Elements, "taken", property(lambda self: seen.append((self.gathers, found(self))) or found(self))
    )
    x, i = nl.asarray(np.ones((41, 64))), nl.asarray(np.arange(41))
    with nl.config(cpu_compile="wait", unplanned=0):
        x[i].sum(1).get()
        assert seen and all(gathers == taken and len(taken) == 1 for gathers, taken in seen)
        del seen[:]
        x[i[:, None], i[None, :]].sum(1).get()
        assert seen and all(gathers and not taken for gathers, taken in seen)
