# cython: boundscheck=False, wraparound=False
"""Few operations on computed values, evaluated again: straight from the node to the launch.

Where one pending node is all that is to run, what a walk would put into the plan key is compared with what it was when
the plan was found by a walk. This is a shorter way to the same plan, never another one.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.device.memory import Buffer
from numloom.engine.link import relocated
from numloom.engine.placement import MOVE, RATE
from numloom.engine.state import counters
from numloom.engine.tape import Frame, Launch, Parameter, Tape, pack, run_step
from numloom.engine.walk import next_epoch
from numloom.engine.words import rows_of
from numloom.graph.node import IOTA, LEAF, OP, REDUCE, SCALAR, VIEW, Node, become_leaf, signature_of
from numloom.graph.slots import PATIENCE

_SLOTS = 256
_PATIENCE = PATIENCE
_WORDS = 64
_MOST = 16
"""Operands and views that are told apart."""


class Direct:
    """A tree of recorded operations, and how it runs.

    Attributes
    ----------
    words, length : list of int, int
        The tree from its root on: numbers of signatures, -1 - n for operand n, and where views begin: the first one of
        an operand by its alignment, others by their distance from it.
    marks : list of int
        What a plan may depend on of each operand: see `walk.make_key`.
    times : list of int
        How many times each is an argument in the tree.
    parameters : list of Parameter or None
        For each operand the word that holds its number.
    frame : Frame
        Where the result lies (place 0), then each operand.
    at, met, operations, learning
        Scratch of a comparison: words, operands and operations met so far; and whether it writes them down.
    tape, launch : Tape, Launch
        The plan, and its only step over these places.
    faults : int
        How many times in a row other nodes were met in its place.
    regret, debt, weary : int, int, bool
        Nanoseconds that it would take less beside the device (see `engine.placement`), the largest debt of an operand,
        and whether that is enough to move it.
    """

    __slots__ = (
        "at", "debt", "faults", "frame", "launch", "learning", "length", "marks", "met", "operations", "parameters",
        "regret", "tape", "times", "weary", "words",
    )  # fmt: skip

    words: list[int]
    length: int
    marks: list[int]
    times: list[int]
    parameters: list[Any]
    frame: Any
    at: int
    met: int
    operations: int
    learning: bool
    tape: Tape
    launch: Launch
    faults: int
    regret: int
    debt: int
    weary: bool

    def __init__(self) -> None:
        if not cython.compiled:  # Arrays of C there.
            self.words = [0] * _WORDS
            self.marks, self.times = ([0] * _MOST for _ in range(2))
        self.parameters = [None] * _MOST
        self.faults = 0
        self.regret = self.debt = 0
        self.weary = False
        self.length = 0


class DirectTable:
    """The trees met last, each in one place."""

    __slots__ = ("slots",)

    slots: list[Any]

    def __init__(self) -> None:
        self.slots = [None] * _SLOTS


table = DirectTable()
_counters = counters
"""The same, found faster by what is compiled here."""


def clear_direct() -> None:
    """Forget all trees: plans of another device, or other settings, hold from now on."""
    table.slots = [None] * _SLOTS


def slot_of(node: Node) -> int:
    """Where a tree is kept."""
    signature = node.signature
    assert signature is not None
    number = 31 * signature.number
    arg = cython.cast(Node, node.args[0])
    if arg.kind > SCALAR and arg.signature is not None:
        number += arg.signature.number
    return number & (_SLOTS - 1)


def follow(direct: Direct, node: Node, epoch: int) -> bool:
    """Compare a tree with the one that was met (or write it down), and find its operands' addresses and numbers."""
    signature = node.signature
    if signature is None or node.kind > REDUCE or direct.at >= _WORDS - 8 or not same_word(direct, signature.number):
        return False
    direct.operations += 1
    args = node.args
    for place in range(len(args)):
        arg = cython.cast(Node, args[place])
        kind = arg.kind
        if kind <= SCALAR:
            if not follow_operand(direct, arg, epoch):
                return False
        elif kind >= OP:
            if arg.readers != 1 or arg.storages > 0 or not follow(direct, arg, epoch):
                return False
        elif not (follow_view(direct, arg, epoch) if kind == VIEW else follow_counter(direct, arg)):
            return False
        if direct.at >= _WORDS - 8:
            return False
    return True


