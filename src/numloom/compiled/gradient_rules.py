"""The texts of `numloom.ops.derivatives` as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import KINDS
from numloom.compiled import gradient_special as special
from numloom.compiled.gradient_values import Array, applied, array_of, broadcast, named, summed_to
from numloom.engine.routines import call
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes
from numloom.graph.node import FILL, OP, Node
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.ops.derivatives import HOST_DERIVATIVES, ZERO, refused
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.special import ON_HOST, SPECIAL


class NoGradientError(TypeError):
    """A gradient was asked for through something that has none."""


# --- what texts may say beside operators ------------------------------------------------------------


def greater_part(g: Array, a: Array, b: Array) -> Array:
    """What flows to `a` from the greater of two: all, half of it if they are equal, or nothing."""
    return named("where", a > b, g, named("where", a == b, 0.5 * g, 0))


def unless_zero(a: Array) -> Array:
    """The numbers, but 1 instead of 0."""
    return named("where", a == 0, 1, a)


def of_sign(g: Array, a: Array, y: Array) -> Array | None:
    """The rule of ``sign``: of complex numbers, of whose length nothing depends, what is across."""
    if KINDS[a.code] != "c":
        return None
    across = named("conjugate", g) - y * named("real", y * g)
    length = named("absolute", a)
    return named("where", length == 0, 0, named("conjugate", across) / unless_zero(length))


def of_imag(g: Array, a: Array) -> Array | None:
    """The rule of ``imag``."""
    return named("complex_pack", 0.0, -g) if KINDS[a.code] == "c" else None


def on_host(function: str, *operands: Any) -> Array:
    """A special function that runs on the host."""
    code = next(x.code for x in operands if not isinstance(x, (int, float)))
    nodes = [build.scalar_as(float(x), code) if isinstance(x, (int, float)) else node_of(x) for x in operands]
    shape = broadcast_shapes(*(node.shape for node in nodes))
    return wrap(call("special", *nodes, code=code, shape=shape, function=function))


def is_sine_quotient(node: Node) -> bool:
    """Whether a value is ``sin(a) / a``, as `sinc` computes it."""
    if node.op_def is not ELEMENTWISE["divide"]:
        return False
    sine, a = node.args
    return sine.kind == OP and sine.op_def is ELEMENTWISE["sin"] and sine.args[0] is a


def sine_quotient(g: Array, a: Array) -> Array:
    """What flows back through ``sin(a) / a``."""
    return g * special.of_sine_quotient(a)


_WORDS: dict[str, Any] = {
    **{name: partial(applied, op_def) for name, op_def in ELEMENTWISE.items()},
    **{name: partial(on_host, name) for name in ON_HOST},
    **{name: partial(applied, op_def) for name, op_def in SPECIAL.items()},
    "greater_part": greater_part,
    "unless_zero": unless_zero,
    "of_sign": of_sign,
    "of_imag": of_imag,
    **{name: getattr(special, name) for name in special.__all__},
}

_LETTERS = "abcde"


@cache
def function_of(text: str, names: tuple[str, ...]) -> Callable[..., Any]:
    """A rule's text as a function of these names."""
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {text}", dict(_WORDS))
    return made


# --- elementwise ------------------------------------------------------------------------------------


def elementwise(op_def: OpDef, g: Array, y: Array, operands: list[Array], wanted: list[bool]) -> list[Array | None]:
    """What flows back to the operands of an elementwise operation.

    Raises
    ------
    NoGradientError
        If it has no rule for one that is wanted.
    """
    if op_def.gradient is None:
        raise NoGradientError(
            f"{op_def.name} has no rule for its gradient: give one, ElementwiseKernel(..., gradient=('g * ...', ...)) "
            "with a text for each argument"
        )
    return _by_texts(op_def.name, op_def.gradient, g, y, operands, wanted, op_def.names)


def of_host(g: Array, y: Array, operands: list[Array], wanted: list[bool], function: str) -> list[Array | None]:
    """The same of a special function that runs on the host."""
    return _by_texts(function, HOST_DERIVATIVES[function], g, y, operands, wanted)


def _by_texts(
    name: str,
    texts: tuple[str, ...],
    g: Array,
    y: Array,
    operands: list[Array],
    wanted: list[bool],
    called: tuple[str, ...] = (),
) -> list[Array | None]:
    if len(texts) != len(operands):
        raise NoGradientError(f"{name} takes {len(operands)} arguments, and its rule has {len(texts)} texts")
    names, values = _bound(g, y, called or ("y", *_LETTERS[: len(operands)]), operands)
    seed = node_of(g)
    one = seed.kind == FILL and seed.attr == 1
    found: list[Array | None] = []
    for text, operand, needed in zip(texts, operands, wanted, strict=True):
        if not needed or text == ZERO:
            found.append(None)
            continue
        if refused(text):
            raise NoGradientError(f"{name}: {text[1:]}")
        if one and text.startswith("g * "):
            text = text[4:]
        part = function_of(text, names)(*values)
        found.append(None if part is None else summed_to(_as_array(part, g), operand.shape))
    return found


