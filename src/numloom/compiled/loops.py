"""Loops as nodes of trees: a body that is recorded once for each order of its state, and replayed at each step.

What NumPy makes of an array follows from the order in which it lies in memory (what `reshape` gives is a view in one
and a copy in another), so a body is recorded for values of the very order that they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from numloom.api.joining import stack
from numloom.api.manipulation import broadcast_to
from numloom.array.convert import asarray
from numloom.array.ndarray import node_of, wrap
from numloom.base.config import config
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES, U8
from numloom.compiled.calls import wrap_all
from numloom.compiled.draws import DrawsOfSteps
from numloom.compiled.orders import laid_out, order, repeated
from numloom.compiled.program import TreeProgram
from numloom.compiled.steps import Stepping
from numloom.compiled.structure import flat
from numloom.compiled.symbols import symbol_of
from numloom.device.registry import beside, current
from numloom.engine.evaluate import download_value, evaluate, leaf_from_host, leaf_memory
from numloom.engine.observed import opaque
from numloom.engine.placement import bring_all, may_move
from numloom.engine.reference import compute
from numloom.engine.repeated import Extent, prepare_repeated
from numloom.engine.tape import is_compiled
from numloom.engine.taped import run_taped
from numloom.engine.verify import same_value
from numloom.graph.build import copied, full, one_tuple, update, view
from numloom.graph.layout import joined_strides
from numloom.graph.node import FILL, LEAF, OP, ROUTINE, SCALAR, SYMBOL, VIEW, Node, hold, new_node, unhold
from numloom.graph.tree import Placeholder, rebuilt, recording, substitute, tree_nodes, waits

Array = Any
_ALIGNED = 256
LEARNS = 8
"""How often a loop is looked at for whether one launch can run it: for other devices, settings and alignments."""
NEAR = 1 << 17
"""Elements times steps from which on a loop over the host's memory beside a GPU moves there."""
_ORDERS = 64
"""In how many orders the state of a loop may lie, one after the other."""


@dataclass(frozen=True)
class Form:
    """What a loop knows of a value that it hands on, before there is one.

    Attributes
    ----------
    code : int
        Its dtype.
    shape : tuple of int
        Its shape.
    kept : tuple of int
        The shape of what is handed on: of a broadcast value what it repeats, whose order would be anybody's guess.
    strides : tuple of int
        Those of a dense array of that shape, in the value's order.
    """

    code: int
    shape: tuple[int, ...]
    kept: tuple[int, ...]
    strides: tuple[int, ...]

    def symbol(self, name: str) -> Array:
        """A value of this form, to be given."""
        return symbol_of(Placeholder(name), self.code, self.kept, self.strides)

    def whole(self, array: Array) -> Array:
        """The value of what is handed on."""
        return array if array.shape == self.shape else broadcast_to(array, self.shape)

    def node(self, array: Array) -> Node:
        """What is handed on of a value of this form: dense, in its order."""
        node = node_of(_kept(array))
        if node.strides == self.strides and node.kind in (LEAF, SYMBOL, ROUTINE):
            return node
        return copied(node, self.strides, self.code)

    @property
    def layout(self) -> tuple[int, ...]:
        """Strides of the value."""
        pairs = zip(self.shape, self.kept, self.strides, strict=True)
        return tuple([step if extent == kept else 0 for extent, kept, step in pairs])


NUMBER = Form(I64, (), (), ())
"""The form of a step's number."""


def _kept(array: Array) -> Array:
    """What is handed on of an array: the order of one that has several axes is not seen in what it is broadcast to."""
    return repeated(array) if sum([extent > 1 for extent in array.shape]) > 1 else array


def form_of(array: Array) -> Form:
    """The form of an array."""
    kept = _kept(array)
    return Form(array.code, array.shape, kept.shape, order(kept.shape, kept.strides, array.itemsize))


