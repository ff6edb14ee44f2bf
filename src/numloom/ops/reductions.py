"""The table of reductions.

Text uses operators and functions that are overloaded by C++ type, so one text serves all dtypes.
Values were cast to the accumulation dtype before; float16, bfloat16 and float8 are carried as float and rounded once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.base.dtypes import CHARS, CTYPES, DTYPES, KIND, ROUNDED
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.ops.derivatives import REDUCTION_DERIVATIVES
from numloom.ops.elementwise import ELEMENTWISE, dtype_headers, header_order, headers_for, resolve_chars

_CTYPE = {char: "f32" if code in ROUNDED else CTYPES[code] for code, char in enumerate(CHARS)}
_DTYPE = dict(zip(CHARS, DTYPES, strict=True))
_INFINITY = "NL_INFINITY"


def carried(char: str) -> str:
    """C++ type in which values of a dtype travel (float for float16, bfloat16 and float8)."""
    return _CTYPE[char]


def _lane(char: str) -> str:
    """C++ type of an accumulator that is a plain number: truth values are bytes, which make vectors."""
    return "bool8" if char == "?" else carried(char)


def _number(value: str, imaginary: str = "") -> Callable[[str], str]:
    """The neutral number `value` as an expression by dtype."""

    def text(char: str) -> str:
        if KIND[char] == "c":
            part = "f32" if char == "F" else "f64"
            return f"nl::make_complex<{part}>(({part}){value}, ({part}){imaginary or value})"
        return f"(({carried(char)}){value})"

    return text


def _zero(char: str) -> str:
    # Adding -0.0 changes no float, adding 0.0 would change -0.0.
    return _number("-0.0" if KIND[char] in "fc" else "0")(char)


def _one(char: str) -> str:
    one = _number("1", "0")(char)
    return f"nl::make_optional({one}, false)" if KIND[char] == "c" else one


def _product_accumulator(char: str) -> str:
    return f"nl::optional<{carried(char)}>" if KIND[char] == "c" else _lane(char)


def _limit(lowest: bool) -> Callable[[str], str]:
    def text(char: str) -> str:
        kind = KIND[char]
        if kind in "fc":
            return _number(f"-{_INFINITY}" if lowest else _INFINITY)(char)
        if kind == "b":
            return "false" if lowest else "true"
        limits = np.iinfo(_DTYPE[char])
        value = int(limits.min if lowest else limits.max)
        return f"(({carried(char)}){value % 2**64}ull)"

    return text


def _nan(char: str) -> str:
    return _number("NL_NAN")(char)


def _same_char(char: str) -> str:
    return char


def _always(char: str) -> Callable[[str], str]:
    return lambda _: char


def _real_char(char: str) -> str:
    return {"F": "f", "D": "d"}.get(char, char)


def _arg_accumulator(char: str) -> str:
    return f"nl::arg<{carried(char)}>"


def _arg_identity(char: str) -> str:
    return f"nl::make_arg<{carried(char)}>({_number('0')(char)}, -1)"


def _moments_accumulator(char: str) -> str:
    return "nl::complex_moments" if KIND[char] == "c" else "nl::moments"


def _moments_identity(char: str) -> str:
    return f"nl::make_moments({'0, 0, 0, 0' if KIND[char] == 'c' else '0, 0, 0'})"


def _m2(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = np.asarray(x)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    distance = wide - wide.mean(axis=axis, keepdims=True)
    return np.sum(np.abs(distance) ** 2, axis=axis, keepdims=keepdims)


def _reference(function: Callable[..., Any]) -> Callable[..., Any]:
    def numpy(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(np.asarray(x), axis=axis, keepdims=keepdims)

    return numpy


def _in_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Sums and products stay in the accumulation dtype, which the values already have."""

    def numpy(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = np.asarray(x)
        return function(x, axis=axis, keepdims=keepdims, dtype=x.dtype)

    return numpy


REDUCTIONS: dict[str, ReductionDef] = {}
"""Definitions by name. "m2" is the sum of squared deviations from the mean, always a float64."""


def _define(
    name: str, *, combine: str, identity: Callable[[str], str], numpy: Callable[..., Any], **others: Any
) -> None:
    fields: dict[str, Any] = {"accumulator": _lane, "map": "{x}", "finalize": "{a}", "out_char": _same_char}
    fields.update(others)
    if "gradient" not in fields:
        fields["gradient"] = REDUCTION_DERIVATIVES[name]
    REDUCTIONS[name] = ReductionDef(
        name=name, combine=combine, identity=identity, numpy=numpy, id=len(REDUCTIONS), **fields
    )


def _fill() -> None:
    of_truths: dict[str, Any] = {
        "accumulator": _always("bool8"), "map": "nl::nonzero({x})", "out_char": _always("?"), "headers": ("order",),
    }  # fmt: skip
    of_truths_twice = {**of_truths, "idempotent": True}
    _define("sum", combine="({a} + {b})", identity=_zero, numpy=_in_dtype(np.sum), pair="add")
    # One times an infinite complex number is not that number: those products have no identity.
    _define("prod", combine="nl::times({a}, {b})", identity=_one, accumulator=_product_accumulator,
         map="nl::factor({x})", finalize="nl::product({a})", headers=("optional",),
         numpy=_in_dtype(np.prod))  # fmt: skip
    for name, function, lowest in (("max", "maximum", True), ("min", "minimum", False)):
        _define(name, combine=f"nl::{function}({{a}}, {{b}})", identity=_limit(lowest), headers=("order",),
             has_identity=False, numpy=_reference(getattr(np, name)), pair=function, idempotent=True)  # fmt: skip
    for name, lowest in (("fmax", True), ("fmin", False)):
        # NaN is neutral here, as every number wins against it.
        limit = _limit(lowest)
        _define(name, combine=f"nl::{name}({{a}}, {{b}})", headers=("order",), has_identity=False,
             identity=functools.partial(_nan_or, limit), numpy=_reference(getattr(np, name).reduce),
             pair=name, idempotent=True)  # fmt: skip
    _define("any", combine="({a} | {b})", identity=_always("false"), numpy=_reference(np.any), **of_truths_twice)
    _define("all", combine="({a} & {b})", identity=_always("true"), numpy=_reference(np.all), **of_truths_twice)
    _define("logical_xor", combine="({a} != {b})", identity=_always("false"),
         numpy=_reference(np.logical_xor.reduce), **of_truths)  # fmt: skip
    for name, function, better in (("argmax", "maximum", ">"), ("argmin", "minimum", "<")):
        _define(name, combine=f"nl::arg_{function}({{a}}, {{b}})", accumulator=_arg_accumulator, identity=_arg_identity,
             map="nl::make_arg({x}, {index})", finalize="{a}.index", out_char=_always("q"), headers=("order",),
             has_identity=False, numpy=_reference(getattr(np, name)), better=better)  # fmt: skip
    _define("mean", combine="({a} + {b})", identity=_zero, finalize="nl::divide_count({a}, {n})", headers=("mean",),
         numpy=_reference(np.mean))  # fmt: skip
    moments: dict[str, Any] = {
        "combine": "nl::merge({a}, {b})", "accumulator": _moments_accumulator, "identity": _moments_identity,
        "map": "nl::moments_one({x})", "run": "nl::moments_run", "headers": ("moments",),
    }  # fmt: skip
    _define("m2", finalize="{a}.m2", out_char=_always("d"), numpy=_m2, **moments)
    _define("var", finalize="(({T})({a}.m2 / (f64){n}))", out_char=_real_char, numpy=_reference(np.var), **moments)
    for name, sign, value in (("bitwise_and", "&", "-1"), ("bitwise_or", "|", "0"), ("bitwise_xor", "^", "0")):
        _define(name, combine=f"({{a}} {sign} {{b}})", identity=_number(value),
             numpy=_reference(getattr(np, name).reduce), idempotent=sign != "^")  # fmt: skip


def _nan_or(limit: Callable[[str], str], char: str) -> str:
    return _nan(char) if KIND[char] in "fc" else limit(char)


_fill()

_SAME = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "fmax": "fmax", "fmin": "fmin",
    "logical_and": "all", "logical_or": "any", "logical_xor": "logical_xor", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
}  # fmt: skip

