"""Collective functions on memory of the host, over connections (the backend "tcp").

Sums are made in the order of the processes' numbers, part i by process i, so that all get the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.distributed.exchange import Mesh

Host = np.ndarray[Any, Any]
_FUNCTIONS: dict[str, Any] = {
    "sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip
_NOTHING = memoryview(b"")


def _bytes(a: Host) -> memoryview:
    """The memory of a dense array."""
    return a.reshape(-1).view(np.uint8).data if a.size else _NOTHING


class HostTransport:
    """Collective functions over a `Mesh`. Arrays are NumPy's, dense in C order; results are fresh."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.rank, self.count = mesh.rank, mesh.count
        self.others = [peer for peer in range(self.count) if peer != self.rank]

    def all_reduce(self, a: Host, op: str) -> Host:
        """The sum (`op`) of all."""
        flat = a.reshape(-1)
        bounds = [flat.size * part // self.count for part in range(self.count + 1)]
        parts = [flat[bounds[peer] : bounds[peer + 1]] for peer in range(self.count)]
        result = np.empty_like(flat)
        places = [result[bounds[peer] : bounds[peer + 1]] for peer in range(self.count)]
        places[self.rank][...] = self._reduced_parts("all_reduce", parts, op)
        mine = _bytes(places[self.rank])
        self.mesh.exchange(
            f"all_reduce {op}", str(a.dtype), {peer: mine for peer in self.others},
            {peer: _bytes(places[peer]) for peer in self.others},
        )  # fmt: skip
        return result.reshape(a.shape)

    def reduce_scatter(self, a: Host, op: str) -> Host:
        """Its own part of the sum (`op`) of all; `a` has a row for each process."""
        return self._reduced_parts("reduce_scatter", list(a), op)

    def _reduced_parts(self, what: str, parts: list[Host], op: str) -> Host:
        """The sum (`op`) of what all have for this process."""
        mine = parts[self.rank]
        theirs = {peer: np.empty_like(mine) for peer in self.others}
        self.mesh.exchange(
            f"{what} {op}", str(mine.dtype), {peer: _bytes(parts[peer]) for peer in self.others},
            {peer: _bytes(theirs[peer]) for peer in self.others},
        )  # fmt: skip
        return self._reduced([theirs.get(peer, mine) for peer in range(self.count)], op)

    def _reduced(self, parts: list[Host], op: str) -> Host:
        result = np.array(parts[0])
        for part in parts[1:]:
            _FUNCTIONS[op](result, part, out=result)
        if op == "avg":
            np.divide(result, self.count, out=result)
        return result

    def reduce(self, a: Host, root: int, op: str) -> Host | None:
        """The sum (`op`) of all, for `root` alone."""
        gathered = self.gather(a, root, f"reduce {op}")
        return None if gathered is None else self._reduced(list(gathered), op)

    def broadcast(self, a: Host, root: int) -> Host:
        """What `root` has; what the others give tells shape and dtype."""
        if self.rank == root:
            self.mesh.exchange("broadcast", str(a.dtype), {peer: _bytes(a) for peer in self.others}, {})
            return a
        result = np.empty_like(a)
        self.mesh.exchange("broadcast", str(a.dtype), {}, {root: _bytes(result)})
        return result

    def gather(self, a: Host, root: int, what: str = "gather") -> Host | None:
        """A row from each, for `root` alone."""
        if self.rank != root:
            self.mesh.exchange(what, str(a.dtype), {root: _bytes(a)}, {})
            return None
        result = np.empty((self.count, a.size), a.dtype)
        result[root] = a.reshape(-1)
        self.mesh.exchange(what, str(a.dtype), {}, {peer: _bytes(result[peer]) for peer in self.others})
        return result.reshape(self.count, *a.shape)

    def scatter(self, a: Host | None, like: Host, root: int) -> Host:
        """Its own row of what `root` has; `like` has its shape and dtype."""
        if a is not None and self.rank == root:
            self.mesh.exchange("scatter", str(a.dtype), {peer: _bytes(a[peer : peer + 1]) for peer in self.others}, {})
            return a[root : root + 1].reshape(like.shape)
        result = np.empty_like(like)
        self.mesh.exchange("scatter", str(like.dtype), {}, {root: _bytes(result)})
        return result

    def all_gather(self, a: Host) -> Host:
        """A row from each."""
        result = np.empty((self.count, a.size), a.dtype)
        result[self.rank] = a.reshape(-1)
        mine = _bytes(a)
        self.mesh.exchange(
            "all_gather", str(a.dtype), {peer: mine for peer in self.others},
            {peer: _bytes(result[peer]) for peer in self.others},
        )  # fmt: skip
        return result.reshape(self.count, *a.shape)

    def all_to_all(self, a: Host) -> Host:
        """Row i goes to process i."""
        result = np.empty_like(a)
        result[self.rank] = a[self.rank]
        self.mesh.exchange(
            "all_to_all", str(a.dtype), {peer: _bytes(a[peer]) for peer in self.others},
            {peer: _bytes(result[peer]) for peer in self.others},
        )  # fmt: skip
        return result

    def send(self, a: Host, peer: int) -> None:
        """Give it to one process."""
        self.mesh.exchange("send", str(a.dtype), {peer: _bytes(a)}, {})

    def recv(self, like: Host, peer: int) -> Host:
        """Take from one process what has this shape and dtype."""
        result = np.empty_like(like)
        self.mesh.exchange("send", str(like.dtype), {}, {peer: _bytes(result)})
        return result

    def send_recv(self, a: Host, like: Host, peer: int) -> Host:
        """Both at once."""
        result = np.empty_like(like)
        self.mesh.exchange("send", str(a.dtype), {peer: _bytes(a)}, {peer: _bytes(result)})
        return result

    def barrier(self) -> None:
        """Wait until all are here."""
        self.mesh.exchange(
            "barrier", "", {peer: _NOTHING for peer in self.others}, {peer: _NOTHING for peer in self.others}
        )


__all__ = ["HostTransport"]
