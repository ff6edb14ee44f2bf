"""NumPy's own generators: they refuse to shuffle our arrays of several axes, of which they would lose rows.

NumPy's `shuffle` exchanges parts of what is no array of NumPy's by ``x[i], x[j] = x[j], x[i]``. Our parts are views,
as NumPy's are, so the second store would read what the first one has just written. NumPy asks whether it has a sequence
before that, which is where it can be stopped.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Sequence
from typing import Any

from numloom.array.ndarray import ndarray


class _Asked(ABCMeta):
    """The class of what stands for `Sequence` in NumPy's generators."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type(instance) is not ndarray:
            return isinstance(instance, Sequence)
        if instance.ndim > 1:
            raise TypeError(
                f"NumPy's shuffle would lose rows of a numloom array of shape {instance.shape}, which it exchanges "
                "through views: use x[...] = x[rng.permutation(len(x))], or shuffle of numloom.random.default_rng()"
            )
        return True  # Elements are copies, so they may be exchanged.


class _ToShuffle(metaclass=_Asked):
    """What NumPy's generators exchange the items of."""


def register() -> None:
    """Tell NumPy's generators."""
    for name in ("_generator", "mtrand"):  # Which may be loaded before numpy knows its module `random`.
        module: Any = sys.modules[f"numpy.random.{name}"]
        if hasattr(module, "Sequence"):
            module.Sequence = _ToShuffle


__all__ = ["register"]
