"""Slots: operations met before are recorded as in full, and what is wrong in a slot is found by `config.verify`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.graph import build, slots
from numloom.graph.node import Node, signature_of
from numloom.ops.elementwise import ELEMENTWISE

ADD, WHERE, NEGATIVE = ELEMENTWISE["add"], ELEMENTWISE["where"], ELEMENTWISE["negative"]


def operand(code: str, pending: bool = False) -> Node:
    array = nl.asarray(np.arange(7).astype(code))
    with nl.config(unplanned=0):
        return node_of(nl.maximum(array, array) if pending else array)


def signatures(node: Node) -> list[Any]:
    return [signature_of(each).number for each in (*node.args, node)]


@pytest.mark.parametrize("pending", [False, True])
def test_all_operands_of_a_slot_count(pending: bool) -> None:
    """Each mix of dtypes, numbers and places has a slot of its own, for one to three operands."""
    kinds: list[Any] = [operand(code, pending) for code in "?if"] + [2, 2.5, True]
    first: dict[Any, list[Any]] = {}
    for turn, (x, y) in itertools.product(range(3), itertools.product(kinds, repeat=2)):
        if type(x) is Node or type(y) is Node:
            key = ("add", id(x), id(y))
            assert first.setdefault(key, found := signatures(build.binary(ADD, x, y))) == found, turn
            key = ("where", id(x), id(y))
            found = signatures(build.elementwise(WHERE, (kinds[0], x, y)))
            assert first.setdefault(key, found) == found, turn
    assert len({tuple(found) for found in first.values()}) > 30


def test_readers_are_counted_once() -> None:
    x, mask = operand("d"), operand("?")
    for _ in range(3):
        before = x.readers, mask.readers
        node = build.binary(ADD, x, mask)  # converts the mask
        assert (x.readers, mask.readers) == (before[0] + 1, before[1] + 1)
        assert [arg.readers for arg in node.args if arg is not x] == [1]
        del node
        assert (x.readers, mask.readers) == before
        node = build.elementwise(WHERE, (mask, x, x))
        assert (x.readers, mask.readers) == (before[0] + 2, before[1] + 1)
        del node
        assert (x.readers, mask.readers) == before


def test_a_number_that_does_not_fit_is_refused_each_time() -> None:
    small = operand("b")
    for _ in range(3):
        for given in ((small, 200), (200, small)):
            with pytest.raises(OverflowError):
                build.binary(ADD, *given)
        assert build.binary(ADD, small, 100).code == small.code


def met(record: Any) -> Any:
    """What is recorded often enough to have its slot, whatever was there before."""
    return [record() for _ in range(slots.PATIENCE + 2)][-1]


def test_a_wrong_slot_is_found_under_verify() -> None:
    x = operand("d")
    right = met(lambda: build.binary(ADD, x, x))
    wrong = build.binary(ELEMENTWISE["multiply"], x, x)
    with nl.config(verify=True):
        slots.remember(ADD, (x, x), right)
        with pytest.raises(AssertionError, match="would have been recorded as"):
            slots.remember(ADD, (x, x), wrong)


def test_nothing_is_recalled_under_verify() -> None:
    x = operand("d")
    met(lambda: build.unary(NEGATIVE, x))
    assert slots.recall(NEGATIVE, x, None, ()) is not None
    with nl.config(verify=True):
        assert slots.recall(NEGATIVE, x, None, ()) is None


def test_views_and_updates_share_slots_with_operations() -> None:
    x = operand("d")
    for _ in range(slots.PATIENCE + 2):
        for begin in range(3):
            part = build.view(x, x.code, 8 * begin, build.one_tuple((3,)), build.one_tuple((8,)))
            assert (part.attr, part.shape, part.strides) == (8 * begin, (3,), (8,))
            new = build.update(x, operand("d"), 8 * begin, build.one_tuple((3,)), build.one_tuple((8,)), x.code)
            assert (new.attr, new.shape) == ((8 * begin, (3,), (8,), x.code), x.shape)
    assert slots.known_view(x.code, build.one_tuple((3,)), build.one_tuple((8,))) is not None
    assert slots.known_update(x, 8, build.one_tuple((3,)), build.one_tuple((8,)), x.code) is not None
    assert slots.known_update(x, 56, build.one_tuple((3,)), build.one_tuple((8,)), x.code) is None
