"""Bytes between the processes of a group, over connections of their own: who sends and who receives at once never waits
for itself.

Before the bytes goes a head that says what they are for. Processes that call different things, or with different sizes,
are told so.
"""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from numloom.distributed.errors import GroupError, GroupTimeoutError
from numloom.distributed.rendezvous import RendezvousStore, receive_message, send_message, watch

_HEAD = struct.Struct("<24sQ16sQ")
"""What is called, the how manieth call it is, the dtype, and bytes."""
_CHUNK = 1 << 20


class _Sending:
    """What is left to send to one process."""

    def __init__(self, head: bytes, data: memoryview) -> None:
        self.parts = [memoryview(head), data]

    def go_on(self, connection: socket.socket) -> bool:
        """Send what goes; True when all is sent."""
        while self.parts:
            part = self.parts[0]
            if len(part):
                sent = connection.send(part[:_CHUNK])
                self.parts[0] = part[sent:]
                if sent < min(len(part), _CHUNK):
                    return False
            else:
                self.parts.pop(0)
        return True


class _Receiving:
    """What is left to receive from one process."""

    def __init__(self, data: memoryview) -> None:
        self.head = bytearray(_HEAD.size)
        self.data = data
        self.parts = [memoryview(self.head)]
        self.known = False

    def go_on(self, connection: socket.socket) -> bool:
        """Receive what is there; True when all is."""
        while self.parts:
            part = self.parts[0]
            if not len(part):
                self.parts.pop(0)
                if not self.known:
                    return False  # Whoever called looks at the head first.
                continue
            got = connection.recv_into(part[:_CHUNK])
            if not got:
                raise ConnectionResetError("the connection ended")
            self.parts[0] = part[got:]
        return True


