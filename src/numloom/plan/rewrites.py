"""Values that are equal to the bit become one, before a plan is made.

Each computed value gets a *number* and a sign: what has the same number and sign has the same bits. Operations whose
arguments are the same are one; so are those that an exact identity makes equal (`numloom.ops.identities`): ``abs(-x)``
and ``abs(x)``, ``(-x) * (-x)`` and ``x * x``. What is known with the other sign is its negation.

Nothing here depends on sizes or numbers, so the plan key says as much as before. Values that nobody needs any more are
left out of the plan. A walk in which memory is changed is left as it is: there it matters what is read when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.base.dtypes import BF16, F16, F32, F64, ITEMSIZES, KINDS
from numloom.graph.node import CAST, OP, REDUCE, SCALAR, UPDATE, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE

_FLOATS = frozenset((F16, BF16, F32, F64))
_NEGATIVE, _POSITIVE = ELEMENTWISE["negative"], ELEMENTWISE["positive"]
_ADD, _SUBTRACT = ELEMENTWISE["add"], ELEMENTWISE["subtract"]
_MIRRORED = {
    ELEMENTWISE[one]: ELEMENTWISE[other] for one, other in (("greater", "less"), ("greater_equal", "less_equal"))
}
_MIDDLES = {F16: (F32, F64), BF16: (F32, F64), F32: (F64,)}
"""Floats that hold all numbers of others."""

Value = tuple[int, bool]
"""A value's number, and whether it is negated."""


class PlannedNode:
    """What the planner sees of a value whose arguments, or whose operation, are others than were recorded."""

    __slots__ = (
        "args", "attr", "buffer", "code", "kind", "number", "op_def", "readers", "seen", "shape", "size", "storages",
        "strides",
    )  # fmt: skip

    def __init__(self, node: Any, kind: int, op_def: Any, args: tuple[Any, ...]) -> None:
        self.kind = kind
        self.op_def = op_def
        self.args = args
        self.code = node.code
        self.shape = node.shape
        self.strides = node.strides
        self.attr = node.attr
        self.buffer = node.buffer
        self.readers = node.readers
        self.storages = node.storages
        self.number = node.number
        self.seen = node.seen
        self.size = node.size


def rewritten(nodes: Sequence[Node], roots: Sequence[int]) -> Sequence[Node]:
    """The nodes of a walk as they are planned; the same list where nothing is to be had."""
    if any([node.kind == UPDATE for node in nodes]):
        return nodes
    found = Numbering(nodes)
    for node in nodes:
        found.add(node)
    return found.planned(roots) if found.changed else nodes


