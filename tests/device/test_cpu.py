"""The host as a device: compiler, background builds, threads, fork."""

import ctypes
import errno
import functools
import os
import subprocess
import sys
import threading
import time
import weakref
from array import array

import numpy as np
import pytest

from numloom.base.config import config
from numloom.base.dtypes import DTYPES
from numloom.base.errors import CompileError, DeviceError, MissingDependencyError
from numloom.device.cache import DiskCache
from numloom.device.cpu import compiler as compiler_module
from numloom.device.cpu import cores, hostview, threads
from numloom.device.cpu import loops as loops_module
from numloom.device.cpu import process as process_module
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cpu.builder import Builder
from numloom.device.memory import KEPT_SCRATCH
from numloom.plan.program import Geometry

needs_compiler = pytest.mark.skipif(not any(compiler_module.candidates()), reason="no C++ compiler")


def scale(factor, name="k"):
    return f"""
typedef long long i64;
struct Pair {{ double a; }};
template <class T> T times(T x) {{ return x * {factor}; }}
extern "C" double exp(double) noexcept;
extern "C" void {name}(const i64* p, i64 begin, i64 end) {{
    const double* x = (const double*)p[0]; double* y = (double*)p[1];
    for (i64 i = begin; i < end; ++i) y[i] = times(x[i]);
}}
extern "C" void {name}_finish(const i64* p, i64 begin, i64 end) {{ ((double*)p[1])[0] = -1; }}
"""


@pytest.fixture
def builder(tmp_path):
    builder = Builder(DiskCache(str(tmp_path / "cache"), 1 << 26))
    with config(cpu_compile="background"):
        yield builder
    builder.stop()


def result(device, kernel, count=10, finish=0, grain=4):
    x = device.upload(np.arange(float(count)))
    y = device.upload(np.zeros(count))
    device.launch(kernel, array("q", [x.ptr, y.ptr]), Geometry(count, grain, 1, 1, finish_items=finish))
    return device.download(y, 0, 8 * count).view("f8")


# ---------------------------------------------------------------- memory


def test_bytes_go_up_down_and_across():
    device = CpuDevice()
    host = np.arange(1000, dtype="f4")
    a = device.upload(host)
    assert a.ptr % 256 == 0
    np.testing.assert_array_equal(device.download(a, 400, 40).view("f4"), host[100:110])
    b = device.allocate(4000)
    device.copy(b, 0, a, 2000, 2000)
    np.testing.assert_array_equal(device.download(b, 0, 2000).view("f4"), host[500:])
    device.copy(a, 4, a, 0, 3996)  # overlapping
    np.testing.assert_array_equal(device.download(a, 4, 3996).view("f4"), host[:-1])
    assert device.download(a, 0, 0).size == 0
    assert device.upload(np.empty(0)).nbytes == 0


def test_views_are_the_memory_and_keep_it():
    device = CpuDevice()
    buffer = device.upload(np.zeros(8, np.uint8))
    view = device.view(buffer)
    view[3] = 7
    assert device.download(buffer, 0, 8).tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    used = device.pool.used
    del buffer
    assert device.pool.used == used and view[3] == 7
    del view
    assert device.pool.used == 0


@pytest.mark.parametrize("make", dict.fromkeys([hostview.array_at, hostview.array_at_uncompiled]))
def test_arrays_at_addresses(make):
    base = np.arange(24, dtype=np.int16)
    address = base.ctypes.data

    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    view = make(address + 2, (2, 3), (24, -2 + 4), base.dtype, owner)
    np.testing.assert_array_equal(view, [[1, 2, 3], [13, 14, 15]])
    assert (
        view.flags.aligned and not view.flags.c_contiguous and make(address, (4,), (2,), base.dtype).flags.c_contiguous
    )
    view[0, 0] = -1
    assert base[1] == -1
    del owner
    assert alive() is not None
    del view
    assert alive() is None
    scalar = make(address, (), (), np.dtype("i2"))
    assert scalar.shape == () and scalar == 0
    assert make(0 if make is hostview.array_at_uncompiled else address, (0, 3), (6, 2), base.dtype).shape == (0, 3)
    assert make(address, (5,), (0,), base.dtype).tolist() == [0] * 5


