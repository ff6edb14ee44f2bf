"""Gradients: the recorded tree walked from its end by the rules of the tables; what comes out is a tree, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import KINDS
from numloom.base.nesting import deeper
from numloom.base.tracebacks import public
from numloom.compiled.calls import wrap_all
from numloom.compiled.custom_gradients import is_with_rule
from numloom.compiled.deferred import expressions_in, note, noted, parts_of, reading
from numloom.compiled.gradient_branches import Flows, is_decision
from numloom.compiled.gradient_loops import is_loop
from numloom.compiled.gradient_memory import of_gather, of_update, of_view
from numloom.compiled.gradient_of_loops import Prepared, prepared
from numloom.compiled.gradient_paths import leading, ordered, outside, sees_loop
from numloom.compiled.gradient_routines import routine
from numloom.compiled.gradient_rules import (
    NoGradientError,
    elementwise,
    is_sine_quotient,
    of_users_reduction,
    reduction,
    sine_quotient,
    values_of,
)
from numloom.compiled.gradient_values import Array, array_of, cast_to, filled, is_smooth, named, seen_by, summed_to
from numloom.compiled.orders import laid_out, order
from numloom.compiled.structure import flat, like
from numloom.graph import build
from numloom.graph.node import CAST, GATHER, OP, REDUCE, ROUTINE, SYMBOL, UPDATE, VIEW, Node, tracing
from numloom.graph.tree import (
    CutError,
    Placeholder,
    concrete_all,
    hides,
    is_settled,
    recording,
    substitute,
    symbol_node,
)
from numloom.ops.derivatives import ZERO

Function = Callable[..., Any]


class UnusedError(ValueError):
    """A gradient was asked for with respect to what the cost does not depend on."""


# ---------------------------------------------------------------- the walk


def adjoints(root: Node, seed: Array, targets: Sequence[Node]) -> list[Array | None]:
    """The gradient of what `root` times `seed` sums to, with respect to each of some values; None where there is none.

    Parameters
    ----------
    root : Node
        The end of a tree.
    seed : ndarray
        Of the shape and dtype of `root`.
    targets : sequence of Node
        Values beneath it.
    """
    return pulled(prepared([root], targets, pulled), [seed])


def pulled(work: Prepared, seeds: Sequence[Array | None]) -> list[Array | None]:
    """What flows back through prepared trees to their targets; None where nothing does."""
    ends = {id(node): node for node in work.targets}
    order = ordered(work.roots, ends, work.results)
    leads = leading(order, ends)
    flows = Flows()
    for root, seed in zip(work.roots, seeds, strict=True):
        if seed is not None:
            flows.add(work.results.same(root), None, seed)
    for node, args in reversed(order):
        if id(node) in ends or id(node) not in leads:
            continue
        if is_loop(node):
            _through_loop(work, node, args, flows, leads)
            continue
        if node not in flows or (sees_loop(node) and args == node.args):  # The loop itself takes what flows to results.
            continue
        around, g = flows.pop(node)
        wanted = [id(arg) in leads for arg in args]
        branches = flows.branches(node, args, around)
        parts = [work.results.flow(g, node)] if sees_loop(node) else _flow(node, args, g, wanted)
        for arg, branch, part in zip(args, branches, parts, strict=True):
            if part is not None and id(arg) in leads:
                flows.add(arg, branch, cast_to(part, arg.code))
    return [_found(flows.end(node), node, work.roots) for node in work.targets]


def _through_loop(work: Prepared, node: Node, args: tuple[Node, ...], flows: Flows, leads: set[int]) -> None:
    """Have what flows to a loop's results flow to its operands."""
    row: Any = node.op_def
    whole = [(place, work.results.of(node, place)) for place in range(len(row.layout))]
    ends = {id(target) for target in work.targets}
    reached = [(place, result) for place, result in whole if result in flows and id(result) not in ends]
    if not reached:
        return
    branch, parts = flows.joined([result for _, result in reached])
    known = dict(zip([place for place, _ in reached], parts, strict=True))
    for place, part in work.plans[id(row)].back(node, known):
        if id(args[place]) in leads:
            flows.add(args[place], branch, cast_to(part, args[place].code))


def _found(flow: Array | None, target: Node, roots: Sequence[Node]) -> Array | None:
    """A gradient; zeros where all derivatives on the way are zero, None where there is no way."""
    if flow is not None or (target.size and not any([_leads(target, root) for root in roots])):
        return flow
    return wrap(build.full(0, target.code, target.shape))


