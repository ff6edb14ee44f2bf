"""Processes that compute together: `init_process_group` and the functions of a group, by CuPy's names.

Each process has its own device. On GPUs NCCL moves the memory (backend "nccl"); without, or where that is asked for,
bytes go over connections (backend "tcp"). Both find each other by a store in process 0.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import weakref
from typing import Any

import numpy as np

from numloom.api.creation import ascontiguousarray, empty, empty_like
from numloom.api.elementwise import copyto
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.array.storage import pin, read_only, unpin
from numloom.base.errors import DeviceError
from numloom.cuda import nccl
from numloom.cuda.devices import on_gpu, wait
from numloom.distributed.device import DeviceTransport, reduced_as
from numloom.distributed.errors import GroupError
from numloom.distributed.exchange import Mesh
from numloom.distributed.host import HostTransport
from numloom.distributed.rendezvous import RendezvousStore
from numloom.engine import look

HOST, PORT, TIMEOUT = "127.0.0.1", 13333, 300.0
OPS = ("sum", "prod", "max", "min", "avg")
BACKENDS = ("auto", "nccl", "tcp")
Array = Any
_groups: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()


class ProcessGroup:
    """Processes that compute together, as one of them sees them. `init_process_group` makes it.

    Attributes
    ----------
    rank, size : int
        This process's number, from 0, and how many there are.
    backend : str
        "nccl" or "tcp".

    Notes
    -----
    All processes call the same functions in the same order, with arrays of the same size and dtype. The functions take
    arrays of any strides, and anything that `asarray` takes; they return the array that has the result, a fresh one
    where `out_array` is not given. On GPUs they are started and not waited for, in the order of all work of arrays;
    what goes wrong later is raised by the next look at a value.
    """

    def __init__(self, store: RendezvousStore, backend: str, timeout: float, check: bool) -> None:
        self.rank, self.size = store.rank, store.count
        self.backend = backend
        self.checks = check
        self._store = store
        self._mesh = Mesh(store, timeout)
        self._host = HostTransport(self._mesh)
        self._device = DeviceTransport(store, timeout) if backend == "nccl" else None
        self._stopped = False
        self._process = os.getpid()
        _groups.add(self)

    def __repr__(self) -> str:
        return f"<ProcessGroup: process {self.rank} of {self.size}, {self.backend}>"

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.stop()
        else:
            self._leave(_said(error))

    # ------------------------------------------------------------ all to all

    def all_reduce(self, in_array: Any, out_array: Array = None, op: str = "sum", stream: Any = None) -> Array:
        """Every process gets the sum of all, element by element.

        Parameters
        ----------
        in_array : array_like
            This process's numbers.
        out_array : ndarray, optional
            Where the result goes; may be `in_array`.
        op : {"sum", "prod", "max", "min", "avg"}
            What is made of the elements of all processes.
        stream : Stream, optional
            Where NCCL works; by default on that of the arrays.

        Returns
        -------
        ndarray
            The result.

        Examples
        --------
        >>> import numloom as np
        >>> with np.distributed.init_process_group(1, 0, port=0) as alone:
        ...     alone.all_reduce(np.arange(3))
        array([0, 1, 2])
        """
        a, op = self._given(in_array), self._op(op, in_array)
        out = self._out(out_array, a.shape, a.dtype)
        self._compare("all_reduce", a.dtype, a.shape, op)
        if self._device is None:
            copyto(out, self._host.all_reduce(_host(a), op))
        else:
            device = self._device
            with _Addresses([a], [out], in_place=True) as (source, target, handle):
                device.all_reduce(source, target, a.size, a.dtype, op, handle(stream))
        return out

    def reduce(
        self, in_array: Any, out_array: Array = None, root: int = 0, op: str = "sum", stream: Any = None
    ) -> Array:
        """Process `root` gets the sum (`op`) of all; None elsewhere."""
        a, op, root = self._given(in_array), self._op(op, in_array), self._peer(root)
        self._compare("reduce", a.dtype, a.shape, f"{op} {root}")
        here = self.rank == root
        out = self._out(out_array, a.shape, a.dtype) if here else None
        if self._device is None:
            found = self._host.reduce(_host(a), root, op)
            if out is not None:
                copyto(out, found)
        else:
            device = self._device
            with _Addresses([a], [out] if here else [], in_place=True) as (source, target, handle):
                device.reduce(source, target, a.size, a.dtype, op, root, handle(stream))
        return out

    def broadcast(self, in_out_array: Array, root: int = 0, stream: Any = None) -> Array:
        """Every process gets what `root` has, in place."""
        a, root = self._own(in_out_array), self._peer(root)
        self._compare("broadcast", a.dtype, a.shape, root)
        if self._device is None:
            found = self._host.broadcast(_host(a), root)
            if self.rank != root:
                copyto(a, found)
        else:
            device = self._device
            with _Addresses([], [a], keep=True) as (_, target, handle):
                device.broadcast(target, a.nbytes, root, handle(stream))
        return a

    def reduce_scatter(
        self, in_array: Any, out_array: Array = None, count: int | None = None, op: str = "sum", stream: Any = None
    ) -> Array:
        """Process i gets part i of the sum (`op`) of all: `in_array` has a row, or `count` elements, for each."""
        a, op = self._given(in_array), self._op(op, in_array)
        rows = self._rows("reduce_scatter", a, count)
        shape = a.shape[1:] if a.ndim and a.shape[0] == self.size else (rows,)
        out = self._out(out_array, shape, a.dtype)
        self._compare("reduce_scatter", a.dtype, a.shape, op)
        if self._device is None:
            copyto(out, self._host.reduce_scatter(_host(a).reshape(self.size, -1), op).reshape(shape))
        else:
            device = self._device
            with _Addresses([a], [out]) as (source, target, handle):
                device.reduce_scatter(source, target, rows, a.dtype, op, handle(stream))
        return out

    def all_gather(self, in_array: Any, out_array: Array = None, count: int | None = None, stream: Any = None) -> Array:
        """Every process gets a row from each."""
        a = self._given(in_array)
        if count is not None and count != a.size:
            raise ValueError(
                f"all_gather sends the whole array of {a.size} elements, count is {count}: slice it before"
            )
        out = self._out(out_array, (self.size, *a.shape), a.dtype)
        self._compare("all_gather", a.dtype, a.shape)
        if self._device is None:
            copyto(out, self._host.all_gather(_host(a)).reshape(out.shape))
        else:
            device = self._device
            with _Addresses([a], [out]) as (source, target, handle):
                device.all_gather(source, target, a.nbytes, handle(stream))
        return out

    def all_to_all(self, in_array: Any, out_array: Array = None, stream: Any = None) -> Array:
        """Row i goes to process i, which puts the row of process j at j."""
        a = self._given(in_array)
        self._rows("all_to_all", a, None)
        out = self._out(out_array, a.shape, a.dtype)
        self._compare("all_to_all", a.dtype, a.shape)
        if self._device is None:
            copyto(out, self._host.all_to_all(_host(a).reshape(self.size, -1)).reshape(a.shape))
        else:
            device, part = self._device, a.nbytes // self.size
            with _Addresses([a], [out]) as (source, target, handle):
                rows = range(self.size)
                device.exchange(
                    "all_to_all", [(row, source + row * part, part) for row in rows],
                    [(row, target + row * part, part) for row in rows], handle(stream),
                )  # fmt: skip
        return out

    # ------------------------------------------------------------ one and all

    def gather(self, in_array: Any, out_array: Array = None, root: int = 0, stream: Any = None) -> Array:
        """Process `root` gets a row from each; None elsewhere."""
        a, root = self._given(in_array), self._peer(root)
        self._compare("gather", a.dtype, a.shape, root)
        here = self.rank == root
        out = self._out(out_array, (self.size, *a.shape), a.dtype) if here else None
        if self._device is None:
            found = self._host.gather(_host(a), root)
            if out is not None and found is not None:
                copyto(out, found.reshape(out.shape))
        else:
            device = self._device
            with _Addresses([a], [out] if here else []) as (source, target, handle):
                each = [(row, target + row * a.nbytes, a.nbytes) for row in range(self.size)] if here else []
                device.exchange("gather", [(root, source, a.nbytes)], each, handle(stream))
        return out

    def scatter(self, in_array: Any, out_array: Array, root: int = 0, stream: Any = None) -> Array:
        """Process i gets row i of what `root` has; elsewhere `in_array` is not looked at."""
        out, root = self._own(out_array), self._peer(root)
        here = self.rank == root
        a = self._given(in_array) if here else None
        if a is not None and (a.size != self.size * out.size or a.dtype != out.dtype):
            raise ValueError(
                f"scatter gives each of {self.size} processes {out.size} elements of {out.dtype}: the array of process "
                f"{root} has {a.size} of {a.dtype}"
            )
        self._compare("scatter", out.dtype, out.shape, root)
        if self._device is None:
            rows = None if a is None else _host(a).reshape(self.size, *out.shape)
            copyto(out, self._host.scatter(rows, np.empty(out.shape, out.dtype), root))
        else:
            device = self._device
            with _Addresses([] if a is None else [a], [out]) as (source, target, handle):
                each = [(row, source + row * out.nbytes, out.nbytes) for row in range(self.size)] if here else []
                device.exchange("scatter", each, [(root, target, out.nbytes)], handle(stream))
        return out

    # ------------------------------------------------------------ two

    def send(self, array: Any, peer: int, stream: Any = None) -> None:
        """Give an array to one process, which calls `recv`."""
        a, peer = self._given(array), self._other(peer)
        if self._device is None:
            self._host.send(_host(a), peer)
        else:
            with _Addresses([a], []) as (source, _, handle):
                self._device.exchange("send", [(peer, source, a.nbytes)], [], handle(stream))

    def recv(self, out_array: Array, peer: int, stream: Any = None) -> Array:
        """Take an array from one process, which calls `send`."""
        out, peer = self._own(out_array), self._other(peer)
        if self._device is None:
            copyto(out, self._host.recv(np.empty(out.shape, out.dtype), peer))
        else:
            with _Addresses([], [out]) as (_, target, handle):
                self._device.exchange("recv", [], [(peer, target, out.nbytes)], handle(stream))
        return out

    def send_recv(self, in_array: Any, out_array: Array, peer: int, stream: Any = None) -> Array:
        """Give an array to one process and take one from it, which calls this, too."""
        a, out, peer = self._given(in_array), self._own(out_array), self._other(peer)
        if self._device is None:
            copyto(out, self._host.send_recv(_host(a), np.empty(out.shape, out.dtype), peer))
        else:
            with _Addresses([a], [out]) as (source, target, handle):
                self._device.exchange(
                    "send_recv", [(peer, source, a.nbytes)], [(peer, target, out.nbytes)], handle(stream)
                )
        return out

    # ------------------------------------------------------------ the group itself

    def barrier(self) -> None:
        """Do all work, and wait until all processes have."""
        self._check()
        wait()
        if self._device is not None:
            self._device.check()
        self._host.barrier()

    def stop(self) -> None:
        """Wait for work that is under way and leave the group."""
        if self._stopped:
            return
        if self._device is not None:
            if self._device.failed is None:
                wait()
            self._device.stop()
        self._leave("")

    def _leave(self, why: str) -> None:
        if not self._stopped:
            self._stopped = True
            self._store.close(why)
            self._mesh.close()

    def _at_exit(self) -> None:
        """The program ends without `stop`: the others are told whether that was an error."""
        if os.getpid() != self._process:  # A child that was forked leaves nothing.
            return
        error = getattr(sys, "last_value", None)
        try:
            if error is None:
                self.stop()
            else:
                self._leave(_said(error))
        except Exception:  # What is told here was told before, or nobody listens any more.
            self._leave("an error")

    # ------------------------------------------------------------ what is given

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise GroupError(
                f"this group was made by process {self._process}, and this is a child of it: a forked child makes a "
                "group of its own"
            )
        if self._stopped:
            raise GroupError("this group was stopped: make a new one by init_process_group")

    def _given(self, a: Any) -> Array:
        self._check()
        found = asarray(a)
        return found if found.flags.c_contiguous else ascontiguousarray(found).reshape(found.shape)

    def _own(self, a: Any) -> Array:
        self._check()
        if type(a) is not ndarray:
            raise TypeError(f"the result goes to an array of numloom's, got {type(a).__name__}")
        if not a.writeable:
            raise read_only(a, "the array that the result goes to")
        return a

    def _out(self, out: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """Where a result goes."""
        if out is None:
            return empty(shape, dtype)
        out = self._own(out)
        if out.dtype != dtype or out.size != math.prod(shape):
            raise ValueError(
                f"the result has {math.prod(shape)} elements of {dtype} (shape {shape}), out_array has {out.size} of "
                f"{out.dtype} (shape {out.shape})"
            )
        if out.shape != shape:
            if not out.flags.c_contiguous:
                raise ValueError(
                    f"out_array of another shape ({out.shape}) than the result's {shape} must be contiguous"
                )
            return out.reshape(shape)
        return out

    def _op(self, op: str, a: Any) -> str:
        if op not in OPS:
            raise ValueError(f"op {op!r} is none of {', '.join(OPS)}")
        dtype = asarray(a).dtype
        if dtype.kind == "b" or (dtype.kind == "c" and op in ("max", "min")) or (op == "avg" and dtype.kind in "iu"):
            raise TypeError(f"there is no {op} of {dtype} between processes: convert the array (astype)")
        if self._device is not None:
            reduced_as(dtype, op)
        return op

    def _peer(self, peer: int) -> int:
        if not isinstance(peer, (int, np.integer)) or not 0 <= peer < self.size:
            raise ValueError(f"process {peer!r} is none of the {self.size}: the first is 0")
        return int(peer)

    def _other(self, peer: int) -> int:
        if self._peer(peer) == self.rank:
            raise ValueError(f"process {peer} is this one: an array is sent to another process")
        return int(peer)

    def _rows(self, what: str, a: Array, count: int | None) -> int:
        """Elements for each process."""
        each, rest = divmod(a.size, self.size)
        if rest or (count is not None and count != each):
            wanted = f"{self.size} x {count}" if count is not None else f"a multiple of {self.size}"
            raise ValueError(f"{what} takes {wanted} elements for {self.size} processes, the array has {a.size}")
        return each

    def _compare(self, what: str, dtype: Any, shape: tuple[int, ...], more: Any = "") -> None:
        """With ``check=True``: whether all processes call the same, before memory is moved."""
        if self.checks:
            mine = f"{what} {more} of {dtype} {shape}".encode()[:256].ljust(256)
            told = self._host.all_gather(np.frombuffer(mine, np.uint8))
            for peer, row in enumerate(told):
                if bytes(row) != mine:
                    theirs = bytes(row).decode().rstrip()
                    raise GroupError(
                        f"process {self.rank} calls {mine.decode().rstrip()} and process {peer} {theirs}: all call the "
                        "same functions in the same order, with arrays of the same shape and dtype",
                        peer,
                    )


def _host(a: Array) -> np.ndarray[Any, Any]:
    """The values as a dense NumPy array."""
    return np.ascontiguousarray(a.get()).reshape(a.shape)


class _Addresses:
    """Addresses of what is read and written, fixed while NCCL is told of them.

    What is written and does not lie densely, or shares memory with what is read elsewhere, is written apart and copied.
    """

    def __init__(
        self, sources: list[Array], targets: list[Array], *, keep: bool = False, in_place: bool = False
    ) -> None:
        self._sources, self._targets = sources, targets
        self._keep, self._in_place = keep, in_place
        self._apart: list[tuple[Array, Array]] = []
        self._pinned: list[Any] = []

    def __enter__(self) -> tuple[int, int, Any]:
        sources, targets = list(self._sources), []
        for target in self._targets:
            clash = any(a.storage is target.storage and not (self._in_place and _same(a, target)) for a in sources)
            if clash or not target.flags.c_contiguous:
                apart = ascontiguousarray(target).reshape(target.shape) if self._keep else empty_like(target, order="C")
                self._apart.append((target, apart))
                target = apart
            targets.append(target)
        for array in (*targets, *sources):  # Pinning one may move another's memory: addresses are read when all are.
            pin(array.storage)
            self._pinned.append(array.storage)
        look.check([a.storage.value for a in sources])
        found = [a.storage.value.buffer.ptr + a.offset if a.size else 0 for a in (*sources, *targets)]
        source = found[0] if sources else 0
        target = found[len(sources)] if targets else 0
        return source, target, _handle

    def __exit__(self, kind: Any, *error: object) -> None:
        while self._pinned:
            unpin(self._pinned.pop())
        if kind is None:
            for target, apart in self._apart:
                copyto(target, apart)


def _same(a: Array, b: Array) -> bool:
    return bool(a.offset == b.offset and a.shape == b.shape and a.strides == b.strides)


def _handle(stream: Any) -> int:
    return 0 if stream is None else int(getattr(stream, "ptr", stream))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def init_process_group(
    n_devices: int,
    rank: int,
    *,
    backend: str = "auto",
    host: str | None = None,
    port: int | None = None,
    file: str | os.PathLike[str] | None = None,
    timeout: float = TIMEOUT,
    check: bool = False,
    use_mpi: bool = False,
) -> ProcessGroup:
    """Join the processes that compute together. Each of them calls it once.

    Parameters
    ----------
    n_devices : int
        How many processes there are; each has one device.
    rank : int
        This process's number, from 0.
    backend : {"auto", "nccl", "tcp"}
        What moves memory: NCCL between GPUs, or connections over the host's memory. "auto" is NCCL where arrays are on
        a GPU.
    host, port : str, int, optional
        Where process 0 listens (the environment's NUMLOOM_DISTRIBUTED_HOST and NUMLOOM_DISTRIBUTED_PORT, or CuPy's
        names of them; 127.0.0.1 and 13333). Who joins must know a secret: the text in NUMLOOM_DISTRIBUTED_SECRET, the
        same in all processes, or without it one that is kept beside the kernel cache for all processes of this user.
    file : str, optional
        A file that all processes see, in which process 0 writes where it listens, and a secret; this user alone can
        read it. It must not be there before.
    timeout : float
        Seconds that a process waits for another.
    check : bool
        Have the processes tell each other what they call, with which shapes, before each call: for finding mistakes.
    use_mpi : bool
        Taken for CuPy's sake; processes find each other by themselves.

    Returns
    -------
    ProcessGroup

    Raises
    ------
    GroupError
        If the processes do not fit together, or one is gone.
    GroupTimeoutError
        If not all come in time.

    Examples
    --------
    Of a program that is started twice, with the numbers 0 and 1::

        rank = int(sys.argv[1])
        group = numloom.distributed.init_process_group(2, rank)
        total = group.all_reduce(numloom.arange(4) * (rank + 1))

    >>> import numloom as np
    >>> group = np.distributed.init_process_group(1, 0, port=0, backend="tcp")
    >>> group.all_gather(np.arange(2))
    array([[0, 1]])
    >>> group.stop()
    """
    if use_mpi:
        raise NotImplementedError("processes find each other without MPI: give host and port, or a file")
    if not isinstance(n_devices, int) or n_devices < 1:
        raise ValueError(f"n_devices is a number of processes, got {n_devices!r}")
    if not isinstance(rank, int) or not 0 <= rank < n_devices:
        raise ValueError(f"rank {rank!r} is none of the {n_devices} processes: the first is 0")
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r} is none of {', '.join(BACKENDS)}")
    if not timeout > 0:
        raise ValueError(f"timeout is a number of seconds, got {timeout!r}")
    if backend == "auto":
        backend = "nccl" if on_gpu() else "tcp"
    if backend == "nccl":
        why = nccl.missing()
        if why is not None:
            raise DeviceError(f"the backend 'nccl' cannot be used: {why}")
    name = host or _setting("HOST", HOST)
    number = int(_setting("PORT", str(PORT))) if port is None else int(port)
    store = RendezvousStore(n_devices, rank, name, number, None if file is None else os.fspath(file), timeout)
    try:
        return ProcessGroup(store, backend, timeout, check)
    except BaseException as error:
        store.close(_said(error))
        raise


def _setting(name: str, default: str) -> str:
    """A setting of the environment, by our name or CuPy's."""
    ours, theirs = (os.environ.get(f"{start}_DISTRIBUTED_{name}") for start in ("NUMLOOM", "CUPYX"))
    return ours or theirs or default


def _stop_all() -> None:
    for group in list(_groups):
        group._at_exit()


atexit.register(_stop_all)

__all__ = ["ProcessGroup", "init_process_group"]
