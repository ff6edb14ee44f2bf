"""The array that users hold: a storage seen through a layout.

Operators record, but on numbers. What needs the API (reductions, printing) is bound late: its modules call `bind`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GenericAlias
from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.array.members import set_member
from numloom.array.numbers import binary_number, known_number, number_as, repeats, unary_number
from numloom.array.storage import Storage, arranged, new_storage, read, read_only, write, write_number
from numloom.array.subscript import Basic, new_basic, simple, turned
from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F16, F64, I64, ITEMSIZES, SCALAR_CODES
from numloom.base.errors import casting_error
from numloom.base.tracebacks import to_write
from numloom.base.wording import no_truth
from numloom.engine.evaluate import after_record, download_layout, element, element_at_once, number
from numloom.engine.look import is_near
from numloom.graph.again import learning
from numloom.graph.build import binary, copied, known_read, scalar, unary, view
from numloom.graph.layout import k_strides, shown
from numloom.graph.node import FILL, LEAF, VIEW, WEAK_INT, Node, register, was_stored
from numloom.ops.elementwise import ELEMENTWISE

ADD, SUBTRACT, MULTIPLY = (ELEMENTWISE[name] for name in ("add", "subtract", "multiply"))
DIVIDE, FLOOR_DIVIDE, REMAINDER = (ELEMENTWISE[name] for name in ("divide", "floor_divide", "remainder"))
NEGATIVE, POSITIVE, ABSOLUTE = (ELEMENTWISE[name] for name in ("negative", "positive", "absolute"))
INVERT, POWER, SQUARE = ELEMENTWISE["invert"], ELEMENTWISE["power"], ELEMENTWISE["square"]
AND, OR, XOR = (ELEMENTWISE[f"bitwise_{name}"] for name in ("and", "or", "xor"))
LEFT_SHIFT, RIGHT_SHIFT = ELEMENTWISE["left_shift"], ELEMENTWISE["right_shift"]
LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL = _COMPARISONS = tuple(
    [ELEMENTWISE[name] for name in ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")]
)

_NOTHING: tuple[Any, ...] = ()
_PYTHON_NUMBERS = (int, float, complex, bool)
if not cython.compiled:  # What deals with numbers without a value, from `engine/_numbers.pyx`, and parts of memory.
    ALONE = copy_part = fill_part = is_few = is_host = listed = node_for = operate = operate_on_few = place_of = cython
    put_known = python_number = stores_as = take_known = take_python = cython
_bound: dict[str, Callable[..., Any]] = {}


def bind(**functions: Any) -> dict[str, Any]:
    """Give the array's methods what they call, as the API's modules do once; what was there before.

    Functions called ``method_NAME``, and properties called so, are members themselves; None takes one away.
    """
    before = {}
    for name, function in functions.items():
        kind, _, member = name.partition("_")
        if kind == "method":
            before[name] = set_member(ndarray, member, function)
        else:
            before[name] = _bound.get(name)
            _bound[name] = function
    return before


def later(name: str) -> Any:
    """What was given to `bind`."""
    return _bound[name]


@cython.no_gc
@cython.freelist(128)
@cython.cclass
class ndarray:
    """What it is to users stands in `numloom.array.about`; here, what it is made of.

    Its memory is `storage`, shared with its views (a number gets one when asked); its layout `code` of the dtype, byte
    `offset`, `_shape` and `_strides`. `is_scalar`: NumPy has a scalar, in-place operators rebind. `writeable`: or not.
    """

    __module__ = "numloom"
    __slots__ = ("_shape", "_strides", "base", "code", "era", "held", "is_scalar", "number", "offset", "writeable")

    held: Storage
    code: int
    _shape: tuple[int, ...]
    _strides: tuple[int, ...]
    offset: int
    is_scalar: bool
    writeable: bool
    base: Any

    __array_priority__ = 1000.0

    @property
    def storage(self) -> Storage:
        return storage_of(self)

    @storage.setter
    def storage(self, storage: Storage) -> None:
        self.held = storage

    @classmethod
    def __class_getitem__(cls, item: Any) -> Any:
        return GenericAlias(cls, item)

    def __add__(self, other: Any) -> Any:
        return apply2(ADD, self, other)

    def __radd__(self, other: Any) -> Any:
        return apply2(ADD, other, self)

    def __sub__(self, other: Any) -> Any:
        return apply2(SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Any:
        return apply2(SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if self.is_scalar and repeats(other) else apply2(MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented if self.is_scalar and repeats(other) else apply2(MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Any:
        return apply2(DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return apply2(DIVIDE, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return apply2(FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return apply2(FLOOR_DIVIDE, other, self)

    def __mod__(self, other: Any) -> Any:
        return apply2(REMAINDER, self, other)

    def __rmod__(self, other: Any) -> Any:
        return apply2(REMAINDER, other, self)

    def __divmod__(self, other: Any) -> Any:
        return _bound["divided"](self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _bound["divided"](other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return NotImplemented
        if type(other) is int and other == 2 and not (self.is_scalar and self.code == BOOL):
            return apply1(SQUARE, self)
        return _bound["operator_power"](self, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return _bound["operator_power"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return _bound["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _bound["matmul"](other, self)

    def __and__(self, other: Any) -> Any:
        return apply2(AND, self, other)

    def __rand__(self, other: Any) -> Any:
        return apply2(AND, other, self)

    def __or__(self, other: Any) -> Any:
        return apply2(OR, self, other)

    def __ror__(self, other: Any) -> Any:
        return apply2(OR, other, self)

    def __xor__(self, other: Any) -> Any:
        return apply2(XOR, self, other)

    def __rxor__(self, other: Any) -> Any:
        return apply2(XOR, other, self)

    def __lshift__(self, other: Any) -> Any:
        return apply2(LEFT_SHIFT, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return apply2(LEFT_SHIFT, other, self)

    def __rshift__(self, other: Any) -> Any:
        return apply2(RIGHT_SHIFT, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return apply2(RIGHT_SHIFT, other, self)

    def __lt__(self, other: Any) -> Any:
        return apply2(LESS, self, other)

    def __le__(self, other: Any) -> Any:
        return apply2(LESS_EQUAL, self, other)

    def __eq__(self, other: object) -> Any:
        result = apply2(EQUAL, self, other)
        return _bound["unlike"](self, other, False) if result is NotImplemented else result

    def __ne__(self, other: object) -> Any:
        result = apply2(NOT_EQUAL, self, other)
        return _bound["unlike"](self, other, True) if result is NotImplemented else result

    def __gt__(self, other: Any) -> Any:
        return apply2(GREATER, self, other)

    def __ge__(self, other: Any) -> Any:
        return apply2(GREATER_EQUAL, self, other)

    def __neg__(self) -> Any:
        return apply1(NEGATIVE, self)

    def __pos__(self) -> Any:
        return apply1(POSITIVE, self)

    def __abs__(self) -> Any:
        return apply1(ABSOLUTE, self)

    def __invert__(self) -> Any:
        return apply1(INVERT, self)

    def __iadd__(self, other: Any) -> Any:
        return apply_inplace(ADD, self, other)

    def __isub__(self, other: Any) -> Any:
        return apply_inplace(SUBTRACT, self, other)

    def __imul__(self, other: Any) -> Any:
        return apply_inplace(MULTIPLY, self, other)

    def __itruediv__(self, other: Any) -> Any:
        return apply_inplace(DIVIDE, self, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return apply_inplace(FLOOR_DIVIDE, self, other)

    def __imod__(self, other: Any) -> Any:
        return apply_inplace(REMAINDER, self, other)

    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc]  # pow() may take three arguments
        return apply_inplace(POWER, self, other)

    def __iand__(self, other: Any) -> Any:
        return apply_inplace(AND, self, other)

    def __ior__(self, other: Any) -> Any:
        return apply_inplace(OR, self, other)

    def __ixor__(self, other: Any) -> Any:
        return apply_inplace(XOR, self, other)

    def __ilshift__(self, other: Any) -> Any:
        return apply_inplace(LEFT_SHIFT, self, other)

    def __irshift__(self, other: Any) -> Any:
        return apply_inplace(RIGHT_SHIFT, self, other)

    def __imatmul__(self, other: Any) -> Any:
        result = NotImplemented if _bound["answers"](other) else _bound["matmul"](self, to_write(other))
        if result is NotImplemented:
            return _bound["foreign_in_place"]("matmul", self, other)
        return store_result(self, result, "matmul")

    def __getitem__(self, index: Any) -> Any:
        if type(index) is ndarray and type(index := as_integer(index)) is ndarray:
            return _bound["looked_up"](self, index)
        if cython.compiled and (number := element_of(self, index)) is not None:
            return number
        found = simple(self.offset, self._shape, self._strides, index)
        return seen_through(self, found) if found is not None else _bound["looked_up"](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.writeable:
            raise read_only(self, "assignment destination")
        if type(index) is ndarray:
            index = as_integer(index)
        if cython.compiled and type(index) is not ndarray and set_element(self, index, value):
            return
        found = None
        if type(index) is not ndarray or not cython.cast(ndarray, index)._shape:
            found = simple(self.offset, self._shape, self._strides, index)
            if found is None and (plain := _bound["with_integers"](index)) is not index:
                index = plain
                found = simple(self.offset, self._shape, self._strides, index)
        if found is not None:
            assign(self, found, value)
        elif not _bound["put_at_once"](self, index, value):
            _bound["put_item"](self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return _bound["iterate"](self)  # type: ignore[no-any-return]

    def __contains__(self, item: Any) -> bool:
        found = self == item
        return bool(found.any() if type(found) is ndarray else found)  # type: ignore[attr-defined]

    def get(self, stream: Any = None, order: Any = "K", out: Any = None, blocking: bool = True) -> Any:
        """The values as a NumPy array (a copy), in the same memory order unless another is asked for; waits."""
        host = download_layout(storage_of(self).value, self.code, self.offset, self._shape, self._strides)
        return host if out is None and order == "K" else _bound["got"](host, order, out)

    def tolist(self) -> Any:
        """The values as (nested) lists of Python numbers; waits."""
        if cython.compiled and self.held is not None and not self.held.pins:
            found = listed(self.held.value, self.code, self.offset, self._shape, self._strides)
            if found is not None:
                return found
        return self.get().tolist()

    def item(self, *index: Any) -> Any:
        """One element as a Python number; waits.

        Parameters
        ----------
        *index : int or tuple of int
            Nothing (for arrays of one element), a position in C order, or an index for each axis.

        Returns
        -------
        bool, int, float or complex
        """
        found = simple(self.offset, self._shape, self._strides, index)
        offset = found.offset if found is not None and found.scalar else _bound["offset_of_item"](self, index)
        return number(storage_of(self).value, self.code, offset)

    def _only_element(self) -> Any:
        if self.size != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return element(storage_of(self).value, self.code, self.offset)

    def __bool__(self) -> bool:
        if self.held is not None and self.size != 1:
            raise no_truth(self.size)
        return bool(number_of(_constant(self)))

    def __float__(self) -> float:
        known = self.held is None and self.code == F64
        return python_number(self.number, F64) if known else float(_bound["real_number"](self))  # type: ignore[attr-defined]

    def __int__(self) -> int:
        return int(_bound["real_number"](_constant(self)))

    def __complex__(self) -> complex:
        return complex(only_number(self))

    def __index__(self) -> int:
        if self._shape or DTYPES[self.code].kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(number_of(self))

    def __round__(self, digits: int | None = None) -> Any:
        return _bound["rounded"](self, digits)

    def __format__(self, spec: str) -> str:
        return _bound["formatted"](self, spec)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return hash(self._only_element()) if self.is_scalar else _bound["hashed"](self)  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return _bound["host_array"](self, dtype, copy)  # type: ignore[no-any-return]

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(_bound["host_array"](self))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _bound["array_ufunc"](ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _bound["array_function"](function, types, args, kwargs)

    def __repr__(self) -> str:
        return _bound["array_repr"](self)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return _bound["array_str"](self)  # type: ignore[no-any-return]

    def __bytes__(self) -> bytes:
        return bytes(self.item()) if not self._shape and self.dtype.kind in "iu" else self.get().tobytes()

    def __reduce__(self) -> Any:
        return _bound["pickled"](self)  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis; may be set, as in NumPy."""
        return self._shape

    @shape.setter
    def shape(self, value: Any) -> None:
        _bound["set_shape"](self, value)

    @shape.deleter
    def shape(self) -> None:
        raise AttributeError("Cannot delete array shape")

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self._strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return DTYPES[self.code]

    @dtype.setter
    def dtype(self, value: Any) -> None:
        _bound["set_dtype"](self, value)

    @dtype.deleter
    def dtype(self) -> None:
        raise AttributeError("Cannot delete array dtype")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self._shape:
            size *= extent
        return size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEMSIZES[self.code]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * ITEMSIZES[self.code]

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order (a view)."""
        found = turned(self._shape, self._strides)
        if found is None:
            return view_of(self, self.offset, self._shape[::-1], self._strides[::-1])
        return view_of(self, self.offset, found.shape, found.strides)

    @property
    def flags(self) -> Any:
        """Memory order, and whether the array may be written."""
        return _bound["flags"](self)


# ---------------------------------------------------------------- making and reading arrays


def number_of(array: Any) -> Any:
    """The first element as a Python number; waits."""
    held = array.held
    return python_number(array.number, array.code) if held is None else number(held.value, array.code, array.offset)


def _constant(array: Any) -> Any:
    """An array, or of a tree's the same without a gradient: for who decides by its numbers, rounds or shows them."""
    return array if array.held is None or not array.held.value.tree else _bound["constant_of"](array)


