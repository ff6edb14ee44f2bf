"""How processes find each other: a store in process 0 that all are connected to while they live.

Its address is given (host and port), or stands in a file that process 0 makes. All know a secret (`secret.py`), and
nothing is read from who does not (`door.py`). A connection that ends without a farewell is a process that is gone, of
which all others are told.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from numloom.distributed import secret as secret_of
from numloom.distributed.channel import Channel, call
from numloom.distributed.door import Door
from numloom.distributed.errors import GroupError, GroupTimeoutError

_PAUSE = 0.05
_LOOK = 0.5


class _Server:
    """The store itself, in threads of process 0."""

    def __init__(self, host: str, port: int, count: int, secret: bytes) -> None:
        self.count = count
        self.token = secrets.token_hex(16)
        self._values: dict[str, Any] = {}
        self._waiting: dict[str, list[int]] = {}
        self._members: dict[int, Channel] = {}
        self._left: set[int] = set()
        self._lock = threading.RLock()
        self._door = Door(host, port, secret, count)
        self.port = self._door.port
        threading.Thread(target=self._accept, name="numloom-store", daemon=True).start()

    def close(self) -> None:
        self._door.shut()

    def _accept(self) -> None:
        while not self._door.closed:
            for channel in self._door.admitted(_LOOK):
                threading.Thread(target=self._serve, args=(channel,), name="numloom-store", daemon=True).start()
        self._door.close()

    def _serve(self, channel: Channel) -> None:
        rank = self._admit(channel, channel.receive())
        if rank < 0:
            channel.close()
            return
        channel.connection.settimeout(None)
        while (message := channel.receive()) is not None and message.get("do") != "leave":
            self._answer(rank, message)
        with self._lock:
            self._members.pop(rank, None)
            channel.close()
            self._left.add(rank)
            if message is None or message.get("why"):
                how = "its connection ended" if message is None else f"it ended with {message['why']}"
                self._tell({"gone": rank, "how": how})
            else:
                self._tell({"left": rank})
            if len(self._left) == self.count:
                self.close()

    def _admit(self, channel: Channel, hello: dict[str, Any] | None) -> int:
        """The rank of who comes; -1 for one who does not fit, or is there already."""
        if hello is None or hello.get("do") != "join":
            return -1
        why = ""
        rank = hello.get("rank")
        if hello.get("count") != self.count:
            why = f"process 0 has n_devices={self.count}, this one {hello.get('count')}"
        elif not isinstance(rank, int) or not 0 <= rank < self.count:
            why = f"rank {rank} is none of {self.count}"
        with self._lock:
            if not why and (rank in self._members or rank in self._left):
                why = f"another process has rank {rank}: each needs its own"
            try:
                channel.send({"refused": why} if why else {"joined": rank, "token": self.token})
            except OSError:
                return -1
            if why:
                return -1
            assert isinstance(rank, int)
            self._members[rank] = channel
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
        channel = self._members.get(rank)
        if channel is not None:
            try:
                channel.send(message)
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
        A file that says where the store is, with the secret: process 0 makes it, and takes any free port of `host`.
    timeout : float
        Seconds to wait for process 0, and for a value.

    Attributes
    ----------
    gone : dict of int to str
        Processes that ended without leaving, and how.
    left : set of int
        Those that left as they should.
    token : str
        What tells this group from others of the same secret.
    """

    def __init__(self, count: int, rank: int, host: str, port: int, file: str | None, timeout: float) -> None:
        self.count, self.rank = count, rank
        self.gone: dict[int, str] = {}
        self.left: set[int] = set()
        self._listeners: list[Callable[[int], None]] = []
        self._values: dict[str, Any] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._file: str | None = None  # what this process has made
        self._server = None
        end = time.monotonic() + timeout
        self._secret = secret_of.known() if file is None and count > 1 else secret_of.fresh()
        if rank == 0:
            try:
                self._server = _Server(host, 0 if file else port, count, self._secret)
            except OSError as error:
                raise GroupError(f"process 0 cannot listen at {host}:{port} ({error}): choose another port") from error
            port = self._server.port
            if file:
                self._announce(file, host, port)
        self._channel = self._join(host, port, file if rank else None, end, timeout)
        threading.Thread(target=self._read, name="numloom-store-reader", daemon=True).start()

    def _announce(self, file: str, host: str, port: int) -> None:
        """Make the file that the others look for."""
        assert self._server is not None
        try:
            secret_of.make(file, json.dumps({"host": host, "port": port, "secret": self._secret.decode()}).encode())
        except OSError as error:
            self._server.close()
            if isinstance(error, FileExistsError):
                raise GroupError(
                    f"process 0 makes the file {file}, and it is there already, of another group or of one that was "
                    "killed: delete it, or name another"
                ) from error
            raise GroupError(f"process 0 cannot make the file {file} ({error}): name another") from error
        self._file = file

    def _join(self, host: str, port: int, file: str | None, end: float, timeout: float) -> Channel:
        why = ""
        where = f"file {file}" if file else f"{host}:{port}"
        while True:
            try:
                if file:
                    host, port, self._secret = _announced(secret_of.read(file))
                channel = call((host, port), self._secret, max(end - time.monotonic(), 0.1))
            except GroupError as error:  # An old file may be replaced by a new one.
                if not file or "another group" not in str(error):
                    raise GroupError(
                        f"process {self.rank} cannot join the group at {where}: {error}", self.rank
                    ) from None
                why = str(error)
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                why = f"{type(error).__name__}: {error}"
            else:
                answer = self._greet(channel)
                if answer is not None and "joined" in answer:
                    self.token = str(answer["token"])
                    channel.connection.settimeout(None)
                    return channel
                channel.close()
                if answer is not None:
                    raise GroupError(
                        f"process {self.rank} cannot join the group at {where}: {answer.get('refused')}", self.rank
                    )
                why = "its connection ended"
            if time.monotonic() > end:
                raise GroupTimeoutError(
                    f"process {self.rank} waited {timeout:g} s for process 0 at {where} ({why}): start it, with the "
                    "same place",
                    0,
                )
            time.sleep(_PAUSE)

    def _greet(self, channel: Channel) -> dict[str, Any] | None:
        """What the store says to this process."""
        try:
            channel.send({"do": "join", "rank": self.rank, "count": self.count})
        except OSError:
            return None
        return channel.receive()

    @property
    def secret(self) -> bytes:
        """What the processes of this very group know."""
        return hmac.digest(self._secret, self.token.encode(), "sha256")

    @property
    def address(self) -> str:
        """Where the store reaches this machine."""
        return str(self._channel.connection.getsockname()[0])

    def _read(self) -> None:
        while (message := self._channel.receive()) is not None:
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
            self._channel.send({"do": "set", "key": key, "value": value})
        except OSError:
            self._lose(0, "its connection ended")
            self.check()

    def get(self, key: str, timeout: float, doing: str, peer: int = -1) -> Any:
        """What some process has `set`; waits for it."""
        end = time.monotonic() + timeout
        try:
            self._channel.send({"do": "get", "key": key})
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
            self._channel.send({"do": "leave", "why": why})
        except OSError:
            pass
        # The reader ends when the store closes the connection; process 0's store ends when all have left.
        if self._file and self.rank == 0:
            try:
                os.unlink(self._file)
            except OSError:
                pass


def _announced(content: bytes) -> tuple[str, int, bytes]:
    """Host, port and secret of a file that process 0 made."""
    found = json.loads(content)
    return str(found["host"]), int(found["port"]), str(found["secret"]).encode()


__all__ = ["RendezvousStore"]