def _leads(target: Node, root: Node) -> bool:
    """Whether a value is computed from another one, by whatever means."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node is target:
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack.extend(node.args)
            if is_loop(node):
                stack.extend(outside(node.op_def))
    return False


def depending(flow: Array, target: Node) -> Array:
    """A gradient, as a value that depends on what it was taken by, though its numbers may not.

    So the gradient of the gradient of ``3 * x`` is 0, and no error: `UnusedError` is about costs that never read it.
    """
    if not target.size or _leads(target, node_of(flow)):
        return flow
    read = array_of(target)
    if flow.shape != target.shape:
        read = read.reshape(-1)[0].real if KINDS[flow.code] != "c" else read.reshape(-1)[0]
    return named("where", False, cast_to(read, flow.code), flow)


def _flow(node: Node, args: tuple[Node, ...], g: Array, wanted: list[bool]) -> Sequence[Array | None]:
    """What flows back to a value's arguments."""
    kind = node.kind
    if kind == CAST:
        return [g]
    if kind == VIEW:
        return [of_view(g, node, args[0])]
    if kind == OP:
        if is_decision(node, args):
            return [None, *[summed_to(g, arg.shape) for arg in args[1:]]]
        if is_sine_quotient(node):
            return [None, sine_quotient(g, array_of(args[1]))]
        return elementwise(node.op_def, g, array_of(node), values_of(list(args)), wanted)
    if kind == REDUCE and args is not node.args:
        return of_users_reduction(
            node.op_def, g, array_of(node), values_of(list(args)), node.args[0].shape, node.attr[0], wanted
        )
    if kind == REDUCE:
        return [reduction(node.op_def, g, array_of(node), array_of(args[0]), node.attr[0])]
    if kind == UPDATE:
        return of_update(g, node, args[1])
    if kind == GATHER:
        return [of_gather(g, node, args[0], list(args[1:])), *[None for _ in args[1:]]]
    if is_with_rule(node):
        return node.op_def.back(node, args, g)  # type: ignore[no-any-return]
    if kind == ROUTINE:
        return routine(node, args, g, wanted)
    raise AssertionError(kind)


# ---------------------------------------------------------------- of traced values


