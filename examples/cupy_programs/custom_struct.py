"""Structs in kernels: one by value as an argument, and an array of them in memory."""

import cupy as cp
import numpy as np

SOURCE = r"""
struct Particle { float x, y, mass; int kind; };
struct Field { double gx, gy; int steps; };
extern "C" __global__ void move(Particle* particles, Field field, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int step = 0; step < field.steps; ++step) {
        particles[i].x += (float)field.gx / particles[i].mass;
        particles[i].y += (float)field.gy / particles[i].mass;
    }
    particles[i].kind = i % 2;
}
"""
particle = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f4"), ("kind", "i4")], align=True)
field = np.dtype([("gx", "f8"), ("gy", "f8"), ("steps", "i4")], align=True)

if __name__ == "__main__":
    host = np.zeros(100, particle)
    host["mass"] = np.arange(1, 101)
    memory = cp.asarray(host.view(np.uint8))
    given = np.array((1.0, -2.0, 4), field)[()]
    kernel = cp.RawModule(code=SOURCE).get_function("move")
    kernel((1,), (128,), (memory, given, 100))
    moved = cp.asnumpy(memory).view(particle)
    np.testing.assert_allclose(moved["x"], 4 / host["mass"], rtol=1e-6)
    np.testing.assert_allclose(moved["y"], -8 / host["mass"], rtol=1e-6)
    assert (moved["kind"] == np.arange(100) % 2).all()
    print("structs: moved", len(moved), "particles")
