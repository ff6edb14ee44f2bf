"""Gathers of rows that are copied by words give what element by element gives."""

import numpy as np
import pytest

import numloom as nl
from numloom.emit import emit as emitter
from numloom.emit.words import in_words


@pytest.fixture
def changed(monkeypatch):
    """Programs that became copies of words."""
    found = []

    def spy(program):
        words = in_words(program)
        if words is not program:
            found.append(words)
        return words

    monkeypatch.setattr(emitter, "in_words", spy)
    return found


def cases(x, i, j):
    yield x[i]
    yield x[1:][i // 2]
    yield x[:, 1:][i]
    yield x[i][::2]
    yield x[i] * 1
    yield x[i, 0]
    yield x[:, [0, 0]]
    yield x.T[:, i]
    yield x[j]
    yield x[:40].reshape(5, 8, -1)[i % 5, i % 8]
    yield x[i // 2 + 3]


@pytest.mark.parametrize("char", "?bhefdlD")
@pytest.mark.parametrize("width", [1, 2, 6, 7, 64])
def test_rows(char, width):
    rng = np.random.default_rng(width)
    host, i, j = (
        (rng.standard_normal((50, width)) * 9).astype(char),
        rng.integers(-50, 50, 33),
        rng.integers(0, 50, (4, 5)),
    )
    with nl.config(cpu_compile="wait"):
        arrays = [nl.asarray(value) for value in (host, i, j)]
        for got, expected in zip(cases(*arrays), cases(host, i, j), strict=True):
            np.testing.assert_array_equal(got.get(), expected)
        np.testing.assert_array_equal(nl.take(arrays[0], arrays[1], axis=0).get(), host[i])


def test_which(changed):
    x, i = nl.ones((13, 68), "f"), nl.asarray([3, 12, 5])  # a shape of its own: no plan is kept for it
    with nl.config(unplanned=0):
        nl.evaluate(x[i])
        nl.evaluate(x[i] + 1)
        nl.evaluate(x[:, i])
    assert [program.shape for program in changed] == [(3, 34)]


@pytest.mark.parametrize("char", "?f")
def test_kernels_copy_words(changed, char):
    host, i = (np.arange(13 * 80) % 11).reshape(13, 80).astype(char), np.array([3, -1, 5, 0])
    with nl.config(executor="fused", unplanned=0, cpu_compile="wait"):
        found = nl.asarray(host)[:, 16:][nl.asarray(i)].get()
    assert [program.shape for program in changed] == [(4, 64 * host.itemsize // 8)]
    np.testing.assert_array_equal(found, host[:, 16:][i])


def test_bounds():
    x, i = nl.ones((13, 64), "f"), nl.asarray([3, 13, 5])
    with pytest.raises(IndexError):
        x[i].get()
