"""Sizes that remember how they were computed, so that a plan made with them serves other sizes, too.

Planner and emitter are ordinary Python over whole numbers: extents, strides, offsets. Given `Size` objects in their
place they do the same work, and a `GuardTrace` notes every computation on sizes, and every answer that a size gave:
that it is not 1, that it is less than another one, that it is exactly 16 (where it became text, or an index). For other
sizes that would give the same answers, plan and texts are the same, and the numbers in them are computed by playing the
trace again (`engine.symbolic_key.play`). A size is no `int`, so nothing can look at its value unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

EQ, NE, LT, GE, MUL, ADD, SUB, FLOORDIV, MOD, CALL, ITEM, TRUEDIV, LSHIFT, RSHIFT, AND, OR, BIT_LENGTH = range(17)
"""What an entry of a guard trace does; up to GE it asks, and the answer has to be yes."""

Entry = tuple[int, Any, Any, int]
"""An entry of a guard trace: what it does, the slots of its arguments, and that of its result."""

_HASH = 0x5E1F
_Function = TypeVar("_Function", bound=Callable[..., Any])


class GuardTrace:
    """Computations on sizes in their order.

    Attributes
    ----------
    count : int
        Given sizes: slots 0 to count - 1 are theirs, those after are of results and constants.
    values : list of int
        What each slot holds for the sizes that the trace was made with.
    entries : list of Entry
        What was computed and asked.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.count = len(sizes)
        self.values: list[Any] = list(sizes)
        self.entries: list[Entry] = []
        self._constants: dict[Any, int] = {}
        self._known: dict[Any, Any] = {}

    def size(self, slot: int) -> Size:
        """A given size."""
        return self._at(slot)

    def _at(self, slot: int) -> Size:
        """The size at a slot: one object, so that equal computations are seen to be equal."""
        size: Size | None = self._known.get(slot)
        if size is None:
            size = self._known[slot] = Size(self, slot, self.values[slot])
        return size

    def slot(self, value: Any) -> int:
        """The slot of a size or of a constant."""
        if type(value) is Size:
            return value.slot
        key = (type(value), value)
        slot = self._constants.get(key)
        if slot is None:
            slot = self._constants[key] = len(self.values)
            self.values.append(value)
        return slot

    def compute(self, what: int, a: Any, b: Any, value: Any) -> Size:
        """The result of a computation, noted once."""
        key = (what, self.slot(a), self.slot(b))
        size: Size | None = self._known.get(key)
        if size is None:
            slot = len(self.values)
            self.values.append(value)
            self.entries.append((*key, slot))
            size = self._known[key] = self._at(slot)
        return size

    def ask(self, what: int, a: Any, b: Any) -> None:
        """Note an answer that was yes, once."""
        key = (what, self.slot(a), self.slot(b))
        if key not in self._known:
            self._known[key] = True
            self.entries.append((*key, 0))

    def call(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """The result (a number, or a tuple of them) of a pure function, which is called again for other sizes."""
        slots = tuple(self.slot(arg) for arg in args)
        key = (CALL, function, slots)
        found = self._known.get(key)
        if found is None:
            value = function(*(arg.value if type(arg) is Size else arg for arg in args))
            slot = len(self.values)
            self.values.append(value)
            self.entries.append((CALL, function, slots, slot))
            if isinstance(value, tuple):
                items = [self._item(slot, k, each) for k, each in enumerate(value)]
                found = value._make(items) if hasattr(value, "_make") else tuple(items)
            else:
                found = self._at(slot)
            self._known[key] = found
        return found

    def _item(self, slot: int, k: int, value: int) -> Size:
        self.values.append(value)
        self.entries.append((ITEM, slot, k, len(self.values) - 1))
        return self._at(len(self.values) - 1)

    def close(self) -> None:
        """Let go of what only tracing needs; its sizes still say their slots."""
        self._known.clear()

    def program(self, wanted: Sequence[int] | None = None) -> tuple[list[Entry], list[Any]]:
        """The guard trace, and what the slots hold before it is played (after the given sizes, which come first).

        With `wanted`, only what the values at these slots and the answers need.
        """
        rest: list[Any] = [0] * (len(self.values) - self.count)
        for slot in self._constants.values():
            rest[slot - self.count] = self.values[slot]
        if wanted is None:
            return self.entries, rest
        used = set(wanted)
        kept: list[Entry] = []
        for entry in reversed(self.entries):
            what, a, b, target = entry
            if what <= GE or target in used:
                used.update(b if what == CALL else (a,) if what == ITEM else (a, b))
                kept.append(entry)
        kept.reverse()
        return kept, rest


class Size:
    """A number of a trace, whole but for quotients: what is asked of it is noted, and what is computed with it."""

    __slots__ = ("slot", "trace", "value")

    def __init__(self, trace: GuardTrace, slot: int, value: Any) -> None:
        self.trace = trace
        self.slot = slot
        self.value = value

    # -------------------------------------------------------- its value, which from then on is part of the plan

    def __index__(self) -> int:
        self.trace.ask(EQ, self, self.value)
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec)

    def __repr__(self) -> str:
        return repr(self.__index__())

    # -------------------------------------------------------- answers

    def __hash__(self) -> int:
        # Sizes in one table meet, so that they are compared. Of plain numbers only these are told apart; where a table
        # misses another one that is equal for some sizes, planner and emitter share less than they might.
        if -1 <= self.value <= 1:
            return hash(self.__index__())
        for number in (-1, 0, 1):
            self.trace.ask(NE, self, number)
        return _HASH

    def __bool__(self) -> bool:
        return self != 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is Size:
            answer = self.value == other.value
        elif isinstance(other, (int, float)):
            answer = self.value == other
        else:
            return NotImplemented
        self.trace.ask(EQ if answer else NE, self, other)
        return answer

    def __lt__(self, other: Any) -> bool:
        return self._less(self, other)

    def __gt__(self, other: Any) -> bool:
        return self._less(other, self)

    def __le__(self, other: Any) -> bool:
        return not self._less(other, self)

    def __ge__(self, other: Any) -> bool:
        return not self._less(self, other)

    def _less(self, a: Any, b: Any) -> bool:
        answer = bool(_value(a) < _value(b))
        if a is not b:
            self.trace.ask(LT if answer else GE, a, b)
        return answer

    # -------------------------------------------------------- computations

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self.trace.compute(ADD, self, other, self.value + _value(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self.trace.compute(SUB, self, other, self.value - _value(other))

    def __rsub__(self, other: Any) -> Any:
        return self.trace.compute(SUB, other, self, _value(other) - self.value)

    def __neg__(self) -> Any:
        return self.__rsub__(0)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (Size, int, float)):
            return NotImplemented  # A list, so many times.
        if _is(other, 1):
            return self
        return 0 if _is(other, 0) else self.trace.compute(MUL, self, other, self.value * _value(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self._quotient(FLOORDIV, self, other, self.value // _value(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._quotient(FLOORDIV, other, self, _value(other) // self.value)

    def __mod__(self, other: Any) -> Any:
        return 0 if _is(other, 1) else self._quotient(MOD, self, other, self.value % _value(other))

    def __rmod__(self, other: Any) -> Any:
        return self._quotient(MOD, other, self, _value(other) % self.value)

    def _quotient(self, what: int, a: Any, b: Any, value: Any) -> Size:
        """A quotient or a rest, by what is not zero for other sizes, either."""
        if type(b) is Size:
            self.trace.ask(NE, b, 0)
        return self.trace.compute(what, a, b, value)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Size:
        return self._quotient(TRUEDIV, self, other, self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Size:
        return self._quotient(TRUEDIV, other, self, _value(other) / self.value)

    def __lshift__(self, other: Any) -> Any:
        return self.trace.compute(LSHIFT, self, other, self.value << _value(other))

    def __rlshift__(self, other: Any) -> Any:
        if self < 0:
            raise ValueError("negative shift count")
        return self.trace.compute(LSHIFT, other, self, _value(other) << self.value)

    def __rshift__(self, other: Any) -> Any:
        return self.trace.compute(RSHIFT, self, other, self.value >> _value(other))

    def __and__(self, other: Any) -> Any:
        return self.trace.compute(AND, self, other, self.value & _value(other))

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self.trace.compute(OR, self, other, self.value | _value(other))

    __ror__ = __or__

    def bit_length(self) -> Any:
        """Bits that the number takes."""
        return self.trace.compute(BIT_LENGTH, self, 0, self.value.bit_length())


def is_size(value: object) -> bool:
    """Whether a number is a trace's."""
    return type(value) is Size


def _value(number: Any) -> Any:
    return number.value if type(number) is Size else number


def _is(number: Any, value: int) -> bool:
    """Whether this is a plain number of a value: of a size that would be a question."""
    return type(number) is not Size and bool(number == value)


def of_sizes(function: _Function) -> _Function:
    """A pure function of numbers whose inside a trace need not look into; what it gives for plain ones is kept."""
    known = lru_cache(4096)(function)

    @wraps(function)
    def noted(*args: Any) -> Any:
        for arg in args:
            if type(arg) is Size:
                return arg.trace.call(function, args)
        return known(*args)

    return noted  # type: ignore[return-value]
