"""Functions that work element by element: every ufunc of NumPy, and those that NumPy builds on them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from numloom.api.calling import choose_fast, replayed
from numloom.api.conditions import numpy_is_near
from numloom.api.inserting import ordered_as, relaid
from numloom.api.manipulation import normal_axis
from numloom.api.powers import Power
from numloom.api.running import deliver
from numloom.api.ufunc import NO_VALUE, WHERE, make_ufuncs, mask_of, node_at, store, ufunc, value_of
from numloom.array.convert import asarray
from numloom.array.ndarray import apply1, apply2, bind, ndarray, node_of, wrap
from numloom.array.storage import read_only
from numloom.base.dtypes import BOOL, DTYPES, F16, F32, F64, KINDS, LOW, code_of, limits_of
from numloom.base.integers import as_integer
from numloom.base.release import FROM_2_5
from numloom.base.tracebacks import public
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, k_strides, strides_in_order
from numloom.graph.node import Node
from numloom.ops.elementwise import ELEMENTWISE, FREQUENT_HALVES, name_of_halves

Array = Any

UFUNCS: dict[str, ufunc] = make_ufuncs({np.power: Power})
"""Every ufunc, by all of NumPy's names."""

abs = UFUNCS["abs"]
absolute = UFUNCS["absolute"]
acos = UFUNCS["acos"]
acosh = UFUNCS["acosh"]
add = UFUNCS["add"]
arccos = UFUNCS["arccos"]
arccosh = UFUNCS["arccosh"]
arcsin = UFUNCS["arcsin"]
arcsinh = UFUNCS["arcsinh"]
arctan = UFUNCS["arctan"]
arctan2 = UFUNCS["arctan2"]
arctanh = UFUNCS["arctanh"]
asin = UFUNCS["asin"]
asinh = UFUNCS["asinh"]
atan = UFUNCS["atan"]
atan2 = UFUNCS["atan2"]
atanh = UFUNCS["atanh"]
bitwise_and = UFUNCS["bitwise_and"]
bitwise_count = UFUNCS["bitwise_count"]
bitwise_invert = UFUNCS["bitwise_invert"]
bitwise_left_shift = UFUNCS["bitwise_left_shift"]
bitwise_not = UFUNCS["bitwise_not"]
bitwise_or = UFUNCS["bitwise_or"]
bitwise_right_shift = UFUNCS["bitwise_right_shift"]
bitwise_xor = UFUNCS["bitwise_xor"]
cbrt = UFUNCS["cbrt"]
ceil = UFUNCS["ceil"]
conj = UFUNCS["conj"]
conjugate = UFUNCS["conjugate"]
copysign = UFUNCS["copysign"]
cos = UFUNCS["cos"]
cosh = UFUNCS["cosh"]
deg2rad = UFUNCS["deg2rad"]
degrees = UFUNCS["degrees"]
divide = UFUNCS["divide"]
divmod = UFUNCS["divmod"]
equal = UFUNCS["equal"]
exp = UFUNCS["exp"]
exp2 = UFUNCS["exp2"]
expm1 = UFUNCS["expm1"]
fabs = UFUNCS["fabs"]
float_power = UFUNCS["float_power"]
floor = UFUNCS["floor"]
floor_divide = UFUNCS["floor_divide"]
fmax = UFUNCS["fmax"]
fmin = UFUNCS["fmin"]
fmod = UFUNCS["fmod"]
frexp = UFUNCS["frexp"]
gcd = UFUNCS["gcd"]
greater = UFUNCS["greater"]
greater_equal = UFUNCS["greater_equal"]
heaviside = UFUNCS["heaviside"]
hypot = UFUNCS["hypot"]
invert = UFUNCS["invert"]
isfinite = UFUNCS["isfinite"]
isinf = UFUNCS["isinf"]
isnan = UFUNCS["isnan"]
lcm = UFUNCS["lcm"]
ldexp = UFUNCS["ldexp"]
left_shift = UFUNCS["left_shift"]
less = UFUNCS["less"]
less_equal = UFUNCS["less_equal"]
log = UFUNCS["log"]
log10 = UFUNCS["log10"]
log1p = UFUNCS["log1p"]
log2 = UFUNCS["log2"]
logaddexp = UFUNCS["logaddexp"]
logaddexp2 = UFUNCS["logaddexp2"]
logical_and = UFUNCS["logical_and"]
logical_not = UFUNCS["logical_not"]
logical_or = UFUNCS["logical_or"]
logical_xor = UFUNCS["logical_xor"]
maximum = UFUNCS["maximum"]
minimum = UFUNCS["minimum"]
mod = UFUNCS["mod"]
modf = UFUNCS["modf"]
multiply = UFUNCS["multiply"]
negative = UFUNCS["negative"]
nextafter = UFUNCS["nextafter"]
not_equal = UFUNCS["not_equal"]
positive = UFUNCS["positive"]
pow = UFUNCS["pow"]
power = UFUNCS["power"]
rad2deg = UFUNCS["rad2deg"]
radians = UFUNCS["radians"]
reciprocal = UFUNCS["reciprocal"]
remainder = UFUNCS["remainder"]
right_shift = UFUNCS["right_shift"]
rint = UFUNCS["rint"]
sign = UFUNCS["sign"]
signbit = UFUNCS["signbit"]
sin = UFUNCS["sin"]
sinh = UFUNCS["sinh"]
spacing = UFUNCS["spacing"]
sqrt = UFUNCS["sqrt"]
square = UFUNCS["square"]
subtract = UFUNCS["subtract"]
tan = UFUNCS["tan"]
tanh = UFUNCS["tanh"]
true_divide = UFUNCS["true_divide"]
trunc = UFUNCS["trunc"]

