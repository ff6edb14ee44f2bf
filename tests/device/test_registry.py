"""Which device is current, and the null device."""

import subprocess
import sys

import numpy as np
import pytest

from numloom.base.config import config
from numloom.base.errors import DeviceError, OutOfMemoryError
from numloom.device import registry
from numloom.device.cpu.backend import CpuDevice
from numloom.device.interface import Device
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
    for name in vars(Device):
        if not name.startswith("_"):
            assert callable(getattr(device, name)), name
    for name in Device.__annotations__:
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
    assert device.launches == 2 and device.take_error() == 0


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