def grad(cost: Any, wrt: Any = None, *, argnums: Any = 0, allow_unused: bool = False, has_aux: bool = False) -> Any:
    """The gradient of a cost with respect to arrays; or, of a function, the function that gives it.

    Parameters
    ----------
    cost : ndarray or callable
        A float of no axes that was recorded in a tree (`numloom.symbolic`, or from `numloom.symbol`); or a function of
        arrays that gives one.
    wrt : ndarray or sequence of ndarray, optional
        With respect to what, if `cost` is an array.
    argnums : int or tuple of int, optional
        With respect to which arguments, if `cost` is a function. An argument may be a list, a tuple or a dict of
        arrays.
    allow_unused : bool, optional
        Whether gradients with respect to what the cost does not depend on are zeros, instead of an error.
    has_aux : bool, optional
        Whether a function gives a pair, the cost and whatever else: its gradient does, too.

    Returns
    -------
    ndarray, list of ndarray or callable
        Gradients with the shape and dtype of what they are taken by. Of a complex array it is
        ``dC/dx - i dC/dy`` for a real cost C.

    Raises
    ------
    TypeError
        If something on the way has no gradient, or the cost or an array has integers.
    ValueError
        If the cost has more than one element, or does not depend on an array.
    CutError
        If a number was asked for through which a gradient would have to flow, or the cost is an ordinary array.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.grad(lambda x: (x**3).sum())(nl.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if callable(cost):
        if wrt is not None:
            argnums = wrt
        return _Gradient(cost, argnums, allow_unused, has_aux, with_value=False)
    if has_aux:
        raise TypeError("has_aux is about functions, and the cost is an array, which has nothing beside it")
    if wrt is None:
        raise TypeError("grad(cost, wrt): say with respect to what")
    several = isinstance(wrt, (list, tuple))
    if parts_of([cost, wrt]):
        later = note(grad, (cost, wrt), {"allow_unused": allow_unused})
        return [later[place] for place in range(len(wrt))] if several else later
    arrays = [checked_array(one) for one in (wrt if several else [wrt])]
    root = node_of(_checked_cost(cost))
    if not root.tree:
        raise CutError(_PLAIN)
    with recording():
        found = by_arrays(root, arrays, allow_unused)
    return found if several else found[0]


_PLAIN = (
    "the cost is an ordinary array, and what that was computed from is let go when its numbers are: a gradient would "
    "depend on what has been looked at. Differentiate a function, nl.grad(lambda x: ...)(x), or record the cost in a "
    "tree (nl.symbolic, nl.symbol)"
)


def by_arrays(root: Node, arrays: list[Array], allow_unused: bool, seed: Array | None = None) -> list[Array]:
    """Gradients by arrays, as they stand, of one number, or of what a value times a seed sums to."""
    targets = [_target(array) for array in arrays]
    _refuse_results(root, [node for node, _ in targets if not node.tree])
    flows = adjoints(root, filled(1, root.code, root.shape) if seed is None else seed, [node for node, _ in targets])
    result = []
    for number, ((node, layout), flow) in enumerate(zip(targets, flows, strict=True)):
        if flow is None:
            if not allow_unused:
                raise _unused(number, node, len(arrays))
            flow = wrap(build.full(0, node.code, node.shape))
        elif root.tree:
            flow = depending(flow, node)
        if layout is not None:
            flow = seen_by(_laid_out(flow, node), *layout)
        result.append(flow)
    return result


def _refuse_results(root: Node, targets: list[Node]) -> None:
    """Raise where a tree reads what was computed outside of it, maybe from targets: nobody knows what from any more.

    What was made before all of the targets was not. Data of the host, numbers and `stop_gradient` are constants.
    """
    if hides([root], targets, _smooth_args):
        raise CutError(_OUTSIDE)


def _smooth_args(node: Node) -> Sequence[Node] | None:
    """Arguments through which a gradient may flow; None of what has none itself."""
    if not (is_smooth(node.code) or node.kind == VIEW):
        return None
    if node.kind == OP and node.op_def.gradient is not None:
        return [arg for arg, rule in zip(node.args, node.op_def.gradient, strict=True) if rule != ZERO]
    return node.args


_OUTSIDE = (
    "the cost reads an array that was computed outside of its tree, and may depend on wrt in ways that are not known "
    "any more: record all of it in the tree (with nl.symbolic()), differentiate a function, nl.grad(lambda x: ...)(x), "
    "or say nl.stop_gradient(y), in the tree, of what is a constant"
)


def _laid_out(flow: Array, node: Node) -> Array:
    return wrap(build.copied(node_of(flow), node.strides, node.code))


def _target(array: Array) -> tuple[Node, Any]:
    """The value that an array's memory holds, and the layout through which the array sees it, if not its own."""
    node = array.storage.value
    layout = (array.code, array.offset, array._shape, array._strides)
    if (node.code, 0, node.shape, node.strides) == layout:
        return node, None
    return node, layout


def _unused(number: int, node: Node, count: int) -> UnusedError:
    which = f"array {number} of wrt" if count > 1 else "wrt"
    name = f" (symbol {node.attr.name})" if node.kind == SYMBOL else ""
    return UnusedError(
        f"the cost does not depend on {which}{name}, as far as it was recorded: record both in one tree "
        "(with nl.symbolic(), or in the function that grad takes; what was computed before is a constant), or say "
        "allow_unused=True for zeros"
    )


def _checked_cost(cost: Any) -> Array:
    if not isinstance(cost, ndarray):
        raise TypeError(f"the cost must be a numloom array, got {type(cost).__name__}")
    array: Any = cost
    if array.size != 1:
        raise ValueError(
            f"the cost must be one number, got an array of shape {array.shape}: sum it (cost.sum()), or ask for "
            "jacobian or vjp"
        )
    if not is_smooth(array.code):
        raise TypeError(f"the cost must be a float, got {array.dtype}")
    if KINDS[array.code] == "c":
        raise TypeError(f"the cost must be real, got {array.dtype}: take its real part or its absolute value")
    return array


def checked_array(given: Any) -> Array:
    """What a gradient is taken by, which must be an array of floats."""
    if not isinstance(given, ndarray):
        raise TypeError(f"gradients are taken by numloom arrays, got {type(given).__name__}")
    array: Any = given
    if not is_smooth(array.code):
        raise TypeError(f"gradients are taken by arrays of floats, got {array.dtype}: convert it by astype(float)")
    return array


# ---------------------------------------------------------------- of functions


