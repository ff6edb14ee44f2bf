"""``cupyx.signal`` against its definitions, written out with NumPy and SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.signal

import numloom as nl
from numloom.cupyx import signal

rng = np.random.default_rng(7)


def close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(nl.asnumpy(found), expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("n", [None, 30, 31])
def test_cepstra(n: int | None) -> None:
    x = rng.random(40)
    close(signal.real_cepstrum(nl.asarray(x), n), np.fft.ifft(np.log(np.abs(np.fft.fft(x, n)))).real)
    if n != 31:  # The delay of an odd length is no whole number of samples.
        ceps, delay = signal.complex_cepstrum(nl.asarray(x), n)
        close(signal.inverse_complex_cepstrum(ceps, delay), x[:n], 1e-6)
    least = nl.asnumpy(signal.minimum_phase(nl.asarray(x), n))
    assert len(least) == (n or 40)
    if n == 30:  # The magnitudes stay for an even length; the zeros move inside.
        close(np.abs(np.fft.fft(least)), np.abs(np.fft.fft(x, n)), 1e-6)
    with pytest.raises(ValueError, match="last axis"):
        signal.complex_cepstrum(nl.ones((2, 3)), axis=0)


def test_filters() -> None:
    b, x = rng.random(5), rng.random(50)
    ours = nl.asarray(b), nl.asarray(x)
    close(signal.firfilter(*ours), scipy.signal.lfilter(b, 1, x))
    close(signal.firfilter_zi(ours[0]), scipy.signal.lfilter_zi(b, 1.0))
    assert signal.firfilter_zi(nl.ones(3, "f4")).dtype == np.float32
    for padtype in ("odd", "even", "constant"):
        close(signal.firfilter2(*ours, padtype=padtype), scipy.signal.filtfilt(b, 1, x, padtype=padtype))
    found, state = signal.firfilter(*ours, zi=signal.firfilter_zi(ours[0]))
    expected = scipy.signal.lfilter(b, 1, x, zi=scipy.signal.lfilter_zi(b, 1.0))
    close(found, expected[0])
    close(state, expected[1])
    close(signal.freq_shift(ours[1], 3.0, 7.0), x * np.exp(-2j * np.pi * 3 / 7 * np.arange(50)))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_channels(dtype: str) -> None:
    x, h, n = rng.random(26).astype(dtype), rng.random(12).astype(dtype), 4
    if dtype in ("c8", "c16"):
        x, h = x + 1j * x[::-1], h - 2j * h
    blocks = x[:24].reshape(6, n)[:, ::-1].conj()
    expected = np.zeros((n, 6), complex)
    for i in range(6):
        mixed = [sum(blocks[i - k, c] * h[k * n + c].conj() for k in range(3) if i >= k) for c in range(n)]
        expected[:, i] = np.fft.fft(mixed).conj()
    found = signal.channelize_poly(nl.asarray(x), nl.asarray(h), n)
    assert found.dtype == ("c8" if dtype in ("f4", "c8") else "c16")
    close(found, expected, 1e-4 if dtype in ("f4", "c8") else 1e-9)
    with pytest.raises(ValueError, match="multiple"):
        signal.channelize_poly(nl.asarray(x), nl.ones(5), n)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (3, 5, 4)])
def test_convolutions_of_higher_order(shape: tuple[int, ...]) -> None:
    x, kernel = rng.random(12), rng.random(shape)
    windows = [np.stack([x[i : i + n][::-1] for i in range(12 - max(shape) + 1)]) for n in shape]
    if len(shape) == 2:
        close(signal.convolve1d2o(nl.asarray(x), nl.asarray(kernel)), np.einsum("ip,iq,pq->i", *windows, kernel))
    else:
        close(signal.convolve1d3o(nl.asarray(x), nl.asarray(kernel)), np.einsum("ip,iq,ir,pqr->i", *windows, kernel))


def test_convolutions_refuse() -> None:
    with pytest.raises(ValueError, match="valid"):
        signal.convolve1d2o(nl.ones(4), nl.ones((2, 2)), mode="full")
    with pytest.raises(ValueError, match="axis"):
        signal.convolve1d3o(nl.ones(4), nl.ones((2, 2)))
    with pytest.raises(ValueError, match="fit"):
        signal.convolve1d2o(nl.ones(4), nl.ones((2, 5)))


@pytest.mark.parametrize("window", [None, "hamming", np.negative])
def test_pulses(window: Any) -> None:
    x, template = rng.random((3, 40)), rng.random(10)
    weights = {None: 1.0, "hamming": scipy.signal.get_window("hamming", 10, False)}.get(window)
    pattern = template * (window(np.fft.fftfreq(10)) if weights is None else weights)
    pattern /= np.linalg.norm(pattern)
    expected = np.fft.ifft(np.fft.fft(x) * np.fft.fft(pattern, 40).conj()).real
    close(signal.pulse_compression(nl.asarray(x), nl.asarray(template), True, window), expected)
    single = signal.pulse_compression(nl.asarray(x, "f4"), nl.asarray(template, "f4"), False, window)
    assert single.dtype == np.float32
    assert signal.pulse_doppler(nl.asarray(x, "f4"), window).dtype == np.complex64
    close(signal.pulse_doppler(nl.asarray(x)), np.fft.fft(x, axis=0))


def test_thresholds_of_a_line() -> None:
    x = rng.random(20)
    threshold, found = signal.ca_cfar(nl.asarray(x), 1, 3, pfa=0.2)
    expected = np.zeros(20)
    for i in range(4, 16):
        around = np.concatenate([x[i - 4 : i - 1], x[i + 2 : i + 5]])
        expected[i] = around.mean() * 6 * (0.2 ** (-1 / 6) - 1)
    close(threshold, expected)
    np.testing.assert_array_equal(nl.asnumpy(found), x > expected)


@pytest.mark.parametrize(("guard", "reference"), [((1, 0), (2, 3)), ((0, 2), (1, 0)), ((2, 1), (0, 2))])
def test_thresholds_of_a_plane(guard: tuple[int, int], reference: tuple[int, int]) -> None:
    x = rng.random((12, 14))
    x[6, 7] = 1e18  # Strong cells are no part of what is averaged around them.
    threshold, _ = signal.ca_cfar(nl.asarray(x), guard, reference)
    a, b = guard[0] + reference[0], guard[1] + reference[1]
    kept = np.ones((2 * a + 1, 2 * b + 1), bool)
    kept[a - guard[0] : a + guard[0] + 1, b - guard[1] : b + guard[1] + 1] = False
    expected = np.zeros(x.shape)
    for i in range(a, 12 - a):
        for j in range(b, 14 - b):
            around = x[i - a : i + a + 1, j - b : j + b + 1][kept]
            expected[i, j] = around.sum() * (1e-3 ** (-1 / around.size) - 1)
    close(threshold, expected)


@pytest.mark.parametrize(("shape", "guard", "reference"), [(10, 2, 3), (9, 1, 0), ((3, 3), (1, 1), (10, 1))])
def test_thresholds_refuse(shape: Any, guard: Any, reference: Any) -> None:
    with pytest.raises(ValueError, match="cells"):
        signal.ca_cfar(nl.ones(shape), guard, reference)


def test_beams() -> None:
    x = rng.random((3, 30)) + 1j * rng.random((3, 30))
    direction = np.array([1, 1j, -1])
    weights = np.linalg.solve(np.cov(x), direction)
    close(signal.mvdr(nl.asarray(x), nl.asarray(direction)), weights / (direction.conj() @ weights))
    with pytest.raises(ValueError, match="sensor"):
        signal.mvdr(nl.ones((3, 2)), nl.ones(3))
