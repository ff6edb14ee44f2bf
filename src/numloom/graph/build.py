"""The only constructors of values; shapes, dtypes and axes are checked here, once.

Everything is decided when it is recorded: the result's dtype by NumPy's own rules (asked once for
each combination and kept in a table), its shape, and its physical order (NumPy's "K" order of the
operands, so that a transposed input gives a transposed, linearly written result).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F64, I64, ITEMSIZES, KINDS
from numloom.base.integers import as_extent, no_axis
from numloom.base.low import cast_host
from numloom.base.memo import Memo
from numloom.graph.layout import (
    broadcast_shapes,
    broadcast_strides,
    c_strides,
    check_bytes,
    is_dense_order,
    k_strides,
    reduced_strides,
)
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
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    Node,
    count_reader,
    count_recorded,
    forget_signatures,
    new_node,
    new_number,
    recorded_as,
    recorded_as2,
    scalar_as,
    signature_by,
    signature_of,
    viewed,
    weak_code,
)
from numloom.graph.slots import keep_layout, known_update, known_view, recall, remember
from numloom.graph.source_location import INSIDE, OUT_OF_BOUNDS, Complaint, here
from numloom.ops.elementwise import resolve

_NO_MORE: tuple[Any, ...] = ()
_NONE = 31
"""Stands for the code of a second operand where there is none."""
WEAK_TYPES = {WEAK_INT: int, WEAK_FLOAT: float, WEAK_COMPLEX: complex}

_rules: dict[Any, list[Any]] = {}
"""For each op definition a table of loops, by 32 * code of the first operand + code of the second (31: none)."""

_sizes = ITEMSIZES
_dtypes = tuple(DTYPES)
_tuples = Memo()
"""The one object of equal shapes or strides."""
_order = Memo()
"""Strides of results of one operand."""
_pairs = Memo()
"""Shape, strides and size of results of two operands."""
_reduced = Memo()
"""Shape, strides, size and attribute of reductions."""
_scales: list[Memo | None] = [None] * (17 * 17)
"""Strides with another itemsize, by 17 * the one + the other."""
_orders = Memo()
"""Signatures of operations on several operands."""
_loops: dict[tuple[Any, tuple[int, ...]], tuple[int, ...]] = {}


# ---------------------------------------------------------------- leaves and generated values


def leaf(buffer: Any, code: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    """A computed value: a dense buffer whose axes lie in the order of `strides`."""
    node = new_node(LEAF, None, (), code, one_tuple(shape), one_tuple(strides), prod(shape), 0)
    node.buffer = buffer
    return node


def scalar(value: Any, code: int) -> Node:
    """A 0-d value known on the host; it becomes a launch parameter, never part of a kernel's text."""
    return new_number(value, code)


