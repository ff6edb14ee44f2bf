"""What the page of ``cupyx.scipy``'s names says, from the table."""

from __future__ import annotations

from numloom.cupyx.scipy.lookup import public
from numloom.cupyx.scipy.table import HOST, LACKED, OURS


def lists() -> str:
    """The part of ``docs/howto-cupyx-scipy.md`` that lists the names, as a table of Markdown."""
    rows = [row for module in sorted(HOST) for row in _rows(module)]
    return "\n".join(["| Module | Name | How |", "| --- | --- | --- |", *rows, ""])


def _rows(module: str) -> list[str]:
    ours, lacked = OURS.get(module, {}), LACKED.get(module, {})
    ways = {name: "SciPy's, on the host" for name in public(module)}
    ways |= {name: f"numloom's own, `{place}`" for name, place in ours.items()}
    ways |= {name: f"not there: {reason}" for name, reason in lacked.items()}
    return [f"| `{module}` | `{name}` | {way} |" for name, way in sorted(ways.items())]


__all__ = ["lists"]
