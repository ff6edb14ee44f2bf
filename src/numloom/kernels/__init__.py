"""Kernels that users write: CUDA C++ and Python syntax, called with arrays."""

from numloom.array.sealing import seal_classes
from numloom.kernels.elementwise import ElementwiseKernel
from numloom.kernels.operation import operation
from numloom.kernels.python import kernel
from numloom.kernels.raw import RawKernel, RawModule
from numloom.kernels.reduction import ReductionKernel
from numloom.kernels.texture import Texture
from numloom.kernels.vectorize import fuse, vectorize

seal_classes()  # Of what was imported only now.

__all__ = [
    "ElementwiseKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "Texture",
    "fuse",
    "kernel",
    "operation",
    "vectorize",
]
