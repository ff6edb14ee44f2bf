"""The way over NCCL, with a stand-in for NCCL that works on the host's memory: which memory it is given, and when."""

from __future__ import annotations

import ctypes
import queue
import threading
import types

import ml_dtypes
import numpy
import pytest

import numloom as np
from numloom.cuda import devices, nccl
from numloom.distributed import GroupError, device, group

COUNT = 3
TYPES = {0: "i1", 1: "u1", 2: "i4", 3: "u4", 4: "i8", 5: "u8", 6: "f2", 7: "f4", 8: "f8", 9: ml_dtypes.bfloat16}


class Failure(Exception):
    def __init__(self, status):
        self.status = status


class Standin:
    """NCCL's functions for threads, done at once."""

    NCCLError = Failure

    def __init__(self, count):
        self.count = count
        self.barrier = threading.Barrier(count, timeout=30)
        self.slots = [None] * count
        self.ways = {(a, b): queue.Queue() for a in range(count) for b in range(count)}
        self.local = threading.local()
        self.fails = set()

    Config = Comm = staticmethod(lambda *given: types.SimpleNamespace(ptr=0, blocking=1))
    get_version = staticmethod(lambda: 22800)
    get_last_error = staticmethod(lambda comm: "the stand-in's words")
    comm_get_async_error = comm_finalize = comm_destroy = comm_abort = staticmethod(lambda comm: 0)

    def get_unique_id(self):
        return bytes(range(128))

    def comm_init_rank_scalable(self, ndev, rank, parts, name, config):
        assert (ndev, parts, bytes(name)) == (self.count, 1, bytes(range(128)))
        return rank

    def together(self, comm, address, count, datatype):
        """What each gives, as arrays."""
        if "call" in self.fails:
            raise Failure(3)
        kind = numpy.dtype(TYPES[datatype])
        self.slots[comm] = numpy.frombuffer(ctypes.string_at(address, count * kind.itemsize), kind)
        self.barrier.wait()
        found = list(self.slots)
        self.barrier.wait()
        return found

    @staticmethod
    def put(address, values):
        data = values.tobytes()
        ctypes.memmove(address, data, len(data))

    @staticmethod
    def reduced(rows, op):
        result = rows[0].copy()
        for row in rows[1:]:
            result = (numpy.add, numpy.multiply, numpy.maximum, numpy.minimum, numpy.add)[op](result, row)
        return result / len(rows) if op == 4 else result

    def all_reduce(self, source, target, count, datatype, op, comm, stream):
        rows = self.together(comm, source, count, datatype)
        self.put(target, self.reduced(rows, op).astype(rows[0].dtype))

    def reduce(self, source, target, count, datatype, op, root, comm, stream):
        rows = self.together(comm, source, count, datatype)
        if comm == root:
            self.put(target, self.reduced(rows, op).astype(rows[0].dtype))

    def broadcast(self, source, target, count, datatype, root, comm, stream):
        self.put(target, self.together(comm, source, count, datatype)[root])

    def reduce_scatter(self, source, target, count, datatype, op, comm, stream):
        rows = self.together(comm, source, count * self.count, datatype)
        whole = self.reduced(rows, op).astype(rows[0].dtype)
        self.put(target, whole[comm * count : (comm + 1) * count])

    def all_gather(self, source, target, count, datatype, comm, stream):
        self.put(target, numpy.concatenate(self.together(comm, source, count, datatype)))

    def group_start(self):
        self.local.calls = []

    def group_end(self):
        calls, self.local.calls = self.local.calls, None
        for call in sorted(calls, key=lambda call: call[0] == "recv"):
            self.move(*call)

    def move(self, what, address, nbytes, peer, comm):
        if what == "send":
            self.ways[comm, peer].put(ctypes.string_at(address, nbytes))
        else:
            data = self.ways[peer, comm].get(timeout=30)
            assert len(data) == nbytes
            ctypes.memmove(address, data, nbytes)

    def send(self, address, count, datatype, peer, comm, stream):
        assert TYPES[datatype] == "u1"
        self.local.calls.append(("send", address, count, peer, comm))

    def recv(self, address, count, datatype, peer, comm, stream):
        self.local.calls.append(("recv", address, count, peer, comm))


@pytest.fixture
def standin(monkeypatch, tmp_path):
    if devices.on_gpu():
        pytest.skip("a GPU has NCCL itself")
    found = Standin(COUNT)
    monkeypatch.setattr(nccl, "bindings", lambda: found)
    monkeypatch.setattr(nccl, "on_gpu", lambda: True)
    monkeypatch.setattr(group, "on_gpu", lambda: True)
    monkeypatch.setattr(device, "driver", types.SimpleNamespace(call=lambda *given, **more: None, enter=lambda: True))
    return found


