"""Collapsing a space: order its dimensions by memory, drop those of extent 1, merge neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numloom.plan.position import Map
from numloom.plan.program import Box


class Collapsed(NamedTuple):
    """A collapsed space and each column of strides in it."""

    shape: tuple[int, ...]
    kept: int
    strides: list[tuple[int, ...]]
    box: Box | None


class Space:
    """The logical space of a kernel: a shape, of which some axes may be reduced.

    `order` are the reduced axes as they are walked, slowest first.
    """

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...] | None, order: tuple[int, ...]) -> None:
        self.shape = shape
        self.axes = axes
        self.order = order
        self.kept_axes = [axis for axis in range(len(shape)) if axes is None or axis not in axes]
        self._memo: tuple[dict[Any, int], dict[Any, int]] = ({}, {})

    def memo(self, post: bool) -> dict[Any, int]:
        """Instructions already made for (value, index map) pairs of a stage."""
        return self._memo[post]

    def of_row(self, at: Map) -> bool:
        """Whether what is read at an index map is one value for every reduced row.

        Of rows of one element nothing is: what a view reads there has no coefficients either.
        """
        return (
            self.axes is not None
            and not any(coefficients[axis] for _, coefficients in at for axis in self.axes)
            and any(self.shape[axis] != 1 for axis in self.axes)
        )

    def collapse(
        self, columns: Sequence[tuple[tuple[int, ...], bool]], leader: tuple[int, ...] | None, box: Box | None
    ) -> Collapsed:
        """Collapse the space for columns of strides (True: of the stage after the reduction).

        Kept axes are ordered by the strides of `leader` (a store's), reduced ones as given.
        """
        rank = len(self.shape)
        wide: list[tuple[int, ...]] = []
        for strides, post in columns:
            if not post:
                wide.append(strides)
            elif len(strides) == rank:
                # Kept dimensions: axes that were reduced have extent 1.
                wide.append(tuple(s if axis in self.kept_axes else 0 for axis, s in enumerate(strides)))
            else:
                spread = [0] * rank
                for axis, stride in zip(self.kept_axes, strides, strict=True):
                    spread[axis] = stride
                wide.append(tuple(spread))
        if leader is None and self.axes is not None:
            leader = next((w for w, (_, post) in zip(reversed(wide), reversed(columns), strict=True) if post), None)
        kept = list(self.kept_axes)
        if leader is not None:
            guide = leader
            kept.sort(key=lambda axis: (-abs(guide[axis]), axis))
        groups = [kept, list(self.order)]
        shape: list[int] = []
        result: list[list[int]] = [[] for _ in wide]
        starts: list[int] = []
        counts: list[int] = []
        kept_count = 0
        for which, axes in enumerate(groups):
            first = len(shape)
            for axis in axes:
                extent = self.shape[axis]
                full = box is None or (box.starts[axis] == 0 and box.counts[axis] == extent)
                if extent == 1 and full:
                    continue
                mergeable = (
                    len(shape) > first
                    and full
                    and all(r[-1] == w[axis] * extent for r, w in zip(result, wide, strict=True))
                )
                if mergeable:
                    shape[-1] *= extent
                    for r, w in zip(result, wide, strict=True):
                        r[-1] = w[axis]
                    if box is not None:
                        starts[-1] *= extent
                        counts[-1] *= extent
                else:
                    shape.append(extent)
                    for r, w in zip(result, wide, strict=True):
                        r.append(w[axis])
                    if box is not None:
                        starts.append(box.starts[axis])
                        counts.append(box.counts[axis])
            if (which == 0 and self.axes is None and not shape) or (
                which == 1 and len(shape) == first and self.axes is not None
            ):
                # Every map has a dimension, and every reduction a reduced one.
                shape.append(1)
                for r in result:
                    r.append(0)
                if box is not None:
                    starts.append(0)
                    counts.append(1)
            if which == 0:
                kept_count = len(shape)
        final = [tuple(r[:kept_count]) if post else tuple(r) for r, (_, post) in zip(result, columns, strict=True)]
        new_box = None
        if box is not None:
            new_box = Box(box.base, tuple(starts), (1,) * len(starts), tuple(counts), box.fill)
        return Collapsed(tuple(shape), kept_count, final, new_box)