def follow_counter(direct: Direct, node: Node) -> bool:
    """Compare a counter, of which there is nothing to take down."""
    if node.kind != IOTA or node.readers != 1 or node.storages > 0:
        return False
    direct.operations += 1
    return same_word(direct, signature_of(node).number)


def same_word(direct: Direct, word: int) -> bool:
    """Compare the next word, or write it down."""
    at = direct.at
    direct.at = at + 1
    if direct.learning:
        direct.words[at] = word
        return True
    return direct.words[at] == word


def follow_operand(direct: Direct, node: Node, epoch: int) -> bool:
    """Compare an operand."""
    if node.mark == epoch:
        node.seen += 1
    else:
        node.mark = epoch
        node.seen = 1
        node.word = 0
        if not meet(direct, node):
            return False
    return same_word(direct, -1 - node.number)


def follow_view(direct: Direct, node: Node, epoch: int) -> bool:
    """Compare a view of computed memory, or of a counter."""
    base = cython.cast(Node, node.args[0])
    signature = node.signature
    if signature is None or node.readers != 1 or node.storages > 0:
        return False
    if base.kind == IOTA:
        direct.operations += 1
        return same_word(direct, signature.number) and same_word(direct, node.attr) and follow_counter(direct, base)
    if base.kind != LEAF:
        return False
    if not follow_operand(direct, base, epoch) or not same_word(direct, signature.number):
        return False
    begin = node.attr
    if base.word == 0:
        base.word = begin + 1
        begin &= 15
    else:
        begin -= base.word - 1
    node.mark = epoch
    node.seen = 1
    return same_word(direct, begin) and meet(direct, node)


def meet(direct: Direct, node: Node) -> bool:
    """Number an operand or a view that was not met before, and compare what else counts of it."""
    number = direct.met
    if number >= _MOST:
        return False
    node.number = number
    direct.met = number + 1
    if direct.learning:
        return True
    if take_operand(direct, node, number, direct.times[number]) != direct.marks[number]:
        return False
    if node.kind == SCALAR:  # Of the dtype that the parameter block has room for.
        take_number(direct, node, number)
    return True


def take_operand(direct: Direct, node: Node, number: int, times: int) -> int:
    """Take down an operand's address; what a plan may depend on of it, as it occurs so many times."""
    mark = 2 if node.storages > 0 else 0
    if node.readers > times:
        mark += 4
    if node.kind == LEAF:
        buffer = cython.cast(Buffer, node.buffer)
        ptr = buffer.ptr
        direct.frame.addresses.put(number + 1, ptr)
        if direct.regret > 0 and not direct.learning:
            buffer.debt += direct.regret
            direct.debt = max(direct.debt, buffer.debt)
            if buffer.debt >= MOVE + buffer.nbytes // RATE:
                direct.weary = True
        if node.signature is None:
            signature_of(node)
        if buffer.pool is not None and buffer.pool.error_at:  # Beside a GPU it matters where it lies.
            mark += 128
        return mark + ((ptr & 15) << 3) + (node.signature.number << 8)  # type: ignore[union-attr]
    if node.kind == VIEW:
        begin = node.attr
        direct.frame.addresses.put(number + 1, begin + cython.cast(Buffer, cython.cast(Node, node.args[0]).buffer).ptr)
        return mark
    return mark + 1 + (node.code << 3)


def take_number(direct: Direct, node: Node, number: int) -> None:
    """Put a number into the parameter block, where it is one of its words and another one than before."""
    parameter = cython.cast(Parameter, direct.parameters[number])
    if parameter is not None:
        value = node.attr
        if value is not parameter.last:
            pack(direct.launch.linked.words, parameter.word, value, parameter.code)
            parameter.last = value


