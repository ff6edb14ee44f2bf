"""Groups of real processes: over connections, and with two GPUs by NCCL. Ends of all kinds are told to the others."""

from __future__ import annotations

import re

import pytest

import numloom as np
from distributed_processes import gpus, start

BEGIN = """
import sys
rank, count, place, backend = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
import numloom as np
if backend == "nccl":
    np.cuda.Device(rank).use()
else:
    np.config.device = "cpu"
group = np.distributed.init_process_group(count, rank, file=place, backend=backend, timeout=TIMEOUT)
"""
BACKENDS = [
    "tcp",
    pytest.param(
        "nccl", marks=pytest.mark.skipif(gpus() < 2 or not np.cuda.nccl.available, reason="needs two GPUs, NCCL")
    ),
]
WORK = """
import numpy
for dtype in "f4 f8 i4 i8 u1 f2 c8 c16 bfloat16".split():
    kind = numpy.dtype(dtype) if dtype != "bfloat16" else np.bfloat16
    for shape in (5,), (4, 3), (), (0,), (1000, 100):
        first = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) % 5
        rows = [(first + peer + 1).astype(kind) for peer in range(count)]
        a = np.asarray(rows[rank])
        for op, wanted in (("sum", rows[0] + rows[1]), ("prod", rows[0] * rows[1]), ("max", rows[1]), ("min", rows[0])):
            if numpy.dtype(kind).kind == "c" and op != "sum":
                continue
            for _ in range(2):
                numpy.testing.assert_array_equal(group.all_reduce(a, op=op).get(), wanted)
        found = group.reduce(a, root=1)
        assert (found is None) == (rank != 1)
        if rank == 1:
            numpy.testing.assert_array_equal(found.get(), rows[0] + rows[1])
        numpy.testing.assert_array_equal(group.all_gather(a).get(), numpy.stack(rows))
        out = np.zeros(shape, kind)
        group.scatter(np.asarray(numpy.stack(rows)) if rank == 0 else None, out)
        numpy.testing.assert_array_equal(out.get(), rows[rank])
        gathered = group.gather(a, root=0)
        if rank == 0:
            numpy.testing.assert_array_equal(gathered.get(), numpy.stack(rows))
        group.send_recv(a, out, 1 - rank)
        numpy.testing.assert_array_equal(out.get(), rows[1 - rank])
        told = a + 0
        group.broadcast(told, root=1)
        numpy.testing.assert_array_equal(told.get(), rows[1])
        if rank == 0:
            group.send(a, 1)
        else:
            numpy.testing.assert_array_equal(group.recv(out, 0).get(), rows[0])
        both = np.asarray(numpy.stack([rows[rank], rows[rank]]))
        numpy.testing.assert_array_equal(group.reduce_scatter(both).get(), rows[0] + rows[1])
        numpy.testing.assert_array_equal(group.all_to_all(both).get(), numpy.stack(rows))
# Work before and after, in place, strided, on a stream of one's own.
x = np.arange(1000.0) * (rank + 1)
before = x + 1
group.all_reduce(x, x)
after = x * 2
numpy.testing.assert_array_equal(before.get(), numpy.arange(1000.0) * (rank + 1) + 1)
numpy.testing.assert_array_equal(after.get(), numpy.arange(1000.0) * 6)
grid = np.zeros((4, 6))
group.all_reduce(np.ones((4, 3)), grid[:, ::2])
assert grid.get().sum() == 24 and not grid.get()[:, 1::2].any()
stream = np.cuda.Stream(non_blocking=True)
for number in range(20):
    y = np.full(100_000, number + rank, np.float32) + 1
    z = group.all_reduce(y, stream=stream)
    del y
    w = np.full(100_000, -1.0, np.float32) * 2  # Memory that was y's, if anybody gave it back too early.
    assert float((z + 0 * w).min()) == float(z.max()) == 2 * number + 3
group.barrier()
group.stop()
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_functions(backend, tmp_path):
    for code, out, errors in start(BEGIN.replace("TIMEOUT", "60") + WORK, 2, str(tmp_path / "place"), backend):
        assert code == 0 and out.strip() == "done", errors


ENDS = {
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", r"process 1 of 2 is gone"),
    "error": ("raise KeyError('mine')", r"process 1 of 2 is gone \(it ended with KeyError: 'mine'\)"),
    "late": ("import time; time.sleep(5)", r"waited 2 s for .*(process 1|the others).* in all_reduce"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_process_is_told(end, backend, tmp_path):
    program, text = ENDS[end]
    script = (
        BEGIN.replace("TIMEOUT", "60")
        + f"""
group.all_reduce(np.arange(3))
group.barrier()
for way in (group._mesh, group._device):
    if way is not None and "{end}" == "late":
        way.timeout = 2
if rank == 1:
    {program}
else:
    try:
        print(group.all_reduce(np.ones(10))[0])
    except np.distributed.GroupError as error:
        print("caught", error)
    try:
        group.all_reduce(np.ones(10))
    except np.distributed.GroupError as error:
        print("again", error)
    print(float((np.arange(5) * 2).sum()))
"""
    )
    (code, out, errors), *_ = start(script, 2, str(tmp_path / "place"), backend)
    assert code == 0, errors
    lines = out.splitlines()
    assert lines[0].startswith("caught") and re.search(text, lines[0]), out
    assert lines[1].startswith("again") and lines[2] == "20.0", out


def test_a_program_that_just_ends_leaves(tmp_path):
    script = BEGIN.replace("TIMEOUT", "60") + "print(group.all_reduce([rank + 1]).tolist())"
    for code, out, errors in start(script, 2, str(tmp_path / "place"), "tcp"):
        assert (code, out.strip()) == (0, "[3]"), errors


@pytest.mark.skipif(gpus() < 2, reason="needs two GPUs")
def test_a_device_is_chosen_before_the_first_array(tmp_path):
    script = """
import numloom as np
with np.cuda.Device(1) as device:
    x = np.arange(3) + 1
assert device.id == np.cuda.get_device_id() == 1 and x.tolist() == [1, 2, 3]
np.cuda.Device(0).use()
y = np.arange(3) + 2
assert np.cuda.get_device_id() == 0 and y.device == "cuda:0" and x.device == "cuda:1"
assert (x.to_device("cuda:0") + y).tolist() == [3, 5, 7]
"""
    (code, _, errors), *_ = start(script, 1)
    assert code == 0, errors
