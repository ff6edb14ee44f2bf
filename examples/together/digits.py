"""Softmax regression on handwritten digits by several processes, a GPU each: ``python examples/together/digits.py``.

Each process has part of the images. A step sums the gradients of all, so that all make the same step, which is that of
one process with all images. Without GPUs the processes are on the CPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

import numloom as np
from numloom.command.examples.logistic_digits import load


def train(group, steps, images, labels):
    """Weights and bias, one below the other, and the loss at the end."""
    count = int(group.all_reduce(np.array(len(labels))))
    images = np.hstack([np.asarray(images), np.ones((len(images), 1))])
    wanted = (np.asarray(labels)[:, None] == np.arange(10)).astype(images.dtype)
    weights = np.zeros((images.shape[1], 10))
    for _ in range(steps):
        scores = images @ weights
        scores -= scores.max(axis=1, keepdims=True)
        exponentials = np.exp(scores)
        chances = exponentials / exponentials.sum(axis=1, keepdims=True)
        gradient = images.T @ (chances - wanted)
        weights -= (2.0 / count) * group.all_reduce(gradient)
    loss = group.all_reduce(-np.log(chances[wanted > 0]).sum()) / count
    return weights, float(loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--place", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, *sys.argv[1:], "--place", str(Path(folder) / "place"), "--rank"]
            others = [subprocess.Popen([*command, str(rank)]) for rank in range(options.processes)]
            sys.exit(max(abs(process.wait()) for process in others))

    device = np.cuda.Device(options.rank % np.cuda.runtime.getDeviceCount())
    device.use()
    data = load()
    mine = slice(options.rank, None, options.processes)
    # Two processes on one GPU exchange by way of the host.
    backend = "auto" if np.cuda.runtime.getDeviceCount() >= options.processes else "tcp"
    with np.distributed.init_process_group(
        options.processes, options.rank, file=options.place, backend=backend, timeout=60
    ) as group:
        train(group, 3, data["images"][mine], data["labels"][mine])
        group.barrier()
        begin = time.perf_counter()
        weights, loss = train(group, options.steps, data["images"][mine], data["labels"][mine])
        seconds = time.perf_counter() - begin
        everywhere = group.all_gather(weights).get()
        assert (everywhere == everywhere[0]).all()  # To the bit.
    if options.rank == 0:
        alone = np.distributed.init_process_group(1, 0, port=0)
        begin = time.perf_counter()
        one, _ = train(alone, options.steps, data["images"], data["labels"])
        one = one.get()
        by_one = time.perf_counter() - begin
        difference = abs(everywhere[0] - one).max() / abs(one).max()
        tests = numpy.hstack([data["test_images"], numpy.ones((len(data["test_images"]), 1))])
        right = (tests @ everywhere[0]).argmax(axis=1) == data["test_labels"]
        assert difference < 1e-10 and ((tests @ one).argmax(axis=1) == data["test_labels"]).tolist() == right.tolist()
        print(
            f"{options.processes} processes ({group.backend}, {device.name}): {100 * right.mean():.1f} % of the tests "
            f"right, loss {loss:.3f}, {seconds:.2f} s; one process: {by_one:.2f} s, weights differ by {difference:.1e}"
        )


if __name__ == "__main__":
    main()