def _flattened(tree: Any, depth: int = 0) -> tuple[list[Any], Any]:
    """Arrays in lists, tuples and dicts, and how to put others in their places."""
    if isinstance(tree, (list, tuple)):
        depth = deeper(depth)
        parts = [_flattened(one, depth) for one in tree]
        kind = type(tree)
        return [leaf for leaves, _ in parts for leaf in leaves], (kind, [(len(leaves), how) for leaves, how in parts])
    if isinstance(tree, dict):
        leaves, (_, parts) = _flattened(list(tree.values()), depth)
        return leaves, (dict, parts, list(tree))
    return [tree], None


def _together(how: Any, leaves: Sequence[Any]) -> Any:
    if how is None:
        return leaves[0]
    parts, place = [], 0
    for count, inner in how[1]:
        parts.append(_together(inner, leaves[place : place + count]))
        place += count
    if how[0] is dict:
        return dict(zip(how[2], parts, strict=True))
    if hasattr(how[0], "_fields"):
        return how[0](*parts)
    return how[0](parts)


class TracedCall:
    """A function's call as a tree.

    Attributes
    ----------
    inputs : list of list of ndarray
        The arrays of each argument that gradients are taken by.
    symbols : list of list of Node
        What stood for them.
    result : object
        What the function gave: a tree.
    hows : list
        How arrays stand in arguments.
    """

    def __init__(self, function: Function, argnums: tuple[int, ...], args: tuple[Any, ...], options: Any) -> None:
        self.function = function
        self.in_tree = tracing()
        given = list(args)
        self.inputs: list[list[Array]] = []
        self.symbols: list[list[Node]] = []
        self.hows: list[Any] = []
        for number in argnums:
            if not -len(args) <= number < len(args):
                raise TypeError(f"a gradient by argument {number} was asked for, and {len(args)} were given")
            leaves, how = _flattened(args[number])
            arrays = [checked_array(asarray(leaf)) for leaf in leaves]
            symbols = []
            for place, array in enumerate(arrays):
                value = node_of(array)
                self.in_tree = self.in_tree or value.tree
                name = f"argument {number}" if len(arrays) == 1 else f"argument {number}[{place}]"
                # Of what waits itself only what does not change is known: numbers of shared variables do.
                known = value if not value.tree or is_settled([value]) else None
                # In the order of the array: what NumPy makes a view of follows from it.
                strides = order(array.shape, array.strides, array.itemsize)
                symbol = symbol_node(Placeholder(name), array.code, array.shape, strides)
                symbol.attr.value = None if known is None else laid_out(known, symbol)
                symbol.attr.differentiated = function_name(function)
                symbols.append(symbol)
            self.inputs.append(arrays)
            self.symbols.append(symbols)
            self.hows.append(how)
            given[number] = _together(how, [wrap(node) for node in symbols])
        try:
            with recording():
                self.result = function(*given, **options)
        finally:
            for node in self.flat_symbols:
                node.attr.differentiated = ""

    @property
    def flat_symbols(self) -> list[Node]:
        return [node for nodes in self.symbols for node in nodes]

    def gradients(self, root: Node, seed: Array, allow_unused: bool) -> list[Array]:
        """By all inputs, as trees."""
        with recording():
            flows = adjoints(root, seed, self.flat_symbols)
            found = []
            for node, flow in zip(self.flat_symbols, flows, strict=True):
                if flow is None:
                    if not allow_unused:
                        raise UnusedError(
                            f"the result of {function_name(self.function)} does not depend on {node.attr.name}: "
                            "leave it out of argnums, or say allow_unused=True for zeros"
                        )
                    flow = wrap(build.full(0, node.code, node.shape))
                found.append(depending(flow, node) if self.in_tree else flow)
        return found

    def results(self, trees: Sequence[Array]) -> list[Array]:
        """Trees over the symbols, over the inputs: ordinary recorded work, or trees if the inputs are."""
        known = {
            node: node_of(array)
            for nodes, arrays in zip(self.symbols, self.inputs, strict=True)
            for node, array in zip(nodes, arrays, strict=True)
        }
        roots = [node_of(tree) for tree in trees]
        if tracing() or any(node.tree for node in known.values()):
            return [array_of(node) for node in substitute(roots, known)]
        return [array_of(array.storage.value) for array in wrap_all(concrete_all(roots, known))]

    def results_with(self, trees: Sequence[Array], aux: Any) -> tuple[list[Array], Any]:
        """`results`, and what the function gave beside them: its arrays, too, and all else as it is."""
        leaves = flat(aux)
        arrays = [leaf for leaf in leaves if type(leaf) is ndarray]
        found = self.results([*trees, *arrays])
        rest = iter(found[len(trees) :])
        return found[: len(trees)], like(aux, [next(rest) if type(leaf) is ndarray else leaf for leaf in leaves])

    def shaped(self, flat: Sequence[Array], single: bool) -> Any:
        """Arrays for all inputs, as the arguments have them."""
        found, place = [], 0
        for arrays, how in zip(self.inputs, self.hows, strict=True):
            found.append(_together(how, flat[place : place + len(arrays)]))
            place += len(arrays)
        return found[0] if single else tuple(found)


