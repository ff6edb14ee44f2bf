"""Decisions and loops that trees may have: `ifelse`, `fori_loop`, `while_loop` and `scan`.

On ordinary arrays they are what they say in Python. In a tree a short loop is unrolled; a longer one, and a
`while_loop`, is one node, which replays its body.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np

from numloom.api.elementwise import where
from numloom.api.joining import stack
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import BOOL, DTYPES, I64, ITEMSIZES, U8
from numloom.compiled.calls import wrap_all
from numloom.compiled.function import laid_out
from numloom.compiled.program import TreeProgram
from numloom.compiled.structure import flat, like, signature
from numloom.compiled.symbols import symbol_of
from numloom.device.registry import current
from numloom.engine.evaluate import download_value, evaluate, leaf_from_host, leaf_memory
from numloom.engine.reference import compute
from numloom.graph.build import copied, full, one_tuple, update, view
from numloom.graph.layout import c_strides
from numloom.graph.node import LEAF, ROUTINE, SYMBOL, Node, new_node, tracing
from numloom.graph.tree import Placeholder, TreeError, rebuilt, recording, substitute, tree_nodes, waits

Array = Any
UNROLLED = 32
"""Steps up to which a loop in a tree is unrolled."""
_ALIGNED = 256


def ifelse(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two values, by a single truth value.

    Parameters
    ----------
    condition : array_like
        One truth value.
    then, otherwise : array, or nested tuple, list or dict of arrays, or callable
        What is given if it holds, and if not; functions without arguments are called for it. In a tree both are
        computed, so they have equal shapes and dtypes.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x")
    >>> root = np.function([x], np.ifelse(x > 0, np.sqrt(x), -x))
    >>> print(root(4.0), root(-3.0))
    2.0 3.0
    """
    tree = type(condition) is ndarray and (node_of(condition).tree or tracing())
    if np.size(condition) != 1 if type(condition) is not ndarray else condition.size != 1:
        raise ValueError("ifelse takes one truth value; nl.where decides for each element")
    if not tree:
        chosen = then if bool(condition) else otherwise
        return chosen() if callable(chosen) and type(chosen) is not ndarray else chosen
    first, second = (
        value() if callable(value) and type(value) is not ndarray else value for value in (then, otherwise)
    )
    if signature(first) != signature(second):
        raise TypeError("the two values of an ifelse in a tree must have the same form")
    whether = condition.reshape(())
    results = []
    for one, other in zip(flat(first), flat(second), strict=True):
        a, b = asarray(one), asarray(other)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise TypeError(
                f"the two values of an ifelse in a tree must have the same shape and dtype, not {a.dtype.name}"
                f"{list(a.shape)} and {b.dtype.name}{list(b.shape)}"
            )
        results.append(where(whether, a, b))
    return like(first, results)


class _LoopRow:
    """The op definition of a loop, for the reference."""

    name = "loop"
    in_place = False

    def __init__(self, numpy: Callable[..., Any]) -> None:
        self.numpy = numpy


class TracedBody:
    """A function of arrays as a program, and what it reads beside its arguments.

    Attributes
    ----------
    program : TreeProgram
        Of its arguments, then of `invariant`.
    invariant : list of Node
        Values of the tree around it, which do not depend on its arguments.
    """

    def __init__(self, run: Callable[..., Any], arguments: Sequence[tuple[int, tuple[int, ...]]], what: str) -> None:
        symbols = [symbol_of(Placeholder(f"state_{k}"), code, shape) for k, (code, shape) in enumerate(arguments)]
        with recording(watches=True):
            self.result = run(*symbols)
            roots = [node_of(asarray(one)) for one in flat(self.result)]
            roots = [copied(root, c_strides(root.shape, ITEMSIZES[root.code]), root.code) for root in roots]
        own = {id(node_of(symbol)) for symbol in symbols}
        depends: set[int] = set()
        invariant: dict[int, Node] = {}
        order = tree_nodes(roots)
        for node in order:
            if id(node) in own or any([id(arg) in depends for arg in node.args]):
                depends.add(id(node))
        for node in order:
            if id(node) in depends or node in roots:
                for arg in node.args:
                    if id(arg) not in depends and arg.tree:
                        invariant[id(arg)] = arg
        self.invariant = list(invariant.values())
        if any([n.kind == SYMBOL and n.attr.stream is not None for n in tree_nodes(self.invariant)]):
            raise TypeError(
                f"random numbers drawn in the body of a {what} would be the same in each step: draw them before the "
                "loop, for all steps, and take each step's by its number"
            )
        known: dict[Node, Node] = {}
        with recording():
            for number, node in enumerate(self.invariant):
                inner = symbol_of(Placeholder(f"around_{number}"), node.code, node.shape)
                known[node] = node_of(inner)
            self.roots = rebuilt(roots, known)
        self.likes = [*[node_of(symbol) for symbol in symbols], *known.values()]
        self.program = TreeProgram(self.roots, self.likes)

    def run(self, operands: list[Node]) -> list[Node]:
        """Its results, computed."""
        given = [laid_out(node, as_is) for node, as_is in zip(operands, self.likes, strict=True)]
        arrays = wrap_all(self.program.run(given))
        evaluate([array.storage.value for array in arrays if array.storage.value.buffer is None])
        return [array.storage.value for array in arrays]

    def run_by_numpy(self, operands: list[Any]) -> list[Any]:
        """Its results, by NumPy alone."""
        with recording(False):
            leaves = [leaf_from_host(np.ascontiguousarray(one).reshape(np.shape(one))) for one in operands]
        roots = substitute(self.roots, dict(zip(self.likes, leaves, strict=True)))
        device = current()
        return compute(roots, lambda node: leaf_memory(node, device))