def full(value: Any, code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Node:
    """An array of one repeated host value; costs no memory until it is stored."""
    count_recorded()
    strides = one_tuple(strides or c_strides(shape, ITEMSIZES[code]))
    return new_node(FILL, None, (), code, one_tuple(shape), strides, count_of(shape), value)


def known(value: Any, code: int) -> Node:
    """A 0-d array of a host value; nothing is left to run."""
    node = new_number(value, code)
    node.kind = FILL
    return node


def known_read(value: Any, code: int) -> Node:
    """A 0-d array of what others came to: a number that was read of an array."""
    node = known(value, code)
    node.result = True
    return node


def iota(count: int) -> Node:
    """The int64 values 0, 1, ..., count - 1, generated where they are used."""
    check_bytes(count * 8)
    return new_node(IOTA, None, (), I64, one_tuple((count,)), one_tuple((8,)), count, None)


def one_tuple(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The same object for equal tuples: shapes and strides are compared by identity first."""
    found = _tuples.entries.get(numbers)
    if found is None:
        found = tuple([int(number) for number in numbers])
        _tuples.keep(found, found)
    return found  # type: ignore[no-any-return]


def count_of(shape: tuple[int, ...]) -> int:
    """Number of elements."""
    size = 1
    for extent in shape:
        size *= extent
    return size


# ---------------------------------------------------------------- elementwise


def loop_codes(op_def: Any, codes: tuple[int, ...]) -> tuple[int, ...]:
    """Codes of the dtypes of the loop NumPy runs for operands of these codes: inputs, then the output."""
    operands = tuple(WEAK_TYPES[code] if code >= WEAK_INT else DTYPES[code] for code in codes)
    inputs, output = resolve(op_def, operands)
    return (*inputs, output)


def binary_rule(op_def: Any, a: int, b: int) -> tuple[int, int, int]:
    """`loop_codes` of a binary operation, from the table."""
    table = _rules.get(op_def)
    if table is None:
        table = _rules[op_def] = [None] * 1024
    rule = table[a * 32 + b]
    if rule is None:
        codes = [a] if b == _NONE else [a, b]
        rule = table[a * 32 + b] = loop_codes(op_def, tuple(codes))
    return rule  # type: ignore[no-any-return]


def cast(node: Node, code: int) -> Node:
    """Convert a value by astype's rules (itself if it has that dtype)."""
    if node.code == code:
        return node
    if node.kind == SCALAR:
        return new_number(host_cast(node.attr, node.code, code), code)
    if node.kind == FILL:
        return full(host_cast(node.attr, node.code, code), code, node.shape, _scaled(node, code))
    result = recall(_dtypes[code], node, None, _NO_MORE)
    if result is None:
        count_recorded()
        result = new_node(CAST, None, (node,), code, node.shape, _result_strides1(node, code), node.size, None)
        remember(_dtypes[code], (node,), result)
    return result


def unary(op_def: Any, x: Any) -> Node:
    """Record an elementwise operation on one value."""
    result = recall(op_def, x, None, _NO_MORE)
    return _in_full(op_def, (x,)) if result is None else result


def binary(op_def: Any, x: Any, y: Any) -> Node:
    """Record an elementwise operation on two values, one of which may be a Python number."""
    result = recall(op_def, x, y, _NO_MORE)
    return _in_full(op_def, (x, y)) if result is None else result


def elementwise(op_def: Any, operands: Sequence[Any]) -> Node:
    """Record an elementwise operation on values and Python numbers.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        If NumPy has no loop for these dtypes.
    """
    given = operands if type(operands) is tuple else tuple(operands)
    result = recall(op_def, given[0], given[1] if len(given) > 1 else None, given[2:])
    return _in_full(op_def, given) if result is None else result


def _in_full(op_def: Any, operands: tuple[Any, ...]) -> Node:
    """Record an elementwise operation by NumPy's rules, and remember that."""
    asked = tuple([cython.cast(Node, x).code if type(x) is Node else weak_code(x) for x in operands])
    codes = _loops.get((op_def, asked))
    if codes is None:
        codes = _loops[op_def, asked] = loop_codes(op_def, asked)
    nodes = []
    for position, x in enumerate(operands):
        nodes.append(cast(x, codes[position]) if type(x) is Node else scalar_as(x, codes[position]))
    result = loop(op_def, nodes, codes[len(nodes)])
    remember(op_def, operands, result)
    return result


def loop(op_def: Any, nodes: Sequence[Node], out: int) -> Node:
    """Record an elementwise operation on values that already have the loop dtypes."""
    if len(nodes) == 2:
        return _binary_loop(op_def, nodes[0], nodes[1], out)
    if len(nodes) == 1:
        node = nodes[0]
        count_recorded()
        return new_node(OP, op_def, (node,), out, node.shape, _result_strides1(node, out), node.size, None)
    key: list[Any] = [op_def, out]
    for node in nodes:
        key.append(node.code)
        key.append(node.shape)
        key.append(known_strides(node))
    asked = tuple(key)
    signature = _orders.entries.get(asked)
    if signature is None:
        shape, strides, size = _broadcast_all(nodes, _sizes[out])
        count_recorded()
        result = new_node(OP, op_def, tuple(nodes), out, shape, strides, size, None)
        _orders.keep(asked, signature_of(result))
        return result
    for node in nodes:
        node.readers += 1
    return recorded_as(signature, tuple(nodes))


def _broadcast_all(nodes: Sequence[Node], itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Broadcast shape of several operands, strides of a result in their K order, and its size."""
    shape = broadcast_shapes(*(node.shape for node in nodes))
    operands = [broadcast_strides(n.shape, known_strides(n), shape) for n in nodes if n.shape]
    return one_tuple(shape), one_tuple(k_strides(shape, operands, itemsize)), prod(shape)


def forget_operations() -> None:
    """Forget half of what was met of operations: they may be a user's, whom nobody else has any more."""
    _orders.forget_half()
    forget_signatures()


def copied(node: Node, strides: tuple[int, ...], code: int) -> Node:
    """The same values, laid out densely in the order of `strides` (a fresh value)."""
    count_recorded()
    return new_node(CAST, None, (node,), code, node.shape, strides, node.size, None)


def _binary_loop(op_def: Any, a: Node, b: Node, out: int) -> Node:
    shape = a.shape
    size = a.size
    if a.kind != VIEW and (
        not b.shape
        or (
            (shape is b.shape or shape == b.shape)
            and (a.strides is b.strides or a.strides == b.strides)
            and b.kind != VIEW
        )
    ):
        strides = a.strides if _sizes[a.code] == _sizes[out] else _scaled(a, out)
    elif not a.shape and b.kind != VIEW:
        shape = b.shape
        size = b.size
        strides = b.strides if _sizes[b.code] == _sizes[out] else _scaled(b, out)
    else:
        key = (a.shape, known_strides(a), b.shape, known_strides(b), _sizes[out])
        found = _pairs.entries.get(key)
        if found is None:
            found = _pairs.keep(key, _broadcast_pair(a, b, _sizes[out]))
        shape, strides, size = found
    count_recorded()
    return new_node(OP, op_def, (a, b), out, shape, strides, size, None)


def known_strides(node: Node) -> tuple[int, ...]:
    """Strides by which an operand counts for the order of a result: a view's, also where it is only cast on the way."""
    if node.kind == CAST and not node.storages and node.args[0].kind == VIEW:
        return node.args[0].strides
    return node.strides


def _broadcast_pair(a: Node, b: Node, itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape, strides in K order and size of a result of two operands."""
    shape = broadcast_shapes(a.shape, b.shape) if a.shape != b.shape else a.shape
    operands = [broadcast_strides(n.shape, known_strides(n), shape) for n in (a, b) if n.shape]
    return one_tuple(shape), one_tuple(k_strides(shape, operands, itemsize)), prod(shape)


def _result_strides1(a: Node, out: int) -> tuple[int, ...]:
    if a.kind != VIEW:
        return a.strides if _sizes[a.code] == _sizes[out] else _scaled(a, out)
    key = (a.shape, a.strides, ITEMSIZES[out])
    strides = _order.entries.get(key)
    if strides is None:
        strides = _order.keep(key, k_strides(a.shape, [a.strides], ITEMSIZES[out]))
    return strides  # type: ignore[no-any-return]


def _scaled(node: Node, code: int) -> tuple[int, ...]:
    """Strides of a dense value in the physical order of `node` with another itemsize."""
    have, want = _sizes[node.code], _sizes[code]
    known = _scales[have * 17 + want]
    if known is None:
        known = _scales[have * 17 + want] = Memo()
    strides = known.entries.get(node.strides)
    if strides is None:
        strides = known.keep(node.strides, one_tuple(tuple([stride // have * want for stride in node.strides])))
    return strides  # type: ignore[no-any-return]


def host_cast(value: Any, code: int, new_code: int) -> Any:
    """A number of one dtype as a number of another one."""
    with np.errstate(all="ignore"):
        return cast_host(np.array(value, DTYPES[code]), DTYPES[new_code]).item()


# ---------------------------------------------------------------- views


def view(node: Node, code: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Node:
    """The memory of `node` seen through a layout (byte offset and strides, dtype `code`)."""
    if node.kind == FILL and code == node.code:
        return full(node.attr, code, shape, k_strides(shape, [strides], ITEMSIZES[code]))
    if node.kind == SCALAR and code == node.code and not shape:
        return node
    signature = known_view(code, shape, strides)
    if signature is None:
        signature = signature_by(VIEW, None, code, one_tuple(shape), one_tuple(strides), count_of(shape), None)
        keep_layout(signature)
    return viewed(signature, node, offset)


def update(base: Node, value: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int) -> Node:
    """Write `value` (already of `shape` and dtype `code`) to a value through a layout of its memory."""
    signature = known_update(base, offset, shape, strides, code)
    if signature is None:
        attr = (offset, one_tuple(shape), one_tuple(strides), code)
        signature = signature_by(UPDATE, None, base.code, base.shape, base.strides, base.size, attr)
        keep_layout(signature)
    if value.kind == VIEW:
        value = copied(value, c_strides(value.shape, ITEMSIZES[value.code]), value.code)
    return recorded_as2(signature, base, value)


def gather(
    node: Node,
    indices: Sequence[Node],
    axes: tuple[int, ...],
    position: int,
    complaint: Complaint = OUT_OF_BOUNDS,
    ordered: tuple[int, ...] | None = None,
    inside: bool = False,
) -> Node:
    """`node` read at integer indices along `axes`, as NumPy's advanced indexing.

    The broadcast index shape stands at `position` of the result, among the axes left over. The result lies in C order,
    or densely by the strides `ordered`. An index out of range raises `complaint` when the result is looked at; nobody
    looks whether there is one if all are known to be `inside`.
    """
    index_shape = broadcast_shapes(*(index.shape for index in indices))
    rest = [extent for axis, extent in enumerate(node.shape) if axis not in axes]
    shape = (*rest[:position], *index_shape, *rest[position:])
    args = (node, *(cast(index, I64) for index in indices))
    count_recorded()
    strides = c_strides(shape, ITEMSIZES[node.code]) if ordered is None else ordered
    return new_node(
        GATHER,
        INSIDE if inside else here(complaint),
        args,
        node.code,
        shape,
        strides,
        prod(shape),
        (axes, position, len(index_shape), inside),
    )


# ---------------------------------------------------------------- reductions


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative axes; None means all. NumPy's AxisError and ValueError for bad ones."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    result = []
    for a in axes:
        index = a if type(a) is int else as_extent(a)
        if not -ndim <= index < ndim:
            raise no_axis(index, ndim)
        result.append(index % ndim)
    if len(set(result)) != len(result):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(result))


def reduce(
    op_def: Any, node: Node, axes: tuple[int, ...], keepdims: bool, out: int, ordered: tuple[int, ...] | None = None
) -> Node:
    """Reduce `node` (already of the accumulation dtype) over `axes`; the result has dtype `out`.

    It lies in the order in which all axes are walked, or densely by the strides `ordered`.

    Raises
    ------
    ValueError
        If nothing is reduced by an operation that has no identity.
    """
    # NumPy lays positions out in C order, whatever the order of what they were looked for in.
    positions = bool(op_def.better)
    key = (node.shape, node.strides, axes, keepdims, ITEMSIZES[out], positions)
    found = _reduced.entries.get(key)
    if found is None:
        found = _reduced.keep(key, _reduced_layout(node, axes, keepdims, ITEMSIZES[out], positions))
    shape, strides, size, attr = found
    if not op_def.has_identity and not node.size and 0 not in shape:
        raise ValueError(f"zero-size array to reduction operation {op_def.name} which has no identity")
    count_recorded()
    return new_node(REDUCE, op_def, (node,), out, shape, strides if ordered is None else ordered, size, attr)


def _reduced_layout(
    node: Node, axes: tuple[int, ...], keepdims: bool, itemsize: int, positions: bool
) -> tuple[tuple[int, ...], tuple[int, ...], int, tuple[Any, ...]]:
    """Shape, strides, size and attribute of a reduction."""
    shape = tuple(
        1 if axis in axes else extent for axis, extent in enumerate(node.shape) if keepdims or axis not in axes
    )
    fast = True
    smallest = None
    for axis, (extent, stride) in enumerate(zip(node.shape, node.strides, strict=True)):
        if extent > 1 and stride and (smallest is None or abs(stride) <= smallest):
            smallest = abs(stride)
            fast = axis in axes
    strides = (
        c_strides(shape, itemsize) if positions else reduced_strides(node.shape, node.strides, axes, keepdims, itemsize)
    )
    return one_tuple(shape), one_tuple(strides), prod(shape), (axes, fast, keepdims)


__all__ = [
    "BOOL", "C64", "C128", "F64", "KINDS", "binary", "cast", "copied", "count_reader", "elementwise",
    "full", "gather", "iota", "is_dense_order", "leaf", "reduce", "scalar", "scalar_as", "unary", "update", "view",
    "weak_code",
]  # fmt: skip
