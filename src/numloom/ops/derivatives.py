"""Derivatives of elementwise operations, as texts: the field `gradient` of `numloom.ops.definitions.OpDef`.

A rule has one text for each operand. It gives what the operand's gradient is, from the gradient ``g`` of the result,
the result ``y`` and the operands ``a``, ``b``, ``c``, in operators and functions of the tables. Rules are those of
holomorphic functions, so they hold for complex numbers; where a function is not holomorphic they give the gradient of
a real cost, ``dC/dx - i dC/dy`` (docs/gradients.md).

`ZERO` stands where the derivative is zero wherever there is one, or an operand is a whole number. A text that begins
with ``!`` says why there is no rule.
"""

from __future__ import annotations

from math import log, pi, sqrt

ZERO = "0"
"""The derivative is zero wherever there is one."""

NONE = "!"
"""What a text begins with that says why there is no rule."""

Rule = tuple[str, ...]


def refused(text: str) -> bool:
    """Whether a rule's text says that there is none.

    >>> refused(DERIVATIVES["random_gamma"][2])
    True
    """
    return text.startswith(NONE)


_SHAPE = NONE + "a draw has no derivative by the shape of its distribution"
_POWER = (
    "g * b * where((a == 0) & (b == 0), 1, a) ** (b - 1)",
    "where(a == 0, 0, g * y * log(unless_zero(a)))",
)

