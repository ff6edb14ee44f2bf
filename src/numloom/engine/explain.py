"""What is recorded for a value and how it would run, as data; nothing runs and nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from numloom.base.config import config
from numloom.base.dtypes import CHARS, DTYPES, ITEMSIZES
from numloom.device.registry import current
from numloom.emit.cost import work_of
from numloom.emit.emit import emit
from numloom.engine.guard import guard, refused
from numloom.engine.walk import walk
from numloom.graph.node import LEAF, SCALAR, UPDATE, VIEW, Node, name_of
from numloom.plan.plan import make_plan
from numloom.plan.step import Step

SHOWN = 200
"""Most nodes and steps that a text shows; what is left out is counted."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of the tree: its number in the walk, what it is, and the numbers of its arguments."""

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    args: tuple[int, ...]
    held: bool
    detail: str


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """One step: its space, the values it computes, its text and what it moves and computes.

    `bytes_read` counts the memory of each buffer once, however often it is read.
    """

    mode: str
    space: tuple[int, ...]
    kept: int
    computes: tuple[int, ...]
    reads: tuple[int, ...]
    bytes_read: int
    bytes_written: int
    operations: int
    instructions: int
    text: str


@dataclass(frozen=True, slots=True)
class Structure:
    """Tree and plan of a value."""

    root: int
    nodes: tuple[TreeNode, ...]
    steps: tuple[KernelPlan, ...]


def structure(root: Node, *others: Node) -> Structure:
    """Tree and plan of what is recorded for `root`, and for others that are computed with it."""
    guard.take()  # A walk leaves marks, which another thread's must not find.
    try:
        if guard.running:
            raise refused()
        return _structure(root, *others)
    finally:
        guard.give()


def _structure(root: Node, *others: Node) -> Structure:
    found = walk([root, *others])
    nodes = tuple(_describe(node) for node in found.nodes)
    if root.kind in (LEAF, SCALAR):
        return Structure(root.number, nodes, ())
    device = current()
    numbers = list(dict.fromkeys([each.number for each in (root, *others)]))
    plan = make_plan(found.nodes, numbers, short_rows=device.short_rows, cluster=device.cluster)
    return Structure(root.number, nodes, tuple(_step(step) for step in plan.steps))


def _describe(node: Node) -> TreeNode:
    name = name_of(node)
    detail = ""
    if node.kind == VIEW:
        detail = f"at byte {node.attr}"
    elif node.kind == UPDATE:
        detail = f"at byte {node.attr[0]}, shape {node.attr[1]}"
    elif node.kind != LEAF and node.attr is not None and not node.args:
        detail = f"{node.attr}"
    elif name in ("reduce",) or (node.attr is not None and node.args and isinstance(node.attr, tuple)):
        detail = f"axes {node.attr[0]}"
    return TreeNode(
        node.number, name, node.shape, DTYPES[node.code].name, node.strides,
        tuple(arg.number for arg in node.args), bool(node.storages), detail,
    )  # fmt: skip


def moved(step: Step) -> tuple[dict[int, int], int]:
    """Bytes that a step's kernel reads of each value, however often it does, and those that it writes."""
    program = step.program
    assert program is not None
    read: dict[int, int] = {}
    written = 0
    for operand, binding in zip(program.operands, step.bindings, strict=True):
        shape = program.shape[: program.kept] if operand.post else program.shape
        touched = prod(e for e, s in zip(shape, operand.strides, strict=True) if s)
        touched *= max([inner.shape[0] for inner in program.nested if operand.inner and operand.inner[0]], default=1)
        if operand.written:
            written += touched * ITEMSIZES[operand.code]
        else:
            read[binding.number] = max(read.get(binding.number, 0), touched * ITEMSIZES[operand.code])
    return read, written


def _step(step: Step) -> KernelPlan:
    mode = "in place" if step.adopt else "copy, then kernel" if step.copy else "kernel"
    program = step.program
    if program is None:
        return KernelPlan("allocate", (), 0, step.computed, (), 0, 0, 0, 0, "")
    if program.box is not None:
        mode = "kernel, old and new into fresh memory"
    if program.nested:
        extents = ", ".join(str(inner.shape[0]) for inner in program.nested)
        mode = f"kernel, rows of {extents} reduced inside"
    read, written = moved(step)
    operations, instructions = work_of(program)
    return KernelPlan(
        mode, program.shape, program.kept, step.computed, tuple(read), sum(read.values()) + (step.copy or (0, 0, 0))[2],
        written + (step.copy or (0, 0, 0))[2], operations, instructions,
        emit(program, config.fast_math and current().fast_math).text,
    )  # fmt: skip


__all__ = ["CHARS", "KernelPlan", "Structure", "TreeNode", "moved", "structure"]
