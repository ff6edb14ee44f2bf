"""A Gaussian mixture of two components with diagonal covariances, fitted by expectation and maximisation."""

import cupy as cp
import numpy as np


def log_density(xp, points, means, variances):
    scaled = (points[:, None, :] - means) ** 2 / variances
    return -0.5 * (scaled.sum(axis=2) + xp.log(2 * np.pi * variances).sum(axis=1))


def fit(points, means, steps):
    xp = cp.get_array_module(points)
    variances = xp.ones_like(means)
    weights = xp.full(len(means), 1 / len(means))
    for _ in range(steps):
        joint = log_density(xp, points, means, variances) + xp.log(weights)
        most = joint.max(axis=1, keepdims=True)
        shares = xp.exp(joint - most)
        shares /= shares.sum(axis=1, keepdims=True)
        totals = shares.sum(axis=0)
        means = shares.T.dot(points) / totals[:, None]
        variances = shares.T.dot(points**2) / totals[:, None] - means**2 + 1e-6
        weights = totals / len(points)
    return means, variances, weights


if __name__ == "__main__":
    cp.random.seed(0)
    low = cp.random.normal(-2.0, 0.5, size=(300, 2), dtype=cp.float64)
    high = cp.random.normal(2.0, 1.0, size=(100, 2), dtype=cp.float64)
    points = cp.concatenate([low, high])
    start = cp.asarray([[-1.0, 0.0], [1.0, 0.0]])
    means, variances, weights = fit(points, start, 20)
    host = fit(points.get(), start.get(), 20)
    for ours, theirs in zip((means, variances, weights), host, strict=True):
        np.testing.assert_allclose(cp.asnumpy(ours), theirs, rtol=1e-8)
    print("mixture: weights", cp.around(weights, 2).get())
