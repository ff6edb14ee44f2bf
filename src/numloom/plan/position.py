"""Index maps: where a value is read, as affine functions of a kernel's indices.

A map has for each axis of the value an offset and one coefficient for each axis of the space. Views, broadcasts and
transposes only change maps, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

Map = tuple[tuple[int, tuple[int, ...]], ...]


def unit(rank: int, axis: int) -> tuple[int, ...]:
    """Coefficients of the index along one axis."""
    return tuple(int(d == axis) for d in range(rank))


def identity(shape: tuple[int, ...]) -> Map:
    """The map of a value over its own space."""
    rank = len(shape)
    return tuple((0, unit(rank, axis)) for axis in range(rank))


def fit(at: Map, shape: tuple[int, ...], target: tuple[int, ...]) -> Map:
    """The map of an argument of `shape`, broadcast to `target`, whose map is `at`."""
    if shape == target:
        return at
    lead = len(target) - len(shape)
    rank = len(at[0][1]) if at else 0
    return tuple(
        (0, (0,) * rank) if extent == 1 and target[lead + axis] != 1 else at[lead + axis]
        for axis, extent in enumerate(shape)
    )


def compose(inner: Map, starts: Sequence[int], coefficients: Sequence[Sequence[int]], rank: int) -> Map:
    """Index map of a base, seen through a view whose own index map is `inner`."""
    result = []
    for start, row in zip(starts, coefficients, strict=True):
        offset = start
        total = [0] * rank
        for c, (off, coeffs) in zip(row, inner, strict=True):
            if c:
                offset += c * off
                for d in range(rank):
                    total[d] += c * coeffs[d]
        result.append((offset, tuple(total)))
    return tuple(result)


def address(at: Map, strides: Sequence[int], rank: int) -> tuple[int, tuple[int, ...]]:
    """Offset and strides (in the units of `strides`) of memory read at an index map."""
    offset = 0
    total = [0] * rank
    for stride, (off, coeffs) in zip(strides, at, strict=True):
        offset += stride * off
        for d in range(rank):
            total[d] += stride * coeffs[d]
    return offset, tuple(total)


def kept_position(space: tuple[int, ...], axes: tuple[int, ...], shape: tuple[int, ...]) -> Map | None:
    """The map, over `space`, of a value with one element for each row along `axes`; None for other shapes.

    Such a value has the space's kept extents, with or without axes of extent 1 for the reduced ones.
    """
    rank = len(space)
    kept = [axis for axis in range(rank) if axis not in axes]
    if shape == tuple(1 if axis in axes else extent for axis, extent in enumerate(space)):
        return tuple((0, (0,) * rank if axis in axes else unit(rank, axis)) for axis in range(rank))
    if shape == tuple(space[axis] for axis in kept):
        return tuple((0, unit(rank, axis)) for axis in kept)
    return None


def same_position(a: Map, b: Map, shape: tuple[int, ...], space: tuple[int, ...]) -> bool:
    """Whether two maps of a value of `shape` over `space` read the same elements."""
    return all(
        extent == 1 or (x[0] == y[0] and all(c == d or e == 1 for c, d, e in zip(x[1], y[1], space, strict=True)))
        for extent, x, y in zip(shape, a, b, strict=True)
    )