@pytest.mark.parametrize("read", dict.fromkeys([hostview.number_at, hostview.number_at_uncompiled]))
def test_numbers_at_addresses(read):
    rng = np.random.default_rng(1)
    for code, dtype in enumerate(DTYPES):
        bits = rng.integers(0, 2 if dtype.kind == "b" else 256, 64 * dtype.itemsize, dtype=np.uint8)
        special = np.array([0, 1, np.nan, np.inf, -np.inf, -0.0, 6e-8, 65504], dtype if dtype.kind in "fc" else "f4")
        for values in (bits.view(dtype), special):
            if values.dtype != dtype:
                continue
            moved = np.zeros(values.nbytes + 1, np.uint8)
            moved[1:] = values.view(np.uint8)  # at odd addresses
            found = [read(moved.ctypes.data + 1 + place, code) for place in range(0, values.nbytes, dtype.itemsize)]
            assert str(found) == str(values.tolist()) and {type(x) for x in found} == {type(values[0].item())}


def test_large_blocks():
    device = CpuDevice()
    host = np.arange(1 << 21, dtype="f8")
    np.testing.assert_array_equal(device.download(device.upload(host), 0, host.nbytes).view("f8"), host)


def test_workspace_counters_are_zero():
    device = CpuDevice()
    for nbytes, counters in [(1000, 8), (1000, 64), (100, 16), (5000, 128), (200, 200), (200, 0), (200, 8)]:
        address = device.workspace(nbytes, counters).ptr
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
        assert not memory[:counters].any()
        memory[counters:] = 255  # as a kernel leaves it


@pytest.mark.parametrize("counters", [0, 8, 4096])
def test_large_workspace_goes_back_to_the_pool(counters):
    device = CpuDevice()
    device.workspace(1000, 8)
    used = device.pool.used
    for _ in range(2):
        scratch = device.workspace(KEPT_SCRATCH + 1, counters)
        assert device.pool.used > used + KEPT_SCRATCH
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * (counters + 1)).from_address(scratch.ptr))
        assert not memory[:counters].any()
        memory[:] = 255
        del scratch
        assert device.pool.used == used


def test_error_word():
    device = CpuDevice()
    assert device.take_complaints() == []
    ctypes.c_int64.from_address(device.error_address()).value = 42
    assert device.take_complaints() == [(42, 0, -1)] and device.take_complaints() == []


# ---------------------------------------------------------------- compiler


@needs_compiler
def test_compile_and_launch(builder):
    device = CpuDevice()
    kernel = builder.kernel(scale(3), "k", wait=True)
    assert kernel.ready and kernel.finish_address
    np.testing.assert_array_equal(result(device, kernel), np.arange(10.0) * 3)
    assert result(device, kernel, finish=1)[0] == -1
    x, y = device.upload(np.arange(10.0)), device.upload(np.zeros(10))
    block = array("q", [x.ptr, x.ptr])
    for run in (device.bound, functools.partial(CpuDevice.bound, device)):
        launch = run(kernel, block, Geometry(10, 3, 1, 1, finish_items=1))
        block[1] = y.ptr  # words may change between launches
        launch()
        assert device.download(y, 0, 80).view("f8").tolist() == [-1.0, *(3.0 * k for k in range(1, 10))]
    assert builder.kernel(scale(3), "k", wait=False) is kernel
    assert builder.compiles == 1


@needs_compiler
def test_arithmetic_is_not_contracted(builder):
    text = """
extern "C" void k(const long long* p, long long b, long long e) {
    const double* x = (const double*)p[0]; double* y = (double*)p[1];
    for (long long i = b; i < e; ++i) y[i] = x[i] * x[i] - 0.1 * x[i];
}"""
    x = np.arange(50.0) * 0.7
    device = CpuDevice()
    source, target = device.upload(x), device.allocate(400)
    device.launch(builder.kernel(text, "k", wait=True), array("q", [source.ptr, target.ptr]), Geometry(50, 7, 1, 1))
    np.testing.assert_array_equal(device.download(target, 0, 400).view("f8"), x * x - 0.1 * x)


@needs_compiler
def test_bad_text_shows_its_line(builder):
    with pytest.raises(CompileError, match=r"> +3 \| +this is no"):
        builder.kernel('extern "C" void k() {\n}\n    this is no C++;\n', "k", wait=True)
    with pytest.raises(CompileError, match="no extern C function 'absent'"):
        builder.kernel(scale(2), "absent", wait=True)


@needs_compiler
def test_disk_cache_is_used(builder):
    builder.kernel(scale(3), "k", wait=True)
    again = Builder(builder.cache)
    kernel = again.kernel(scale(3), "k", wait=False)
    assert kernel.ready and again.compiles == 0
    np.testing.assert_array_equal(result(CpuDevice(), kernel), np.arange(10.0) * 3)


