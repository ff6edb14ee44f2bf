"""A kernel in CUDA C++ within a compiled function, with its gradient: ``python examples/compiled/own_cuda.py``.

A picture was turned and moved, and we look for how. Where each pixel comes from is array arithmetic; what is there
the kernel reads off, between pixels. The kernel's gradient is another kernel. One compiled function compares,
differentiates and takes a step.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy
from sklearn.datasets import load_sample_image

import numloom as np

SOURCE = r"""
__device__ float pixel(const float* picture, int rows, int columns, int y, int x) {
    return picture[min(max(y, 0), rows - 1) * columns + min(max(x, 0), columns - 1)];
}

// What lies at (y, x) of a picture, between four pixels.
extern "C" __global__ void sample(
    const float* picture, const float* y, const float* x, float* value, int rows, int columns, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = floorf(y[i]), column = floorf(x[i]);
    float down = y[i] - row, right = x[i] - column;
    float above = pixel(picture, rows, columns, row, column) * (1 - right)
        + pixel(picture, rows, columns, row, column + 1) * right;
    float below = pixel(picture, rows, columns, row + 1, column) * (1 - right)
        + pixel(picture, rows, columns, row + 1, column + 1) * right;
    value[i] = above * (1 - down) + below * down;
}

// How much that grows along y, and along x.
extern "C" __global__ void slopes(
    const float* picture, const float* y, const float* x, float* by_y, float* by_x, int rows, int columns, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = floorf(y[i]), column = floorf(x[i]);
    float down = y[i] - row, right = x[i] - column;
    float a = pixel(picture, rows, columns, row, column), b = pixel(picture, rows, columns, row, column + 1);
    float c = pixel(picture, rows, columns, row + 1, column), d = pixel(picture, rows, columns, row + 1, column + 1);
    by_y[i] = (c - a) * (1 - right) + (d - b) * right;
    by_x[i] = (b - a) * (1 - down) + (d - c) * down;
}
"""
module = np.RawModule(code=SOURCE)


def blocks(picture: Any, y: Any, *rest: Any) -> int:
    """Blocks of 128 threads, a thread for each position."""
    return -(-y.size // 128)


slopes = np.operation(module.get_function("slopes"), {"by_y": "y", "by_x": "x"}, grid=blocks, block=128)


def of_sample(g: Any, value: Any, picture: Any, y: Any, x: Any, rows: int, columns: int, n: int) -> dict[str, Any]:
    """What flows back to the positions; the picture is given."""
    by_y, by_x = slopes(picture, y, x, rows, columns, n)
    return {"picture": None, "y": g * by_y, "x": g * by_x}


sample = np.operation(module.get_function("sample"), {"value": "y"}, grid=blocks, block=128, gradient=of_sample)


def moved(picture: Any, motion: Any) -> Any:
    """The picture turned about its middle by an angle, and moved; `motion` is (angle, down, right)."""
    rows, columns = picture.shape
    y, x = np.meshgrid(
        np.arange(rows, dtype="f4") - rows / 2, np.arange(columns, dtype="f4") - columns / 2, indexing="ij"
    )
    cosine, sine = np.cos(motion[0]), np.sin(motion[0])
    there_y = cosine * y - sine * x + rows / 2 - motion[1]
    there_x = sine * y + cosine * x + columns / 2 - motion[2]
    return sample(picture, there_y, there_x, rows, columns, rows * columns)


def search(picture: Any, target: Any, steps: int) -> Any:
    """The motion that makes the target of the picture, by gradients with momentum."""
    motion = np.shared(numpy.zeros(3, "f4"), "motion")
    velocity = np.shared(numpy.zeros(3, "f4"), "velocity")
    scale = np.asarray([2e-4, 1.0, 1.0], dtype="f4")  # An angle moves far pixels far.
    error = ((moved(picture, motion) - target) ** 2).mean()
    new = 0.8 * velocity - 100 * scale * np.grad(error, motion)
    step = np.function([], error, updates=[(velocity, new), (motion, motion + new)], name="step")
    for number in range(steps):
        value = float(step())
        if number % 20 == 0 or number == steps - 1:
            print(f"step {number}: mean square error {value:.6f}")
    return motion.get_value()


def load() -> Any:
    """A photograph in grey, an eighth as wide, smooth."""
    grey = load_sample_image("china.jpg").mean(2)[:424, :640] / 255
    return np.asarray(grey.reshape(53, 8, 80, 8).mean((1, 3)).astype("f4"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    steps = parser.parse_args().steps
    photograph = load()
    true = numpy.array([0.0625, 2.5, -1.5], "f4")
    found = search(photograph, moved(photograph, np.asarray(true)), steps)
    print("angle, down, right:", *[f"{number:.4f}" for number in found], "found,", *true.tolist(), "were right")
