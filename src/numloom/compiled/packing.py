"""Trees as plain data, to be pickled: a tuple for each node, and NumPy arrays for what it reads."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.api.products import product
from numloom.array.storage import new_storage
from numloom.base.dtypes import DTYPES
from numloom.compiled.custom_gradients import WithRule
from numloom.compiled.loops import Loop, TracedBody
from numloom.compiled.shared import SharedPlaceholder
from numloom.engine import routines
from numloom.engine.evaluate import download_value, leaf_from_host
from numloom.engine.routines import Call, Change
from numloom.engine.waiting import KernelOutput, MatrixProduct, Output, Part
from numloom.graph.node import (
    FILL,
    GATHER,
    IOTA,
    LEAF,
    OP,
    REDUCE,
    ROUTINE,
    SCALAR,
    SYMBOL,
    Node,
    new_node,
    new_number,
    register,
)
from numloom.graph.source_location import INSIDE, here
from numloom.graph.tree import Placeholder, recording, symbol_node, tree_nodes
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS
from numloom.ops.routines import ROUTINES
from numloom.ops.special import SPECIAL

Packed = tuple[Any, ...]


def _reduced(placeholder: Placeholder) -> tuple[Any, ...]:
    value = placeholder.value
    known = None if value is None else download_value(value)
    return _restored, (placeholder.name, known, placeholder.stream, isinstance(placeholder, SharedPlaceholder))


def _restored(name: str, value: Any, stream: Any = None, shared: bool = False) -> Placeholder:
    """The placeholder that was pickled: one for all trees of one pickle.

    Shared variables and streams of random numbers go on from what they were then, apart from the old ones.
    """
    if value is None:
        return Placeholder(name)
    with recording(False):
        node = leaf_from_host(np.ascontiguousarray(value).reshape(np.shape(value)))
    if shared:
        return SharedPlaceholder(name, new_storage(node))
    # Begins and keys of blocks are numbers, by which draws are put in turn.
    return Placeholder(name, node if stream is None else new_number(int(value), node.code), stream)


copyreg.pickle(Placeholder, _reduced)
copyreg.pickle(SharedPlaceholder, _reduced)


def _name_of(op_def: Any) -> tuple[str, Any]:
    """By which name which table has an op definition; of a user's kernel how it is made."""
    for name, table in (("elementwise", ELEMENTWISE), ("special", SPECIAL), ("reduction", REDUCTIONS)):
        found = table.get(op_def.name)
        if found is not None and found is op_def:
            return name, str(found.name)
    if op_def.recipe is not None:
        return "recipe", op_def.recipe
    raise TypeError(f"a tree with {op_def.name}, an operation of its user's, cannot be pickled")


def _named(table: str, name: Any) -> Any:
    """The op definition of that name in a table, or made by its recipe."""
    if table == "recipe":
        make, *arguments = name
        return make(*arguments)
    return _TABLES[table][name]


def _call(call: Any) -> Packed:
    """A routine's call."""
    kept = {name: complaint for name, complaint in getattr(call, "complaints", {}).items()}
    if isinstance(call, Call):
        signature = call.signature
        return "call", call.op_def.name, call.options, kept, signature.code, signature.shape, signature.strides
    if isinstance(call, Change):
        return "change", call.op_def.name, call.options, kept, call.seen
    if isinstance(call, KernelOutput):
        return "kernel", call
    if isinstance(call, Output):
        return "output", call.op_def.name, call.options, call.op_def.number, call.shape, call.code
    if isinstance(call, MatrixProduct):
        return "product", call.op_def.name, call.options, call.strides
    if isinstance(call, WithRule):
        return "rule", call.gradient, call.form, call.name, call.names
    if isinstance(call, Loop):
        condition = None if call.condition is None else _body(call.condition)
        bodies = [_body(body) for body in call.bodies]
        return "loop", bodies, condition, call.again, call.first, call.steps, call.forms, call.states
    raise TypeError(f"a tree with {call.op_def.name} cannot be pickled")


def _body(body: TracedBody) -> Packed:
    """What a loop repeats."""
    rows, numbers = pack_all([*body.likes, *body.roots])
    return rows, numbers, len(body.likes), body.forms, len(body.invariant)


