"""A profile as text: tables for a terminal."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from numloom.api.profile import Profile, Row
from numloom.base.wording import counted

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def _time(seconds: float) -> str:
    for unit, scale in _UNITS:
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e6:.3f} µs"


def _size(nbytes: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= scale:
            return f"{nbytes / scale:.4g} {unit}"
    return f"{nbytes:.0f} B"


SHOWN = 25
"""Rows of a printed table."""


def parts(profile: Profile) -> Iterator[Any]:
    """What is printed, for rich."""
    yield (
        f"{profile.name}: {_time(profile.seconds)} on {profile.device or 'no device'}"
        + (f" in {counted(profile.calls, 'call')}" if profile.calls else "")
        + (f", which copies {profile.ceiling / 1e9:.0f} GB/s" if profile.ceiling else "")
    )
    tables = (("class", profile.by_class()), ("operation", profile.by_operation()), ("node", profile.by_node()))
    for title, rows in tables:
        yield _table(title, rows)
    if profile.dropped:
        yield f"the trace lacks {counted(profile.dropped, 'span')}: it has room for so many only"


def text(profile: Profile, width: int) -> str:
    """The tables, so many characters wide."""
    target = io.StringIO()
    console = Console(width=width, file=target, color_system=None)
    for part in parts(profile):
        console.print(part, highlight=False, markup=False)
    return target.getvalue()


def _table(title: str, rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    of_nodes = title == "node"
    table.add_column(title, overflow="fold", ratio=3 if of_nodes else None)
    heads = ("% time", "cumul. %", "time", "time a call", "calls", "bytes", "GB/s", "% of ceiling")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    if of_nodes:
        table.add_column("over", overflow="fold", ratio=2)
        table.add_column("line", overflow="fold", ratio=2)
    for row in rows[:SHOWN]:
        cells = [
            row.name, f"{100 * row.share:.1f}", f"{100 * row.cumulative:.1f}", _time(row.seconds), _time(row.each),
            f"{row.calls:,}", _size(row.nbytes) if row.nbytes else "",
            f"{row.bandwidth / 1e9:.4g}" if row.nbytes else "",
            f"{100 * row.of_ceiling:.0f}" if row.nbytes and row.of_ceiling else "",
        ]  # fmt: skip
        if of_nodes:
            cells += [row.detail, short_line(row.line)]
        table.add_row(*cells)
    if len(rows) > SHOWN:
        table.add_row(f"... {counted(len(rows) - SHOWN, 'more row')}", *[""] * (len(heads) + 2 * of_nodes))
    return table


def short_line(line: str) -> str:
    """A line of a file, by the file's name alone."""
    return os.path.basename(line)


__all__ = ["parts", "text"]
