"""Rules at the points where they may fail: zeros, ones, kinks, ends of domains, infinities; first and second order.

Where mpmath says that a derivative exists, ours is that. Where one side alone has one, ours is that or no number. Where
none exists ours is no number, or what `CONVENTIONS` has, which is what docs/gradients.md says.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from tests.compiled.special_points import ELEMENTARY, HOST_FUNCTIONS, INF, SPECIAL_FUNCTIONS
from tests.compiled.test_gradients_of_tables import SMOOTH

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.compiled.gradient_rules import on_host
from numloom.graph import build
from numloom.ops.derivatives import HOST_DERIVATIVES, ZERO, refused
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.special import SPECIAL

DIGITS = 70
FAR = (mp.mpf(10) ** 5, mp.mpf(10) ** 7)
"""In the place of infinity."""


def value(function: Any, args: Sequence[Any]) -> Any:
    """A function's value; None where it has none, or one that is not real."""
    return value_at(function, tuple(args), mp.mp.prec)


@cache
def value_at(function: Any, args: tuple[Any, ...], precision: int) -> Any:
    """Quotients of several orders have values in common, which take long."""
    try:
        found = function(*args)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError, mp.libmp.NoConvergence):
        return None
    if isinstance(found, mp.mpc):
        if found.imag:
            return None
        found = found.real
    found = mp.mpf(found)
    return None if mp.isnan(found) or mp.isinf(found) else found


def moved(args: Sequence[Any], *steps: tuple[int, Any]) -> list[Any]:
    found = list(args)
    for place, step in steps:
        found[place] = found[place] + step
    return found


def differences(function: Any, args: Sequence[Any], order: tuple[int, ...], signs: tuple[int, ...], h: Any) -> Any:
    """A quotient of differences of first or second order, by one or two arguments, from one side."""
    steps = [(place, sign * h) for place, sign in zip(order, signs, strict=True)]
    terms = [
        (value(function, moved(args, *chosen)), (-1) ** (len(order) - len(chosen)))
        for count in range(len(order) + 1)
        for chosen in itertools.combinations(steps, count)
    ]
    if any(term is None for term, _ in terms):
        return None
    total = sum(term * factor for term, factor in terms)
    return total / mp.fprod([step for _, step in steps])


def one_sided(function: Any, args: Sequence[Any], order: tuple[int, ...], signs: tuple[int, ...]) -> Any:
    """A derivative from one side: None where the function is not defined there, infinite where there is no limit."""
    first, second = (differences(function, args, order, signs, mp.mpf(10) ** -e) for e in (14, 17))
    if first is None or second is None:
        return None
    if abs(first - second) > mp.mpf(10) ** -7 * (1 + abs(second)):
        return mp.inf
    return second


def at_point(function: Any, args: Sequence[Any], order: tuple[int, ...]) -> tuple[str, Any]:
    """Whether a derivative exists ("all" sides agree, "some" are there and agree, "none"), and what it is.

    "outside" is where the function itself has no value. Where there is no first derivative there is no second one.
    """
    if value(function, args) is None:
        return "outside", None
    if len(order) == 2 and any(at_point(function, args, (place,))[0] == "none" for place in order):
        return "none", None
    sides = [(1,), (-1,)] if len(order) == 1 else [(1, 1), (-1, -1)]
    if len(set(order)) == 2:
        sides += [(1, -1), (-1, 1)]
    found = [one_sided(function, args, order, signs) for signs in sides]
    known = [one for one in found if one is not None]
    if not known or any(mp.isinf(one) for one in known):
        return "none", None
    if any(abs(one - known[0]) > mp.mpf(10) ** -6 * (1 + abs(known[0])) for one in known):
        return "none", None
    return ("all" if len(known) == len(found) else "some"), known[0]


def far_away(function: Any, args: Sequence[float], order: tuple[int, ...]) -> tuple[str, Any]:
    """The same at infinity: the limit of derivatives. That of two arguments depends on the way."""
    if sum(abs(x) == INF for x in args) > 1:
        return "outside", None
    found = []
    for far in FAR:
        near = [mp.sign(x) * far if abs(x) == INF else x for x in map(mp.mpf, args)]
        found.append(at_point(function, near, order))
    if any(kind in ("none", "outside") for kind, _ in found):
        return "outside", None
    first, second = found[0][1], found[1][1]
    if abs(first - second) > mp.mpf(10) ** -2 * (1 + abs(second)) or abs(second) > 10**6:
        return "outside", None
    return "limit", second


