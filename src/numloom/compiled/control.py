"""Decisions and loops that trees may have: `ifelse`, `fori_loop`, `while_loop` and `scan`.

On ordinary arrays they are what they say in Python. In a tree a short loop is unrolled; a longer one, and a
`while_loop`, is one node, which replays its body.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from numloom.api.elementwise import where
from numloom.api.joining import stack
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.array.views import has_no_number
from numloom.base.dtypes import BOOL, DTYPES
from numloom.base.tracebacks import public
from numloom.compiled.deferred import as_it_is, reading
from numloom.compiled.draws import give_back
from numloom.compiled.loops import Form, Loop, TracedBody, form_of, recorded_bodies, stacked_form
from numloom.compiled.structure import flat, like, signature
from numloom.compiled.symbols import symbol_of
from numloom.graph.build import copied, full, gather, one_tuple
from numloom.graph.node import GATHER, tracing
from numloom.graph.tree import Placeholder, TreeError, recording

Array = Any
UNROLLED = 32
"""Steps up to which a loop in a tree is unrolled."""


@public
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


def _arrays(state: Any, what: str) -> list[Array]:
    """A loop's state as arrays."""
    leaves = flat(state)
    if not leaves:
        raise TypeError(f"a {what} needs a state")
    return [_as_array(leaf) for leaf in leaves]


def _as_array(value: Any) -> Array:
    """A value of a state: an array, also where the body gave what NumPy would make a scalar.

    Which of both it is would follow from the step, and in a tree all steps are one.
    """
    if type(value) is not ndarray:
        return asarray(value)
    if not value.is_scalar:
        return value
    found = as_it_is(value)
    found.is_scalar = False
    return found


def _is_tree(arrays: Sequence[Array]) -> bool:
    return tracing() or any([node_of(array).tree for array in arrays])


def _checked(before: Sequence[Array], state: Any, after: Any, what: str) -> list[Array]:
    """The next state, which has the form, dtypes and shapes of the one before."""
    if signature(state) != signature(after):
        raise TypeError(f"the body of a {what} must give a state of the form that it takes")
    arrays = [_as_array(leaf) for leaf in flat(after)]
    for number, (old, new) in enumerate(zip(before, arrays, strict=True)):
        if old.dtype != new.dtype or old.shape != new.shape:
            raise TypeError(
                f"the state of a {what} must keep its dtypes and shapes: value {number} is {old.dtype.name}"
                f"{list(old.shape)} and becomes {new.dtype.name}{list(new.shape)}"
            )
    return arrays


def _results(loop: Loop, forms: Sequence[Form], arrays: Sequence[Array]) -> list[Array]:
    """What a loop makes of its first state, arrays of these forms: the last state, then what it collects."""
    found = loop.results([form.node(array) for form, array in zip(forms, arrays, strict=True)])
    return [*[_as_array(one) for one in found[: len(arrays)]], *found[len(arrays) :]]


def _number(number: int) -> Array:
    """A step's number, as a body gets it."""
    return asarray(np.asarray(number, np.int64))


