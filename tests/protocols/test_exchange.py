"""Arrays exchanged with PyTorch, CuPy and JAX: the same memory on both sides, in the order of both streams' work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array import convert
from numloom.device import registry

ON_GPU = registry.current().name == "cuda"
DTYPES = ("f4", "f8", "i4", "i8", "u1", "f2", "F")


def address(array: Any) -> int:
    """Where an array of ours begins."""
    return int(array.__cuda_array_interface__["data"][0] if ON_GPU else array.ctypes.data)


def values(dtype: str) -> Any:
    """A table that is not C-contiguous in memory: every other column of it."""
    return (np.arange(40).reshape(4, 10) % 17).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_shares_memory(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if ON_GPU and not torch.cuda.is_available():
        pytest.skip("PyTorch without CUDA")
    host = values(dtype)
    x = nl.asarray(host)[:, ::2] + 0
    tensor = torch.from_dlpack(x)
    assert tensor.data_ptr() == address(x)
    assert tensor.is_cuda == ON_GPU
    np.testing.assert_array_equal((tensor * 2).cpu().numpy(), host[:, ::2] * 2)
    theirs = torch.tensor(list(range(10)), dtype=tensor.dtype, device=tensor.device)[::2]
    back = nl.from_dlpack(theirs)
    assert address(back) == theirs.data_ptr()
    np.testing.assert_array_equal((back + 1).get(), np.arange(10)[::2].astype(dtype) + 1)
    if ON_GPU:
        # What is queued on another stream of PyTorch's is waited for by what reads it here.
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            late = torch.ones(1 << 22, device="cuda")
            for _ in range(50):
                late = late + 1
            got = nl.from_dlpack(late)
        assert float(got.sum()) == 51.0 * (1 << 22)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_shares_memory(dtype: str) -> None:
    if not ON_GPU:
        pytest.skip("CuPy has arrays on a GPU only")
    cupy = pytest.importorskip("cupy")
    host = values(dtype)
    x = nl.asarray(host)[:, ::2] + 0
    for theirs in (cupy.from_dlpack(x), cupy.asarray(x)):
        assert theirs.data.ptr == address(x)
        np.testing.assert_array_equal(cupy.asnumpy(theirs * 2), host[:, ::2] * 2)
    made = cupy.asarray(host)[1:, ::3]
    for back in (nl.from_dlpack(made), nl.asarray(made)):
        assert address(back) == made.data.ptr
        np.testing.assert_array_equal((back + 1).get(), host[1:, ::3] + 1)


@pytest.mark.parametrize("dtype", ("f4", "i4", "u1", "F"))
def test_jax_shares_memory(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes most of the GPU's memory at once
    jax = pytest.importorskip("jax")
    if ON_GPU and jax.default_backend() != "gpu":
        pytest.skip("JAX without CUDA")
    host = values(dtype)
    x = nl.asarray(host) + 0
    theirs = jax.numpy.from_dlpack(x)
    np.testing.assert_array_equal(np.asarray(theirs * 2), host * 2)
    back = nl.from_dlpack(theirs)
    np.testing.assert_array_equal((back + 1).get(), host + 1)
    if ON_GPU:
        assert theirs.unsafe_buffer_pointer() == address(x) == address(back)


@pytest.mark.parametrize("known", [("stream", "max_version"), ("stream",), ()])
def test_exporters_that_know_few_arguments(known: tuple[str, ...]) -> None:
    """Of memory of the device: what an exporter does not know it is not asked."""
    given = nl.arange(6.0)

    class Exporter:
        def __dlpack__(self, **options: Any) -> Any:
            if not set(options) <= set(known):
                raise TypeError(f"unexpected {options}")
            return given.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return given.__dlpack_device__()  # type: ignore[no-any-return]

    for shared in (nl.from_dlpack(Exporter()), convert._from_capsule(Exporter())):
        np.testing.assert_array_equal(nl.asnumpy(shared), np.arange(6.0))
