"""Tier 0 of the CPU executor: a program run at once, one operation at a time, on host memory.

It serves small and first-seen work while the fused kernel is compiled. Operations whose bits
NumPy gives run by NumPy, the others by loops that the package was built with; reductions follow
the tree of `ops.reduction_tree`. So both tiers give the same bits.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from numloom.base.dtypes import BOOL, CHARS, DTYPES, F32, I64, KINDS, LOW, ROUNDED, code_of
from numloom.base.low import cast_host
from numloom.device import complaints
from numloom.device.cpu.hostview import array_at
from numloom.ops.definitions import OpDef
from numloom.ops.reduction_tree import has_tree, operation_of, reduce_axes
from numloom.ops.single_loops import CASTS, has_loop, loop_name, loop_words, wide

try:
    from numloom.engine._ready import reduce_rows_of as _reduce_rows  # type: ignore[import-not-found]
except ImportError:
    _reduce_rows = None

if TYPE_CHECKING:
    from numloom.plan.program import Instr, Operand, Program, Reduce

Host = np.ndarray[Any, Any]
Index = tuple[int, ...]

BLOCK = 1 << 19
"""Bytes of a value that are there at once: what is read again is still in the processor's cache."""
FULL = 1 << 20
"""Elements of what is reduced that are there at once, but for those of one result."""
_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def can_interpret(program: Program, loops: Any, *, exactly: bool = True) -> bool:
    """Whether the interpreter runs this program with these loops, and (`exactly`) gives the kernel's bits.

    Where a loop is missing NumPy's own function does the work, whose last bits may be others. Only users' kernels
    cannot run at all.
    """
    if program.nested:  # which only a GPU has
        return False
    for reduction in program.reductions:
        code = program.body[reduction.value].code
        if not reduction.op_def.commutative or reduction.op_def.preamble:
            return False
        if exactly and not has_tree(reduction.op_def, DTYPES[code]):
            return False
        op = operation_of(reduction.op_def)
        if exactly and op is not None and not has_loop(op, CHARS[F32 if code in ROUNDED else code] * op.nin, loops):
            return False
    for instrs in (program.body, program.post):
        for instr in instrs:
            op_def = CASTS.get(instr.code) if instr.kind == "cast" else instr.op_def
            if op_def is None:
                continue
            chars = "".join(CHARS[instrs[arg].code] for arg in instr.args)
            if op_def.preamble or (exactly and not op_def.is_exact(chars) and not has_loop(op_def, wide(chars), loops)):
                return False
    return True


