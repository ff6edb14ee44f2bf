"""Faults on purpose: a device whose k-th allocation, launch, copy, compilation, routine or file operation fails.

`faulty` makes a device of its own and wraps what the contract (`numloom.device.interface`) says: nothing in the
package knows of faults. Its pool keeps no freed memory, so that every allocation asks the backend.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import functools
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numloom as nl
from joined import Joined
from numloom.base.errors import CompileError, DeviceError
from numloom.device import registry
from numloom.device.memory import Pool
from numloom.engine import resized
from numloom.engine.evaluate import plans_of
from numloom.graph.node import register

ERRORS: dict[str, type[Exception]] = {
    "allocation": MemoryError,
    "launch": DeviceError,
    "copy": DeviceError,
    "routine": DeviceError,
    "wait": DeviceError,
    "compilation": CompileError,
    "file": OSError,
}
"""What a fault of each kind is raised as."""

HOW = ("once", "on", "passing")
"""A fault happens once; from then on; or passes, as a lack of memory that a second try does not meet."""


class Faults:
    """Which operation fails, and what was met.

    Attributes
    ----------
    met : list of str
        The kinds of the operations met since `arm`, in order.
    hit : str or None
        The kind of the first one that failed.
    failed : set of str
        The kinds of all that failed: after an error values are run one by one, and may meet the next one.
    """

    def __init__(self) -> None:
        self.at = 0
        self.how = "once"
        self.met: list[str] = []
        self.hit: str | None = None
        self.failed: set[str] = set()
        self._armed = False

    def arm(self, at: int = 0, how: str = "once") -> None:
        """From now on count operations; the one of number `at` fails (0: none)."""
        self.at, self.how, self.met, self.hit, self.failed, self._armed = at, how, [], None, set(), True

    def disarm(self) -> None:
        """Nothing fails and nothing is counted."""
        self._armed = False

    def due(self, kind: str) -> bool:
        """Count an operation; whether it fails."""
        if not self._armed:
            return False
        self.met.append(kind)
        fails = len(self.met) == self.at or (self.how == "on" and 0 < self.at < len(self.met))
        if fails:
            self.hit = self.hit or kind
            self.failed.add(kind)
        return fails

    def meet(self, kind: str) -> None:
        """Count an operation; raise if it fails."""
        if self.due(kind):
            raise error_of(kind)

    def before(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A call that is such an operation."""

        @functools.wraps(call, updated=())
        def met(*args: Any, **options: Any) -> Any:
            self.meet(kind)
            return call(*args, **options)

        return met


def error_of(kind: str) -> Exception:
    """The error of a fault."""
    if kind == "compilation":
        return CompileError("injected", "", "a fault on purpose")
    if kind == "file":
        return OSError(errno.ENOSPC, "a fault on purpose")
    return ERRORS[kind]("a fault on purpose")


class Launch:
    """A bound launch that may fail."""

    def __init__(self, faults: Faults, inner: Callable[[], None]) -> None:
        self.faults = faults
        self.inner = inner

    def __call__(self) -> None:
        self.faults.meet("launch")
        self.inner()


def faulty(name: str, faults: Faults) -> Any:
    """A new device of the backend `name` ("cpu" or "cuda"), whose operations are counted and fail."""
    device: Any = type(registry.get(name))()
    inner = device.pool
    again = False  # The pool gives back what it keeps and asks once more, which fails too.

    def raw_allocate(nbytes: int) -> int:
        nonlocal again
        if again:
            again = False
            return 0
        if faults.due("allocation"):
            again = faults.how != "passing"
            return 0
        return int(inner.raw_allocate(nbytes))

    device.pool = Pool(inner.name, raw_allocate, inner.raw_free, cache_limit=1, error_at=inner.error_at)
    device.keeps = inner
    device.allocate = device.pool.allocate
    bound, captured, kernel, routine, bind = (
        device.bound, device.captured, device.kernel, device.routine, device.bound_routine,
    )  # fmt: skip
    if device.interprets:  # On a GPU compiled code launches by itself; there is one launch at a time for it to bind.
        device.launch = faults.before("launch", device.launch)
        captured = Joined.of(device)  # So that launches are held back, as where there are graphs.
    device.bound = lambda *args: Launch(faults, bound(*args))
    device.captured = lambda calls: _captured(faults, captured(lambda capture: calls(Unwrapping(capture))))

    def make(text: str, entry: str, *, wait: bool) -> Any:
        if wait or not device.interprets:
            faults.meet("compilation")
        return kernel(text, entry, wait=wait)

    device.kernel = make
    for operation in ("upload", "download", "copy", "clear"):
        setattr(device, operation, faults.before("copy", getattr(device, operation)))
    device.synchronize = faults.before("wait", device.synchronize)
    device.module = faults.before("compilation", device.module)
    device.routine = lambda name: faults.before("routine", routine(name))

    def bound_routine(*args: Any, **options: Any) -> Any:
        found = bind(*args, **options)
        return None if found is None else faults.before("routine", found)

    device.bound_routine = bound_routine
    return device


