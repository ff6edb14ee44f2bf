"""The Ising model on 256 x 256 spins: Metropolis steps on a chequerboard, at four temperatures."""

import sys

import numpy as np

N, SWEEPS = 256, 40


class Numbers:
    """A congruential generator for each spin (so that each library draws the same)."""

    def __init__(self, shape):
        self.state = (np.arange(shape[0] * shape[1], dtype=np.uint64).reshape(shape) + 1) * np.uint64(
            0x9E3779B97F4A7C15
        )

    def draw(self):
        self.state = self.state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        return (self.state >> np.uint64(11)) * 2.0**-53


def neighbours(s):
    return np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)


def sweep(s, beta, numbers, black):
    for colour in (black, ~black):
        cost = 2 * s * neighbours(s)
        flip = colour & (numbers.draw() < np.exp(-beta * cost))
        s = np.where(flip, -s, s)
    return s


def main():
    i, j = np.indices((N, N))
    black = (i + j) % 2 == 0
    numbers = Numbers((N, N))
    rows = []
    for temperature in (1.5, 2.0, 2.269, 3.0):
        s = np.ones((N, N))
        magnetisation = []
        for _ in range(SWEEPS):
            s = sweep(s, 1 / temperature, numbers, black)
            magnetisation.append(s.mean())
        energy = -(s * neighbours(s)).mean() / 2
        rows.append([temperature, np.mean(magnetisation[SWEEPS // 2 :]), energy])
        print(f"T = {temperature}: m = {rows[-1][1]:.6f}, E = {energy:.6f}")
    return np.array(rows)


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
