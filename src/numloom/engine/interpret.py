"""Tier 0 of the CPU executor: a program run at once, one operation at a time, on host memory.

It serves small and first-seen work while the fused kernel is compiled. Operations whose bits
NumPy gives run by NumPy, the others by loops that the package was built with; reductions follow
the tree of `ops.tree`. So both tiers give the same bits.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import CHARS, DTYPES
from numloom.device.cpu.hostview import array_at
from numloom.emit.loops import loop_name, loop_source
from numloom.ops.rows import Op
from numloom.ops.tree import has_tree, reduce_axes
from numloom.plan.program import Instr, Operand, Program

Host = np.ndarray[Any, Any]

_BLOCK = 65536
_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def can_interpret(program: Program, loops: Any) -> bool:
    """Whether the interpreter gives the kernel's bits for this program with these loops."""
    for reduction in program.reductions:
        dtype = DTYPES[program.body[reduction.value].code]
        if not has_tree(reduction.row, dtype) or not reduction.row.commutative:
            return False
    for instrs in (program.body, program.post):
        for instr in instrs:
            if instr.kind == "op":
                chars = "".join(CHARS[instrs[arg].code] for arg in instr.args)
                if instr.row.is_exact(chars):
                    continue
                if loops is None or not loops.address(loop_name(instr.row, chars)):
                    return False
    return True


def interpret(
    program: Program, pointers: Sequence[int], params: Sequence[Any], iota_offsets: Sequence[int], device: Any
) -> None:
    """Run a program on host memory.

    `pointers` are the operands' addresses, `params` NumPy scalars, `iota_offsets` the values of the
    iotas at index zero; errors go to the device's error word.
    """
    run = _Run(program, pointers, params, iota_offsets, device)
    with np.errstate(all="ignore"):
        if program.reductions:
            run.reduce()
        else:
            run.map()


