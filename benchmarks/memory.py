"""Peak memory of each case beside the other libraries: ``python -m benchmarks.memory``.

Bytes of device memory that one call takes at most, on top of its inputs and of what caches hold, results included.
The first call is not counted, since libraries take workspaces then.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.cases import CASES, Case
from benchmarks.libraries import LIBRARIES, Library

Peak = Callable[[], int]


@contextmanager
def numloom_peak() -> Iterator[Peak]:
    """Our pool's."""
    from numloom.device import registry

    pool = registry.current().pool
    pool.reset_peak()
    before = pool.used
    yield lambda: pool.peak - before


@contextmanager
def cupy_peak() -> Iterator[Peak]:
    """CuPy's, by a hook: its pool keeps no peak."""
    import cupy

    class Watch(cupy.cuda.MemoryHook):
        """Bytes that are taken from the pool."""

        name = "peak"
        used = peak = 0

        def malloc_postprocess(self, **given: Any) -> None:
            self.used += given["mem_size"]
            self.peak = max(self.peak, self.used)

        def free_postprocess(self, **given: Any) -> None:
            self.used -= given["mem_size"]

    with Watch() as watch:
        yield lambda: watch.peak


@contextmanager
def torch_peak() -> Iterator[Peak]:
    """PyTorch's."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    yield lambda: torch.cuda.max_memory_allocated() - before


PEAKS = {"numloom": numloom_peak, "cupy": cupy_peak, "torch": torch_peak}


def peak_bytes(case: Case, library: Library, inputs: tuple[Any, ...]) -> int:
    """Bytes that the second call of a case takes."""
    arrays = tuple(library.array(host) for host in inputs)
    function = library.prepare(case.run)
    for _ in range(2):
        library.wait(arrays)
        with PEAKS[library.name]() as peak:
            result = function(library.namespace, *arrays)
            library.start(result)
            library.wait(result)
            taken = peak()
        del result
    return taken


def main() -> None:
    """Print a table of megabytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", default="numloom,cupy,torch")
    parser.add_argument("--cases", default="")
    parser.add_argument("--sizes", choices=("small", "full"), default="full")
    options = parser.parse_args()
    wanted = options.libraries.split(",")
    libraries = [found() for name, found in LIBRARIES.items() if name in wanted and found.installed()]
    print("| case | inputs | " + " | ".join(library.name for library in libraries) + " |")
    print("| --- | ---: |" + " ---: |" * len(libraries))
    words = [word.strip().lower() for word in options.cases.split(",") if word.strip()]
    for number, case in enumerate(CASES):
        if (options.sizes == "small" and not case.small) or (
            words and not any(word in case.name.lower() for word in words)
        ):
            continue
        inputs = case.inputs(np.random.default_rng(number))
        row = [f"{sum(host.nbytes for host in inputs) / 1e6:,.2f}"]
        for library in libraries:
            try:
                row.append(f"{peak_bytes(case, library, inputs) / 1e6:,.2f}")
            except Exception as error:
                row.append(f"{type(error).__name__}")
            library.release()
        print(f"| {case.name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
