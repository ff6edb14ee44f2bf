"""Five hundred birds that fly as a flock: they keep together, keep apart and turn alike."""

import sys

import numpy as np

BIRDS, STEPS, SIGHT, APART, FASTEST = 500, 30, 0.15, 0.03, 0.02


def start(count):
    k = np.arange(count)
    positions = np.column_stack([(k * 0.618034) % 1.0, (k * 0.754878) % 1.0])
    angle = 2.0 * np.pi * ((k * 0.569840) % 1.0)
    return positions, 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])


def step(positions, velocities):
    offset = positions[None, :, :] - positions[:, None, :]
    offset -= np.round(offset)  # a torus
    distance = np.sqrt((offset**2).sum(axis=-1))
    seen = (distance < SIGHT) & (distance > 0)
    count = np.maximum(seen.sum(axis=1), 1)[:, None]
    together = (offset * seen[:, :, None]).sum(axis=1) / count
    alike = (velocities[None, :, :] * seen[:, :, None]).sum(axis=1) / count - velocities
    near = seen & (distance < APART)
    apart = -np.where(near[:, :, None], offset, 0.0).sum(axis=1)
    velocities = velocities + 0.01 * together + 0.05 * alike + 0.05 * apart
    speed = np.linalg.norm(velocities, axis=1, keepdims=True)
    velocities = np.where(speed > FASTEST, velocities / speed * FASTEST, velocities)
    return (positions + velocities) % 1.0, velocities


def main():
    positions, velocities = start(BIRDS)
    order = []
    for _ in range(STEPS):
        positions, velocities = step(positions, velocities)
        heading = velocities / np.linalg.norm(velocities, axis=1)[:, None]
        order.append(np.linalg.norm(heading.mean(axis=0)))
    print("order:", [round(float(value), 5) for value in order[::6]])
    return np.concatenate([positions, velocities])


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