@needs_compiler
def test_background(builder):
    kernels = [builder.kernel(scale(number, f"k{number}"), f"k{number}", wait=False) for number in range(12)]
    assert builder.drain(60)
    assert all(kernel.ready for kernel in kernels)
    assert builder.compiles < 12  # several at once
    device = CpuDevice()
    for number, kernel in enumerate(kernels):
        np.testing.assert_array_equal(result(device, kernel), np.arange(10.0) * number)
    again = Builder(builder.cache)
    repeated = [again.kernel(kernel.text, kernel.entry, wait=False) for kernel in kernels]
    assert all(kernel.ready for kernel in repeated) and again.compiles == 0
    assert len({id(kernel.library) for kernel in repeated}) == builder.compiles
    for number, kernel in enumerate(repeated):
        np.testing.assert_array_equal(result(device, kernel), np.arange(10.0) * number)


@needs_compiler
def test_background_with_one_name_for_all(builder):
    kernels = [builder.kernel(scale(number), "k", wait=False) for number in range(3)]
    assert builder.drain(60)
    device = CpuDevice()
    for number, kernel in enumerate(kernels):
        np.testing.assert_array_equal(result(device, kernel), np.arange(10.0) * number)


@needs_compiler
@pytest.mark.filterwarnings("ignore:slower loops")
def test_one_bad_text_does_not_spoil_the_batch(builder):
    texts = {"a": scale(2, "a"), "b": "this is no C++", "c": scale(3, "c")}
    kernels = {name: builder.kernel(text, name, wait=False) for name, text in texts.items()}
    assert builder.drain(60)
    assert kernels["a"].ready and kernels["c"].ready and not kernels["b"].ready
    assert isinstance(kernels["b"].error, CompileError)
    assert not builder.kernel(texts["b"], "b", wait=False).ready
    with pytest.raises(CompileError):
        builder.kernel(texts["b"], "b", wait=True)


@needs_compiler
def test_waiting_for_a_queued_kernel(builder):
    kernels = [builder.kernel(scale(number, f"k{number}"), f"k{number}", wait=False) for number in range(10)]
    for kernel in reversed(kernels):
        assert builder.kernel(kernel.text, kernel.entry, wait=True).ready
    assert builder.drain(60)


@needs_compiler
def test_what_is_forgotten_is_not_compiled(builder):
    kernels = [builder.kernel(scale(number, f"k{number}"), f"k{number}", wait=False) for number in range(40)]
    builder.forget()
    assert builder.drain(60)
    assert not all(kernel.ready for kernel in kernels)
    again = [builder.kernel(kernel.text, kernel.entry, wait=False) for kernel in kernels]
    assert again == kernels
    assert builder.drain(60)
    assert all(kernel.ready for kernel in kernels)


@needs_compiler
def test_compile_settings(builder):
    with config(cpu_compile="wait"):
        assert builder.kernel(scale(4), "k", wait=False).ready
    with config(cpu_compile="never"):
        assert not builder.kernel(scale(5), "k", wait=False).ready
        assert builder.kernel(scale(4), "k", wait=False).ready
        with pytest.raises(MissingDependencyError, match="switched off"):
            builder.kernel(scale(5), "k", wait=True)


@pytest.mark.parametrize("mode", ["background", "wait"])
def test_without_a_compiler(builder, monkeypatch, mode):
    monkeypatch.setattr(compiler_module, "candidates", lambda: [])
    with config(cpu_compile=mode):
        assert not builder.kernel(scale(3), "k", wait=False).ready
        with pytest.raises(MissingDependencyError, match=r"pip install numloom\[zig\]"):
            builder.kernel(scale(3), "k", wait=True)


def test_a_compiler_that_does_not_work(builder, monkeypatch):
    monkeypatch.setattr(compiler_module, "candidates", lambda: [("/bin/false",)])
    with pytest.warns(RuntimeWarning, match="/bin/false does not compile"):
        assert builder.compiler is None


@needs_compiler
def test_flags_that_a_compiler_lacks_are_left_out(monkeypatch):
    monkeypatch.setattr(compiler_module, "WANTED", ("-march=native", "-fno-such-option-at-all", "-w"))
    found = compiler_module.find()
    assert "-w" in found.flags and "-fno-such-option-at-all" not in found.flags


@needs_compiler
def test_flags_are_probed_once_for_all_processes(builder, monkeypatch):
    assert builder.compiler is not None
    monkeypatch.setattr(compiler_module, "probe", lambda *arguments: pytest.fail("probed again"))
    assert Builder(builder.cache).compiler == builder.compiler


