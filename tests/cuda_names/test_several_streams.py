"""Work of several streams: it runs on its own, overlaps, and waits for what it reads; on a GPU, else on a stand-in."""

from __future__ import annotations

import gc
import random
import threading

import numpy
import pytest

import numloom as np
from apart import stand_in
from numloom.device import registry
from numloom.device.registry import holder

GPU = registry.current().discrete
LARGE = 100_000
SPIN = np.RawKernel(
    r"""extern "C" __global__ void spin(long long cycles) {
        long long start = clock64();
        while (clock64() - start < cycles) { }
    }""",
    "spin",
)


@pytest.fixture(autouse=True)
def device():
    if GPU:
        yield registry.current()
    else:
        with stand_in() as made:
            yield made
    gc.collect()
    registry.count_devices()


def delay(milliseconds=2):
    """Keep the current stream busy, so that what does not wait for it comes too early."""
    if GPU:
        SPIN((1,), (1,), (numpy.int64(1_500_000 * milliseconds),))


def lies_on(array):
    np.evaluate(array)
    return holder(array.storage.value.buffer)


def test_recorded_work_of_a_stream_runs_on_it(device):
    host = numpy.arange(LARGE) + 0.5
    x = np.asarray(host)
    one, other = np.cuda.Stream(), np.cuda.Stream(non_blocking=True)
    with one:
        made, doubled = np.asarray(host), x * 2 + 1
        summed, ordered, picked = np.cumsum(x), np.sort(x[::-1]), x[x > 2]
    with other:
        crossed = doubled - made
        x += 1
    for array in (made, doubled, summed, ordered, picked):
        assert lies_on(array) is one.lane
    assert lies_on(crossed) is other.lane and lies_on(x) in (other.lane, device)
    for array, right in (
        (made, host), (doubled, host * 2 + 1), (summed, host.cumsum()), (ordered, host), (picked, host[host > 2]),
        (crossed, host + 1), (x, host + 1), (x + crossed + made, 3 * host + 2),
    ):  # fmt: skip
        numpy.testing.assert_allclose(array.get(), right, rtol=1e-12)
        assert array.device == x.device


def test_who_uses_the_memory_of_another_stream_waits_and_is_waited_for(device, monkeypatch):
    if GPU:
        pytest.skip("counts what the stand-in is asked for")
    x = np.asarray(numpy.arange(LARGE) + 0.5)
    np.evaluate(x)
    stream = np.cuda.Stream()
    with stream:
        np.evaluate(np.ones(LARGE) * 3)
        assert not device.followed
        np.evaluate(x * 2)
        assert device.followed == [(stream.lane, device), (device, stream.lane)]


@pytest.mark.parametrize("non_blocking", [False, True])
def test_memory_that_one_stream_frees_is_not_another_s_before_it_is_done(non_blocking):
    streams = [np.cuda.Stream(non_blocking=non_blocking) for _ in range(3)]
    hosts = [numpy.full(LARGE, k + 0.5) for k in range(6)]
    kept = []
    for turn in range(12):
        x = np.asarray(hosts[turn % 6])
        np.evaluate(x)
        with streams[turn % 3]:
            delay()
            kept.append((x * 2 + turn, hosts[turn % 6] * 2 + turn))
        del x  # Its memory is the default stream's: the next turn takes it while this stream may still read it.
        if turn == 6:
            np.cuda.get_current_stream().synchronize()
            np.get_default_memory_pool().free_all_blocks()
    for array, right in kept:
        numpy.testing.assert_array_equal(array.get(), right)