class _Run:
    def __init__(self, program: Program, pointers: Any, params: Any, iota_offsets: Any, device: Any) -> None:
        self.program = program
        self.pointers = pointers
        self.params = params
        self.iota_offsets = iota_offsets
        self.device = device

    def map(self) -> None:
        program = self.program
        box = program.box
        if box is not None:
            store = program.operands[program.stores[0].operand]
            base = program.operands[box.base]
            target = self.memory(program.stores[0].operand, store, (0,) * len(program.shape), program.shape)
            target[...] = self.memory(box.base, base, (0,) * len(program.shape), program.shape)
            self.block(tuple(box.starts), tuple(box.counts))
            return
        shape = program.shape
        inner = prod(shape[1:])
        step = max(1, _BLOCK // max(inner, 1))
        rest = (0,) * (len(shape) - 1)
        for start in range(0, shape[0], step):
            self.block((start, *rest), (min(step, shape[0] - start), *shape[1:]))

    def block(self, starts: tuple[int, ...], counts: tuple[int, ...]) -> None:
        """Evaluate the body over a box of the space and store its results."""
        values = self.values(self.program.body, starts, counts, ())
        for store in self.program.stores:
            target = self.memory(store.operand, self.program.operands[store.operand], starts, counts)
            target[...] = values[store.value]

    def reduce(self) -> None:
        program = self.program
        kept = program.kept
        shape = program.shape
        starts = (0,) * len(shape)
        values = self.values(program.body, starts, shape, ())
        for store in program.stores:
            target = self.memory(store.operand, program.operands[store.operand], starts, shape)
            target[...] = values[store.value]
        axes = tuple(range(kept, len(shape)))
        results = []
        for reduction in program.reductions:
            dtype = DTYPES[program.body[reduction.value].code]
            full = np.broadcast_to(np.asarray(values[reduction.value], dtype), shape)
            result = reduce_axes(reduction.row, full, axes, axes, program.fast, False)
            results.append(result.astype(DTYPES[reduction.code]))
        post = self.values(program.post, starts[:kept], shape[:kept], results)
        for store in program.post_stores:
            target = self.memory(store.operand, program.operands[store.operand], starts[:kept], shape[:kept])
            target[...] = post[store.value]

    def memory(self, k: int, operand: Operand, starts: tuple[int, ...], counts: tuple[int, ...]) -> Host:
        """An operand over a box of the space."""
        dtype = DTYPES[operand.code]
        strides = tuple([stride * dtype.itemsize for stride in operand.strides])
        address = self.pointers[k]
        for start, stride in zip(starts, strides, strict=True):
            address += start * stride
        return array_at(address, counts, strides, dtype)

    def values(
        self, instrs: Sequence[Instr], starts: tuple[int, ...], counts: tuple[int, ...], reduced: Sequence[Host]
    ) -> list[Any]:
        """Values of instructions over a box of their space."""
        values: list[Any] = []
        for instr in instrs:
            kind = instr.kind
            args = [values[arg] for arg in instr.args]
            if kind == "load":
                value: Any = self.memory(instr.operand, self.program.operands[instr.operand], starts, counts)
            elif kind == "param":
                value = self.params[instr.index]
            elif kind == "iota":
                value = self.iota(instr, starts, counts)
            elif kind == "op":
                value = self.apply(instr.row, [instrs[arg].code for arg in instr.args], instr.code, args, counts)
            elif kind == "cast":
                value = np.asarray(args[0]).astype(DTYPES[instr.code])
            elif kind == "bitcast":
                source = np.asarray(args[0], DTYPES[instrs[instr.args[0]].code])
                value = np.ascontiguousarray(source).reshape(source.shape or (1,)).view(DTYPES[instr.code])
                value = value.reshape(source.shape)
            elif kind == "gather":
                value = self.gather(instr, args, starts, counts)
            else:
                value = reduced[instr.index]
            values.append(value)
        return values

    def iota(self, instr: Instr, starts: tuple[int, ...], counts: tuple[int, ...]) -> Host:
        total: Any = np.int64(self.iota_offsets[instr.index])
        for d, (start, count, stride) in enumerate(zip(starts, counts, instr.strides, strict=True)):
            if stride:
                line = np.arange(start, start + count, dtype=np.int64) * stride
                total = total + line.reshape((-1,) + (1,) * (len(counts) - 1 - d))
            elif start * stride:
                total = total + start * stride
        return np.asarray(total)

    def gather(self, instr: Instr, args: list[Any], starts: tuple[int, ...], counts: tuple[int, ...]) -> Host:
        operand = self.program.operands[instr.operand]
        dtype = DTYPES[operand.code]
        offset: Any = np.zeros((1,) * len(counts), np.int64)
        for index, (extent, stride) in zip(args, instr.strides, strict=True):
            at = np.where(index < 0, index + extent, index)
            bad = (at < 0) | (at >= extent)
            if np.any(bad):
                ctypes.c_int64.from_address(self.device.error_address()).value = 1
                at = np.where(bad, 0, at)
            offset = offset + at * stride
        for d, (start, count, stride) in enumerate(zip(starts, counts, operand.strides, strict=True)):
            if stride:
                line = np.arange(start, start + count, dtype=np.int64) * stride
                offset = offset + line.reshape((-1,) + (1,) * (len(counts) - 1 - d))
        offset = np.broadcast_to(offset, counts)
        if not offset.size:
            return np.empty(counts, dtype)
        low = int(offset.min())
        memory = array_at(
            self.pointers[instr.operand] + low * dtype.itemsize, (int(offset.max()) - low + 1,), (dtype.itemsize,), dtype
        )
        return memory[offset - low]

    def apply(self, row: Op, codes: list[int], out_code: int, args: list[Any], counts: tuple[int, ...]) -> Any:
        """One operation, by NumPy where its bits are ours, else by a loop of the package."""
        chars = "".join(CHARS[code] for code in codes)
        dtype = DTYPES[out_code]
        if row.is_exact(chars):
            value = row.numpy(*args)
            return value if value.dtype == dtype else value.astype(dtype)
        shape = np.broadcast_shapes(*(np.shape(arg) for arg in args))
        arrays = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(arg, DTYPES[code]), shape))
            for arg, code in zip(args, codes, strict=True)
        ]
        out = np.empty(shape, dtype)
        run_loop(row, tuple(codes), out_code, arrays, out, self.device.loops)
        return out


@cache
def _words(row: Op, codes: tuple[int, ...], out_code: int) -> tuple[tuple[str, int], ...]:
    return tuple((word.kind, word.index) for word in loop_source(row, codes, out_code).words)


def run_loop(row: Op, codes: tuple[int, ...], out_code: int, arrays: list[Host], out: Host, loops: Any) -> None:
    """Run a single-operation loop over contiguous host arrays."""
    address = loops.address(loop_name(row, "".join(CHARS[code] for code in codes)))
    operands = [*arrays, out]
    params = array("q")
    for kind, index in _words(row, codes, out_code):
        params.append(operands[index].ctypes.data if kind == "pointer" else out.size)
    _LOOP(address)(params.buffer_info()[0], 0, out.size)