@needs_compiler
def test_errors_of_starting_the_compiler_that_pass_are_waited_out(builder, monkeypatch):
    assert builder.compiler is not None
    original, refusals = subprocess.Popen, [errno.EFAULT, errno.EAGAIN]

    def start(*arguments, **options):
        if refusals:
            raise OSError(refusals.pop(), "not now")
        return original(*arguments, **options)

    monkeypatch.setattr(process_module, "_shell", lambda: None)
    monkeypatch.setattr(subprocess, "Popen", start)
    kernel = builder.kernel(scale(7), "k", wait=True)
    np.testing.assert_array_equal(result(CpuDevice(), kernel), np.arange(10.0) * 7)
    refusals.append(errno.ENOENT)
    with pytest.raises(DeviceError, match="not now"):
        builder.kernel(scale(8), "k", wait=True)


@needs_compiler
def test_loading_where_temporary_files_may_not_run(builder, monkeypatch):
    if not hasattr(os, "memfd_create"):
        pytest.skip("no memory files")
    original = ctypes.CDLL

    def refuse(path):
        if not path.startswith("/proc"):
            raise OSError("failed to map segment from shared object")
        return original(path)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    device = CpuDevice()
    for factor in (3, 5):
        kernel = builder.kernel(scale(factor), "k", wait=True)
        np.testing.assert_array_equal(result(device, kernel), np.arange(10.0) * factor)


@needs_compiler
@pytest.mark.parametrize("runs", [0, 1])
def test_wide_loops_serve_where_the_processor_runs_them(runs, monkeypatch, tmp_path):
    compiler = compiler_module.find()
    assert compiler is not None
    for name, text in (
        ("PACKAGED", f'extern "C" int runs_wide_loops() {{ return {runs}; }} extern "C" int one() {{ return 1; }}'),
        ("WIDE", 'extern "C" int one() { return 2; }'),
    ):
        (tmp_path / name).write_bytes(compiler.compile(text))
        monkeypatch.setattr(loops_module, name, tmp_path / name)
    found = loops_module.packaged()
    assert found.library.one() == 1 + runs
    (tmp_path / "WIDE").unlink()
    assert loops_module.packaged().library.one() == 1


@needs_compiler
def test_loops_are_compiled_once_where_the_package_has_none(builder, monkeypatch, tmp_path):
    monkeypatch.setattr(loops_module, "PACKAGED", tmp_path / "absent.so")
    device = CpuDevice()
    device.builder = builder
    text = 'extern "C" int nl_one() { return 1; }'
    assert device.loops is None
    loops = device.load_loops(lambda: text, wait=True)
    assert "nl_one" in loops and "nl_two" not in loops and loops.address("nl_one") == device.loops.address("nl_one")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(loops.address("nl_one"))() == 1
    other = CpuDevice()
    other.builder = Builder(builder.cache)
    other.load_loops(lambda: text, wait=False)
    assert other.builder.drain(60) and "nl_one" in other.loops


@needs_compiler
def test_exit_is_quick_while_compiling(tmp_path):
    program = f"""
import numloom.device.cpu.backend as backend
device = backend.CpuDevice()
device.builder.compiler
for number in range(300):
    device.kernel({scale("%d")!r}.replace("%d", str(number)) * 1, "k", wait=False)
"""
    environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(tmp_path / "c"), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    environment.pop("NUMLOOM_CPU_COMPILE", None)
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - start < 10
    assert os.listdir(tmp_path / "temporary") == []


# ---------------------------------------------------------------- threads


RUNS = [threads.run_uncompiled] + ([threads.compiled.run] if threads.compiled is not None else [])


@pytest.fixture
def many_threads():
    with config(num_threads=4):
        yield


@pytest.fixture(scope="module")
def adding(tmp_path_factory):
    """The address of a kernel that adds one to each of its items."""
    if not any(compiler_module.candidates()):
        pytest.skip("no C++ compiler")
    builder = Builder(DiskCache(str(tmp_path_factory.mktemp("cache")), 1 << 26))
    text = """
extern "C" void add(const long long* p, long long begin, long long end) {
    int* x = (int*)p[0];
    for (long long i = begin; i < end; ++i) x[i] += 1;
}"""
    with config(cpu_compile="wait"):
        return builder.kernel(text, "add", wait=True).address


