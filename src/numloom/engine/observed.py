"""One call recorded: what it ran, taken down so that it can run again for other memory.

An `Observer` is the recorder (`counters.recorder`): it is told of each step of a plan and each routine that ran, and of
small work that ran without a plan. Memory is known by places: the operands', constants, then whatever is computed. What
it is not told of gives memory that has no place, and then nothing is taken down: so what it gives is complete. Who
profiles is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from numloom.device.registry import beside, current
from numloom.engine.evaluate import evaluate, plans_by_settings
from numloom.engine.guard import guard
from numloom.engine.link import relocated
from numloom.engine.routines import Change
from numloom.engine.state import counters
from numloom.engine.tape import Step, Tape
from numloom.engine.taped import A_NUMBER, Operand, RoutineCall, TapedCall, past
from numloom.graph.node import FILL, IOTA, LEAF, SCALAR, VIEW, Node, new_node, signature_by, signature_of
from numloom.graph.source_location import INSIDE

_NUMBERS = (SCALAR, FILL, IOTA)


class Observer:
    """Takes down what runs.

    Parameters
    ----------
    operands : sequence of Node
        What a call is given: computed values, each with memory of its own.
    constants : sequence of Node
        Computed values that it reads beside them.
    adoptable : sequence of int
        Which operands it may write to.
    plans : bool
        Whether all values have a plan, small ones, too, which else run without one until they have come some times.
    numbers : bool
        Whether operands may also be numbers that the host knows, which change from call to call.

    Attributes
    ----------
    fault : str
        Why nothing can be taken down; nothing while it can.
    early : bool
        Whether it might be, once there is a plan.
    """

    def __init__(
        self, operands: Sequence[Node], constants: Sequence[Node], adoptable: Sequence[int] = (), plans: bool = False,
        numbers: bool = False,
    ) -> None:  # fmt: skip
        self.plans = plans
        self.fault = ""
        self.early = False
        self.given = len(operands)
        self.fixed = [*operands, *constants]
        self.constants = list(constants)
        self.adoptable = set(adoptable)
        self.adopted: set[int] = set()
        self.kept: list[Any] = []
        """Memory of all places, so that none is another one's later."""
        self.places: dict[int, int] = {}
        self.steps: list[Any] = []
        self.made: list[tuple[list[int], list[int]]] = []
        """Of each step, the places that it reads and those that it writes."""
        self.numbered: list[tuple[list[Any], list[Any]]] = []
        """Of each step, the values that its parameters are with their numbers then, and what it may complain of."""
        self.tapes: list[Tape] = []
        self.device: Any = None
        self.thread = get_ident()
        self.numbers: dict[int, int] = {}
        """Places of operands that are numbers, by the identity of these."""
        self.kinds: dict[int, int] = {}
        self.trace: list[Node] = []
        """Numbers that the trace of a call has itself, which are the same in each call."""
        for place, node in enumerate(self.fixed):
            if numbers and node.kind in (SCALAR, FILL) and place < self.given and id(node) not in self.numbers:
                self.numbers[id(node)] = place
                self.kinds[place] = node.kind
                self.kept.append(None)
                continue
            if node.kind != LEAF or id(node.buffer) in self.places:
                self.fail("operands share memory")
            self._new(node.buffer)

    def fail(self, why: str) -> None:
        """Nothing is taken down."""
        self.fault = self.fault or why

    def _is_deaf(self) -> bool:
        """Whether what is told belongs to something else, or is of no use."""
        return bool(self.fault or get_ident() != self.thread)

    def _new(self, buffer: Any) -> int:
        self.places[id(buffer)] = len(self.kept)
        self.kept.append(buffer)
        return len(self.kept) - 1

    def _place(self, buffer: Any) -> int:
        """Where memory is."""
        place = self.places.get(id(buffer), -1)
        if place < 0:
            self.fail("something reads memory that nothing observed has made")
            return 0
        return place

    def _adopt(self, buffer: Any) -> int:
        """Where memory is that is written to again."""
        place = self._place(buffer)
        if place < len(self.fixed):
            self.adopted.add(place)
            if place not in self.adoptable:
                self.fail("an operand is written to")
        return place

    def _on(self, device: Any) -> None:
        if self.device is None:
            self.device = device
        elif self.device is not device:
            self.fail("it runs on several devices")

    # ------------------------------------------------------------ what is taken down

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Have what this thread runs meanwhile belong to something that is told of as a whole, if at all."""
        mine = get_ident() == self.thread
        if mine:
            counters.record_by(None)
        try:
            yield
        finally:
            if mine:
                counters.record_by(self)

    def ran_small(self) -> None:
        """Note that small values were computed without a plan."""
        if not self._is_deaf():
            self.early = True
            self.fail("small work runs without a plan")

    def ran_step(self, plan: Any, launch: Any, nodes: list[Any]) -> None:
        """Note that a step of a plan ran over the nodes of a walk."""
        if self._is_deaf():
            return
        self._on(plan.device)
        for number, _ in launch.allocate:
            self._new(nodes[number].buffer)
        writes = [self._place(nodes[number].buffer) for number, _ in launch.allocate]
        writes += [self._adopt(nodes[number].buffer) for number, _ in launch.adopt]
        reads: list[int] = []

        def where(number: int, view: int) -> tuple[int, int]:
            """Return the place of a node's memory, and where a view of it begins there."""
            reads.append(self._place(nodes[number].buffer))
            if view >= 0 and nodes[view].kind != VIEW:
                self.fail("a view became memory")
            return reads[-1], nodes[view].attr if view >= 0 else 0

        made = relocated(launch, where)
        given = [nodes[number] for number in launch.numbers]
        # What a number fills is memory by now, and still has the number.
        filled = [nodes[number] for number in launch.computed]
        if any([node.kind < SCALAR and not any([node is one for one in filled]) for node in given]):
            self.fail("a number follows from memory")
        if self.fault:
            return
        self.tapes.append(plan)
        locations = [nodes[number].op_def for _, number in launch.located]
        made.located = launch.located
        self._add(made, reads, writes, given, [None if one is INSIDE else one.complaint for one in locations])

    def ran_call(self, call: Callable[..., Any], device: Any, operands: Sequence[Node], results: Any) -> None:
        """Note that a routine ran: ``call(*operands)`` gave computed values."""
        if self._is_deaf():
            return
        self._on(device)
        taken = [self._operand(node) for node in operands]
        reads = [operand.place for operand in taken if operand.place >= 0]
        writes = []
        for node in results if type(results) is tuple else (results,):
            if node.kind != LEAF:
                self.fail("a routine gave a view")
                return
            known = id(node.buffer) in self.places
            writes.append(self._adopt(node.buffer) if known else self._new(node.buffer))
        made = RoutineCall(call, taken, list(writes))
        made.keeps = type(call) is Change and (not taken or taken[0].place != writes[0])
        numbers = [
            node for node, one in zip(operands, taken, strict=True)
            if node.kind in _NUMBERS and one.place < 0 and one.given < 0
        ]  # fmt: skip
        self._add(made, reads, writes, numbers)

    def _operand(self, node: Node) -> Operand:
        if node.kind in _NUMBERS:
            # Another node, since this one may be computed some day, and be memory then.
            alike = new_node(node.kind, None, (), node.code, node.shape, node.strides, node.size, node.attr)
            return Operand(-1, 0, None, None, alike, self.numbers.get(id(node), -1))
        base = node.args[0] if node.kind == VIEW else node
        if base.kind != LEAF:
            self.fail("a routine takes what is not computed")
            return Operand(-1, 0, None, None, node)
        seen = signature_of(node) if node.kind == VIEW else None
        return Operand(self._place(base.buffer), node.attr if seen is not None else 0, _memory(base), seen, None)

    def _add(
        self, step: Step, reads: list[int], writes: list[int], numbers: Sequence[Node] = (), complaints: Any = ()
    ) -> None:
        self.steps.append(step)
        self.made.append((reads, writes))
        self.numbered.append(([(node, node.attr) for node in numbers], list(complaints)))

    # ------------------------------------------------------------ the end

    def taped(self, results: Sequence[Node], plans: Any) -> TapedCall | None:
        """Return what gives these results for other operands; None where not all of it was seen."""
        if self.fault or plans is None or self.device is None:
            return None
        tape = Tape(self.device, [], len(self.kept))
        found = TapedCall(tape, plans)
        for node in results:
            base = node.args[0] if node.kind == VIEW else node
            if base.kind != LEAF or id(base.buffer) not in self.places:
                return None
            place = self.places[id(base.buffer)]
            fixed = place < len(self.fixed)
            if fixed and self.fixed[place] is not base:
                if place not in self.adopted:
                    return None
                fixed = False
            earlier = found.results.index(place) if place in found.results else -1
            found.results.append(-1 - earlier if earlier >= 0 else place)
            found.signatures.append(None if fixed else _memory(base))
            found.seen.append((signature_of(node), node.attr) if node.kind == VIEW else None)
        live = {place for place in found.results if place >= 0}
        self._choose(tape, found, live)
        if self.fault:
            return None
        numbers = self.kinds
        for place, (node, buffer) in enumerate(zip(self.fixed, self.kept, strict=False)):
            if place in live and place not in numbers and (node.buffer is not buffer or buffer.pool is not tape.pool):
                return None  # It moved.
        found.past = [
            A_NUMBER - self.kinds[place] if place in numbers else past(self.kept[place]) if place in live else -1
            for place in range(len(self.fixed))
        ]
        plan = self.tapes[0] if self.tapes else None
        if plan is not None and [_linked(step) for step in tape.steps] == [_linked(step) for step in plan.steps]:
            tape.replay = plan.replay
        found.constants = self.constants
        found.adopted = frozenset(self.adopted)
        return found

    def _choose(self, tape: Tape, found: TapedCall, live: set[int]) -> None:
        """Give a tape the steps that what is live needs, which then is all that is read or written."""
        last = dict.fromkeys(live, len(self.steps))
        chosen: list[int] = []
        for number in range(len(self.steps) - 1, -1, -1):
            step, (reads, writes) = self.steps[number], self.made[number]
            if live.isdisjoint(writes):
                continue
            live.update(reads)
            touched = {*reads, *writes}
            step.done = tuple([at for at in touched if last.setdefault(at, number) == number and at >= len(self.fixed)])
            chosen.append(number)
        for number in reversed(chosen):
            step, (numbers, complaints) = self.steps[number], self.numbered[number]
            tape.steps.append(step)
            if isinstance(step, RoutineCall):
                tape.complains |= bool(getattr(step.call, "complaints", True))
                if not all([self._is_constant(node) for node, _ in numbers]):
                    self.fail("a number may follow from one that a call is given")
                continue
            step.numbers = tuple([self._number_place(tape, *number) for number in numbers])
            step.located = tuple(
                [
                    (word, self._complaint_place(tape, found, complaint))
                    for (word, _), complaint in zip(step.located, complaints, strict=True)
                ]
            )

    def _is_constant(self, node: Node) -> bool:
        """Return whether a number is the same in each call, for all that is known: it may follow from an operand."""
        return not self.numbers or any([node is one for one in self.trace])

    def _number_place(self, tape: Tape, node: Node, number: Any) -> int:
        """Return the place of a number: an operand's, or a new one for what is the same in each call."""
        if id(node) in self.numbers:
            return self.numbers[id(node)]
        if not self._is_constant(node):
            self.fail("a number may follow from one that a call is given")
        tape.constants.append((tape.places, number))
        tape.places += 1
        return tape.places - 1

    def _complaint_place(self, tape: Tape, found: TapedCall, complaint: Any) -> int:
        """Return a new place for the number of a source location."""
        tape.complains |= complaint is not None
        found.located.append((tape.places, complaint))
        tape.places += 1
        return tape.places - 1