def stacked_form(forms: Sequence[Form], steps: int) -> Form:
    """The form of values of these forms, each of which comes at least once in a stack of `steps` ones."""
    first = forms[0]
    shape = (steps, *first.shape)
    parts = tuple([((1, *form.shape), (0, *form.layout)) for form in forms])
    return Form(first.code, shape, shape, joined_strides(shape, parts, ITEMSIZES[first.code]))


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
    forms : list of Form
        Those of its results.
    program : TreeProgram
        Of its arguments, then of `invariant`.
    runs_early : bool
        Whether some of it runs when it is recorded, and may change memory then.
    invariant : list of Node
        Values of the tree around it, which do not depend on its arguments.
    """

    def __init__(
        self, run: Callable[..., Any], arguments: Sequence[Form], what: str, draws: DrawsOfSteps | None = None
    ) -> None:
        symbols = [form.symbol(f"state_{k}") for k, form in enumerate(arguments)]
        with recording(watches=what, alone=draws is not None) as record:
            result = run(*[form.whole(symbol) for form, symbol in zip(arguments, symbols, strict=True)])
            results = [asarray(one) for one in flat(result)]
            self.forms = [form_of(one) for one in results]
            roots = [copied(node_of(_kept(one)), form.strides, form.code)
                     for one, form in zip(results, self.forms, strict=True)]  # fmt: skip
        if draws is not None:
            roots = draws.placed(roots, record.draws, node_of(symbols[0]), what)
        own = {id(node_of(symbol)) for symbol in symbols}
        depends: set[int] = set()
        invariant: dict[int, Node] = {}
        nodes = tree_nodes(roots)
        for node in nodes:
            if id(node) in own or any([id(arg) in depends for arg in node.args]):
                depends.add(id(node))
        for node in nodes:
            if id(node) in depends or node in roots:
                for arg in node.args:
                    if arg.kind == VIEW and node.kind in (OP, ROUTINE) and id(arg) not in depends:
                        arg = arg.args[0]  # Read where it lies: a copy beside it would be in the cache, too.
                    if id(arg) not in depends and arg.tree:
                        invariant[id(arg)] = arg
        self.invariant = list(invariant.values())
        drawn = {id(placeholder) for placeholder in record.draws} if draws is None else set()
        if any([n.kind == SYMBOL and id(n.attr) in drawn for n in tree_nodes(self.invariant)]):
            raise TypeError(
                f"random numbers drawn in the body of a {what}, whose number of steps is not known, would be the same "
                "in each step: draw them before the loop, or take a fori_loop or a scan"
            )
        known: dict[Node, Node] = {}
        with recording():
            for number, node in enumerate(self.invariant):
                strides = node.strides if node.kind != VIEW else None
                inner = symbol_of(Placeholder(f"around_{number}"), node.code, node.shape, strides)
                known[node] = node_of(inner)
            self.roots = rebuilt(roots, known)
        self.likes = [*[node_of(symbol) for symbol in symbols], *known.values()]
        self.program = TreeProgram(self.roots, self.likes)
        self.runs_early = _runs_early(self.program)

    @classmethod
    def of_trees(
        cls, roots: Sequence[Node], likes: Sequence[Node], forms: Sequence[Form], invariant: Sequence[Node]
    ) -> TracedBody:
        """Trees over symbols as a body: those of its arguments, then those of what it reads beside them."""
        body = cls.__new__(cls)
        body.forms = list(forms)
        body.roots = list(roots)
        body.likes = list(likes)
        body.invariant = list(invariant)
        body.program = TreeProgram(body.roots, body.likes)
        body.runs_early = _runs_early(body.program)
        return body

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


def _runs_early(program: TreeProgram) -> bool:
    """Whether a program has calls of routines, which run when they are recorded."""
    return program.recorded is not None and any([one.call is not None for one in program.recorded.instructions])


class Loop:
    """A loop as a node of a tree: called with its operands it runs, and gives its state as bytes.

    Attributes
    ----------
    bodies : list of TracedBody
        The first steps, of which each takes the state in the order in which the one before gives it.
    again : int
        Which of them follows the last one, and so on.
    condition : TracedBody or None
        What decides, of a `while_loop`.
    steps : int
        How many, of other loops.
    first : int
        The number of the first one.
    forms : list of Form
        Those of its results.
    layout : list of tuple
        Where each result lies among the bytes: offset, dtype code, shape and strides.
    states : int
        How many values a step hands on; what else it gives is stacked.
    taped, learns : tuple or None, int
        How all steps run by one launch, and how often that is still looked for.
    stepping : Stepping
        How they run by what one of them ran.
    """

    def __init__(
        self, bodies: list[TracedBody], again: int, condition: TracedBody | None, first: int, steps: int,
        forms: list[Form], states: int,
    ) -> None:  # fmt: skip
        self.bodies = bodies
        self.again = again
        self.condition = condition
        self.first = first
        self.steps = steps
        self.states = states
        self.forms = forms
        self.op_def = _LoopRow(self._by_numpy)
        self.options: dict[str, Any] = {}
        self.layout: list[tuple[int, int, tuple[int, ...], tuple[int, ...]]] = []
        at = 0
        for form in forms:
            self.layout.append((at, form.code, one_tuple(form.kept), one_tuple(form.strides)))
            at += -(-prod(form.kept) * ITEMSIZES[form.code] // _ALIGNED) * _ALIGNED
        self.nbytes = max(at, _ALIGNED)
        self.taped: Any = None
        self.is_far = False  # Whether its last run was on a GPU that the host is beside, and had much to do.
        self.learns = LEARNS
        self.stepping = Stepping(bodies[0], first, steps, states, self.layout, self.nbytes)
        programs = [body.program for body in [*bodies, *([condition] if condition is not None else [])]]
        self.may_fail = any([program.may_fail for program in programs])

    def body(self, step: int) -> TracedBody:
        """What the step of this number (from 0) does."""
        count = len(self.bodies)
        return self.bodies[step if step < count else self.again + (step - count) % (count - self.again)]

    def around(self, body: TracedBody, operands: Sequence[Any]) -> list[Any]:
        """What a body reads beside the state."""
        begin = self.states
        for one in self.bodies:
            if one is body:
                break
            begin += len(one.invariant)
        return list(operands[begin : begin + len(body.invariant)])

    @property
    def invariant(self) -> list[Node]:
        """What is read beside the state, by all of them."""
        found = [node for body in self.bodies for node in body.invariant]
        return found + (self.condition.invariant if self.condition is not None else [])

    def options_here(self) -> dict[str, Any]:
        """Its options, as the reference asks for them."""
        return self.options

    def _beside(self, operands: Sequence[Any]) -> list[Any]:
        """What the condition reads beside the state."""
        return list(operands[len(operands) - len(self.condition.invariant) :]) if self.condition is not None else []

    def __call__(self, *operands: Node) -> Node:
        if waits(operands):
            nbytes = self.nbytes
            return new_node(ROUTINE, self, operands, U8, one_tuple((nbytes,)), one_tuple((1,)), nbytes, None)
        found = self._again(operands)
        return opaque(self, operands, lambda: self._run(operands)) if found is None else found

    def _run(self, operands: Sequence[Node]) -> Node:
        """Its results for values."""
        with recording(False):
            at_once = self._at_once(operands)
            if at_once is None:
                return self._one_by_one(operands)
            if config.verify:
                self._compare(at_once, self._one_by_one(operands))
            return at_once

    def _one_by_one(self, operands: Sequence[Node]) -> Node:
        """What the steps give, each of which is recorded and run."""
        state, beside = list(operands[: self.states]), self._beside(operands)
        collected: list[list[Node]] = []
        step = 0
        while self._goes_on(step, state, beside):
            counter = [] if self.condition is not None else [full(self.first + step, I64, ())]
            body = self.body(step)
            found = body.run([*counter, *state, *self.around(body, operands)])
            state = found[: self.states]
            others = zip(body.forms[self.states :], found[self.states :], strict=True)
            collected.append([node_of(form.whole(wrap(node))) for form, node in others])
            step += 1
        results = state + [node_of(stack([wrap(one) for one in column])) for column in zip(*collected, strict=True)]
        return self._packed(results)

    def _at_once(self, operands: Sequence[Node]) -> Node | None:
        """What all steps give, by one launch or by what one of them ran; None where each must be recorded."""
        if len(self.bodies) != 1 or self.condition is not None or self.steps < 2:
            return None
        body = self.bodies[0]
        given = [laid_out(node, like) for node, like in zip(operands, body.likes[1:], strict=True)]
        given = [copied(node, node.strides, node.code) if node.kind in (FILL, SCALAR) else node for node in given]
        for node in given:
            hold(node)
        try:
            # What the device needs is computed there: moving it would take longer than most of that work.
            far = not self._is_near(given)
            self.is_far = far and self._elements(given) >= NEAR
            with config(placement="device") if far else nullcontext():
                evaluate([node for node in given if node.buffer is None])
            device = self._gathered(given)
            if device is None:
                return None
            found = self._launched(body, given, device) if self.learns and not body.runs_early else None
            return self.stepping.run(given, device) if found is None else found
        finally:
            for node in given:
                unhold(node)

    def _launched(self, body: TracedBody, given: list[Node], device: Any) -> Node | None:
        """What all steps give, by one launch; None where they are none, or its kernel is being compiled."""
        found = self._prepared(given, device)
        if found is None and (self.taped is None or is_compiled(self.taped[0].tape)):
            self.learns -= 1
            counter = leaf_from_host(np.asarray(self.first, np.int64))
            layout = tuple([(at, strides) for at, _, _, strides in self.layout])
            extent = Extent(self.steps, self.first, self.states, layout, self.nbytes)
            self.taped = prepare_repeated(body.program.run, [counter, *given], extent, device)
            found = self._prepared(given, device)
        return found

    def _again(self, operands: Sequence[Node]) -> Node | None:
        """What all steps give as one launch, for operands in memory; None where more must be looked at."""
        body = self.bodies[0]
        if self.stepping.together is None or self.is_far or (self.learns and not body.runs_early):
            return None
        for node, like in zip(operands, body.likes[1:], strict=True):
            if node.kind != LEAF or (node.strides is not like.strides and node.strides != like.strides):
                return None
        return self.stepping.again(operands)

    def _prepared(self, given: list[Node], device: Any) -> Node | None:
        """Run what was prepared, if it is that for these values, and its kernel is there."""
        if self.taped is None:
            return None
        taped, constants = self.taped
        if taped.tape.device is not device or not is_compiled(taped.tape):
            return None
        found = run_taped(taped, [given[0], *given, *constants], config.verify)
        return None if found is None else found[0]

    def _is_near(self, given: list[Node]) -> bool:
        """Whether steps run on the host, beside a GPU or without one."""
        host = beside(current())
        if host is None:  # Also while a compiled function has all on the GPU, as in its last run.
            return not self.is_far
        return self._elements(given) < NEAR and all([node.buffer is None or may_move(node) for node in given])

    def _elements(self, given: list[Node]) -> int:
        """About how many all steps compute."""
        return max([node.size for node in given]) * self.steps

    def _gathered(self, given: list[Node]) -> Any:
        """The device on which computed values lie, after those that lie elsewhere have moved; None if one cannot."""
        device = current()
        host = beside(device)
        if host is not None:
            near = self._is_near(given)
            bring_all(given, len(given), host if near else device)
            if near and all([node.buffer.pool is host.pool for node in given]):
                return host
        return device if all([node.buffer.pool is device.pool for node in given]) else None

    def _compare(self, packed: Node, expected: Node) -> None:
        """Compare results of a loop that ran by one launch with those of its steps."""
        found = [view(node, code, offset, shape, strides) for node in (packed, expected)
                 for offset, code, shape, strides in self.layout]  # fmt: skip
        copies = [copied(node, node.strides, node.code) for node in found]
        for node in copies:
            hold(node)
        evaluate(copies)
        half = len(copies) // 2
        for node, want in zip(copies[:half], copies[half:], strict=True):
            same_value(node, want, current(), leaf_memory, "a loop by one launch beside its steps")
            unhold(node)
            unhold(want)

    def _goes_on(self, step: int, state: list[Node], beside: list[Node]) -> bool:
        if self.condition is None:
            return step < self.steps
        return bool(download_value(self.condition.run([*state, *beside])[0]))

    def _packed(self, results: list[Node]) -> Node:
        memory = full(0, U8, one_tuple((self.nbytes,)))
        for node, (offset, code, shape, strides) in zip(results, self.layout, strict=True):
            if node.size:
                memory = update(memory, node, offset, shape, strides, code)
        return memory

    def _by_numpy(self, *operands: Any) -> Any:
        state, beside = list(operands[: self.states]), self._beside(operands)
        collected: list[list[Any]] = []
        step = 0
        while step < self.steps if self.condition is None else bool(self.condition.run_by_numpy([*state, *beside])[0]):
            counter = [] if self.condition is not None else [np.asarray(self.first + step, np.int64)]
            body = self.body(step)
            found = body.run_by_numpy([*counter, *state, *self.around(body, operands)])
            state = found[: self.states]
            others = zip(body.forms[self.states :], found[self.states :], strict=True)
            collected.append([np.broadcast_to(one, form.shape) for form, one in others])
            step += 1
        memory = np.zeros(self.nbytes, np.uint8)
        results = state + [np.stack(column) for column in zip(*collected, strict=True)]
        for array, (offset, code, shape, strides) in zip(results, self.layout, strict=True):
            np.ndarray(shape, DTYPES[code], memory.data, offset, strides)[...] = array
        return memory

    def results(self, operands: Sequence[Node]) -> list[Array]:
        """The loop in the tree: its results."""
        packed = self(*operands, *self.invariant)
        found = []
        for form, (offset, code, shape, strides) in zip(self.forms, self.layout, strict=True):
            found.append(form.whole(wrap(view(packed, code, offset, shape, strides))))
        return found


def recorded_bodies(
    run: Callable[..., Any], forms: Sequence[Form], first: int, steps: int, what: str
) -> tuple[list[TracedBody], int, list[Form]]:
    """The bodies of a loop's steps, which of them follows the last one, and the state's forms after all steps.

    Parameters
    ----------
    run : callable
        The step, of its number and of values of the forms `forms`, the state that it gives again.
    first, steps : int
        The number of the first step, and how many will be taken.
    """
    draws = DrawsOfSteps(first, steps)
    states = [tuple(forms)]
    bodies: list[TracedBody] = []
    while True:
        bodies.append(TracedBody(run, [NUMBER, *states[-1]], what, draws))
        after = tuple(bodies[-1].forms[: len(forms)])
        if after in states:
            break
        states.append(after)
        if len(bodies) > _ORDERS:
            raise TypeError(
                f"the state of a {what} lies in memory in another order after each of {len(bodies)} steps: give it in "
                "one order, by np.ascontiguousarray at the end of the body"
            )
    again = states.index(after)
    at = steps if steps < len(states) else again + (steps - again) % (len(states) - again)
    return bodies, again, list(states[at])


__all__ = ["Form", "Loop", "TracedBody", "form_of", "recorded_bodies", "stacked_form"]
