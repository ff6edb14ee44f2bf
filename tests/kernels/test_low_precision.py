"""bfloat16 and float8 in kernels that users write."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.base.dtypes import DTYPES, LOW
from numloom.testing import assert_bits_equal

NAMES = [DTYPES[code].name for code in LOW]


def values(name: str) -> np.ndarray:
    return np.linspace(-3, 3, 301).astype(name)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz"])
def test_elementwise(name: str) -> None:
    """A float in the text, which is rounded when it is stored."""
    kernel = nl.ElementwiseKernel("T x, float32 y", "T z", "z = x * y + 1", "scaled")
    x = values(name)
    wide = x.astype(np.float32)
    assert_bits_equal(kernel(nl.asarray(x), 1.7), (wide * np.float32(1.7) + 1).astype(name))
    assert_bits_equal(kernel(nl.asarray(x)[::2], 1.7), (wide * np.float32(1.7) + 1)[::2].astype(name))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_reduction(name: str) -> None:
    kernel = nl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
    x = (np.arange(24) % 3).astype(name).reshape(4, 6)
    want = (x.astype(np.float32) ** 2).sum(axis=1).astype(name)
    assert_bits_equal(kernel(nl.asarray(x), axis=1), want)


@pytest.mark.parametrize("name", NAMES)
def test_raw_parameters_are_refused(name: str) -> None:
    kernel = nl.ElementwiseKernel("raw T x", "T z", "z = x[i]", "taken")
    with pytest.raises(TypeError, match="bfloat16 and float8"):
        kernel(nl.asarray(values(name)), size=4).get()


def test_raw_kernels_take_bfloat16() -> None:
    kernel = nl.RawKernel(
        r"""#include <cuda_bf16.h>
        extern "C" __global__ void twice(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = __float2bfloat16(__bfloat162float(x[i]) * 2.f);
        }""",
        "twice",
    )
    x = values("bfloat16")
    y = nl.zeros(x.size, nl.bfloat16)
    kernel((3,), (128,), (nl.asarray(x), y, np.int32(x.size)))
    assert_bits_equal(y, (x.astype(np.float32) * 2).astype("bfloat16"))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_raw_kernels_take_bytes(name: str) -> None:
    text = 'extern "C" __global__ void flip(unsigned char* x) { x[threadIdx.x] ^= 0x80; }'
    x = nl.asarray(values(name)[:32])
    nl.RawKernel(text, "flip")((1,), (32,), (x,))
    assert_bits_equal(x, -values(name)[:32])
