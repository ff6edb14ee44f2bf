"""Principal components of 6,000 measurements of 200 numbers, and a regression on them."""

import sys

import numpy as np

ROWS, COLUMNS, PARTS = 6000, 200, 10


def data():
    t = np.arange(ROWS)[:, None] / 100.0
    f = np.arange(1, COLUMNS + 1)[None, :]
    signal = sum(np.sin(k * t) @ np.cos(k * f / 7.0) / k for k in range(1, 9))
    noise = ((np.arange(ROWS)[:, None] * np.sqrt(f + 1.0)) % 1.0) - 0.5
    return signal + 0.3 * noise


def main():
    x = data()
    centred = (x - x.mean(axis=0)) / x.std(axis=0)
    covariance = centred.T @ centred / (ROWS - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    scores = centred @ vectors[:, :PARTS]
    explained = values / values.sum()
    back = scores @ vectors[:, :PARTS].T
    error = np.sqrt(((centred - back) ** 2).mean())
    y = np.sin(np.arange(ROWS) / 30.0)
    design = np.column_stack([np.ones(ROWS), scores])
    weights, *_ = np.linalg.lstsq(design, y, rcond=None)
    residual = y - design @ weights
    outliers = np.abs(centred).max(axis=1) > 3
    print("explained:", np.round(np.cumsum(explained)[:4], 5), "error:", round(float(error), 6))
    print("outliers:", int(outliers.sum()), "r2:", round(float(1 - residual.var() / y.var()), 6))
    return np.concatenate([values, abs(scores[:100]).ravel(), residual])


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