def _unpacked_body(packed: Packed, rest: list[Node]) -> TracedBody:
    """The body again; what it reads beside the state is taken from the loop's operands."""
    rows, numbers, likes, forms, count = packed
    nodes = unpack_all(rows)
    ends = [nodes[number] for number in numbers]
    invariant = [rest.pop(0) for _ in range(count)]
    return TracedBody.of_trees(ends[likes:], ends[:likes], forms, invariant)


def _called(packed: Packed, args: Sequence[Node]) -> Any:
    if packed[0] == "kernel":
        return packed[1]
    if packed[0] == "rule":
        return WithRule(*packed[1:])
    if packed[0] == "loop":
        bodies, condition, again, first, steps, forms, states = packed[1:]
        rest = list(args[states:])
        unpacked = [_unpacked_body(body, rest) for body in bodies]
        decides = None if condition is None else _unpacked_body(condition, rest)
        return Loop(unpacked, again, decides, first, steps, forms, states)
    kind, name, options = packed[:3]
    if kind == "product":
        return MatrixProduct(packed[3], product)
    if kind == "output":
        number, shape, code = packed[3:]
        return Output(Part(name, number), options, shape, code, routines.call)
    given = {**options, **{option: here(complaint) for option, complaint in packed[3].items()}}
    if kind == "call":
        code, shape, strides = packed[4:]
        return Call(ROUTINES[name], code, shape, strides, given)
    return Change(name, packed[4], given)


def pack(root: Node) -> Packed:
    """A tree as data."""
    return (pack_all([root])[0],)


def pack_all(roots: Sequence[Node]) -> tuple[list[Packed], list[int]]:
    """Trees as data, and which of its rows are their ends."""
    rows: list[Packed] = []
    numbers: dict[int, int] = {}

    def add(node: Node, row: Packed) -> None:
        numbers[id(node)] = len(rows)
        rows.append(row)

    for node in tree_nodes(roots):
        for arg in node.args:
            if id(arg) not in numbers:
                add(arg, _leaf(arg))
        args = tuple([numbers[id(arg)] for arg in node.args])
        head: tuple[Any, ...] = (node.kind, args, node.code, node.shape, node.strides)
        if node.kind == ROUTINE:
            add(node, (*head, _call(node.op_def)))
        elif node.kind == GATHER:
            add(node, (*head, node.attr, None if node.op_def is INSIDE else node.op_def.complaint))
        elif node.kind in (OP, REDUCE):
            add(node, (*head, node.attr, _name_of(node.op_def)))
        else:
            add(node, (*head, node.attr))
    for root in roots:
        if id(root) not in numbers:
            add(root, _leaf(root))
    return rows, [numbers[id(root)] for root in roots]


def _leaf(node: Node) -> Packed:
    """A value from outside of the tree."""
    if node.kind in (SCALAR, FILL, IOTA):
        return node.kind, (), node.code, node.shape, node.strides, node.attr
    return LEAF, (), node.code, node.shape, node.strides, download_value(node)


_TABLES: dict[str, Any] = {"elementwise": ELEMENTWISE, "special": SPECIAL, "reduction": REDUCTIONS}


def unpack(rows: list[Packed]) -> Node:
    """The tree again."""
    return unpack_all(rows)[-1]


def unpack_all(rows: list[Packed]) -> list[Node]:
    """All values of trees again."""
    nodes: list[Node] = []
    for kind, numbers, code, shape, strides, attr, *more in rows:
        args = tuple([nodes[number] for number in numbers])
        size = int(np.prod(shape, dtype=np.int64))
        if kind == LEAF:
            with recording(False):
                nodes.append(leaf_from_host(np.asarray(attr, DTYPES[code]), strides))
        elif kind == SCALAR:
            nodes.append(new_number(attr, code))
        elif kind == SYMBOL:
            register.symbols = True
            nodes.append(symbol_node(attr, code, shape, strides))
        else:
            op_def: Any = None
            if kind == ROUTINE:
                op_def, attr = _called(attr, args), None
            elif kind == GATHER:
                op_def = INSIDE if more[0] is None else here(more[0])
            elif kind in (OP, REDUCE):
                op_def = _named(*more[0])
            nodes.append(new_node(kind, op_def, args, code, shape, strides, size, attr))
    return nodes


__all__ = ["pack", "pack_all", "unpack", "unpack_all"]
