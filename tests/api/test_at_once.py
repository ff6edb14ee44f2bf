"""Small work that NumPy's own functions do at once: their results, and the bits of the full way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.graph.again import end, start
from numloom.graph.node import LEAF

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="NumPy's functions are called at once on the host alone, and by the compiled core",
)

DTYPES = ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x[::-1],
    lambda x: x[..., ::2],
    lambda x: x.T,
    lambda x: x[:0],
    lambda x: x[..., 1:],
]
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda xp, x: xp.sort(x),
    "sort of all": lambda xp, x: xp.sort(x, axis=None),
    "sort along the first axis": lambda xp, x: xp.sort(x, 0),
    "argsort": lambda xp, x: xp.argsort(x, kind="stable"),
    "argsort along": lambda xp, x: xp.argsort(x, 0, kind="stable"),
    "lexsort": lambda xp, x: xp.lexsort((x, x[..., ::-1])),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x, None), x),
    "searchsorted right": lambda xp, x: xp.searchsorted(xp.sort(x, None), x, side="right"),
    "cumsum": lambda xp, x: xp.cumsum(x),
    "cumsum of a vector": lambda xp, x: xp.cumsum(x.ravel()[::-1]),
    "cumsum of a vector along": lambda xp, x: xp.cumsum(x.ravel(), -1),
    "diff": lambda xp, x: xp.diff(x),
    "diff of a vector": lambda xp, x: xp.diff(x.ravel()[::-2]),
    "diff twice": lambda xp, x: xp.diff(x.ravel(), 2),
    "diff of one": lambda xp, x: xp.diff(x.ravel()[:1]),
    "append": lambda xp, x: xp.append(x, 1.5),
    "append of arrays": lambda xp, x: xp.append(x, x, 0),
    "concatenate rows": lambda xp, x: xp.concatenate([x, x[:1], x]),
    "concatenate vectors": lambda xp, x: xp.concatenate((x.ravel(), x.ravel()[1:])),
    "where": lambda xp, x: xp.where(x > 2),
    "cumsum along": lambda xp, x: x.cumsum(axis=-1),
    "cumprod": lambda xp, x: xp.cumprod(x, 0),
    "unique": lambda xp, x: xp.unique(x),
    "unique with counts": lambda xp, x: xp.unique(x, return_counts=True),
    "take": lambda xp, x: xp.take(x, xp.asarray(np.array([0, -1, 0]))),
    "take along": lambda xp, x: xp.take(x, xp.asarray(np.array([[0, 1]])), axis=-1),
    "take one": lambda xp, x: xp.take(x, 0),
    "concatenate": lambda xp, x: xp.concatenate((x, x[..., ::-1])),
    "concatenate flat": lambda xp, x: xp.concatenate([x, x[..., :1]], axis=None),
    "concatenate others": lambda xp, x: xp.concatenate((x, xp.ones(x.shape, "f4"))),
    "stack": lambda xp, x: xp.stack((x, x), axis=-1),
    "vstack": lambda xp, x: xp.vstack((x, x)),
    "hstack": lambda xp, x: xp.hstack([x, x]),
    "histogram": lambda xp, x: xp.histogram(x, 5),
    "histogram between": lambda xp, x: xp.histogram(x, 4, range=(1, 7)),
    "nonzero": lambda xp, x: xp.nonzero(x),
    "repeat": lambda xp, x: xp.repeat(x, 3),
    "repeat along": lambda xp, x: x.repeat(2, axis=-1),
    "repeat never": lambda xp, x: xp.repeat(x, 0, 0),
    "repeat less than never": lambda xp, x: xp.repeat(x, -1),
    "repeat often": lambda xp, x: xp.repeat(x, 90),
    "tile": lambda xp, x: xp.tile(x, 2),
    "tile axes": lambda xp, x: xp.tile(x, (2, 1, 3)),
    "tile once": lambda xp, x: xp.tile(x, 1),
    "tile never": lambda xp, x: xp.tile(x, (0, 2)),
    "tile by a fraction": lambda xp, x: xp.tile(x, 1.5),
    "polyval": lambda xp, x: xp.polyval(x.ravel()[:4], x),
    "polyval at a number": lambda xp, x: xp.polyval(x.ravel()[:4], 2.0),
}


@pytest.fixture(scope="module")
def waiting() -> Any:
    """Others who have no part in it: what is small and pending stays so."""
    return nl.ones(3) + 1


def made(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    draws = np.random.default_rng(3).integers(0, 2 if dtype == "?" else 11, shape)
    x = draws.astype(dtype)
    if x.dtype.kind in "fc" and x.ndim == 1:
        x[3], x[5], x[6] = np.nan, -0.0, np.inf
    return x


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, as bytes and what they mean; or the kind of its error."""
    try:
        with np.errstate(all="ignore"):
            found = call()
            many = found if isinstance(found, tuple) else (found,)
            hosts = [each.get() if isinstance(each, nl.ndarray) else np.asarray(each) for each in many]
    except (TypeError, ValueError, IndexError, np.linalg.LinAlgError, np.exceptions.AxisError) as error:
        return type(error)
    return [(host.dtype.str, host.shape, np.where(host != host, np.nan, host).tobytes()) for host in hosts]


