"""The pool, over a raw allocator that only counts."""

import gc
import itertools
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numloom.base.errors import OutOfMemoryError
from numloom.device.memory import Buffer, Pool, class_bytes, class_of
from numloom.device.null.backend import NullDevice


class Raw:
    """An allocator of addresses, with so much memory."""

    def __init__(self, total=1 << 40, error=False):
        self.left = total
        self.blocks = {}
        self.next = 256
        self.calls = 0
        self.error = error

    def allocate(self, nbytes):
        self.calls += 1
        if nbytes > self.left:
            if self.error:
                raise MemoryError
            return 0
        self.left -= nbytes
        address = self.next
        self.next += (nbytes + 255) // 256 * 256
        self.blocks[address] = nbytes
        return address

    @property
    def held(self):
        return sum(self.blocks.values())

    def free(self, address, nbytes):
        assert self.blocks.pop(address) == nbytes
        self.left += nbytes


def make(total=1 << 40, error=False, **named):
    raw = Raw(total, error)
    return raw, Pool("test", raw.allocate, raw.free, **named)


def test_size_classes():
    sizes = [class_bytes(number) for number in range(1528)]
    assert sizes == sorted(set(sizes)) and sizes[0] == 256 and sizes[-1] == 1 << 47
    assert all(size % 256 == 0 for size in sizes)
    samples = [size + change for size in sizes[:-1] for change in (-1, 0, 1)]
    for nbytes in samples:
        number = class_of(nbytes)
        assert class_bytes(number) >= nbytes
        assert number == 0 or class_bytes(number - 1) < nbytes
        assert nbytes < 4096 or class_bytes(number) <= nbytes * (1.13 if nbytes <= 32 << 20 else 1.016)


def test_much_memory_is_used_again_for_somewhat_less():
    _, pool = make()
    first = pool.allocate(400_000_000)
    address, nbytes = first.ptr, class_bytes(class_of(400_000_000))
    del first
    again = pool.allocate(370_000_000)
    assert again.ptr == address and pool.used == nbytes and pool.cached == 0
    other = pool.allocate(370_000_000)
    assert other.ptr != address and pool.used == nbytes + class_bytes(class_of(370_000_000))
    del again
    assert pool.cached == nbytes
    less = pool.allocate(300_000_000)
    front = class_bytes(class_of(300_000_000))
    assert less.ptr == address and nbytes - 2 * front // 64 - front < pool.cached <= nbytes - front, (
        "the rest is cut off"
    )


def test_larger_blocks_are_cut_and_whole_again():
    raw, pool = make()
    block = pool.allocate(64 << 20)
    address = block.ptr
    del block
    parts = [pool.allocate(size << 20) for size in (10, 20, 30)]
    assert raw.calls == 1 and pool.parted == 64 << 20
    assert sorted(parts, key=lambda part: part.ptr)[0].ptr == address
    del parts
    assert pool.parted == 0 and (pool.used, pool.cached) == (0, 64 << 20)
    assert pool.allocate(64 << 20).ptr == address and raw.calls == 1
    small = pool.allocate(1 << 19)
    assert raw.calls == 2 and not address <= small.ptr < address + (64 << 20), "little memory does not hold a block"


@pytest.mark.parametrize(("named", "most"), [({}, 1.3), ({"cache_limit": 1 << 40}, 2.05)], ids=["device", "host"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_held_follows_what_is_used(seed, named, most):
    """Sizes that change all the time: blocks never meet, nothing is lost, and the pool stays near its peak."""
    rng = random.Random(seed)
    raw, pool = make(**named)
    live = {}
    for _ in range(4000):
        if live and rng.random() < 0.5 - 0.2 * (len(live) < 20):
            del live[rng.choice(list(live))]
        else:
            buffer = pool.allocate(int(2 ** rng.uniform(8, 28)))
            live[buffer.ptr] = buffer
        assert pool.used + pool.cached == raw.held
    ends = sorted((buffer.ptr, buffer.ptr + buffer.nbytes) for buffer in live.values())
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ends))
    assert raw.held <= most * pool.peak
    buffer = None
    live.clear()
    assert pool.used == pool.parted == 0
    pool.trim()
    assert raw.held == pool.cached == 0


@pytest.mark.parametrize("nbytes", [(1 << 47) + 1, 1 << 60, (1 << 63) - 1])
def test_more_than_any_memory_has(nbytes):
    with pytest.raises(OutOfMemoryError):
        make()[1].allocate(nbytes)


