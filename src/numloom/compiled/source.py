"""Trees as NumPy source text that runs.

What NumPy's notation has is written in it; what it has not (a layout that is no slice, an operation of our own) is a
call of `numloom.compiled.runtime`, which computes with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

import numpy as np

from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import DTYPES, ITEMSIZES
from numloom.base.wording import counted
from numloom.compiled import runtime
from numloom.compiled.deferred import refuse_unknown
from numloom.compiled.tree import Tree, whole
from numloom.engine.reference import physical_axes
from numloom.engine.waiting import KernelOutput
from numloom.graph.layout import Layout, c_strides, sees_all
from numloom.graph.node import CAST, FILL, GATHER, IOTA, OP, REDUCE, SCALAR, SYMBOL, UPDATE, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reduction_tree import reduce_axes

Array = Any
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
    "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_REDUCED = ("sum", "prod", "max", "min", "any", "all", "mean")
_LINALG = ("cholesky", "det", "inv")
_USED = frozenset({"np", "complex", "__debug__", *runtime.__all__})
"""Names that texts use, and the one that cannot be an argument's though it is no keyword."""
_PLAIN_TEXT = 60
"""Characters up to which an expression that is used once stands where it is used."""


class Source:
    """A tree as source text.

    Attributes
    ----------
    text : str
        A module with one function, whose arguments are the tree's symbols and arrays, in turn.
    arguments : dict
        What they are, by name: arrays and symbols. A symbol whose name the text cannot have for an argument (a keyword,
        ``np``, another symbol's) has it with a number behind.
    kernels : dict
        Users' kernels that the text calls, by name: functions of NumPy arrays, which run on the CPU. `compile` gives
        them to the text, which does not run without.
    name : str
        The function's.
    """

    def __init__(self, arrays: Sequence[Array], name: str = "tree") -> None:
        if not name.isidentifier() or iskeyword(name) or name in _USED:
            raise ValueError(f"source's name= must be a name that the text may give a function, not {name!r}")
        self.name = name
        self.arguments: dict[str, Array] = {}
        self.kernels: dict[str, Any] = {}
        self._known: dict[Any, str] = {}
        self._lines: list[str] = []
        self._texts: dict[int, str] = {}
        self._runtime: set[str] = set()
        self._taken: set[str] = {name, *_USED}
        self._wanted: set[str] = set()
        self._count = 0
        roots = [node_of(array) for array in arrays]
        nodes = whole(roots)
        uses: dict[int, int] = {}
        for node in nodes:
            for arg in node.args if node.tree else ():
                uses[id(arg)] = uses.get(id(arg), 0) + 1
        for root in roots:
            uses[id(root)] = uses.get(id(root), 0) + 1
        for node in nodes:
            if node.kind == SYMBOL:
                self._wanted.add(normalize("NFKC", node.attr.name))
        for node in nodes:
            text = self._expression(node)
            once = uses.get(id(node), 0) <= 1 and len(text) <= _PLAIN_TEXT
            if text.isidentifier() or once or node.kind == SCALAR:
                self._texts[id(node)] = text
            else:
                self._texts[id(node)] = self._assigned(text)
        results = ", ".join([_stripped(self._texts[id(root)]) for root in roots])
        head = "import numpy as np\n"
        if self._runtime:
            head += f"from numloom.compiled.runtime import {', '.join(sorted(self._runtime))}\n"
        if self.kernels:
            head += f"\n# Kernels of users, which are not in this text: {', '.join(self.kernels)}\n"
        body = "\n".join([f"        {line}" for line in [*self._lines, f"return {results}"]])
        self.text = f'{head}\n\ndef {name}({", ".join(self.arguments)}):\n    with np.errstate(all="ignore"):\n{body}\n'

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<source of {self.name}({', '.join(self.arguments)}), {counted(self.text.count(chr(10)), 'line')}>"

    def _repr_html_(self) -> str:
        """The text, as notebooks show it."""
        return f"<pre style='margin:.3em 0'>{escape(self.text)}</pre>"

    def compile(self) -> Any:
        """The function."""
        space: dict[str, Any] = dict(self.kernels)
        exec(compile(self.text, f"<{self.name}>", "exec"), space)
        return space[self.name]

    def _assigned(self, text: str) -> str:
        self._count += 1
        name = self._free_name("v", self._count)
        self._count = int(name[1:])
        self._taken.add(name)
        self._lines.append(f"{name} = {_stripped(text)}")
        return name

    def _argument(self, wanted: str, array: Array, own: bool = False) -> str:
        name = normalize("NFKC", wanted)
        if name in self._taken or iskeyword(name) or (name in self._wanted and not own):
            name = self._free_name(name, 1)
        self.arguments[name] = array
        self._taken.add(name)
        return name

    def _free_name(self, stem: str, number: int) -> str:
        """A name with a number behind that nothing has, and no symbol wants."""
        while (name := f"{stem}{number}") in self._taken or name in self._wanted:
            number += 1
        return name

    def _call(self, function: str, *args: Any) -> str:
        """A call of our own helpers."""
        self._runtime.add(function)
        return f"{function}({', '.join(map(str, args))})"

    def _expression(self, node: Node) -> str:
        kind = node.kind
        dtype = DTYPES[node.code]
        if kind == SYMBOL:
            return self._argument(node.attr.name, wrap(node), True)
        if kind == SCALAR:
            return _number(node.attr, dtype)
        if kind == FILL:
            return f"np.full({node.shape}, {_literal(node.attr or 0)}, {_dtype(dtype)})"
        if kind == IOTA:
            return f"np.arange({node.size})"
        if not node.tree:
            return self._argument("a", wrap(node))
        args = [self._texts[id(arg)] for arg in node.args]
        if kind == OP:
            return self._operation(node, args)
        if kind == CAST:
            if node.args[0].code == node.code:
                return f"np.copy({_stripped(args[0])})"
            if 0 in (ITEMSIZES[node.code],) or dtype.kind == "V" or node.args[0].kind == SCALAR:
                return f"np.asarray({_stripped(args[0])}).astype({_dtype(dtype)})"
            return f"{_atom(args[0])}.astype({_dtype(dtype)})"
        if kind == VIEW:
            return self._view(node, args[0])
        if kind == REDUCE:
            return self._reduction(node, args[0])
        if kind == GATHER:
            axes, position, _, _ = node.attr
            if axes == (0,) and position == 0:
                return f"{_atom(args[0])}[{_stripped(args[1])}]"
            return self._call("gathered", args[0], f"[{', '.join(args[1:])}]", axes, position)
        if kind == UPDATE:
            offset, shape, strides, code = node.attr
            return self._call("written", *args, node.strides, offset, shape, strides, _dtype(DTYPES[code]))
        return self._routine(node, args)

    def _operation(self, node: Node, args: list[str]) -> str:
        name = node.op_def.name
        alone = [arg.kind == SCALAR for arg in node.args]
        if all(alone) or any([_is_low(arg) for arg in (*node.args, node)]):
            return self._own_operation(node, args)
        # A number beside an array of its dtype is one of Python's, which follows the array.
        texts = []
        for arg, text, is_number in zip(node.args, args, alone, strict=True):
            beside = any([other.code == arg.code and other.kind != SCALAR for other in node.args])
            texts.append(_literal(arg.attr) if is_number and beside and _follows(arg) else text)
        if name in _INFIX and len(texts) == 2:
            return f"({texts[0]} {_INFIX[name]} {texts[1]})"
        if name == "negative":
            return f"(-{_atom(texts[0])})"
        if name in ("real", "imag"):
            return f"{_atom(texts[0])}.{name}"
        known = getattr(np, name, None)
        if known is not None and ELEMENTWISE.get(name) is node.op_def and _same_loop(known, node):
            return f"np.{name}({', '.join(map(_stripped, texts))})"
        return self._own_operation(node, args)

    def _kernel(self, op_def: Any, code: int, call: Any) -> str:
        """The name in the text of a user's kernel, which `call` runs on NumPy arrays."""
        name = self._known.get((op_def, code))
        if name is None:
            plain = "".join([char if char.isalnum() else "_" for char in op_def.name.removeprefix("user ")])
            name, number = plain, 0
            while name in self._taken or name in self._wanted or iskeyword(name):
                number += 1
                name = f"{plain}{number}"
            self._taken.add(name)
            self._known[op_def, code] = name
            self.kernels[name] = call
        return name

    def _own_operation(self, node: Node, args: list[str]) -> str:
        op_def = node.op_def
        if op_def.recipe is not None:
            dtype = DTYPES[node.code]
            name = self._kernel(
                op_def, node.code, lambda *arrays: op_def.on_host([np.asarray(array) for array in arrays], dtype)
            )
            return f"{name}({', '.join(map(_stripped, args))})"
        return self._call("operation", repr(node.op_def.name), _dtype(DTYPES[node.code]), *map(_stripped, args))

    def _reduction(self, node: Node, arg: str) -> str:
        axes, fast, keepdims = node.attr
        operand = node.args[0]
        name = node.op_def.name
        shown = "None" if len(axes) == len(operand.shape) else str(axes[0] if len(axes) == 1 else axes)
        keep = ", keepdims=True" if keepdims else ""
        dtype = DTYPES[node.code]
        if name in _REDUCED and operand.code == node.code and dtype.char not in "e" and not _is_low(node):
            where = "" if shown == "None" and not keep else f", axis={shown}"
            kept = f", dtype={_dtype(dtype)}" if name in ("sum", "prod") and dtype.kind in "biu" else ""
            return f"np.{name}({_stripped(arg)}{where}{keep}{kept})"
        if node.op_def.recipe is not None:
            kernel = self._kernel(node.op_def, node.code, _reduces(node.op_def, dtype))
            return f"{kernel}({_stripped(arg)}, {axes}, {physical_axes(operand, axes)}, {fast}, {keepdims})"
        return self._call(
            "reduction", repr(name), _dtype(dtype), arg, axes, physical_axes(operand, axes), fast, keepdims
        )

    def _routine(self, node: Node, args: list[str]) -> str:
        call: Any = node.op_def
        if isinstance(call, KernelOutput):
            kernel = call.op_def.call
            name = self._kernel(kernel, -1, lambda *arrays: kernel.on_host([np.asarray(array) for array in arrays]))
            return f"{name}({', '.join(map(_stripped, args))})[{call.op_def.number}]"
        name, options = call.op_def.name, dict(call.options_here())
        if call.op_def.in_place:
            code, *layout = call.seen
            return self._call(
                "changed", repr(name), f"[{', '.join(map(_stripped, args))}]", node.strides, _dtype(DTYPES[code]),
                tuple(layout), options,
            )  # fmt: skip
        low = any([_is_low(arg) or DTYPES[arg.code].char == "e" for arg in (*node.args, node)])
        if name == "matmul" and not low:
            return f"({args[0]} @ {args[1]})"
        if name == "sort":
            return f"np.sort({_stripped(args[0])}, {options['axis']})"
        if name == "scan" and not low:
            short = {"add": "cumsum", "multiply": "cumprod"}.get(options["op"])
            if short and DTYPES[node.code].kind in "fc":
                return f"np.{short}({_stripped(args[0])}, {options['axis']})"
        if name in _LINALG and not options.get("upper") and options.get("check", True):
            return f"np.linalg.{name}({_stripped(args[0])})"
        number = getattr(call.op_def, "number", 0)
        return self._call("routine", repr(name), number, f"[{', '.join(map(_stripped, args))}]", options)

    def _view(self, node: Node, arg: str) -> str:
        base = node.args[0]
        if node.code == base.code:
            for text, apply in _candidates(node, base):
                if _lies_so(node, base, apply):
                    return text.format(_atom(arg))
        return self._call("seen", arg, base.strides, node.attr, node.shape, node.strides, _dtype(DTYPES[node.code]))