DERIVATIVES: dict[str, Rule] = {
    # Arithmetic
    "add": ("g", "g"),
    "subtract": ("g", "-g"),
    "multiply": ("g * b", "g * a"),
    "divide": ("g / b", "-g * y / b"),
    "floor_divide": (ZERO, ZERO),
    "remainder": ("g", "-g * floor_divide(a, b)"),
    "fmod": ("g", "-g * trunc(a / b)"),
    "power": _POWER,
    "power_by_halves": (_POWER[0], ZERO),
    "float_power": _POWER,
    "negative": ("-g",),
    "positive": ("g",),
    "absolute": ("g * conjugate(sign(a))",),
    "fabs": ("g * sign(a)",),
    "sign": ("of_sign(g, a, y)",),
    "reciprocal": ("-g * y * y",),
    "square": ("2 * g * a",),
    "sqrt": ("0.5 * g / y",),
    "cbrt": ("g / (3 * y * y)",),
    "conjugate": ("conjugate(g)",),
    # Exponentials and logarithms
    "exp": ("g * y",),
    "exp2": (f"g * y * {log(2)}",),
    "expm1": ("g * (y + 1)",),
    "log": ("g / a",),
    "log2": (f"g / (a * {log(2)})",),
    "log10": (f"g / (a * {log(10)})",),
    "log1p": ("g / (a + 1)",),
    "logaddexp": ("g * expit(apart(a, b))", "g * expit(apart(b, a))"),
    "logaddexp2": (f"g * expit({log(2)} * apart(a, b))", f"g * expit({log(2)} * apart(b, a))"),
    # Trigonometric and hyperbolic
    "sin": ("g * cos(a)",),
    "cos": ("-g * sin(a)",),
    "tan": ("g * (y * y + 1)",),
    "arcsin": ("g / sqrt(1 - a * a)",),
    "arccos": ("-g / sqrt(1 - a * a)",),
    "arctan": ("g / (a * a + 1)",),
    "sinh": ("g * cosh(a)",),
    "cosh": ("g * sinh(a)",),
    "tanh": ("g * (1 - y * y)",),
    "arcsinh": ("g / sqrt(a * a + 1)",),
    "arccosh": ("g / (sqrt(a - 1) * sqrt(a + 1))",),
    "arctanh": ("g / (1 - a * a)",),
    "arctan2": ("g * b / (a * a + b * b)", "-g * a / (a * a + b * b)"),
    "hypot": ("g * where(y == 0, 0, a / unless_zero(y))", "g * where(y == 0, 0, b / unless_zero(y))"),
    "degrees": (f"g * {180 / pi}",),
    "rad2deg": (f"g * {180 / pi}",),
    "radians": (f"g * {pi / 180}",),
    "deg2rad": (f"g * {pi / 180}",),
    # Rounding and the representation of floats
    "floor": (ZERO,),
    "ceil": (ZERO,),
    "trunc": (ZERO,),
    "rint": (ZERO,),
    "spacing": (ZERO,),
    "nextafter": ("g", ZERO),
    "ldexp": ("ldexp(g, b)", ZERO),
    "copysign": ("g * copysign(copysign(1, a), b) * copysign(1, a)", ZERO),
    "signbit": (ZERO,),
    "heaviside": (ZERO, "where(a == 0, g, 0)"),
    "isfinite": (ZERO,),
    "isinf": (ZERO,),
    "isnan": (ZERO,),
    "modf_fraction": ("g",),
    "modf_integral": (ZERO,),
    "frexp_mantissa": ("ldexp(g, -frexp_exponent(a))",),
    "frexp_exponent": (ZERO,),
    # Comparison, logic, bits and integers
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), (ZERO, ZERO)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (ZERO, ZERO)),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"), (ZERO, ZERO)
    ),
    **dict.fromkeys(("logical_not", "invert", "bitwise_count"), (ZERO,)),
    # Choice: of equal numbers each has half
    "maximum": ("greater_part(g, a, b)", "greater_part(g, b, a)"),
    "minimum": ("greater_part(g, b, a)", "greater_part(g, a, b)"),
    "fmax": ("where(isnan(b), g, greater_part(g, a, b))", "where(isnan(a), g, greater_part(g, b, a))"),
    "fmin": ("where(isnan(b), g, greater_part(g, b, a))", "where(isnan(a), g, greater_part(g, a, b))"),
    "where": (ZERO, "where(a, g, 0)", "where(a, 0, g)"),
    "clip": (
        "greater_part(greater_part(g, c, maximum(a, b)), a, b)",
        "greater_part(greater_part(g, c, maximum(a, b)), b, a)",
        "greater_part(g, maximum(a, b), c)",
    ),
    # Complex numbers
    "real": ("g",),
    "imag": ("of_imag(g, a)",),
    "complex_pack": ("real(g)", "-imag(g)"),
    "stop_gradient": (ZERO,),
    # Random numbers: bits have no derivative
    **{
        f"random_{name}{size}": (ZERO, ZERO, ZERO)
        for name in ("uniform", "normal", "exponential", "bits")
        for size in (32, 64)
    },
    **{f"random_below{size}": (ZERO, ZERO, ZERO, ZERO) for size in (32, 64)},
    "random_position": (ZERO, ZERO, ZERO),
    **{f"random_{name}": (ZERO, ZERO, _SHAPE) for name in ("gamma", "log_gamma", "vonmises")},
    **{f"random_{name}": (ZERO, ZERO, _SHAPE, _SHAPE) for name in ("beta", "noncentral_chisquare", "wald")},
    **{f"random_{name}": (ZERO, ZERO, ZERO) for name in ("poisson", "geometric", "logseries", "zipf")},
    "random_binomial": (ZERO, ZERO, ZERO, ZERO),
    "random_hypergeometric": (ZERO, ZERO, ZERO, ZERO, ZERO),
}
"""By name of the operation; powers by halves have one made for them (`of_halves`)."""


def of_halves(n: int) -> Rule:
    """The rule of a power by ``n / 2``.

    >>> of_halves(3)
    ('g * 1.5 * a ** 0.5',)
    """
    return (f"g * {n / 2} * a ** {n / 2 - 1}",)


# --- special functions ------------------------------------------------------------------------------

