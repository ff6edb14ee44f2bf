"""The driver, loaded at first use: calls that raise our errors, devices and their properties."""

from __future__ import annotations

import functools
from typing import Any

from numloom.base.errors import DeviceError, MissingDependencyError

_INSTALL = "pip install 'numloom[cuda13]'"


@functools.cache
def bindings() -> Any:
    """The module `cuda.bindings.driver`.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise MissingDependencyError("the CUDA bindings (cuda-bindings) are not installed", _INSTALL) from error
    return driver


def call(name: str, *args: Any, doing: str = "") -> Any:
    """Call a driver function by name; its results, or DeviceError with CUDA's own words."""
    driver = bindings()
    code, *results = getattr(driver, name)(*args)
    if code != driver.CUresult.CUDA_SUCCESS:
        if code == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise MemoryError
        _, text = driver.cuGetErrorString(code)
        words = text.decode() if text else "unknown error"
        raise DeviceError(f"{doing or name} failed: {code.name} ({words})")
    return results[0] if len(results) == 1 else tuple(results) if results else None


@functools.cache
def missing() -> str | None:
    """None where a GPU can be used, else what is missing and the cure, in one sentence."""
    try:
        driver = bindings()
    except MissingDependencyError as error:
        return str(error)
    try:
        (code,) = driver.cuInit(0)
    except Exception as error:  # The bindings raise their own kinds where libcuda cannot be loaded.
        return f"the NVIDIA driver is not there ({error}): install a driver of version 580 or newer"
    if code != driver.CUresult.CUDA_SUCCESS:
        return f"the NVIDIA driver does not start ({code.name}): check that `nvidia-smi` works on this machine"
    code, count = driver.cuDeviceGetCount()
    if code != driver.CUresult.CUDA_SUCCESS or not count:
        return "the NVIDIA driver sees no GPU: check that `nvidia-smi` lists one and CUDA_VISIBLE_DEVICES shows it"
    return None


def attribute(device: Any, name: str) -> int:
    """A device attribute by the end of its name, such as MULTIPROCESSOR_COUNT."""
    driver = bindings()
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", which, device))
