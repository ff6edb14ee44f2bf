"""``cupy.cuda.driver``: the driver's version and its errors; numloom speaks to the driver itself."""

from numloom.base.errors import DeviceError
from numloom.cuda.runtime import driverGetVersion, runtimeGetVersion

CUDADriverError = DeviceError
"""What a call that fails raises."""


def get_build_version() -> int:
    """The version of CUDA that kernels are compiled for; 0 without a GPU."""
    return runtimeGetVersion()


__all__ = ["CUDADriverError", "driverGetVersion", "get_build_version"]
