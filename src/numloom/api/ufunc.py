"""Universal functions: one class, NumPy's call and methods over op definitions."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from numloom.api._vectorcall import take_calls
except ImportError:
    take_calls = None

try:
    from numloom.array import _indexing  # type: ignore[attr-defined]
except ImportError:
    _indexing = None

from numloom.api.calling import ElementwiseCall, replayed
from numloom.api.description import described
from numloom.api.extremes import EXTREMES, extreme
from numloom.api.running import deliver
from numloom.api.subscripts import apply_at
from numloom.array.convert import asarray, own_array
from numloom.array.foreign import stands_aside
from numloom.array.ndarray import (
    apply2,
    ndarray,
    node_of,
    operand,
    wrap,
)
from numloom.array.storage import broadcast_value, read_only, write
from numloom.array.views import in_tree
from numloom.base.dtypes import BOOL, CHARS, DTYPES, F32, I64, ITEMSIZES, KINDS, LOW, code_of
from numloom.base.errors import casting_error
from numloom.base.given import as_name
from numloom.base.wording import no_array
from numloom.engine.routines import call as call_routine
from numloom.graph import build
from numloom.graph.layout import (
    broadcast_shapes,
    c_strides,
    f_strides,
    k_strides,
    named_order,
    reduced_strides,
)
from numloom.graph.node import Node
from numloom.graph.source_location import here
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.ops.elementwise import ELEMENTWISE, OF_UFUNC
from numloom.ops.reductions import reduction_of

Array = Any

NO_VALUE: Any = np._NoValue  # type: ignore[attr-defined]
"""What stands for an argument that was not given, where None means something else."""

WHERE = ELEMENTWISE["where"]
EQUAL = ELEMENTWISE["equal"]
_COMPARISONS = frozenset(
    ELEMENTWISE[name] for name in ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")
)

# ---------------------------------------------------------------- results


def check_out(out: Any) -> Array:
    """`out` if it can be written; NumPy's errors if not."""
    if type(out) is not ndarray:
        raise TypeError(f"return arrays must be numloom arrays, not {type(out).__module__}.{type(out).__name__}")
    if not out.writeable:
        raise read_only(out, "output array")
    return out


def store(out: Array, node: Node, name: str, casting: str = "same_kind", exact: bool = False) -> Array:
    """Write a value where `out` lies and give `out` back.

    Raises
    ------
    ValueError
        If `out` is read-only or has another shape (with `exact`: not the very shape).
    TypeError
        If the value's dtype does not cast to that of `out`.
    """
    check_out(out)
    if node.code != out.code and not np.can_cast(DTYPES[node.code], out.dtype, casting):  # type: ignore[arg-type]
        raise casting_error(name, casting, node.code, out.code)
    if node.shape != out.shape:
        if exact:
            raise ValueError(
                f"output parameter for {name} has shape {out.shape}, but the result has shape {node.shape}"
            )
        check_broadcast(node.shape, out.shape)
    write(out.storage, out.code, out.offset, out.shape, out.strides, node)
    return out


def finish(node: Node, out: Any, operands: Sequence[Any], name: str, casting: str = "same_kind") -> Array:
    """A value as a new array, or written to `out` (of the very shape)."""
    return deliver(node, operands) if out is None else store(out, node, name, casting, exact=True)


@replayed
def scan(array: Array, op: str, axis: int, code: int) -> Array:
    """Running `op` along an axis, in the dtype of this code."""
    node = build.cast(node_of(array), code)
    return wrap(call_routine("scan", node, code=code, shape=array.shape, order="K", op=op, axis=axis))


def check_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """NumPy's ValueError unless `shape` broadcasts to `target`, the shape of an ``out=`` array."""
    if shape != target and broadcast_shapes(shape, target) != target:
        shown = [str(s).replace(" ", "") for s in (target, shape)]
        raise ValueError(
            f"non-broadcastable output operand with shape {shown[0]} doesn't match the broadcast shape {shown[1]}"
        )


def mask_of(where: Any) -> Node:
    """The value of a ``where=`` argument; TypeError unless it is boolean."""
    # Numbers and lists are taken for their truth, arrays must be boolean.
    mask = asarray(where, bool if isinstance(where, (int, float, complex, list, tuple)) else None)
    if mask.code != BOOL:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    return node_of(mask)


