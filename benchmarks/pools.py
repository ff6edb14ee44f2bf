"""Policies of memory pools on traces of changing batch and sequence lengths: ``python -m benchmarks.pools``.

    python -m benchmarks.pools --pools "numloom,best fit,cupy,torch" --json pools.json --plot pools.svg

Each trace is a list of allocations and frees, as programs make them. It is replayed by our pool, by a best-fit pool
that cuts blocks and joins free neighbours again, and with a GPU by CuPy's pool and PyTorch's allocator. Columns: the
most bytes in use at once (as asked for, not rounded) and the most that the pool held; fragmentation, which is held over
in use; the smallest memory in which the trace runs at all, over the bytes in use; blocks asked of the device;
nanoseconds for an allocation with its free, by a pool that has seen the trace.

With a GPU our pool, CuPy's and PyTorch's have memory of the driver, so that its time is in theirs. The best-fit pool,
and ours without a GPU or where the smallest memory is looked for, have addresses that nobody uses: their times are
without a driver, and those of the best-fit pool are Python's. PyTorch's are those of its Python functions.
"""

from __future__ import annotations

import argparse
import bisect
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.libraries import LIBRARIES
from benchmarks.page import rows as markdown
from benchmarks.report import save_rows
from numloom.base.errors import OutOfMemoryError
from numloom.device import registry
from numloom.device.memory import Pool

Step = tuple[int, int]
"""Number of a block, and its bytes; 0 bytes free it."""
ROUND = 512


# ---------------------------------------------------------------- traces


def training(seed: int = 0, steps: int = 60, layers: int = 12, width: int = 512) -> Iterator[Step]:
    """Steps of a transformer's training: another batch and sequence length each, what is kept is freed backwards."""
    rng = random.Random(seed)
    names = iter(range(1 << 30))
    for _ in range(layers):  # Weights, their gradients and two moments.
        for _ in range(4):
            yield next(names), 12 * width * width * 4
    for _ in range(steps):
        batch, length = rng.choice((8, 12, 16, 24)), rng.randrange(128, 1025)
        token = batch * length * width * 2
        kept: list[list[int]] = []
        for _ in range(layers):
            layer = []
            for size in (token, 3 * token, batch * 8 * length * length * 2, token, 4 * token, token):
                name = next(names)
                layer.append(name)
                yield name, size
                extra = next(names)  # Something that is soon let go.
                yield extra, size // 2
                yield extra, 0
            kept.append(layer)
        for layer in reversed(kept):
            gradient = next(names)
            yield gradient, 4 * token
            for name in layer:
                yield name, 0
            yield gradient, 0


def serving(seed: int = 1, requests: int = 400, width: int = 4096) -> Iterator[Step]:
    """Answers of a language model: each request's cache grows by copying, requests come and go."""
    rng = random.Random(seed)
    names = iter(range(1 << 30))
    yield next(names), 400 << 20
    live: dict[int, list[int]] = {}
    for number in range(requests):
        live[number] = [-1, rng.randrange(16, 400), rng.randrange(10, 80)]
        while len(live) > 12 or (live and number == requests - 1):
            for which in list(live):
                block, length, left = live[which]
                name = next(names)
                yield name, 2 * width * length
                scratch = next(names)
                yield scratch, 32 * length * 128 * 2
                yield scratch, 0
                if block >= 0:
                    yield block, 0
                if left:
                    live[which] = [name, length + 16, left - 1]
                else:
                    yield name, 0
                    del live[which]


def images(seed: int = 2, steps: int = 150) -> Iterator[Step]:
    """Pictures of many sizes through a network: maps that halve, and their gradients."""
    rng = random.Random(seed)
    names = iter(range(1 << 30))
    for _ in range(steps):
        batch, side = rng.randrange(1, 33), rng.choice((96, 128, 160, 192, 224, 256))
        sizes = [batch * channels * (side >> level) ** 2 * 4 for level, channels in enumerate((32, 64, 128, 256, 512))]
        kept = []
        for size in sizes:
            for _ in range(3):
                name = next(names)
                kept.append((name, size))
                yield name, size
        for name, size in reversed(kept):
            gradient = next(names)
            yield gradient, size
            yield name, 0
            yield gradient, 0


