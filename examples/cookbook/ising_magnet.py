"""A magnet that cools: the Ising model.

Spins on a grid turn over with a probability that falls with the energy that this takes (Metropolis). Even and odd
fields take turns, so that all fields of a colour turn at once. Cooling slowly is simulated annealing.

**What fuses.** Half a sweep is one kernel: neighbours, energy, a random number for each spin, the decision, and the
store. The random numbers are drawn inside.
"""

import numpy

FULL = {"side": 512, "sweeps": 120}
SMALL = {"side": 24, "sweeps": 20}


def inputs(side, sweeps):
    return {"side": side, "sweeps": sweeps}


def compute(np, side, sweeps):
    rng = np.random.default_rng(12)
    spins = np.where(rng.random((side, side)) < 0.5, -1, 1).astype(np.int8)
    even = (np.arange(side)[:, None] + np.arange(side)) % 2 == 0
    energies = []
    for sweep in range(sweeps):
        temperature = 3.5 - 2.5 * sweep / sweeps
        for colour in (even, ~even):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            costs = 2.0 * spins * around
            turn = colour & (rng.random((side, side)) < np.exp(-costs / temperature))
            spins = np.where(turn, -spins, spins)
        energies.append(-(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).mean(dtype=np.float64))
    return {"spins": spins, "energy": np.stack(energies)}


def agree(a, b):
    return abs(float(a["energy"][-1]) - float(b["energy"][-1])) < 0.2 and float(a["energy"][-1]) < -1.4


def picture(figure, given, found):
    left, right = figure.subplots(1, 2)
    left.imshow(found["spins"], cmap="gray")
    left.axis("off")
    right.plot(3.5 - 2.5 * numpy.arange(given["sweeps"]) / given["sweeps"], found["energy"])
    right.set_xlabel("temperature")
    right.set_ylabel("energy by spin")
    right.axvline(2.269, color="red", lw=0.7)