def only_number(array: Any) -> Any:
    """The one element of a 0-d array as a Python number, which refuses what Python's numbers refuse."""
    if array._shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return number_of(array)


def construct(cls: type, *args: Any, **options: Any) -> Any:
    """What the class does when called, and its ``__new__``: no array is without memory."""
    return _bound["construct"](*args, **options)


if not cython.compiled:
    ndarray.__new__ = staticmethod(construct)  # type: ignore[method-assign]


def wrap(node: Node) -> Any:
    """A new array whose memory holds `node`."""
    if node.kind == VIEW:  # What it sees gets memory of its own.
        strides = k_strides(node.shape, [node.strides], ITEMSIZES[node.code]) if node.shape else _NOTHING
        node = copied(node, strides, node.code)
    result = ndarray.__new__(ndarray) if cython.compiled else object.__new__(ndarray)
    result.held = new_storage(node)
    result.code = node.code
    result._shape = node.shape
    result._strides = node.strides
    result.offset = 0
    result.is_scalar = not node.shape
    result.writeable = True
    result.base = None
    if node.buffer is None:
        r = register
        if r.recorded > r.limit or r.orphan_bytes > r.orphan_limit:  # Eager mode, or a budget.
            after_record(node)
    return result


def storage_of(array: Any) -> Storage:
    """The memory of an array; a number's is made now."""
    if array.held is None:
        array.held = new_storage(node_for(array.number, array.code, array.era))
    return array.held  # type: ignore[no-any-return]