CLIP = ELEMENTWISE["clip"]
POWER = ELEMENTWISE["power"]
POWER_BY_HALVES = ELEMENTWISE["power_by_halves"]
HALVES = {
    F16: frozenset(n / 2 for n in range(-15, 16)),
    F32: frozenset(n / 2 for n in range(-15, 16)),
    F64: frozenset((-3, -2, -1.5, -1, -0.5, 1, 1.5, 3)),
}
"""Exponents that take products and a root on a GPU: those of float64 that round little more than libm's powers."""
OF_HALVES = {n / 2: ELEMENTWISE[name_of_halves(n)] for n in FREQUENT_HALVES}
SQUARE = ELEMENTWISE["square"]
SQRT = ELEMENTWISE["sqrt"]
RECIPROCAL = ELEMENTWISE["reciprocal"]
OF_FLOATS = {0.5: SQRT, 2.0: SQUARE, -1.0: RECIPROCAL}
"""Exponents of real numbers that are other operations; as Python floats NumPy's operator knows them, too."""


# ---------------------------------------------------------------- power


def operator_power(x: Any, y: Any) -> Any:
    """``x ** y``: as NumPy's operator, a few exponents that are Python numbers become other operations."""
    if type(x) is ndarray:
        kind = type(y)
        if kind is int:
            if y == 2 and not (x.is_scalar and x.code == BOOL):
                return apply1(SQUARE, x)
            if y == -1 and KINDS[x.code] in "fc":
                return apply1(RECIPROCAL, x)
        elif kind is float and y in OF_FLOATS and _is_other(x.code, y):
            return apply1(OF_FLOATS[y], x)
        if (kind is int or kind is float) and y in HALVES.get(x.code, ()) and not numpy_is_near():
            op_def = OF_HALVES.get(y)
            return apply2(POWER_BY_HALVES, x, y) if op_def is None else apply1(op_def, x)
    if (type(y) is not int or y < 0) and _whole(x) and _whole(y):
        return power(x, y)
    return apply2(POWER, x, y)


def _whole(x: Any) -> bool:
    """Whether an operand holds integers (or truth values), of which some may be negative exponents."""
    if type(x) is ndarray:
        return KINDS[x.code] not in "fc"
    return isinstance(x, (int, list, tuple)) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iub")


def _is_other(code: int, exponent: float) -> bool:
    """Whether powers of this dtype by one of `OF_FLOATS` are the other operation; beside floats bfloat16 is float32."""
    return (KINDS[code] == "f" and code not in LOW) or (exponent == 0.5 and KINDS[code] == "c")


# ---------------------------------------------------------------- choice


def where(condition: Any, x: Any = NO_VALUE, y: Any = NO_VALUE, /) -> Any:
    """Elements of `x` where `condition` is true, else of `y`; with one argument, indices of what is true.

    Parameters
    ----------
    condition : array_like
        What is not zero is true.
    x, y : array_like, optional
        Both or none.

    Returns
    -------
    ndarray or tuple of ndarray
    """
    if type(condition) is ndarray and type(x) is ndarray and type(y) is ndarray:
        result = choose_fast(WHERE, condition, x, y)
        result.is_scalar = False
        return result
    if x is NO_VALUE and y is NO_VALUE and type(condition) is ndarray:
        array: Any = condition
        return array.nonzero()
    return _where(condition, x, y)


