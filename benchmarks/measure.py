"""Timing one case under one library."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.libraries import Library

clock = time.perf_counter
REPEATS = 9
BATCH = 0.02  # seconds of calls between two synchronisations


@dataclass
class Measurement:
    """What one library took for one case.

    Attributes
    ----------
    seconds : float or None
        Median time of a call; None where there is none, and `note` says why.
    first : float or None
        Seconds of the first call, compiling included.
    calls : int
        Calls launched between two synchronisations.
    repeats : int
        How many such batches the median is of.
    kernels, library_calls, waits : float or None
        Kernels launched, routines called and waits of the host in a call, where the library counts them.
    note : str
        Why there is no time.
    best : float or None
        Shortest time of a call, of all batches.
    """

    seconds: float | None = None
    first: float | None = None
    calls: int = 0
    repeats: int = 0
    kernels: float | None = None
    library_calls: float | None = None
    waits: float | None = None
    note: str = ""
    best: float | None = None


def measure(case: Case, library: Library, inputs: tuple[Any, ...], cap: float, hard_cap: float) -> Measurement:
    """Time a case: `cap` seconds of measuring; after `hard_cap` seconds in all it is given up."""

    def prepare() -> Callable[[], Any]:
        run = case.run if library.writable or case.functional is None else case.functional
        function: Callable[..., Any] = functools.partial(run, library.namespace)
        if library.compiles_any_shape or not case.data_dependent:
            function = library.prepare(function)
        arrays = tuple(library.array(host) for host in inputs)
        library.wait(arrays)
        return functools.partial(function, *arrays)

    return measure_calls(prepare, library, cap, hard_cap)


def measure_calls(
    prepare: Callable[[], Callable[[], Any]], library: Library, cap: float, hard_cap: float
) -> Measurement:
    """Time the function that ``prepare()`` gives, as `measure` does."""
    found = Measurement()
    try:
        with alarm(hard_cap), np.errstate(all="ignore"):
            _measure(prepare(), library, cap, found)
    except TimeoutError:
        found.note = f"over {hard_cap:.0f} s" if found.seconds is None else ""
    except Exception as error:
        found.note = f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return found


def _measure(function: Callable[[], Any], library: Library, cap: float, found: Measurement) -> None:
    def batch(calls: int) -> float:
        begin = clock()
        for _ in range(calls):
            result = function()
            library.start(result)
        library.wait(result)
        return clock() - begin

    begin = clock()
    found.first = batch(1)
    once = batch(1)
    if once < cap / 2:
        once = min(once, batch(1))
    found.seconds, found.best, found.calls, found.repeats = once, once, 1, 1
    calls = max(1, min(2000, math.ceil(BATCH / once)))
    if calls > 1:  # alone, a short call is mostly waiting
        once = batch(calls) / calls
        calls = max(1, min(10_000, math.ceil(BATCH / once)))
    before = library.counts()
    times: list[float] = []
    while len(times) < REPEATS and (not times or clock() - begin < cap):
        times.append(batch(calls) / calls)
        found.seconds, found.calls, found.repeats = statistics.median(times), calls, len(times)
        found.best = min(times)
    after = library.counts()
    if before is not None and after is not None:
        kernels, library_calls, waits = (end - start for start, end in zip(before, after, strict=True))
        done = calls * len(times)
        found.kernels, found.library_calls = kernels / done, library_calls / done
        found.waits = (waits - len(times)) / done  # but for those of the clock


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this thread after `seconds`."""

    def ring(number: int, frame: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def results_agree(case: Case, library: Library, inputs: tuple[Any, ...], expected: Any, rtol: float = 2e-3) -> bool:
    """Whether a library's result of a case is NumPy's, within a tolerance that only shows mistakes."""
    run = case.run if library.writable or case.functional is None else case.functional
    with np.errstate(all="ignore"):
        result = run(library.namespace, *(library.array(host) for host in inputs))
    library.start(result)
    pairs = zip(*(value if isinstance(value, tuple) else (value,) for value in (result, expected)), strict=True)
    return all(np.allclose(library.host(a), b, rtol=rtol, atol=rtol, equal_nan=True) for a, b in pairs)


def copy_bandwidth(threads: int, nbytes: int = 1 << 28) -> float:
    """Bytes a second, read plus written, that `threads` threads copy on this machine."""
    source = np.ones(nbytes // 8)
    target = np.empty_like(source)
    bounds = [len(source) * i // threads for i in range(threads + 1)]
    parts = [(target[a:b], source[a:b]) for a, b in itertools.pairwise(bounds)]

    def copy(part: tuple[Any, Any]) -> None:
        np.copyto(*part)

    with ThreadPoolExecutor(threads) as pool:
        times = []
        for _ in range(5):
            begin = clock()
            list(pool.map(copy, parts))
            times.append(clock() - begin)
    return 2 * source.nbytes / min(times)