def arrays(seed: int = 3, steps: int = 20_000) -> Iterator[Step]:
    """Arrays of an interactive program: of any size, living for any time."""
    rng = random.Random(seed)
    live: list[int] = []
    for name in range(steps):
        yield name, int(2 ** rng.uniform(8, 24))
        live.append(name)
        while len(live) > 60 or (live and rng.random() < 0.45):
            yield live.pop(rng.randrange(len(live))), 0


TRACES: dict[str, Callable[[], Iterator[Step]]] = {
    "training, batch and length change": training,
    "serving, caches that grow": serving,
    "images of many sizes": images,
    "arrays of any size": arrays,
}


# ---------------------------------------------------------------- pools


class Replayed(Protocol):
    """A pool as `replay` uses it."""

    def take(self, nbytes: int) -> Any:
        """Memory; raises MemoryError where there is none."""

    def give(self, block: Any) -> None:
        """Back to the pool."""

    def held(self) -> int:
        """Bytes that the pool has from the device now."""

    def release(self) -> None:
        """Give all of it back: the next pool may need it."""

    requests: int


class Addresses:
    """A device without memory: addresses of so many bytes."""

    def __init__(self, memory: int = 0) -> None:
        self._left = memory or 1 << 62
        self._next = 0

    def take(self, nbytes: int) -> int:
        if nbytes > self._left:
            raise MemoryError
        self._left -= nbytes
        self._next += nbytes + 256
        return self._next

    def give(self, address: int, nbytes: int) -> None:
        self._left += nbytes


class Ours:
    """Our pool, over the memory of the GPU where there is one (and none is simulated)."""

    def __init__(self, memory: int = 0) -> None:
        self.requests = 0
        self._held = 0
        device = registry.current()
        self._take: Callable[[int], int] = device.pool.raw_allocate
        self._give: Callable[[int, int], None] = device.pool.raw_free
        if memory or device.name == "cpu":
            addresses = Addresses(memory)
            self._take, self._give = addresses.take, addresses.give
        self.pool = Pool("trace", self._raw, self._back)
        self.take = self.pool.allocate

    def _raw(self, nbytes: int) -> int:
        address = self._take(nbytes)
        self.requests += 1
        self._held += nbytes
        return address

    def _back(self, address: int, nbytes: int) -> None:
        self._held -= nbytes
        self._give(address, nbytes)

    def give(self, block: Any) -> None:
        """It goes with its last reference."""

    def held(self) -> int:
        return self._held

    def release(self) -> None:
        self.pool.trim()


