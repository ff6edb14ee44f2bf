# cython: boundscheck=False, wraparound=False
"""Recording again, by traces, what calls recorded: the nodes are copied, nothing is decided anew.

What a reduction, a product or another composed call becomes (which views, casts, operations and routines, over which
axes, of which dtype and order) follows from the dtype, shape and order of its operands and from its arguments. So what
was recorded the first time says all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.dtypes import ITEMSIZES
from numloom.base.forking import anew
from numloom.base.memo import Memo
from numloom.graph.layout import Layout, extent_of
from numloom.graph.node import (
    CAST,
    FILL,
    GATHER,
    IOTA,
    LEAF,
    OP,
    REDUCE,
    SCALAR,
    UPDATE,
    VIEW,
    Node,
    NodeSignature,
    count_recorded,
    live_nodes,
    new_node,
    new_number,
    recorded_as,
    recorded_as1,
    recorded_as2,
    register,
    signature_by,
    signature_of,
    tracing,
    viewed,
)
from numloom.graph.slots import SPECIAL, OperandSignature, fits, how
from numloom.graph.source_location import INSIDE, here

_register = register
_KEPT = 1 << 13
_INSTRUCTIONS = 64
_TRIES = 4
_MADE = 1 << 14
"""Bytes of a value, made of what the host knows, that is kept."""
_REPEATED = (OP, CAST, REDUCE, GATHER, UPDATE)


class Instruction:
    """One node of a recorded trace.

    Attributes
    ----------
    signature : NodeSignature or None
        Its signature; None of what a routine gives, and of what the host knew.
    first, second : int
        Its arguments: numbers from 0 on are operands, the ones behind them the instructions in turn; -1 where there is
        none.
    rest : tuple of int
        Arguments behind the second.
    attr : object
        Of a view, from where its argument begins; of a number or a filled array, which number; of a gather, its place;
        of a value that was made of what the host knows, itself.
    call : callable or None
        What runs a routine on its arguments.
    """

    __slots__ = ("attr", "call", "first", "rest", "second", "signature")

    signature: NodeSignature | None
    first: int
    second: int
    rest: tuple[int, ...]
    attr: Any
    call: Any

    def __init__(
        self, signature: NodeSignature | None, args: Sequence[int], attr: Any = None, call: Any = None
    ) -> None:
        self.signature = signature
        self.first = args[0] if args else -1
        self.second = args[1] if len(args) > 1 else -1
        self.rest = tuple(args[2:])
        self.attr = attr
        self.call = call


class RecordedTrace:
    """What one call recorded, for one signature of its operands and its arguments.

    Attributes
    ----------
    given : object
        The call's other arguments.
    signatures : list of OperandSignature
        Its operands; not the blocks that a draw takes, which stand behind them.
    shared : object
        How operands share memory, see `sharing`.
    instructions : list of Instruction
        What follows the operands; the last one is the result.
    straight : bool
        Whether each is an operation on the one before, the first on the first operand.
    ending : object
        How an array is made of the result, if not by wrapping it.
    results : tuple of int or None
        Of several results, their numbers; -1 of one that is a view of an operand.
    """

    __slots__ = ("ending", "given", "instructions", "results", "shared", "signatures", "straight")

    given: Any
    signatures: list[OperandSignature]
    shared: Any
    instructions: list[Instruction]
    straight: bool
    ending: Any
    results: tuple[int, ...] | None

    def __init__(
        self, given: Any, operands: list[Node], instructions: list[Instruction], ending: Any,
        results: tuple[int, ...] | None, blocks: int = 0,
    ) -> None:  # fmt: skip
        self.given = given
        self.results = results
        self.signatures = [OperandSignature(node) for node in operands]
        self.shared = sharing(operands)
        self.instructions = instructions
        self.ending = ending
        self.straight = bool(instructions) and results is None
        behind = len(operands) + blocks - 1
        for place, instruction in enumerate(instructions):
            simple = (
                instruction.signature is not None
                and instruction.signature.kind in (OP, CAST, REDUCE)
                and instruction.second < 0
            )
            if not simple or instruction.first != (behind + place if place else 0):
                self.straight = False


class RecordedTraces:
    """The traces of one function.

    Attributes
    ----------
    known : Memo
        Traces by their signature.
    last : RecordedTrace or None
        The one used last.
    met : Memo
        How often a signature was met that has no trace.
    """

    __slots__ = ("known", "last", "met")

    known: Memo
    last: RecordedTrace | None
    met: Memo

    def __init__(self) -> None:
        self.known = Memo(_KEPT)
        self.last = None
        self.met = Memo(_KEPT)


def find(traces: RecordedTraces, given: Any, operands: list[Node]) -> RecordedTrace | None:
    """What is known of a call with these arguments (`given`, which is hashed and compared) and operands."""
    if _off or not can_follow(operands):
        return None
    recorded = traces.last
    if recorded is None or not _fits(recorded, given, operands):
        recorded = traces.known.entries.get(_key(given, operands))
        if recorded is None:
            return None
        traces.last = recorded
    return recorded


def replay_straight(traces: RecordedTraces, given: Any, operand: Node) -> Node | None:
    """Do as `find` and `replay` do for one operand, without a list, if the trace was used last and is straight."""
    recorded = traces.last
    if _off or recorded is None or not recorded.straight or operand.tree or LEAF < operand.kind < VIEW:
        return None
    if recorded.given is not given and recorded.given != given:
        return None
    if len(recorded.signatures) != 1 or not fits(recorded.signatures[0], operand):
        return None
    for instruction in recorded.instructions:
        operand = recorded_as1(cython.cast(Instruction, instruction).signature, operand)
    return operand


def replay(recorded: RecordedTrace, operands: list[Node]) -> Node:
    """Record a trace for its operands, a list that grows by its values; give the result."""
    if recorded.straight:
        node = operands[0]
        for instruction in recorded.instructions:
            node = recorded_as1(instruction.signature, node)  # type: ignore[arg-type]
        return node
    values = operands
    for instruction in recorded.instructions:
        signature = instruction.signature
        if signature is None:
            if instruction.call is None:
                values.append(instruction.attr)
                if _traces:
                    made(instruction.attr)
            else:
                values.append(instruction.call(*[values[place] for place in _args(instruction)]))
        elif signature.kind == GATHER:
            op_def = instruction.attr if instruction.attr is INSIDE else here(instruction.attr.complaint)
            args = tuple([values[place] for place in _args(instruction)])
            count_recorded()
            values.append(_made_again(signature, op_def, args, signature.attr))
        elif instruction.rest:
            args = tuple([values[place] for place in _args(instruction)])
            for node in args:
                node.readers += 1
            values.append(recorded_as(signature, args))
        elif instruction.second >= 0:
            values.append(recorded_as2(signature, values[instruction.first], values[instruction.second]))
        elif signature.kind == VIEW:
            values.append(_viewed_again(signature, values[instruction.first], instruction.attr))
        elif signature.kind == SCALAR:
            values.append(new_number(instruction.attr, signature.code))
        elif instruction.first < 0:
            if signature.kind == FILL:
                count_recorded()
            values.append(_made_again(signature, None, (), instruction.attr))
        else:
            values.append(recorded_as1(signature, values[instruction.first]))
    return values[len(values) - 1]


def _made_again(signature: NodeSignature, op_def: Any, args: tuple[Node, ...], attr: Any) -> Node:
    """Make a node of a signature with an op definition and an attribute of its own."""
    kind, code, size = signature.kind, signature.code, signature.size
    return new_node(kind, op_def, args, code, signature.shape, signature.strides, size, attr)


def _viewed_again(signature: NodeSignature, base: Node, offset: int) -> Node:
    """Make a view of a value, or of what that is a view of; the value itself if it has this layout."""
    node = base
    if node.kind == VIEW:
        offset += node.attr
        node = node.args[0]
    if offset or node.code != signature.code:
        return viewed(signature, node, offset)
    same = node.shape is signature.shape and node.strides is signature.strides
    return node if same else viewed(signature, node, offset)


def can_follow(operands: list[Node]) -> bool:
    """Whether the signatures of operands say what is recorded: of numbers known on the host other things may be.

    The order of several values may depend on what one was before it was converted. Calls on values of trees record
    other operations than plain ones (a product of small matrices is one, and no sum of products).
    """
    alone = len(operands) == 1
    for node in operands:
        if node.tree or LEAF < node.kind < VIEW or (not alone and how(node) == SPECIAL):
            return False
        # A part of a complex number is an operation on it, made anew with its filled array at each look.
        if node.kind == VIEW or (node.kind == OP and len(node.args) == 1):
            base = node.args[0]
            if base.kind == SCALAR or base.kind == FILL:
                return False
    return True


def sharing(operands: list[Node]) -> Any:
    """What operands have to do with each other; None where each is of its own.

    That is: which are of one memory or one value, and where the later ones begin; and which are a function of another
    one (`-x` beside `x`), as a call may compute it, too. While a call is learned, a value that is `_same` as an operand
    is taken for that operand, so only calls whose operands are related in the same way are the same.
    """
    found: Any = None
    for place in range(len(operands)):
        node = operands[place]
        memory = _memory(node)
        for other in range(place):
            if _memory(operands[other]) is memory or (memory.kind == OP and _same(node, operands[other])):
                begins = _begin(node) - _begin(operands[other])
                found = (place, other, begins) if found is None else (place, other, begins, found)
                break
        if node.kind == OP and len(node.args) == 1:
            memory = _memory(node.args[0])
            for other in range(len(operands)):
                if other != place and _memory(operands[other]) is memory:
                    found = (place, other, node.op_def, _begin(node.args[0]) - _begin(operands[other]), found)
    return found


def _fits(recorded: RecordedTrace, given: Any, operands: list[Node]) -> bool:
    """Whether a recorded trace is that of a call."""
    if len(recorded.signatures) != len(operands):
        return False
    for place, node in enumerate(operands):
        if not fits(recorded.signatures[place], node):
            return False
    if recorded.given is not given and recorded.given != given:
        return False
    if len(operands) == 1:
        return True
    shared = sharing(operands)
    return recorded.shared is None if shared is None else recorded.shared == shared  # type: ignore[no-any-return]


def _key(given: Any, operands: list[Node]) -> Any:
    """What a recorded trace is found by."""
    key = [given]
    for node in operands:
        key.append(node.code)
        key.append(node.shape)
        key.append(node.strides)
        key.append(how(node))
    if len(operands) > 1:
        key.append(sharing(operands))
    return tuple(key)


def _memory(node: Node) -> Node:
    """What a value is a view of, or itself."""
    return node.args[0] if node.kind == VIEW else node


def _begin(node: Node) -> int:
    """Where in that memory it begins."""
    return node.attr if node.kind == VIEW else 0


# ---------------------------------------------------------------- learning


class TraceRecorder:
    """What a call records and runs, while it is under way.

    Attributes
    ----------
    key : object
        By which its trace will be found.
    operands : list of Node
        Its operands.
    instructions : list of Instruction
        What is known to lead from them, needed or not.
    met : dict
        Numbers of values by their identity.
    kept : list of Node
        Those values, so that nothing else has their identity.
    lost : bool
        Whether something happened that no trace can do again.
    keeps : bool
        Whether its trace may have values in memory, since it is for one device.
    era : int
        Values of earlier eras were there before the call began: of these a recorded trace knows its operands alone.
    """

    __slots__ = ("era", "instructions", "keeps", "kept", "key", "lost", "met", "operands")

    def __init__(self, key: Any, operands: list[Node], keeps: bool = False) -> None:
        self.keeps = keeps
        self.key = key
        self.operands = operands
        self.instructions: list[Instruction] = []
        self.met: dict[int, int] = {}
        self.kept: list[Node] = []
        self.lost = False
        register.era = self.era = register.era + 1

    def number(self, node: Node) -> int:
        """Number of a value among operands and instructions, which it joins with all that it needs; -1 where it cannot.

        What is neither an operand, nor seen through one, nor made since the call began, nor declared by `made`, is not
        to be had in another call. So a recorded trace depends on nothing but operands and arguments.
        """
        for place, operand in enumerate(self.operands):
            if _same(node, operand):
                return place
        if id(node) in self.met:
            return self.met[id(node)]
        # A view that was there before is of what some operand was computed from: where it begins no argument says.
        seen = self._through(node) if node.kind != VIEW or node.era >= self.era else None
        if seen is not None:
            return self.join(node, seen)
        if node.era < self.era:
            return -1
        # Taken down at once: what numbers the arguments may be interrupted by a thread that computes the node.
        kind, signature, needs = node.kind, signature_of(node), node.args
        attr: Any = None
        if kind in (SCALAR, FILL, IOTA, VIEW):
            attr = node.attr
        elif kind == GATHER:
            attr = node.op_def
        elif kind not in _REPEATED:
            return -1
        args = [self.number(arg) for arg in needs]
        return -1 if -1 in args else self.join(node, Instruction(signature, args, attr))

    def _through(self, node: Node) -> Instruction | None:
        """The instruction of a value that is in the memory of an operand, and there within what the operand is."""
        base, begin = _memory(node), _begin(node)
        for place, operand in enumerate(self.operands):
            if _memory(operand) is base and (operand.kind == VIEW or node.kind == VIEW):
                low, high = _extent(node)
                first, last = _extent(operand)
                if first <= low and high <= last:
                    signature = signature_by(VIEW, None, node.code, node.shape, node.strides, node.size, None)
                    return Instruction(signature, [place], begin - _begin(operand))
        return None

    def join(self, node: Node, instruction: Instruction) -> int:
        """The number of a value that has an instruction now; -1 where there are too many."""
        if len(self.instructions) >= _INSTRUCTIONS:
            return -1
        self.instructions.append(instruction)
        self.kept.append(node)
        self.met[id(node)] = number = len(self.operands) + len(self.instructions) - 1
        return number

    def keep(self, node: Node) -> int:
        """The number of a value that was made of what the host knows, for whoever makes it in a call that is learned
        makes it of the arguments, or has always had it.
        """
        if not self.keeps or node.size * ITEMSIZES[node.code] > _MADE:
            return -1
        return self.met[id(node)] if id(node) in self.met else self.join(node, Instruction(None, (), node))

    def needed(self, results: list[int]) -> tuple[list[Instruction], tuple[int, ...]]:
        """The instructions that lead to values, numbered anew, the last one of these the last; numbers of the
        values.
        """
        first, last = len(self.operands), max(results)
        wanted = {*results}
        for number in range(last, first - 1, -1):
            if number in wanted:
                wanted.update(_args(self.instructions[number - first]))
        kept = [number for number in range(first, last + 1) if number in wanted]
        again = {**{number: number for number in range(first)}, **{old: first + new for new, old in enumerate(kept)}}
        instructions = [self.instructions[number - first] for number in kept]
        renumbered = [
            Instruction(
                instruction.signature, [again[arg] for arg in _args(instruction)], instruction.attr, instruction.call
            )
            for instruction in instructions
        ]
        return renumbered, tuple([again.get(number, -1) for number in results])


def _args(instruction: Instruction) -> list[int]:
    """Numbers of an instruction's arguments."""
    return [arg for arg in (instruction.first, instruction.second, *instruction.rest) if arg >= 0]


