"""Stable fluids (Stam): smoke in a box of 128 x 128 cells, by plain loops over steps and relaxations."""

import sys

import numpy as np

N, STEPS, DT, VISCOSITY, DIFFUSION = 128, 12, 0.1, 1e-4, 1e-5


def edges(x, kind):
    x[0, :] = -x[1, :] if kind == 1 else x[1, :]
    x[-1, :] = -x[-2, :] if kind == 1 else x[-2, :]
    x[:, 0] = -x[:, 1] if kind == 2 else x[:, 1]
    x[:, -1] = -x[:, -2] if kind == 2 else x[:, -2]


def relax(x, x0, a, c, kind, turns=20):
    for _ in range(turns):
        x[1:-1, 1:-1] = (x0[1:-1, 1:-1] + a * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])) / c
        edges(x, kind)
    return x


def diffuse(x0, rate, kind):
    a = DT * rate * N * N
    return relax(x0.copy(), x0, a, 1 + 4 * a, kind)


def advect(d, u, v, kind):
    i, j = np.meshgrid(np.arange(1, N + 1), np.arange(1, N + 1), indexing="ij")
    x = np.clip(i - DT * N * u[1:-1, 1:-1], 0.5, N + 0.5)
    y = np.clip(j - DT * N * v[1:-1, 1:-1], 0.5, N + 0.5)
    i0, j0 = x.astype(int), y.astype(int)
    s, t = x - i0, y - j0
    out = np.zeros_like(d)
    out[1:-1, 1:-1] = (1 - s) * ((1 - t) * d[i0, j0] + t * d[i0, j0 + 1]) + s * (
        (1 - t) * d[i0 + 1, j0] + t * d[i0 + 1, j0 + 1]
    )
    edges(out, kind)
    return out


def project(u, v):
    div = np.zeros_like(u)
    div[1:-1, 1:-1] = -0.5 / N * (u[2:, 1:-1] - u[:-2, 1:-1] + v[1:-1, 2:] - v[1:-1, :-2])
    edges(div, 0)
    p = relax(np.zeros_like(u), div, 1, 4, 0)
    u[1:-1, 1:-1] -= 0.5 * N * (p[2:, 1:-1] - p[:-2, 1:-1])
    v[1:-1, 1:-1] -= 0.5 * N * (p[1:-1, 2:] - p[1:-1, :-2])
    edges(u, 1)
    edges(v, 2)


def main():
    u, v, smoke = np.zeros((3, N + 2, N + 2))
    for _ in range(STEPS):
        smoke[5:20, 50:78] = 1.0
        u[5:20, 50:78] = 2.0
        u, v = diffuse(u, VISCOSITY, 1), diffuse(v, VISCOSITY, 2)
        project(u, v)
        u, v = advect(u, u, v, 1), advect(v, u, v, 2)
        project(u, v)
        smoke = advect(diffuse(smoke, DIFFUSION, 0), u, v, 0)
    print("smoke:", round(float(smoke.sum()), 6))
    return smoke


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
