"""Maps over rows of a few elements on the host: kernels beside NumPy, and what their text is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import planned

import numloom as nl
from numloom import config
from numloom.emit.emit import emit
from numloom.emit.maps import _Map
from numloom.emit.short_rows import ABREAST, LONGEST

Work = Callable[[Any, Any], Any]

WORKS: dict[str, Work] = {
    "repeat rows": lambda xp, a: xp.repeat(a, 2, 0),
    "repeat within": lambda xp, a: xp.repeat(a, 3, -1),
    "repeat often": lambda xp, a: xp.repeat(a, 9, -1),
    "tile": lambda xp, a: xp.tile(a, (1,) * (a.ndim - 1) + (2,)),
    "tile rows": lambda xp, a: xp.tile(a, (2,) + (1,) * (a.ndim - 1)),
    "of all rows": lambda xp, a: a + a[:1],
    "of all columns": lambda xp, a: a + a[..., :1],
    "across": lambda xp, a: xp.maximum(a, a[::-1]) + xp.moveaxis(a, 0, -1)[..., :1].reshape(-1)[0],
    "backwards": lambda xp, a: a[..., ::-1] + a,
    "two results": lambda xp, a: xp.stack([a[..., ::-1] + a[:1], a + a[::-1]]),
    "broadcast": lambda xp, a: a[..., None] + xp.asarray([1, 0, 2, 0]).astype(a.dtype),
}


def matrix(shape: tuple[int, ...], char: str) -> np.ndarray[Any, Any]:
    made = np.random.default_rng(sum(shape)).integers(0, 40, shape)
    return (made % 2 == 0) if char == "?" else made.astype(char)


def layouts(host: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The same elements in C and Fortran order, with gaps, and backwards."""
    wide = np.zeros((*host.shape[:-1], 2 * host.shape[-1]), host.dtype)
    wide[..., ::2] = host
    back = np.ascontiguousarray(host[::-1])
    return [host, np.asfortranarray(host), wide[..., ::2], back[::-1]]


@pytest.mark.parametrize("char", ["?", "B", "h", "i", "e", "d", "D"])
@pytest.mark.parametrize("shape", [(50, 3), (9, 1), (40, 2, 2), (3, 33, 5), (7, 2), (600, 8), (0, 3), (20, 0)], ids=str)
@pytest.mark.parametrize("name", WORKS)
def test_kernels_are_numpys(name: str, shape: tuple[int, ...], char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    work, host = WORKS[name], matrix(shape, char)
    if name == "across" and not host.size:
        pytest.skip("has no first element")
    expected = work(np, host)
    for given in layouts(host):
        found = nl.asnumpy(work(nl, nl.asarray(given)))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_rows_are_shared_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows enough for several threads, also where an outer axis ends within a thread's part."""
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    for shape in ((70001, 3), (23, 4001, 3), (5001, 2, 3)):
        host = matrix(shape, "h")
        array = nl.asarray(host)
        np.testing.assert_array_equal(nl.asnumpy(array + array[:1]), host + host[:1])
        np.testing.assert_array_equal(nl.asnumpy(nl.repeat(array, 2, -1)), np.repeat(host, 2, -1))


@pytest.mark.parametrize(
    ("work", "shape", "short"),
    [
        (lambda a: a + a[:1], (50, 3), 1),
        (lambda a: a + a[:1], (50, 2, 3), 1),
        (lambda a: a + a[:, :1, :1], (50, 2, 3), 1),
        (lambda a: nl.repeat(a, 2, 0).base, (5000, 3), 2),
        (lambda a: a + a[:1], (50, LONGEST + 1), 0),
        (lambda a: a + a[:1], (ABREAST - 1, 3), 0),
        (lambda a: nl.exp(a) + a[:1], (50, 3), 0),
        (lambda a: a + a, (50, 3), 0),
    ],
)
def test_which_rows_are_short(work: Any, shape: tuple[int, ...], short: int) -> None:
    plan, _ = planned([work(nl.asarray(matrix(shape, "f")))])
    assert len(plan.steps) == 1 and plan.steps[0].program is not None
    kernel = _Map(plan.steps[0].program)
    assert kernel.short == short
    assert ("row += rows" in emit(plan.steps[0].program).text) == bool(short)
