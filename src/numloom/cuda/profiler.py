"""How long calls take, by CuPy's form: times of the host and of the device, and their spread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numloom.base.integers import is_integer
from numloom.cuda.devices import current_id, flush, wait
from numloom.cuda.runtime import profilerStart as start
from numloom.cuda.runtime import profilerStop as stop
from numloom.cuda.streams import Event, get_elapsed_time

Seconds = np.ndarray[Any, np.dtype[np.float64]]


class PerfCaseResult:
    """What `benchmark` measured.

    Attributes
    ----------
    name : str
        Of the function.
    cpu_times : numpy.ndarray
        Seconds of each call until its work was started.
    gpu_times : numpy.ndarray
        Seconds of each call by events, one row for the device: until its work was done.
    """

    def __init__(self, name: str, times: Seconds, devices: Sequence[int]) -> None:
        self.name = name
        self._times = times
        self._devices = tuple(devices)

    @property
    def cpu_times(self) -> Seconds:
        """Seconds of each call until its work was started."""
        return self._times[0]

    @property
    def gpu_times(self) -> Seconds:
        """Seconds of each call by events, one row for the device."""
        return self._times[1:]

    def to_str(self, show_gpu: bool = False) -> str:
        """A line with mean, deviation, least and most."""
        parts = [_spread("CPU", self.cpu_times)]
        if show_gpu:
            parts += [_spread(f"GPU-{number}", row) for number, row in zip(self._devices, self.gpu_times, strict=True)]
        return f"{self.name:<20s}:{'  '.join(parts)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def benchmark(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    n_repeat: int = 10_000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: Sequence[int] | None = None,
) -> PerfCaseResult:
    """Time calls of a function, each with the work that it recorded.

    Parameters
    ----------
    func : callable
        What is timed.
    args, kwargs : tuple, mapping
        Its arguments.
    n_repeat : int
        Most calls that are timed.
    name : str, optional
        Shown in the result; by default the function's.
    n_warmup : int
        Calls before, which compile kernels.
    max_duration : float
        Seconds after which no further call is timed.
    devices : sequence of int, optional
        The current device's number, if anything.

    Returns
    -------
    PerfCaseResult

    Examples
    --------
    >>> import numloom as np
    >>> x = np.linspace(0, 1, 1000)
    >>> found = np.cuda.benchmark(lambda: np.sin(x) + 1, n_repeat=5)
    >>> found.cpu_times.shape, found.gpu_times.shape
    ((5,), (1, 5))
    """
    if not callable(func):
        raise ValueError(f"benchmark times a function, got {type(func).__name__}")
    if not isinstance(args, tuple):
        raise ValueError(f"args must be a tuple, got {type(args).__name__}")
    if not is_integer(n_repeat) or n_repeat < 1:
        raise ValueError(f"n_repeat must be a number of calls, at least 1; got {n_repeat!r}")
    numbers = (current_id(),) if devices is None else tuple(devices)
    if numbers != (current_id(),):
        raise ValueError(f"devices {numbers}: the work of arrays is on device {current_id()} alone")
    named = dict(kwargs or {})
    for _ in range(n_warmup):
        kept = func(*args, **named)
        flush()
        del kept
    begin, end = Event(), Event()
    wait()
    cpu: list[float] = []
    gpu: list[float] = []
    total = 0.0
    for _ in range(n_repeat):
        begin.record()
        since = time.perf_counter()
        kept = func(*args, **named)  # Held until its work has begun: what nobody holds would not run.
        flush()
        cpu.append(time.perf_counter() - since)
        end.record()
        end.synchronize()
        gpu.append(get_elapsed_time(begin, end) * 1e-3)
        total += time.perf_counter() - since
        del kept
        if total > max_duration:
            break
    shown = str(name or getattr(func, "__name__", type(func).__name__))
    return PerfCaseResult(shown, np.array([cpu, gpu], np.float64), numbers)


def _spread(device: str, seconds: Seconds) -> str:
    """Mean, deviation, least and most, in microseconds."""
    micro = seconds * 1e6
    text = f"   {device}: {micro.mean():9.03f} us"
    if len(micro) > 1:
        text += f"   +/- {micro.std():6.03f} (min: {micro.min():9.03f} / max: {micro.max():9.03f}) us"
    return text


__all__ = ["PerfCaseResult", "benchmark", "start", "stop"]
