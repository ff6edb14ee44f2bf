"""How threads, and the blocks of a cluster, share the rows of kernels that go over them several times (`emit.rows`)."""

from __future__ import annotations

from typing import NamedTuple

from numloom.ops.reduction_tree import CHUNKS, LANES, RUN
from numloom.plan.sizes import of_sizes

HELD_WORDS = 64
"""Registers of a thread that hold elements between passes."""
THREADS = 128
MOST_THREADS = 1024
EXCHANGED = 44 << 10
"""Bytes of accumulators that the threads of a block exchange without asking for them: 48 KB of shared memory are
there."""
REGISTERS = 65536
OTHER_WORDS = 32
"""Registers that a thread needs beside those that hold elements, about."""
RESIDENT = 4
"""Blocks of a multiprocessor for which compilers keep registers free, where blocks wait for each other."""
PARTS = ((8, HELD_WORDS), (16, HELD_WORDS), (24, 2 * HELD_WORDS))
"""Runs of a row that a block of a cluster may have, and how many registers of a thread then hold elements.

The fewest are taken that the blocks of a cluster suffice for (fewer than 8 were slower, for moments twice and more).
All of a multiprocessor's registers hold 24 runs if threads are few.
"""
ALONE = 1 << 15
"""Held words of a row up to which one block is as fast as a cluster, or faster."""
STRIP = 128
"""Bytes of neighbouring columns that are read together."""
BLOCKS = (128, 256, 512)
"""Threads of a block that has columns: the fewest that the blocks of a cluster suffice with."""


class Shape(NamedTuple):
    """How threads share a row: `groups` of `threads`, each `lanes` lanes of `runs` runs.

    Of a group's `elements_per_lane` of elements the first `always_valid` are whole whatever the row's length. A
    processor holds at least `blocks` blocks. With a `cluster` of several blocks each of them has so many groups. Of
    columns (`width` is 1) a group has `threads` neighbours, one each, and a part of their elements.
    """

    width: int
    threads: int
    lanes: int
    groups: int
    runs: int
    elements_per_lane: int
    always_valid: int
    in_registers: bool
    blocks: int = 1
    cluster: int = 1

    @property
    def block(self) -> int:
        """Threads of a block."""
        return max(THREADS, self.threads * self.groups)

    @property
    def in_warp(self) -> bool:
        """Whether the threads of a row are of one warp (where `width` is not 1)."""
        return self.threads < LANES

    @property
    def of_chunk(self) -> int:
        """Groups of a chunk."""
        return CHUNKS[0] // (RUN * LANES * self.runs)

    @property
    def exchanged(self) -> int:
        """Accumulators that a block has in shared memory at once."""
        own = self.groups if self.groups > 1 else 0
        if self.width == 1:
            return self.threads * (own + (self.cluster if self.cluster > 1 else 0))
        return LANES * (self.groups if self.cluster == 1 or self.groups >= self.of_chunk else self.cluster + own)


