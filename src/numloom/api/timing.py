"""How long a call takes until its results are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.api.running import evaluate
from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper
from numloom.base.wording import counted
from numloom.device.registry import current
from numloom.engine.evaluate import synchronize

Seconds = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Benchmark:
    """What `benchmark` measured.

    Attributes
    ----------
    name : str
        Name of the function.
    device : str
        Where its arrays are.
    times : numpy.ndarray
        Seconds of each call until its results were there.
    cpu_times : numpy.ndarray
        Seconds of each call until all was launched: what the host takes.
    gpu_times : numpy.ndarray
        Seconds of each call on the GPU, by its own clock; empty without a GPU.
    """

    name: str
    device: str
    times: Seconds
    cpu_times: Seconds
    gpu_times: Seconds

    @property
    def median(self) -> float:
        """Seconds that half of the calls took at most."""
        return float(np.median(self.times))

    def __str__(self) -> str:
        low, high = np.percentile(self.times, [10, 90])
        text = (
            f"{self.name}: {_seconds(self.median)} a call on {self.device} (median of "
            f"{counted(len(self.times), 'call')}; most take {_seconds(low)} to {_seconds(high)})"
        )
        if len(self.gpu_times):
            text += (
                f"; {_seconds(float(np.median(self.gpu_times)))} of work on the GPU, "
                f"{_seconds(float(np.median(self.cpu_times)))} until it is launched"
            )
        return text

    __repr__ = __str__


def benchmark(
    func: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
    n_repeat: int = 10_000, *, name: str | None = None, n_warmup: int = 10, max_duration: float = 1.0,
) -> Benchmark:  # fmt: skip
    """Time calls of a function, each until its results are there.

    ``%timeit f(x)`` would time recording alone: recorded work runs later. Here each call runs what it recorded for its
    results (arrays, also in tuples, lists and dicts) and waits for the device. First calls, which compile kernels, are
    not counted.

    Parameters
    ----------
    func : callable
        What is timed.
    args, kwargs : sequence, mapping, optional
        Its arguments.
    n_repeat : int
        Most calls that are timed.
    name : str, optional
        What it is called in the result; by default its own name.
    n_warmup : int
        Calls before those that are timed.
    max_duration : float
        Seconds after which no further call is timed.

    Returns
    -------
    Benchmark
        Printed, it is one line.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom.testing import benchmark
    >>> x = np.linspace(0, 1, 1000)
    >>> found = benchmark(lambda x: np.sin(x) ** 2 + np.cos(x) ** 2, (x,), n_repeat=20)
    >>> len(found.times), bool(found.median > 0)
    (20, True)
    """
    if n_repeat < 1:
        raise ValueError(f"n_repeat must be at least 1, got {n_repeat}")
    kwargs = kwargs or {}
    for _ in range(n_warmup):
        evaluate(*_arrays(func(*args, **kwargs)))
        synchronize()
    device: Any = current()
    clock = time.perf_counter
    total: list[float] = []
    host: list[float] = []
    gpu: list[float] = []
    synchronize()
    last = clock() + max_duration
    for _ in range(n_repeat):
        first = device.event() if device.discrete else None
        begin = clock()
        results = _arrays(func(*args, **kwargs))
        if results:
            evaluate(*results)
        launched = clock()
        then = device.event() if first is not None else None
        synchronize()
        end = clock()
        host.append(launched - begin)
        total.append(end - begin)
        if first is not None:
            gpu.append(device.elapsed(first, then) * 1e-3)
        del results
        if end > last:
            break
    shown = str(name or getattr(func, "__name__", type(func).__name__))
    return Benchmark(shown, device.name, np.asarray(total), np.asarray(host), np.asarray(gpu, np.float64))


def _arrays(results: Any) -> list[ndarray]:
    return list(_found(results))


def _found(results: Any, depth: int = 0) -> Iterator[ndarray]:
    if type(results) is ndarray:
        yield results
    elif isinstance(results, (tuple, list)):
        depth = deeper(depth)
        for each in results:
            yield from _found(each, depth)
    elif isinstance(results, dict):
        yield from _found(list(results.values()), depth)


def _seconds(seconds: float) -> str:
    """Seconds for people.

    >>> _seconds(1.234e-5), _seconds(0.5), _seconds(3.0)
    ('12.3 µs', '500 ms', '3 s')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


__all__ = ["Benchmark", "benchmark"]