def in_full(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    """What a call gives that does nothing at once."""
    with monkeypatch.context() as patch:
        patch.setattr(config, "unplanned", 0)
        return outcome(call)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(9,), (4, 3)])
def test_calls_give_numpys_results(name: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in DTYPES:
        for layout in LAYOUTS:
            host = made(dtype, shape)
            call = CALLS[name]
            ours = layout(nl.asarray(host))
            found = outcome(partial(call, nl, ours))
            assert found == in_full(monkeypatch, partial(call, nl, ours)), dtype
            expected = outcome(partial(call, np, layout(host)))
            if isinstance(expected, list) and isinstance(found, list):
                assert [part[:2] for part in found] == [part[:2] for part in expected], dtype
                for one, other in zip(found, expected, strict=True):
                    a, b = (np.frombuffer(part[2], part[0]) for part in (one, other))
                    np.testing.assert_allclose(a, b, rtol=1e-6 if a.itemsize < 8 else 1e-14)


def matrix(dtype: str, n: int = 3) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(5).integers(-9, 9, (n, n)) + 20 * np.eye(n)
    return (x + 1j * x.T).astype(dtype) if dtype in ("c8", "c16") else x.astype(dtype)


@pytest.mark.parametrize("dtype", ["i4", "f2", "f4", "f8", "c8", "c16"])
def test_equations_of_few_rows(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = matrix(dtype)
    for x in (a, a.T, a[::-1], np.stack((a, a + 1)), a[:0, :0], a[:2]):
        for name in ("det", "inv", "cholesky", "solve", "solve many"):

            def call(xp: Any, name: str = name, x: Any = x) -> Any:
                given = xp.asarray(x)
                if name.startswith("solve"):
                    sides = np.ones((x.shape[-1], 2) if "many" in name else x.shape[-1], dtype)
                    return xp.linalg.solve(given, xp.asarray(sides))
                return getattr(xp.linalg, name)(given)

            found = outcome(partial(call, nl))
            assert found == in_full(monkeypatch, partial(call, nl)), name
            assert found == outcome(partial(call, np)), name


def test_singular_matrices_are_refused() -> None:
    for name, operands in {"inv": 1, "solve": 2, "cholesky": 1}.items():
        zeros = [nl.zeros((3, 3))] * operands
        with pytest.raises(np.linalg.LinAlgError):
            getattr(nl.linalg, name)(*zeros)
    assert nl.linalg.det(nl.zeros((3, 3))) == 0


def test_bins_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype in DTYPES:
        for x in (np.array([3, 1, 1, 0]), np.zeros(0, int), np.array([1, -1])):

            def call(xp: Any, x: Any = x.astype(dtype)) -> Any:
                return xp.bincount(xp.asarray(x), minlength=3)

            found = outcome(partial(call, nl))
            assert found == in_full(monkeypatch, partial(call, nl))
            if np.dtype(dtype).kind in "iu" and dtype != "u8":
                assert found == outcome(partial(call, np))
    wrongs: tuple[Callable[[Any], Any], ...] = (
        lambda xp: xp.bincount(xp.ones((2, 2), int)),
        lambda xp: xp.bincount(xp.ones(2, int), minlength=-1),
    )
    for wrong in wrongs:
        assert outcome(partial(wrong, nl)) is outcome(partial(wrong, np)) is ValueError


def test_interpolation_has_the_bits_of_the_full_way(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    points, values = np.sort(random.random(20)), random.normal(size=20)
    odd, gaps = points.copy(), values.copy()
    odd[5] = odd[6]
    gaps[3], gaps[9] = np.nan, np.inf
    where = np.concatenate([random.random(30) * 1.4 - 0.2, points, [np.nan, np.inf, -np.inf, -0.0]])
    for xp, fp in (
        (points, values),
        (odd, values),
        (points, gaps),
        (points[::-1].copy(), values),
        (points[:1], values[:1]),
        (points, values + 1j),
        (points.astype("f4"), values),
        (points, values[:3]),
    ):
        ours = nl.asarray(xp), nl.asarray(fp)
        for x in (*where.tolist(), where, where.reshape(6, 9)[:, ::2], 1, 2**40):
            for ends in (dict[str, Any](), {"left": -1.0, "right": 2}):

                def call(lib: Any, x: Any = x, ends: Any = ends, xp: Any = xp, fp: Any = fp, ours: Any = ours) -> Any:
                    at = lib.asarray(x) if isinstance(x, np.ndarray) else x
                    return lib.interp(at, *(ours if lib is nl else (xp, fp)), **ends)

                found = outcome(partial(call, nl))
                assert found == in_full(monkeypatch, partial(call, nl))
                if xp is not odd and np.all(np.diff(xp) > 0):
                    assert found == outcome(partial(call, np))


def test_interpolation_in_a_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which few elements are looked at, whatever was written to it and whether it was computed."""
    random = np.random.default_rng(8)
    xp, fp = np.sort(random.random(50_000)), random.normal(size=50_000)
    points, values = nl.asarray(xp), nl.asarray(fp)
    where = np.concatenate([random.random(40) * 1.2 - 0.1, xp[::9000], [np.nan, np.inf, -np.inf]])

    def agree(x: Any, **ends: Any) -> None:
        ours = partial(nl.interp, nl.asarray(x) if isinstance(x, np.ndarray) else x, points, values, **ends)
        found = outcome(ours)
        assert found == outcome(partial(np.interp, x, xp, fp, **ends)) == in_full(monkeypatch, ours)

    for x in (where, where[:-3], where[:40].reshape(5, 8), 0.25, 7.0, float(xp[777]), random.random(5000)):
        agree(x)
        agree(x, left=-1.0, right=2.5)
    values[20_000:30_000] *= 3
    fp[20_000:30_000] *= 3
    agree(where)
    values, fp = values * 2 + 1, fp * 2 + 1
    agree(where[:-3])
    np.asarray(values)[...] = 5
    fp[...] = 5
    agree(where[:-3])
    assert nl.interp(0.5, points, values) == 5


def test_nothing_is_done_at_once_while_a_call_is_traced() -> None:
    x = nl.asarray(np.array([3.0, 1.0, 2.0]))
    assert node_of(nl.concatenate((x, x))).kind == LEAF
    recorder = start(None, [], False)
    try:
        assert node_of(nl.concatenate((x, x))).kind != LEAF
    finally:
        end(recorder)

    def ordered(x: Any, y: Any) -> Any:
        return nl.sort(x)[0] + nl.interp(0.5, x, y) + nl.linalg.det(nl.stack((x[:2], y[:2])))

    together: Any = nl.compile(ordered)
    for shift in (0.0, 1.0, 2.0):
        a, b = np.array([0.0, 1.0, 3.0]) + shift, np.array([2.0, 5.0, 1.0]) * (shift + 1)
        want = np.sort(a)[0] + np.interp(0.5, a, b) + np.linalg.det(np.stack((a[:2], b[:2])))
        assert float(together(nl.asarray(a), nl.asarray(b))) == pytest.approx(want, abs=1e-12)


def test_results_have_memory_of_their_own(waiting: Any) -> None:
    x = nl.asarray(np.array([1.0, 2.0, 3.0]))
    results = nl.sort(x), nl.concatenate((x,)), nl.take(x, nl.asarray(np.arange(3))), nl.unique(x)
    x[:] = 7
    for result in results:
        assert result.tolist() == [1, 2, 3]
        result[0] = 5
    assert x.tolist() == [7, 7, 7] and waiting.tolist() == [2, 2, 2]


def test_numbers_of_numpys_are_numbers_here() -> None:
    x = nl.asarray(np.arange(5.0))
    for number in (nl.interp(0.5, x, x), nl.searchsorted(x, 2.5), nl.linalg.det(nl.eye(2)), nl.polyval(x, 2.0)):
        assert number.is_scalar and number.shape == ()
    assert nl.interp(x[1], x, x) == 1 and nl.searchsorted(x, x[3]) == 3


def test_verified_calls_compare_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    x = nl.asarray(np.array([3.0, 1.0, 2.0]))
    monkeypatch.setattr(config, "verify", True)
    assert nl.sort(x).tolist() == [1, 2, 3] and float(nl.interp(1.5, x[1:], x[1:])) == 1.5
    assert nl.linalg.inv(nl.asarray(matrix("f8"))).get().tobytes() == np.linalg.inv(matrix("f8")).tobytes()


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_same_bits_beside_a_gpu(name: str) -> None:
    call = CALLS[name]
    for dtype in ("i2", "f4", "f8"):
        host = made(dtype, (4, 3))
        alone = outcome(partial(call, nl, nl.asarray(host)))
        with stand_in():
            assert outcome(partial(call, nl, nl.asarray(host))) == alone
            assert outcome(partial(call, nl, nl.asarray(host) + 0)) == alone