def of_number(code: int, number: Any) -> Any:
    """A scalar that is known, of which nobody has asked for a value yet."""
    result: Any = ndarray.__new__(ndarray)
    result.code = code
    result._shape = _NOTHING
    result._strides = _NOTHING
    result.is_scalar = True
    result.writeable = True
    result.era = register.era
    result.number[0] = number[0]
    result.number[1] = number[1]
    return result


def take_number(x: Any, to: Any) -> int:
    """Put the number that an operand is at `to`: its dtype's code, or that of a Python number; -1 if it is none."""
    if type(x) is not ndarray:
        return take_python(x, to)  # type: ignore[no-any-return]
    array = cython.cast(ndarray, x)
    if array._shape:
        return -1
    if array.held is not None:
        return -1 if array.held.pins else take_known(array.held.value, array.code, array.offset, to)  # type: ignore[no-any-return]
    to[0] = array.number[0]
    to[1] = array.number[1]
    return array.code


def operated(op_def: Any, x: Any, y: Any, alone: bool) -> Any:
    """An operation on numbers or on few elements (on one, if `alone`), done at once; None where it must be recorded."""
    if not cython.compiled:  # Memory for a number of C each.
        left = right = result = [0.0, 0.0]
    first = take_number(x, left)
    if first >= WEAK_INT and (alone or type(y) in _PYTHON_NUMBERS):  # As an array of it.
        first = I64 if first == WEAK_INT else F64 if type(x) is float else C128
    if first >= 0 and (alone or type(y) is not ndarray or not cython.cast(ndarray, y)._shape):
        second = ALONE if alone else take_number(y, right)
        if second < 0 or learning() or not is_host():  # A number is a look.
            return None
        code = operate(op_def, first, left, second, right, result)
        return None if code < 0 else of_number(code, result)
    few = of_few(op_def, x, y, alone)
    return None if few is None else wrap(few)