@public
@reading
def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], state: Any) -> Any:
    """Take steps by number, handing on a state.

    Parameters
    ----------
    lower, upper : int
        Number of the first step, and that behind the last one. In a tree they may be integers without numbers (symbols,
        shared variables); such a loop is a `while_loop`, which has no gradient and draws no random numbers.
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
    if has_no_number(lower) or has_no_number(upper):
        return _counted(lower, upper, body, state)
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
        forms = [form_of(array) for array in arrays]
        bodies, again, last = recorded_bodies(run, forms, lower, steps, "fori_loop")
        loop = Loop(bodies, again, None, lower, steps, last, len(arrays))
        return like(state, _results(loop, forms, arrays))


def _counted(lower: Any, upper: Any, body: Callable[[Any, Any], Any], state: Any) -> Any:
    """A `fori_loop` whose number of steps follows from values."""
    first, last = asarray(lower), asarray(upper)
    for one in (first, last):
        if one.shape or one.dtype.kind not in "iu":
            raise TypeError(f"the bounds of a fori_loop must be integers, not {one.dtype.name}{list(one.shape)}")

    def following(values: tuple[Any, Any]) -> tuple[Any, Any]:
        number, inner = values
        return number + 1, body(number, inner)

    begin = (_as_array(first.astype(np.int64)), state)
    with recording():
        return while_loop(lambda values: values[0] < last, following, begin)[1]


@public
@reading
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
        forms = [form_of(array) for array in arrays]
        traced = TracedBody(run, forms, "while_loop")
        _refuse_turned(forms, traced.forms)
        decides = TracedBody(decide, forms, "while_loop")
        loop = Loop([traced], 0, decides, 0, 0, forms, len(arrays))
        return like(state, _results(loop, forms, arrays))


def _refuse_turned(before: Sequence[Form], after: Sequence[Form]) -> None:
    """Refuse a state whose order in memory follows from whether a step was taken."""
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            raise TypeError(
                f"the state of a while_loop must keep its order in memory, since the number of its steps is not known: "
                f"value {number} has strides {old.layout}, and after a step {new.layout}. Begin with "
                "np.ascontiguousarray(state), and give that of the next state at the end of the body"
            )


def _truth(value: Any) -> bool:
    if np.size(value) != 1 if type(value) is not ndarray else value.size != 1:
        raise ValueError("the condition of a while_loop must give one truth value")
    return bool(value)


@public
@reading
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
    if has_no_number(length):
        raise TreeError(
            "the length of a scan is the extent of what it stacks, and shapes in a tree are known: give a number, or "
            "take a fori_loop or a while_loop, whose number of steps may follow from values"
        )
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
        after = _checked(values, state, found[0], "scan")
        # What a result is now: the next step may write to the state that it is.
        return after, [as_it_is(asarray(one)) for one in flat(found[1])]

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
        after, results = step(values, [_element(row, number) for row in rows])
        return [*after, *results]

    with recording():
        forms = [form_of(array) for array in arrays]
        bodies, again, last = recorded_bodies(run, forms, 0, steps, "scan")
        others = [body.forms[len(arrays) :] for body in bodies]
        kept = [stacked_form(column, steps) for column in zip(*others, strict=True)]
        loop = Loop(bodies, again, None, 0, steps, [*last, *kept], len(arrays))
        found = _results(loop, forms, arrays)
        return like(state, found[: len(arrays)]), like(given[0], found[len(arrays) :])


def _element(row: Array, number: Array) -> Array:
    """The element of a row by a number that waits: in its order, and read-only, since it is no part of the row."""
    form = form_of(row[0])
    if form.shape != form.kept:
        inner = [slice(0, kept) for kept in form.kept]
        row = row[tuple([slice(None), *inner])]
    found = row[number]
    node = node_of(found)
    if node.kind == GATHER:  # There is such an element in each step.
        axes, position = node.attr[:2]
        found = wrap(gather(node.args[0], node.args[1:], axes, position, ordered=node.strides, inside=True))
    if found.ndim > 1:
        found = form.whole(wrap(copied(node_of(found), form.strides, form.code)))
    found.writeable = False
    return found


def _nothing_stacked(step: Callable[..., Any], state: list[Array], rows: list[Array], given: list[Any]) -> Any:
    """What a scan over nothing gives: empty arrays of the dtypes and shapes that a step's results would have.

    The step is recorded for that, and nothing of it runs.
    """
    forms = [(array.code, array.shape) for array in state] + [(row.code, row.shape[1:]) for row in rows]
    symbols = [symbol_of(Placeholder(f"value_{k}"), *form) for k, form in enumerate(forms)]
    try:
        with recording(watches="scan", alone=True) as record:
            _, results = step(symbols[: len(state)], symbols[len(state) :])
    except TreeError as error:
        raise ValueError(
            "a scan over nothing gives empty arrays, and what they are like follows from the body alone, which looks "
            f"at numbers here: scan over one element or more, or decide by nl.where in the body ({error})"
        ) from error
    give_back(record.draws)  # No step was taken, so the generators stay where they are.
    with nullcontext() if tracing() else recording(False):
        empty = [wrap(full(0, one.code, one_tuple((0, *one.shape)))) for one in results]
    return like(given[0], empty)


__all__ = ["UNROLLED", "fori_loop", "ifelse", "scan", "while_loop"]
