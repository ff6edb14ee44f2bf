# cython: boundscheck=False
"""What plans for several sizes have in common: a walk's symbolic key, its sizes, and a guard trace played again."""

from __future__ import annotations

from array import array
from typing import Any

from numloom.base.later import Later
from numloom.graph.node import FILL, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW, Node
from numloom.plan.nearby import nearby_views
from numloom.plan.sizes import (
    ADD,
    AND,
    BIT_LENGTH,
    CALL,
    EQ,
    FLOORDIV,
    GE,
    ITEM,
    LSHIFT,
    LT,
    MOD,
    MUL,
    NE,
    OR,
    RSHIFT,
    SUB,
    Entry,
)

hashlib = Later("hashlib")


def symbolic_key(nodes: list[Node], roots: list[Node]) -> tuple[bytes, tuple[Any, ...], list[int]]:
    """All that a plan depends on but for sizes, as a digest and what that counts by place; and the sizes.

    Sizes are the extents of each different shape, the strides of each different order, and offsets of views over
    memory that is still to be computed, or changes; what is equal is part of the symbolic key. Counted by place are op
    definitions, attributes and distances of views. So the digest is the same in each process.
    """
    words: list[int] = [len(roots)]
    sizes: list[int] = []
    things: dict[Any, int] = {}
    shapes: dict[Any, int] = {}
    orders: dict[Any, int] = {}
    updates = False
    nearby = nearby_views(nodes)
    for node in roots:
        words.append(node.number)
    for node in nodes:
        if node.kind == UPDATE:
            updates = True
    for node in nodes:
        kind = node.kind
        word = node.code * 16 + kind
        if node.storages:
            word += 1024
        if node.readers > node.seen:
            word += 2048
        words.append(word + 4096 * len(node.args))
        if kind == SCALAR:
            continue
        for arg in node.args:
            words.append(arg.number)
        if kind in (OP, REDUCE):
            words.append(_place_of(node.op_def, things))
        words.append(_slot_of(node.shape, shapes, sizes))
        words.append(_slot_of(node.strides, orders, sizes))
        if kind == LEAF:
            words.append(node.buffer.ptr & 15)
        elif kind == VIEW:
            base = node.args[0]
            number = node.attr
            if base.buffer is None or updates:
                sizes.append(number)
            else:
                words.append(number & 15)
            if base.buffer is not None:
                first, by = nearby.get(node.number, (-1, ()))
                words.append(first)
                words.append(_place_of(by, things))
        elif kind == FILL:
            words.append(node.attr is None)
        elif kind == UPDATE:
            offset, shape, strides, code = node.attr
            sizes.append(offset)
            words.append(_slot_of(shape, shapes, sizes))
            words.append(_slot_of(strides, orders, sizes))
            words.append(code)
        elif kind > VIEW and kind != OP:
            words.append(_place_of(node.attr, things))
    return hashlib.blake2b(array("q", words).tobytes(), digest_size=16).digest(), tuple(things), sizes


def _place_of(thing: Any, known: dict[Any, int]) -> int:
    """Which of the known things this is; a new one is the next."""
    return known.setdefault(thing, len(known))


def _slot_of(numbers: tuple[int, ...], known: dict[Any, int], sizes: list[int]) -> int:
    """Which of the known tuples this is; a new one adds its numbers to the sizes (-1 and less: so many)."""
    slot = known.get(numbers)
    if slot is None:
        known[numbers] = len(known)
        sizes.extend(numbers)
        return -1 - len(numbers)
    return slot


def play(entries: list[Entry], values: list[Any]) -> bool:
    """Compute what a guard trace computes, in place; False as soon as something that it asks is not so."""
    for what, a, b, target in entries:
        if what >= CALL and what <= ITEM:
            if what == CALL:
                values[target] = a(*[values[slot] for slot in b])
            else:
                values[target] = values[a][b]
            continue
        first = a
        second = b
        x = values[first]
        y = values[second]
        if what == EQ:
            if x != y:
                return False
        elif what == NE:
            if x == y:
                return False
        elif what == LT:
            if x >= y:
                return False
        elif what == GE:
            if x < y:
                return False
        elif what == MUL:
            values[target] = x * y
        elif what == ADD:
            values[target] = x + y
        elif what == SUB:
            values[target] = x - y
        elif what == FLOORDIV:
            values[target] = x // y
        elif what == MOD:
            values[target] = x % y
        elif what == LSHIFT:
            values[target] = x << y
        elif what == RSHIFT:
            values[target] = x >> y
        elif what == AND:
            values[target] = x & y
        elif what == OR:
            values[target] = x | y
        elif what == BIT_LENGTH:
            values[target] = x.bit_length()
        else:
            values[target] = x / y
    return True
