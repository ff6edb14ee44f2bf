"""Waves on a square membrane of 400 x 400 points with damping at its edge, by finite differences."""

import sys

import numpy as np

N, STEPS, C = 400, 400, 0.5


def sponge(n, width=40):
    distance = np.minimum(np.arange(n), np.arange(n)[::-1])
    ramp = np.clip((width - distance) / width, 0, 1) ** 2
    return 0.15 * np.maximum(ramp[:, None], ramp[None, :])


def laplacian(u):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return out


def main():
    x = np.linspace(-1, 1, N)
    u = np.exp(-200 * ((x[:, None] + 0.3) ** 2 + x[None, :] ** 2))
    before = u.copy()
    damping = sponge(N)
    trace = []
    for step in range(STEPS):
        after = (2 * u - (1 - damping) * before + C**2 * laplacian(u)) / (1 + damping)
        after[N // 2, N // 4] += 0.01 * np.sin(0.2 * step)
        before, u = u, after
        trace.append(u[N // 2, 3 * N // 4])
    print("loudest at", int(np.argmax(np.abs(trace))), "energy:", round(float((u**2).sum()), 9))
    return u


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