def interpret(
    program: Program,
    pointers: Sequence[int],
    params: Sequence[Any],
    iota_offsets: Sequence[int],
    device: Any,
    places: Sequence[int] = (),
    later: list[tuple[Host, Any]] | None = None,
) -> None:
    """Run a program on host memory.

    `pointers` are the operands' addresses, `params` NumPy scalars, `iota_offsets` the values of the
    iotas at index zero; a gather that fails writes its number in `places` (else 1) to the device's error word.
    What takes the place of values that are there is stored by the caller, who gives a list for it: memory, and what
    belongs there. So whatever ends this, Ctrl-C or a lack of memory, has stored none of it.
    """
    run = _Run(program, pointers, params, iota_offsets, device)
    run.places = places
    run.later = later
    with np.errstate(all="ignore"):
        if program.by_rows:
            run.rows()
        elif program.reductions:
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
        self.places: Sequence[int] = ()
        self.later: list[tuple[Host, Any]] | None = None

    def map(self) -> None:
        program = self.program
        box = program.box
        most = self.block_size()
        unused = self.unused(())
        if box is None:
            for starts, counts in _blocks(program.shape, most):
                self.block(starts, counts, unused)
            return
        store = program.stores[0].operand
        whole = (0,) * len(program.shape)
        target = self.memory(store, program.operands[store], whole, program.shape)
        if box.fill >= 0:
            target[...] = self.params[box.fill]
        else:
            target[...] = self.memory(box.base, program.operands[box.base], whole, program.shape)
        for starts, counts in _blocks(box.counts, most):
            at = tuple([s + t * k for s, t, k in zip(box.starts, box.steps, starts, strict=True)])
            self.block(at, counts, unused, box.steps)

    def block_size(self) -> int:
        """Elements of a block of the space."""
        widest = max([DTYPES[instr.code].itemsize for instr in self.program.body], default=8)
        return BLOCK // widest

    def unused(self, wanted: Sequence[int]) -> list[list[int]]:
        """Of each value of the body those that are of no use once it is there; stored and `wanted` ones are kept."""
        body = self.program.body
        kept = {*wanted, *(store.value for store in self.program.stores)}
        last = list(range(len(body)))
        for number, instr in enumerate(body):
            for arg in instr.args:
                last[arg] = number
        unused: list[list[int]] = [[] for _ in body]
        for number, user in enumerate(last):
            if number not in kept:
                unused[user].append(number)
        return unused

    def block(
        self,
        starts: Index,
        counts: Index,
        unused: Sequence[Sequence[int]],
        steps: Index | None = None,
        only: Sequence[int] | None = None,
    ) -> dict[int, Any]:
        """Evaluate the body over a box of the space, store what it stores, and give the values that are kept."""
        values = self.values(self.program.body, starts, counts, {}, steps, unused=unused, only=only)
        for store in self.program.stores:
            self.store(store.operand, values[store.value], starts, counts, steps)
        return values

    def store(self, k: int, value: Any, starts: Index, counts: Index, steps: Index | None = None) -> None:
        """Store values over a box of the space."""
        operand = self.program.operands[k]
        target = self.memory(k, operand, starts, counts, steps)
        if operand.in_place and self.later is not None:
            self.later.append((target, value))
        else:
            target[...] = value

    def reduce(self) -> None:
        """A program with reductions: some results at a time, so that little of what is reduced is there at once."""
        program = self.program
        kept, most = program.shape[: program.kept], prod(program.shape)
        if not any(program.operands[store.operand].in_place for store in program.post_stores):
            most = max(1, FULL // max(prod(program.shape[program.kept :]), 1))
        for at, extents in _blocks(kept, max(most, 1)) if prod(kept) else [((0,) * len(kept), kept)]:
            self.reduce_part(at, extents)

    def reduce_part(self, at: Index, extents: Index) -> None:
        """The results of some of the kept positions."""
        program = self.program
        row = program.shape[program.kept :]
        zeros = (0,) * len(row)
        first, shape = (*at, *zeros), (*extents, *row)
        # What is reduced is there in memory, or computed block by block.
        full: dict[int, Host] = {}
        computed = []
        of_bools = self.counted()
        for value in dict.fromkeys(of_bools):
            instr = program.body[value]
            if instr.kind == "load" and not program.operands[instr.operand].in_place:
                full[value] = self.memory(instr.operand, program.operands[instr.operand], first, shape)
            else:
                full[value] = np.empty(shape, DTYPES[instr.code])
                computed.append(value)
        # A gather reports indices out of range, even if nothing uses what it read.
        if computed or program.stores or any(instr.kind == "gather" for instr in program.body):
            unused = self.unused(computed)
            needed = self.needed(of_bools)
            for starts, counts in _blocks(shape, self.block_size()):
                at_block = tuple([base + start for base, start in zip(first, starts, strict=True)])
                values = self.block(at_block, counts, unused, only=needed)
                inside = tuple([slice(start, start + count) for start, count in zip(starts, counts, strict=True)])
                for value in computed:
                    full[value][inside] = values[value]
        axes = tuple(range(program.kept, len(shape)))
        results = []
        for reduction, value in zip(program.reductions, of_bools, strict=True):
            results.append(self.reduced(reduction, full[value], axes, program.fast))
        post = self.values(program.post, at, extents, dict(enumerate(results)))
        for store in program.post_stores:
            self.store(store.operand, post[store.value], at, extents)

    def counted(self) -> list[int]:
        """What each reduction is of: sums of truth values, cast to integers, count them as they are."""
        program = self.program
        found = []
        for reduction in program.reductions:
            instr = program.body[reduction.value]
            plain = reduction.op_def.name == "sum" and instr.kind == "cast" and instr.code == reduction.code == I64
            counts = plain and program.body[instr.args[0]].code == BOOL
            found.append(instr.args[0] if counts else reduction.value)
        return found

    def needed(self, of_bools: list[int]) -> list[int] | None:
        """The values of the body without casts of what is counted as it is; None if all are needed."""
        program = self.program
        counted = {r.value for r, value in zip(program.reductions, of_bools, strict=True) if r.value != value}
        counted -= {store.value for store in program.stores}
        counted -= {arg for instr in program.body for arg in instr.args}
        return [number for number in range(len(program.body)) if number not in counted] if counted else None

    def rows(self) -> None:
        """A program in stages: some rows at a time, all passes over them."""
        program = self.program
        kept, row = program.kept, program.shape[program.kept :]
        stages = program.stages()
        axes = tuple(range(kept, len(program.shape)))
        for at, extents in _blocks(program.shape[:kept], max(1, self.block_size() // max(prod(row), 1))):
            starts, counts = (*at, *(0 for _ in row)), (*extents, *row)
            results: dict[int, Any] = {}
            post: dict[int, Any] = {}
            body: dict[int, Any] = {}
            for stage in range(stages.passes + 1):
                posts = [n for n, own in enumerate(stages.post) if own == stage]
                self.values(program.post, at, extents, results, only=posts, values=post)
                of_rows = {n: np.reshape(v, np.shape(v) + (1,) * len(row) * bool(np.ndim(v))) for n, v in post.items()}
                passed = [n for n, own in enumerate(stages.body) if own == stage]
                self.values(program.body, starts, counts, of_rows, only=passed, values=body)
                for k, reduction in enumerate(program.reductions):
                    if stages.body[reduction.value] == stage:
                        full = np.broadcast_to(np.asarray(body[reduction.value]), counts)
                        results[k] = self.reduced(reduction, full, axes, program.fast)
            for store in program.stores:
                self.store(store.operand, body[store.value], starts, counts)
            for store in program.post_stores:
                self.store(store.operand, post[store.value], at, extents)

    def reduced(self, reduction: Reduce, full: Host, axes: tuple[int, ...], fast: bool) -> Host:
        """A reduction's results."""
        if full.dtype == np.bool_ and reduction.op_def.name == "sum" and reduction.code == I64:
            return np.asarray(np.count_nonzero(full, axis=axes), np.int64)
        if _reduce_rows is not None:
            found = _reduce_rows(reduction.op_def, reduction.code, full, full.ndim - len(axes), fast, self.device.loops)
            if found is not None:
                return found  # type: ignore[no-any-return]
        result = reduce_axes(reduction.op_def, full, axes, axes, fast, False, self.operate)
        return result.astype(DTYPES[reduction.code])

    def operate(self, op: OpDef, a: Host, b: Host) -> Host:
        """An operation on two arrays of one dtype."""
        code = code_of(a.dtype)
        return np.asarray(apply(op, [code, code], code, [a, b], self.device.loops))

    def memory(self, k: int, operand: Operand, starts: Index, counts: Index, steps: Index | None = None) -> Host:
        """An operand over a box of the space."""
        dtype = DTYPES[operand.code]
        strides = tuple([stride * dtype.itemsize for stride in operand.strides])
        address = self.pointers[k]
        for start, stride in zip(starts, strides, strict=True):
            address += start * stride
        if steps is not None:
            strides = tuple([stride * step for stride, step in zip(strides, steps, strict=True)])
        return array_at(address, counts, strides, dtype)

    def values(
        self, instrs: Sequence[Instr], starts: Index, counts: Index, reduced: Mapping[int, Any],
        steps: Index | None = None, only: Sequence[int] | None = None, values: dict[int, Any] | None = None,
        unused: Sequence[Sequence[int]] | None = None,
    ) -> dict[int, Any]:  # fmt: skip
        """Values of instructions (of those in `only`) over a box of their space, added to `values`.

        Those that `unused` names at an instruction are dropped behind it.
        """
        program = self.program
        # A store must not change what a later one writes.
        several = len(program.stores) + len(program.post_stores) > 1
        values = {} if values is None else values
        for number in range(len(instrs)) if only is None else only:
            instr = instrs[number]
            kind = instr.kind
            args = [values[arg] for arg in instr.args]
            if kind == "load":
                operand = program.operands[instr.operand]
                value: Any = self.memory(instr.operand, operand, starts, counts, steps)
                if several and operand.in_place:
                    value = value.copy()
            elif kind == "param":
                value = self.params[instr.index]
            elif kind == "iota":
                value = self.iota(instr, starts, counts, steps)
            elif kind == "op":
                value = apply(
                    instr.op_def, [instrs[arg].code for arg in instr.args], instr.code, args, self.device.loops
                )
            elif kind == "cast":
                value = cast(instrs[instr.args[0]].code, instr.code, args[0], self.device.loops)
            elif kind == "bitcast":
                source = np.asarray(args[0], DTYPES[instrs[instr.args[0]].code])
                value = np.ascontiguousarray(source).reshape(source.shape or (1,)).view(DTYPES[instr.code])
                value = value.reshape(source.shape)
            elif kind == "gather":
                value = self.gather(instr, args, starts, counts, steps)
            else:
                value = reduced[instr.index]
            values[number] = value
            if unused is not None:
                for old in unused[number]:
                    del values[old]
        return values

    def iota(self, instr: Instr, starts: Index, counts: Index, steps: Index | None) -> Host:
        return _affine(self.iota_offsets[instr.index], instr.strides, starts, counts, steps)

    def gather(self, instr: Instr, args: list[Any], starts: Index, counts: Index, steps: Index | None) -> Host:
        operand = self.program.operands[instr.operand]
        dtype = DTYPES[operand.code]
        offset: Any = _affine(0, operand.strides, starts, counts, steps)
        for index, (extent, stride) in zip(args, instr.strides, strict=True):
            at = np.where(index < 0, index + extent, index)
            bad = (at < 0) | (at >= extent)
            if np.any(bad):
                place = self.places[instr.index] if self.places else 1
                first = int(np.asarray(index)[bad].flat[0])
                complaints.put(self.device.error_address(), complaints.Found(place, first, extent))
                at = np.where(bad, 0, at)
            offset = offset + at * stride
        offset = np.broadcast_to(offset, counts)
        if not offset.size:
            return np.empty(counts, dtype)
        low = int(offset.min())
        length = int(offset.max()) - low + 1
        memory = array_at(self.pointers[instr.operand] + low * dtype.itemsize, (length,), (dtype.itemsize,), dtype)
        return memory[offset - low]


@lru_cache(1 << 12)
def _by_numpy(op_def: OpDef, codes: tuple[int, ...], loops: Any) -> bool:
    """Whether NumPy does an operation: its bits are ours, or nothing else is there."""
    chars = "".join(CHARS[code] for code in codes)
    return op_def.is_numpys(chars) or not has_loop(op_def, wide(chars), loops)


def apply(op_def: OpDef, codes: Sequence[int], out_code: int, args: list[Any], loops: Any) -> Any:
    """One operation, by NumPy or by a loop of the package."""
    dtype = DTYPES[out_code]
    if _by_numpy(op_def, tuple(codes), loops):
        return op_def.on_host(args, dtype)
    if any(code in LOW for code in codes):
        # Loops are of float32, in which these are computed.
        wider = [F32 if code in LOW else code for code in codes]
        args = [np.asarray(arg).astype(DTYPES[code]) for arg, code in zip(args, wider, strict=True)]
        value = apply(op_def, wider, F32 if out_code in LOW else out_code, args, loops)
        return value if value.dtype == dtype else value.astype(dtype)
    arrays = [np.asarray(arg, DTYPES[code]) for arg, code in zip(args, codes, strict=True)]
    shapes = {arg.shape for arg in arrays}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    arrays = [np.ascontiguousarray(arg if arg.shape == shape else np.broadcast_to(arg, shape)) for arg in arrays]
    out = np.empty(shape, dtype)
    run_loop(op_def, tuple(codes), out_code, arrays, out, loops)
    return out


def cast(code: int, out_code: int, value: Any, loops: Any) -> Any:
    """A value as another dtype; what is out of an integer's range as kernels have it."""
    op_def = CASTS.get(out_code)
    if op_def is not None:
        return apply(op_def, [code], out_code, [value], loops)
    value = np.asarray(value)
    if value.dtype.kind == "c" and KINDS[out_code] == "f":
        value = value.real  # whoever recorded the cast was warned then
    return cast_host(value, DTYPES[out_code])


def _blocks(shape: Index, most: int) -> Iterator[tuple[Index, Index]]:
    """Cut a space into boxes of about `most` points, as the processor's cache holds: starts and extents."""
    if prod(shape) <= most:
        if all(shape):
            yield (0,) * len(shape), shape
        return
    d = next(d for d in range(len(shape)) if prod(shape[d + 1 :]) <= most)
    inner = shape[d + 1 :]
    step = most // prod(inner)
    zeros = (0,) * len(inner)
    for outer in np.ndindex(*shape[:d]):
        for start in range(0, shape[d], step):
            yield (*outer, start, *zeros), (*(1,) * d, min(step, shape[d] - start), *inner)


def _affine(offset: int, strides: Index, starts: Index, counts: Index, steps: Index | None) -> Host:
    """``offset + sum(strides[d] * i[d])`` over a box of the space, as far as it varies."""
    total: Any = np.full((1,) * len(counts), offset, np.int64)
    for d, stride in enumerate(strides):
        if stride:
            line = np.arange(counts[d], dtype=np.int64) * ((steps[d] if steps else 1) * stride) + starts[d] * stride
            total = total + line.reshape((-1,) + (1,) * (len(counts) - 1 - d))
    return np.asarray(total)


def run_loop(op_def: OpDef, codes: tuple[int, ...], out_code: int, arrays: list[Host], out: Host, loops: Any) -> None:
    """Run a single-operation loop over contiguous host arrays."""
    address = loops.address(loop_name(op_def, "".join(CHARS[code] for code in codes)))
    operands = [*arrays, out]
    params = array("q")
    for index in loop_words(op_def):
        params.append(out.size if index < 0 else operands[index].ctypes.data)
    _LOOP(address)(params.buffer_info()[0], 0, out.size)
