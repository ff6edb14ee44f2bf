"""Functions of a group beside NumPy's, its mistakes, and processes that end."""

from __future__ import annotations

import json
import os
import pickle
import socket
import threading
import time

import numpy
import pytest

import numloom as np
from numloom.cupyx import distributed as theirs
from numloom.distributed import GroupError, GroupTimeoutError

COUNT = 3
SHAPES = ((5,), (4, 3), (), (0,), (1,), (2, 0, 3))


def numbers(rank, shape, dtype):
    if numpy.dtype(dtype).kind == "c":
        return (numbers(rank, shape, "f8") + 1j * numbers(rank + 7, shape, "f8")).astype(dtype)
    return numpy.random.default_rng(rank).integers(0, 7, shape).astype(dtype)


def raised(found):
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "i8", "f2", "c8", "i2"])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "avg"])
def test_reductions(together, dtype, op):
    if (dtype[0] == "c" and op in ("max", "min")) or (dtype[0] in "iu" and op == "avg"):
        found = together(1, lambda group: group.all_reduce(np.ones(2, dtype), op=op))
        assert isinstance(found[0], TypeError) and "convert the array" in str(found[0])
        return
    function = {"sum": numpy.add, "avg": numpy.add, "prod": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}[
        op
    ]

    def work(group):
        for shape in SHAPES:
            parts = [numbers(rank, shape, dtype) for rank in range(COUNT)]
            wanted = parts[0]
            for part in parts[1:]:
                wanted = function(wanted, part)
            if op == "avg":
                wanted = (wanted / COUNT).astype(dtype)
            a = np.asarray(parts[group.rank])
            for again in range(2):  # The same call again, with other numbers.
                found = group.all_reduce(a, op=op)
                numpy.testing.assert_array_equal(found.get(), wanted)
                assert found.dtype == a.dtype and found.shape == a.shape
                found = group.reduce(a, root=1, op=op)
                assert (found is None) == (group.rank != 1)
                if found is not None:
                    numpy.testing.assert_array_equal(found.get(), wanted)
                if again:
                    break
                a = np.asarray(parts[group.rank]) if op == "prod" else a * 1
            numpy.testing.assert_array_equal(a.get(), parts[group.rank])

    raised(together(COUNT, work))


def test_results_go_where_they_are_wanted(together):
    def work(group):
        mine = np.arange(6.0).reshape(2, 3) + group.rank
        total = 3 * numpy.arange(6.0).reshape(2, 3) + 3
        out = np.zeros((2, 6))
        part = out[:, ::2]
        before = part * 1 + 7
        assert group.all_reduce(mine.T.copy().T, part) is part  # Strides of all kinds, and a view.
        numpy.testing.assert_array_equal(out.get()[:, ::2], total)
        assert not out.get()[:, 1::2].any()
        assert (before.get() == 7).all()  # What was recorded before reads what was there before.
        doubled = mine * 2
        group.all_reduce(mine, mine)
        numpy.testing.assert_array_equal(mine.get(), total)
        numpy.testing.assert_array_equal(doubled.get(), 2 * (numpy.arange(6.0).reshape(2, 3) + group.rank))
        backwards = np.arange(4.0)[::-1]
        numpy.testing.assert_array_equal(group.all_reduce(backwards).get(), 3 * numpy.arange(4.0)[::-1])
        numpy.testing.assert_array_equal(
            group.all_reduce(np.broadcast_to(np.float32(2), (3, 2))).get(), 6 * numpy.ones((3, 2))
        )
        assert group.all_reduce([1, 2]).tolist() == [3, 6]
        nan = group.all_reduce(np.array([np.nan, np.inf, -np.inf]) if group.rank else np.zeros(3)).get()
        numpy.testing.assert_array_equal(nan, [numpy.nan, numpy.inf, -numpy.inf])

    raised(together(COUNT, work))


