"""Differences, gradients, integrals and interpolation of samples: recorded, from slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.at_once import RECORDED, at_once, differences, interpolated
from numloom.api.calling import replayed
from numloom.api.elementwise import isfinite, multiply, signbit
from numloom.api.joining import concatenate
from numloom.api.manipulation import broadcast_to, normal_axes, normal_axis
from numloom.api.sorting import searchsorted
from numloom.api.ufunc import NO_VALUE
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import in_tree
from numloom.base.dtypes import BOOL, KINDS, LOW, code_of
from numloom.engine.routines import empty as empty_leaf
from numloom.graph import build
from numloom.graph.layout import strides_in_order
from numloom.ops.elementwise import ELEMENTWISE

Array = Any

WHERE = ELEMENTWISE["where"]


_NO_DIFFERENCE = "booleans have no difference: use the `^` operator or the logical_xor function"


def _along(ndim: int, axis: int, part: Any) -> tuple[Any, ...]:
    """A subscript of `part` along one axis and everything along the others."""
    return tuple(part if k == axis else slice(None) for k in range(ndim))


@at_once(differences, most=RECORDED, pending=False)
@replayed
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Array:
    """The n-th difference of neighbours along an axis.

    Parameters
    ----------
    a : array_like
        Values; booleans are compared.
    n : int
        How often differences are taken.
    axis : int
        The axis.
    prepend, append : array_like, optional
        What stands before and behind the values; numbers are repeated.

    Returns
    -------
    ndarray
        Shorter by `n`.
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    array = asarray(a)
    if not array.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normal_axis(axis, array.ndim)
    parts = [array]
    for place, extra in ((0, prepend), (len(parts) + 1, append)):
        if extra is not NO_VALUE and extra is not None:  # None is the array API's default.
            piece = asarray(extra)
            if not piece.ndim:
                piece = broadcast_to(piece, (*array.shape[:axis], 1, *array.shape[axis + 1 :]))
            parts.insert(place, piece)
    if len(parts) > 1:
        array = concatenate(parts, axis)
    after, before = _along(array.ndim, axis, slice(1, None)), _along(array.ndim, axis, slice(None, -1))
    for _ in range(n)[: max(array.shape[axis], 1)]:  # Nothing is left after that; of nothing a new array is made.
        array = array[after] != array[before] if array.code == BOOL else array[after] - array[before]
    return array


@replayed
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours of the flattened array, with optional values before and after."""
    array = asarray(ary).ravel()
    if array.code == BOOL:
        raise TypeError(_NO_DIFFERENCE)
    parts = [diff(array)]
    for name, place, extra in (("to_begin", 0, to_begin), ("to_end", 2, to_end)):
        if extra is None:
            continue
        piece = asarray(extra).ravel()
        if not np.can_cast(piece.dtype, array.dtype, casting="same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.insert(place, piece.astype(array.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@replayed
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends.

    Parameters
    ----------
    f : array_like
        Values on a grid.
    *varargs : scalar or array_like
        Spacing: one for all axes, or for each axis a number or the coordinates (whether these are even is looked at).
    axis : None, int or tuple of int
        Axes to differentiate along.
    edge_order : {1, 2}
        Order of the differences at the ends.

    Returns
    -------
    ndarray or tuple of ndarray
        One for each axis.
    """
    array = asarray(f)
    axes = tuple(range(array.ndim)) if axis is None else normal_axes(axis, array.ndim)
    spacings = _spacings(array, varargs, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if array.code == BOOL:
        raise TypeError(_NO_DIFFERENCE)
    if array.dtype.kind in "iu" or array.code in LOW:
        array = array.astype(np.float64)
    results = []
    for k, spacing in zip(axes, spacings, strict=True):
        if array.shape[k] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
                "elements are required."
            )
        results.append(_gradient(array, spacing, k, edge_order))
    if len(axes) == 1:
        return results[0]
    return tuple(results)