def _linked(step: Any) -> Any:
    """Return the kernel that a step launches; of a routine the step."""
    return getattr(step, "linked", step)


def _memory(node: Node) -> Any:
    """Return the signature of a computed value, whatever it was computed by."""
    return signature_by(LEAF, None, node.code, node.shape, node.strides, node.size, None)


class observing:
    """A block in which what runs is taken down, by nobody else.

    What was pending before has run. `finish` is called within, where all has run.
    """

    def __init__(
        self, operands: Sequence[Node], constants: Sequence[Node], adoptable: Sequence[int] = (), plans: bool = False,
        numbers: bool = False,
    ) -> None:  # fmt: skip
        guard.take()
        try:
            evaluate([])
            self.observer = Observer(operands, constants, adoptable, plans, numbers)
        except BaseException:
            guard.give()
            raise
        self.before = counters.recorder
        counters.record_by(self.observer)

    def __enter__(self) -> Observer:
        return self.observer

    def __exit__(self, *_: object) -> None:
        counters.record_by(self.before)
        guard.give()


def opaque(call: Callable[..., Node], operands: Sequence[Node], run: Callable[[], Node]) -> Node:
    """Return ``run()``, which is ``call(*operands)``, and tell who records of it as one thing."""
    observer = counters.recorder
    if observer is None or observer.thread != get_ident():
        return run()
    evaluate([node for node in [one.args[0] if one.kind == VIEW else one for one in operands]
              if node.kind != LEAF and node.kind not in _NUMBERS])  # fmt: skip
    with observer.apart():
        result = run()
        if result.buffer is None:
            evaluate([result])
    device = current()
    observer.ran_call(call, device if result.buffer.pool is device.pool else beside(device), operands, result)
    return result


def prepare(
    operands: Sequence[Node],
    constants: Sequence[Node],
    adoptable: Sequence[int],
    run: Callable[[], Sequence[Node]],
    plans: bool = False,
    numbers: bool = False,
    trace: Sequence[Node] = (),
) -> tuple[TapedCall | None, Sequence[Node], bool]:
    """What ``run()`` ran, if that is the same for other operands; its results, computed; whether it is too early."""
    with observing(operands, constants, adoptable, plans, numbers) as observer:
        results = run()
        observer.trace = list(trace)
        return observer.taped(results, plans_by_settings()), results, observer.early


__all__ = ["Observer", "observing", "opaque", "prepare"]
