"""``python -m numloom cache``: the compiled kernels and the plans that are kept on disk."""

from __future__ import annotations

import time
from collections import defaultdict

from rich import box
from rich.console import Console
from rich.table import Table

from numloom.base.config import config
from numloom.device.cache import CacheEntry, shared


def cache(action: str = "list", console: Console | None = None) -> int:
    """List, clear or verify the kernel cache; 1 if something was damaged.

    Parameters
    ----------
    action : {"list", "clear", "verify"}
        What to do. Damaged entries, which are never used, are deleted by "verify".
    """
    console = console or Console()
    kept = shared()
    entries = kept.entries()
    if action == "clear":
        kept.clear()
        console.print(f"deleted {_amount(entries)} in {kept.folder}", highlight=False, soft_wrap=True)
        return 0
    if action == "verify":
        damaged = [entry for entry in entries if not entry.sound]
        for entry in damaged:
            kept.discard(entry.key)
            console.print(f"damaged, deleted: {entry.key}", highlight=False, soft_wrap=True)
        told = f"{_amount(entries)} checked in {kept.folder}"
        console.print(f"{told}: {len(damaged) or 'none'} damaged", highlight=False, soft_wrap=True)
        return 1 if damaged else 0
    console.print(
        f"{kept.folder}: {_amount(entries)} of at most {config.cache_bytes / 2**20:.0f} MiB",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    if entries:
        console.print(_table(entries))
    return 0


def _table(entries: list[CacheEntry]) -> Table:
    """Entries by what made them."""
    groups: dict[str, list[CacheEntry]] = defaultdict(list)
    for entry in entries:
        groups[entry.origin if entry.sound else "damaged"].append(entry)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("made by", overflow="fold")
    for heading in ("entries", "MiB", "used last"):
        table.add_column(heading, justify="right")
    for origin, group in sorted(groups.items(), key=lambda item: -max(entry.used for entry in item[1])):
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(max(entry.used for entry in group)))
        size = sum(entry.nbytes for entry in group) / 2**20
        table.add_row(origin.replace("[", "\\["), str(len(group)), f"{size:.1f}", used)
    return table


def _amount(entries: list[CacheEntry]) -> str:
    count = "1 entry" if len(entries) == 1 else f"{len(entries):,} entries"
    return f"{count}, {sum(entry.nbytes for entry in entries) / 2**20:.1f} MiB"
