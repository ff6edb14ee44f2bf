"""Strangers at the doors of a group: who has not shown its secret is neither read, nor waited for, nor let in."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time

import numpy
import pytest

import numloom as np
from numloom.distributed import GroupError, door, secret
from numloom.distributed.channel import HELLO, NONCE, REFUSED, Channel, Session, call
from numloom.distributed.exchange import Mesh


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def line(text):
    return struct.pack("<I", len(text)) + text


SAID = {
    "join": line(json.dumps({"do": "join", "rank": 1, "count": 2, "secret": ""}).encode()),
    "deep": line(b"[" * 500_000),
    "not ASCII": line(json.dumps({"do": "join", "rank": 1, "count": 2, "secret": "\u1234"}).encode()),
    "too long": struct.pack("<I", 0xFFFFFFFF) + bytes(1000),
    "no JSON": line(b"\xff\xfe"),
    "cut": line(b"{}" * 50)[:20],
    "web": b"GET / HTTP/1.0\r\n\r\n",
    "zeros": bytes(4096),
    "nothing": b"",
}


def answers(port, said):
    """All that the store says to a stranger who stops talking."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
        with contextlib.suppress(OSError):
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while more := stranger.recv(4096):
                heard += more
    return heard


@pytest.fixture
def half(monkeypatch):
    """Process 0 of two that waits for the other, on a port; ended by the other."""
    monkeypatch.setenv("NUMLOOM_DISTRIBUTED_SECRET", "long and of our choice \u1234")
    port, found = free_port(), []

    def first():
        with np.distributed.init_process_group(2, 0, port=port, timeout=30, backend="tcp") as group:
            found.append(float(group.all_reduce(np.ones(3))[0]))

    thread = threading.Thread(target=first)
    thread.start()
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.01)
    yield port
    try:
        with np.distributed.init_process_group(2, 1, port=port, timeout=30, backend="tcp") as group:
            assert float(group.all_reduce(np.ones(3))[0]) == 2
    finally:
        thread.join()
    assert found == [2.0]


@pytest.mark.parametrize("said", SAID)
def test_a_stranger_hears_nothing_of_the_group(half, said, monkeypatch):
    died = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    heard = answers(half, SAID[said])
    assert len(heard) <= HELLO and b"{" not in heard[NONCE:], heard
    assert not died


def test_silent_strangers_are_no_threads_and_hold_nobody(half):
    before = threading.active_count()
    strangers = []
    try:
        for _ in range(300):
            strangers.append(socket.create_connection(("127.0.0.1", half), timeout=10))
        time.sleep(0.2)
        assert threading.active_count() < before + 9
        still = 0
        for stranger in strangers:
            stranger.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                while stranger.recv(100):
                    pass
                continue
            still += 1
        assert still <= door.MOST + 2
    finally:
        for stranger in strangers:
            stranger.close()


def test_other_secrets_are_refused_at_once(half, monkeypatch):
    start = time.monotonic()
    monkeypatch.setenv("NUMLOOM_DISTRIBUTED_SECRET", "another")
    with pytest.raises(GroupError, match=r"another group.*NUMLOOM_DISTRIBUTED_SECRET") as caught:
        np.distributed.init_process_group(2, 1, port=half, timeout=20, backend="tcp")
    assert "another," not in str(caught.value) and time.monotonic() - start < 5
    monkeypatch.setenv("NUMLOOM_DISTRIBUTED_SECRET", "long and of our choice \u1234")


def test_a_silent_stranger_leaves_the_door_open_for_members_and_is_sent_away(monkeypatch):
    monkeypatch.setattr(door, "PATIENCE", 0.3)
    entry = door.Door("127.0.0.1", 0, b"secret", 2)
    place = ("127.0.0.1", entry.port)
    with socket.create_connection(place) as silent, socket.create_connection(place) as slow:
        slow.sendall(b"x")
        member: list[Channel] = []
        thread = threading.Thread(target=lambda: member.append(call(place, b"secret", 5)))
        start = time.monotonic()
        thread.start()
        (inside,) = entry.admitted(10)
        thread.join()
        assert time.monotonic() - start < 0.25
        inside.send({"a": 1})
        assert member[0].receive() == {"a": 1}
        assert entry.admitted(0.6) == []  # Both have had their time.
        for stranger in (silent, slow):
            stranger.settimeout(5)
            heard = b""
            with contextlib.suppress(ConnectionError):
                while more := stranger.recv(100):
                    heard += more
            assert len(heard) <= NONCE
        inside.close()
        member[0].close()
    entry.close()


