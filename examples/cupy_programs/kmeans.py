"""k-means: points to the nearest of k centres, by array functions; NumPy and CuPy alike."""

import cupy as cp
import numpy as np


def cluster(points, k, steps):
    xp = cp.get_array_module(points)
    centres = points[:k].copy()
    for _ in range(steps):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = xp.argmin(distances, axis=1)
        sums = xp.zeros_like(centres)
        counts = xp.bincount(nearest, minlength=k)
        for axis in range(points.shape[1]):
            sums[:, axis] = xp.bincount(nearest, weights=points[:, axis], minlength=k)
        centres = sums / xp.maximum(counts, 1)[:, None]
    return nearest, centres


if __name__ == "__main__":
    random = np.random.default_rng(3)
    host = np.concatenate([random.normal(where, 0.3, (200, 2)) for where in ((0, 0), (3, 3), (0, 4))])
    host = host[random.permutation(len(host))]
    found, centres = cluster(cp.asarray(host), 3, 10)
    expected, host_centres = cluster(host, 3, 10)
    assert isinstance(found, cp.ndarray)
    assert (cp.asnumpy(found) == expected).all()
    np.testing.assert_allclose(centres.get(), host_centres, rtol=1e-12)
    print("k-means: clusters of", *sorted(np.bincount(expected)))
