"""The host's compiler: what its probe keeps and tells, and that nothing of it is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

from numloom.base.errors import CompileError, MissingDependencyError
from numloom.device import temporary
from numloom.device.cache import DiskCache
from numloom.device.cpu import compiler as module
from numloom.device.cpu.builder import Builder
from numloom.device.cpu.process import Process

REAL = list(module.candidates())
pytestmark = pytest.mark.skipif(os.name != "posix" or not REAL, reason="no C++ compiler, or no shell")
TEXT = 'extern "C" void k(const long long*, long long, long long) {}'


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "cache"), 1 << 26)


@pytest.fixture
def builders(cache):
    made = []

    def make():
        made.append(Builder(cache))
        return made[-1]

    yield make
    for builder in made:
        builder.stop()


def script(tmp_path, text):
    """A compiler that does what a shell script says; the real one is $REAL."""
    path = tmp_path / "compiler"
    path.write_text(f"#!/bin/sh\nREAL={REAL[0][0]!r}\nN={str(tmp_path / 'count')!r}\necho x >> $N\n{text}\n")
    path.chmod(0o755)
    return str(path)


def tries(tmp_path):
    return len((tmp_path / "count").read_text().split()) if (tmp_path / "count").exists() else 0


def alone(monkeypatch, command):
    monkeypatch.setattr(module, "candidates", lambda: [(command,)])


# ---------------------------------------------------------------- the probe

ONCE = 'if [ -e "$N.ok" ]; then exec "$REAL" "$@"; fi'


@pytest.mark.parametrize("trouble, cause", [
    ("kill -KILL $$", "exit status -9"),
    ("kill -TERM $$", "exit status -15"),
    ('echo "kernel0.cpp: fatal error: No space left on device" >&2; exit 1', "No space left on device"),
    ("exit 1", "exit status 1"),
    ("exit 0", "No such file"),  # says yes and makes nothing
])  # fmt: skip
def test_a_failed_probe_is_told_once_and_not_kept(trouble, cause, tmp_path, builders, monkeypatch):
    alone(monkeypatch, script(tmp_path, f"{ONCE}\n{trouble}"))
    first = builders()
    with pytest.warns(RuntimeWarning, match=rf"does not compile \(.*{cause}.*\).*TMPDIR") as told:
        assert first.compiler is None
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count = tries(tmp_path)
        assert first.compiler is None and not first.kernel(TEXT, "k", wait=False).ready
        assert tries(tmp_path) == count  # this process does not try again
        with pytest.raises(MissingDependencyError, match=cause):
            first.kernel(TEXT, "k", wait=True)
    (tmp_path / "count.ok").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert builders().compiler is not None  # the next one does, and keeps what it finds
        count = tries(tmp_path)
        assert builders().compiler is not None and tries(tmp_path) == count


def test_a_compiler_that_is_killed_once_loses_no_flag(tmp_path, builders, monkeypatch):
    """Every single run of a probe may be the one that was killed."""
    alone(monkeypatch, script(tmp_path, 'exec "$REAL" "$@"'))
    whole = module.find().flags
    for killed in range(1, 5):
        (tmp_path / "count").unlink()
        alone(monkeypatch, script(tmp_path, f'[ $(wc -l < $N) = {killed} ] && kill -KILL $$\nexec "$REAL" "$@"'))
        assert module.find().flags == whole


@pytest.mark.parametrize("folder", ["missing/folder", "read-only"])
def test_no_temporary_folder(folder, tmp_path, builders, monkeypatch):
    def refuse(prefix):
        raise OSError(30, "Read-only file system", str(tmp_path / folder / prefix))

    monkeypatch.setattr(temporary.tempfile, "mkdtemp", refuse)
    with pytest.warns(RuntimeWarning, match=r"Read-only file system.*TMPDIR"):
        assert builders().compiler is None
    monkeypatch.undo()
    assert builders().compiler is not None


def test_a_named_compiler_that_fails_is_told_though_another_does_the_work(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", script(tmp_path, "exit 1"))
    with pytest.warns(RuntimeWarning, match=r"does not compile .* does the work"):
        assert module.find() is not None


def test_a_command_that_cannot_be_read_is_told(tmp_path, cache):
    program = """
import numloom as np
from numloom.device import registry
registry.use("cpu")
print(float((np.arange(1000.) * 2).sum()), registry.current().builder.compiler is not None)
"""
    environment = {
        **os.environ, "CXX": "'unclosed", "NUMLOOM_CACHE_DIR": cache.folder, "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.split() == ["999000.0", "True"]
    assert done.stderr.count("CXX names no compiler") == 1 and "Traceback" not in done.stderr


# ---------------------------------------------------------------- processes

SLEEPER = "sleep 300 & echo $! > {0}.child; sleep 300 & echo $! >> {0}.child; wait"


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(tmp_path, compilers=1):
    """The processes that the compilers started, when all are there."""
    path = tmp_path / "x.child"
    for _ in range(500):
        if path.exists() and len(path.read_text().split()) == 2 * compilers:
            return [int(word) for word in path.read_text().split()]
        time.sleep(0.02)
    raise AssertionError("no compiler was started")


def all_end(pids):
    for _ in range(250):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def sleeper(tmp_path):
    return ["/bin/sh", "-c", SLEEPER.format(tmp_path / "x")]


def test_exit_status_and_output_come_back(tmp_path):
    assert Process(["/bin/sh", "-c", "echo this; echo that >&2; exit 3"], str(tmp_path)).wait() == (3, "this\nthat\n")


def test_a_killed_compiler_takes_its_children_along(tmp_path, sleeper):
    process = Process(sleeper, str(tmp_path))
    pids = children(tmp_path)
    os.kill(process.process.pid, signal.SIGKILL)  # it alone, as the system does where memory is short
    assert process.wait()[0] == -signal.SIGKILL
    assert all_end(pids)


def test_stopping_ends_all(tmp_path, sleeper):
    compiler = module.Compiler((sleeper[0],), (), "")
    failed = []

    def run():
        try:
            compiler._run(sleeper, "text", str(tmp_path))
        except CompileError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pids = children(tmp_path)
    compiler.stop()
    thread.join(10)
    assert len(failed) == 1 and all_end(pids) and not compiler.running


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_compilers_end_with_python(how, tmp_path, sleeper):
    # Whoever started the tests may have SIGINT ignored.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heard}; from numloom.device.cpu.process import Process; Process({sleeper!r}, {str(tmp_path)!r}).wait()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    python = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL)
    pids = children(tmp_path)
    time.sleep(0.3)  # between its start and its watcher's knowing of it a compiler is alone
    python.send_signal(how)
    python.wait(10)
    assert all_end(pids)


def test_nothing_stays_after_a_compile(tmp_path):
    process = Process(["/bin/sh", "-c", "true"], str(tmp_path))
    watcher = process.watcher
    process.wait()
    assert watcher is not None and watcher.returncode is not None and process.process.returncode == 0


def test_programs_are_found_as_shutil_finds_them(monkeypatch, tmp_path):
    (tmp_path / "folder" / "tool").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "tool").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("")
    (tmp_path / "bin" / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("folder", "plain", "none", "bin")))
    for name in ("tool", "other", str(tmp_path / "bin" / "tool"), str(tmp_path / "plain" / "tool")):
        assert module._which(name) == shutil.which(name)
    monkeypatch.delenv("PATH")
    assert module._which("sh") == shutil.which("sh")
