"""Heat on a plate that several processes share, a GPU each: ``python examples/together/heat.py``.

Each process has rows of the plate. A step is a raw kernel on a stream, and rows at the borders go to the neighbours.
Memory comes from a pool of its own, a hook counts it, events take the time. The plate is compared with that of one
process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

import numloom as np

KERNEL = np.RawKernel(
    r"""
extern "C" __global__ void step(const double* old, double* fresh, int rows, int columns, double rate)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < 1 || row >= rows - 1 || column >= columns) return;
    int at = row * columns + column;
    if (column == 0 || column == columns - 1) { fresh[at] = old[at]; return; }
    fresh[at] = old[at] + rate * (old[at - 1] + old[at + 1] + old[at - columns] + old[at + columns] - 4 * old[at]);
}""",
    "step",
)


class Most(np.cuda.MemoryHook):
    """The most bytes that were in use at once."""

    name = "Most"
    used = most = 0

    def malloc_postprocess(self, **given):
        self.used += given["mem_size"]
        self.most = max(self.most, self.used)

    def free_postprocess(self, **given):
        self.used -= given["mem_size"]


def diffuse(group, plate, steps):
    """The rows of this process after some steps; the first and last row of the plate stay as they are."""
    rows = numpy.array_split(numpy.arange(1, len(plate) - 1), group.size)[group.rank]
    old = np.asarray(plate[rows[0] - 1 : rows[-1] + 2])
    fresh = old.copy()
    columns = old.shape[1]
    stream = np.cuda.Stream(non_blocking=True)
    grid = (-(-columns // 32), -(-old.shape[0] // 8))
    above, below = group.rank - 1, group.rank + 1
    for _ in range(steps):
        KERNEL(grid, (32, 8), (old, fresh, old.shape[0], columns, 0.2), stream=stream)
        for peer, mine, theirs in ((above, 1, 0), (below, -2, -1)):
            if 0 <= peer < group.size:
                group.send_recv(fresh[mine], fresh[theirs], peer, stream=stream)
        old, fresh = fresh, old
    return old[1:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--place", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, *sys.argv[1:], "--place", str(Path(folder) / "place"), "--rank"]
            others = [subprocess.Popen([*command, str(rank)]) for rank in range(options.processes)]
            sys.exit(max(abs(process.wait()) for process in others))

    count = np.cuda.runtime.getDeviceCount()
    np.cuda.Device(options.rank % count).use()
    plate = numpy.random.default_rng(0).random((options.size, options.size))
    pool = np.cuda.MemoryPool()
    start, end = np.cuda.Event(), np.cuda.Event()
    with np.distributed.init_process_group(
        options.processes, options.rank, file=options.place, timeout=60,
        backend="auto" if count >= options.processes else "tcp",
    ) as group:  # fmt: skip
        diffuse(group, plate, 2)  # Compiles the kernel, connects the neighbours.
        group.barrier()
        with np.config(placement="device"), np.cuda.using_allocator(pool.malloc), Most() as memory:
            start.record()
            mine = diffuse(group, plate, options.steps)
            end.record()
            end.synchronize()
            host = mine.get()
            del mine
        spent = np.array([np.cuda.get_elapsed_time(start, end), memory.most / 1e6, pool.total_bytes() / 1e6])
        slowest = group.all_reduce(spent, op="max").get()
        sizes = group.all_gather(np.array(len(host))).tolist()
        most = max(sizes)
        padded = np.zeros((most, options.size))
        padded[: len(host)] = np.asarray(host)
        parts = group.gather(padded)
    if options.rank == 0:
        whole = numpy.concatenate([part[:size] for part, size in zip(parts.get(), sizes, strict=True)])
        alone = diffuse(np.distributed.init_process_group(1, 0, port=0), plate, options.steps).get()
        assert (whole == alone).all()  # To the bit.
        print(
            f"{options.processes} processes ({group.backend}): {options.steps} steps in {slowest[0]:.1f} ms, "
            f"{slowest[1]:.1f} MB in use at most, {slowest[2]:.1f} MB held; the same plate as of one process"
        )


if __name__ == "__main__":
    main()
