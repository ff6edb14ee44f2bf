"""Python functions with gradients of their users': a rule stands for the way back through what they compute."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import DTYPES
from numloom.base.nesting import deeper
from numloom.compiled.deferred import noted, parts_of
from numloom.compiled.gradient_values import Array, array_of, is_smooth
from numloom.compiled.structure import flat, like, parameters, paths
from numloom.graph.build import copied
from numloom.graph.node import FILL, ROUTINE, SCALAR, SYMBOL, VIEW, Node, new_node, register, tracing
from numloom.graph.tree import rebuilt, recording, tree_nodes, waits


class _Row:
    """The op definition, for the reference."""

    name = "custom_gradient"
    in_place = False

    @staticmethod
    def numpy(result: Any, *args: Any) -> Any:
        """The result is there already."""
        return result


_ROW = _Row()


class WithRule:
    """A value of a tree, with what it was computed from and a rule for the way back; called it is the value itself.

    Attributes
    ----------
    gradient : callable
        The rule.
    form : tuple
        Arguments of the call, whose arrays are operands.
    name : str
        What errors call the function.
    names : list of str
        What they call its arrays.
    """

    op_def = _ROW

    def __init__(self, gradient: Callable[..., Any], form: tuple[Any, ...], name: str, names: list[str]) -> None:
        self.gradient = gradient
        self.form = form
        self.name = name
        self.names = names
        self.options: dict[str, Any] = {}

    def options_here(self) -> dict[str, Any]:
        """Its options, as the reference asks for them."""
        return self.options

    def __call__(self, *operands: Node) -> Node:
        result = operands[0]
        if not waits(operands):
            return result
        return new_node(ROUTINE, self, operands, result.code, result.shape, result.strides, result.size, None)

    def back(self, node: Node, args: Sequence[Node], g: Array) -> list[Array | None]:
        """What flows back to the arrays that it was computed from."""
        arrays = iter([array_of(arg) for arg in args])
        given = like(self.form, [next(arrays) if leaf is _ARRAY else leaf for leaf in flat(self.form)])
        found = self.gradient(g, array_of(node), *given)
        if len(given) == 1 and not (isinstance(found, (tuple, list)) and not isinstance(given[0], (tuple, list))):
            found = (found,)
        if not isinstance(found, (tuple, list)) or len(found) != len(given):
            raise TypeError(
                f"the gradient of {self.name} must give a tuple with a part for each of its {len(given)} arguments "
                f"(None where nothing flows back), not {found!r}"
            )
        flows = [flow for one, part in zip(self.form, found, strict=True) for flow in _parts(one, part, self.name)]
        return [
            None if flow is None or not is_smooth(arg.code) else self._checked(flow, arg, name)
            for flow, arg, name in zip(flows, args, self.names, strict=True)
        ]

    def _checked(self, flow: Any, arg: Node, name: str) -> Array:
        """What flows back to an array, in its shape."""
        array = asarray(flow)
        if array.shape != arg.shape:
            raise ValueError(
                f"the gradient of {self.name} by {name} has shape {array.shape}, and {name} has shape {arg.shape}"
            )
        return array


class _Array:
    """Stands for an array among arguments."""

    def __reduce__(self) -> str:
        return "_ARRAY"


_ARRAY = _Array()


def _parts(form: Any, found: Any, name: str) -> list[Any]:
    """What flows to the arrays of one argument."""
    places = flat(form)
    if found is None:
        return [None for place in places if place is _ARRAY]
    parts = _leaves(form, found, name)
    return [part for place, part in zip(places, parts, strict=True) if place is _ARRAY]


def _leaves(form: Any, found: Any, name: str, depth: int = 0) -> list[Any]:
    """The parts of what a rule gives that stand where an argument has its leaves."""
    if form is None:
        return []
    if found is None:
        return [None for _ in flat(form)]
    if isinstance(form, dict):
        if not isinstance(found, dict) or not set(found) <= set(form):
            raise TypeError(f"the gradient of {name} must give a dict with the keys {list(form)}, not {found!r}")
        depth = deeper(depth)
        return [leaf for key, part in form.items() for leaf in _leaves(part, found.get(key), name, depth)]
    if isinstance(form, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(form):
            raise TypeError(f"the gradient of {name} must give {len(form)} parts for an argument, not {found!r}")
        depth = deeper(depth)
        return [leaf for part, one in zip(form, found, strict=True) for leaf in _leaves(part, one, name, depth)]
    return [found]


def custom_gradient(function: Callable[..., Any] | None = None, *, gradient: Callable[..., Any]) -> Any:
    """Give a Python function of arrays a gradient of your own.

    Parameters
    ----------
    function : callable
        Of arrays, or of lists, tuples and dicts of them, given in turn; it gives one array. Without it, what makes a
        decorator.
    gradient : callable
        ``gradient(g, result, *args)`` gives, for `g`, what flows back to the result, what flows back to the arguments:
        a tuple with a part for each of them, in its form; None where nothing does. Of one argument it may be the part
        itself.

    Returns
    -------
    callable
        The function. What it computes is recorded and fuses as ever; gradients do not go through it.

    Examples
    --------
    >>> import numloom as nl
    >>> clipped = nl.custom_gradient(lambda x: x, gradient=lambda g, y, x: nl.clip(g, -1, 1))
    >>> nl.grad(lambda x: (clipped(x) ** 3).sum())(nl.array([0.1, 2.0]))
    array([0.03, 1.  ])
    """
    if function is None:
        return functools.partial(custom_gradient, gradient=gradient)
    inner = function
    name = getattr(inner, "__name__", type(inner).__name__)

    @functools.wraps(inner, updated=())
    def call(*args: Any) -> Any:
        if parts_of(list(args)):
            return noted(call, *args)
        leaves = flat(args)
        arrays = [asarray(leaf) for leaf in leaves if isinstance(leaf, (ndarray, np.ndarray))]
        if not tracing() and not (register.trees and any([node_of(array).tree for array in arrays])):
            return inner(*args)
        result = inner(*args)
        if isinstance(result, (tuple, list, dict)) or result is None:
            raise TypeError(f"{name} has a gradient of its own and must give one array, not {type(result).__name__}")
        value = asarray(result)
        if not is_smooth(value.code):
            raise TypeError(f"{name} has a gradient of its own and must give floats, not {DTYPES[value.code]}")
        form = like(args, [_ARRAY if isinstance(leaf, (ndarray, np.ndarray)) else leaf for leaf in leaves])
        called = [one for top, arg in zip(parameters(inner, len(args)), args, strict=True) for one in paths(top, arg)]
        names = [one for one, leaf in zip(called, leaves, strict=True) if isinstance(leaf, (ndarray, np.ndarray))]
        with recording():
            node = node_of(value)
            if node.kind in (VIEW, SYMBOL, SCALAR, FILL) or not node.tree:  # A value of its own, whoever has this one.
                node = copied(node, value.copy("K").strides, node.code)
            return wrap(WithRule(gradient, form, name, names)(node, *map(node_of, arrays)))

    return call


def is_with_rule(node: Node) -> bool:
    """Whether a value has a rule of its user's."""
    return node.kind == ROUTINE and isinstance(node.op_def, WithRule)


def without_rules(roots: Sequence[Node]) -> list[Node]:
    """The same trees, for running: values in the places of values with rules."""
    if not any([is_with_rule(node) for node in tree_nodes(roots)]):
        return list(roots)
    with recording():
        return rebuilt(roots, {}, lambda node: node.args[0] if is_with_rule(node) else None)


__all__ = ["WithRule", "custom_gradient", "is_with_rule", "without_rules"]
