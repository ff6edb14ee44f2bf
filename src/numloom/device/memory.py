"""Blocks of device memory and the pool that keeps freed ones for the next allocation.

Ordinary Python, compiled with the types of ``memory.pxd``. A pool asks its backend for memory
(`raw_allocate`) only when no freed block of the same size class is left. Sizes are rounded up to
multiples of 256 bytes to 4 KiB, then to eight steps for each power of two, and from 32 MiB on to 64 steps: at most
an eighth is lost, of much memory a 64th. There a freed block of up to an eighth more is taken as well. From 1 MiB on a
larger freed block is cut where none fits, and is whole again when all of its parts are free. All methods
run under the interpreter's lock and never call Python code between reading and changing a list, so a buffer may die
in any thread at any time.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from numloom.base import uncompiled as cython
from numloom.base.config import config
from numloom.base.errors import OutOfMemoryError

_COARSE = 119
"""Class of 32 MiB, above which there are 64 of them for each power of two."""
_NEAR = 8
"""Classes above its own that a freed block of much memory may have."""
_CLASSES = _COARSE + 1 + 64 * 22
_MOST = 1 << 47
"""Bytes of the last class, more than any memory has."""
_FLOOR = 4
"""Zeros at the bottom of each list of freed blocks: one that runs empty gives its memory back at every turn."""
_SMALL, _ROOM, _SMALL_BYTES = 16, 16, 4096
"""Classes of blocks up to 4 KiB, how many freed blocks of each are kept as numbers of C, and these 4 KiB."""
_PART = -2
"""`Buffer.size_class` of a part of a block that was cut is this number less its class."""
_LEAST_PART = 1 << 13
_CUT = 1 << 20
"""Bytes from which memory may come from a part of a larger freed block, rather than from the backend."""
_AHEAD = 8
"""Before more is asked of the backend, freed blocks are given back until the pool is to hold at most this part of its
peak (an eighth), or 32 MiB, more than that. What it holds follows what is used, also where sizes change. On the host,
where new memory is slow, it may be twice the peak."""
_LEAST_AHEAD = 32 << 20
_WIDE = 320
"""Classes above its own in which memory is cut: 32 times its bytes and more."""
KEPT_SCRATCH = 16 << 20
"""Most bytes of scratch memory that a device keeps for the next launch."""
NOTHING_KEPT = 1
"""`Pool.cache_limit` of a pool that keeps no freed block; nor does its device keep scratch memory then."""
CAPTURED = 64 << 20
"""Most bytes of memory of its own that captured work has (`numloom.device.interface.Capture`)."""
POISON = 0xFB
"""Byte that `Pool.poison` fills memory with: in every dtype a large number, of bool none at all."""
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_poisons = config.poison


def _set_poison(value: bool) -> None:
    global _poisons
    _poisons = value


config.listen("poison", _set_poison)


@cython.no_gc
@cython.freelist(256)
@cython.cclass
class Buffer:
    """A block of device memory, given back to its pool when the last reference goes.

    Attributes
    ----------
    ptr : int
        Address; 256-byte aligned if it comes from a pool.
    nbytes : int
        Bytes asked for (the block may be larger).
    pool : Pool or None
        Where the block goes back to; None for foreign memory.
    owner : object
        Keeps foreign memory alive.
    debt : int
        Nanoseconds that work on it would have been done sooner where it does not lie (`engine.placement`).
    doubt : Doubt or None
        What kernels may have found wrong of what lies in it (`engine.doubts`).
    """

    def __init__(self, ptr: int, nbytes: int, pool: Pool | None = None, owner: Any = None) -> None:
        self.ptr = ptr
        self.nbytes = nbytes
        self.pool = pool
        self.owner = owner
        self.debt = 0
        self.doubt = None
        self.size_class = -1

    def __dealloc__(self) -> None:
        pool = self.pool
        if pool is not None:
            if self.size_class >= 0:
                pool._give_back(self.ptr, self.size_class)
            elif self.size_class <= _PART:
                pool._give_back_part(self.ptr, _PART - self.size_class)

    if not cython.compiled:
        __del__ = __dealloc__

    def __repr__(self) -> str:
        return f"<Buffer of {self.nbytes} bytes at {self.ptr:#x}>"


@cython.cclass
class Block:
    """A block of the backend that was cut.

    Attributes
    ----------
    ptr, size : int
        Address and bytes.
    size_class : int
        Its class, when it is whole.
    free : int
        Bytes that are in no buffer.
    parts : list of (int, int)
        Address and class of each part; what they leave at its end is too small to be one.
    """

    __slots__ = ("free", "parts", "ptr", "size", "size_class")

    ptr: int
    size: int
    size_class: int
    free: int
    parts: list[tuple[int, int]]

    def __init__(self, ptr: int, size_class: int) -> None:
        self.ptr = ptr
        self.size_class = size_class
        self.size = class_bytes(size_class)
        self.free = 0
        self.parts = [(ptr, size_class)]


class Pool:
    """Memory of one device (and stream), kept after it is freed.

    Parameters
    ----------
    name : str
        Device's name, for messages.
    raw_allocate : callable
        ``raw_allocate(nbytes)`` gives an address, 256-byte aligned; 0 or MemoryError where there
        is no memory.
    raw_free : callable
        ``raw_free(address, nbytes)``, with the same `nbytes`.
    limit : int
        Most bytes in use and cached together; 0 is no limit.
    cache_limit : int
        Freed blocks beyond this many bytes go back to the backend at once; 0 is no limit.
    error_at : int
        Where the host sees this memory, and finds in it what was launched before: address of the word in which
        kernels leave their errors. Else 0.

    Attributes
    ----------
    used, cached, peak : int
        Bytes in buffers, in freed blocks kept, and the most that were used at once.
    parted : int
        Bytes of blocks that were cut (`cut`), in buffers or not.
    asked : int
        Times that an allocation has called Python, so that another thread may have run meanwhile.
    held : callable or None
        Called before memory is asked of the backend: whoever holds launches back launches them now.
    recall : callable or None
        Called where there is no memory left: whoever keeps freed memory of this pool gives it back, and says whether
        there was any.
    poison : callable or None
        ``poison(address, nbytes)`` fills memory with the byte `POISON`, in turn with launches; called for each buffer
        under ``config.poison``, but while launches are held back, which may still use the memory.
    watcher : callable or None
        Told of what is allocated and freed, see `watch`.
    """

    def __init__(
        self,
        name: str,
        raw_allocate: Callable[[int], int],
        raw_free: Callable[[int, int], None],
        limit: int = 0,
        cache_limit: int = 0,
        error_at: int = 0,
    ) -> None:
        self.name = name
        self.raw_allocate = raw_allocate
        self.raw_free = raw_free
        self.limit = limit
        self.cache_limit = cache_limit
        self.error_at = error_at
        self.used = 0
        self.cached = 0
        self.peak = 0
        self.parted = 0
        self.asked = 0
        self.held: Callable[[], None] | None = None
        self.recall: Callable[[], bool] | None = None
        self.poison: Callable[[int, int], None] | None = None
        self.closed = False
        self.watcher: Callable[[str, int, int, int], None] | None = None
        self.aside = False  # Closed or watched: blocks that come back take the long way.
        if not cython.compiled:  # Arrays of C there.
            self._kept = [0] * (_SMALL * _ROOM)
            self._count = [0] * _SMALL
        self._free: list[list[int]] = [[0] * _FLOOR for _ in range(_CLASSES)]
        # Parts of blocks that were cut: whose they are, and by class those that are in no buffer.
        self._parts: dict[int, Block] = {}
        self._spare: dict[int, dict[int, Block]] = {}
        _pools.add(self)

    def allocate(self, nbytes: int) -> Buffer:
        """A buffer of at least `nbytes` bytes, contents undefined.

        Raises
        ------
        OutOfMemoryError
            If the backend has no memory left, also after every cached block was given back.
        """
        if 0 <= nbytes <= _SMALL_BYTES:
            size_class = class_of(nbytes)
            count = self._count[size_class]
            if count > 0:
                self._count[size_class] = count - 1
                self.cached -= class_bytes(size_class)
                return self._buffer(self._kept[size_class * _ROOM + count - 1], nbytes, size_class, False)
        return self._allocate_other(nbytes)

    def _allocate_other(self, nbytes: int) -> Buffer:
        """A buffer that is no freed block of little memory."""
        if nbytes < 0:
            raise ValueError(f"a buffer cannot have {nbytes} bytes")
        if nbytes > _MOST:
            raise OutOfMemoryError(self.name, nbytes, self.used, self.cached, self.limit)
        size_class = class_of(nbytes)
        part = False
        if self.watcher is not None:
            if self.held is not None:  # It may look at what waits for a launch.
                self.held()
            self.asked += 1
            self.watcher("malloc_before", nbytes, class_bytes(size_class), 0)
        blocks = self._free[size_class]
        if len(blocks) <= _FLOOR and size_class > _COARSE:
            size_class = self._near_class(size_class)
            blocks = self._free[size_class]
        if len(blocks) > _FLOOR:
            ptr = blocks.pop()
            self.cached -= class_bytes(size_class)
        else:
            self.asked += 1
            ptr = self._allocate_block(nbytes, size_class)
            if self.parted and ptr in self._parts:
                part = True
        buffer = self._buffer(ptr, nbytes, size_class, part)
        if self.watcher is not None:
            self.watcher("malloc_after", nbytes, class_bytes(size_class), ptr)
        return buffer

    def _buffer(self, ptr: int, nbytes: int, size_class: int, part: bool) -> Buffer:
        """A buffer over a block, or over a part of one, as ``Buffer(ptr, nbytes, self)``, which takes longer."""
        self.used += class_bytes(size_class)
        if self.used > self.peak:
            self.peak = self.used
        if _poisons and self.poison is not None and self.held is None:
            if cython.compiled and self.error_at != 0:  # The host's: no other thread runs meanwhile.
                memset(cython.cast("void*", ptr), POISON, class_bytes(size_class))  # type: ignore[name-defined]  # noqa: F821
            else:
                self.asked += 1
                self.poison(ptr, class_bytes(size_class))
        buffer = Buffer.__new__(Buffer)
        buffer.ptr = ptr
        buffer.nbytes = nbytes
        buffer.pool = self
        if not cython.compiled:
            buffer.owner = None
            buffer.debt = 0
            buffer.doubt = None
        buffer.size_class = _PART - size_class if part else size_class
        return buffer

    def _near_class(self, size_class: int) -> int:
        """The first class of few more bytes that has a freed block, or this one."""
        for larger in range(size_class + 1, size_class + _NEAR + 1):
            if larger < _CLASSES and len(self._free[larger]) > _FLOOR:
                return larger
        return size_class

    def _allocate_block(self, nbytes: int, size_class: int) -> int:
        """A spare part, or a new block from the backend; trims and tries once more where there is none."""
        size = class_bytes(size_class)
        ptr = self._take_part(size_class, size_class) if self.parted else 0
        if ptr == 0 and size >= _CUT and self.cached >= size:
            ptr = self._take_larger(size_class)
        if ptr == 0:
            if self.held is not None:
                self.held()
            most = max(self.peak, self.used + size)
            ahead = most if self.cache_limit else most // _AHEAD
            room = most + max(ahead, _LEAST_AHEAD) - self.used - size
            if self.cached > room:
                self.trim(room)
            ptr = self._try_raw(size)
        if ptr == 0:
            cached = self.cached
            self.trim()
            ptr = self._try_raw(size)
            if ptr == 0 and self.recall is not None and self.recall():
                self.trim()
                ptr = self._try_raw(size)
            if ptr == 0 and self.parted:
                ptr = self._take_part(size_class, _CLASSES - 1)
            if ptr == 0:
                raise OutOfMemoryError(self.name, nbytes, self.used, cached, self.limit)
        return ptr

    def _take_larger(self, size_class: int) -> int:
        """Memory of a class, from the smallest larger part or freed block, which is cut; 0 if there is none."""
        for larger in range(size_class + 1, min(size_class + _WIDE, _CLASSES)):
            if self.parted and self._spare.get(larger):
                return self._take_part(size_class, larger)
            blocks = self._free[larger]
            if len(blocks) > _FLOOR:
                ptr = blocks.pop()
                block = Block(ptr, larger)
                block.free = block.size
                self.parted += block.size
                self._parts[ptr] = block
                self._spare.setdefault(larger, {})[ptr] = block
                return self._take_part(size_class, larger)
        return 0

    def _take_part(self, size_class: int, last: int) -> int:
        """A spare part of a class, made from one of the first class up to `last` that has any; 0 if there is none."""
        for larger in range(size_class, last + 1):
            spare = self._spare.get(larger)
            if spare:
                ptr, block = spare.popitem()
                size = class_bytes(size_class)
                block.free -= size
                self.cached -= size
                if larger > size_class:
                    self._divide(block, ptr, larger, size_class)
                return ptr
        return 0

    def _divide(self, block: Block, ptr: int, size_class: int, front: int) -> None:
        """Make a part the first of several; the others are spare."""
        rest = class_bytes(size_class) - class_bytes(front)
        at = ptr + class_bytes(front)
        # Many small ones would tempt small arrays to live long in a large block.
        least = max(_LEAST_PART, block.size >> 6)
        pieces = []
        self._spare.setdefault(front, {})
        while rest >= least:
            number = class_of(rest)
            if class_bytes(number) > rest:
                number -= 1
            pieces.append((at, number))
            self._spare.setdefault(number, {})
            at += class_bytes(number)
            rest -= class_bytes(number)
        block.parts[block.parts.index((ptr, size_class))] = (ptr, front)
        block.parts.extend(pieces)
        self._parts[ptr] = block
        for at, number in pieces:
            self._parts[at] = block
            self._spare[number][at] = block

    def cut(self, buffer: Buffer, nbytes: int) -> None:
        """Keep the first `nbytes` bytes of a buffer; what is behind them can be allocated from now on.

        Only when all of its parts are free is the block whole again, and can be given back to the backend. So freed
        parts are kept even beyond `cache_limit`. Small blocks stay whole.
        """
        size_class = buffer.size_class
        if size_class == -1 or self.closed:
            return
        front = max(class_of(nbytes), _SMALL)
        part = size_class < 0
        if part:
            size_class = _PART - size_class
        freed = class_bytes(size_class) - class_bytes(front)
        if freed < _LEAST_PART:
            return
        ptr = buffer.ptr
        block = self._parts[ptr] if part else Block(ptr, size_class)
        if not part:
            self.parted += block.size
        self._divide(block, ptr, size_class, front)
        buffer.size_class = _PART - front
        buffer.nbytes = nbytes
        block.free += freed
        self.used -= freed
        self.cached += freed

    def _give_back_part(self, ptr: int, size_class: int) -> None:
        if self.aside:
            self._give_back_aside(ptr, size_class, True)
        else:
            self._spare_part(ptr, size_class)

    def _give_back_aside(self, ptr: int, size_class: int, part: bool) -> None:
        """Take a block back while somebody watches; nothing once this pool is closed."""
        if self.closed:
            return
        size = class_bytes(size_class)
        if self.watcher is not None:
            self.watcher("free_before", size, size, ptr)
        if part:
            self._spare_part(ptr, size_class)
        else:
            self.used -= size
            if self.cache_limit and self.cached + size > self.cache_limit:
                self._free_raw(ptr, size)
            else:
                self.cached += size
                self._keep(ptr, size_class)
        if self.watcher is not None:
            self.watcher("free_after", size, size, ptr)

    def _spare_part(self, ptr: int, size_class: int) -> None:
        size = class_bytes(size_class)
        block = self._parts[ptr]
        self.used -= size
        self.cached += size
        block.free += size
        self._spare[size_class][ptr] = block
        if block.free < block.size:
            return
        for at, number in block.parts:
            del self._spare[number][at]
            del self._parts[at]
        self.parted -= block.size
        self.cached -= block.size
        if self.cache_limit and self.cached + block.size > self.cache_limit:
            self.raw_free(block.ptr, block.size)
        else:
            self.cached += block.size
            self._free[block.size_class].append(block.ptr)

    def _try_raw(self, size: int) -> int:
        if self.limit and self.used + self.cached + size > self.limit:
            return 0
        try:
            return self.raw_allocate(size)
        except MemoryError:
            return 0

    def _give_back(self, ptr: int, size_class: int) -> None:
        if self.aside:
            self._give_back_aside(ptr, size_class, False)
            return
        size = class_bytes(size_class)
        self.used -= size
        if self.cache_limit and self.cached + size > self.cache_limit:
            self._free_raw(ptr, size)
            return
        self.cached += size
        if size_class < _SMALL:
            count = self._count[size_class]
            if count < _ROOM:
                self._kept[size_class * _ROOM + count] = ptr
                self._count[size_class] = count + 1
                return
        self._keep(ptr, size_class)

    def _free_raw(self, ptr: int, size: int) -> None:
        """Give a block to the backend."""
        self.raw_free(ptr, size)

    def _keep(self, ptr: int, size_class: int) -> None:
        """Keep a freed block among those of much memory, or of too many."""
        self._free[size_class].append(ptr)

    def trim(self, keep: int = 0) -> None:
        """Give cached blocks back to the backend, the largest first, until at most `keep` bytes are cached.

        Spare parts of blocks that are in use stay.
        """
        for size_class in range(_CLASSES - 1, -1, -1):
            size = class_bytes(size_class)
            if size_class < _SMALL:
                while self._count[size_class] > 0 and self.cached > keep:
                    self._count[size_class] -= 1
                    self.cached -= size
                    self.raw_free(self._kept[size_class * _ROOM + self._count[size_class]], size)
            blocks = self._free[size_class]
            while len(blocks) > _FLOOR and self.cached > keep:
                ptr = blocks.pop()
                self.cached -= size
                self.raw_free(ptr, size)

    def watch(self, watcher: Callable[[str, int, int, int], None] | None) -> None:
        """Have somebody told of each allocation and each block that comes back; None ends it.

        Parameters
        ----------
        watcher : callable or None
            ``watcher(what, nbytes, size, address)``, where `what` is "malloc_before" (address 0), "malloc_after",
            "free_before" or "free_after", `nbytes` what was asked for and `size` the block's bytes. A buffer may die
            anywhere, so what is told of frees must not raise.
        """
        if watcher is not None:  # Blocks kept as numbers are given without asking anybody.
            for size_class in range(_SMALL):
                while self._count[size_class] > 0:
                    self._count[size_class] -= 1
                    self._keep(self._kept[size_class * _ROOM + self._count[size_class]], size_class)
        self.watcher = watcher
        self.aside = self.closed or watcher is not None

    def free_blocks(self) -> int:
        """Number of blocks, and spare parts of blocks, that are cached."""
        blocks = sum([len(blocks) - _FLOOR for blocks in self._free]) + sum([self._count[k] for k in range(_SMALL)])
        return blocks + sum([len(spare) for spare in self._spare.values()])

    def reset_peak(self) -> None:
        """Start measuring `peak` anew."""
        self.peak = self.used

    def close(self) -> None:
        """Let go without freeing: the process ends, or the device is lost; buffers die silently from now on."""
        self.closed = True
        self.aside = True

    def __del__(self) -> None:
        if self._free and not self.closed:  # It has none where its making failed half way.
            self.trim()

    def __repr__(self) -> str:
        return f"<Pool of {self.name}: {self.used} bytes used, {self.cached} cached, {self.peak} at most>"


def class_of(nbytes: int) -> int:
    """Number of the smallest size class that holds `nbytes` bytes.

    >>> [class_of(n) for n in (0, 1, 256, 257, 4096, 4097, 32 << 20)]
    [0, 0, 0, 1, 15, 16, 119]
    """
    last = nbytes - 1
    if last < 4096:
        return last >> 8 if last >= 0 else 0
    if last < 32 << 20:
        shift = 9
        while last >> shift > 15:
            shift += 1
        return (shift - 8) * 8 + (last >> shift)
    shift = 19
    while last >> shift > 127:
        shift += 1
    return _COARSE + 1 + (shift - 20) * 64 + (last >> shift)


def class_bytes(size_class: int) -> int:
    """Bytes of the blocks of a size class.

    >>> [class_bytes(class_of(n)) for n in (1, 4096, 4097, 1_000_000, 400_000_000)]
    [256, 4096, 4608, 1048576, 402653184]
    """
    if size_class < 16:
        return (size_class + 1) << 8
    if size_class <= _COARSE:
        steps = (size_class & 7) + 9
        return steps << (size_class // 8 + 7)
    steps = size_class - _COARSE - 1
    return (65 + steps % 64) << (19 + steps // 64)


def own_pool(pool: Pool, most: int) -> Pool:
    """A pool with memory of another one, at most `most` bytes, which goes back there when this pool is dropped."""
    taken: list[Buffer] = []

    def take(nbytes: int) -> int:
        if nbytes + sum([buffer.nbytes for buffer in taken]) > most:
            return 0
        taken.append(pool.allocate(nbytes))
        return taken[-1].ptr

    return Pool(pool.name, take, lambda address, nbytes: None)


def _close_pools() -> None:
    """At exit memory is the system's business: freeing it could meet a driver that is already gone."""
    for pool in list(_pools):
        pool.close()


atexit.register(_close_pools)
