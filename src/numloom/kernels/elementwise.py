"""ElementwiseKernel: a line of C++ over broadcast arrays.

What is pure is recorded as operations like all others, one an output, and fuses with its neighbours. What writes raw
arrays, adds atomically or sees its own loop runs at once in a kernel of its own.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from keyword import iskeyword
from math import prod
from typing import Any

import numpy as np

from numloom.api.creation import empty
from numloom.api.running import deliver
from numloom.api.ufunc import check_broadcast, store
from numloom.array.ndarray import ndarray, node_of
from numloom.array.storage import materialize, pin, unpin
from numloom.base.config import config
from numloom.base.dtypes import DTYPES, I64, ITEMSIZES
from numloom.base.errors import CompileError
from numloom.base.integers import is_integer
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.registry import many, several
from numloom.emit.user import USER_TYPES, UserText, as_user, as_value, part, user_text, value_type, words_of
from numloom.emit.user_loop import Slot, UserKernel, emit_loop
from numloom.engine import look
from numloom.engine.doubts import is_due, share
from numloom.engine.guard import guard
from numloom.graph import build
from numloom.graph.layout import broadcast_shapes, broadcast_strides, c_strides
from numloom.graph.node import Node, register
from numloom.graph.tree import waits
from numloom.kernels.arguments import elsewhere_for
from numloom.kernels.host import run_op
from numloom.kernels.operation import deferred, waiting_loop
from numloom.kernels.options import checked
from numloom.kernels.signature import Arguments, TypedParameter, declared, identifier
from numloom.ops.definitions import OpDef
from numloom.ops.derivatives import ZERO
from numloom.plan.program import Geometry

_IMPURE = re.compile(
    r"atomic\w*|_ind|__sync\w*|__shfl\w*|__ballot\w*|__shared__|__threadfence\w*|threadIdx|blockIdx|blockDim|gridDim|"
    r"printf|asm|__asm__|assert|static|volatile|clock|clock64|__trap|malloc|new|warpSize"
)
_MOST = 2**31 - 1
OPERATIONS = 1024
"""Users' operations that are made until half of what was met of operations is forgotten."""
_made = itertools.count(1)


def pure(words: frozenset[str]) -> bool:
    """Whether a text with these words depends on nothing but its variables, and changes nothing else."""
    return not any(_IMPURE.fullmatch(word) for word in words)


