"""Trees as plain data, to be pickled: a tuple for each node, and NumPy arrays for what it reads."""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from numloom.api.products import product
from numloom.base.dtypes import DTYPES
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
    return _restored, (placeholder.name, None if value is None else download_value(value))


def _restored(name: str, value: Any) -> Placeholder:
    """The placeholder that was pickled: one for all trees of one pickle; a shared variable's keeps its value alone."""
    if value is None:
        return Placeholder(name)
    with recording(False):
        return Placeholder(name, leaf_from_host(np.ascontiguousarray(value).reshape(np.shape(value))))


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
    raise TypeError(f"a tree with {call.op_def.name} cannot be pickled")


def _called(packed: Packed) -> Any:
    if packed[0] == "kernel":
        return packed[1]
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
    rows: list[Packed] = []
    numbers: dict[int, int] = {}

    def add(node: Node, row: Packed) -> None:
        numbers[id(node)] = len(rows)
        rows.append(row)

    for node in tree_nodes([root]):
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
    return (rows,)


def _leaf(node: Node) -> Packed:
    """A value from outside of the tree."""
    if node.kind in (SCALAR, FILL, IOTA):
        return node.kind, (), node.code, node.shape, node.strides, node.attr
    return LEAF, (), node.code, node.shape, node.strides, download_value(node)


_TABLES: dict[str, Any] = {"elementwise": ELEMENTWISE, "special": SPECIAL, "reduction": REDUCTIONS}


def unpack(rows: list[Packed]) -> Node:
    """The tree again."""
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
            nodes.append(symbol_node(attr, code, shape, strides))
        else:
            op_def: Any = None
            if kind == ROUTINE:
                op_def, attr = _called(attr), None
            elif kind == GATHER:
                op_def = INSIDE if more[0] is None else here(more[0])
            elif kind in (OP, REDUCE):
                op_def = _named(*more[0])
            nodes.append(new_node(kind, op_def, args, code, shape, strides, size, attr))
    return nodes[-1]


__all__ = ["pack", "unpack"]
