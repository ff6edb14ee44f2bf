"""Special functions against SciPy and against high precision, all of one kind in one kernel."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import special

import numloom as nl
from numloom.ops.special import ON_HOST, SPECIAL
from numloom.special.functions import FUNCTIONS
from numloom.testing import assert_kernels

RNG = np.random.default_rng(0)
EDGES = np.array([0.0, 1.0, 2.0, 0.5, 10.0, 50.0, 171.0, 1e-10, np.nan])

# Where ours and SciPy differ on purpose: better in ours (tests/special/accuracy.py), or one of them at infinity.
LOOSE = {"tandg": 1e-11, "cotdg": 2e-6, "kl_div": 2e-3, "betaln": 1e-8, "beta": 1e-8, "gammaln": 1e-8, "loggamma": 1e-8}
POSITIVE = {"loggamma", "zetac", "riemann_zeta", "psi", "rgamma", "gamma"}
DISTRIBUTIONS = {"bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"}  # SciPy cuts their n to a whole number


def arguments(name: str, nin: int, dtype: str) -> list[Any]:
    if name in DISTRIBUTIONS:
        k, n = RNG.integers(0, 20, 200), RNG.integers(20, 40, 200)
        return [k.astype(dtype), n.astype(dtype), RNG.uniform(0.01, 0.99, 200).astype(dtype)]
    lines = [RNG.uniform(0.02, 0.98, 300) * 10.0 ** RNG.integers(0, 2, 300) for _ in range(nin)]
    if nin == 3:
        lines[2] = np.where(RNG.random(300) < 0.9, lines[2] % 1, lines[2])
    elif nin == 1:
        lines[0] *= RNG.choice([-1, 1], 300)
    return [np.concatenate([EDGES, np.roll(line, k)]).astype(dtype) for k, line in enumerate(lines)]


@pytest.mark.parametrize("nin", [1, 2, 3])
def test_rows_agree_with_scipy(nin: int) -> None:
    compare([name for name, op_def in SPECIAL.items() if op_def.nin == nin], nin, "f8")


def test_single_precision_agrees_with_scipy() -> None:
    compare(["erfc", "erfinv", "gamma", "psi", "j0", "expit", "logit"], 1, "f4")


def compare(names: list[str], nin: int, dtype: str) -> None:
    plain = [name for name in names if name not in DISTRIBUTIONS]
    for group in (plain, [name for name in names if name in DISTRIBUTIONS]):
        if not group:
            continue
        hosts = arguments(group[0], nin, dtype)
        arrays = [nl.asarray(host) for host in hosts]
        found = {name: FUNCTIONS[name](*arrays) for name in group}
        nl.evaluate(*found.values())
        for name, result in found.items():
            want = SPECIAL[name].numpy(*hosts)
            got = result.get()
            assert got.dtype == want.dtype == np.dtype(dtype), name
            # Floats near the ends of the range, and arguments whose rounding the function magnifies.
            rtol = max(LOOSE.get(name, 0), 1e-10 if dtype == "f8" else 2e-4)
            both = np.isnan(got) | np.isnan(want) | (np.abs(want) > 1e30) | (np.abs(want) < 1e-30)
            assert (np.isnan(got) == np.isnan(want)).mean() > 0.98, name
            np.testing.assert_allclose(got[~both], want[~both], rtol=rtol, atol=1e-30, err_msg=name)


TEXTS = pytest.mark.skipif(nl.config.executor == "reference", reason="the reference is SciPy, which these correct")


@TEXTS
def test_values_known_in_high_precision() -> None:
    cases = []
    for name, args, want in (
        ("erfc", (26.0,), 5.6631924088561428464757e-296), ("erfinv", (0.99,), 1.8213863677184494559),
        ("erfcinv", (1e-300,), 26.209469960516123886), ("ndtr", (-30.0,), 4.9067139271481870595e-198),
        ("log_ndtr", (-30.0,), -454.32124395634319711), ("psi", (1.4616321449683622,), -9.2412655217294275e-17),
        ("zeta", (-1.0,), -1 / 12), ("k1", (0.5,), 1.6564411200033008937),
        ("gammainc", (100.0, 90.0), 0.1582209891864301681), ("gammaincc", (1e-10, 0.5), 5.5977359480549881133e-11),
        ("betainc", (20.0, 30.0, 0.4), 0.50770019965764800544), ("stdtr", (3.0, -2.0), 0.069662984279421588),
        ("kl_div", (1.0, 0.999999), 5.0000033336233902681e-13), ("exprel", (1e-12,), 1.0000000000005),
        ("pseudo_huber", (1e-10, 8.0), 7.9999999999000002915e-10),
    ):  # fmt: skip
        cases.append((name, getattr(nl.special, name)(*args), want))
    nl.evaluate(*(got for _, got, _ in cases))
    for name, got, want in cases:
        np.testing.assert_allclose(got.get(), want, rtol=1e-12, atol=0 if want else 1e-15, err_msg=name)


@TEXTS
def test_poles_infinities_and_what_is_no_number() -> None:
    cases, inf, nan = [], np.inf, np.nan
    for name, args, want in (
        ("erf", [-inf, inf, nan], [-1, 1, nan]), ("erfinv", [-1, 1, 1.5], [-inf, inf, nan]),
        ("erfcinv", [0, 2, 3], [inf, -inf, nan]), ("ndtri", [0, 1, 0.5], [-inf, inf, 0]),
        ("gamma", [0, -1, inf], [inf, nan, inf]), ("gammaln", [0, -3, inf], [inf, inf, inf]),
        ("psi", [0.0, -2, inf], [-inf, nan, inf]), ("zeta", [1, inf, -2], [inf, 1, 0]),
        ("logit", [0, 1, 2], [-inf, inf, nan]), ("entr", [0, -1, nan], [0, -inf, nan]),
        ("expit", [-inf, inf, 0], [0, 1, 0.5]), ("i0", [inf, -inf, nan], [inf, inf, nan]),
        ("k0", [0, inf, -1], [inf, 0, nan]), ("exp10", [-inf, inf, 400], [0, inf, inf]),
        ("sindg", [180, 360, 90], [0, 0, 1]),
    ):  # fmt: skip
        cases.append((name, getattr(nl.special, name)(args), want))
    nl.evaluate(*(got for _, got, _ in cases))
    for name, got, want in cases:
        np.testing.assert_allclose(got.get(), want, rtol=1e-15, atol=1e-16, err_msg=name)


def test_types_and_forms_of_arguments() -> None:
    for dtype in "?bBhHiIqQefd":
        x, want = nl.ones(3, dtype), np.dtype("f" if dtype in "ef" else "d")
        assert nl.special.erf(x).dtype == nl.special.xlogy(x, 2.0).dtype == want, dtype
        assert nl.special.gammaincinv(x, 0.5).dtype == want, dtype
        if dtype not in "?bBhHe":  # SciPy 1.18 computes small integers in float32, releases before it in float64.
            assert special.erf(np.ones(3, dtype)).dtype == want, dtype
    with pytest.raises(TypeError, match="real"):
        nl.special.erf(nl.ones(2, "F"))
    with pytest.raises(TypeError, match="2 positional"):
        nl.special.xlogy(1.0)
    assert nl.special.erf(0).dtype == np.float64
    assert nl.special.erf(np.float32(0)).dtype == np.float32
    assert nl.special.erf([[0, 1]]).shape == (1, 2)
    assert nl.special.erf(nl.zeros((0, 3))).shape == (0, 3)
    assert nl.special.xlogy(nl.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert nl.special.erf(nl.asarray(np.ones((3, 4), order="F"))[::-1]).strides == (8, 24)
    assert nl.special.digamma is nl.special.psi
    assert pickle.loads(pickle.dumps(nl.special.erf)) is nl.special.erf


def test_out_and_where() -> None:
    x = nl.asarray([0.0, 1.0, 2.0])
    out = nl.full(3, 7.0)
    assert nl.special.erf(x, out=out, where=x > 0.5) is out
    np.testing.assert_allclose(out.get(), [7, *special.erf([1.0, 2.0])], rtol=1e-15)
    assert nl.special.erf(x, out) is out
    np.testing.assert_allclose(out.get(), special.erf(x.get()), rtol=1e-15)
    with pytest.raises(ValueError, match="broadcast"):
        nl.special.erf(x, out=nl.zeros(4))
    with pytest.raises(TypeError, match="cast"):
        nl.special.erf(x, out=nl.zeros(3, int))
    assert nl.special.erf(x, dtype="f4").dtype == np.float32


@pytest.mark.skipif(
    nl.config.eager or nl.config.executor != "fused", reason="counts are those of the fused executor, not eager"
)
def test_they_fuse_with_what_surrounds_them() -> None:
    x = nl.asarray(np.linspace(0, 1, 50))
    nl.synchronize()
    with assert_kernels(1):
        nl.evaluate((nl.special.expit(x * 2) + nl.special.erf(x)).sum())


def test_functions_of_the_host() -> None:
    for name, nin in ON_HOST.items():
        args = [np.array([0.25, 0.5, 0.75]), *[np.array([0.5, 0.25, 0.75])] * (nin - 1)]
        if name in ("expn", "kn", "yn", "jn", "lpmv", "bdtri", "nbdtri", "pdtri"):
            args = [np.array([1.0, 2.0, 1.0]), *[np.array([2.0, 3.0, 2.0])] * (nin - 2), np.array([0.5, 0.25, 0.75])]
        with np.errstate(all="ignore"):
            want = getattr(special, name)(*args)
        np.testing.assert_array_equal(getattr(nl.special, name)(*map(nl.asarray, args)).get(), want, err_msg=name)
    assert nl.special.binom(nl.ones((2, 1)), [1.0, 0.0]).shape == (2, 2)


def test_scipy_finds_them_by_the_array_api() -> None:
    if not hasattr(nl.ndarray, "__array_namespace__"):
        pytest.skip("arrays have no namespace yet")
    code = (
        "import numpy, numloom, scipy.special as s; x = numloom.asarray([0.25, 0.5]); host = numpy.array([0.25, 0.5])\n"
        "for name in ('erf', 'expit', 'gammaln', 'j0', 'betaincinv', 'logit', 'zetac', 'softmax', 'logsumexp'):\n"
        "    args = (host,) * (3 if name == 'betaincinv' else 1)\n"
        "    got = getattr(s, name)(*(x,) * len(args))\n"
        "    assert type(got) is numloom.ndarray, name\n"
        "    numpy.testing.assert_allclose(got.get(), getattr(s, name)(*args), rtol=1e-12)\n"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"}, timeout=120)


def test_binomials_of_small_numbers() -> None:
    """Of a whole k and a small n, which is lost beside k: n (1 - n) (2 - n) ... / k!, with a changing sign."""
    mpmath = pytest.importorskip("mpmath")
    for n in (1e-20, -1e-20, 1e-300, 1e-9, -3e-9, 2e-8, 0.5):
        for k in (1.0, 2.0, 3.0, 4.0, 19.0, 20.0, 25.0, 60.0, 0.5, 2.5):
            with mpmath.workdps(340):
                want = float(mpmath.binomial(mpmath.mpf(n), mpmath.mpf(k)))
            np.testing.assert_allclose(nl.special.binom(n, k).item(), want, rtol=1e-11, err_msg=f"{n} {k}")
