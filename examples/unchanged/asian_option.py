"""The price of an option on an average, by simulation, with the geometric average as control variate.

An ordinary NumPy program. Run it as it is, or with numpy served by numloom (whose random numbers are another stream,
so that prices differ within their errors):

    python examples/unchanged/asian_option.py 100000
    python -m numloom run examples/unchanged/asian_option.py 100000
"""

import json
import math
import sys
from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import norm


@dataclass
class Option:
    """A call on the average of the prices at the end of each week."""

    spot: float = 100.0
    strike: float = 102.0
    rate: float = 0.03
    volatility: float = 0.25
    years: float = 1.0
    weeks: int = 52

    @property
    def times(self) -> np.ndarray:
        return np.arange(1, self.weeks + 1) * (self.years / self.weeks)


def paths(option: Option, count: int, rng: np.random.Generator) -> np.ndarray:
    """Simulated prices, one path a row; each with its mirror image."""
    dt = option.years / option.weeks
    shocks = rng.standard_normal((count // 2, option.weeks))
    shocks = np.concatenate([shocks, -shocks])
    drift = (option.rate - option.volatility**2 / 2) * dt
    return option.spot * np.exp(np.cumsum(drift + option.volatility * np.sqrt(dt) * shocks, axis=1))


def geometric_price(option: Option) -> float:
    """The exact price where the average is the geometric one."""
    t = option.times
    mean = np.log(option.spot) + (option.rate - option.volatility**2 / 2) * t.mean()
    variance = option.volatility**2 * np.minimum.outer(t, t).mean()
    d1 = (mean - math.log(option.strike) + variance) / math.sqrt(variance)
    forward = math.exp(mean + variance / 2)
    d2 = d1 - math.sqrt(variance)
    return math.exp(-option.rate * option.years) * (forward * norm.cdf(d1) - option.strike * norm.cdf(d2))


def price(option: Option, count: int, rng: np.random.Generator) -> dict[str, float]:
    """Price and standard error, plain and with the control variate."""
    prices = paths(option, count, rng)
    discount = math.exp(-option.rate * option.years)
    plain = discount * np.maximum(prices.mean(axis=1) - option.strike, 0)
    control = discount * np.maximum(np.exp(np.log(prices).mean(axis=1)) - option.strike, 0)

    covariance = np.cov(plain, control)
    beta = covariance[0, 1] / covariance[1, 1]
    better = plain - beta * (control - geometric_price(option))
    quartiles = np.quantile(prices[:, -1], [0.25, 0.5, 0.75])
    return {
        "plain": float(plain.mean()),
        "plain_error": float(plain.std(ddof=1) / np.sqrt(count)),
        "price": float(better.mean()),
        "error": float(better.std(ddof=1) / np.sqrt(count)),
        "beta": float(beta),
        "in_the_money": float(np.count_nonzero(plain) / count),
        "quartiles": [round(float(q), 2) for q in quartiles],
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    option = Option()
    rng = np.random.default_rng(2024)
    result = price(option, count, rng)
    print(json.dumps({"option": asdict(option), "paths": count, **result}, indent=1))
    gain = (result["plain_error"] / result["error"]) ** 2
    print(f"the control variate is worth {gain:.0f} times as many paths", file=sys.stderr)


if __name__ == "__main__":
    main()
