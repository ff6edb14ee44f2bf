"""The table of special functions, by the names of `scipy.special`: definitions like those of `numloom.ops.elementwise`.

float16 and float32 are computed in float32, everything else in float64; complex numbers are refused. Functions
without a text of their own are in `ON_HOST`: they run by SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.base.later import load
from numloom.ops.definitions import OpDef, is_rounded
from numloom.ops.derivatives import SPECIAL_DERIVATIVES
from numloom.ops.identities import IDENTITIES
from numloom.ops.routines import Host, routine

SPECIAL: dict[str, OpDef] = {}
"""Op definitions by SciPy's name."""

ALIASES = {"digamma": "psi"}


def loop_dtype(dtypes: tuple[Any, ...]) -> np.dtype[Any]:
    """float32 or float64: the dtype in which these dtypes are computed; Python numbers follow arrays."""
    arrays = [dtype for dtype in dtypes if not isinstance(dtype, type)]
    if any(dtype is complex for dtype in dtypes) or any(dtype.kind == "c" for dtype in arrays):
        raise TypeError("special functions are real here: take the real part, or SciPy's own function of a NumPy array")
    if not arrays:
        return np.dtype(np.float64)
    return np.dtype(np.float32 if all(dtype == np.float32 or is_rounded(dtype) for dtype in arrays) else np.float64)


def _loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    return (loop_dtype(dtypes),) * (len(dtypes) + 1)


def _scipy(name: str) -> Any:
    def twin(*args: Any) -> Any:
        special = load("scipy.special")
        with np.errstate(all="ignore"):
            return getattr(special, name)(*args)

    return twin


def _define(name: str, nin: int, header: str, cost: int, function: str = "", twin: str = "") -> None:
    arguments = ", ".join(f"{{{k}}}" for k in range(nin))
    text = f"nl::{function or name}({arguments})"
    SPECIAL[name] = OpDef(
        name=name, nin=nin, numpy=_scipy(twin or name), text=lambda in_chars, out_char: text, cost=cost, exact=False,
        headers=(header,), loops=_loops, id=len(SPECIAL), gradient=SPECIAL_DERIVATIVES[name],
        identities=IDENTITIES.get(name, {}),
    )  # fmt: skip


