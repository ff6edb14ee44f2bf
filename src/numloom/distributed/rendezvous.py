"""How processes find each other: a store in process 0 that all are connected to while they live.

Its address is given (host and port), or stands in a file that process 0 writes. A message is a line of JSON with its
length before it; nothing that comes is ever run as code. A connection that ends without a farewell is a process that is
gone, of which all others are told.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from numloom.distributed.errors import GroupError, GroupTimeoutError

_LENGTH = struct.Struct("<I")
_MOST = 1 << 20
_PAUSE = 0.05
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


def send_message(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send a message."""
    data = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive_message(connection: socket.socket) -> dict[str, Any] | None:
    """The next message; None at the end of the connection."""
    head = _receive(connection, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _MOST:
        return None
    data = _receive(connection, length)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _receive(connection: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        try:
            more = connection.recv(count - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return bytes(data)


class _Server:
    """The store itself, in threads of process 0."""

    def __init__(self, host: str, port: int, count: int) -> None:
        self.count = count
        self.secret = ""
        self.token = secrets.token_hex(16)
        self._values: dict[str, Any] = {}
        self._waiting: dict[str, list[int]] = {}
        self._members: dict[int, socket.socket] = {}
        self._left: set[int] = set()
        self._lock = threading.RLock()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=count + 8)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, name="numloom-store", daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(watch(connection),), name="numloom-store", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        hello = receive_message(connection)
        rank = self._admit(connection, hello)
        if rank < 0:
            connection.close()
            return
        connection.settimeout(None)
        while (message := receive_message(connection)) is not None and message.get("do") != "leave":
            self._answer(rank, message)
        with self._lock:
            self._members.pop(rank, None)
            connection.close()
            self._left.add(rank)
            if message is None or message.get("why"):
                how = "its connection ended" if message is None else f"it ended with {message['why']}"
                self._tell({"gone": rank, "how": how})
            else:
                self._tell({"left": rank})
            if len(self._left) == self.count:
                self.close()

    def _admit(self, connection: socket.socket, hello: dict[str, Any] | None) -> int:
        """The rank of who comes; -1 for a stranger, or for one who is there already."""
        if hello is None or hello.get("do") != "join":
            return -1
        why = ""
        rank = hello.get("rank")
        if not hmac.compare_digest(str(hello.get("secret", "")), self.secret):
            why = "it belongs to another group: start all processes with the same host and port, or the same file"
        elif hello.get("count") != self.count:
            why = f"process 0 has n_devices={self.count}, this one {hello.get('count')}"
        elif not isinstance(rank, int) or not 0 <= rank < self.count:
            why = f"rank {rank} is none of {self.count}"
        with self._lock:
            if not why and (rank in self._members or rank in self._left):
                why = f"another process has rank {rank}: each needs its own"
            try:
                send_message(connection, {"refused": why} if why else {"joined": rank, "token": self.token})
            except OSError:
                return -1
            if why:
                return -1
            assert isinstance(rank, int)
            self._members[rank] = connection
        return rank

    def _answer(self, rank: int, message: dict[str, Any]) -> None:
        key = str(message.get("key"))
        with self._lock:
            if message.get("do") == "set":
                self._values[key] = message.get("value")
                for waiting in self._waiting.pop(key, []):
                    self._send(waiting, {"key": key, "value": message.get("value")})
            elif key in self._values:
                self._send(rank, {"key": key, "value": self._values[key]})
            else:
                self._waiting.setdefault(key, []).append(rank)

    def _send(self, rank: int, message: dict[str, Any]) -> None:
        connection = self._members.get(rank)
        if connection is not None:
            try:
                send_message(connection, message)
            except OSError:
                pass  # Its own thread will notice.

    def _tell(self, message: dict[str, Any]) -> None:
        for rank in list(self._members):
            self._send(rank, message)


class RendezvousStore:
    """A process's connection to the store of its group.

    Parameters
    ----------
    count, rank : int
        How many processes there are, and this one's number; number 0 keeps the store.
    host, port : str, int
        Where the store is.
    file : str, optional
        A file that says where the store is: process 0 writes it, and takes any free port of `host`.
    timeout : float
        Seconds to wait for process 0, and for a value.

    Attributes
    ----------
    gone : dict of int to str
        Processes that ended without leaving, and how.
    left : set of int
        Those that left as they should.
    token : str
        What tells processes of this group from strangers.
    """

    def __init__(self, count: int, rank: int, host: str, port: int, file: str | None, timeout: float) -> None:
        self.count, self.rank = count, rank
        self.gone: dict[int, str] = {}
        self.left: set[int] = set()
        self._listeners: list[Callable[[int], None]] = []
        self._values: dict[str, Any] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._file = file
        self._server = None
        end = time.monotonic() + timeout
        secret = ""
        if rank == 0:
            try:
                self._server = _Server(host, 0 if file else port, count)
            except OSError as error:
                raise GroupError(f"process 0 cannot listen at {host}:{port} ({error}): choose another port") from error
            port = self._server.port
            if file:
                secret = self._server.secret = secrets.token_hex(16)
                _write(file, {"host": host, "port": port, "secret": secret})
        self._connection = self._join(host, port, secret, file if rank else None, end, timeout)
        threading.Thread(target=self._read, name="numloom-store-reader", daemon=True).start()

    def _join(self, host: str, port: int, secret: str, file: str | None, end: float, timeout: float) -> socket.socket:
        why = ""
        where = f"file {file}" if file else f"{host}:{port}"
        while True:
            try:
                if file:
                    with open(file, encoding="utf-8") as text:
                        found = json.load(text)
                    host, port, secret = str(found["host"]), int(found["port"]), str(found["secret"])
                connection = watch(socket.create_connection((host, port), timeout=max(end - time.monotonic(), 0.1)))
                hello = {"do": "join", "rank": self.rank, "count": self.count, "secret": secret}
                send_message(connection, hello)
                answer = receive_message(connection)
                if answer is not None and "joined" in answer:
                    self.token = str(answer["token"])
                    connection.settimeout(None)
                    return connection
                connection.close()
                why = str(answer.get("refused", "")) if answer is not None else "what listens there is no group of ours"
                if answer is not None and not (file and "another group" in why):
                    raise GroupError(f"process {self.rank} cannot join the group at {where}: {why}", self.rank)
            except (OSError, ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
            if time.monotonic() > end:
                raise GroupTimeoutError(
                    f"process {self.rank} waited {timeout:g} s for process 0 at {where} ({why}): start it, with the "
                    "same place",
                    0,
                )
            time.sleep(_PAUSE)

    @property
    def address(self) -> str:
        """Where the store reaches this machine."""
        return str(self._connection.getsockname()[0])

    def _read(self) -> None:
        while (message := receive_message(self._connection)) is not None:
            with self._changed:
                if "key" in message:
                    self._values[message["key"]] = message["value"]
                self._changed.notify_all()
            if "left" in message:
                self.left.add(int(message["left"]))
            if "gone" in message:
                self._lose(int(message["gone"]), str(message.get("how")))
        if not self._closed and 0 not in self.left:
            self._lose(0, "its connection ended")

    def _lose(self, rank: int, how: str) -> None:
        with self._changed:
            if rank in self.gone or self._closed:
                return
            self.gone[rank] = how
            self._changed.notify_all()
        for listener in list(self._listeners):
            listener(rank)

    def on_loss(self, listener: Callable[[int], None]) -> None:
        """Have a function called, in another thread, with the number of each process that is gone."""
        self._listeners.append(listener)
        for rank in list(self.gone):
            listener(rank)

    def check(self) -> None:
        """Raise if a process is gone."""
        for rank, how in self.gone.items():
            raise GroupError(
                f"process {rank} of {self.count} is gone ({how}): see its own output, and start all of them again", rank
            )

    def set(self, key: str, value: Any) -> None:
        """Let others know something that JSON can hold."""
        try:
            send_message(self._connection, {"do": "set", "key": key, "value": value})
        except OSError:
            self._lose(0, "its connection ended")
            self.check()

    def get(self, key: str, timeout: float, doing: str, peer: int = -1) -> Any:
        """What some process has `set`; waits for it."""
        end = time.monotonic() + timeout
        try:
            send_message(self._connection, {"do": "get", "key": key})
        except OSError:
            self._lose(0, "its connection ended")
        with self._changed:
            while key not in self._values:
                self.check()
                left = end - time.monotonic()
                if left <= 0:
                    raise GroupTimeoutError(f"process {self.rank} waited {timeout:g} s {doing}", peer)
                self._changed.wait(min(left, 1.0))
            return self._values.pop(key)

    def close(self, why: str = "") -> None:
        """Leave the group; `why` says to the others that it should not have been."""
        if self._closed:
            return
        self._closed = True
        try:
            send_message(self._connection, {"do": "leave", "why": why})
        except OSError:
            pass
        # The reader ends when the store closes the connection; process 0's store ends when all have left.
        if self._file and self.rank == 0:
            try:
                os.unlink(self._file)
            except OSError:
                pass


def _write(file: str, value: Any) -> None:
    """Write a small file so that who reads it finds all of it or nothing; for this user alone."""
    beside = f"{file}.{os.getpid()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as text:
        json.dump(value, text)
    os.replace(beside, file)


__all__ = ["RendezvousStore", "receive_message", "send_message", "watch"]
