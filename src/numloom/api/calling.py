"""Plain calls of ufuncs and reductions: nothing of Python's between them and what they record.

Calls with rarer arguments go on to the functions that know them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, overload

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
from numloom.graph.again import (
    RecordedTrace,
    RecordedTraces,
    TraceRecorder,
    begin,
    end,
    find,
    learn,
    learn_draw,
    learning,
    replay,
    replay_straight,
)
from numloom.graph.build import cast, elementwise, one_tuple, scalar, unary
from numloom.graph.node import Node

Function = TypeVar("Function", bound=Callable[..., Any])
_SAME_KIND, _ANY = "same_kind", "K"
_NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]
_ARRAY = object()
"""Stands for an array among arguments."""
_PART = object()
"""Stands before the layout of an array that is not all of its memory."""
KEPT = _KEPT = object()
"""Stands before axes that stay, with extent 1."""
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


class Replayed:
    """A function whose calls are recorded again by their traces.

    Attributes
    ----------
    general : callable
        The call in full: ``general(given, *arrays)``, or any call where arguments are noted.
    at_once : bool
        Set of reductions and products: a result of few elements runs as soon as it is recorded, no trace keeps a value
        in memory, and the device does not count.
    device, traces : Device, RecordedTraces
        The device of the last call, and traces of calls there: where waiting costs, other things are recorded.
    elsewhere : dict
        All traces, by their devices.
    """

    __slots__ = ("at_once", "device", "elsewhere", "general", "traces")

    general: Callable[..., Any]
    at_once: bool
    device: Any
    traces: RecordedTraces
    elsewhere: dict[Any, RecordedTraces]

    def __init__(self, general: Callable[..., Any], at_once: bool = False) -> None:
        self.general = general
        self.at_once = at_once
        self.device = None
        self.traces = RecordedTraces()
        self.elsewhere = {}


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


def recalled(function: Replayed, given: Any, arrays: tuple[Any, ...]) -> Any:
    """Call a function whose result follows from `given` and from dtypes, shapes and orders of arrays alone.

    `given` is compared, so it may have no numbers of which different ones are equal.
    """
    for array in arrays:
        if type(array) is not ndarray:
            return function.general(given, *arrays)
    return _recalled(function, given, arrays, (), None)


def reduced(function: Replayed, array: Any, axis: Any, keepdims: Any) -> Any:
    """Reduce an array over axes."""
    keep = keepdims is True or (keepdims is not False and keepdims is not _NO_VALUE and as_flag(keepdims))
    given = (_KEPT, axis) if keep else axis
    if type(array) is not ndarray or not _is_plain(axis):
        return function.general(given, array)
    node = None if _verify else replay_straight(function.traces, given, node_of(array))
    if node is None:
        return _recalled(function, given, (array,), (), None)
    if cython.compiled:
        run_few(node)
    result = wrap(node)
    if storage_of(array).pins:
        after_record(node, now=True)
    return result


def over_axes(reduction: Callable[..., Any]) -> Replayed:
    """Make a function of an array, an axis and `keepdims` one for `reduced`."""

    def general(given: Any, array: Any) -> Any:
        keep = type(given) is tuple and len(given) == 2 and given[0] is _KEPT
        return reduction(array, given[1] if keep else given, keepdims=keep)

    return Replayed(general, at_once=True)


def matrix_product(function: Replayed, x: Any, y: Any) -> Any:
    """Multiply matrices and vectors, short ones at once."""
    if type(x) is not ndarray or type(y) is not ndarray:
        return function.general(None, x, y)
    if cython.compiled and (found := short_product(x, y)) is not None:
        return found
    return _recalled(function, None, (x, y), (), None)


@overload
def replayed(function: Function, *, in_place: bool = False, draws: bool = False) -> Function: ...
@overload
def replayed(*, in_place: bool = False, draws: bool = False) -> Callable[[Function], Function]: ...
def replayed(function: Any = None, *, in_place: bool = False, draws: bool = False) -> Any:
    """Have calls with arrays of ours and plain things recorded again by their traces; for use as a decorator.

    The result (arrays, one or a tuple or list of them) must follow from the arguments and from dtypes, shapes and
    orders of arrays alone; a call that looks at values is not replayed. The function must not warn.

    Parameters
    ----------
    function : callable
        The function in full.
    in_place : bool
        True of a function that gives nothing and writes to its first argument: what that holds then must follow so.
    draws : bool
        True of a method of what has a `_bit_generator`: the blocks of random bits that it takes are operands. It gives
        a new array, and calls with arrays among their arguments are done in full.
    """
    if function is None:
        return partial(replayed, in_place=in_place, draws=draws)
    known = Replayed(function)
    entered = partial(_drawn_in_full, function) if draws else public(function)
    again = _drawn if draws else _rewritten if in_place else _called

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        result = again(known, args, options)
        return entered(*args, **options) if result is NotImplemented else result

    return call


def drawn(method: Function) -> Function:
    """Have a method that draws replayed."""
    return replayed(method, draws=True)


def _called(function: Replayed, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a function by its trace, or learn one; NotImplemented if its arguments are not plain."""
    arrays: list[Any] = []
    given = _all_noted(args, options, arrays)
    return NotImplemented if given is None else _recalled(function, given, tuple(arrays), args, options)