def _spacings(array: Array, varargs: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """For each axis a number (even spacing) or an array of distances; coordinates on the device stay there."""
    if not varargs:
        return [1.0] * len(axes)
    given = [
        value.get() if isinstance(value, ndarray) and not value.ndim and not in_tree(value) else value
        for value in varargs
    ]
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [_number(given[0])] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    spacings: list[Any] = []
    for value, k in zip(given, axes, strict=True):
        if np.ndim(value) == 0:
            spacings.append(_number(value))
            continue
        points: Any = value if isinstance(value, ndarray) else np.asanyarray(value)
        if points.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if len(points) != array.shape[k]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        if points.dtype.kind in "iu":
            points = points.astype(np.float64)
        steps = points[1:] - points[:-1]
        # What is even costs no reading of distances.
        even = not in_tree(steps) and bool((steps == steps[0]).all())
        spacings.append(_number(steps[0].item()) if even else asarray(steps))
    return spacings


def _number(value: Any) -> float | complex:
    """A Python number, which does not widen the result; of a tree the array."""
    if in_tree(value):
        return value  # type: ignore[no-any-return]
    return complex(value) if np.iscomplexobj(value) else float(value)


def _gradient(f: Array, spacing: Any, axis: int, edge_order: int) -> Array:
    def at(part: Any) -> Array:
        return f[_along(f.ndim, axis, part)]

    even = not isinstance(spacing, ndarray) or not spacing.shape
    if in_tree(spacing) and even and spacing.dtype.kind == "f" and f.dtype.kind in "fc":
        spacing = spacing.astype(f.real.dtype)  # which does not widen the result, as the number of it would not
    result = wrap(empty_leaf(f.code, f.shape, strides_in_order(f.shape, f.strides, f.itemsize, "K")))
    if even:
        inner = (at(slice(2, None)) - at(slice(None, -2))) / (2.0 * spacing)
    else:
        shape = tuple(-1 if k == axis else 1 for k in range(f.ndim))
        left, right = spacing[:-1], spacing[1:]
        weights = [-right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))]
        a, b, c = (weight.reshape(shape) for weight in weights)
        inner = a * at(slice(None, -2)) + b * at(slice(1, -1)) + c * at(slice(2, None))
    result[_along(f.ndim, axis, slice(1, -1))] = inner

    def part(k: int) -> Array:
        return at(slice(k, k + 1 or None))

    if edge_order == 1:
        steps = (spacing, spacing) if even else (spacing[0], spacing[-1])
        ends = (part(1) - part(0)) / steps[0], (part(-1) - part(-2)) / steps[1]
    else:
        (a, b, c), (d, e, g) = _weights_at_ends(spacing, even)
        ends = a * part(0) + b * part(1) + c * part(2), d * part(-3) + e * part(-2) + g * part(-1)
    result[_along(f.ndim, axis, slice(0, 1))], result[_along(f.ndim, axis, slice(-1, None))] = ends
    return result


def _weights_at_ends(spacing: Any, even: bool) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """The weights of three elements for the derivative at the first one, and at the last one, as NumPy has them.

    The second are not the first ones negated: zero has a sign.
    """
    if even:
        return (-1.5 / spacing, 2.0 / spacing, -0.5 / spacing), (0.5 / spacing, -2.0 / spacing, 1.5 / spacing)
    near, far = spacing[0], spacing[1]
    first = -(2.0 * near + far) / (near * (near + far)), (near + far) / (near * far), -near / (far * (near + far))
    far, near = spacing[-2], spacing[-1]
    last = near / (far * (far + near)), -(near + far) / (far * near), (2.0 * near + far) / (near * (far + near))
    return first, last