@pytest.mark.parametrize("run", RUNS)
def test_every_item_is_done_once(run, adding, many_threads):
    rng = np.random.default_rng(1)
    for items in [0, 1, 2, 3, 7, 100, 1023, 4096, *rng.integers(1, 20_000, 200)]:
        for grain in (1, 5, 64, 5000):
            x = np.zeros(int(items) + 1, np.int32)
            params = array("q", [x.ctypes.data])
            run(adding, params.buffer_info()[0], int(items), grain)
            assert (x[:-1] == 1).all() and x[-1] == 0


@pytest.mark.parametrize("run", RUNS)
def test_from_many_python_threads_at_once(run, adding, many_threads):
    wrong = []

    def work():
        x = np.zeros(3000, np.int32)
        params = array("q", [x.ctypes.data])
        for _ in range(200):
            run(adding, params.buffer_info()[0], 3000, 10)
        if not (x == 200).all():
            wrong.append(x)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_pool_survives_sleep_and_resize(adding):
    x = np.zeros(5000, np.int32)
    params = array("q", [x.ctypes.data])
    for turn in range(6):
        with config(num_threads=2 + turn % 3):
            threads.run(adding, params.buffer_info()[0], 5000, 10)
            time.sleep(0.002)
            threads.run(adding, params.buffer_info()[0], 5000, 10)
    assert (x == 12).all()


@pytest.mark.skipif(not hasattr(time, "thread_time"), reason="no clock of a thread")
def test_whoever_waits_for_a_helper_sleeps(adding):
    caller, done, helped = threading.get_ident(), set(), []

    def late(params, begin, end):
        done.update(range(begin, end))
        if threading.get_ident() != caller:
            helped.append(begin)
            time.sleep(0.1)
        elif len(helped) < 3:
            time.sleep(0.005)

    entry = threads.ENTRY(late)
    with config(num_threads=2):
        for _ in range(3):
            done.clear()
            used, begin = time.thread_time(), time.perf_counter()
            threads.run(ctypes.cast(entry, ctypes.c_void_p).value, 0, 64, 1)
            used, took = time.thread_time() - used, time.perf_counter() - begin
            assert done == set(range(64))
            assert used < 0.3 * took or took < 0.05
    assert helped


def test_few_pieces_are_done_by_few_of_many_threads(adding):
    x = np.zeros(6000, np.int32)
    params = array("q", [x.ctypes.data])
    with config(num_threads=8):
        for pieces in (2, 3, 5, 6000):
            for _ in range(50):
                threads.run(adding, params.buffer_info()[0], 6000, -(-6000 // pieces))
                time.sleep(0.0003)
    assert (x == 200).all()


def test_number_of_threads():
    assert 1 <= cores.available() <= (os.cpu_count() or 1)
    with config(num_threads=3):
        assert threads.count() == 3


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_with_threads_and_compiles_under_way(tmp_path):
    program = f"""
import os, sys
from array import array
import numpy as np
from numloom.device.cpu.backend import CpuDevice
from numloom.device.memory import KEPT_SCRATCH
from numloom.plan.program import Geometry

device = CpuDevice()
source = {scale("%d")!r}
kernel = device.kernel(source.replace("%d", "2"), "k", wait=True)

def check(kernel, factor):
    x = device.upload(np.arange(10000.0))
    y = device.allocate(80000)
    device.launch(kernel, array("q", [x.ptr, y.ptr]), Geometry(10000, 16, 1, 1))
    assert (device.download(y, 0, 80000).view("f8") == np.arange(10000.0) * factor).all()

check(kernel, 2)
waiting = [device.kernel(source.replace("%d", str(number)), "k", wait=False) for number in range(3, 8)]
child = os.fork()
check(kernel, 2)
again = [device.kernel(source.replace("%d", str(number)), "k", wait=False) for number in range(3, 8)]
assert again == waiting
assert device.builder.drain(60)
for number, kernel in zip(range(3, 8), waiting):
    check(kernel, number)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    environment = {
        **os.environ,
        "NUMLOOM_CACHE_DIR": str(tmp_path / "c"),
        "NUMLOOM_NUM_THREADS": "3",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environment.pop("NUMLOOM_CPU_COMPILE", None)
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("fill", dict.fromkeys([hostview.fill, hostview.fill_uncompiled]))
@pytest.mark.parametrize("size", [0, 1, 7, 4096, 100_000])
def test_an_array_is_copied_to_an_address(fill, size):
    source = np.random.default_rng(size).integers(0, 256, (size, 3)).astype(np.uint8)
    target = np.full(3 * size + 8, 99, np.uint8)
    fill(target.ctypes.data, source)
    assert bytes(target) == source.tobytes() + bytes([99]) * 8