def test_a_door_without_descriptors_goes_on(monkeypatch):
    entry = door.Door("127.0.0.1", 0, b"secret", 2)
    place = ("127.0.0.1", entry.port)
    with socket.create_connection(place):
        assert entry.admitted(0.05) == []
        accept = entry._listener.accept

        class Short:
            def __getattr__(self, name):
                return getattr(listener, name)

            def accept(self):
                monkeypatch.undo()
                raise OSError(24, "Too many open files")

        listener = entry._listener
        monkeypatch.setattr(entry, "_listener", Short())
        member = []
        thread = threading.Thread(target=lambda: member.append(call(place, b"secret", 5)))
        thread.start()
        (inside,) = entry.admitted(10)
        thread.join()
        assert accept and not entry._strangers  # The first made room.
        inside.close()
        member[0].close()
    entry.close()


def pair():
    """Two ends of a channel."""
    ends = socket.socketpair()
    session = Session.of(b"secret", b"a" * 32, b"b" * 32)
    channels = (
        Channel(ends[0], session.to_door, session.to_caller),
        Channel(ends[1], session.to_caller, session.to_door),
    )
    for end in ends:
        end.settimeout(0.5)
    return channels


@pytest.mark.parametrize("change", ["data", "seal", "length", "again", "lost", "back", "deep"])
def test_what_is_changed_on_its_way_is_no_message(change):
    one, other = pair()
    wire, tap = socket.socketpair()
    one.connection.close()
    one.connection = wire
    tap.settimeout(0.5)
    sent = []
    for number in range(3):
        one.send({"number": number})
        sent.append(tap.recv(4096))
    first = bytearray(sent[0])
    raw = socket.socketpair()
    raw[1].settimeout(0.5)
    other.connection.close()
    other.connection = raw[1]
    if change == "back":
        raw[0].sendall(first)
        assert one.receive.__func__(Channel(raw[1], b"", one._sends)) == {"number": 0}
        other.send({"mine": 1})
        mirrored = raw[0].recv(4096)
        raw[0].sendall(mirrored)
        assert other.receive() is None
    elif change in ("again", "lost"):
        raw[0].sendall(first)
        assert other.receive() == {"number": 0}
        raw[0].sendall(sent[0 if change == "again" else 2])
        assert other.receive() is None
    elif change == "deep":
        monkey = pytest.MonkeyPatch()
        with monkey.context() as patch:
            patch.setattr("numloom.distributed.channel.json.dumps", lambda message: "[" * 200_000)
            one.send({})
        data = b""
        with contextlib.suppress(TimeoutError):
            while more := tap.recv(1 << 20):
                data += more
        other._received = 3
        threading.Thread(target=raw[0].sendall, args=(data,)).start()
        assert other.receive() is None
    else:
        first[{"data": 8, "seal": -1, "length": 3}[change]] ^= 1
        raw[0].sendall(first)
        assert other.receive() is None


def test_arrays_that_are_changed_on_their_way_are_not_used(together, monkeypatch):
    sent = []

    def work(group):
        if group.rank == 0:
            connection = group._mesh._peers[1].connection

            class Changing:
                def __getattr__(self, name):
                    return getattr(connection, name)

                def fileno(self):
                    return connection.fileno()

                def send(self, data):
                    sent.append(len(data))
                    changed = bytearray(data)
                    if len(sent) == 2:  # The array behind its head.
                        changed[3] ^= 1
                    return connection.send(changed)

            group._mesh._peers[1].connection = Changing()
            group.send(np.arange(5.0), 1)
            return None
        out = np.zeros(5)
        with pytest.raises(GroupError, match="seal does not fit"):
            group.recv(out, 0)
        assert not out.any()
        with pytest.raises(GroupError, match="cannot be used any more"):
            group.recv(out, 0)
        return "told"

    assert together(2, work)[1] == "told"
    assert len(sent) == 3


def test_the_mesh_is_not_held_by_silent_strangers(together, monkeypatch):
    known, strangers = [], []
    begin = Mesh._call

    def late(self, peer, place):
        known.append(place)
        strangers.extend(socket.create_connection(place) for _ in range(4))
        time.sleep(0.1)
        return begin(self, peer, place)

    monkeypatch.setattr(Mesh, "_call", late)
    start = time.monotonic()
    try:
        found = together(3, lambda group: float(group.all_reduce(np.ones(1))[0]))
    finally:
        for stranger in strangers:
            stranger.close()
    assert found == [3.0] * 3 and len(known) == 3
    assert time.monotonic() - start < 4.5


