"""Elementwise special functions: NumPy's way to call a ufunc, over the definitions of `numloom.ops.special`."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.running import deliver
from numloom.api.ufunc import WHERE, check_broadcast, check_out, mask_of, value_of
from numloom.array.ndarray import node_of
from numloom.array.storage import write
from numloom.base.dtypes import DTYPES, F32, F64, code_of
from numloom.base.tracebacks import public
from numloom.engine.routines import call as call_routine
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes
from numloom.graph.node import Node
from numloom.ops.special import ON_HOST, SPECIAL, loop_dtype, special

Array = Any


class SpecialFunction:
    """A function of `scipy.special` that works element by element.

    It takes arrays, numbers and lists, broadcasts them, and computes float16 and float32 in float32, everything else
    in float64. Recorded and fused with what surrounds it, unless `on_host` says that SciPy runs it on the host.

    Attributes
    ----------
    nin : int
        Number of arguments.
    on_host : bool
        Whether it runs at once, on the host.
    """

    nout = 1

    def __init__(self, name: str, nin: int, summary: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.nin = nin
        self.on_host = name in ON_HOST
        self._op_def = SPECIAL.get(name)
        arguments = ", ".join("abcdefgh"[:nin]) if nin > 1 else "x"
        self.__doc__ = (
            f"{name}({arguments}, /, out=None, *, where=True, casting='same_kind', dtype=None)\n\n{summary}\n\n"
            f"As `scipy.special.{name}`, {'on the host' if self.on_host else 'recorded'}."
        )

    def __repr__(self) -> str:
        return f"<numloom special function '{self.__name__}'>"

    def __reduce__(self) -> Any:
        return named, (self.__name__,)

    @public
    def __call__(
        self, *args: Any, out: Any = None, where: Any = True, casting: str = "same_kind", dtype: Any = None
    ) -> Array:
        if len(args) == self.nin + 1 and out is None:
            args, out = args[:-1], args[-1]
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} positional arguments but {len(args)} were given")
        if isinstance(out, tuple):
            (out,) = out
        values = [value_of(x) for x in args]
        given = tuple(DTYPES[v.code] if type(v) is Node else type(v) for v in values)
        code = code_of(loop_dtype(tuple(np.dtype("?") if one is bool else one for one in given)))
        if dtype is not None:
            code = code_of(dtype)
            if code not in (F32, F64):
                raise TypeError(f"{self.__name__} has no loop for dtype {np.dtype(dtype)}")
        nodes = [build.cast(v, code) if type(v) is Node else build.scalar_as(float(v), code) for v in values]
        if self._op_def is not None:
            node = build.elementwise(self._op_def, nodes)
        else:
            shape = broadcast_shapes(*(node.shape for node in nodes))
            node = call_routine(special.__name__, *nodes, code=code, shape=shape, function=self.__name__)
        mask = None if where is True else mask_of(where)
        if out is None:
            # As in ufuncs, elements that a mask leaves out are 0.
            if mask is not None:
                node = build.elementwise(WHERE, (mask, node, build.scalar(0, node.code)))
            return deliver(node, args)
        check_out(out)
        if not np.can_cast(DTYPES[code], out.dtype, casting):  # type: ignore[arg-type]
            raise TypeError(f"cannot cast the result of {self.__name__} from {DTYPES[code]} to {out.dtype}")
        shape = node.shape if mask is None else broadcast_shapes(node.shape, mask.shape)
        check_broadcast(shape, out.shape)
        if mask is not None:
            node = build.elementwise(WHERE, (mask, build.cast(node, out.code), node_of(out)))
        write(out.storage, out.code, out.offset, out.shape, out.strides, node)
        return out


SUMMARIES = {
    "erf": "The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.",
    "erfc": "The complement of the error function, 1 - erf(x).",
    "erfcx": "The scaled complement of the error function, exp(x**2) * erfc(x).",
    "erfinv": "The inverse of erf.",
    "erfcinv": "The inverse of erfc.",
    "ndtr": "The normal distribution: the probability of less than x.",
    "ndtri": "The inverse of ndtr.",
    "log_ndtr": "The logarithm of ndtr.",
    "gamma": "The gamma function.",
    "gammaln": "The logarithm of the gamma function's magnitude.",
    "loggamma": "The logarithm of the gamma function of a positive number; NaN below 0.",
    "gammasgn": "The sign of the gamma function.",
    "rgamma": "The reciprocal of the gamma function.",
    "psi": "The derivative of the gamma function's logarithm.",
    "beta": "The beta function, gamma(a) * gamma(b) / gamma(a + b).",
    "betaln": "The logarithm of the beta function's magnitude.",
    "riemann_zeta": "Riemann's zeta function.",
    "zetac": "Riemann's zeta function less 1.",
    "hurwitz_zeta": "Hurwitz's zeta function, the sum of (q + n)**-x.",
    "i0": "The modified Bessel function of the first kind of order 0.",
    "i0e": "exp(-abs(x)) * i0(x).",
    "i1": "The modified Bessel function of the first kind of order 1.",
    "i1e": "exp(-abs(x)) * i1(x).",
    "j0": "The Bessel function of the first kind of order 0.",
    "j1": "The Bessel function of the first kind of order 1.",
    "y0": "The Bessel function of the second kind of order 0.",
    "y1": "The Bessel function of the second kind of order 1.",
    "k0": "The modified Bessel function of the second kind of order 0.",
    "k0e": "exp(x) * k0(x).",
    "k1": "The modified Bessel function of the second kind of order 1.",
    "k1e": "exp(x) * k1(x).",
    "gammainc": "The lower incomplete gamma function of a and x over gamma(a).",
    "gammaincc": "The upper incomplete gamma function of a and x over gamma(a).",
    "betainc": "The incomplete beta function of a, b and x over beta(a, b).",
    "betaincc": "The complement of betainc.",
    "chdtr": "The chi-square distribution with v degrees of freedom.",
    "chdtrc": "The complement of chdtr.",
    "gdtr": "The gamma distribution of x with rate a and shape b.",
    "gdtrc": "The complement of gdtr.",
    "pdtr": "The Poisson distribution: at most k events where m are expected.",
    "pdtrc": "The complement of pdtr.",
    "bdtr": "The binomial distribution: at most k of n events of probability p.",
    "bdtrc": "The complement of bdtr.",
    "nbdtr": "The negative binomial distribution: at most k failures before n successes of probability p.",
    "nbdtrc": "The complement of nbdtr.",
    "fdtr": "The F distribution with dfn and dfd degrees of freedom.",
    "fdtrc": "The complement of fdtr.",
    "stdtr": "Student's t distribution with df degrees of freedom.",
    "expit": "The logistic function, 1 / (1 + exp(-x)).",
    "log_expit": "The logarithm of expit.",
    "logit": "The inverse of expit, log(x / (1 - x)).",
    "entr": "The entropy of a probability, -x * log(x).",
    "rel_entr": "The relative entropy x * log(x / y).",
    "kl_div": "The Kullback-Leibler divergence x * log(x / y) - x + y.",
    "xlogy": "x * log(y), 0 where x is 0.",
    "xlog1py": "x * log1p(y), 0 where x is 0.",
    "huber": "Huber's loss of r with threshold delta.",
    "pseudo_huber": "The smooth form of Huber's loss.",
    "exp10": "10**x.",
    "exprel": "(exp(x) - 1) / x.",
    "boxcox": "The Box-Cox transform (x**lmbda - 1) / lmbda, log(x) where lmbda is 0.",
    "boxcox1p": "The Box-Cox transform of 1 + x.",
    "inv_boxcox": "The inverse of boxcox.",
    "inv_boxcox1p": "The inverse of boxcox1p.",
    "cosm1": "cos(x) - 1.",
    "sindg": "The sine of an angle in degrees.",
    "cosdg": "The cosine of an angle in degrees.",
    "tandg": "The tangent of an angle in degrees.",
    "cotdg": "The cotangent of an angle in degrees.",
    "radian": "An angle in degrees, minutes and seconds, in radians.",
    "exp1": "The exponential integral E1.",
    "expi": "The exponential integral Ei.",
    "ellipk": "The complete elliptic integral of the first kind.",
    "ellipkm1": "The complete elliptic integral of the first kind near 1.",
    "binom": "The binomial coefficient of real numbers.",
    "poch": "The rising factorial gamma(z + m) / gamma(z).",
    "yn": "The Bessel function of the second kind of a whole order.",
    "kn": "The modified Bessel function of the second kind of a whole order.",
    "ellipe": "The complete elliptic integral of the second kind.",
    "ellipkinc": "The elliptic integral of the first kind of an amplitude and a parameter.",
    "ellipeinc": "The elliptic integral of the second kind of an amplitude and a parameter.",
    "expn": "The exponential integral of a whole order n: the integral of exp(-x * t) / t**n from 1 up.",
    "spence": "The dilogarithm of 1 - z: the integral of log(t) / (1 - t) from 1 to z.",
    "gammaincinv": "The inverse of gammainc over x.",
    "gammainccinv": "The inverse of gammaincc over x.",
    "chdtri": "The inverse of chdtrc over x.",
    "pdtri": "The inverse of pdtr over m.",
    "gdtrix": "The inverse of gdtr over x.",
    "betaincinv": "The inverse of betainc over x.",
    "betainccinv": "The inverse of betaincc over x.",
    "bdtri": "The inverse of bdtr over p.",
    "nbdtri": "The inverse of nbdtr over p.",
    "fdtri": "The inverse of fdtr over x.",
    "stdtrit": "The inverse of stdtr over t.",
}

FUNCTIONS = {
    **{name: SpecialFunction(name, op_def.nin, SUMMARIES[name]) for name, op_def in SPECIAL.items()},
    **{name: SpecialFunction(name, nin, "See SciPy's documentation.") for name, nin in ON_HOST.items()},
}
"""Every elementwise function, by SciPy's name."""


