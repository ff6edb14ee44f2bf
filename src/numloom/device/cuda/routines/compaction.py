"""Selection in order: elements, indices and rows that a mask chooses, by the kernels of `numloom.emit.compaction`.

Results' sizes are known only afterwards, so each waits once for the device.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from numloom.base.dtypes import BOOL, code_of
from numloom.base.errors import OutOfMemoryError
from numloom.device.cuda.routines.kernels import (
    PRELUDE,
    THREADS,
    Grid,
    address,
    block_flags,
    cell_of,
    collapse,
    dense,
    empty,
    is_dense,
    kernel_of,
    run,
)
from numloom.device.cuda.routines.recording import BasePointer, ScriptRecorder
from numloom.device.cuda.routines.scans import group_of
from numloom.device.cuda.routines.scripts import MOST as MOST_NUMBERS
from numloom.device.cuda.routines.scripts import can_queue, script
from numloom.device.interface import Strided
from numloom.device.memory import Buffer, Pool
from numloom.emit.emit import emit
from numloom.plan.program import Instr, KernelSource, Operand, Program, Select

MOST = 4
"""Elements are chosen into memory for all of them where that is at most such a part of what is neither used nor cut."""
PARTED = 8
"""And where at most such a part of all memory is in blocks that were cut before."""
SPARSE = 8
"""Up to such a part of the elements is copied to memory of its own: that reads and writes little, and cuts nothing."""
OFTEN = 3
"""From which launch on a kernel is launched by a script."""
UNCUT = 1 << 16
"""Bytes of the smallest block that is cut; of smaller ones up to a half stays unused."""

_INT64 = np.dtype(np.int64)
Queue = Callable[[tuple[int, ...]], None]
"""Launches a selecting kernel, whose last words it is given."""


def _room(device: Any, sizes: Sequence[int]) -> list[Buffer] | None:
    """Blocks that are to be cut; None where so much is a large part of what is left."""
    pool: Pool = device.pool
    total = pool.limit or device.total_memory
    if sum(sizes) * MOST > total - pool.used - pool.parted or pool.parted * PARTED > total:
        return None
    try:
        return [pool.allocate(nbytes) for nbytes in sizes]
    except OutOfMemoryError:
        return None


def _shrunk(device: Any, block: Buffer, nbytes: int) -> Buffer:
    """What holds the first bytes of a block, and no more memory than they need."""
    if nbytes * (SPARSE if block.nbytes >= UNCUT else 2) <= block.nbytes:
        copied: Buffer = device.pool.allocate(nbytes)
        device.copy(copied, 0, block, 0, nbytes)
        return copied
    if block.nbytes >= UNCUT:
        device.pool.cut(block, nbytes)
    return block


@cache
def parts_text(unit_type: str, lead: int, rest: int) -> str:
    """Text that gathers whole parts (everything behind the leading axes) at flat positions."""
    return f"""{PRELUDE}
struct P {{
    const {unit_type}* a; const i64* at; {unit_type}* out;
    i64 n, width, e[{lead}], s[{lead}], re[{rest}], rs[{rest}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) parts(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    const i64 k = p.n >> 32 ? i / p.width : (i64)((u32)i / (u32)p.width);
    p.out[i] = p.a[offset_of<{lead}>(p.at[k], p.e, p.s) + offset_of<{rest}>(i - k * p.width, p.re, p.rs)];
}}
"""


class Chosen:
    """What a kernel of so many tiles chooses, and the memory that it needs for that."""

    def __init__(self, device: Any, tiles: int) -> None:
        self.device = device
        self.group = group_of(tiles)
        self.look_back = tiles + tiles // self.group

    def _look_back(self, count_to: int) -> tuple[int, ...]:
        """The last words of a launch that writes how much it found to an address."""
        return (*block_flags(self.device, self.look_back), self.group, count_to)

    def _found(self, count: int, dtypes: Sequence[np.dtype[Any]], queue: Callable[..., None]) -> tuple[Strided, ...]:
        """What is found among `count` elements (waits); ``queue(addresses, talk)`` launches the kernel.

