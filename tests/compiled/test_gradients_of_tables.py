"""Every entry of the tables has a rule or says that it has none; rules agree with differences, first and second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.compiled.gradient_routines import FACTORISATIONS, OWN, REFUSED, RULES, WHOLE
from numloom.compiled.gradient_rules import function_of, on_host
from numloom.compiled.gradients import NoGradientError, grad
from numloom.graph import build
from numloom.linalg import arguments  # noqa: F401  (enters the rows of factorisations)
from numloom.ops import fourier  # noqa: F401
from numloom.ops.derivatives import HOST_DERIVATIVES, REDUCTION_DERIVATIVES, ZERO, refused
from numloom.ops.elementwise import ELEMENTWISE, resolve
from numloom.ops.reductions import REDUCTIONS, reduction_of
from numloom.ops.routines import ROUTINES
from numloom.ops.special import ON_HOST, SPECIAL

ANY, POSITIVE, UNIT, INNER = (-2.0, 2.0), (0.3, 3.0), (0.1, 0.9), (-0.9, 0.9)
COUNT = (1, 6)
"""Whole numbers in an interval, by integers."""

DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "power": (POSITIVE, ANY),
    "power_by_halves": (POSITIVE, COUNT),
    **{name: (POSITIVE,) for name in ELEMENTWISE if name.endswith("halves") and name != "power_by_halves"},
    "float_power": (POSITIVE, ANY),
    "divide": (ANY, POSITIVE),
    "floor_divide": (ANY, POSITIVE),
    "remainder": (ANY, POSITIVE),
    "fmod": (ANY, POSITIVE),
    "sqrt": (POSITIVE,),
    "log": (POSITIVE,),
    "log2": (POSITIVE,),
    "log10": (POSITIVE,),
    "log1p": (UNIT,),
    "tan": ((-1.0, 1.0),),
    "arcsin": (INNER,),
    "arccos": (INNER,),
    "arctanh": (INNER,),
    "arccosh": ((1.2, 3.0),),
    "arctan2": (ANY, POSITIVE),
    "reciprocal": (POSITIVE,),
    "cbrt": (POSITIVE,),
    "clip": (ANY, (-1.5, -0.5), (0.5, 1.5)),
    "erfinv": (INNER,),
    "erfcinv": ((0.2, 1.8),),
    "ndtri": (UNIT,),
    "gamma": (POSITIVE,),
    "gammaln": (POSITIVE,),
    "loggamma": (POSITIVE,),
    "rgamma": (POSITIVE,),
    "psi": ((-0.9, -0.1),),
    "beta": (POSITIVE, POSITIVE),
    "betaln": (POSITIVE, POSITIVE),
    "hurwitz_zeta": ((2.0, 4.0), POSITIVE),
    "y0": (POSITIVE,),
    "y1": (POSITIVE,),
    "k0": (POSITIVE,),
    "k1": (POSITIVE,),
    "k0e": (POSITIVE,),
    "k1e": (POSITIVE,),
    "yn": (COUNT, POSITIVE),
    "kn": (COUNT, POSITIVE),
    "gammainc": (POSITIVE, POSITIVE),
    "gammaincc": (POSITIVE, POSITIVE),
    "betainc": (POSITIVE, POSITIVE, UNIT),
    "betaincc": (POSITIVE, POSITIVE, UNIT),
    "chdtr": (POSITIVE, POSITIVE),
    "chdtrc": (POSITIVE, POSITIVE),
    "gdtr": (POSITIVE, POSITIVE, POSITIVE),
    "gdtrc": (POSITIVE, POSITIVE, POSITIVE),
    "pdtr": (COUNT, POSITIVE),
    "pdtrc": (COUNT, POSITIVE),
    "bdtr": ((1, 3), (4, 8), UNIT),
    "bdtrc": ((1, 3), (4, 8), UNIT),
    "nbdtr": ((1, 3), (4, 8), UNIT),
    "nbdtrc": ((1, 3), (4, 8), UNIT),
    "fdtr": (POSITIVE, POSITIVE, POSITIVE),
    "fdtrc": (POSITIVE, POSITIVE, POSITIVE),
    "stdtr": (POSITIVE, ANY),
    "gammaincinv": (POSITIVE, UNIT),
    "gammainccinv": (POSITIVE, UNIT),
    "chdtri": (POSITIVE, UNIT),
    "pdtri": (COUNT, UNIT),
    "gdtrix": (POSITIVE, POSITIVE, UNIT),
    "betaincinv": (POSITIVE, POSITIVE, UNIT),
    "betainccinv": (POSITIVE, POSITIVE, UNIT),
    "bdtri": ((1, 3), (4, 8), UNIT),
    "nbdtri": ((1, 3), (4, 8), UNIT),
    "fdtri": (POSITIVE, POSITIVE, UNIT),
    "stdtrit": (POSITIVE, UNIT),
    "logit": (UNIT,),
    "entr": (POSITIVE,),
    "rel_entr": (POSITIVE, POSITIVE),
    "kl_div": (POSITIVE, POSITIVE),
    "xlogy": (ANY, POSITIVE),
    "xlog1py": (ANY, POSITIVE),
    "huber": (POSITIVE, ANY),
    "pseudo_huber": (POSITIVE, ANY),
    "boxcox": (POSITIVE, POSITIVE),
    "boxcox1p": (POSITIVE, POSITIVE),
    "inv_boxcox": (POSITIVE, POSITIVE),
    "inv_boxcox1p": (POSITIVE, POSITIVE),
    "tandg": ((-60.0, 60.0),),
    "cotdg": ((20.0, 80.0),),
    "exp1": (POSITIVE,),
    "expi": (POSITIVE,),
    "expn": (COUNT, POSITIVE),
    "spence": (POSITIVE,),
    "ellipk": ((0.05, 0.9),),
    "ellipkm1": ((0.05, 0.9),),
    "ellipe": ((0.05, 0.9),),
    "ellipkinc": ((0.1, 1.4), (0.05, 0.9)),
    "ellipeinc": ((0.1, 1.4), (0.05, 0.9)),
    "binom": ((3.0, 5.0), (0.3, 2.0)),
    "poch": (POSITIVE, POSITIVE),
    # On the host
    "dawsn": (ANY,),
    "hyp0f1": (POSITIVE, ANY),
    "hyp1f1": (POSITIVE, POSITIVE, ANY),
    "hyp2f1": (POSITIVE, POSITIVE, POSITIVE, (-0.7, 0.7)),
    "hyperu": (POSITIVE, POSITIVE, POSITIVE),
    "jn": (COUNT, ANY),
    "lpmv": ((1, 3), (3, 6), INNER),
    "chndtr": (POSITIVE, (5.0, 8.0), POSITIVE),
    "nrdtrimn": (UNIT, POSITIVE, ANY),
    "nrdtrisd": (ANY, (0.6, 0.9), (2.5, 4.0)),
    "owens_t": (ANY, ANY),
    "wrightomega": (ANY,),
    **{name: (POSITIVE, POSITIVE) for name in ("iv", "ive", "jv", "jve", "kv", "kve", "struve", "yv", "yve")},
}
"""Intervals in which functions are smooth; others are tried between -2 and 2."""

STEP = 1e-5


def test_all_elementwise_rows_have_rules() -> None:
    for table in (ELEMENTWISE, SPECIAL):
        for name, op_def in table.items():
            assert op_def.gradient is not None, f"{name} has no rule"
            assert len(op_def.gradient) == op_def.nin, name
    assert HOST_DERIVATIVES.keys() == ON_HOST.keys()
    for name, count in ON_HOST.items():
        assert len(HOST_DERIVATIVES[name]) == count, name


def test_all_texts_are_functions() -> None:
    for table in (ELEMENTWISE, SPECIAL):
        for op_def in table.values():
            for text in op_def.gradient or ():
                if not refused(text):
                    function_of(text, ("g", "y", *"abcde"[: op_def.nin]))


def test_all_reductions_have_rules() -> None:
    assert {name: op_def.gradient for name, op_def in REDUCTIONS.items()}.items() <= REDUCTION_DERIVATIVES.items()
    for name in ("logaddexp", "logaddexp2", "hypot"):
        assert reduction_of(ELEMENTWISE[name], "d").gradient is not None


def test_all_routines_have_rules() -> None:
    """A routine has a rule, gives whole numbers, or says why it has none."""
    known = [*FACTORISATIONS, *RULES, *OWN, *REFUSED, *WHOLE]
    assert sorted(known) == sorted(ROUTINES)


# --- against differences ----------------------------------------------------------------------------


def points(name: str, nin: int, generator: np.random.Generator) -> list[np.ndarray[Any, Any]]:
    """Random points where a function is smooth."""
    found = []
    for low, high in DOMAINS.get(name, (ANY,) * nin):
        if isinstance(low, int):
            found.append(generator.integers(low, high, 7).astype(float))
        else:
            found.append(generator.uniform(low, high, 7))
    return found


def differences(function: Any, args: list[Any], place: int, step: float = STEP) -> Any:
    """The derivative of an elementwise function by one argument."""
    more, less = list(args), list(args)
    more[place] = args[place] + step
    less[place] = args[place] - step
    return (np.asarray(function(*more)) - np.asarray(function(*less))) / (2 * step)


def agree(ours: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    theirs = np.asarray(theirs)
    bound = tolerance * (1 + np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(nl.asnumpy(ours), theirs, rtol=tolerance, atol=bound)


def check(name: str, record: Any, twin: Any, gradient: tuple[str, ...], seed: int) -> None:
    """First derivatives by differences of the twin, second ones by differences of the first."""
    generator = np.random.default_rng(seed)
    for _ in range(5):
        args = points(name, len(gradient), generator)
        weights = generator.uniform(0.5, 1.5, 7)

        def cost(*arrays: Any, weights: Any = weights) -> Any:
            return (record(*arrays) * weights).sum()

        for place, text in enumerate(gradient):
            if refused(text) or (text == ZERO and isinstance(DOMAINS.get(name, (ANY,) * 9)[place][0], int)):
                continue
            first = grad(cost, argnums=place, allow_unused=True)
            found = first(*map(nl.array, args))
            assert found.dtype == np.float64
            agree(found, weights * differences(twin, args, place))
            if text == ZERO:
                continue
            for other, second in enumerate(gradient):
                if refused(second) or second == ZERO or (name, place, other) in NO_SECOND:
                    continue
                by = grad(lambda *arrays, first=first: first(*arrays).sum(), argnums=other, allow_unused=True)
                near = differences(lambda *x, first=first: first(*map(nl.array, x)).get(), args, other)
                agree(by(*map(nl.array, args)), near, 2e-5)


NO_SECOND: set[tuple[str, int, int]] = {
    ("hurwitz_zeta", 1, 0),
}
"""Where a second derivative needs one that does not exist."""

DISCRETE = ("random", "bitwise", "shift", "gcd", "lcm", "invert")
OTHERS = ("where", "ldexp", "complex_pack", "frexp_exponent", "stop_gradient")
SMOOTH = [
    name
    for name, op_def in ELEMENTWISE.items()
    if not any(word in name for word in DISCRETE) and name not in OTHERS
    and resolve(op_def, (np.dtype(float),) * op_def.nin)[1] == 11
]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_elementwise(name: str) -> None:
    op_def = ELEMENTWISE[name]
    assert op_def.gradient is not None

    def record(*arrays: Any) -> Any:
        return wrap(build.elementwise(op_def, [node_of(x) for x in arrays]))

    check(name, record, op_def.numpy, op_def.gradient, len(name))


@pytest.mark.filterwarnings("ignore:non-integer arg")
@pytest.mark.parametrize("name", SPECIAL)
def test_special(name: str) -> None:
    op_def = SPECIAL[name]
    assert op_def.gradient is not None

    def record(*arrays: Any) -> Any:
        return wrap(build.elementwise(op_def, [node_of(x) for x in arrays]))

    check(name, record, op_def.numpy, op_def.gradient, len(name))


@pytest.mark.parametrize("name", [name for name, rule in HOST_DERIVATIVES.items() if not all(map(refused, rule))])
def test_special_on_the_host(name: str) -> None:
    from scipy import special

    def record(*arrays: Any) -> Any:
        return on_host(name, *arrays)

    check(name, record, getattr(special, name), HOST_DERIVATIVES[name], len(name))


def test_what_has_no_rule_says_so() -> None:
    with pytest.raises(NoGradientError, match="by its order"):
        grad(lambda a: nl.special.gammainc(a, 1.0).sum())(nl.array([1.0]))


def test_where_and_ldexp() -> None:
    mask = np.array([True, False, True])
    a, b = nl.array([1.0, 2.0, 3.0]), nl.array([4.0, 5.0, 6.0])
    one, two = grad(lambda a, b: (nl.where(mask, a, b) * nl.array([1.0, 2.0, 3.0])).sum(), argnums=(0, 1))(a, b)
    assert one.tolist() == [1.0, 0.0, 3.0]
    assert two.tolist() == [0.0, 2.0, 0.0]
    assert grad(lambda x: nl.ldexp(x, 3).sum())(a).tolist() == [8.0, 8.0, 8.0]
