"""CUDA C++ on the host: the device, and `run`, which launches a kernel on NumPy arrays."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from numloom.device.cpu import compiler as compiler_module
from numloom.device.cpu.backend import CpuDevice
from numloom.device.interface import MemorySpan

sys.path.insert(0, str(Path(__file__).parent))

from sources import triple


def pytest_collection_modifyitems(items):
    if not any(compiler_module.candidates()):
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="no C++ compiler"))


@pytest.fixture(scope="module")
def device():
    return CpuDevice()


@pytest.fixture(scope="module")
def run(device):
    """Compile, launch, and give back the arrays among the arguments."""

    def call(
        code, *args, grid=1, block=32, name="k", shared=0, options=(), names=(), cooperative=False, module=None
    ):  # fmt: skip
        module = module or device.module({"kernel.cu": code}, options=tuple(options), names=tuple(names))
        buffers, packed = [], []
        for argument in args:
            if isinstance(argument, np.ndarray):
                buffer = device.upload(np.ascontiguousarray(argument))
                buffers.append((argument, buffer))
                packed.append(MemorySpan(buffer.ptr, buffer.ptr, buffer.ptr + argument.nbytes))
            else:
                packed.append(np.asarray(argument).tobytes())
        function = module.function(name)
        function.launch(triple(grid), triple(block), packed, shared=shared, cooperative=cooperative)
        found = [
            device.download(buffer, 0, argument.nbytes).view(argument.dtype).reshape(argument.shape)
            for argument, buffer in buffers
        ]
        return found[0] if len(found) == 1 else found

    return call
