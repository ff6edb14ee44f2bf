"""Users' kernels as operations: new values of values, so that trees, compiled functions and gradients may have them.

A kernel in CUDA C++ says nothing of what it writes. `operation` is told, and makes of it what NumPy's functions are:
its operands stay as they are, its results are new. What such a call is without its operands is a `KernelCall`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from numloom.api.creation import empty
from numloom.api.running import deliver
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, wrap
from numloom.base.dtypes import DTYPES, ITEMSIZES, code_of
from numloom.base.wording import counted
from numloom.device import registry
from numloom.device.registry import many, several
from numloom.engine.evaluate import download_value, evaluate, leaf_from_host
from numloom.engine.routines import watched
from numloom.engine.state import counters
from numloom.engine.waiting import waiting_kernel
from numloom.graph.again import lose
from numloom.graph.build import cast, copied, full
from numloom.graph.layout import c_strides
from numloom.graph.node import LEAF, SCALAR, Node
from numloom.graph.tree import recording, waits
from numloom.kernels.arguments import EVERY_CODE, codes_accepted, elsewhere_for, encoded
from numloom.kernels.parameters import Parameter
from numloom.kernels.raw import RawKernel

Host = np.ndarray[Any, Any]
Result = tuple[tuple[int, ...], int]
READ, COPIED, NUMBER, RESULT, CONSTANT = range(5)
"""What stands for a parameter: an operand's memory, a copy of an operand (which may be a result), an operand's number,
new memory, something that is no array."""
Slot = tuple[int, Any]
_KEPT = 256


class KernelCall:
    """A call of a user's kernel without its operands (see `numloom.engine.waiting.KernelPart`).

    Attributes
    ----------
    name : str
        The kernel's.
    results : tuple of (tuple of int, int)
        Shape and dtype code of each result.
    outputs : tuple or None
        Kept for `numloom.engine.waiting.outputs_of`.
    texts : tuple of str or None
        The rule of its gradient as texts, one for each input.
    """

    texts: tuple[str, ...] | None = None

    def __init__(self, name: str, results: Sequence[Result]) -> None:
        self.name = name
        self.results = tuple(results)
        self.outputs: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "outputs": None}

    def run(self, operands: Sequence[Node]) -> tuple[Node, ...]:
        """The results, computed by a launch on the current device."""
        lose()
        if not counters.watched:
            return self._run(operands)
        operands = [in_c_order(node) for node in operands]
        run = partial(self._run, operands)
        results: tuple[Node, ...] = watched(f"user {self.name}", None, None, operands, run)
        return results

    def _run(self, operands: Sequence[Node]) -> tuple[Node, ...]:
        """`run`, of which nobody is told."""
        results = [node_of(array) for array in self.launched(operands)]
        evaluate([node for node in results if node.kind != LEAF])
        return tuple(results)

    def launched(self, operands: Sequence[Node]) -> Sequence[Any]:
        """The results as arrays, after the launch."""
        raise NotImplementedError

    def gradients(
        self, g: Sequence[Any], results: Sequence[Any], operands: Sequence[Any], wanted: Sequence[bool]
    ) -> Any:
        """What flows back to each operand; None where there is no rule."""
        return None

    def on_host(self, arrays: Sequence[Any]) -> tuple[Host, ...]:
        """The results of host arrays, computed on the CPU."""
        evaluate([])  # What is pending belongs to the device that is in use.
        with registry.use("cpu"), recording(False):
            nodes = [leaf_from_host(np.asarray(array)) for array in arrays]
            return tuple([download_value(node) for node in self.run(nodes)])

    def of(self, operands: Sequence[Node]) -> tuple[Node, ...]:
        """The results: nodes that wait in trees, else computed."""
        given = tuple(operands)
        return waiting_kernel(self, given) if waits(given) else self.run(given)


def deferred(kernel: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """A call that waits for the extents of symbols (`numloom.compiled.deferred`), if one among its arguments does."""
    for arg in args:
        if getattr(type(arg), "is_deferred", False):
            return arg.__array_function__(kernel, (), tuple(args), options)
    return None


def in_c_order(node: Node) -> Node:
    """A value as dense memory in C order."""
    strides = c_strides(node.shape, ITEMSIZES[node.code])
    return node if node.kind == LEAF and node.strides == strides else copied(node, strides, node.code)


def own_copy(node: Node) -> Any:
    """An array in C order that nobody else has."""
    return wrap(copied(node, c_strides(node.shape, ITEMSIZES[node.code]), node.code))


def number_of(node: Node) -> Any:
    """A value of no axes as a NumPy number; waits for the device where it is computed."""
    value = node.attr if node.kind == SCALAR else download_value(node)
    return np.asarray(value, DTYPES[node.code])[()]


# ---------------------------------------------------------------- CUDA C++


class RawCall(KernelCall):
    """A launch of a kernel in CUDA C++ without its operands."""

    def __init__(
        self, operation: Operation, slots: Sequence[Slot], results: Sequence[tuple[Result, Any]], grid: Any, block: Any
    ) -> None:
        KernelCall.__init__(self, operation.name, [result for result, _ in results])
        self.operation = operation
        self.slots = tuple(slots)
        self.firsts = [first for _, first in results]
        self.grid = grid
        self.block = block

    def launched(self, operands: Sequence[Node]) -> Sequence[Any]:
        """The results as arrays, after the launch."""
        made: dict[int, Any] = {}
        args: list[Any] = []
        for (kind, what), parameter in zip(self.slots, self.operation.parameters, strict=True):
            if kind == READ:
                args.append(wrap(in_c_order(operands[what])))
            elif kind == COPIED:
                args.append(own_copy(operands[what[0]]))
                if what[1] >= 0:
                    made[what[1]] = args[-1]
            elif kind == NUMBER:
                assert parameter.dtype is not None
                args.append(number_of(cast(operands[what], code_of(parameter.dtype))))
            elif kind == RESULT:
                shape, code = self.results[what]
                first = self.firsts[what]
                made[what] = empty(shape, DTYPES[code]) if first is None else wrap(full(first, code, shape))
                args.append(made[what])
            else:
                args.append(what)
        if 0 not in self.grid:
            self.operation.kernel(self.grid, self.block, tuple(args), shared_mem=self.operation.shared_mem)
        return [made[number] for number in range(len(self.results))]

    def gradients(
        self, g: Sequence[Any], results: Sequence[Any], operands: Sequence[Any], wanted: Sequence[bool]
    ) -> Any:
        """What flows back to each operand; None where there is no rule."""
        operation = self.operation
        if operation.gradient is None:
            return None
        several = len(self.results) > 1
        inputs: list[Any] = []
        places: list[tuple[str, int]] = []
        for (kind, what), parameter in zip(self.slots, operation.parameters, strict=True):
            if kind == RESULT:
                continue
            if kind == CONSTANT:
                inputs.append(what)
                continue
            at = what[0] if kind == COPIED else what
            inputs.append(operands[at])
            places.append((parameter.name, at))
        found = operation.gradient(tuple(g) if several else g[0], tuple(results) if several else results[0], *inputs)
        return operation.by_operand(found, places, operands, wanted)


class Operation:
    """A kernel in CUDA C++ as a function of its inputs; `operation` makes it.

    Attributes
    ----------
    kernel : RawKernel
        The kernel.
    name : str
        Its name, in trees and errors.
    parameters : tuple of Parameter
        The kernel's.
    inputs : tuple of Parameter
        Those that a call gives, in turn.
    """

    def __init__(
        self, kernel: Any, outputs: Any, grid: Any, block: Any, changed: Any, shared_mem: int, gradient: Any
    ) -> None:
        raw = getattr(kernel, "raw_kernel", kernel)
        if not isinstance(raw, RawKernel):
            raise TypeError(
                f"operation takes a RawKernel or a function of a RawModule or SourceModule, got "
                f"{type(kernel).__name__}: an ElementwiseKernel or a ReductionKernel is one already"
            )
        if gradient is not None and not callable(gradient):
            raise TypeError(f"gradient must be a function (g, result, *inputs), got {type(gradient).__name__}")
        self.kernel = raw
        self.name = self.__name__ = raw.name
        parameters = raw.source.reader.parameters(raw.name)
        if parameters is None:
            raise TypeError(
                f"the source of kernel {raw.name} does not tell its parameters: operation needs their names"
            )
        self.parameters = parameters
        self.grid, self.block, self.shared_mem = grid, block, shared_mem
        self.gradient = gradient
        self.changed = (changed,) if isinstance(changed, str) else tuple(changed)
        for name in self.changed:
            self._memory(name, "changed")
        self.specs = self._named(outputs)
        if not self.specs and not self.changed:
            raise ValueError(f"kernel {self.name}: an operation needs an output: give outputs= or changed=")
        self.inputs = tuple([parameter for parameter in parameters if parameter.name not in self.specs])
        self._met: dict[Any, RawCall] = {}

    def __repr__(self) -> str:
        return f"<operation {self.name}({', '.join(map(str, self.inputs))})>"

    def __getstate__(self) -> dict[str, Any]:
        names = [getattr(one, "__qualname__", "") for one in (self.gradient, *self._rules())]
        if any(["<" in name for name in names]):
            raise TypeError(
                f"the operation {self.name} cannot be pickled: its gradient, grid, block and outputs must be no "
                "functions, or functions of a module, which are found again by their names"
            )
        return {**self.__dict__, "_met": {}}

    def _rules(self) -> list[Any]:
        return [one for one in (self.grid, self.block, *self.specs.values()) if callable(one)]

    def _memory(self, name: Any, what: str) -> Parameter:
        """A parameter that takes memory to be written."""
        for parameter in self.parameters:
            if parameter.name == name:
                if not parameter.pointer or parameter.const:
                    raise ValueError(
                        f"kernel {self.name}: {what} names {parameter}, which "
                        f"{'the kernel only reads' if parameter.pointer else 'is no pointer'}"
                    )
                return parameter
        shown = ", ".join(map(str, self.parameters))
        raise ValueError(f"kernel {self.name}: {what} names {name!r}, which is no parameter of it ({shown})")

    def _named(self, outputs: Any) -> dict[str, Any]:
        """What outputs are, by their parameters' names."""
        if outputs is None:
            return {}
        if isinstance(outputs, Mapping):
            for name in outputs:
                self._memory(name, "outputs")
                if name in self.changed:
                    raise ValueError(
                        f"kernel {self.name}: {name} is among outputs and in changed: it can be one of them"
                    )
            return dict(outputs)
        given = list(outputs) if isinstance(outputs, list) else [outputs]
        free = [p.name for p in self.parameters if p.pointer and not p.const and p.name not in self.changed]
        if len(free) != len(given):
            raise ValueError(
                f"kernel {self.name}: {counted(len(given), 'output')} given, and the kernel may write to "
                f"{', '.join(free) or 'nothing else'}: name them, outputs={{'name': (shape, dtype)}}, and declare "
                "const what it only reads"
            )
        return dict(zip(free, given, strict=True))

    # ------------------------------------------------------------ calls

    def __call__(self, *args: Any) -> Any:
        """The results for inputs, in the order of the kernel's parameters without its outputs."""
        if (several() or many()) and (place := elsewhere_for(args)) is not None:
            with place:
                return self(*args)
        later = deferred(self, args, {})
        if later is not None:
            if len(self.specs) + len(self.changed) == 1:
                return later
            return tuple([later[k] for k in range(len(self.specs) + len(self.changed))])
        if len(args) != len(self.inputs):
            takes = ", ".join(map(str, self.inputs))
            raise TypeError(
                f"the operation {self.name} takes {counted(len(self.inputs), 'input')} ({takes}), {len(args)} "
                f"{'was' if len(args) == 1 else 'were'} given"
            )
        given = [self._input(parameter, arg) for parameter, arg in zip(self.inputs, args, strict=True)]
        operands = [node_of(one) for one in given if type(one) is ndarray]
        results = self._call(given).of(operands)
        arrays = [deliver(node) for node in results]
        for array in arrays:
            array.is_scalar = False
        return tuple(arrays) if len(arrays) > 1 else arrays[0]

    def _input(self, parameter: Parameter, arg: Any) -> Any:
        """An input as an array, or as what is passed by its value."""
        if not parameter.pointer:
            if type(arg) is not ndarray:
                return self._number(parameter, arg)
            if arg.shape or parameter.dtype is None or not np.can_cast(arg.dtype, parameter.dtype, "safe"):
                raise TypeError(
                    f"kernel {self.name}: {parameter} takes a number, got an array of shape {arg.shape} and dtype "
                    f"{arg.dtype}"
                )
            return arg
        if arg is None or isinstance(arg, (bool, int, float, complex, np.generic, str, bytes)):
            if arg is None:
                return None
            raise TypeError(f"kernel {self.name}: {parameter} takes an array or None, got {type(arg).__name__} {arg!r}")
        array = asarray(arg)
        if not (codes_accepted(parameter) if parameter.dtype is not None else EVERY_CODE) >> array.code & 1:
            raise TypeError(
                f"kernel {self.name}: {parameter} points to {parameter.dtype}, the array given has dtype "
                f"{array.dtype}: convert it with astype"
            )
        return array

    def _number(self, parameter: Parameter, arg: Any) -> Any:
        if parameter.dtype is None or hasattr(arg, "kernel_parameter"):
            return arg
        try:
            return encoded(arg, parameter.dtype)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"kernel {self.name}: {parameter} {error}") from None

    def _call(self, given: Sequence[Any]) -> RawCall:
        """The launch for inputs: the same one where all that it is made of is the same, so that trees know it again."""
        call = self._planned(given)  # Functions of the inputs may look at their elements: they are asked each time.
        key: Any = tuple([(one.code, one.shape) if type(one) is ndarray else (type(one), _key(one)) for one in given])
        if len(self._met) >= _KEPT:
            self._met.clear()
        return self._met.setdefault((key, call.grid, call.block, call.results, repr(call.firsts)), call)

    def _planned(self, given: Sequence[Any]) -> RawCall:
        values = {parameter.name: one for parameter, one in zip(self.inputs, given, strict=True)}
        slots: list[Slot] = []
        results: list[tuple[Result, Any]] = []
        operand = 0
        for parameter in self.parameters:
            if parameter.name in self.specs:
                slots.append((RESULT, len(results)))
                results.append(self._result(parameter, self.specs[parameter.name], values, given))
                continue
            one = values[parameter.name]
            if type(one) is not ndarray:
                if parameter.name in self.changed:
                    raise TypeError(f"kernel {self.name}: {parameter} is changed, and takes an array, got {one!r}")
                slots.append((CONSTANT, one))
                continue
            if parameter.name in self.changed:
                slots.append((COPIED, (operand, len(results))))
                results.append(((one.shape, one.code), None))
            elif not parameter.pointer:
                slots.append((NUMBER, operand))
            else:
                # What it only reads it gets as it lies; where it may write it gets a copy.
                slots.append((READ, operand) if parameter.const else (COPIED, (operand, -1)))
            operand += 1
        grid = _extents(self.grid(*given) if callable(self.grid) else self.grid)
        block = _extents(self.block(*given) if callable(self.block) else self.block)
        return RawCall(self, slots, results, grid, block)

    def _result(
        self, parameter: Parameter, spec: Any, values: Mapping[str, Any], given: Sequence[Any]
    ) -> tuple[Result, Any]:
        """Shape, dtype code and first number of an output."""
        if callable(spec) and type(spec) is not ndarray:
            spec = spec(*given)
        if isinstance(spec, str):
            like = values.get(spec)
            if type(like) is not ndarray:
                raise ValueError(
                    f"kernel {self.name}: output {parameter.name} is like {spec!r}, which is no array input"
                )
            spec = like
        if hasattr(spec, "shape") and hasattr(spec, "dtype"):
            spec = (spec.shape, spec.dtype)
        if not isinstance(spec, tuple) or len(spec) not in (2, 3):
            raise TypeError(
                f"kernel {self.name}: output {parameter.name} must be (shape, dtype), (shape, dtype, first number), "
                f"the name of an input, or a function of the inputs that gives one of them; got {spec!r}"
            )
        shape, code = _extents(spec[0]), code_of(np.dtype(spec[1]))
        if any([extent < 0 for extent in shape]):
            raise ValueError(f"kernel {self.name}: output {parameter.name} has the shape {shape}")
        if parameter.dtype is not None and not codes_accepted(parameter) >> code & 1:
            raise TypeError(
                f"kernel {self.name}: {parameter} points to {parameter.dtype}, and the output's dtype is {DTYPES[code]}"
            )
        first = None if len(spec) == 2 else np.asarray(spec[2], DTYPES[code]).item()
        return (shape, code), first if prod(shape) else 0

    # ------------------------------------------------------------ gradients

    def by_operand(
        self, found: Any, places: Sequence[tuple[str, int]], operands: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Any]:
        """What a user's rule gave, an array or None for each operand."""
        if not isinstance(found, Mapping):
            raise TypeError(
                f"kernel {self.name}: its gradient must give a dict of arrays by the names of inputs, got "
                f"{type(found).__name__}"
            )
        names = [name for name, _ in places]
        for name in found:
            if name not in names:
                raise ValueError(
                    f"kernel {self.name}: its gradient gives one for {name!r}, which is no array among its inputs "
                    f"({', '.join(names)})"
                )
        flows: list[Any] = [None] * len(operands)
        for name, place in places:
            if not wanted[place]:
                continue
            if name not in found:
                raise ValueError(
                    f"kernel {self.name}: its gradient gives none for {name}: give one, or None where nothing "
                    "flows back"
                )
            if found[name] is not None:
                flow = asarray(found[name])
                if flow.shape != operands[place].shape:
                    raise ValueError(
                        f"kernel {self.name}: the gradient for {name} has shape {flow.shape}, and {name} has "
                        f"{operands[place].shape}"
                    )
                flows[place] = flow
        return flows