_IDENTITIES: dict[str, Callable[[str], str]] = {
    "logaddexp": _limit(True), "logaddexp2": _limit(True), "hypot": _number("0"), "gcd": _number("0"),
}  # fmt: skip


@functools.cache
def reduction_of(op: OpDef, char: str) -> ReductionDef:
    """The definition of ``ufunc.reduce`` for a binary operation on dtype `char`.

    Operations that are not associative, or have no identity that changes no bits, give a definition
    with ``commutative=False`` whose accumulator remembers whether it holds a value; it must be combined
    strictly from left to right.

    Raises
    ------
    ValueError
        If the operation is not binary.
    TypeError
        If its loop does not give back the dtype it takes.
    """
    if op.nin != 2:
        raise ValueError("reduce only supported for binary functions")
    if op.name in _SAME:
        return REDUCTIONS[_SAME[op.name]]
    if resolve_chars(op, (_DTYPE[char], _DTYPE[char])) != (char + char, char):
        raise TypeError(f"{op.name} of {_DTYPE[char]} gives another dtype and cannot reduce")
    template = op.text(char + char, char)
    combine = template.replace("{0}", "{a}").replace("{1}", "{b}").replace("{T}", carried(char))
    identity = _IDENTITIES.get(op.name)
    numpy = op.ufunc.reduce if op.ufunc is not None else op.numpy
    if identity is not None:
        return ReductionDef(
            name=op.name, accumulator=carried, identity=identity, map="{x}", combine=combine, finalize="{a}",
            numpy=_reference(numpy), out_char=_same_char, headers=op.headers,
            has_identity=op.ufunc is not None and op.ufunc.identity is not None,
            gradient=REDUCTION_DERIVATIVES[op.name],
        )  # fmt: skip
    inner = template.replace("{0}", "{a}.value").replace("{1}", "{b}.value").replace("{T}", carried(char))
    return ReductionDef(
        name=op.name, accumulator=lambda c: f"nl::optional<{carried(c)}>",
        identity=lambda c: f"nl::make_optional<{carried(c)}>({_number('0')(c)}, false)",
        map="nl::make_optional({x}, true)",
        combine=f"(!{{a}}.any ? {{b}} : !{{b}}.any ? {{a}} : nl::make_optional<{carried(char)}>({inner}, true))",
        finalize="{a}.value", numpy=_reference(numpy), out_char=_same_char, headers=(*op.headers, "optional"),
        commutative=False, has_identity=op.ufunc is not None and op.ufunc.identity is not None,
    )  # fmt: skip


def reduction_headers(op_def: ReductionDef, char: str) -> tuple[str, ...]:
    """Prelude headers of a reduction of dtype `char`, in the order a text has them."""
    needed = {*op_def.headers, *dtype_headers(char)}
    if KIND[char] == "c" and "moments" in needed:
        needed.add("complex_moments")
    op = ELEMENTWISE.get(op_def.name)
    if op is not None and op_def.name not in REDUCTIONS:
        needed.update(headers_for(op, char + char, char))
    return header_order(needed)