def test_who_answers_as_process_0_must_know_the_secret():
    with socket.create_server(("127.0.0.1", 0)) as false:

        def answer(reply):
            connection, _ = false.accept()
            with connection:
                connection.sendall(bytes(NONCE))
                heard = b""
                while len(heard) < HELLO:
                    heard += connection.recv(HELLO)
                connection.sendall(reply(heard))

        for reply in (lambda heard: heard[:NONCE], lambda heard: heard[NONCE:], lambda heard: REFUSED):
            thread = threading.Thread(target=answer, args=(reply,))
            thread.start()
            with pytest.raises(GroupError, match="another group"):
                call(false.getsockname(), b"secret", 5)
            thread.join()


def test_the_file_is_made_by_process_0_for_its_user_alone(tmp_path):
    place = tmp_path / "place"
    with np.distributed.init_process_group(1, 0, file=place, backend="tcp") as group:
        assert place.stat().st_mode & 0o777 == 0o600 and len(json.loads(place.read_text())["secret"]) == 64
        with pytest.raises(GroupError, match=r"is there already.*delete it"):
            np.distributed.init_process_group(1, 0, file=place, backend="tcp")
        assert group.all_reduce([1]).tolist() == [1]
    assert not place.exists()
    target = tmp_path / "target"
    place.symlink_to(target)
    with pytest.raises(GroupError, match="is there already"):
        np.distributed.init_process_group(1, 0, file=place, backend="tcp")
    assert not target.exists()
    with pytest.raises(GroupError, match="cannot make the file"):
        np.distributed.init_process_group(1, 0, file=tmp_path / "none" / "place", backend="tcp")


def test_files_of_others_are_refused(tmp_path, monkeypatch):
    place = tmp_path / "place"
    place.write_text(json.dumps({"host": "127.0.0.1", "port": 1, "secret": "s"}))
    for mode in (0o666, 0o620, 0o604):
        place.chmod(mode)
        with pytest.raises(GroupError, match=r"0600.*delete it"):
            np.distributed.init_process_group(2, 1, file=place, backend="tcp", timeout=20)
    place.chmod(0o600)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
        with pytest.raises(GroupError, match="belongs to user"):
            np.distributed.init_process_group(2, 1, file=place, backend="tcp", timeout=20)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(GroupError, match="is no file"):
        np.distributed.init_process_group(2, 1, file=tmp_path / "pipe", backend="tcp", timeout=20)
    place.write_text("[" * 60_000)
    with pytest.raises(np.distributed.GroupTimeoutError, match=r"waited 0\.1 s"):
        np.distributed.init_process_group(2, 1, file=place, backend="tcp", timeout=0.1)


def test_a_user_has_a_secret_without_one_in_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMLOOM_DISTRIBUTED_SECRET", raising=False)
    with np.config(cache_dir=str(tmp_path / "cache")):
        found = [secret.known() for _ in range(3)]
        assert len(set(found)) == 1 and len(found[0]) == 64
        kept = tmp_path / "cache-distributed" / "secret"
        assert kept.read_bytes() == found[0]
        assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        monkeypatch.setenv("NUMLOOM_DISTRIBUTED_SECRET", "mine")
        assert secret.known() == b"mine"
        monkeypatch.setenv("NUMLOOM_DISTRIBUTED_SECRET", "")
        assert secret.known() == found[0]
        kept.write_bytes(b"")
        monkeypatch.setattr(secret, "_PATIENCE", 0.05)
        with pytest.raises(GroupError, match="is damaged: delete it"):
            secret.known()
        kept.parent.chmod(0o777)
        with pytest.raises(GroupError, match="NUMLOOM_DISTRIBUTED_SECRET"):
            secret.known()


def test_groups_meet_by_the_secret_of_their_user(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMLOOM_DISTRIBUTED_SECRET", raising=False)
    port, found = free_port(), []

    def join(rank):
        with np.distributed.init_process_group(2, rank, port=port, timeout=30, backend="tcp") as group:
            found.append(group.all_gather(np.asarray([rank])).get())

    with np.config(cache_dir=str(tmp_path / "cache")):
        threads = [threading.Thread(target=join, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    numpy.testing.assert_array_equal(found, [[[0], [1]]] * 2)