class Loop:
    """A loop as a node of a tree: called with its operands it runs, and gives its state as bytes.

    Attributes
    ----------
    body, condition : TracedBody
        A step; of a `while_loop` also what decides.
    steps : int
        How many, of other loops.
    first : int
        The number of the first one.
    layout : list of tuple
        Where each result lies among the bytes: offset, dtype code and shape.
    states : int
        How many values a step hands on; what else it gives is stacked.
    """

    def __init__(
        self, body: TracedBody, condition: TracedBody | None, first: int, steps: int, states: int,
        results: list[tuple[int, tuple[int, ...]]],
    ) -> None:  # fmt: skip
        self.body = body
        self.condition = condition
        self.first = first
        self.steps = steps
        self.states = states
        self.op_def = _LoopRow(self._by_numpy)
        self.options: dict[str, Any] = {}
        self.layout: list[tuple[int, int, tuple[int, ...]]] = []
        at = 0
        for code, shape in results:
            self.layout.append((at, code, one_tuple(shape)))
            at += -(-prod(shape) * ITEMSIZES[code] // _ALIGNED) * _ALIGNED
        self.nbytes = max(at, _ALIGNED)
        self.may_fail = body.program.may_fail or (condition is not None and condition.program.may_fail)

    def options_here(self) -> dict[str, Any]:
        """Its options, as the reference asks for them."""
        return self.options

    def _split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """State, and what body and condition read beside it."""
        middle = self.states + len(self.body.invariant)
        return list(operands[: self.states]), list(operands[self.states : middle]), list(operands[middle:])

    def __call__(self, *operands: Node) -> Node:
        if waits(operands):
            nbytes = self.nbytes
            return new_node(ROUTINE, self, operands, U8, one_tuple((nbytes,)), one_tuple((1,)), nbytes, None)
        state, around, beside = self._split(operands)
        collected: list[list[Node]] = []
        number = self.first
        with recording(False):
            while self._goes_on(number, state, beside):
                counter = [] if self.condition is not None else [full(number, I64, ())]
                found = self.body.run([*counter, *state, *around])
                state = found[: self.states]
                collected.append(found[self.states :])
                number += 1
            results = state + [node_of(stack([wrap(one) for one in column])) for column in zip(*collected, strict=True)]
            return self._packed(results)

    def _goes_on(self, number: int, state: list[Node], beside: list[Node]) -> bool:
        if self.condition is None:
            return number < self.first + self.steps
        return bool(download_value(self.condition.run([*state, *beside])[0]))

    def _packed(self, results: list[Node]) -> Node:
        memory = full(0, U8, one_tuple((self.nbytes,)))
        for node, (offset, code, shape) in zip(results, self.layout, strict=True):
            if node.size:
                memory = update(memory, node, offset, shape, one_tuple(c_strides(shape, ITEMSIZES[code])), code)
        return memory

    def _by_numpy(self, *operands: Any) -> Any:
        state, around, beside = self._split(operands)
        collected: list[list[Any]] = []
        number = self.first
        while (
            number < self.first + self.steps
            if self.condition is None
            else bool(self.condition.run_by_numpy([*state, *beside])[0])
        ):
            counter = [] if self.condition is not None else [np.asarray(number, np.int64)]
            found = self.body.run_by_numpy([*counter, *state, *around])
            state = found[: self.states]
            collected.append(found[self.states :])
            number += 1
        memory = np.zeros(self.nbytes, np.uint8)
        results = state + [np.stack(column) for column in zip(*collected, strict=True)]
        for array, (offset, code, shape) in zip(results, self.layout, strict=True):
            np.ndarray(shape, DTYPES[code], memory.data, offset)[...] = array
        return memory

    def results(self, operands: Sequence[Node]) -> list[Array]:
        """The loop in the tree: its results."""
        packed = self(*operands)
        found = []
        for offset, code, shape in self.layout:
            strides = one_tuple(c_strides(shape, ITEMSIZES[code]))
            found.append(wrap(view(packed, code, offset, shape, strides)))
        return found


def _arrays(state: Any, what: str) -> list[Array]:
    """A loop's state as arrays."""
    leaves = flat(state)
    if not leaves:
        raise TypeError(f"a {what} needs a state")
    return [leaf if type(leaf) is ndarray else asarray(leaf) for leaf in leaves]


def _is_tree(arrays: Sequence[Array]) -> bool:
    return tracing() or any([node_of(array).tree for array in arrays])


def _checked(before: Sequence[Array], state: Any, after: Any, what: str) -> list[Array]:
    """The next state, which has the form, dtypes and shapes of the one before."""
    if signature(state) != signature(after):
        raise TypeError(f"the body of a {what} must give a state of the form that it takes")
    arrays = [leaf if type(leaf) is ndarray else asarray(leaf) for leaf in flat(after)]
    for number, (old, new) in enumerate(zip(before, arrays, strict=True)):
        if old.dtype != new.dtype or old.shape != new.shape:
            raise TypeError(
                f"the state of a {what} must keep its dtypes and shapes: value {number} is {old.dtype.name}"
                f"{list(old.shape)} and becomes {new.dtype.name}{list(new.shape)}"
            )
    return arrays


def _form_of(arrays: Sequence[Array]) -> list[tuple[int, tuple[int, ...]]]:
    return [(array.code, array.shape) for array in arrays]


def _dense(arrays: Sequence[Array]) -> list[Node]:
    """Values of arrays, in C order."""
    nodes = []
    for array in arrays:
        node = node_of(array)
        strides = c_strides(node.shape, ITEMSIZES[node.code])
        dense = node.strides == strides and node.kind in (LEAF, SYMBOL, ROUTINE)
        nodes.append(node if dense else copied(node, strides, node.code))
    return nodes


def _number(number: int) -> Array:
    """A step's number, as a body gets it."""
    return asarray(np.asarray(number, np.int64))


def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], state: Any) -> Any:
    """Take steps by number, handing on a state.

    Parameters
    ----------
    lower, upper : int
        Number of the first step, and that behind the last one.
    body : callable
        ``body(number, state)`` gives the next state, of the same dtypes and shapes; the number is an int64 array
        without axes.
    state : array, or nested tuple, list or dict of arrays
        The first state.

    Examples
    --------
    >>> import numloom as np
    >>> print(np.fori_loop(0, 5, lambda i, x: x + i, np.asarray(0)))
    10
    """
    lower, upper = operator.index(lower), operator.index(upper)
    arrays = _arrays(state, "fori_loop")
    steps = max(upper - lower, 0)
    if not _is_tree(arrays) or steps <= UNROLLED:
        for number in range(lower, upper):
            after = body(_number(number), like(state, arrays))
            arrays = _checked(arrays, state, after, "fori_loop")
        return like(state, arrays)

    def run(number: Array, *values: Array) -> Any:
        return _checked(values, state, body(number, like(state, values)), "fori_loop")

    with recording():
        traced = TracedBody(run, [(I64, ()), *_form_of(arrays)], "fori_loop")
        loop = Loop(traced, None, lower, steps, len(arrays), _form_of(arrays))
        return like(state, loop.results([*_dense(arrays), *traced.invariant]))


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    """Take steps while a condition holds, handing on a state.

    Parameters
    ----------
    condition : callable
        ``condition(state)`` gives one truth value.
    body : callable
        ``body(state)`` gives the next state, of the same dtypes and shapes.
    state : array, or nested tuple, list or dict of arrays
        The first state.

    Examples
    --------
    >>> import numloom as np
    >>> print(np.while_loop(lambda x: x < 100, lambda x: x * 2, np.asarray(3)))
    192
    """
    arrays = _arrays(state, "while_loop")
    if not _is_tree(arrays):
        while _truth(condition(like(state, arrays))):
            arrays = _checked(arrays, state, body(like(state, arrays)), "while_loop")
        return like(state, arrays)

    def run(*values: Array) -> Any:
        return _checked(values, state, body(like(state, values)), "while_loop")

    def decide(*values: Array) -> Any:
        found = asarray(condition(like(state, values)))
        if found.size != 1:
            raise ValueError("the condition of a while_loop must give one truth value")
        return found.astype(DTYPES[BOOL]).reshape(())

    with recording():
        traced = TracedBody(run, _form_of(arrays), "while_loop")
        decides = TracedBody(decide, _form_of(arrays), "while_loop")
        loop = Loop(traced, decides, 0, 0, len(arrays), _form_of(arrays))
        return like(state, loop.results([*_dense(arrays), *traced.invariant, *decides.invariant]))