@of_sizes
def column_shape(count: int, words: int, nbytes: int, size: int, cluster: int) -> Shape:
    """How threads share columns of `count` elements of `size` bytes, for each of which `words` registers are held.

    Threads of a block exchange `nbytes` each. Up to `cluster` blocks may share columns.
    """
    runs, width = -(-count // RUN), STRIP // max(size, 4)
    if count <= RUN and words * RUN <= HELD_WORDS:
        step = 1 if count <= 8 else 2
        whole = -(-count // step) * step
        return Shape(1, LANES, 1, 1, 1, whole, whole if whole == count else whole - step, True)
    each = HELD_WORDS // (RUN * words)
    each = min(1 << (each.bit_length() - 1) if each else 0, 1 << (runs - 1).bit_length())
    for threads in BLOCKS:
        if not each:
            break
        groups = min(threads // width, 1 << (-(-runs // each) - 1).bit_length())
        shape = _columns(count, groups, max(width, LANES // groups), each, words)
        if shape.cluster <= cluster and shape.blocks and shape.exchanged * nbytes <= EXCHANGED:
            return shape
    each = CHUNKS[0] // (RUN * LANES)
    groups = 1 << (-(-runs // (each * cluster)) - 1).bit_length()
    return _columns(count, groups, max(width, LANES // groups), each, 0)


def _columns(count: int, groups: int, columns: int, each: int, words: int) -> Shape:
    """So many groups of so many columns, as many blocks as that takes; without `words` nothing is held."""
    part = groups * each * RUN
    cluster = -(-count // part)
    blocks = min(REGISTERS // (groups * columns * (each * RUN * words + OTHER_WORDS)), RESIDENT)
    always_valid = each * RUN if cluster * part == count else 0
    return Shape(1, columns, 1, groups, each, each * RUN, always_valid, words > 0, blocks, cluster)


@of_sizes
def row_shape(count: int, words: int, nbytes: int = 16, cluster: int = 1, exact: bool = False) -> Shape:
    """How threads share rows of `count` elements, for each of which `words` registers are held.

    Threads of a block exchange `nbytes` each. Up to `cluster` blocks may share a row. `exact`: of rows of up to
    4096 elements all lanes have `elements_per_lane` elements, or one less.
    """
    width = min(LANES, 1 << max(count - 1, 0).bit_length())
    elements_per_lane = -(-count // width)
    # Few lengths have a text of their own: lines are rounded up in steps, but lengths that fill them are spared tests.
    step = (
        1
        if elements_per_lane <= (2 * RUN if exact else 8)
        else 2
        if elements_per_lane <= 16
        else 4
        if elements_per_lane <= 32
        else 8
    )
    whole = -(-elements_per_lane // step) * step
    always_valid = whole if whole * width == count else whole - step
    # The fewer threads share a short row the less is exchanged; rows of up to 128 elements are a warp's at most.
    lanes = min(8 if elements_per_lane == 1 and 8 * words <= HELD_WORDS // 2 else 4, width)
    if elements_per_lane == 1 or (elements_per_lane <= RUN and lanes * whole * words <= HELD_WORDS // 2):
        return Shape(width, width // lanes, lanes, 1, 1, whole, always_valid, True)
    runs = -(-elements_per_lane // RUN)
    threads = min(MOST_THREADS, EXCHANGED // nbytes // LANES * LANES)
    if whole * words <= HELD_WORDS:
        return Shape(width, LANES, 1, 1, runs, whole, always_valid, True)
    fitting = []
    for each in (1, 2, 4):
        groups = -(-runs // each)
        registers = groups * LANES * (each * RUN * words + OTHER_WORDS)
        if each * RUN * words <= HELD_WORDS and groups * LANES <= threads and registers <= REGISTERS:
            fitting.append((groups * each, -each, groups, registers))
    if cluster > 1 and not (fitting and words * count <= ALONE):
        shared = _cluster_shape(count, runs, words, nbytes, cluster)
        if shared.cluster > 1:
            return shared
    if fitting:
        # The least that stays empty, then the fewest threads.
        filled, each, groups, registers = min(fitting)
        always_valid = -each * RUN if filled * RUN * width == count else 0
        return Shape(width, LANES, 1, groups, -each, -each * RUN, always_valid, True, min(REGISTERS // registers, 2))
    each = min(1 << (-(-runs * LANES // threads) - 1).bit_length(), CHUNKS[0] // (RUN * LANES))
    groups = -(-runs // each)
    return Shape(width, LANES, 1, groups, each, each * RUN, each * RUN * (groups * each * RUN * width == count), False)


def _cluster_shape(count: int, runs: int, words: int, nbytes: int, most: int) -> Shape:
    """How the blocks of a cluster share rows: in registers if they fit there."""
    for part, in_registers in PARTS:
        each = min(in_registers // (RUN * words), part)
        if not each:
            break
        each = 1 << (each.bit_length() - 1)
        cluster, groups = -(-runs // part), part // each
        registers = groups * LANES * (each * RUN * words + OTHER_WORDS)
        always_valid = each * RUN if cluster * part * RUN * LANES == count else 0
        blocks = min(REGISTERS // registers, RESIDENT)
        shape = Shape(LANES, LANES, 1, groups, each, each * RUN, always_valid, True, blocks, cluster)
        if cluster <= most and blocks and shape.exchanged * nbytes <= EXCHANGED:
            return shape
    # Whole chunks for each block, by as many threads as may exchange their accumulators.
    chunk = CHUNKS[0] // (RUN * LANES)
    part = chunk * -(-runs // (chunk * most))
    cluster = -(-runs // part)
    threads = min(MOST_THREADS, EXCHANGED // nbytes // LANES * LANES)
    each = min(1 << (-(-part * LANES // threads) - 1).bit_length(), chunk)
    always_valid = each * RUN if cluster * part * RUN * LANES == count else 0
    return Shape(LANES, LANES, 1, part // each, each, each * RUN, always_valid, False, 1, cluster)
