"""Pictures, pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.small_work.program import program


@program(tiny=3, sizes=(14, 30, 70))
def mandelbrot_pixels(xp: Any, n: int, seed: int) -> Any:
    """Steps until each point leaves, in complex numbers of no dimension."""
    shift = 0.01 * np.random.default_rng(seed).random()
    real, imaginary = xp.linspace(-2 + shift, 0.5 + shift, n), xp.linspace(-1.2, 1.2, n)
    counts = xp.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(n):
            c = real[j] + 1j * imaginary[i]
            z = 0 * c
            k = 0
            while k < 15 and abs(z) < 2:
                z = z * z + c
                k += 1
            counts[i, j] = k
    return counts


@program(tiny=6, sizes=(40, 120, 300))
def mandelbrot_rows(xp: Any, n: int, seed: int) -> Any:
    """Rows of points, and a mask of those that are still inside."""
    x = xp.linspace(-2.0, 0.5, n)
    counts = xp.zeros((n // 4, n), dtype=int)
    for row in range(n // 4):
        c = x + 1j * (0.01 * seed + row / n)
        z = xp.zeros(n, dtype=complex)
        inside = xp.ones(n, dtype=bool)
        for _ in range(10):
            z[inside] = z[inside] * z[inside] + c[inside]
            inside &= xp.abs(z) <= 2
            counts[row] += inside
    return counts


@program(tiny=5, sizes=(60, 250, 1200))
def hough_lines(xp: Any, n: int, seed: int) -> Any:
    """Votes of points for lines: a row of the table for each."""
    points = np.random.default_rng(seed).integers(0, 100, (n, 2))
    angles = xp.linspace(0, np.pi, 90, endpoint=False)
    cosines, sines, which = xp.cos(angles), xp.sin(angles), xp.arange(90)
    votes = xp.zeros((300, 90), dtype=int)
    for x, y in points.tolist():
        distance = xp.round(x * cosines + y * sines + 0.25).astype(int) + 145
        votes[distance, which] += 1
    return votes, xp.argmax(votes)


@program(tiny=5, sizes=(13, 30, 70), rtol=1e-12)
def dither(xp: Any, n: int, seed: int) -> Any:
    """Floyd and Steinberg's errors, spread to four neighbours of each pixel."""
    image = xp.asarray(np.random.default_rng(seed).random((n, n)))
    for i in range(n - 1):
        for j in range(1, n - 1):
            old = image[i, j].copy()
            new = xp.round(old)
            image[i, j] = new
            error = old - new
            image[i, j + 1] += error * 7 / 16
            image[i + 1, j - 1] += error * 3 / 16
            image[i + 1, j] += error * 5 / 16
            image[i + 1, j + 1] += error * 1 / 16
    return image


@program(tiny=5, sizes=(10, 25, 60), rtol=1e-12)
def bilateral(xp: Any, n: int, seed: int) -> Any:
    """A filter with weights of its own at each pixel."""
    image = xp.asarray(np.random.default_rng(seed).random((n, n)))
    out = image.copy()
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            part = image[i - 1 : i + 2, j - 1 : j + 2]
            w = xp.exp(-((part - image[i, j]) ** 2) / 0.08)
            out[i, j] = xp.sum(w * part) / xp.sum(w)
    return out


@program(tiny=8, sizes=(200, 400, 1000))
def integral_image(xp: Any, n: int, seed: int) -> Any:
    """Running sums by rows and by columns, and the sums of boxes from four corners."""
    image = xp.asarray(np.random.default_rng(seed).integers(0, 256, (n, n)))
    table = xp.zeros((n + 1, n + 1), dtype=xp.int64)
    table[1:, 1:] = image
    for i in range(1, n + 1):
        table[i] += table[i - 1]
    for j in range(1, n + 1):
        table[:, j] += table[:, j - 1]
    boxes = []
    for k in range(n - 4):
        boxes.append(table[k + 4, k + 4] - table[k, k + 4] - table[k + 4, k] + table[k, k])
    return table, xp.asarray(boxes)