@pytest.mark.parametrize("dtype", ["f4", "?", "c16", "i2"])
def test_moves(together, dtype):
    rows = numpy.stack([numbers(rank, (2, 3), dtype) for rank in range(COUNT)])

    def work(group):
        rank = group.rank
        mine = np.asarray(rows[rank])
        numpy.testing.assert_array_equal(group.all_gather(mine).get(), rows)
        out = np.zeros((COUNT, 2, 3), dtype)
        assert group.all_gather(mine, out, mine.size) is out
        numpy.testing.assert_array_equal(out.get(), rows)
        gathered = group.gather(mine, root=2)
        assert (gathered is None) == (rank != 2)
        if gathered is not None:
            numpy.testing.assert_array_equal(gathered.get(), rows)
        small = np.zeros((2, 3), dtype)
        group.scatter(np.asarray(rows) if rank == 0 else None, small, root=0)
        numpy.testing.assert_array_equal(small.get(), rows[rank])
        every = group.all_to_all(np.asarray(rows[::-1].copy()) if rank else np.asarray(rows))
        wanted = [(rows if peer == 0 else rows[::-1])[rank] for peer in range(COUNT)]
        numpy.testing.assert_array_equal(every.get(), wanted)
        told = np.asarray(rows[rank].copy())
        later = told[0] if rank == 1 else None
        assert group.broadcast(told, root=1) is told
        numpy.testing.assert_array_equal(told.get(), rows[1])
        assert later is None or (later.get() == rows[1][0]).all()
        after, before = (rank + 1) % COUNT, (rank - 1) % COUNT
        if rank % 2 == 0:
            group.send(mine, after)
            group.recv(small, before)
        else:
            group.recv(small, before)
            group.send(mine, after)
        numpy.testing.assert_array_equal(small.get(), rows[before])
        if rank < 2:
            group.send_recv(mine, small, 1 - rank)
            numpy.testing.assert_array_equal(small.get(), rows[1 - rank])
        group.barrier()

    raised(together(COUNT, work))


def test_sums_of_parts(together):
    rows = [numbers(rank, (COUNT, 4), "f8") for rank in range(COUNT)]

    def work(group):
        found = group.reduce_scatter(np.asarray(rows[group.rank]))
        numpy.testing.assert_array_equal(found.get(), sum(rows)[group.rank])
        out = np.empty(4)
        group.reduce_scatter(np.asarray(rows[group.rank]).reshape(-1), out, 4, op="max")
        numpy.testing.assert_array_equal(out.get(), numpy.maximum.reduce(rows)[group.rank])
        with pytest.raises(ValueError, match="a multiple of 3"):
            group.reduce_scatter(np.arange(4))

    raised(together(COUNT, work))


def test_much_goes_both_ways_at_once(together):
    """More than the connections hold: who only sent would wait for ever."""

    def work(group):
        mine = np.full(3_000_000, group.rank + 1.0, np.float32)
        out = np.empty_like(mine)
        group.send_recv(mine, out, 1 - group.rank)
        assert float(out.sum()) == 3_000_000 * (2 - group.rank)
        return float(group.all_reduce(mine)[-1])

    assert raised(together(2, work)) == [3.0, 3.0]


def test_mistakes_are_named(together):
    def work(group):
        for call, kind, text in (
            (lambda: group.all_reduce(np.arange(3), np.zeros(4, int)), ValueError, "out_array has 4"),
            (lambda: group.all_reduce(np.arange(3), np.zeros(3)), ValueError, "float64"),
            (lambda: group.all_reduce(np.arange(3), numpy.zeros(3, int)), TypeError, "an array of numloom's"),
            (lambda: group.all_reduce(np.arange(3), op="mean"), ValueError, "none of sum"),
            (lambda: group.all_reduce(np.ones(3, bool)), TypeError, "convert the array"),
            (lambda: group.broadcast(np.arange(3), root=5), ValueError, "the first is 0"),
            (lambda: group.send(np.arange(3), group.rank), ValueError, "another process"),
            (lambda: group.broadcast(np.broadcast_to(np.arange(3), (2, 3)), 0), ValueError, "read-only"),
            (lambda: group.all_gather(np.arange(3), count=2), ValueError, "slice it before"),
        ):
            with pytest.raises(kind, match=text):
                call()
        return float(group.all_reduce(np.ones(1))[0])  # The group is as good as before.

    assert raised(together(2, work)) == [2.0, 2.0]
    for given, kind, text in (
        ({"n_devices": 0, "rank": 0}, ValueError, "a number of processes"),
        ({"n_devices": 2, "rank": 2}, ValueError, "none of the 2"),
        ({"n_devices": 1, "rank": 0, "backend": "mpi"}, ValueError, "none of auto"),
        ({"n_devices": 1, "rank": 0, "timeout": 0}, ValueError, "seconds"),
        ({"n_devices": 1, "rank": 0, "use_mpi": True}, NotImplementedError, "without MPI"),
    ):
        with pytest.raises(kind, match=text):
            np.distributed.init_process_group(given.pop("n_devices"), given.pop("rank"), **given)