_ROOT = sqrt(pi)
_HALF_ROOT = sqrt(pi) / 2
_DENSITY = 1 / sqrt(2 * pi)
_DEGREE = pi / 180
_ORDER = NONE + "this function has no derivative by its order or by the shape of its distribution here"
# Densities, whose arguments stand in the texts below.
_GAMMA = "exp(xlogy({0} - 1, {1}) - {1} - gammaln({0}))"
_BETA = "exp(xlogy({0} - 1, {2}) + xlog1py({1} - 1, -({2})) - betaln({0}, {1}))"
_STUDENT = (
    f"(exp(gammaln(0.5 * (a + 1)) - gammaln(0.5 * a) - 0.5 * (a + 1) * log1p({{0}} ** 2 / a)) / ({_ROOT} * sqrt(a)))"
)
_F = f"({_BETA.format('(0.5 * a)', '(0.5 * b)', '(a * {0} / (a * {0} + b))')} * a * b / (a * {{0}} + b) ** 2)"


def _at(density: str, *arguments: str) -> str:
    return density.format(*arguments)


SPECIAL_DERIVATIVES: dict[str, Rule] = {
    "erf": (f"g * {1 / _HALF_ROOT} * exp(-a * a)",),
    "erfc": (f"-g * {1 / _HALF_ROOT} * exp(-a * a)",),
    "erfcx": (f"g * (2 * a * y - {1 / _HALF_ROOT})",),
    "erfinv": (f"g * {_HALF_ROOT} * exp(y * y)",),
    "erfcinv": (f"-g * {_HALF_ROOT} * exp(y * y)",),
    "ndtr": (f"g * {_DENSITY} * exp(-0.5 * a * a)",),
    "ndtri": (f"g * {1 / _DENSITY} * exp(0.5 * y * y)",),
    "log_ndtr": (f"g * {_DENSITY} * exp(-0.5 * a * a - y)",),
    "gamma": ("g * y * psi(a)",),
    "gammaln": ("g * psi(a)",),
    "loggamma": ("g * psi(a)",),
    "gammasgn": (ZERO,),
    "rgamma": ("g * of_rgamma(a)",),
    "psi": ("g * trigamma(a)",),
    "beta": ("g * of_beta(a, b, y)", "g * of_beta(b, a, y)"),
    "betaln": ("g * (psi(a) - psi(a + b))", "g * (psi(b) - psi(a + b))"),
    "riemann_zeta": (_ORDER,),
    "zetac": (_ORDER,),
    "hurwitz_zeta": (_ORDER, "-g * a * hurwitz_zeta(a + 1, b)"),
    # Bessel functions
    "i0": ("g * i1(a)",),
    "i0e": ("g * (i1e(a) - sign(a) * y)",),
    "i1": ("g * (i0(a) - where(a == 0, 0.5, y / unless_zero(a)))",),
    "i1e": ("g * (i0e(a) - sign(a) * y - where(a == 0, 0.5, y / unless_zero(a)))",),
    "j0": ("-g * j1(a)",),
    "j1": ("g * (j0(a) - where(a == 0, 0.5, y / unless_zero(a)))",),
    "y0": ("-g * y1(a)",),
    "y1": ("g * (y0(a) - y / a)",),
    "k0": ("-g * k1(a)",),
    "k0e": ("g * (y - k1e(a))",),
    "k1": ("-g * (k0(a) + y / a)",),
    "k1e": ("g * (y - y / a - k0e(a))",),
    "yn": (ZERO, "g * (a * y / b - yn(a + 1, b))"),
    "kn": (ZERO, "g * (a * y / b - kn(a + 1, b))"),
    # Distributions
    "gammainc": (_ORDER, f"g * {_at(_GAMMA, 'a', 'b')}"),
    "gammaincc": (_ORDER, f"-g * {_at(_GAMMA, 'a', 'b')}"),
    "betainc": (_ORDER, _ORDER, f"g * {_at(_BETA, 'a', 'b', 'c')}"),
    "betaincc": (_ORDER, _ORDER, f"-g * {_at(_BETA, 'a', 'b', 'c')}"),
    "chdtr": (_ORDER, f"0.5 * g * {_at(_GAMMA, '(0.5 * a)', '(0.5 * b)')}"),
    "chdtrc": (_ORDER, f"-0.5 * g * {_at(_GAMMA, '(0.5 * a)', '(0.5 * b)')}"),
    "gdtr": (f"g * c * {_at(_GAMMA, 'b', '(a * c)')}", _ORDER, f"g * a * {_at(_GAMMA, 'b', '(a * c)')}"),
    "gdtrc": (f"-g * c * {_at(_GAMMA, 'b', '(a * c)')}", _ORDER, f"-g * a * {_at(_GAMMA, 'b', '(a * c)')}"),
    "pdtr": (ZERO, f"-g * {_at(_GAMMA, '(floor(a) + 1)', 'b')}"),
    "pdtrc": (ZERO, f"g * {_at(_GAMMA, '(floor(a) + 1)', 'b')}"),
    "bdtr": (ZERO, ZERO, f"-g * {_at(_BETA, '(floor(a) + 1)', '(b - floor(a))', 'c')}"),
    "bdtrc": (ZERO, ZERO, f"g * {_at(_BETA, '(floor(a) + 1)', '(b - floor(a))', 'c')}"),
    "nbdtr": (ZERO, ZERO, f"g * {_at(_BETA, 'b', '(floor(a) + 1)', 'c')}"),
    "nbdtrc": (ZERO, ZERO, f"-g * {_at(_BETA, 'b', '(floor(a) + 1)', 'c')}"),
    "fdtr": (_ORDER, _ORDER, f"g * {_at(_F, 'c')}"),
    "fdtrc": (_ORDER, _ORDER, f"-g * {_at(_F, 'c')}"),
    "stdtr": (_ORDER, f"g * {_at(_STUDENT, 'b')}"),
    # Their inverses
    "gammaincinv": (_ORDER, f"g / {_at(_GAMMA, 'a', 'y')}"),
    "gammainccinv": (_ORDER, f"-g / {_at(_GAMMA, 'a', 'y')}"),
    "chdtri": (_ORDER, f"-2 * g / {_at(_GAMMA, '(0.5 * a)', '(0.5 * y)')}"),
    "pdtri": (ZERO, f"-g / {_at(_GAMMA, '(floor(a) + 1)', 'y')}"),
    "gdtrix": ("-g * y / a", _ORDER, f"g / (a * {_at(_GAMMA, 'b', '(a * y)')})"),
    "betaincinv": (_ORDER, _ORDER, f"g / {_at(_BETA, 'a', 'b', 'y')}"),
    "betainccinv": (_ORDER, _ORDER, f"-g / {_at(_BETA, 'a', 'b', 'y')}"),
    "bdtri": (ZERO, ZERO, f"-g / {_at(_BETA, '(floor(a) + 1)', '(b - floor(a))', 'y')}"),
    "nbdtri": (ZERO, ZERO, f"g / {_at(_BETA, 'b', '(floor(a) + 1)', 'y')}"),
    "fdtri": (_ORDER, _ORDER, f"g / {_at(_F, 'y')}"),
    "stdtrit": (_ORDER, f"g / {_at(_STUDENT, 'y')}"),
    # Smooth ones
    "expit": ("g * y * (1 - y)",),
    "log_expit": ("g * expit(-a)",),
    "logit": ("g / (a * (1 - a))",),
    "entr": ("-g * (log(a) + 1)",),
    "rel_entr": ("g * (log(a / b) + 1)", "-g * a / b"),
    "kl_div": ("g * log(a / b)", "g * (1 - a / b)"),
    "xlogy": ("g * log(b)", "g * a / b"),
    "xlog1py": ("g * log1p(b)", "g * a / (b + 1)"),
    "huber": (
        "g * where(absolute(b) > a, absolute(b) - a, 0)",
        "g * where((absolute(b) <= a) & (a > 0), b, a * sign(b))",
    ),
    "pseudo_huber": (
        "g * (2 * y / a - b * b / (a * sqrt(1 + (b / a) ** 2)))",
        "g * b / sqrt(1 + (b / a) ** 2)",
    ),
    "exp10": (f"g * y * {log(10)}",),
    "exprel": ("g * of_exprel(a)",),
    "boxcox": ("g * a ** (b - 1)", "g * log(a) ** 2 * of_exprel(b * log(a))"),
    "boxcox1p": ("g * (a + 1) ** (b - 1)", "g * log1p(a) ** 2 * of_exprel(b * log1p(a))"),
    "inv_boxcox": ("g * y ** (1 - b)", "g * y * of_inverse_boxcox(a, b)"),
    "inv_boxcox1p": ("g * (y + 1) ** (1 - b)", "g * (y + 1) * of_inverse_boxcox(a, b)"),
    "cosm1": ("-g * sin(a)",),
    "sindg": (f"g * {_DEGREE} * cosdg(a)",),
    "cosdg": (f"-g * {_DEGREE} * sindg(a)",),
    "tandg": (f"g * {_DEGREE} * (y * y + 1)",),
    "cotdg": (f"-g * {_DEGREE} * (y * y + 1)",),
    "radian": (f"g * {_DEGREE}", f"g * {_DEGREE / 60}", f"g * {_DEGREE / 3600}"),
    # Integrals
    "exp1": ("-g * exp(-a) / a",),
    "expi": ("g * exp(a) / a",),
    "expn": (ZERO, "-g * where(a == 0, (b + 1) * exp(-b) / (b * b), expn(maximum(a - 1, 0), b))"),
    "spence": ("g * of_spence(a)",),
    "ellipk": ("g * of_ellipk(a)",),
    "ellipkm1": ("-g * of_ellipk(1 - a)",),
    "ellipe": ("g * of_ellipe(a)",),
    "ellipkinc": ("g / sqrt(1 - b * sin(a) ** 2)", "g * of_ellipkinc(a, b)"),
    "ellipeinc": ("g * sqrt(1 - b * sin(a) ** 2)", "g * of_ellipeinc(a, b)"),
    "binom": ("g * of_binom(a, b, y)", "g * of_binom_by_count(a, b, y)"),
    "poch": ("g * of_poch(a, b, y)", "g * y * psi(a + b)"),
}
"""By name of the definition in `numloom.ops.special.SPECIAL`."""

