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

from numloom.base.errors import CompileError, DeviceError, MissingDependencyError
from numloom.device import temporary
from numloom.device.cache import DiskCache, key_of
from numloom.device.cpu import compiler as module
from numloom.device.cpu.builder import Builder, trouble
from numloom.device.cpu.process import Process
from numloom.device.cpu.simt.elf import is_whole

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


# ---------------------------------------------------------------- what is no matter of the text

ARMED = 'if [ -e "$N.ARMED" ]; then rm -f "$N.ARMED$ONCE"; {}; fi\nexec "$REAL" "$@"'
"""A compiler that works until there is a file, which it removes."""
CUT = '"$REAL" "$@"; while [ "$1" != -o ]; do shift; done; head -c 1000 "$2" > "$2.cut"; mv "$2.cut" "$2"; exit 0'
TROUBLES = {
    "kill -KILL $$": r"did not get through, 2 times: it was ended by signal 9",
    "kill -BUS $$": r"it was ended by signal 7",
    'echo "c++: fatal error: Killed signal terminated program cc1plus"; exit 1': "Killed signal terminated",
    'echo "as: kernel.so: No space left on device"; exit 1': "No space left on device",
    'echo "cc1plus: out of memory allocating 65536 bytes"; exit 1': "out of memory allocating",
    CUT: "a library that is cut short, 2 times",
}


@pytest.fixture
def troubled(tmp_path, builders, monkeypatch, request):
    """A builder whose compiler is in trouble from now on, or (the second parameter) once."""
    trouble, once = request.param
    text = ARMED.replace("$ONCE", "" if once else ".no").format(trouble)
    alone(monkeypatch, script(tmp_path, text))
    builder = builders()
    assert builder.compiler is not None
    (tmp_path / "count.ARMED").touch()
    (tmp_path / "count").unlink()
    return builder


@pytest.mark.parametrize("troubled", [(trouble, True) for trouble in TROUBLES], indirect=True)
def test_a_compiler_that_is_kept_from_its_work_is_run_once_more(troubled, tmp_path):
    assert troubled.kernel(TEXT, "k", wait=True).ready
    assert tries(tmp_path) == 2


@pytest.mark.parametrize("troubled", [(trouble, False) for trouble in TROUBLES], indirect=True)
def test_trouble_is_told_and_never_remembered(troubled, tmp_path, request):
    cause = TROUBLES[request.node.callspec.params["troubled"][0]]
    with pytest.raises(DeviceError, match=rf"could not be compiled.*{cause}.*TMPDIR.*tries again") as raised:
        troubled.kernel(TEXT, "k", wait=True)
    assert not isinstance(raised.value, CompileError) and tries(tmp_path) == 2
    (tmp_path / "count.ARMED").unlink()
    assert troubled.kernel(TEXT, "k", wait=True).ready


@pytest.mark.parametrize("troubled", [("kill -KILL $$", False)], indirect=True)
def test_trouble_in_the_background_is_told_as_what_it_is(troubled, tmp_path):
    kernel = troubled.kernel(TEXT, "k", wait=False)
    with pytest.warns(RuntimeWarning, match="slower loops do the work of a kernel: .*ended by signal 9"):
        assert troubled.drain(60)
        deadline = time.monotonic() + 10
        while not kernel.error and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
    (tmp_path / "count.ARMED").unlink()
    troubled.kernel(TEXT, "k", wait=False)
    assert troubled.drain(60) and kernel.ready


def test_a_text_that_quotes_trouble_is_refused(builders):
    with pytest.raises(CompileError, match="No space left on device"):
        builders().kernel("#error No space left on device\n", "k", wait=True)


def test_a_cut_library_is_no_library(tmp_path):
    content = module.find().compile(TEXT)
    assert is_whole(content) and is_whole(b"") and is_whole(b"text")
    assert not any(is_whole(content[:size]) for size in (6, 63, 64, 1000, len(content) - 1))
    (tmp_path / "cut").write_bytes(content[:1000])
    program = "import sys; from numloom.device.cpu.libraries import load; load(open(sys.argv[1], 'rb').read())"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "cut")], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1 and "the library is cut short" in ended.stderr


def test_a_cut_library_in_the_cache_is_compiled_anew(builders, cache):
    first = builders()
    content = first.compiler.compile(TEXT)
    key = key_of(TEXT, first.compiler.identity)
    cache.put(key, content[:1000], first.compiler.identity)
    assert first.kernel(TEXT, "k", wait=True).ready and first.compiles == 1
    assert len(cache.get(key, first.compiler.identity)) > 1000


@pytest.mark.parametrize("mode", ["wait", "background"])
@pytest.mark.parametrize("trouble", ["kill -KILL $$", 'echo "as: k.so: No space left on device"; exit 1'])
def test_slower_loops_do_the_work_meanwhile(mode, trouble, tmp_path):
    program = """
import warnings, numpy, numloom as np
np.config.unplanned = 0
x = numpy.linspace(0, 1, 1000)
import numloom.device.registry as registry
assert registry.current().compiles
open(COUNT + ".ARMED", "w").close()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    y = np.asarray(x)
    numpy.testing.assert_allclose((np.sqrt(y) * y + 3).get(), numpy.sqrt(x) * x + 3)
    if MODE == "wait":
        assert any("slower loops do the work of a kernel" in str(one.message) for one in told), told
K = np.ElementwiseKernel("T x", "T y", "y = x + 1", "k")
try:
    K(np.ones(3)).get()
except np.DeviceError as error:
    assert not isinstance(error, np.CompileError)
    print("named")
"""
    text = ARMED.replace("$ONCE", ".no").format(trouble)
    program = f"COUNT, MODE = {str(tmp_path / 'count')!r}, {mode!r}\n{program}"
    environment = {
        **os.environ,
        "CXX": script(tmp_path, text),
        "NUMLOOM_CACHE_DIR": str(tmp_path / "kernels"),
        "NUMLOOM_CPU_COMPILE": mode,
        "NUMLOOM_DEVICE": "cpu",
    }
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert ended.stdout == "named\n", ended.stderr


# ---------------------------------------------------------------- the probe

ONCE = 'if [ -e "$N.ok" ]; then exec "$REAL" "$@"; fi'


@pytest.mark.parametrize("trouble, cause", [
    ("kill -KILL $$", "ended by signal 9"),
    ("kill -TERM $$", "ended by signal 15"),
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


@pytest.mark.parametrize("kept", [b"", b"-O2", b"\xff\xfe", None])
def test_flags_on_disk_that_cannot_be_right_are_probed_again(kept, builders, recwarn):
    first = builders()
    flags = first.compiler.flags
    (entry,) = [one for one in first.cache.entries() if one.origin == "text"]
    cut = " ".join([*flags, "-fno-isolate-erro"]).encode()
    first.cache.put(entry.key, cut if kept is None else kept, "text")
    again = builders()
    assert again._known_compiler() is None
    assert again.compiler.flags == flags
    assert builders().cache.get(entry.key, "text").decode().split() == list(flags)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (OSError(12, "Cannot allocate memory"), True),
        (OSError("kernel.so: failed to map segment from shared object"), True),
        (OSError(28, "No space left on device"), False),
    ],
)
def test_short_memory_is_a_memory_error(error, short):
    raised = trouble(error)
    assert isinstance(raised, DeviceError) and isinstance(raised, MemoryError) == short
    assert str(error) in str(raised)
