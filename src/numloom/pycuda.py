"""PyCUDA's names: ``import numloom.pycuda as drv``; see `numloom.kernels.pycuda`.

PyCUDA's submodules may be imported, too: ``import numloom.pycuda.autoinit``, ``import numloom.pycuda.driver as drv``,
``from numloom.pycuda.compiler import SourceModule``, ``import numloom.pycuda.gpuarray as gpuarray``.
"""

import sys

from numloom.kernels import cumath, gpuarray
from numloom.kernels import pycuda as driver
from numloom.kernels.pycuda import *  # noqa: F403

autoinit = compiler = elementwise = reduction = driver
for _name in ("autoinit", "compiler", "driver", "elementwise", "reduction"):
    sys.modules[f"{__name__}.{_name}"] = driver
sys.modules[f"{__name__}.cumath"] = cumath
sys.modules[f"{__name__}.gpuarray"] = gpuarray
