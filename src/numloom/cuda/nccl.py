"""NCCL by CuPy's names (``numloom.cuda.nccl``): communicators of processes that have a GPU each.

The functions take addresses, as NCCL does. `numloom.distributed` has the same for arrays, and works without a GPU, too.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.cuda.devices import current_id, flush, on_gpu
from numloom.cuda.streams import follow_arrays, precede_arrays

NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN, NCCL_AVG = range(5)
NCCL_INT8 = NCCL_CHAR = 0
NCCL_UINT8 = 1
NCCL_INT32 = NCCL_INT = 2
NCCL_UINT32 = 3
NCCL_INT64 = 4
NCCL_UINT64 = 5
NCCL_FLOAT16 = NCCL_HALF = 6
NCCL_FLOAT32 = NCCL_FLOAT = 7
NCCL_FLOAT64 = NCCL_DOUBLE = 8
NCCL_BFLOAT16 = 9
NCCL_UNIQUE_ID_BYTES = 128
_IN_PROGRESS = 7
_NAMES = (
    "SUCCESS", "UNHANDLED_CUDA_ERROR", "SYSTEM_ERROR", "INTERNAL_ERROR", "INVALID_ARGUMENT", "INVALID_USAGE",
    "REMOTE_ERROR", "IN_PROGRESS", "TIMEOUT",
)  # fmt: skip
_INSTALL = "pip install 'numloom[nccl]'"
_group = threading.local()


class NcclError(RuntimeError):
    """NCCL failed.

    Attributes
    ----------
    status : int
        NCCL's own number of the error.
    """

    def __init__(self, status: int, more: str = "") -> None:
        self.status = int(status)
        self.more = more
        name = _NAMES[self.status] if 0 <= self.status < len(_NAMES) else f"ERROR_{self.status}"
        super().__init__(f"NCCL_ERROR_{name}: {more or 'set NCCL_DEBUG=WARN for more'}")

    def __reduce__(self) -> tuple[type[NcclError], tuple[int, str]]:
        return type(self), (self.status, self.more)


@functools.cache
def bindings() -> Any:
    """The module ``nccl.bindings.nccl`` of nccl4py.

    Raises
    ------
    MissingDependencyError
        If it, or NCCL itself, is not installed.
    """
    try:
        from nccl.bindings import nccl

        nccl.get_version()
    except Exception as error:  # The bindings raise their own kinds where the library cannot be loaded.
        raise MissingDependencyError(f"NCCL cannot be used ({type(error).__name__}: {error})", _INSTALL) from error
    return nccl


def missing() -> str | None:
    """None where NCCL can be used, else what is missing and the cure."""
    try:
        bindings()
    except MissingDependencyError as error:
        return str(error)
    return None if on_gpu() else "NCCL needs arrays on a GPU; numloom.distributed works between processes without one"


def __getattr__(name: str) -> Any:
    if name == "available":  # Asked for, not at import: nothing of NCCL is loaded before.
        return missing() is None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_version() -> int:
    """NCCL's version (23203 is 2.32.3)."""
    return int(bindings().get_version())


def get_build_version() -> int:
    """The version that is used: NCCL is loaded, not built in."""
    return get_version()


def get_unique_id() -> tuple[int, ...]:
    """A name for a new communicator, which one process makes and the others are told: 128 numbers."""
    found = _call("get_unique_id")
    return tuple(bytes(found))


def groupStart() -> None:
    """Begin calls that NCCL runs together, such as a `send` and a `recv`."""
    _call("group_start")
    _group.depth = getattr(_group, "depth", 0) + 1
    if _group.depth == 1:
        _group.streams, _group.members = set(), []


def groupEnd() -> None:
    """Start the calls since `groupStart`."""
    if not getattr(_group, "depth", 0):
        raise NcclError(5, "groupEnd without groupStart")
    _group.depth -= 1
    streams, members = _group.streams, _group.members
    _call("group_end")
    if not _group.depth:
        for member in members:
            member._settle("a group of calls")
        for stream in streams:
            precede_arrays(stream)