def _bound(g: Any, y: Any, called: tuple[str, ...], operands: list[Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Names in a rule's texts, and what they mean: the result is called y, too, if nothing else is."""
    names, values = ("g", *called), (g, y, *operands)
    return (names, values) if "y" in called else ((*names, "y"), (*values, y))


def _as_array(part: Any, g: Array) -> Array:
    """What a text gave, as an array of the shape of the result."""
    if not isinstance(part, ndarray):
        part = wrap(build.scalar_as(part, g.code))
    return broadcast(part, g.shape)


# --- reductions -------------------------------------------------------------------------------------


def reduction(op_def: ReductionDef, g: Array, y: Array, a: Array, axes: tuple[int, ...]) -> Array | None:
    """What flows back to the elements of a reduction over `axes`."""
    if op_def.gradient is None:
        raise NoGradientError(
            f"the reduction {op_def.name} has no rule for its gradient"
            + (
                ": give one, ReductionKernel(..., gradient=('g * ...', ...)) with a text for each input"
                if op_def.recipe
                else ""
            )
        )
    if op_def.gradient == ZERO:
        return None
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(a.shape))
    count = prod(a.shape[axis] for axis in axes)

    def shared(g: Array, mask: Array) -> Array:
        number = mask.sum(axes, g.dtype if KINDS[g.code] == "f" else named("real", g).dtype, keepdims=True)
        return named("where", mask, g, 0) / number  # NaN where nothing is equal, so where NaN is among the elements

    def portions(parts: Array) -> Array:
        return parts / parts.sum(axes, keepdims=True)

    names = ("g", "y", "a", "n", "shared", "others", "average", "portions")
    values = (
        g.reshape(kept),
        y.reshape(kept),
        a,
        count,
        shared,
        partial(others, axes=axes),
        partial(_average, axes=axes),
        portions,
    )
    return broadcast(function_of(op_def.gradient, names)(*values), a.shape)


def of_users_reduction(
    op_def: ReductionDef, g: Array, y: Array, operands: list[Array], shape: tuple[int, ...], axes: tuple[int, ...],
    wanted: list[bool],
) -> list[Array | None]:  # fmt: skip
    """What flows back to the inputs of a user's kernel that reduces what has `shape` over `axes`."""
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    g, y = (broadcast(one.reshape(kept), shape) for one in (g, y))
    assert op_def.of_inputs is not None
    return _by_texts(op_def.name, op_def.of_inputs, g, y, operands, wanted, op_def.names)


def of_users_loop(call: Any, g: Array, y: Array, operands: list[Array], wanted: list[bool]) -> list[Array | None]:
    """What flows back to the operands of a user's kernel with a loop of its own, by its texts."""
    texts, called, inputs = call.rule(operands)
    names, values = _bound(g, y, called, inputs)
    found: list[Array | None] = []
    place = 0
    for text, given in zip(texts, inputs, strict=True):
        if type(given) is not ndarray:
            continue
        part = function_of(text, names)(*values) if wanted[place] and text != ZERO else None
        if part is not None:
            if not isinstance(part, ndarray):
                part = broadcast(wrap(build.scalar_as(part, g.code)), given.shape)
            part = summed_to(part, given.shape)
        found.append(part)
        place += 1
    return found


def _average(a: Array, axes: tuple[int, ...]) -> Array:
    return a.mean(axes, keepdims=True)


def others(a: Array, axes: tuple[int, ...]) -> Array:
    """For each element the product of all other ones along `axes`, also where some are zero.

    Products of pairs, of pairs of pairs, ... lead to the whole; on the way back each gets what is beside it.
    """
    rest = [axis for axis in range(a.ndim) if axis not in axes]
    order = [*rest, *axes]
    moved = a.transpose(order)
    lead = moved.shape[: len(rest)]
    flat = moved.reshape((*lead, -1)) if a.size else moved.reshape((*lead, prod(moved.shape[len(rest) :])))
    levels = [flat]
    while levels[-1].shape[-1] > 1:
        last = levels[-1]
        half = last.shape[-1] // 2
        pairs = last[..., : 2 * half : 2] * last[..., 1 : 2 * half : 2]
        levels.append(_followed(pairs, last[..., 2 * half :]))
    beside = wrap(build.full(1, a.code, levels[-1].shape))
    for level in reversed(levels[:-1]):
        half = level.shape[-1] // 2
        above = beside[..., :half]
        spread = _paired(above * level[..., 1 : 2 * half : 2], above * level[..., : 2 * half : 2])
        beside = _followed(spread, beside[..., half:])
    back = [order.index(axis) for axis in range(a.ndim)]
    return beside.reshape(moved.shape).transpose(back)


def _followed(first: Array, rest: Array) -> Array:
    """Two arrays behind each other along the last axis."""
    if not rest.shape[-1]:
        return first
    count = first.shape[-1]
    result = wrap(build.full(0, first.code, (*first.shape[:-1], count + rest.shape[-1])))
    result[..., :count] = first
    result[..., count:] = rest
    return result


def _paired(even: Array, odd: Array) -> Array:
    """Two arrays by turns along the last axis."""
    result = wrap(build.full(0, even.code, (*even.shape[:-1], 2 * even.shape[-1])))
    result[..., 0::2] = even
    result[..., 1::2] = odd
    return result


def pair_rule(op: str, g: Any, y: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """Both derivatives of a binary operation, of arrays of one shape, times `g`."""
    op_def = ELEMENTWISE[op]
    found = elementwise(op_def, g, y, [a, b], [True, True])
    return tuple(g * 0 if part is None else part for part in found)  # type: ignore[return-value]


def values_of(nodes: list[Node]) -> list[Array]:
    """Arrays of values."""
    return [array_of(node) for node in nodes]


__all__ = [
    "NoGradientError",
    "elementwise",
    "function_of",
    "is_sine_quotient",
    "of_host",
    "of_users_loop",
    "of_users_reduction",
    "others",
    "pair_rule",
    "reduction",
    "sine_quotient",
    "values_of",
]
