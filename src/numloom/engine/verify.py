"""``config.verify``: what is remembered runs beside the full way, and both must give the same bits.

Pending values are computed twice: one by one, each by a plan that is made for it alone, and as ever (together, by
plans, resized plans, direct evaluation and graphs that are remembered). Who takes other short ways (replayed calls,
routines by addresses) compares by `same_value` and `same_bits`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.base.later import load
from numloom.engine.link import tape_of
from numloom.engine.placement import here
from numloom.engine.reference import order_of
from numloom.engine.state import UNSET
from numloom.engine.tape import run_plan
from numloom.engine.walk import walk
from numloom.graph.node import FILL, LEAF, VIEW, Node, new_node

_PLAN = "numloom.plan.plan"
Host = np.ndarray[Any, Any]
Reader = Callable[[Node, Any], Host]


class VerificationError(AssertionError):
    """A remembered way and the full way gave different things: a defect of numloom, please report it."""


def computed_apart(roots: Sequence[Node], device: Any, read: Reader) -> list[Host | None]:
    """The bytes of pending values, each computed alone; None of those that read memory that nothing was written to.

    `read` gives the bytes of a computed value.
    """
    twins: dict[int, Node] = {}
    unset: set[int] = set()
    for node in order_of(list(roots)):
        if is_unset(node) or any([id(arg) in unset for arg in node.args]):
            unset.add(id(node))
        if node.kind == LEAF:
            twin = twins[id(node)] = here(node, device)
            if twin is not node:
                twin.storages = 1
            continue
        args = tuple([twins[id(arg)] for arg in node.args])
        twin = new_node(node.kind, node.op_def, args, node.code, node.shape, node.strides, node.size, node.attr)
        twin.storages = 1  # Others may read it later on, so nothing is written in its place.
        twins[id(node)] = twin
        if node.kind > VIEW:
            _run_alone(twin, device)
    found: list[Host | None] = []
    for root in roots:
        twin = twins[id(root)]
        if twin.buffer is None:
            _run_alone(twin, device)
        found.append(None if id(root) in unset else read(twin, device).copy())
    return found


def is_unset(value: Node) -> bool:
    """Whether nothing was written yet to the memory of a value."""
    return value.attr is UNSET if value.kind == LEAF else value.kind == FILL and value.attr is None


def _run_alone(node: Node, device: Any) -> None:
    """Compute one value by a plan of its own."""
    met = walk([node])
    plan = load(_PLAN).make_plan(met.nodes, [node.number], short_rows=device.short_rows, cluster=device.cluster)
    run_plan(tape_of(plan, device, 0), met.nodes)


def check_computed(roots: Sequence[Node], expected: Sequence[Host | None], device: Any, read: Reader) -> None:
    """Compare values that have been computed with what `computed_apart` gave."""
    for root, bits in zip(roots, expected, strict=True):
        if bits is not None and root.buffer is not None:
            same_bits(read(root, device), bits, root.code, f"a value of shape {root.shape}")


def same_value(got: Node, want: Node, device: Any, read: Reader, what: str) -> None:
    """Compare two computed values."""
    forms = [(node.code, node.shape, strides_that_count(node.shape, node.strides)) for node in (got, want)]
    if forms[0] != forms[1]:
        raise VerificationError(f"{what}: dtype code, shape and strides {forms[0]}, in full {forms[1]}")
    same_bits(read(got, device), read(want, device), got.code, what)


def strides_that_count(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides by which elements are reached: 0 of axes that have one, and of all where there are none.

    The others follow from how a value was made, and ways that give the same array differ in them.

    Examples
    --------
    >>> strides_that_count((3, 1, 2), (16, 8, 8)), strides_that_count((2, 0), (8, 8))
    ((16, 0, 8), (0, 0))
    """
    if 0 in shape:
        return (0,) * len(shape)
    return tuple([stride if extent > 1 else 0 for extent, stride in zip(shape, strides, strict=True)])


def same_bits(got: Host, want: Host, code: int, what: str) -> None:
    """Compare the bytes of elements of one dtype; NaN is NaN, and true is true.

    What lies where nothing was written yet (`empty`) may be no truth value, and becomes one where it is copied.
    """
    if np.array_equal(got, want):
        return
    dtype = DTYPES[code]
    one, other = (np.ascontiguousarray(part).view(np.uint8).reshape(-1).view(dtype) for part in (got, want))
    if dtype.kind == "c":
        one, other = one.view(one.real.dtype), other.view(other.real.dtype)
    itemsize = ITEMSIZES[code] // (2 if dtype.kind == "c" else 1)
    words = f"u{itemsize}"
    differs = one.view(words) != other.view(words)
    if dtype.kind == "b":
        differs = (one.view(words) != 0) != (other.view(words) != 0)
    if dtype.kind not in "biu":
        with np.errstate(invalid="ignore"):  # which NaN of ml_dtypes may raise
            differs &= ~((one != one) & (other != other))
    if differs.any():
        at = np.flatnonzero(differs)
        shown = ", ".join([f"[{k}] {one[k]!r}, in full {other[k]!r}" for k in at[:3]])
        raise VerificationError(f"{what}: {at.size} of {one.size} numbers differ: {shown}")


__all__ = [
    "VerificationError",
    "check_computed",
    "computed_apart",
    "is_unset",
    "same_bits",
    "same_value",
    "strides_that_count",
]
