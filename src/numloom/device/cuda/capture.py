"""Launches of a GPU taken down as a CUDA graph: see `numloom.device.interface.Capture`."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from numloom.device.capture import LiveCapture
from numloom.device.cuda import driver
from numloom.device.cuda.routines import products
from numloom.device.memory import Buffer

try:
    from numloom.device.cuda._launch import CopiedGraph, NumberedNode, Replay  # type: ignore[import-not-found]
except ImportError:
    CopiedGraph = NumberedNode = Replay = None


PRODUCTS = 32 << 20
"""Bytes of scratch memory of products in graphs: what cuBLAS takes for itself from compute capability 9.0 on."""

_scratch: weakref.WeakKeyDictionary[Any, weakref.ref[ProductScratch]] = weakref.WeakKeyDictionary()
"""By pool, as long as a graph has it."""


class ProductScratch:
    """Scratch memory of the products of a stream's graphs, which run one after another."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer


def scratch_of(device: Any) -> ProductScratch:
    """Return the scratch memory of products in a device's graphs."""
    known = _scratch.get(device.pool)
    found = None if known is None else known()
    if found is None:
        found = ProductScratch(device.pool.allocate(PRODUCTS))
        _scratch[device.pool] = weakref.ref(found)
    return found


def last_node(stream: int) -> int:
    """Return the handle of the node that a stream which is captured would wait for: what was taken down last."""
    found = driver.call("cuStreamGetCaptureInfo", stream, doing="capturing a stream")
    nodes = next(part for part in found if isinstance(part, list) and part)
    if len(nodes) != 1:
        raise RuntimeError(f"a captured launch has {len(nodes)} nodes")
    return int(nodes[0])


