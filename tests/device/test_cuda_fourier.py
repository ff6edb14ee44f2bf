"""Fourier transforms of CUDA against the NumPy twin: layouts and texts with cuFFT played by NumPy, and the real one."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from cuda_emulation import EmulatedDevice
from fake_cufft import FakeCufft

from numloom.device.cuda.routines.fourier import Cufft, Transform, fourier
from numloom.device.cuda.routines.kernels import address
from numloom.device.cuda.routines.scripts import Launch, recorded
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS
from nvrtc import compile_for_gpu

module = importlib.import_module("numloom.device.cuda.routines.fourier")  # the folder has the function of that name


@pytest.fixture(scope="module")
def device():
    emulated = EmulatedDevice()
    emulated.cufft = Cufft(emulated, FakeCufft())
    return emulated


def operand(device, host):
    """A host array on the device with its own strides, inside a larger buffer."""
    base = host
    while isinstance(base.base, np.ndarray):
        base = base.base
    itemsize = host.dtype.itemsize
    offset = (host.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // itemsize
    strides = tuple(stride // itemsize for stride in host.strides)
    return Strided(device.upload(base.ravel(order="K")), offset, host.shape, strides, host.dtype)


def run(device, host, axes, kind="c2c", n=0, forward=True, norm="backward", order="C"):
    expected = ROWS["fourier"].numpy(host, kind=kind, axes=axes, n=n, forward=forward, norm=norm)
    source, out = operand(device, host), operand(device, np.empty(expected.shape, expected.dtype, order))
    before = device.download(source.buffer, 0, source.buffer.nbytes).copy()
    fourier(device, source, kind=kind, axes=axes, n=n, forward=forward, norm=norm, out=out)
    # A user's array is never overwritten.
    np.testing.assert_array_equal(device.download(source.buffer, 0, source.buffer.nbytes), before)
    itemsize = out.dtype.itemsize
    data = device.download(out.buffer, 0, out.buffer.nbytes)
    got = np.ndarray(out.shape, out.dtype, data, out.offset * itemsize, tuple(s * itemsize for s in out.strides))
    size = float(np.abs(expected).max())
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=size * (1e-5 if itemsize == 8 or got.dtype == "f" else 1e-12)
    )


BASE = np.random.default_rng(0).normal(size=(4, 6, 5, 14)).view("D")
VIEWS = (
    BASE, BASE[1], BASE[0, 0], BASE[:, ::2, 1:, ::3], BASE[::-1, :, ::-1], BASE.transpose(3, 1, 0, 2),
    np.broadcast_to(BASE[0, 0], (3, 5, 7)), BASE[:, :1, :, :1],
)  # fmt: skip


@pytest.mark.parametrize("char", "D")
def test_complex_transforms_of_any_layout(device, char):
    for view in VIEWS:
        view = view.astype(char) if char == "F" and view.base is BASE else view
        axes = range(view.ndim)
        for some in {(axes[-1],), (axes[0],), (axes[len(axes) // 2],), tuple(axes), tuple(axes)[::-1], (axes[-1], 0)}:
            if len(set(some)) == len(some):
                run(device, view, some)
    run(device, BASE, (1, 2), forward=False)
    run(device, BASE.astype("F"), (0, 2))
    run(device, BASE[0], (0, 1), norm="ortho", order="F")
    run(device, BASE[0], (2,), norm="forward", forward=False)


@pytest.mark.parametrize("char", "f")
def test_transforms_of_and_to_real_numbers(device, char):
    real = np.random.default_rng(1).normal(size=(5, 4, 8)).astype(char)
    spectrum = (real + 1j * real[::-1]).astype(real.dtype.char.upper())
    for view in (real, real[:, :, 1:], real[:, ::-1], real.T, np.broadcast_to(real[0], (3, 4, 8))):
        for axes in ((2,), (0,), (1,), (0, 2), (2, 0, 1)):
            run(device, view, axes, "r2c")
        run(device, view, (2,), "c2c", norm="forward")
        run(device, view, (1, 0), "c2c", forward=False)
    for view in (spectrum, spectrum[:, :, ::-1], spectrum.T):
        for axes in ((2,), (0,), (1, 2), (2, 0)):
            half = view.shape[axes[-1]]
            for n in (2 * half - 2, 2 * half - 1):
                run(device, view, axes, "c2r", n, norm="ortho", order="F" if n % 2 else "C")


def test_a_plan_is_made_once_and_the_oldest_goes(device, monkeypatch):
    monkeypatch.setattr(module, "PLANS", 2)
    device.cufft = Cufft(device, FakeCufft())
    library = device.cufft.library
    for n in (4, 4, 5, 4, 6, 4, 5):
        run(device, np.ones((3, n), "D"), (1,))
    assert library.made == 4
    assert len(library.plans) == 2


def test_one_plan_does_several_axes(device):
    device.cufft = Cufft(device, FakeCufft())
    run(device, BASE, (1, 2, 3))
    run(device, BASE[0], (0,))
    assert device.cufft.library.runs == 2


@pytest.fixture(params=["binding", "addresses"])
def known(device, request, monkeypatch):
    """The device with a new cuFFT, called as the parameter says."""
    library = FakeCufft()
    if request.param == "addresses":
        if Transform is None:
            pytest.skip("the core is not compiled")
        monkeypatch.setattr(module, "_addresses", FakeCufft.addresses)
    device.cufft = Cufft(device, library)
    return device


AGAIN = (
    (lambda x: x, (3,), "c2c", 0), (lambda x: x, (0, 2, 3), "c2c", 0), (lambda x: x[:, ::2, 1:, ::3], (1, 3), "c2c", 0),
    (lambda x: x[0].T, (2, 0), "c2c", 0), (lambda x: x.real, (3,), "c2c", 0), (lambda x: x.real, (1, 2), "r2c", 0),
    (lambda x: x, (3,), "c2r", 12), (lambda x: x[0], (1, 2), "c2r", 13), (lambda x: x.astype("F"), (3,), "c2r", 12),
    (lambda x: x[:, :, :, :1], (3,), "c2c", 0), (lambda x: x[:, :0], (3,), "c2c", 0),
)  # fmt: skip


@pytest.mark.skipif(Launch is None, reason="the core is not compiled")
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("view, axes, kind, n", AGAIN)
def test_transforms_again(known, view, axes, kind, n, forward):
    options = {"kind": kind, "axes": axes, "n": n, "forward": forward, "norm": "ortho"}
    row = ROWS["fourier"].numpy
    first = row(view(BASE), **options)
    out = operand(known, np.empty(first.shape, first.dtype))
    script = recorded(fourier, known, operand(known, view(BASE)), out=out, **options)
    made = known.cufft.library.made
    for turn in range(1, 4):
        host = view(BASE * turn)
        expected = row(host, **options)
        given, result = operand(known, host), operand(known, np.empty(first.shape, first.dtype))
        assert script(address(given), address(result)) is True
        data = known.download(result.buffer, 0, expected.nbytes).view(expected.dtype).reshape(expected.shape)
        np.testing.assert_allclose(data, expected, rtol=0, atol=np.abs(expected).max(initial=0) * 1e-5)
    assert known.cufft.library.made == made


@pytest.mark.skipif(Launch is None, reason="the core is not compiled")
def test_a_plan_that_went_is_made_again(known, monkeypatch):
    monkeypatch.setattr(module, "PLANS", 2)
    options = {"kind": "c2c", "axes": (0,), "n": 0, "forward": True, "norm": "backward"}
    hosts = [np.arange(n) + 1j for n in (4, 5, 6)]
    outs = [operand(known, host) for host in hosts]
    scripts = [
        recorded(fourier, known, operand(known, host), out=out, **options)
        for host, out in zip(hosts, outs, strict=True)
    ]
    for which in (0, 1, 0, 2, 0, 2, 1, 1, 2, 0):
        given = operand(known, hosts[which])
        scripts[which](address(given), address(outs[which]))
        data = known.download(outs[which].buffer, 0, outs[which].buffer.nbytes).view("D")
        np.testing.assert_allclose(data, np.fft.fft(hosts[which]), atol=1e-12)
        assert len(known.cufft.library.plans) == len(known.cufft.plans) == 2
    # After the three: 0 and 1 are made again, then 2, then 1 and at last 0.
    assert known.cufft.library.made == 3 + 5


@pytest.mark.skipif(Transform is None, reason="the core is not compiled")
def test_what_the_library_refuses_goes_by_the_binding():
    asked = []
    for codes in ((3, 0), (0, 7), (0, 0)):
        one, two = (FakeCufft.returning(code) for code in codes)
        Transform((one.address, two.address), lambda: 5, -1, lambda *numbers: asked.append(numbers))(16, 32, 48)
    assert asked == [(16, 32, 48)] * 2


def test_without_cufft_the_host_transforms(device):
    lone = EmulatedDevice()
    lone.cufft = None
    run(lone, BASE[0], (0, 1))


@pytest.mark.parametrize("ctype", ["c64", "c128"])
def test_texts_compile_for_the_gpu(ctype):
    for text in (module.half_text(ctype, 2), module.mirror_text(ctype, 2), module.scale_text(ctype)):
        compile_for_gpu(text)


@pytest.mark.cuda
def test_cufft_itself():
    from numloom.device import registry

    gpu = registry.get("cuda")
    if module._library(gpu) is None:
        pytest.skip("cuFFT is not installed")
    for char in "FD":
        test_complex_transforms_of_any_layout(gpu, char)
        test_transforms_of_and_to_real_numbers(gpu, char.lower())
