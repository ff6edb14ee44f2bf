"""``cupy.cuda.nvrtc``: the version of CUDA's compiler, and its errors."""

from numloom.base.errors import CompileError
from numloom.device.cuda.compile import bindings

NVRTCError = CompileError
"""What text that does not compile raises."""


def getVersion() -> tuple[int, int]:
    """NVRTC's version; MissingDependencyError without it: on the CPU kernels have the host's compiler."""
    _, major, minor = bindings().nvrtcVersion()
    return int(major), int(minor)


__all__ = ["NVRTCError", "getVersion"]
