"""The driver, loaded at first use: calls that raise our errors, devices and their properties."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from typing import Any

from numloom.base.errors import DeviceError, MissingDependencyError
from numloom.base.forking import importing

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
        with importing:
            from cuda.bindings import driver
    except ImportError as error:
        raise _no_bindings() from error
    return driver


def _no_bindings() -> MissingDependencyError:
    return MissingDependencyError("the CUDA bindings (cuda-bindings) are not installed", _INSTALL)


LIBRARY = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
"""The driver's library."""

# Errors after which a context is of no use any more.
_FATAL = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION",
        "MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "CONTEXT_IS_DESTROYED",
        "ECC_UNCORRECTABLE", "UNKNOWN",
    )
)  # fmt: skip
FORKED = (
    "CUDA cannot be used in a forked process: start workers with multiprocessing's 'spawn' method, or compute on the "
    "CPU there (numloom.config.device = 'cpu')"
)
LEAST_VERSION = 13000


class State:
    """What the process knows of its GPU.

    Attributes
    ----------
    context : object
        Made current in threads that have none.
    index : int
        Number of the GPU in use, -1 before the first.
    process : int
        Where CUDA was started; a forked child has another number.
    several : bool
        Whether there are other GPUs, so that another one's context may be current in a thread.
    lost : str
        Why the GPU cannot be used any more; empty while it can.
    """

    context: Any = None
    index = -1
    process = -1
    several = False
    lost = ""


state = State()


def device_count() -> int:
    """How many GPUs the driver sees."""
    return int(call("cuDeviceGetCount"))


def first_index() -> int:
    """Number of the GPU that is used where nobody says which."""
    return int(os.environ.get("NUMLOOM_CUDA_DEVICE", "0"))


def call(name: str, *args: Any, doing: str = "") -> Any:
    """Call a driver function by name; its results, or an error with CUDA's own words.

    Raises
    ------
    MemoryError
        If there is no memory.
    DeviceError
        If anything else is wrong; `doing` says what was under way.
    """
    function = getattr(bindings(), name)
    code, *results = function(*args)
    if code:
        if enter_context(code):
            code, *results = function(*args)
        if code:
            fail(code, doing or name)
    return results[0] if len(results) == 1 else tuple(results) if results else None


def enter_context(code: int) -> bool:
    """Make our context current where `code` says that this thread has none."""
    return code == bindings().CUresult.CUDA_ERROR_INVALID_CONTEXT and enter()


def enter() -> bool:
    """Make our context current in this thread, if it can be used here."""
    usable = state.context is not None and not state.lost and os.getpid() == state.process
    return usable and not bindings().cuCtxSetCurrent(state.context)[0]


def fail(code: int, doing: str) -> None:
    """Raise what a result code means."""
    driver = bindings()
    result: Any = driver.CUresult(code)
    if state.process >= 0 and os.getpid() != state.process:
        raise DeviceError(FORKED)
    if state.lost:
        raise DeviceError(state.lost)
    if result == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise MemoryError(f"{doing}: no memory")
    _, words = driver.cuGetErrorString(result)
    what = f"{doing} failed: {result.name} ({words.decode() if words else 'unknown error'})"
    if result.name in _FATAL:
        state.lost = f"the GPU was lost ({what}): its memory cannot be read any more, restart the process"
        raise DeviceError(state.lost)
    raise DeviceError(what)


def address_of(name: str) -> int:
    """Address of a driver function, for calls without Python between."""
    found = bindings().cuGetProcAddress(name.encode(), LEAST_VERSION, 0)
    if not found[0] and found[1]:
        return int(found[1])
    library = ctypes.CDLL(LIBRARY)
    # Names with 64-bit arguments end so in the library.
    exported = getattr(library, f"{name}_v2", None) or getattr(library, name)
    return ctypes.cast(exported, ctypes.c_void_p).value or 0


_NO_LIBRARY = "the NVIDIA driver's library is not there ({}): install a driver of version 580 or newer"


def _lacking() -> str:
    """What is not installed, found out without importing the bindings, which takes a third of numloom's own import."""
    try:
        there = importlib.util.find_spec("cuda.bindings") is not None
    except (ImportError, ValueError):
        there = False
    if not there:
        return str(_no_bindings())
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        return _NO_LIBRARY.format(type(error).__name__)
    return ""


@functools.cache
def missing() -> str | None:
    """None where a GPU can be used, else what is missing and the cure, in one sentence."""
    with importing:  # A child that begins while the driver starts would wait in it for ever.
        why = _lacking()
        if why:
            return why
        try:
            driver = bindings()
            (code,) = driver.cuInit(0)
        except MissingDependencyError as error:
            return str(error)
        except Exception as error:  # The bindings raise their own kinds where libcuda cannot be loaded.
            return _NO_LIBRARY.format(type(error).__name__)
        if code != driver.CUresult.CUDA_SUCCESS:
            return f"the NVIDIA driver does not start ({code.name}): check that `nvidia-smi` works on this machine"
        state.process = os.getpid()
        _, version = driver.cuDriverGetVersion()
        code, count = driver.cuDeviceGetCount()
    if version < LEAST_VERSION:
        return (
            f"the NVIDIA driver is too old (for CUDA {version // 1000}.{version % 1000 // 10}): "
            "install a driver of version 580 or newer"
        )
    if code != driver.CUresult.CUDA_SUCCESS or not count:
        return "the NVIDIA driver sees no GPU: check that `nvidia-smi` lists one and CUDA_VISIBLE_DEVICES shows it"
    return None


def attribute(device: Any, name: str) -> int:
    """A device attribute by the end of its name, such as MULTIPROCESSOR_COUNT."""
    driver = bindings()
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", which, device))
