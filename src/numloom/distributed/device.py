"""Collective functions on memory of GPUs, by NCCL (the backend "nccl").

They are started, not waited for. A thread looks after what is under way: if a process is gone or one takes too long,
it ends NCCL's work, which would wait for ever, and leaves word where kernels leave theirs, so that the next look at a
value raises.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numloom.cuda import nccl
from numloom.cuda.devices import backend
from numloom.cuda.streams import Event
from numloom.device.cuda import driver
from numloom.distributed.errors import GroupError, GroupTimeoutError
from numloom.distributed.rendezvous import RendezvousStore
from numloom.graph.source_location import SourceLocation, here

_PAUSE = 0.05
_LAST_CALL, _ABORT = 2.0, 10.0
"""Seconds that the end of a communicator waits for a call that uses it, and the end of a group for that."""
_OPS = {"sum": nccl.NCCL_SUM, "prod": nccl.NCCL_PROD, "max": nccl.NCCL_MAX, "min": nccl.NCCL_MIN, "avg": nccl.NCCL_AVG}
_TYPES = {
    "int8": nccl.NCCL_INT8, "uint8": nccl.NCCL_UINT8, "int32": nccl.NCCL_INT32, "uint32": nccl.NCCL_UINT32,
    "int64": nccl.NCCL_INT64, "uint64": nccl.NCCL_UINT64, "float16": nccl.NCCL_FLOAT16,
    "float32": nccl.NCCL_FLOAT32, "float64": nccl.NCCL_FLOAT64, "bfloat16": nccl.NCCL_BFLOAT16,
}  # fmt: skip
_FAILED = (GroupError, "a collective function between processes failed")


def reduced_as(dtype: np.dtype[Any], op: str) -> tuple[int, int]:
    """NCCL's type for a reduction, and how many of them an element is.

    Raises
    ------
    TypeError
        If NCCL cannot reduce this dtype.
    """
    if dtype.kind == "c" and op in ("sum", "avg"):
        return _TYPES["float32" if dtype.itemsize == 8 else "float64"], 2
    found = _TYPES.get(dtype.name)
    if found is None:
        raise TypeError(
            f"NCCL has no {op} of {dtype.name}: convert the array (astype), or take init_process_group's backend 'tcp'"
        )
    return found, 1


class DeviceTransport:
    """Collective functions of NCCL on addresses, with somebody who looks after them. Nothing is done for no bytes.

    Parameters
    ----------
    store : RendezvousStore
        Where the processes meet.
    timeout : float
        Seconds that a function may take.
    """

    def __init__(self, store: RendezvousStore, timeout: float) -> None:
        self.store = store
        self.rank, self.count = store.rank, store.count
        self.timeout = timeout
        self.failed: GroupError | None = None
        self._stopped = False
        self._under_way: deque[tuple[Event, float, str, SourceLocation]] = deque()
        # Events that are done, for the next calls. The thread that looks after them must not destroy one: that waits
        # while another thread loads a kernel, which waits for NCCL's work, which nobody would end.
        self._spare: list[Event] = []
        self._lock = threading.Lock()
        self._calling = threading.Lock()  # A communicator goes when no call of NCCL is using it.
        self._aborted = threading.Event()
        self._device = backend()
        if self.rank == 0:
            store.set("nccl", list(nccl.get_unique_id()))
        name = store.get("nccl", timeout, "for process 0 to start NCCL", 0)
        try:
            self.communicator = nccl.NcclCommunicator(self.count, tuple(name), self.rank, timeout=timeout)
        except nccl.NcclError as error:
            store.check()
            raise GroupError(f"NCCL does not connect process {self.rank} with the others: {error}") from error
        store.on_loss(self._lost)
        self._watching = threading.Thread(target=self._watch, name="numloom-nccl", daemon=True)
        self._watching.start()

    # ------------------------------------------------------------ what is asked

    @contextmanager
    def call(self, what: str, stream: int) -> Any:
        """Calls of NCCL for one function of ours, which is looked after from then on."""
        self.check()
        place = here(_FAILED)
        try:
            with self._calling:
                yield self.communicator
        except nccl.NcclError as error:
            self._fail(GroupError(f"process {self.rank} in {what}: {error}"))
            self.check()
        with self._lock:
            event = self._spare.pop() if self._spare else None
        event = event or Event(disable_timing=True)
        driver.call("cuEventRecord", event.ptr, stream, doing="recording an event")
        with self._lock:
            if self.failed is None:
                self._under_way.append((event, time.monotonic(), what, place))
        self.check()  # A process may have gone since: then nobody is told of this call's result but who made it.

    def check(self) -> None:
        """Raise what went wrong before."""
        if self.failed is not None:
            raise GroupError(f"this group cannot be used any more ({self.failed}): make a new one", self.failed.peer)
        self.store.check()

    def all_reduce(self, source: int, target: int, count: int, dtype: np.dtype[Any], op: str, stream: int) -> None:
        """Every process gets the sum (`op`) of all."""
        kind, each = reduced_as(dtype, op)
        if not count:
            return
        with self.call("all_reduce", stream) as comm:
            comm.allReduce(source, target, count * each, kind, _OPS[op], stream)

    def reduce(
        self, source: int, target: int, count: int, dtype: np.dtype[Any], op: str, root: int, stream: int
    ) -> None:
        """Process `root` gets the sum (`op`) of all."""
        kind, each = reduced_as(dtype, op)
        if not count:
            return
        with self.call("reduce", stream) as comm:
            comm.reduce(source, target, count * each, kind, _OPS[op], root, stream)

    def reduce_scatter(self, source: int, target: int, count: int, dtype: np.dtype[Any], op: str, stream: int) -> None:
        """Process i gets part i, of `count` elements, of the sum (`op`) of all."""
        kind, each = reduced_as(dtype, op)
        if not count:
            return
        with self.call("reduce_scatter", stream) as comm:
            comm.reduceScatter(source, target, count * each, kind, _OPS[op], stream)

    def broadcast(self, address: int, nbytes: int, root: int, stream: int) -> None:
        """Every process gets the bytes of `root`."""
        if not nbytes:
            return
        with self.call("broadcast", stream) as comm:
            comm.bcast(address, nbytes, nccl.NCCL_UINT8, root, stream)

    def all_gather(self, source: int, target: int, nbytes: int, stream: int) -> None:
        """Every process gets the bytes of each."""
        if not nbytes:
            return
        with self.call("all_gather", stream) as comm:
            comm.allGather(source, target, nbytes, nccl.NCCL_UINT8, stream)

    def exchange(
        self, what: str, sends: Sequence[tuple[int, int, int]], receives: Sequence[tuple[int, int, int]], stream: int
    ) -> None:
        """Send and receive (process, address, bytes) at once."""
        sends, receives = [part for part in sends if part[2]], [part for part in receives if part[2]]
        if not sends and not receives:
            return
        with self.call(what, stream) as comm:
            nccl.groupStart()
            try:
                for peer, address, nbytes in sends:
                    comm.send(address, nbytes, nccl.NCCL_UINT8, peer, stream)
                for peer, address, nbytes in receives:
                    comm.recv(address, nbytes, nccl.NCCL_UINT8, peer, stream)
            finally:
                nccl.groupEnd()

    # ------------------------------------------------------------ what goes wrong

    def _watch(self) -> None:
        """Look after what is under way, until the group is stopped."""
        while not self._stopped and self.failed is None:
            time.sleep(_PAUSE)
            driver.enter()
            with self._lock:
                self._put_aside()
                first = self._under_way[0] if self._under_way else None
            if first is not None and time.monotonic() - first[1] > self.timeout:
                self._fail(
                    GroupTimeoutError(
                        f"process {self.rank} waited {self.timeout:g} s for the others in {first[2]}: see whether they "
                        f"live and call {first[2]}, too, with arrays of the same size and dtype"
                    )
                )

    def _put_aside(self) -> None:
        """Look no longer after what is done."""
        while self._under_way and self._under_way[0][0].done:
            self._spare.append(self._under_way.popleft()[0])

    def _lost(self, rank: int) -> None:
        how = self.store.gone.get(rank, "")
        self._fail(GroupError(f"process {rank} of {self.count} is gone ({how}): see its own output", rank))

    def _fail(self, error: GroupError) -> None:
        """End NCCL's work; whoever looks at a value, or calls a function of the group, is told."""
        with self._lock:
            if self.failed is not None or self._stopped:
                return
            self.failed = error
            driver.enter()
            self._put_aside()
            for _, _, what, place in self._under_way:
                place.complaint = (type(error), f"{what} has no result: {error}")
            if self._under_way:
                self._device.complain(self._under_way[0][3].id)
            self._spare += [event for event, *_ in self._under_way]
            self._under_way.clear()
        # Not longer: a call may wait for the process that is gone, and ends when its communicator does.
        free = self._calling.acquire(timeout=_LAST_CALL)
        try:
            self._quietly(self.communicator.abort)
        finally:
            if free:
                self._calling.release()
            self._aborted.set()

    def stop(self) -> None:
        """Wait for what is under way, and let go of NCCL."""
        if self._stopped:
            return
        if self.failed is None:
            self._device.synchronize()
        with self._lock:
            self._stopped = True
            self._under_way.clear()
            self._spare.clear()
        if self.failed is None:
            self._quietly(self.communicator.destroy)
        else:  # By another thread, which must not be in NCCL when the program ends.
            self._aborted.wait(_ABORT)

    @staticmethod
    def _quietly(function: Callable[[], None]) -> None:
        try:
            function()
        except nccl.NcclError:
            pass


__all__ = ["DeviceTransport", "reduced_as"]