def value_of(x: Any) -> Any:
    """An argument as a value or a Python number; TypeError for what is no array."""
    value = operand(x)
    if value is NotImplemented:
        raise TypeError(no_array(x))
    return value


def node_at(x: Any) -> Node:
    """An argument as a value."""
    return node_of(x if type(x) is ndarray else asarray(x))


_UNSAID = {
    "axes": NO_VALUE, "axis": NO_VALUE, "casting": "same_kind", "dtype": None, "initial": NO_VALUE, "keepdims": False,
    "order": "K", "out": None, "signature": None, "where": True,
}  # fmt: skip


def theirs(function: Any, args: tuple[Any, ...], **options: Any) -> Any:
    """What NumPy's function gives where an argument answers itself, which NumPy asks.

    What is as it always is stays unsaid: Dask takes neither casting nor order.
    """
    return function(*args, **{name: value for name, value in options.items() if value is not _UNSAID[name]})


# ---------------------------------------------------------------- loops


@functools.lru_cache(4096)
def loop_of(
    numpy: np.ufunc, operands: tuple[Any, ...], signature: Any, casting: str, reduction: bool = False
) -> tuple[int, ...]:
    """Codes of the dtypes of the loop that NumPy chooses; its own errors."""
    options: dict[str, Any] = {"casting": casting, "reduction": reduction}
    if signature is not None:
        options["signature"] = signature
    if casting == "equiv" and any(isinstance(operand, type) for operand in operands):
        # There NumPy (2.4, early 2.5) would end the process: a call of nothing says whether the cast is allowed.
        probes = [x() if isinstance(x, type) else np.empty(0, x) for x in operands[: numpy.nin]]
        numpy(*probes, casting=casting, **({} if signature is None else {"signature": signature}))
        options["casting"] = "same_kind"
    found = numpy.resolve_dtypes(operands, **options)
    return tuple(map(code_of, found))


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted axes of a reduction; for 0-d arrays axis 0 and -1 mean nothing, as in NumPy."""
    if ndim == 0 and axis in (0, -1):
        return ()
    return build.normalize_axes(axis, ndim)


@functools.cache
def _signature(nin: int, nout: int) -> inspect.Signature:
    """What a ufunc takes, as NumPy writes it."""
    parameter = inspect.Parameter
    inputs = [parameter(name, parameter.POSITIONAL_ONLY) for name in (["x"] if nin == 1 else ["x1", "x2"])]
    out = parameter("out", parameter.POSITIONAL_OR_KEYWORD, default=None if nout == 1 else (None,) * nout)
    keywords = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    rest = [parameter(name, parameter.KEYWORD_ONLY, default=default) for name, default in keywords.items()]
    return inspect.Signature([*inputs, out, *rest])


# ---------------------------------------------------------------- the class

FUNCTIONS: dict[np.ufunc, ufunc] = {}
"""Our function for each of NumPy's."""


