"""A program of one user's operation on host arrays: what stands for a NumPy twin in the reference executor."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, code_of
from numloom.device import registry
from numloom.emit.emit import emit
from numloom.engine import look
from numloom.ops.definitions import OpDef, ReductionDef
from numloom.plan.program import Instr, Operand, Program, Reduce, Store

Host = np.ndarray[Any, Any]


def run_program(program: Program, arrays: Sequence[Host]) -> None:
    """Run a program without scalars on dense host arrays, compiled by the host's compiler.

    Raises
    ------
    MissingDependencyError
        If there is none.
    """
    device: Any = registry.get("cpu")
    source = emit(program)
    kernel = device.kernel(source.text, source.entry, wait=True)
    geometry = source.geometry
    words = array("q")
    scratch = None
    for word in source.words:
        if word.kind == "pointer":
            words.append(arrays[word.index].ctypes.data)
        elif word.kind == "workspace":
            scratch = device.workspace(geometry.workspace, geometry.counters)
            words.append(scratch.ptr)
        else:
            words.append(word.value)
    device.launch(kernel, words, geometry)
    del scratch  # held until the launch
    look.settle_near(device, device.pool)


def run_op(op_def: OpDef, out_code: int, *args: Any) -> Host:
    """An elementwise operation on host arrays of its loop's dtypes."""
    shape = np.broadcast_shapes(*[np.shape(arg) for arg in args])
    arrays = [np.ascontiguousarray(np.broadcast_to(arg, shape)) for arg in args]
    out = np.empty(shape, DTYPES[out_code])
    if out.size:
        codes = [code_of(a.dtype) for a in arrays]
        body = tuple(Instr("load", code, operand=k) for k, code in enumerate(codes))
        body += (Instr("op", out_code, tuple(range(len(codes))), op_def=op_def),)
        operands = tuple(Operand(code, (1,), word=0) for code in codes)
        operands += (Operand(out_code, (1,), word=0, written=True),)
        run_program(Program((out.size,), 1, body, (Store(len(codes), len(codes)),), operands), [*arrays, out])
    return out


def run_reduction(op_def: ReductionDef, out_code: int, x: Host, axis: int = -1, keepdims: bool = False) -> Host:
    """A reduction of a host array over its last axis."""
    x = np.ascontiguousarray(x)
    out = np.empty(x.shape[:-1], DTYPES[out_code])
    if out.size:
        code, count = code_of(x.dtype), x.shape[-1]
        program = Program(
            (out.size, count), 1, (Instr("load", code, operand=0),), (),
            (Operand(code, (count, 1), word=0), Operand(out_code, (1,), word=0, written=True, post=True)),
            reductions=(Reduce(op_def, 0, out_code),), post=(Instr("reduced", out_code, index=0),),
            post_stores=(Store(0, 1),),
        )  # fmt: skip
        run_program(program, [x, out])
    return out


__all__ = ["run_op", "run_program", "run_reduction"]
