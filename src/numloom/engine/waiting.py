"""Factorisations and users' kernels in trees: shapes and dtypes of results are known, so each is a node that waits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, ITEMSIZES, code_of
from numloom.graph.build import copied, one_tuple
from numloom.graph.layout import c_strides
from numloom.graph.node import ROUTINE, VIEW, Node, new_node
from numloom.graph.tree import keep_result, result_here, waits
from numloom.ops.routines import ROUTINES

Shape = tuple[int, ...]


def _real(code: int) -> int:
    return code_of(np.zeros((), DTYPES[code]).real.dtype)


def _complex(code: int) -> int:
    return code_of(np.result_type(DTYPES[code], np.complex64))


def _qr(shape: Shape, code: int, mode: str) -> list[tuple[Shape, int]]:
    lead, (m, n) = shape[:-2], shape[-2:]
    k = min(m, n)
    if mode == "complete":
        return [((*lead, m, m), code), ((*lead, m, n), code)]
    if mode == "r":
        return [((*lead, k, n), code)]
    if mode == "raw":
        return [((*lead, n, m), code), ((*lead, k), code)]
    return [((*lead, m, k), code), ((*lead, k, n), code)]


def _svd(shape: Shape, code: int, full: bool, vectors: bool) -> list[tuple[Shape, int]]:
    lead, (m, n) = shape[:-2], shape[-2:]
    k = min(m, n)
    values = ((*lead, k), _real(code))
    if not vectors:
        return [values]
    return [((*lead, m, m if full else k), code), values, ((*lead, n if full else k, n), code)]


def results_of(name: str, operands: Sequence[Node], options: dict[str, Any]) -> list[tuple[Shape, int]] | None:
    """Shape and dtype code of each result of a routine; None where they follow from values."""
    if name not in ("cholesky", "slogdet", "det", "inv", "solve", "qr", "eigh", "eig", "svd"):
        return None
    shape, code = operands[0].shape, operands[0].code
    lead = shape[:-2]
    if name in ("cholesky", "inv"):
        return [(shape, code)]
    if name == "det":
        return [(lead, code)]
    if name == "slogdet":
        return [(lead, code), (lead, _real(code))]
    if name == "solve":
        sides = operands[1].shape
        return [((*np.broadcast_shapes(lead, sides[:-2]), *sides[-2:]), code)]
    if name == "qr":
        return _qr(shape, code, options["mode"])
    if name == "svd":
        return _svd(shape, code, options["full"], options["vectors"])
    values = _real(code) if name == "eigh" else _complex(code)
    vectors = code if name == "eigh" else values
    return [(shape[:-1], values), (shape, vectors)][: 1 + options["vectors"]]


class Part:
    """The definition of one of a routine's results, for the reference."""

    in_place = False

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number

    def numpy(self, *arrays: Any, **options: Any) -> Any:
        """What NumPy gives for it."""
        found = ROUTINES[self.name].numpy(*arrays, **options)
        return found[self.number] if isinstance(found, tuple) else found


class Output:
    """One result of a routine, in C order; called with operands it gives that, and has the routine run once for all.

    Attributes
    ----------
    op_def : Part
        Which one.
    options : dict
        The routine's.
    shape, code : tuple of int, int
        The result's.
    run : callable
        ``run(name, *operands, **options)``, which runs a routine.
    """

    def __init__(self, op_def: Part, options: dict[str, Any], shape: Shape, code: int, run: Any) -> None:
        self.op_def = op_def
        self.options = options
        self.shape = shape
        self.code = code
        self.run = run

    def options_here(self) -> dict[str, Any]:
        """Its options, as the reference asks for them."""
        return self.options

    def __reduce__(self) -> Any:
        return Output, (self.op_def, self.options, self.shape, self.code, self.run)

    def __call__(self, *operands: Node) -> Node:
        key = (*self.means(), tuple(map(id, operands)))
        found = result_here(key)
        if found is None:
            found = self.results(operands)
            keep_result(key, found, operands)
        node = found[self.op_def.number]
        strides = c_strides(self.shape, ITEMSIZES[self.code])
        return node if node.strides == strides else copied(node, strides, node.code)

    def means(self) -> tuple[Any, ...]:
        """What is run, as something to compare."""
        return self.op_def.name, tuple(sorted(self.options.items()))

    def results(self, operands: tuple[Node, ...]) -> tuple[Node, ...]:
        """All results for operands."""
        results = self.run(self.op_def.name, *operands, **self.options)
        return results if isinstance(results, tuple) else (results,)


