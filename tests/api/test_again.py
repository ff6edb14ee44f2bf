"""The same call again, with other numbers: what is remembered of a call depends on its operands alone.

Each expression is evaluated six times in one process, each time with other numbers in operands of the same form, and
compared with NumPy each time. Most forms are recorded and not yet run when the function gets them, and views (a
reshape, a part) of what is recorded: the function sees the memory behind them, of which it may keep nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_allclose

pytestmark = pytest.mark.filterwarnings("ignore")

TURNS = 6
NUMBERS = (2, 7, -5, 3, 11, 1)


def written(xp: Any, k: int) -> Any:
    """Zeros with slices stored."""
    x = xp.zeros((4, 6))
    x[1:3, ::2] = k
    x[0] = xp.arange(6) * k - 7
    return x


FORMS: dict[str, Any] = {
    "counted": lambda xp, k, data: (xp.arange(24) * k).reshape(4, 6),
    "counted from": lambda xp, k, data: xp.arange(k, k + 24).reshape(2, 3, 4),
    "floats": lambda xp, k, data: (xp.arange(24.0) * k + 1).reshape(2, 3, 4),
    "spaced": lambda xp, k, data: xp.linspace(0, k, 24).reshape(6, 4),
    "computed": lambda xp, k, data: xp.sin(xp.asarray(data).ravel() + k).reshape(4, 6),
    "turned": lambda xp, k, data: (xp.arange(24.0) * k).reshape(6, 4).T,
    "backwards": lambda xp, k, data: (xp.asarray(data) * k)[::-1, 1:],
    "filled": lambda xp, k, data: xp.full((4, 6), k) + xp.arange(6),
    "seen as others": lambda xp, k, data: xp.full((4, 6), float(k)).view("i8").reshape(4, 6).view("f8"),
    "written": lambda xp, k, data: written(xp, k),
    "of the host": lambda xp, k, data: xp.asarray(data * k),
    "a view": lambda xp, k, data: xp.asarray(data * k)[::-1, 1:],
    "rows": lambda xp, k, data: xp.asarray(data * k)[1:],
    "flat": lambda xp, k, data: xp.asarray(data).ravel() * k,
    "converted": lambda xp, k, data: (xp.arange(24) * k).astype("f4").reshape(4, 6),
    "complex": lambda xp, k, data: (xp.arange(12) * k + 1j * xp.arange(12)).reshape(3, 4),
    "real part": lambda xp, k, data: ((xp.arange(12) * k).reshape(3, 4) + 1j).real,
    "imaginary part": lambda xp, k, data: ((xp.arange(12) * 1j * k).reshape(3, 4) + 1).imag,
    "drawn": lambda xp, k, data: xp.asarray(data).reshape(4, 6) + xp.asarray(data).reshape(6, 4).T,
}

EXPRESSIONS = """
xp.cumsum(a)
xp.cumprod(a, 0)
xp.nancumsum(a)
xp.sort(a)
xp.sort(a, axis=None)
xp.argsort(a, axis=None, kind="stable")
xp.median(a)
xp.nanmedian(a, 0)
xp.mean(a), xp.std(a, 0), xp.var(a), a.sum(1), a.prod(), a.max(), a.argmin(-1), xp.ptp(a.real)
xp.any(a > k), xp.all(a), xp.count_nonzero(a)
xp.unique(a)
xp.ravel(a), xp.ravel(a, order="F"), a.flatten(), a.reshape(-1), a.T.reshape(-1)[3]
xp.roll(a, 3), xp.roll(a, k), xp.flip(a), xp.rot90(a), xp.diff(a), xp.ediff1d(a)
xp.gradient(a.real * 1.0)
xp.trapezoid(a)
xp.nan_to_num(a), xp.i0(a.real / 100), xp.sinc(a), xp.fix(a.real), xp.unwrap(a.real), xp.angle(a)
xp.diagflat(a), xp.diag(a.reshape(-1, 3)), xp.tril(a), xp.trace(a)
xp.nonzero(a), xp.argwhere(a), xp.flatnonzero(a)
xp.cov(a.reshape(3, -1)), xp.corrcoef(a.reshape(3, -1) + 1)
xp.histogram(a.real, 4)[0], xp.histogram(a.real, 4, range=(0, 99))[0]
xp.histogram_bin_edges(a.real, 5)
xp.percentile(a.real, 30), xp.quantile(a.real, [0.1, 0.5]), xp.quantile(a.real, abs(k) % 1)
xp.nanpercentile(a.real, 40)
xp.clip(a.real, 1, k), xp.where(a.real > k, a, 0), xp.isin(a, [k, 1])
xp.searchsorted(xp.sort(a.real, axis=None), k)
xp.compress([1, 0, 1], a), xp.extract(a.real > k, a), a[a.real > k], xp.choose((a.real > k).astype(int), [a, a * 2])
xp.take(a, [0, 2, 1]), a[0], a[..., 1], a.T[1], a[[1, 0]], xp.take_along_axis(a, xp.argsort(a, -1), -1)
xp.vdot(a, a), xp.inner(a, a), xp.outer(a, a), xp.kron(a, xp.ones((1, 2))), xp.tensordot(a, a, a.ndim)
a.reshape(3, -1) @ a.reshape(-1, 3), xp.einsum("...j,...j->...", a, a), xp.linalg.norm(a)
xp.concatenate([a, a * k]), xp.stack([a, a + k]), xp.append(a, k), xp.insert(a, 1, k), xp.delete(a, 1)
xp.pad(a, 1, constant_values=k), xp.pad(a, 1, "reflect"), xp.repeat(a, 2), xp.tile(a, 2)
xp.interp(k, xp.arange(5.0), xp.arange(5.0) * k)
xp.convolve(a.ravel(), [1, k]), xp.correlate(a.ravel(), [1, k])
xp.digitize(a.real, [0, k]), xp.bincount(xp.abs(a.real).astype(int).ravel() % 7)
xp.partition(a, 1)[..., 1], xp.lexsort((a.real.ravel(),))
xp.fft.fft(a), xp.fft.rfft(a.real), xp.fft.fft2(a.reshape(3, -1))
xp.average(a, weights=xp.abs(a.real) + 1), xp.polyval([1, k, 2], a)
xp.maximum.accumulate(a.real), xp.add.reduceat(a.ravel(), [0, 3, 5]), xp.multiply.outer(a.ravel(), [1, k])
xp.power(a.real * 1.0, 2), xp.mod(a.real, abs(k) + 1), float((a.real * k).sum()), xp.array_equal(a, a + k)
xp.trim_zeros(a.ravel()), xp.cross(a.ravel()[:3], [1, 2, k]), xp.apply_along_axis(lambda v: v[:2], 0, a)
xp.moveaxis(a, 0, -1) * 1, xp.swapaxes(a, 0, -1) + 1, xp.broadcast_to(a, (2, *a.shape)).sum(0)
store(a, "x[::2] = k"), store(a, "x[[0, 1]] = x[[1, 0]] * k"), store(a, "x[x.real > k] = 0")
store(a, "xp.put(x, [1, 2], k)")
store(a, "xp.add.at(x, [0, 0], k)"), store(a, "x.sort(axis=0)"), store(a, "x[...] = x[::-1]"), store(a, "x *= 2")
""".strip().splitlines()


def on_host(value: Any) -> Any:
    """A result brought to the host, whatever holds it."""
    if isinstance(value, (tuple, list)):
        return [on_host(part) for part in value]
    return value.get() if isinstance(value, nl.ndarray) else np.asarray(value)


def outcome(xp: Any, form: str, expression: str, k: int, data: Any) -> Any:
    """What an expression gives for these numbers."""

    def store(a: Any, statement: str) -> Any:
        x = a.copy()
        exec(statement, {"x": x, "xp": xp, "k": k})
        return x

    names = {"xp": xp, "k": k, "store": store, "a": FORMS[form](xp, k, data)}
    with np.errstate(all="ignore"):
        return on_host(eval(expression, names))


def assert_same(got: Any, want: Any, message: str) -> None:
    """Equal, as far as another order of sums lets them be."""
    if isinstance(want, list):
        assert len(got) == len(want), message
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, message)
    else:
        narrow = want.dtype in (np.float32, np.complex64)
        tolerance = 2e-4 if narrow else 1e-9
        assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=message)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_other_numbers(expression: str, form: str) -> None:
    random = np.random.default_rng(5)
    for turn, k in zip(range(TURNS), NUMBERS, strict=True):
        data = random.standard_normal((4, 6)) * 10
        try:
            want = outcome(np, form, expression, k, data)
        except (TypeError, ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                outcome(nl, form, expression, k, data)
            continue
        assert_same(outcome(nl, form, expression, k, data), want, f"turn {turn}")


def test_other_draws() -> None:
    functions = (nl.median, nl.cumsum, lambda x: nl.sort(x, axis=None), lambda x: nl.percentile(x, [10, 90]), nl.vdot)
    for function in functions:
        rng, same = nl.random.default_rng(3), nl.random.default_rng(3)
        for _ in range(TURNS):
            x, host = rng.random(24).reshape(4, 6), same.random(24).get().reshape(4, 6)
            operands, known = ((x, x), (host, host)) if function is nl.vdot else ((x,), (host,))
            want = function(*map(nl.asarray, known))
            assert_allclose(function(*operands), want.get(), rtol=1e-14)


def test_a_number_that_is_looked_at() -> None:
    for made in (nl.asarray, nl.array, lambda v: nl.array(v).copy(), lambda v: nl.asarray(v).reshape(1)[0]):
        for look in (str, float, bool, lambda x: x.item(), lambda x: x.get(), lambda x: x.tolist()):
            for value in (0.5, 3.0):
                o = made(value)
                p = nl.ones(4) + o
                q = nl.full(3, 2.0) * o
                look(o)
                assert_allclose(p, 1 + value)
                assert_allclose(q, 2 * value)


def test_rates_that_are_printed() -> None:
    w, host = nl.ones(3), np.ones(3)
    g = nl.arange(3.0)
    for k in range(5):
        rate = nl.array(0.1 / (k + 1))
        w = w - rate * g
        host = host - 0.1 / (k + 1) * np.arange(3.0)
        str(rate)
    assert_allclose(w, host, rtol=1e-15)


@pytest.mark.parametrize("pair", [("f8", "c16"), ("i1", "i8"), ("i1", "f8"), ("f4", "c8"), ("u1", "i8")])
def test_numbers_of_other_dtypes_in_a_loop(pair: tuple[str, str]) -> None:
    numbers = {"f8": 0.5, "c16": 2j, "i1": 3, "i8": 1 << 40, "f4": 2.5, "c8": 1j, "u1": 200}
    for dtype in (*[pair[0]] * 12, *[pair[1]] * 4, pair[0]):
        value = numbers[dtype]
        x = nl.asarray(np.full(3, value, dtype))
        assert (x == value).get().all()
        assert not (x + value == x).get().any()
