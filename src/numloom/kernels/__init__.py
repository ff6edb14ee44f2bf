"""Kernels that users write: CUDA C++ and Python syntax, called with arrays."""

from numloom.kernels.python import kernel
from numloom.kernels.raw import RawKernel, RawModule

__all__ = ["RawKernel", "RawModule", "kernel"]