class ufunc(ElementwiseCall):
    """A function that works element by element, with broadcasting, type rules and methods as NumPy's.

    Attributes
    ----------
    nin, nout, nargs, ntypes : int
        Number of inputs, outputs, both together, and loops.
    types : list of str
        Loops, as "dd->d".
    identity : object
        Neutral element of `reduce`.
    signature : None
        None: no core dimensions.
    """

    __module__ = "numloom"  # where pickle finds them by name

    def __init__(self, numpy: np.ufunc, op_defs: tuple[OpDef, ...]) -> None:
        self.__name__ = self.__qualname__ = numpy.__name__
        self.nin = numpy.nin
        self.nout = numpy.nout
        self.nargs = numpy.nargs
        self.careful = False
        self._numpy = numpy
        self._op_defs = op_defs
        self._op_def = op_defs[0]
        # Row and dtype codes of plain reductions, by the code of what is reduced.
        self._plain: dict[int, tuple[ReductionDef, int, int]] = {}
        self._in_place = replayed(self._at, in_place=True)
        self.__signature__ = _signature(self.nin, self.nout)
        self.__doc__ = described(self.__name__, self.nin, self.nout, op_defs)
        FUNCTIONS[numpy] = self
        if take_calls is not None:
            take_calls(self)

    @property
    def types(self) -> list[str]:
        return [types for types in self._numpy.types if not set(types) & set("gGOMm")]

    @property
    def ntypes(self) -> int:
        return len(self.types)

    @property
    def identity(self) -> Any:
        return self._numpy.identity

    @property
    def signature(self) -> None:
        return None

    def __repr__(self) -> str:
        return f"<numloom ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def resolve_dtypes(
        self, dtypes: Any, *, signature: Any = None, casting: str | None = None, reduction: bool = False
    ) -> Any:
        """The dtypes of the loop for operands of these dtypes, as `numpy.ufunc.resolve_dtypes`."""
        options = {} if casting is None else {"casting": casting}
        return self._numpy.resolve_dtypes(dtypes, signature=signature, reduction=reduction, **options)  # type: ignore[arg-type]

    # ------------------------------------------------------------ call

    def _general(
        self,
        args: tuple[Any, ...],
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        order: str | None = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Any:
        """A call with any arguments."""
        written = out if isinstance(out, tuple) else (out,)
        if any(map(stands_aside, (*args, *written, where))):  # A Series, a Dask array: operation and result are theirs.
            signature = signature if sig is None else sig
            options = {"where": where, "casting": casting, "order": order, "dtype": dtype, "signature": signature}
            return theirs(self._numpy, args, out=out, **options)
        if out is ...:  # Never a scalar of NumPy's.
            found = self._general(args, None, where, casting, order, dtype, subok, signature, sig)
            several = [own_array(one) if one.is_scalar else one for one in (found if self.nout > 1 else (found,))]
            return tuple(several) if self.nout > 1 else several[0]
        as_name(casting, "casting")
        if not isinstance(subok, (bool, np.bool)):
            raise TypeError(f"'subok' must be a boolean, not {type(subok).__name__}")
        outs = self._outs(args, out)
        order = named_order(order, "K")
        args = args[: self.nin]
        signature = self._signature(dtype, signature if sig is None else sig)
        values = [value_of(x) for x in args]
        if not any(type(value) is Node for value in values):
            values = [node_at(values[0]), *values[1:]]
        given = (*self._given(values), *(None if o is None else o.dtype for o in outs))
        try:
            try:
                codes = loop_of(self._numpy, given, signature, casting)
            except TypeError:
                # A Python integer that the loop's dtype cannot hold is told first.
                if int in given:
                    _in_loop(values, loop_of(self._numpy, given, signature, "unsafe"))
                raise
            nodes = _in_loop(values, codes)
        except OverflowError:
            if self._op_def not in _COMPARISONS:
                raise
            # A Python integer that the dtype cannot hold: the operators know the answer.
            for o in outs:
                if o is not None and not np.can_cast(np.bool_, o.dtype, casting):  # type: ignore[arg-type]
                    raise casting_error(self.__name__, casting, BOOL, o.code) from None
            return self._finish([node_at(apply2(self._op_def, *args))], args, outs, where, order)
        nodes = self._checked(nodes, where)
        op_defs = self._op_defs_for(nodes)
        results = [
            build.loop(op_def, nodes[: op_def.nin], code)
            for op_def, code in zip(op_defs, codes[self.nin :], strict=True)
        ]
        return self._finish(results, args, outs, where, order)

    def _checked(self, nodes: list[Node], where: Any) -> list[Node]:
        """Operands of the loop's dtypes, of which some are refused."""
        return nodes

    def _op_defs_for(self, nodes: list[Node]) -> tuple[OpDef, ...]:
        """The operations for operands of the loop's dtypes, of which one may take fewer."""
        return self._op_defs

    def _checked_at(self, a: Array, indices: Any, value: Node | None) -> Node | None:
        """The second operand of `at`, of the loop's dtype."""
        return value

    def _given(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The dtypes of operands as NumPy's rules take them: Python numbers by their type."""
        return tuple(
            DTYPES[v.code] if type(v) is Node else DTYPES[BOOL] if type(v) is bool else type(v) for v in values
        )

    def _outs(self, args: tuple[Any, ...], out: Any) -> list[Any]:
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments but "
                f"{len(args)} were given"
            )
        given = args[self.nin :]
        if given and out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        if isinstance(out, tuple):
            if len(out) != self.nout:
                raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
            given = out
        elif out is not None:
            if self.nout != 1:
                raise TypeError("'out' must be a tuple of arrays")
            given = (out,)
        outs = [*given, *[None] * (self.nout - len(given))]
        for one in outs:
            if one is not None:
                check_out(one)
        return outs

    def _signature(self, dtype: Any, signature: Any) -> Any:
        if dtype is not None:
            if signature is not None:
                raise TypeError("cannot specify both 'signature' and 'dtype'")
            return (None,) * self.nin + (DTYPES[code_of(dtype)],) * self.nout
        if signature is None:
            return None
        if isinstance(signature, str):
            inputs, _, outputs = signature.partition("->")
            if not outputs and len(inputs) == 1:
                return (None,) * self.nin + (DTYPES[code_of(inputs)],) * self.nout
            if len(inputs) != self.nin or len(outputs) != self.nout:
                raise ValueError(
                    f"a type-string for {self.__name__}, requires {self.nin} input and {self.nout} output characters"
                )
            signature = (*inputs, *outputs)
        if not isinstance(signature, tuple):
            given = type(signature).__name__
            raise TypeError(f"the signature object to ufunc must be a string or a tuple, not {given}")
        if len(signature) == 1:
            signature = (None,) * self.nin + tuple(signature) * self.nout
        if len(signature) != self.nargs:
            raise ValueError(f"a type-tuple must be specified of length 1 or {self.nargs} for ufunc '{self.__name__}'")
        return tuple(None if one is None else DTYPES[code_of(one)] for one in signature)

    def _finish(self, results: list[Node], args: tuple[Any, ...], outs: list[Any], where: Any, order: str) -> Any:
        """Results as arrays, or written to outputs, where a mask says so."""
        mask = None if where is True else mask_of(where)
        finished = [
            self._finish_one(node, args, out, mask, order) for node, out in zip(results[::-1], outs[::-1], strict=True)
        ][::-1]  # Backwards: of outputs that share memory the first one's values stay.
        return finished[0] if self.nout == 1 else tuple(finished)

    def _finish_one(self, node: Node, args: tuple[Any, ...], out: Any, mask: Node | None, order: str) -> Array:
        if out is None:
            if mask is not None:
                # NumPy leaves other elements as the memory was; here they are 0.
                node = build.elementwise(WHERE, (mask, node, build.scalar(0, node.code)))
            if order != "K":
                node = in_order(node, args, order)
            return deliver(node, args)
        shape = node.shape if mask is None else broadcast_shapes(node.shape, mask.shape)
        check_broadcast(shape, out.shape)
        if mask is not None:
            node = build.elementwise(WHERE, (mask, build.cast(node, out.code), node_of(out)))
        write(out.storage, out.code, out.offset, out.shape, out.strides, node)
        return out

    # ------------------------------------------------------------ methods

    def _check_binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary functions")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Array:
        """Combine the elements along axes with this function, as `numpy.ufunc.reduce`.

        What may be reordered follows the tree of `docs/design/reductions.md`; the others are done from left to right.

        Parameters
        ----------
        array : array_like
            Values.
        axis : int, tuple of int or None
            Axes; None is all of them. Functions that cannot be reordered take one.
        dtype : dtype, optional
            In which to compute.
        out : ndarray or tuple of one, optional
            Where the result goes.
        keepdims : bool
            Whether the axes stay, with extent 1.
        initial : object, optional
            What to begin with; None: the first element, also where the function has an identity.
        where : array_like of bool
            Which elements count.

        Raises
        ------
        ValueError
            If nothing is left and the function has no identity, or it cannot be reordered.
        """
        self._check_binary("reduce")
        if stands_aside(array) or stands_aside(out):
            options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial, "where": where}
            return theirs(self._numpy.reduce, (array,), out=out, **options)
        out = single(out)
        node = node_at(array)
        axes = normal_axes(axis, len(node.shape))
        if out is None and dtype is None and initial is NO_VALUE and where is True and node.size and axes:
            plain = self._plain.get(node.code)
            if plain is not None and (len(axes) == 1 or self.__name__ in _REORDERABLE):
                op_def, loop, code = plain
                return deliver(_combined(op_def, build.cast(node, loop), axes, keepdims, code), (array,))
        codes = self._reduction_codes(node.code, dtype, out)
        if out is not None and initial is NO_VALUE and isinstance(self.identity, float) and out.dtype.kind in "biu":
            # NumPy begins in the output's memory: what that makes of -inf is where it begins.
            with np.errstate(invalid="ignore"):
                initial = np.float64(self.identity).astype(out.dtype).astype(DTYPES[codes[0]])
        if len(axes) > 1 and self.__name__ not in _REORDERABLE:
            raise ValueError(
                f"reduction operation '{self.__name__}' is not reorderable, so at most one axis may be specified"
            )
        op_def = reduction_of(self._op_def, CHARS[codes[0]])
        if not op_def.commutative:
            node = self._reduced_in_turn(build.cast(node, codes[1]), axes, keepdims, initial, where)
            return finish(build.cast(node, codes[2]), out, (array,), self.__name__, "unsafe")
        if dtype is None and out is None:
            self._plain[node.code] = op_def, codes[1], codes[2]
        node = build.cast(node, codes[1])
        node = self._reduced(op_def, node, axes, keepdims, codes[2], initial, where)
        return finish(node, out, (array,), self.__name__, "unsafe")

    def _reduced(
        self,
        op_def: ReductionDef,
        node: Node,
        axes: tuple[int, ...],
        keepdims: bool,
        code: int,
        initial: Any,
        where: Any,
    ) -> Node:
        """Reduce with an initial value, over the elements that a mask selects."""
        value = self.identity if initial is NO_VALUE else initial
        if where is not True:
            if value is None:
                raise ValueError(_NO_IDENTITY.format(self.__name__))
            mask = broadcast_value(mask_of(where), node.shape)
            if self.identity is None:  # What is left out counts as the initial value, which is the result's dtype's.
                node = build.elementwise(WHERE, (mask, build.cast(node, code), _packed(value, code)))
            else:
                node = build.elementwise(WHERE, (mask, node, _number(self.identity, node.code)))
        if initial is not NO_VALUE and initial is not None:
            value = _packed(initial, code)
            if self.__name__ == "multiply" and _absorbs(value, code):
                # NumPy begins with the first value: 0 (or infinity) meets each element, not a product that overflowed.
                node = build.binary(self._op_def, node, abs(value))
        if not node.size:
            return self._reduced_nothing(node, axes, keepdims, code, value)
        result = _combined(op_def, node, axes, keepdims, code) if axes else build.cast(node, code)
        if initial is not NO_VALUE and initial is not None:
            first = value if isinstance(value, Node) else build.scalar_as(value, code)
            result = build.cast(build.loop(self._op_def, (first, result), code), code)
        return result

    def _reduced_in_turn(self, node: Node, axes: tuple[int, ...], keepdims: bool, initial: Any, where: Any) -> Node:
        """Reduce strictly from left to right: no tree of partial results gives the same."""
        shape = node.shape
        code = node.code
        if code in LOW:
            wide = self._reduced_in_turn(build.cast(node, F32), axes, keepdims, initial, where)
            return build.cast(wide, code)
        value = self.identity if initial is NO_VALUE else initial
        others: list[Node] = []
        first = initial is not NO_VALUE and initial is not None
        mask = None
        if where is not True:
            if value is None:
                raise ValueError(_NO_IDENTITY.format(self.__name__))
            mask, first = broadcast_value(mask_of(where), shape), True
        order = node.strides
        if not node.size:
            return self._reduced_nothing(node, axes, keepdims, code, value)
        if first:
            number = _number(value, code) if initial is NO_VALUE else _packed(value, code)
            others.append(number if isinstance(number, Node) else build.scalar_as(number, code))
        if not axes:
            return build.loop(self._op_def, (*others, node), code) if first else node
        if mask is not None:
            others.append(mask)
        rest = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
        if len(axes) > 1:
            # The order of memory does not matter to what may be reordered: C order.
            node, *others[first:] = (_lines(one, axes) for one in (node, *others[first:]))
        strides = reduced_strides(shape, order, axes, False, ITEMSIZES[code])
        result = call_routine(
            "fold", node, *others, code=code, shape=rest, strides=strides, op=self._op_def.name,
            axis=axes[0] if len(axes) == 1 else len(rest), initial=first,
        )  # fmt: skip
        if keepdims:
            kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
            strides = reduced_strides(shape, order, axes, True, ITEMSIZES[code])
            if result.buffer is None:  # A tree has no memory yet.
                return build.view(result, code, 0, kept, strides)
            result = build.leaf(result.buffer, code, kept, strides)
            result.result = True
        return result  # type: ignore[no-any-return]

    def _reduced_nothing(self, node: Node, axes: tuple[int, ...], keepdims: bool, code: int, value: Any) -> Node:
        """What is left of no elements: the initial value or the identity, if any is needed."""
        shape = tuple(1 if a in axes else e for a, e in enumerate(node.shape) if keepdims or a not in axes)
        if value is None:
            if any(not node.shape[a] for a in axes):
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
            value = 0
        if in_tree(value):
            value = _packed(value, code)
        if isinstance(value, Node):
            return broadcast_value(value, shape)
        return build.full(_number(value, code), code, shape)

    def _reduction_codes(self, code: int, dtype: Any, out: Any) -> tuple[int, ...]:
        signature = None
        if dtype is not None:
            signature = (DTYPES[code_of(dtype)], None, None)
        first = None if out is None else out.dtype
        if dtype is not None:
            first = None
        return loop_of(self._numpy, (first, DTYPES[code], None), signature, "unsafe", True)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        """Results of combining ever more elements along an axis, as `numpy.ufunc.accumulate`.

        Parameters
        ----------
        array : array_like
            Values.
        axis : int
            The axis.
        dtype : dtype, optional
            In which to compute.
        out : ndarray or tuple of one, optional
            Where the result goes.
        """
        self._check_binary("accumulate")
        if stands_aside(array) or stands_aside(out):
            return theirs(self._numpy.accumulate, (array, axis), dtype=dtype, out=out)
        out = single(out)
        given = asarray(array)
        node = node_of(given)
        if not node.shape:
            raise TypeError("cannot accumulate on a scalar")
        axis = _one_axis(axis, node, "accumulate")
        result = scan(given, self._op_def.name, axis, self._kept_code(node.code, dtype, out, "accumulate"))
        return result if out is None else finish(node_of(result), out, (array,), self.__name__, "unsafe")

    def _kept_code(self, code: int, dtype: Any, out: Any, method: str) -> int:
        """The dtype in which `accumulate` and `reduceat` run."""
        codes = self._reduction_codes(code, dtype, out)
        if codes[0] != codes[2] or (codes[1] != codes[2] and not self._op_def.name.startswith("logical_")):
            resolved = tuple(DTYPES[one] for one in codes)
            raise TypeError(
                f"the resolved dtypes are not compatible with {self.__name__}.{method}. Resolved {resolved}"
            )
        return codes[2]

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Array:
        """Reductions of slices between consecutive indices, as `numpy.ufunc.reduceat`.

        Parameters
        ----------
        array : array_like
            Values.
        indices : array_like of int
            Where slices begin; each goes up to the next index, or is one element if that is not behind it.
        axis : int
            The axis.
        dtype : dtype, optional
            In which to compute.
        out : ndarray or tuple of one, optional
            Where the result goes.

        Raises
        ------
        IndexError
            If an index is out of bounds; of indices on a GPU when the result is looked at.

        Examples
        --------
        >>> import numloom as np
        >>> np.add.reduceat(np.arange(8), [0, 4, 1, 5])
        array([ 6,  4, 10, 18])
        """
        self._check_binary("reduceat")
        if stands_aside(array) or stands_aside(out):
            return theirs(self._numpy.reduceat, (array, indices, axis), dtype=dtype, out=out)
        out = single(out)
        node = node_at(array)
        if not node.shape:
            raise TypeError("cannot reduceat on a scalar")
        axis = _one_axis(axis, node, "reduceat")
        starts = self._starts(indices, node.shape[axis])
        code = self._kept_code(node.code, dtype, out, "reduceat")
        node = build.cast(node, code)
        shape = (*node.shape[:axis], starts.size, *node.shape[axis + 1 :])
        # In NumPy's order nothing is known of the axis itself.
        known = tuple(0 if k == axis else stride for k, stride in enumerate(node.strides))
        result = call_routine(
            "reduceat", node, starts, code=code, shape=shape, strides=k_strides(shape, [known], ITEMSIZES[code]),
            op=self._op_def.name, axis=axis, location=here(),
        )  # fmt: skip
        return finish(result, out, (array,), self.__name__, "unsafe")

    def _starts(self, indices: Any, extent: int) -> Node:
        """Where segments begin, int64; those that are known on the host are checked."""
        if type(indices) is not ndarray:
            host = np.asarray(indices)
            if host.dtype.kind == "f" and not isinstance(indices, np.ndarray):
                host = host.astype(np.int64)
            wrong = host[(host < 0) | (host >= extent)] if host.dtype.kind in "iu" else None
            if host.ndim == 1 and wrong is not None and wrong.size:
                raise IndexError(f"index {wrong[0]} out-of-bounds in {self.__name__}.reduceat [0, {extent})")
            indices = asarray(host)
        if indices.ndim != 1:
            raise ValueError(f"object {'too deep' if indices.ndim else 'of too small depth'} for desired array")
        if not np.can_cast(indices.dtype, np.int64, "safe"):
            raise TypeError(
                f"Cannot cast array data from {indices.dtype!r} to dtype('int64') according to the rule 'safe'"
            )
        return build.cast(node_of(indices), I64)

    def outer(self, A: Any, B: Any, /, **options: Any) -> Any:
        """The function of all pairs of elements, as `numpy.ufunc.outer`."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        if stands_aside(A) or stands_aside(B):
            return self._numpy.outer(A, B, **options)
        a, b = asarray(A), asarray(B)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **options)

    def at(self, a: Any, indices: Any, b: Any = None, /) -> Any:
        """Apply this function in place at indices, each of repeated ones in turn, as `numpy.ufunc.at`.

        The result is the same in every run: equal indices are taken in their order, also on a GPU.

        Parameters
        ----------
        a : ndarray
            What is changed.
        indices : object
            Anything that may stand between the brackets of `a`.
        b : array_like, optional
            The second operand of binary functions, which broadcasts to the shape of ``a[indices]``.

        Raises
        ------
        IndexError
            If an index is out of bounds; of indices on a GPU when the result is looked at.
        ValueError
            If `b` does not broadcast, or is missing.

        Examples
        --------
        >>> import numloom as np
        >>> x = np.zeros(3)
        >>> np.add.at(x, [0, 0, 2], [1, 2, 3])
        >>> x
        array([3., 0., 3.])
        """
        plain = self.nin == 2 and self.nout == 1 and type(a) is ndarray and a.writeable
        if plain and _indexing is not None and _indexing.put(a, indices, b, self._op_def):
            return None
        if stands_aside(a) or stands_aside(b):
            return self._numpy.at(a, indices, *() if b is None else (b,))
        return self._in_place(a, indices, b)  # type: ignore[func-returns-value]

    def _at(self, a: Any, indices: Any, b: Any) -> None:
        """`at` in full."""
        if self.nin > 2:
            raise ValueError("Only unary and binary ufuncs supported at this time")
        if self.nout != 1:
            raise ValueError("Only single output ufuncs supported at this time")
        if (b is None) != (self.nin == 1):
            raise ValueError(
                "second operand needed for ufunc" if b is None else "second operand provided when ufunc is unary"
            )
        if type(a) is not ndarray:
            raise TypeError("first operand must be array")
        if not a.writeable:
            raise read_only(a, "output array")
        value = None if b is None else node_at(b)
        given = (a.dtype,) if value is None else (a.dtype, DTYPES[value.code])
        codes = loop_of(self._numpy, (*given, a.dtype), None, "unsafe")
        value = self._checked_at(a, indices, None if value is None else build.cast(value, codes[1]))
        apply_at(a, indices, value, self._op_def.name, codes)


_REORDERABLE = frozenset(
    ("add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
     "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2", "hypot", "gcd")
)  # fmt: skip


def _in_loop(values: Sequence[Any], codes: Sequence[int]) -> list[Node]:
    """Operands as a loop takes them."""
    return [
        build.cast(v, code) if type(v) is Node else build.scalar_as(_cut(v, code), code)
        for v, code in zip(values, codes, strict=False)
    ]


def single(out: Any) -> Any:
    """The one array of an ``out=`` argument, which may be a tuple."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry")
        (out,) = out
    return None if out is None or out is ... else check_out(out)


