"""Conway's game of life on a torus of 512 x 512 cells."""

import sys

import numpy as np

SIZE, STEPS = 512, 300


def start(size):
    """A pattern without order: a quadratic residue of the coordinates."""
    i, j = np.indices((size, size))
    return ((i * i + 3 * i * j + 7 * j * j) % 11 < 4).astype(np.uint8)


def neighbours(cells):
    total = np.zeros_like(cells)
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di or dj:
                total += np.roll(np.roll(cells, di, axis=0), dj, axis=1)
    return total


def step(cells):
    count = neighbours(cells)
    return ((count == 3) | ((cells == 1) & (count == 2))).astype(np.uint8)


def main():
    cells = start(SIZE)
    population = []
    for number in range(STEPS):
        cells = step(cells)
        if number % 30 == 0:
            population.append(int(cells.sum()))
    print("population:", population)
    return cells


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
