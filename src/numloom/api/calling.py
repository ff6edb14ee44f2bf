"""Plain calls of ufuncs and reductions: nothing of Python's between them and what they record.

Calls with rarer arguments go on to the functions that know them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython

from numloom.api.verifying import beside, compared, memory, tried, tried_write
from numloom.array.ndarray import apply1, apply2, ndarray, node_of, operated, record2, storage_of, view_of, wrap
from numloom.array.storage import put, write
from numloom.base.config import config
from numloom.base.dtypes import BOOL, F64, KINDS
from numloom.base.given import as_flag
from numloom.base.nesting import DEEPEST
from numloom.base.tracebacks import public
from numloom.device.registry import current
from numloom.engine.evaluate import after_record
from numloom.graph.build import cast, elementwise, one_tuple, scalar, unary
from numloom.graph.node import Node
from numloom.graph.replay import RecordedTrace, RecordedTraces, begin, end, find, learn, learning, replay, replay_one

Function = TypeVar("Function", bound=Callable[..., Any])
_SAME_KIND, _ANY = "same_kind", "K"
_NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]
_ARRAY = object()
"""Stands for an array among arguments."""
_PART = object()
"""Stands before the layout of an array that is not all of its memory."""
_LIES = object()
"""Stands before the strides of an array that are not those of its value."""
_verify = config.verify
if not cython.compiled:
    run_few: Any = None  # of `engine/_few.pyx`
    short_product: Any = None  # of `array/_short.pyx`


def _set_verify(value: bool) -> None:
    global _verify
    _verify = value


config.listen("verify", _set_verify)
_NAMES: Any = (type, np.dtype, type(_NO_VALUE), type(...))
"""Kinds of what is equal only if it means the same."""


class ElementwiseCall:
    """What calling a ufunc does.

    Attributes
    ----------
    nin, nout : int
        Number of inputs and of outputs.
    _op_def : OpDef
        The operation, of several outputs the first one's.
    _op_defs : tuple of OpDef
        Those of all outputs.
    careful : bool
        Whether numbers of some dtypes must be looked at before they are operated on (`_general` does).
    """

    _op_def: Any
    _op_defs: tuple[Any, ...]
    nin: int
    nout: int
    careful: bool

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: Any = _SAME_KIND,
        order: Any = _ANY,
        dtype: Any = None,
        subok: Any = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Any:
        count = len(args)
        if (
            count == self.nin
            and where is True
            and dtype is None
            and signature is None
            and sig is None
            and (subok is True or subok is False)
            and (casting is _SAME_KIND or (type(casting) is str and casting == _SAME_KIND))
            and (order is _ANY or (type(order) is str and order == _ANY))
        ):
            result = call_fast(self, args[0], args[1] if count > 1 else None, out)
            if result is not NotImplemented:
                return result
        return self._general(args, out, where, casting, order, dtype, subok, signature, sig)

    def _general(self, *given: Any, **options: Any) -> Any:
        """A call with any arguments, which the function's own class knows."""
        raise NotImplementedError


def call_fast(function: ElementwiseCall, x: Any, y: Any, out: Any) -> Any:
    """What a call of a ufunc gives for its inputs and an output; NotImplemented where more must be looked at."""
    op_def = function._op_def
    if function.nout == 1:
        if function.nin == 2:
            if function.careful and not _harmless(x, y):
                return NotImplemented
            if out is None:
                return apply2(op_def, x, y)
            if type(out) is ndarray and out.writeable:
                try:
                    node = record2(op_def, x, y)
                except ValueError:  # Shapes that do not fit; NumPy looks at the output's dtype first.
                    return NotImplemented
                if node is not NotImplemented and store_fast(out, node):
                    return out
        elif function.nin == 1 and type(x) is ndarray:
            if out is None:
                return apply1(op_def, cython.cast(ndarray, x))
            if type(out) is ndarray and out.writeable and store_fast(out, unary(op_def, node_of(x))):
                return out
        elif function.nin == 1 and type(x) is float and out is None:
            number = operated(op_def, x, None, True) if cython.compiled else None
            return number if number is not None else wrap(unary(op_def, scalar(x, F64)))
        return NotImplemented
    return NotImplemented if out is not None else _call_several(function, x, y)