def _key(value: Any) -> Any:
    """A number as something to compare: by its bits."""
    return (value.dtype.str, value.tobytes()) if isinstance(value, np.generic) else id(value)


def _extents(size: Any) -> tuple[int, ...]:
    """An int or several as a tuple."""
    return tuple([each.__index__() for each in size]) if isinstance(size, (tuple, list)) else (size.__index__(),)


def operation(
    kernel: Any,
    outputs: Any = None,
    *,
    grid: Any,
    block: Any,
    changed: str | Sequence[str] = (),
    shared_mem: int = 0,
    gradient: Callable[..., Mapping[str, Any]] | None = None,
) -> Operation:
    """A kernel in CUDA C++ as a function that gives new arrays, also in trees and compiled functions.

    Parameters
    ----------
    kernel : RawKernel, or function of a RawModule or SourceModule
        The kernel. What it only reads should be ``const``: of other inputs it gets copies.
    outputs : tuple, str, callable, or list or dict of these
        What it gives: ``(shape, dtype)``; ``(shape, dtype, number)`` of memory that holds this number first (else it
        holds anything); the name of an input for one like it; or a function of the inputs that gives one of these. A
        dict has them by the names of parameters, a list in the order of those pointers that are not ``const``.
    grid, block : int, tuple of int, or callable
        Blocks, and threads of one; or a function of the inputs that gives them. Of 0 blocks nothing is launched.
    changed : str or sequence of str
        Parameters that are read and written: a call gives an array, the kernel gets a copy of it, and that is a result.
    shared_mem : int
        Bytes of dynamic shared memory.
    gradient : callable, optional
        ``gradient(g, result, *inputs)`` gives a dict with the gradient for each array among the inputs by its name, or
        None where nothing flows back; `g` is the gradient of the result. Of several results both are tuples.

    Returns
    -------
    Operation
        Called with the inputs (all parameters but outputs, in the kernel's order) it gives the output, or a tuple of
        them in the kernel's order. Arrays reach the kernel dense, in C order. Functions among the arguments above
        are called with the inputs at each call; in a tree inputs have shapes and dtypes, but may have no numbers yet.

    Examples
    --------
    >>> import numloom as np
    >>> square = np.operation(
    ...     np.RawKernel(r'''
    ... extern "C" __global__ void square(const double* x, double* y, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] = x[i] * x[i];
    ... }''', "square"),
    ...     outputs="x", grid=lambda x, n: -(-x.size // 128), block=128,
    ...     gradient=lambda g, y, x, n: {"x": 2 * g * x},
    ... )
    >>> square(np.arange(3.0), 3)
    array([0., 1., 4.])
    >>> np.grad(lambda x: square(x, x.size).sum())(np.arange(3.0))
    array([0., 2., 4.])
    """
    return Operation(kernel, outputs, grid, block, changed, shared_mem, gradient)