def test_streams_overlap():
    if not GPU:
        pytest.skip("needs a GPU")
    events = []
    for _ in range(2):  # The first turn compiles.
        np.cuda.Device().synchronize()
        events = []
        for stream in (np.cuda.Stream(non_blocking=True), np.cuda.Stream()):
            with stream:
                start, end = np.cuda.Event(), np.cuda.Event()
                start.record()
                delay(20)
                x = np.ones(1000, numpy.float32) * 3
                np.evaluate(x)
                end.record()
            events.append((start, end, x))
        np.cuda.Device().synchronize()
    (_, end, _), (start, *_) = events
    assert np.cuda.get_elapsed_time(start, end) > 5, "the second began when the first was done"


def test_streams_of_threads():
    host = numpy.arange(LARGE) + 0.5
    shared = np.asarray(host)
    found, right = {}, {k: (host * k + 1).cumsum() for k in range(4)}

    def work(k):
        with np.cuda.Stream(non_blocking=k % 2 == 0) as stream:
            for _ in range(5):
                delay(1)
                mine = np.cumsum(shared * k + 1)
                assert np.cuda.get_current_stream() is stream
            found[k] = mine.get()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        numpy.testing.assert_allclose(found[k], right[k], rtol=1e-12)


def test_kernels_of_users_run_on_the_stream_that_they_are_given():
    if not GPU:
        pytest.skip("the stand-in compiles no kernels of users")
    twice = np.RawKernel(
        'extern "C" __global__ void twice(double* x, int n) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }",
        "twice",
    )
    stream, other = np.cuda.Stream(non_blocking=True), np.cuda.Stream()
    x = np.asarray(numpy.arange(1000.0))
    with other:
        delay()
        x += 1
    twice((8,), (128,), (x, numpy.int32(1000)), stream=stream)
    with stream:
        delay()
        twice((8,), (128,), (x, numpy.int32(1000)))
    y = x + 1
    numpy.testing.assert_array_equal(y.get(), (numpy.arange(1000.0) + 1) * 4 + 1)


def test_a_stream_that_is_let_go_serves_again():
    stream = np.cuda.Stream(priority=-1)
    lane, handle = stream.lane, stream.ptr
    with stream:
        x = np.asarray(numpy.arange(5000.0)) + 1
    del stream
    gc.collect()
    again = np.cuda.Stream(priority=-1)
    assert again.lane is lane and again.ptr == handle
    numpy.testing.assert_array_equal(x.get(), numpy.arange(5000.0) + 1)
    assert np.cuda.Stream().lane is not lane


def test_memory_of_streams_is_the_device_s():
    pool = np.get_default_memory_pool()
    np.cuda.Device().synchronize()
    gc.collect()
    pool.free_all_blocks()
    before = pool.used_bytes()
    stream = np.cuda.Stream()
    with stream:
        x = np.asarray(numpy.ones(LARGE)) * 2
        np.evaluate(x)
    assert pool.used_bytes() >= before + x.nbytes
    del x
    gc.collect()
    pool.free_all_blocks()
    assert pool.used_bytes() <= before + (1 << 21)  # Scratch memory of the stream stays.


def test_compiled_functions_are_taped_beside_streams(device):
    """By the stream that has all that they take; else the long way, which knows whose memory that is."""
    function = np.compile(lambda a, b: np.sqrt(a * a + b) - (a * b).sum() * 1e-6)
    host = numpy.random.default_rng(0).random((2, LARGE))
    right = numpy.sqrt(host[0] * host[0] + host[1]) - (host[0] * host[1]).sum() * 1e-6
    streams = [np.cuda.Stream(non_blocking=True), np.cuda.Stream.null, np.cuda.Stream()]
    for stream in streams:
        with stream, np.config(unplanned=0, cuda_compile="wait"):
            a, b = np.asarray(host[0]) * 1, np.asarray(host[1]) * 1
            np.evaluate(a, b)
            for _ in range(8):
                found = function(a, b)
                numpy.testing.assert_allclose(found.get(), right, rtol=1e-12)
            here = registry.current()
            taped = function.ready.state.taped
            assert (taped is not None and taped.tape.device is here) or not GPU
            here.touched = False
            delay()
            found = function(a, b)
            assert lies_on(found) is here
            assert here.touched  # Who reads it on another stream waits.
        with streams[streams.index(stream) - 1]:
            numpy.testing.assert_allclose((found + function(a, b)).get(), 2 * right, rtol=1e-12)