def of_few(op_def: Any, x: Any, y: Any, alone: bool) -> Any:
    """The value of an operation on few elements of computed arrays, done at once; None where it must be recorded."""
    left = right = None
    left_shape = left_strides = right_shape = right_strides = _NOTHING
    if type(x) is ndarray and cython.cast(ndarray, x)._shape:
        a = cython.cast(ndarray, x)
        if not is_few(a._shape) or a.held is None or a.held.pins:
            return None
        left, left_shape, left_strides = a.held.value, a._shape, a._strides
        first.code, first.offset = a.code, a.offset  # type: ignore[name-defined]  # noqa: F821
    if not alone and type(y) is ndarray and cython.cast(ndarray, y)._shape:
        b = cython.cast(ndarray, y)
        if not is_few(b._shape) or b.held is None or b.held.pins:
            return None
        right, right_shape, right_strides = b.held.value, b._shape, b._strides
        second.code, second.offset = b.code, b.offset  # type: ignore[name-defined]  # noqa: F821
    if left is None:
        if right is None:
            return None
        first.code = take_number(x, first.number)  # type: ignore[name-defined]  # noqa: F821
        if first.code < 0:  # type: ignore[name-defined]  # noqa: F821
            return None
    elif right is None and not alone:
        second.code = take_number(y, second.number)  # type: ignore[name-defined]  # noqa: F821
        if second.code < 0:  # type: ignore[name-defined]  # noqa: F821
            return None
    return operate_on_few(
        op_def, alone, cython.address(first), left, left_shape, left_strides,  # type: ignore[name-defined]  # noqa: F821
        cython.address(second), right, right_shape, right_strides,  # type: ignore[name-defined]  # noqa: F821
    )  # fmt: skip


