"""All-reduce and copies between GPUs beside PyTorch over the same NCCL: ``python -m benchmarks.together``.

GB/s of the bus: for an all-reduce of n processes 2 (n - 1) / n times its bytes over its time, as NCCL's tests count.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = (1 << 20, 16 << 20, 256 << 20, 1 << 30)
Call = Callable[[], Any]


def _seconds(call: Call, wait: Call, barrier: Call, rounds: int) -> float:
    for _ in range(3):
        call()
    wait()
    best = []
    for _ in range(3):
        barrier()
        start = time.perf_counter()
        for _ in range(rounds):
            call()
        wait()
        best.append((time.perf_counter() - start) / rounds)
    return min(best)


def numloom(rank: int, count: int, place: str, sizes: list[int]) -> list[list[float]]:
    """Seconds of all-reduces and of copies."""
    import numloom as np

    np.cuda.Device(rank).use()
    found = []
    with np.distributed.init_process_group(count, rank, file=place, timeout=60) as group:
        for size in sizes:
            x = np.ones(size // 4, np.float32)
            np.evaluate(x)
            rounds = 20 if size < 1 << 28 else 10
            reduced = _seconds(lambda x=x: group.all_reduce(x, x, op="max"), np.synchronize, group.barrier, rounds)
            move = (lambda x=x: group.send(x, 1)) if rank == 0 else (lambda x=x: group.recv(x, 0))
            copied = _seconds(move if rank < 2 else lambda: None, np.synchronize, group.barrier, rounds)
            found.append([reduced, copied])
    return found


def torch(rank: int, count: int, place: str, sizes: list[int]) -> list[list[float]]:
    """The same by PyTorch."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{place}", rank=rank, world_size=count)
    found = []
    for size in sizes:
        x = torch.ones(size // 4, device="cuda")
        rounds = 20 if size < 1 << 28 else 10
        wait, barrier = torch.cuda.synchronize, dist.barrier
        reduced = _seconds(lambda x=x: dist.all_reduce(x, op=dist.ReduceOp.MAX), wait, barrier, rounds)
        move = (lambda x=x: dist.send(x, 1)) if rank == 0 else (lambda x=x: dist.recv(x, 0))
        found.append([reduced, _seconds(move if rank < 2 else lambda: None, wait, barrier, rounds)])
    dist.destroy_process_group()
    return found


def main() -> None:
    """Start the processes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--libraries", default="numloom,torch")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.worker:
        name, rank, place = options.worker.split(",")
        found = {"numloom": numloom, "torch": torch}[name](int(rank), options.processes, place, sizes)
        if rank == "0":
            print(found)
        return
    print("| library | MB | all-reduce, us | GB/s | copy, us | GB/s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in options.libraries.split(","):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.together", *sys.argv[1:], "--worker"]
            workers = [
                subprocess.Popen(
                    [*command, f"{name},{rank},{Path(folder) / 'place'}"], stdout=subprocess.PIPE, text=True
                )
                for rank in range(options.processes)
            ]
            out = [worker.communicate()[0] for worker in workers]
        if any(worker.returncode for worker in workers):
            print(f"| {name} | failed |")
            continue
        share = 2 * (options.processes - 1) / options.processes
        numbers = [float(word) for word in out[0].replace("[", " ").replace("]", " ").replace(",", " ").split()]
        for size, reduced, copied in zip(sizes, numbers[::2], numbers[1::2], strict=True):
            print(
                f"| {name} | {size / 1e6:,.1f} | {1e6 * reduced:,.1f} | {share * size / reduced / 1e9:,.1f} | "
                f"{1e6 * copied:,.1f} | {size / copied / 1e9:,.1f} |"
            )


if __name__ == "__main__":
    main()