HOST_DERIVATIVES: dict[str, Rule] = {
    "bdtrik": (_ORDER,) * 3,
    "bdtrin": (_ORDER,) * 3,
    "chdtriv": (_ORDER,) * 2,
    "dawsn": ("g * (1 - 2 * a * y)",),
    "fdtridfd": (_ORDER,) * 3,
    "gdtria": (_ORDER,) * 3,
    "gdtrib": (_ORDER,) * 3,
    "hyp0f1": (_ORDER, "g * hyp0f1(a + 1, b) / a"),
    "hyp1f1": (_ORDER, _ORDER, "g * hyp1f1(a + 1, b + 1, c) * a / b"),
    "hyp2f1": (_ORDER, _ORDER, _ORDER, "g * hyp2f1(a + 1, b + 1, c + 1, d) * a * b / c"),
    "hyperu": (_ORDER, _ORDER, "-g * a * hyperu(a + 1, b + 1, c)"),
    "iv": (_ORDER, "0.5 * g * (iv(a - 1, b) + iv(a + 1, b))"),
    "ive": (_ORDER, "g * (0.5 * (ive(a - 1, b) + ive(a + 1, b)) - sign(b) * y)"),
    "jn": (_ORDER, "0.5 * g * (jv(a - 1, b) - jv(a + 1, b))"),
    "jv": (_ORDER, "0.5 * g * (jv(a - 1, b) - jv(a + 1, b))"),
    "jve": (_ORDER, "0.5 * g * (jv(a - 1, b) - jv(a + 1, b))"),
    "kv": (_ORDER, "-0.5 * g * (kv(a - 1, b) + kv(a + 1, b))"),
    "kve": (_ORDER, "g * (y - 0.5 * (kve(a - 1, b) + kve(a + 1, b)))"),
    "lpmv": (ZERO, ZERO, "g * (b * c * y - (b + a) * lpmv(a, b - 1, c)) / (c * c - 1)"),
    "nbdtrik": (_ORDER,) * 3,
    "nbdtrin": (_ORDER,) * 3,
    "nctdtr": (_ORDER,) * 3,
    "ncfdtr": (_ORDER,) * 4,
    "chndtr": ("0.5 * g * (chndtr(a, b - 2, c) - y)", _ORDER, "0.5 * g * (chndtr(a, b + 2, c) - y)"),
    "nrdtrimn": (f"-g * b * {1 / _DENSITY} * exp(0.5 * ndtri(a) ** 2)", "-g * ndtri(a)", "g"),
    "nrdtrisd": (
        "-g / ndtri(b)",
        f"-g * y / ndtri(b) * {1 / _DENSITY} * exp(0.5 * ndtri(b) ** 2)",
        "g / ndtri(b)",
    ),
    "owens_t": (
        f"-g * {_DENSITY / 2} * exp(-0.5 * a * a) * erf({sqrt(0.5)} * a * b)",
        f"g * {0.5 / pi} * exp(-0.5 * a * a * (b * b + 1)) / (b * b + 1)",
    ),
    "pdtrik": (_ORDER,) * 2,
    "stdtridf": (_ORDER,) * 2,
    "struve": (
        _ORDER,
        f"0.5 * g * (struve(a - 1, b) - struve(a + 1, b) + (0.5 * b) ** a * {1 / _ROOT} * rgamma(a + 1.5))",
    ),
    "wrightomega": ("g * y / (y + 1)",),
    "yv": (_ORDER, "0.5 * g * (yv(a - 1, b) - yv(a + 1, b))"),
    "yve": (_ORDER, "0.5 * g * (yv(a - 1, b) - yv(a + 1, b))"),
}
"""By name of the function that runs on the host (`numloom.ops.special.ON_HOST`)."""