def _call_several(function: ElementwiseCall, x: Any, y: Any) -> Any:
    """`call_fast` of a ufunc of several outputs; what answers itself is asked once, for all of them."""
    if not (_is_known(x) and _is_known(y)):
        return NotImplemented
    results = []
    for op_def in function._op_defs:
        result = apply2(op_def, x, y) if function.nin == 2 else NotImplemented
        if function.nin == 1 and type(x) is ndarray:
            result = apply1(op_def, x)
        if result is NotImplemented:
            return result
        results.append(result)
    return tuple(results)


def _is_known(x: Any) -> bool:
    """Whether this is an array of ours, a number of Python's, or nothing."""
    return type(x) is ndarray or type(x) is float or type(x) is int or x is None


def _harmless(x: Any, y: Any) -> bool:
    """Whether one of two operands is a floating-point number, or the second one no negative integer; 0.5 is a root."""
    if type(y) is float:
        return y != 0.5
    return type(x) is float or (type(x) is ndarray and KINDS[x.code] in "fc") or (type(y) is int and y >= 0)


def choose_fast(op_def: Any, condition: Any, x: Any, y: Any) -> Any:
    """An operation on a truth value and two values, all of them arrays of ours."""
    result = wrap(elementwise(op_def, (cast(node_of(condition), BOOL), node_of(x), node_of(y))))
    if storage_of(condition).pins or storage_of(x).pins or storage_of(y).pins:
        after_record(storage_of(result).value, now=True)
    return result


def store_fast(out: Any, node: Node) -> bool:
    """Write a value to an array that is just like it; False where more must be looked at."""
    if not out.writeable or node.code != out.code or node.shape != out._shape:
        return False
    write(storage_of(out), out.code, out.offset, out._shape, out._strides, node)
    return True


class Plain:
    """A call that is known by its operands' forms and a few arguments: reductions, products, and what is made of them.

    Attributes
    ----------
    general : callable
        The call in full: ``general(array, axis, keepdims=...)`` of reductions, ``general(x, y)`` of products,
        ``general(given, *arrays)`` of others.
    traces, keeping : RecordedTraces
        What it recorded before; of reductions that keep their axes, the other one.
    device : Device or None
        Of a composed call, where that was: where waiting costs, other things are recorded.
    multiplies : bool
        Whether this is the product of matrices and vectors, which short ones have at once.
    """

    __slots__ = ("device", "general", "keeping", "multiplies", "traces")

    general: Callable[..., Any]
    traces: RecordedTraces
    keeping: RecordedTraces
    device: Any
    multiplies: bool

    def __init__(self, general: Callable[..., Any], multiplies: bool = False) -> None:
        self.general = general
        self.multiplies = multiplies
        self.traces = RecordedTraces()
        self.keeping = RecordedTraces()
        self.device = None

    def __call__(self, x: Any, y: Any) -> Any:
        return combine_fast(self, x, y)


class Ending:
    """How the array that a call gives is made of a value, or of an operand.

    Attributes
    ----------
    operand : int
        Of which operand it is a view; -1 if it has memory of its own.
    code, offset, shape, strides
        Its layout there; `offset` counts from the operand's begin. The shape is None of the operand itself.
    based : bool
        Of an array with memory of its own, whether it has a base.
    writeable : bool
        Whether it may be written, if the operand may.
    """

    __slots__ = ("based", "code", "offset", "operand", "shape", "strides", "writeable")

    operand: int
    code: int
    offset: int
    shape: Any
    strides: Any
    based: bool
    writeable: bool

    def __init__(self, operand: int, offset: int = 0, result: Any = None) -> None:
        self.operand = operand
        self.shape = self.strides = None
        if result is None:
            return
        self.code = result.code
        self.offset = offset
        self.shape = one_tuple(result._shape)
        self.strides = one_tuple(result._strides)
        self.based = result.base is not None
        self.writeable = result.writeable


class Endings:
    """Those of a call that gives a tuple or list (`kind`) of arrays."""

    __slots__ = ("kind", "parts")

    kind: type
    parts: list[Any]

    def __init__(self, kind: type, parts: list[Any]) -> None:
        self.kind = kind
        self.parts = parts


def reduce_fast(function: Plain, array: Any, axis: Any, keepdims: Any) -> Any:
    """The reduction of an array over axes; what is known of arrays like it is recorded at once."""
    keep = keepdims is True or (keepdims is not False and keepdims is not _NO_VALUE and as_flag(keepdims))
    if type(array) is not ndarray or not _is_plain(axis):
        return function.general(array, axis, keepdims=keep)
    traces = function.keeping if keep else function.traces
    given = array
    operand = node_of(given)
    node = replay_one(traces, axis, operand)
    if node is not None:
        if cython.compiled:
            run_few(node)
        result = wrap(node)
        if storage_of(given).pins:
            after_record(node, now=True)
        if _verify:
            return compared(result, partial(function.general, array, axis, keepdims=keep))
        return result
    operands = [operand]
    recorded = find(traces, axis, operands)
    if recorded is not None and not _verify:
        return _replayed(recorded, operands, (array,))
    return _in_full(recorded, traces, axis, operands, (array,), partial(function.general, array, axis, keepdims=keep))


