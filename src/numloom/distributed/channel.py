"""A connection whose two ends have shown each other that they know the group's secret, and what is said over it.

Each end sends bytes that are used once and proves by HMAC-SHA256 over both that it knows the secret, which itself never
travels; nothing is looked into of who has not. `multiprocessing.connection` does the like, but waits for a silent
stranger without end and seals nothing that follows. Here all that follows carries a seal: HMAC by a key of this
connection and direction, over what is sent and its number, so that nothing can be changed, left out or sent again.
It is not encrypted.

A message is a line of JSON between its length and its seal; nothing that comes is ever run as code.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any

from numloom.distributed.errors import GroupError

NONCE = SEAL = 32
HELLO = NONCE + SEAL
"""Bytes of the first words of who comes: its nonce and its proof."""
REFUSED = bytes(SEAL)
_LENGTH, _NUMBER = struct.Struct("<I"), struct.Struct("<Q")
_MOST = 1 << 20
_PATIENCE = 5.0
_HASH = "sha256"
_ALIVE = (
    (socket.SO_KEEPALIVE, None, 1),
    (None, "TCP_KEEPIDLE", 5),
    (None, "TCP_KEEPINTVL", 5),
    (None, "TCP_KEEPCNT", 3),
)


def watch(connection: socket.socket) -> socket.socket:
    """Have a connection notice within half a minute that the other machine is gone, and send small messages at once."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, name, value in _ALIVE:
        if option is not None:
            connection.setsockopt(socket.SOL_SOCKET, option, value)
        elif name is not None and hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return connection


def nonce() -> bytes:
    """Bytes that are used once."""
    return secrets.token_bytes(NONCE)


@dataclass(frozen=True, slots=True)
class Session:
    """What a secret and the nonces of both ends give: proofs of knowing it, and keys of both directions."""

    caller_proof: bytes
    door_proof: bytes
    to_door: bytes
    to_caller: bytes

    @classmethod
    def of(cls, secret: bytes, door: bytes, caller: bytes) -> Session:
        """The session of two nonces."""
        root = hmac.digest(secret, b"numloom group 1" + door + caller, _HASH)
        return cls(*(hmac.digest(root, name, _HASH) for name in (b"caller", b"door", b"to door", b"to caller")))


class Channel:
    """Sealed messages over a connection.

    Parameters
    ----------
    connection : socket
        It belongs to the channel from now on.
    sends, receives : bytes
        The keys of both directions.
    """

    def __init__(self, connection: socket.socket, sends: bytes, receives: bytes) -> None:
        self.connection = connection
        self._sends, self._receives = sends, receives
        self._sent = self._received = 0
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        data = json.dumps(message).encode()
        if len(data) > _MOST:
            raise ValueError(f"a message has {len(data)} bytes, the most are {_MOST}")
        with self._lock:
            self._sent += 1
            seal = hmac.digest(self._sends, b"message" + _NUMBER.pack(self._sent) + data, _HASH)
            self.connection.sendall(_LENGTH.pack(len(data)) + data + seal)

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the connection, and for what no member of the group sends."""
        head = receive_bytes(self.connection, _LENGTH.size)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head)
        data = receive_bytes(self.connection, length + SEAL) if length <= _MOST else None
        if data is None:
            return None
        self._received += 1
        data, seal = data[:length], data[length:]
        if not hmac.compare_digest(
            seal, hmac.digest(self._receives, b"message" + _NUMBER.pack(self._received) + data, _HASH)
        ):
            return None
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def sealing(self) -> hmac.HMAC:
        """The seal of what is sent here beside messages; it is told all that is sent."""
        return hmac.new(self._sends, b"array", _HASH)

    def sealed(self) -> hmac.HMAC:
        """The seal of what is received here beside messages."""
        return hmac.new(self._receives, b"array", _HASH)

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


def call(place: tuple[str, int], secret: bytes, timeout: float) -> Channel:
    """A channel to a door of this group.

    Raises
    ------
    GroupError
        If the other end has another secret.
    OSError
        If nobody listens, or does not answer as a door of ours.
    """
    connection = watch(socket.create_connection(place, timeout=timeout))
    try:
        connection.settimeout(min(timeout, _PATIENCE))
        door = receive_bytes(connection, NONCE)
        if door is None:
            raise ConnectionError("what listens there is no group of ours")
        mine = nonce()
        session = Session.of(secret, door, mine)
        connection.sendall(mine + session.caller_proof)
        answer = receive_bytes(connection, SEAL)
        if answer is None:
            raise ConnectionError("what listens there is no group of ours")
        if not hmac.compare_digest(answer, session.door_proof):
            raise GroupError(
                "it belongs to another group, or to another user: start all processes with the same host, port and "
                "NUMLOOM_DISTRIBUTED_SECRET, or the same file"
            )
        connection.settimeout(timeout)
        return Channel(connection, session.to_door, session.to_caller)
    except BaseException:
        connection.close()
        raise


def receive_bytes(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes, within the connection's timeout; None where they do not come."""
    patience = connection.gettimeout()
    end = None if patience is None else time.monotonic() + patience
    data = bytearray()
    try:
        while len(data) < count:
            if end is not None and time.monotonic() > end:
                return None  # One byte now and then is no answer.
            more = connection.recv(count - len(data))
            if not more:
                return None
            data += more
    except OSError:
        return None
    return bytes(data)


__all__ = ["HELLO", "NONCE", "REFUSED", "SEAL", "Channel", "Session", "call", "nonce", "watch"]
