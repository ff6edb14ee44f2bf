"""``cupyx.scipy.special``: `numloom.special`'s names, and those of `numloom.cupyx.scipy.table`."""

from typing import Any

from numloom import special as ours
from numloom.cupyx.scipy.lookup import member, public


def __getattr__(name: str) -> Any:
    return getattr(ours, name) if name in ours.__all__ else member("special", name)


def __dir__() -> list[str]:
    return sorted({*ours.__all__, *public("special")})