def find_direct(node: Node) -> Direct | None:
    """How a node runs that is all there is to run; None where a walk must say it."""
    if node.signature is None or node.readers > 0 or node.storages < 1:
        return None
    direct = cython.cast(Direct, table.slots[slot_of(node)])
    if direct is None:
        return None
    direct.at = 0
    direct.met = 0
    direct.operations = 0
    direct.weary = False
    direct.debt = 0
    epoch = next_epoch()
    node.mark = epoch  # For `is_under_way`.
    if not follow(direct, node, epoch) or direct.at != direct.length or direct.weary:
        return None
    return direct  # type: ignore[no-any-return]


def run_direct(direct: Direct, node: Node) -> None:
    """Run it."""
    frame = direct.frame
    try:
        run_step(direct.launch, frame, None, direct.tape)
    except BaseException:
        frame.values[0] = None  # Nobody else has that memory.
        raise
    _counters.flushes += 1
    result = cython.cast(Buffer, frame.values[0])
    frame.values[0] = None
    result.debt = direct.debt
    become_leaf(node, result)
    direct.faults = 0


def learn_direct(nodes: list[Any], count: int, tape: Tape, regret: int) -> None:
    """Keep how a walk of `count` nodes runs, if that is one launch of a kernel that is there, for its last node."""
    if count > _WORDS:  # Of every node there is a word at least.
        return
    node = nodes[count - 1]
    if node.signature is None or node.kind < OP or len(tape.steps) != 1 or node.readers > 0 or node.storages < 1:
        return
    launch = tape.steps[0]
    if len(launch.allocate) != 1 or launch.adopt or launch.copied or launch.located or launch.computed != (count - 1,):
        return
    if launch.linked is None or launch.linked.run is None or launch.linked.workspace >= 0:
        return
    slot = slot_of(node)
    found = table.slots[slot]
    if found is not None and found.faults < _PATIENCE:
        found.faults += 1
        return
    made = Direct()
    made.tape = tape
    made.launch = launch
    made.learning = True
    made.at = 0
    made.met = 0
    made.operations = 0
    epoch = next_epoch()
    node.mark = epoch
    if not follow(made, node, epoch):
        return
    made.learning = False
    made.length = made.at
    if made.operations + made.met != count:
        return
    # Other trees may have more operands before they are told apart.
    made.frame = Frame(Tape(tape.device, [], _MOST + 1))
    for place in range(count):
        arg = nodes[place]
        if arg.kind == IOTA or (arg.kind == VIEW and arg.args[0].kind == IOTA):
            continue
        if arg.kind <= VIEW:
            if arg.mark != epoch:
                return
            made.times[arg.number] = arg.seen
            made.marks[arg.number] = take_operand(made, arg, arg.number, arg.seen)
    for index in range(len(launch.numbers)):
        arg = nodes[launch.numbers[index]]
        if arg.kind != SCALAR or made.parameters[arg.number] is not None:
            return
        made.parameters[arg.number] = launch.linked.parameters[index]
    over = over_operands(launch, nodes)
    if over is None:
        return
    made.launch = over
    made.regret = regret
    table.slots[slot] = made


def over_operands(launch: Any, nodes: list[Any]) -> Launch | None:
    """Return a launch whose result is at place 0, and whose operands have places by their numbers.

    None where it reads what is no memory.
    """
    places = {(launch.computed[0], -1): 0}
    for _, number, view in rows_of(launch.reads):
        arg = nodes[view if view >= 0 else number]
        if arg.kind != LEAF and arg.kind != VIEW:
            return None
        places[number, view] = arg.number + 1
    return relocated(launch, lambda number, view: (places[number, view], 0))


__all__ = ["clear_direct", "find_direct", "learn_direct", "run_direct"]