class Unwrapping:
    """A capture that takes down what is in a `Launch`."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture

    def live(self, bound: Launch) -> None:
        self.capture.live(bound.inner)

    def launch(self, bound: Launch, *given: Any) -> None:
        self.capture.launch(bound.inner, *given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.capture, name)


class Captured:
    """What was captured, which may refuse to run."""

    def __init__(self, faults: Faults, inner: Any) -> None:
        self.faults = faults
        self.inner = inner
        self.nbytes = inner.nbytes

    def __call__(self, addresses: Any) -> bool:
        return not self.faults.due("launch") and bool(self.inner(addresses))


def _captured(faults: Faults, inner: Any) -> Captured | None:
    return None if inner is None else Captured(faults, inner)


@contextlib.contextmanager
def installed(name: str, faults: Faults) -> Iterator[Any]:
    """A faulty device in the place of the device `name`; files that are opened may fail, too."""
    nl.synchronize()
    device = faulty(name, faults)
    before, opened = registry._devices[name], builtins.open
    registry._devices[name] = device
    builtins.open = faults.before("file", opened)
    try:
        with registry.use(name):
            yield device
    finally:
        faults.disarm()
        builtins.open = opened
        registry._devices[name] = before
        plans_of(device).clear()
        if hasattr(device, "builder"):
            device.builder.stop()


def forget_plans(device: Any) -> None:
    """Let everything be planned anew, as if it were met for the first time."""
    plans_of(device).clear()
    plans_of(registry.get("null"))  # What was used last is forgotten at a change of devices.
    resized._specialisations.clear()
    plans_of(device)


def state(device: Any) -> dict[str, Any]:
    """What must be as before once all arrays are gone, and what was going on beside has ended."""
    for thread in threading.enumerate():
        if thread.name == "numloom-nvrtc":  # It compiles, or keeps on the disk what was compiled.
            thread.join()
    gc.collect()
    found: dict[str, Any] = {
        "bytes in use": device.pool.used,
        "bytes in parts": device.pool.parted,
        "pending values": register.oldest is not None or register.newest is not None,
        "depth": register.depth,
        "dead values": sum(freed is not None for freed in register.deferred_frees),
        "errors of kernels": device.take_complaints(),
    }
    if device.discrete:  # Libraries of the GPU have threads and files of their own.
        return found
    found["threads"] = threading.active_count()
    if os.path.isdir("/proc/self/fd"):
        found["open files"] = len(os.listdir("/proc/self/fd"))
        found["child processes"] = children()
    return found


def state_after(device: Any, before: dict[str, Any]) -> dict[str, Any]:
    """The state, once files that threads of earlier tests had open are closed."""
    for _ in range(20):
        after = state(device)
        if "open files" in after and after["open files"] < before["open files"]:
            after["open files"] = before["open files"]
        if after == before:
            break
        time.sleep(0.05)
    return after


def children() -> int:
    """How many child processes there are, ended or not."""
    with contextlib.suppress(OSError), _open(f"/proc/self/task/{threading.get_native_id()}/children") as file:
        return len(file.read().split())
    return 0


_open = builtins.open
