"""``cupyx.scipy.special``: `numloom.special`'s names in the dtypes of SciPy's loops, and those of the table."""

from typing import Any

from numloom import special as ours
from numloom.cupyx.scipy.lookup import member, public
from numloom.cupyx.scipy.loops import typed


def __getattr__(name: str) -> Any:
    return typed(name) if name in ours.__all__ else member("special", name)


def __dir__() -> list[str]:
    return sorted({*ours.__all__, *public("special")})