def _one_axis(axis: Any, node: Node, method: str) -> int:
    """The axis of a method that takes just one (None: of a vector its only one)."""
    axes = build.normalize_axes(axis, len(node.shape))
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


_NO_IDENTITY = "reduction operation '{}' does not have an identity, so to use a where mask one has to specify 'initial'"


def _combined(op_def: ReductionDef, node: Node, axes: tuple[int, ...], keepdims: bool, code: int) -> Node:
    """A reduction over axes of a value that has elements."""
    if op_def.name in EXTREMES and KINDS[node.code] == "c":
        return build.cast(extreme(op_def, node, axes, keepdims), code)
    return build.reduce(op_def, node, axes, keepdims, code)


def _lines(node: Node, axes: tuple[int, ...]) -> Node:
    """A value with several axes as one, the last."""
    array = wrap(node)
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    moved = array.transpose(*kept, *axes)
    return node_of(moved.reshape(*moved.shape[: len(kept)], -1))


def _absorbs(value: Any, code: int) -> bool:
    """Whether a product that begins with a number stays it, unless something undoes it: 0, or a real infinity."""
    if type(value) is complex:
        return value == 0
    return type(value) is float and KINDS[code] == "f" and value in (0.0, math.inf, -math.inf)


def _number(value: Any, code: int) -> Any:
    """An ``initial=`` value as a Python number of dtype `code`."""
    host = value.get() if type(value) is ndarray else value
    if type(host) is int and host == -1 and KINDS[code] == "u":
        return int(np.iinfo(DTYPES[code]).max)  # The identity of `bitwise_and`.
    if type(host) in (int, float, complex, bool) and not (KINDS[code] in "biu" and type(host) is float):
        return host
    with np.errstate(all="ignore"):
        return np.asarray(host).astype(DTYPES[code]).item()