def test_processes_that_call_different_things_are_told(together):
    found = together(2, lambda group: group.all_reduce(np.arange(4 + group.rank)), timeout=20)
    assert any(isinstance(one, GroupError) and "same size and dtype" in str(one) for one in found), found
    assert all(isinstance(one, GroupError) for one in found)
    found = together(2, lambda group: group.barrier() if group.rank else group.all_reduce(np.arange(4)), timeout=20)
    assert any("barrier" in str(one) and "all_reduce" in str(one) for one in found), found
    found = together(2, lambda group: group.all_gather(np.zeros((2, 2) if group.rank else (4, 1))), check=True)
    assert all(isinstance(one, GroupError) and "(4, 1)" in str(one) and "(2, 2)" in str(one) for one in found), found


def test_who_does_not_come_is_named(tmp_path, together):
    start = time.monotonic()
    with pytest.raises(GroupTimeoutError, match="process 0 at file"):
        np.distributed.init_process_group(2, 1, file=tmp_path / "none", timeout=0.3, backend="tcp")
    with pytest.raises(GroupTimeoutError, match=r"process 1 waited 0\.3 s for process 0") as caught:
        np.distributed.init_process_group(2, 1, port=_free_port(), timeout=0.3, backend="tcp")
    assert caught.value.peer == 0 and isinstance(caught.value, TimeoutError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is GroupTimeoutError and again.peer == 0 and str(again) == str(caught.value)
    with pytest.raises(GroupTimeoutError, match=r"waited 0.3 s for processes \[1\]"):
        np.distributed.init_process_group(2, 0, port=_free_port(), timeout=0.3, backend="tcp")
    assert time.monotonic() - start < 20

    def work(group):
        if group.rank == 0:
            return group.all_reduce(np.arange(3))
        time.sleep(1.5)

    found = together(2, work, timeout=0.5)
    assert isinstance(found[0], GroupTimeoutError) and "process 1 in all_reduce" in str(found[0])


def test_groups_that_do_not_fit(tmp_path):
    port = _free_port()
    found = []

    def join(count, rank):
        try:
            found.append(np.distributed.init_process_group(count, rank, port=port, timeout=20, backend="tcp"))
        except GroupError as error:
            found.append(error)

    threads = [threading.Thread(target=join, args=given) for given in ((2, 0), (3, 1), (2, 1), (2, 1))]
    for thread in threads:
        thread.start()
        time.sleep(0.3)
    for thread in threads:
        thread.join()
    said = " ".join(str(one) for one in found)
    assert "process 0 has n_devices=2" in said and "another process has rank 1" in said, said
    groups = [one for one in found if not isinstance(one, GroupError)]
    assert len(groups) == 2
    for group in groups:
        group.stop()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(GroupError, match="choose another port"):
        np.distributed.init_process_group(1, 0, port=taken.getsockname()[1], backend="tcp")


def test_files_of_other_groups_do_not_let_in(tmp_path):
    """A file of an earlier run, whose port another group has now."""
    place = tmp_path / "place"
    port = _free_port()
    group = np.distributed.init_process_group(1, 0, port=port, backend="tcp")
    place.write_text(json.dumps({"host": "127.0.0.1", "port": port, "secret": "old"}))
    place.chmod(0o600)
    with pytest.raises(GroupTimeoutError, match="another group"):
        theirs.init_process_group(2, 1, file=place, timeout=0.3, backend="tcp")
    assert group.all_reduce([1]).tolist() == [1]
    group.stop()


def test_after_it_is_stopped(together):
    with np.distributed.init_process_group(1, 0, port=0) as group:
        assert "process 0 of 1" in repr(group)
    group.stop()
    with pytest.raises(GroupError, match="was stopped"):
        group.barrier()


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_has_no_group_and_leaves_its_parents_alone():
    group = np.distributed.init_process_group(1, 0, backend="tcp", port=0)
    child = os.fork()
    if child == 0:
        try:
            group.all_reduce(np.ones(3))
        except np.distributed.GroupError as error:
            group._at_exit()
            os._exit("child" not in str(error))
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert group.all_reduce(np.ones(3)).tolist() == [1, 1, 1]
    group.stop()
