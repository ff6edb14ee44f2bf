"""What leaves the tree of a function that is being differentiated is refused, and never a constant without a word."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.special
import scipy.stats

import numloom as nl


@pytest.fixture(autouse=True)
def _arrays_may_leave_a_gpu() -> Any:
    """What keeps a number in its function is the function, not that it lies on a GPU."""
    with nl.config(host_copy="allow"):
        yield


ONE = {
    "float": lambda x: float(x.real),
    "math.exp": lambda x: math.exp(x.real),
    "complex": complex,
    "item": lambda x: x.item(),
    "numpy scalar": lambda x: np.float64(x.real),
    "hash": lambda x: hash(x[()]),
    "number of a view": lambda x: x.reshape(1)[::-1].item(0),
    "bits as integers": lambda x: x.real.copy().view({2: "i2", 4: "i4", 8: "i8"}[x.real.itemsize]).item(),
}
"""Ways out for a number; each gives something else than an array of ours."""

MANY = {
    "get": lambda x: x.get(),
    "tolist": lambda x: x.tolist(),
    "numpy.asarray": np.asarray,
    "numpy.array": np.array,
    "numpy.array of a list": lambda x: np.array([x.ravel()[0], x.ravel()[0]]),
    "numpy.stack by __array__": lambda x: x.__array__(),
    "astype of a copy": lambda x: np.array(x, dtype=complex),
    "from_dlpack": np.from_dlpack,
    "array interface": lambda x: x.__array_interface__["data"],
    "asnumpy": lambda x: x.asnumpy(),
    "ascuda": lambda x: x.ascuda(),
    "tobytes": lambda x: x.tobytes(),
    "bytes": bytes,
    "nditer": lambda x: [float(v.real) for v in np.nditer(x)],
    "ndenumerate": lambda x: [v for _, v in np.ndenumerate(x)],
    "fromiter": lambda x: np.fromiter((v.real for v in x.ravel()), float),
    "flat": lambda x: [complex(v) for v in x.ravel().flat],
    "vectorize": lambda x: np.vectorize(lambda v: v)(x),
    "frompyfunc": lambda x: np.frompyfunc(lambda v: v, 1, 1)(x),
    "our nditer": lambda x: [v.item() for v in nl.nditer(x)],
    "our vectorize": lambda x: nl.vectorize(lambda v: complex(v).real)(x),
    "logsumexp": lambda x: scipy.special.logsumexp(x),
    "save": lambda x: np.savetxt("/dev/null", x.ravel()),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).get(),
    "deepcopy": lambda x: copy.deepcopy(x).get(),
    "written memory": lambda x: _written(x).get(),
    "sorted": lambda x: nl.sort(x.ravel()).get(),
}
"""Ways out for an array."""


def _written(x: Any) -> Any:
    whole = nl.zeros(x.size + 2, x.dtype)
    whole[1:-1] = x.ravel()
    return whole


def _second(f: Callable[..., Any]) -> Callable[..., Any]:
    return nl.grad(lambda x: nl.grad(f)(x).real.sum())


DIFFERENTIATED = {
    "grad": nl.grad,
    "value_and_grad": nl.value_and_grad,
    "jacobian": nl.jacobian,
    "hessian": nl.hessian,
    "second": _second,
    "jvp": lambda f: lambda x: nl.jvp(f, [x], [x]),
    "vjp": lambda f: lambda x: nl.vjp(f, x),
}
POINTS = {
    "f8": np.float64(0.5), "f4": np.array(0.5, "f4"), "f2": np.array(0.5, "f2"), "c16": np.complex128(0.5 + 1j),
    "c8": np.array(0.5 + 1j, "c8"),
}  # fmt: skip


def _refused(way: Callable[..., Any], how: str, x: Any) -> None:
    def cost(x: Any) -> Any:
        x = x * 2 + 1
        way(x)
        return (x * x).real.sum()

    with pytest.raises((nl.CutError, ValueError)) as found:
        DIFFERENTIATED[how](cost)(x)
    # NumPy's fromiter has an error of its own, and ours as its cause.
    error = found.value if isinstance(found.value, nl.CutError) else found.value.__cause__
    assert isinstance(error, nl.CutError) and "stop_gradient" in str(error) and "argument 0" in str(error)
    if way in (np.from_dlpack, MANY["pickle"]):  # which trees, or symbols without numbers, refuse
        return

    def constant(x: Any) -> Any:
        way(nl.stop_gradient(x * 2 + 1))
        return (x * x).real.sum()

    DIFFERENTIATED[how](constant)(x)


@pytest.mark.parametrize("dtype", POINTS)
@pytest.mark.parametrize("how", DIFFERENTIATED)
@pytest.mark.parametrize("way", ONE)
def test_numbers(way: str, how: str, dtype: str) -> None:
    _refused(ONE[way], how, nl.array(POINTS[dtype]))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
@pytest.mark.parametrize("how", DIFFERENTIATED)
@pytest.mark.parametrize("way", MANY)
@pytest.mark.filterwarnings("ignore")
def test_arrays(way: str, how: str, shape: tuple[int, ...]) -> None:
    _refused(MANY[way], how, nl.full(shape, 0.5))


@pytest.mark.parametrize("dtype", POINTS)
@pytest.mark.parametrize("way", MANY)
@pytest.mark.filterwarnings("ignore")
def test_arrays_of_dtypes(way: str, dtype: str) -> None:
    if way == "logsumexp" and dtype == "f2":
        pytest.skip("not of float16")
    _refused(MANY[way], "grad", nl.full(3, POINTS[dtype]))


def test_line_and_cure() -> None:
    def cost(x: Any) -> Any:
        return math.exp(x) + x  # here

    with pytest.raises(
        nl.CutError, match=r"(?s)argument 0 of cost.*test_gradient_cuts.py:\d+: return .*# here.*nl.exp"
    ):
        nl.grad(cost)(1.0)
    assert issubclass(nl.CutError, nl.TreeError)


@pytest.mark.parametrize("how", DIFFERENTIATED)
def test_looks_that_decide(how: str, capsys: Any) -> None:
    """Truth values, integers, text and what has no gradient may be looked at, at all orders."""

    def cost(x: Any) -> Any:
        print(x, f"{x[0]:.1f}")
        shown = repr(x) + str(x[1])
        assert shown.startswith("array([1., 2.") and "$" not in shown
        assert x[0] and x[0] > 0 and int(x[1]) == 2 and round(x[1]) == 2 and not (x < 0).any()
        assert x.argmax() == 2 and float(nl.floor(x[2] + 0.5)) == 3.0 and nl.rint(x + 0.4).tolist() == [1.0, 2.0, 3.0]
        assert max(x[0], x[1]) is not None and (x > 1).tolist() == [False, True, True]
        assert nl.array_equal(x, x) and nl.allclose(x, x) and x.astype(int).tolist() == [1, 2, 3]
        return (x**3).sum() * float(nl.stop_gradient(x[0]))

    x = nl.array([1.0, 2.0, 3.0])
    found = DIFFERENTIATED[how](cost)(x)
    if how == "grad":
        assert found.tolist() == [3.0, 12.0, 27.0]
    if how == "hessian":
        assert found.tolist() == np.diag([6.0, 12.0, 18.0]).tolist()
    assert "[1. 2. 3.]" in capsys.readouterr().out


def test_branches_at_second_order() -> None:
    def cost(x: Any) -> Any:
        return x**3 if x > 0 else -(x**2)

    assert float(nl.grad(nl.grad(cost))(2.0)) == 12.0
    assert float(nl.grad(nl.grad(cost))(-2.0)) == -2.0
    assert nl.hessian(cost)(nl.array(-2.0)).item() == -2.0
    third = nl.grad(nl.grad(nl.grad(lambda x: x**4 if x > 0 else x)))
    assert float(third(2.0)) == 48.0


def test_after_the_call_and_of_others() -> None:
    """What was computed in the function may be looked at when it has ended; arrays of other calls always."""
    kept, known = [], nl.arange(3.0)

    def cost(x: Any) -> Any:
        kept.append(x * 2)
        return (x * known.get() * float(known.sum()) * (known * 2)[1].item()).sum()

    assert nl.grad(cost)(nl.ones(3)).tolist() == [0.0, 6.0, 12.0]
    assert kept[0].tolist() == [2.0] * 3
    with pytest.raises(ZeroDivisionError):
        nl.grad(lambda x: kept.append(x) or 1 / 0)(nl.ones(3))
    assert kept[-1].tolist() == [1.0] * 3


def test_nested_functions() -> None:
    """A look in an outer function at what an inner one gives, and the other way around."""
    inner = nl.grad(lambda y: (y**2).sum())
    with pytest.raises(nl.CutError, match="argument 0 of outer"):

        def outer(x: Any) -> Any:
            return float(inner(x)[0]) * x.sum()

        nl.grad(outer)(nl.ones(2))

    def closed(x: Any) -> Any:
        return nl.grad(lambda y: (y * float(x[0])).sum())(nl.ones(2)).sum() + x.sum()

    with pytest.raises(nl.CutError, match="argument 0 of closed"):
        nl.grad(closed)(nl.ones(2))
    # What the inner function is not differentiated by is a constant of it.
    assert nl.grad(lambda y: (y * float(nl.arange(3.0)[2])).sum())(nl.ones(2)).tolist() == [2.0, 2.0]


def test_stop_gradient() -> None:
    x = nl.array([2.0, 3.0])
    assert nl.grad(lambda x: (x * nl.stop_gradient(x)).sum())(x).tolist() == [2.0, 3.0]
    assert nl.hessian(lambda x: (x**2 * nl.stop_gradient(x)).sum())(x).tolist() == [[4.0, 0.0], [0.0, 6.0]]
    assert nl.grad(lambda x: nl.stop_gradient(x).sum(), allow_unused=True)(x).tolist() == [0.0, 0.0]
    assert nl.jvp(lambda x: x + nl.stop_gradient(x**2), [x], [nl.ones(2)])[1].tolist() == [1.0, 1.0]
    both = nl.stop_gradient({"a": [1, 2.5], "b": (x, x > 2)})
    assert both["a"][0].dtype == int and float(both["a"][1]) == 2.5
    assert both["b"][0].tolist() == [2.0, 3.0] and both["b"][1].tolist() == [False, True]
    for dtype in ("f2", "f4", "f8", "c8", "c16", "i4", "?"):
        for shape in ((), (0,), (2, 3)):
            given = nl.ones(shape, dtype)
            assert nl.stop_gradient(given).dtype == given.dtype and nl.stop_gradient(given).shape == shape
    odd = np.array([np.nan, -0.0, np.inf])
    assert nl.stop_gradient(nl.array(odd)).get().tobytes() == odd.tobytes()
    s = nl.symbol("s", (2,))
    assert nl.function([s], nl.grad((s * nl.stop_gradient(s * s)).sum(), s))([2.0, 3.0]).tolist() == [4.0, 9.0]
    v = nl.compiled.vector("v")
    assert nl.function([v], nl.grad((v * nl.stop_gradient(v)).sum(), v))([2.0, 3.0]).tolist() == [2.0, 3.0]
    assert "stop_gradient" in str(nl.source(nl.stop_gradient(s)))
    assert nl.compile(nl.stop_gradient)(x).tolist() == [2.0, 3.0]
    assert copy.deepcopy(x).tolist() == [2.0, 3.0]


# ---------------------------------------------------------------- what is chosen by masks

X = np.array([0.6, 1.3, -2.2, 3.1])
KNOWN = nl.array([1.0, 2.0, 3.0, 4.0])


def _stored(put: Callable[[Any], Any]) -> Any:
    target = nl.zeros(4)
    put(target)
    return target


CHOSEN = {
    "mask": lambda x: x[KNOWN > 1],
    "mask of NumPy": lambda x: x[np.array([True, False, True, True])],
    "list": lambda x: x[[True, False, True, False]],
    "mask of values": lambda x: x[x > 0],
    "mask of an axis": lambda x: (x[:, None] * x)[KNOWN > 2],
    "mask of two axes": lambda x: (x[:, None] * x)[nl.eye(4, dtype=bool)],
    "mask of a view": lambda x: x[::-1][(x > 0)[::-1]],
    "no element": lambda x: nl.concatenate([x[KNOWN > 9], x]),
    "nonzero": lambda x: x[nl.nonzero(x)] * x[nl.nonzero(KNOWN > 1)][0],
    "flatnonzero": lambda x: x[nl.flatnonzero(KNOWN > 1)],
    "argwhere": lambda x: x[nl.argwhere(x > 1)],
    "where": lambda x: x[nl.where(KNOWN > 1)],
    "compress": lambda x: nl.compress([True, False, True], x),
    "compress an axis": lambda x: nl.compress(KNOWN > 1, x[:, None] * x, axis=1),
    "extract": lambda x: nl.extract(KNOWN > 1, x),
    "delete": lambda x: nl.delete(x, KNOWN > 3),
    "piecewise": lambda x: nl.piecewise(x, [x < 1, x >= 1], [lambda v: v**2, lambda v: -v]),
    "piecewise of constants": lambda x: nl.piecewise(x, [KNOWN < 2], [lambda v: v**2, 3.0]),
    "place": lambda x: _stored(lambda z: nl.place(z, KNOWN > 1, x[:2])),
    "putmask": lambda x: _stored(lambda z: nl.putmask(z, KNOWN > 1, x)),
    "store at a mask": lambda x: _stored(lambda z: z.__setitem__(KNOWN > 1, x[:3])),
    "unique of constants": lambda x: x * nl.unique(KNOWN),
    "trim_zeros": lambda x: nl.trim_zeros(nl.concatenate([nl.zeros(2), x])),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_by_masks(name: str) -> None:
    function = CHOSEN[name]

    def cost(x: Any) -> Any:
        return (function(x) ** 3).sum()

    step, slopes = 1e-6, []
    for place in range(4):
        more, less = X.copy(), X.copy()
        more[place] += step
        less[place] -= step
        slopes.append((float(cost(nl.array(more))) - float(cost(nl.array(less)))) / (2 * step))
    np.testing.assert_allclose(nl.grad(cost)(nl.array(X)).get(), slopes, rtol=1e-5, atol=1e-6)
    second = nl.hessian(cost)(nl.array(X)).get()
    near = nl.jacobian(nl.grad(cost))(nl.array(X)).get()
    np.testing.assert_array_equal(second, near)
    by = nl.grad(cost)
    more, less = (by(nl.array(X + sign * step * KNOWN.get())).get() for sign in (1, -1))
    np.testing.assert_allclose(second @ KNOWN.get(), (more - less) / (2 * step), rtol=1e-4, atol=1e-5)


def test_masks_that_wait() -> None:
    """Sizes that are not known, or not for long, are refused as before."""
    s, w = nl.symbol("s", (4,)), nl.shared(np.ones(4), "w")
    for tree in (s, w):
        with pytest.raises(nl.TreeError):
            tree[tree > 0]
        with pytest.raises(nl.TreeError):
            nl.grad(lambda x: x[x > 0].sum())(tree)
    with pytest.raises(nl.TreeError):
        nl.compile(lambda x: nl.grad(lambda x: x[x > 0].sum())(x))(nl.ones(4))
    with pytest.raises(nl.TreeError):
        nl.grad(lambda x: nl.unique(x).sum())(nl.array(X))
    x = nl.symbol("x", (4,))
    assert nl.function([x], x[KNOWN > 2])(X).tolist() == [-2.2, 3.1]
    with nl.symbolic():
        tree = (KNOWN * 2)[KNOWN > 2]
    assert tree.shape == (2,) and tree.asnumpy().tolist() == [6.0, 8.0]


# ---------------------------------------------------------------- costs that are arrays


def _looked_at(x: Any) -> Any:
    z = x * 2
    print(z)
    return (z**2).sum() + x.sum()


PLAIN = {
    "looked at": _looked_at,
    "pending": lambda x: (x * 2).sum(),
    "an element": lambda x: x[0] * x.sum(),
    "a routine": lambda x: x @ x,
    "a number": lambda x: x[0] * 2,
    "itself": lambda x: x[1:].sum() if x.size > 1 else x[0],
}


@pytest.mark.parametrize("allow_unused", [False, True])
@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_costs(name: str, allow_unused: bool) -> None:
    """What was computed on the way cannot be known, so what the gradient is must not depend on it."""
    for several in (False, True):
        x = nl.array([1.0, 2.0])
        with pytest.raises(nl.CutError, match="Differentiate a function"):
            nl.grad(PLAIN[name](x), [x] if several else x, allow_unused=allow_unused)


RECORDED = {
    "element": lambda x: x[0] * x.sum(),
    "negative element": lambda x: -x[0] * x.sum(),
    "number times element": lambda x: (x[0] * 2 + 1) * x.sum(),
    "iteration": lambda x: sum(v * v for v in x),
    "unpacked": lambda x: (lambda a, b, c: a * b * c)(*x),
    "full": lambda x: (nl.full(3, x[0]) * x).sum(),
    "full_like": lambda x: (nl.full_like(x, x[1]) * x).sum(),
    "store": lambda x: (_stored(lambda z: z.__setitem__(0, x[0]))[:3] * x).sum(),
    "fill": lambda x: (_stored(lambda z: z.fill(x[2]))[:3] * x).sum(),
    "item of a row": lambda x: nl.stack([x, x * 2])[1][2] * x[0],
    "item of item": lambda x: x[0][()] * x[1],
    "stacked": lambda x: (nl.array([x[0], x[1], x[2]]) * x).sum(),
    "maximum": lambda x: nl.maximum(x[0], x[1]) ** 2 + abs(x[2]) ** 3,
    "integers": lambda x: x[nl.array([0, 2])][nl.array(1)] ** 2 + x[-1:][0],
    "mask": lambda x: (x[nl.array([True, False, True])] ** 2).sum(),
    "rows": lambda x: sum(row.sum() * row[0] for row in x[:, None] * x),
}


@pytest.mark.parametrize("name", RECORDED)
def test_elements_in_trees(name: str) -> None:
    """An element of an ordinary array is no number while a tree is recorded: the gradient is that of the function."""
    function = RECORDED[name]
    values = [1.5, -2.0, 3.0]
    wanted = nl.grad(lambda x: function(x * 1))(nl.array(values)).tolist()
    assert nl.grad(function)(nl.array(values)).tolist() == wanted
    x = nl.array(values)
    x.get()
    with nl.symbolic():
        cost = function(x)
    assert nl.grad(cost, x).tolist() == wanted
    s = nl.symbol("s", (3,))
    assert nl.function([s], nl.grad(function(s), s))(values).tolist() == wanted


def test_numbers_in_trees() -> None:
    y = nl.array(2.0)
    with nl.symbolic():
        cost = -y * y + 3 * y
    assert float(nl.grad(cost, y)) == -1.0


# ---------------------------------------------------------------- parameters that were read on the host

V = np.array([0.6, 1.3, 2.2])
HELD = nl.array([[3.0, -1.0, 2.0], [0.5, 4.0, 1.5]])

PARAMETERS = {
    "sum initial": lambda x: nl.sum(x, initial=x[0]),
    "sum initial of axis": lambda x: nl.sum(HELD * x, axis=1, initial=x[0]),
    "sum where": lambda x: nl.sum(x, initial=x[0], where=HELD[0] > 0),
    "sum of nothing": lambda x: nl.sum(nl.zeros((0, 2)), axis=0, initial=x[0] * x[1]),
    "prod initial": lambda x: nl.prod(x, initial=x[0]),
    "max initial": lambda x: nl.max(x, initial=x[2] * 2),
    "max initial that loses": lambda x: nl.max(x, initial=x[0]),
    "min initial where": lambda x: nl.min(HELD * x, axis=1, initial=x[1] ** 2, where=HELD > 0),
    "reduce": lambda x: nl.add.reduce(x, initial=x[0] * 3),
    "method": lambda x: x.sum(initial=x[0]),
    "nansum": lambda x: nl.nansum(x, initial=x[0]),
    "logaddexp": lambda x: nl.logaddexp.reduce(x, initial=x[0]),
    "subtract": lambda x: nl.subtract.reduce(x, initial=x[0] * 3),
    "pad": lambda x: nl.pad(x, 1, constant_values=x[0]),
    "pad pairs": lambda x: nl.pad(HELD * x, ((1, 0), (2, 1)), constant_values=((x[0], 1), (x[1], x[2]))),
    "pad array": lambda x: nl.pad(x, (2, 1), constant_values=x[:2]),
    "pad ramp": lambda x: nl.pad(x, 2, mode="linear_ramp", end_values=x[0]),
    "pad ramp pairs": lambda x: nl.pad(x, (1, 2), mode="linear_ramp", end_values=((x[1], 3),)),
    "geomspace": lambda x: nl.geomspace(x[0], x[1], 4),
    "geomspace of vectors": lambda x: nl.geomspace(x, 2 * x[::-1], 5, endpoint=False, axis=1),
    "geomspace below 0": lambda x: nl.geomspace(-x[0], -3.0, 4),
    "logspace": lambda x: nl.logspace(x[0], x[1], 4, base=x[2]),
    "linspace": lambda x: nl.linspace(x[0], x[1], 4),
    "arange start": lambda x: nl.arange(x[0], 4.0),
    "arange step": lambda x: nl.arange(0.0, 4.0, x[1]),
    "arange both": lambda x: nl.arange(x[0], -5.0, -x[1]),
    "gradient": lambda x: nl.gradient(HELD, x[0], x[1])[1],
    "gradient of a row": lambda x: nl.gradient(HELD[0], x[0], edge_order=2),
    "gradient at points": lambda x: nl.gradient(HELD[0], x),
    "gradient at even points": lambda x: nl.gradient(HELD[0] ** 2, nl.arange(3.0) * x[1]),
    "norm": lambda x: nl.linalg.norm(HELD[0], x[1]),
    "norm 2": lambda x: nl.linalg.norm(x, x[1] / 0.65),
    "norm of axis": lambda x: nl.linalg.norm(HELD * x, x[1], axis=1, keepdims=True),
    "vector_norm": lambda x: nl.linalg.vector_norm(HELD * x, ord=x[2] + 1),
    "kaiser": lambda x: nl.kaiser(5, x[0] * 3),
    "average": lambda x: nl.average(HELD[0], weights=x),
    "multigammaln": lambda x: nl.special.multigammaln(x + 3, 2),
    "quantile": lambda x: nl.quantile(HELD, x / 10, axis=1),
    "quantile of both": lambda x: nl.quantile(HELD * x, x[0] / 2),
    "percentile": lambda x: nl.percentile(HELD, x * 10, axis=0, keepdims=True),
    "nanquantile": lambda x: nl.nanquantile(nl.where(HELD > 0, HELD, nl.nan), x[1] / 3, axis=1),
    "polyfit": lambda x: nl.polyfit([1.0, 2.5, 3.0, 5.0], nl.append(x, 2.0), 1),
    "polyfit by points": lambda x: nl.polyfit(nl.append(x, 4.0), [1.0, 2.0, 0.5, 3.0], 2, w=[1, 2, 1, 0.5]),
    "polyfit of several": lambda x: nl.polyfit(x, HELD.T, 2),
    "polynomial.polyfit": lambda x: nl.polynomial.chebyshev.chebfit([0.5, 1, 2.0, 3.0], nl.append(x, 2.0), 2),
    "poly": nl.poly,
    "poly1d": lambda x: nl.poly1d(x)(2.0),
    "poly1d with zeros": lambda x: nl.poly1d(nl.append([0.0, 0.0], x))(x[0]),
    "polymul": lambda x: nl.polymul(x, x[:2]),
    "polyval": lambda x: nl.polyval(x, HELD[0] * x),
    "Polynomial": lambda x: nl.polynomial.Polynomial(x)(2.0),
    "Legendre": lambda x: nl.polynomial.Legendre(x, domain=[0, 4])(HELD),
    "polyadd": lambda x: nl.polynomial.polynomial.polyadd(x, [1.0, 2.0, 3.0, 4.0]),
    "chebsub": lambda x: nl.polynomial.chebyshev.chebsub([1.0, 2.0, 3.0], x),
    "chebmul": lambda x: nl.polynomial.chebyshev.chebmul(x, x[:2]),
    "lagmul": lambda x: nl.polynomial.laguerre.lagmul([1.0, 2.0], x),
    "polyder": lambda x: nl.polynomial.polynomial.polyder(x, scl=2),
    "hermint": lambda x: nl.polynomial.hermite.hermint(x, k=[3.0]),
    "ndenumerate": lambda x: sum(v * v * (place[0] + 1) for place, v in nl.ndenumerate(x)),
    "nanpercentile": lambda x: nl.nanpercentile(nl.where(HELD > 0, HELD, nl.nan), x * 10),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name: str) -> None:
    """Their gradients are those of differences, first and second; values are those of plain code."""
    function = PARAMETERS[name]

    def cost(x: Any) -> Any:
        return (function(x) ** 2).sum()

    plain, step = function(nl.array(V)), 1e-6
    kept = []
    _, found = nl.value_and_grad(lambda x: kept.append(function(x)) or (kept[-1] ** 2).sum())(nl.array(V))
    np.testing.assert_allclose(nl.asarray(kept[0]).get(), nl.asarray(plain).get(), rtol=1e-12)
    plain = nl.asarray(plain)
    assert kept[0].dtype == plain.dtype and kept[0].shape == plain.shape
    slopes, seconds = [], []
    for place in range(3):
        more, less = V.copy(), V.copy()
        more[place] += step
        less[place] -= step
        slopes.append((float(cost(nl.array(more))) - float(cost(nl.array(less)))) / (2 * step))
        by = [nl.grad(cost)(nl.array(point)).get() for point in (more, less)]
        seconds.append((by[0] - by[1]) / (2 * step))
    np.testing.assert_allclose(found.get(), slopes, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nl.hessian(cost)(nl.array(V)).get(), seconds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_parameters_of_other_dtypes(dtype: str) -> None:
    for name in ("sum initial", "prod initial", "pad", "linspace", "geomspace", "gradient of a row"):
        function = PARAMETERS[name]
        x = nl.array(V.astype(dtype))
        kept = []
        found = nl.grad(lambda x, f=function: kept.append(f(x)) or (kept[-1] * 2).real.sum())(x)
        plain = function(x)
        assert kept[0].dtype == plain.dtype and found.dtype == x.dtype, name
        np.testing.assert_allclose(kept[0].get(), plain.get(), rtol=1e-6)
    with pytest.raises(ValueError):
        nl.grad(lambda x: nl.sum(x, initial=x))(nl.ones(3))


def test_parameters_that_are_symbols() -> None:
    """What needs no number is computed in the tree, also where there is none."""
    x = nl.symbol("x", (3,))
    for name in ("sum initial", "max initial", "sum where", "pad", "pad ramp", "gradient", "kaiser"):
        tree = PARAMETERS[name](x)
        np.testing.assert_allclose(
            nl.function([x], tree)(V).get(), PARAMETERS[name](nl.array(V)).get(), rtol=1e-14, err_msg=name
        )
    w = nl.shared(V, "w")
    f = nl.function([], nl.sum(w, initial=w[0]))
    w.set_value(V * 2)
    assert float(f()) == pytest.approx(2 * (V.sum() + V[0]))


REFUSED = {
    "undetermined polyfit": lambda x: nl.polyfit([1.0, 1.0, 1.0], x, 2),
    "roots": nl.roots,
    "poly of complex roots": lambda x: nl.poly(x + 1j),
    "polydiv": lambda x: nl.polydiv(x, [1.0, 2.0])[0],
    "sum of Polynomials": lambda x: (nl.polynomial.Polynomial(x) + 1)(2.0),
    "polynomial.polypow": lambda x: nl.polynomial.polynomial.polypow(x, 2),
    "nditer": lambda x: [v * 1.0 for v in nl.nditer(x)],
    "quantile by other ways": lambda x: nl.quantile(HELD, x / 10, method="hazen"),
    "infinite norm": lambda x: nl.linalg.norm(HELD[0], x[0] * nl.inf),
    "norm of a matrix": lambda x: nl.linalg.norm(HELD, x[0] / x[0]),
    "covariance of a draw": lambda x: nl.random.default_rng(0).multivariate_normal([0, 0], nl.eye(2) * x[0]),
    "var": lambda x: nl.var(HELD, ddof=x[0]),
    "logsumexp": lambda x: scipy.special.logsumexp(x),
    "softmax": lambda x: scipy.special.softmax(x),
    "logpdf": lambda x: scipy.stats.norm.logpdf(x),
    "expm": lambda x: scipy.linalg.expm(nl.diag(x)),
    "scipy.fft": lambda x: scipy.fft.fft(x),
    "ndimage": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
}


@pytest.mark.parametrize("how", DIFFERENTIATED)
@pytest.mark.parametrize("name", REFUSED)
def test_parameters_without_a_rule(name: str, how: str) -> None:
    def cost(x: Any) -> Any:
        return nl.asarray(REFUSED[name](x)).real.sum() + (x * x).sum()

    with pytest.raises(nl.CutError, match="stop_gradient"):
        DIFFERENTIATED[how](cost)(nl.array(V))


@pytest.mark.parametrize("looked", [False, True])
def test_results_from_outside_of_the_tree(looked: bool) -> None:
    """Whether what was computed before depends on an array is not known when it has been computed."""
    x, s, data = nl.array([1.0, 2.0]), nl.symbol("s", (2,)), nl.asarray([3.0, 4.0])
    z = x * 2
    if looked:
        z.get()
    with pytest.raises(nl.CutError, match="computed outside"):
        nl.grad((z * s).sum() + (x * s).sum(), x)
    with nl.symbolic():
        cost = (z**2).sum() + (x * data).sum()
    with pytest.raises(nl.CutError, match="computed outside"):
        nl.grad(cost, x)
    with nl.symbolic():
        cost = (nl.stop_gradient(z) ** 2).sum() + (x * data * nl.ones(2) * 2.0).sum() + (z > 1).sum()
    assert nl.grad(cost, x).tolist() == [6.0, 8.0]
    # Of symbols and shared variables they do not depend.
    w = nl.shared([1.0, 2.0], "w")
    assert nl.function([s], nl.grad((z * s * w).sum(), [s, w]))([1.0, 1.0])[0].tolist() == [2.0, 8.0]
    # A result may itself be what it is differentiated by, and a view of it.
    with nl.symbolic():
        cost = (z[1:] * z[:1] * data).sum()
    assert nl.grad(cost, z).tolist() == [28.0, 14.0]


RESULTS: dict[str, Any] = {
    "a cast": lambda x: x.astype("f4"),
    "a cast there and back": lambda x: x.astype("f4").astype("f8"),
    "a copy in another order": lambda x: nl.ascontiguousarray(x[::-1]),
    "a sort": nl.sort,
    "a running sum": nl.cumsum,
    "joined": lambda x: nl.concatenate([x, x]),
    "stacked": lambda x: nl.stack([x, x]),
    "at indices": lambda x: x[[0, 1]],
    "at computed indices": lambda x: nl.take(x, nl.argsort(x)),
    "by a mask": lambda x: x[x > 0],
    "an element": lambda x: x[0] * nl.ones(2),
    "an element alone": lambda x: x[0],
    "an element's product": lambda x: x[0] * 2,
    "elements": lambda x: nl.asarray([x[0], x[1]]) * 1,
    "many elements": lambda x: nl.asarray([x[0], x[1]] * 3000) * 1,
    "rows of elements": lambda x: nl.asarray([[x[0], 1.0], [2.0, x[1]]] * 3000) * 1,
    "a sum": lambda x: x.sum(),
    "a transform": lambda x: nl.fft.fft(x).real,
    "a solution": lambda x: nl.linalg.solve(nl.eye(3), x),
    "singular values": lambda x: nl.linalg.svd(nl.outer(x, x))[1],
    "padded": lambda x: nl.pad(x, 1),
    "by a compiled function": lambda x: DOUBLED(x),
    "by a loop": lambda x: nl.fori_loop(0, 3, lambda k, s: s * x, nl.ones(3)),
}  # fmt: skip
STORES: dict[str, Any] = {
    "a part": lambda y, x: y.__setitem__(slice(1, None), x[1:]),
    "an element": lambda y, x: y.__setitem__(0, x[0]),
    "an element's product": lambda y, x: y.__setitem__(0, x[0] * 2),
    "at indices": lambda y, x: y.__setitem__([0, 1], x[:2]),
    "by a mask": lambda y, x: y.__setitem__(x > 0, x[x > 0]),
    "put": lambda y, x: nl.put(y, [0, 1], x[:2]),
    "add.at": lambda y, x: nl.add.at(y, [0, 1], x[:2]),
    "copyto": lambda y, x: nl.copyto(y[1:], x[1:]),
    "in place": lambda y, x: y.__iadd__(x),
    "out": lambda y, x: nl.multiply(x, 2, out=y),
}  # fmt: skip
DOUBLED = nl.compile(lambda x: x * 2)


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_all_results_from_outside_of_the_tree(name: str, looked: bool) -> None:
    """Whatever computed them: casts and routines, too."""
    x = nl.array([1.0, 2.0, 3.0])
    y = RESULTS[name](x)
    if looked:
        str(y)
    with nl.symbolic():
        cost = (y**2).sum() + x.sum()
    with pytest.raises(nl.CutError, match="computed outside"):
        nl.grad(cost, x)
    with nl.symbolic():
        cost = (nl.stop_gradient(y) ** 2).sum() + x.sum()
    assert nl.grad(cost, x).tolist() == [1.0] * 3


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("memory", ["zeros", "data", "older data"])
@pytest.mark.parametrize("name", STORES)
def test_stores_from_outside_of_the_tree(name: str, memory: str, looked: bool) -> None:
    y = nl.zeros(3) if memory == "zeros" else nl.array([0.0, 0.0, 0.0])
    if memory == "older data":
        DOUBLED(nl.ones(2) + 1), nl.compile(lambda x: x + 1)(nl.ones(2))
    x = nl.array([1.0, 2.0, 3.0])
    STORES[name](y, x)
    if looked:
        str(y)
    with nl.symbolic():
        cost = (y**2).sum() + x.sum()
    with pytest.raises(nl.CutError, match="computed outside"):
        nl.grad(cost, x)


def test_what_is_generated_or_given_is_a_constant() -> None:
    x = nl.array([1.0, 2.0, 3.0])
    constants = [
        nl.arange(3.0),
        nl.ones(3),
        nl.zeros(3) + 1,
        nl.asarray(2.0),
        nl.asarray([1.0, 2.0, 3.0]),
    ]
    written = nl.array([0.0, 0.0, 0.0])
    written[0] = 4.0
    for y in [*constants, written]:
        for looked in (False, True):
            if looked:
                str(y)
            with nl.symbolic():
                cost = (y * x).sum()
            assert nl.grad(cost, x).tolist() == (np.ones(3) * y.get()).tolist()


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("count", [3, 9000])
def test_what_was_computed_of_generated_arrays(count: int, looked: bool) -> None:
    """Somebody who has the array may ask for its gradient; of what was made on the way nobody can."""
    for make in (lambda: nl.zeros(count), lambda: nl.arange(count) * 1.0, lambda: nl.asarray(0.5)):
        z = make()
        y = z * 2 + 1
        if looked:
            str(y)
        with nl.symbolic():
            cost = (y**2).sum() + z.sum()
        with pytest.raises(nl.CutError, match="computed outside"):
            nl.grad(cost, z)
    x = nl.ones(count)
    y = nl.zeros(count) + 1
    if looked:
        str(y)
    with nl.symbolic():
        cost = (x * y).sum()
    assert nl.grad(cost, x)[:3].tolist() == [1.0] * 3


@pytest.mark.parametrize("looked", [False, True])
def test_a_copy_from_outside_of_the_tree(looked: bool) -> None:
    x = nl.array([1.0, 2.0, 3.0])
    for copied in (x.copy(), copy.copy(x), copy.deepcopy(x), nl.array(x), x.copy("F"), nl.copy(x)):
        if looked:
            str(copied)
        with nl.symbolic():
            cost = (copied * x).sum()
        # The same values until one of both is written; or, from before the first tree, they are computed from those.
        try:
            assert nl.grad(cost, x).tolist() == [2.0, 4.0, 6.0]
        except nl.CutError as error:
            assert "computed outside" in str(error)
    nl.symbol("s", (3,))
    copied, other = x.copy(), nl.ones(3)
    with nl.symbolic():
        cost = (copied * other).sum()
    assert nl.grad(cost, other).tolist() == [1.0, 2.0, 3.0]


def test_trees_stored_in_arrays_that_were_looked_at() -> None:
    s = nl.symbol("s", (3,))
    for put in (
        lambda z: z.__setitem__(0, s[0]),
        lambda z: z.__setitem__((slice(0, 1),), s[0]),
        lambda z: z[:1].fill(s[0]),
        lambda z: z.__setitem__(slice(0, 1), s[:1]),
    ):
        for make in (lambda: nl.zeros(3), lambda: nl.array([0.0, 0.0, 0.0]), lambda: nl.arange(3) * 0.0):
            z = make()
            str(z)
            put(z)
            assert nl.function([s], (z * s).sum())([2.0, 3.0, 4.0]).item() == 4.0


def test_a_cast_that_was_looked_at() -> None:
    x = nl.array([1.0, 2.0, 3.0])
    y = x.astype("f4")
    str(y)
    with pytest.raises(nl.CutError, match="ordinary array"):
        nl.grad((y**2).sum(), x)
    assert nl.grad(lambda x: (x.astype("f4") ** 2).sum())(x).tolist() == [2.0, 4.0, 6.0]
