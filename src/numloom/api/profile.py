"""Where time goes: `profile`, around any code, and what it shows of it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numloom.api.creation import full
from numloom.api.profile_page import page
from numloom.array.ndarray import node_of
from numloom.device.registry import current
from numloom.engine.evaluate import evaluate, synchronize
from numloom.engine.profiling import OF_DEVICE, ProfileRecorder, Work
from numloom.engine.state import counters

MEASURED = 1 << 24
"""Elements of float32 that are copied to find how fast a device moves bytes."""
_ceilings: dict[str, float] = {}


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes
    ----------
    name, detail, line : str
        What it is; what it is over, and the user's line that ran it (of nodes).
    seconds, share, cumulative : float
        Its time, and that in parts of the whole, alone and with all rows above.
    calls : int
        How many times it ran.
    nbytes : int
        Bytes that it read and wrote, all in all.
    bandwidth, of_ceiling : float
        These in a second of its time; in parts of what the device can move.
    """

    name: str
    detail: str
    line: str
    seconds: float
    share: float
    cumulative: float
    calls: int
    nbytes: int
    bandwidth: float
    of_ceiling: float

    @property
    def each(self) -> float:
        """Seconds of a call."""
        return self.seconds / max(self.calls, 1)


def time_of(work: Work) -> float:
    """Seconds of some work: on the device, or of the host if it has none there."""
    return work.device if work.kind in OF_DEVICE else work.host


class Profile:
    """Where the time of some code went; see `profile`.

    Attributes
    ----------
    name : str
        What it is called in its tables.
    seconds : float
        Of the whole, until the device had done its work.
    device : str
        What the work ran on.
    ceiling : float
        Bytes a second that the device moves at most, as a copy of 64 MB was measured to; 0 until a table asks.
    """

    def __init__(self, name: str = "profile") -> None:
        self.name = name
        self.seconds = 0.0
        self.calls = 0
        self.device = ""
        self.ceiling = 0.0
        self._recorder: ProfileRecorder | None = None
        self._device: Any = None
        self._began = 0.0
        self._depth = 0

    # ------------------------------------------------------------ recording

    def __enter__(self) -> Profile:
        if counters.profiler is not None and counters.profiler is not self._recorder:
            raise RuntimeError("a profile is being taken already: end it before another one begins")
        if self._depth == 0:
            synchronize()
            self._device = current()
            self.device = getattr(self._device, "description", self._device.name)
            if self._recorder is None:
                self._recorder = ProfileRecorder(self._device)
            self._began = time.perf_counter()
            counters.profile_by(self._recorder)
        self._depth += 1
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        assert self._recorder is not None
        try:
            if kind is None:
                evaluate([])
                span = self._recorder.begin("wait", "", "waiting for the device")
                self._device.synchronize()
                self._recorder.end(span)
        finally:
            counters.profile_by(None)
            self.seconds += time.perf_counter() - self._began
            self._recorder.settle()

    # ------------------------------------------------------------ tables

    @property
    def _works(self) -> list[Work]:
        return [] if self._recorder is None else [work for work in self._recorder.works.values() if work.calls]

    @property
    def host(self) -> float:
        """Seconds of the host in none of the kinds: Python, and recording what it asks for."""
        inside = [work.host for work in self._works]
        return max(self.seconds - sum(inside), 0.0)

    def _rows(self, groups: dict[Any, list[tuple[str, str, str, float, int, int]]]) -> list[Row]:
        """Rows of (name, detail, line, seconds, calls, bytes), added up by groups, the longest first."""
        added = []
        for parts in groups.values():
            name, detail, line, *_ = parts[0]
            added.append(
                (name, detail, line, sum(p[3] for p in parts), sum(p[4] for p in parts), sum(p[5] for p in parts))
            )
        added.sort(key=lambda row: -row[3])
        whole = sum([row[3] for row in added]) or 1.0
        rows: list[Row] = []
        before = 0.0
        for name, detail, line, seconds, calls, nbytes in added:
            before += seconds
            rate = nbytes / seconds if seconds > 0 else 0.0
            part = rate / self.ceiling if self.ceiling else 0.0
            rows.append(Row(name, detail, line, seconds, seconds / whole, before / whole, calls, nbytes, rate, part))
        return rows

    def by_class(self) -> list[Row]:
        """Time by what it was spent on: kernels, routines, transfers, compilation, ... and the host's rest."""
        groups: dict[Any, list[Any]] = {}
        for work in self._works:
            groups.setdefault(work.kind, []).append((work.kind, "", "", time_of(work), work.calls, _nbytes(work)))
        groups["host"] = [("host (Python, recording)", "", "", self.host, 1, 0)]
        return self._rows(groups)

    def by_operation(self) -> list[Row]:
        """Time of the device by operation; a kernel's is split by what its operations cost, which is an estimate."""
        groups: dict[Any, list[Any]] = {}
        for work in self._works:
            if work.kind not in OF_DEVICE:
                continue
            parts = work.parts or ((work.kind, 1),)
            whole = sum([cost for _, cost in parts]) or 1
            for name, cost in parts:
                share = cost / whole
                row = (name, "", "", time_of(work) * share, work.calls, int(_nbytes(work) * share))
                groups.setdefault(name, []).append(row)
        return self._rows(groups)

    def by_node(self) -> list[Row]:
        """Time of each kernel, routine, copy and call, with the user's line that ran it."""
        groups: dict[Any, list[Any]] = {}
        for work in self._works:
            name = work.name if work.kind == "kernel" else f"{work.kind}: {work.name}"
            row = (name, work.detail, work.line, time_of(work), work.calls, _nbytes(work))
            # Steps of one plan may do the same, as those of a loop in Python.
            operations = tuple([operation for operation, _ in work.parts])
            groups.setdefault((work.kind, work.name, work.detail, work.line, operations), []).append(row)
        return self._rows(groups)

    def measure(self) -> float:
        """How many bytes a second the device moves, by copying 64 MB (once in a process)."""
        if not self.ceiling and self._device is not None:
            found = _ceilings.get(self.device)
            if found is None:
                found = _ceilings[self.device] = _copied(self._device)
            self.ceiling = found
        return self.ceiling

    # ------------------------------------------------------------ text

    @property
    def dropped(self) -> int:
        """Spans that traces lack, since they have room for so many only."""
        return self._recorder.dropped if self._recorder is not None else 0

    def __rich_console__(self, console: Any, options: Any) -> Any:
        self.measure()
        yield from _texts().parts(self)

    def text(self, width: int = 150) -> str:
        """The tables as text, so many characters wide."""
        self.measure()
        return str(_texts().text(self, width))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The bars and tables, for a notebook."""
        return page(self.data(), whole=False)

    # ------------------------------------------------------------ files

    def data(self) -> dict[str, Any]:
        """All of it as numbers and texts, as `json` has it."""
        self.measure()

        def rows(found: Sequence[Row]) -> list[dict[str, Any]]:
            return [{**asdict(row), "each": row.each} for row in found]

        return {
            "name": self.name, "device": self.device, "seconds": self.seconds, "calls": self.calls,
            "ceiling": self.ceiling, "host": self.host, "classes": rows(self.by_class()),
            "operations": rows(self.by_operation()), "nodes": rows(self.by_node()), "spans": self._spans(),
        }  # fmt: skip

    def _spans(self) -> list[dict[str, Any]]:
        if self._recorder is None:
            return []
        return [
            {"kind": work.kind, "name": work.name, "detail": work.detail, "line": work.line, "begin": begin,
             "seconds": seconds, "device_begin": at, "device_seconds": took}
            for work, begin, seconds, at, took in sorted(self._recorder.spans, key=lambda span: (span[1], -span[2]))
        ]  # fmt: skip

    def json(self, file: Any = None) -> str:
        """As JSON: a text, also written to a file (a path) if there is one."""
        return _written(json.dumps(self.data()), file)

    def trace(self, file: Any = None) -> str:
        """In Chrome's trace format, for chrome://tracing, Perfetto and others: a text, also written to a file."""
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": 0, "tid": tid, "name": "thread_name", "args": {"name": name}}
            for tid, name in enumerate(("host", self.device or "device"))
        ]
        for span in self._spans():
            about = {"line": span["line"], "detail": span["detail"]}
            common = {"ph": "X", "pid": 0, "name": span["name"], "cat": span["kind"], "args": about}
            events.append({**common, "tid": 0, "ts": span["begin"] * 1e6, "dur": span["seconds"] * 1e6})
            if span["device_seconds"] >= 0:
                at, took = span["device_begin"] * 1e6, span["device_seconds"] * 1e6
                events.append({**common, "tid": 1, "ts": at, "dur": took})
        return _written(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}), file)

    def html(self, file: Any = None) -> str:
        """As a page with a flame chart and the tables, which needs no other file: a text, also written to a file."""
        return _written(page(self.data()), file)