def element_of(array: Any, index: Any) -> Any:
    """The element that integers lead to, if it is computed and the host sees it; else None."""
    if not cython.compiled:
        found = [0.0, 0.0]
    storage = array.held
    if storage is None or storage.pins or storage.value.kind not in (LEAF, FILL) or register.tracing:
        return None
    offset = place_of(array.offset, array._shape, array._strides, index)
    known = offset >= 0 and take_known(storage.value, array.code, offset, found) >= 0
    return element_from(of_number(array.code, found)) if known else None


def element_from(scalar: Any) -> Any:
    """A scalar as an element of an array: it cannot be written, since whoever writes to it means the array."""
    scalar.writeable = False
    return scalar


def set_element(array: Any, index: Any, value: Any) -> bool:
    """Store a number of the same dtype in the element that integers lead to at once, if nobody else has the memory."""
    storage = array.held
    if storage is None or storage.pins or storage.value.kind != LEAF or register.tracing:
        return False
    if not cython.compiled:
        number = [0.0, 0.0]
    code = take_number(value, number)
    if code < 0 or not stores_as(code, array.code, number):
        return False
    offset = place_of(array.offset, array._shape, array._strides, index)
    stored = offset >= 0 and put_known(storage.value, array.code, offset, number)
    return stored and was_stored(storage.value, type(value) is ndarray)  # type: ignore[no-any-return]