class NcclCommunicator:
    """One process among those that exchange memory.

    Parameters
    ----------
    ndev : int
        How many processes there are.
    commId : tuple of int
        What `get_unique_id` gave one of them.
    rank : int
        This process's number, from 0.
    timeout : float, optional
        Seconds to wait for the others, in here and whenever NCCL has to; for ever by default, as in CuPy.

    Notes
    -----
    Calls return when NCCL has the work, which runs in the order of `stream` (a handle; 0 is the default stream), after
    all work of arrays up to now, and before what comes later.

    Examples
    --------
    >>> import numloom as np
    >>> if np.cuda.nccl.available:
    ...     alone = np.cuda.nccl.NcclCommunicator(1, np.cuda.nccl.get_unique_id(), 0)
    ...     assert (alone.size(), alone.rank_id()) == (1, 0)
    ...     alone.destroy()
    """

    def __init__(self, ndev: int, commId: Sequence[int], rank: int, *, timeout: float | None = None) -> None:
        self._comm: Any = None
        name = bytes(commId)
        if len(name) != NCCL_UNIQUE_ID_BYTES:
            raise ValueError(f"commId has {NCCL_UNIQUE_ID_BYTES} numbers (get_unique_id gives them), got {len(name)}")
        if not 0 <= rank < ndev:
            raise ValueError(f"rank {rank} is none of the {ndev} processes: the first is 0")
        if not on_gpu():
            raise DeviceError(str(missing()))
        self.timeout = timeout
        nccl = bindings()
        config = nccl.Config()
        if timeout is not None:
            config.blocking = 0
        self._comm = _call("comm_init_rank_scalable", ndev, rank, 1, bytearray(name), config.ptr)
        self._settle(f"the other {ndev - 1} processes to join")

    @staticmethod
    def initAll(devices: int | Sequence[int]) -> list[NcclCommunicator]:
        """Communicators of GPUs of one process: just one, since calls on several would wait for each other."""
        numbers = list(range(devices)) if isinstance(devices, int) else [int(number) for number in devices]
        if numbers != [current_id()]:
            raise DeviceError(
                f"a process communicates for its current GPU, {current_id()}, not {numbers}: start a process for each "
                "GPU, and make NcclCommunicator(ndev, commId, rank) or numloom.distributed.init_process_group(ndev, "
                "rank) in each"
            )
        return [NcclCommunicator(1, get_unique_id(), 0)]

    def destroy(self) -> None:
        """Let go of it, when its work is done."""
        if self._comm is not None:
            if self.timeout is not None:
                _call("comm_finalize", self._comm)
                self._settle("its work to end")
            comm, self._comm = self._comm, None
            _call("comm_destroy", comm)

    def abort(self) -> None:
        """End its work at once, whatever state it is in; results are worth nothing."""
        comm, self._comm = self._comm, None
        if comm is not None:
            _call("comm_abort", comm)

    def __del__(self) -> None:
        self._comm = None  # Letting go is for all processes at once: `destroy`.

    def _handle(self) -> Any:
        if self._comm is None:
            raise NcclError(5, "this communicator was destroyed or aborted: make a new one")
        return self._comm

    def device_id(self) -> int:
        """The device's number."""
        return int(_call("comm_cu_device", self._handle()))

    def rank_id(self) -> int:
        """Which of them this process is."""
        return int(_call("comm_user_rank", self._handle()))

    def size(self) -> int:
        """How many processes there are."""
        return int(_call("comm_count", self._handle()))

    def check_async_error(self) -> None:
        """Raise what went wrong since the last call.

        Raises
        ------
        NcclError
            What NCCL found.
        """
        status = int(_call("comm_get_async_error", self._handle()))
        if status not in (0, _IN_PROGRESS):
            raise NcclError(status, _last_words())

    def allReduce(self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: Any = 0) -> None:
        """Every process gets the sum (`op`) of all."""
        self._queue("all_reduce", stream, sendbuf, recvbuf, count, datatype, op)

    def reduce(
        self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, root: int, stream: Any = 0
    ) -> None:
        """Process `root` gets the sum (`op`) of all."""
        self._queue("reduce", stream, sendbuf, recvbuf, count, datatype, op, root)

    def broadcast(self, sendbuff: int, recvbuff: int, count: int, datatype: int, root: int, stream: Any = 0) -> None:
        """Every process gets what `root` has."""
        self._queue("broadcast", stream, sendbuff, recvbuff, count, datatype, root)

    def bcast(self, buff: int, count: int, datatype: int, root: int, stream: Any = 0) -> None:
        """`broadcast` in place."""
        self._queue("broadcast", stream, buff, buff, count, datatype, root)

    def reduceScatter(
        self, sendbuf: int, recvbuf: int, recvcount: int, datatype: int, op: int, stream: Any = 0
    ) -> None:
        """Process i gets part i of the sum (`op`) of all."""
        self._queue("reduce_scatter", stream, sendbuf, recvbuf, recvcount, datatype, op)

    def allGather(self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: Any = 0) -> None:
        """Every process gets what each has, one after another."""
        self._queue("all_gather", stream, sendbuf, recvbuf, count, datatype)

    def send(self, sendbuf: int, count: int, datatype: int, peer: int, stream: Any = 0) -> None:
        """Give another process something, which calls `recv`."""
        self._queue("send", stream, sendbuf, count, datatype, peer)

    def recv(self, recvbuf: int, count: int, datatype: int, peer: int, stream: Any = 0) -> None:
        """Take what another process sends."""
        self._queue("recv", stream, recvbuf, count, datatype, peer)

    def _queue(self, function: str, stream: Any, *arguments: int) -> None:
        comm = self._handle()
        handle = int(getattr(stream, "ptr", stream) or 0)
        flush()
        follow_arrays(handle)
        _call(function, *arguments, comm, handle)
        if getattr(_group, "depth", 0):
            _group.streams.add(handle)
            if self not in _group.members:
                _group.members.append(self)
        else:
            self._settle(function)
            precede_arrays(handle)

    def _settle(self, what: str) -> None:
        """Wait until NCCL has taken in what it was asked for."""
        if self.timeout is None:
            return
        end = time.monotonic() + self.timeout
        while (status := int(_call("comm_get_async_error", self._handle()))) == _IN_PROGRESS:
            if time.monotonic() > end:
                self.abort()
                raise NcclError(8, f"waited {self.timeout:g} s for {what}: see whether the other processes live")
            time.sleep(0.0002)
        if status:
            words = _last_words()
            self.abort()
            raise NcclError(status, words)


