"""Temporary files go with their maker: at its exit, and after it was killed at the next start of a compile."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from compilers import needed
from numloom.device import temporary
from numloom.device.cache import TEMPORARY, DiskCache, key_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """The system's folder for temporary files."""
    folder = tmp_path / "system"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_by_another(system, number=0, kernel=None, age=0.0):
    """What a process that is gone would have left."""
    path = system / f"numloom-{kernel or temporary.kernel()}-{number:08d}"
    (path / "inside").mkdir(parents=True)
    (path / "inside" / "kernel.cpp").write_text("text")
    path.chmod(0o700)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


HEAD = "import os, signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"


def start(program, system, **more):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(system), **more}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + program], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def done(process):
    output, error = process.communicate(timeout=60)
    return process.returncode, output, error


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.02)
    return False


# ---------------------------------------------------------------- makers


def test_a_folder_and_a_file_are_private_and_go(system):
    with temporary.folder() as folder, temporary.file(".so") as (handle, path):
        assert sorted(os.listdir(system)) == sorted(map(os.path.basename, (folder, path)))
        assert os.stat(folder).st_mode & 0o777 == 0o700 and os.stat(path).st_mode & 0o777 == 0o600
        os.write(handle, b"x")
        Path(folder, "x").touch()
        temporary.sweep(str(system))
        assert len(os.listdir(system)) == 2
    assert os.listdir(system) == []


def test_descriptors_are_closed(system):
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with temporary.folder(), temporary.file(".so"):
            pass
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_an_error_removes_it_too(system):
    with pytest.raises(ZeroDivisionError), temporary.folder():
        raise ZeroDivisionError
    assert os.listdir(system) == []


MAKING = {
    "folder": "with temporary.folder() as path:\n open(path + '/x', 'w').close(); ",
    "file": "with temporary.file('.so') as (_, path):\n ",
}


@pytest.mark.parametrize("what", MAKING)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_live_owner_s_is_left_alone_and_a_dead_one_s_swept(what, how, system):
    process = start(
        f"from numloom.device import temporary\n{MAKING[what]}print(path, flush=True); time.sleep(60)", system
    )
    path = process.stdout.readline().strip()
    temporary.sweep(str(system))
    assert os.path.exists(path)
    process.send_signal(how)
    assert process.wait(20) == -how
    assert os.path.exists(path) == (how != signal.SIGINT)
    temporary.sweep(str(system))
    assert os.listdir(system) == []
    done(process)


def test_exit_removes_what_a_thread_has_in_use(system):
    program = """
import threading
from numloom.device import temporary
def work():
    with temporary.folder(), temporary.file(".so"):
        ready.set()
        time.sleep(60)
ready = threading.Event()
threading.Thread(target=work, daemon=True).start()
ready.wait()
"""
    assert done(start(program, system)) == (0, "", "")
    assert os.listdir(system) == []


@pytest.mark.parametrize("way", ["sys.exit()", "os._exit(0)"])
def test_a_forked_child_removes_nothing_of_its_parent_s(way, system):
    program = f"""
from numloom.device import temporary
with temporary.folder() as path:
    child = os.fork()
    if not child:
        {way}
    os.waitpid(child, 0)
    print(os.path.exists(path))
"""
    code, output, error = done(start(program, system))
    assert (code, output.split(), error) == (0, ["True"], "")
    assert os.listdir(system) == []


def test_a_forked_child_does_not_hold_its_parent_s(system):
    program = """
from numloom.device import temporary
with temporary.folder() as path:
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        time.sleep(60)
        os._exit(0)
    time.sleep(60)
"""
    process = start(program, system)
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.wait()
        assert len(os.listdir(system)) == 1
        temporary.sweep(str(system))
        assert os.listdir(system) == []
    finally:
        os.kill(child, signal.SIGKILL)
    done(process)


def test_a_compiler_holds_the_folder_that_it_works_in(system):
    program = """
from numloom.device import temporary
from numloom.device.cpu import process
process._watcher = lambda: None  # which would end the compiler
with temporary.folder() as path:
    compiler = process.Process(["sh", "-c", "echo x > $TMPDIR/x.o; sleep 300"], path)
    print(compiler.process.pid, flush=True)
    compiler.wait()
"""
    process = start(program, system)
    compiler = int(process.stdout.readline())
    try:
        (folder,) = system.iterdir()
        assert wait_for(lambda: (folder / "x.o").exists())  # in the folder, not beside it
        process.kill()
        process.wait()
        temporary.sweep(str(system))
        assert folder.exists()
    finally:
        os.killpg(compiler, signal.SIGKILL)

    def swept():
        temporary.sweep(str(system))
        return os.listdir(system) == []

    assert wait_for(swept)
    done(process)