def combine_fast(function: Plain, x: Any, y: Any) -> Any:
    """The product of two values; what is known of arrays like them is recorded at once."""
    if type(x) is not ndarray or type(y) is not ndarray:
        return function.general(x, y)
    left, right = x, y
    if cython.compiled and function.multiplies and (found := short_product(x, y)) is not None:
        return found
    operands = [node_of(left), node_of(right)]
    recorded = find(function.traces, None, operands)
    if recorded is not None and not _verify:
        if recorded.ending is not None:
            return _replayed(recorded, operands, (x, y))
        node = replay(recorded, operands)
        if cython.compiled:
            run_few(node)
        result = wrap(node)
        if storage_of(left).pins or storage_of(right).pins:
            after_record(node, now=True)
        return result
    return _in_full(recorded, function.traces, None, operands, (x, y), partial(function.general, x, y))


def compose_fast(function: Plain, given: Any, arrays: tuple[Any, ...]) -> Any:
    """What a call gives that follows from its arguments (`given`) and from dtypes, shapes and orders of arrays alone.

    `given` is hashed and compared, so it may have no numbers of which different ones are equal.
    """
    for array in arrays:
        if type(array) is not ndarray:
            return function.general(given, *arrays)
    return _compose(function, given, arrays, arrays, None)


def _in_full(
    known: RecordedTrace | None, traces: RecordedTraces, given: Any, operands: list[Node], arrays: tuple[Any, ...],
    call: partial[Any], keeps: bool = False,
) -> Any:  # fmt: skip
    """What a call gives that no trace is known for; one is learned from it if that can be.

    If there is a recorded trace after all, what that gives is compared.
    """
    if known is not None:
        return beside(call, partial(_replayed, known, operands, arrays))
    recorder = begin(traces, given, operands, keeps)
    if recorder is None:
        return call()
    before = [storage_of(array).value for array in arrays]
    try:
        result = call()
    finally:
        end(recorder)
    # What writes to its operands does more than give a result.
    if all([storage_of(array).value is value for array, value in zip(arrays, before, strict=True)]):
        _learn(traces, recorder, given, arrays, result)
        if _verify and not learning():
            learned = traces.known.entries.get(recorder.key)
            if learned is not None:
                tried(traces, given, learned, arrays, call, _replayed)
                return compared(result, call)  # It may have been made of parts that were replayed.
    return result


def traced(function: Function) -> Function:
    """A function that also takes the short way of `compose_fast`, where it takes arrays of ours and plain things.

    What it gives (arrays, one or a tuple or list of them) must follow from its arguments and from the dtypes, shapes
    and orders of arrays alone; where it looks at values or writes to an array it is not replayed. It must not warn.
    """
    plain = Plain(function)
    entered = public(function)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        arrays: list[Any] = []
        given = noted(args, arrays) if not options or options.get("out") is None else None
        if given is not None and options:
            named = noted(tuple(options.values()), arrays)
            given = None if named is None else (given, tuple(options), named)
        if given is None:
            return entered(*args, **options)
        return _compose(plain, given, tuple(arrays), args, options)

    return call  # type: ignore[return-value]


def traced_in_place(function: Function) -> Function:
    """A function that writes to its first argument, an array, and takes the short way as `traced` ones do.

    What that array holds then must follow as results of those do; the function gives nothing.
    """
    plain = Plain(function)
    entered = public(function)

    @wraps(function)
    def call(target: Any, *args: Any, **options: Any) -> None:
        if type(target) is not ndarray or not _rewritten(plain, target, args, options):
            entered(target, *args, **options)

    return call  # type: ignore[return-value]


