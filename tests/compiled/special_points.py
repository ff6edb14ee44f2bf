"""What elementwise functions are, by mpmath, and where their derivatives are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

Number = Any
Function = Callable[..., Number]

INF = float("inf")
LINE = (-INF, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, INF)
HALF = (0.0, 0.25, 1.0, 2.0, INF)
UNIT = (0.0, 0.25, 0.5, 1.0)
OPEN = (-1.0, -0.5, 0.0, 0.5, 1.0)
INTEGERS = (1.0, 2.0)
POSITIVE = (0.5, 1.0, 2.0)


def sign(x: Number) -> Number:
    return mp.sign(x)


def remainder(a: Number, b: Number) -> Number:
    return a - mp.floor(a / b) * b


def trunc(x: Number) -> Number:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def mantissa(x: Number) -> Number:
    return x if x == 0 else mp.sign(x) * mp.frexp(abs(x))[0]


def power(a: Number, b: Number) -> Number:
    if a == 0 and b == 0:
        return mp.mpf(1)
    return mp.power(a, b)


def betainc(a: Number, b: Number, x: Number) -> Number:
    if not 0 <= x <= 1:
        raise ValueError
    return mp.betainc(a, b, 0, x, regularized=True)


def gammainc(a: Number, x: Number) -> Number:
    if x < 0:
        raise ValueError
    return mp.gammainc(a, 0, x, regularized=True)


def inverse(function: Function, low: float, high: float) -> Function:
    """The inverse by the last argument of an increasing or falling function, by bisection between two numbers."""

    def found(*args: Number) -> Number:
        *shape, p = args

        def miss(x: Number) -> Number:
            return function(*shape, x) - p

        lower, upper = mp.mpf(low), mp.mpf(high)
        if mp.sign(miss(lower)) == mp.sign(miss(upper)):
            raise ValueError
        return mp.findroot(miss, (lower, upper), solver="anderson", tol=mp.mpf(10) ** -90, verify=False)

    return found


def entr(x: Number) -> Number:
    return mp.mpf(0) if x == 0 else -x * mp.log(x)


def xlogy(x: Number, y: Number) -> Number:
    return mp.mpf(0) if x == 0 else x * mp.log(y)


def rel_entr(x: Number, y: Number) -> Number:
    return mp.mpf(0) if x == 0 else x * mp.log(x / y)


def huber(d: Number, r: Number) -> Number:
    if d < 0:
        raise ValueError
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def boxcox(x: Number, p: Number) -> Number:
    return mp.log(x) if p == 0 else mp.expm1(p * mp.log(x)) / p


def boxcox1p(x: Number, p: Number) -> Number:
    return mp.log1p(x) if p == 0 else mp.expm1(p * mp.log1p(x)) / p


def inv_boxcox(x: Number, p: Number) -> Number:
    return mp.exp(x) if p == 0 else mp.exp(mp.log1p(p * x) / p)


def inv_boxcox1p(x: Number, p: Number) -> Number:
    return mp.expm1(x) if p == 0 else mp.expm1(mp.log1p(p * x) / p)


def spence(x: Number) -> Number:
    return mp.polylog(2, 1 - x)


def real(function: Function) -> Function:
    return lambda *x: mp.re(function(*x))


def ndtr(x: Number) -> Number:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def only(test: Callable[..., bool], function: Function) -> Function:
    """A function where a test holds, and nothing elsewhere."""

    def found(*args: Number) -> Number:
        if not test(*args):
            raise ValueError
        return function(*args)

    return found


def scaled(function: Function, exponent: Callable[[Number], Number]) -> Function:
    return lambda x: function(x) * mp.exp(exponent(x))


def student(n: Number, x: Number) -> Number:
    half = betainc(n / 2, mp.mpf(1) / 2, n / (n + x * x)) / 2
    return 1 - half if x > 0 else half


def fisher(a: Number, b: Number, x: Number) -> Number:
    return betainc(a / 2, b / 2, a * x / (a * x + b))


def owens(h: Number, a: Number) -> Number:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


DEGREE = mp.pi / 180
ANGLES, PARAMETERS = (-1.0, 0.0, 0.5, 1.0), (-1.0, -0.01, 0.0, 1e-9, 0.01, 0.5, 1.0)
positive = lambda x: x > 0  # noqa: E731
not_negative = lambda *x: x[-1] >= 0  # noqa: E731

ELEMENTARY: dict[str, tuple[Function, tuple[tuple[float, ...], ...]]] = {
    "add": (lambda a, b: a + b, (LINE, LINE)),
    "subtract": (lambda a, b: a - b, (LINE, LINE)),
    "multiply": (lambda a, b: a * b, (LINE, LINE)),
    "divide": (lambda a, b: a / b, (LINE, LINE)),
    "floor_divide": (lambda a, b: mp.floor(a / b), (LINE, LINE)),
    "remainder": (remainder, (LINE, LINE)),
    "fmod": (lambda a, b: a - trunc(a / b) * b, (LINE, LINE)),
    "power": (power, (LINE, (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0))),
    "float_power": (power, (LINE, (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0))),
    "power_of_minus_6_halves": (lambda a: a**-3, (LINE,)),
    "power_of_minus_4_halves": (lambda a: a**-2, (LINE,)),
    "power_of_minus_3_halves": (only(positive, lambda a: mp.power(a, mp.mpf(-3) / 2)), (HALF,)),
    "power_of_minus_1_halves": (only(positive, lambda a: 1 / mp.sqrt(a)), (HALF,)),
    "power_of_3_halves": (only(not_negative, lambda a: a * mp.sqrt(a)), (HALF,)),
    "power_of_6_halves": (lambda a: a**3, (LINE,)),
    "power_of_8_halves": (lambda a: a**4, (LINE,)),
    "negative": (lambda a: -a, (LINE,)),
    "positive": (lambda a: a, (LINE,)),
    "absolute": (abs, (LINE,)),
    "fabs": (abs, (LINE,)),
    "sign": (sign, (LINE,)),
    "reciprocal": (lambda a: 1 / a, (LINE,)),
    "square": (lambda a: a * a, (LINE,)),
    "sqrt": (only(not_negative, mp.sqrt), (LINE,)),
    "cbrt": (lambda a: sign(a) * mp.cbrt(abs(a)), (LINE,)),
    "conjugate": (lambda a: a, (LINE,)),
    "exp": (mp.exp, (LINE,)),
    "exp2": (lambda a: mp.power(2, a), (LINE,)),
    "expm1": (mp.expm1, (LINE,)),
    "log": (only(positive, mp.log), (LINE,)),
    "log2": (only(positive, lambda a: mp.log(a, 2)), (LINE,)),
    "log10": (only(positive, mp.log10), (LINE,)),
    "log1p": (only(lambda a: a > -1, mp.log1p), (LINE,)),
    "logaddexp": (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), (LINE, LINE)),
    "logaddexp2": (lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b), 2), (LINE, LINE)),
    "sin": (mp.sin, (LINE,)),
    "cos": (mp.cos, (LINE,)),
    "tan": (mp.tan, (LINE,)),
    "arcsin": (only(lambda a: abs(a) <= 1, mp.asin), (LINE,)),
    "arccos": (only(lambda a: abs(a) <= 1, mp.acos), (LINE,)),
    "arctan": (mp.atan, (LINE,)),
    "sinh": (mp.sinh, (LINE,)),
    "cosh": (mp.cosh, (LINE,)),
    "tanh": (mp.tanh, (LINE,)),
    "arcsinh": (mp.asinh, (LINE,)),
    "arccosh": (only(lambda a: a >= 1, mp.acosh), (LINE,)),
    "arctanh": (only(lambda a: abs(a) < 1, mp.atanh), (LINE,)),
    "arctan2": (mp.atan2, (LINE, LINE)),
    "hypot": (mp.hypot, (LINE, LINE)),
    "degrees": (mp.degrees, (LINE,)),
    "rad2deg": (mp.degrees, (LINE,)),
    "radians": (mp.radians, (LINE,)),
    "deg2rad": (mp.radians, (LINE,)),
    "floor": (mp.floor, (LINE,)),
    "ceil": (mp.ceil, (LINE,)),
    "trunc": (trunc, (LINE,)),
    "rint": (mp.nint, (LINE,)),
    "spacing": (lambda a: mp.mpf(0), (LINE,)),
    "nextafter": (lambda a, b: a, (LINE, (1.5,))),
    "copysign": (lambda a, b: abs(a) if b >= 0 else -abs(a), (LINE, LINE)),
    "heaviside": (lambda a, b: mp.mpf(0) if a < 0 else b if a == 0 else mp.mpf(1), (LINE, LINE)),
    "modf_fraction": (lambda a: a - trunc(a), (LINE,)),
    "modf_integral": (trunc, (LINE,)),
    "frexp_mantissa": (mantissa, (LINE[1:-1],)),
    "maximum": (max, (LINE, LINE)),
    "minimum": (min, (LINE, LINE)),
    "fmax": (max, (LINE, LINE)),
    "fmin": (min, (LINE, LINE)),
    "clip": (lambda a, b, c: min(max(a, b), c), (LINE, (-1.0,), (1.0, 2.0))),
    "real": (lambda a: a, (LINE,)),
    "imag": (lambda a: mp.mpf(0), (LINE,)),
}
"""By name: the function, and the points of each argument."""

DEGREES = (-90.0, -45.0, 0.0, 30.0, 45.0, 90.0, 180.0)

SPECIAL_FUNCTIONS: dict[str, tuple[Function, tuple[tuple[float, ...], ...]]] = {
    "erf": (mp.erf, (LINE,)),
    "erfc": (mp.erfc, (LINE,)),
    "erfcx": (scaled(mp.erfc, lambda x: x * x), (LINE,)),
    "erfinv": (only(lambda x: abs(x) < 1, mp.erfinv), (OPEN,)),
    "erfcinv": (only(lambda x: 0 < x < 2, lambda x: mp.erfinv(1 - x)), ((0.0, 0.5, 1.0, 1.5, 2.0),)),
    "ndtr": (ndtr, (LINE,)),
    "ndtri": (only(lambda x: 0 < x < 1, lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1)), (UNIT,)),
    "log_ndtr": (lambda x: mp.log(ndtr(x)), (LINE,)),
    "gamma": (mp.gamma, (LINE,)),
    "gammaln": (lambda x: mp.log(abs(mp.gamma(x))), (LINE,)),
    "loggamma": (only(positive, mp.loggamma), (LINE,)),
    "gammasgn": (lambda x: sign(mp.gamma(x)), (LINE,)),
    "rgamma": (mp.rgamma, ((-3.0, *LINE),)),
    "psi": (lambda x: mp.psi(0, x), (LINE,)),
    "beta": (mp.beta, (LINE[1:-1], LINE[1:-1])),
    "betaln": (lambda a, b: mp.log(abs(mp.beta(a, b))), (LINE[1:-1], LINE[1:-1])),
    "hurwitz_zeta": (lambda s, q: mp.zeta(s, q), ((2.0, 3.5), POSITIVE)),
    "i0": (lambda x: mp.besseli(0, x), (LINE,)),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (LINE,)),
    "i1": (lambda x: mp.besseli(1, x), (LINE,)),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (LINE,)),
    "j0": (lambda x: mp.besselj(0, x), (LINE,)),
    "j1": (lambda x: mp.besselj(1, x), (LINE,)),
    "y0": (only(positive, lambda x: mp.bessely(0, x)), (HALF,)),
    "y1": (only(positive, lambda x: mp.bessely(1, x)), (HALF,)),
    "k0": (only(positive, lambda x: mp.besselk(0, x)), (HALF,)),
    "k0e": (only(positive, lambda x: mp.besselk(0, x) * mp.exp(x)), (HALF,)),
    "k1": (only(positive, lambda x: mp.besselk(1, x)), (HALF,)),
    "k1e": (only(positive, lambda x: mp.besselk(1, x) * mp.exp(x)), (HALF,)),
    "yn": (only(lambda n, x: x > 0, mp.bessely), ((0.0, 1.0, 2.0), HALF)),
    "kn": (only(lambda n, x: x > 0, mp.besselk), ((0.0, 1.0, 2.0), HALF)),
    "gammainc": (gammainc, (POSITIVE, HALF)),
    "gammaincc": (lambda a, x: 1 - gammainc(a, x), (POSITIVE, HALF)),
    "betainc": (betainc, (POSITIVE, POSITIVE, UNIT)),
    "betaincc": (lambda a, b, x: 1 - betainc(a, b, x), (POSITIVE, POSITIVE, UNIT)),
    "chdtr": (lambda v, x: gammainc(v / 2, x / 2), ((1.0, 2.0, 4.0), HALF)),
    "chdtrc": (lambda v, x: 1 - gammainc(v / 2, x / 2), ((1.0, 2.0, 4.0), HALF)),
    "gdtr": (lambda a, b, x: gammainc(b, a * x), (POSITIVE, POSITIVE, HALF)),
    "gdtrc": (lambda a, b, x: 1 - gammainc(b, a * x), (POSITIVE, POSITIVE, HALF)),
    "pdtr": (lambda k, m: 1 - gammainc(mp.floor(k) + 1, m), ((0.0, 1.0, 2.0), HALF)),
    "pdtrc": (lambda k, m: gammainc(mp.floor(k) + 1, m), ((0.0, 1.0, 2.0), HALF)),
    "bdtr": (lambda k, n, p: 1 - betainc(mp.floor(k) + 1, n - mp.floor(k), p), ((0.0, 1.0, 2.0), (3.0,), UNIT)),
    "bdtrc": (lambda k, n, p: betainc(mp.floor(k) + 1, n - mp.floor(k), p), ((0.0, 1.0, 2.0), (3.0,), UNIT)),
    "nbdtr": (lambda k, n, p: betainc(n, mp.floor(k) + 1, p), ((0.0, 1.0, 2.0), (1.0, 3.0), UNIT)),
    "nbdtrc": (lambda k, n, p: 1 - betainc(n, mp.floor(k) + 1, p), ((0.0, 1.0, 2.0), (1.0, 3.0), UNIT)),
    "fdtr": (fisher, ((1.0, 2.0, 4.0), (2.0, 3.0), HALF[:-1])),
    "fdtrc": (lambda a, b, x: 1 - fisher(a, b, x), ((1.0, 2.0, 4.0), (2.0,), HALF[:-1])),
    "stdtr": (student, ((1.0, 2.0, 3.0), LINE[1:-1])),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), (LINE,)),
    "log_expit": (lambda x: -mp.log1p(mp.exp(-x)), (LINE,)),
    "logit": (only(lambda x: 0 < x < 1, lambda x: mp.log(x / (1 - x))), (UNIT,)),
    "entr": (only(not_negative, entr), (LINE,)),
    "rel_entr": (only(lambda x, y: x >= 0 and y > 0, rel_entr), (HALF[:-1], HALF[:-1])),
    "kl_div": (only(lambda x, y: x >= 0 and y > 0, lambda x, y: rel_entr(x, y) - x + y), (HALF[:-1], HALF[:-1])),
    "xlogy": (only(lambda x, y: x == 0 or y > 0, xlogy), (LINE[1:-1], HALF[:-1])),
    "xlog1py": (
        only(lambda x, y: x == 0 or y > -1, lambda x, y: xlogy(x, 1 + y)),
        (LINE[1:-1], (-1.0, -0.5, 0.0, 1.0)),
    ),
    "huber": (huber, ((0.0, 0.5, 1.0, 2.0), LINE[1:-1])),
    "pseudo_huber": (
        only(lambda d, r: d > 0, lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)),
        (POSITIVE, LINE[1:-1]),
    ),
    "exp10": (lambda x: mp.power(10, x), (LINE,)),
    "exprel": (lambda x: mp.mpf(1) if x == 0 else mp.expm1(x) / x, (LINE,)),
    "boxcox": (only(lambda x, p: x > 0, boxcox), (HALF[:-1], LINE[1:-1])),
    "boxcox1p": (only(lambda x, p: x > -1, boxcox1p), ((-1.0, -0.5, 0.0, 1.0), LINE[1:-1])),
    "inv_boxcox": (inv_boxcox, ((-0.25, 0.0, 1.0), LINE[1:-1])),
    "inv_boxcox1p": (inv_boxcox1p, ((-0.25, 0.0, 1.0), LINE[1:-1])),
    "cosm1": (lambda x: mp.cos(x) - 1, (LINE,)),
    "sindg": (lambda x: mp.sin(x * DEGREE), (DEGREES,)),
    "cosdg": (lambda x: mp.cos(x * DEGREE), (DEGREES,)),
    "tandg": (lambda x: mp.tan(x * DEGREE), (DEGREES[1:5],)),
    "cotdg": (lambda x: mp.cot(x * DEGREE), (DEGREES[3:6],)),
    "radian": (lambda d, m, s: (d + m / 60 + s / 3600) * DEGREE, ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))),
    "exp1": (only(positive, mp.e1), (HALF,)),
    "expi": (real(mp.ei), (LINE,)),
    "ellipk": (only(lambda m: m < 1, mp.ellipk), ((-INF, -2.0, -1.0, -0.01, 0.0, 1e-9, 0.01, 0.5, 1.0),)),
    "ellipkm1": (only(positive, lambda p: mp.ellipk(1 - p)), ((0.0, 0.5, 0.99, 1.0, 1 + 1e-9, 2.0),)),
    "ellipe": (only(lambda m: m <= 1, mp.ellipe), ((-2.0, -1.0, -0.01, 0.0, 1e-9, 0.01, 0.5, 1.0),)),
    "ellipkinc": (
        only(lambda f, m: m * mp.sin(f) ** 2 < 1, mp.ellipf),
        (ANGLES, PARAMETERS),
    ),
    "ellipeinc": (
        only(lambda f, m: m * mp.sin(f) ** 2 < 1, mp.ellipe),
        (ANGLES, PARAMETERS),
    ),
    "expn": (only(lambda n, x: x > 0 or (x == 0 and n > 1), mp.expint), ((0.0, 1.0, 2.0, 3.0, 4.0), HALF)),
    "spence": (only(not_negative, spence), ((0.0, 0.5, 0.99, 1.0, 1 + 1e-9, 1.01, 2.0, INF),)),
    "binom": (mp.binomial, ((-0.5, 0.0, 1.0, 2.0, 3.0), (-1.0, 0.0, 0.5, 1.0, 2.0, 4.0))),
    "poch": (lambda a, n: mp.rf(a, n), ((-2.0, -1.0, 0.0, 0.5, 1.0, 2.0), (0.0, 0.5, 1.0, 2.0, 3.0))),
    "gammaincinv": (inverse(gammainc, 0, 100), (POSITIVE, UNIT)),
    "gammainccinv": (inverse(lambda a, x: 1 - gammainc(a, x), 0, 100), (POSITIVE, UNIT)),
    "chdtri": (inverse(lambda v, x: 1 - gammainc(v / 2, x / 2), 0, 100), ((1.0, 2.0), UNIT)),
    "pdtri": (inverse(lambda k, m: 1 - gammainc(mp.floor(k) + 1, m), 0, 100), ((0.0, 1.0), UNIT)),
    "gdtrix": (lambda a, b, p: inverse(gammainc, 0, 100)(b, p) / a, ((1.0, 2.0), (1.0, 2.0), UNIT)),
    "betaincinv": (inverse(betainc, 0, 1), ((1.0, 2.0), (1.0, 2.0), UNIT)),
    "betainccinv": (inverse(lambda a, b, x: 1 - betainc(a, b, x), 0, 1), ((1.0, 2.0), (1.0,), UNIT)),
    "bdtri": (
        inverse(lambda k, n, p: 1 - betainc(mp.floor(k) + 1, n - mp.floor(k), p), 0, 1),
        ((0.0, 1.0), (3.0,), UNIT),
    ),
    "nbdtri": (inverse(lambda k, n, p: betainc(n, mp.floor(k) + 1, p), 0, 1), ((0.0, 1.0), (1.0, 3.0), UNIT)),
    "fdtri": (
        inverse(lambda a, b, x: betainc(a / 2, b / 2, a * x / (a * x + b)), 0, 10000),
        ((2.0, 4.0), (2.0, 3.0), UNIT[:-1]),
    ),
    "stdtrit": (inverse(student, -1000, 1000), ((1.0, 2.0, 3.0), UNIT)),
}
"""By name in the table of special functions."""

HOST_FUNCTIONS: dict[str, tuple[Function, tuple[tuple[float, ...], ...]]] = {
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (LINE,)),
    "hyp0f1": (mp.hyp0f1, ((0.5, 1.0, 2.0), LINE[1:-1])),
    "hyp1f1": (mp.hyp1f1, ((0.0, 0.5, 1.0), (0.5, 1.0), LINE[1:-1])),
    "hyp2f1": (mp.hyp2f1, ((0.0, 0.5, 1.0), (0.5, 1.0), (1.5,), (-1.0, -0.5, 0.0, 0.5))),
    "hyperu": (only(lambda a, b, x: x > 0, mp.hyperu), ((0.5, 1.0), (0.5, 1.5), POSITIVE)),
    "iv": (lambda v, x: mp.besseli(v, x), ((0.0, 1.0, 2.0), LINE[1:-1])),
    "ive": (lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)), ((0.0, 1.0, 2.0), LINE[1:-1])),
    "jn": (lambda v, x: mp.besselj(v, x), ((0.0, 1.0, 2.0), LINE[1:-1])),
    "jv": (lambda v, x: mp.besselj(v, x), ((0.0, 1.0, 2.0), LINE[1:-1])),
    "jve": (lambda v, x: mp.besselj(v, x), ((0.0, 1.0, 2.0), LINE[1:-1])),
    "kv": (only(lambda v, x: x > 0, mp.besselk), ((0.0, 0.5, 1.0), HALF[:-1])),
    "kve": (only(lambda v, x: x > 0, lambda v, x: mp.besselk(v, x) * mp.exp(x)), ((0.0, 0.5, 1.0), HALF[:-1])),
    "lpmv": (
        only(lambda m, n, x: abs(x) <= 1, real(lambda m, n, x: mp.legenp(n, m, x))), ((0.0,), (1.0, 2.0, 3.0), OPEN)
    ),
    "owens_t": (owens, ((-1.0, 0.0, 1.0), (-1.0, 0.0, 0.5))),
    "struve": (mp.struveh, ((0.0, 1.0), (-1.0, -0.5, 0.0, 0.5, 1.0))),
    "wrightomega": (lambda x: mp.lambertw(mp.exp(x)).real, (LINE[1:-1],)),
    "yv": (only(lambda v, x: x > 0, mp.bessely), ((0.0, 0.5, 1.0), HALF[:-1])),
    "yve": (only(lambda v, x: x > 0, mp.bessely), ((0.0, 0.5, 1.0), HALF[:-1])),
    "nrdtrimn": (
        lambda p, s, x: x - s * mp.sqrt(2) * mp.erfinv(2 * p - 1), ((0.25, 0.5), (1.0, 2.0), (0.0, 1.0))
    ),
    "nrdtrisd": (
        lambda m, p, x: (x - m) / (mp.sqrt(2) * mp.erfinv(2 * p - 1)), ((0.0, 1.0), (0.25, 0.75), (0.0, 1.0, 2.0))
    ),
}  # fmt: skip
"""By name of those that run on the host; noncentral distributions (`chndtr`) are tried elsewhere alone."""
