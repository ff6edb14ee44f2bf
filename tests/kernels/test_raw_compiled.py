"""Kernels from files that are compiled already."""

from __future__ import annotations

import numpy
import pytest

import numloom as np
from numloom.device import registry

SOURCE = """
extern "C" __global__ void scale(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
__device__ int shift;
"""


@pytest.mark.cuda
@pytest.mark.parametrize("ending", ["cubin", "ptx"])
def test_machine_code_and_ptx(ending, tmp_path):
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    architecture = registry.current().architecture
    kind = f"--gpu-architecture={architecture if ending == 'cubin' else architecture.replace('sm', 'compute')}".encode()
    _, program = nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"kernel.cu", 0, [], [])
    assert not nvrtc.nvrtcCompileProgram(program, 1, [kind])[0]
    size, get = {
        "cubin": (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
        "ptx": (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX),
    }[ending]
    code = bytearray(size(program)[1])
    get(program, code)
    file = tmp_path / f"kernel.{ending}"
    file.write_bytes(code)
    scale = np.RawModule(path=file).get_function("scale")
    x = np.arange(100, dtype=np.float32)
    for _ in range(2):
        scale((1,), (128,), (x, numpy.float32(3), numpy.int32(99)))
    assert (x.get()[:99] == 9 * numpy.arange(99)).all() and float(x[99]) == 99
    with pytest.raises(TypeError, match="takes 3 arguments"):
        scale((1,), (128,), (x,))
    with pytest.raises(ValueError, match="cuobjdump"):
        np.RawModule(path=file).get_function("scales")
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(np.DeviceError, match="loading a module"):
        np.RawModule(path=str(file)).get_function("scale")


@pytest.mark.skipif(registry.current().discrete, reason="a GPU loads it")
def test_the_host_says_what_it_is(tmp_path):
    file = tmp_path / "kernel.cubin"
    file.write_bytes(b"\x7fELF")
    module = np.RawModule(path=file)
    with pytest.raises(NotImplementedError, match="give the source in CUDA C"):
        module.get_function("scale")
    with pytest.raises(TypeError, match="takes no options"):
        np.RawModule(path=file, options=("-DA=1",))