class Mesh:
    """Connections of this process to all others of its group.

    Parameters
    ----------
    store : RendezvousStore
        Where the processes tell each other their addresses.
    timeout : float
        Seconds to wait for another process.
    """

    def __init__(self, store: RendezvousStore, timeout: float) -> None:
        self.store = store
        self.rank, self.count = store.rank, store.count
        self.timeout = timeout
        self._peers: dict[int, socket.socket] = {}
        self._calls: dict[Any, int] = {}
        self._broken = ""
        self._lock = threading.Lock()
        if self.count > 1:
            self._connect()

    def _connect(self) -> None:
        """A connection to each other process: the later one calls."""
        host = self.store.address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, 0), family=family, backlog=self.count)
        try:
            self.store.set(f"address of {self.rank}", [host, listener.getsockname()[1], self.store.token])
            for peer in range(self.rank):
                there = self.store.get(f"address of {peer}", self.timeout, f"for the address of process {peer}", peer)
                connection = watch(socket.create_connection((str(there[0]), int(there[1])), timeout=self.timeout))
                send_message(connection, {"rank": self.rank, "token": there[2]})
                self._peers[peer] = connection
            end = time.monotonic() + self.timeout
            while len(self._peers) < self.count - 1:
                self.store.check()
                listener.settimeout(min(1.0, max(end - time.monotonic(), 0.01)))
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    if time.monotonic() > end:
                        missing = sorted(set(range(self.count)) - {self.rank, *self._peers})
                        raise GroupTimeoutError(
                            f"process {self.rank} waited {self.timeout:g} s for processes {missing}", missing[0]
                        ) from None
                    continue
                connection.settimeout(5)
                hello = receive_message(watch(connection))
                if hello is None or hello.get("token") != self.store.token or not isinstance(hello.get("rank"), int):
                    connection.close()  # A stranger.
                    continue
                self._peers[hello["rank"]] = connection
        finally:
            listener.close()
        for connection in self._peers.values():
            connection.setblocking(False)

    def exchange(
        self, what: str, dtype: str, sends: Mapping[int, memoryview], receives: Mapping[int, memoryview]
    ) -> None:
        """Send bytes to some processes and receive bytes from some, all at once; returns when all are through.

        Raises
        ------
        GroupError
            If one is gone, or called something else.
        GroupTimeoutError
            If one did not come in time.
        """
        with self._lock:
            if self._broken:
                raise GroupError(self._broken)
            try:
                self._exchange(what, dtype, sends, receives)
            except BaseException as error:
                # Half of a message may be under way: what follows could not be told from it.
                self._broken = (
                    f"this group cannot be used any more, since an earlier call failed ({error}): make a new one"
                )
                raise

    def _exchange(
        self, what: str, dtype: str, sends: Mapping[int, memoryview], receives: Mapping[int, memoryview]
    ) -> None:
        self.store.check()
        to = {peer: _Sending(self._head(what, dtype, len(data), peer, True), data) for peer, data in sends.items()}
        by = {peer: _Receiving(data) for peer, data in receives.items()}
        last = time.monotonic()
        with selectors.DefaultSelector() as waiting:
            for peer in {*to, *by}:
                waiting.register(self._peers[peer], _events(peer, to, by), peer)
            while waiting.get_map():
                ready = waiting.select(min(1.0, self.timeout))
                for key, events in ready:
                    self._go_on(what, dtype, key, events, to, by)
                    mask = _events(key.data, to, by)
                    if mask:
                        waiting.modify(key.fileobj, mask, key.data)
                    else:
                        waiting.unregister(key.fileobj)
                if ready:
                    last = time.monotonic()
                    continue
                self.store.check()
                if time.monotonic() - last > self.timeout:
                    late = min(key.data for key in waiting.get_map().values())
                    raise GroupTimeoutError(
                        f"process {self.rank} waited {self.timeout:g} s for process {late} in {what}: see whether it "
                        f"lives and calls {what}, too",
                        late,
                    )

    def _go_on(
        self, what: str, dtype: str, key: Any, events: int, to: dict[int, _Sending], by: dict[int, _Receiving]
    ) -> None:
        peer = key.data
        try:
            if events & selectors.EVENT_READ and peer in by:
                taking = by[peer]
                done = taking.go_on(key.fileobj)
                if not taking.known and not taking.parts:
                    self._compare(what, dtype, peer, taking)
                    done = not len(taking.data)
                if done:
                    del by[peer]
            if events & selectors.EVENT_WRITE and peer in to and to[peer].go_on(key.fileobj):
                del to[peer]
        except BlockingIOError:
            return
        except OSError as error:
            time.sleep(0.2)  # The store may know more.
            self.store.check()
            how = "has left the group" if peer in self.store.left else f"is gone ({error})"
            raise GroupError(
                f"process {peer} of {self.count} {how} while process {self.rank} was in {what}", peer
            ) from None

    def _head(self, what: str, dtype: str, nbytes: int, peer: int, sends: bool) -> bytes:
        number = self._calls[sends, peer] = self._calls.get((sends, peer), 0) + 1
        return _HEAD.pack(what.encode(), number, dtype.encode(), nbytes)

    def _compare(self, what: str, dtype: str, peer: int, taking: _Receiving) -> None:
        """Look whether the other process sends what is expected here."""
        expected = self._head(what, dtype, len(taking.data), peer, False)
        taking.known = True
        taking.parts = [taking.data]
        if taking.head == expected:
            return
        theirs, ours = _told(taking.head), _told(expected)
        raise GroupError(
            f"process {self.rank} called {ours} and process {peer} called {theirs}: all call the same functions "
            "in the same order, with arrays of the same size and dtype",
            peer,
        )

    def close(self) -> None:
        """End the connections."""
        self._broken = self._broken or "this group was stopped: make a new one"
        for connection in self._peers.values():
            connection.close()
        self._peers.clear()


def _told(head: bytes | bytearray) -> str:
    what, number, dtype, nbytes = _HEAD.unpack(head)
    return f"{what.rstrip(bytes(1)).decode()} of {nbytes} bytes of {dtype.rstrip(bytes(1)).decode()} (message {number})"


def _events(peer: int, to: Mapping[int, Any], by: Mapping[int, Any]) -> int:
    return selectors.EVENT_WRITE * (peer in to) | selectors.EVENT_READ * (peer in by)


__all__ = ["Mesh"]