def _reduces(op_def: Any, dtype: np.dtype[Any]) -> Any:
    """A user's reduction as a function of a NumPy array, its axes as they are and in the order of memory, and how."""

    def reduced(
        a: Any, axes: tuple[int, ...], physical: tuple[int, ...], fast: bool, keepdims: bool
    ) -> np.ndarray[Any, Any]:
        return np.asarray(reduce_axes(op_def, np.asarray(a), axes, physical, fast, keepdims)).astype(dtype)

    return reduced


def _same_loop(function: Any, node: Node) -> bool:
    """Whether NumPy's function takes these dtypes, and gives this one."""
    if not isinstance(function, np.ufunc):
        return node.op_def.name == "where" or node.op_def.name == "clip"
    if function.nout != 1 or function.nin != len(node.args):
        return False
    try:
        loop = function.resolve_dtypes((*[DTYPES[arg.code] for arg in node.args], None))
    except (TypeError, AttributeError):
        return False
    return loop[-1] == DTYPES[node.code]  # type: ignore[no-any-return]


def _is_low(node: Node) -> bool:
    return DTYPES[node.code].kind not in "biufc" or DTYPES[node.code].char not in "?bBhHiIlLqQefdFD"


def _follows(node: Node) -> bool:
    """Whether a number of Python's type becomes this dtype beside an array of it."""
    takes: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (int, float), "c": (int, float, complex)}
    return type(node.attr) in takes.get(DTYPES[node.code].kind, ())


