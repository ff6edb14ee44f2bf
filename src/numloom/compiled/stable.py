"""Trees rewritten, where users ask for it, so that they neither overflow nor lose digits: as Theano did unasked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numloom.api.elementwise import exp, expm1, isfinite, log, log1p, logaddexp, where
from numloom.array.ndarray import ndarray
from numloom.compiled.deferred import Deferred, noted, parts_of
from numloom.compiled.gradient_values import applied, array_of
from numloom.compiled.patterns import Pattern
from numloom.compiled.structure import flat, like
from numloom.compiled.tree import TreePart, rewrite
from numloom.graph.node import OP, REDUCE, VIEW, Node
from numloom.ops.special import SPECIAL

Array = Any
_AXES = (None, -1, 0, 1, 2)
"""Axes of softmax and of sums that are looked for."""


def expit(x: Array) -> Array:
    """``1 / (1 + exp(-x))``."""
    return applied(SPECIAL["expit"], x)


def log_expit(x: Array) -> Array:
    """Its logarithm."""
    return applied(SPECIAL["log_expit"], x)


def softplus(x: Array) -> Array:
    """``log(1 + exp(x))``."""
    return logaddexp(0, x)


def softmax(x: Array, axis: int | None) -> Array:
    """As `numloom.special.softmax` is recorded."""
    raised = exp(x - x.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


def _top(x: Array, axis: int | None) -> Array:
    """The largest values along an axis, where they are finite; else 0."""
    top = x.max(axis, keepdims=True)
    return where(isfinite(top), top, 0)


def log_softmax(x: Array, axis: int | None) -> Array:
    """The logarithm of `softmax`."""
    shifted = x - _top(x, axis)
    return shifted - log(exp(shifted).sum(axis, keepdims=True))


def logsumexp(x: Array, axis: int | None, keepdims: bool = False) -> Array:
    """``log(exp(x).sum(axis))``."""
    top = _top(x, axis)
    found = log(exp(x - top).sum(axis, keepdims=True)) + top
    return found if keepdims else found.reshape(x.sum(axis).shape)


_RULES: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    # What a value that is to be replaced is called, what it looks like, and what it becomes.
    ("divide", lambda x: 1 / (1 + exp(-x)), expit),
    ("reciprocal", lambda x: 1 / (1 + exp(-x)), expit),
    ("log", lambda x: log(expit(x)), log_expit),
    ("log", lambda x: log(1 - expit(x)), lambda x: log_expit(-x)),
    ("log1p", lambda x: log1p(-expit(x)), lambda x: log_expit(-x)),
    ("log", lambda x: log(1 + exp(x)), softplus),
    ("log", lambda x: log(exp(x) + 1), softplus),
    ("log1p", lambda x: log1p(exp(x)), softplus),
]
for _axis in _AXES:
    _RULES += [
        ("divide", lambda x, a=_axis: exp(x) / exp(x).sum(a, keepdims=True), lambda x, a=_axis: softmax(x, a)),
        ("log", lambda x, a=_axis: log(softmax(x, a)), lambda x, a=_axis: log_softmax(x, a)),
        ("log", lambda x, a=_axis: log(exp(x).sum(a)), lambda x, a=_axis: logsumexp(x, a)),
        (
            "log",
            lambda x, a=_axis: log(exp(x).sum(a, keepdims=True)),
            lambda x, a=_axis: logsumexp(x, a, keepdims=True),
        ),
    ]
_RULES += [
    ("log", lambda x: log(1 + x), log1p),
    ("log", lambda x: log(x + 1), log1p),
    ("log", lambda x: log(1 - x), lambda x: log1p(-x)),
    ("subtract", lambda x: exp(x) - 1, expm1),
]


_PATTERNS = [(name, Pattern(pattern, 1), becomes) for name, pattern, becomes in _RULES]


def _is_shifted(node: Node) -> bool:
    """Whether a value is one less its own largest: then its exponentials do not overflow, and stay as they are."""
    if node.kind != OP or node.op_def.name != "subtract":
        return False
    stack = [node.args[1]]
    while stack:
        one = stack.pop()
        if one.kind == REDUCE and one.op_def.name == "max":
            return True
        if one.kind in (VIEW, OP):
            stack += one.args
    return False


def _rule(part: TreePart) -> Array | None:
    for name, pattern, becomes in _PATTERNS:
        if part.name == name:
            found = pattern.bound(part.node)
            if found is not None and not (name == "divide" and _is_shifted(found[0])):
                return becomes(array_of(found[0]))
    return None


def stable(tree: Any) -> Any:
    """The same expressions by functions that do not overflow or lose digits, where they have some.

    ``1 / (1 + exp(-x))`` becomes `special.expit`, its logarithm and ``log(1 - expit(x))`` `special.log_expit`,
    ``log(1 + exp(x))`` `special.softplus`, ``exp(x) / exp(x).sum()`` `special.softmax`, the logarithm of that
    `special.log_softmax`, ``log(exp(x).sum())`` `special.logsumexp`, ``log(1 + x)`` and ``exp(x) - 1`` `log1p` and
    `expm1`. Numbers differ from NumPy's, so nothing does this unasked. Say it before gradients are taken.

    Parameters
    ----------
    tree : ndarray, or nested list, tuple or dict of them
        The expressions, of trees.

    Returns
    -------
    ndarray, or nested list, tuple or dict of them

    Examples
    --------
    >>> import numloom as nl
    >>> x = nl.symbol("x")
    >>> print(nl.function([x], nl.stable(nl.log(1 - 1 / (1 + nl.exp(-x)))))(800.0))
    -800.0
    """
    if parts_of([tree]):
        return like(tree, [noted(stable, one) if isinstance(one, Deferred) else stable(one) for one in flat(tree)])
    leaves = flat(tree)
    for leaf in leaves:
        if type(leaf) is not ndarray:
            raise TypeError(f"stable takes arrays of trees, not {type(leaf).__name__}")
    return like(tree, [rewrite(leaf, _rule) for leaf in leaves])


__all__ = ["stable"]