_off = 0
"""How many ask that all calls be done in full and none be learned: of all threads, so it is counted."""
_traces: list[TraceRecorder] = []
"""The calls that are being learned, of all threads: what others record meanwhile leads to none of their results.

Others may begin and end while this is gone through, so that is done over a copy."""


def begin(traces: RecordedTraces, given: Any, operands: list[Node], keeps: bool = False) -> TraceRecorder | None:
    """Learn the call that follows, until `end`; None where that would not help, also where all runs at once.

    With `keeps` traces are those of one device alone.

    A signature is learned when it is met again: of sizes that change from call to call nothing would be used.
    """
    if _off or (register.tracing and tracing()) or register.recorded > register.limit or not can_follow(operands):
        return None
    key = _key(given, operands)
    times = traces.met.entries.get(key, 0)
    traces.met.keep(key, times + 1)
    if not 0 < times <= _TRIES:
        return None
    return start(key, list(operands), keeps)


def start(key: Any, operands: list[Node], keeps: bool) -> TraceRecorder:
    """Learn what follows, until `end`; the operands may be told later."""
    recorder = TraceRecorder(key, operands, keeps)
    _traces.append(recorder)
    return recorder


def end(recorder: TraceRecorder | None) -> None:
    """What follows is no part of the call."""
    if recorder is not None:
        _traces.remove(recorder)