def _literal(value: Any) -> str:
    """A number as text."""
    if type(value) is float and (value != value or value in (np.inf, -np.inf)):
        return "np.nan" if value != value else "np.inf" if value > 0 else "(-np.inf)"
    if type(value) is complex:
        if np.isfinite(value.real) and np.isfinite(value.imag):
            return f"complex({value.real!r}, {value.imag!r})"
        return f"complex({_literal(value.real)}, {_literal(value.imag)})"
    return f"({value!r})" if isinstance(value, (int, float)) and value < 0 else repr(value)


def _number(value: Any, dtype: np.dtype[Any]) -> str:
    return f"np.asarray({_literal(value)}, {_dtype(dtype)})"


def _dtype(dtype: np.dtype[Any]) -> str:
    return repr(dtype.name)


def _atom(text: str) -> str:
    """An expression to which a subscript or an attribute may be added."""
    return text if text.isidentifier() or text[-1] in ")]" or text.replace(".", "").isidentifier() else f"({text})"


def _stripped(text: str) -> str:
    """An expression without the brackets around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1] if "," not in text else text


# ---------------------------------------------------------------- views


def _candidates(node: Node, base: Node) -> list[Any]:
    """Notations that may lead to a view, with what they do."""
    found: list[Any] = []
    ndim = len(base.shape)
    if node.shape == base.shape[::-1] and ndim > 1:
        found.append(("{}.T", lambda a: a.T))
    if ndim > 1 and sorted(node.shape) == sorted(base.shape) and len(node.shape) == ndim:
        order = _axes_of(node, base)
        if order is not None:
            found.append((f"np.transpose({{}}, {order})", lambda a: np.transpose(a, order)))
    subscript = _slices(node, base)
    if subscript is not None:
        found.append((f"{{}}[{_subscript_text(subscript)}]", lambda a: a[subscript]))
    found.append((f"np.broadcast_to({{}}, {node.shape})", lambda a: np.broadcast_to(a, node.shape)))
    alike = sees_all(Layout(node.attr, node.shape, node.strides), node.code, base.shape, base.code)
    if alike and all([one.strides == c_strides(one.shape, ITEMSIZES[one.code]) for one in (node, base)]):
        found.append((f"np.reshape({{}}, {node.shape})", lambda a: np.reshape(a, node.shape)))
    return found


def _axes_of(node: Node, base: Node) -> tuple[int, ...] | None:
    """Which axis of the base each axis of a view of all of it is."""
    left = list(range(len(base.shape)))
    order = []
    for extent, stride in zip(node.shape, node.strides, strict=True):
        axis = next((k for k in left if base.shape[k] == extent and base.strides[k] == stride), None)
        if axis is None:
            return None
        left.remove(axis)
        order.append(axis)
    return tuple(order)


def _slices(node: Node, base: Node) -> tuple[Any, ...] | None:
    """A subscript of slices, integers and new axes that may lead to a view."""
    offset = node.attr
    starts = [0] * len(base.shape)
    for axis in sorted(range(len(base.shape)), key=lambda k: -abs(base.strides[k])):
        stride = base.strides[axis]
        if stride and base.shape[axis] > 1:
            starts[axis] = min(offset // stride, base.shape[axis] - 1)
            offset -= starts[axis] * stride
    if offset:
        return None
    parts: list[Any] = []
    axis = 0
    for extent, stride in zip(node.shape, node.strides, strict=True):
        place = axis
        while place < len(base.shape):
            step, rest = divmod(stride, base.strides[place]) if base.strides[place] else (0, 1)
            last = starts[place] + (extent - 1) * step
            if rest == 0 and step and extent > 0 and 0 <= last < base.shape[place]:
                break
            place += 1
        if place == len(base.shape) or (extent == 1 and base.shape[axis:] and base.shape[axis] != 1):
            if extent != 1:
                return None
            parts.append(None)
            continue
        parts += starts[axis:place]
        stop: int | None = last + (1 if step > 0 else -1)
        if stop is not None and (stop < 0 or (step > 0 and stop >= base.shape[place])):
            stop = None
        start: int | None = starts[place]
        if (step > 0 and start == 0) or (step < 0 and start == base.shape[place] - 1):
            start = None
        parts.append(slice(start, stop, None if step == 1 else step))
        axis = place + 1
    parts += starts[axis:]
    return tuple(parts)


def _subscript_text(parts: tuple[Any, ...]) -> str:
    texts = []
    for part in parts:
        if isinstance(part, slice):
            first, last = ("" if end is None else str(end) for end in (part.start, part.stop))
            texts.append(f"{first}:{last}" + ("" if part.step is None else f":{part.step}"))
        else:
            texts.append("None" if part is None else str(part))
    return ", ".join(texts) or "()"


def _lies_so(node: Node, base: Node, apply: Any) -> bool:
    """Whether a notation leads to exactly this view; no memory is looked at."""
    memory = np.empty(1, DTYPES[base.code])
    whole_base = np.lib.stride_tricks.as_strided(memory, base.shape, base.strides)
    try:
        found = apply(whole_base)
    except (IndexError, ValueError):
        return False
    if found.shape != node.shape:
        return False
    if not found.size:
        return True
    if not np.may_share_memory(found, whole_base):
        return False
    begin = found.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    strides = zip(found.strides, node.strides, found.shape, strict=True)
    return begin == node.attr and all([ours == theirs or extent == 1 for ours, theirs, extent in strides])


def source(*arrays: Array, name: str = "tree") -> Source:
    """Trees as NumPy source text that runs.

    Parameters
    ----------
    *arrays : ndarray
        The trees.
    name : str
        The function's name in the text.

    Returns
    -------
    Source
        Printed it is the text; `Source.compile` makes the function, `Source.arguments` is what it takes.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.symbol("x", (3,))
    >>> print(np.source(np.sin(x) * 2 + 1))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def tree(x):
        with np.errstate(all="ignore"):
            return (np.sin(x) * 2) + 1
    <BLANKLINE>
    """
    refuse_unknown("source", arrays)
    return Source(arrays, name)


__all__ = ["Source", "Tree", "source"]