# --- reductions -------------------------------------------------------------------------------------

_TIES = "shared(g, a == y)"

REDUCTION_DERIVATIVES: dict[str, str] = {
    "sum": "g",
    "prod": "g * others(a)",
    "max": _TIES,
    "min": _TIES,
    "fmax": _TIES,
    "fmin": _TIES,
    "any": ZERO,
    "all": ZERO,
    "logical_xor": ZERO,
    "argmax": ZERO,
    "argmin": ZERO,
    "mean": "g / n",
    "m2": "2 * g * conjugate(a - average(a))",
    "var": "2 * g / n * conjugate(a - average(a))",
    "bitwise_and": ZERO,
    "bitwise_or": ZERO,
    "bitwise_xor": ZERO,
    # Reductions that ufuncs have (`numloom.ops.reductions.reduction_of`)
    "logaddexp": "g * portions(exp(apart(a, y)))",
    "logaddexp2": "g * portions(exp2(apart(a, y)))",
    "hypot": "g * where(y == 0, 0, a / unless_zero(y))",
    "gcd": ZERO,
}
"""By name of the reduction: what an element's gradient is, from the gradient ``g`` of the result and the result ``y``
(both with the reduced axes, of extent 1), the elements ``a`` and their number ``n``."""

__all__ = [
    "DERIVATIVES",
    "HOST_DERIVATIVES",
    "REDUCTION_DERIVATIVES",
    "SPECIAL_DERIVATIVES",
    "ZERO",
    "Rule",
    "of_halves",
    "refused",
]