# ---------------------------------------------------------------- loops of their own


class LoopCall(KernelCall):
    """A call of an `ElementwiseKernel` or `ReductionKernel` that runs at once, without its operands.

    `slots` say what stands for each input and each output; outputs that were given are copied.
    """

    def __init__(
        self, kernel: Any, slots: Sequence[Slot], results: Sequence[Result], options: Mapping[str, Any]
    ) -> None:
        KernelCall.__init__(self, kernel.name, results)
        self.kernel = kernel
        self.slots = tuple(slots)
        self.options = dict(options)
        if len(self.slots) == len(kernel.in_params) == kernel.nargs - 1:
            self.texts = kernel.gradient

    def rule(self, operands: Sequence[Any]) -> tuple[Any, tuple[str, ...], list[Any]]:
        """Texts for the inputs, what the output and they are called there, and the inputs for operands."""
        inputs = [what if kind == CONSTANT else operands[what] for kind, what in self.slots]
        return self.texts, (self.kernel.out_params[0].name, *[p.name for p in self.kernel.in_params]), inputs

    def launched(self, operands: Sequence[Node]) -> Sequence[Any]:
        """The results as arrays, after the launch."""
        args = []
        for kind, what in self.slots:
            if kind == CONSTANT:
                args.append(what)
            else:
                args.append(own_copy(operands[what]) if kind == COPIED else wrap(in_c_order(operands[what])))
        found: Sequence[Any] = self.kernel.run_at_once(args, **self.options)
        return found


def waiting_loop(
    kernel: Any, ins: Sequence[Any], outs: Sequence[Any], results: Sequence[Result], **options: Any
) -> tuple[Node, ...] | None:
    """Results of a kernel with a loop of its own as nodes that wait, if one of its arguments does; else None."""
    given = [*ins, *[out for out in outs if out is not None]]
    operands = [node_of(one) for one in given if type(one) is ndarray]
    if not waits(operands):
        return None
    slots: list[Slot] = []
    at = 0
    for place, one in enumerate(given):
        if type(one) is ndarray:
            slots.append((READ if place < len(ins) else COPIED, at))
            at += 1
        else:
            slots.append((CONSTANT, one))
    return LoopCall(kernel, slots, results, options).of(operands)


__all__ = ["KernelCall", "LoopCall", "Operation", "RawCall", "deferred", "operation", "waiting_loop"]
