# cython: boundscheck=False, wraparound=False
"""Recording again, by slots: elementwise operations, casts, views and updates of operands met before.

Which casts come first, and the dtype, shape and order of a result, follow from the operation and from the dtypes,
shapes and orders of its operands. So the signatures of the nodes are kept, each in one slot.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.base.config import config
from numloom.graph.node import (
    CAST,
    LEAF,
    OP,
    SCALAR,
    UPDATE,
    VIEW,
    Node,
    NodeSignature,
    recorded_as,
    recorded_as1,
    recorded_as2,
    scalar_as,
    signature_of,
    weak_code,
)

if not cython.compiled:
    address = id

DENSE, VIEWED, SPECIAL = range(3)
_DENSE, _VIEWED, _SPECIAL = DENSE, VIEWED, SPECIAL
"""Kinds of operands (see `how`), and the same as numbers of C in what is compiled here."""


class OperandSignature:
    """All that counts of an operand.

    Attributes
    ----------
    code, shape, strides
        Its dtype and layout; of a Python number its weak code and None.
    how : int
        DENSE, VIEWED or SPECIAL: see `how`.
    cast : NodeSignature or None
        Of a slot's operand, the signature of the cast or the number that it becomes.
    """

    __slots__ = ("cast", "code", "how", "shape", "strides")

    cast: NodeSignature | None
    code: int
    how: int
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None

    def __init__(self, x: Any) -> None:
        self.cast = None
        if type(x) is Node:
            node = x
            self.code, self.shape, self.strides, self.how = node.code, node.shape, node.strides, how(node)
        else:
            self.code, self.shape, self.strides, self.how = weak_code(x), None, None, _DENSE


def how(node: Node) -> int:
    """Tell views and special values from others, as far as this counts beside dtype, shape and strides.

    Of special ones more counts: filled arrays and numbers may be computed at once, and a view's order counts where the
    view is converted on the way.
    """
    kind = node.kind
    if kind in (LEAF, OP) or kind > CAST:
        return _DENSE
    if kind == VIEW:
        return _VIEWED
    if kind == CAST and (node.storages or node.args[0].kind != VIEW):
        return _DENSE
    return _DENSE if kind == SCALAR else _SPECIAL


def fits(expected: OperandSignature, node: Node) -> bool:
    """Return True if a value has this signature; equal layouts are mostly one object, and others do not fit."""
    return (
        expected.shape is node.shape
        and expected.strides is node.strides
        and expected.code == node.code
        and expected.how == how(node)
    )


class Slot:
    """An elementwise operation, cast, view or update that was recorded lately.

    Attributes
    ----------
    what : object
        The op definition, the dtype of a cast, or what stands for a view or an update.
    first, second, rest : OperandSignature or None, tuple of OperandSignature
        The operands; none of a view and of an update, whose signature says it all.
    signature : NodeSignature
        The node itself.
    misses : int
        How many times in a row something else was looked for here.
    """

    __slots__ = ("first", "misses", "rest", "second", "signature", "what")

    what: Any
    first: Any
    second: Any
    rest: tuple[OperandSignature, ...]
    signature: NodeSignature
    misses: int


_SLOTS = 1 << 12
PATIENCE = 8
"""Misses before something else takes a slot: of more than there is room for, some is met again."""
_PATIENCE = PATIENCE
_slots: list[Any] = [None] * _SLOTS
_LAYOUT = ("layout",)
"""Stands for the operation of a view or an update."""
_verifying = config.verify
"""Set if all is recorded in full, and compared with what would have been recalled."""


def _set_verify(value: bool) -> None:
    global _verifying
    _verifying = value


config.listen("verify", _set_verify)


def recall(what: Any, x: Any, y: Any, rest: tuple[Any, ...]) -> Node | None:
    """Record an operation on values and Python numbers (None: there is no second) like an earlier one.

    Returns None if it must be recorded in full, as all is under `config.verify`.
    """
    if _verifying:
        return None
    found = cython.cast(Slot, _slots[_place(what, x, y, rest)])
    if found is None or found.what is not what:
        return None
    if type(x) is not Node or rest or (y is not None and type(y) is not Node):
        return _recall_any(found, x, y, rest)
    # As `_recall_any` does of one or two values, which most operations have: without a call for each.
    a = cython.cast(Node, x)
    if (
        found.first.shape is not a.shape
        or found.first.strides is not a.strides
        or found.first.code != a.code
        or found.first.how != how(a)
        or (found.first.cast is not None and a.kind == SCALAR)
    ):
        return None
    if y is None:
        if found.second is not None:
            return None
        found.misses = 0
        if found.first.cast is not None:
            a = recorded_as1(found.first.cast, a)
        return recorded_as1(found.signature, a)
    b = cython.cast(Node, y)
    if (
        found.second is None
        or found.second.shape is not b.shape
        or found.second.strides is not b.strides
        or found.second.code != b.code
        or found.second.how != how(b)
        or (found.second.cast is not None and b.kind == SCALAR)
        or found.rest
    ):
        return None
    found.misses = 0
    if found.first.cast is not None:
        a = recorded_as1(found.first.cast, a)
    if found.second.cast is not None:
        b = recorded_as1(found.second.cast, b)
    return recorded_as2(found.signature, a, b)


def _recall_any(found: Slot, x: Any, y: Any, rest: tuple[Any, ...]) -> Node | None:
    """Record an operation like this one, if operands are like its own."""
    if not _meets(found.first, x) or not _meets(found.second, y) or len(found.rest) != len(rest):
        return None
    for at in range(len(rest)):
        if not _meets(found.rest[at], rest[at]):
            return None
    found.misses = 0
    if y is None:
        return recorded_as1(found.signature, _converted(found.first, x))
    if not rest:
        return recorded_as2(found.signature, _converted(found.first, x), _converted(found.second, y))
    args = [_converted(found.first, x), _converted(found.second, y)]
    for at in range(len(rest)):
        args.append(_converted(found.rest[at], rest[at]))
    for node in args:
        node.readers += 1
    return recorded_as(found.signature, tuple(args))


def _meets(expected: OperandSignature | None, x: Any) -> bool:
    """Return True if an operand is as it was; a number that is known is no such, where it is converted at once."""
    if type(x) is Node:
        node = cython.cast(Node, x)
        return expected is not None and fits(expected, node) and (expected.cast is None or node.kind != SCALAR)
    if x is None or expected is None:
        return x is None and expected is None
    return expected.shape is None and expected.code == weak_code(x)


def _converted(expected: OperandSignature, x: Any) -> Node:
    """Convert an operand as one like it was."""
    if expected.cast is None:
        return cython.cast(Node, x)  # type: ignore[no-any-return]
    if type(x) is Node:
        return recorded_as1(expected.cast, cython.cast(Node, x))
    return scalar_as(x, expected.cast.code)


def _place(what: Any, x: Any, y: Any, rest: tuple[Any, ...]) -> int:
    """Give the slot of an operation on operands like these."""
    place = (address(what) >> 4) + _trait(x) + 3 * _trait(y)
    for at in range(len(rest)):
        place = 3 * place + _trait(rest[at])
    return place & (_SLOTS - 1)


def _trait(x: Any) -> int:
    """Give a number that values of one form have."""
    if type(x) is Node:
        node = cython.cast(Node, x)
        return (address(node.strides) >> 4) + 31 * node.code + 7 * node.size
    return 1


def remember(what: Any, given: tuple[Any, ...], result: Node) -> None:
    """Keep how an operation was recorded in full, if operands like these say it all."""
    if (result.kind != OP and result.kind != CAST) or len(result.args) != len(given):
        return
    for x in given:
        if type(x) is Node and how(x) == _SPECIAL:
            return
    x, y = given[0], given[1] if len(given) > 1 else None
    if _verifying:
        _check(what, given, result)
    place = _place(what, x, y, given[2:])
    if not _is_free(place):
        return
    operands: list[Any] = []
    for x, arg in zip(given, result.args, strict=True):
        if x is not arg and type(x) is Node and (arg.kind != CAST or arg.args[0] is not x):
            return  # A number that is known was converted at once, which leaves no signature of the conversion.
        expected = OperandSignature(x)
        if x is not arg:
            expected.cast = signature_of(arg)
        operands.append(expected)
    _keep(place, what, operands, signature_of(result))


def _check(what: Any, given: tuple[Any, ...], result: Node) -> None:
    """Compare what would have been recalled with what was recorded in full."""
    global _verifying
    _verifying = False
    try:
        found = recall(what, given[0], given[1] if len(given) > 1 else None, given[2:])
    finally:
        _verifying = True
    if found is not None:
        ours, theirs = ([signature_of(node) for node in (*whole.args, whole)] for whole in (found, result))
        if ours != theirs:
            raise AssertionError(f"{result!r} would have been recorded as {found!r} for {given!r}")


def _is_free(place: int) -> bool:
    """Return True if what is in a slot may go, since nobody has asked for it; else that is counted."""
    found = cython.cast(Slot, _slots[place])
    if found is None or found.misses >= _PATIENCE:
        return True
    found.misses += 1
    return False


def _keep(place: int, what: Any, operands: list[Any], signature: NodeSignature) -> None:
    """Fill a slot."""
    made = Slot.__new__(Slot)
    made.what = what
    made.first = operands[0] if operands else None
    made.second = operands[1] if len(operands) > 1 else None
    made.rest = tuple(operands[2:])
    made.signature = signature
    made.misses = 0
    _slots[place] = made


def known_view(code: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> NodeSignature | None:
    """Find the signature of a view through a layout."""
    found = cython.cast(Slot, _slots[_place_of_layout(code, shape, strides)])
    if found is None or found.what is not _LAYOUT or found.signature.kind != VIEW:
        return None
    signature = found.signature
    if signature.shape is not shape or signature.strides is not strides or signature.code != code:
        return None
    found.misses = 0
    return signature


def known_update(
    base: Node, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], code: int
) -> NodeSignature | None:
    """Find the signature of a write to a part of a value; then the same was written to a value like it before."""
    found = cython.cast(Slot, _slots[_place_of_layout(offset, shape, strides)])
    if found is None or found.what is not _LAYOUT or found.signature.kind != UPDATE:
        return None
    signature = found.signature
    if signature.shape is not base.shape or signature.strides is not base.strides or signature.code != base.code:
        return None
    known = signature.attr
    if known[1] is not shape or known[2] is not strides or known[0] != offset or known[3] != code:
        return None
    found.misses = 0
    return signature


def keep_layout(signature: NodeSignature) -> None:
    """Keep the signature of a view or an update."""
    number, shape, strides = signature.code, signature.shape, signature.strides
    if signature.kind == UPDATE:
        number, shape, strides, _ = signature.attr
    place = _place_of_layout(number, shape, strides)
    if _is_free(place):
        _keep(place, _LAYOUT, [], signature)


def _place_of_layout(number: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Give the slot of a layout and a number."""
    return ((address(shape) >> 4) + (address(strides) >> 3) + number) & (_SLOTS - 1)


__all__ = [
    "DENSE", "PATIENCE", "SPECIAL", "VIEWED", "OperandSignature", "fits", "how", "keep_layout", "known_update",
    "known_view", "recall", "remember",
]  # fmt: skip