def learn(traces: RecordedTraces, recorder: TraceRecorder, given: Any, result: Any, ending: Any = None) -> None:
    """Keep what a call did, if its result follows from its operands.

    A result is a value, or None: a view of an operand, as `ending` says; several are a list.
    """
    several = type(result) is list
    numbers = [-1 if node is None else recorder.number(node) for node in (result if several else [result])]
    known = [number for node, number in zip(result if several else [result], numbers, strict=True) if node is not None]
    if recorder.lost or any([number < len(recorder.operands) for number in known]):
        return
    instructions, places = recorder.needed(numbers) if known else ([], (-1,) * len(numbers))
    for instruction in instructions:
        if instruction.signature is None and instruction.call is None:
            instruction.attr.storages += 1  # It is the trace's, so nobody writes to it.
    traces.met.entries.pop(recorder.key, None)
    found = RecordedTrace(given, recorder.operands, instructions, ending, places if several else None)
    traces.known.keep(recorder.key, found)


def learn_draw(traces: RecordedTraces, recorder: TraceRecorder, given: Any, result: Node, taken: list[Any]) -> None:
    """Keep what a draw did, if the blocks of random bits that it took lead to its result."""
    operands = recorder.operands = [node for _, *nodes in taken for node in nodes]
    number = -1 if recorder.lost else recorder.number(result)
    if not operands or number < len(operands):
        return
    instructions, _ = recorder.needed([number])
    if {arg for instruction in instructions for arg in _args(instruction)}.issuperset(range(len(operands))):
        traces.met.entries.pop(recorder.key, None)
        counts = [count for count, *_ in taken]
        traces.known.keep(recorder.key, RecordedTrace(given, [], instructions, counts, None, len(operands)))