def test_a_freed_block_is_used_again():
    raw, pool = make()
    first = pool.allocate(1000)
    assert (first.nbytes, first.ptr % 256, pool.used, pool.cached) == (1000, 0, 1024, 0)
    address = first.ptr
    del first
    assert (pool.used, pool.cached, pool.peak) == (0, 1024, 1024)
    second = pool.allocate(900)
    assert second.ptr == address and raw.calls == 1
    third = pool.allocate(900)
    assert third.ptr != address and raw.calls == 2
    assert (pool.used, pool.cached, pool.peak) == (2048, 0, 2048)


def test_empty_buffers_have_an_address():
    _, pool = make()
    assert pool.allocate(0).ptr
    with pytest.raises(ValueError):
        pool.allocate(-1)


def test_trim():
    raw, pool = make()
    kept = pool.allocate(5000)
    del kept
    buffers = [pool.allocate(1000 * number) for number in range(1, 10)]
    live = buffers[0]
    del buffers
    pool.trim(10_000)
    assert 0 < pool.cached <= 10_000
    pool.trim()
    assert pool.cached == 0 and list(raw.blocks) == [live.ptr]


@pytest.mark.parametrize("error", [False, True])
def test_out_of_memory_trims_and_tries_once_more(error):
    _, pool = make(10_240, error)
    for nbytes in (1024, 2048, 4096):
        pool.allocate(nbytes)
    assert pool.cached == 7168
    big = pool.allocate(8192)
    assert pool.used == 8192 and pool.cached == 0
    with pytest.raises(OutOfMemoryError) as caught:
        pool.allocate(4000)
    assert isinstance(caught.value, MemoryError)
    assert (caught.value.asked, caught.value.used, caught.value.cached) == (4000, 8192, 0)
    assert "3.9 KiB" in str(caught.value) and "8.0 KiB in use" in str(caught.value) and "test" in str(caught.value)
    del big
    assert pool.allocate(4000).nbytes == 4000


def test_limit():
    _, pool = make(limit=4096)
    held = pool.allocate(2048)
    pool.allocate(2048)
    assert pool.allocate(1024).nbytes == 1024  # in place of the cached block
    with pytest.raises(OutOfMemoryError, match=r"limit 4\.0 KiB"):
        pool.allocate(4096)
    del held


def test_cache_limit():
    raw, pool = make(cache_limit=2048)
    buffers = [pool.allocate(1024) for _ in range(5)]
    del buffers
    assert pool.cached == 2048 and len(raw.blocks) == 2


def test_foreign_memory_keeps_its_owner():
    owner = object()
    count = sys.getrefcount(owner)
    buffer = Buffer(4096, 10, None, owner)
    assert sys.getrefcount(owner) == count + 1 and buffer.owner is owner and buffer.pool is None
    del buffer
    assert sys.getrefcount(owner) == count


def test_a_closed_pool_frees_nothing():
    raw, pool = make()
    buffer = pool.allocate(10)
    pool.close()
    del buffer
    assert len(raw.blocks) == 1


def test_a_pool_lives_as_long_as_its_buffers():
    raw, pool = make()
    buffer = pool.allocate(10)
    pool.allocate(10)
    del pool
    gc.collect()
    assert len(raw.blocks) == 2
    del buffer
    gc.collect()
    assert raw.blocks == {}


def test_random_use_adds_up():
    raw, pool = make(1 << 20)
    rng = random.Random(1)
    live = []
    for _ in range(3000):
        if live and rng.random() < 0.5:
            live.pop(rng.randrange(len(live)))
        else:
            try:
                live.append(pool.allocate(rng.randrange(1 << rng.randrange(18))))
            except OutOfMemoryError:
                live.clear()
        assert pool.used == sum(class_bytes(class_of(buffer.nbytes)) for buffer in live)
        assert pool.used + pool.cached == sum(raw.blocks.values()) <= 1 << 20
        assert len({buffer.ptr for buffer in live}) == len(live)
    assert pool.peak >= pool.used
    pool.reset_peak()
    assert pool.peak == pool.used


