"""Wines and their chemistry: a table read from a file, principal components, clusters, a regression.

An ordinary program with NumPy, SciPy and scikit-learn (whose wine table it reads). Run it as it is, or with numpy
served by numloom:

    python examples/unchanged/wine_classes.py
    python -m numloom run examples/unchanged/wine_classes.py
"""

import csv
import sys
from pathlib import Path

import numpy as np
import sklearn.datasets
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

TABLE = Path(sklearn.datasets.__file__).parent / "data" / "wine_data.csv"
NAMES = np.array([
    "alcohol", "malic_acid", "ash", "alcalinity", "magnesium", "phenols", "flavanoids", "nonflavanoids",
    "proanthocyanins", "color", "hue", "od280", "proline",
])  # fmt: skip


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Measurements (one wine a row) and classes."""
    with open(path) as file:
        _, columns, *_ = next(csv.reader(file))
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    assert table.shape[1] == int(columns) + 1
    return table[:, :-1], table[:, -1].astype(int)


def components(data: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Principal components: scores, axes and the share of the variance of each."""
    centred = data - data.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(data) - 1))
    order = np.argsort(values)[::-1][:count]
    axes = vectors[:, order]
    # Signs are a matter of taste: the largest loading of each axis is positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(count)])
    return centred @ axes, axes, values[order] / values.sum()


def clusters(points: np.ndarray, count: int, rounds: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Lloyd's algorithm, from wines that lie far from each other."""
    centres = points[:1]
    while len(centres) < count:
        nearest = cdist(points, centres).min(axis=1)
        centres = np.vstack([centres, points[np.argmax(nearest)]])
    for _ in range(rounds):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        moved = np.array([points[labels == k].mean(axis=0) for k in range(count)])
        if np.allclose(moved, centres, rtol=0, atol=1e-12):
            break
        centres = moved
    return labels, centres


def main() -> None:
    data, classes = read(TABLE)
    print(f"{data.shape[0]} wines, {data.shape[1]} measurements, {np.bincount(classes)} in the classes")

    scaled = StandardScaler().fit_transform(data)
    by_hand = (data - data.mean(axis=0)) / data.std(axis=0)
    print("scaled as scikit-learn does:", np.allclose(scaled, by_hand))

    scores, axes, share = components(by_hand, 3)
    for k in range(3):
        strongest = NAMES[np.argsort(-np.abs(axes[:, k]))[:3]]
        print(f"component {k + 1}: {100 * share[k]:.2f} % of the variance; {', '.join(strongest)}")

    labels, centres = clusters(scores, 3)
    theirs = KMeans(3, init=np.asarray(centres), n_init=1).fit(scores)
    print(f"clusters against classes: {adjusted_rand_score(classes, labels):.4f}")
    print(f"scikit-learn from there:  {adjusted_rand_score(classes, theirs.labels_):.4f}")

    correlation, p = stats.pearsonr(data[:, 0], data[:, 9])
    print(f"{NAMES[0]} and {NAMES[9]}: r = {correlation:.4f}, p = {p:.2e}")

    design = np.column_stack([np.ones(len(data)), by_hand[:, [0, 9, 10]]])
    weights, *_ = np.linalg.lstsq(design, data[:, 12], rcond=None)
    residual = data[:, 12] - design @ weights
    r2 = 1 - residual.var() / data[:, 12].var()
    terms = [f"{weight:+.2f} {name}" for weight, name in zip(weights[1:], NAMES[[0, 9, 10]], strict=True)]
    print(f"{NAMES[12]} = {weights[0]:.2f} {' '.join(terms)}")
    print(f"R2 = {r2:.4f}; middle half of the residuals {np.percentile(residual, [25, 75]).round(2)}")

    if len(sys.argv) > 1:
        header = ",".join(f"score{k + 1}" for k in range(3))
        np.savetxt(sys.argv[1], scores, delimiter=",", header=header, fmt="%.6f")


if __name__ == "__main__":
    main()