def _all_noted(args: tuple[Any, ...], options: dict[str, Any], arrays: list[Any]) -> Any:
    """Note all arguments of a call; None if one is not plain, or an output."""
    if not options:
        return noted(args, arrays)
    given = noted(args, arrays) if options.get("out") is None else None
    named = None if given is None else noted(tuple(options.values()), arrays)
    return None if named is None else (given, tuple(options), named)


def _traces_here(function: Replayed) -> RecordedTraces:
    """Give the traces of the device that is in use now; what may run at once is recorded alike on all."""
    if function.at_once:
        return function.traces
    device = current()
    if device is not function.device:
        function.traces = function.elsewhere.setdefault(device, RecordedTraces())
        function.device = device
    return function.traces


def _recalled(
    function: Replayed, given: Any, arrays: tuple[Any, ...], args: tuple[Any, ...], options: dict[str, Any] | None
) -> Any:
    """Call a function by its trace, or in full: with its arguments, or (no `options`) with what was noted of them."""
    operands: list[Any] = [None] * len(arrays)
    asked = given
    for at in range(len(arrays)):
        array = cython.cast(ndarray, arrays[at])
        node = operands[at] = node_of(array)
        if array._strides is not node.strides and array._strides != node.strides:
            asked = (_LIES, asked, array._strides)  # A part that is read as a value of its own.
    traces = _traces_here(function)
    recorded = find(traces, asked, operands)
    if recorded is not None and not _verify:
        return _result(recorded, operands, arrays, function.at_once)
    if options is None:
        call = partial(function.general, given, *arrays)
    else:
        call = partial(function.general, *args, **options)
    if recorded is not None:
        return beside(call, partial(_result, recorded, operands, arrays, function.at_once))
    recorder = begin(traces, asked, operands, not function.at_once)
    return call() if recorder is None else _learned(traces, recorder, asked, arrays, call)


def _learned(
    traces: RecordedTraces, recorder: TraceRecorder, given: Any, arrays: tuple[Any, ...], call: partial[Any]
) -> Any:
    """Call a function in full, and keep its trace if that says all."""
    before = [storage_of(array).value for array in arrays]
    try:
        result = call()
    finally:
        end(recorder)
    # What writes to its operands does more than give a result.
    if all([storage_of(array).value is value for array, value in zip(arrays, before, strict=True)]):
        _learn(traces, recorder, given, arrays, result)
        trace = traces.known.entries.get(recorder.key) if _verify and not learning() else None
        if trace is not None:
            tried(traces, given, trace, arrays, call, _result)
            return compared(result, call)  # It may have been made of parts that were replayed.
    return result


