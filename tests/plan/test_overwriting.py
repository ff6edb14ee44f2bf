"""What may be written in place: whatever is allowed gives the same values in every order of the elements."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.device.registry import current
from numloom.engine.evaluate import leaf_memory
from numloom.engine.reference import compute, flat_bytes
from numloom.graph.layout import Layout
from numloom.graph.node import LEAF, UPDATE, Node
from numloom.plan.overwriting import reads_apart

SLICES = [slice(None), slice(None, None, -1), slice(1, None), slice(None, -1), slice(None, None, 2), slice(1, None, 2),
          slice(-2, None, -2), slice(0, 1), slice(-1, None), slice(2, 0, -1)]  # fmt: skip


def parts(draw: st.DataObject, x: Any) -> Any:
    """A view of an array."""
    turn = draw.draw(st.sampled_from(["", "", "T", "diagonal", "part", "whole"]))
    if turn == "whole":
        return x
    if turn == "T":
        x = x.T
    elif turn == "diagonal" and x.ndim == 2 and x.shape[0] == x.shape[1]:
        x = x.reshape(-1)[:: x.shape[0] + 1]
    elif turn == "part" and x.dtype.kind == "c":
        x = draw.draw(st.sampled_from([x.real, x.imag]))
    return x[tuple(draw.draw(st.sampled_from(SLICES)) for _ in range(x.ndim))]


def expression(draw: st.DataObject, x: Any, shape: tuple[int, ...]) -> Any:
    """A value of this shape that reads an array at some places."""

    def read() -> Any:
        found = parts(draw, x)
        if found.ndim > len(shape):
            found = found[0]
        return found[tuple(slice(n) for n in shape[len(shape) - found.ndim :])]

    value = read()
    for _ in range(draw.draw(st.integers(0, 2))):
        how = draw.draw(st.sampled_from(["add", "negative", "gathered", "largest", "cast", "reversed"]))
        if how == "add":
            value = value + read()
        elif how == "negative":
            value = -value
        elif how == "gathered" and value.shape[0]:
            value = value[nl.asarray(np.arange(value.shape[0])[::-1].copy())]
        elif how == "largest" and value.size and value.dtype.kind != "c":
            value = value + value.max()
        elif how == "cast":
            value = value.astype("c16").imag if value.dtype.kind == "f" else value.real
        elif how == "reversed":
            value = value[::-1] + 0
    return value


def update_of(array: Any) -> Node | None:
    """The update that the memory of an array is waiting for."""
    node: Node = array.storage.value
    return node if node.kind == UPDATE else None


def one_by_one(update: Node, order: list[int]) -> np.ndarray[Any, Any]:
    """The memory after the elements of an update were computed and written one after another."""
    base, value = update.args
    offset, shape, strides, code = update.attr
    memory = {id(base): bytearray(base_bytes(base))}

    def read(node: Node) -> Any:
        return np.frombuffer(memory.setdefault(id(node), bytearray(base_bytes(node))), np.uint8)

    target = np.ndarray(shape, DTYPES[code], memory[id(base)], offset, strides)
    for place in order:
        at = np.unravel_index(place, shape)
        target[at] = compute([value], read)[0][at]
    return np.frombuffer(memory[id(base)], np.uint8)


def leaf_bytes(node: Node) -> Any:
    return leaf_memory(node, current())


def base_bytes(node: Node) -> bytes:
    return leaf_memory(node, current()).tobytes()


@settings(max_examples=300)
@given(st.data(), st.randoms(use_true_random=False))
def test_what_may_run_in_place_may_run_in_any_order(draw: st.DataObject, order: random.Random) -> None:
    shape = draw.draw(st.sampled_from([(6,), (3, 3), (2, 3), (2, 2, 2)]))
    dtype = draw.draw(st.sampled_from(["f8", "c16"]))
    host = np.arange(1.0, np.prod(shape) + 1).astype(dtype).reshape(shape)
    x = nl.asarray(host * (1 + 2j) if dtype == "c16" else host)
    nl.evaluate(x)
    target = parts(draw, x)
    try:
        target[...] = expression(draw, x, target.shape)
    except (TypeError, ValueError, IndexError):
        return
    update = update_of(x)
    if update is None or update.args[0].kind != LEAF:
        return
    base, value = update.args
    offset, region, strides, code = update.attr
    memory = [True] * 10_000
    number(update, memory)
    places = list(range(int(np.prod(region))))
    apart = reads_apart(memory, value, base, Layout(offset, region, strides), ITEMSIZES[code])
    event(f"apart: {apart}")
    if apart:
        order.shuffle(places)
        at_once = flat_bytes(compute([update], leaf_bytes)[0])
        assert one_by_one(update, places).tobytes() == at_once.tobytes()


def number(node: Node, memory: list[bool]) -> None:
    """Number the nodes that a value leads to; only leaves are memory."""
    seen: dict[int, Node] = {}
    stack = [node]
    while stack:
        each = stack.pop()
        if id(each) not in seen:
            each.number = len(seen)
            memory[each.number] = each.kind == LEAF
            seen[id(each)] = each
            stack.extend(each.args)


@pytest.mark.parametrize("part", [slice(None, None, -1), slice(5, None, -1), slice(6, None)], ids=str)
@pytest.mark.parametrize("reader", ["same", "sum", "turned", "part", "index", "after"])
def test_a_value_that_another_kernel_computes_before_it_is_written(reader: str, part: slice) -> None:
    """What reads what it overwrites, and was computed inline for a kernel before: it cannot go to memory any more."""
    found = []
    for xp in (np, nl):
        with nl.config(unplanned=0):
            x = xp.asarray(np.arange(12.0).reshape(12))
            value = (x * 2 + 1)[: len(range(12)[part])]
            if reader == "same":
                other = value % 3
            elif reader == "sum":
                other = (value * value).sum(keepdims=True)
            elif reader == "turned":
                other = value[::-1] - 1
            elif reader == "part":
                other = value[2:] - 1
            elif reader == "index":
                other = value[xp.asarray([3, 0, 1])] - 1
            x[part] = value
            if reader == "after":
                other = value % 3
            del value
            last = x + 1
            del x
            found.append([np.array(last) if xp is np else last.get(), np.array(other) if xp is np else other.get()])
    for want, have in zip(*found, strict=True):
        np.testing.assert_array_equal(have, want)
