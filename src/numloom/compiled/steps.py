"""A loop's step as a call that is observed once and then run again for all steps, without nodes or plans between.

What a step takes of an array by its number is an operand of its own, which lies further on in each step, and what it
gives to be stacked is computed where it goes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.dtypes import I64, ITEMSIZES, U8
from numloom.base.errors import OutOfMemoryError
from numloom.compiled.calls import constants_of, wrap_all
from numloom.compiled.captured import CapturedSteps, capture_steps
from numloom.compiled.program import TreeProgram
from numloom.device.registry import current, is_mixed, several, take_turn
from numloom.engine.doubts import Within, add, is_due
from numloom.engine.evaluate import (
    evaluate,
    leaf_from_host,
    leaf_memory,
    plans_by_settings,
    plans_in_use,
    plans_of,
)
from numloom.engine.guard import guard
from numloom.engine.observed import prepare
from numloom.engine.placement import bring
from numloom.engine.state import counters
from numloom.engine.tape import is_compiled
from numloom.engine.taped import Stacked, past, run_stepped
from numloom.engine.verify import same_value
from numloom.graph.build import copied, full, gather, one_tuple, view
from numloom.graph.node import CAST, FILL, GATHER, LEAF, OP, SCALAR, VIEW, Node, computed, hold, signature_by, unhold
from numloom.graph.tree import Placeholder, rebuilt, recording, symbol_node, tree_nodes

ALIGNED = 16
"""Bytes that addresses of operands are multiples of, for kernels that are made for new memory."""
NUMBER = 16
"""Bytes from one step's number to the next one's."""
WARM = 3
"""Which run of all steps is captured: libraries have loaded what they run, and routines know how they lie."""
TRIES = 8
"""How often a step is observed, in a loop that nothing could be taken down of."""


def affine(node: Node, number: Node) -> tuple[int, int] | None:
    """``(a, b)`` where a node is ``a * number + b``, of whole numbers; None where it is not seen to be."""
    if node is number:
        return 1, 0
    if node.kind in (SCALAR, FILL) and node.code == I64:
        return 0, int(node.attr)
    if node.kind == CAST and node.args[0].code == node.code == I64:
        return affine(node.args[0], number)
    if node.kind != OP or node.code != I64 or node.shape:
        return None
    found = [affine(arg, number) for arg in node.args]
    if any([one is None for one in found]):
        return None
    name = node.op_def.name
    if name == "negative":
        return -found[0][0], -found[0][1]  # type: ignore[index]
    if name not in ("add", "subtract", "multiply"):
        return None
    (a, b), (c, d) = found  # type: ignore[misc]
    if name == "multiply":
        return (a * d + c * b, b * d) if not a or not c else None
    sign = 1 if name == "add" else -1
    return a + sign * c, b + sign * d


class Step:
    """The body of a loop over its steps' numbers, with elements as operands.

    Parameters
    ----------
    body : TracedBody
        The body, of the number, the state and what is read around.
    first, steps : int
        The number of the first step, and how many there are.

    Attributes
    ----------
    elements : list of (int, int, int)
        Which operand of the body each one is of, and where it begins there in the step 0, and how many bytes further
        on in each next one.
    """

    def __init__(self, body: Any, first: int, steps: int) -> None:
        number = body.likes[0]
        count = len(body.likes) - len(body.invariant)
        places = {id(like): place for place, like in enumerate(body.likes) if place >= count}
        self.elements: list[tuple[int, int, int]] = []
        self.likes = list(body.likes)
        known: dict[Node, Node] = {}
        with recording():
            for node in tree_nodes(body.roots):
                line = _line(node, number, first, steps)
                if line is None:
                    continue
                row = node.args[0]
                base = row.args[0] if row.kind == VIEW else row
                begin = (row.attr if row.kind == VIEW else 0) + line[1] * row.strides[0]
                stride = line[0] * row.strides[0]
                if id(base) in places and not begin % ALIGNED and not stride % ALIGNED and _is_dense(node, row):
                    self.elements.append((places[id(base)], begin, stride))
                    like = symbol_node(Placeholder(f"element_{len(self.likes)}"), node.code, node.shape, node.strides)
                    self.likes.append(like)
                    known[node] = like
                elif not node.attr[3]:
                    known[node] = gather(row, node.args[1:], (0,), 0, ordered=node.strides, inside=True)
            elements = {id(like) for like in self.likes[len(body.likes) :]}

            def as_it_is(node: Node) -> Node | None:
                """Of a copy of an element, which nobody writes to, the element."""
                arg = node.args[0] if node.kind == CAST else node
                return arg if id(arg) in elements and (arg.code, arg.strides) == (node.code, node.strides) else None

            self.program = TreeProgram(rebuilt(body.roots, known, as_it_is), self.likes)

    def run(self, operands: Sequence[Node]) -> list[Node]:
        """Its results, computed."""
        arrays = wrap_all(self.program.run(list(operands)))
        evaluate([array.storage.value for array in arrays if array.storage.value.buffer is None])
        return [array.storage.value for array in arrays]

    @property
    def constants(self) -> list[Node]:
        """Computed values that it reads beside its operands."""
        return [] if self.program.recorded is None else constants_of(self.program.recorded)


def _line(node: Node, number: Node, first: int, steps: int) -> tuple[int, int] | None:
    """Which row of an array a node takes: ``(a, b)`` of ``a * step + b``, if all of them are there."""
    if node.kind != GATHER or node.attr[:3] != ((0,), 0, 0) or not node.args[0].size:
        return None
    found = affine(node.args[1], number)
    if found is None:
        return None
    a, b = found[0], found[0] * first + found[1]
    ends = (b, a * (steps - 1) + b)
    return (a, b) if min(ends) >= 0 and max(ends) < node.args[0].shape[0] else None


def _is_dense(node: Node, row: Node) -> bool:
    """Whether what is taken lies in its array as it lies alone."""
    pairs = zip(node.shape, node.strides, row.strides[1:], strict=True)
    return all([extent == 1 or one == other for extent, one, other in pairs])


class Stepping:
    """How a loop runs by what one of its steps ran.

    Parameters
    ----------
    body : TracedBody
        The loop's only body.
    first, steps, states : int
        The number of the first step, how many there are, and how many results are the state.
    layout : list of (offset, code, shape, strides)
        Where results go to: the last state, then stacks of all steps'.
    nbytes : int
        How much memory that is.
    """

    def __init__(
        self, body: Any, first: int, steps: int, states: int, layout: Sequence[tuple[int, int, Any, Any]], nbytes: int
    ) -> None:
        self.body, self.first, self.steps, self.states, self.nbytes = body, first, steps, states, nbytes
        self.layout = layout
        self.fits = all(
            [
                form.kept == form.shape and shape[1:] == form.shape and strides[1:] == form.strides
                for form, (_, _, shape, strides) in zip(body.forms[states:], layout[states:], strict=True)
            ]
        )
        self.sizes = [prod(form.kept) * ITEMSIZES[form.code] for form in body.forms]
        self.step: Step | None = None
        self.taped: Any = None
        self.together: CapturedSteps | None = None
        self.begun = 0  # Runs that began step by step; what small values a loop that runs once has need no plan.
        self.runs = 0  # Of all steps by what one of them ran.
        self.tries = TRIES
        self.shares = False  # Whether a state that is written to would be memory of other values, too.
        self.numbers: Node | None = None

    def run(self, given: Sequence[Node], device: Any) -> Node | None:
        """All results in one block of memory, of computed operands on the device; None where it cannot be told."""
        if not self.fits or (self.taped is None and self.tries <= 0) or config.executor == "reference":
            return None
        if guard.is_between():
            return None
        if self.step is None:
            self.step = Step(self.body, self.first, self.steps)
        evaluate([])
        plans_of(current())
        if (plans_by_settings() if config.verify else plans_in_use()) is None:
            return None
        packed = device.allocate(self.nbytes)
        begun, state = 0, list(given[: self.states])
        around = list(given[self.states :])
        taped = self.taped  # Another thread may have another device's meanwhile.
        if taped is None or taped.tape.device is not device or taped.plans is not plans_by_settings():
            self.begun += 1
            # What runs on the host meanwhile could not be taken down for the device.
            with config(placement="device") if device is current() and is_mixed() else nullcontext():
                begun, state, taped = self._begin(state, around, packed, device)
            self.taped = taped
        guard.take()  # Nothing moves meanwhile.
        try:
            with Within(device, [*given, *state, *around, *([] if taped is None else taped.constants)]) as within:
                if begun < self.steps and not self._go_on(taped, begun, state, around, packed, device):
                    return None
                if is_due(device, within.doubt):
                    within.cover((packed,), packed)
        finally:
            guard.give()
        return self._packed(packed)

    # ------------------------------------------------------------ one by one

    def _begin(self, state: list[Node], around: list[Node], packed: Any, device: Any) -> tuple[int, list[Node], Any]:
        """Take steps until what one ran is known; how many were taken, the state after them, and what that is."""
        assert self.step is not None
        look = 1
        taped = None
        for number in range(self.steps):
            observed = number == look and self.tries > 0
            counter = self._number(number, device) if observed else full(self.first + number, I64, ())
            elements = [
                view(around[place - 1 - self.states], like.code, begin + number * stride, like.shape, like.strides)
                for (place, begin, stride), like in zip(
                    self.step.elements, self.step.likes[len(self.body.likes) :], strict=True
                )
            ]
            elements = [copied(node, node.strides, node.code) for node in elements]
            operands = [counter, *state, *around, *elements]
            if observed:
                look *= 2
                results, taped = self._observed(operands, len(around), device)
            else:
                results = self.step.run(operands)
            for node, (offset, _, _, strides), nbytes in zip(
                results[self.states :], self.layout[self.states :], self.sizes[self.states :], strict=True
            ):
                if nbytes:
                    device.copy(packed, offset + number * strides[0], bring(node, device), 0, nbytes)
            add(device, packed, results)
            state = results[: self.states]
            if taped is not None:
                return number + 1, state, taped
        for node, (offset, _, _, _), nbytes in zip(state, self.layout, self.sizes, strict=False):
            if nbytes:
                device.copy(packed, offset, bring(node, device), 0, nbytes)
        add(device, packed, state)
        return self.steps, state, None

    def _observed(self, operands: list[Node], around: int, device: Any) -> tuple[list[Node], Any]:
        """The results of a step, and what it ran, if other steps can run that, too."""
        assert self.step is not None
        begin = 1 + self.states
        own = [copied(node, like.strides, node.code) for node, like in zip(operands, self.step.likes, strict=True)]
        own[begin : begin + around] = operands[begin : begin + around]
        evaluate([node for node in own if node.buffer is None])
        held = own[1:begin] if self.shares else []
        for node in held:
            hold(node)
        try:
            taped, results, early = prepare(
                own,
                self.step.constants,
                range(1, begin),
                lambda: self.step.run(own),  # type: ignore[union-attr]
                plans=self.begun > 1,
            )
        except OutOfMemoryError:  # What runs is kept until all has run.
            self.tries = 0
            return self.step.run(operands), None
        finally:
            for node in held:
                unhold(node)
        if taped is not None and taped.tape.device.interprets and not is_compiled(taped.tape):
            early, taped = True, None  # Loops that are ready do a step meanwhile, sooner than the interpreter.
        self.tries -= not early
        if taped is None or taped.tape.device is not device or any(taped.seen):
            return list(results), None
        if not _writes_to_its_own(taped, self.states):
            self.shares = True
            return list(results), None
        return list(results), taped

    def _number(self, number: int, device: Any) -> Node:
        """A step's number in memory, which is no number that anybody knows."""
        return view(self._numbers(device), I64, number * NUMBER, (), ())

    def _numbers(self, device: Any) -> Node:
        numbers = self.numbers
        if numbers is None or numbers.buffer.pool is not device.pool:
            pairs = np.zeros((self.steps, NUMBER // 8), np.int64)
            pairs[:, 0] = np.arange(self.first, self.first + self.steps)
            numbers = self.numbers = leaf_from_host(pairs)
            bring(numbers, device)
        return numbers

    # ------------------------------------------------------------ all together

    def _go_on(self, taped: Any, begun: int, state: list[Node], around: list[Node], packed: Any, device: Any) -> bool:
        """Take the steps from `begun` on by what one ran; False, with none taken, if values cannot be on the device."""
        assert self.step is not None
        fixed = [*state, *around]
        nodes = self._nodes(taped, fixed, device)
        found = self._memory(taped, nodes, begun, device)
        if found is None:
            return False
        memory, begins, strides = found
        places = _places(taped)
        taken: set[int] = set()
        stacked = []
        own_state = {places[j] for j in range(self.states) if 1 + j in taped.adopted}
        for place, (offset, _, _, steps), nbytes in zip(
            places[self.states :], self.layout[self.states :], self.sizes[self.states :], strict=True
        ):
            there = place >= len(memory) and not steps[0] % ALIGNED and place not in taken and place not in own_state
            taken.add(place)
            stacked.append(Stacked(place, offset, steps[0], nbytes, there and nbytes > 0))
        last = [
            Stacked(place, offset, 0, nbytes, place >= len(memory) and nbytes > 0)
            for place, (offset, _, _, _), nbytes in zip(places, self.layout, self.sizes, strict=False)
        ][: self.states]
        states = places[: self.states]
        counters.flushes += 1
        together = None
        if not begun and counters.profiler is None:
            rows_of = {1 + len(fixed) + k: place for k, (place, _, _) in enumerate(self.step.elements)}
            together = self._captured(taped, nodes, rows_of, begins, strides, states, stacked, last)
        if together is None:
            run_stepped(taped, memory, begins, strides, states, begun, self.steps, stacked, last, packed, _pause, None)
        elif config.verify:
            self._check(together, memory, begins, strides, states, stacked, last, packed)
        elif not together.run(memory, packed):
            run_stepped(taped, memory, begins, strides, states, 0, self.steps, stacked, last, packed, _pause, None)
        return True

    def again(self, given: Sequence[Node]) -> Node | None:
        """What `run` gives, by all steps as one launch once that is known, of computed operands that lie as the body's.

        None where more must be looked at: what is pending, settings, doubts, or memory elsewhere; or single steps, by
        a profile.
        """
        together, taped, device = self.together if counters.profiler is None else None, self.taped, current()
        if together is None or taped is None or not device.pool.error_at or taped.tape.device is not device:
            return None
        guard.take()
        try:
            if guard.is_between() or plans_in_use() is not taped.plans or not together.is_for(taped):
                return None
            nodes = self._nodes(taped, given, device)
            if several():
                bases = [node.args[0] if node.kind == VIEW else node for node in nodes]
                if any([base.buffer.pool is not device.pool for base in bases]):
                    return None  # Whose it is comes first.
                take_turn(device)
            found = self._memory(taped, nodes, 0, device)
            if found is None:
                return None
            packed = device.allocate(self.nbytes)
            if not together.run(found[0], packed):
                return None
            counters.flushes += 1
        finally:
            guard.give()
        return self._packed(packed)

    def _nodes(self, taped: Any, fixed: Sequence[Node], device: Any) -> list[Node]:
        """Whose memory a step takes: its numbers', the state's and what it reads, rows of these, and constants."""
        assert self.step is not None
        rows = [fixed[place - 1] for place, _, _ in self.step.elements]
        return [self._numbers(device), *fixed, *rows, *taped.constants]

    def _memory(
        self, taped: Any, nodes: list[Node], begun: int, device: Any
    ) -> tuple[list[Any], list[int], list[int]] | None:
        """The memory of `nodes`, where the step `begun` begins to read it, and how many bytes later each next one does.

        The state's is its own where steps write to it. None if some lies elsewhere, or not as what was observed.
        """
        assert self.step is not None
        memory = [bring(node, device) for node in nodes]  # Steps one by one may have moved them.
        if any([buffer.pool is not device.pool for buffer in memory]):
            return None
        begins, strides = [0] * len(memory), [0] * len(memory)
        begins[0], strides[0] = begun * NUMBER, NUMBER
        fixed = len(memory) - len(taped.constants) - len(self.step.elements)
        for place, (_, begin, stride) in enumerate(self.step.elements, fixed):
            begins[place], strides[place] = begin + begun * stride, stride
        for place in range(1, 1 + self.states):  # The loop's first state is others'.
            if place in taped.adopted or _lies_otherwise(memory[place], 0, taped.past[place]):
                nbytes = max(self.sizes[place - 1], 1)
                own = device.allocate(nbytes)
                device.copy(own, 0, memory[place], 0, nbytes)
                memory[place] = own
        if any([_lies_otherwise(*each) for each in zip(memory, begins, taped.past, strict=True)]):
            return None
        return memory, begins, strides

    def _captured(
        self, taped: Any, nodes: Sequence[Node], rows: dict[int, int], begins: list[int], strides: list[int],
        states: list[int], stacked: list[Stacked], last: list[Stacked],
    ) -> CapturedSteps | None:  # fmt: skip
        """All steps as one launch, once they have run step by step and if they can be; as long as they are the same."""
        if self.together is not None and not self.together.is_for(taped):
            self.together, self.runs = None, 0
        self.runs += is_compiled(taped.tape)
        if self.together is None and self.runs == WARM:
            self.together = capture_steps(
                taped, nodes, rows, begins, strides, states, self.steps, stacked, last, self.nbytes
            )
        return self.together

    def _check(
        self, together: CapturedSteps, memory: list[Any], begins: list[int], strides: list[int], states: list[int],
        stacked: list[Stacked], last: list[Stacked], packed: Any,
    ) -> None:  # fmt: skip
        """Run steps both ways, and compare the bits of all results."""
        taped = together.taped
        device = taped.tape.device
        given = list(memory)
        for place in range(1, 1 + self.states):  # A state may be written to.
            given[place] = device.allocate(max(self.sizes[place - 1], 1))
            device.copy(given[place], 0, memory[place], 0, self.sizes[place - 1])
        other = device.allocate(self.nbytes)
        run_stepped(taped, memory, begins, strides, states, 0, self.steps, stacked, last, packed, _pause, None)
        if together.run(given, other):

            def written(node: Node, device: Any) -> Any:
                """Read what is packed, zeros between results, where nobody writes."""
                given = leaf_memory(node, device)
                found = np.zeros_like(given)
                for result in (*stacked, *last):
                    for step in range(self.steps if result.stride else 1):
                        begin = result.begin + step * result.stride
                        found[begin : begin + result.nbytes] = given[begin : begin + result.nbytes]
                return found

            same_value(self._packed(other), self._packed(packed), device, written, "the steps of a loop as one")

    def _packed(self, packed: Any) -> Node:
        """All results as bytes."""
        signature = signature_by(LEAF, None, U8, one_tuple((self.nbytes,)), one_tuple((1,)), self.nbytes, None)
        return computed(signature, packed)


def _writes_to_its_own(taped: Any, states: int) -> bool:
    """Whether each state that a step writes to is memory that nothing else has, in the next step as well."""
    places = _places(taped)[:states]
    return all(
        [
            places.count(places[place - 1]) == 1
            and (places[place - 1] >= len(taped.past) or places[place - 1] == place)
            for place in taped.adopted
        ]
    )


def _lies_otherwise(buffer: Any, begin: int, expected: int) -> bool:
    """Whether memory, from some bytes on, is aligned otherwise than what was observed."""
    return expected >= 0 and (past(buffer) + begin) % ALIGNED != expected


def _places(taped: Any) -> list[int]:
    """Where a step's results are."""
    places: list[int] = []
    for place in taped.results:
        places.append(place if place >= 0 else places[-1 - place])
    return places


def _pause() -> None:
    """Where Python runs, signals are heard."""


__all__ = ["Step", "Stepping"]