def _last_words() -> str:
    """What NCCL said last."""
    nccl = bindings()
    return str(nccl.get_last_error(nccl.Comm()))


def _call(name: str, *arguments: Any) -> Any:
    """A function of NCCL, with our error."""
    nccl = bindings()
    function: Callable[..., Any] = getattr(nccl, name)
    try:
        return function(*arguments)
    except nccl.NCCLError as error:
        status = int(getattr(error, "status", -1))
        if status == _IN_PROGRESS:
            return None
        raise NcclError(status, _last_words() or str(error)) from None


__all__ = [
    "NCCL_AVG", "NCCL_BFLOAT16", "NCCL_CHAR", "NCCL_DOUBLE", "NCCL_FLOAT", "NCCL_FLOAT16", "NCCL_FLOAT32",
    "NCCL_FLOAT64", "NCCL_HALF", "NCCL_INT", "NCCL_INT8", "NCCL_INT32", "NCCL_INT64", "NCCL_MAX", "NCCL_MIN",
    "NCCL_PROD", "NCCL_SUM", "NCCL_UINT8", "NCCL_UINT32", "NCCL_UINT64", "NcclCommunicator", "NcclError",
    "get_build_version", "get_unique_id", "get_version", "groupEnd", "groupStart",
]  # fmt: skip