def function_name(function: Function) -> str:
    """What errors call a function."""
    return getattr(function, "__name__", type(function).__name__)


def numbers_of(argnums: Any) -> tuple[int, ...]:
    """The numbers of arguments, also of a single one."""
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def checked_result(function: Function, found: Any, scalar: bool = False) -> Array:
    """A function's result, which must be an array of floats."""
    if isinstance(found, (tuple, list, dict)) or found is None:
        raise TypeError(f"{function_name(function)} must give one array, got {type(found).__name__}")
    array = asarray(found)
    if scalar:
        return _checked_cost(array)
    if not is_smooth(array.code):
        raise TypeError(f"{function_name(function)} must give floats, got {array.dtype}")
    return array


def parted(function: Function, found: Any, has_aux: bool) -> tuple[Any, Any]:
    """A function's result, and what it gives beside it with `has_aux`."""
    if not has_aux:
        return found, None
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(
            f"with has_aux {function_name(function)} must give a pair, the cost and whatever else, not "
            f"{type(found).__name__}"
        )
    return found[0], found[1]


class _Gradient:
    """The gradient of a function, with its value if asked for."""

    def __init__(self, function: Function, argnums: Any, allow_unused: bool, has_aux: bool, with_value: bool) -> None:
        self.function = function
        self.argnums = argnums
        self.allow_unused = allow_unused
        self.has_aux = has_aux
        self.with_value = with_value
        self.__name__ = f"gradient of {function_name(function)}"
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    @public
    @reading
    def __call__(self, *args: Any, **options: Any) -> Any:
        traced = TracedCall(self.function, numbers_of(self.argnums), args, options)
        cost, aux = parted(self.function, traced.result, self.has_aux)
        value = checked_result(self.function, cost, scalar=True)
        root = node_of(value)
        with recording():
            seed = filled(1, root.code, root.shape)
        flows = traced.gradients(root, seed, self.allow_unused)
        found, aux = traced.results_with([value, *flows] if self.with_value else flows, aux)
        shaped = traced.shaped(found[self.with_value :], isinstance(self.argnums, int))
        if not self.has_aux:
            return (found[0], shaped) if self.with_value else shaped
        return ((found[0], aux), shaped) if self.with_value else (shaped, aux)


def stop_gradient(x: Any) -> Any:
    """The same values, as constants: no gradient flows back through them.

    Parameters
    ----------
    x : array_like
        Or lists, tuples and dicts of them. What has no floats is given back as an array as it is.

    Returns
    -------
    ndarray
        Or lists, tuples and dicts of them. Of it `float`, `numpy.asarray` and their like may be asked inside of a
        function that is being differentiated.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.grad(lambda x: (x * nl.stop_gradient(x)).sum())(nl.array([2.0, 3.0]))
    array([2., 3.])
    """
    if parts_of([x]):
        return noted(stop_gradient, x)
    leaves, how = _flattened(x)
    return _together(how, [_stopped(asarray(leaf)) for leaf in leaves])


def _stopped(array: Array) -> Array:
    return named("stop_gradient", array) if is_smooth(array.code) else array


def value_and_grad(
    function: Function, argnums: Any = 0, *, allow_unused: bool = False, has_aux: bool = False
) -> Function:
    """The function that gives the value of a cost, and its gradient.

    Parameters
    ----------
    function : callable
        Of arrays; it gives one float.
    argnums, allow_unused, has_aux
        As of `grad`.

    Returns
    -------
    callable
        It takes what `function` takes, and gives ``(value, gradient)``; with `has_aux` ``((value, aux), gradient)``.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.value_and_grad(lambda x: nl.sin(x).sum())(nl.zeros(2))
    (array(0.), array([1., 1.]))
    """
    return _Gradient(function, argnums, allow_unused, has_aux, with_value=True)