        Everything has room for `count` elements, and is cut then. Where little memory is left, they are counted first.
        """
        device = self.device

        def launch(to: Sequence[int], count_to: int) -> None:
            queue(to, self._look_back(count_to))

        blocks = _room(device, [count * dtype.itemsize for dtype in dtypes])
        if blocks is None:
            found = device.read_back(partial(launch, [0] * len(dtypes)))
            results = tuple([empty(device, (found,), dtype) for dtype in dtypes])
            if found:
                launch([address(result) for result in results], 0)
            return results
        found = device.read_back(partial(launch, [block.ptr for block in blocks]))
        return tuple(
            [
                Strided(_shrunk(device, block, found * dtype.itemsize), 0, (found,), (1,), dtype)
                for block, dtype in zip(blocks, dtypes, strict=True)
            ]
        )

    def elements(self, a: Strided, queue: Queue) -> Strided:
        """The chosen elements of a dense array."""
        at, itemsize = address(a), a.dtype.itemsize
        wide = int(at % min(16, 4 * itemsize) == 0)
        return self._found(prod(a.shape), [a.dtype], lambda to, look_back: queue((at, to[0], wide, *look_back)))[0]

    def indices(self, shape: tuple[int, ...], queue: Queue) -> tuple[Strided, ...]:
        """Indices (int64) of what is chosen in an array of this shape, along each axis."""
        return self._found(prod(shape), [_INT64] * len(shape), lambda to, look_back: queue((*to, *shape, *look_back)))

    def parts(self, a: Strided, lead: int, queue: Queue) -> Strided:
        """What lies in an array at the chosen places of its first `lead` axes; the kernel gives flat indices."""
        device = self.device
        (positions,) = self.indices((prod(a.shape[:lead]),), queue)
        rest = a.shape[lead:]
        result = empty(device, (*positions.shape, *rest), a.dtype)
        if not prod(result.shape):
            return result
        extents, (strides,) = collapse(a.shape[:lead], a.strides[:lead])
        inner, (steps,) = collapse(rest, a.strides[lead:])
        itemsize, width = a.dtype.itemsize, prod(rest)
        if steps == [1]:
            # Rows without gaps are moved by larger words.
            while itemsize < 8 and not any(n * a.dtype.itemsize % (2 * itemsize) for n in (width, *strides)):
                if address(a) % (2 * itemsize):
                    break
                itemsize *= 2
            ratio = itemsize // a.dtype.itemsize
            strides, width = [stride // ratio for stride in strides], width // ratio
            inner = [width]
        text = parts_text(cell_of(np.dtype((np.void, itemsize))), len(extents), len(inner))
        count = positions.shape[0] * width
        words = [address(a), address(positions), address(result), count, width, *extents, *strides, *inner, *steps]
        run(device, text, "parts", Grid(-(-count // THREADS)), words)
        return result


@lru_cache(1024)
def _by_truth(code: int, count: int, aligned: bool, select: Select) -> KernelSource:
    """The kernel that chooses by the truth of elements in memory."""
    operand = Operand(code, (1,), 16 if aligned else 0)
    body = (Instr("load", code, operand=0), Instr("cast", BOOL, (0,)))
    return emit(Program((count,), 1, body[: 1 if code == BOOL else 2], (), (operand,), select=select))


class Flagged(Chosen):
    """What dense flags of one form choose: their kernel, from its third launch on by a script."""

    def __init__(self, device: Any, source: KernelSource) -> None:
        super().__init__(device, source.geometry.blocks)
        self.source = source
        self.words = [0 if w.kind == "pointer" else w.value for w in source.words if not w.kind.startswith("select_")]
        self.launches = 0
        self.script: Any = None

    def _look_back(self, count_to: int) -> tuple[int, ...]:
        return (count_to,)  # The script knows the rest.

    def queue(self, flags: Strided, rest: tuple[int, ...]) -> None:
        """Launch the kernel with its last words."""
        at = address(flags)
        if self.script is not None:
            self.script(at, *rest)
            return
        device, source = self.device, self.source
        *own, count_to = rest
        self.launches += 1
        often = self.launches >= OFTEN
        kernel = kernel_of(device, source.text, source.entry, source.geometry, often)
        words = (at, *self.words[1:], *own, *super()._look_back(count_to))
        device.launch(kernel, array("q", words), source.geometry)
        if often and len(rest) < MOST_NUMBERS and can_queue(device):
            self.script = self._script(kernel, 1 + len(rest))

    def _script(self, kernel: Any, given: int) -> Any:
        """The launch, for addresses of flags, other words, and where the count goes."""
        device, recorder = self.device, ScriptRecorder(self.device, given)
        look_back = (*recorder.next(device, self.look_back), self.group, BasePointer(given - 1))
        recorder.launch(
            kernel,
            (BasePointer(0), *self.words[1:], *map(BasePointer, range(1, given - 1)), *look_back),
            self.source.geometry,
        )
        return script(recorder, given, [])


@lru_cache(1024)
def _launched(device: Any, code: int, count: int, aligned: bool, select: Select) -> Flagged:
    """That kernel, and what it chooses on a device."""
    return Flagged(device, _by_truth(code, count, aligned, select))


def _by(device: Any, flags: Strided, select: Select) -> tuple[Chosen, Queue]:
    """What dense `flags` choose, and what launches its kernel."""
    flagged = _launched(device, code_of(flags.dtype), prod(flags.shape), address(flags) % 16 == 0, select)
    # It holds the flags, which may be a copy that nobody else has.
    return flagged, partial(flagged.queue, flags)


def nonzero(device: Any, a: Strided) -> tuple[Strided, ...]:
    """Indices (int64) of elements that are not zero, an array an axis, in C order."""
    if not prod(a.shape) or not a.shape:
        return tuple([empty(device, (0,), _INT64) for _ in a.shape])
    chosen, queue = _by(device, dense(device, a), Select(2, axes=len(a.shape)))
    return chosen.indices(a.shape, queue)


def compress(device: Any, a: Strided, mask: Strided) -> Strided:
    """The elements (in C order) of `a` where `mask`, of the leading axes of `a`, is true."""
    lead = len(mask.shape)
    if not prod(mask.shape):
        return empty(device, (0, *a.shape[lead:]), a.dtype)
    mask = dense(device, mask)
    if lead == len(a.shape) and is_dense(a):
        chosen, queue = _by(device, mask, Select(a.dtype.itemsize))
        return chosen.elements(a, queue)
    chosen, queue = _by(device, mask, Select(2, axes=1))
    return chosen.parts(a, lead, queue)