def test_what_is_swept_before_it_is_locked_is_made_again(system, monkeypatch):
    lock = temporary.fcntl.flock
    calls = []

    def late(handle, how):
        calls.append(handle)
        if len(calls) == 1:
            temporary.sweep(str(system))
        elif len(calls) > 2:
            return lock(handle, how)
        return None

    monkeypatch.setattr(temporary.fcntl, "flock", late)
    monkeypatch.setattr(temporary, "_swept", {str(system)})
    with temporary.folder() as folder:
        assert os.path.isdir(folder) and os.listdir(system) == [os.path.basename(folder)] and len(calls) == 3


# ---------------------------------------------------------------- the sweep


def test_the_first_folder_of_a_process_sweeps_and_no_file_does(system, monkeypatch):
    monkeypatch.setattr(temporary, "_swept", set())
    left_by_another(system, 1)
    with temporary.file(".so"):
        assert len(os.listdir(system)) == 2
    with temporary.folder():
        assert len(os.listdir(system)) == 1
    left_by_another(system, 2)
    with temporary.folder():
        assert len(os.listdir(system)) == 2


def test_a_sweep_is_bounded(system, monkeypatch):
    for number in range(5):
        left_by_another(system, number)
    monkeypatch.setattr(temporary, "SWEEP_SECONDS", -1.0)
    temporary.sweep(str(system))
    assert len(os.listdir(system)) == 4


def test_a_folder_that_is_not_there_has_nothing_to_sweep(system):
    temporary.sweep(str(system / "missing"))


def test_links_are_not_followed(system, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "x").write_text("x")
    link = system / f"numloom-{temporary.kernel()}-abcdefgh"
    link.symlink_to(kept)
    dangling = system / f"numloom-{temporary.kernel()}-abcdefgi.so"
    dangling.symlink_to(tmp_path / "missing")
    left = left_by_another(system)
    (left / "folder").symlink_to(kept)
    (left / "file").symlink_to(kept / "x")
    temporary.sweep(str(system))
    assert sorted(os.listdir(system)) == sorted([link.name, dangling.name]) and (kept / "x").read_text() == "x"


def test_what_is_not_ours_stays(system):
    for name in ("numloom-", "numloom-notes", "numloom-emulation-abcdefgh", "numloom-0123abcd-abcdefgh.txt"):
        (system / name).mkdir(0o700)
        os.utime(system / name, (0, 0))
    open_to_others = left_by_another(system, 1)
    open_to_others.chmod(0o777)
    os.mkfifo(system / f"numloom-{temporary.kernel()}-abcdefgh", 0o600)
    before = sorted(os.listdir(system))
    temporary.sweep(str(system))
    assert sorted(os.listdir(system)) == before and (open_to_others / "inside" / "kernel.cpp").exists()


def test_what_belongs_to_another_user_stays(system, monkeypatch):
    left_by_another(system)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    temporary.sweep(str(system))
    assert len(os.listdir(system)) == 1


def test_what_another_machine_made_stays_for_a_day(system):
    young = left_by_another(system, 1, "00000000", temporary.STALE_SECONDS / 2)
    left_by_another(system, 2, "00000000", temporary.STALE_SECONDS * 2)
    locked = left_by_another(system, 3, "00000000", temporary.STALE_SECONDS * 2)
    holder = os.open(locked, os.O_RDONLY)
    try:
        temporary.fcntl.flock(holder, temporary.fcntl.LOCK_EX)
        temporary.sweep(str(system))
        assert sorted(os.listdir(system)) == sorted([young.name, locked.name])
    finally:
        os.close(holder)


def test_without_locks_age_decides(system, monkeypatch):
    def none(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(temporary.fcntl, "flock", none)
    left_by_another(system, 2, age=temporary.STALE_SECONDS * 2)
    with temporary.folder() as folder:
        temporary.sweep(str(system))
        assert os.listdir(system) == [os.path.basename(folder)]
    assert os.listdir(system) == []


SWEEPER = """
from numloom.device import temporary
print(flush=True)
sys.stdin.readline()
for _ in range(20):
    temporary.sweep(os.environ["TMPDIR"])
    with temporary.folder() as folder, temporary.file(".so") as (_, path):
        with open(folder + "/x", "w") as file:
            file.write("x")
        time.sleep(0.001)
        assert os.path.exists(folder + "/x") and os.path.exists(path)
"""


def test_several_sweep_and_make_at_once(system):
    for number in range(300):
        left_by_another(system, number)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(system)}
    sweepers = [
        subprocess.Popen([sys.executable, "-c", HEAD + SWEEPER], env=environment, stdin=-1, stdout=-1, stderr=-1)
        for _ in range(4)
    ]
    for sweeper in sweepers:
        sweeper.stdout.readline()
    for sweeper in sweepers:
        sweeper.stdin.write(b"\n")
        sweeper.stdin.flush()
    assert [(sweeper.communicate(timeout=60)[1], sweeper.returncode) for sweeper in sweepers] == [(b"", 0)] * 4
    assert os.listdir(system) == []