@replayed
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        Samples.
    x : array_like, optional
        Where they were taken: a vector, or an array like `y`.
    dx : scalar or array_like
        Spacing, where `x` is not given.
    axis : int
        The axis.

    Returns
    -------
    ndarray
    """
    array = asarray(y)
    along, axis = axis, normal_axis(axis, array.ndim)
    if x is None:
        width = dx
    else:
        points = asarray(x)
        if points.ndim == 1:
            width = diff(points).reshape(tuple(-1 if k == axis else 1 for k in range(array.ndim)))
        else:
            width = diff(points, axis=along)
    after, before = _along(array.ndim, axis, slice(1, None)), _along(array.ndim, axis, slice(None, -1))
    return (multiply(width, array[after] + array[before]) / 2.0).sum(along)


@at_once(interpolated, others=1 << 62)  # Of a long table few elements are looked at.
@replayed
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Array:
    """Piecewise linear interpolation.

    Parameters
    ----------
    x : array_like
        Where to interpolate.
    xp, fp : array_like
        Points: increasing abscissae and values (real or complex).
    left, right : scalar, optional
        Values before the first point and behind the last; by default theirs.
    period : float, optional
        Period of the abscissae, which may then come in any order.

    Returns
    -------
    ndarray
        float64 or complex128, of the shape of `x`.
    """
    points, values = asarray(xp), asarray(fp)
    kind = np.complex128 if values.dtype.kind == "c" else np.float64
    where = asarray(x)
    if where.dtype.kind == "c" or points.dtype.kind == "c":
        raise TypeError(
            "Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'"
        )
    if kind is np.float64 and any(np.iscomplexobj(end) for end in (left, right) if end is not None):
        raise TypeError("must be real number, not complex")
    where = where.astype(np.float64)
    points, values = points.astype(np.float64), values.astype(kind)
    if points.ndim != 1 or values.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not points.size:
        raise ValueError("array of sample points is empty")
    if points.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        period = abs(period if isinstance(period, (int, float, ndarray, np.ndarray)) else asarray(period))
        if period == 0:
            raise ValueError("period must be a non-zero value")
        left = right = None
        where, points = where % period, points % period
        order = points.argsort()
        points, values = _taken(points, order), _taken(values, order)
        points = concatenate((points[-1:] - period, points, points[:1] + period))
        values = concatenate((values[-1:], values, values[:1]))
    if points.size == 1:
        inside = broadcast_to(values, (1, *where.shape))[0]
    else:
        low = (searchsorted(points, where, "right") - 1).clip(0, points.size - 2)
        x0, x1, y0, y1 = (_taken(a, i) for a, i in ((points, low), (points, low + 1), (values, low), (values, low + 1)))
        slope, inside = _line(where, x0, x1, y0, y1)
        inside = _choose(where == x0, _beside(y0, slope, where, x0), inside)
    # As slices, since single elements are looked at where they lie on the host.
    begin, end, first, last = (ends.reshape(()) for ends in (points[:1], points[-1:], values[:1], values[-1:]))
    low_value = first if left is None else asarray(left).astype(kind)
    high_value = last if right is None else asarray(right).astype(kind)
    result = _choose(where < begin, low_value, _choose(where > end, high_value, inside))
    result = _choose(where == end, last if points.size == 1 else _beside(last, slope, where, end), result)
    if points.size > 1:  # NumPy gives a single value even at NaN.
        result = _choose(where != where, where.astype(kind), result)
    result.is_scalar = not result.shape
    return result


def _line(
    where: Array, x0: Array, x1: Array, y0: Array, y1: Array, inverse: Array | None = None
) -> tuple[Array, Array]:
    """The slope between two points, and the value there; real and imaginary parts are two lines, as infinities show.

    Of complex numbers NumPy multiplies by the `inverse` of the distance.
    """
    if KINDS[y0.code] == "c":
        inverse = 1.0 / (x1 - x0)
        parts = [_line(where, x0, x1, *ends, inverse) for ends in ((y0.real, y1.real), (y0.imag, y1.imag))]
        slope, inside = (_packed(real, imaginary) for real, imaginary in zip(*parts, strict=True))
        return slope, inside
    slope = (y1 - y0) / (x1 - x0) if inverse is None else (y1 - y0) * inverse
    inside = slope * (where - x0) + y0
    other = slope * (where - x1) + y1
    return slope, _choose(inside != inside, _choose((other != other) & (y0 == y1), y0, other), inside)


def _packed(real: Array, imaginary: Array) -> Array:
    return wrap(build.elementwise(ELEMENTWISE["complex_pack"], [node_of(real), node_of(imaginary)]))


def _beside(value: Array, slope: Array, where: Array, knot: Array) -> Array:
    """A knot's value to the bit, which yet depends on where it is asked for: gradients find the slope there.

    What is added is -0, which changes no number's bits.
    """
    where, knot = where + 0.0, knot + 0.0  # Their difference is 0.0 then, never -0.0.
    if KINDS[value.code] == "c":
        parts = [_beside(*two, where, knot) for two in ((value.real, slope.real), (value.imag, slope.imag))]
        return _packed(*parts)
    nothing = _choose(signbit(slope), slope * (where - knot), -(slope * (knot - where)))
    return _choose(isfinite(slope), value + nothing, value)


def _taken(array: Array, index: Array) -> Array:
    return wrap(build.gather(node_of(array), [node_of(index)], (0,), 0))


def _choose(condition: Array, x: Array, y: Array) -> Array:
    code = code_of(np.result_type(x.dtype, y.dtype))
    nodes = [node_of(condition), build.cast(node_of(x), code), build.cast(node_of(y), code)]
    return wrap(build.elementwise(WHERE, nodes))


__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid"]