def vjp(function: Function, *args: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and what takes a gradient with respect to it back to the arguments.

    Parameters
    ----------
    function : callable
        Of arrays; it gives one array.
    *args : array_like
        Where.
    has_aux : bool, optional
        Whether the function gives a pair, the array and whatever else.

    Returns
    -------
    value : ndarray
        ``function(*args)``.
    back : callable
        Of an array of the value's shape: a tuple of its products with the Jacobian, one for each argument.
    aux : object
        With `has_aux`, what else the function gave.

    Examples
    --------
    >>> import numloom as nl
    >>> y, back = nl.vjp(nl.sin, nl.zeros(3))
    >>> back(nl.array([1.0, 2.0, 3.0]))
    (array([1., 2., 3.]),)
    """
    if expressions_in([function, args]):
        later = note(vjp, (function, *args), {"has_aux": has_aux})

        def back_later(seed: Any) -> tuple[Any, ...]:
            flows = noted(_went_back, later, seed)
            return tuple([flows[place] for place in range(len(args))])

        return (later[0], back_later, later[2]) if has_aux else (later[0], back_later)
    traced = TracedCall(function, tuple(range(len(args))), args, {})
    found, aux = parted(function, traced.result, has_aux)
    value = checked_result(function, found)
    root = node_of(value)

    def back(seed: Any) -> tuple[Array, ...]:
        given = cast_to(asarray(seed), root.code)
        if given.shape != root.shape:
            raise ValueError(f"the value has shape {root.shape}, and what flows back to it shape {given.shape}")
        flows = traced.gradients(root, given, allow_unused=True)
        return traced.shaped(traced.results(flows), single=False)  # type: ignore[no-any-return]

    (value,), aux = traced.results_with([value], aux)
    return (value, back, aux) if has_aux else (value, back)


def _went_back(both: tuple[Any, ...], seed: Any) -> Any:
    """What `vjp` takes back to the arguments."""
    return both[1](seed)


@public
@reading
def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    """The value of a function, and its derivative in a direction.

    Parameters
    ----------
    function : callable
        Of arrays; it gives one array.
    primals : sequence of array_like
        Where.
    tangents : sequence of array_like
        The direction: an array of the shape of each of `primals`.

    Returns
    -------
    value, derivative : ndarray
        Both of the shape of ``function(*primals)``.

    Examples
    --------
    >>> import numloom as nl
    >>> nl.jvp(nl.sin, [nl.zeros(2)], [nl.array([1.0, 3.0])])
    (array([0., 0.]), array([1., 3.]))
    """
    if len(primals) != len(tangents):
        raise ValueError(f"{len(primals)} arrays and {len(tangents)} directions were given")
    traced = TracedCall(function, tuple(range(len(primals))), tuple(primals), {})
    value = checked_result(function, traced.result)
    root = node_of(value)
    # The gradient is linear in what flows back, so its derivative by that, in the direction, is ours.
    zeros = build.full(0, root.code, root.shape)
    dummy = symbol_node(Placeholder("direction", zeros), root.code, root.shape)
    with recording():
        flows = adjoints(root, wrap(dummy), traced.flat_symbols)
        total = None
        places = [array for arrays in traced.inputs for array in arrays]
        directions = [leaf for tangent in tangents for leaf in _flattened(tangent)[0]]
        for flow, array, tangent in zip(flows, places, directions, strict=True):
            given = cast_to(asarray(tangent), array.code)
            if given.shape != array.shape:
                raise ValueError(f"a direction has shape {given.shape}, and what it belongs to shape {array.shape}")
            if flow is not None:
                part = (flow * given).sum()
                total = part if total is None else total + part
        found = None if total is None else adjoints(node_of(total), filled(1, total.code, ()), [dummy])[0]
        derivative = wrap(zeros) if found is None else found
        if traced.in_tree:
            for node in traced.flat_symbols:
                derivative = depending(derivative, node)
    value, derivative = traced.results([value, derivative])
    return value, derivative


__all__ = [
    "NoGradientError",
    "TracedCall",
    "UnusedError",
    "by_arrays",
    "checked_array",
    "checked_result",
    "function_name",
    "grad",
    "jvp",
    "numbers_of",
    "parted",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