# ---------------------------------------------------------------- compilers, and the disk cache


@pytest.fixture
def endless(tmp_path):
    """A compiler that makes a temporary file again and again and does not end; where it says that it has begun."""
    path, begun = tmp_path / "compiler", tmp_path / "begun"
    path.write_text(f"#!/bin/sh\necho $$ > {begun}\nwhile :; do echo x > ${{TMPDIR:-/tmp}}/cc123456.o; done\n")
    path.chmod(0o755)
    return {"CXX": str(path), "NUMLOOM_CACHE_DIR": str(tmp_path / "cache"), "BEGUN": str(begun)}


COMPILING = """
from numloom.device.cpu.backend import CpuDevice
builder = CpuDevice().builder
text = 'extern "C" void k(const long long*, long long, long long) {}'
"""
BACKGROUND = """
builder.kernel(text, "k", wait=False)
while not os.path.exists(os.environ["BEGUN"]) or not open(os.environ["BEGUN"]).read():
    time.sleep(0.01)
"""


LAST = """
import atexit
def look():
    if os.getpid() == first and os.path.exists("/proc/" + open(os.environ["BEGUN"]).read().strip()):
        print("the compiler goes on")
first = os.getpid()
atexit.register(look)
"""


@pytest.mark.parametrize("way", ["", "raise SystemExit", "child = os.fork()\nif child: os.waitpid(child, 0)"])
def test_exit_while_a_compiler_is_probed(way, system, endless):
    program = LAST + COMPILING + BACKGROUND + way
    assert done(start(program, system, NUMLOOM_CPU_COMPILE="background", **endless)) == (0, "", "")
    assert os.listdir(system) == []


@pytest.mark.parametrize("where", ["in the foreground", "in the background"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ended_by_a_signal(how, where, system, endless):
    work = 'builder.kernel(text, "k", wait=True)' if where == "in the foreground" else BACKGROUND + "time.sleep(60)"
    process = start(COMPILING + work, system, NUMLOOM_CPU_COMPILE="background", **endless)
    begun = Path(endless["BEGUN"])
    assert wait_for(lambda: begun.exists() and begun.read_text())
    time.sleep(0.3)  # between its start and its watcher's knowing of it a compiler is alone
    process.send_signal(how)
    assert done(process)[0] == -how
    # Nothing lies beside what can be told to be ours.
    assert len(os.listdir(system)) == (how != signal.SIGINT)

    def next_start():
        program = "from numloom.device import temporary\nwith temporary.folder(): pass"
        assert done(start(program, system)) == (0, "", "")
        return os.listdir(system) == []

    assert wait_for(next_start)  # as soon as the compiler has ended, too


def test_the_end_is_that_of_background_threads_and_their_compilers(tmp_path):
    program = """
import threading
from numloom.device.cpu.process import Process, end
def work():
    try:
        started.append(Process(["sh", "-c", "sleep 300"], "."))
        started[0].wait()
    except SystemExit:
        print("ended")
        Process(["true"], ".")
        print("never")
started = []
thread = threading.Thread(target=work, daemon=True)
thread.start()
while not started:
    time.sleep(0.01)
end()
thread.join()
print(Process(["true"], ".").wait())
"""
    assert done(start(program, tmp_path)) == (0, "ended\n(0, '')\n", "")


def test_exit_handlers_may_compile(system, tmp_path):
    needed()
    program = f"""
import atexit
def last():
    assert builder.kernel(text, "k", wait=True).ready
atexit.register(last)
{COMPILING}
builder.compiler
"""
    assert done(start(program, system, NUMLOOM_CACHE_DIR=str(tmp_path / "cache"))) == (0, "", "")
    assert os.listdir(system) == []


def test_an_entry_that_was_being_written_is_swept(tmp_path):
    cache = DiskCache(str(tmp_path / "cache"), 1 << 20)
    program = f"""
from numloom.device import cache
cache.os.fsync = lambda file: (print(flush=True), time.sleep(60))
cache.DiskCache({cache.folder!r}, 1 << 20).put(cache.key_of("text", "here"), b"x", "here")
"""
    process = start(program, tmp_path)
    process.stdout.readline()

    def unfinished():
        DiskCache(cache.folder, 1 << 20).put(key_of("more", "here"), b"more", "here")
        return [name for name in os.listdir(cache.folder) if name.startswith(TEMPORARY)]

    assert len(unfinished()) == 1
    process.kill()
    process.wait()
    assert unfinished() == []
    done(process)
