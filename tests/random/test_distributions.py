"""Distributions: NumPy's arguments, shapes and errors; scipy's distribution functions; the same bits everywhere."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import stats

import numloom as nl
from numloom.testing import assert_array_equal, assert_bits_equal, assert_kernels

COUNT = 5000
INF, NAN = np.inf, np.nan


def rng(seed: int = 7) -> Any:
    return nl.random.default_rng(seed)


# --- statistics -----------------------------------------------------------------------------------

CONTINUOUS = [
    ("gamma", (0.01, 2), stats.gamma(0.01, scale=2)), ("gamma", (0.6,), stats.gamma(0.6)),
    ("gamma", (2.5, 3), stats.gamma(2.5, scale=3)), ("standard_gamma", (1e6,), stats.gamma(1e6)),
    ("beta", (0.3, 0.4), stats.beta(0.3, 0.4)), ("beta", (1e4, 50), stats.beta(1e4, 50)),
    ("chisquare", (3.5,), stats.chi2(3.5)), ("noncentral_chisquare", (0.7, 5), stats.ncx2(0.7, 5)),
    ("noncentral_chisquare", (2.7, 5), stats.ncx2(2.7, 5)), ("f", (3, 7), stats.f(3, 7)),
    ("noncentral_f", (3, 7, 2), stats.ncf(3, 7, 2)), ("standard_t", (2.5,), stats.t(2.5)),
    ("power", (2.5,), stats.powerlaw(2.5)), ("triangular", (-1, 0, 3), stats.triang(0.25, -1, 4)),
    ("wald", (2, 3), stats.invgauss(2 / 3, scale=3)), ("wald", (2000, 0.3), stats.invgauss(2000 / 0.3, scale=0.3)),
    ("vonmises", (0, 0), stats.uniform(-np.pi, 2 * np.pi)), ("vonmises", (0, 0.1), stats.vonmises(0.1)),
    ("vonmises", (0, 4), stats.vonmises(4)), ("vonmises", (0, 1e7), stats.norm(0, 1e7**-0.5)),
    ("vonmises", (0, 1e13), stats.norm(0, 1e13**-0.5)),
]  # fmt: skip

DISCRETE = [
    *(("poisson", (lam,), stats.poisson(lam)) for lam in (0.01, 3, 9.99, 10, 15, 1e5)),
    *(
        ("binomial", (n, p), stats.binom(n, p))
        for n, p in ((5, 0.3), (20, 0.5), (100, 0.95), (1000, 0.02), (10**6, 0.3), (10**12, 1e-11))
    ),
    *(
        ("hypergeometric", (good, bad, drawn), stats.hypergeom(good + bad, good, drawn))
        for good, bad, drawn in ((5, 6, 4), (50, 60, 40), (50, 60, 100), (500, 30, 100), (10**5, 10**6, 10**4))
    ),
    *(("geometric", (p,), stats.geom(p)) for p in (0.9, 0.3, 1e-6)),
    *(("logseries", (p,), stats.logser(p)) for p in (0.1, 0.6, 0.99)),
    *(("zipf", (a,), stats.zipf(a)) for a in (1.5, 2.0, 4.0)),
    *(("negative_binomial", (n, p), stats.nbinom(n, p)) for n, p in ((3, 0.2), (0.5, 0.5), (1000, 0.01))),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters", "law"), CONTINUOUS, ids=lambda x: str(x) if isinstance(x, (str, tuple)) else "law"
)
def test_continuous(name: str, parameters: tuple[Any, ...], law: Any) -> None:
    x = getattr(rng(), name)(*parameters, size=COUNT)
    assert x.dtype == np.float64
    assert stats.kstest(x.get(), law.cdf).pvalue > 1e-3


def chi_square(values: np.ndarray[Any, Any], law: Any) -> float:
    """Probability of counts as uneven as these or more."""
    ends = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    expected = np.diff(np.concatenate([[0], law.cdf(ends), [1]])) * values.size
    counts = np.histogram(values, np.concatenate([[-1e30], ends + 0.5, [1e30]]))[0]
    kept = expected > 3
    excess = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    return float(stats.chi2.sf(excess, max(kept.sum() - 1, 1)))


@pytest.mark.parametrize(
    ("name", "parameters", "law"), DISCRETE, ids=lambda x: str(x) if isinstance(x, (str, tuple)) else "law"
)
def test_discrete(name: str, parameters: tuple[Any, ...], law: Any) -> None:
    x = getattr(rng(), name)(*parameters, size=COUNT)
    assert x.dtype == np.int64
    assert chi_square(x.get(), law) > 1e-3


def test_vectors() -> None:
    chances = [0.1, 0.2, 0.3, 0.15, 0.25]
    x = rng().multinomial(50, chances, COUNT).get()
    assert (x.sum(-1) == 50).all()
    assert min(chi_square(x[:, k], stats.binom(50, p)) for k, p in enumerate(chances)) > 1e-3
    assert abs(np.cov(x.T) - 50 * (np.diag(chances) - np.outer(chances, chances))).max() < 0.6
    colours = [5, 10, 15, 8, 2]
    x = rng().multivariate_hypergeometric(colours, 12, COUNT).get()
    assert (x.sum(-1) == 12).all() and (x <= colours).all()
    assert min(chi_square(x[:, k], stats.hypergeom(40, c, 12)) for k, c in enumerate(colours)) > 1e-3
    x = rng().dirichlet([0.5, 2, 0.01], COUNT).get()
    assert abs(x.sum(-1) - 1).max() < 1e-12
    assert stats.kstest(x[:, 1], stats.beta(2, 0.51).cdf).pvalue > 1e-3
    for method in ("svd", "eigh", "cholesky"):
        x = rng().multivariate_normal([1, 2], [[2, 0.7], [0.7, 1]], COUNT, method=method).get()
        assert abs(np.cov(x.T) - [[2, 0.7], [0.7, 1]]).max() < 0.15
        assert abs(x.mean(0) - [1, 2]).max() < 0.1
    trials = rng().multinomial([[10], [1000]], [[0.5, 0.5], [0.9, 0.1]]).get()
    assert trials.shape == (2, 2, 2) and (trials.sum(-1) == [[10, 10], [1000, 1000]]).all()
    assert_array_equal(rng().multinomial(9, nl.asarray([0.2, 0.3, 0.5]), 4), rng().multinomial(9, [0.2, 0.3, 0.5], 4))


# --- the same bits everywhere ---------------------------------------------------------------------

EXACT = [
    ("gamma", (1.5,)), ("gamma", (0.2,)), ("standard_gamma", (3.0,)), ("chisquare", (0.5,)), ("wald", (1.0, 2.0)),
    ("noncentral_chisquare", (0.5, 9.0)), ("poisson", (3.0,)), ("poisson", (50.0,)), ("binomial", (9, 0.7)),
    ("binomial", (900, 0.3)), ("hypergeometric", (9, 5, 6)), ("hypergeometric", (900, 500, 600)), ("geometric", (0.2,)),
    ("logseries", (0.9,)), ("zipf", (1.7,)), ("negative_binomial", (4.0, 0.3)), ("triangular", (0.0, 1.0, 3.0)),
    ("integers", (2**62 + 5,)), ("random", ()), ("beta", (0.5, 2.0)), ("beta", (3.0, 2.0)), ("normal", (3.0, 2.0)),
    ("exponential", (2.0,)),
]  # fmt: skip
CLOSE = [("vonmises", (1.0, 2.0)), ("weibull", (3.0,)), ("standard_t", (3.0,)), ("f", (3.0, 4.0)), ("power", (2.0,))]


def test_executors_agree() -> None:
    """Decisions are made by exact arithmetic, so the device's numbers are NumPy's to the bit."""
    for name, parameters in EXACT + CLOSE:
        x = getattr(rng(), name)(*parameters, size=(40, 3))
        with nl.config(executor="reference"):
            y = getattr(rng(), name)(*parameters, size=(40, 3)).get()
        if (name, parameters) in EXACT:
            assert_bits_equal(x, y)
        else:
            np.testing.assert_allclose(x.get(), y, rtol=1e-13, atol=1e-14, err_msg=name)


def test_draws_are_elements_of_one_stream() -> None:
    whole, parts = rng(), rng()
    x = whole.poisson(4.0, 60).get()
    pieces = [parts.poisson(4.0, 7), parts.poisson(4.0, (3, 5)), parts.poisson(4.0), parts.poisson([4.0] * 37)]
    assert np.concatenate([np.ravel(piece.get()) for piece in pieces]).tolist() == x.tolist()


@pytest.mark.skipif(nl.config.eager or nl.config.executor != "fused", reason="counts are those of the fused executor")
def test_samplers_fuse() -> None:
    """Compiled and interpreted, one kernel: two samplers and what follows."""
    totals = []
    for mode in ("never", "wait"):
        with nl.config(cpu_compile=mode), assert_kernels(1):
            g = rng()
            totals.append(float((g.gamma(2.0, 1.0, 3000) * g.poisson(3.0, 3000) + 1).sum()))
    assert totals[0] == totals[1]
    assert abs(totals[0] / 3000 - 7) < 0.5


# --- arguments ------------------------------------------------------------------------------------

DRAWS: dict[str, list[tuple[Any, ...]]] = {
    "beta": [(-1, 1), (0, 1), (NAN, 1), ([0.0, 1], 1), ([1, 2], [[3], [4]]), (1, 2, (3, 2))],
    "binomial": [
        (-1, 0.5), (3, 1.5), (3, NAN), ([3, -1], 0.5), (3, [0.5, -1]), (3.5, 0.5), (2**63, 0.5), (NAN, 0.5),
        ("a", 0.5), ([3.5], 0.5), (None, 0.5), (0, 0.5), (5, 1), (5, 0),
    ],
    "chisquare": [(0,), ([0, 1],), (NAN,)],
    "dirichlet": [([-1, 1],), ([0, 1],), (3,), ([],), ([0, 0],), ([1, 2], 3), ([1, 2], (2, 3)), ([1, 2], -1)],
    "exponential": [(-1,), (-0.0,), (NAN,)],
    "f": [(0, 1), (1, 0), ([1, 2], 3)],
    "gamma": [(-1,), (1, -1), (NAN,), ([1, 2], [[1], [2]]), (0,)],
    "geometric": [(0,), (1.5,), (NAN,), ([0.5, 0],), (1,)],
    "gumbel": [(0, -1), ([0, 1], 1)],
    "hypergeometric": [
        (-1, 1, 1), (1, -1, 1), (1, 1, -1), (1, 1, 3), (10**9, 1, 1), ([1], 1, 3), (1.5, 2, 1), ([5, 6], [[7], [8]], 3),
        (0, 0, 0), (3, 2, 5),
    ],
    "integers": [
        (0,), (5, 5), (0, 300, None, "i1"), (0, 5, None, "f8"), ([0, 5], [5, 5]), (0, 2.5), (0, NAN), ([0.5], [3.5]),
        (2**64,), (0, 5, -1), ([1, 2], [[3], [4]], (2, 2)), (3, None, 2, "M8[s]"), (0, 2, 3, bool), (-1, 3, 2, "u8"),
        (2**63, 2**64, 2, "u8"), (5, 5, None, "i8", True), (0, 0, None, "i8", True), (-3, None, 2, "i8", True),
    ],
    "laplace": [(0, -1)],
    "logistic": [(0, -1)],
    "lognormal": [(0, -1)],
    "logseries": [(1.0,), (-0.1,), (NAN,), (0,)],
    "multinomial": [
        (-1, [0.5, 0.5]), (3, [0.5, 0.7]), (3, [-0.1, 0.5]), (3, [NAN, 0.5]), ([1, -1], [0.5, 0.5]), (3, 0.5), (3, []),
        (3, [0.9, 0.9, 0.1]), (3, [1.0]), ([3, 4], [0.5, 0.5], (5, 2)), ([[3], [4]], [[0.5, 0.5], [0.1, 0.9]]),
        (5, [0.2] * 5, (2, 3)), (5, [0.2] * 5, ()), (0, [0.5, 0.5]),
    ],
    "multivariate_hypergeometric": [
        ([1, 2], 4), ([-1, 2], 1), ([1, 2], -1), ([[1, 2]], 1), ([1.5, 2], 1), ([1, 2], 1.5), ([1, 2], 1, None, "x"),
        ([10**9, 1], 1), ([], 0), ([3, 4, 5], 6, (2,)), ([3, 4, 5], 12), ([3, 4, 5], 0, 3), ([3, 4], 2, None, "count"),
    ],
    "multivariate_normal": [
        ([0, 0], [[1, 0], [0, 1], [0, 0]]), ([0], [[1, 0], [0, 1]]), ([[0, 0]], [[1, 0], [0, 1]]), ([0, 0], [1, 1]),
        ([0, 0], [[1, 2], [2, 1]], None, "raise"), ([0, 0], [[1, 2], [2, 1]], None, "x"),
        ([0, 0], [[1, 0], [0, 1]], (2, 3)), ([0, 1j], [[1, 0], [0, 1]]),
    ],
    "negative_binomial": [(0, 0.5), (-1, 0.5), (1, 0), (1, 1.5), (1, 1), (1, NAN), (1e300, 0.5), ([1, 2], 0.5)],
    "noncentral_chisquare": [(0, 1), (1, -1), (1, 0), (1, NAN)],
    "noncentral_f": [(0, 1, 1), (1, 0, 1), (1, 1, -1), (1, 2, [3, 4])],
    "normal": [
        (0, -1), (0, -0.0), (0, NAN), ("a",), (1j,), (None,), (np.zeros(3), 1, (4, 3)), (np.zeros((3, 1)), np.ones(2)),
        (np.zeros(0),), ([True, False],), (np.float32(3), np.ones(2, "f4")),
    ],
    "pareto": [(0,), (-1,), ([1, 2],)],
    "poisson": [(-1,), (1e19,), (NAN,), ([-1, 1],), (1, (2, -1)), (0,), ([[1, 2]], (3, 2))],
    "power": [(0,), (-1,)],
    "random": [(-1,), (2.5,), ((2, "a"),), (None, "i4"), (3, "f4"), ((),), (0,)],
    "rayleigh": [(-1,), (0,)],
    "standard_cauchy": [((2, 2),)],
    "standard_exponential": [(3, "f4", "inv")],
    "standard_gamma": [(-1,), (-0.0,), ([1, 2], None, "f4"), (1, None, "i4")],
    "standard_normal": [(3, "f4"), (3, "f2")],
    "standard_t": [(0,), ([3, 2], (3, 2))],
    "triangular": [(0, 2, 1), (1, 0, 2), (1, 1, 1), (0, [0.5, 3], 1), (0, [0.0, 1], 1)],
    "uniform": [(0, INF), (1, 0), (0, [1, INF]), (0, [1, 2]), ([1], [0])],
    "vonmises": [(0, -1), (0, INF), (NAN, 1), ([1, 2], 0)],
    "wald": [(0, 1), (1, 0), (-1, 1), ([1, 2], 1)],
    "weibull": [(-1,), (0,), ([0, 1.0],)],
    "zipf": [(1,), (NAN,), (0.5,), ([1, 2],), (2000,)],
}  # fmt: skip


def outcome(generator: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """Kind of a draw: shape, dtype and where it is NaN; or its error."""
    try:
        result = getattr(generator, name)(*arguments)
    except Exception as error:
        # Texts of conversions are Python's; those about values are NumPy's own.
        return type(error), str(error)[:40] if type(error) is ValueError else ""
    host = result.get() if isinstance(result, nl.ndarray) else np.asarray(result)
    return host.shape, host.dtype, np.isnan(host.astype(float)).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DRAWS)
def test_arguments(name: str) -> None:
    theirs, ours = np.random.default_rng(0), rng(0)
    for arguments in DRAWS[name]:
        assert outcome(ours, name, arguments) == outcome(theirs, name, arguments), arguments


def test_sizes_that_do_not_fit() -> None:
    for name, arguments in (
        ("normal", (np.zeros(3), 1, 4)), ("normal", (np.zeros(3), 1, (4, 1))), ("standard_t", ([3, 2], 3)),
        ("multinomial", ([3, 4], [0.5, 0.5], 3)), ("multinomial", ([3, 4, 5], [[0.5, 0.5], [0.1, 0.9]])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"compatible|broadcast"):
            getattr(rng(), name)(*arguments)


@pytest.mark.parametrize("kind", ["Generator", "RandomState"])
def test_signatures_are_those_of_numpy(kind: str) -> None:
    theirs, ours = getattr(np.random, kind), getattr(nl.random, kind)
    for name in dir(theirs):
        if name.startswith("_"):
            continue
        assert hasattr(ours, name), name
        if callable(getattr(ours, name)):
            one, two = (
                [(p.name, p.kind, str(p.default)) for p in inspect.signature(getattr(c, name)).parameters.values()]
                for c in (ours, theirs)
            )
            assert one == two, name


# --- parameters on the device ---------------------------------------------------------------------


def test_parameters_on_the_device_give_the_same_numbers() -> None:
    for name, parameters in (
        ("gamma", ([0.5, 2.0], 3.0)), ("poisson", ([1.0, 50.0],)), ("binomial", ([5, 500], [0.3, 0.7])),
        ("hypergeometric", ([5, 500], 9, 7)), ("uniform", ([1.0, 2.0], 3.0)), ("triangular", ([0.0, 1.0], 2.0, 3.0)),
        ("weibull", ([0.0, 2.0],)), ("integers", ([1, 2], 50)), ("negative_binomial", ([2.0, 3.0], 0.5)),
        ("dirichlet", ([0.5, 2.0],)), ("normal", ([0.5, 2.0], [1.0, 2.0])), ("vonmises", ([0.5, 2.0], 1.0)),
    ):  # fmt: skip
        held = [nl.asarray(x) if isinstance(x, list) else x for x in parameters]
        assert_array_equal(getattr(rng(), name)(*held), getattr(rng(), name)(*parameters).get())


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("poisson", ([1.0, -1.0],), ValueError, "lam < 0 or lam contains NaNs"),
        ("normal", (0.0, [1.0, -1.0]), ValueError, "scale < 0"),
        ("binomial", ([-1, 2], 0.5), ValueError, "n < 0"),
        ("hypergeometric", ([1, 2], 3, 5), ValueError, "nsample"),
        ("uniform", (0.0, [1.0, INF]), OverflowError, "Range exceeds"),
        ("integers", ([1, 7], 5), ValueError, "low >= high"),
        ("integers", ([1, -7], 5, None, "u1"), ValueError, "low is out of bounds for uint8"),
        ("integers", (0, [1, 257], None, "u1"), ValueError, "high is out of bounds for uint8"),
        ("choice", (2, 3, True, [0.4, 0.4]), ValueError, "do not sum to 1"),
    ],
)
def test_parameters_on_the_device_are_checked_when_looked_at(
    name: str, parameters: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    held = [nl.asarray(x) if isinstance(x, list) else x for x in parameters]
    found = complaint(name, held)
    # A complaint from a kernel names the line that recorded the draw.
    assert found.startswith(f"{error.__name__}: ") and message in found and "test_distributions.py" in found
    assert rng().random(2).get().size == 2  # and it is not raised again


def complaint(name: str, parameters: list[Any]) -> str:
    """The error of a draw that is looked at; nothing holds the draw afterwards."""
    try:
        getattr(rng(), name)(*parameters).get()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def test_out() -> None:
    for name, arguments in (
        ("random", ()), ("standard_normal", ()), ("standard_exponential", ()), ("standard_gamma", ([0.5, 1, 2],)),
    ):  # fmt: skip
        for dtype in ("f4", "f8"):
            out = nl.zeros((2, 3), dtype)
            assert getattr(rng(), name)(*arguments, dtype=dtype, out=out) is out
            assert_array_equal(out, getattr(rng(), name)(*arguments, (2, 3), dtype).get())
        draw = getattr(rng(), name)
        with pytest.raises(TypeError, match="wrong type"):
            draw(*arguments, out=nl.zeros(3, "f4"))
        with pytest.raises(TypeError, match="numloom array"):
            draw(*arguments, out=np.zeros(3))
        with pytest.raises(ValueError, match="contiguous"):
            draw(*arguments, out=nl.zeros((2, 6))[:, ::2])
        with pytest.raises(ValueError, match="size must match"):
            draw(*arguments, size=(3, 3), out=nl.zeros((2, 3)))