def _forget_traces() -> None:
    """In a child process the threads are not there that learn."""
    _traces.clear()


anew(_forget_traces)


def learning() -> bool:
    """Whether a call is being learned, or a tree recorded: nothing is done at once."""
    return bool(_traces) or (_register.tracing > 0 and tracing())


@contextmanager
def in_full() -> Iterator[None]:
    """Have all calls done in full meanwhile."""
    global _off
    _off += 1
    try:
        yield
    finally:
        _off -= 1


def made(node: Node) -> None:
    """A value was made of what the host knows of a call's arguments, or is the same for all calls."""
    for recorder in tuple(_traces):
        recorder.keep(node)


def arguments(operands: Sequence[Node]) -> list[tuple[TraceRecorder, list[int]]]:
    """What a routine is about to read, as the calls that are being learned know it."""
    if not _traces:
        return []
    found = [(recorder, [recorder.number(node) for node in operands]) for recorder in tuple(_traces)]
    # What is pending is computed along with them, and nobody would know then what it was computed of.
    for node in live_nodes():
        for recorder, _ in found:
            recorder.number(node)
    return found


def called(known: list[tuple[TraceRecorder, list[int]]], call: Callable[..., Node], result: Node) -> None:
    """A routine gave a value."""
    for recorder, numbers in known:
        if -1 not in numbers:
            recorder.join(result, Instruction(None, numbers, None, call))


def lose() -> None:
    """What no instruction says happens: memory of a computed value changes in place, or a value is looked at."""
    for recorder in tuple(_traces):
        recorder.lost = True


def _same(a: Node, b: Node) -> bool:
    """Whether two nodes are one value: an array that is a view, or a complex part, gives a new one at each look."""
    if a is b:
        return True
    if a.kind != b.kind or (a.kind != VIEW and a.kind != OP) or len(a.args) != 1 or a.op_def is not b.op_def:
        return False
    if (a.attr, a.code, a.shape, a.strides) != (b.attr, b.code, b.shape, b.strides):
        return False
    first, second = a.args[0], b.args[0]
    return first is second or (a.kind == OP and first.kind == VIEW and _same(first, second))


def _extent(node: Node) -> tuple[int, int]:
    """From where to where a value lies in its memory, in bytes."""
    return extent_of(Layout(_begin(node), node.shape, node.strides), ITEMSIZES[node.code])


__all__ = [
    "RecordedTrace", "RecordedTraces", "TraceRecorder", "arguments", "begin", "called", "end", "find", "in_full",
    "learn", "learn_draw", "learning", "lose", "made", "replay", "replay_straight", "start",
]  # fmt: skip
