"""Directives of the compiled core, for modules that run as they are where Cython is not installed.

Only decorators beside a class reach Cython's code for making and freeing its instances; those of a ``.pxd`` do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

compiled = False
"""As Cython's name says; what it guards is left out of the compiled module."""

Class = TypeVar("Class", bound=type)


def cclass(decorated: Class) -> Class:
    """An extension type."""
    return decorated


def no_gc(decorated: Class) -> Class:
    """Not followed by the cycle collector."""
    return decorated


def cast(kind: Any, value: Any) -> Any:
    """A value that is known to be of a class (or None), so that nobody looks."""
    return value


def freelist(count: int) -> Callable[[Class], Class]:
    """Memory of up to `count` freed instances is kept."""
    return no_gc
