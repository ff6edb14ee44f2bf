"""Particles in a periodic box: structs and templates in raw kernels, streams, events, pools, hooks, FFT and sparse.

Charges go to a grid (a raw kernel with atomics), the field comes from the grid by Fourier transforms, checked with a
sparse matrix, and a kernel with structs moves the particles.
"""

import argparse

import cupy as cp
import numpy as np
from cupy.cuda import memory_hooks
from cupyx.scipy.sparse import coo_matrix, identity
from cupyx.scipy.sparse.linalg import cg

SOURCE = r"""
struct Box { double size; int cells; int steps; };

template <typename T>
struct Particle { T x, y, vx, vy; int cell; int unused; };

template <typename T>
__device__ inline T wrapped(T x, T size)
{
    while (x < 0) x += size;
    while (x >= size) x -= size;
    return x;
}

template <typename T>
__global__ void deposit(Particle<T>* particles, T* density, Box box, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int column = (int)(particles[i].x / box.size * box.cells) % box.cells;
    int row = (int)(particles[i].y / box.size * box.cells) % box.cells;
    particles[i].cell = row * box.cells + column;
    atomicAdd(&density[particles[i].cell], (T)1);
}

template <typename T, int KICKS>
__global__ void push(Particle<T>* particles, const T* fx, const T* fy, Box box, T dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle<T> p = particles[i];
    for (int kick = 0; kick < KICKS; ++kick) {
        p.vx += fx[p.cell] * dt / KICKS;
        p.vy += fy[p.cell] * dt / KICKS;
    }
    p.x = wrapped<T>(p.x + p.vx * dt, (T)box.size);
    p.y = wrapped<T>(p.y + p.vy * dt, (T)box.size);
    particles[i] = p;
}

extern "C" __global__ void energies(const double* particles, double* out, int n)
{
    extern __shared__ double part[];
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double* v = particles + i * 5 + 2;
        sum += 0.5 * (v[0] * v[0] + v[1] * v[1]);
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
PARTICLE = np.dtype([("x", "f8"), ("y", "f8"), ("vx", "f8"), ("vy", "f8"), ("cell", "i4"), ("unused", "i4")])
BOX = np.dtype([("size", "f8"), ("cells", "i4"), ("steps", "i4")], align=True)
THREADS = 128


class Watch(cp.cuda.MemoryHook):
    """Counts what the pool gives."""

    name = "Watch"

    def __init__(self):
        self.calls = 0
        self.bytes = 0

    def malloc_postprocess(self, **given):
        self.calls += 1
        self.bytes += given["mem_size"]


def laplacian(cells, spacing):
    """The five-point Laplacian of a periodic grid, as a sparse matrix."""
    places = cp.arange(cells * cells).reshape(cells, cells)
    rows, columns, values = [places.ravel()], [places.ravel()], [cp.full(cells * cells, -4.0)]
    for axis in (0, 1):
        for shift in (-1, 1):
            rows.append(places.ravel())
            columns.append(cp.roll(places, shift, axis).ravel())
            values.append(cp.ones(cells * cells))
    matrix = coo_matrix(
        (cp.concatenate(values) / spacing**2, (cp.concatenate(rows), cp.concatenate(columns))),
        shape=(cells * cells, cells * cells),
    )
    return matrix.tocsr()


def potential(density, size):
    """The potential of a density by Fourier transforms, of mean zero."""
    cells = density.shape[0]
    spacing = size / cells
    k = cp.fft.fftfreq(cells, 1 / cells)
    symbol = (2 * cp.cos(2 * np.pi * k / cells) - 2) / spacing**2
    total = symbol[:, None] + symbol[None, : cells // 2 + 1]
    total[0, 0] = 1
    transformed = cp.fft.rfft2(-(density - density.mean())) / total
    transformed[0, 0] = 0
    return cp.fft.irfft2(transformed, s=density.shape)


def force(field, spacing):
    """Minus the gradient, by central differences."""
    fx = -(cp.roll(field, -1, 1) - cp.roll(field, 1, 1)) / (2 * spacing)
    fy = -(cp.roll(field, -1, 0) - cp.roll(field, 1, 0)) / (2 * spacing)
    return cp.ascontiguousarray(fx), cp.ascontiguousarray(fy)


def reference(host, fx, fy, box, dt):
    """What the kernel `push` does, by NumPy."""
    moved = host.copy()
    for _ in range(2):
        moved["vx"] += fx.ravel()[host["cell"]] * dt / 2
        moved["vy"] += fy.ravel()[host["cell"]] * dt / 2
    moved["x"] = (host["x"] + moved["vx"] * dt) % box["size"]
    moved["y"] = (host["y"] + moved["vy"] * dt) % box["size"]
    return moved


def run(n, cells, steps):
    rng = np.random.RandomState(3)
    host = np.zeros(n, PARTICLE)
    for name in ("x", "y"):
        host[name] = rng.uniform(0, 1, n)
    for name in ("vx", "vy"):
        host[name] = rng.normal(0, 0.05, n)
    box = np.array((1.0, cells, steps), BOX)[()]

    module = cp.RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=["deposit<double>", "push<double, 2>"])
    deposit, push = module.get_function("deposit<double>"), module.get_function("push<double, 2>")
    energies = module.get_function("energies")
    blocks = (n + THREADS - 1) // THREADS

    pinned = cp.cuda.alloc_pinned_memory(host.nbytes)
    staged = np.frombuffer(pinned, PARTICLE, n)
    staged[...] = host
    memory = cp.asarray(staged.view(np.uint8))
    side = cp.cuda.Stream(non_blocking=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    matrix = laplacian(cells, 1.0 / cells)

    start.record()
    for _ in range(steps):
        density = cp.zeros((cells, cells))
        deposit((blocks,), (THREADS,), (memory, density, box, np.int32(n)))
        field = potential(density, 1.0)
        fx, fy = force(field, 1.0 / cells)
        before = memory.get().view(PARTICLE)
        push((blocks,), (THREADS,), (memory, fx, fy, box, np.float64(0.01), np.int32(n)))
        expected = reference(before, fx.get(), fy.get(), box, 0.01)
        found = memory.get().view(PARTICLE)
        for name in ("x", "y", "vx", "vy"):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12)
    end.record()
    end.synchronize()
    assert int(density.sum()) == n

    # The same potential from the sparse matrix.
    charge = -(density - density.mean()).ravel()
    np.testing.assert_allclose((matrix @ field.ravel()).get(), charge.get(), atol=1e-6)
    shifted = identity(cells * cells, format="csr") * 1.0 - matrix * 1e-4
    solved, status = cg(shifted, charge)
    assert status == 0
    assert float(cp.linalg.norm(shifted @ solved - charge)) < 1e-4 * float(cp.linalg.norm(charge))

    # Energies on a stream of their own, after what the null stream has done.
    side.wait_event(end)
    partial = cp.zeros(32)
    side.wait_event(cp.cuda.get_current_stream().record())
    energies((32,), (THREADS,), (memory.view(cp.float64), partial, n), shared_mem=8 * THREADS, stream=side)
    side.synchronize()
    found = memory.get().view(PARTICLE)
    np.testing.assert_allclose(float(partial.sum()), 0.5 * (found["vx"] ** 2 + found["vy"] ** 2).sum(), rtol=1e-10)
    return float(partial.sum()), cp.cuda.get_elapsed_time(start, end)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--particles", type=int, default=5000)
    parser.add_argument("--cells", type=int, default=32)
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    pool = cp.get_default_memory_pool()
    with Watch() as watch, memory_hooks.LineProfileHook():
        energy, milliseconds = run(given.particles, given.cells, given.steps)
    assert milliseconds > 0
    assert watch.bytes >= watch.calls > 0
    pool.free_all_blocks()
    assert pool.free_bytes() == 0 and pool.total_bytes() == pool.used_bytes()
    print(f"particles: {given.particles} moved, kinetic energy {energy:.4f}")


if __name__ == "__main__":
    main()