@public
def _where(condition: Any, x: Any, y: Any) -> Any:
    """`where` with any arguments."""
    if x is NO_VALUE and y is NO_VALUE:
        return asarray(condition).nonzero()
    if x is NO_VALUE or y is NO_VALUE:
        raise ValueError("either both or neither of x and y should be given")
    chosen = build.cast(node_at(condition), BOOL)
    values = value_of(x), value_of(y)
    try:
        node = build.elementwise(WHERE, (chosen, *values))
    except OverflowError:
        if FROM_2_5:
            raise
        node = build.elementwise(WHERE, (chosen, *_wrapped_around(*values)))
    result = deliver(node, (condition, x, y))
    result.is_scalar = False
    return result


def _wrapped_around(*values: Any) -> list[Any]:
    """Operands of `where` with Python integers as NumPy 2.4 casts them, which asks nothing of their size here."""
    codes = [v.code if type(v) is Node else build.weak_code(v) for v in values]
    dtype = DTYPES[build.loop_codes(WHERE, (BOOL, *codes))[1]]
    return [np.asarray(v).astype(dtype).item() if type(v) is int and abs(v) < 1 << 64 else v for v in values]


def clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Array | None = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
    **options: Any,
) -> Array:
    """Values below `a_min` become `a_min`, values above `a_max` become `a_max`.

    Parameters
    ----------
    a : array_like
        Values.
    a_min, a_max : array_like or None
        Bounds; None for no bound.
    out : ndarray, optional
        Where the result goes.
    min, max : array_like or None
        The array API's names of the bounds.
    **options
        As for ufuncs.

    Returns
    -------
    ndarray
    """
    if a_min is NO_VALUE and a_max is NO_VALUE:
        a_min = None if min is NO_VALUE else min
        a_max = None if max is NO_VALUE else max
    elif a_min is NO_VALUE:
        raise TypeError("clip() missing 1 required positional argument: 'a_min'")
    elif a_max is NO_VALUE and min is NO_VALUE:
        a_max = None if max is NO_VALUE else max  # As the array API has it: the second bound may be left out.
    elif min is not NO_VALUE or max is not NO_VALUE:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    array = asarray(a)
    if type(a_min) is int and KINDS[array.code] in "iu" and a_min <= _least(array.code):
        a_min = None if a_max is not None else _least(array.code)
    if type(a_max) is int and KINDS[array.code] in "iu" and a_max >= _greatest(array.code):
        a_max = None if a_min is not None else _greatest(array.code)
    if a_min is None and a_max is None:
        return positive(array, out=out, **options)
    if a_min is None:
        return minimum(array, a_max, out=out, **options)
    if a_max is None:
        return maximum(array, a_min, out=out, **options)
    if options:
        return minimum(maximum(array, a_min, **options), a_max, out=out, **options)
    node = build.elementwise(CLIP, (node_of(array), value_of(a_min), value_of(a_max)))
    return deliver(node, (array, a_min, a_max)) if out is None else store(out, node, "clip")


@cache
def _least(code: int) -> int:
    return 0 if code == BOOL else int(np.iinfo(DTYPES[code]).min)


@cache
def _greatest(code: int) -> int:
    return 1 if code == BOOL else int(np.iinfo(DTYPES[code]).max)


@replayed
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """`x` with NaN and infinities replaced by numbers (by default 0 and the largest finite ones).

    Parameters
    ----------
    x : array_like
        Values.
    copy : bool
        False writes the result to `x` itself.
    nan, posinf, neginf : array_like
        What to put in.

    Returns
    -------
    ndarray
    """
    array = asarray(x)
    fills = [np.shape(fill) if type(fill) is not ndarray else fill.shape for fill in (nan, posinf, neginf)]
    if any(fills) and broadcast_shapes(array.shape, *fills) != array.shape:
        raise ValueError(f"replacements broadcast to the array's shape {array.shape}, got shapes {fills}")
    if KINDS[array.code] not in "fc":
        result = array.copy("K") if copy else array
    else:
        if KINDS[array.code] == "c":
            parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (real(array), imag(array))]
            node = build.elementwise(ELEMENTWISE["complex_pack"], [node_of(part) for part in parts])
        else:
            largest = limits_of(DTYPES[array.code])
            high = float(largest.max) if posinf is None else posinf
            low = float(largest.min) if neginf is None else neginf
            if any(np.iscomplexobj(each) for each in (nan, posinf, neginf)):
                raise TypeError(f"Cannot cast scalar from complex to {array.dtype!r} according to the rule 'same_kind'")
            value = node_of(array)
            node = _replaced(value, isnan(array), nan)
            infinite = isinf(array)
            negative = signbit(array)
            node = _replaced(node, infinite & ~negative, high)
            node = _replaced(node, infinite & negative, low)
        result = deliver(build.cast(node, array.code), (array,))
        if not copy and type(x) is ndarray:
            result = store(x, node_of(result), "nan_to_num")
    return result if result.shape else wrap(node_of(result))


