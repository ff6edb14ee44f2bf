"""Trees as programs: recorded once as instructions, and replayed for other values of their symbols.

A program is a recorded trace of `numloom.graph.again`: its operands are what the symbols stand for, its instructions
the nodes of the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from numloom.array.storage import kept_apart
from numloom.base.dtypes import ITEMSIZES
from numloom.compiled.custom_gradients import without_rules
from numloom.engine.evaluate import evaluate
from numloom.engine.waiting import Output
from numloom.graph.again import Instruction, RecordedTrace, replay
from numloom.graph.build import one_tuple
from numloom.graph.layout import c_strides
from numloom.graph.node import (
    CAST,
    FILL,
    GATHER,
    IOTA,
    LEAF,
    ROUTINE,
    SCALAR,
    SYMBOL,
    UPDATE,
    VIEW,
    Node,
    NodeSignature,
    Reader,
    hold,
    signature_by,
    signature_of,
    tracing,
    unhold,
)
from numloom.graph.source_location import INSIDE, SourceLocation
from numloom.graph.tree import Placeholder, rebuilt, recording, tree_nodes


class TreeProgram:
    """Trees whose symbols are given at each run.

    Attributes
    ----------
    placeholders : list of Placeholder
        What the operands of a run stand for, in turn; the operands must be laid out as the symbols are.
    roots, symbols : list of Node
        The trees' ends, and the symbols that operands stand for, in turn.
    results : list of int
        Numbers of the trees' ends among operands and instructions.
    recorded : RecordedTrace or None
        The instructions; None where there are none.
    several : bool
        Whether some of them are results of one routine.
    may_fail : bool
        Whether some may find in the values that they read that they cannot be computed, as indices out of range.
    """

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node]) -> None:
        self._reader = Reader()
        self._kept_apart: dict[Node, Node] = {}
        roots = without_rules(roots)
        order = tree_nodes(roots)
        self.placeholders: list[Placeholder] = [node.attr for node in inputs]
        operands = list(inputs)
        numbers: dict[int, int] = {}
        places = {id(placeholder): place for place, placeholder in enumerate(self.placeholders)}
        for node in order:
            if node.kind == SYMBOL:
                place = places.setdefault(id(node.attr), len(operands))
                if place == len(operands):
                    operands.append(node)
                    self.placeholders.append(node.attr)
                numbers[id(node)] = place
        self.roots = list(roots)
        instructions: list[Instruction] = []
        scalars: dict[Any, int] = {}

        def constant(node: Node) -> int:
            """The number of a value that depends on nothing; equal numbers are one, so that work on them may be one."""
            key = (node.code, type(node.attr), repr(node.attr)) if node.kind == SCALAR else None
            found = scalars.get(key)
            if found is None or key is None:
                memory = node.args[0] if node.kind == VIEW else node
                if memory.kind > VIEW and not memory.tree:
                    evaluate([memory])  # Each call would compute it again, of what its arrays hold then.
                if memory.kind == LEAF and memory.attr is None:  # Others may write there unseen.
                    self._kept_apart[node] = kept_apart(node)
                    node = self._kept_apart[node]
                instructions.append(_constant(node))
                if instructions[-1].signature is None:
                    # It is read in each call: who writes to its array must leave it as it is.
                    self._reader.read(node)
                found = scalars[key] = len(operands) + len(instructions) - 1
            return found

        def number(node: Node) -> int:
            found = numbers.get(id(node))
            if found is None:  # A value from outside of the tree.
                found = numbers[id(node)] = constant(node)
            return found

        runs_early = any([node.kind == ROUTINE for node in order])

        def changes_memory(node: Node) -> bool:
            """Whether a node may change what it is made of before all that reads that is recorded."""
            return (node.kind == ROUTINE and node.op_def.op_def.in_place) or (node.kind == UPDATE and runs_early)

        for node in order:
            if node.kind == SCALAR:
                numbers[id(node)] = constant(node)
            elif node.kind != SYMBOL:
                args = [number(arg) for arg in node.args]
                if changes_memory(node) and _is_needed(node.args[0], roots):
                    instructions.append(Instruction(_copy_of(node.args[0]), args[:1]))
                    args[0] = len(operands) + len(instructions) - 1
                instructions.append(_link(node, args))
                numbers[id(node)] = len(operands) + len(instructions) - 1
        self.results = [number(root) for root in roots]
        self.symbols = list(operands)
        self.may_fail = any([may_fail(node) for node in order])
        self.several = any([isinstance(instruction.call, Output) for instruction in instructions])
        # A chain gives its last value, and all of them in the list that grows.
        self.recorded = RecordedTrace(None, operands, instructions, None, tuple(self.results)) if instructions else None

    def run_in_steps(self, operands: list[Node]) -> list[Node]:
        """What the trees give for operands, each value of them computed alone, and kept until all are.

        So nothing is written where anything else lies: what `config.verify` compares calls with.
        """
        kept = list(operands)  # They are read again.
        for node in kept:
            hold(node)

        def compute(node: Node) -> None:
            if node.kind >= VIEW and not node.tree:
                kept.append(node.args[0] if node.kind == VIEW else node)
                hold(kept[-1])
                evaluate([kept[-1]])

        try:
            with recording(False):
                known = {**self._kept_apart, **dict(zip(self.symbols, operands, strict=True))}
                return rebuilt(self.roots, known, compute, anew=True)
        finally:
            for node in kept:
                unhold(node)

    def run(self, operands: list[Node]) -> list[Node]:
        """Record the trees for operands; the list grows."""
        if self.recorded is not None:
            # What a routine of several results gave is kept as long as the tree is computed.
            with recording(tracing()) if self.several else nullcontext():
                replay(self.recorded, operands)
        return [operands[number] for number in self.results]


def may_fail(node: Node) -> bool:
    """Whether values may say of an operation that it cannot be computed, which beside a GPU nobody knows at once."""
    if node.kind == GATHER:
        return node.op_def is not INSIDE
    if node.kind != ROUTINE:
        return False
    call: Any = node.op_def
    if getattr(call, "complaints", None) or getattr(call, "may_fail", False):
        return True
    return any([isinstance(option, SourceLocation) for option in call.options.values()])


def pending_may_fail(nodes: Sequence[Node]) -> bool:
    """`may_fail` of what is to be computed for these values."""
    stack, seen = [node for node in nodes if node.args], set()
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            if may_fail(node):
                return True
            stack += node.args
    return False


def _is_needed(old: Node, roots: Sequence[Node]) -> bool:
    """Whether a value that is changed where it lies is, or may be, needed by others."""
    return (
        not old.tree or old.kind == SYMBOL or old.readers > 1 or old.storages > 0 or any([old is one for one in roots])
    )


def _copy_of(node: Node) -> NodeSignature:
    """The form of a copy of a value."""
    strides = node.strides if node.kind != VIEW else one_tuple(c_strides(node.shape, ITEMSIZES[node.code]))
    return signature_by(CAST, None, node.code, node.shape, strides, node.size, None)


def _constant(node: Node) -> Instruction:
    """The instruction for a value from outside of the tree: what is generated is generated anew."""
    if node.kind in (SCALAR, FILL, IOTA):
        return Instruction(signature_of(node), (), node.attr)
    return Instruction(None, (), node)


def _link(node: Node, args: list[int]) -> Instruction:
    """The instruction that records a node."""
    kind = node.kind
    if kind == ROUTINE:
        return Instruction(None, args, None, node.op_def)
    if kind == VIEW:
        return Instruction(signature_of(node), args, node.attr)
    if kind == GATHER:
        return Instruction(signature_of(node), args, node.op_def)
    return Instruction(signature_of(node), args)


__all__ = ["TreeProgram", "pending_may_fail"]
