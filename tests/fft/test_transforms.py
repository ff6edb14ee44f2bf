"""Every function of numpy.fft against NumPy: values, dtypes, shapes, memory order and errors."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl

Host = np.ndarray[Any, Any]

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 4, 5))
COMPLEX = REAL + 1j * RNG.normal(size=REAL.shape)
VIEWS = (
    REAL, COMPLEX, REAL.astype("f"), COMPLEX.astype("F"), (REAL * 9).astype(int), REAL > 0, np.asfortranarray(COMPLEX),
    REAL.transpose(1, 2, 0), COMPLEX[0, 0], REAL[0],
)  # fmt: skip
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
OF_REALS = {"rfft", "ihfft", "rfftn", "rfft2"}


def outcome(module: Any, name: str, x: Any, *args: Any, **options: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(module, name)(x, *args, **options)
    except Exception as error:
        return error


def check(name: str, host: Any, *args: Any, **options: Any) -> None:
    array = nl.asarray(host) if isinstance(host, np.ndarray) else host
    got, want = outcome(nl.fft, name, array, *args, **options), outcome(np.fft, name, host, *args, **options)
    case = f"{name} {getattr(host, 'dtype', '')} {np.shape(host)} {args} {options}"
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{case}: {want!r}"
        assert isinstance(want, type(got)) or isinstance(got, type(want)), f"{case}: {got!r} for {want!r}"
        return
    assert type(got) is nl.ndarray, f"{case}: {got!r}"
    assert (got.dtype, got.shape) == (want.dtype, want.shape), case
    if got.size:
        assert got.strides == want.strides, case
        eps = 2e-3 if host.dtype.char == "e" else 30 * float(np.finfo(want.dtype).eps)
        np.testing.assert_allclose(got.get(), want, rtol=eps, atol=eps * max(1, np.abs(want).max()), err_msg=case)


@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str) -> None:
    for view in VIEWS:
        for n in (None, 1, 4, 7):
            for axis in {-1, 0}:
                check(name, view, n, axis)
        for norm in ("ortho", "forward", "backward", "other"):
            check(name, view, 5, norm=norm)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name: str) -> None:
    for view in VIEWS:
        for s, axes in (
            (None, None), (None, (0,)), (None, (-1, 0)), ((3, 6), (0, 1)), ((-1, 4), (1, 0)), ((2, 3), None),
            (None, (0, 0)), (None, (1, 1, 0)),
        ):  # fmt: skip
            check(name, view, s, axes)
        check(name, view, norm="ortho")
        check(name, view, norm="forward")


def test_errors_are_numpys() -> None:
    for name in ONE:
        for args, options in (((0,), {}), ((-1,), {}), ((4.5,), {}), ((), {"axis": 7}), ((3,), {"axis": 7})):
            check(name, REAL, *args, **options)
        check(name, REAL, 0, norm="other")
        check(name, np.array(1.5))
        check(name, REAL[:, :0], axis=1)
    for name in SEVERAL:
        for args in (((4,), (0, 1)), (None, (0, 9)), ((2, 0), (0, 1)), ((2, None), (0, 1)), (None, 0)):
            check(name, REAL, *args)
        check(name, np.array(1.5))
        check(name, REAL, norm="other")
    for name in OF_REALS:
        assert isinstance(outcome(nl.fft, name, nl.asarray(COMPLEX)), TypeError)


def test_halves_emptiness_and_lists() -> None:
    for name in (*ONE, *SEVERAL):
        check(name, REAL.astype("e"))
        check(name, REAL[:, :0], **({"axis": 2} if name in ONE else {"axes": (2,)}))
        check(name, REAL[:, :0], **({"n": 3, "axis": 1} if name in ONE else {"s": (3,), "axes": (1,)}))
    np.testing.assert_allclose(nl.fft.fft([1, 2.0, 0]).get(), np.fft.fft([1, 2.0, 0]))
    np.testing.assert_allclose(nl.fft.fft(REAL).get(), np.fft.fft(REAL), atol=1e-14)
    assert nl.fft.fftn(nl.asarray(1.5)).shape == ()


def test_out() -> None:
    for name in (*ONE, *SEVERAL):
        host = REAL if name in OF_REALS else COMPLEX
        want = getattr(np.fft, name)(host)
        out = nl.zeros(want.shape, want.dtype)
        assert getattr(nl.fft, name)(nl.asarray(host), out=out) is out
        np.testing.assert_allclose(out.get(), want, atol=1e-14)
        with pytest.raises(ValueError, match="wrong shape"):
            getattr(nl.fft, name)(nl.asarray(host), out=nl.zeros(2, want.dtype))
    x = nl.asarray(COMPLEX)
    nl.fft.fft(x, out=x)
    np.testing.assert_allclose(x.get(), np.fft.fft(COMPLEX), atol=1e-14)
    single = nl.zeros(COMPLEX.shape, "F")
    np.testing.assert_allclose(nl.fft.fft(nl.asarray(COMPLEX), out=single).get(), np.fft.fft(COMPLEX), rtol=1e-4)
    with pytest.raises(TypeError):
        nl.fft.fft(nl.asarray(COMPLEX), out=nl.zeros(COMPLEX.shape))


def test_input_is_kept() -> None:
    for name in (*ONE, *SEVERAL):
        host = REAL if name in OF_REALS else COMPLEX
        x = nl.asarray(host)
        getattr(nl.fft, name)(x)
        np.testing.assert_array_equal(x.get(), host)


def test_what_is_pending_is_transformed_and_results_go_on() -> None:
    x = nl.asarray(REAL)
    got = abs(nl.fft.rfft(x * 2 + 1, 9)) ** 2
    np.testing.assert_allclose(got.get(), np.abs(np.fft.rfft(REAL * 2 + 1, 9)) ** 2, rtol=1e-11, atol=1e-11)


def test_signatures_are_numpys() -> None:
    for name in np.fft.__all__:
        if name in ("test",):
            continue
        ours, numpys = (dict(inspect.signature(getattr(module, name)).parameters) for module in (nl.fft, np.fft))
        ours.pop("dtype", None)  # the array API's, of frequencies
        assert list(ours) == list(numpys), name
        assert [p.default for p in ours.values()] == [p.default for p in numpys.values()], name


def test_frequencies() -> None:
    for name in ("fftfreq", "rfftfreq"):
        for n in (1, 2, 5, 8, -3, 2.0, np.int32(4)):
            for d in (1.0, 0.5, 2):
                got, want = outcome(nl.fft, name, n, d), outcome(np.fft, name, n, d)
                assert isinstance(got, Exception) == isinstance(want, Exception), (name, n, d)
                if isinstance(want, Exception):
                    assert isinstance(got, type(want)), (name, n, d)
                else:
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got.get(), want)
    with pytest.raises(ZeroDivisionError):
        nl.fft.fftfreq(0)
    with pytest.raises(ValueError, match="there is no device"):
        nl.fft.fftfreq(4, device="elsewhere")


def test_shifts() -> None:
    for view in (REAL, REAL.astype("i2"), np.asfortranarray(COMPLEX), REAL[0, 0], REAL[:, :0]):
        for name in ("fftshift", "ifftshift"):
            for axes in (None, 0, (0, -1), 7):
                got, want = outcome(nl.fft, name, nl.asarray(view), axes), outcome(np.fft, name, view, axes)
                if isinstance(want, Exception):
                    assert isinstance(got, type(want)), (name, axes)
                else:
                    np.testing.assert_array_equal(got.get(), want)
                    assert not got.size or got.strides == want.strides


def test_scipys_functions_run_here() -> None:
    fft = pytest.importorskip("scipy.fft")
    lines = ("dct", "idct", "dst", "idst")
    names = (*ONE, *SEVERAL, "hfft2", "ihfft2", "hfftn", "ihfftn", *lines, "dctn", "idctn", "dstn", "idstn")
    for name in names:
        host = REAL if name in OF_REALS or name.startswith("ihfft") else COMPLEX
        function = getattr(fft, name)
        options = {"n": 5, "axis": 1} if name in (*ONE, *lines) else {"s": (3, 6), "axes": (0, 1)}
        for given in ({}, {**options, "norm": "ortho"}):
            want = function(host, **given)
            with fft.set_backend(nl.fft.scipy_backend):
                got = function(nl.asarray(host), **given)
                assert isinstance(function(host, **given), np.ndarray)
            assert type(got) is nl.ndarray, name
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got.get(), want, atol=1e-12, err_msg=name)
    with fft.set_backend(nl.fft.scipy_backend, coerce=True):
        assert type(fft.fft([1.0, 2.0])) is nl.ndarray
    with fft.set_backend(nl.fft.scipy_backend), pytest.raises(ValueError, match="unique"):
        fft.fftn(nl.asarray(REAL), axes=(0, 0))


def test_scipy_finds_them_by_the_array_api() -> None:
    if not hasattr(nl.ndarray, "__array_namespace__"):
        pytest.skip("arrays have no namespace yet")
    code = (
        "import numpy, numloom, scipy.fft as f; host = numpy.arange(12.0).reshape(3, 4); x = numloom.asarray(host)\n"
        "for name in ('fft', 'irfft', 'rfftn', 'hfft', 'fft2', 'fftshift'):\n"
        "    got = getattr(f, name)(x)\n"
        "    assert type(got) is numloom.ndarray, name\n"
        "    numpy.testing.assert_allclose(got.get(), getattr(f, name)(host), atol=1e-12)\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_numpys_functions_run_here() -> None:
    for name in (*ONE, *SEVERAL, "fftshift"):
        assert type(getattr(np.fft, name)(nl.asarray(REAL))) is nl.ndarray, name