MEAN = np.ElementwiseKernel("float64 a, float64 b", "float64 c", "c = (a + b) / 2", "mean")


def compiled_from(a, b):
    """A map, a product and a sum."""
    c = (a * b + 0.25)[:4096].reshape(64, 64)
    return a - (c @ c).sum() * 1e-7


def looped_from(a, b):
    """Some steps of a loop, each a map and a sum."""
    state = a
    for step in range(12):
        state = state * 0.5 + b[step] * 0.25 - state.mean() * 1e-3
    return state


def looped_by_scan(a, b):
    return np.scan(lambda s, row: (s * 0.5 + row * 0.25 - s.mean() * 1e-3, row), a, b[:12])[0]


compiled, looped = np.compile(compiled_from), np.compile(looped_by_scan)
STEPS = {
    "map": lambda np, a, b: a * 1.5 - b,
    "sum": lambda np, a, b: a + b.sum() * 1e-6,
    "sort": lambda np, a, b: np.sort(a)[::-1],
    "cumsum": lambda np, a, b: np.cumsum(b) * 1e-5,
    "where": lambda np, a, b: np.where(a > b, a, b),
    "product": lambda np, a, b: (a[:4096].reshape(64, 64) @ b[:4096].reshape(64, 64)).reshape(-1).repeat(2) * 1e-3,
    "take": lambda np, a, b: a[np.arange(len(a)) % 97],
    "join": lambda np, a, b: np.concatenate([a[100:], b[:100]]),
    "roll": lambda np, a, b: np.roll(a, 7),
    "compiled": lambda np, a, b: (compiled_from if np is numpy else compiled)(a, b),
    "loop": lambda np, a, b: (looped_from if np is numpy else looped)(a, b),
    "kernel": lambda np, a, b: MEAN(a, b) if np is not numpy and GPU else (a + b) / 2,
}


def changed(library, kind, a, b):
    """Change an array in place."""
    if kind == 0:
        a += b * 0.5
    elif kind == 1:
        a[10:100] = b[:90]
    elif kind == 2:
        a[library.arange(20) * 3] = 1.25
    elif kind == 3:
        a[:] = b
    else:
        library.multiply(a, 0.5, out=a)


def program(seed):
    """A random program on arrays, each step on a random stream that is kept busy at times, beside NumPy's."""
    choose = random.Random(seed)
    size = 8192
    streams = [np.cuda.Stream(non_blocking=k % 2 == 0) for k in range(3)] + [np.cuda.Stream.null]
    host = [numpy.random.default_rng(seed + k).random(size) for k in range(4)]
    ours = [np.asarray(a) for a in host]
    for _ in range(60):
        i, j, k = (choose.randrange(4) for _ in range(3))
        with choose.choice(streams):
            if choose.random() < 0.3:
                delay(1)
            what = choose.random()
            if what < 0.55:
                step = STEPS[choose.choice(sorted(STEPS))]
                host[k], ours[k] = step(numpy, host[i], host[j]), step(np, ours[i], ours[j])
            elif what < 0.8 and i != j:
                kind = choose.randrange(5)
                changed(numpy, kind, host[i], host[j])
                changed(np, kind, ours[i], ours[j])
            elif what < 0.88:
                np.evaluate(ours[i])
            elif what < 0.94:
                assert float(ours[i][5]) == pytest.approx(host[i][5], rel=1e-9, abs=1e-12)
            else:
                host[i], ours[i] = host[j].copy(), np.asarray(host[j].copy())
    for a, b in zip(ours, host, strict=True):
        numpy.testing.assert_allclose(a.get(), b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_programs_that_change_streams_at_any_moment(seed):
    program(seed)