@cache
def expected(kind: str, name: str, args: tuple[float, ...], order: tuple[int, ...]) -> tuple[str, Any]:
    table = {"elementary": ELEMENTARY, "special": SPECIAL_FUNCTIONS, "host": HOST_FUNCTIONS}[kind]
    function = table[name][0]
    with mp.workdps(DIGITS):
        if INF in map(abs, args):
            return far_away(function, args, order)
        return at_point(function, [mp.mpf(x) for x in args], order)


def texts_of(kind: str, name: str) -> Sequence[str]:
    if kind == "host":
        return HOST_DERIVATIVES[name]
    gradient = (ELEMENTWISE if kind == "elementary" else SPECIAL)[name].gradient
    assert gradient is not None
    return gradient


def record(kind: str, name: str, arrays: Sequence[Any]) -> Any:
    if kind == "host":
        return on_host(name, *arrays)
    op_def = (ELEMENTWISE if kind == "elementary" else SPECIAL)[name]
    return wrap(build.elementwise(op_def, [node_of(x) for x in arrays]))


def beside(*first: Any) -> dict[tuple[int, ...], Any]:
    """First derivatives as given, and all second ones 0."""
    found: dict[tuple[int, ...], Any] = {(place,): one for place, one in enumerate(first)}
    for places in itertools.combinations_with_replacement(range(len(first)), 2):
        found[places] = lambda *args: 0.0
    return found


def zero(*args: float) -> float:
    return 0.0


def one(*args: float) -> float:
    return 1.0


HALF_EACH = beside(lambda a, b: 0.5, lambda a, b: 0.5)

CONVENTIONS: dict[str, dict[tuple[int, ...], Any]] = {
    **dict.fromkeys(("absolute", "fabs", "sign"), beside(zero)),
    "i0e": {(0,): zero, (0, 0): lambda x: 0.5},
    "i1e": {(0, 0): zero},
    "ive": {(1,): zero, (1, 1): lambda v, x: {0.0: 0.5, 1.0: 0.0, 2.0: 0.25}[v]},
    "hypot": beside(zero, zero),
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "modf_integral", "gammasgn"), beside(zero)),
    "floor_divide": beside(zero, zero),
    "modf_fraction": beside(one),
    "remainder": beside(one, lambda a, b: -np.floor(a / b)),
    "fmod": beside(one, lambda a, b: -np.trunc(a / b)),
    "frexp_mantissa": beside(lambda a: 2.0 ** -np.frexp(a)[1]),
    "copysign": beside(lambda a, b: np.copysign(1, a) * np.copysign(1, b), zero),
    "heaviside": beside(zero, lambda a, b: float(a == 0)),
    # Of equal numbers each has half; of three, those of two steps.
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), HALF_EACH),
    "clip": beside(lambda a, b, c: 0.5, lambda a, b, c: 0.5, lambda a, b, c: 0.5),
    "huber": {(0, 0): zero, (1, 1): one, (0, 1): zero},
    "xlogy": {(0, 0): zero},
    "xlog1py": {(0, 0): zero},
    # Across the cut, and where the base is 0.
    "arctan2": {(0,): lambda a, b: 1 / b, (0, 0): zero, (0, 1): lambda a, b: -1 / b**2},
    "power": {(1,): zero, (1, 1): zero, (0, 1): lambda a, b: 1.0 if b in (0, 1) else 0.0, (0,): zero, (0, 0): zero},
}  # fmt: skip
"""Where there is no derivative: what takes its place, by the order. docs/gradients.md says so in words."""
CONVENTIONS["float_power"] = CONVENTIONS["power"]

NO_NUMBER = {
    "beta": "both gammas have poles",
    "betaln": "both gammas have poles",
    "poch": "both gammas have poles",
    "gdtr": "a density that is infinite at 0, times 0",
    "gdtrc": "a density that is infinite at 0, times 0",
    "xlogy": "0 / 0",
    "xlog1py": "0 / 0",
    "ellipkinc": "the formula at 1",
    "ellipeinc": "the formula at 1",
    "struve": "a function of order -2 at 0",
}
"""Where there are derivatives, and ours may be NaN or infinite instead: never another number."""

NAMES = [
    *[("elementary", name) for name in ELEMENTARY],
    *[("special", name) for name in SPECIAL_FUNCTIONS],
    *[("host", name) for name in HOST_FUNCTIONS],
]


