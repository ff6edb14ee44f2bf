"""All derivatives of arrays in reverse mode, whose rows run together: of functions, and of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.api.joining import concatenate
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import DTYPES, ITEMSIZES, KINDS
from numloom.base.tracebacks import public
from numloom.compiled.batching import rewritten
from numloom.compiled.deferred import Deferred, note, parts_of, reading
from numloom.compiled.gradient_values import Array, array_of, is_smooth, named
from numloom.compiled.gradients import (
    TracedCall,
    by_arrays,
    checked_array,
    checked_result,
    function_name,
    grad,
    numbers_of,
    parted,
)
from numloom.compiled.holomorphic import obstacle
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import SYMBOL, Node
from numloom.graph.tree import CutError, Placeholder, recording, symbol_node, tree_nodes

Function = Callable[..., Any]
AT_ONCE = 1 << 24
"""Elements that the rows of a Jacobian, of which several run at once, may have on the way."""
_WRT = "say by what: jacobian(y, x) of an array y of a tree, or jacobian(f) of a function f"


def jacobian(
    function: Any, wrt: Any = None, *, argnums: Any = 0, allow_unused: bool = False, has_aux: bool = False
) -> Any:
    """All derivatives of an array by arrays; or, of a function, the function that gives them.

    They are computed in reverse mode: the walk back is recorded once, and runs for all elements of the result.

    Parameters
    ----------
    function : ndarray or callable
        An array of floats that was recorded in a tree (`numloom.symbolic`, or from `numloom.symbol`); or a function of
        arrays that gives one.
    wrt : ndarray or sequence of ndarray, optional
        By what, of an array. Of a function it may be `argnums`.
    argnums : int or tuple of int, optional
        By which arguments, of a function.
    allow_unused : bool, optional
        Of an array, whether derivatives by what it does not depend on are zeros, instead of an error; of a function
        they are.
    has_aux : bool, optional
        Whether a function gives a pair, the array and whatever else: its Jacobian does, too.

    Returns
    -------
    ndarray, list of ndarray or callable
        Derivatives have the shape of the result followed by that of what they are taken by. Derivatives of a complex
        result by a real array are complex; by a complex one they are those of a holomorphic function.

    Raises
    ------
    TypeError
        If a complex result is not seen to be a holomorphic function of a complex array.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.jacobian(lambda x: x**2)(nl.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> x = nl.symbol("x", (2,))
    >>> print(nl.function([x], nl.jacobian(x**2, x))([1.0, 2.0]))
    [[2. 0.]
     [0. 4.]]
    """
    if not callable(function) or isinstance(function, Deferred):
        if has_aux:
            raise TypeError("has_aux is about functions, and this is an array, which has nothing beside it")
        return _of_tree(function, wrt, allow_unused)
    numbers = argnums if wrt is None else wrt

    def jacobian_of(*args: Any, **options: Any) -> Any:
        return _jacobian_at(function, numbers, has_aux, args, options)

    return jacobian_of


def hessian(function: Any, wrt: Any = None, *, argnums: int = 0) -> Any:
    """The second derivatives of a cost by an array; or, of a function, the function that gives them.

    Parameters
    ----------
    function : ndarray or callable
        A float that was recorded in a tree; or a function of arrays that gives one.
    wrt : ndarray or sequence of ndarray, optional
        By what, of a tree: of several each by itself, as in Theano. Of a function it may be `argnums`.
    argnums : int, optional
        By which argument, an array.

    Returns
    -------
    ndarray, list of ndarray or callable
        Second derivatives have the shape of what they are taken by twice.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.hessian(lambda x: (x**3).sum())(nl.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    if callable(function) and not isinstance(function, Deferred):
        number = argnums if wrt is None else wrt
        return jacobian(grad(function, argnums=number, allow_unused=True), argnums=number)
    if wrt is None:
        raise TypeError(_WRT.replace("jacobian", "hessian").replace(" y", " c").replace("(y", "(c"))
    arrays = wrt if isinstance(wrt, (list, tuple)) else [wrt]
    found = [jacobian(grad(function, one), one, allow_unused=True) for one in arrays]
    return found if isinstance(wrt, (list, tuple)) else found[0]


def _of_tree(value: Any, wrt: Any, allow_unused: bool) -> Any:
    """All derivatives of an array of a tree."""
    if wrt is None:
        raise TypeError(_WRT)
    several = isinstance(wrt, (list, tuple))
    if parts_of([value, wrt]):
        later = note(jacobian, (value, wrt), {"allow_unused": allow_unused})
        return [later[place] for place in range(len(wrt))] if several else later
    if type(value) is not ndarray or not is_smooth(value.code):
        kind = value.dtype if type(value) is ndarray else type(value).__name__
        raise TypeError(f"derivatives are of arrays of floats, got {kind}")
    arrays = [checked_array(one) for one in (wrt if several else [wrt])]
    root = node_of(value)
    if not root.tree:
        raise CutError(
            "this is an ordinary array, and what that was computed from is let go when its numbers are: differentiate "
            "a function, nl.jacobian(lambda x: ...)(x), or record the array in a tree (nl.symbolic, nl.symbol)"
        )
    for array in arrays:
        _check_holomorphic(root, array.storage.value, "the array")
    with recording():
        seed = symbol_node(Placeholder("seed"), root.code, root.shape)
        flows = [node_of(flow) for flow in by_arrays(root, arrays, allow_unused, wrap(seed))]
        found = _by_rows(root, seed, flows)
    return found if several else found[0]


@public
@reading
def _jacobian_at(function: Function, argnums: Any, has_aux: bool, args: tuple[Any, ...], options: Any) -> Any:
    """All derivatives of a function for these arguments."""
    traced = TracedCall(function, numbers_of(argnums), args, options)
    found, aux = parted(function, traced.result, has_aux)
    root = node_of(checked_result(function, found))
    for node in traced.flat_symbols:
        _check_holomorphic(root, node, function_name(function))
    seed = symbol_node(Placeholder("seed"), root.code, root.shape)
    flows = [node_of(flow) for flow in traced.gradients(root, wrap(seed), allow_unused=True)]
    with recording():
        whole = _by_rows(root, seed, flows)
    derivatives, aux = traced.results_with(whole, aux)
    shaped = traced.shaped(derivatives, isinstance(argnums, int))
    return (shaped, aux) if has_aux else shaped


def _by_rows(root: Node, seed: Node, flows: list[Node]) -> list[Array]:
    """All derivatives of a value, of what flows back to arrays from the seed that it is multiplied by.

    Rows are examples, each of which has another seed: with one 1 in it. They run together as far as memory is likely to
    hold what they compute on the way.
    """
    together = max(AT_ONCE // max([1, *[node.size for node in tree_nodes(flows)]]), 1)
    parts: list[list[Array]] = [[] for _ in flows]
    for begin in range(0, max(root.size, 1), together):
        for found, part in zip(parts, _rows(root, seed, flows, begin, min(together, root.size - begin)), strict=True):
            found.append(part)
    return [
        (found[0] if len(found) == 1 else concatenate(found)).reshape((*root.shape, *flow.shape))
        for found, flow in zip(parts, flows, strict=True)
    ]


def _rows(root: Node, seed: Node, flows: list[Node], begin: int, count: int) -> list[Array]:
    """Derivatives of so many elements of a result; of complex ones by real arrays, of both parts."""
    several = KINDS[root.code] == "c"
    host = np.eye(count, root.size, begin, dtype=DTYPES[root.code])
    seeds = np.concatenate([host, -1j * host]).astype(DTYPES[root.code]) if several else host
    whole = node_of(asarray(seeds.reshape((len(seeds), *root.shape))))
    batch = rewritten(flows, {seed: whole}, len(seeds))
    rows = [array_of(batch.of(flow)) for flow in flows]
    if several:
        rows = [
            row[:count] if KINDS[row.code] == "c" else named("complex_pack", row[:count], row[count:]) for row in rows
        ]
    return [_c_ordered(row) for row in rows]


def _c_ordered(array: Array) -> Array:
    """The same numbers, in C order."""
    node = node_of(array)
    return wrap(build.copied(node, c_strides(node.shape, ITEMSIZES[node.code]), node.code))


def _check_holomorphic(root: Node, node: Node, what: str) -> None:
    """Refuse derivatives of complex results by complex arrays that are no single complex numbers."""
    if KINDS[root.code] != "c" or KINDS[node.code] != "c":
        return
    name = obstacle(root, node)
    if name:
        by = node.attr.name if node.kind == SYMBOL else "wrt"
        raise TypeError(
            f"{what} gives complex numbers of complex ones ({by}) by way of {name}, so it may have no complex "
            "derivative: give the real and the imaginary part as two real arguments, and put them together inside "
            "(x + 1j * y)"
        )


__all__ = ["hessian", "jacobian"]
