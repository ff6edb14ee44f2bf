"""Waves on a square drum: finite differences in time and space, energy, spectrum of a microphone, a picture.

An ordinary NumPy program. Run it as it is, or with numpy served by numloom:

    python examples/unchanged/drum_waves.py
    python -m numloom run examples/unchanged/drum_waves.py
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.fft import rfft, rfftfreq

SIDE = 1.0  # metres
SPEED = 120.0  # of waves on the skin, metres per second
LOSS = 3.0  # damping, per second


def strike(x: np.ndarray, y: np.ndarray, at: tuple[float, float], width: float = 0.06) -> np.ndarray:
    """The skin just after it was struck: a bump that is 0 at the rim."""
    bump = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * width**2))
    bump[[0, -1], :] = 0
    bump[:, [0, -1]] = 0
    return bump


def step(u: np.ndarray, before: np.ndarray, courant: float, dt: float) -> np.ndarray:
    """The skin one step of time later."""
    after = np.zeros_like(u)
    bend = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    inner = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] * (1 - LOSS * dt / 2) + courant**2 * bend
    after[1:-1, 1:-1] = inner / (1 + LOSS * dt / 2)
    return after


def energy(u: np.ndarray, before: np.ndarray, dt: float, h: float) -> float:
    """Kinetic and elastic energy, per mass of a square metre; without loss the scheme keeps it."""
    kinetic = 0.5 * np.sum(((u - before) / dt) ** 2) * h * h
    stretch = sum(np.sum(np.diff(u, axis=axis) * np.diff(before, axis=axis)) for axis in (0, 1))
    return kinetic + 0.5 * SPEED**2 * stretch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=201)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    options = parser.parse_args()

    axis = np.linspace(0, SIDE, options.points)
    x, y = np.meshgrid(axis, axis)
    h = axis[1] - axis[0]
    dt = 0.5 * h / SPEED
    u = strike(x, y, at=(0.4, 0.35))
    before = u.copy()

    microphone = (options.points // 3, options.points // 4)
    heard = np.zeros(options.steps)
    energies = []
    for i in range(options.steps):
        u, before = step(u, before, SPEED * dt / h, dt), u
        heard[i] = u[microphone]
        if i % max(options.steps // 8, 1) == 0:
            energies.append(energy(u, before, dt, h))

    energies = np.array(energies)
    window = np.hanning(options.steps)
    spectrum = np.abs(rfft((heard - heard.mean()) * window))
    frequencies = rfftfreq(options.steps, dt)
    loudest = frequencies[np.argmax(spectrum)]
    lowest = SPEED * np.sqrt(2) / (2 * SIDE)

    print(f"{options.points} x {options.points} points, {options.steps} steps of {1e6 * dt:.1f} microseconds")
    print(f"skin between {u.min():+.6f} and {u.max():+.6f}, mean square {np.mean(u**2):.6e}")
    print(f"energy left: {100 * energies[-1] / energies[0]:.2f} %")
    print(f"loudest at {loudest:.1f} Hz; the lowest tone is {lowest:.1f} Hz")
    if energies[-1] > 1.05 * energies[0]:
        raise SystemExit("the simulation is not stable")

    options.output.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    left.imshow(u, extent=(0, SIDE, 0, SIDE), origin="lower", cmap="RdBu")
    right.plot(frequencies[1:], spectrum[1:])
    right.set_xlabel("Hz")
    figure.savefig(options.output / "drum_waves.png", dpi=60)
    np.savez(options.output / "drum_waves.npz", skin=u, heard=heard)


if __name__ == "__main__":
    main()
