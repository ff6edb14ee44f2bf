# ruff: noqa: D103 (the expressions are the documentation)
"""The table of cases: each is a NumPy expression over an array namespace, with the least work that it needs.

A case's floor is the longer of moving its bytes (each input read once, each output written once)
and issuing its instructions. The namespaces are those of `benchmarks.libraries`: NumPy's names,
functions rather than methods where libraries disagree about methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
Inputs = Callable[[np.random.Generator], Arrays]


@dataclass(frozen=True)
class Case:
    """One row of the benchmark.

    Attributes
    ----------
    name : str
        Expression and size.
    inputs : callable
        ``inputs(rng)`` gives the arrays on the host.
    run : callable
        ``run(xp, *arrays)`` gives an array or a tuple of arrays.
    bytes : float
        Bytes of memory that any implementation moves.
    instructions : float
        Instructions that it issues on a GPU (exact arithmetic), where they can be the limit.
    small : bool
        Whether it belongs to the small set, which a laptop's CPU runs in a minute.
    functional : callable, optional
        The same for libraries whose arrays cannot be written.
    data_dependent : bool
        Whether the result's shape depends on values, so that a traced function cannot be compiled.
    """

    name: str
    inputs: Inputs
    run: Callable[..., Any]
    bytes: float = 0
    instructions: float = 0
    small: bool = False
    functional: Callable[..., Any] | None = None
    data_dependent: bool = False


def normal(*shapes: tuple[int, ...]) -> Inputs:
    """Inputs of standard normal float32."""
    return lambda rng: tuple(rng.standard_normal(shape, dtype=np.float32) for shape in shapes)


# ------------------------------------------------------------- the expressions


def generated(n: int) -> Callable[..., Any]:
    """Make a number for each element and transpose."""
    return lambda xp: xp.arange(n).reshape(1000, -1).T * 2


def exponential(xp: Any, x: Any) -> Any:
    return xp.exp(x)


def softplus(xp: Any, x: Any) -> Any:
    return xp.maximum(0, x) + xp.log1p(xp.exp(-xp.abs(x)))


def logsumexp(xp: Any, x: Any) -> Any:
    top = xp.max(x, axis=1, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - top), axis=1, keepdims=True)) + top


def row_norm(xp: Any, x: Any) -> Any:
    return xp.sqrt(xp.sum(x * x, axis=1))


def softmax(xp: Any, x: Any) -> Any:
    powers = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def layernorm(xp: Any, x: Any, gain: Any, bias: Any) -> Any:
    centred = x - xp.mean(x, axis=1, keepdims=True)
    variance = xp.mean(centred * centred, axis=1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * gain + bias


def normal_distribution(xp: Any, d: Any) -> Any:
    """Cumulative normal distribution by the polynomial of Abramowitz and Stegun, 26.2.17."""
    k = 1 / (1 + 0.2316419 * xp.abs(d))
    polynomial = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * xp.exp(-0.5 * d * d) * polynomial
    return xp.where(d > 0, 1 - tail, tail)


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    rate, volatility = 0.02, 0.3
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    n1, n2 = normal_distribution(xp, d1), normal_distribution(xp, d1 - spread)
    discounted = strike * xp.exp(-rate * years)
    return price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)


def options(n: int) -> Inputs:
    """Prices, strikes and years of n options, float32."""

    def inputs(rng: np.random.Generator) -> Arrays:
        ranges = ((5, 30), (1, 100), (0.25, 10))
        return tuple((low + (high - low) * rng.random(n, np.float32)).astype(np.float32) for low, high in ranges)

    return inputs


def heat(xp: Any, u: Any) -> Any:
    for _ in range(20):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def heat_functional(xp: Any, u: Any) -> Any:
    for _ in range(20):
        u = u.at[1:-1, 1:-1].add(0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]))
    return u


def logistic(xp: Any, x: Any, y: Any, w: Any) -> Any:
    b = xp.mean(y) * 0
    for _ in range(20):
        error = 1 / (1 + xp.exp(-(x @ w + b))) - y
        w = w - 0.1 * (x.T @ error) / 400
        b = b - 0.1 * xp.mean(error)
    return w, b


def logistic_inputs(rng: np.random.Generator) -> Arrays:
    x = rng.random((400, 784), np.float32)
    return x, (x.sum(axis=1) > 392).astype(np.float32), np.zeros(784, np.float32)


def add(xp: Any, a: Any, b: Any) -> Any:
    return a + b


def chain(xp: Any, a: Any, b: Any) -> Any:
    return (a * 2 + b) * a - b * b


def total(xp: Any, a: Any) -> Any:
    return xp.sum(a)


def centre_rows(xp: Any, a: Any) -> Any:
    return a - xp.mean(a, axis=1, keepdims=True)


def hundred_updates(xp: Any, x: Any) -> Any:
    for _ in range(100):
        x = x * 0.9 + 0.1
    return x


def standardise(xp: Any, x: Any) -> Any:
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


def variance(xp: Any, x: Any) -> Any:
    return xp.var(x)


def nearest_centre(xp: Any, points: Any, centres: Any) -> Any:
    return xp.argmin(xp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2), axis=1)


def gravity(xp: Any, x: Any, mass: Any) -> Any:
    d = x[None, :, :] - x[:, None, :]
    inverse = mass * (xp.sum(d * d, axis=2) + 0.01) ** -1.5
    return xp.sum(d * inverse[:, :, None], axis=1)


def mandelbrot(xp: Any, c: Any) -> Any:
    z = c * 0
    inside = xp.abs(c) * 0
    for _ in range(30):
        z = z * z + c
        inside = inside + (z.real * z.real + z.imag * z.imag < 4)
    return inside


def plane(n: int) -> Inputs:
    """Points of the complex plane, complex64."""

    def inputs(rng: np.random.Generator) -> Arrays:
        real, imaginary = np.linspace(-2, 0.6, n), np.linspace(-1.3, 1.3, n)
        return ((real + 1j * imaginary[:, None]).astype(np.complex64),)

    return inputs


def positive_sum(xp: Any, x: Any) -> Any:
    return xp.sum(xp.where(x > 0, x, 0))


def transposed_add(xp: Any, x: Any, y: Any) -> Any:
    return x.T + y


def select(xp: Any, x: Any) -> Any:
    return x[x > 0]


def rows_by_number(xp: Any, x: Any, numbers: Any) -> Any:
    return x[numbers]


def numbered_rows(n: int) -> Inputs:
    """A table of n rows of 64 float32, and n row numbers at random."""
    return lambda rng: (rng.standard_normal((n, 64), np.float32), rng.integers(0, n, n))


def take_rows(xp: Any, x: Any, numbers: Any) -> Any:
    return xp.take(x, numbers, axis=0)


def running_sum(xp: Any, x: Any) -> Any:
    return xp.cumsum(x)


def running_sums_of_rows(xp: Any, x: Any) -> Any:
    return xp.cumsum(x, axis=1)


def running_sums_of_columns(xp: Any, x: Any) -> Any:
    return xp.cumsum(x, axis=0)


def sort(xp: Any, x: Any) -> Any:
    return xp.sort(x)


def argsort(xp: Any, x: Any) -> Any:
    return xp.argsort(x)


def counts(xp: Any, x: Any) -> Any:
    return xp.bincount(x)


def distinct(xp: Any, x: Any) -> Any:
    return xp.unique(x)


def places(xp: Any, edges: Any, x: Any) -> Any:
    return xp.searchsorted(edges, x)


def histogram(xp: Any, x: Any) -> Any:
    return xp.histogram(x, 1000, (-5, 5))[0]


def whole_numbers(n: int, end: int) -> Inputs:
    """Integers (int64) from 0 to `end`, which is left out."""
    return lambda rng: (rng.integers(0, end, n),)


def shuffled(n: int) -> Inputs:
    """Different numbers (float32) in no order."""
    return lambda rng: (rng.permutation(n).astype(np.float32) - n // 2,)


def sorted_and_more(n: int, more: int) -> Inputs:
    """A sorted vector of float32, and more values in no order."""
    return lambda rng: (np.sort(rng.standard_normal(n, np.float32)), rng.standard_normal(more, np.float32))


# ------------------------------------------------------------------- the table


def _name(n: float) -> str:
    return f"{n:.0e}".replace("e+0", "e").replace("e+", "e")


def table() -> tuple[Case, ...]:
    """Every case, the most important first, so that a short run has them."""
    rows: list[Case] = []
    for n in (10**4, 10**6, 10**8):
        rows.append(
            Case(f"arange(n).reshape(1000,-1).T*2  {_name(n)}", lambda rng: (), generated(n), 8 * n, small=n < 10**8)
        )
    rows.append(Case("exp  230400", normal((230_400,)), exponential, 8 * 230_400, 10 * 230_400, small=True))
    for n in (10**4, 10**6, 10**7, 10**8):
        rows.append(Case(f"softplus  {_name(n)}", normal((n,)), softplus, 8 * n, 51 * n, small=n < 10**8))
    for n, small in ((1024, True), (8192, False)):
        rows.append(Case(f"logsumexp rows  {n}²", normal((n, n)), logsumexp, 4 * n * n, 12 * n * n, small))
        rows.append(Case(f"L2 norm rows  {n}²", normal((n, n)), row_norm, 4 * n * n, 2 * n * n, small))
    for rows_, columns, small in ((1024, 1024, True), (8192, 4096, False)):
        n = rows_ * columns
        size = f"{rows_}×{columns}"
        rows.append(Case(f"softmax  {size}", normal((rows_, columns)), softmax, 8 * n, 30 * n, small))
        shapes = ((rows_, columns), (columns,), (columns,))
        rows.append(Case(f"layernorm  {size}", normal(*shapes), layernorm, 8 * n, 24 * n, small))
    for n in (10**6, 10**7):
        rows.append(Case(f"Black–Scholes  {_name(n)}", options(n), black_scholes, 20 * n, 283 * n, small=n == 10**6))
    for n, small in ((1024, True), (4096, False)):
        rows.append(
            Case(
                f"heat in place, 20 steps  {n}²", normal((n, n)), heat, 20 * 8 * n * n, 20 * 8 * n * n, small,
                heat_functional,
            )
        )  # fmt: skip
    rows.append(Case("logistic regression 400×784, 20 steps", logistic_inputs, logistic, 0, 0, small=True))
    for n in (10, 1000):
        rows.append(Case(f"a+b  {n}", normal((n,), (n,)), add, small=True))
        rows.append(Case(f"(a*2+b)*a-b*b  {n}", normal((n,), (n,)), chain, small=True))
        rows.append(Case(f"a.sum()  {n}", normal((n,)), total, small=True))
    # Beyond the first list: where fusion across reductions, broadcasts and reads decides.
    for n, small in ((10**5, True), (10**6, False)):
        rows.append(Case(f"standardise columns  {_name(n)}×64", normal((n, 64)), standardise, 12 * 64 * n, 0, small))
    for n, small in ((10**6, True), (10**8, False)):
        rows.append(Case(f"var  {_name(n)}", normal((n,)), variance, 4 * n, 6 * n, small))
        rows.append(Case(f"where(x>0,x,0).sum()  {_name(n)}", normal((n,)), positive_sum, 4 * n, 3 * n, small))
        rows.append(Case(f"x[x>0]  {_name(n)}", normal((n,)), select, 6 * n, 0, small, data_dependent=True))
    for n, small in ((1024, True), (8192, False)):
        rows.append(Case(f"x.T+y  {n}²", normal((n, n), (n, n)), transposed_add, 12 * n * n, 0, small))
    rows.append(Case("x[i]  1e6×64", numbered_rows(10**6), rows_by_number, 520 * 10**6))
    rows.append(Case("take(x,i,0)  1e6×64", numbered_rows(10**6), take_rows, 520 * 10**6))
    for n, small in ((10**6, True), (10**8, False)):
        rows.append(Case(f"cumsum  {_name(n)}", normal((n,)), running_sum, 8 * n, 0, small))
    rows.append(Case("cumsum of rows  8192²", normal((8192, 8192)), running_sums_of_rows, 8 * 8192**2))
    rows.append(Case("cumsum of columns  8192²", normal((8192, 8192)), running_sums_of_columns, 8 * 8192**2))
    for n, small in ((10**5, True), (10**7, False)):
        # A pass of a sort by digits reads and writes once; float32 has four digits of 8 bits.
        rows.append(Case(f"sort  {_name(n)}", shuffled(n), sort, 36 * n, 0, small))
        rows.append(Case(f"argsort  {_name(n)}", shuffled(n), argsort, 72 * n, 0, small))
    for n, small in ((10**6, True), (10**7, False)):
        counted = whole_numbers(n, 1000)
        rows.append(Case(f"bincount into 1000  {_name(n)}", counted, counts, 16 * n, 0, small, data_dependent=True))
        rows.append(Case(f"histogram, 1000 bins  {_name(n)}", normal((n,)), histogram, 4 * n, 0, small))
        rows.append(Case(f"unique of 1000  {_name(n)}", counted, distinct, 8 * n, 0, small, data_dependent=True))
        rows.append(Case(f"searchsorted in 1e6  {_name(n)}", sorted_and_more(10**6, n), places, 12 * n, 0, small))
    rows.append(Case("a-a.mean(1)  64²", normal((64, 64)), centre_rows, small=True))
    rows.append(Case("x=x*0.9+0.1, 100 times  1000", normal((1000,)), hundred_updates, small=True))
    for n, small in ((10**4, True), (10**5, False)):
        inputs = normal((n, 32), (64, 32))
        rows.append(Case(f"nearest of 64 centres  {_name(n)}×32", inputs, nearest_centre, 136 * n, 6200 * n, small))
    for n, small in ((512, True), (8192, False)):
        rows.append(Case(f"n-body forces  {n}", normal((n, 3), (n,)), gravity, 28 * n, 47 * n * n, small))
    for n, small in ((256, True), (2048, False)):
        rows.append(Case(f"Mandelbrot, 30 steps  {n}²", plane(n), mandelbrot, 12 * n * n, 324 * n * n, small))
    return tuple(rows)


CASES = table()