def run(tmp_path, work, timeout=30):
    found = [None] * COUNT

    def one(rank):
        try:
            with np.distributed.init_process_group(COUNT, rank, file=tmp_path / "place", timeout=timeout) as group:
                assert group.backend == "nccl"
                found[rank] = work(group)
        except BaseException as error:
            found[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def raised(found):
    for one in found:
        if isinstance(one, BaseException):
            raise one


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "f2", "c8", "c16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(4, 3), (), (0,), (7,)])
def test_functions(standin, tmp_path, dtype, shape):
    rows = numpy.random.default_rng(3).integers(1, 5, (COUNT, *shape)).astype(dtype)
    total = rows[0] + rows[1] + rows[2]

    def work(group):
        rank, same = group.rank, numpy.testing.assert_array_equal
        a = np.asarray(rows[rank])
        for _ in range(2):
            same(group.all_reduce(a).get(), total)
            if numpy.dtype(dtype).kind != "c":
                same(group.all_reduce(a, op="max").get(), rows.max(axis=0))
                same(group.all_reduce(a, op="prod").get(), rows[0] * rows[1] * rows[2])
            found = group.reduce(a, root=2)
            assert (found is None) == (rank != 2)
            if found is not None:
                same(found.get(), total)
            same(group.all_gather(a).get(), rows)
            gathered = group.gather(a, root=1)
            if gathered is not None:
                same(gathered.get(), rows)
            out = np.zeros(shape, dtype)
            group.scatter(np.asarray(rows) if rank == 0 else None, out)
            same(out.get(), rows[rank])
            told = a + np.asarray(0, dtype)
            group.broadcast(told, root=1)
            same(told.get(), rows[1])
            whole = np.asarray(rows)
            same(group.all_to_all(whole).get(), numpy.stack([rows[rank]] * COUNT))
            group.all_to_all(whole, whole)  # In place: apart, and copied.
            same(whole.get(), numpy.stack([rows[rank]] * COUNT))
            same(group.reduce_scatter(np.asarray(rows)).get(), rows[rank] + rows[rank] + rows[rank])
            if rank == 0:
                group.send(a, 2)
            elif rank == 2:
                same(group.recv(out, 0).get(), rows[0])
            if rank < 2:
                group.send_recv(a, out, 1 - rank)
                same(out.get(), rows[1 - rank])
            same(a.get(), rows[rank])

    raised(run(tmp_path, work))


def test_memory_that_is_shared_and_strided(standin, tmp_path):
    def work(group):
        rank, same = group.rank, numpy.testing.assert_array_equal
        x = np.arange(6.0) * (rank + 1)
        before = x + 1
        group.all_reduce(x, x)
        after = x * 2
        same(before.get(), numpy.arange(6.0) * (rank + 1) + 1)
        same(after.get(), numpy.arange(6.0) * 12)
        grid = np.zeros((4, 6))
        group.all_reduce(np.ones((4, 6))[:, ::-2], grid[:, ::2])
        same(grid.get()[:, ::2], numpy.full((4, 3), 3.0))
        assert not grid.get()[:, 1::2].any()
        line = np.arange(8.0) + rank
        group.all_reduce(line[:4], line[2:6])  # They overlap.
        same(line.get(), [rank, 1 + rank, 3, 6, 9, 12, 6 + rank, 7 + rank])
        rows = np.zeros((COUNT, 2))
        rows[rank] = rank + 1
        group.all_gather(rows[rank], rows)
        same(rows.get(), [[1, 1], [2, 2], [3, 3]])
        column = np.arange(9.0).reshape(3, 3) * (rank + 1)
        group.broadcast(column[:, 1], root=2)
        same(column.get()[:, 1], [3, 12, 21])
        same(column.get()[:, 0], numpy.array([0, 3, 6]) * (rank + 1))
        lazy = np.asarray(x)
        copied = x.copy()
        group.broadcast(x, root=0)
        same(copied.get(), lazy.get())
        with pytest.raises(TypeError, match="NCCL has no sum of int16"):
            group.all_reduce(np.zeros(2, np.int16))

    raised(run(tmp_path, work))


def test_what_fails_is_named(standin, tmp_path):
    def work(group):
        group.all_reduce(np.ones(2))
        group.barrier()
        standin.fails.add("call")
        with pytest.raises(GroupError, match="INTERNAL_ERROR: the stand-in's words"):
            group.all_reduce(np.ones(2))
        with pytest.raises(GroupError, match="make a new one"):
            group.all_reduce(np.ones(2))

    raised(run(tmp_path, work))
    with pytest.raises(nccl.NcclError, match="without groupStart") as caught:
        nccl.groupEnd()
    assert caught.value.status == 5
    with pytest.raises(ValueError, match="128 numbers"):
        nccl.NcclCommunicator(1, (1, 2), 0)
    with pytest.raises(ValueError, match="none of the 2 processes"):
        nccl.NcclCommunicator(2, range(128), 2)


def test_without_nccl_it_says_so():
    if nccl.missing() is None:
        pytest.skip("NCCL is there")
    assert np.cuda.nccl.available is False
    with pytest.raises((np.DeviceError, np.MissingDependencyError), match="NCCL"):
        np.distributed.init_process_group(1, 0, port=0, backend="nccl")