class KernelPart:
    """The definition of one result of a user's kernel.

    Attributes
    ----------
    call : object
        The kernel's call without its operands: it has a ``name``, the shapes and dtype codes of its ``results``, a rule
        of its ``gradient`` or None, and is run by ``run(operands)`` and, on the host, ``on_host(arrays)``.
    number : int
        Which result.
    """

    in_place = False

    def __init__(self, call: Any, number: int) -> None:
        self.call = call
        self.number = number
        self.name = f"user {call.name}"

    def numpy(self, *arrays: Any) -> Any:
        """The result on the host."""
        return self.call.on_host(arrays)[self.number]


class KernelOutput(Output):
    """One result of a user's kernel, which is launched once for all of them."""

    op_def: KernelPart  # type: ignore[assignment]

    def __init__(self, op_def: KernelPart) -> None:
        shape, code = op_def.call.results[op_def.number]
        Output.__init__(self, op_def, {}, shape, code, op_def.call.run)  # type: ignore[arg-type]

    def __reduce__(self) -> Any:
        return KernelOutput, (self.op_def,)

    def means(self) -> tuple[Any, ...]:
        """The call, by its identity."""
        return (self.op_def.call,)

    def results(self, operands: tuple[Node, ...]) -> tuple[Node, ...]:
        """All results, or nodes for them."""
        call = self.op_def.call
        return waiting_kernel(call, operands) if waits(operands) else call.run(operands)


def waiting_kernel(call: Any, operands: tuple[Node, ...]) -> tuple[Node, ...]:
    """Results of a user's kernel (see `KernelPart`) as nodes that wait."""
    nodes = []
    for output in outputs_of(call):
        shape, strides = one_tuple(output.shape), one_tuple(c_strides(output.shape, ITEMSIZES[output.code]))
        nodes.append(new_node(ROUTINE, output, operands, output.code, shape, strides, prod(shape), None))
    return tuple(nodes)


def outputs_of(call: Any) -> tuple[KernelOutput, ...]:
    """The results of a kernel's call: the same objects each time, so that equal parts of trees are found."""
    found: tuple[KernelOutput, ...] | None = call.outputs
    if found is None:
        found = call.outputs = tuple([KernelOutput(KernelPart(call, k)) for k in range(len(call.results))])
    return found


def waiting(name: str, operands: tuple[Node, ...], options: dict[str, Any], run: Any) -> Any:
    """What `numloom.engine.routines.call` gives, as nodes that wait; None where sizes follow from values."""
    known = results_of(name, operands, options)
    if known is None:
        return None
    nodes = []
    for number, (shape, code) in enumerate(known):
        output = Output(Part(name, number), options, shape, code, run)
        strides = one_tuple(c_strides(shape, ITEMSIZES[code]))
        nodes.append(new_node(ROUTINE, output, operands, code, one_tuple(shape), strides, prod(shape), None))
    return nodes[0] if name in ("cholesky", "det", "inv", "solve") else tuple(nodes)


class MatrixProduct:
    """A product of matrices in a tree, of any size; called with its operands it is recorded by the rule of its size.

    Attributes
    ----------
    op_def : Routine
        The routine's.
    options : dict
        Nothing.
    strides : tuple of int
        Of the result.
    run : callable
        ``run(a, b)``, which records a product.
    """

    op_def = ROUTINES["matmul"]

    def __init__(self, strides: Shape, run: Any) -> None:
        self.options: dict[str, Any] = {}
        self.strides = strides
        self.run = run

    def options_here(self) -> dict[str, Any]:
        """Its options, as the reference asks for them."""
        return self.options

    def __call__(self, a: Node, b: Node) -> Node:
        node: Node = self.run(a, b)
        return node if node.strides == self.strides and node.kind != VIEW else copied(node, self.strides, node.code)


def waiting_product(a: Node, b: Node, shape: Shape, strides: Shape, run: Any) -> Node | None:
    """A product of matrices as one node, in a tree; else None."""
    if not waits((a, b)):
        return None
    signature = (a.code, one_tuple(shape), one_tuple(strides), prod(shape))
    return new_node(ROUTINE, MatrixProduct(one_tuple(strides), run), (a, b), *signature, None)


__all__ = [
    "KernelOutput",
    "KernelPart",
    "MatrixProduct",
    "Output",
    "Part",
    "results_of",
    "waiting",
    "waiting_kernel",
    "waiting_product",
]
