"""Lloyd's k-means: 40,000 points of 8 numbers in 12 clusters."""

import sys

import numpy as np

POINTS, DIMENSIONS, CLUSTERS, MOST = 40_000, 8, 12, 30


def data():
    """Points about 12 centres, from a sequence of low discrepancy."""
    k = np.arange(POINTS)[:, None]
    steps = np.sqrt(np.array([2, 3, 5, 7, 11, 13, 17, 19]))
    noise = (k * steps) % 1.0 - 0.5
    centres = 3.0 * ((np.arange(CLUSTERS)[:, None] * steps[::-1]) % 1.0)
    return centres[np.arange(POINTS) % CLUSTERS] + 3.0 * noise


def assign(points, centres):
    distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    labels = np.argmin(distance, axis=1)
    return labels, distance[np.arange(len(points)), labels].sum()


def main():
    points = data()
    centres = points[:CLUSTERS].copy()
    inertia = np.inf
    turns = 0
    for _ in range(MOST):
        turns += 1
        labels, total = assign(points, centres)
        for c in range(CLUSTERS):
            members = points[labels == c]
            if len(members):
                centres[c] = members.mean(axis=0)
        if inertia - total < 1e-9 * total:
            break
        inertia = total
    print("turns:", turns, "inertia:", round(float(total), 4), "sizes:", np.bincount(labels).tolist())
    return centres


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
