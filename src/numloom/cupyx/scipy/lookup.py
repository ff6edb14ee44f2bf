"""The members of ``cupyx.scipy``'s modules, made when they are asked for: SciPy is imported then."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from numloom.base.wording import no_name
from numloom.cupyx.scipy import host
from numloom.cupyx.scipy.adapting import ADAPTED
from numloom.cupyx.scipy.table import ELSEWHERE, HOST, IDLE, LACKED, OURS, PLACED, RENAMED

_PACKAGE = __name__.rpartition(".")[0] + "."


def public(module: str) -> list[str]:
    """The names that the table has for a module of ``cupyx.scipy``.

    Examples
    --------
    >>> public("stats")
    ['boxcox_llf', 'entropy', 'trim_mean', 'zmap', 'zscore']
    """
    return sorted({*HOST[module].split(), *OURS.get(module, ()), *ELSEWHERE.get(module, ())})


def members(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of ``cupyx.scipy``, which has this ``__name__``."""
    return lambda name: member(module.removeprefix(_PACKAGE), name)


@cache
def member(module: str, name: str) -> Any:
    """What the table says that a name of a module of ``cupyx.scipy`` is.

    Raises
    ------
    AttributeError
        If there is none; it says why, where the table knows.
    """
    if name in OURS.get(module, ()):
        return _at(OURS[module][name])
    if name not in public(module):
        raise AttributeError(no_name(_PACKAGE + module, name, LACKED.get(module, {}), public(module)))
    value = _at(ELSEWHERE.get(module, {}).get(name, f"scipy.{module}.{name}"))
    if isinstance(value, type):
        kind: Any = value
        return kind if issubclass(kind, Exception) else host.held_class(kind)
    place = f"{module}.{name}"
    return host.hosted(
        value, name, IDLE.get(place, ()), RENAMED.get(place, {}), ADAPTED.get(place), PLACED.get(place, ())
    )


def _at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{place} needs SciPy: pip install scipy ({error})", name=error.name) from None


__all__ = ["member", "members", "public"]
