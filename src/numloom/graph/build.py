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

from numloom.base.config import config
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
    Node,
    NodeSignature,
    count_reader,
    count_recorded,
    forget_signatures,
    new_node,
    new_number,
    recorded_as,
    recorded_as1,
    recorded_as2,
    signature_by,
    signature_of,
    viewed,
)
from numloom.graph.source_location import INSIDE, OUT_OF_BOUNDS, Complaint, here
from numloom.ops.elementwise import resolve

if not cython.compiled:
    address = id

WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX = 28, 29, 30
"""Codes of Python scalars in the rule table, whose dtype follows the other operands (NEP 50)."""

_NONE, _NUMBER, _AS, _LEFT = 31, 32, 64, 96
"""In the place of a second operand's code: there is none; to be added to the code of a Python number, to that of a new
dtype, to that of a Python number on the left."""

WEAK_TYPES = {WEAK_INT: int, WEAK_FLOAT: float, WEAK_COMPLEX: complex}

_rules: dict[Any, list[Any]] = {}
"""For each op definition a table of loops, by 32 * code of the first operand + code of the second (31: none)."""

_sizes = ITEMSIZES
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
_SLOTS = 1024
_PATIENCE = 8
_integer_range: list[Any] = [
    (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None for dtype in DTYPES
]


class Recorded:
    """What was recorded for operands of these dtypes, shapes and orders.

    Attributes
    ----------
    op_def, first, second, first_shape, first_strides, second_shape, second_strides
        The operation, and codes and layouts of its operands; without a second array its code says what there is.
    first_how, second_how : int
        What else counts of them: see `how`.
    cast_first, cast_second : NodeSignature or None
        How they are converted.
    loop : int
        The code that a Python number is converted to.
    signature : NodeSignature
        The operation itself.
    faults : int
        How many times in a row other operands were met in its slot.
    """

    __slots__ = (
        "cast_first", "cast_second", "faults", "first", "first_how", "first_shape", "first_strides", "loop", "op_def",
        "second", "second_how", "second_shape", "second_strides", "signature",
    )  # fmt: skip

    op_def: Any
    first: int
    second: int
    first_how: int
    second_how: int
    first_shape: tuple[int, ...]
    first_strides: tuple[int, ...]
    second_shape: tuple[int, ...] | None
    second_strides: tuple[int, ...] | None
    cast_first: NodeSignature | None
    cast_second: NodeSignature | None
    loop: int
    signature: NodeSignature
    faults: int


class RecordedTable:
    """What was recorded last, each in one slot."""

    __slots__ = ("slots",)

    slots: list[Any]

    def __init__(self) -> None:
        self.slots = [None] * _SLOTS


_table = RecordedTable()
_views = RecordedTable()
_updates = RecordedTable()
"""Signatures of views and of updates, by the addresses of shapes and strides, of which equal ones are mostly one
object."""


_verifying = config.verify
"""Whether all is recorded in full, and compared with what would have been replayed."""


def _set_verify(value: bool) -> None:
    global _verifying
    _verifying = value


config.listen("verify", _set_verify)

DENSE, VIEWED, SPECIAL = range(3)
_DENSE, _VIEWED, _SPECIAL = DENSE, VIEWED, SPECIAL
"""The same, as numbers of C in what is compiled here."""


def remember(op_def: Any, a: Node, second: int, b: Node | None, result: Node) -> None:
    """Keep what was recorded for operands of this signature."""
    first_how = how(a)
    second_how = _DENSE if b is None else how(b)
    if first_how == _SPECIAL or second_how == _SPECIAL:
        return
    if result.kind != OP and result.kind != CAST:
        return
    if _verifying:
        _check_recorded(op_def, a, second, b, result)
    if a.kind == SCALAR and result.args[0] is not a and (len(result.args) == 1 or result.args[1] is not a):
        return  # A number that is known is converted at once, which leaves no signature of the conversion.
    slot = _slot(op_def, a, second, b)
    found = _table.slots[slot]
    if found is not None and found.faults < _PATIENCE:
        found.faults += 1
        return
    made = Recorded.__new__(Recorded)
    made.op_def = op_def
    made.first = a.code
    made.first_how = first_how
    made.first_shape = a.shape
    made.first_strides = a.strides
    made.second = second
    made.second_how = second_how
    made.second_shape = None if b is None else b.shape
    made.second_strides = None if b is None else b.strides
    made.cast_first = None
    made.cast_second = None
    made.loop = 0
    args = result.args
    for arg in args:
        if arg is a or arg is b:
            continue
        if arg.kind == SCALAR:
            if b is not None:  # A number that was known before was converted, as each one must be.
                return
            made.loop = arg.code
        elif b is None or arg is args[0]:
            made.cast_first = signature_of(arg)
        else:
            made.cast_second = signature_of(arg)
    made.signature = signature_of(result)
    made.faults = 0
    _table.slots[slot] = made


def how(node: Node) -> int:
    """What counts of an operand beside dtype, shape and strides: whether it is a view.

    Of others more counts: filled arrays and numbers may be computed at once, and a view's order counts where the view
    is converted on the way.
    """
    kind = node.kind
    if kind in (LEAF, OP) or kind > CAST:
        return _DENSE
    if kind == VIEW:
        return _VIEWED
    if kind == CAST and (node.storages or node.args[0].kind != VIEW):
        return _DENSE
    return _DENSE if kind == SCALAR else _SPECIAL


def _slot(op_def: Any, a: Node, second: int, b: Node | None) -> int:
    """Where what is recorded for such operands is kept."""
    slot = (address(op_def) >> 4) + (address(a.strides) >> 4) + 31 * a.code + 37 * second + 7 * a.size
    return (slot if b is None else slot + (address(b.strides) >> 3) + 13 * b.size) & (_SLOTS - 1)


def find_recorded(op_def: Any, a: Node, second: int, b: Node | None) -> Recorded | None:
    """What was recorded for operands of this signature; None where all must be looked at."""
    return None if _verifying else _find_recorded(op_def, a, second, b)


def _check_recorded(op_def: Any, a: Node, second: int, b: Node | None, result: Node) -> None:
    """Compare what would have been replayed with what was recorded in full."""
    found = _find_recorded(op_def, a, second, b)
    if found is None:
        return
    signatures = [signature_of(arg) for arg in result.args if arg is not a and arg is not b and arg.kind != SCALAR]
    known = [signature for signature in (found.cast_first, found.cast_second, found.signature) if signature is not None]
    if list(map(_fields, known)) != list(map(_fields, [*signatures, signature_of(result)])):
        raise AssertionError(f"{result!r} would have been replayed as another one for {a!r} and {b!r}")


def _fields(signature: NodeSignature) -> tuple[Any, ...]:
    """What makes a signature."""
    return signature.kind, signature.op_def, signature.code, signature.shape, signature.strides, signature.attr


def _find_recorded(op_def: Any, a: Node, second: int, b: Node | None) -> Recorded | None:
    """`find_recorded`, also while all is done in full."""
    found = cython.cast(Recorded, _table.slots[_slot(op_def, a, second, b)])
    if (
        found is None
        or found.op_def is not op_def
        or found.first != a.code
        or found.second != second
        or found.first_shape is not a.shape
        or found.first_strides is not a.strides
        or found.first_how != how(a)
    ):
        return None
    if a.kind == SCALAR and found.cast_first is not None:
        return None
    if b is not None and (
        found.second_shape is not b.shape
        or found.second_strides is not b.strides
        or found.second_how != how(b)
        or (b.kind == SCALAR and found.cast_second is not None)
    ):
        return None
    found.faults = 0
    return found


class Several:
    """What was recorded for several operands of these dtypes, shapes and orders.

    Attributes
    ----------
    op_def : OpDef
        The operation.
    codes, hows : list of int
        Of the operands: codes in the rule table, and what else counts (`how`; of Python's numbers nothing).
    shapes, strides : list of tuple
        Their layouts, None of Python's numbers.
    casts : list of NodeSignature or None
        How they are converted.
    loop : tuple of int
        The codes that Python's numbers are converted to.
    signature : NodeSignature
        The operation itself.
    """

    __slots__ = ("casts", "codes", "hows", "loop", "op_def", "shapes", "signature", "strides")

    op_def: Any
    codes: list[int]
    hows: list[int]
    shapes: list[Any]
    strides: list[Any]
    casts: list[Any]
    loop: tuple[int, ...]
    signature: NodeSignature

    def __init__(
        self, op_def: Any, operands: Sequence[Any], loop: tuple[int, ...], casts: list[Any], signature: NodeSignature
    ) -> None:
        arrays = [x if type(x) is Node else None for x in operands]
        self.op_def = op_def
        self.codes = [_code(x) for x in operands]
        self.hows = [_DENSE if x is None else how(x) for x in arrays]
        self.shapes = [None if x is None else x.shape for x in arrays]
        self.strides = [None if x is None else x.strides for x in arrays]
        self.casts = casts
        self.loop = loop
        self.signature = signature


_several = RecordedTable()


def _slot_of_several(op_def: Any, operands: Sequence[Any]) -> int:
    slot = address(op_def) >> 4
    for x in operands:
        if type(x) is Node:
            node = x
            slot = 3 * slot + (address(node.strides) >> 4) + node.code
        else:
            slot = 3 * slot + 1
    return slot & (_SLOTS - 1)


def _check_several(op_def: Any, operands: Sequence[Any], result: Node) -> None:
    """Compare what would have been replayed for several operands with what was recorded in full."""
    found = _recall_several(op_def, operands)
    if found is None:
        return
    ours, theirs = ([signature_of(node) for node in (*whole.args, whole)] for whole in (found, result))
    if list(map(_fields, ours)) != list(map(_fields, theirs)):
        raise AssertionError(f"{result!r} would have been replayed as {found!r} for {operands!r}")


def _recall_several(op_def: Any, operands: Sequence[Any]) -> Node | None:
    """What an operation on several operands records, where that is known."""
    found = _several.slots[_slot_of_several(op_def, operands)]
    if found is None or found.op_def is not op_def or len(found.codes) != len(operands):
        return None
    for at, x in enumerate(operands):
        if type(x) is Node:
            node = x
            if (
                found.codes[at] != node.code
                or found.shapes[at] is not node.shape
                or found.strides[at] is not node.strides
                or found.hows[at] != how(node)
                or (node.kind == SCALAR and found.casts[at] is not None)
            ):
                return None
        elif found.shapes[at] is not None or found.codes[at] != weak_code(x):
            return None
    nodes = []
    for at, x in enumerate(operands):
        if type(x) is Node:
            cast_signature = found.casts[at]
            node = x if cast_signature is None else recorded_as1(cast_signature, x)
        else:
            node = scalar_as(x, found.loop[at])
        nodes.append(node)
    for node in nodes:
        node.readers += 1
    return recorded_as(found.signature, tuple(nodes))


def _remember_several(op_def: Any, operands: Sequence[Any], loop: tuple[int, ...], result: Node) -> None:
    """Keep what was recorded for operands like these."""
    if result.kind != OP or len(result.args) != len(operands):
        return
    casts: list[Any] = []
    for x, arg in zip(operands, result.args, strict=True):
        if type(x) is Node and x is not arg:
            if arg.kind != CAST or arg.args[0] is not x:
                return
            casts.append(signature_of(arg))
        else:
            casts.append(None)
        if type(x) is Node and how(x) == _SPECIAL:
            return
    _several.slots[_slot_of_several(op_def, operands)] = Several(op_def, operands, loop, casts, signature_of(result))


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


def weak_code(value: Any) -> int:
    """Code of a Python scalar in the rule table (bool is NumPy's bool, not weak)."""
    kind = type(value)
    if kind is float:
        return WEAK_FLOAT
    if kind is int:
        return WEAK_INT
    if kind is bool:
        return BOOL
    if kind is complex:
        return WEAK_COMPLEX
    raise TypeError(f"expected a Python number, got {type(value).__name__}")


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


def scalar_as(value: Any, code: int) -> Node:
    """A Python scalar as a value of a loop dtype; OverflowError, as NumPy's, if an int does not fit."""
    limits = _integer_range[code]
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise OverflowError(f"Python integer {value} out of bounds for {DTYPES[code].name}")
    return new_number(value, code)


def cast(node: Node, code: int) -> Node:
    """`node` converted by astype's rules (itself if it has that dtype)."""
    if node.code == code:
        return node
    if node.kind == SCALAR:
        return new_number(host_cast(node.attr, node.code, code), code)
    if node.kind == FILL:
        return full(host_cast(node.attr, node.code, code), code, node.shape, _scaled(node, code))
    found = find_recorded(None, node, _AS + code, None)
    if found is not None:
        return recorded_as1(found.signature, node)
    count_recorded()
    result = new_node(CAST, None, (node,), code, node.shape, _result_strides1(node, code), node.size, None)
    remember(None, node, _AS + code, None, result)
    return result


def binary(op_def: Any, a: Node, b: Node) -> Node:
    """An elementwise operation on two values."""
    found = find_recorded(op_def, a, b.code, b)
    if found is not None:
        if found.cast_first is not None:
            a = recorded_as1(found.cast_first, a)
        if found.cast_second is not None:
            b = recorded_as1(found.cast_second, b)
        return recorded_as2(found.signature, a, b)
    la, lb, out = binary_rule(op_def, a.code, b.code)
    result = _binary_loop(op_def, a if a.code == la else cast(a, la), b if b.code == lb else cast(b, lb), out)
    remember(op_def, a, b.code, b, result)
    return result


def binary_scalar(op_def: Any, a: Node, value: Any) -> Node:
    """An elementwise operation on a value and a Python scalar."""
    weak = weak_code(value)
    found = find_recorded(op_def, a, _NUMBER + weak, None)
    if found is not None:
        number = scalar_as(value, found.loop)
        if found.cast_first is not None:
            a = recorded_as1(found.cast_first, a)
        return recorded_as2(found.signature, a, number)
    la, lb, out = binary_rule(op_def, a.code, weak)
    number = scalar_as(value, lb)
    result = _binary_loop(op_def, a if a.code == la else cast(a, la), number, out)
    remember(op_def, a, _NUMBER + weak, None, result)
    return result


def scalar_binary(op_def: Any, value: Any, b: Node) -> Node:
    """An elementwise operation on a Python scalar and a value."""
    weak = weak_code(value)
    found = find_recorded(op_def, b, _LEFT + weak, None)
    if found is not None:
        number = scalar_as(value, found.loop)
        if found.cast_first is not None:
            b = recorded_as1(found.cast_first, b)
        return recorded_as2(found.signature, number, b)
    la, lb, out = binary_rule(op_def, weak, b.code)
    number = scalar_as(value, la)
    result = _binary_loop(op_def, number, b if b.code == lb else cast(b, lb), out)
    remember(op_def, b, _LEFT + weak, None, result)
    return result


def unary(op_def: Any, a: Node) -> Node:
    """An elementwise operation on one value."""
    found = find_recorded(op_def, a, _NONE, None)
    if found is not None:
        if found.cast_first is not None:
            a = recorded_as1(found.cast_first, a)
        return recorded_as1(found.signature, a)
    rule = binary_rule(op_def, a.code, _NONE)
    x = a if a.code == rule[0] else cast(a, rule[0])
    count_recorded()
    result = new_node(OP, op_def, (x,), rule[1], x.shape, _result_strides1(x, rule[1]), x.size, None)
    remember(op_def, a, _NONE, None, result)
    return result


def elementwise(op_def: Any, operands: Sequence[Any], codes: tuple[int, ...] | None = None) -> Node:
    """An elementwise operation on values and Python scalars; `codes` forces the loop dtypes.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    TypeError
        If NumPy has no loop for these dtypes.
    """
    asked = codes is None
    if asked:
        result = None if _verifying else _recall_several(op_def, operands)
        if result is not None:
            return result
        given = tuple([_code(x) for x in operands])
        codes = _loops.get((op_def, given))
        if codes is None:
            codes = _loops[op_def, given] = loop_codes(op_def, given)
    assert codes is not None
    nodes = []
    for position, x in enumerate(operands):
        code = codes[position]
        if type(x) is not Node:
            nodes.append(scalar_as(x, code))
        else:
            nodes.append(x if x.code == code else cast(x, code))
    result = loop(op_def, nodes, codes[-1])
    if asked:
        if _verifying:
            _check_several(op_def, operands, result)
        _remember_several(op_def, operands, codes, result)
    return result


def _code(x: Any) -> int:
    """Code of an operand in the rule table."""
    if type(x) is Node:
        node = x
        return node.code
    return weak_code(x)


def loop(op_def: Any, nodes: Sequence[Node], out: int) -> Node:
    """An elementwise operation on values that already have the loop dtypes."""
    if len(nodes) == 2:
        return _binary_loop(op_def, nodes[0], nodes[1], out)
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
    slot = ((address(shape) >> 4) + (address(strides) >> 3) + code) & (_SLOTS - 1)
    signature = _views.slots[slot]
    if signature is None or signature.shape is not shape or signature.strides is not strides or signature.code != code:
        signature = signature_by(VIEW, None, code, one_tuple(shape), one_tuple(strides), count_of(shape), None)
        _views.slots[slot] = signature
    return viewed(signature, node, offset)


def update(base: Node, value: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int) -> Node:
    """`base` with `value` (already of `shape` and dtype `code`) written through a layout of its memory."""
    signature = known_update(base, offset, shape, strides, code)
    if signature is None:
        shape, strides = one_tuple(shape), one_tuple(strides)
        attr = (offset, shape, strides, code)
        signature = signature_by(UPDATE, None, base.code, base.shape, base.strides, base.size, attr)
        _updates.slots[_slot_of_update(offset, shape, strides)] = signature
    if value.kind == VIEW:
        value = copied(value, c_strides(value.shape, ITEMSIZES[value.code]), value.code)
    return recorded_as2(signature, base, value)


def known_update(
    base: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int
) -> NodeSignature | None:
    """The signature of an `update`, if it is at hand: then this was written to such a value before."""
    signature = _updates.slots[_slot_of_update(offset, shape, strides)]
    if signature is None or signature.shape is not base.shape:
        return None
    if signature.strides is not base.strides or signature.code != base.code:
        return None
    known = signature.attr
    if known[1] is not shape or known[2] is not strides or known[0] != offset or known[3] != code:
        return None
    return signature  # type: ignore[no-any-return]


def _slot_of_update(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return ((address(shape) >> 4) + (address(strides) >> 3) + offset) & (_SLOTS - 1)


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
    "BOOL", "C64", "C128", "F64", "KINDS", "binary", "binary_scalar", "cast", "copied", "count_reader", "elementwise",
    "full", "gather", "iota", "is_dense_order", "leaf", "reduce", "scalar", "unary", "update", "view",
]  # fmt: skip