def _rewritten(function: Replayed, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Write to an array by a trace, or learn one; NotImplemented if neither can be done."""
    target = args[0] if args else None
    if type(target) is not ndarray or not target.writeable or storage_of(target).pins:
        return NotImplemented
    storage = storage_of(target)
    arrays: list[Any] = []
    given = _all_noted(args[1:], options, arrays)
    if given is None:
        return NotImplemented
    value = storage.value
    operands: list[Any] = [value]
    for array in arrays:
        if storage_of(array).pins:
            return NotImplemented
        operands.append(node_of(array))
    if not is_whole(target):
        given = (_PART, given, target.code, target.offset, target._shape, target._strides)
    traces = _traces_here(function)
    recorded = find(traces, given, operands)
    if recorded is not None:
        if not _verify or learning() or any([node.tree for node in operands]):  # trees may have no numbers
            put(storage, replay(recorded, operands))
            return None
        twin = wrap(value)  # While it has this value, too, no routine changes it in place.
        put(twin.storage, replay(recorded, operands))
        beside(partial(_written_in_full, function, args, options), partial(memory, target, twin.storage.value))
        return None
    recorder = begin(traces, given, operands, True)
    if recorder is None:
        return NotImplemented
    try:
        function.general(*args, **options)
    finally:
        end(recorder)
    if storage.value is not value:
        learn(traces, recorder, given, storage.value)
        trace = traces.known.entries.get(recorder.key) if _verify and not learning() else None
        if trace is not None:
            tried_write(traces, given, trace, (target, *arrays), partial(function.general, *args, **options))
    return None


def _written_in_full(function: Replayed, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Write to an array in full, and give what it holds then."""
    function.general(*args, **options)
    return memory(args[0], storage_of(args[0]).value)


def _drawn(function: Replayed, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Draw by a trace, or learn one; NotImplemented if neither can be done."""
    arrays: list[Any] = []
    noticed = _all_noted(args[1:], options, arrays)
    if noticed is None or arrays:
        return NotImplemented
    source = args[0]._bit_generator
    given = (type(args[0]), noticed)
    traces = _traces_here(function)
    recorded = find(traces, given, [])
    if recorded is not None:
        if _verify and not learning():
            return _drawn_beside(recorded, source, partial(_drawn_in_full, function.general, *args, **options))
        return wrap(replay(recorded, [node for count in recorded.ending for node in source.take(count)]))
    # Calls of other threads take blocks that this one does not use, and so are not learned from.
    recorder = begin(traces, given, []) if source.taken is None else None
    if recorder is None:
        return NotImplemented
    taken: list[Any] = []
    source.taken = taken
    try:
        result = _drawn_in_full(function.general, *args, **options)
    finally:
        end(recorder)
        source.taken = None
    if type(result) is ndarray and is_whole(result):
        learn_draw(traces, recorder, given, storage_of(result).value, taken)
    return result


def _drawn_in_full(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Draw in full."""
    result = method(*args, **options)
    if type(result) is ndarray and result.is_scalar:
        for given in (*args[1:], *options.values()):
            if type(given) is tuple and not given:
                result.is_scalar = False  # Of ``size=()`` NumPy gives an array.
    return result


def _drawn_beside(recorded: RecordedTrace, source: Any, call: partial[Any]) -> Any:
    """Draw by a trace and in full, by the same blocks, which no other thread has."""
    with source.lock:
        before = source.state
        operands = [node for count in recorded.ending for node in source.take(count)]
        result = wrap(replay(recorded, operands))
        after, source.state = source.state, before
        try:
            return compared(result, call)
        finally:
            source.state = after  # Another thread may learn a call meanwhile: then nothing was done in full.


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


def _result(recorded: Any, operands: list[Node], arrays: tuple[Any, ...], at_once: bool) -> Any:
    """Make the array, or the arrays, of a recorded trace."""
    if recorded.results is not None:
        return _results(recorded, operands, arrays)
    ending = recorded.ending
    if ending is not None and ending.operand >= 0:
        return _of_operand(ending, arrays)
    node = replay(recorded, operands)
    if cython.compiled and at_once and ending is None:
        run_few(node)
    result = wrap(node) if ending is None else _of_value(ending, node)
    _run_pinned(arrays, node)
    return result


def _results(recorded: Any, operands: list[Node], arrays: tuple[Any, ...]) -> Any:
    """Make several arrays; they have values of their own, or are views of operands."""
    kind, endings = recorded.ending
    if recorded.instructions:
        replay(recorded, operands)
    results: list[Any] = []
    for ending, number in zip(endings, recorded.results, strict=True):
        if number < 0:
            results.append(_of_operand(ending, arrays))
        else:
            node = operands[number]
            results.append(wrap(node) if ending is None else _of_value(ending, node))
            _run_pinned(arrays, node)
    return tuple(results) if kind is tuple else results


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
        learn(traces, recorder, given, nodes, (kind, endings))
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
    """Arguments as what `recalled` compares: integers, text, None, and lists of such; NotImplemented for others.

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
    "KEPT",
    "ElementwiseCall",
    "Replayed",
    "call_fast",
    "choose_fast",
    "drawn",
    "frozen",
    "is_whole",
    "matrix_product",
    "noted",
    "over_axes",
    "recalled",
    "reduced",
    "replayed",
    "store_fast",
]
