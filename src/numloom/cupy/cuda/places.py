"""Where CUDA is installed on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def get_cuda_path() -> str | None:
    """The folder of CUDA's toolkit: of ``CUDA_PATH``, of nvcc, or where it usually is; None if there is none.

    Examples
    --------
    >>> from numloom.cupy import cuda
    >>> path = cuda.get_cuda_path()
    >>> path is None or isinstance(path, str)
    True
    """
    named = os.environ.get("CUDA_PATH")
    if named:
        return named
    found = shutil.which("nvcc")
    if found:
        return str(Path(found).resolve().parent.parent)
    usual = Path("/usr/local/cuda")
    return str(usual) if usual.is_dir() else None


def get_nvcc_path() -> str | None:
    """NVIDIA's compiler: of ``NVCC``, or on the path; None if there is none. (numloom does not use it.)"""
    return os.environ.get("NVCC") or shutil.which("nvcc")


def get_rocm_path() -> str | None:
    """The folder that ``ROCM_HOME`` names; numloom does not use it."""
    return os.environ.get("ROCM_HOME")


def get_hipcc_path() -> str | None:
    """AMD's compiler on the path; numloom does not use it."""
    return shutil.which("hipcc")


__all__ = ["get_cuda_path", "get_hipcc_path", "get_nvcc_path", "get_rocm_path"]