def _replaced(node: Node, mask: Array, value: Any) -> Node:
    value = value_of(value)
    if type(value) is Node:
        value = build.cast(value, node.code)
    return build.elementwise(WHERE, (node_of(mask), value, node))


# ---------------------------------------------------------------- rounding


@replayed
def round(a: Any, decimals: int = 0, out: Array | None = None) -> Array:
    """Values rounded to `decimals` places, halves to the even neighbour.

    Parameters
    ----------
    a : array_like
        Values.
    decimals : int
        Places after the point; negative ones are before it.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
    """
    array = asarray(a)
    decimals = as_integer(decimals)
    kind = KINDS[array.code]
    if kind in "iu" and decimals >= 0:
        result = array.copy("K")
    elif decimals == 0:
        result = rint(array)
    elif kind == "c":
        parts = [node_of(round(part, decimals)) for part in (real(array), imag(array))]
        result = deliver(build.elementwise(ELEMENTWISE["complex_pack"], parts), (array,))
        result = relaid(result, strides_in_order(array.shape, array.strides, array.itemsize, "K"))
    elif kind == "b":
        raise TypeError("booleans cannot be rounded to decimal places")
    else:
        power = 10.0 ** (decimals if decimals > 0 else -decimals)
        first, last = (multiply, divide)[:: 1 if decimals > 0 else -1]
        result = last(rint(first(array, power)), power)
        if kind in "iu" or array.code in LOW:
            result = result.astype(array.dtype)
        # NumPy writes these steps to memory of its own, which lies in C or Fortran order.
        result = ordered_as(result, array) if out is None else result
    if out is not None:
        return store(out, node_of(result), "round", "unsafe")
    result.is_scalar = not result.shape
    return result


around = round


@replayed
def fix(x: Any, out: Array | None = None) -> Array:
    """Values rounded towards zero."""
    return trunc(asarray(x), out=out)


# ---------------------------------------------------------------- complex numbers


def real(val: Any) -> Array:
    """The real part (a view of a complex array)."""
    array: Any = val if type(val) is ndarray else asarray(val)
    return array.real


def imag(val: Any) -> Array:
    """The imaginary part (a view of a complex array, zeros of a real one)."""
    array: Any = val if type(val) is ndarray else asarray(val)
    return array.imag