for _name, _nin, _header, _cost, *_function in (
    ("erf", 1, "erf", 30), ("erfc", 1, "erf", 40), ("erfcx", 1, "erfcx", 90), ("erfinv", 1, "erf_inverse", 90),
    ("erfcinv", 1, "erf_inverse", 90), ("ndtr", 1, "erf", 60), ("ndtri", 1, "erf_inverse", 100),
    ("log_ndtr", 1, "erfcx", 100),
    ("gamma", 1, "gamma", 60, "gamma_function"), ("gammaln", 1, "gamma", 60), ("loggamma", 1, "gamma", 60),
    ("gammasgn", 1, "gamma", 8), ("rgamma", 1, "gamma", 70), ("psi", 1, "gamma", 120), ("beta", 2, "gamma", 200),
    ("betaln", 2, "gamma", 200), ("riemann_zeta", 1, "gamma", 2000, "", "zeta"), ("zetac", 1, "gamma", 2000),
    ("hurwitz_zeta", 2, "gamma", 2000, "zeta", "zeta"),
    ("i0", 1, "bessel", 90), ("i0e", 1, "bessel", 80), ("i1", 1, "bessel", 90), ("i1e", 1, "bessel", 80),
    ("j0", 1, "bessel", 60), ("j1", 1, "bessel", 60), ("y0", 1, "bessel", 80), ("y1", 1, "bessel", 80),
    ("k0", 1, "bessel", 120), ("k0e", 1, "bessel", 120), ("k1", 1, "bessel", 120), ("k1e", 1, "bessel", 120),
    ("gammainc", 2, "incomplete", 2000), ("gammaincc", 2, "incomplete", 2000), ("betainc", 3, "incomplete", 2000),
    ("betaincc", 3, "incomplete", 2000), ("chdtr", 2, "incomplete", 2000), ("chdtrc", 2, "incomplete", 2000),
    ("gdtr", 3, "incomplete", 2000), ("gdtrc", 3, "incomplete", 2000), ("pdtr", 2, "incomplete", 2000),
    ("pdtrc", 2, "incomplete", 2000), ("bdtr", 3, "incomplete", 2000), ("bdtrc", 3, "incomplete", 2000),
    ("nbdtr", 3, "incomplete", 2000), ("nbdtrc", 3, "incomplete", 2000), ("fdtr", 3, "incomplete", 2000),
    ("fdtrc", 3, "incomplete", 2000), ("stdtr", 2, "incomplete", 2000),
    ("expit", 1, "smooth", 25), ("log_expit", 1, "smooth", 45), ("logit", 1, "smooth", 45), ("entr", 1, "smooth", 30),
    ("rel_entr", 2, "smooth", 60), ("kl_div", 2, "smooth", 60), ("xlogy", 2, "smooth", 30),
    ("xlog1py", 2, "smooth", 35),
    ("huber", 2, "smooth", 6), ("pseudo_huber", 2, "smooth", 40), ("exp10", 1, "smooth", 30),
    ("exprel", 1, "smooth", 35),
    ("boxcox", 2, "smooth", 70), ("boxcox1p", 2, "smooth", 70), ("inv_boxcox", 2, "smooth", 70),
    ("inv_boxcox1p", 2, "smooth", 70), ("cosm1", 1, "smooth", 60), ("sindg", 1, "smooth", 90),
    ("cosdg", 1, "smooth", 90), ("tandg", 1, "smooth", 180), ("cotdg", 1, "smooth", 180), ("radian", 3, "smooth", 30),
    ("exp1", 1, "smooth", 400), ("expi", 1, "smooth", 400), ("ellipk", 1, "smooth", 200),
    ("ellipkm1", 1, "smooth", 200),
    ("binom", 2, "gamma", 300), ("poch", 2, "gamma", 300), ("yn", 2, "bessel", 300), ("kn", 2, "bessel", 300),
    ("ellipe", 1, "integrals", 400), ("ellipkinc", 2, "integrals", 500), ("ellipeinc", 2, "integrals", 800),
    ("expn", 2, "integrals", 800), ("spence", 1, "integrals", 150),
    ("gammaincinv", 2, "inverses", 9000), ("gammainccinv", 2, "inverses", 9000), ("chdtri", 2, "inverses", 9000),
    ("pdtri", 2, "inverses", 9000), ("gdtrix", 3, "inverses", 9000), ("betaincinv", 3, "inverses", 9000),
    ("betainccinv", 3, "inverses", 9000), ("bdtri", 3, "inverses", 9000), ("nbdtri", 3, "inverses", 9000),
    ("fdtri", 3, "inverses", 9000), ("stdtrit", 2, "inverses", 9000),
):  # fmt: skip
    _define(_name, _nin, _header, _cost, *_function)  # type: ignore[arg-type]

ON_HOST = {
    "bdtrik": 3, "bdtrin": 3, "chdtriv": 2, "dawsn": 1, "fdtridfd": 3, "gdtria": 3, "gdtrib": 3, "hyp0f1": 2,
    "hyp1f1": 3, "hyp2f1": 4, "hyperu": 3, "iv": 2, "ive": 2, "jn": 2, "jv": 2, "jve": 2, "kv": 2, "kve": 2,
    "lpmv": 3, "nbdtrik": 3, "nbdtrin": 3, "nctdtr": 3, "ncfdtr": 4, "chndtr": 3, "nrdtrimn": 3, "nrdtrisd": 3,
    "owens_t": 2, "pdtrik": 2, "stdtridf": 2, "struve": 2, "wrightomega": 1, "yv": 2, "yve": 2,
}  # fmt: skip
"""Functions that run on the host, with their number of arguments."""


@routine()
def special(*args: Host, function: str) -> Host:
    """SciPy's elementwise `function` of arrays of one float dtype, broadcast."""
    result: Host = _scipy(function)(*args)
    return result
