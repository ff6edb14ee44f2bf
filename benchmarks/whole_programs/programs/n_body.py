"""Four hundred stars that attract each other, by leapfrog steps and all pairs."""

import sys

import numpy as np

STARS, STEPS, DT, SOFTENING = 400, 40, 0.01, 0.1


def start(count):
    """Stars on a spiral: positions, velocities, masses."""
    k = np.arange(count)
    angle, radius = 2.399963 * k, np.sqrt((k + 0.5) / count)
    positions = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.1 * np.sin(3.0 * k)], axis=1)
    velocities = np.stack([-positions[:, 1], positions[:, 0], np.zeros(count)], axis=1)
    masses = (1.0 + 0.5 * np.cos(k)) / count
    velocities -= np.average(velocities, axis=0, weights=masses)
    return positions, velocities, masses


def acceleration(positions, masses):
    between = positions[None, :, :] - positions[:, None, :]
    squared = (between**2).sum(axis=2) + SOFTENING**2
    return (between * (masses[None, :] * squared**-1.5)[:, :, None]).sum(axis=1)


def energy(positions, velocities, masses):
    kinetic = 0.5 * (masses * (velocities**2).sum(axis=1)).sum()
    between = positions[None, :, :] - positions[:, None, :]
    distance = np.sqrt((between**2).sum(axis=2) + SOFTENING**2)
    pairs = np.triu(masses[:, None] * masses[None, :] / distance, 1)
    return kinetic - pairs.sum()


def main():
    positions, velocities, masses = start(STARS)
    energies = [energy(positions, velocities, masses)]
    a = acceleration(positions, masses)
    for _ in range(STEPS):
        velocities += 0.5 * DT * a
        positions += DT * velocities
        a = acceleration(positions, masses)
        velocities += 0.5 * DT * a
        energies.append(energy(positions, velocities, masses))
    energies = np.array(energies)
    print("energy lost:", float(abs(energies[-1] - energies[0]).round(9)))
    return np.concatenate([positions.ravel(), energies])


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
