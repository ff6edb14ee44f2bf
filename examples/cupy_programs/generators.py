"""Random numbers: seeds, states, dtypes, generators by their names, and moments of what is drawn."""

import cupy as cp
import numpy as np

N = 20000


def seeds():
    cp.random.seed(11)
    first = cp.random.rand(4, 5, dtype=cp.float32)
    cp.random.seed(11)
    assert (cp.random.rand(4, 5, dtype=cp.float32) == first).all()
    assert first.dtype == cp.float32 and first.shape == (4, 5)
    state = cp.random.RandomState(seed=2**40 + 3)
    kept = cp.random.get_random_state()
    cp.random.set_random_state(state)
    assert cp.random.get_random_state() is state
    x = cp.random.random_sample(10)
    cp.random.set_random_state(kept)
    assert not (cp.random.random_sample(10) == x).all()
    state.seed(2**40 + 3)
    assert (state.random_sample(10) == x).all()
    cp.random.reset_states()


def moments():
    """Means and variances within five standard errors."""
    state = cp.random.RandomState(5)
    draws = [
        (state.uniform(-1, 3, N), 1.0, 16 / 12),
        (state.normal(2, 0.5, N, dtype=cp.float32), 2.0, 0.25),
        (state.exponential(3.0, N), 3.0, 9.0),
        (state.gamma(2.0, 1.5, N), 3.0, 4.5),
        (state.beta(2.0, 3.0, N), 0.4, 0.04),
        (state.binomial(20, 0.25, N), 5.0, 3.75),
        (state.poisson(lam=4.0, size=N), 4.0, 4.0),
        (state.laplace(1.0, 2.0, N), 1.0, 8.0),
        (state.randint(0, 10, N), 4.5, 8.25),
        (cp.random.standard_normal(N, dtype=cp.float32), 0.0, 1.0),
        (cp.random.triangular(0, 1, 2, N), 1.0, 1 / 6),
        (cp.random.lognormal(0, 0.25, N), np.exp(0.03125), (np.exp(0.0625) - 1) * np.exp(0.0625)),
    ]
    for drawn, mean, variance in draws:
        assert drawn.shape == (N,)
        assert abs(float(drawn.mean()) - mean) < 5 * np.sqrt(variance / N), (mean, float(drawn.mean()))
        assert abs(float(drawn.astype(float).var()) / variance - 1) < 0.2
    assert draws[1][0].dtype == cp.float32 and draws[5][0].dtype.kind == "i"


def orders():
    x = cp.arange(100)
    cp.random.shuffle(x)
    assert not (x == cp.arange(100)).all() and (cp.sort(x) == cp.arange(100)).all()
    mixed = cp.random.permutation(50)
    assert (cp.sort(mixed) == cp.arange(50)).all()
    chosen = cp.random.choice(10, 6, replace=False)
    assert len(set(chosen.get().tolist())) == 6
    weighted = cp.random.choice(cp.asarray([1, 2, 3]), size=1000, p=cp.asarray([0.0, 0.25, 0.75]))
    assert int((weighted == 1).sum()) == 0 and int((weighted == 3).sum()) > int((weighted == 2).sum())
    vectors = cp.random.multivariate_normal(cp.zeros(2), cp.asarray([[2.0, 1.0], [1.0, 2.0]]), 5000, method="cholesky")
    np.testing.assert_allclose(cp.cov(vectors.T).get(), [[2, 1], [1, 2]], atol=0.3)


def generators():
    for kind in (cp.random.XORWOW, cp.random.MRG32k3a, cp.random.Philox4x3210):
        rng = cp.random.Generator(kind(7))
        again = cp.random.Generator(kind(seed=7))
        x = rng.random(1000, dtype=cp.float32)
        assert (x == again.random(1000, dtype=cp.float32)).all() and not (rng.random(1000) == x).any()
        assert x.dtype == cp.float32 and float(x.min()) >= 0 and float(x.max()) <= 1
        whole = rng.integers(0, 6, size=(100, 10), endpoint=True)
        assert whole.shape == (100, 10) and int(whole.max()) == 6 and int(whole.min()) == 0
        assert rng.standard_normal(10, dtype=cp.float32).dtype == cp.float32
        assert abs(float(rng.uniform(2, 4, N).mean()) - 3) < 0.05
        assert abs(float(rng.poisson(3.0, N).mean()) - 3) < 0.1
        out = cp.empty(8, dtype=cp.float64)
        rng.standard_exponential(out=out)
        assert float(out.min()) >= 0 and float(out.max()) > 0
    rng = cp.random.default_rng(1)
    assert (rng.random(3) == cp.random.default_rng(1).random(3)).all()


if __name__ == "__main__":
    seeds()
    moments()
    orders()
    generators()
    print("random: seeds, moments, orders and generators are as they should be")