@replayed
def angle(z: Any, deg: bool = False) -> Array:
    """The angle of complex numbers, in radians or degrees."""
    array = asarray(z)
    result = arctan2(array.imag if KINDS[array.code] == "c" else 0, array.real)
    return result * (180 / np.pi) if deg else result


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real part if all imaginary parts are within `tol` (of epsilons, if above 1) of zero; looks at the values."""
    array = asarray(a)
    if KINDS[array.code] != "c":
        return array
    limit = tol * float(np.finfo(array.dtype).eps) if tol > 1 else tol
    return array.real if bool((absolute(array.imag) < limit).all()) else array


# ---------------------------------------------------------------- tests of floats


def isposinf(x: Any, out: Array | None = None) -> Array:
    """Which elements are positive infinity."""
    return _infinite(x, out, positive=True)


def isneginf(x: Any, out: Array | None = None) -> Array:
    """Which elements are negative infinity."""
    return _infinite(x, out, positive=False)


def _infinite(x: Any, out: Any, positive: bool) -> Array:
    array = asarray(x)
    if KINDS[array.code] == "c":
        raise TypeError(f"This operation is not supported for {array.dtype} values because it would be ambiguous.")
    sign = signbit(array)
    return logical_and(isinf(array), ~sign if positive else sign, out=out)


# ---------------------------------------------------------------- special functions


@replayed
def sinc(x: Any) -> Array:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    array = asarray(x)
    angle_ = multiply(array, np.pi)
    # As NumPy: where there would be 0 / 0 a tiny number takes its place. It is added, so that a gradient gets there.
    angle_ = where(angle_ != 0, angle_, angle_ + float(np.finfo(angle_.dtype).eps))
    angle_.is_scalar = not angle_.shape
    return sin(angle_) / angle_


@replayed
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Array:
    """Angles along `axis` with jumps of more than half a period taken out."""
    array = asarray(p)
    axis = normal_axis(axis, array.ndim)
    lead = (slice(None),) * axis
    after, before = array[(*lead, slice(1, None))], array[(*lead, slice(None, -1))]
    step = after != before if array.code == BOOL else after - before
    discont = period / 2 if discont is None else discont
    code = code_of(np.result_type(step.dtype, period))
    if KINDS[code] in "iu":
        half, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        half, ambiguous = period / 2, True
    low = -half
    folded = (step - low) % period + low
    if ambiguous:
        # Half a period, as a number that still depends on the step: gradients would miss it.
        folded = where((folded == low) & (step > 0), folded + period, folded)
    correction = where(less(absolute(step), discont), 0, folded - step)
    result = array.astype(DTYPES[code], "K")
    target = result[(*lead, slice(1, None))]
    target[...] = after + correction.cumsum(axis)
    return result


# ---------------------------------------------------------------- casts


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """A copy of an array with another dtype (the array itself if nothing changes and `copy` is False)."""
    if not isinstance(x, (ndarray, np.ndarray, np.generic)):
        raise TypeError(f"Input should be an array or a scalar of NumPy. It is a {type(x)} instead.")
    array: Any = asarray(x, device=device)
    return array.astype(dtype, copy=copy and array is x)


def copyto(dst: Array, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src` into `dst`, where a mask says so.

    Parameters
    ----------
    dst : ndarray
        What is written.
    src : array_like
        Values, broadcast to the shape of `dst`.
    casting : str
        Which casts are allowed.
    where : array_like of bool
        Which elements are written.
    """
    if type(dst) is not ndarray:
        raise TypeError(f"copyto() argument 1 must be a numloom array, not {type(dst).__name__}")
    if type(src) is ndarray and src.storage is dst.storage and _lies(src) == _lies(dst):
        return
    if not dst.writeable:
        raise read_only(dst, "assignment destination")
    np.can_cast(bool, bool, casting)  # type: ignore[arg-type]  # NumPy's error if it knows no such rule
    value = value_of(src)
    if type(value) is not Node:
        value = build.scalar_as(value, build.loop_codes(WHERE, (BOOL, build.weak_code(value), dst.code))[1])
    extra = len(value.shape) - dst.ndim
    if extra > 0 and set(value.shape[:extra]) == {1}:
        value = node_of(wrap(value).reshape(value.shape[extra:]))  # As in an assignment, these do not count.
    if value.code != dst.code and not np.can_cast(DTYPES[value.code], dst.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {DTYPES[value.code]!r} to {dst.dtype!r} according to the rule '{casting}'"
        )
    if where is not True:
        value = build.elementwise(WHERE, (mask_of(where), build.cast(value, dst.code), node_of(dst)))
    store(dst, value, "copyto", "unsafe")


def _lies(array: Array) -> tuple[Any, ...]:
    """Where an array lies in its memory."""
    return array.code, array.offset, array._shape, array._strides


def compare_out_of_range(op_def: Any, a: Any, b: Any) -> Array:
    """Compare a value with a Python integer that its dtype cannot hold: the answer is known."""
    array, number, swapped = (a, b, False) if type(a) is Node else (b, a, True)
    below, above = (0, 1) if number > 0 else (1, 0)
    truth = bool(op_def.numpy(above, below) if swapped else op_def.numpy(below, above))
    return wrap(build.full(truth, BOOL, array.shape, k_strides(array.shape, [array.strides], 1)))


def method_round(array: Array, decimals: int = 0, out: Array | None = None) -> Array:
    """`round` as a method."""
    return round(array, decimals, out)


def method_clip(array: Array, min: Any = None, max: Any = None, out: Array | None = None, **options: Any) -> Array:
    """`clip` as a method."""
    return clip(array, min, max, out, **options)


def method_conj(array: Array, out: Array | None = None) -> Array:
    """Complex conjugate; a real array itself."""
    if KINDS[array.code] != "c" and out is None:
        return array
    return conjugate(array, out=out)


bind(
    compare_out_of_range=compare_out_of_range,
    operator_power=operator_power,
    method_clip=method_clip,
    method_conj=method_conj,
    method_conjugate=method_conj,
    method_round=method_round,
)

__all__ = [
    "UFUNCS",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "copysign",
    "copyto",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "imag",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "operator_power",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "real",
    "real_if_close",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "unwrap",
    "where",
]
