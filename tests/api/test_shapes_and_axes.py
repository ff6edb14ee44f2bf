"""Shapes and axes as lists, tuples, arrays and integers of any kind: NumPy's answer, or a refusal where it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_array_equal

Call = Callable[[Any, Any], Any]
VECTOR, MATRIX, CUBE = np.arange(6.0), np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(2, 3, 4)


def named(text: str) -> dict[str, Call]:
    """A call of each line, in which `xp` is the library, `v`, `m` and `c` are arrays of it, and `a` is the argument."""
    return {
        line: eval(
            f"lambda xp, a, v=VECTOR, m=MATRIX, c=CUBE: (lambda v, m, c: {line})(*map(xp.array, (v, m, c)))", globals()
        )
        for line in filter(None, map(str.strip, text.splitlines()))
    }


def drawn(names: str) -> str:
    return "\n".join(f"xp.random.default_rng(1).{name}.shape" for name in names.split())


SHAPES = named(
    """
    xp.zeros(a)
    xp.ones(a)
    xp.empty(a).shape
    xp.full(a, 2.0)
    xp.zeros_like(v, shape=a)
    xp.ones_like(v, shape=a)
    xp.full_like(v, 3, shape=a)
    xp.empty_like(v, shape=a).shape
    xp.reshape(v, a)
    xp.reshape(v, shape=a)
    xp.reshape(v, a, order="F")
    v.reshape(a)
    v.reshape(a, order="F")
    v.T.reshape(a)
    v[::-1].reshape(a)
    m.T.reshape(a)
    (setattr(v, "shape", a), v)[1]
    (v.resize(a, refcheck=False), v)[1]
    xp.resize(v, a)
    xp.broadcast_to(v[:3], a)
    xp.broadcast_shapes(a, (1, 3))
    xp.unravel_index(4, a)
    xp.ravel_multi_index((1, 2), a)
    xp.fromfunction(lambda i, j: i + j, a)
    xp.ndarray(a).shape
    list(xp.ndindex(a))
    xp.tile(v, a)
    xp.repeat(m, a, 0)
    xp.roll(m, a, axis=(0, 1))
    xp.fft.fftn(m, a)
    xp.fft.fft2(m, a)
    xp.fft.rfftn(m, a)
    xp.fft.irfftn(m, a)
    xp.split(v, a)
    xp.insert(v, a, 9)
    xp.delete(v, a)
    xp.take(v, a)
    xp.lib.stride_tricks.sliding_window_view(c, a, axis=(0, 1))
    xp.random.random_sample(a).shape
    xp.random.RandomState(1).uniform(size=a).shape
    xp.random.RandomState(1).randint(3, size=a).shape
    """
    + drawn(
        "random(a) integers(3,size=a) normal(size=a) choice(9,a) exponential(size=a) poisson(3,a) multinomial(3,[1],a)"
    )
    + "\n"
    + drawn("dirichlet([.5,.5],a) standard_gamma(1.0,a) multivariate_hypergeometric([3,4],2,a)")
)

SEVERAL = (
    "sum prod max min any all mean var std ptp median nansum nanmax nanmin nanmean nanmedian nanvar nanstd nanprod"
)
ONE = "argmax argmin cumsum cumprod sort argsort diff unwrap nanargmax nancumsum cumulative_sum trapezoid unstack"
METHODS = "sum prod max min any all mean var std argmax cumsum argsort"
OTHERS = "flip expand_dims average gradient cumulative_prod"
AXES = named(
    "\n".join(f"xp.{name}(c, axis=a)" for name in f"{SEVERAL} {ONE} {OTHERS}".split())
    + "\n".join(f"\nc.{name}(axis=a)" for name in METHODS.split())
    + """
    xp.count_nonzero(c, axis=a)
    xp.squeeze(c[None, :, None], axis=a)
    c[None, :, None].squeeze(a)
    xp.quantile(c, 0.5, axis=a)
    xp.nanpercentile(c, 50, axis=a)
    xp.average(c, axis=a, weights=c + 1)
    xp.linalg.norm(c, axis=a)
    xp.linalg.vector_norm(c, axis=a)
    xp.roll(c, (1, 2), axis=a)
    xp.roll(c, 1, axis=a)
    xp.rot90(c, 1, a)
    xp.fft.fftn(c, axes=a)
    xp.fft.rfft2(c, axes=a)
    xp.fft.fft(c, axis=a)
    xp.fft.fftshift(c, a)
    xp.fft.ifftshift(c, a)
    xp.apply_over_axes(xp.sum, c, a)
    xp.tensordot(c, c, axes=(a, a))
    xp.moveaxis(c, a, (1, 0))
    xp.moveaxis(c, (1, 0), a)
    xp.moveaxis(c, a, a)
    xp.size(c, a)
    xp.add.reduce(c, axis=a)
    xp.maximum.reduce(c, axis=a)
    xp.lib.stride_tricks.sliding_window_view(c, (2, 2), axis=a)
    xp.lib.array_utils.normalize_axis_tuple(a, 3)
    xp.concatenate([c, c], axis=a)
    xp.stack([c, c], axis=a)
    xp.take(c, xp.array([0]), axis=a)
    xp.repeat(c, 2, axis=a)
    xp.delete(c, 0, axis=a)
    xp.insert(c, 0, 1, axis=a)
    xp.append(c, c, axis=a)
    xp.unique(c, axis=a)
    xp.split(c, 1, axis=a)
    xp.rollaxis(c, a)
    xp.partition(c, 1, axis=a)
    xp.packbits(c > 3, axis=a)
    xp.vecdot(c, c, axis=a)
    xp.linspace(m, m + 1, 3, axis=a)
    xp.logspace(m, m + 1, 3, axis=a)
    xp.geomspace(m + 1, m + 2, 3, axis=a)
    """
)
ORDERS = named(
    """
    xp.transpose(c, a)
    xp.permute_dims(c, a)
    c.transpose(a)
    c.transpose(*a)
    xp.moveaxis(c, a, [0, 1, 2])
    xp.sum(c, a)
    xp.flip(c, a)
    xp.median(c, a)
    xp.linalg.vector_norm(c, axis=a)
    """
)
CALLS = [
    *[(name, call, (2, 3)) for name, call in SHAPES.items()],
    *[(name, call, axes) for name, call in AXES.items() for axes in ((0, 2), (-1, 1))],
    *[(name, call, (2, 0, 1)) for name, call in ORDERS.items()],
]


def forms(xp: Any, given: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """The same integers in other clothes, then one of them, then what is none."""
    host = np.array(given)
    yield "list", list(given)
    yield "tuple", given
    for char in "qiBQ" if min(given) >= 0 else "qib":
        yield f"NumPy's {char}", host.astype(char)
    yield "ours", xp.asarray(host)
    yield "ours, int32", xp.asarray(host.astype("i4"))
    yield "ours, turned", xp.asarray(host[::-1].copy())[::-1]
    yield "list of NumPy's", list(host)
    yield "tuple of arrays", tuple(map(np.array, given))
    yield "tuple of ours", tuple(xp.asarray(host))
    yield "one of Python's", given[-1]
    yield "one of NumPy's", np.int32(given[-1])
    yield "one of ours", xp.asarray(host)[-1]
    yield "one in an array", host[-1:]
    yield "one in ours", xp.asarray(host[-1:])
    yield "one in a list", [given[-1]]
    yield "none at all", ()
    yield "no elements", host[:0]
    yield "numbers", host.astype(float)
    yield "a list of numbers", [float(each) for each in given]
    yield "rows", host[None]
    yield "text", "ab"
    yield "missing", host + 9
    yield "one that is missing", 9
    yield "all the same", host * 0 + 1


LENIENT = {
    "xp.size": "releases of NumPy before 2.4 take one axis",
    "xp.ndindex": "numpy's own class",
    "xp.tensordot": "axes as 0-d arrays, which NumPy cannot hash",
    "xp.fft.": "shifts by a 0-d array, which NumPy cannot iterate",
}
"""Calls where NumPy refuses what means something, and ours takes it."""


def answer(call: Call, xp: Any, given: Any) -> Any:
    try:
        return call(xp, given)
    except (TypeError, ValueError, IndexError) as error:
        return error


def same(got: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            same(mine, theirs)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.get(), want, rtol=1e-12, atol=1e-12)
    else:
        assert got == want


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "call", "given"), CALLS, ids=[f"{name} {given}" for name, _, given in CALLS])
def test_what_numpy_says(name: str, call: Call, given: tuple[int, ...]) -> None:
    answered = 0
    for (form, theirs), (_, ours) in zip(forms(np, given), forms(nl, given), strict=True):
        want, got = answer(call, np, theirs), answer(call, nl, ours)
        refused = [isinstance(one, Exception) for one in (want, got)]
        if refused == [True, False] and any(map(name.startswith, LENIENT)):
            continue
        assert refused[0] == refused[1], f"{form}: {want!r}, ours {got!r}"
        if not refused[0]:
            answered += 1
            same(got, want)
    assert answered, "NumPy refuses all of them: nothing is compared"


def test_axes_that_are_missing() -> None:
    for call in (
        lambda xp: xp.linspace(xp.array(MATRIX), 9, 3, axis=9),
        lambda xp: xp.linspace(0, 1, 3, axis=5),
        lambda xp: xp.unwrap(xp.array(CUBE), axis=None),
        lambda xp: xp.unwrap(xp.array(CUBE), axis=(0, 2)),
        lambda xp: xp.size(xp.array(CUBE), (0, 0)),
        lambda xp: xp.array(VECTOR).reshape({2, 3}),
        lambda xp: xp.random.default_rng(1).random({2, 3}),
    ):
        for xp in (np, nl):
            with pytest.raises((TypeError, ValueError, IndexError)):
                call(xp)


def test_nothing_is_given() -> None:
    x = nl.asarray(VECTOR)
    assert_array_equal(x.reshape(None), VECTOR)
    assert_array_equal(nl.asarray(MATRIX).transpose(None), MATRIX.T)
    assert nl.size(nl.asarray(CUBE), axis=(0, 2)) == 8 == np.size(nl.asarray(CUBE), axis=(0, 2))
