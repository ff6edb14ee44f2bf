"""Wavelets against what defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.cupyx.scipy import signal


def host(array: Any) -> Any:
    return nl.asnumpy(array)


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8", "c8"])
def test_a_mirrored_filter_is_orthogonal_to_the_filter(dtype: str) -> None:
    low = nl.array([1, 2, 4, 3], dtype)
    high = signal.qmf(low)
    assert high.tolist() == [3, -4, 2, -1] and high.dtype == ("i8" if dtype in ("u1", "i4") else dtype)
    assert (high * low).sum() == 0


@pytest.mark.parametrize(("points", "w", "s"), [(50, 4.1, 1.0), (3, 2.0, 1.0), (1000, 3.0, 5.0)])
def test_morlets_wavelet(points: int, w: float, s: float) -> None:
    x = np.linspace(-2 * np.pi * s, 2 * np.pi * s, points)
    gauss = np.pi**-0.25 * np.exp(-(x**2) / 2)
    simple, complete = signal.morlet(points, w, s, complete=False), signal.morlet(points, w, s)
    assert simple.dtype == complete.dtype == "c16"
    np.testing.assert_allclose(host(simple), gauss * (np.cos(w * x) + 1j * np.sin(w * x)), atol=1e-12)
    np.testing.assert_allclose(host(simple - complete), gauss * np.exp(-(w**2) / 2), atol=1e-12)
    if points == 1000:  # Without a mean, which the complete one is for.
        assert abs(host(complete).mean()) < 1e-12 < abs(host(simple).mean())


@pytest.mark.parametrize("width", [2.0, 3.5, 10.0])
@pytest.mark.parametrize("wavelet", [signal.ricker, signal.morlet2])
def test_wavelets_of_a_width_have_energy_one_and_no_mean(wavelet: Any, width: float) -> None:
    values = host(wavelet(201, width))
    assert (abs(values) ** 2).sum() == pytest.approx(1, abs=1e-9)
    assert abs(values.sum()) < 1e-4
    np.testing.assert_allclose(values, values[::-1].conj(), atol=1e-15)
    assert len(wavelet(1.0, 0.5)) == 1


def test_rickers_wavelet_is_a_second_derivative() -> None:
    step, width = 1e-3, 2.0
    at = np.arange(-10, 11)
    second = sum(k * np.exp(-(((at + d * step) / width) ** 2) / 2) for k, d in ((1, -1), (-2, 0), (1, 1))) / step**2
    found = host(signal.ricker(21, width))
    np.testing.assert_allclose(found / found[10], -second / -second[10], atol=1e-6)
    assert found[8] == pytest.approx(0, abs=1e-15) and found[12] == pytest.approx(0, abs=1e-15)


def test_the_transform_is_a_convolution_for_each_width() -> None:
    data = np.sin(np.arange(100) / 3)
    for wavelet in (signal.ricker, signal.morlet2):
        found = signal.cwt(nl.asarray(data), wavelet, nl.array([1, 3, 4.5, 30]))
        assert found.dtype == ("f8" if wavelet is signal.ricker else "c16")
        for row, width in zip(host(found), (1, 3, 4.5, 30), strict=True):
            whole = np.convolve(data, host(wavelet(min(int(10 * width), 100), width)).conj()[::-1])
            start = (len(whole) - 100) // 2
            np.testing.assert_allclose(row, whole[start : start + 100], atol=1e-12)
    assert signal.cwt([1.0, 2.0], lambda points, width: [1], [1]).tolist() == [[1, 2]]
    assert signal.cwt(data, signal.ricker, [2], dtype="f4").dtype == "f4"
    waved = signal.cwt(data, signal.morlet2, [2.0], w=6)
    expected = np.convolve(data, host(signal.morlet2(20, 2.0, 6)).conj()[::-1], "same")
    np.testing.assert_allclose(host(waved)[0], expected, atol=1e-12)
    assert signal.cwt(data, signal.ricker, []).shape == (0, 100)


def test_transforms_that_are_refused() -> None:
    for data, widths, match in ((np.ones((2, 2)), [1], "one axis"), ([1.0], [0.05], "no point"), ([], [1], "no point")):
        with pytest.raises(ValueError, match=match):
            signal.cwt(data, signal.ricker, widths)