class GraphCapture(LiveCapture):
    """A `Capture` of a stream that is captured.

    Addresses and numbers that runs are given are changed in the graph, which takes the driver 0.4 µs for each kernel.
    Of a library's product that cannot be done: memory that it takes is copied to memory of the graph's own, and back.
    Launches whose blocks are read in each run have a graph of another kind (`Replay`), without anything else.
    """

    def __init__(self, device: Any) -> None:
        self.stream: Any = None
        super().__init__(device)
        self.operands: list[tuple[int, Buffer]] = []
        self.results: list[tuple[int, Buffer]] = []
        self.numbers: list[tuple[int, Buffer]] = []
        self.numbered: list[Any] = []
        self.given = 0
        self.count = 0
        self.graph: Any = None
        self.executable: Any = None
        self.copied: Any = None
        self.process = os.getpid()
        self.blas: Any = None

    def taken(self, calls: Callable[[Any], None]) -> Any:
        """Return what is called as a graph; None where it cannot run as one."""
        try:
            calls(self)
        finally:
            if self.blas is not None:
                self.blas.cublas.set_stream(self.blas.handle, self.device.stream)
            if self.stream is not None:
                self.graph = driver.call("cuStreamEndCapture", self.stream, doing="capturing a stream")
        if not self.launches:
            return self if self._is_runnable() else None
        mixed = self.stream is not None or self.operands or self.results
        return None if mixed else Replay(self.launches, self, driver.address_of)

    def _begin(self) -> int:
        """Return the stream, which is captured from its first use on."""
        if self.stream is None:
            cuda = driver.bindings()
            non_blocking = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
            relaxed = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            self.stream = driver.call("cuStreamCreate", non_blocking, doing="making a stream")
            driver.call("cuStreamBeginCapture", self.stream, relaxed, doing="capturing a stream")
        return int(self.stream)

    def _is_runnable(self) -> bool:
        """Return whether what was taken down can run as a graph, which is made."""
        if self.graph is None:
            return False
        kinds = driver.bindings().CUgraphNodeType
        plain = (
            kinds.CU_GRAPH_NODE_TYPE_KERNEL, kinds.CU_GRAPH_NODE_TYPE_MEMCPY, kinds.CU_GRAPH_NODE_TYPE_MEMSET
        )  # fmt: skip
        _, count = driver.call("cuGraphGetNodes", self.graph, 0)
        nodes, _ = driver.call("cuGraphGetNodes", self.graph, count)
        # A library that allocates memory in a graph would have it allocate again in each run.
        if count < self.count or any([driver.call("cuGraphNodeGetType", node) not in plain for node in nodes]):
            return False
        self.executable = driver.call("cuGraphInstantiate", self.graph, 0, doing="making a graph")
        operands, results = [
            [(place, buffer.ptr, buffer.nbytes) for place, buffer in given] for given in (self.operands, self.results)
        ]
        self.copied = CopiedGraph(
            self.executable, self.device.stream, operands, results, self.numbered, driver.address_of
        )
        return True

    def _give(self, among: list[tuple[int, Buffer]], buffer: Buffer) -> Buffer:
        """Have memory stand for what each run is given next."""
        among.append((self.given, buffer))
        self.given += 1
        return buffer

    def operand(self, nbytes: int, launched: bool = False) -> Buffer:
        """Memory into which a run copies what it is given, or which stands for that."""
        return self.number() if launched else self._give(self.operands, self.pool.allocate(nbytes))

    def result(self, nbytes: int, launched: bool = False) -> Buffer:
        """Memory that a run copies to what it is given, or which stands for that."""
        return self.number() if launched else self._give(self.results, self.pool.allocate(nbytes))

    def number(self) -> Buffer:
        """Return what stands for a word that each run is given."""
        return self._give(self.numbers, Buffer(0, 0))

    def launch(self, bound: Any, words: Sequence[int], buffers: Sequence[Any]) -> None:
        """Take a launch down."""
        stream = self._begin()
        bound.on(stream)
        places = {id(buffer): place for place, buffer in self.numbers}
        rows = [(word, places[id(buffer)]) for word, buffer in zip(words, buffers, strict=True) if id(buffer) in places]
        if rows:
            self.numbered.append(NumberedNode(bound, last_node(stream), rows, driver.address_of))
        self.kept.append(bound)
        self.count += 1

    def call(self, bound: Any, buffers: Sequence[Any], addresses: Sequence[int]) -> None:
        """Take a product down; other routines may do more than to launch."""
        if not products.only_launches(bound):
            raise RuntimeError("a routine that may do more than to launch")
        stream = self._begin()
        if self.blas is None:
            self.blas = products.blas_of(self.device)
            self.blas.cublas.set_stream(self.blas.handle, stream)
            # Without memory of ours it would have the graph allocate its own in each run.
            scratch = scratch_of(self.device)
            self.kept.append(scratch)
            self.blas.cublas.set_workspace(self.blas.handle, scratch.buffer.ptr, scratch.buffer.nbytes)
        bound(*addresses)
        self.kept.append(bound)
        self.count += 1

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        """Take a copy down."""
        if nbytes:
            driver.call(
                "cuMemcpyDtoDAsync", target.ptr + target_offset, source.ptr + source_offset, nbytes, self._begin(),
                doing="capturing a copy",
            )  # fmt: skip
            self.count += 1

    def __call__(self, addresses: Sequence[int]) -> bool:
        """Run it."""
        self.device.enter()
        self.device.touched = True
        code = self.copied(list(addresses))
        if code:
            driver.fail(code, "launching a graph")
        return True

    def __del__(self) -> None:
        if getattr(self, "stream", None) is None or sys.is_finalizing() or os.getpid() != self.process:
            return
        if driver.state.lost:
            return
        cuda = driver.bindings()
        if self.executable is not None:
            cuda.cuGraphExecDestroy(self.executable)
        if self.graph is not None:
            cuda.cuGraphDestroy(self.graph)
        cuda.cuStreamDestroy(self.stream)


__all__ = ["GraphCapture"]
