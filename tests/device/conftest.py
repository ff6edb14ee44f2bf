"""Lets the tests of this folder import `cuda_emulation`, and gives them devices that run CUDA texts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cuda_emulation import EmulatedDevice

from numloom.base.config import config
from numloom.device import registry


@pytest.fixture(scope="session")
def gpu():
    """The GPU's device."""
    return registry.get("cuda")


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    return EmulatedDevice(tmp_path_factory.mktemp("emulation"))


@pytest.fixture(scope="session", params=["emulated", pytest.param("gpu", marks=pytest.mark.cuda)])
def runner(request):
    """A device that runs CUDA texts: fibers of the host everywhere, and the GPU where there is one."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def own_cache(tmp_path):
    """A cache folder of one test: what other tests' compiles in the background would keep there is waited for."""
    registry.get("cpu").builder.drain(60)
    with config(cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"