def named(name: str) -> SpecialFunction:
    """The function of a name (for pickles)."""
    return FUNCTIONS[name]


bdtr = FUNCTIONS["bdtr"]
bdtrc = FUNCTIONS["bdtrc"]
bdtri = FUNCTIONS["bdtri"]
bdtrik = FUNCTIONS["bdtrik"]
bdtrin = FUNCTIONS["bdtrin"]
beta = FUNCTIONS["beta"]
betainc = FUNCTIONS["betainc"]
betaincc = FUNCTIONS["betaincc"]
betainccinv = FUNCTIONS["betainccinv"]
betaincinv = FUNCTIONS["betaincinv"]
betaln = FUNCTIONS["betaln"]
binom = FUNCTIONS["binom"]
boxcox = FUNCTIONS["boxcox"]
boxcox1p = FUNCTIONS["boxcox1p"]
chdtr = FUNCTIONS["chdtr"]
chdtrc = FUNCTIONS["chdtrc"]
chdtri = FUNCTIONS["chdtri"]
chdtriv = FUNCTIONS["chdtriv"]
chndtr = FUNCTIONS["chndtr"]
cosdg = FUNCTIONS["cosdg"]
cosm1 = FUNCTIONS["cosm1"]
cotdg = FUNCTIONS["cotdg"]
dawsn = FUNCTIONS["dawsn"]
ellipe = FUNCTIONS["ellipe"]
ellipeinc = FUNCTIONS["ellipeinc"]
ellipk = FUNCTIONS["ellipk"]
ellipkinc = FUNCTIONS["ellipkinc"]
ellipkm1 = FUNCTIONS["ellipkm1"]
entr = FUNCTIONS["entr"]
erf = FUNCTIONS["erf"]
erfc = FUNCTIONS["erfc"]
erfcinv = FUNCTIONS["erfcinv"]
erfcx = FUNCTIONS["erfcx"]
erfinv = FUNCTIONS["erfinv"]
exp1 = FUNCTIONS["exp1"]
exp10 = FUNCTIONS["exp10"]
expi = FUNCTIONS["expi"]
expit = FUNCTIONS["expit"]
expn = FUNCTIONS["expn"]
exprel = FUNCTIONS["exprel"]
fdtr = FUNCTIONS["fdtr"]
fdtrc = FUNCTIONS["fdtrc"]
fdtri = FUNCTIONS["fdtri"]
fdtridfd = FUNCTIONS["fdtridfd"]
gamma = FUNCTIONS["gamma"]
gammainc = FUNCTIONS["gammainc"]
gammaincc = FUNCTIONS["gammaincc"]
gammainccinv = FUNCTIONS["gammainccinv"]
gammaincinv = FUNCTIONS["gammaincinv"]
gammaln = FUNCTIONS["gammaln"]
gammasgn = FUNCTIONS["gammasgn"]
gdtr = FUNCTIONS["gdtr"]
gdtrc = FUNCTIONS["gdtrc"]
gdtria = FUNCTIONS["gdtria"]
gdtrib = FUNCTIONS["gdtrib"]
gdtrix = FUNCTIONS["gdtrix"]
huber = FUNCTIONS["huber"]
hyp0f1 = FUNCTIONS["hyp0f1"]
hyp1f1 = FUNCTIONS["hyp1f1"]
hyp2f1 = FUNCTIONS["hyp2f1"]
hyperu = FUNCTIONS["hyperu"]
i0 = FUNCTIONS["i0"]
i0e = FUNCTIONS["i0e"]
i1 = FUNCTIONS["i1"]
i1e = FUNCTIONS["i1e"]
inv_boxcox = FUNCTIONS["inv_boxcox"]
inv_boxcox1p = FUNCTIONS["inv_boxcox1p"]
iv = FUNCTIONS["iv"]
ive = FUNCTIONS["ive"]
j0 = FUNCTIONS["j0"]
j1 = FUNCTIONS["j1"]
jn = FUNCTIONS["jn"]
jv = FUNCTIONS["jv"]
jve = FUNCTIONS["jve"]
k0 = FUNCTIONS["k0"]
k0e = FUNCTIONS["k0e"]
k1 = FUNCTIONS["k1"]
k1e = FUNCTIONS["k1e"]
kl_div = FUNCTIONS["kl_div"]
kn = FUNCTIONS["kn"]
kv = FUNCTIONS["kv"]
kve = FUNCTIONS["kve"]
log_expit = FUNCTIONS["log_expit"]
log_ndtr = FUNCTIONS["log_ndtr"]
loggamma = FUNCTIONS["loggamma"]
logit = FUNCTIONS["logit"]
lpmv = FUNCTIONS["lpmv"]
nbdtr = FUNCTIONS["nbdtr"]
nbdtrc = FUNCTIONS["nbdtrc"]
nbdtri = FUNCTIONS["nbdtri"]
nbdtrik = FUNCTIONS["nbdtrik"]
nbdtrin = FUNCTIONS["nbdtrin"]
ncfdtr = FUNCTIONS["ncfdtr"]
nctdtr = FUNCTIONS["nctdtr"]
ndtr = FUNCTIONS["ndtr"]
ndtri = FUNCTIONS["ndtri"]
nrdtrimn = FUNCTIONS["nrdtrimn"]
nrdtrisd = FUNCTIONS["nrdtrisd"]
owens_t = FUNCTIONS["owens_t"]
pdtr = FUNCTIONS["pdtr"]
pdtrc = FUNCTIONS["pdtrc"]
pdtri = FUNCTIONS["pdtri"]
pdtrik = FUNCTIONS["pdtrik"]
poch = FUNCTIONS["poch"]
pseudo_huber = FUNCTIONS["pseudo_huber"]
psi = FUNCTIONS["psi"]
radian = FUNCTIONS["radian"]
rel_entr = FUNCTIONS["rel_entr"]
rgamma = FUNCTIONS["rgamma"]
sindg = FUNCTIONS["sindg"]
spence = FUNCTIONS["spence"]
stdtr = FUNCTIONS["stdtr"]
stdtridf = FUNCTIONS["stdtridf"]
stdtrit = FUNCTIONS["stdtrit"]
struve = FUNCTIONS["struve"]
tandg = FUNCTIONS["tandg"]
wrightomega = FUNCTIONS["wrightomega"]
xlog1py = FUNCTIONS["xlog1py"]
xlogy = FUNCTIONS["xlogy"]
y0 = FUNCTIONS["y0"]
y1 = FUNCTIONS["y1"]
yn = FUNCTIONS["yn"]
yv = FUNCTIONS["yv"]
yve = FUNCTIONS["yve"]
zetac = FUNCTIONS["zetac"]
digamma = psi

__all__ = ["FUNCTIONS", "SpecialFunction", "named"]