class Numbering:
    """Numbers of values, and what is computed instead of them.

    Attributes
    ----------
    values : list of (int, bool)
        By node: its value.
    holders : dict
        By value: the first node that has it.
    known : dict
        By operation and values of its arguments: the number of the result.
    operations : dict
        By number: the operation and values of arguments that it came from.
    mirrored : dict
        By number of a difference of floats: that of the difference the other way round.
    plans : dict
        Of nodes that are computed otherwise: kind, operation and numbers of arguments.
    aliases : dict
        Of nodes that are an earlier one: which.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.values: list[Value] = []
        self.holders: dict[Value, int] = {}
        self.known: dict[Any, int] = {}
        self.operations: dict[int, tuple[Any, tuple[Value, ...]]] = {}
        self.mirrored: dict[int, int] = {}
        self.plans: dict[int, tuple[int, Any, tuple[int, ...]]] = {}
        self.aliases: dict[int, int] = {}

    @property
    def changed(self) -> bool:
        """Whether anything is computed otherwise than it was recorded."""
        return bool(self.plans or self.aliases)

    # ------------------------------------------------------------ numbers

    def add(self, node: Node) -> None:
        """Give the next node its value."""
        number = node.number
        kind = node.kind
        if kind == OP and not node.op_def.preamble:
            value = self._of_operation(node)
        elif kind == CAST:
            value = self._of_cast(node)
        elif kind == REDUCE:
            source = node.args[0].number
            # The order of a reduction follows memory: it is of the node, not of its value.
            value = self._result(node, (node.op_def, node.attr), ((self.aliases.get(source, source), False),), False)
        else:
            value = self._new()
        self.values.append(value)
        holder = self.holders.get(value)
        if holder is None:
            self.holders[value] = number
            return
        if self._alike(node, self.nodes[holder]):
            self.aliases[number] = holder

    def _alike(self, node: Node, other: Node) -> bool:
        """Whether two nodes are laid out the same."""
        return node.code == other.code and _same(node.shape, other.shape) and _same(node.strides, other.strides)

    def _new(self) -> Value:
        number = len(self.operations)
        self.operations[number] = (None, ())
        return number, False

    def _result(self, node: Node, op_def: Any, args: tuple[Value, ...], negated: bool) -> Value:
        """The value of an operation on values; new ones may be computed from what has the other sign."""
        key = (op_def, node.code, args)
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.operations)
            self.operations[number] = (op_def, args)
            return number, negated
        value = number, negated
        if value not in self.holders:
            opposite = self.holders.get((number, not negated))
            if opposite is not None and self._alike(node, self.nodes[opposite]):
                self.plans[node.number] = (OP, _NEGATIVE, (opposite,))
        return value

    def _of_operation(self, node: Node) -> Value:
        op_def, code = node.op_def, node.args[0].code if node.args else node.code
        args = tuple([self.values[arg.number] for arg in node.args])
        kind = _kind(code)
        has = {name for name, kinds in op_def.identities.items() if kind in kinds}
        if "chooses" in has and args[1] == args[2] and self._takes_shape(node, node.args[1]):
            return args[1]
        if "same" in has and args[0] == args[1] and self._takes_shape(node, node.args[0]):
            return args[0]
        if "keeps" in has and node.code == code:
            return args[0]
        if "negates" in has:
            return args[0][0], not args[0][1]
        if "undoes" in has:
            before, inner = self.operations[args[0][0]]
            if before is op_def and not args[0][1]:
                return inner[0]
        if "even" in has:
            return self._even(node, args)
        if "odd" in has and args[0][1]:
            return self._result(node, op_def, ((args[0][0], False),), True)
        if "signs" in has:
            return self._product(node, args, "commutes" in has)
        if "adds" in has and args[0][1] != args[1][1]:
            first, second = args if args[1][1] else (args[1], args[0])
            return self._other(node, _SUBTRACT, (first, (second[0], False)), kind)
        if "subtracts" in has and args[1][1]:
            return self._other(node, _ADD, (args[0], (args[1][0], False)), kind)
        if "subtracts" in has:
            return self._difference(node, args, kind)
        mirror = _MIRRORED.get(op_def)
        if mirror is not None and kind in "biuf" and node.args[0].code == node.args[1].code:
            return self._result(node, mirror, (args[1], args[0]), False)
        if "commutes" in has and node.args[0].code == node.args[1].code:
            args = tuple(sorted(args))
        return self._result(node, op_def, args, False)

    def _takes_shape(self, node: Node, arg: Node) -> bool:
        return node.code == arg.code and _same(node.shape, arg.shape)

    def _even(self, node: Node, args: tuple[Value, ...]) -> Value:
        """The value of an operation that does not see the sign; it reads what is there without one."""
        number = args[0][0]
        mirror = self.mirrored.get(number, number)
        first = min(number, mirror)
        value = self._result(node, node.op_def, ((first, False),), False)
        if value not in self.holders and args[0][1]:
            positive = self.holders.get((number, False))
            if positive is not None:
                self.plans[node.number] = (OP, node.op_def, (positive,))
        return value

    def _product(self, node: Node, args: tuple[Value, ...], commutes: bool) -> Value:
        """The value of a product or quotient: signs go before it."""
        negated = args[0][1] != args[1][1]
        bare: tuple[Value, ...] = ((args[0][0], False), (args[1][0], False))
        keyed = tuple(sorted(bare)) if commutes and node.args[0].code == node.args[1].code else bare
        value = self._result(node, node.op_def, keyed, negated)
        if value not in self.holders and args[0][1] and args[1][1]:
            first, second = (self.holders.get(arg) for arg in bare)
            if first is not None and second is not None:
                self.plans.setdefault(node.number, (OP, node.op_def, (first, second)))
        return value

    def _other(self, node: Node, op_def: Any, args: tuple[Value, Value], kind: str) -> Value:
        """The value of a sum as a difference, or the other way round; computed so where both arguments are there."""
        if op_def is _SUBTRACT:
            value = self._difference(node, args, kind)
        else:
            value = self._result(node, _ADD, tuple(sorted(args)), False)
        first, second = (self.holders.get(arg) for arg in args)
        if value not in self.holders and first is not None and second is not None:
            self.plans.setdefault(node.number, (OP, op_def, (first, second)))
        return value

    def _difference(self, node: Node, args: tuple[Value, ...], kind: str) -> Value:
        """The value of a difference; of integers it is the other one negated, of floats it knows the other one."""
        reverse = (args[1], args[0])
        other = self.known.get((_SUBTRACT, node.code, reverse))
        if kind != "f" and other is not None:
            return self._result(node, _SUBTRACT, reverse, True)
        value = self._result(node, _SUBTRACT, args, False)
        if other is not None:
            self.mirrored[value[0]], self.mirrored[other] = other, value[0]
        return value

    def _of_cast(self, node: Node) -> Value:
        """The value of a cast; one back to the dtype that it came from, which lost nothing, is what was there."""
        arg = node.args[0]
        number, negated = self.values[arg.number]
        before, inner = self.operations[number]
        if arg.code == node.code:
            return number, negated
        floats = arg.code in _FLOATS and node.code in _FLOATS
        back = before == ("cast", arg.code) and self.known.get(("origin", number)) == node.code
        if back and _holds(arg.code, node.code) and (floats or not negated):
            return inner[0][0], inner[0][1] != negated
        value = (number, negated and not floats)
        found = self._result(node, ("cast", node.code), (value,), negated and floats)
        self.known[("origin", found[0])] = arg.code
        return found

    # ------------------------------------------------------------ nodes

    def planned(self, roots: Sequence[int]) -> list[Node]:
        """All nodes, those that changed (and what is computed from them) anew; what nobody needs is a number."""
        nodes, aliases = self.nodes, self.aliases
        plans = dict(self.plans)
        for number, alias in aliases.items():
            node = nodes[number]
            if node.kind in (OP, CAST) and KINDS[node.code] in "iufc":
                # Where it is asked for by itself, too: memory of its own with the same value.
                plans[number] = (OP, _POSITIVE, (alias,))
        numbers: list[tuple[int, ...]] = []
        for node in nodes:
            plan = plans.get(node.number)
            args = tuple([arg.number for arg in node.args]) if plan is None else plan[2]
            numbers.append(tuple([aliases.get(arg, arg) for arg in args]))
        needed = [False] * len(nodes)
        for number in roots:
            needed[number] = True
        for node in reversed(nodes):
            if needed[node.number] or (node.storages and node.kind != VIEW):
                needed[node.number] = True
                for arg in numbers[node.number]:
                    needed[arg] = True
        result: list[Any] = []
        for node in nodes:
            number = node.number
            if not needed[number]:
                result.append(node if node.kind <= SCALAR else PlannedNode(node, SCALAR, None, ()))
                continue
            changed = tuple([result[arg] for arg in numbers[number]])
            plan = plans.get(number)
            if plan is not None:
                result.append(PlannedNode(node, plan[0], plan[1], changed))
            elif any([one is not other for one, other in zip(changed, node.args, strict=True)]):
                result.append(PlannedNode(node, node.kind, node.op_def, changed))
            else:
                result.append(node)
        return result


def _same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether shapes or strides are equal. Equal traced ones are one tuple: comparing sizes would make guards of them.

    Equal tuples of numbers are mostly one, but not where the table of them was emptied in between.
    """
    return one is other or (len(one) > 0 and type(one[0]) is int and one == other)


def _kind(code: int) -> str:
    """The kind of a dtype for which identities hold; of floats without a zero of each sign none do."""
    kind = KINDS[code]
    return kind if kind != "f" or code in _FLOATS else "-"


def _holds(middle: int, code: int) -> bool:
    """Whether a dtype has all values of another one, and gives them back."""
    if KINDS[code] == "b":
        return True
    if KINDS[code] in "iu" and KINDS[middle] in "iu":
        return ITEMSIZES[middle] >= ITEMSIZES[code]  # Of the same size they wrap, and back.
    if KINDS[code] in "iu" and middle in (F32, F64):
        return 8 * ITEMSIZES[code] <= (24 if middle == F32 else 53)
    return middle in _MIDDLES.get(code, ())


__all__ = ["PlannedNode", "rewritten"]