def sources(preamble: Any, options: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The preamble with the macros that the options define and the files it includes, and the other options."""
    if not isinstance(preamble, str):
        raise TypeError(f"preamble must be a string of C++, got {type(preamble).__name__} {preamble!r}")
    defines, folders, others = [], [], []
    for option in checked(options):
        if option.startswith("-D"):
            name, equals, value = option[2:].partition("=")
            defines.append(f"#define {name} {value if equals else 1}\n")
        elif option.startswith("-U"):
            defines.append(f"#undef {option[2:]}\n")
        elif option.startswith("-I"):
            folders.append(option[2:])
        elif option != "-w" and not option.startswith(("-std=", "-diag-", "--check")):
            others.append(option)
    return "".join(defines) + _included(preamble, folders), tuple(others)


def _included(text: str, folders: Sequence[str], depth: int = 0) -> str:
    """A text with the contents of those included files that are in the folders."""

    def content(found: re.Match[str]) -> str:
        for folder in folders:
            try:
                with open(f"{folder}/{found[1]}", encoding="utf-8") as file:
                    return _included(file.read().replace("#pragma once", ""), folders, depth + 1)
            except OSError:
                continue
        return "" if found[1].startswith("cupy/") else found[0]

    if depth > 32:
        raise ValueError(f"files of {', '.join(folders)} include each other without end")
    return re.sub(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", content, text, flags=re.MULTILINE)


def check(user: UserText, text: str, entry: str) -> Any:
    """The device's kernel of a user's text; the compiler's complaint shows the user's own line."""
    try:
        return registry.current().kernel(text, entry, wait=True)
    except CompileError as error:
        raise user.explain(error) from None


def type_names(types: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """Placeholders and the C++ types they stand for."""
    return tuple((name, USER_TYPES[code]) for name, code in sorted(types.items()))


def written_first(text: str, name: str) -> bool:
    """Whether a text's first use of a variable is a plain assignment that is always run.

    Examples
    --------
    >>> written_first("z = x + 1; z *= 2", "z")
    True
    >>> written_first("z = z + 1", "z"), written_first("if (x > 0) z = x", "z")
    (False, False)
    """
    depth = 0
    for statement in re.split(r"([;{}])", re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)):
        depth += {"{": 1, "}": -1}.get(statement, 0)
        if re.search(rf"\b{name}\b", statement):
            found = re.match(rf"\s*{name}\s*=(?!=)", statement)
            return found is not None and depth == 0 and not re.search(rf"\b{name}\b", statement[found.end() :])
        if re.search(r"\b(if|else|for|while|do|switch|return|continue|break|goto)\b|#", statement):
            return False
    return False


class ElementwiseKernel:
    """A line of C++ for each element.

    Parameters
    ----------
    in_params, out_params : str
        Parameters with their types, such as ``"float32 x, T y, raw S table"``: a dtype's name, or one letter for any
        dtype (the same letter, the same dtype). ``raw`` arrays are indexed by the kernel itself: ``table[i]`` counts
        in C order.
    operation : str
        C++ statements that set the outputs: ``"z = x * y"``. They may use ``i`` (the position in C order), ``n`` or
        ``_ind.size()`` (how many there are), ``_ind.get()[d]`` (the index along dimension d), CUDA's mathematical
        functions for every dtype, and atomics.
    name : str
        The kernel's name.
    reduce_dims : bool
        Taken for CuPy's sake; ``_ind`` always has all dimensions.
    preamble : str
        C++ declarations that the operation uses.
    no_return, return_tuple : bool
        Whether a call returns nothing, or always a tuple.
    loop_prep, after_loop : str
        C++ statements before and after the loop of a thread.
    options : tuple of str
        Compiler options (see `RawModule`).
    gradient : str or tuple of str, optional
        For each input a line of Python that gives its gradient, of ``g`` (the gradient of the output), the output by
        its name or as ``y``, and the inputs by their names (docs/gradients.md). "0" says that nothing flows back.

    Notes
    -----
    ``kernel(*inputs, *outputs, size=None, block_size=128)``: outputs are made where they are not given. `size` is the
    number of steps where all arguments are raw, and the shape of raw outputs that are not given. Python's numbers take
    the dtype of their parameter (NEP 50).

    A kernel without raw parameters, atomics and the like is recorded as any operation and becomes part of the same
    kernel as its neighbours.

    Examples
    --------
    >>> import numloom as np
    >>> squared_diff = np.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> squared_diff(x, np.arange(3, dtype=np.float32))
    array([[0., 0., 0.],
           [9., 9., 9.]], dtype=float32)
    >>> squared_diff(x, 5)
    array([[25., 16.,  9.],
           [ 4.,  1.,  0.]], dtype=float32)
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        loop_prep: str = "",
        after_loop: str = "",
        options: Sequence[str] = (),
        doc: str | None = None,
        gradient: str | Sequence[str] | None = None,
    ) -> None:
        self.in_params, self.out_params = declared(in_params, out_params)
        self.gradient = checked_gradient(gradient, self.in_params, self.out_params)
        self.name = self.__name__ = identifier(name, "the kernel's name")
        for text, what in ((operation, "operation"), (loop_prep, "loop_prep"), (after_loop, "after_loop")):
            if not isinstance(text, str):
                raise TypeError(f"{what} must be a string of C++, got {type(text).__name__} {text!r}")
        self.operation = operation
        self.preamble, self.options = sources(preamble, options)
        self.loop_prep, self.after_loop = loop_prep, after_loop
        self._check = any(option.startswith("--check") for option in options)
        self.reduce_dims = reduce_dims
        self.no_return, self.return_tuple = bool(no_return), bool(return_tuple)
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        if doc is not None:
            self.__doc__ = doc
        parameters = (*self.in_params, *self.out_params)
        # The number of steps is no reason to run at once.
        named = any([parameter.name == "n" for parameter in parameters])  # A parameter of that name is meant then.
        counted = operation if named else re.sub(r"\b_ind\s*\.\s*size\s*\(\s*\)", "n", operation)
        words = words_of(counted)
        self._recorded = (
            self.nout > 0
            and not any(parameter.raw for parameter in parameters)
            and not (loop_prep.strip() or after_loop.strip() or self.options)
            and pure(words | words_of(self.preamble))
        )
        self._operation = counted if self._recorded else operation
        self._counts = (("i" in words), ("n" in words and not named))
        self._read_first = tuple(not written_first(operation, parameter.name) for parameter in self.out_params)
        self._met: dict[tuple[Any, ...], tuple[tuple[int, ...], tuple[tuple[OpDef, int], ...]]] = {}
        self._ready: dict[tuple[Any, ...], ReadyLoop] = {}

    @property
    def params(self) -> tuple[Any, ...]:
        """The parameters, of both kinds."""
        return (*self.in_params, *self.out_params)

    @property
    def kernel_name(self) -> str:
        """The name, by CuPy's."""
        return self.name

    def __repr__(self) -> str:
        return f"<ElementwiseKernel {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_met": {}, "_ready": {}}  # What was compiled is this process's.

    # ------------------------------------------------------------ call

    def __call__(self, *args: Any, size: Any = None, block_size: int = 128, stream: Any = None) -> Any:
        """Run it on arrays and numbers, then outputs if they are given; see the class."""
        if (several() or many()) and (place := elsewhere_for(args)) is not None:
            with place:
                return self(*args, size=size, block_size=block_size, stream=stream)
        kinds = kinds_of(args)
        met = self._met.get(kinds)
        if met is not None and size is None:
            codes, op_defs = met
            nodes = nodes_of(args, codes)
            values = [build.loop(op_def, nodes, code) for op_def, code in op_defs]
            results = [deliver(value, args) for value in values]
        else:
            again = self._again(args, kinds, size, block_size)
            results = self._first(args, kinds, size, block_size) if again is None else again
        if self.no_return:
            return None
        return results[0] if len(results) == 1 and not self.return_tuple else tuple(results)

    def _first(self, args: tuple[Any, ...], kinds: tuple[Any, ...], size: Any, block_size: Any) -> list[Any]:
        """Results of a call whose arguments are to be checked."""
        later = deferred(self, args, {"size": size, "block_size": block_size})
        if later is not None:
            return [later[k] for k in range(self.nout)] if self.nout > 1 or self.return_tuple else [later]
        if len(args) not in (self.nin, self.nargs):
            takes = ", ".join(map(str, (*self.in_params, *self.out_params)))
            raise TypeError(
                f"kernel {self.name} takes {counted(self.nin, 'input')} and optionally "
                f"{counted(self.nout, 'output')} ({takes}), "
                f"got {counted(len(args), 'argument')}"
            )
        outs = args[self.nin :] or (None,) * self.nout
        given = Arguments(self.name, self.in_params, self.out_params, args[: self.nin], outs, size is not None)
        shape, threads = self._shape(given, size), block_threads(self.name, block_size)
        if self._recorded and size is None:
            return self._record(given, shape, kinds)
        waiting = waiting_loop(
            self, given.ins, given.outs, _results(self.out_params, given, shape), size=size, block_size=block_size
        )
        if waiting is not None:
            return delivered(waiting, given.outs, self.name)
        ready = self._prepared(given, shape, threads)
        if KNOWN.issuperset(kinds) and (size is None or type(size) is int):
            if len(self._ready) >= 256:
                self._ready.clear()
            self._ready[kinds, size, block_size, layouts_of(args)] = ready
        return self._run(ready, [*given.ins, *given.outs])

    def _shape(self, given: Arguments, size: Any) -> tuple[int, ...]:
        """Shape of the loop."""
        plain = [
            (parameter, array)
            for parameter, array in zip((*self.in_params, *self.out_params), (*given.ins, *given.outs), strict=True)
            if not parameter.raw and array is not None
        ]
        arrays = [array for _, array in plain if type(array) is ndarray]
        if size is not None:
            if arrays:
                raise ValueError(
                    f"kernel {self.name}: size={size!r} is given beside arrays that are not raw, whose shapes say it"
                )
            extents = tuple(size) if isinstance(size, (tuple, list)) else (size,)
            try:
                shape = tuple(extent.__index__() for extent in extents)
            except AttributeError:
                raise TypeError(f"kernel {self.name}: size must be an integer, got {size!r}") from None
            if any(extent < 0 for extent in shape) or prod(shape) > 1 << 62:
                raise ValueError(f"kernel {self.name}: size must be between 0 and 2**62, got {size!r}")
            return shape
        raw = any([parameter.raw for parameter in self.in_params])
        if not arrays and (raw or not plain):
            raise ValueError(
                f"kernel {self.name}: no argument tells how many elements there are: pass size=, or an output"
            )
        shape = broadcast_shapes(*[array.shape for array in arrays])
        for parameter, out in zip(self.out_params, given.outs, strict=True):
            if out is not None and not parameter.raw and out.shape != shape:
                raise ValueError(
                    f"kernel {self.name}: output {parameter.name} has shape {out.shape}, "
                    f"the arguments broadcast to {shape}"
                )
        return shape

    # ------------------------------------------------------------ recorded

    def _record(self, given: Arguments, shape: tuple[int, ...], kinds: tuple[Any, ...]) -> list[Any]:
        """Record one operation for each output; later calls with arguments of these kinds need no checks."""
        nodes = [given.node(position) for position in range(self.nin)]
        read = tuple(out is not None and first for out, first in zip(given.outs, self._read_first, strict=True))
        nodes += [node_of(out) for out, reads in zip(given.outs, read, strict=True) if reads]
        operands = [array for array in (*given.ins, *given.outs) if type(array) is ndarray]
        position, count = self._counts
        if position or not nodes:
            counter = build.iota(prod(shape))
            nodes.append(counter if len(shape) == 1 else build.view(counter, I64, 0, shape, c_strides(shape, 8)))
        if count:
            nodes.append(build.scalar(prod(shape), I64))
        op_defs = _op_defs(
            self.name, self.in_params, self.out_params, self._operation, self.preamble, type_names(given.types),
            given.in_codes, given.out_codes, read, self._counts, registry.current().name, self.gradient,
        )  # fmt: skip
        # Of numbers alone the dtype follows their values: 2**63 is a uint64.
        if operands and len(kinds) == len(nodes) == self.nin and KNOWN.issuperset(kinds):
            self._met[kinds] = given.in_codes, tuple(zip(op_defs, given.out_codes, strict=True))
        values = [build.loop(op_def, nodes, code) for op_def, code in zip(op_defs, given.out_codes, strict=True)]
        results = []
        for value, out in zip(values, given.outs, strict=True):
            if out is None:
                results.append(deliver(value, operands))
            else:
                check_broadcast(value.shape, out.shape)
                results.append(store(out, value, self.name))
        return results

    # ------------------------------------------------------------ run at once

    def run_at_once(self, args: Sequence[Any], size: Any, block_size: int) -> list[Any]:
        """Outputs for inputs, and for outputs if these were given, by a kernel of its own."""
        given = tuple(args)
        return self._first(given, kinds_of(given), size, block_size)

    def _again(self, args: tuple[Any, ...], kinds: tuple[Any, ...], size: Any, block_size: Any) -> list[Any] | None:
        """Run a kernel of its own on arguments like those of an earlier call; None if there was none."""
        if not self._ready or not KNOWN.issuperset(kinds) or not (size is None or type(size) is int):
            return None
        ready = self._ready.get((kinds, size, block_size, layouts_of(args)))
        if ready is None or ready.device is not registry.current():
            return None
        if register.trees and waits([node_of(arg) for arg in args if type(arg) is ndarray]):
            return None
        for slot, arg in zip(ready.slots, args, strict=False):
            if slot.form == "value":
                build.scalar_as(arg, slot.code)  # an int that does not fit
            elif slot.written and not arg.writeable:
                return None
        return self._run(ready, [*args, *(None,) * (self.nargs - len(args))])

    def _prepared(self, given: Arguments, shape: tuple[int, ...], block_size: int) -> ReadyLoop:
        """The kernel for arguments of certain types and layouts."""
        for position, out in enumerate(given.outs):
            if out is None:
                given.outs[position] = empty(shape, DTYPES[given.out_codes[position]])
        codes = (*given.in_codes, *given.out_codes)
        parameters = (*self.in_params, *self.out_params)
        slots = tuple(
            slot_of(parameter, argument, code, k >= self.nin, shape, self._check or config.check)
            for k, (parameter, argument, code) in enumerate(
                zip(parameters, (*given.ins, *given.outs), codes, strict=True)
            )
        )
        kernel = _loop(
            self.name, slots, len(shape), type_names(given.types), self.preamble, self.loop_prep, self.operation,
            self.after_loop, self.options,
        )  # fmt: skip
        count = prod(shape)
        geometry = Geometry(count, 256, min(-(-count // block_size), _MOST), block_size)
        return ReadyLoop(registry.current(), check(kernel.user, kernel.text, kernel.entry), slots, shape, geometry)

    def _run(self, ready: ReadyLoop, arguments: list[Any]) -> list[Any]:
        """Run a kernel of its own, now; outputs that are None are made."""
        for position in range(self.nin, self.nargs):
            if arguments[position] is None:
                arguments[position] = empty(ready.shape, DTYPES[ready.slots[position].code])
        if ready.geometry.items:
            launch(ready.kernel, ready.slots, arguments, ready.shape, (ready.geometry.items,), ready.geometry, _steps)
        return arguments[self.nin :]


@dataclass(frozen=True, slots=True)
class ReadyLoop:
    """A kernel of its own for arguments of certain types and layouts."""

    device: Any
    kernel: Any
    slots: tuple[Slot, ...]
    shape: tuple[int, ...]
    geometry: Geometry


KNOWN = frozenset((*range(len(DTYPES)), int, float))
"""Kinds of arguments (see `kinds_of`) that say all about them that a kernel asks for."""


def kinds_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Codes of the dtypes of arrays, types of what is none."""
    return tuple([arg.code if type(arg) is ndarray else type(arg) for arg in args])


def layouts_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Shapes and strides of arrays."""
    return tuple([(arg.shape, arg.strides) if type(arg) is ndarray else None for arg in args])


def nodes_of(args: tuple[Any, ...], codes: Sequence[int]) -> list[Node]:
    """Values of arrays and numbers of known kinds."""
    return [
        node_of(arg) if type(arg) is ndarray else build.scalar_as(arg, code)
        for arg, code in zip(args, codes, strict=True)
    ]


def block_threads(name: str, block_size: Any) -> int:
    """Threads of a block, checked."""
    if not is_integer(block_size) or not 1 <= block_size <= 1024:
        raise ValueError(f"kernel {name}: block_size must be an integer from 1 to 1024, got {block_size!r}")
    return int(block_size)


def slot_of(
    parameter: TypedParameter, argument: Any, code: int, written: bool, shape: tuple[int, ...], checked: bool
) -> Slot:
    """How an argument comes to a kernel that runs at once."""
    if type(argument) is not ndarray:
        return Slot(parameter.name, code, False, "value")
    dense = argument.strides == c_strides(argument.shape, ITEMSIZES[code])
    if parameter.raw:
        return Slot(parameter.name, code, written, "raw", argument.ndim, dense, checked)
    form = "dense" if dense and argument.shape == shape else "strided"
    return Slot(parameter.name, code, written, form)


def launch(
    kernel: Any, slots: Sequence[Slot], arguments: Sequence[Any], shape: tuple[int, ...], numbers: Sequence[int],
    geometry: Geometry, steps: Callable[[Any, tuple[int, ...]], tuple[int, ...]], after: Any = None,
    scratch: tuple[int, int] | None = None,
) -> None:  # fmt: skip
    """Fill in the parameter block and run a kernel, after all that its arguments need.

    `steps` gives the strides of an argument along the loop's dimensions; `after` launches what belongs to the kernel.
    `scratch` is which of the numbers is the address of scratch memory, and how many bytes of that.
    """
    pinned: list[Any] = []
    try:
        for slot, argument in zip(slots, arguments, strict=True):
            # All that is written first: pinning one array may move another's memory.
            if slot.written:
                pin(argument.storage)
                pinned.append(argument.storage)
        words = array("q", [*numbers, *(shape or (1,))])
        for slot, argument in zip(slots, arguments, strict=True):
            if slot.form == "value":
                words.frombytes(_value_bytes(argument, slot.code))
                continue
            words.append(materialize(argument.storage).buffer.ptr + argument.offset)
            if slot.form == "strided":
                words.extend(steps(argument, shape) or (0,))
            elif slot.form == "raw":
                words.append(argument.size)
                words.extend(argument.shape or (1,))
                words.extend(argument.strides or (0,))
        device = registry.current()
        if scratch is None:
            device.launch(kernel, words, geometry)
        else:
            _launch_with_scratch(device, kernel, words, geometry, after, *scratch)
        look.settle_fault(device, device.pool)
        if is_due(device):
            given = [
                (slot, one.storage.value) for slot, one in zip(slots, arguments, strict=True) if type(one) is ndarray
            ]
            share(device, [node for _, node in given], [node for slot, node in given if slot.written])
    finally:
        for cell in pinned:
            unpin(cell)


def _launch_with_scratch(
    device: Any, kernel: Any, words: array[int], geometry: Geometry, after: Any, place: int, nbytes: int
) -> None:
    """Launch with scratch memory, which all work of a device shares: nothing else is launched in between."""
    guard.take()
    try:
        memory = device.workspace(nbytes, 0)
        words[place] = memory.ptr
        device.launch(kernel, words, geometry)
        if after is not None:
            after(device, words)
    finally:
        guard.give()


def _steps(argument: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return broadcast_strides(argument.shape, argument.strides, shape)


def _results(
    parameters: Sequence[TypedParameter], given: Arguments, shape: tuple[int, ...]
) -> list[tuple[tuple[int, ...], int]]:
    """Shape and dtype code of each output of a loop."""
    return [
        (shape if given.outs[k] is None else given.outs[k].shape, given.out_codes[k])
        for k, parameter in enumerate(parameters)
    ]


def delivered(values: Sequence[Node], outs: Sequence[Any], name: str) -> list[Any]:
    """Values as new arrays, or stored in those that were given."""
    return [deliver(value) if out is None else store(out, value, name) for value, out in zip(values, outs, strict=True)]


def _value_bytes(value: Any, code: int) -> bytes:
    raw = np.asarray(value).astype(DTYPES[code]).tobytes()
    return raw + bytes(-len(raw) % 8)


@lru_cache(1024)
def _loop(
    name: str, slots: tuple[Slot, ...], rank: int, types: tuple[tuple[str, str], ...], preamble: str, loop_prep: str,
    operation: str, after_loop: str, options: tuple[str, ...],
) -> UserKernel:  # fmt: skip
    return emit_loop(
        name, slots, rank, types, preamble=preamble, loop_prep=loop_prep, operation=operation, after_loop=after_loop,
        options=options,
    )  # fmt: skip


# ---------------------------------------------------------------- op definitions of recorded kernels


@lru_cache(1024)
def _op_defs(
    name: str, in_params: tuple[TypedParameter, ...], out_params: tuple[TypedParameter, ...], operation: str,
    preamble: str,
    types: tuple[tuple[str, str], ...], in_codes: tuple[int, ...], out_codes: tuple[int, ...], read: tuple[bool, ...],
    counts: tuple[bool, bool], device: str, gradient: tuple[str, ...] | None,
) -> tuple[OpDef, ...]:  # fmt: skip
    """The operations of a kernel for certain dtypes, one for each output; the compiler has seen their text.

    `read` are outputs whose old values are arguments behind the inputs, `counts` whether position and number are.
    """
    ins = list(zip(in_params, in_codes, strict=True))
    outs = list(zip(out_params, out_codes, strict=True))
    arguments = [(value_type(code), f"nl_a{k}") for k, (_, code) in enumerate(ins)]
    variables = [f"{USER_TYPES[code]} {p.name}" for p, code in outs]
    starts = []
    for (parameter, code), reads in zip(outs, read, strict=True):
        ctype = USER_TYPES[code]
        if reads:
            old = f"nl_{parameter.name}"
            arguments.append((value_type(code), old))
            starts.append(f"{ctype} {parameter.name} = {as_user(old, code)};")
        else:
            starts.append(f"{ctype} {parameter.name} = {ctype}();")
    parameters = [f"const {USER_TYPES[code]} {p.name}" for p, code in ins]
    passed = [as_user(f"nl_a{k}", code) for k, (_, code) in enumerate(ins)]
    for wanted, word in zip(counts, "in", strict=True):
        if wanted:
            arguments.append(("i64", f"nl_{word}"))
            parameters.append(f"const ptrdiff_t {word}")
            passed.append(f"nl_{word}")
    if not arguments:
        arguments.append(("i64", "nl_unused"))
    parameters += [variable.replace(" ", "& ", 1) for variable in variables]
    passed += [p.name for p, _ in outs]
    body = (
        f"NL_DEV void nl_run({', '.join(parameters)}) {{\n{part('operation', operation, 'do {', '; } while (0);')}}}\n"
    )
    declared_arguments = ", ".join(f"{ctype} {argument}" for ctype, argument in arguments)
    for k, (parameter, code) in enumerate(outs):
        body += (
            f"NL_DEV {value_type(code)} nl_out{k}({declared_arguments}) {{ "
            f"{' '.join(starts)} nl_run({', '.join(passed)}); return {as_value(parameter.name, code)}; }}\n"
        )
    user = user_text(name, preamble, types, body, (("operation", operation),), (*in_codes, *out_codes))
    check(user, *user.check())
    rule, names = rule_of(gradient, (out_params[0].name, *[p.name for p, _ in ins]), len(arguments))
    recipe = (
        name, in_params, out_params, operation, preamble, types, in_codes, out_codes, read, counts, ..., gradient
    )  # fmt: skip
    return tuple(
        op_def_of(
            user,
            f"nl_out{k}",
            len(arguments),
            f"{name}.{parameter.name}" if len(outs) > 1 else name,
            code,
            rule,
            names,
            (made_again, recipe, k),
        )
        for k, (parameter, code) in enumerate(outs)
    )


def made_again(recipe: tuple[Any, ...], k: int) -> OpDef:
    """The operation of one output of a kernel that was pickled."""
    return _op_defs(*[registry.current().name if part is ... else part for part in recipe])[k]


def rule_of(
    gradient: tuple[str, ...] | None, names: tuple[str, ...], nin: int
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The rule of an operation with `nin` arguments, and the names of its result and of them in its texts: through a
    position nothing flows.
    """
    if gradient is None:
        return None, ()
    more = range(nin - len(gradient))
    return (*gradient, *(ZERO for _ in more)), (*names, *(f"nl_{k}" for k in more))


def checked_gradient(
    gradient: Any, in_params: Sequence[TypedParameter], out_params: Sequence[TypedParameter]
) -> tuple[str, ...] | None:
    """A user's rule: a text for each input, in Python.

    Raises
    ------
    TypeError, ValueError, SyntaxError
        If it is none.
    """
    if gradient is None:
        return None
    texts = (gradient,) if isinstance(gradient, str) else tuple(gradient)
    if len(out_params) != 1:
        raise ValueError("gradient: only kernels of one output take one; write a kernel for each output")
    if len(texts) != len(in_params):
        raise ValueError(f"gradient: {counted(len(in_params), 'text')} needed, one for each input, got {len(texts)}")
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"gradient: texts of Python are needed, got {type(text).__name__} {text!r}")
        compile(text, "<gradient>", "eval")
    for parameter in (*in_params, *out_params):
        if parameter.name == "g" or iskeyword(parameter.name):
            raise ValueError(
                f"gradient: {parameter.name} cannot be a parameter's name in Python's texts"
                f"{', in which it is the gradient of the output' if parameter.name == 'g' else ''}: give it another one"
            )
    return texts


def op_def_of(
    user: UserText, function: str, nin: int, name: str, out_code: int, gradient: tuple[str, ...] | None = None,
    names: tuple[str, ...] = (), recipe: Any = None,
) -> OpDef:  # fmt: skip
    """An operation that calls a function of a user's text."""
    if not next(_made) % OPERATIONS:
        build.forget_operations()
    template = user.call(function, nin)
    twin: list[OpDef] = []
    op_def = OpDef(
        name=f"user {name}", nin=nin, numpy=lambda *args: run_op(twin[0], out_code, *args),
        text=lambda in_chars, out_char: template, cost=8, exact=False, headers=user.headers, preamble=user.preamble,
        gradient=gradient, names=names, recipe=recipe,
    )  # fmt: skip
    twin.append(op_def)
    return op_def


__all__ = ["ElementwiseKernel"]
