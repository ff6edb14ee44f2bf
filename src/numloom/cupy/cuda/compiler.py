"""``cupy.cuda.compiler``: what is raised where a kernel does not compile."""

from __future__ import annotations

import re

from numloom.base.errors import CompileError

CompileException = CompileError
NVCCException = HIPCCException = JitifyException = CompileError
"""Kernels here have one compiler, and one error."""


def is_valid_kernel_name(name: str) -> bool:
    """Whether a name can be a kernel's in C++.

    Examples
    --------
    >>> from numloom.cupy.cuda import compiler
    >>> compiler.is_valid_kernel_name("scale_2"), compiler.is_valid_kernel_name("2 scales")
    (True, False)
    """
    return re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is not None


__all__ = ["CompileException", "HIPCCException", "JitifyException", "NVCCException", "is_valid_kernel_name"]
