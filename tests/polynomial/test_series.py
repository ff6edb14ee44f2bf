"""The six families: every function and class of NumPy's modules gives NumPy's results on our arrays."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.polynomial import fitting
from numloom.testing import assert_kernels, count_kernels, matches_numpy

FAMILIES = {
    "polynomial": ("poly", "Polynomial"), "chebyshev": ("cheb", "Chebyshev"), "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"), "hermite_e": ("herme", "HermiteE"), "laguerre": ("lag", "Laguerre"),
}  # fmt: skip

# F is the prefix of a family's functions; c, d: coefficients; m, t: of several series; x, y, z: points.
FUNCTIONS = """
Fline(2, 3)
Fline(2, 0)
Ffromroots([1, 2, -1])
Ffromroots([])
Ffromroots(x[0])
Fadd(c, d)
Fsub(d, c)
Fmulx(c)
Fmul(c, d)
Fmul(c, [0, 0])
Fdiv(c, d)
Fdiv(d, c)
Fdiv(c, [0])
Fpow(c, 3)
Fpow(c, 3, 2)
Fpow(c, -1)
Fadd(c, [])
Fadd(m, c)
Ftrim([1, 2, 1e-3, 1e-9], 1e-6)
Ftrim(c, -1)
Fcompanion(c)
Fcompanion([1])
Froots(c)
Froots([1, 2])
Fval(x, c)
Fval(x, [2])
Fval(x, [1, 2])
Fval(0.5, c)
Fval([1, 2], c)
Fval(x.astype("f4"), c.astype("f4"))
Fval(x.astype("f2"), c.astype("f2"))
Fval(x * 1j, c)
Fval(xp.arange(3), [1, 2, 3])
Fval(xp.asarray(0.25), c)
Fval(x[:0], c)
Fval(x[::-1, ::2], m)
Fval(x[0, :3], m, tensor=False)
Fval(xp.asarray([np.nan, np.inf, 1]), c)
Fval2d(x, y, m)
Fval2d(x, y[:1], m)
Fval3d(x, y, z, t)
Fgrid2d(x[0], y[1], m)
Fgrid3d(x[0], y[1], z[0], t)
Fder(c)
Fder(c, 2, 3)
Fder(c, 9)
Fder(c, -1)
Fder(m, axis=1)
Fder(m, 2, scl=2)
Fder(m.astype("f4"))
Fder(t, axis=3)
Fder(xp.asarray([1, 2, 3]))
Fint(c)
Fint(c, 2, [1, 2], lbnd=-1, scl=2)
Fint(c, 1, [1, 2])
Fint(c, lbnd=[0])
Fint(m, 2, [3], axis=1)
Fint(m, 1, 2, lbnd=1)
Fint(m, 0)
Fint(m.astype("f4"), 2, 1)
Fint(m, 2, 1j, scl=1j)
Fint(m * 1j, axis=5)
Fder(m[:0])
Fvander(x, 4)
Fvander(xp.arange(4), 2)
Fvander(x.astype("f4"), 0)
Fvander(2, 3)
Fvander(x, -1)
Fvander2d(x, y, [1, 2])
Fvander3d(x, y, z, [1, 2, 1])
Fvander2d(x, y, [1])
Ffit(x[0], y[0], 2)
Ffit(x[0], y.T, [0, 2])
Ffit(x[0], y[0], 2, w=z[0])
Ffit(x[0], y[0], 2, full=True)
Ffit(x[0] * 1j, y[0], 2)
Ffit(x[0].astype("f4"), y[0].astype("f4"), 1)
Ffit(x[0].astype("f2"), y[0], 1)
Ffit(x, y, 1)
Ffit(x[0], y[0, :3], 1)
Ffit(x[0], y[0], -1)
Ffit(x[0], y[0], [[1]])
Ffit(x[0], y[0], 1.5)
Ffit(x[0], y[0], 1, w=y)
Ffit(x[0], y[0], 1, w=[1])
Fdomain
Fx
"""
ORTHOGONAL = """
Fgauss(4)
Fgauss(0)
Fweight(x / 2)
poly2F(c)
F2poly(c)
"""
SPECIAL = {
    "poly": ["Fvalfromroots(x, c)", "Fvalfromroots(x, m)", "Fvalfromroots(0.5, c)",
             "Fvalfromroots(x, m, tensor=False)", "Fvalfromroots(x[0, :3], t, tensor=False)"],
    "cheb": ["Fpts1(4)", "Fpts2(4)", "Fpts2(1)", "Finterpolate(lambda v: v * v - v, 4)",
             "Finterpolate(lambda v, a: v - a, 2, (3,))", "Finterpolate(abs, -1)", "Finterpolate(abs, 1.5)"],
}  # fmt: skip


def arguments(xp: Any) -> dict[str, Any]:
    host = np.random.default_rng(3)
    arrays = {
        "c": host.normal(size=5), "d": np.array([1.5, -2, 0.5]), "m": host.normal(size=(4, 3)),
        "t": host.normal(size=(3, 2, 4)), "x": host.uniform(-0.9, 0.9, (2, 8)), "y": host.uniform(-0.9, 0.9, (2, 8)),
        "z": host.uniform(0.1, 0.9, (2, 8)),
    }  # fmt: skip
    return {"xp": xp, "np": np, **{name: xp.asarray(array) for name, array in arrays.items()}}


def evaluated(xp: Any, family: str, text: str) -> Any:
    prefix = FAMILIES[family][0]
    names = {name: getattr(getattr(xp.polynomial, family), name) for name in _used(text.replace("F", prefix), family)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text.replace("F", prefix), {**arguments(xp), **names})


def _used(text: str, family: str) -> list[str]:
    name = text.split("(")[0]
    return [name] if hasattr(getattr(np.polynomial, family), name) else []


def _cases(family: str) -> list[str]:
    prefix = FAMILIES[family][0]
    extra = [] if prefix == "poly" else ORTHOGONAL.split("\n")
    return [text for text in [*FUNCTIONS.split("\n"), *extra, *SPECIAL.get(prefix, [])] if text]


@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family: str) -> None:
    wrong = []
    for text in _cases(family):
        rtol = 2e-2 if "f2" in text else 3e-5 if "f4" in text else 1e-9
        check = matches_numpy(lambda xp, text=text: evaluated(xp, family, text), rtol=rtol, atol=rtol)
        try:
            check()
        except AssertionError as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


CLASSES = """
p.coef
p.domain
p(x)
p(q)
p.linspace(5)
list(p)
len(p)
(p + q).coef
(p - [1, 2]).coef
([1, 2] - p).coef
(p * 2).coef
(2 * p).coef
(p * xp.asarray([1.0, 2])).coef
(xp.asarray([1.0, 2]) * p).coef
(np.float64(2) + p).coef
(p / 2).coef
p / q
(p // q).coef
(p % q).coef
[s.coef for s in divmod(p, q)]
[s.coef for s in divmod([1, 2, 3], q)]
(p ** 2).coef
p ** -1
(-p).coef
p + w
p == p.copy()
p == q
p != q
p.degree()
p.cutdeg(1).coef
p.trim(0.7).coef
p.truncate(2).coef
p.deriv().coef
p.deriv(2).coef
p.integ(2, [1, 2], lbnd=0.5).coef
p.roots()
p.mapparms()
p.has_samecoef(q)
p.has_samedomain(w)
p.has_samewindow(w)
p.has_sametype(q)
w.convert().coef
w.convert(domain=[0, 1]).coef
w.convert(kind=xp.polynomial.Polynomial).coef
w.convert(kind=xp.polynomial.Chebyshev).coef
C.fit(x[0], y[0], 2).coef
C.fit(x[0], y[0], 2, domain=[]).coef
C.fit(x[0], y[0], [1, 2], window=[0, 1], full=True)[1]
C.fit(x[0], y[0], 2).domain
C.fit(xp.ones(3), y[0, :3], 0).domain
C.fromroots([1, 2]).coef
C.fromroots([1, 2], domain=None).domain
C.identity([0, 2]).coef
C.basis(3).coef
C.basis(-1)
C.cast(w).coef
C([])
C([[1]])
C([1], domain=[1, 2, 3])
C([1], symbol="1x")
C([1], symbol=1)
C.domain
C.window
C.basis_name
str(p)
repr(w)
format(p, "ascii")
p.symbol
hash(p)
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_classes(family: str) -> None:
    wrong = []
    for text in filter(None, CLASSES.split("\n")):

        def body(xp: Any, text: str = text) -> Any:
            kind = getattr(xp.polynomial, FAMILIES[family][1])
            known = arguments(xp)
            c, d = known["c"], known["d"]
            series = {"C": kind, "p": kind(c), "q": kind(d, symbol="x"), "w": kind(d, domain=[0, 2])}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = eval(text, {**known, **series})
            return result.coef if hasattr(result, "coef") else result

        try:
            matches_numpy(body, rtol=1e-9, atol=1e-9)()
        except AssertionError as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


def test_results_are_on_the_device() -> None:
    p = nl.polynomial.Chebyshev([1, 2, 3])
    results = [p.coef, p.domain, nl.polynomial.Chebyshev.domain, p(0.5), p.roots(), p([1, 2]), *p.linspace(3),
               nl.polynomial.chebyshev.chebx, *nl.polynomial.legendre.leggauss(2),
               nl.polynomial.polyutils.getdomain([1, 2]), nl.polynomial.polyutils.as_series([[1, 2]])[0]]  # fmt: skip
    assert {type(result) for result in results} == {nl.ndarray}
    assert type(p * 2) is nl.polynomial.Chebyshev
    assert isinstance(nl.polynomial.Chebyshev.interpolate(nl.cos, 5, [0, 2]), nl.polynomial.Chebyshev)
    ours, theirs = (xp.polynomial.Chebyshev.interpolate(xp.cos, 5, [0, 2]).coef for xp in (nl, np))
    np.testing.assert_allclose(ours.get(), theirs, atol=1e-12)


def test_pickles() -> None:
    p = nl.polynomial.Legendre([1, 2, 3], domain=[0, 2], symbol="t")
    again = pickle.loads(pickle.dumps(p))
    assert again == p and type(again) is nl.polynomial.Legendre and again.symbol == "t"
    assert pickle.loads(pickle.dumps(nl.poly1d([1, 2], variable="z"))).variable == "z"
    assert copy.deepcopy(p) == p
    value = pickle.loads(pickle.dumps(nl.polynomial.legendre.legval))
    assert float(value(1.0, [1, 2, 3])) == 6


def test_high_degrees() -> None:
    c = np.random.default_rng(2).normal(size=601)
    x = np.linspace(-1, 1, 7)
    ours = nl.polynomial.chebyshev.chebval(nl.asarray(x), c)
    np.testing.assert_allclose(ours.get(), np.polynomial.chebyshev.chebval(x, c), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_in_several_variables(family: str) -> None:
    """NumPy has `valnd` from 2.5 on: it is the others for two and three variables, and goes on from there."""
    ours = getattr(nl.polynomial, family)
    (name,) = (name for name in ours.__all__ if name.endswith("valnd"))
    value, twice, thrice = (getattr(ours, name.replace("nd", part)) for part in ("", "2d", "3d"))
    valnd = getattr(ours, name)
    points, c = nl.asarray([[0.5, -1], [2, 0.25], [1, 3], [-2, 1]]), nl.arange(32.0).reshape(2, 2, 2, 2, 2) - 7
    np.testing.assert_array_equal(valnd(points[:2], c).get(), twice(*points[:2], c).get())
    np.testing.assert_array_equal(valnd(list(points[:3]), c).get(), thrice(*points[:3], c).get())
    first = value(points[3], thrice(*points[:3], c), tensor=False)
    np.testing.assert_array_equal(valnd(tuple(points), c).get(), first.get())
    with pytest.raises(ValueError, match="ordinates are incompatible"):
        valnd((*points[:3], 1.0), c)


def test_names_and_constants_are_all_there() -> None:
    for family in [*FAMILIES, "polyutils"]:
        ours, theirs = getattr(nl.polynomial, family), getattr(np.polynomial, family)
        assert not [name for name in theirs.__all__ if not hasattr(ours, name)]
    assert set(np.polynomial.__all__) <= set(nl.polynomial.__all__)
    with pytest.raises(AttributeError):
        nl.polynomial.chebyshev.nothing


@pytest.mark.parametrize("text", [
    "trimseq(np.array([1, 2, 0, 0]))", "trimseq(np.array([]))", "trimcoef([1, 0])", "getdomain(x[0])",
    "getdomain(x[0] * (1 + 2j))",
    "getdomain([])", "getdomain(x)", "getdomain([1, 5])", "mapparms([0, 1], [2, 4])", "mapdomain(x, [-1, 1], [0, 3])",
    "mapdomain(x.astype('f4'), [-1, 1], [0, 3])", "as_series([[1, 2, 0], [1]])", "as_series([[]])",
    "as_series([[[1]]])", "format_float(1.5)",
])  # fmt: skip
def test_polyutils(text: str) -> None:
    def body(xp: Any) -> Any:
        return eval("xp.polynomial.polyutils." + text, arguments(xp))

    matches_numpy(body, rtol=1e-6)()


def test_a_series_is_one_kernel() -> None:
    x = nl.linspace(-1, 1, 1000)
    with assert_kernels(1):
        (nl.polynomial.chebyshev.chebval(x, [1, 2, 3, 4, 5, 6]) * 2).sum().item()
    with assert_kernels(1):
        y = nl.polynomial.Legendre([1, 2, 3])(x) + 1
    assert y.shape == (1000,)
    with count_kernels() as counted:
        nl.polynomial.hermite.hermvander(x, 5)
    assert counted.kernels <= 2


@pytest.mark.parametrize("dtype", ["f4", "f8", "D"])
def test_long_fits_stay_on_the_device(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "HOST_ELEMENTS", 0)
    random = np.random.default_rng(5)
    x = np.sort(random.uniform(-1, 1, 400)).astype(dtype)
    y = np.stack([np.cos(3 * x), x**3 - x + random.normal(size=400)], 1).astype(dtype)
    w = random.uniform(0.5, 2, 400)
    cases: list[Any] = [{"deg": 3}, {"deg": [0, 3], "w": w}, {"deg": 2, "full": True}]
    if dtype == "D":
        x, y, cases = x + 0.1j * x**2, y[:, 0], [{"deg": 1}]  # each step is a kernel that waits for its compiler
    for options in cases:
        ours = nl.polynomial.legendre.legfit(nl.asarray(x), nl.asarray(y), **options)
        theirs = np.polynomial.legendre.legfit(x, y, **options)
        if "full" in options:
            (ours, report), (theirs, expected) = ours, theirs
            assert report[1] == expected[1] and report[3] == expected[3]
            for k in (0, 2):
                assert report[k].dtype == expected[k].dtype
                np.testing.assert_allclose(report[k].get(), expected[k], rtol=1e-4 if dtype == "f4" else 1e-10)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.get(), theirs, atol=1e-4 if dtype == "f4" else 1e-11)


def test_long_fits_without_full_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "HOST_ELEMENTS", 0)
    x = np.repeat([0.0, 1.0], 50)
    y = np.arange(100.0)
    with pytest.warns(np.exceptions.RankWarning):
        ours = nl.polynomial.polynomial.polyfit(x, y, 3)
    with pytest.warns(np.exceptions.RankWarning):
        theirs = np.polynomial.polynomial.polyfit(x, y, 3)
    np.testing.assert_allclose(ours.get(), theirs, atol=1e-10)