def _texts() -> Any:
    """What prints tables, which takes a while to import."""
    return importlib.import_module("numloom.api.profile_text")


def _nbytes(work: Work) -> int:
    return work.calls * (work.bytes_read + work.bytes_written)


def _written(text: str, file: Any) -> str:
    if file is not None:
        with open(file, "w", encoding="utf-8") as target:
            target.write(text)
    return text


def _copied(device: Any) -> float:
    """Bytes a second of a kernel that copies."""
    source = full((MEASURED,), 1.0, "f4")
    evaluate([node_of(source)])
    device.synchronize()
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        first = device.event() if hasattr(device, "event") else None
        result = -source
        evaluate([node_of(result)])
        last = device.event() if first is not None else None
        device.synchronize()
        seconds = time.perf_counter() - began if first is None else device.elapsed(first, last) * 1e-3
        best = max(best, 8 * MEASURED / seconds)
    return best


def profile(name: str = "profile") -> Profile:
    """Find out where the time of a ``with`` block goes.

    Everything that runs in the block is timed: kernels, routines (sorts, products, factorisations), small work,
    transfers, compilation, planning, compiled functions, and the host's rest. On a GPU the device's own times come
    from events; kernels then run one by one, not as graphs.

    Parameters
    ----------
    name : str
        What it is called in its tables.

    Returns
    -------
    Profile
        Printed, it is tables by class, by operation and by node; ``html``, ``json`` and ``trace`` write files.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.linspace(0, 1, 100_000)
    >>> with np.profile() as found:
    ...     total = float((np.sin(x) * 2).sum())
    >>> found.by_class()[0].seconds > 0
    True
    """
    return Profile(name)


__all__ = ["Profile", "Row", "profile"]