def _cut(value: Any, code: int) -> Any:
    """A Python number for a loop of dtype `code`: casting="unsafe" cuts fractions and imaginary parts."""
    if type(value) in (int, bool) or (type(value) is float and KINDS[code] not in "biu"):
        return value
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(value).astype(DTYPES[code]).item()


def _packed(value: Any, code: int) -> Any:
    """An ``initial=`` value as a Python number of dtype `code`, or of a tree as its value; NumPy's errors if it does
    not fit.
    """
    if in_tree(value) and type(value) is ndarray:
        if value.size != 1:
            raise ValueError(f"could not broadcast input array from shape {value.shape} into shape ()")
        array: Any = value
        return build.cast(node_of(array.reshape(())), code)
    made = np.zeros((), DTYPES[code])
    with np.errstate(all="ignore"):
        made[()] = _host(value)
    return made.item()


def _host(x: Any) -> Any:
    """An argument on the host."""
    return x.get() if type(x) is ndarray else x


def in_order(node: Node, operands: Sequence[Any], order: str) -> Node:
    """A value in memory order "C", "F" or "A" (Fortran order if all operands have it)."""
    if order == "A":
        arrays = [x.flags for x in operands if type(x) is ndarray and x.ndim]
        order = "F" if all(x.f_contiguous for x in arrays) else "C"
    itemsize = ITEMSIZES[node.code]
    wanted = f_strides(node.shape, itemsize) if order == "F" else c_strides(node.shape, itemsize)
    return node if node.strides == wanted else build.copied(node, wanted, node.code)


def make_ufuncs(special: dict[np.ufunc, type[ufunc]]) -> dict[str, ufunc]:
    """Our function for every ufunc of NumPy that has op definitions, by all of its names; some have classes of their
    own.
    """
    several = {
        np.divmod: ("floor_divide", "remainder"),
        np.modf: ("modf_fraction", "modf_integral"),
        np.frexp: ("frexp_mantissa", "frexp_exponent"),
    }
    op_defs: dict[Any, tuple[OpDef, ...]] = {function: (op_def,) for function, op_def in OF_UFUNC.items()}
    op_defs.update({function: tuple(ELEMENTWISE[name] for name in names) for function, names in several.items()})
    found: dict[str, ufunc] = {}
    for name, function in vars(np).items():  # not dir(np): that imports NumPy's submodules
        if isinstance(function, np.ufunc) and function in op_defs:
            found[name] = FUNCTIONS.get(function) or special.get(function, ufunc)(function, op_defs[function])
    return found


__all__ = ["FUNCTIONS", "NO_VALUE", "make_ufuncs", "ufunc"]
