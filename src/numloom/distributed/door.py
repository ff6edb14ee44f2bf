"""Who may come in: one loop over a listener and all who have not shown yet that they know the secret.

A stranger costs a descriptor and some bytes for a few seconds, no thread: nothing waits for it. Where too many wait,
the first of them goes; a member that this happens to calls again.
"""

from __future__ import annotations

import hmac
import selectors
import socket
import time
from dataclasses import dataclass, field

from numloom.distributed.channel import HELLO, NONCE, REFUSED, Channel, Session, nonce, watch

PATIENCE = 5.0
"""Seconds in which who comes shows the secret."""
MOST = 64
"""Strangers that wait at a time, beside the members."""
_BACKLOG = 1024
"""Connections that the system holds for the loop."""


@dataclass(eq=False, slots=True)
class _Stranger:
    connection: socket.socket
    until: float
    nonce: bytes = field(default_factory=nonce)
    said: bytearray = field(default_factory=bytearray)


class Door:
    """A listener that lets in who knows a secret.

    Parameters
    ----------
    host, port : str, int
        Where it listens; port 0 is any.
    secret : bytes
        What who comes must know.
    count : int
        How many are expected.
    """

    def __init__(self, host: str, port: int, secret: bytes, count: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self.closed = False
        self._secret = secret
        self._most = count + MOST
        self._strangers: dict[_Stranger, None] = {}  # who came first is first
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self._listener, selectors.EVENT_READ)

    def admitted(self, timeout: float) -> list[Channel]:
        """Those who have shown the secret by now; waits so many seconds for the first."""
        end = time.monotonic() + timeout
        found: list[Channel] = []
        while not self.closed:
            self._tire()
            first = next(iter(self._strangers), None)
            until = end if first is None else min(end, first.until)
            for key, _ in self._waiting.select(max(until - time.monotonic(), 0)):
                if key.data is None:
                    for _ in range(MOST):
                        if not self._meet():
                            break
                elif key.data in self._strangers:
                    channel = self._hear(key.data)
                    if channel is not None:
                        found.append(channel)
            if found or time.monotonic() >= end:
                break
        return found

    def shut(self) -> None:
        """Let nobody in any more; from any thread. Who calls `admitted` closes the door then."""
        self.closed = True
        self._listener.close()

    def close(self) -> None:
        """Let go of the listener and of all who wait."""
        self.shut()
        for stranger in list(self._strangers):
            self._drop(stranger)
        self._waiting.close()

    def _tire(self) -> None:
        now = time.monotonic()
        for stranger in list(self._strangers):
            if stranger.until > now:
                return
            self._drop(stranger)

    def _meet(self) -> bool:
        """Take a connection and send the nonce; False where there is none."""
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError:
            if not self.closed:  # No descriptors are left, above all.
                self._drop_first()
                time.sleep(0.01)
            return False
        while len(self._strangers) >= self._most:
            self._drop_first()
        stranger = _Stranger(connection, time.monotonic() + PATIENCE)
        try:
            connection.setblocking(False)
            watch(connection).send(stranger.nonce)
            self._waiting.register(connection, selectors.EVENT_READ, stranger)
        except OSError:
            connection.close()
        else:
            self._strangers[stranger] = None
        return True

    def _hear(self, stranger: _Stranger) -> Channel | None:
        """Listen to a stranger: a channel when it has shown the secret."""
        try:
            more = stranger.connection.recv(HELLO - len(stranger.said))
        except BlockingIOError:
            return None
        except OSError:
            more = b""
        stranger.said += more
        if more and len(stranger.said) < HELLO:
            return None
        if not more:
            self._drop(stranger)
            return None
        proof = bytes(stranger.said[NONCE:])
        session = Session.of(self._secret, stranger.nonce, bytes(stranger.said[:NONCE]))
        knows = hmac.compare_digest(proof, session.caller_proof)
        try:
            stranger.connection.send(session.door_proof if knows else REFUSED)
        except OSError:
            knows = False
        if not knows:
            self._drop(stranger)
            return None
        del self._strangers[stranger]
        self._waiting.unregister(stranger.connection)
        stranger.connection.settimeout(PATIENCE)
        return Channel(stranger.connection, session.to_caller, session.to_door)

    def _drop(self, stranger: _Stranger) -> None:
        del self._strangers[stranger]
        self._waiting.unregister(stranger.connection)
        stranger.connection.close()

    def _drop_first(self) -> None:
        first = next(iter(self._strangers), None)
        if first is not None:
            self._drop(first)


__all__ = ["MOST", "PATIENCE", "Door"]
