"""What the tests of this folder write kernels with."""

from __future__ import annotations

CHECK = ("--check",)
FULL = "0xffffffffu"


def triple(size):
    size = (size,) if isinstance(size, int) else tuple(size)
    return size + (1,) * (3 - len(size))


def kernel(parameters, body):
    return f'extern "C" __global__ void k({parameters}) {{\n    const int t = threadIdx.x;\n{body}\n}}\n'