def test_a_cut_block_is_whole_again_when_all_parts_are_free():
    raw, pool = make()
    held = pool.allocate(1 << 20)
    first, size = held.ptr, 1 << 20
    pool.cut(held, 400_000)
    front = class_bytes(class_of(400_000))
    assert (held.ptr, held.nbytes, pool.used, pool.cached) == (first, 400_000, front, size - front)
    assert (pool.peak, pool.parted) == (size, size)
    tail = pool.allocate(580_000)
    assert raw.calls == 1 and first + front <= tail.ptr and tail.ptr + tail.nbytes <= first + size
    pool.cut(tail, 400_000)
    pool.trim()
    assert list(raw.blocks) == [first]
    del held
    assert pool.parted == size and pool.allocate(1 << 20).ptr != first
    del tail
    assert (pool.parted, pool.used) == (0, 0)
    assert pool.allocate(1 << 20).ptr == first
    pool.trim()
    assert not raw.blocks


def test_small_blocks_stay_whole():
    _, pool = make()
    for nbytes, left in ((100, 1), (9000, 1), (1 << 20, 1_048_000), (1 << 20, 1 << 20)):
        buffer = pool.allocate(nbytes)
        used = pool.used
        pool.cut(buffer, left)
        assert (pool.used, pool.parted) == (used, 0)
        del buffer


def test_spare_parts_are_the_last_resort():
    _, pool = make(1 << 20)
    held = pool.allocate(1 << 20)
    pool.cut(held, 300_000)
    small = [pool.allocate(20_000) for _ in range(25)]
    assert pool.used == class_bytes(class_of(300_000)) + 25 * class_bytes(class_of(20_000))
    with pytest.raises(OutOfMemoryError):
        pool.allocate(700_000)
    del held, small
    assert pool.allocate(1 << 20).ptr


def test_parts_stay_beyond_the_cache_limit():
    raw, pool = make(cache_limit=4096)
    held = pool.allocate(1 << 20)
    pool.cut(held, 1 << 19)
    tail = pool.allocate(1 << 19)
    del held
    assert len(raw.blocks) == 1 and pool.cached == 1 << 19
    del tail
    assert (len(raw.blocks), pool.cached, pool.used, pool.parted) == (0, 0, 0, 0)


@given(
    seed=st.integers(0, 1 << 30),
    total=st.sampled_from([1 << 40, 3 << 20]),
    named=st.sampled_from([{}, {"cache_limit": 1 << 19}, {"limit": 2 << 20}]),
)
@settings(max_examples=25, deadline=None)
def test_cuts_add_up(seed, total, named):
    raw, pool = make(total, **named)
    rng = random.Random(seed)
    live = []
    for _ in range(120):
        what = rng.random()
        buffer = None
        before = pool.used
        if live and what < 0.35:
            live.pop(rng.randrange(len(live)))
        elif live and what < 0.6:
            buffer = rng.choice(live)
            old, asked = buffer.nbytes, int(buffer.nbytes * rng.random())
            pool.cut(buffer, asked)
            assert buffer.nbytes == (asked if pool.used < before else old)
            buffer = None
        elif what < 0.62:
            pool.trim(rng.choice([0, 1 << 18]))
        else:
            try:
                live.append(pool.allocate(rng.randrange(1 << rng.randrange(10, 21))))
                assert pool.peak >= pool.used > before
            except OutOfMemoryError:
                live.clear()
        assert pool.used + pool.cached == sum(raw.blocks.values()) <= total
        assert not named.get("limit") or pool.used + pool.cached <= named["limit"]
        spans = sorted((buffer.ptr, buffer.ptr + buffer.nbytes) for buffer in live)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
        blocks = sorted(raw.blocks.items())
        assert all(any(at <= begin and end <= at + size for at, size in blocks) for begin, end in spans)
        assert all(begin % 256 == 0 for begin, _ in spans) and 0 <= pool.parted <= sum(raw.blocks.values())
    live.clear()
    assert (pool.used, pool.parted) == (0, 0)
    pool.trim()
    assert (pool.cached, raw.blocks) == (0, {})


def test_nothing_is_freed_at_exit():
    program = """
from numloom.device.memory import Pool
def free(address, nbytes):
    print("freed")
pool = Pool("test", lambda nbytes: 256, free, cache_limit=1)
buffer = pool.allocate(10)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_blocks_of_the_null_device_lie_apart():
    """Parts of blocks are known by their addresses, which overlapped: freeing one raised where nobody hears it."""
    pool = NullDevice().pool
    sizes = [1, 1 << 20, 5 << 20, 3 << 20, 1 << 21, 0, 7 << 20]
    held = [(buffer.ptr, buffer.ptr + buffer.nbytes, buffer) for buffer in map(pool.allocate, sizes)]
    for (_, end, _), (begin, _, _) in itertools.pairwise(sorted(held, key=lambda each: each[0])):
        assert end <= begin
