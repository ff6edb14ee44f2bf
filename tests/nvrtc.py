"""Compiling kernel texts with NVRTC, which needs no GPU; a test is skipped where the library is missing."""

from __future__ import annotations

import pytest

from numloom.base.errors import MissingDependencyError
from numloom.device.cuda.compile import bindings, compile_cubin


def compile_for_gpu(text: str, architecture: str = "sm_90") -> bytes:
    """Machine code of a text, compiled as the CUDA backend does it; its log is the failure."""
    try:
        bindings()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return compile_cubin(text, architecture)
