"""Which device is current, and the null device."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from numloom.base.config import config
from numloom.base.errors import DeviceError, OutOfMemoryError
from numloom.device import registry
from numloom.device.cpu.backend import CpuDevice
from numloom.device.interface import Backend
from numloom.device.null.backend import NullDevice


def test_use_is_for_good_or_for_a_block():
    before = registry.current()
    with registry.use("null") as device:
        assert device.name == "null" and registry.current() is device
        with registry.use("cpu") as inner:
            assert registry.current() is inner and inner.name == "cpu"
        assert registry.current() is device
    assert registry.current() is before
    assert registry.get("null") is registry.get("null")


def test_threads_that_need_a_device_first_get_the_same(monkeypatch):
    """Making one takes a while, and Python changes threads in it; an array of a second one was strange to the first."""
    monkeypatch.setattr(registry, "_devices", {})
    monkeypatch.setattr(registry, "_make", lambda name: time.sleep(0.05) or NullDevice())
    found = []
    threads = [threading.Thread(target=lambda: found.append(registry.get("null"))) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 4 and len(set(map(id, found))) == 1


def test_auto_is_a_device_that_is_there():
    assert registry.get("auto").name == ("cpu" if registry.missing("cuda") else "cuda")


def test_a_missing_gpu_is_explained():
    if registry.missing("cuda") is None:
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match="cuda"):
        registry.use("cuda")
    before = config.device
    with pytest.raises(DeviceError):
        config.device = "cuda"
    assert config.device == before


def test_unknown_device():
    with pytest.raises(DeviceError, match="there is no device 'tpu'"):
        registry.get("tpu")


def test_the_setting_switches():
    before = registry.current()
    with config(device="null"):
        assert registry.current().name == "null"
    with registry.use(before.name):
        pass


def test_the_memory_limit_is_followed():
    device = registry.get("cpu")
    with config(memory_limit="1M"), pytest.raises(OutOfMemoryError, match=r"on cpu.*limit 1\.0 MiB"):
        device.allocate(1 << 33)  # more than any test leaves in the cache
    assert device.allocate(2 << 20).nbytes == 2 << 20


@pytest.mark.parametrize("kind", [CpuDevice, NullDevice])
def test_backends_keep_the_contract(kind):
    device = kind()
    for name in vars(Backend):
        if not name.startswith("_"):
            assert callable(getattr(device, name)) or isinstance(vars(Backend)[name], property), name
    for name in Backend.__annotations__:
        assert hasattr(device, name), name


def test_null_device():
    device = NullDevice()
    buffer = device.upload(np.arange(10))
    assert buffer.nbytes == 80 and device.view(buffer) is None
    assert device.download(buffer, 8, 16).tolist() == [0] * 16
    kernel = device.kernel("text", "entry", wait=False)
    assert kernel.ready and device.kernel("text", "entry", wait=True) is kernel
    device.launch(kernel, None, None)
    device.bound(kernel, None, None)()
    assert device.launches == 2 and device.take_complaints() == []


def test_import_needs_no_gpu_and_touches_no_disk(tmp_path):
    program = """
import os, sys
import numloom.device.registry
assert not os.path.exists(os.environ["NUMLOOM_CACHE_DIR"])
assert not [name for name in sys.modules if name.split(".")[0] in ("scipy", "cuda", "nvmath")]
"""
    import os

    environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_gpu_in_use_is_left_behind_by_a_forked_child(monkeypatch):
    """Whatever is asked of it says so; the CPU goes on."""
    program = """
import os
import numloom as nl
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.cpu.backend import CpuDevice

class Gpu(CpuDevice):
    name = "cuda"
    discrete = True

registry._devices["cuda"] = Gpu()
registry.missing = lambda name: None
registry.use("cuda")
x = nl.zeros(10_000) + 1  # which waits; few numbers are there at once
child = os.fork()
if child == 0:
    status = 0
    for ask in (x.get, lambda: nl.ones(10_000) * 2 + x, lambda: (x * 2).sum().item(), lambda: nl.synchronize(),
                lambda: str(x), lambda: registry.get("cuda").allocate(8)):
        try:
            result = ask()
            result = result.get() if hasattr(result, "get") else result
            status = 2
        except DeviceError as error:
            status = status or (0 if "forked process" in str(error) and "'cpu'" in str(error) else 3)
    if "without values: CUDA cannot be used in a forked process" not in repr(x):
        status = 5
    nl.config.memory_limit = 0
    nl.config.device = "cpu"
    if float((nl.arange(100_000.0) * 2).max()) != 199_998:
        status = 4
    os._exit(status)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(registry.current().name, type(registry.current()).__name__)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMLOOM_DEVICE": "cpu"}
    done = subprocess.run(
        [sys.executable, "-Wignore", "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.split(), done.stderr) == (["0", "cuda", "Gpu"], "")