def view_of(array: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Another array over the same memory; of a scalar, which cannot be written, over a copy (a scalar without axes)."""
    result = ndarray.__new__(ndarray) if cython.compiled else object.__new__(ndarray)
    result.held = new_storage(storage_of(array).value) if array.is_scalar else array.held
    result.code = array.code
    result._shape = shape
    result._strides = strides
    result.offset = offset
    result.is_scalar = array.is_scalar and not shape
    result.writeable = array.writeable or (array.is_scalar and bool(shape))
    result.base = None if array.is_scalar else array if array.base is None else array.base
    return result


def seen_through(array: Any, found: Basic) -> Any:
    """What a subscript gives that stands for a view: an element becomes an array of its own."""
    if not found.scalar:
        result = view_of(array, found.offset, found.shape, found.strides)
        result.writeable, result.is_scalar = result.writeable or result.is_scalar, False
        return result
    storage = storage_of(array)
    value = None if storage.pins or register.tracing else element_at_once(storage.value, array.code, found.offset)
    node = known_read(value, array.code) if value is not None else read(storage, array.code, found.offset, (), ())
    return element_from(wrap(node))


def as_integer(index: Any) -> Any:
    """A subscript that is an integer of ours as one of Python's, if no call is learned, or itself."""
    array = cython.cast(ndarray, index)
    known = array.held is None and array.is_scalar and BOOL < array.code < F16 and not learning()
    return number_of(index) if known else index


def store_part(array: Any, found: Basic, value: Any) -> bool:
    """Store a number or computed values where a subscript leads at once, if nobody else has the memory."""
    storage = array.held
    if storage is None or storage.pins or storage.value.kind != LEAF or register.tracing:
        return False
    if type(value) is ndarray and cython.cast(ndarray, value)._shape:
        given, other = cython.cast(ndarray, value), cython.cast(ndarray, value).held
        if other is None or other.pins or given.code != array.code:
            return False
        stored = copy_part(
            storage.value, array.code, found.offset, found.shape, found.strides,
            None if other.value is storage.value else other.value, given.offset, given._shape, given._strides,
        )  # fmt: skip
        return stored and was_stored(storage.value, True)  # type: ignore[no-any-return]
    if not cython.compiled:
        number = [0.0, 0.0]
    code = take_number(value, number)
    if code < 0 or not stores_as(code, array.code, number):
        return False
    stored = fill_part(storage.value, array.code, found.offset, found.shape, found.strides, number)
    return stored and was_stored(storage.value, type(value) is ndarray)  # type: ignore[no-any-return]


def assign(array: Any, found: Basic, value: Any) -> None:
    """Store a value where a subscript that stands for a view leads."""
    if type(value) is ndarray and value.is_scalar and value.code != array.code and BOOL < array.code < F16:
        value = _bound["as_stored"](value, array.code)
    given = value if type(value) is ndarray else None
    if (
        given is not None
        and storage_of(given) is storage_of(array)
        and given.offset == found.offset
        and given.code == array.code
        and (given._shape is found.shape or given._shape == found.shape)
        and (given._strides is found.strides or given._strides == found.strides)
    ):
        return  # What `x[i] += y` assigns last is what is there already.
    known = given is None or not (given._shape or (given.held is not None and given.held.value.tree))
    if (found.scalar and known and _is_at_hand(array)) and write_number(
        storage_of(array), array.code, found.offset, value if given is None else number_of(given)
    ):
        was_stored(storage_of(array).value, given is not None)
        return
    if cython.compiled and store_part(array, found, value):
        return
    node = assigned_value(value, array.code, True)
    if found.scalar and node.shape and (array.code != BOOL or node.size != 1):
        kind = TypeError if array.code in (C64, C128) or (given is None and BOOL < array.code < F16) else ValueError
        raise kind("setting an array element with a sequence.")
    write(storage_of(array), array.code, found.offset, found.shape, found.strides, node)


def _is_at_hand(array: Any) -> bool:
    """Whether an element may be written at once: computed memory that the host sees, while no call is learned."""
    value = storage_of(array).value
    return value.kind == LEAF and not learning() and is_near(value.buffer)


def node_of(array: Any) -> Node:
    """The array's current value."""
    storage = storage_of(array)
    current = storage.value
    same = current.shape is array._shape and current.strides is array._strides and current.code == array.code
    if same and array.offset == 0 and not storage.pins:
        return current
    return read(storage, array.code, array.offset, array._shape, array._strides)


def operand(value: Any) -> Any:
    """What an operation takes: a Node or a Python number; NotImplemented for what is no array."""
    kind = type(value)
    if kind is ndarray:
        return node_of(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        return value
    if kind in SCALAR_CODES:  # numbers of NumPy's
        return scalar(value.item(), SCALAR_CODES[kind])
    return NotImplemented if _bound["defers_to"](value) else _bound["foreign_operand"](value)


def apply2(op_def: Any, x: Any, y: Any) -> Any:
    """A binary operation on arrays, numbers and what can become an array: recorded, but of numbers done at once."""
    if cython.compiled and (done := operated(op_def, x, y, False)) is not None:
        return done
    p = None if learning() else _number_of(x)  # which is a look
    if p is not None:
        q = _number_of(y)
        node = None if q is None else binary_number(op_def, p, q)
        if node is not None:
            return wrap(node)
    if type(x) is not ndarray or type(y) is not ndarray:
        return _apply2_other(op_def, x, y)
    a, b = cython.cast(ndarray, x), cython.cast(ndarray, y)
    result = wrap(binary(op_def, node_of(a), node_of(b)))
    if a.held.pins or b.held.pins:  # Which `node_of` has made, if they were numbers.
        after_record(storage_of(result).value, now=True)
    return result


def _number_of(x: Any) -> Any:
    """The number that an operand is, if the host knows it; None for an array with axes."""
    if type(x) is not ndarray:
        return x
    array = cython.cast(ndarray, x)
    return None if array._shape else known_number(storage_of(array), array.code, array.offset)


def _apply2_other(op_def: Any, x: Any, y: Any) -> Any:
    """`apply2` where one operand is no array of ours."""
    node = record2(op_def, x, y)
    if node is NotImplemented:
        return _bound["answered"](op_def.name, x, y)
    result = wrap(node)
    if pinned(x) or pinned(y):
        after_record(node, now=True)
    return result


def record2(op_def: Any, x: Any, y: Any) -> Any:
    """Record a binary operation as `apply2` does; its value, or NotImplemented."""
    a: Any = node_of(x) if type(x) is ndarray else operand(x)
    b: Any = node_of(y) if type(y) is ndarray else operand(y)
    if a is NotImplemented or b is NotImplemented:
        return NotImplemented
    if type(a) is not Node and type(b) is not Node:
        a = node_of(_bound["asarray"](a))
    try:
        return binary(op_def, a, b)
    except OverflowError:
        if op_def not in _COMPARISONS:
            raise
        return node_of(_bound["compare_out_of_range"](op_def, a, b))


def pinned(x: Any) -> bool:
    """Whether `x` is an array whose memory's address is exported."""
    return type(x) is ndarray and storage_of(x).pins > 0


def apply1(op_def: Any, x: Any) -> Any:
    """A unary operation on an array: recorded, but of a number done at once."""
    if cython.compiled and (done := operated(op_def, x, None, True)) is not None:
        return done
    p = None if learning() else _number_of(x)  # which is a look
    node = None if p is None else unary_number(op_def, p)
    if node is not None:
        return wrap(node)
    node = unary(op_def, node_of(x))
    result = wrap(node)
    if storage_of(x).pins:
        after_record(node, now=True)
    return result


def assigned_value(value: Any, code: int, basic: bool = False) -> Node:
    """What an assignment stores; Python integers must fit the dtype, as in NumPy, and with `basic` NumPy's numbers."""
    kind = type(value)
    if kind is ndarray:
        return node_of(value)
    if kind is float or kind is int or kind is bool or kind is complex:
        return number_as(value, code)
    return _bound["assigned_other"](value, code, basic)


def apply_inplace(op_def: Any, target: Any, other: Any) -> Any:
    """``target op= other``: the whole or a part of its memory gets a new value."""
    if not target.writeable and not target.is_scalar:
        raise read_only(target, "output array")
    if type(other) is ndarray and not target.is_scalar and op_def is not POWER:
        given = other
        if given._shape is target._shape or given._shape == target._shape:
            # As below, without an array for the result in between.
            if cython.compiled and (few := of_few(op_def, target, given, False)) is not None:
                return store_result(target, wrap(few), op_def.name)
            node = binary(op_def, node_of(target), node_of(given))
            if node.code == target.code:
                write(storage_of(target), target.code, target.offset, target._shape, target._strides, node)
                return target
    elif type(other) is not float and type(other) is not int and not target.is_scalar and _bound["answers"](other):
        return _bound["foreign_in_place"](op_def.name, target, other)
    try:
        result = _bound["operator_power"](target, other) if op_def is POWER else apply2(op_def, target, other)
    except ValueError:
        _bound["check_cast"](op_def, target, other)
        raise
    if result is NotImplemented and not target.is_scalar:
        return _bound["foreign_in_place"](op_def.name, target, other)
    return store_result(target, result, op_def.name)


def store_result(target: Any, result: Any, name: str) -> Any:
    """Finish an in-place operator: rebind a scalar, else write the result where the array lies."""
    if target.is_scalar or result is NotImplemented:
        return result
    if not target.writeable:
        raise read_only(target, "output array")
    if result.code != target.code and not np.can_cast(DTYPES[result.code], DTYPES[target.code], "same_kind"):
        raise casting_error(name, "same_kind", result.code, target.code)
    if result.shape != target._shape:
        shapes = f"shape {shown(target._shape)} doesn't match the broadcast shape {shown(result.shape)}"
        raise ValueError(f"non-broadcastable output operand with {shapes}")
    storage = storage_of(target)
    if cython.compiled and storage.value.shape is not target._shape:  # Of the whole the value itself is taken.
        part = new_basic(target.offset, target._shape, target._strides, False)
        if store_part(target, part, result):
            return target
    write(storage, target.code, target.offset, target._shape, target._strides, storage_of(result).value)
    return target


__all__ = ["LEAF", "arranged", "bind", "ndarray", "node_of", "operand", "view", "view_of", "wrap"]