def _rewritten(plain: Plain, target: Any, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Write to an array by what is known of a call, or learn of the call; False where neither can be done."""
    storage = storage_of(target)
    arrays: list[Any] = []
    given = noted(args, arrays) if target.writeable and not storage.pins else None
    if given is not None and options:
        named = noted(tuple(options.values()), arrays)
        given = None if named is None else (given, tuple(options), named)
    if given is None:
        return False
    value = storage.value
    operands: list[Any] = [value]
    for array in arrays:
        if storage_of(array).pins:
            return False
        operands.append(node_of(array))
    if not is_whole(target):
        given = (_PART, given, target.code, target.offset, target._shape, target._strides)
    recorded = _found(plain, given, operands)
    if recorded is not None:
        if not _verify or learning() or any([node.tree for node in operands]):  # trees may have no numbers
            put(storage, replay(recorded, operands))
            return True
        twin = wrap(value)  # While it has this value, too, no routine changes it in place.
        put(twin.storage, replay(recorded, operands))
        beside(partial(_general, plain, target, args, options), lambda: memory(target, twin.storage.value))
        return True
    recorder = begin(plain.traces, given, operands, True)
    if recorder is None:
        return False
    try:
        plain.general(target, *args, **options)
    finally:
        end(recorder)
    if storage.value is not value:
        learn(plain.traces, recorder, given, storage.value)
        if _verify and not learning():
            learned = plain.traces.known.entries.get(recorder.key)
            if learned is not None:
                write = partial(plain.general, target, *args, **options)
                tried_write(plain.traces, given, learned, (target, *arrays), write)
    return True


def _found(plain: Plain, given: Any, operands: list[Any]) -> RecordedTrace | None:
    """The trace of a call on the device that is in use now."""
    device = current()
    if device is not plain.device:
        plain.device = device
        plain.traces = RecordedTraces()
    return find(plain.traces, given, operands)


def _compose(
    plain: Plain, given: Any, arrays: tuple[Any, ...], args: tuple[Any, ...], options: dict[str, Any] | None
) -> Any:
    """A call by its trace, or in full: with its arguments as they came, or (no `options`) what was noted of them."""
    operands: list[Any] = []
    asked = given
    for array in arrays:
        node = node_of(array)
        operands.append(node)
        if array._strides is not node.strides and array._strides != node.strides:
            asked = (_LIES, asked, array._strides)  # A part that is read as a value of its own.
    recorded = _found(plain, asked, operands)
    if recorded is not None and not _verify:
        return _replayed(recorded, operands, arrays)
    call = partial(plain.general, given, *args) if options is None else partial(plain.general, *args, **options)
    return _in_full(recorded, plain.traces, asked, operands, arrays, call, True)


def _general(plain: Plain, target: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Write to an array in full; what it holds then."""
    plain.general(target, *args, **options)
    return memory(target, storage_of(target).value)


def noted(values: Any, arrays: list[Any], depth: int = 0) -> Any:
    """Arguments as what traces are found by, None where one is not plain; arrays of ours are added to a list.

    Different ones are equal nowhere: not True and 1, not 2 and 2.0, not a list and a tuple.
    """
    notes: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is int or kind is str or value is None:
            notes.append(value)
        elif kind is ndarray:
            arrays.append(value)
            notes.append(_ARRAY)
        elif kind is float:
            if value != value:
                return None
            notes.append((float, value if value else repr(value)))
        elif kind is bool:
            notes.append((bool, value))
        elif kind is tuple or kind is list:
            parts = noted(value, arrays, depth + 1) if depth < DEEPEST else None
            if parts is None:
                return None
            notes.append(parts if kind is tuple else (list, parts))  # No part is a type.
        elif kind is slice:
            parts = noted((value.start, value.stop, value.step), arrays)
            if parts is None:
                return None
            notes.append((slice, parts))
        elif isinstance(value, _NAMES):
            notes.append((kind, value))
        else:
            return None
    return tuple(notes)


def _replayed(recorded: Any, operands: list[Node], arrays: tuple[Any, ...]) -> Any:
    """The array (or the arrays) that a recorded trace leads to."""
    ending = recorded.ending
    if type(ending) is Endings:
        return _replayed_all(recorded, ending, operands, arrays)
    if ending is not None and ending.operand >= 0:
        return _of_operand(ending, arrays)
    node = replay(recorded, operands)
    result = wrap(node) if ending is None else _of_value(ending, node)
    _run_pinned(arrays, node)
    return result


def _replayed_all(recorded: Any, endings: Endings, operands: list[Node], arrays: tuple[Any, ...]) -> Any:
    """Several arrays; they have values of their own, or are views of operands."""
    if recorded.instructions:
        replay(recorded, operands)
    results: list[Any] = []
    for part, number in zip(endings.parts, recorded.results, strict=True):
        ending = part
        if number < 0:
            results.append(_of_operand(ending, arrays))
        else:
            node = operands[number]
            results.append(wrap(node) if ending is None else _of_value(ending, node))
            _run_pinned(arrays, node)
    return tuple(results) if endings.kind is tuple else results


def _of_operand(ending: Ending, arrays: tuple[Any, ...]) -> Any:
    """A view of an operand, or the operand itself."""
    array = arrays[ending.operand]
    if ending.shape is None:
        return array
    result = view_of(array, array.offset + ending.offset, ending.shape, ending.strides)
    result.code = ending.code
    result.writeable = result.writeable and ending.writeable
    return result


def _of_value(ending: Ending, node: Node) -> Any:
    """The array that is a view of all of a value."""
    base = wrap(node)
    result = view_of(base, ending.offset, ending.shape, ending.strides)
    result.code = ending.code
    if not ending.based:
        result.base = None
    return result


def _run_pinned(arrays: tuple[Any, ...], node: Node) -> None:
    """What reads memory that others may write runs now."""
    for array in arrays:
        if storage_of(array).pins:
            after_record(node, now=True)
            break


def _learn(traces: RecordedTraces, recorder: Any, given: Any, arrays: tuple[Any, ...], result: Any) -> None:
    """Keep what a call led to, if its arguments and operands alone say it."""
    kind = type(result)
    several = kind is tuple or kind is list
    endings: list[Any] = []
    nodes: list[Any] = []
    own = set()
    for one in result if several else (result,):
        if type(one) is not ndarray:
            return
        ending = _ending(recorder, arrays, one)
        if ending is NotImplemented:
            return
        endings.append(ending)
        if ending is not None and ending.operand >= 0:
            nodes.append(None)
        elif id(storage_of(one)) in own:
            return
        else:
            own.add(id(storage_of(one)))
            nodes.append(storage_of(one).value)
    if several:
        learn(traces, recorder, given, nodes, Endings(kind, endings))
    else:
        learn(traces, recorder, given, nodes[0], endings[0])


def _ending(recorder: Any, arrays: tuple[Any, ...], result: Any) -> Any:
    """How a result is made; None if `wrap` makes it of its value, NotImplemented where that is not known."""
    for place, array in enumerate(arrays):
        if result is array:
            return Ending(place)
        if storage_of(result) is storage_of(array):
            lies = recorder.operands[place]
            told = array.code == lies.code and array._shape == lies.shape and array._strides == lies.strides
            told = told and array.writeable and result.base is (array if array.base is None else array.base)
            if told and not array.is_scalar and not result.is_scalar:
                return Ending(place, result.offset - array.offset, result)
            return NotImplemented
    if is_whole(result):
        return None
    if not result.is_scalar and result.writeable and not storage_of(result).pins:
        whole = result.base is None or (type(result.base) is ndarray and is_whole(result.base))
        if whole and storage_of(result).value.shape:
            return Ending(-1, result.offset, result)
    return NotImplemented


def is_whole(array: Any) -> bool:
    """Whether an array is what `wrap` makes of the value that its memory holds."""
    node = storage_of(array).value
    whole = array.offset == 0 and array.code == node.code and array.is_scalar == (not node.shape)
    whole = whole and array.writeable and array.base is None
    return whole and array._shape == node.shape and array._strides == node.strides


def frozen(given: Any, depth: int = 0) -> Any:
    """Arguments as what `compose_fast` compares: integers, text, None, and lists of such; NotImplemented for others.

    Different ones of these are equal nowhere, as True and 1 or 2 and 2.0 are.
    """
    kind = type(given)
    if kind is int or kind is str or given is None:
        return given
    if kind is not tuple and kind is not list:
        return NotImplemented
    parts = []
    for part in given:
        kind = type(part)
        if kind is not int and kind is not str and part is not None:
            part = frozen(part, depth + 1) if depth < DEEPEST else NotImplemented
            if part is NotImplemented:
                return part
        parts.append(part)
    return tuple(parts)


def _is_plain(axis: Any) -> bool:
    """Whether an axis is none, an integer or a tuple of integers (True and 1.0 would be taken for 1)."""
    if axis is None or type(axis) is int:
        return True
    if type(axis) is not tuple:
        return False
    for one in axis:  # noqa: SIM110  (compiled)
        if type(one) is not int:
            return False
    return True


__all__ = [
    "ElementwiseCall",
    "Plain",
    "call_fast",
    "choose_fast",
    "combine_fast",
    "compose_fast",
    "frozen",
    "is_whole",
    "noted",
    "reduce_fast",
    "traced",
    "traced_in_place",
]