def _truth(value: Any) -> bool:
    if np.size(value) != 1 if type(value) is not ndarray else value.size != 1:
        raise ValueError("the condition of a while_loop must give one truth value")
    return bool(value)


def scan(body: Callable[[Any, Any], Any], state: Any, over: Any = None, length: int | None = None) -> tuple[Any, Any]:
    """Take a step for each element along the first axis of arrays, handing on a state and keeping what each gives.

    Parameters
    ----------
    body : callable
        ``body(state, element)`` gives the next state, of the same dtypes and shapes, and a result.
    state : array, or nested tuple, list or dict of arrays
        The first state.
    over : array, or nested tuple, list or dict of arrays, optional
        What elements are taken of, along the first axis; without it they are None.
    length : int, optional
        How many steps, without `over`.

    Returns
    -------
    tuple
        The last state, and the results stacked along a new first axis.

    Examples
    --------
    >>> import numloom as np
    >>> last, sums = np.scan(lambda s, x: (s + x, s + x), np.asarray(0.0), np.arange(4.0))
    >>> print(last, sums)
    6.0 [0. 1. 3. 6.]
    """
    arrays = _arrays(state, "scan")
    rows = [leaf if type(leaf) is ndarray else asarray(leaf) for leaf in flat(over)]
    lengths = {len(row) for row in rows} | ({operator.index(length)} if length is not None else set())
    if len(lengths) != 1:
        raise ValueError(f"scan needs one length, not {sorted(lengths) or 'none'}")
    steps = lengths.pop()
    given: list[Any] = []

    def step(values: Sequence[Array], elements: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        found = body(like(state, values), like(over, elements))
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError("the body of a scan must give a pair: the next state, and a result (or None)")
        given[:] = [found[1]]
        return _checked(values, state, found[0], "scan"), [asarray(one) for one in flat(found[1])]

    if not _is_tree([*arrays, *rows]) or steps <= UNROLLED:
        columns: list[list[Array]] = []
        for number in range(steps):
            arrays, results = step(arrays, [row[number] for row in rows])
            columns.append(results)
        if not steps:
            return like(state, arrays), _nothing_stacked(step, arrays, rows, given)
        stacked = [stack(column) for column in zip(*columns, strict=True)]
        return like(state, arrays), like(given[0], stacked)

    def run(number: Array, *values: Array) -> Any:
        after, results = step(values, [row[number] for row in rows])
        return [*after, *results]

    with recording():
        traced = TracedBody(run, [(I64, ()), *_form_of(arrays)], "scan")
        kept = [(array.code, (steps, *array.shape)) for array in map(asarray, flat(traced.result)[len(arrays) :])]
        loop = Loop(traced, None, 0, steps, len(arrays), [*_form_of(arrays), *kept])
        found = loop.results([*_dense(arrays), *traced.invariant])
        return like(state, found[: len(arrays)]), like(given[0], found[len(arrays) :])


def _nothing_stacked(step: Callable[..., Any], state: list[Array], rows: list[Array], given: list[Any]) -> Any:
    """What a scan over nothing gives: empty arrays of the dtypes and shapes that a step's results would have.

    The step is recorded for that, and nothing of it runs.
    """
    forms = [(array.code, array.shape) for array in state] + [(row.code, row.shape[1:]) for row in rows]
    symbols = [symbol_of(Placeholder(f"value_{k}"), *form) for k, form in enumerate(forms)]
    try:
        with recording(watches=True, alone=True) as record:
            _, results = step(symbols[: len(state)], symbols[len(state) :])
    except TreeError as error:
        raise ValueError(
            "a scan over nothing gives empty arrays, and what they are like follows from the body alone, which looks "
            f"at numbers here: scan over one element or more, or decide by nl.where in the body ({error})"
        ) from error
    for one in reversed(record.draws):  # No step was taken, so the generators stay where they are.
        one.stream[0].advance(-one.stream[1])
    with nullcontext() if tracing() else recording(False):
        empty = [wrap(full(0, one.code, one_tuple((0, *one.shape)))) for one in results]
    return like(given[0], empty)


__all__ = ["UNROLLED", "Loop", "TracedBody", "fori_loop", "ifelse", "scan", "while_loop"]