def check(name: str, order: tuple[int, ...], args: tuple[float, ...], ours: float, found: tuple[str, Any]) -> bool:
    """Whether a derivative is what it must be."""
    kind, theirs = found
    if kind == "outside":
        return True
    if kind == "none":
        convention = CONVENTIONS.get(name, {}).get(order)
        return not np.isfinite(ours) or (convention is not None and abs(ours - convention(*args)) < 1e-12)
    if not np.isfinite(ours):
        return kind in ("some", "limit") or name in NO_NUMBER
    tolerance = {"all": 1e-8 if len(order) == 1 else 1e-6, "some": 1e-6, "limit": 2e-2}[kind]
    return bool(abs(ours - float(theirs)) <= tolerance * (1 + abs(float(theirs))))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:non-integer arg")
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_special_points(kind: str, name: str) -> None:
    tables: dict[str, Any] = {"elementary": ELEMENTARY, "special": SPECIAL_FUNCTIONS, "host": HOST_FUNCTIONS}
    points = list(itertools.product(*tables[kind][name][1]))
    arrays = [nl.array(list(column)) for column in zip(*points, strict=True)]
    texts = texts_of(kind, name)
    assert len(texts) == len(arrays)
    wrong = []

    def skipped(text: str) -> bool:
        """What has no rule; and whole numbers, whose derivative is 0."""
        return refused(text) or (text == ZERO and kind != "elementary" and name != "gammasgn")

    for place, text in enumerate(texts):
        if skipped(text):
            continue
        first = nl.grad(lambda *x: record(kind, name, x).sum(), argnums=place, allow_unused=True)
        orders = [((place,), first)]
        for other in range(place, len(texts)):
            if not skipped(texts[other]):
                second = nl.grad(lambda *x, first=first: first(*x).sum(), argnums=other, allow_unused=True)
                orders.append(((place, other), second))
        for order, gradient in orders:
            for args, ours in zip(points, gradient(*arrays).tolist(), strict=True):
                found = expected(kind, name, args, order)
                if not check(name, order, args, ours, found):
                    wrong.append((order, args, ours, found[0], None if found[1] is None else float(found[1])))
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_all_smooth_operations_are_here() -> None:
    """An operation that is added gets its points, too."""
    left = {name for name in SMOOTH if not name.startswith("power_by")} - ELEMENTARY.keys()
    assert not left
    assert SPECIAL.keys() - SPECIAL_FUNCTIONS.keys() == {"riemann_zeta", "zetac"}, "these have no derivative"
    others = {name for name, rule in HOST_DERIVATIVES.items() if not all(map(refused, rule))}
    assert others - HOST_FUNCTIONS.keys() == {"chndtr"}


# ---------------------------------------------------------------- complex numbers

