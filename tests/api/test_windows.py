"""Windows and i0 against NumPy."""

import numpy as np
import pytest

import numloom as nl


def test_windows_are_numpys():
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        for count in (-1, 0, 0.5, 1, 2, 3, 12, 5.5):
            got, want = getattr(nl, name)(count), getattr(np, name)(count)
            assert (got.shape, got.dtype) == (want.shape, want.dtype), (name, count)
            np.testing.assert_allclose(got.get(), want, rtol=0, atol=1e-15, err_msg=name)
    for count in (0, 1, 2, 12):
        for beta in (0, 5, 14.0):
            np.testing.assert_allclose(nl.kaiser(count, beta).get(), np.kaiser(count, beta), rtol=1e-13)


def test_i0_is_numpys():
    values = np.array([0.0, -0.0, 1, -3.5, 7.9, 8.1, 100, np.nan])
    for dtype in "?bHiqefd":
        host = np.abs(values[:6]).astype(dtype) if dtype in "?bHiq" else values.astype(dtype)
        with np.errstate(all="ignore"):
            want = np.i0(host)
        got = nl.i0(nl.asarray(host))
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.get(), want, rtol={"e": 3e-3, "f": 1e-5}.get(dtype, 1e-13))
    assert nl.i0([[1.0]]).shape == (1, 1)
    with pytest.raises(TypeError, match="complex"):
        nl.i0(nl.ones(2, "F"))
