"""Bytes between the processes of a group, over connections of their own: who sends and who receives at once never waits
for itself.

Before the bytes goes a head that says what they are for. Processes that call different things, or with different sizes,
are told so. After them goes a seal over head and bytes; what does not fit its seal is not used.
"""

from __future__ import annotations

import hmac
import selectors
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from numloom.distributed.channel import SEAL, Channel, call
from numloom.distributed.door import Door
from numloom.distributed.errors import GroupError, GroupTimeoutError
from numloom.distributed.rendezvous import RendezvousStore

_HEAD = struct.Struct("<24sQ16sQ")
"""What is called, the how manieth call it is, the dtype, and bytes."""
_CHUNK = 1 << 20
_PAUSE = 0.05


class _Sending:
    """What is left to send to one process."""

    def __init__(self, head: bytes, data: memoryview, seal: hmac.HMAC) -> None:
        self.parts = [memoryview(head), data]
        self.seal: hmac.HMAC | None = seal

    def go_on(self, connection: socket.socket) -> bool:
        """Send what goes; True when all is sent."""
        while self.parts:
            part = self.parts[0]
            if len(part):
                sent = connection.send(part[:_CHUNK])
                if self.seal is not None:
                    self.seal.update(part[:sent])
                self.parts[0] = part[sent:]
                if sent < min(len(part), _CHUNK):
                    return False
                continue
            self.parts.pop(0)
            if not self.parts and self.seal is not None:
                self.parts, self.seal = [memoryview(self.seal.digest())], None
        return True


class _Receiving:
    """What is left to receive from one process."""

    def __init__(self, data: memoryview, seal: hmac.HMAC) -> None:
        self.head, self.theirs = bytearray(_HEAD.size), bytearray(SEAL)
        self.data = data
        self.parts = [memoryview(self.head)]
        self.seal = seal
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
            if not self.known or len(self.parts) > 1:  # All but the seal itself.
                self.seal.update(part[:got])
            self.parts[0] = part[got:]
        return True

    def accept(self) -> None:
        """Go on behind the head."""
        self.known = True
        self.parts = [self.data, memoryview(self.theirs)]

    @property
    def sound(self) -> bool:
        """Whether the seal fits, when all is received."""
        return hmac.compare_digest(self.seal.digest(), self.theirs)


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
        self._peers: dict[int, Channel] = {}
        self._calls: dict[Any, int] = {}
        self._broken = ""
        self._lock = threading.Lock()
        if self.count > 1:
            self._connect()

    def _connect(self) -> None:
        """A connection to each other process: the later one calls."""
        host = self.store.address
        door = Door(host, 0, self.store.secret, self.count)
        try:
            self.store.set(f"address of {self.rank}", [host, door.port])
            for peer in range(self.rank):
                there = self.store.get(f"address of {peer}", self.timeout, f"for the address of process {peer}", peer)
                self._peers[peer] = self._call(peer, (str(there[0]), int(there[1])))
            end = time.monotonic() + self.timeout
            while len(self._peers) < self.count - 1:
                self.store.check()
                for channel in door.admitted(min(1.0, max(end - time.monotonic(), 0.01))):
                    hello = channel.receive()
                    peer = -1 if hello is None else int(hello["rank"])
                    if peer in range(self.rank + 1, self.count) and peer not in self._peers:
                        self._peers[peer] = channel
                    else:
                        channel.close()
                if time.monotonic() > end and len(self._peers) < self.count - 1:
                    missing = sorted(set(range(self.count)) - {self.rank, *self._peers})
                    raise GroupTimeoutError(
                        f"process {self.rank} waited {self.timeout:g} s for processes {missing}", missing[0]
                    )
        finally:
            door.close()
        for channel in self._peers.values():
            channel.connection.setblocking(False)

    def _call(self, peer: int, place: tuple[str, int]) -> Channel:
        """A connection to a process that listens; strangers at its door may come between."""
        end = time.monotonic() + self.timeout
        while True:
            try:
                channel = call(place, self.store.secret, max(end - time.monotonic(), 0.1))
                channel.send({"rank": self.rank})
                return channel
            except OSError as error:
                self.store.check()
                if time.monotonic() > end:
                    raise GroupTimeoutError(
                        f"process {self.rank} cannot reach process {peer} at {place[0]}:{place[1]} ({error})", peer
                    ) from error
                time.sleep(_PAUSE)

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
        to = {
            peer: _Sending(self._head(what, dtype, len(data), peer, True), data, self._peers[peer].sealing())
            for peer, data in sends.items()
        }
        by = {peer: _Receiving(data, self._peers[peer].sealed()) for peer, data in receives.items()}
        last = time.monotonic()
        with selectors.DefaultSelector() as waiting:
            for peer in {*to, *by}:
                waiting.register(self._peers[peer].connection, _events(peer, to, by), peer)
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
                if done:
                    if not taking.sound:
                        raise GroupError(
                            f"what process {peer} sent to process {self.rank} in {what} was changed on its way: its "
                            "seal does not fit. See who can write to this network",
                            peer,
                        )
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
        taking.accept()
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
        for channel in self._peers.values():
            channel.close()
        self._peers.clear()


def _told(head: bytes | bytearray) -> str:
    what, number, dtype, nbytes = _HEAD.unpack(head)
    texts = [text.rstrip(bytes(1)).decode(errors="replace") for text in (what, dtype)]
    return f"{texts[0]} of {nbytes} bytes of {texts[1]} (message {number})"


def _events(peer: int, to: Mapping[int, Any], by: Mapping[int, Any]) -> int:
    return selectors.EVENT_WRITE * (peer in to) | selectors.EVENT_READ * (peer in by)


__all__ = ["Mesh"]