COMPLEX: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: mp.mpc(b == 0) if a == 0 else mp.power(a, b),
    "negative": lambda a: -a,
    "positive": lambda a: a,
    "reciprocal": lambda a: 1 / a,
    "square": lambda a: a * a,
    "exp2": lambda a: mp.power(2, a),
    "log2": lambda a: mp.log(a) / mp.log(2),
    "log10": lambda a: mp.log(a) / mp.log(10),
    "log1p": lambda a: mp.log(1 + a),
    **{
        name: getattr(mp, name) for name in ("sqrt", "exp", "expm1", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    **{f"arc{name}": getattr(mp, f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
PLANE = (0j, 1, -1, 1j, -1j, 2, -2, 0.5, 2j, 1 + 1j, -1 - 2j)
DIRECTIONS = (1, -1, 1j, -1j)


def complex_value(function: Any, args: Sequence[Any]) -> Any:
    try:
        found = mp.mpc(function(*args))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if mp.isfinite(found) else None


def complex_derivative(function: Any, args: Sequence[Any], order: tuple[int, ...]) -> Any:
    """A derivative, if it is the same from all sides."""
    if len(order) == 2 and any(complex_derivative(function, args, (place,)) is None for place in order):
        return None
    found = []
    for direction in DIRECTIONS:
        near = []
        for e in (14, 17):
            steps = [(place, mp.mpc(direction) * mp.mpf(10) ** -e) for place in order]
            total = mp.mpc(0)
            for count in range(len(steps) + 1):
                for chosen in itertools.combinations(steps, count):
                    term = complex_value(function, moved(args, *chosen))
                    if term is None:
                        return None
                    total += term * (-1) ** (len(steps) - count)
            near.append(total / mp.fprod([step for _, step in steps]))
        if abs(near[0] - near[1]) > mp.mpf(10) ** -8 * (1 + abs(near[1])):
            return None
        found.append(near[1])
    if any(abs(one - found[0]) > mp.mpf(10) ** -7 * (1 + abs(found[0])) for one in found):
        return None
    return complex(found[0])


@pytest.mark.parametrize("name", COMPLEX)
def test_special_points_of_complex_numbers(name: str) -> None:
    """Rules are those of holomorphic functions: where one is holomorphic its derivative is ours, off cuts and poles."""
    op_def = ELEMENTWISE[name]
    points = list(itertools.product(PLANE, repeat=op_def.nin))
    arrays = [nl.array(np.array(column, complex)) for column in zip(*points, strict=True)]
    looked = 0
    for place in range(op_def.nin):
        first = nl.grad(lambda *x: record("elementary", name, x).real.sum(), argnums=place, allow_unused=True)
        orders = [((place,), first)]
        for other in range(place, op_def.nin):
            second = nl.grad(lambda *x, first=first: first(*x).real.sum(), argnums=other, allow_unused=True)
            orders.append(((place, other), second))
        for order, gradient in orders:
            for args, ours in zip(points, gradient(*arrays).tolist(), strict=True):
                with mp.workdps(60):
                    theirs = complex_derivative(COMPLEX[name], [mp.mpc(x) for x in args], order)
                if theirs is not None:
                    looked += 1
                    assert abs(ours - theirs) <= 1e-6 * (1 + abs(theirs)), (order, args, ours, theirs)
    assert looked > 8


# ---------------------------------------------------------------- reductions, routines, decisions

NAN = float("nan")
ROOT = 2**-0.5


def both(function: Any, x: Any) -> tuple[Any, Any]:
    """First and second derivatives of the sum of what a function gives."""

    def cost(v: Any) -> Any:
        return function(v).sum()

    x = nl.array(np.asarray(x, float))
    return nl.grad(cost, allow_unused=True)(x).get(), nl.hessian(cost)(x).get()


CASES: list[tuple[str, Any, Any, Any, Any]] = [
    ("prod", nl.prod, [2, 0, 3], [0, 6, 0], [[0, 3, 0], [3, 0, 2], [0, 2, 0]]),
    ("prod of two zeros", nl.prod, [0, 0, 3], [0, 0, 0], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    ("prod of nothing", nl.prod, [], [], np.zeros((0, 0))),
    ("cumprod", nl.cumprod, [2, 0, 3], [1, 8, 0], [[0, 4, 0], [4, 0, 2], [0, 2, 0]]),
    ("cumprod of zeros", nl.cumprod, [0, 0, 3], [1, 0, 0], [[0, 4, 0], [4, 0, 0], [0, 0, 0]]),
    ("max", nl.max, [2, 2, 1], [0.5, 0.5, 0], 0),
    ("min", nl.min, [1, 1, 1], [1 / 3, 1 / 3, 1 / 3], 0),
    ("ptp", nl.ptp, [2, 2, 1], [0.5, 0.5, -1], 0),
    ("sort", lambda x: nl.sort(x) * nl.arange(3.0), [2, 2, 1], [1, 2, 0], 0),
    ("median", nl.median, [2, 2, 2], [0, 1, 0], 0),
    ("maximum.accumulate", nl.maximum.accumulate, [1, 1, 1], [1.75, 0.75, 0.5], 0),
    ("std", nl.std, [2, 2], [NAN, NAN], NAN),
    ("var", nl.var, [2, 2], [0, 0], [[0.5, -0.5], [-0.5, 0.5]]),
    ("nanvar", nl.nanvar, [1, NAN, 3], [-1, 0, 1], [[0.5, 0, -0.5], [0, 0, 0], [-0.5, 0, 0.5]]),
    ("nanstd", nl.nanstd, [1, NAN, 3], [-0.5, 0, 0.5], 0),
    ("var, where=", lambda x: nl.var(x, where=np.array([1, 0, 1], bool)), [1, NAN, 3], [-1, 0, 1],
     [[0.5, 0, -0.5], [0, 0, 0], [-0.5, 0, 0.5]]),
    ("nanmean", nl.nanmean, [1, NAN, 3], [0.5, 0, 0.5], 0),
    ("nanprod", nl.nanprod, [2, NAN, 3], [3, 0, 2], [[0, 0, 1], [0, 0, 0], [1, 0, 0]]),
    ("norm", nl.linalg.norm, [0, 0], [NAN, NAN], NAN),
    ("norm of one", nl.linalg.norm, [3, 0], [1, 0], [[0, 0], [0, 1 / 3]]),
    ("squared norm", lambda x: nl.linalg.norm(x) ** 2, [0, 0], [NAN, NAN], NAN),
    ("norm 1", lambda x: nl.linalg.norm(x, 1), [0, 2], [0, 1], 0),
    ("norm 3", lambda x: nl.linalg.norm(x, 3), [2, 0], [1, 0], 0),
    ("norm inf", lambda x: nl.linalg.norm(x, INF), [-2, 2], [-0.5, 0.5], 0),
    ("norm -inf", lambda x: nl.linalg.norm(x, -INF), [3, 0], [0, 0], 0),
    ("norm 0", lambda x: nl.linalg.norm(x, 0), [3, 0], [0, 0], 0),
    ("logaddexp.reduce", nl.logaddexp.reduce, [0, 0], [0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]]),
    ("logaddexp.reduce of large ones", nl.logaddexp.reduce, [1e17, 1e17], [0.5, 0.5],
     [[0.25, -0.25], [-0.25, 0.25]]),
    ("logaddexp.reduce of -inf", nl.logaddexp.reduce, [-INF, 2], [0, 1], 0),
    ("logaddexp.reduce of two -inf", nl.logaddexp.reduce, [-INF, -INF], [0.5, 0.5], 0),
    ("logaddexp.reduce of inf", nl.logaddexp.reduce, [INF, 2], [1, 0], 0),
    ("hypot.reduce", nl.hypot.reduce, [0, 0], [0, 0], 0),
    ("unwrap at half a period", nl.unwrap, [0, np.pi, 3], [1, 1, 1], 0),
    ("sinc", nl.sinc, [0], [0], [[-np.pi**2 / 3]]),
    ("sinc near 0", nl.sinc, [1e-9], [-np.pi**2 / 3 * 1e-9], [[-np.pi**2 / 3]]),
    ("sinc at 1", nl.sinc, [1], [-1], [[2]]),
    ("interp", lambda x: nl.interp(x, nl.arange(4.0), nl.arange(4.0) ** 2), [-1, 0, 0.5, 1, 2, 3, 4],
     [0, 1, 1, 3, 5, 5, 0], 0),
    ("interp by knots", lambda x: nl.interp(nl.arange(3.0), x, nl.arange(3.0) ** 2), [0, 1, 2], [-1, -3, -3],
     None),
    ("interp by values", lambda y: nl.interp(nl.arange(3.0), nl.arange(3.0), y), [0, 1, 4], [1, 1, 1], 0),
    ("where", lambda x: nl.where(x > 0, nl.sqrt(x), 0), [0, 1], [NAN, 0.5], None),
    ("where of a safe number", lambda x: nl.where(x > 0, nl.sqrt(nl.where(x > 0, x, 1)), 0), [0, 1], [0, 0.5],
     [[0, 0], [0, -0.25]]),
    ("power 0", lambda x: x**0, [0, 1], [0, 0], 0),
    ("power 2", lambda x: x ** nl.array(2.0), [0, 1], [0, 2], [[2, 0], [0, 2]]),
    ("matrix_power", lambda x: nl.linalg.matrix_power(x, 2), [[0, 1], [0, 0]], [[1, 0], [2, 1]], None),
    ("svd", lambda x: nl.linalg.svd(x)[1], [[1, 0], [0, 1]], [[1, 0], [0, 1]], NAN),
    ("vectors of svd", lambda x: nl.linalg.svd(x)[0], [[1, 0], [0, 1]], NAN, NAN),
    ("eigh", lambda x: nl.linalg.eigh(x)[0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], NAN),
    ("vectors of eigh", lambda x: nl.linalg.eigh(x)[1], [[1, 0], [0, 1]], NAN, NAN),
    ("slogdet", lambda x: nl.linalg.slogdet(x)[1], [[1, 1], [1, 1]], NAN, NAN),
]  # fmt: skip
"""Name, function, where, first and second derivatives (None: not looked at)."""


@pytest.mark.parametrize(("name", "function", "x", "first", "second"), CASES, ids=[case[0] for case in CASES])
def test_reductions_and_routines(name: str, function: Any, x: Any, first: Any, second: Any) -> None:
    found, again = both(function, x)
    np.testing.assert_allclose(found, np.broadcast_to(first, found.shape), rtol=1e-9, atol=1e-15)
    if second is not None:
        np.testing.assert_allclose(again, np.broadcast_to(second, again.shape), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("routine", ["inv", "solve", "cholesky"])
def test_singular_matrices_are_refused(routine: str) -> None:
    call = getattr(nl.linalg, routine)
    with pytest.raises(np.linalg.LinAlgError):
        nl.grad(lambda x: (call(x, nl.ones(2)) if routine == "solve" else call(x)).sum())(nl.zeros((2, 2)))


EMPTY: dict[str, Any] = {
    **{name: getattr(nl, name) for name in ("sum", "prod", "mean", "var", "std", "sort", "cumsum", "cumprod", "sinc")},
    **{name: getattr(nl, name) for name in ("nansum", "nanprod", "nancumsum", "diff", "exp", "ravel", "flip")},
    "max": lambda x: nl.max(x, initial=0.0),
    "maximum.accumulate": nl.maximum.accumulate,
    "logaddexp.reduce": nl.logaddexp.reduce,
    "interp": lambda x: nl.interp(x, nl.arange(3.0), nl.arange(3.0)),
    "norm": nl.linalg.norm,
    "dot": lambda x: nl.dot(x, x),
    "outer": lambda x: nl.outer(x, x),
    "take": lambda x: x[nl.zeros(0, int)],
    "concatenate": lambda x: nl.concatenate([x, x]),
    "where": lambda x: nl.where(x > 0, x, 2 * x),
    "expit": nl.special.expit,
    "fft": lambda x: nl.fft.fft(x.reshape(0, 1)).real,
    "det": lambda x: nl.linalg.det(x.reshape(0, 3, 3)),
    "det of nothing": lambda x: nl.linalg.det(x.reshape(0, 0)),
    "inv": lambda x: nl.linalg.inv(x.reshape(0, 3, 3)),
    "solve": lambda x: nl.linalg.solve(x.reshape(0, 3, 3), nl.ones((0, 3, 1))),
    "svd": lambda x: nl.linalg.svd(x.reshape(0, 3, 3))[1],
    "eigh": lambda x: nl.linalg.eigh(x.reshape(0, 3, 3))[1],
    "qr": lambda x: nl.linalg.qr(x.reshape(0, 3, 3))[0],
    "cholesky": lambda x: nl.linalg.cholesky(x.reshape(0, 3, 3)),
    "matmul": lambda x: x.reshape(2, 0) @ x.reshape(0, 2),
    "scan": lambda x: nl.scan(lambda s, e: (s + e, s * e), nl.asarray(0.0), x)[1],
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("name", EMPTY)
def test_empty_arrays(name: str) -> None:
    x = nl.zeros(0)
    first = nl.grad(lambda v: EMPTY[name](v).sum(), allow_unused=True)(x)
    assert first.shape == (0,) and first.dtype == np.float64
    assert nl.hessian(lambda v: EMPTY[name](v).sum())(x).shape == (0, 0)
    assert nl.jacobian(EMPTY[name])(x).shape == (*EMPTY[name](x).shape, 0)


# ---------------------------------------------------------------- determinants


def minors(a: Any) -> Any:
    """Cofactors, one by one."""
    found = np.ones_like(a)
    for i, j in np.ndindex(a.shape):
        found[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return found


def second_minors(a: Any) -> Any:
    found = np.zeros((*a.shape, *a.shape), a.dtype)
    for i, j, k, l in np.ndindex(found.shape):
        if i != k and j != l:
            sign = (-1) ** (i + j + k + l) * (1 if (i < k) == (j < l) else -1)
            found[i, j, k, l] = sign * np.linalg.det(np.delete(np.delete(a, [i, k], 0), [j, l], 1))
    return found


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in range(7) for rank in range(n + 1)])
def test_determinants_of_any_rank(n: int, rank: int, dtype: str) -> None:
    rng = np.random.default_rng(10 * n + rank)
    real, imaginary = rng.standard_normal((2, n, rank)), rng.standard_normal((2, rank, n))
    a = real[0] @ imaginary[0] + (1j * real[1] @ imaginary[1] if dtype == "c16" else 0)
    if dtype == "c16":
        left, right = real[0] + 1j * real[1], imaginary[0] + 1j * imaginary[1]
        a = left @ right
    a = a.astype(dtype)

    def cost(x: Any) -> Any:
        return nl.linalg.det(x).real

    wide = a.astype("c16" if dtype == "c16" else "f8")
    tolerance = 2e-4 if dtype == "f4" else 1e-8
    scale = 1 + np.abs(minors(wide)).max(initial=0)
    found = nl.grad(cost)(nl.array(a))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.get(), minors(wide), rtol=tolerance, atol=tolerance * scale)
    if n and dtype != "f4":
        parts = nl.array(a.real.copy()), nl.array(a.imag.copy())
        again = nl.hessian(lambda x: cost(x + 1j * parts[1]) if dtype == "c16" else cost(x))(parts[0])
        wanted = second_minors(wide).real
        scale = 1 + np.abs(wanted).max(initial=0)
        np.testing.assert_allclose(again.get(), wanted, rtol=1e-7, atol=1e-7 * scale)


@pytest.mark.parametrize(
    "a", [np.diag([1.0, 2, 0, 0]), np.diag([0, 0, 0, 5.0]), np.zeros((4, 4)), np.ones((5, 5)), np.eye(4)]
)
def test_determinants_of_equal_singular_values(a: Any) -> None:
    np.testing.assert_allclose(nl.grad(nl.linalg.det)(nl.array(a)).get(), minors(a), atol=1e-12)
    np.testing.assert_allclose(nl.hessian(nl.linalg.det)(nl.array(a)).get(), second_minors(a), atol=1e-12)


def test_third_derivatives_of_determinants_are_right_or_no_numbers() -> None:
    direction = np.random.default_rng(0).standard_normal((4, 4))
    places = np.arange(5.0) - 2
    for diagonal in ([1.0, 2, 3, 4], [1.0, 2, 3, 0], [1.0, 2, 0, 0], [1.0, 0, 0, 0]):
        a = np.diag(diagonal)

        def along(t: Any, a: Any = a) -> Any:
            return nl.linalg.det(nl.array(a) + t * nl.array(direction))

        cubic = np.polyfit(places, [np.linalg.det(a + t * direction) for t in places], 4)[1]
        found = float(nl.grad(nl.grad(nl.grad(along)))(nl.array(0.0)))
        assert np.isclose(found, 6 * cubic) or not np.isfinite(found)
        assert np.isfinite(found) or diagonal[1] == 0


def test_determinants_of_stacks_and_of_nan() -> None:
    stack = np.stack([np.eye(4), np.diag([1.0, 2, 3, 0]), np.ones((4, 4)), 1e-9 * np.eye(4)])
    found = nl.grad(lambda x: nl.linalg.det(x).sum())(nl.array(stack)).get()
    np.testing.assert_allclose(found, [minors(one) for one in stack], atol=1e-14)
    stack[0, 1, 1] = NAN
    found = nl.grad(lambda x: nl.linalg.det(x).sum())(nl.array(stack)).get()
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1:], [minors(one) for one in stack[1:]], atol=1e-14)


# ---------------------------------------------------------------- decisions, constants, complex results


@pytest.mark.parametrize("traced", [False, True], ids=["grad", "function"])
def test_ifelse_has_the_gradient_of_the_value_that_it_takes(traced: bool) -> None:
    def cost(x: Any, w: Any) -> Any:
        root, log = nl.ifelse(x > 0, (nl.sqrt(x) * w, nl.log(x)), (-x * w, x * 0))
        inner = nl.ifelse(x > 1, nl.ifelse(w > 0, nl.log(w), w * 2), nl.sqrt(x - 1 + w))
        return (root + log + inner * (x + 0.0)).sum()

    gradient = nl.grad(cost, argnums=(0, 1))
    if traced:
        symbols = nl.symbol("x"), nl.symbol("w")
        gradient = nl.function(symbols, nl.grad(cost(*symbols), list(symbols)))
    for x, w, by_x, by_w in [
        (0.0, 2.0, -2.0 + 1.0, 0.0),
        (4.0, 2.0, 0.25 * 2 + 0.25 + np.log(2), 2 + 4 / 2),
        (4.0, -2.0, 0.25 * -2 + 0.25 - 4, 2 + 4 * 2),
        (1.0, 1.0, 0.5 + 1 + 1 + 0.5, 1 + 0.5),
    ]:
        found = gradient(nl.array(x), nl.array(w))
        np.testing.assert_allclose([float(one) for one in found], [by_x, by_w])


def test_ifelse_in_loops_and_again() -> None:
    def cost(x: Any) -> Any:
        return nl.fori_loop(0, 5, lambda i, s: nl.ifelse(s > 1, nl.sqrt(s), s * s + nl.ifelse(s > 0, 0 * s, s)), x)

    for x in (0.0, 0.5, 1.0, 3.0, -2.0):
        first, second = nl.grad(cost)(nl.array(x)), nl.grad(nl.grad(cost))(nl.array(x))
        h = 1e-6
        if x not in (0.0, 1.0):
            near = [float(cost(nl.array(x + d))) for d in (-h, h)]
            np.testing.assert_allclose(float(first), (near[1] - near[0]) / (2 * h), rtol=1e-6)
        assert np.isfinite(float(first)) and np.isfinite(float(second))


def test_gradients_that_are_constants_have_gradients() -> None:
    x, y = nl.array(2.0), nl.array([1.0, 2.0])

    def times(n: int, f: Any) -> Any:
        for _ in range(n):
            f = nl.grad(f)
        return f

    assert [float(times(n, lambda x: 3 * x)(x)) for n in range(1, 4)] == [3.0, 0.0, 0.0]
    assert [float(times(n, lambda x: x**2 + x)(x)) for n in range(1, 5)] == [5.0, 2.0, 0.0, 0.0]
    assert float(times(3, abs)(x)) == 0.0
    assert nl.grad(lambda v: nl.grad(lambda v: (v * 3).sum())(v).sum())(y).tolist() == [0.0, 0.0]
    assert nl.grad(lambda v: nl.jacobian(lambda v: v * 3)(v).sum())(y).tolist() == [0.0, 0.0]
    assert nl.grad(lambda v: nl.jvp(lambda v: v * 3, [v], [y])[1].sum())(y).tolist() == [0.0, 0.0]
    assert nl.grad(lambda v: nl.vjp(lambda v: v * 3, v)[1](y)[0].sum())(y).tolist() == [0.0, 0.0]
    assert nl.hessian(lambda v: (v * 3).sum())(y).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    s = nl.symbol("s", (2,))
    assert nl.function([s], nl.grad(nl.grad((s * 3).sum(), s).sum(), s))(y).tolist() == [0.0, 0.0]
    assert nl.grad(lambda v: nl.grad(lambda v: (v * 3).sum())(v).sum())(nl.array([NAN, INF])).tolist() == [0.0, 0.0]
    with pytest.raises(nl.compiled.UnusedError):
        nl.grad(nl.grad(lambda x: nl.array(3.0) * 2))(x)


def test_jacobians_of_complex_results() -> None:
    x = nl.array([0.0, 1.0])
    wave = nl.jacobian(lambda x: nl.exp(1j * x))(x)
    assert wave.dtype == np.complex128
    np.testing.assert_allclose(wave.get(), np.diag(1j * np.exp(1j * x.get())), atol=1e-15)
    np.testing.assert_allclose(nl.jacobian(nl.fft.fft)(x).get(), np.fft.fft(np.eye(2)))
    np.testing.assert_allclose(nl.jacobian(lambda x: (x * (1 + 2j)).conj())(x).get(), (1 - 2j) * np.eye(2))
    assert nl.jacobian(lambda x: x * nl.complex64(1j))(x.astype("f4")).dtype == np.complex64
    both_ways = nl.jacobian(lambda x, z: x * z**2, argnums=(0, 1))(x, x + 1j)
    np.testing.assert_allclose(both_ways[0].get(), np.diag((x.get() + 1j) ** 2))
    np.testing.assert_allclose(both_ways[1].get(), np.diag(x.get() * 2 * (x.get() + 1j)))
    second = nl.jacobian(nl.jacobian(lambda x: nl.exp(1j * x)))(nl.array(0.5))
    np.testing.assert_allclose(second.get(), -np.exp(0.5j))


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda z: z.conj(), "conjugate"),
        (lambda z: z * abs(z), "absolute"),
        (lambda z: z.real + 1j * z, "real"),
        (lambda z: nl.sign(z), "sign"),
        (lambda z: nl.linalg.qr(z.reshape(1, 1))[0], "qr"),
    ],
)
def test_jacobians_of_what_is_not_holomorphic_are_refused(function: Any, word: str) -> None:
    with pytest.raises(TypeError, match=f"by way of {word}.*two real arguments"):
        nl.jacobian(function)(nl.array([1 + 2j]))
    with pytest.raises(TypeError, match="two real arguments"):
        nl.hessian(lambda z: (abs(z) ** 2).sum())(nl.array([1 + 2j]))


def test_a_row_without_numbers_leaves_the_others_of_other_elements() -> None:
    """NaN reaches its own column, of all rows, as in JAX: a row's zeros times it are NaN."""
    x = nl.array([1.0, NAN])
    np.testing.assert_array_equal(nl.jacobian(lambda x: x**3)(x).get(), [[3.0, NAN], [0.0, NAN]])
    second = nl.jacobian(nl.jacobian(lambda x: x**3))(x).get()
    np.testing.assert_array_equal(second[..., 0], [[6.0, 0.0], [0.0, 0.0]])
    assert np.isnan(second[..., 1]).all()