class _Chunk:
    """Part of a block of the device: free or in use, between its neighbours."""

    __slots__ = ("after", "before", "free", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.free = False
        self.before: _Chunk | None = None
        self.after: _Chunk | None = None


class BestFit:
    """The smallest free chunk that is large enough, cut to size; free neighbours are joined."""

    def __init__(self, memory: int = 0) -> None:
        self.requests = 0
        self._held = 0
        self._memory = memory
        self._free: dict[int, list[_Chunk]] = {}
        self._sizes: list[int] = []

    def take(self, nbytes: int) -> _Chunk:
        size = max(-(-nbytes // ROUND) * ROUND, ROUND)
        at = bisect.bisect_left(self._sizes, size)
        if at < len(self._sizes):
            chunk = self._free[self._sizes[at]][-1]
            self._remove(chunk)
            if chunk.size - size >= ROUND:
                rest = _Chunk(chunk.size - size)
                chunk.size = size
                rest.before, rest.after = chunk, chunk.after
                if chunk.after is not None:
                    chunk.after.before = rest
                chunk.after = rest
                self._add(rest)
            return chunk
        if self._memory and self._held + size > self._memory:
            self._give_whole_blocks_back()
            if self._held + size > self._memory:
                raise MemoryError
        self.requests += 1
        self._held += size
        return _Chunk(size)

    def give(self, chunk: _Chunk) -> None:
        after, before = chunk.after, chunk.before
        if after is not None and after.free:
            self._remove(after)
            chunk.size += after.size
            chunk.after = after.after
            if chunk.after is not None:
                chunk.after.before = chunk
        if before is not None and before.free:
            self._remove(before)
            before.size += chunk.size
            before.after = chunk.after
            if before.after is not None:
                before.after.before = before
            chunk = before
        self._add(chunk)

    def _add(self, chunk: _Chunk) -> None:
        chunk.free = True
        found = self._free.setdefault(chunk.size, [])
        if not found:
            bisect.insort(self._sizes, chunk.size)
        found.append(chunk)

    def _remove(self, chunk: _Chunk) -> None:
        chunk.free = False
        found = self._free[chunk.size]
        found.remove(chunk)
        if not found:
            del self._sizes[bisect.bisect_left(self._sizes, chunk.size)]

    def _give_whole_blocks_back(self) -> None:
        for size in list(self._sizes):
            for chunk in list(self._free[size]):
                if chunk.before is None and chunk.after is None:
                    self._remove(chunk)
                    self._held -= size

    def held(self) -> int:
        return self._held

    def release(self) -> None:
        self._give_whole_blocks_back()


class Cupy:
    """CuPy's pool."""

    def __init__(self, memory: int = 0) -> None:
        import cupy

        self.requests = 0
        self.pool = cupy.cuda.MemoryPool(self._raw)
        if memory:
            self.pool.set_limit(size=memory)
        self.take = self.pool.malloc
        self._malloc = cupy.cuda.memory._malloc

    def _raw(self, size: int) -> Any:
        self.requests += 1
        return self._malloc(size)

    def give(self, block: Any) -> None:
        """It goes with its last reference."""

    def held(self) -> int:
        return int(self.pool.total_bytes())

    def release(self) -> None:
        self.pool.free_all_blocks()


class Torch:
    """PyTorch's caching allocator."""

    def __init__(self, memory: int = 0) -> None:
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self._torch = torch
        self._before = torch.cuda.memory_stats().get("segment.all.allocated", 0)
        share = memory / torch.cuda.get_device_properties(0).total_memory if memory else 1.0
        torch.cuda.set_per_process_memory_fraction(min(share, 1.0))
        self.take, self.give = torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete

    @property
    def requests(self) -> int:
        """Blocks asked of the device."""
        return int(self._torch.cuda.memory_stats().get("segment.all.allocated", 0) - self._before)

    def held(self) -> int:
        return int(self._torch.cuda.memory_reserved())

    def release(self) -> None:
        self._torch.cuda.empty_cache()


POOLS: dict[str, Callable[[int], Any]] = {
    "numloom": Ours, "best fit": BestFit, "cupy": Cupy, "torch": Torch,
}  # fmt: skip
SIMULATED = ("numloom", "best fit")
"""Those that run on addresses alone, in as little memory as one likes."""


# ---------------------------------------------------------------- replay


@dataclass(frozen=True)
class Row:
    """What one pool did with one trace; `least` is None where it was not looked for."""

    trace: str
    pool: str
    used: int
    held: int
    least: float | None
    blocks: int
    nanoseconds: float


def bytes_by_step(trace: list[Step], pool: Any) -> tuple[list[int], list[int]]:
    """Bytes in use and bytes held after each step."""
    live: dict[int, tuple[Any, int]] = {}
    used, held = [0], [pool.held()]
    for name, nbytes in trace:
        if nbytes:
            live[name] = pool.take(nbytes), nbytes
            used.append(used[-1] + nbytes)
        else:
            block, size = live.pop(name)
            used.append(used[-1] - size)
            pool.give(block)
            del block
        held.append(pool.held())
    for block, _ in live.values():
        pool.give(block)
    return used, held


def replay(trace: list[Step], pool: Any) -> tuple[int, int]:
    """Most bytes in use and most bytes held."""
    used, held = bytes_by_step(trace, pool)
    return max(used), max(held)


def seconds(trace: list[Step], pool: Any) -> float:
    """Seconds of a second replay with one pool, which has its blocks by then, less those of the loop."""
    best = []
    for take, give in ((pool.take, pool.give), (lambda nbytes: nbytes, lambda block: None)):
        times = []
        for _ in range(3):
            live: dict[int, Any] = {}
            start = time.perf_counter()
            for name, nbytes in trace:
                if nbytes:
                    live[name] = take(nbytes)
                else:
                    give(live.pop(name))
            times.append(time.perf_counter() - start)
            while live:
                give(live.popitem()[1])
        best.append(min(times))
    return best[0] - best[1]


def least_memory(trace: list[Step], pool: Callable[[int], Any], used: int) -> float:
    """The smallest memory, over `used`, in which the trace runs (to a hundredth)."""
    low, high = 100, 250
    while low < high:
        middle = (low + high) // 2
        try:
            replay(trace, pool(used * middle // 100))
        except (MemoryError, OutOfMemoryError, RuntimeError):
            low = middle + 1
        else:
            high = middle
    return low / 100


def measured(title: str, trace: list[Step], name: str, least: bool) -> Row:
    """One pool with one trace; `least`: also look for the smallest memory, where it can be simulated."""
    pool = POOLS[name](0)
    used, held = replay(trace, pool)
    blocks = pool.requests
    nanoseconds = 1e9 * seconds(trace, pool) / sum(nbytes > 0 for _, nbytes in trace)
    pool.release()
    smallest = least_memory(trace, POOLS[name], used) if least and name in SIMULATED else None
    return Row(title, name, used, held, smallest, blocks, nanoseconds)


# ---------------------------------------------------------------- report


def table(rows: list[Row]) -> list[list[str]]:
    """Cells of the table, its head first."""
    head = ["trace", "pool", "in use, MB", "held, MB", "fragmentation", "least memory", "blocks", "ns"]
    return [
        head,
        *(
            [
                row.trace,
                row.pool,
                f"{row.used / 1e6:,.0f}",
                f"{row.held / 1e6:,.0f}",
                f"{row.held / row.used:.2f}",
                "–" if row.least is None else f"{row.least:.2f}",
                f"{row.blocks:,}",
                f"{row.nanoseconds:,.0f}",
            ]
            for row in rows
        ),
    ]


def thinned(values: list[int], most: int = 500) -> list[int]:
    """The largest of each of at most so many equal parts, so that a picture stays small and no peak is lost."""
    step = -(-len(values) // most)
    return [max(values[start : start + step]) for start in range(0, len(values), step)]


def plot(trace: list[Step], names: list[str], path: Path) -> None:
    """Draw what is in use and what each pool holds, by the part of the trace that was replayed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axis = figure.subplots()
    for name in names:
        pool = POOLS[name](0)
        used, held = (thinned(values) for values in bytes_by_step(trace, pool))
        pool.release()
        places = [100 * place / len(used) for place in range(len(used))]
        if name == names[0]:
            axis.fill_between(places, [value / 1e6 for value in used], color="lightgrey", label="in use")
        axis.plot(places, [value / 1e6 for value in held], label=name)
    axis.set_xlabel("part of the trace, %")
    axis.set_ylabel("MB")
    axis.legend()
    figure.savefig(path)


def main() -> None:
    """Read the command line, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", default="numloom,best fit", help=f"of {','.join(POOLS)}")
    parser.add_argument("--no-least", action="store_true", help="do not search the smallest memory")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw one trace, too")
    parser.add_argument("--drawn", default=next(iter(TRACES)), choices=TRACES, help="the trace that is drawn")
    options = parser.parse_args()
    names = options.pools.split(",")
    rows = []
    for title, make in TRACES.items():
        trace = list(make())
        rows += [measured(title, trace, name, not options.no_least) for name in names]
    print("\n".join(markdown(table(rows))))
    if options.json:
        versions = {name: LIBRARIES[name]().version for name in names if name in LIBRARIES}
        save_rows(rows, versions, options.json)
    if options.plot:
        plot(list(TRACES[options.drawn]()), names, options.plot)


if __name__ == "__main__":
    main()
