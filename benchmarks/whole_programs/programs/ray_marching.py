"""Spheres and a floor, seen by marching along 320 x 240 rays through a field of distances."""

import sys

import numpy as np

WIDTH, HEIGHT, STEPS, FAR = 320, 240, 60, 20.0
SPHERES = [((0.0, 0.0, 4.0), 1.0), ((1.6, -0.4, 3.2), 0.6), ((-1.5, -0.3, 3.5), 0.7)]


def distance(p):
    d = p[..., 1] + 1.0
    for centre, radius in SPHERES:
        d = np.minimum(d, np.linalg.norm(p - np.array(centre), axis=-1) - radius)
    return d


def march(origin, direction):
    t = np.zeros(direction.shape[:-1])
    for _ in range(STEPS):
        d = distance(origin + t[..., None] * direction)
        t = np.where((d > 1e-4) & (t < FAR), t + d, t)
    return t


def normal(p, h=1e-4):
    parts = [distance(p + h * e) - distance(p - h * e) for e in np.eye(3)]
    n = np.stack(parts, axis=-1)
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def main():
    x, y = np.meshgrid(np.linspace(-1.33, 1.33, WIDTH), np.linspace(1, -1, HEIGHT))
    direction = np.stack([x, y, np.full_like(x, 1.5)], axis=-1)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    t = march(np.zeros(3), direction)
    points = t[..., None] * direction
    n = normal(points)
    light = np.array([0.5, 0.8, -0.4])
    light = light / np.linalg.norm(light)
    shade = np.clip((n * light).sum(axis=-1), 0, 1)
    shadow = march(points + 1e-2 * n, np.broadcast_to(light, points.shape)) < FAR
    image = np.where(t < FAR, 0.1 + 0.9 * shade * np.where(shadow, 0.3, 1.0), 0.6)
    print("hit:", int((t < FAR).sum()), "mean:", round(float(image.mean()), 5))
    return image


answer = main()
if len(sys.argv) > 1:
    np.save(sys.argv[1], answer)
