"""The Mandelbrot set, 600 x 400 points and 80 turns, with smooth colours."""

import sys

import numpy as np

WIDTH, HEIGHT, TURNS = 600, 400, 80


def escape(c, turns):
    z = np.zeros_like(c)
    count = np.full(c.shape, turns)
    last = np.zeros(c.shape)
    alive = np.ones(c.shape, dtype=bool)
    for turn in range(turns):
        z[alive] = z[alive] ** 2 + c[alive]
        size = z.real**2 + z.imag**2
        gone = alive & (size > 16.0)
        count[gone] = turn
        last[gone] = size[gone]
        alive &= ~gone
    return count, last


def main():
    x = np.linspace(-2.2, 0.8, WIDTH)
    y = np.linspace(-1.0, 1.0, HEIGHT)
    c = x[None, :] + 1j * y[:, None]
    count, last = escape(c, TURNS)
    outside = count < TURNS
    smooth = np.zeros(count.shape)
    smooth[outside] = count[outside] + 1 - np.log2(np.log(last[outside]) / 2)
    shades = (255 * smooth / smooth.max()).astype(np.uint8)
    print("inside:", int((~outside).sum()), "mean shade:", round(float(shades.mean()), 4))
    return shades


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
